"""An evaluation as text: results.txt for people and gnuplot, results.csv for spreadsheets, JSON, a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from math import isfinite, isnan
from typing import Any, Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import conduct, index_scales, limited, listed, pacing
from dsbench.read.report.cost_table import waking_lines
from dsbench.read.report.kind_text import kind_lines
from dsbench.read.report.model_text import model_lines
from dsbench.read.series import headings, labels
from dsbench.read.stats.efficiency import BORDERS, Efficiency
from dsbench.read.stats.peak import Peak, in_words, peak
from dsbench.read.stats.precision import FEWEST
from dsbench.read.stats.values import Doubt, Index, Interval, ScaleResult, percent, result_columns
from dsbench.read.subjects import readers
from dsbench.workloads import Entry

DIGITS = 9
"""Significant digits of results.txt and results.csv: nanoseconds of a second."""
_KNOWN: Final = (
    "name", "scales", "levels", "void_scales", "cycle_rates", "node_rates", "kind_counts", "success_share",
    "remote_share", "errors", "resources", "index", "doubts", "collision", "nodes", "kinds", "kind_errors", "probes",
    "statement_times", "nopm", "headline", "windows", "changes", "threads", "machine", "evenness", "checkpoints",
    "connections", "placement", "fall", "falls_at", "models", "intervals", "cycle_numbers", "definitions", "grown",
)  # fmt: skip
"""Keys of the JSON in the order that programs know; those of newer subjects follow."""
_LARGE: Final = frozenset({
    "frequency", "response", "seconds", "kind_frequency", "kind_response", "by_kind", "phases", "durations_s",
    "checklist",
    "group_courses", "efficiency", "stages",
})  # fmt: skip
"""Results that no JSON holds as they are."""


def results() -> tuple[str, ...]:
    """Names of the results that the JSON holds as they are."""
    return (*_KNOWN, *(name for name in readers(whole=False) if name not in _LARGE | set(_KNOWN)))
_BEFORE, _BEHIND = ("scale", "size GB", "tps", "±95 %", "min–max tps", "failed", "f"), ("populate s",)
_WIDE = 10
"""Share beyond which an interval says nothing but that it is wide."""
_TIMES = {0.5: "p50 ms", 0.99: "p99 ms", 1.0: "max ms"}


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
    body = [[_number(value, missing="nan") for value in _values(row)] for row in evaluation.scales]
    columns = result_columns(evaluation.levels)
    heads = [
        [str(number) for number in range(1, len(columns) + 1)],
        [name.removesuffix(f"_{one.unit.lower()}") if one.unit else name for name, one in columns.items()],
        [f"[{one.unit}]" if one.unit else "-" for one in columns.values()],
    ]
    widths = [max(len(row[at]) for row in [*heads, *body]) for at in range(len(columns))]
    # The comment sign takes two places in front of the first column, in the rows as in the heads.
    lines = [f"# {line}".rstrip() for line in kind_lines(evaluation)]
    lines += ["# " + _aligned(row, widths) for row in heads]
    return lines + ["  " + _aligned(row, widths) for row in body]


def results_csv(evaluation: Evaluation) -> str:
    """The columns with their names, separated by commas, with decimal points; empty where missing.

    Several series are told apart by one more column, ``threads`` or ``stage``, or by both.
    """
    said = labels(evaluation.series)
    more = list(next(iter(said.values()), {}))
    parts = evaluation.series.items() or ((None, evaluation),)
    rows = [",".join((line, *(said[key].values() if key else ()))) for key, part in parts for line in _csv(part)]
    return "\n".join([",".join((*result_columns(evaluation.levels), *more)), *rows]) + "\n"


def _csv(evaluation: Evaluation) -> list[str]:
    return [",".join(_number(value, missing="") for value in _values(row)) for row in evaluation.scales]


def summary_heads(evaluation: Evaluation) -> tuple[str, ...]:
    """The heads of the summary. In the open loop they say which times these are: waiting for the start is in them."""
    which = "response " if evaluation.response else ""
    return (*_BEFORE, *(which + name for name in _TIMES.values()), *_BEHIND)


def summary_rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """The cells of the summary, one row per scale; a void scale carries an exclamation mark."""
    return [_summary_row(evaluation, row) for row in evaluation.scales]


def summary_text(evaluation: Evaluation) -> str:
    """The summary as plain text, without colour or frame; one table for each series."""
    lines = []
    names = headings(evaluation.series)
    for key, part in evaluation.series.items():
        lines += [names[key], *_summary_lines(part), ""]
    lines = lines or _summary_lines(evaluation)
    lines += [DEFINITIONS, ""] if evaluation.definitions else []
    return "\n".join([*lines, *model_lines(evaluation), *summary_notes(evaluation)]) + "\n"


def _summary_lines(evaluation: Evaluation) -> list[str]:
    rows = [summary_heads(evaluation), *summary_rows(evaluation)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    more = [GROWN] if evaluation.grown else []
    more += [*_service_lines(evaluation), *_definition_lines(evaluation), *kind_lines(evaluation)]
    return [*(_aligned(row, widths) for row in rows), *more, *([""] if more else [])]


GROWN: Final = "populate s with +: of the rows that the scale adds to the database of the one before it (--grow)"
DEFINITIONS: Final = (
    "The sum of the streams' own rates is marginally higher and nearer to a steady state; from the first start to the "
    "last end there is time as well in which only some streams run (McDonell, 1987)."
)


def definitions(evaluation: Evaluation) -> list[tuple[str, str, str, str]]:
    """By scale, TPS of a fixed number of transactions by both definitions, and how far the former is above the latter;
    they differ as far as streams end apart."""
    found = ((str(x), *both) for x, both in evaluation.definitions.items() if both[1])
    return [(x, _short(streams), _short(span), f"{streams / span - 1:+.1%}") for x, streams, span in found]


def _definition_lines(evaluation: Evaluation) -> list[str]:
    told = [f"  scale {scale}: {one}; {other} ({more})" for scale, one, other, more in definitions(evaluation)]
    head = "tps by two definitions: sum of the streams' own rates; first start to last end of all:"
    return [head, *told] if told else []


def _service_lines(evaluation: Evaluation) -> list[str]:
    """In the open loop the times of the summary are response times; the others hide how long transactions waited."""
    if not evaluation.response:
        return []
    lines = ["response times: from the intended start; residence times, from the actual one:"]
    for row in evaluation.scales:
        if curve := evaluation.frequency.get(row.scale):
            p50, p99, most = (_short(curve.told(q) / 1e6) for q in _TIMES)
            lines.append(f"  scale {row.scale}: p50 {p50} ms, p99 {p99} ms, max {most} ms")
    return lines


def summary_notes(evaluation: Evaluation) -> list[str]:
    """The lines below the summary: index, rating, doubts with their remedies.

    Doubts of one kind with one remedy share their lines: those of the first scale are told, the other scales named.
    """
    groups: dict[tuple[str, str, bool], list[Doubt]] = {}
    for doubt in evaluation.doubts:
        # Doubts about the whole run differ in what they are about: each stands for itself.
        key = (doubt.code, doubt.remedy if doubt.scale is not None else doubt.message, doubt.severe)
        groups.setdefault(key, []).append(doubt)
    names = headings(evaluation.series)
    index = [f"{names[key]}: {line}" for key, part in evaluation.series.items() for line in _index_lines(part)
             if not evaluation.staged or part.index.dsi is not None]  # fmt: skip
    told = [*peak_lines(evaluation), *(line for group in groups.values() for line in _doubt_lines(group))]
    waking = [f"{names[key]}, {line}" for key, part in evaluation.series.items() for line in waking_lines(part)]
    if not evaluation.series:
        index = _index_lines(evaluation)
    return [*index, *(waking or waking_lines(evaluation)), *told]


def peak_lines(evaluation: Evaluation) -> list[str]:
    """For each scale that was run at several numbers of threads, that with the greatest rate, and how sure it is."""
    return [f"scale {scale}: {in_words(found)}" for scale, found in _peaks(evaluation).items()]


def _peaks(evaluation: Evaluation) -> dict[int, Peak]:
    parts = [part for key, part in evaluation.series.items() if key.stage == evaluation.stage]
    scales = sorted({x for part in parts for x in part.cycle_rates if x not in part.void_scales})
    peaks = {
        x: peak({part.threads: part.cycle_rates[x].tolist() for part in parts if x in part.cycle_rates}) for x in scales
    }
    return {x: found for x, found in peaks.items() if found is not None}


def _index_lines(evaluation: Evaluation) -> list[str]:
    """Where there is another headline, such as NOPM, or no cycle, the lack of these ratings is no news."""
    if not evaluation.cycle_rates:
        return []
    lines = index_lines(evaluation.index)
    if not evaluation.nopm:
        return lines
    return lines[:1] if evaluation.index.dsi is not None else []


def index_lines(index: Index) -> list[str]:
    """DSI with its interval and range, and the rating where T(X) = X, in words."""
    if index.dsi is None:
        without = "".join(f"; scale {scale} was left out: {why}" for scale, why in index.left_out.items())
        first = "DSI not defined: it needs two scales, each with a rate above 0" + without
    else:
        within = f" (no interval below {FEWEST} cycles)"
        if isfinite(index.dsi.low):
            within = f" [{index.dsi.low:.2f}, {index.dsi.high:.2f}] ({index.dsi.level:.0%}, over the cycles)"
        ladder = "" if index.comparable else "; not comparable: not the settings of profile dsi"
        first = f"DSI {index.dsi.value:.2f}{within} over {index_scales(index)}{ladder}"
    rating = f"{index.crossing:.4g} tps" if index.crossing is not None else f"none; {index.crossing_note}"
    return [first, f"T = X (TPC-B clause 4.1): {rating}"]


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON values: scales as text keys, ``null`` for what is missing.

    The distributions are reduced to their quantiles and the courses per second are left out: both
    stand whole in the tables ``buckets`` and ``seconds`` of the archive.
    """
    result = {
        name: _plain(getattr(evaluation, name)) for name in results()
    }
    result["scales"] = [_plain(row.cells()) for row in evaluation.scales]
    result["kinds"] = {
        str(scale): [
            {**_plain(row), "share_met": row.share_met, "share_missed": row.share_missed, "limit_met": row.limit_met}
            for row in rows
        ]
        for scale, rows in evaluation.kinds.items()
    }
    result["peak"] = {str(x): {**_plain(found), "sure": found.sure} for x, found in _peaks(evaluation).items()}
    result["efficiency"] = {
        str(scale): _efficiency(one) for scale, one in evaluation.efficiency.items()
    }
    result["statements"] = {
        key.stage: {str(scale): _efficiency(one) for scale, one in found.items()}
        for key, found in evaluation.stages.items() if not key.threads
    }  # fmt: skip
    result["windows"] = {
        str(scale): [{**_plain(w), "met": w.met, "decided": w.decided, "verdict": w.verdict} for w in row]
        for scale, row in evaluation.windows.items()
    }
    names = {key: " ".join(said.values()) for key, said in labels(evaluation.series).items()}
    result["series"] = {names[key]: to_json(part) for key, part in evaluation.series.items()}
    for name in ("frequency", "response"):
        curves = getattr(evaluation, name)
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
        f"workload {_workload(run.entry)}, dsbench {run.dsbench}",
        f"{cycles} x {seconds} s, {nodes}, threads {listed(spec.thread_numbers)}, "
        f"connections {spec.connections}, {run.in_force}, {pacing(run)}, "
        f"seed {spec.seed}",
        *([limits] if (limits := limited(run)) else []),
        *([f"placement: {evaluation.placement}"] if evaluation.placement not in ("", "free") else []),
        "confidence levels: " + " ".join(f"{max(percent(level), f'{level * 100:.1f}', key=len)}%"
                                         for level in evaluation.levels),
    ]
    # A message may span lines; each of them has to start with the comment sign.
    notes = [line for note in summary_notes(evaluation) for line in note.splitlines()]
    return [*lines, *notes]


def _workload(entry: Entry) -> str:
    """Its name, and what the figures are not: ``tpcb (TPC-B-like, no result in the sense of the TPC)``."""
    return f"{entry.name} ({entry.label}, {entry.disclaimer})" if entry.disclaimer else entry.name


def _doubt_lines(doubts: Sequence[Doubt]) -> list[str]:
    first = doubts[0]
    where = f" at scale {first.scale}" if first.scale is not None else ""
    others = ", ".join(dict.fromkeys(str(doubt.scale) for doubt in doubts if doubt.scale != first.scale))
    also = f" (also at {others})" if others else ""
    word = "VOID" if first.severe else "doubt"
    hint = [f"  hint: {first.remedy}"] if first.remedy else []
    told = [doubt for doubt in doubts if doubt.scale == first.scale]
    return [*(f"{word}{where}{also}: {doubt.message}" for doubt in told), *hint]


def _summary_row(evaluation: Evaluation, row: ScaleResult) -> tuple[str, ...]:
    share = evaluation.success_share.get(row.scale)
    curve = evaluation.response.get(row.scale) or evaluation.frequency.get(row.scale)
    times = {q: curve.told(q) / 1e6 if curve else np.nan for q in _TIMES}
    return (
        f"{row.scale}!" if row.scale in evaluation.void_scales else str(row.scale),
        _short(row.database_size_gb),
        _short(row.rate_median_tps),
        _within(evaluation.intervals.get(row.scale)),
        f"{_short(row.rate_min_tps)}–{_short(row.rate_max_tps)}" if row.transactions else "–",
        f"{1 - share:.1%}" if share is not None else "–",
        _short(row.rate_multiplier),
        *(_short(time) for time in times.values()),
        _short(row.populate_s) + ("+" if row.scale in evaluation.grown else ""),
    )


def _within(interval: Interval | None) -> str:
    """By how much an interval reaches beyond its middle, in per cent; a dash where it has no ends."""
    if interval is None or not isfinite(interval.high):
        return "–"
    share = interval.reach
    return f"{share:.1%}" if share < _WIDE else f"> {_WIDE:.0%}"


def _short(value: float) -> str:
    """Three significant digits without an exponent in the usual range; a dash when missing."""
    if isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
