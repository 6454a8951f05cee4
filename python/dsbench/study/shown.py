"""A study for people and for programs: what it found, its effects, figures by level and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from math import inf, isfinite, log, nan
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dsbench.format import NONE, counted, finite, format_number, with_unit
from dsbench.read.blocks import Block, Column, Diagram, Listed, Overview, Part, Table
from dsbench.read.html import render_document
from dsbench.read.text import render_text
from dsbench.several.files import make_files
from dsbench.stats.effects import ANY, LEVEL, Effect, Effects, EffectShare, spearman
from dsbench.study import FAILED, Made, Outcomes, Point, Trial, combination
from dsbench.study.estimate import in_common, reasons
from dsbench.study.findings import LITTLE, Finding, Kind, find, name_measure, reach, say_times, spread, tabulate_times
from dsbench.study.levels import Row, describe_levels, key_columns, list_rows, tabulate_levels
from dsbench.study.results import is_of_run
from dsbench.study.stages import each_stage, name_effect, show_effect, tabulate_stages

if TYPE_CHECKING:
    from dsbench.read.draw.vega import Spec

STEM: Final = "results"
_OVERLAP: Final = 1.005
"""Sum of the shares from which on it is told; below it is rounding."""

_CAPTIONS = {
    "rate": "Values by scale, a curve for each level; arrows: memory sizes.",
    "relative": "Each level relative to the reference, by scale; bars: minimum to maximum of the blocks.",
    "heat": "Two factors at once: a dark column or row is the effect of one factor, a single dark field is an "
            "interaction.",
    "files": "Results of disk benchmarks by number of files.",
    "hits": "Found in memory, by two factors: from the server's block counters, and from two thresholds of time.",
    "lines": "Over the values of a factor, a line for each level of another.",
    "freq": "Share of transactions that take longer than x, at the smallest and the largest scale, all trials of a "
    "level together: steps are classes of transactions, such as those that found their block in memory.",
    "course": "Rate of each second through the cycles of the largest scale, averaged over the trials of a level: "
    "a slope is a warm-up, a notch a checkpoint.",
}
"""By the first word of a diagram's name."""
_SWITCHED: Final = frozenset({"rate", "relative"})
"""Diagrams that say something on either axis."""
_FIRST: Final = 3
"""Sentences with which a study begins."""
_RESOURCES: Final = (
    "server CPU time", "client CPU time", "CPU waiting for I/O", "context switches", "disk reads", "read from disk",
    "disk read time", "written to disk", "disk write time", "WAL", "blocks read", "page reads", "page writes",
)  # fmt: skip
"""What is told by level, of those that a transaction took; the archives have all."""
_NO_FACTOR: Final = {
    "blocks": "blocks: drift between repetitions",
    "rest": "rest: chance, and effects not in the model",
    "mixed": "several together: these trials cannot separate them",
}


def tell(found: Outcomes, drawn: Mapping[str, Spec] | None = None) -> Iterator[Block]:
    """The study in words, tables and the diagrams ``drawn``, without its name."""
    sentences = find(found)
    yield answer(found, sentences)
    if drawn and "effects" in drawn:
        yield Diagram("effects", drawn["effects"], _caption_effects(len(found.factors)), wide=True)
    if len(sentences) > _FIRST or found.staged:
        yield Part("What it found", [Listed([one.whole for one in sentences])], key="verdict", tab="Effects")
    if found.effects is not None and (changed := list(say_times(found, found.effects))):
        yield Part("Changes of a transaction's time", [Listed(changed)], key="why", tab="Effects")
    yield Part("Figures", list(tables(found)), key="figures", tab="Effects")
    if drawn:
        # A button of the first diagram switches its axis: that of a linear one is a file for print.
        kinds = {name: name.partition("-")[0] for name in drawn}
        figures = [Diagram(name, drawn[name], _CAPTIONS[kind], kind in _SWITCHED) for name, kind in kinds.items()
                   if kind not in ("effects", "linear")]  # fmt: skip
        if figures:
            yield Part("Diagrams", figures, key="diagrams", tab="Diagrams")
    if by_level := list(tabulate_levels(found, brief=drawn is None)):
        yield Part("By level and scale", by_level, key="levels", tab="Levels")
    if said := notes(found):
        yield Part("Notes", [Listed(said)], key="notes", tab="Notes")


def _caption_effects(factors: int) -> str:
    """What the first diagram shows, where so many factors were varied."""
    average = ", averaged over the levels of the other factor" + "s" * (factors > 2) if factors > 1 else ""
    bars = "Bars: simultaneous intervals; grey: not significant: more blocks make them narrower."
    return f"Each level compared with the reference of its factor{average}. {bars}"


def answer(found: Outcomes, sentences: Sequence[Finding]) -> Overview:
    """The first of ``sentences``, what of an effect these trials could not have seen, and how much they scatter."""
    first = [one for one in sentences if one.kind is not Kind.DOUBT][:_FIRST]
    text = " ".join(f"{one.text[:1].upper()}{one.text[1:]}." for one in first)
    quiet = [one for one in sentences if one.quiet]
    sized = bool(quiet) and all(one in first and not one.more for one in quiet)
    about = [*_heading(found), *_describe_reach(found, unseen=not sized)]
    said = [f"{one.text[:1].upper()}{one.text[1:]}." for one in sentences if one.kind is Kind.DOUBT]
    return Overview(text, " · ".join(about), said, verdict=found.tally.say("trial"))


def _describe_reach(found: Outcomes, *, unseen: bool) -> list[str]:
    """How much trials scatter that repeat each other, and how large an effect may be that was ``unseen``, where no
    sentence says so."""
    effects = found.effects
    if found.staged or effects is None or not effects.free:
        return []
    ratios = found.how.geometric
    said = [spread(found)]
    none = [one.ratio for one in effects.main if unseen and one.known and one.none]
    if none and ratios:
        most = max(max(one.high, 1 / one.low if one.low > 0 else inf) for one in none)
        said += [f"an effect below {most:.3g} times cannot be detected"] if most < ANY else []
    elif none:
        most = max(max(one.high, -one.low) for one in none)
        said += [f"an effect below {with_unit(f'{most:.3g}', found.unit)} would not show"]
    return said


def text(found: Outcomes) -> str:
    """For a terminal."""
    return f"{found.study.spec.name}\n\n{render_text(tell(found))}\n"


def html(found: Outcomes) -> str:
    """The page."""
    from dsbench.study.diagrams import specs  # Late: what draws takes a second.

    return render_document(found.study.spec.name, list(tell(found, specs(found))))


def files(found: Outcomes) -> dict[str, bytes]:
    """File name to content: results.txt, .json and .html, and each diagram as .vl.json, .svg and .pdf."""
    from dsbench.study.diagrams import specs  # Late: as above.

    drawn = specs(found)
    stems = {f"{STEM}-{name}": spec for name, spec in drawn.items()}
    return make_files(STEM, text(found), document(found), found.study.spec.name, list(tell(found, drawn)), stems)


def _heading(found: Outcomes) -> list[str]:
    """What was asked, and how much of it is there."""
    study = found.study
    blocks = len({trial.block for trial in study.trials})
    made = f"{len(found.made)} of {len(study.trials)} trials in {counted(blocks, 'block')}"
    over = f"; each is {_points(found)}" if found.made else ""
    beside = "; concurrent clients do not count" if found.how.own else ""
    of_run = is_of_run(found.made, found.measure)
    stage = found.stage if found.measure == "rate" or of_run else _of_last(found).removeprefix(", ")
    stage = "each stage by itself" if found.staged else stage
    stage = f"{stage}{', by its measured clients alone' * (found.staged and found.how.own)}{beside}" if stage else ""
    what = f"{found.workload} on {', '.join(found.products)}" if found.made else ""
    return [line for line in (study.spec.about, made + over, stage, what) if line]


def _noun(found: Outcomes) -> str:
    """What effects are on, in the heading of a table."""
    return "rate" if found.measure == "rate" else found.how.about


def _points(found: Outcomes) -> str:
    what = found.how.about
    if found.how.per_run:
        return f"the {what} of its run"
    if len(found.points) == 1:
        return f"the {what} at scale {found.points[0].scale}"
    if not found.points:
        return f"the {_mean_words(found)} over its scales of the {what}"
    scales = ", ".join(str(x) for x in sorted({point.scale for point in found.points}))
    clients = sorted({point.clients for point in found.points} - {0})
    more = f" and clients {', '.join(map(str, clients))}" if clients else ""
    return f"the {_mean_words(found)} over scales {scales}{more} of the {what}"


def _mean_words(found: Outcomes) -> str:
    return "geometric mean" if found.how.geometric else "mean"


def tables(found: Outcomes) -> Iterator[Table]:
    """All tables. Of runs with several stages, none of which was chosen, each stage has a column."""
    yield from tabulate_stages(found) if found.staged and each_stage(found) else _tabulate_effects(found)
    used = {cost.name: cost.unit for one in found.made for cost in one.resources if cost.per_transaction > 0}
    if names := [name for name in _RESOURCES if name in used]:
        rows = list_rows(found)
        keys, cells = key_columns(rows)
        heads = [*keys, *(Column(name, used[name]) for name in names)]
        title = f"resources per transaction, median over the trials, at the largest scale{_of_last(found)}"
        yield Table(title, heads, [[*key, *cost] for key, cost in zip(cells, _costs(rows, names), strict=True)])
    yield from tabulate_times(found)
    if foretold := list(_foretold(found)):
        heads = [Column("disk benchmark", left=True), Column(f"with the {name_measure(found)}"), Column("with the DSI")]
        title = "rank correlation (Spearman) over the trials, at the largest scale; p: by chance alone"
        yield Table(title, heads, foretold)
    if found.study.trials:
        yield _tabulate_trials(found)


def _tabulate_effects(found: Outcomes) -> Iterator[Table]:
    """Effects, and means by level."""
    effects = found.effects
    if effects is not None:
        within = f"{LEVEL * 100:g}% interval"
        ratios = found.how.geometric
        value = Column("ratio", form=".3f") if ratios else Column("difference", found.unit, form="+.3g")
        heads = [Column("", left=True), value, Column(within), Column("effect")]
        yield Table(f"effects on the {_noun(found)}, as {'ratios' if ratios else 'differences'}", heads,
                    [[name_effect(found, one), *_cells(one)] for one in effects.main])  # fmt: skip
        if effects.interactions:
            beside = "over the product" if ratios else "beyond the sum"
            yield Table(f"interactions: the effect of two levels together {beside} of their separate effects", heads,
                        [[name_effect(found, one), *_cells(one)] for one in effects.interactions])  # fmt: skip
        if effects.shares:
            yield Table(f"share of the variance{' of ln rate' * (found.measure == 'rate')}",
                        [Column("", left=True), Column("share", form=".1%")],
                        [[_what(found, one), one.share] for one in effects.shares])  # fmt: skip
    points = [_point(p) for p in found.points]
    points = points if len(points) > 1 else []
    rows = list_rows(found)
    keys, cells = key_columns(rows)
    heads = [*keys, *(Column(name, digits=4) for name in (*points, "all")), Column("trials")]
    unit = f" [{found.unit}]" if found.unit else ""
    yield Table(f"by level, {_mean_words(found)}{unit}", heads,
                [[*key, *values] for key, values in zip(cells, _by_level(found, rows), strict=True)])  # fmt: skip


def _point(point: Point) -> str:
    """``4 clients, scale 10``"""
    words = (f"{point.clients} clients" * (point.clients > 0), f"scale {point.scale}" * (point.scale > 0))
    return ", ".join(filter(None, words))


def judge_effect(one: Effect) -> str:
    """Of an effect whose interval holds what no effect is: none, where all of it is near that."""
    return "none" if reach(one) <= log(LITTLE) else "undecided"


def _cells(one: Effect) -> list[Any]:
    if not one.known:
        return [show_effect(one), NONE, "not known"]
    word = judge_effect(one) if one.none else "more" if one.size > 0 else "less"
    form = ".3f" if one.neutral else "+.3g"
    return [one.ratio.value, "any" if one.anything else f"{one.ratio.low:{form}} to {one.ratio.high:{form}}", word]


def _what(found: Outcomes, share: EffectShare) -> str:
    names = " × ".join(found.factors[at] for at in share.factors)
    return names or _NO_FACTOR[share.what]


def _by_level(found: Outcomes, rows: Sequence[Row]) -> Iterator[list[Any]]:
    points = found.points if len(found.points) > 1 else ()
    for row in rows:
        values = [found.mean(one.values.get(point, nan) for one in row.alike) for point in points]
        known = [value for one in row.alike if isfinite(value := found.value(one))]
        yield [*values, found.mean(known), len(known)]


def _costs(rows: Sequence[Row], names: Sequence[str]) -> Iterator[list[Any]]:
    """For each row the resources of ``names``."""
    for row in rows:
        known = [[c.per_transaction for one in row.alike for c in one.resources if c.name == cost] for cost in names]
        yield [_median(values) for values in known]


def _foretold(found: Outcomes) -> Iterator[list[Any]]:
    """How well storage tools foretell the rate (the paper, section 5.2); nothing where none measured."""
    tests = list(dict.fromkeys(name for one in found.made for name in one.probes))
    rates, indices = (np.array([of(one) for one in found.made]) for of in (found.value, lambda one: one.dsi))
    for test in tests:
        values = np.array([one.probes.get(test, np.nan) for one in found.made])
        with_rate, with_dsi = spearman(values, rates), spearman(values, indices)
        cells = [f"{one.rho:+.2f} (p {one.p:.2g}; {one.pairs} trials)" if isfinite(one.rho) else NONE
                 for one in (with_rate, with_dsi)]  # fmt: skip
        yield [test, *cells]


def _tabulate_trials(found: Outcomes) -> Table:
    """A row for every trial: what it is of, its value, and what it found in memory by counters and by times."""
    made = {one.trial.number: one for one in found.made}
    trials = sorted(found.study.trials, key=lambda one: (combination(found.study.factors, one), one.block))
    value = Column(found.how.label, found.unit, digits=4)
    dsi = [Column("DSI", form=".2f")] * (found.measure != "dsi" and any(isfinite(one.dsi) for one in found.made))
    heads = [Column("trial", left=True), Column("block"), *(Column(name) for name in found.factors),
             Column("state", left=True), value, *dsi, Column("blocks in cache, by the server", form=".1%"),
             Column("transactions under 1 ms", form=".1%"), Column("threshold between two modes"),
             Column("transactions under it", form=".1%")]  # fmt: skip
    rows = [_of_trial(found, trial, made.get(trial.number), bool(dsi)) for trial in trials]
    return Table(f"each trial, and its hit ratio at the largest scale{_of_last(found)}", heads, rows)


def _of_trial(found: Outcomes, trial: Trial, made: Made | None, dsi: bool) -> list[Any]:
    key = [str(trial.number), trial.block, *trial.levels, trial.status]
    if made is None:
        return [*key, nan, *[nan] * dsi, nan, nan, NONE, nan]
    hits = made.hits
    limit = f"{format_number(hits.valley_ns / 1e6)} ms" if isfinite(hits.valley_ns) else "one mode"
    limit = limit if isfinite(hits.usual) else NONE
    return [*key, found.value(made), *[made.dsi] * dsi, hits.blocks, hits.usual, limit, hits.found]


def _of_last(found: Outcomes) -> str:
    """``, stage qp1000`` where runs have several stages."""
    if not any(len(one.stages) > 1 for one in found.made):
        return ""
    return f", stage {found.chosen or ' or '.join(dict.fromkeys(one.last for one in found.made))}"


def _median(values: list[float]) -> float:
    known = [value for value in values if isfinite(value)]
    return median(known) if known else float("nan")


def document(found: Outcomes) -> dict[str, Any]:
    """As JSON values; ``null`` where there is nothing."""
    study = found.study
    made = {one.trial.number: one for one in found.made}
    return {
        "name": study.spec.name,
        "measure": found.measure,
        "unit": found.unit,
        "stage": found.chosen or None,
        "group": found.group or None,
        "runs": found.tally.document(),
        "factors": [
            {"name": name, "levels": [level.name for level in levels], "reference": levels[reference].name}
            for name, levels, reference in zip(found.factors, found.levels, found.references, strict=True)
        ],
        "effects": _effects(found, found.effects),
        "levels": describe_levels(found),
        "trials": [
            {**asdict(trial), "levels": dict(zip(found.factors, trial.levels, strict=True)),
             "verdict": made[trial.number].verdict.document() if trial.number in made else None,
             "value": finite(found.value(made[trial.number])) if trial.number in made else None,
             "not_comparable": {name: {"first": there, "here": here}
                                for name, (there, here) in found.unlike.get(trial.number, {}).items()},
             "values": [{"clients": point.clients or None, "scale": point.scale, "value": finite(value)}
                        for point, value in made[trial.number].values.items()] if trial.number in made else []}
            for trial in study.trials
        ],
        "stages": [_stage(part) for part in (each_stage(found).values() if found.staged else ())],
    }  # fmt: skip


def _stage(found: Outcomes) -> dict[str, Any]:
    """One of several stages."""
    values = [{"trial": one.trial.number, "value": finite(found.value(one))} for one in found.made]
    return {"stage": found.chosen, "unit": found.unit, "effects": _effects(found, found.effects), "trials": values}


def _effects(found: Outcomes, effects: Effects | None) -> dict[str, Any] | None:
    if effects is None:
        return None
    return {
        "main": [_effect(found, one) for one in effects.main],
        "interactions": [_effect(found, one) for one in effects.interactions],
        "shares": [{"factors": [found.factors[at] for at in one.factors], "what": one.what, "share": one.share}
                   for one in effects.shares],
        "level": LEVEL, "together_with_stages": found.beside, "degrees_of_freedom": effects.free,
        "scatter": finite(effects.scatter),
    }  # fmt: skip


def _effect(found: Outcomes, one: Effect) -> dict[str, Any]:
    levels = {
        found.factors[at]: found.levels[at][level].name for at, level in zip(one.factors, one.levels, strict=True)
    }
    ends = {name: finite(getattr(one.ratio, name)) for name in ("value", "low", "high")}
    key = "ratio" if found.how.geometric else "difference"
    return {"levels": levels, key: ends, "none": one.none if one.known else None}


def notes(found: Outcomes) -> list[str]:
    """How to read it, and what is missing."""
    lines = [f"{words[:1].upper()}{words[1:]}." for words in found.tally.say_unknown("trial")]
    effects = found.effects
    if effects is not None and effects.free:
        each = f"{spread(found)} ({effects.free} degrees of freedom)"
        nothing = "1" if found.how.geometric else "0"
        lines.append("The intervals are simultaneous at 95%: if no factor has an effect, one or more exclude "
                     f"{nothing} in 5 of 100 such studies. {each[:1].upper()}{each[1:]}.")  # fmt: skip
        if (whole := sum(one.share for one in effects.shares)) > _OVERLAP:
            lines.append(f"The shares of the variance add up to {whole:.0%}: trials are missing, so shared variance "
                         "is in the share of each term.")  # fmt: skip
    if found.uneven:
        lines.append("The design is unbalanced: not every level ran equally often with every level of the other "
                     "factors. Means and diagrams by level are affected; the effects are not.")  # fmt: skip
    if left_out := sorted({point.scale for one in found.made for point in one.values} - _scales(found) - {0}):
        scales = ", ".join(map(str, left_out))
        lines.append(f"The comparison covers the scales that all trials have; excluded: {scales}.")
    if without := [str(one.trial.number) for one in found.made if not isfinite(found.value(one))]:
        unknown = "0 or unknown" if found.how.geometric else "unknown"
        lines.append(f"not in the effects: trial {', '.join(without)} (the {name_measure(found)} is {unknown})")
    lines += _unlike(found)
    lines += _without(found)
    if left := len(found.study.counted("planned", "running")):
        lines.append(f"{left} trials have not run yet: dsbench study run {found.study.folder}")
    return lines


def _unlike(found: Outcomes) -> Iterator[str]:
    """Trials whose target differs from that of others of the same levels, with both values."""
    apart: dict[str, list[str]] = {}
    for trial, names in sorted(found.unlike.items()):
        words = "; ".join(f"{name} {here or 'none'}, there {there or 'none'}" for name, (there, here) in names.items())
        apart.setdefault(words, []).append(str(trial))
    for words, trials in apart.items():
        yield f"not comparable with the first of the same levels: trial {', '.join(trials)} ({words})"


def _without(found: Outcomes) -> Iterator[str]:
    """Trials that say nothing, with their reasons: each reason once, by the levels that all its trials have."""
    study = found.study
    for status in ("failed", "void", "left out"):
        for reason, trials in reasons(study, status).items():
            numbers = ", ".join(str(trial.number) for trial in trials)
            yield f"{status}: trial{'s' * (len(trials) > 1)} {numbers} ({in_common(study, trials)}): {reason}"
    if any(trial.status in FAILED for trial in study.trials):
        yield f"to repeat failed and void trials: dsbench study run {study.folder} --again"


def _scales(found: Outcomes) -> set[int]:
    """Those that values are of."""
    own = {point.scale for one in found.made for point in one.values}
    return {point.scale for point in found.points} or own


