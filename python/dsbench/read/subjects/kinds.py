"""Rows of an archive by kind of transaction: what is shown of the kinds, and of their workload's rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import RunRecord
from dsbench.read.arrow import counts_by, texts, whole
from dsbench.read.measured import Measured
from dsbench.read.stats import histogram as hist
from dsbench.read.stats.kinds import QUANTILES, KindCounts, KindResult, kind_results
from dsbench.read.stats.special import ANALYSES
from dsbench.read.stats.tpcc import Nopm
from dsbench.read.stats.values import Doubt, Floats, Frequency
from dsbench.read.stats.windows import Window
from dsbench.read.subject import Subject
from dsbench.workloads import Entry, Headline

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

ByKind = Mapping[str, hist.Histogram]


@dataclass(frozen=True)
class Counted:
    """The figure by which the workload wants its runs told apart, at one scale."""

    label: str
    """``orders per second``"""
    about: str
    """What it is, in words."""
    median: float
    """Over the cycles."""
    minimum: float
    maximum: float


def of_kinds(
    run: RunRecord, cycles: pa.Table, buckets: pa.Table, load: Mapping[int, Measured]
) -> tuple[
    dict[int, tuple[KindResult, ...]], dict[int, Mapping[str, Frequency]], dict[int, Mapping[str, Frequency]]
]:
    """By scale: the results of each kind, and the distributions of their residence and response times.

    The distributions are there where the workload has several kinds.
    """
    names = run.kinds
    known = sorted(set(texts(cycles, "kind")), key=lambda kind: names.index(kind) if kind in names else len(names))
    rules = run.entry.kinds
    results: dict[int, tuple[KindResult, ...]] = {}
    service_curves: dict[int, Mapping[str, Frequency]] = {}
    response_curves: dict[int, Mapping[str, Frequency]] = {}
    for scale, part in load.items():
        rows = cycles.filter(pc.field("scale") == scale)
        counts = {kind: _counts(rows.filter(pc.field("kind") == kind)) for kind in known}
        here = buckets.filter(pc.field("scale") == scale)
        service = _histograms(here, "residence", known, {kind: _extremes(rows, kind) for kind in known})
        response = _histograms(here, "response", known, {})
        results[scale] = kind_results(
            counts,
            service,
            response,
            part.measured_s,
            least_shares={kind.name: kind.least_share for kind in rules if kind.least_share is not None},
            limits_s={kind.name: kind.limit_s for kind in rules if kind.limit_s is not None},
        )
        if len(known) > 1:
            service_curves[scale] = _curves(service)
            if response:
                response_curves[scale] = _curves(response)
    return results, service_curves, response_curves


def _counts(rows: pa.Table) -> KindCounts:
    names = ("committed", "rolled_back", "failed", "retries", "unknown", "residence_ns", "response_ns", "rows")
    return KindCounts(*(int(whole(rows, name).sum()) for name in names))


def _extremes(cycles: pa.Table, kind: str) -> tuple[int, int] | None:
    rows = cycles.filter((pc.field("kind") == kind) & (pc.field("last_end_ns") > 0))
    if not rows.num_rows:
        return None
    return int(whole(rows, "residence_min_ns").min()), int(whole(rows, "residence_max_ns").max())


def _histograms(
    buckets: pa.Table, measure: str, kinds: list[str], extremes: Mapping[str, tuple[int, int] | None]
) -> dict[str, hist.Histogram]:
    """Those that hold something."""
    chosen = buckets.filter(pc.field("measure") == measure)
    of = np.array(texts(chosen, "kind"), dtype=object)
    low, high, count = (whole(chosen, name) for name in ("low_ns", "high_ns", "count"))
    found = {}
    for kind in kinds:
        here: np.ndarray[Any, np.dtype[np.bool_]] = of == kind
        least, most = extremes.get(kind) or (None, None)
        values = hist.histogram(low[here], high[here], count[here], min_ns=least, max_ns=most)
        if values.count:
            found[kind] = values
    return found


def _curves(histograms: ByKind) -> dict[str, Frequency]:
    return {kind: hist.frequency(values, QUANTILES) for kind, values in histograms.items()}


def errors_of_kinds(
    errors: pa.Table, kinds: Mapping[int, tuple[KindResult, ...]]
) -> dict[int, dict[str, dict[str, int]]]:
    """Failed attempts by scale, kind and class (``rows.with_class``); what an older archive left open is in none."""
    found: dict[int, dict[str, dict[str, int]]] = {}
    for scale, rows in kinds.items():
        of_scale = errors.filter(pc.field("scale") == scale)
        by_kind = {row.kind: counts_by(of_scale.filter(pc.field("kind") == row.kind), "class", "count") for row in rows}
        classes = {kind: counts[scale] for kind, counts in by_kind.items() if scale in counts}
        if len(rows) > 1 and classes:
            found[scale] = classes
    return found


def nopm_of(
    run: RunRecord, cycles: pa.Table, load: Mapping[int, Measured], kinds: Mapping[int, tuple[KindResult, ...]]
) -> dict[int, Nopm]:
    """The headline by scale, where the workload has an analysis for it; else empty."""
    spec, workload = run.spec, run.entry
    special = ANALYSES.get(workload.analysis)
    if special is None:
        return {}
    return {
        x: special.headline(
            committed,
            load[x].duration_s,
            x,
            workload,
            terminals=spec.terminals_at(x, workload.terminals_per_unit),
            mix_met=not any(row.share_missed for row in kinds.get(x, ())),
        )
        for x, committed in _counted(workload.headline, cycles, load).items()
    }


def headline_of(run: RunRecord, cycles: pa.Table, load: Mapping[int, Measured]) -> dict[int, Counted]:
    """The workload's own figure by scale; empty where that is tps, or where the workload has an analysis for it."""
    headline = run.entry.headline
    if headline.label == "tps" or run.entry.analysis in ANALYSES:
        return {}
    result = {}
    for x, committed in _counted(headline, cycles, load).items():
        if committed.size:
            rates = committed / load[x].duration_s * headline.per_s
            middle, least, most = (float(pick(rates)) for pick in (np.median, np.min, np.max))
            result[x] = Counted(headline.label, headline.about, middle, least, most)
    return result


def _counted(headline: Headline, cycles: pa.Table, load: Mapping[int, Measured]) -> dict[int, Floats]:
    """By scale, the committed transactions of each cycle that the headline counts."""
    rows = cycles if headline.kind is None else cycles.filter(pc.field("kind") == headline.kind)
    scale, cycle, committed = (whole(rows, name) for name in ("scale", "cycle", "committed"))
    result = {}
    for x, part in load.items():
        here = scale == x
        places = np.searchsorted(part.cycles, cycle[here])
        result[x] = np.bincount(places, committed[here].astype(float), part.cycles.size).astype(np.float64)
    return result


def windows_of(run: RunRecord, sums: pa.Table, load: Mapping[int, Measured]) -> dict[int, tuple[Window, ...]]:
    """By scale, where the workload has an analysis of what its clients add up; else empty."""
    special = ANALYSES.get(run.entry.analysis)
    if special is None:
        return {}
    by_scale = counts_by(sums, "name", "value")
    return {x: special.windows(by_scale.get(x, {}), x) for x in load}


def special_doubts(run: RunRecord) -> list[Doubt]:
    """What the workload's own analysis thinks of its settings, and of the clients at each scale."""
    special, spec = ANALYSES.get(run.entry.analysis), run.spec
    if special is None:
        return []
    threads = [n * max(1, spec.nodes) for n in spec.thread_numbers]
    terminals = {x: spec.terminals_at(x, run.entry.terminals_per_unit) for x in spec.scales}
    clients = {x: threads if known is None else [known] for x, known in terminals.items()}
    return [*special.doubts(spec.workload_settings), *special.client_doubts(spec.workload_settings, clients)]


def kind_doubts(workload: Entry, results: Mapping[int, tuple[KindResult, ...]]) -> list[Doubt]:
    """What the workload's rules ask of its kinds and did not get."""
    rules = workload.specification or workload.name
    return [doubt for scale, rows in results.items() for row in rows for doubt in _of_row(rules, scale, row)]


def _of_row(rules: str, scale: int, row: KindResult) -> list[Doubt]:
    found = []
    if row.share_missed:
        words = f"{row.kind} is {row.share:.2%} of the mix, {rules} asks for {row.least_share:.0%} at least"
        found.append(Doubt("mix", words, "use longer cycles; see whether this kind fails more than others", scale))
    if row.limit_met is False:
        p90_s = row.response_ns[0.9] / 1e9
        words = f"90 % of {row.kind} took up to {p90_s:.2f} s, {rules}'s limit is {row.limit_s:g} s"
        found.append(Doubt("response-limit", words, "use fewer --threads or terminals, or a larger scale", scale))
    return found


def _read_all(evaluation: Evaluation) -> tuple[
    dict[int, tuple[KindResult, ...]], dict[int, Mapping[str, Frequency]], dict[int, Mapping[str, Frequency]]
]:
    rows = evaluation.rows
    return of_kinds(rows.run, rows.cycles, rows.buckets, rows.load)


SUBJECT: Final = Subject(
    "kinds", "Kinds of transactions",
    reads={
        "kind_counts": lambda evaluation: counts_by(evaluation.rows.cycles, "kind", "committed"),
        "by_kind": _read_all,
        "kinds": lambda evaluation: evaluation.by_kind[0],
        "kind_errors": lambda evaluation: errors_of_kinds(evaluation.rows.failed, evaluation.kinds),
        "kind_frequency": lambda evaluation: evaluation.by_kind[1],
        "kind_response": lambda evaluation: evaluation.by_kind[2],
        "nopm": lambda evaluation: nopm_of(
            evaluation.rows.run, evaluation.rows.cycles, evaluation.rows.load, evaluation.kinds
        ),
        "headline": lambda evaluation: headline_of(
            evaluation.rows.run, evaluation.rows.cycles, evaluation.rows.load
        ),
        "windows": lambda evaluation: windows_of(
            evaluation.rows.run, evaluation.rows.of_cycles("sums"), evaluation.rows.load
        ),
    },
)  # fmt: skip
