"""The history of each configuration in a folder of archives: rates in order, changes, and what changed with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import exp, isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench.archive import Archive, ArchiveError, RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import counted, finite, format_number, shorten, with_unit
from dsbench.read.blocks import Block, Column, Diagram, Listed, Overview, Part, Sentence, Table
from dsbench.read.choice import Choice, list_stages, make_choice, refuse_missing
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subject import Measure
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.why import WhyResult
from dsbench.read.text import render_text
from dsbench.read.verdict import RunVerdict, Tally, judge_run
from dsbench.several.causes import read_times, say_change
from dsbench.several.drawn import history as draw_history
from dsbench.several.files import make_files
from dsbench.several.settings import OF_WORKLOAD, SAYS_NOTHING, described, product
from dsbench.spec import OPTIONS
from dsbench.stats.changes import FEWEST, LevelChange, changes, leaning
from dsbench.stats.comparison import differing
from dsbench.stats.values import Floats

_SAME: Final = frozenset({"spec.workload", "spec.scales", *(f"spec.{n}" for n, o in OPTIONS.items() if o.of_load)})
"""What results of one configuration have in common; the number of cycles may be another one."""
_FREE: Final = frozenset({"spec.cycles"})
_LEANS: Final = 0.1
"""Correlation of neighbours from which on it is named."""
_HEAVILY: Final = 0.7
"""From which on short histories name a change that is none too often (``python -m bench.statistics trend``)."""

RATE: Final = make_choice("rate")
STEM: Final = "trend"
_LETTERS: Final = 40
"""Of a value that a terminal shows."""
_NEAR: Final = 5
"""Runs on either side of a change whose transactions' times are set beside each other."""
_MOST: Final = 8
"""Differences that a terminal shows of a change."""
_CAPTION: Final = (
    "Each point is a run: the median rate of its cycles, or the mean along lg scale of several scales. Grey: the "
    "median of a level. A dashed line marks a change of the level, red for the worse."
)


@dataclass(frozen=True)
class TrendPoint:
    """One run of a history."""

    archive: str
    started: str
    label: str
    rate_tps: float
    """What is measured: of the rate the median over the cycles, at several scales its geometric mean along lg scale,
    the highest of several clients."""
    verdict: RunVerdict
    """Of the run."""
    stage: str = ""
    """Which stage of the run that is, and what it counts; empty where all transactions count."""
    unit: str = "tps"


@dataclass(frozen=True)
class Changed:
    """A change, with what else is not as it was in the run before it."""

    change: LevelChange
    result: TrendPoint
    """The first at the new level."""
    differs: Mapping[str, tuple[str, str]]
    """Name of a setting or version to its values before and from here on."""
    became: str = ""
    """Changes of a transaction's time, at the largest scale; empty where the archives do not tell."""


@dataclass(frozen=True)
class ResultHistory:
    """The results of one configuration."""

    name: str
    results: tuple[TrendPoint, ...]
    changes: tuple[Changed, ...]
    leaning: float = 0.0
    """Correlation of each result with the one before it, beside its level."""
    choice: Choice = RATE
    """What is measured."""

    @property
    def unit(self) -> str:
        return self.results[-1].unit

    @cached_property
    def how(self) -> Measure:
        """The measure, for the values of all results."""
        return self.choice.how.sized(result.rate_tps for result in self.results)

    @property
    def assumed(self) -> str:
        """What is supposed of the results where changes are looked for, in a sentence; empty where none are."""
        if len(self.results) < FEWEST:
            return ""
        if self.leaning < _LEANS:
            return "changes are judged with independent runs: these runs show no autocorrelation"
        words = f"consecutive runs are correlated ({self.leaning:.2f}, AR(1)), and changes are judged accordingly"
        if self.leaning < _HEAVILY:
            return words
        return f"{words}. So strong a correlation may still look like a change: use more runs, further apart"

    @property
    def fell(self) -> bool:
        """Whether the last change was one for the worse: the level is still lower than it was."""
        return bool(self.changes) and self.is_worse(self.changes[-1])

    def is_worse(self, changed: Changed) -> bool:
        """Whether less is better and there was more, or the other way round."""
        return (changed.change.ratio.value < 1) is self.choice.how.more


_Run = tuple[RunRecord, TrendPoint, Path]


def histories(folder: Path, smallest: float, choice: Choice = RATE) -> tuple[list[ResultHistory], list[str]]:
    """(the history of each configuration, what was left out and why) of the archives below ``folder``.

    ``smallest``: the share (0-1) below which no change is told. Runs that did not end or whose check failed are left
    out. ``ArchiveError`` where there is none to read, ``SpecError`` where none has the stage or group of ``choice``.
    """
    stages: dict[str, dict[str, None]] = {}
    found: dict[tuple[object, ...], list[_Run]] = {}
    left: list[str] = []
    lacking = 0
    seen: dict[tuple[str, str, str], Path] = {}
    for path in archives(folder):
        try:
            run, result = _result(Archive.open(path), choice, stages)
        except ArchiveError as error:
            left.append(f"{path.name}: {error}")
            continue
        if (first := seen.setdefault((run.name, run.host, run.started), path)) != path:
            left.append(f"{path.relative_to(folder)}: a copy of {first.relative_to(folder)}")
            continue
        if run.status != "complete" or run.broken or not choice.how.is_known(result.rate_tps):
            why = run.status if run.status != "complete" else "its check failed" if run.broken else ""
            lacking += not why
            left.append(f"{path.name}: {why or choice.lack}")
            continue
        (values,) = described([run])
        same = sorted((name, value) for name, value in values.items() if _counts(name))
        found.setdefault((run.host, product(run), *same), []).append((run, result, path))
    refuse_missing(stages, choice.stage, choice.group)
    if not found and lacking:
        words = f"none of the {counted(lacking, 'complete run')} in {folder} can be used: {choice.lack}"
        raise ArchiveError(words, choice.remedy or "use another metric: --of", usage=True)
    if not found:
        words = f"{folder} contains no archive of a complete run"
        raise ArchiveError(words, "specify the folder of the archives", usage=True)
    made = [_history(sorted(runs, key=lambda one: one[1].started), smallest, choice) for runs in found.values()]
    return _tell_apart(made, [runs[0][0] for runs in found.values()]), left


def _tell_apart(histories: Sequence[ResultHistory], firsts: Sequence[RunRecord]) -> list[ResultHistory]:
    """Those of one name with what tells their configurations apart."""
    known = described(firsts)
    found = []
    for history, values in zip(histories, known, strict=True):
        alike = [some for other, some in zip(histories, known, strict=True) if other.name == history.name]
        apart = [name for name in differing(alike) if _counts(name)] if len(alike) > 1 else []
        more = "".join(f", {name.removeprefix('spec.')} {values.get(name) or 'none'}" for name in apart)
        found.append(replace(history, name=history.name + more))
    return found


def _counts(name: str) -> bool:
    """Whether runs of one configuration have it in common."""
    return (name in _SAME or name.startswith(OF_WORKLOAD)) and name not in _FREE


def archives(folder: Path) -> list[Path]:
    """Every archive below ``folder``, one that is there as a folder and as a zip once."""
    if not folder.is_dir():
        raise ArchiveError(f"{folder} is not a folder", "specify the folder of the archives", usage=True)
    found = {path.parent for path in folder.rglob("run.json")}
    return sorted([*found, *(path for path in folder.rglob("*.zip") if path.with_suffix("") not in found)])


def _result(archive: Archive, choice: Choice, stages: dict[str, dict[str, None]]) -> tuple[RunRecord, TrendPoint]:
    """``stages`` is filled in with those of the run, and their groups."""
    run, evaluation = archive.run, evaluate(archive)
    for name, groups in list_stages(evaluation).items():
        stages.setdefault(name, {}).update(dict.fromkeys(groups))
    found = choice.read(evaluation)
    unit = "per second" if found.of_stage and choice.how.name == "rate" else found.unit
    verdict = judge_run(evaluation, run)
    return run, TrendPoint(archive.name, run.started, run.spec.label, found.value, verdict, found.of_stage, unit)


def _history(runs: Sequence[_Run], smallest: float, choice: Choice) -> ResultHistory:
    records = [record for record, _, _ in runs]
    results = tuple(result for _, result, _ in runs)
    values = np.array([result.rate_tps for result in results])
    rates = choice.how.sized(values).as_ratios(values)
    found = changes(rates, smallest)
    if choice.how.step:
        found = _between_medians(choice.how.sized(values), values, found)
    ends = [0, *(one.at for one in found), len(runs)]
    levels = [[path for _, _, path in runs[begin:end]] for begin, end in pairwise(ends)]
    became = [_compare_times(before, after, choice) for before, after in pairwise(levels)]
    told = tuple(
        Changed(one, results[one.at], dict(_differs(records[one.at - 1], records[one.at])), words)
        for one, words in zip(found, became, strict=True)
    )
    spec = records[-1].spec
    scales = ", ".join(map(str, spec.scales))
    name = f"{product(records[-1])} on {records[-1].host}, {records[-1].workload.label}, scale {scales}"
    if not records[-1].workload.defaults.course:  # With a course of its own nobody chose the clients.
        name += ", clients " + "highest of " * (len(spec.client_numbers) > 1) + ", ".join(map(str, spec.client_numbers))
    # The label of the workload names its files.
    name += "".join(f", {key}={value}" for key, value in spec.workload_settings.items() if "\n" not in str(value))
    name += f", {results[-1].stage}" if results[-1].stage else ""
    name += f", {choice.how.label}" if choice.how.name != "rate" else ""
    return ResultHistory(name, results, told, leaning(rates, found), choice)


def _between_medians(how: Measure, values: Floats, found: Sequence[LevelChange]) -> list[LevelChange]:
    """``found`` with the differences of the medians of ``values``: medians of powers of e are no powers of medians."""
    levels = np.split(values, [one.at for one in found])
    told = []
    for one, (before, after) in zip(found, pairwise(levels), strict=True):
        value = exp(float(np.median(after) - np.median(before)) / how.step)
        moved = value / one.ratio.value
        told.append(replace(one, ratio=replace(one.ratio, value=value, low=one.ratio.low * moved,
                                               high=one.ratio.high * moved)))  # fmt: skip
    return told


def _compare_times(before: Sequence[Path], after: Sequence[Path], choice: Choice) -> str:
    """Over the last runs of one level and the first of the next."""
    sides = [[_of_choice(evaluate(Archive.open(path)), choice) for path in paths]
             for paths in (before[-_NEAR:], after[:_NEAR])]  # fmt: skip
    if any(one.of(QueriesResult).queries for side in sides
        for one in side):  # Their transactions are queries of all sizes.
        return ""
    scales = set.intersection(*(set(one.of(WhyResult).why) for side in sides for one in side))
    return say_change(*(read_times(side, max(scales)) for side in sides)) if scales else ""


def _of_choice(evaluation: Evaluation, choice: Choice) -> Evaluation:
    """The stage that was chosen, with its last number of clients."""
    stages = [part for key, part in evaluation.series.items() if key.stage == choice.stage]
    return stages[-1] if stages else evaluation


def _differs(before: RunRecord, after: RunRecord) -> Iterator[tuple[str, tuple[str, str]]]:
    """What is not as it was, the label, which may be a commit, first."""
    if before.spec.label != after.spec.label:
        yield "label", (before.spec.label, after.spec.label)
    for name, (old, new) in differing(described([before, after])).items():
        if name not in SAYS_NOTHING:
            yield name, (old, new)


def tally(histories: Sequence[ResultHistory]) -> Tally:
    """The verdicts of all runs that count."""
    return Tally({"": [one.verdict for history in histories for one in history.results]})


def tell(
    histories: Sequence[ResultHistory], left: Sequence[str], drawn: Mapping[int, Spec] | None = None
) -> Iterator[Block]:
    """Each configuration with its changes; a page, which has ``drawn``, has every run and difference, too."""
    fell = sum(history.fell for history in histories)
    changed = sum(bool(history.changes) for history in histories)
    of = f"{changed or 'None'} of {counted(len(histories), 'configuration')} changed"
    last = f"; the last change of {fell} was for the worse" if fell else "; no last change was for the worse"
    are = "is" if len(left) == 1 else "are"
    more = [f"{counted(len(left), 'archive')} more {are} left out: see below."] * bool(left)
    about = "; ".join(tally(histories).say_unknown())
    yield Overview(f"{of}{last if changed else ''}.", about, verdict=[*tally(histories).say(), *more])
    for number, history in enumerate(histories, 1):
        figure = (drawn or {}).get(number)
        diagram = [Diagram(f"{STEM}-{number}", figure, _CAPTION)] if figure else []
        yield Part(history.name, [*diagram, *_tell(history, brief=drawn is None)], key=f"history-{number}")
    if left:
        yield Part("Left out", [Listed(left)], key="left-out")


def _tell(history: ResultHistory, *, brief: bool) -> Iterator[Block]:
    rates = [result.rate_tps for result in history.results]
    unit, how = history.unit, history.how
    rate = how.name == "rate"
    value = Column(unit, form=",.1f") if rate else Column(how.label, unit, digits=4)
    few = len(rates) < FEWEST
    found = f"; too few to judge: a change needs {FEWEST} runs" if few else "" if history.changes else "; no change"
    median = with_unit(_figure(how, float(np.median(rates))), unit)
    yield Sentence(f"{counted(len(rates), 'run')}, median {median}{found}")
    if history.assumed:
        yield Sentence(f"{history.assumed[:1].upper()}{history.assumed[1:]}.", "note")
    heads = [Column(name, left=True) for name in ("setting", "before", "from here on")]
    for at, one in enumerate(history.changes, 1):
        rows = [[name, *(shorten(v, _LETTERS if brief else len(v)) or "nothing" for v in values)]
                for name, values in one.differs.items()]  # fmt: skip
        shown = rows[: _MOST if brief else None]
        more = len(rows) - len(shown)
        yield Part(_sentence(one, how), [
            Table(f"What changed at change {at}", heads, shown) if rows
            else Sentence("No other recorded setting changed there."),
            *([Sentence(f"and {more} more: see --json", "note")] if more else []),
            *([Sentence(f"{one.became[:1].upper()}{one.became[1:]}.")] if one.became else []),
        ])  # fmt: skip
    if not brief:
        heads = [Column("started (UTC)", left=True), Column("label", left=True), value,
                 Column("archive", left=True)]  # fmt: skip
        runs = [[one.started[:16].replace("T", " "), one.label, one.rate_tps, one.archive] for one in history.results]
        yield Table("Runs in order of time", heads, runs)


def _figure(how: Measure, value: float) -> str:
    return f"{value:,.1f}" if how.name == "rate" else format_number(value, digits=4)


def _sentence(one: Changed, how: Measure) -> str:
    """``-12.3% [-15.0, -9.8] from 2026-11-21T10:00 on (commit 3f2a), p = 0.002``."""
    ratio, result = one.change.ratio, one.result
    ends = [how.show_ratio(bound).removesuffix("%") for bound in (ratio.low, ratio.high) if isfinite(bound)]
    within = f" [{', '.join(ends)}]" if len(ends) == 2 else ""
    label = f" ({result.label})" if result.label else ""
    unit = f" {result.unit}".rstrip() if how.step else ""
    since = f"{how.show_ratio(ratio.value)}{unit}{within} from {result.started[:16]} on{label}"
    return f"{since}, p = {one.change.p_value:.2g}: {result.archive}"


def say_last(history: ResultHistory) -> str:
    """The last change of a history, or that there is none."""
    if not history.changes:
        few = len(history.results) < FEWEST
        return f"{counted(len(history.results), 'run')}, {'too few to judge' if few else 'no change'}"
    return _sentence(history.changes[-1], history.how)


def text(histories: Sequence[ResultHistory], left: Sequence[str]) -> str:
    """For a terminal."""
    return render_text(tell(histories, left)) + "\n"


def document(histories: Sequence[ResultHistory], left: Sequence[str]) -> dict[str, Any]:
    """The same as JSON values; ``null`` for a bound that is not known."""
    found = [_document(history) for history in histories]
    return {"runs": tally(histories).document(), "histories": found, "left_out": list(left)}


def _document(history: ResultHistory) -> dict[str, Any]:
    how = history.how
    key = "rate_tps" if how.name == "rate" else "value"
    results = [{"archive": one.archive, "started": one.started, "label": one.label, key: one.rate_tps,
                "verdict": one.verdict.document()} for one in history.results]  # fmt: skip
    changes = []
    for one in history.changes:
        ratio = one.change.ratio
        ends = {name: finite(how.as_change(getattr(ratio, name))) for name in ("value", "low", "high")}
        changes.append({
            "archive": one.result.archive, "started": one.result.started, "label": one.result.label,
            "difference" if how.step else "ratio": {**ends, "level": ratio.level}, "p_value": one.change.p_value,
            "differs": {name: list(values) for name, values in one.differs.items()},
            "time": one.became or None,
        })  # fmt: skip
    what = {"name": history.name, "measure": how.name, "unit": history.unit}
    whole = {**what, "fell": history.fell, "correlation": history.leaning}
    return {**whole, "results": results, "changes": changes}


def files(histories: Sequence[ResultHistory], left: Sequence[str]) -> dict[str, bytes]:
    """File name to content: trend.html, .txt, .json, and a diagram of each configuration that has several results."""
    drawn = {number: draw_history(one) for number, one in enumerate(histories, 1) if len(one.results) > 1}
    page = list(tell(histories, left, drawn))
    stems = {f"{STEM}-{number}": spec for number, spec in drawn.items()}
    title = f"History of {counted(len(histories), 'configuration')}"
    return make_files(STEM, text(histories, left), document(histories, left), title, page, stems)
