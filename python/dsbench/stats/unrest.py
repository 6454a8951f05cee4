"""Doubts about a rate that did not hold still, and about what else the machine did meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from math import isnan

from dsbench.stats.facts import RunFacts, ScaleFacts
from dsbench.stats.machine import OWN_CPUS, cycles_named, describe_cpu, use_doubts
from dsbench.stats.steady import SteadyVerdict
from dsbench.stats.values import Doubt

_EARLY = 0.99
"""Share of the time that was asked for, below which a cycle ended early."""
_TOLD = 4
"""Cycles off the median that are told one by one."""


def others(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Other programs, or other guests of the host, took a noticeable part of a machine.

    That a server waits for memory is what a run asks for that limits it.
    """
    found = use_doubts(scale.uses, scale.scale)
    yield from (doubt for doubt in found if doubt.code != "memory-pressure" or not run.memory_limited)


def no_steady_state(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The rate still moved when the measurement ended."""
    for stretch, drift in scale.drifts:
        if drift.verdict is SteadyVerdict.DRIFTING and not isnan(drift.drift):
            disturbed = f"{told}; " if (told := _disturbed(scale)) else ""
            fell = f"{cycles_named(scale.checkpoints)} had a checkpoint; " if scale.checkpoints else ""
            yield Doubt(
                "no-steady-state",
                f"no steady state: the rate drifted by {drift.drift:+.0%} {stretch} (p = {drift.p_value:.2g})",
                f"{disturbed}{fell}use longer or more cycles; check for cache warm-up and growing tables",
                scale.scale,
            )


def scattered(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Cycles differ by more than their seconds explain, and by no drift: its doubt would tell of them."""
    found = scale.scatter
    if found is None or any(drift.verdict is SteadyVerdict.DRIFTING for _, drift in scale.drifts[1:]):
        return
    told = ", ".join(f"cycle {cycle} {away:+.0%}" for cycle, away in found.off[:_TOLD])
    more = f" and {len(found.off) - _TOLD} more" if len(found.off) > _TOLD else ""
    cpu = describe_cpu(scale.server_cpu_us)
    words = (
        f"the cycles differ by more than the variation of their seconds explains: {told}{more} off the median of "
        f"{found.median_tps:,.0f} tps (p = {found.p_value:.2g}){f'; {cpu}' if cpu else ''}"
    )
    yield Doubt("scattered-cycles", words, _remedy(scale), scale.scale)


def imprecise(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The cycles ended before the interval of the median rate was as narrow as wanted."""
    if run.precision is not None and scale.half_width > run.precision:
        words = (
            f"the median rate is known to within ±{min(scale.half_width, 10):.1%} after {scale.cycles} cycles, "
            f"requested was ±{run.precision:.1%}"
        )
        yield Doubt("imprecise", words, "use longer cycles, or more of them: --duration, --max-cycles", scale.scale)


def ended_early(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """A fixed number of transactions took less time than the cycle was to last: the trial that sized it was slower."""
    early = {cycle: lasted_s for cycle, lasted_s in scale.lasted_s if lasted_s < _EARLY * run.sized_for_s}
    if early:
        words = (
            f"{cycles_named(early)} ended after {_span(early.values())} s, and not {run.sized_for_s:g} s: the trial "
            "that set the number of transactions was slower, perhaps disturbed"
        )
        yield Doubt("ended-early", words, "repeat the run on a quiet machine, or with a longer --duration", scale.scale)


def _span(values: Collection[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


def few_checkpoints(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Cycles are shorter than the time between checkpoints, so that the median knows little of what one costs.

    It is kept back where cycles differ and the doubt about that names the checkpoints.
    """
    met = len(set(scale.checkpoints))
    drifts = any(drift.verdict is SteadyVerdict.DRIFTING for _, drift in scale.drifts)
    if 0 < met < scale.cycles / 2 and scale.scatter is None and not drifts:
        yield Doubt(
            "few-checkpoints",
            f"a cycle is shorter than the checkpoint interval: only {met} of {scale.cycles} cycles had one "
            f"({cycles_named(scale.checkpoints)}), so the median says little about what a checkpoint costs",
            "use cycles long enough for a checkpoint in each, or use the mean of the rates",
            scale.scale,
        )


def starved_clients(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Clients spent their time in transactions of which the quantiles over transactions know next to nothing."""
    ledger = scale.ledger
    if ledger is None or not (ledger.apart or ledger.idle):
        return
    words = []
    if ledger.idle:
        cycle, clients = max(ledger.idle, key=lambda one: one[1])
        more = f" ({len(ledger.idle)} cycles have such clients)" if len(ledger.idle) > 1 else ""
        words.append(f"{clients} of {ledger.clients} clients finished no transaction in cycle {cycle}{more}")
    if ledger.apart:
        times = f", {ledger.half_ns / ledger.median_ns:,.0f} times the median" if ledger.median_ns else ""
        words.append(f"half of the clients' time was spent in transactions of {_time(ledger.half_ns)} or more{times}")
    turns = "the engine lets one client write at a time, and its lock has no queue: use --clients 1; "
    why = turns if run.single_writer else ""
    yield Doubt(
        "starved-clients",
        "; ".join(words),
        f"percentiles over transactions hide this; {why}dsbench show --by clients has times by client time, --by "
        "why shows the wait events",
        scale.scale,
    )


def foreign_transactions(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The server counted other transactions than the clients."""
    more = max(scale.counted, key=lambda one: one.foreign, default=None)
    if more is not None and more.foreign:
        words = f"the server counted {more.server:,} transactions in cycle {more.cycle}, and the clients made "
        words += f"{more.ended:,}: other sessions used the database"
        remedy = "keep other sessions off the database, or specify another, and repeat the scale"
        yield Doubt("foreign-transactions", words, remedy, scale.scale)
    few = max(scale.counted, key=lambda one: one.lacking, default=None)
    if few is not None and few.lacking:
        words = f"the clients made {few.ended:,} transactions in cycle {few.cycle}, the server counted {few.server:,}"
        remedy = "check for a cache or proxy between client and server, or a reset of the server's counters"
        yield Doubt("uncounted-transactions", words, remedy, scale.scale)


_LEAST_GAP_NS = 5e8
_LEAST_MISSING = 20
"""Transactions that a gap would have brought: chance leaves one in e^20 such times empty."""


_LATE = 50
"""Medians of the residence times beyond which one in flight at the end of a cycle is told of."""


def stood_still(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """No transaction ended for a noticeable time, or hardly one. In a closed loop all of it is one of each client."""
    gaps = [] if scale.ledger is None or (run.searched and not run.outages) else [
        one for one in scale.ledger.gaps if one.length_ns >= _LEAST_GAP_NS and one.missing >= _LEAST_MISSING
    ]  # fmt: skip
    remedy = "check the server's log; percentiles over transactions hide a stall, dsbench show --by clients shows it"
    who = "the server, its storage or the machine stalled"
    if gaps:
        worst = max(gaps, key=lambda one: one.length_ns)
        more = f"; it happened in {cycles_named([one.cycle for one in gaps])}" if len(gaps) > 1 else ""
        words = f"no transaction ended for {worst.length_ns / 1e9:.2f} s in cycle {worst.cycle}, from second "
        words += f"{worst.at_ns / 1e9:.1f} on: {who}{more}"
        yield Doubt("stood-still", words, remedy, scale.scale)
    elif not run.outages and (late := _late(scale)):
        cycle, length_ns = late
        words = f"a transaction that was in flight at the end of cycle {cycle} took {length_ns / 1e9:.2f} s: {who}"
        yield Doubt("stood-still", words, remedy, scale.scale)
    elif not run.outages and scale.stood_still and run.pacings == {"closed"}:
        words = f"almost no transaction ended for about a second in {cycles_named(scale.stood_still)}: {who}"
        yield Doubt("stood-still", words, remedy, scale.scale)


def _late(scale: ScaleFacts) -> tuple[int, int] | None:
    """The cycle at whose end a transaction was in flight for a noticeable time that no other took, and that time."""
    if scale.ledger is None or scale.ledger.apart or scale.ledger.idle or not scale.ledger.median_ns:
        return None
    found = max(scale.ledger.lasted, key=lambda one: one[1], default=None)
    most_ns = max(_LEAST_GAP_NS, _LATE * scale.ledger.median_ns)
    return found if found is not None and found[1] >= most_ns and found[1] >= scale.ledger.longest_ns else None


def _time(nanos: float) -> str:
    return f"{nanos / 1e9:.2g} s" if nanos >= 1e9 else f"{nanos / 1e6:.3g} ms"


def uneven_clients(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Clients of a closed loop that do the same did not get the same, by more than chance explains."""
    found = scale.evenness
    starved = scale.ledger is not None and scale.ledger.idle
    if found is None or not found.uneven or run.pacings != {"closed"} or starved:
        return
    worst, cycle = min((float(least), int(at)) for least, at in zip(found.least, found.cycles, strict=True)
                       if int(at) in found.uneven)  # fmt: skip
    others = f"; uneven in {cycles_named(found.uneven)}" if len(found.uneven) > 1 else ""
    yield Doubt(
        "uneven-clients",
        f"the slowest of {found.clients} clients had {worst:.2f} of the mean rate in cycle {cycle}, more than chance "
        f"explains{others}",
        "see dsbench show --by cost for waits, context switches and CPU migrations; use fewer --clients or more CPUs; "
        "percentiles do not apply to every client",
        scale.scale,
    )


def _remedy(scale: ScaleFacts) -> str:
    """What to do, by what set the cycles apart."""
    if disturbed := _disturbed(scale):
        return disturbed
    if scale.checkpoints and len(set(scale.checkpoints)) < scale.cycles:
        return f"only {cycles_named(scale.checkpoints)} had a checkpoint: use cycles long enough for one in each"
    return "use more or longer cycles; check other load on the machine: dsbench show --by machine"


def _disturbed(scale: ScaleFacts) -> str:
    disturbed = [one for one in scale.uses if one.disturbed]
    if not disturbed:
        return ""
    when = cycles_named({one.cycle for one in disturbed})
    if sum(one.use.stolen_ns for one in disturbed) > sum(one.use.others_ns for one in disturbed):
        return f"the hypervisor took CPU time during {when}: {OWN_CPUS}"
    return f"other programs used the CPUs during {when}: measure again on a quiet machine"
