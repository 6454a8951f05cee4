"""The columns of table 1 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from dsbench.archive import Asked
from dsbench.dataclass import dataclass
from dsbench.format import NONE, format_number
from dsbench.read.blocks import Block, Column, Listed, Sentence, Table
from dsbench.read.groups import placement_of, whole
from dsbench.read.measured import Measured
from dsbench.read.naming import index_scales
from dsbench.read.series import each_series, label_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.clients import longest_ns
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.spec import PROFILES
from dsbench.stats import equations as eq
from dsbench.stats.fits import FEWEST_OF_MEMORY
from dsbench.stats.index import STEEP, Fall, falls, index
from dsbench.stats.peak import Peak, in_words, peak
from dsbench.stats.precision import FEWEST, LEVEL, median_interval
from dsbench.stats.values import Floats, Frequency, Index, Interval, Ints, Left, ScaleResult

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

@dataclass(frozen=True)
class Phases:
    """What was timed around the cycles of one scale, in s, and its size."""

    size_gb: float
    populate_s: float
    primary_key_s: float
    foreign_key_s: float
    clean_s: float
    drop_s: float
    grown: bool = False
    """Whether its rows were added to the database of the scale before: ``populate_s`` is that of these rows alone."""


_NOTHING: Final = Phases(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)


def result(
    scale: int,
    load: Measured | None,
    phases: Phases | None,
    frequency: Frequency | None,
    levels: tuple[float, ...],
) -> ScaleResult:
    """The columns of one scale; nan where nothing was measured."""
    part = load or Measured.empty()
    around = phases or _NOTHING
    spread = eq.spread(eq.cycle_rate_tps(part["committed"], part.duration_s))
    multiplier = eq.rate_multiplier(part["residence_ns"], part.duration_s)
    rates_at = {
        level: eq.level_rate_tps(multiplier, frequency.quantiles_ns[level]) if frequency else np.nan for level in levels
    }
    effective_s = eq.effective_duration_s(part.first_start_ns, part.last_end_ns)
    return ScaleResult(
        scale=scale,
        database_size_gb=around.size_gb,
        rate_median_tps=spread.median,
        rate_mean_tps=eq.total_rate_tps(part["committed"], part.duration_s),
        rate_stddev_tps=spread.stddev,
        rate_min_tps=spread.minimum,
        rate_max_tps=spread.maximum,
        transactions=eq.transactions(part["committed"]),
        failed=part.total("failed"),
        residence_total_s=eq.residence_total_s(part["residence_ns"]) if load else np.nan,
        effective_duration_s=effective_s if load else np.nan,
        rate_multiplier=multiplier,
        rates_at=rates_at,
        populate_s=around.populate_s,
        primary_key_s=around.primary_key_s,
        foreign_key_s=around.foreign_key_s,
        cleanup_s=around.clean_s,
        drop_s=around.drop_s,
    )


_MAKING: Final = ("populate", "primary_key", "foreign_key", "reuse")
"""Phases after which a database has its rows."""


def phases_of(table: pa.Table, stage: str, finished: Set[tuple[int, int]]) -> dict[int, Phases]:
    """What was timed, by scale. A scale that was populated again (resumed) shows the mean of its populations.

    Of the cleanings only those count that a cycle of ``finished``, as (scale, cycle) of ``stage``, followed: the
    last of each. Where the population made no rows, as with inserts into empty tables, the size is that after the last
    stage that tells one.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    cleaned = {(row["scale"], row["cycle"]): row for row in rows if row["phase"] == "clean" and row["stage"] == stage}
    rows = [row for row in rows if row["phase"] != "clean"]
    rows += [row for cycle, row in cleaned.items() if cycle in finished]
    result = {}
    for scale in sorted({row["scale"] for row in rows}):
        of_scale = [row for row in rows if row["scale"] == scale]
        took = {
            name: [row["duration_ns"] / 1e9 for row in of_scale if row["phase"] == name]
            for name in ("populate", "reset", "primary_key", "foreign_key", "clean", "drop")
        }
        populated = any(row["rows"] for row in of_scale if row["phase"] == "populate")
        sizes = [
            row["size_bytes"] for row in of_scale if row["size_bytes"] and (row["phase"] in _MAKING or not populated)
        ]
        mean = {name: float(np.mean(values)) if values else np.nan for name, values in took.items()}
        result[scale] = Phases(
            size_gb=sizes[-1] / 1e9 if sizes else np.nan,
            populate_s=mean["populate"] + (sum(took["reset"]) / len(took["populate"]) if took["populate"] else 0),
            primary_key_s=mean["primary_key"],
            foreign_key_s=mean["foreign_key"],
            clean_s=float(np.sum(took["clean"])) if took["clean"] else np.nan,
            drop_s=mean["drop"],
            grown=bool(took["reset"]),
        )
    return result


def _read_phases(evaluation: Evaluation) -> dict[int, Phases]:
    rows = evaluation.rows
    return phases_of(rows.tables["phases"], rows.key.stage, rows.finished)


def _read_results(evaluation: Evaluation) -> tuple[ScaleResult, ...]:
    load, levels = evaluation.rows.load, evaluation.levels
    phases, curves = evaluation.of(RateResult).phases, evaluation.of(LatencyResult).frequency
    return tuple(result(x, load.get(x), phases.get(x), curves.get(x), levels) for x in sorted({*load, *phases}))


def _read_cycle_rates(evaluation: Evaluation) -> dict[int, Floats]:
    return {x: eq.cycle_rate_tps(part["committed"], part.duration_s) for x, part in evaluation.rows.load.items()}


def _read_index(evaluation: Evaluation) -> Index:
    spec, load = evaluation.rows.run.spec, evaluation.rows.load
    known = read_capacities(evaluation)
    return index(
        {x: found for x, found in evaluation.of(RateResult).cycle_rates.items() if _counts(spec, x)},
        begun=[row.scale for row in evaluation.of(RateResult).scales if _counts(spec, row.scale)],
        void=evaluation.of(RateResult).void_scales,
        ladder=PROFILES["dsi"]["scales"],
        duration_s=min((float(part.duration_s.min()) for part in load.values()), default=spec.duration),
        conduct=len(evaluation.rows.whole.keys) == 1 and _as_profile(spec),
        capacities={x: one for x, one in known.items() if _counts(spec, x)} if spec.searches else None,
    )


def read_capacities(evaluation: Evaluation) -> dict[int, Interval]:
    """Of a search the highest rate with the objective by scale, where one was found."""
    found = {x: one.capacity for x, one in evaluation.of(LoadResult).load.items() if one.capacity}
    return {x: Interval(one.rate, one.low, one.high, LEVEL) for x, one in found.items()}


def indexed_rates(evaluation: Evaluation) -> dict[int, Floats]:
    """What the index rests on, by scale: the rates of the cycles or, of a search, the capacity."""
    spec, rate = evaluation.rows.run.spec, evaluation.of(RateResult)
    known = {x: np.array([one.value]) for x, one in read_capacities(evaluation).items()}
    given = known if spec.searches else rate.cycle_rates
    return {x: found for x, found in given.items() if found.size and x not in rate.void_scales and _counts(spec, x)}


def _counts(spec: Asked, scale: int) -> bool:
    """Whether the index rests on ``scale``, too: those that were put in between would give it another ladder."""
    return spec.refine == "none" or scale in spec.scales


def _as_profile(spec: Asked) -> bool:
    """Whether the run was conducted as profile dsi wants it; the ladder itself is judged by what was measured.

    With several numbers of clients it was not: a later one finds the database as the cycles of the others left it.
    """
    asked = spec.described()
    wanted = {k: v for k, v in PROFILES["dsi"].items() if k not in ("scales", "cycles", "duration")}
    return all(asked.get(name) == value for name, value in wanted.items())


def _read_definitions(evaluation: Evaluation) -> dict[int, tuple[float, float]]:
    """By scale, where streams do even shares of a fixed number of transactions."""
    fixed = {row["scale"] for row in evaluation.rows.groups.to_pylist() if row["until_of"] == "share"}
    found = {}
    for x, part in ((x, part) for x, part in evaluation.rows.load.items() if x in fixed):
        spans = (part["committed"], part.first_start_ns, part.last_end_ns)
        found[x] = (float(np.median(eq.stream_rate_tps(*spans))), float(np.median(eq.span_rate_tps(*spans))))
    return found


def _read_clients(evaluation: Evaluation) -> int:
    return evaluation.rows.makers.clients


def _read_connections(evaluation: Evaluation) -> int:
    rows, spec = evaluation.rows, evaluation.rows.run.spec
    return rows.makers.connections or rows.key.clients * spec.connections * max(spec.nodes, 1)


def _read_fall(evaluation: Evaluation) -> Fall | None:
    """Where the rate falls most, if that is a cut-off, in a run that looked for it or has enough scales to show one."""
    run, rates = evaluation.rows.run, evaluation.of(RateResult).cycle_rates
    sound = {x: float(np.median(one)) for x, one in rates.items() if x not in run.broken and one.size}
    known = run.spec.refine != "none" or len(sound) >= FEWEST_OF_MEMORY
    if not known or not any(one.factor >= STEEP for one in falls({x: sound[x] for x in run.spec.scales if x in sound})):
        return None
    return max(falls(sound), key=lambda one: one.slope)


def _read_falls_at(evaluation: Evaluation) -> dict[float, Fall]:
    """By confidence level (0-1): where the rate at that level falls most, if that is by half (the paper, figure 24)."""
    if evaluation.of(RateResult).fall is None:
        return {}
    found, results, run = {}, evaluation.of(RateResult).scales, evaluation.rows.run
    for level in dict.fromkeys(level for row in results for level in row.rates_at):
        rates = {row.scale: row.rates_at.get(level, 0.0) for row in results if row.scale not in run.broken}
        steep = [one for one in falls(rates) if one.factor >= STEEP]
        if steep:
            found[level] = max(steep, key=lambda one: one.slope)
    return found


GROWN: Final = "populate s with +: for the rows added to the database of the previous scale (--grow)"
DEFINITIONS: Final = (
    "The sum of the streams' own rates is slightly higher and closer to a steady state; the time from the first start "
    "to the last end includes times when only some streams run (McDonell, 1987)."
)
_QUANTILES: Final = {0.5: "p50", 0.99: "p99", 1.0: "max"}
_WIDE: Final = 10
"""Share beyond which an interval says nothing but that it is wide."""


def summary_columns(evaluation: Evaluation) -> tuple[Column, ...]:
    """Of the table of scales. In the open loop they say which times these are: waiting for the start is in them."""
    which = "response " if evaluation.of(LatencyResult).response else ""
    return (
        Column("scale", about="size of the database in units of the workload"), Column("size", "GB"),
        Column("tps", about="median over the cycles"), Column("±95%", about="interval of the median over the cycles"),
        Column("min–max", "tps", about="of the cycles"), Column("failed", form=".1%", about="share of the attempts"),
        Column("f", about="mean number of transactions in progress (eq. 11)"),
        *(Column(which + name, "ms", 1e-6) for name in _QUANTILES.values()), Column("populate", "s"),
    )  # fmt: skip


def summary_rows(evaluation: Evaluation) -> list[tuple[object, ...]]:
    """The cells of that table; a void scale carries an exclamation mark."""
    return [_summary_row(evaluation, row) for row in evaluation.of(RateResult).scales]


def _summary_row(evaluation: Evaluation, row: ScaleResult) -> tuple[object, ...]:
    share = evaluation.of(ErrorsResult).success_share.get(row.scale)
    curve = evaluation.of(LatencyResult).curve(row.scale)
    between = f"{format_number(row.rate_min_tps)}–{format_number(row.rate_max_tps)}" if row.transactions else NONE
    populate = format_number(row.populate_s) + ("+" if row.scale in evaluation.of(RateResult).grown else "")
    return (
        f"{row.scale}!" if row.scale in evaluation.of(RateResult).void_scales else str(row.scale), row.database_size_gb,
        row.rate_median_tps, show_reach(evaluation.of(RateResult).intervals.get(row.scale)), between,
        None if share is None else 1 - share, row.rate_multiplier,
        *(curve.told(q) if curve else None for q in _QUANTILES if q < 1),
        longest_ns(evaluation, row.scale), populate,
    )  # fmt: skip


def show_reach(interval: Interval | None) -> str:
    """By how much an interval reaches beyond its middle, in per cent; a dash where it has no ends."""
    if interval is None or not isfinite(interval.high):
        return NONE
    return f"{interval.reach:.1%}" if interval.reach < _WIDE else f"> {_WIDE:.0%}"


def tell_scales(evaluation: Evaluation, heading: str = "") -> Iterator[Block]:
    """The table of one series, with what belongs to its figures."""
    which = f"; {heading}" if heading else ""
    void = frozenset(at
        for at, row in enumerate(evaluation.of(RateResult).scales)
            if row.scale in evaluation.of(RateResult).void_scales)
    yield Table(heading, summary_columns(evaluation), summary_rows(evaluation), void)
    if evaluation.of(RateResult).grown:
        yield Sentence(GROWN, "note")
    if evaluation.of(LatencyResult).response:
        heads = (Column("scale"), *(Column(name, "ms", 1e-6) for name in _QUANTILES.values()))
        curves = ((row.scale, evaluation.of(LatencyResult).frequency.get(row.scale))
            for row in evaluation.of(RateResult).scales)
        rows = [(str(x), *(curve.told(q) for q in _QUANTILES)) for x, curve in curves if curve]
        title = f"Latency from the actual start: response times above begin at the intended one{which}"
        yield Table(title, heads, rows)
    if found := [(str(x), *both, both[0] / both[1] - 1)
        for x, both in evaluation.of(RateResult).definitions.items() if both[1]]:
        heads = (
            Column("scale"), Column("sum of the streams' own rates", "tps"), Column("first start to last end", "tps"),
            Column("the former above", form="+.1%"),
        )  # fmt: skip
        yield Table(f"tps by two definitions{which}", heads, found)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """Rate, times and sizes by scale; the index and the rating; which number of clients is best."""
    yield from _tell_all_scales(evaluation)
    if not evaluation.staged and any(part.of(RateResult).index.dsi for part in evaluation.by_clients.values()):
        yield tabulate_indexes(evaluation.by_clients)
        if not any(part.of(RateResult).index.comparable for part in evaluation.by_clients.values()):
            yield Sentence("The DSI is not comparable with other runs: not the settings of profile dsi.", "note")
        yield Listed(peak_lines(evaluation))
    else:
        yield Listed([*describe_indexes(evaluation), *peak_lines(evaluation)])


def _tell_on_page(evaluation: Evaluation) -> Iterator[Block]:
    """Without an index that compares with no other, and without a peak where the objective decides."""
    if any(part.of(RateResult).index.comparable for _, part in each_series(evaluation)):
        yield from _tell(evaluation)
    else:
        yield from _tell_all_scales(evaluation)
        if not evaluation.run.spec.objectives:
            yield Listed(peak_lines(evaluation))


def _tell_all_scales(evaluation: Evaluation) -> Iterator[Block]:
    heads, parts = label_series(evaluation)
    if len(parts) > 1 and all(len(part.of(RateResult).scales) == 1 for _, part in parts):
        yield from _together(heads, [(cells, list(tell_scales(part))) for cells, part in parts])
    else:
        for heading, part in each_series(evaluation):
            yield from tell_scales(part, heading)
    if left := evaluation.of(RateResult).left:
        ran = f"{left.there:,} transactions of the cycles are in the tables, and {left.counted:,} of them count"
        late = left.there - left.counted - left.early
        yield Sentence(f"{ran}: {left.early:,} ran in ramp-ups, {late:,} ended after the time of their cycle.", "note")
    if any(part.of(RateResult).definitions for _, part in each_series(evaluation)):
        yield Sentence(DEFINITIONS, "note")


def _read_left(evaluation: Evaluation) -> Left | None:
    """Of tables that were there, where they hold more of the run than its rates count."""
    if not evaluation.rows.run.spec.existing:
        return None
    cycles = evaluation.rows.whole.tables["cycles"]
    names = ("committed", "commits_before_window", "commits_after_window")
    counted, early, late = (int(whole(cycles, name).sum()) for name in names)
    return Left(counted + early + late, counted, early) if early or late else None


def _together(heads: Sequence[Column], told: Sequence[tuple[Sequence[str], Sequence[Block]]]) -> Iterator[Block]:
    """Tables of the same columns as one, with what tells the series apart in the columns ``heads``; sentences once."""
    rows: dict[tuple[str, tuple[Column, ...]], list[tuple[Any, ...]]] = {}
    marked: dict[tuple[str, tuple[Column, ...]], set[int]] = {}
    others: dict[Block, None] = {}
    for cells, blocks in told:
        for block in blocks:
            if not isinstance(block, Table):
                others[block] = None
                continue
            key = (block.title, (*heads, *block.columns))
            found = rows.setdefault(key, [])
            marked.setdefault(key, set()).update(len(found) + at for at in block.marked)
            found += [(*cells, *row) for row in block.rows]
    yield from (Table(title, heads, some, frozenset(marked[title, heads])) for (title, heads), some in rows.items())
    yield from others


def tabulate_indexes(parts: Mapping[int, Evaluation]) -> Table:
    """DSI, rating and cut-off by number of clients."""
    indexes = {clients: part.of(RateResult).index for clients, part in parts.items()}
    level = next((index.dsi.level for index in indexes.values() if index.dsi), LEVEL)
    heads = (
        Column("clients"), Column("DSI", form=".2f"), Column(f"{level:.0%} from", form=".2f"), Column("to", form=".2f"),
        Column("of scales"), Column("T = X", "tps"), Column("cut-off: scales"), Column("cut-off", "GB"),
    )  # fmt: skip
    rows = []
    for clients, part in parts.items():
        index = indexes[clients]
        found, scales = index.dsi, (index.lowest_scale, index.highest_scale)
        ends = (found.value, found.low, found.high) if found else (None, None, None)
        rows.append((str(clients), *ends, "–".join(map(str, scales)), index.crossing, *describe_cutoff(part)))
    return Table("index by number of clients", heads, rows)


def describe_cutoff(evaluation: Evaluation) -> tuple[str, str]:
    """The scales between which the rate falls most, and the sizes of the database there in GB; dashes without a fall.

    ``("5–10", "0.079–0.16")``
    """
    found = evaluation.of(RateResult)
    if found.fall is None:
        return NONE, NONE
    sizes = {row.scale: row.database_size_gb for row in found.scales}
    ends = (found.fall.low, found.fall.high)
    return "–".join(map(str, ends)), "–".join(format_number(sizes.get(x, np.nan)) for x in ends)


def describe_indexes(evaluation: Evaluation) -> list[str]:
    """DSI and rating of each series in words."""
    if not evaluation.series:
        return _describe_index(evaluation)
    return [f"{heading}: {line}" for heading, part in each_series(evaluation) for line in _describe_index(part)
            if not evaluation.staged or part.of(RateResult).index.dsi is not None]  # fmt: skip


def _describe_index(evaluation: Evaluation) -> list[str]:
    """Where there is another headline, such as NOPM, one scale or no cycle, the lack of these ratings is no news."""
    from dsbench.read.subjects.kinds import KindsResult  # Late: it needs this module.

    rate, nopm = evaluation.of(RateResult), evaluation.of(KindsResult).nopm
    if not rate.cycle_rates:
        return []
    lines = index_lines(rate.index, searched=evaluation.run.spec.searches)
    known = rate.index.dsi is not None or len(rate.scales) > 1
    return (lines[:1] if known and not (nopm and rate.index.dsi is None) else []) + ([] if nopm else lines[1:])


def index_lines(index: Index, *, searched: bool = False) -> list[str]:
    """DSI with its interval and range, and the rating where T(X) = X, in words, where there is such a scale;
    ``searched``: of capacities."""
    if index.dsi is None:
        without = "".join(f"; scale {scale} was left out: {why}" for scale, why in index.left_out.items())
        first = "DSI not defined: it needs two scales, each with a rate above 0" + without
    else:
        of = "of the capacities" if searched else "over the cycles"
        within = " (no interval: one of a capacity is open)" if searched else f" (no interval below {FEWEST} cycles)"
        if isfinite(index.dsi.low):
            within = f" [{index.dsi.low:.2f}, {index.dsi.high:.2f}] ({index.dsi.level:.0%}, {of})"
        ladder = "" if index.comparable else "; comparable only with --profile dsi"
        first = f"DSI {index.dsi.value:.2f}{within} over {index_scales(index)}{ladder}"
    rating = [f"T = X (TPC-B clause 4.1): {index.crossing:.4g} tps"] if index.crossing is not None else []
    return [first, *rating]


_STALE: Final = "each peak is the highest of several medians, so it tends to be too high"


def peak_lines(evaluation: Evaluation) -> list[str]:
    """For each scale that was run at several numbers of clients, that with the greatest rate, and how sure it is."""
    peaks = evaluation.of(RateResult).peaks
    stale = sum(not found.fresh for found in peaks.values()) > 1
    lines = [f"scale {scale}: {in_words(found, told=stale)}" for scale, found in peaks.items()]
    return lines + [_STALE] * stale


def _read_peaks(evaluation: Evaluation) -> dict[int, Peak]:
    parts = [part for key, part in evaluation.series.items() if key.stage == evaluation.stage]
    scales = sorted({x for part in parts
        for x in part.of(RateResult).cycle_rates if x not in part.of(RateResult).void_scales})
    searched = bool(scales) and evaluation.run.spec.peak
    peaks = {
        x: peak({part.clients: part.of(RateResult).cycle_rates[x].tolist()
            for part in parts if x in part.of(RateResult).cycle_rates}, searched=searched) for x in scales
    }
    return {x: found for x, found in peaks.items() if found is not None}


def _of_results(column: str) -> Callable[[Evaluation], dict[int, float]]:
    return lambda part: {row.scale: getattr(row, column) for row in part.of(RateResult).scales}


def _read_due(evaluation: Evaluation) -> dict[int, float]:
    """Of an open loop: a transaction that is tried again has one start. Those in flight at the end of a cycle count
    unless it had a ramp-up, whose last ones ended in their place."""
    rows = evaluation.rows
    if not rows.makers.pacings <= {"constant", "poisson"}:
        return {}
    warm = {(row["scale"], row["cycle"]) for row in rows.groups.to_pylist() if row["ramp_up_ns"]}
    found = {}
    for scale, load in rows.load.items():
        made = sum(load[name] for name in ("committed", "rolled_back", "failed", "skipped_starts")) - load["retries"]
        cold = np.array([(scale, int(cycle)) not in warm for cycle in load.cycles])
        starts = np.asarray(made).sum(axis=(1, 2)) + cold * load["in_flight"].sum(axis=(1, 2))
        found[scale] = float(np.median(starts / load.duration_s))
    return found


def _rates(part: Evaluation) -> dict[int, float]:
    """Of a search the highest rate with the objective: the last cycles are those of a step where none was found."""
    return {x: one.rate for x, one in part.of(LoadResult).load.items()} if part.of(LoadResult).load else part.own_rates


def _rate_unit(part: Evaluation) -> str:
    found = next(iter(part.of(StagesResult).efficiency.values()), None)
    return f"{found.counted}/s" if found and part.counts_operations else ""


def _dsi(part: Evaluation) -> dict[int, float]:
    found = part.of(RateResult).index.dsi
    return {0: found.value} if found is not None else {}


def _load_time(part: Evaluation) -> dict[int, float]:
    """Of what was timed; nan where nothing was."""
    times = {row.scale: np.array([row.populate_s, row.primary_key_s, row.foreign_key_s])
        for row in part.of(RateResult).scales}
    return {x: float(np.nansum(some)) if np.isfinite(some).any() else np.nan for x, some in times.items()}


class RateResult(Result):
    scales = computed(_read_results)
    void_scales: computed[frozenset[int]] = computed(lambda evaluation: frozenset(evaluation.rows.run.broken))
    """Scales whose check failed: shown, marked, and left out of the index."""
    cycle_rates = computed(_read_cycle_rates)
    """Scale to T_i (eq. 7), by cycle in order."""
    due = computed(_read_due)
    """Scale to the starts per second that were due, made or not, in the median over the cycles; empty in the closed
    loop."""
    intervals: computed[Mapping[int, Interval]] = computed(
        lambda evaluation: {x: median_interval(found) for x, found in evaluation.of(RateResult).cycle_rates.items()}
    )
    """Scale to the median rate with its interval at 95%, over its cycles; bounds nan below five of them."""
    cycle_numbers: computed[Mapping[int, Ints]] = computed(
        lambda evaluation: {x: part.cycles for x, part in evaluation.rows.load.items()}
    )
    """Scale to the numbers of its cycles in the archive, in the order of ``cycle_rates``."""
    durations_s: computed[Mapping[int, Floats]] = computed(
        lambda evaluation: {x: part.duration_s for x, part in evaluation.rows.load.items()}
    )
    """Scale to the demanded duration D_i of each cycle, in the order of ``cycle_rates``."""
    definitions = computed(_read_definitions)
    """Scale to TPS by two definitions, each the median over the cycles: the sum over streams of their own rates, and
    all transactions from the first start to the last end. Only where streams have even shares of a fixed number."""
    phases = computed(_read_phases)
    grown: computed[frozenset[int]] = computed(
        lambda evaluation: frozenset(x for x, phases in evaluation.of(RateResult).phases.items() if phases.grown)
    )
    """Scales whose rows were added to the database of the scale before (``--grow``)."""
    index = computed(_read_index)
    fall = computed(_read_fall)
    """Between which scales the rate falls most; ``None`` where it falls by less than half anywhere."""
    falls_at = computed(_read_falls_at)
    """Confidence level (0-1) to where the rate at that level falls most; empty where ``fall`` is ``None``, and without
    levels whose rate falls by less than half anywhere."""
    peaks = computed(_read_peaks, whole=_read_peaks)
    """Scale to the number of clients with the greatest rate, where it was run at several."""
    placement: computed[str] = computed(lambda evaluation: placement_of(evaluation.rows.groups, evaluation.rows.cycles))
    """Where the clients ran, in words; empty without a cycle."""
    all_clients = computed(_read_clients)
    """Clients of all nodes, or terminals; 0 without a cycle."""
    connections = computed(_read_connections)
    """Connections of all nodes and clients together."""
    left = computed(_read_left)
    """What a run on tables of somebody else left there; ``None`` where its rates count all of it."""


SUBJECT: Final = Subject(
    "rate", "Rate", RateResult, tell=_tell, on_page=_tell_on_page, nothing="No scale was started.",
    measures=(
        Measure("rate", "tps", "median rate of the cycles", _rates, own=True,
                of_statements=True, unit_of=_rate_unit),
        Measure("tps", "tps", "median rate of all transactions of all clients", _of_results("rate_median_tps")),
        Measure("dsi", "", "DSI", _dsi, geometric=False, own=True, per_run=True),
        Measure("size", "GB", "size of the database before its load", _of_results("database_size_gb"), more=False),
        Measure("load-time", "s", "time to load the tables and create the keys", _load_time, more=False),
        Measure("populate", "s", "time to load the tables", _of_results("populate_s"), more=False),
        Measure("primary-keys", "s", "time to create the primary keys", _of_results("primary_key_s"), more=False),
        Measure("foreign-keys", "s", "time to create the foreign keys", _of_results("foreign_key_s"), more=False),
    ),
)  # fmt: skip
