"""An evaluation as text: results.txt for people and gnuplot, results.csv for spreadsheets, JSON, a summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from math import isfinite, isnan
from typing import Any, Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read import subjects
from dsbench.read.blocks import Block, Listed, Sentence
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import conduct, limited, listed, pacing
from dsbench.read.series import each_series, headings, labels
from dsbench.read.subjects import rate, results
from dsbench.read.subjects.cost import describe_waking
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.models import summarize_models
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.read.subjects.warnings import list_warnings
from dsbench.read.text import render_text
from dsbench.stats.efficiency import BORDERS, Efficiency
from dsbench.stats.values import ScaleResult, percent, result_columns
from dsbench.workloads import Entry

DIGITS = 9
"""Significant digits of results.txt and results.csv: nanoseconds of a second."""
_KNOWN: Final = (
    "name", "scales", "levels", "void_scales", "cycle_rates", "node_rates", "kind_counts", "success_share",
    "remote_share", "errors", "resources", "index", "doubts", "collision", "nodes", "kinds", "kind_errors", "probes",
    "statement_times", "nopm", "headline", "windows", "changes", "clients", "machine", "evenness", "checkpoints",
    "connections", "placement", "fall", "falls_at", "models", "intervals", "cycle_numbers", "definitions", "grown",
)  # fmt: skip
"""Keys of the JSON in the order that programs know; those of newer subjects follow."""
_LARGE: Final = frozenset({
    "frequency", "response", "seconds", "kind_frequency", "kind_response", "by_kind", "phases", "durations_s",
    "checklist", "peaks",
    "group_courses", "efficiency", "stages",
})  # fmt: skip
"""Results that no JSON holds as they are."""


def keys() -> tuple[str, ...]:
    """Names of the results that the JSON holds as they are."""
    return (*_KNOWN, *(name for name in results() if name not in _LARGE | set(_KNOWN)))


def read_result(evaluation: Evaluation, name: str) -> Any:
    """A result by its name in the JSON; name, levels and clients are those of the evaluation itself."""
    of = results().get(name)
    return getattr(evaluation if of is None else evaluation.of(of), name)


def results_txt(evaluation: Evaluation, run: RunRecord) -> str:
    """The columns of the paper, table 1, aligned; gnuplot and numpy read it, as all else starts with #.

    What is missing is ``nan``. ``run`` is ``run.json``: what was measured stands above the figures,
    switched off durability and every other doubt as well. With several series there is a block for each, two
    empty lines apart, as gnuplot's ``index`` counts them.
    """
    lines = [f"# {line}".rstrip() for line in _preamble(evaluation, run)]
    if not evaluation.series:
        return "\n".join([*lines, *_block(evaluation)]) + "\n"
    names = headings(evaluation.series)
    blocks = ["\n".join([f"# {names[key]}", *_block(part)]) for key, part in evaluation.series.items()]
    return "\n".join([*lines, "\n\n\n".join(blocks)]) + "\n"


def _block(evaluation: Evaluation) -> list[str]:
    """The columns of one series, below what is known of its kinds."""
    body = [[_number(value, missing="nan") for value in _values(row)] for row in evaluation.of(RateResult).scales]
    columns = result_columns(evaluation.levels)
    heads = [
        [str(number) for number in range(1, len(columns) + 1)],
        [name.removesuffix(f"_{one.unit.lower()}") if one.unit else name for name, one in columns.items()],
        [f"[{one.unit}]" if one.unit else "-" for one in columns.values()],
    ]
    widths = [max(len(row[at]) for row in [*heads, *body]) for at in range(len(columns))]
    # The comment sign takes two places in front of the first column, in the rows as in the heads.
    lines = [f"# {line}".rstrip() for line in _kinds(evaluation)]
    lines += ["# " + _aligned(row, widths) for row in heads]
    return lines + ["  " + _aligned(row, widths) for row in body]


def results_csv(evaluation: Evaluation) -> str:
    """The columns with their names, separated by commas, with decimal points; empty where missing.

    Several series are told apart by one more column, ``clients`` or ``stage``, or by both.
    """
    said = labels(evaluation.series)
    more = list(next(iter(said.values()), {}))
    parts = evaluation.series.items() or ((None, evaluation),)
    rows = [",".join((line, *(said[key].values() if key else ()))) for key, part in parts for line in _csv(part)]
    return "\n".join([",".join((*result_columns(evaluation.levels), *more)), *rows]) + "\n"


def _csv(evaluation: Evaluation) -> list[str]:
    return [",".join(_number(value, missing="") for value in _values(row)) for row in evaluation.of(RateResult).scales]


def tell_summary(evaluation: Evaluation) -> Iterator[Block]:
    """Every table of the summary: for each series its scales and its kinds, then what all series say together."""
    for heading, part in each_series(evaluation):
        yield from rate.tell_scales(part, heading)
        yield from subjects.find_subject("kinds").tell(part)
    if any(part.of(RateResult).definitions for _, part in each_series(evaluation)):
        yield Sentence(rate.DEFINITIONS, "note")
    yield Listed([*summarize_models(evaluation), *_describe_ratings(evaluation)])


def _kinds(part: Evaluation) -> list[str]:
    text = render_text(subjects.find_subject("kinds").tell(part))
    return ["", *text.splitlines(), ""] if text else []


def summary_notes(evaluation: Evaluation) -> list[str]:
    """The lines above the columns of results.txt: those of the summary, and the warnings with their remedies."""
    grown = sorted({scale for _, part in each_series(evaluation) for scale in part.of(RateResult).grown})
    words = "for the rows added to the database of the previous scale (--grow)"
    added = [f"populate_s at scale {listed(grown)}: {words}"] if grown else []
    return [*_describe_ratings(evaluation), *added, *list_warnings(evaluation)]


def _describe_ratings(evaluation: Evaluation) -> list[str]:
    """Index and rating, wake-ups, and which number of clients is best."""
    waking = [f"{heading}, {line}" if heading else line
              for heading, part in each_series(evaluation) for line in describe_waking(part)]  # fmt: skip
    return [*rate.describe_indexes(evaluation), *waking, *rate.peak_lines(evaluation)]


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON values: scales as text keys, ``null`` for what is missing.

    The distributions are reduced to their quantiles and the courses per second are left out: both
    stand whole in the tables ``buckets`` and ``seconds`` of the archive.
    """
    result = {name: _plain(read_result(evaluation, name)) for name in keys()}
    result["scales"] = [_plain(row.cells()) for row in evaluation.of(RateResult).scales]
    result["kinds"] = {
        str(scale): [
            {**_plain(row), "share_met": row.share_met, "share_missed": row.share_missed, "limit_met": row.limit_met}
            for row in rows
        ]
        for scale, rows in evaluation.of(KindsResult).kinds.items()
    }
    peaks = evaluation.of(RateResult).peaks
    result["peak"] = {str(x): {**_plain(found), "sure": found.sure} for x, found in peaks.items()}
    result["efficiency"] = {
        str(scale): _efficiency(one) for scale, one in evaluation.of(StagesResult).efficiency.items()
    }
    result["statements"] = {
        key.stage: {str(scale): _efficiency(one) for scale, one in found.items()}
        for key, found in evaluation.of(StagesResult).stages.items() if not key.clients
    }  # fmt: skip
    result["windows"] = {
        str(scale): [{**_plain(w), "met": w.met, "decided": w.decided, "verdict": w.verdict} for w in row]
        for scale, row in evaluation.of(KindsResult).windows.items()
    }
    names = {key: " ".join(said.values()) for key, said in labels(evaluation.series).items()}
    result["series"] = {names[key]: to_json(part) for key, part in evaluation.series.items()}
    for name in ("frequency", "response"):
        curves = read_result(evaluation, name)
        result[name] = {
            str(scale): {"count": curve.count, "quantiles_ns": _plain(curve.quantiles_ns)}
            for scale, curve in curves.items()
        }
    return result


def _efficiency(one: Efficiency) -> dict[str, Any]:
    background = [{**_plain(b), "share": _plain(b.share), "met": b.met} for b in one.background]
    times = {group: {**dict(zip(BORDERS, t.counts, strict=True)), "max_ns": t.max_ns, "unsure": t.unsure}
             for group, t in one.times.items()}  # fmt: skip
    return {**_plain(one), "sustained": one.sustained, "background": background, "times": times}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(part) for name, part in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float | np.floating):
        return float(value) if isfinite(value) else None
    return value


def _values(row: ScaleResult) -> list[float]:
    return list(row.cells().values())


def _number(value: float, *, missing: str) -> str:
    if isinstance(value, int):
        return str(value)
    return missing if isnan(value) else f"{value:.{DIGITS}g}"


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def _preamble(evaluation: Evaluation, run: RunRecord) -> list[str]:
    spec = run.spec
    nodes = f"{spec.nodes} nodes" if spec.nodes else "local"
    cycles, seconds = conduct(evaluation, run)
    lines = [
        f"{evaluation.name}: {run.status}, started {run.started}",
        *([f"label: {spec.label}"] if spec.label else []),
        f"{run.server_version or run.engine} on {run.host}, "
        f"workload {_workload(run.workload)}, dsbench {run.dsbench}",
        f"{cycles} x {seconds} s, {nodes}, clients {listed(spec.client_numbers)}, "
        f"connections {spec.connections}, {run.in_force}, {pacing(run)}, "
        f"seed {spec.seed}",
        *([limits] if (limits := limited(run)) else []),
        *([f"placement: {evaluation.of(RateResult).placement}"]
            if evaluation.of(RateResult).placement not in ("", "free") else []),
        "confidence levels: " + " ".join(f"{max(percent(level), f'{level * 100:.1f}', key=len)}%"
                                         for level in evaluation.levels),
    ]
    # A message may span lines; each of them has to start with the comment sign.
    notes = [line for note in summary_notes(evaluation) for line in note.splitlines()]
    return [*lines, *notes]


def _workload(entry: Entry) -> str:
    """Its name, and what the figures are not: ``tpcb (TPC-B-like, no result in the sense of the TPC)``."""
    return f"{entry.name} ({entry.label}, {entry.meaning.disclaimer})" if entry.meaning.disclaimer else entry.name
