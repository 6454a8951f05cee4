"""Rows of an archive by kind of transaction: what is shown of the kinds, and of their workload's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import NONE
from dsbench.read.blocks import Block, Column, Listed, Table
from dsbench.read.groups import counts_by, texts, whole
from dsbench.read.measured import Measured
from dsbench.read.series import label_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.errors import tabulate_classes
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats import histogram as hist
from dsbench.stats.kinds import QUANTILES, KindCounts, KindResult, kind_results
from dsbench.stats.special import ANALYSES
from dsbench.stats.tpcc import Nopm, Window, shown
from dsbench.stats.values import Doubt, Floats, Frequency
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
    by_cycle: tuple[float, ...]
    """Of each cycle, in order."""


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
    rules = run.workload.kinds
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
    sums = (int(whole(rows, name).sum()) for name in names)
    return replace(KindCounts(*sums), in_flight_max_ns=int(whole(rows, "in_flight_max_ns").max(initial=0)))


def _extremes(cycles: pa.Table, kind: str) -> tuple[int, int] | None:
    rows = cycles.filter((pc.field("kind") == kind) & (pc.field("last_end_ns") > 0))
    if not rows.num_rows:
        return None
    return int(whole(rows, "residence_min_ns").min()), int(whole(rows, "residence_max_ns").max())


def _histograms(
    buckets: pa.Table, measure: str, kinds: list[str], extremes: Mapping[str, tuple[int, int] | None]
) -> dict[str, hist.Histogram]:
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
    """Failed attempts by scale, kind and class (``groups.with_class``)."""
    found: dict[int, dict[str, dict[str, int]]] = {}
    for scale, rows in kinds.items():
        of_scale = errors.filter(pc.field("scale") == scale)
        by_kind = {row.kind: counts_by(of_scale.filter(pc.field("kind") == row.kind), "class", "count") for row in rows}
        classes = {kind: counts[scale] for kind, counts in by_kind.items() if scale in counts}
        if len(rows) > 1 and classes:
            found[scale] = classes
    return found


def nopm_of(
    run: RunRecord, cycles: pa.Table, load: Mapping[int, Measured],
    read: Callable[[], Mapping[int, tuple[KindResult, ...]]],
) -> dict[int, Nopm]:  # fmt: skip
    """The headline by scale, where the workload has an analysis for it, and the clients did what it counts. ``read``
    gives the results of the kinds, which take long to compute."""
    spec, workload = run.spec, run.workload
    special = ANALYSES.get(workload.meaning.analysis)
    if special is None:
        return {}
    kinds = read()
    return {
        x: special.headline(
            committed,
            load[x].duration_s,
            x,
            workload,
            terminals=spec.terminals_at(x, workload.defaults.terminals_per_unit),
            mix_met=not any(row.share_missed for row in kinds.get(x, ())),
        )
        for x, committed in _counted(workload.headline, cycles, load).items()
        if not kinds.get(x) or any(row.kind == workload.headline.kind for row in kinds[x])
    }


def headline_of(run: RunRecord, cycles: pa.Table, load: Mapping[int, Measured]) -> dict[int, Counted]:
    """The workload's own figure by scale; empty where that is tps, or where the workload has an analysis for it, or the
    clients did nothing that it counts, as in a stage of queries alone."""
    headline = run.workload.headline
    if headline.label == "tps" or run.workload.meaning.analysis in ANALYSES:
        return {}
    result = {}
    done = {(row["scale"], row["kind"]) for row in cycles.select(["scale", "kind"]).to_pylist()}
    for x, committed in _counted(headline, cycles, load).items():
        if committed.size and (headline.kind is None or (x, headline.kind) in done):
            rates = committed / load[x].duration_s * headline.per_s
            middle, least, most = (float(pick(rates)) for pick in (np.median, np.min, np.max))
            result[x] = Counted(headline.label, headline.about, middle, least, most, tuple(rates.tolist()))
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
    special = ANALYSES.get(run.workload.meaning.analysis)
    if special is None:
        return {}
    by_scale = counts_by(sums, "name", "value")
    return {x: special.windows(by_scale.get(x, {}), x) for x in load}


def special_doubts(run: RunRecord) -> list[Doubt]:
    """What the workload's own analysis thinks of its settings, and of the clients at each scale."""
    special, spec = ANALYSES.get(run.workload.meaning.analysis), run.spec
    if special is None:
        return []
    numbers = [n * max(1, spec.nodes) for n in spec.client_numbers]
    terminals = {x: spec.terminals_at(x, run.workload.defaults.terminals_per_unit) for x in spec.scales}
    clients = {x: numbers if known is None else [known] for x, known in terminals.items()}
    return [*special.doubts(spec.workload_settings), *special.client_doubts(spec.workload_settings, clients)]


def kind_doubts(workload: Entry, results: Mapping[int, tuple[KindResult, ...]]) -> list[Doubt]:
    """What the workload's rules ask of its kinds and did not get."""
    rules = workload.meaning.specification or workload.name
    return [doubt for scale, rows in results.items() for row in rows for doubt in _of_row(rules, scale, row)]


def _of_row(rules: str, scale: int, row: KindResult) -> list[Doubt]:
    found = []
    if row.share_missed:
        words = f"{row.kind} is {row.share:.2%} of the mix, {rules} requires at least {row.least_share:.0%}"
        found.append(Doubt("mix", words, "use longer cycles; check whether this kind fails more often than "
                                         "others", scale))
    if row.limit_met is False:
        p90_s = row.response_ns[0.9] / 1e9
        words = f"90% of {row.kind} took up to {p90_s:.2f} s, {rules}'s limit is {row.limit_s:g} s"
        found.append(Doubt("response-limit", words, "use fewer --clients or terminals, or a larger scale", scale))
    return found


def _read_all(evaluation: Evaluation) -> tuple[
    dict[int, tuple[KindResult, ...]], dict[int, Mapping[str, Frequency]], dict[int, Mapping[str, Frequency]]
]:
    rows = evaluation.rows
    return of_kinds(rows.run, rows.cycles, rows.buckets, rows.load)


_NAMES: Final = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p99.9", 1.0: "max"}
_COUNTS: Final = (
    *(Column(name) for name in ("committed", "rolled back", "failed", "retries", "unknown")),
    Column("rate", "1/s", digits=4), Column("rate", "1/min", digits=4), Column("share", form=".2%"),
    Column("least share", form=".0%", about="what the rules of the workload require"), Column("met", left=True),
)  # fmt: skip
_TIMES: Final = tuple(Column(name, "ms", 1e-6, digits=4) for name in ("mean", *(_NAMES[q] for q in QUANTILES)))
_LIMIT: Final = (Column("limit of p90", "s"), Column("met", left=True))
_WINDOWS: Final = (
    Column("window", left=True), *(Column(name) for name in ("measured", "99.7% interval", "valid", "of")),
    Column("verdict", left=True),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """The workload's own figure; counts, failures and times of each kind; the windows of a valid run.

    Where there is one kind only, that counts no rows, the table of the scales has its figures.
    """
    series, parts = label_series(evaluation)
    if lines := [line for cells, part in parts for line in _headlines(cells, part)]:
        yield Listed(lines)
    found = [((*cells, x), x, part) for cells, part in parts
        for x, rows in sorted(part.of(KindsResult).kinds.items()) if _tells(rows)]
    each = [(key, row) for key, x, part in found for row in part.of(KindsResult).kinds[x]]
    if not each:
        return
    scale, keys = (*series, Column("scale")), (*series, Column("scale"), Column("kind", left=True))
    counted = any(row.rows for _, row in each)
    heads = (*keys, *_COUNTS, *((Column("rows", "1/s", digits=4),) if counted else ()))
    body = [(*key, row.kind, *_count(row), *((row.rows_per_s,) if counted else ())) for key, row in each]
    yield Table("Completed and failed", heads, body, _marked(row.share_missed for _, row in each))
    failed = [((*key, kind), counts) for key, x, part in found for kind, counts in _failures(part, x)]
    yield from tabulate_classes("Failed attempts by kind and class", keys, failed)
    waits = any(part.of(KindsResult).kind_response.get(x) for _, x, part in found)
    body = [(*key, row.kind, row.response_mean_ns, *row.told_response(), row.limit_s, _met(row.limit_met))
            for key, row in each]  # fmt: skip
    title = "Response times" + ", from the intended start" * waits
    yield Table(title, (*keys, *_TIMES, *_LIMIT), body, _marked(row.limit_met is False for _, row in each))
    if waits:
        body = [(*key, row.kind, row.service_mean_ns, *row.told(row.service_ns)) for key, row in each]
        yield Table("Service times, from the start", (*keys, *_TIMES), body)
    if windows := [(key, one) for key, x, part in found for one in part.of(KindsResult).windows.get(x, ())]:
        body = [(*key, *_show_window(one)) for key, one in windows]
        yield Table("Limits of a valid run", (*scale, *_WINDOWS), body, _marked(one.missed for _, one in windows))


def _tells(rows: Sequence[KindResult]) -> bool:
    """Whether the kinds say more than the table of the scales."""
    return len(rows) > 1 or any(row.rows for row in rows)


def _marked(wrong: Iterable[bool]) -> frozenset[int]:
    return frozenset(at for at, one in enumerate(wrong) if one)


def _headlines(cells: Sequence[str], part: Evaluation) -> Iterator[str]:
    connections = part.of(RateResult).connections
    for scale in part.of(KindsResult).kinds:
        sessions = f"{connections} connection{'s' * (connections != 1)}"
        where = f"{', '.join([*cells, f'scale {scale}', sessions])}: "
        if scale in part.of(KindsResult).nopm:
            yield where + describe_nopm(part.of(KindsResult).nopm[scale], scale)
        if scale in part.of(KindsResult).headline:
            yield where + _describe(part.of(KindsResult).headline[scale])


def _describe(found: Counted | Nopm) -> str:
    """``orders per second: 345.6 (301.1 to 360.0 over the cycles)``."""
    text = f"{found.label}: {found.median:,.1f}"
    if found.minimum < found.maximum:
        text += f" ({found.minimum:,.1f} to {found.maximum:,.1f} over the cycles)"
    return text


def describe_nopm(found: Nopm, scale: int) -> str:
    """``NOPM, unpaced: 12,345 (12,001 to 12,660 over the cycles), 2,469 per warehouse``."""
    text = _describe(found)
    text += f", {found.per_warehouse:,.2f} per warehouse" if scale > 1 or found.ceiling is not None else ""
    if found.ceiling is None:
        return text
    terminals = f"{found.terminals_per_warehouse:,.4g}"
    noun = "terminal per warehouse enters" if terminals == "1" else "terminals per warehouse enter"
    return f"{text} ({terminals} {noun} {found.ceiling:,.2f} on average without delays)"


def _count(row: KindResult) -> tuple[object, ...]:
    chance = row.share_met is False and not row.share_missed
    return (
        row.committed, row.rolled_back, row.failed, row.retries, row.unknown, row.rate_tps, row.per_minute, row.share,
        row.least_share, "missed, may be chance" if chance else _met(row.share_met),
    )  # fmt: skip


def _failures(part: Evaluation, scale: int) -> Iterator[tuple[str, Mapping[str, int]]]:
    """Failed attempts by class of the kinds of which some failed, in the order of the kinds."""
    by_kind = part.of(KindsResult).kind_errors.get(scale, {})
    yield from ((row.kind, by_kind[row.kind]) for row in part.of(KindsResult).kinds[scale] if row.kind in by_kind)


def _met(met: bool | None) -> str:
    return "" if met is None else "met" if met else "MISSED"


def _show_window(one: Window) -> tuple[str, ...]:
    known = one.count > 0
    return (
        one.name, shown(one, one.value) if known else NONE,
        f"{shown(one, one.least)} to {shown(one, one.most)}" if known else NONE,
        f"{shown(one, one.low)} to {shown(one, one.high)}", f"{one.count:,} {one.unit}", one.verdict,
    )  # fmt: skip


def _read_headline(part: Evaluation) -> dict[int, float]:
    if part.of(QueriesResult).queries:
        return {x: one.value
            for x, one in part.of(QueriesResult).queries.items() if isfinite(one.value)}
    known = part.of(KindsResult).nopm or part.of(KindsResult).headline
    return {x: one.median for x, one in known.items()} if known else part.own_rates


def _name_headline(part: Evaluation) -> str:
    labels = [one.label for one in part.of(KindsResult).nopm.values()] or [one.label
        for one in part.of(KindsResult).headline.values()]
    composite = next((f"{one.composite}-like" for one in part.of(QueriesResult).queries.values()), "")
    return composite or (labels[0] if labels else "tps")


class KindsResult(Result):
    kind_counts: computed[Mapping[int, Mapping[str, int]]] = computed(
        lambda evaluation: counts_by(evaluation.rows.cycles, "kind", "committed")
    )
    """Scale to kind to committed transactions."""
    by_kind = computed(_read_all)
    kinds: computed[Mapping[int, tuple[KindResult, ...]]] = computed(
        lambda evaluation: evaluation.of(KindsResult).by_kind[0]
    )
    """Scale to the figures of each kind, and of all of them where there are several."""
    kind_errors: computed[Mapping[int, Mapping[str, Mapping[str, int]]]] = computed(
        lambda evaluation: errors_of_kinds(evaluation.rows.failed, evaluation.of(KindsResult).kinds)
    )
    """Scale to kind to class ("serialization 40001") to failed attempts; empty where there is one kind."""
    kind_frequency: computed[Mapping[int, Mapping[str, Frequency]]] = computed(
        lambda evaluation: evaluation.of(KindsResult).by_kind[1]
    )
    """Scale to kind to its residence times; empty where there is one kind."""
    kind_response: computed[Mapping[int, Mapping[str, Frequency]]] = computed(
        lambda evaluation: evaluation.of(KindsResult).by_kind[2]
    )
    """The same from the intended starts; empty in the closed loop."""
    nopm: computed[Mapping[int, Nopm]] = computed(
        lambda evaluation: nopm_of(
            evaluation.rows.run, evaluation.rows.cycles, evaluation.rows.load, lambda: evaluation.of(KindsResult).kinds
        )
    )
    """By scale; empty where the workload has no special analysis."""
    headline: computed[Mapping[int, Counted]] = computed(
        lambda evaluation: headline_of(
            evaluation.rows.run, evaluation.rows.cycles, evaluation.rows.load
        )
    )
    """By scale; empty where the workload counts tps, or has a special analysis."""
    windows: computed[Mapping[int, tuple[Window, ...]]] = computed(
        lambda evaluation: windows_of(
            evaluation.rows.run, evaluation.rows.of_cycles("sums"), evaluation.rows.load
        )
    )
    """By scale: what the inputs must look like; empty where the workload has no analysis of its clients' sums."""


SUBJECT: Final = Subject(
    "kinds", "Kinds of transactions", KindsResult, tell=_tell,
    nothing="There is one kind of transactions: its figures are in the table of the scales.",
    measures=(
        Measure("nopm", "NOPM", "New-Orders per minute (TPC-C)",
                lambda part: {x: one.median for x, one in part.of(KindsResult).nopm.items()}, own=True,
                unit_of=lambda part: next((one.label for one in part.of(KindsResult).nopm.values()), "")),
        Measure("headline", "1/s", "result figure of the workload, otherwise the rate",
                _read_headline, own=True, unit_of=_name_headline),
    ),
)  # fmt: skip
