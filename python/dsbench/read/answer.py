"""What a run found, in one sentence and four figures: the first that a page and a terminal say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, inf, isfinite, isnan, log10, nan, sqrt
from typing import Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.archive.conditions import say_conditions
from dsbench.dataclass import dataclass
from dsbench.format import counted, format_number, format_share, say_time
from dsbench.read.blocks import Overview, Tile, TimeBar, TimePart, Tone
from dsbench.read.evaluation import Evaluation
from dsbench.read.glance import Best, best, count_fresh, is_candidate, limit
from dsbench.read.naming import by_client, conduct, limited, pacing, server, streams, warnings
from dsbench.read.series import phrases
from dsbench.read.subjects.clients import ClientsResult
from dsbench.read.subjects.connections import ConnectionsResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.interference import InterferenceResult
from dsbench.read.subjects.kinds import Counted, KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.legs import LegResult, LegsResult, highest_leg, shortest_leg
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.outage import EventSummary, OutageResult, say_length, say_lost
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.why import COLOURS, Why, WhyResult
from dsbench.read.verdict import RunVerdict, Soundness, judge_cycles, judge_run
from dsbench.stats.histogram import quantile_interval
from dsbench.stats.most_clients import MostClients
from dsbench.stats.precision import FEWEST, median_interval
from dsbench.stats.search import REMEDY
from dsbench.stats.tpcc import Nopm
from dsbench.stats.values import Floats, Interval, ScaleResult

_SAME: Final = 1.25
"""Rates that differ by less than so many times are called the same."""
_LOST: Final = 0.8
"""Share of the highest rate below which a rate has fallen. Both are rules for one sentence, as no interval says when a
difference matters to somebody."""

_DIGITS: Final = 4
"""Significant digits of a figure in a sentence, as nobody's rate is known better."""
_FOLLOWS: Final = 0.98
"""Share of the starts of a load that changes from which on it is said to be followed."""
_SIGMAS: Final = 3
"""Standard deviations of a number of starts that are drawn, within which it is chance."""
_MANY: Final = 0.01
"""Share of attempts that fail beyond which that stands beside the index, too."""


@dataclass(frozen=True)
class Highest:
    """The highest of what the run measures, where, and in which words."""

    value: float
    unit: str
    """In full: ``transactions per second``."""
    short: str
    scale: int
    part: Evaluation
    interval: Interval | None = None
    """At 95% over the cycles; ``None`` of what no cycles tell: a composite figure, or the capacity of a search."""
    fresh: int = 0
    """As of ``Best``."""

    @property
    def rates(self) -> Floats:
        """Of all transactions, in the cycles that tell the value."""
        return self.part.of(RateResult).cycle_rates.get(self.scale, np.zeros(0))[-self.fresh :]


def answer(evaluation: Evaluation, run: RunRecord) -> Overview:
    """The sentence, the conditions, what voids or endangers the figures, and four or five of them."""
    found, top, judged = best(evaluation), highest(evaluation), judge_run(evaluation, run)
    dangers = [words[0].upper() + words[1:] + "." for words in _say_open(evaluation)] + warnings(evaluation, run)
    verdict = [judged.say(top.scale)] if top is not None else []
    if run.spec.searches or run.spec.peak:
        verdict += judge_cycles(evaluation, run).say("cycle")
    why = _find_why(found, run)
    title = f"Time per transaction, {say_time(why.time_ns)}" if why else ""
    return Overview(
        say(evaluation, run), describe(evaluation, run), dangers, tiles(evaluation, run),
        f"{title}: {why.sentence}." if why else "", judged.soundness.value, verdict,
        TimeBar(title, _divide_time(why)) if why else None,
    )  # fmt: skip


def _say_open(evaluation: Evaluation) -> list[str]:
    """Why the rate that a search found has no interval, and what mends that."""
    top = highest(evaluation)
    load = evaluation.of(LoadResult).load.get(top.scale) if top is not None else None
    if load is None or not load.is_open:
        return []
    why = load.against or "no cycle lies far enough from it"
    end = "this rate has no interval" if load.ends.startswith("no") else "one end of its interval is not known"
    return [f"{end}: {why}; {REMEDY}"]


def _find_why(found: Best | None, run: RunRecord) -> Why | None:
    """Where the time of a transaction goes at the highest rate; ``None`` where it was paced, as then it waits for
    nobody, or where the archive does not tell."""
    why = found.part.of(WhyResult).why.get(found.row.scale) if found is not None else None
    if found is None or why is None or not why.explained or limit(found, run).paced:
        return None
    return why


def _divide_time(why: Why) -> tuple[TimePart, ...]:
    """The causes as parts of a bar, the largest first; what is not known is last."""
    return tuple(TimePart(one.name, one.share, say_time(one.time_ns), COLOURS[one.part]) for one in why.causes)


def _find_counted(parts: Sequence[Evaluation], stage: str) -> Evaluation:
    """That of the stage, or the last one."""
    return next((part for part in parts if part.stage == stage), parts[-1])


def highest(evaluation: Evaluation) -> Highest | None:
    """The rate, or what the workload counts in its place; ``None`` where nothing that is not void was committed."""
    parts = list(evaluation.series.values()) or [evaluation]
    composites = [
        Highest(one.value, f"{one.composite}@{one.factor:g}-like", f"{one.composite}-like", x,
                _find_counted(parts, f"throughput{one.reported.number}"))
        for x, one in evaluation.of(QueriesResult).queries.items()
            if x not in evaluation.of(RateResult).void_scales and isfinite(one.value)
    ]  # fmt: skip
    if composites:
        return max(composites, key=lambda one: one.value)
    if searched := {x: one
        for x, one in evaluation.of(LoadResult).load.items()
            if one.capacity and x not in evaluation.of(RateResult).void_scales}:
        scale = max(searched, key=lambda x: searched[x].rate)
        return Highest(searched[scale].rate, "transactions per second", "tps", scale, parts[-1])
    counted_here = [
        _count(row, "New-Orders per minute", x, part, count_fresh(evaluation, x))
        for part in parts
            for x, row in part.of(KindsResult).nopm.items()
                if is_candidate(evaluation, part, x) and row.median > 0
    ] or [
        _count(row, row.label, x, part, count_fresh(evaluation, x))
        for part in parts
            for x, row in part.of(KindsResult).headline.items()
                if is_candidate(evaluation, part, x) and row.median > 0
    ]  # fmt: skip
    if counted_here:
        return max(counted_here, key=lambda one: one.value)
    found = best(evaluation)
    if found is None:
        return None
    scale, fresh = found.row.scale, found.fresh
    interval = median_interval(found.rates) if fresh else found.part.of(RateResult).intervals.get(scale)
    return Highest(found.rate_tps, "transactions per second", "tps", scale, found.part, interval, fresh)


def _count(row: Nopm | Counted, unit: str, scale: int, part: Evaluation, fresh: int) -> Highest:
    """A figure that is counted in place of the rate."""
    by_cycle = np.array(row.by_cycle)[-fresh:]
    value = float(np.median(by_cycle)) if fresh else row.median
    return Highest(value, unit, row.label, scale, part, median_interval(by_cycle), fresh)


def say(evaluation: Evaluation, run: RunRecord) -> str:
    """What was measured, how fast it was and what happens as the database grows, in one sentence."""
    who = " ".join(part for part in (server(run) or "The database", by_client(run)) if part)
    top = highest(evaluation)
    if top is None:
        return _say_nothing(evaluation, run, who)
    spoilt = top.scale in judge_run(evaluation, run).spoilt
    measured = "Measured: " if spoilt else ""
    does = f"{measured}{who} {'did' if spoilt else 'does'}"
    where = " on this machine" if run.embedded or run.spec.target.url.startswith("private:") else ""
    sized = _size(next((row for row in top.part.of(RateResult).scales if row.scale == top.scale), None), top.scale)
    clients = _say_clients(top, run)
    stage = f" in stage {top.part.stage}" if evaluation.staged and not evaluation.of(QueriesResult).queries else ""
    for one in evaluation.of(InterferenceResult).interference.get(top.scale, ()):
        if one.unit == top.short:
            alone, beside = (_number(float(np.median(rates))) for rates in (one.alone, one.beside))
            others = " and ".join(other.group
                for other in evaluation.of(InterferenceResult).interference[top.scale] if other is not one)
            ratio = f"{one.ratio.value:.2f} times as many"
            return f"{does} {alone} {top.unit} alone at {sized}{where}, and {beside} beside {others}: {ratio}."
    if load := evaluation.of(LoadResult).load.get(top.scale):
        if load.capacity:
            but = f", but {load.broken}" if load.broken else ""
            return f"{does} {load.words} at {sized}{where}{but}{_fall(evaluation)}."
        return f"How much {who} does with {load.objective.words}{where} is not known: {load.extent}."
    if most := evaluation.of(ConnectionsResult).most_clients.get(top.scale):
        return f"{measured}{who} {_say_most(most, spoilt=spoilt)} at {sized}{where}: {_say_kept(most, top)}."
    if outages := top.part.of(OutageResult).outages.get(top.scale):
        return f"{measured}{who} {_say_outages(outages)}{clients} at {sized}{where}{_say_lost(evaluation, top.scale)}."
    if run.spec.legs and (legs := top.part.of(LegsResult).legs.get(top.scale)):
        cycles = len(top.part.of(RateResult).cycle_rates.get(top.scale, ())) if run.spec.arrival == "poisson" else inf
        return f"{measured}{who} {_follow(legs, top.unit, cycles)}, at {sized}{where}."
    if run.spec.rate and top.short == "tps":
        return f"{does} {_number(top.value)} {_say_due(top, run.spec.rate)}{clients} at {sized}{where}."
    rate = f"{_say_rate(top)} {top.unit}{stage}{clients} at {sized}"
    return f"{does} {rate}{where}{_grow(top, evaluation)}."


def _say_most(most: MostClients, *, spoilt: bool) -> str:
    """``keeps 99% below 20 ms with up to 8 clients``."""
    keeps = "kept" if spoilt else "keeps"
    if not most.clients:
        numbers = ", ".join(f"{one.clients:,}" for one in most.tried)
        return f"{keeps} {most.objective} with none of {numbers} clients"
    return f"{keeps} {most.objective} with {'up to ' * (most.clients > 1)}{counted(most.clients, 'client')}"


def _say_kept(most: MostClients, top: Highest) -> str:
    """``14.2 ms at 2,310 tps; with 16 clients 31 ms``."""
    best, beyond = most.best, most.beyond
    first = [f"{best.values} at {_say_rate(top)} {top.short}"] if best else []
    return "; ".join([*first, *([f"with {counted(beyond.clients, 'client')} {beyond.values}"] if beyond else [])])


def _say_clients(top: Highest, run: RunRecord) -> str:
    """`` with 4 clients``: who made the load of the highest rate; nothing of streams, which their own line has."""
    number = top.part.of(RateResult).all_clients
    if top.part.of(QueriesResult).queries or not number:
        return ""
    noun = "terminal" if run.spec.pace == "terminals" else "client"
    return f" with {counted(number, noun)}"


def _say_rate(top: Highest) -> str:
    """With as many digits as its cycles, or their interval, tell: two at least, and four at most; three where they tell
    nothing. Four of a rate that was demanded, and of a composite figure."""
    if top.part.of(LatencyResult).response or top.part.of(QueriesResult).queries:
        return _number(top.value)
    row = next((one for one in top.part.of(RateResult).scales if one.scale == top.scale), None)
    known = top.interval if top.interval and isfinite(top.interval.low) else None
    if known:
        half = (known.high - known.low) / 2
    elif top.fresh and top.short == "tps":
        half = float(np.ptp(top.rates)) / 2
    elif row is not None and top.short == "tps":
        half = (row.rate_max_tps - row.rate_min_tps) / 2
    else:
        half = 0.0
    digits = 1 + ceil(log10(top.value / half)) if half > 0 else 3
    return _number(top.value, min(max(digits, 2), _DIGITS))


def _say_nothing(evaluation: Evaluation, run: RunRecord, who: str) -> str:
    if evaluation.of(RateResult).void_scales:
        return f"The check failed: no figure of {who} can be used."
    if run.status == "running":
        return f"{who} is being measured."
    why = run.reason or "no cycle was finished"
    return f"{who} was not measured: {why.rstrip('.')}."


def _say_outages(found: Sequence[EventSummary]) -> str:
    """``was without a transaction for 412 ms (restart) and 1.31 s (kill)``."""
    stopped = [one for one in found if one.length.value > 0]
    if stopped:
        said = [f"{say_length(one.length.value)} ({one.named})" for one in stopped]
        return f"was without a transaction for {', '.join(said[:-1])}{' and ' * (len(said) > 1)}{said[-1]}"
    unknown = [one.text for one in found if isnan(one.length.value)]
    if unknown:
        return f"had outages of unknown length ({', '.join(unknown)})"
    longest = say_length(max(one.usual_ns for one in found))
    return f"went on without a pause of more than {longest} ({', '.join(one.text for one in found)})"


def _say_lost(evaluation: Evaluation, scale: int) -> str:
    """``; none of 12,300 acknowledged commits is lost``; nothing where the check does not compare them."""
    commits = evaluation.of(OutageResult).commits.get(scale)
    return f"; {say_lost(commits)}" if commits is not None else ""


def _say_due(top: Highest, asked: float) -> str:
    """``of the 95.3 transactions per second that were due (100 asked for)``: chance draws the starts around those."""
    due = top.part.of(RateResult).due.get(top.scale, nan)
    what = f"of the {_number(due)} {top.unit} that were due" if isfinite(due) else top.unit
    return f"{what} ({asked:,.6g} asked for)"


def _follow(legs: Sequence[LegResult], unit: str, cycles: float) -> str:
    """How it kept up with a load that changes, and how soon it was back after the highest peak. Fewer starts than
    chance may draw in so many ``cycles`` are none that it missed."""
    peak, reached = highest_leg(legs), shortest_leg(legs)
    starts = reached.demanded * reached.leg.duration_s * cycles
    chance = _SIGMAS / sqrt(starts) if starts > 0 else 0.0
    if reached.achieved < min(_FOLLOWS, 1 - chance) * reached.demanded:
        share = f"{_number(reached.achieved)} of {_number(reached.demanded)}"
        words = f"reaches {share} {unit} in leg {reached.number} of its load"
    else:
        words = f"follows a load of up to {_number(peak.leg.last)} {unit}"
    after = [one for one in legs if one.like and not isnan(one.back_s)]
    if not after:
        return words
    worst = max(after, key=lambda one: (one.back_s, legs[one.number - 2].demanded))
    asked = legs[worst.number - 2].leg.words
    if worst.back_s == inf:
        return f"{words}, and is not back to its response times within {worst.leg.duration_s:g} s after {asked}"
    soon = f"{worst.back_s:g} s" if worst.back_s else "at once"
    return f"{words}, and is back to its response times {soon} after {asked}"


def _fall(evaluation: Evaluation) -> str:
    """What becomes of the capacity as the database grows."""
    rates = {row.scale: evaluation.of(LoadResult).load[row.scale].rate
        for row in evaluation.of(RateResult).scales if row.scale in evaluation.of(LoadResult).load}
    known = {scale: rate
        for scale, rate in rates.items() if isfinite(rate) and scale not in evaluation.of(RateResult).void_scales}
    if len(known) < 2:
        return ""
    last = max(known)
    sizes = {row.scale: _size(row) for row in evaluation.of(RateResult).scales}
    if known[last] < _LOST * max(known.values()):
        return f", and {_number(known[last])} at {sizes[last]}"
    return f", at the best of the scales up to {sizes[last]}"


def _grow(top: Highest, evaluation: Evaluation) -> str:
    """What becomes of the rate as the database grows; nothing where one size was measured."""
    rows = [row
        for row in top.part.of(RateResult).scales
            if row.scale not in top.part.of(RateResult).void_scales and row.rate_median_tps > 0]
    if len(rows) < 2 or evaluation.staged:
        return ""
    rates = [row.rate_median_tps for row in rows]
    peak = max(rates)
    if peak < _SAME * min(rates):
        others = [row for row in rows if row.scale != top.scale]
        at = _size(others[0]) if len(others) == 1 else f"all scales from {rows[0].scale:,} to {rows[-1].scale:,}"
        return f", and about as many at {at}"
    best_row = rows[rates.index(peak)]
    slower = [row for row in (rows[-1], rows[0]) if row.rate_median_tps < _LOST * peak]
    if slower and not _are_apart(best_row, slower[0], top.part):
        return f"; scales {rows[0].scale:,} to {rows[-1].scale:,} differ less than their cycles do"
    if rates[-1] < _LOST * peak:
        lost = 1 - rates[-1] / peak
        where = f"; {_most(rows, peak - rates[-1])}" if len(rows) > 2 else ""
        return f", and {lost:.0%} fewer at {_size(rows[-1])}{where}"
    if rates[0] < _LOST * peak:
        return f", {peak / rates[0]:.2g} times as many as at {_size(rows[0])}"
    return ""


def _most(rows: Sequence[ScaleResult], lost_tps: float) -> str:
    """Between which sizes most of the rate is lost, or where it falls most steeply if no step is most of it."""
    rate = {row.scale: row.rate_median_tps for row in rows}
    before, after = max(pairwise(rows), key=lambda two: rate[two[0].scale] - rate[two[1].scale])
    words = "most of the fall is"
    if rate[before.scale] - rate[after.scale] <= lost_tps / 2:
        before, after = min(pairwise(rows), key=lambda two: rate[two[1].scale] / rate[two[0].scale])
        words = "the fall is steepest"
    return f"{words} between scale {before.scale:,} and {after.scale:,}"


def _are_apart(fast: ScaleResult, slow: ScaleResult, part: Evaluation) -> bool:
    """Whether two rates differ by their intervals or, where cycles are too few for these, by all of their cycles."""
    first, second = part.of(RateResult).intervals.get(fast.scale), part.of(RateResult).intervals.get(slow.scale)
    if first and second and isfinite(first.low) and isfinite(second.low):
        return first.low > second.high
    return fast.rate_min_tps > slow.rate_max_tps


def _number(value: float, digits: int = _DIGITS) -> str:
    return format_number(float(f"{value:.{digits}g}"), digits=digits)


def _size(row: ScaleResult | None, scale: int = 0) -> str:
    """``scale 10 (157 MB)``."""
    if row is None or not isfinite(row.database_size_gb):
        return f"scale {row.scale if row else scale:,}"
    return f"scale {row.scale:,} ({format_size(row.database_size_gb)})"


def format_size(size_gb: float) -> str:
    """A size of a database: ``16 MB``, ``1.6 GB``, ``2.1 TB``."""
    for factor, unit in ((1e-3, "TB"), (1.0, "GB"), (1e3, "MB"), (1e6, "kB")):
        if size_gb * factor >= 1 or unit == "kB":
            break
    value = size_gb * factor
    return f"{value:,.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}".replace(".0 ", " ")


def describe(evaluation: Evaluation, run: RunRecord) -> str:
    """The work, how it was done and the machine, in one line."""
    spec = run.spec
    cycles, seconds = conduct(evaluation, run)
    numbers, scales = spec.client_numbers, [row.scale for row in evaluation.of(RateResult).scales] or list(spec.scales)
    clients = f"{', '.join(map(str, numbers))} {'client' if numbers == (1,) else 'clients'}"
    pace = pacing(run)
    memory, cpu = run.item("core", "RAM"), run.item("core", "CPU")
    parts = [
        run.workload.label,
        f"scale {scales[0]:,}" if len(scales) == 1 else f"scales {scales[0]:,} to {scales[-1]:,}",
        " · ".join(streams(evaluation)) or (f"{counted(spec.nodes, 'node')} × {clients}" if spec.nodes else clients),
        f"{spec.connections} connections each" if spec.connections > 1 else "",
        run.in_force.replace("-", " "),
        "" if evaluation.of(QueriesResult).queries
            else f"{cycles} {'cycle' if cycles == '1' else 'cycles'} of {seconds} s",
        pace if pace != "closed loop" else "",
        limited(run),
        f"{run.cpus} × {cpu}" if run.cpus and cpu else counted(run.cpus, "CPU") if run.cpus else "",
        memory, run.item("file system", "type"),
    ]  # fmt: skip
    return " · ".join(part for part in parts if part)


def tiles(evaluation: Evaluation, run: RunRecord) -> list[Tile]:
    """The highest rate, how long 99% take there, the index or the failures, and whether all that can be trusted."""
    top, found = highest(evaluation), best(evaluation)
    if top is None or found is None:
        return []
    index, failed = list(_tile_of_index(top, evaluation)), _tile_of_failures(top, evaluation)
    return [
        *_tile_of_outage(top), *_tile_of_clients(top, evaluation), _tile_of_rate(top, evaluation),
        *_tile_of_time(top, evaluation), *index,
        *([failed] if failed.tone or not (index or evaluation.of(ConnectionsResult).most_clients) else []),
        _tile_of_verdict(judge_run(evaluation, run), top.scale, run),
    ]  # fmt: skip


def _tile_of_clients(top: Highest, evaluation: Evaluation) -> Iterator[Tile]:
    """The most that keep the objective, where several numbers were judged by one."""
    if most := evaluation.of(ConnectionsResult).most_clients.get(top.scale):
        best = most.best
        kept = f"in {best.cycles_kept} of {counted(best.cycles, 'cycle')}" if best else ""
        note = " · ".join(part for part in (most.objective, kept, most.unsure, most.untold) if part)
        tone: Tone = "" if best and best.cycles_kept == best.cycles and not most.unsure else "fair"
        yield Tile("Most clients", f"{most.clients:,}" if best else "none", note, tone)


def _tile_of_outage(top: Highest) -> Iterator[Tile]:
    """Of the planned event whose outages are longest."""
    if found := top.part.of(OutageResult).outages.get(top.scale):
        worst = max(found, key=lambda one: -1.0 if isnan(one.length.value) else one.length.value)
        several = ""
        if worst.count > 1:
            longest = worst.length_range_ns[1]
            several = f"median of {worst.count}"
            several += f", at most {say_length(longest)}" if 0 < longest < inf else ""
            several += ", one without an end in its cycle" if longest == inf else ""
        last = f"all clients back after {say_length(worst.all_ns)}" if isfinite(worst.all_ns) else ""
        note = " · ".join(part for part in (worst.named, several, last) if part)
        yield Tile("Longest outage" if len(found) > 1 else "Outage", say_length(worst.length.value), note)


def _tile_of_rate(top: Highest, evaluation: Evaluation) -> Tile:
    if decision := top.part.of(QueriesResult).queries.get(top.scale):
        run = decision.reported
        both = f"power {_number(run.power)} · throughput {_number(run.throughput)}" if decision.streams else ""
        which = f"run {run.number}, the lower one" if len(decision.runs) > 1 else "one run"
        note = " · ".join(part for part in (both, which) if part)
        return Tile("No result of the TPC", f"{_number(top.value)} {top.short}", note)
    if legs := top.part.of(LegsResult).legs.get(top.scale):
        peak = highest_leg(legs)
        note = f"of {peak.leg.words} · leg {peak.number} of {len(legs)}"
        return Tile("At the peak", f"{_number(peak.achieved)} tps", note)
    load = evaluation.of(LoadResult).load.get(top.scale)
    if load and not load.capacity:
        return Tile("Highest rate", "not known", f"{load.objective.words}: {load.extent}")
    if load and (found := load.capacity):
        return Tile("Highest rate", f"{_number(found.rate)} tps", f"{load.objective.words} · {load.ends}")
    interval = top.interval
    sure = f"± {interval.reach:.1%}" if interval and isfinite(interval.low) else counted(len(top.rates), "cycle")
    if interval and isfinite(interval.low) and interval.reach > 1:
        sure = f"{format_number(interval.low)} to {format_number(interval.high)}"
    where = f"scale {top.scale:,}" + (f", {phrases(evaluation.series)[top.part.key]}" if evaluation.series else "")
    short, _, how = top.short.partition(", ")
    note = " · ".join(part for part in (sure, where, how) if part)
    if evaluation.of(ConnectionsResult).most_clients.get(top.scale):
        return Tile(f"Rate with {counted(top.part.clients, 'client')}", f"{_say_rate(top)} {short}", note)
    if top.part.of(OutageResult).outages.get(top.scale):
        return Tile("Rate with its outages", f"{_say_rate(top)} {short}", note)
    name = "Rate reached" if top.part.of(LatencyResult).response else "Highest rate"
    return Tile(name, f"{_say_rate(top)} {short}", note)


def _tile_of_time(top: Highest, evaluation: Evaluation) -> Iterator[Tile]:
    curve = top.part.of(LatencyResult).curve(top.scale)
    p99, p50 = (curve.told(share) if curve else None for share in (0.99, 0.5))
    ledger = top.part.of(ClientsResult).ledger.get(top.scale)
    if ledger is not None and ledger.apart:
        by_number = f"of the transactions 99% take at most {say_time(p99)}" if p99 and isfinite(p99) else ""
        longest = f"longest {say_time(ledger.longest_ns)}"
        yield Tile("Half of the client time", f"above {say_time(ledger.half_ns)}",
                   " · ".join(part for part in (longest, by_number) if part))  # fmt: skip
        return
    if p99 is not None and isfinite(p99):
        median = f" · median {say_time(p50)}" if p50 is not None and isfinite(p50) else ""
        if (load := evaluation.of(LoadResult).load.get(top.scale)) and load.capacity and load.last:
            # Those are near the capacity and not at it, so that this may lie beyond what the sentence promises.
            missed = sum(not one.keeps for one in load.last)
            kept = f"{missed} of {len(load.last)} miss it" if missed else "kept in each"
            rate = f"{_number(load.last[-1].demanded)}/s"
            yield Tile("99% in the last cycles", say_time(p99), f"at {rate} · {kept}{median}")
            return
        within = quantile_interval(curve, 0.99) if curve else None
        ends = f"{say_time(within.low)} to {say_time(within.high)}" if within and within.low > 0 else _where(top)
        yield Tile("99% take at most", say_time(p99), f"{ends}{median}")


def _where(top: Highest) -> str:
    """What figures count that are not of a single leg."""
    return "over all legs" if top.part.of(LegsResult).legs.get(top.scale) else f"at scale {top.scale:,}"


def _tile_of_index(top: Highest, evaluation: Evaluation) -> Iterator[Tile]:
    """The index where the workload has one."""
    index = top.part.of(RateResult).index
    kinds = evaluation.of(KindsResult)
    if index.dsi is None or not index.comparable or evaluation.staged or kinds.nopm or kinds.headline:
        return
    known = isfinite(index.dsi.low)
    ends = f"{index.dsi.low:.2f} to {index.dsi.high:.2f}" if known else f"an interval takes {FEWEST} cycles"
    which = f"{phrases(evaluation.series)[top.part.key]} · " if evaluation.series else ""
    yield Tile("Index DSI", f"{index.dsi.value:.2f}", f"{which}{ends}")


def _tile_of_failures(top: Highest, evaluation: Evaluation) -> Tile:
    parts = list(evaluation.series.values()) or [evaluation]
    worst = max((1 - share for part in parts for share in part.of(ErrorsResult).success_share.values()), default=0.0)
    here = 1 - top.part.of(ErrorsResult).success_share.get(top.scale, 1.0)
    note = _where(top) if worst <= here else f"{_where(top)} · at most {format_share(worst)}"
    return Tile("Failed attempts", format_share(here) if here else "none", note, "fair" if worst > _MANY else "")


def _tile_of_verdict(verdict: RunVerdict, scale: int, run: RunRecord) -> Tile:
    """What the run itself noticed, in a word."""
    held = say_conditions(one for conditions in run.checks.values() for one in conditions)
    note = f"{counted(verdict.warnings, 'warning') if verdict.warnings else 'no warning'} · {held}"
    sure = not verdict.warnings and not verdict.unknown
    spared: tuple[str, Tone] = ("preliminary" if verdict.short else "valid in part", "fair")
    worst: tuple[str, Tone] = ("not valid", "bad") if scale in verdict.spoilt else spared
    words: dict[Soundness, tuple[str, Tone]] = {
        Soundness.VOID: worst, Soundness.DISTURBED: worst,
        Soundness.PRELIMINARY: ("preliminary", "fair"), Soundness.VALID: ("valid", "good" if sure else "fair"),
    }  # fmt: skip
    return Tile("Verdict", words[verdict.soundness][0], note, words[verdict.soundness][1])
