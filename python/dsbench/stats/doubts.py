"""When not to trust a figure: rules that turn facts into warnings with a remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import sqrt

from dsbench.format import counted
from dsbench.stats.facts import RunFacts, ScaleFacts
from dsbench.stats.unrest import (
    ended_early,
    few_checkpoints,
    foreign_transactions,
    imprecise,
    no_steady_state,
    others,
    scattered,
    starved_clients,
    stood_still,
    uneven_clients,
)
from dsbench.stats.values import LEAST_BEYOND, Doubt, known, percent

REMOTE_SIGMAS = 3
"""A few hundred transactions leave the window by chance: only what chance does not explain counts."""
MOST_FAILURES = 0.01
"""Share of attempts above which failures shape the rate, not only its noise."""
COLLISIONS = frozenset({"serialization", "conflict", "deadlock"})
"""Classes of errors by which isolation keeps transactions from each other's rows."""
MOST_CLIENT_CPU = 0.5
"""Share of the machine's CPU: beyond it the load takes more of the machine than the server can."""
MOST_OUTSIDE = 0.2
"""Share of client time outside of transactions. The clients of a closed loop wait for the database all
the time but for the client's own work: drawing inputs, recording, waiting for a CPU. At 0.2 an
infinitely fast client would show up to a quarter more."""
MOST_CEILING = 0.5
"""Share of the client's calibrated ceiling: beyond it more than half of a transaction's time, or of the
machine's, is the client's and its sockets', so that a faster database would show too little."""
MOST_NODE_CPU = 0.9
"""Share of a node's CPUs: beyond it clients wait for a CPU before they can read the answer."""
MOST_SKEW = 0.01
"""Share of the duration by which a node's start may be off: as much as its rate may be wrong by that."""
MOST_NAMED = 4
"""Absences that are told one by one."""
SHORT_CYCLE_S = 30.0
"""Cycles below this length end before a checkpoint or a write-back shows."""
FEWEST_CYCLES = 3
"""Fewer cycles say nothing about their spread."""

SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "pit", "refined-jiffies", "jiffies"})
"""Clock sources that are read from a device, or count ticks."""

FOLLOWING = frozenset({"powersave", "ondemand", "conservative", "schedutil", "interactive"})
"""Governors of the CPUs' frequency that go by what was just done."""

RunRule = Callable[[RunFacts], Iterator[Doubt]]
ScaleRule = Callable[[RunFacts, ScaleFacts], Iterator[Doubt]]


def cut_short(run: RunFacts) -> Iterator[Doubt]:
    """The run did not come to its end."""
    why = f": {run.reason}" if run.reason else ""
    if run.status == "running":
        yield Doubt("cut-short", "the run has not ended, or was killed", "wait for it, or resume it")
    elif run.status in ("cut-short", "failed"):
        words = "was cut short" if run.status == "cut-short" else "failed"
        yield Doubt("cut-short", f"the run {words}{why}", run.remedy or "resume the run for the missing cycles")


def durability(run: RunFacts) -> Iterator[Doubt]:
    """A switch that trades committed transactions for speed."""
    for unsafe in run.unsafe:
        yield Doubt(
            "durability",
            f"{unsafe.switch} = {unsafe.value}: {unsafe.meaning}",
            "compare only with runs that have the same setting, or turn durability on",
        )


def short_cycles(run: RunFacts) -> Iterator[Doubt]:
    """Too little was measured to compare it with anything. What ends by its work is as long as that takes."""
    if not run.timed:
        return
    if run.duration_s < SHORT_CYCLE_S or run.made < FEWEST_CYCLES:
        remedy = f"use {FEWEST_CYCLES} cycles or more of {SHORT_CYCLE_S:g} s or more"
        if run.workload.data.indexed and not run.searched:
            remedy += "; for a comparable index, --profile dsi"
        are = "is" if run.made == 1 else "are"
        words = f"{counted(run.made, 'cycle')} of {run.duration_s:.3g} s {are} too short to compare with other runs"
        yield Doubt("short-cycles", words, remedy)


def slow_clock(run: RunFacts) -> Iterator[Doubt]:
    """Each transaction is timed by two readings of a clock that is read from a device."""
    if run.clock in SLOW_CLOCKS:
        words = f"the kernel's clock is {run.clock}, and each reading takes microseconds, which adds to every latency"
        remedy = ("let the kernel use tsc (clocksource=tsc; see dmesg if it does not), or use another type of virtual "
                  "machine")
        yield Doubt("slow-clock", words, remedy)


def saving_power(run: RunFacts) -> Iterator[Doubt]:
    """The frequency of the CPUs depends on what they did just before."""
    if FOLLOWING & set(run.governor.split(", ")):
        words = f"the CPU frequency governor is {run.governor}: the frequency, and so the rate, depends on the load"
        yield Doubt("power-saving", words, "for repeatable figures: cpupower frequency-set -g performance")


def check_failed(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The database breaks a condition of the workload: its speed is worthless."""
    own = any(setting.name == "file" for setting in run.workload.settings)  # The conditions are the user's.
    if scale.broken:
        known = (
            "a known defect of Firebird sometimes keeps changes of transactions that were rolled back: check "
            "whether the condition holds with auto_undo=off (--set, or in the URL); otherwise "
        )
        remedy = (
            f"do not use the figures of this scale; {known if run.undo_log and scale.failed else ''}look for lost "
            "updates, a defective disk or driver"
        )
        yield Doubt(
            "check-failed",
            "the database is wrong: " + "; ".join(scale.broken),
            remedy + (", or a mistake in the condition itself" if own else ""),
            scale.scale,
            severe=True,
        )


def unchecked(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The database was not checked."""
    if scale.cycles and not scale.checked:
        message = "the database was not checked, as the run ended before"
        remedy = "resume the run if cycles are missing, otherwise repeat the scale: the check follows the last cycle"
        yield Doubt("unchecked", message, remedy, scale.scale)


def not_made(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Of some conditions nobody knows whether they hold."""
    for why, remedy, count in scale.unmade:
        words = f"{count} of {counted(scale.conditions, 'condition')} {'was' if count == 1 else 'were'} not made: {why}"
        yield Doubt("not-made", words, remedy, scale.scale)


def void(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Nothing was counted."""
    if scale.cycles == 0:
        yield Doubt("void", "no cycle was finished", "resume the run", scale.scale)
    elif scale.kept == 0 and scale.failed + scale.unknown:
        words = f"no transaction succeeded: {counted(scale.failed, 'attempt')} failed"
        words += f", most often by {scale.main_error}" if scale.main_error else ""
        words += f"; {counted(scale.unknown, 'commit')} of unknown outcome" if scale.unknown else ""
        yield Doubt("void", words, "check the errors of the run (--by errors)", scale.scale, severe=True)
    elif scale.committed == 0:
        remedy = "check the errors of the run; use longer cycles (--duration) if transactions take longer than a cycle"
        yield Doubt("void", "no transaction was committed within a cycle", remedy, scale.scale)


def missing_cycles(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The scale has fewer cycles than were asked for; the search of a peak repeats few numbers of clients."""
    if 0 < scale.cycles < run.cycles and not run.peak and not run.searched:
        message = f"{scale.cycles} of {run.cycles} cycles were measured"
        yield Doubt("missing-cycles", message, "resume the run for the missing cycles", scale.scale)


def resumed(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The cycles do not share one population."""
    if scale.populations > 1:
        yield Doubt(
            "resumed",
            f"the database was loaded {scale.populations} times, as the run was resumed: its cycles ran on "
            "different copies, and the check covers the last one",
            "repeat the run without an interruption if the spread of the cycles matters",
            scale.scale,
        )


def degraded(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """A node was missing for some cycles."""
    if scale.absent:
        missing = [f"node {node.name}, {words}" for node in scale.nodes for words in node.absent]
        more = f"; and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
        why = f": {'; '.join(missing[:MOST_NAMED])}{more}" if missing else ""
        message = f"{counted(scale.absent, 'cycle')} without all nodes, so with less load than specified{why}"
        yield Doubt("degraded", message, "check the missing node and repeat the run", scale.scale)


def slow_node(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Nodes may have been the limit, not the database."""
    slow = []
    for node in scale.nodes:
        signs = []
        if node.cpu_busy > MOST_NODE_CPU:
            signs.append(f"CPUs {node.cpu_busy:.0%} busy")
        if node.ceiling_share > MOST_CEILING:
            signs.append(f"at {node.ceiling_share:.0%} of its rate against an engine that answers at once")
        if signs:
            slow.append(f"{node.name} ({', '.join(signs)})")
    if slow:
        more = f" and {len(slow) - MOST_NAMED} more" if len(slow) > MOST_NAMED else ""
        words = f"the nodes, not the database, may limit the rate: {', '.join(slow[:MOST_NAMED])}{more}"
        remedy = "spread the load over more or faster nodes; dsbench show --by nodes shows all of them"
        yield Doubt("slow-node", words, remedy, scale.scale)


def start_skew(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The nodes did not start together."""
    worst = max(scale.nodes, key=lambda node: node.start_off_ns, default=None)
    if worst is not None and worst.start_off_ns > MOST_SKEW * run.duration_s * 1e9:
        yield Doubt(
            "start-skew",
            f"node {worst.name} started up to {worst.start_off_ns / 1e6:.1f} ms off the common start of a cycle",
            "use longer cycles, a faster network between the machines, or fewer clients on that node",
            scale.scale,
        )


def incomplete(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Histogram and counters disagree: part of the archive is missing."""
    if not scale.committed <= scale.histogram_count <= scale.committed + scale.rolled_back:
        yield Doubt(
            "incomplete",
            f"the histogram has only {scale.histogram_count} latencies of {scale.committed} transactions",
            "percentiles and confidence levels cover only a part of the transactions; resume or repeat the run",
            scale.scale,
        )


def failures(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Failed attempts took a noticeable part of the load."""
    share = scale.failed / scale.attempts if scale.attempts else 0.0
    if share <= MOST_FAILURES:
        return
    kind = scale.main_error.partition(" ")[0]
    repeat = "" if run.retry else "--retry repeats them; "
    if kind in COLLISIONS:
        levels = "" if run.isolation == "read-committed" else " or --isolation read-committed"
        remedy = (
            "serialization failures and deadlocks are expected if the scale is small for the number of "
            f"clients: {repeat}larger scales{levels} avoid them"
        )
    elif kind == "busy":
        remedy = f"clients wait too long for each other's locks: {repeat}use fewer --clients"
    elif run.outages:
        remedy = "attempts that failed in the outages of --event are among them: dsbench show --by errors"
    else:
        remedy = "check the errors of the run and the server's log"
    most = f", most often by {scale.main_error}" if scale.main_error else ""
    yield Doubt("failures", f"{share:.1%} of the attempts failed{most}", remedy, scale.scale)


def unknown_commits(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Connections were lost in commit, where nobody asked for it."""
    if scale.unknown and not run.outages:
        yield Doubt(
            "unknown-commits",
            f"{counted(scale.unknown, 'commit')} of unknown outcome: the connection was lost during the commit",
            "check the server's log for restarts and network failures",
            scale.scale,
        )


def missed_starts(_run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The open loop could not keep its rate: the longest waits are not in the quantiles."""
    if scale.missed:
        share = scale.missed / (scale.missed + scale.attempts)
        yield Doubt(
            "missed-starts",
            f"{scale.missed} scheduled starts ({share:.1%}) never took place, so response times look better than "
            "they are",
            "lower the rate (--rate, --load, a stricter --objective), or use more --clients",
            scale.scale,
        )


def remote_share(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The inputs ask for a share of transactions that reach another branch, of which scale 1 need not have two."""
    asked = run.workload.remote
    if asked is None or scale.kept == 0 or (scale.scale == 1 and not scale.remote):
        return
    share = scale.remote / scale.kept
    chance = REMOTE_SIGMAS * sqrt(asked.share * (1 - asked.share) / scale.kept)
    if not asked.least <= share <= asked.most and abs(share - asked.share) > chance:
        source, unit = run.workload.meaning.specification or run.workload.name, run.workload.unit.name
        remedy = f"do not present the figures as {run.workload.label}; if one {unit} fails more often than others "
        yield Doubt(
            "remote-share",
            f"{share:.1%} of the transactions {asked.what}, {source} requires "
            f"{asked.least * 100:g}-{asked.most * 100:g}%",
            remedy + "--retry keeps the mix",
            scale.scale,
        )


def few_transactions(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """Quantiles beyond which hardly a transaction lies. Of a workload that says itself how many there are, nobody can
    have more."""
    count = scale.histogram_count
    if not count or known(0.99, count) or run.workload.defaults.course:
        return
    unknown = [q for q in (0.5, 0.95, 0.99, 0.997) if not known(q, count)]
    yield Doubt(
        "few-transactions",
        f"{counted(count, 'transaction')} {'is' if count == 1 else 'are'} too few for "
        f"{', '.join(f'p{percent(q)}' for q in unknown)}: a percentile needs {LEAST_BEYOND} beyond it",
        "use longer or more cycles, or more clients; do not use these percentiles, nor the rates at these levels",
        scale.scale,
    )


def client_bottleneck(run: RunFacts, scale: ScaleFacts) -> Iterator[Doubt]:
    """The load generator, not the database, may have set the rate.

    Three signs. The client's CPU time against that of the machine, for load made beside a server: with
    remote nodes the CPUs are not shared, and in an embedded engine the client's CPU time is the
    database's own, so there it says nothing. And the client time outside of transactions, in the
    closed loop only, as clients of an open loop are idle on purpose, and without reconnect, whose
    connecting lies outside as well. And the rate against the calibrated ceiling, for load made here.
    """
    signs = []
    if not run.embedded and run.nodes == 0 and run.cpus and scale.client_cpus / run.cpus > MOST_CLIENT_CPU:
        signs.append(f"the client used {scale.client_cpus / run.cpus:.0%} of the machine's CPU time")
    if run.pacings == {"closed"} and not run.reconnect and scale.outside_share > MOST_OUTSIDE:
        signs.append(f"its clients spent {scale.outside_share:.0%} of their time outside of transactions")
    rate_tps = scale.committed / scale.measured_s if scale.cycles else 0.0
    # What was exceeded is no ceiling: the client was disturbed while it was measured.
    if run.nodes == 0 and MOST_CEILING * run.ceiling_tps < rate_tps <= run.ceiling_tps:
        share = rate_tps / run.ceiling_tps
        signs.append(f"it reached {share:.0%} of the client's maximum rate against an engine that answers at once "
                     "(calibration)")
    if signs:
        yield Doubt(
            "client-bottleneck",
            "the client may limit the rate: " + ", ".join(signs),
            "generate the load on other machines (--nodes), or change --clients; see dsbench doctor --calibrate",
            scale.scale,
        )


RUN_RULES: tuple[RunRule, ...] = (cut_short, short_cycles, durability, slow_clock, saving_power)
SCALE_RULES: tuple[ScaleRule, ...] = (
    check_failed,
    unchecked,
    not_made,
    void,
    missing_cycles,
    incomplete,
    resumed,
    degraded,
    slow_node,
    start_skew,
    client_bottleneck,
    others,
    foreign_transactions,
    no_steady_state,
    scattered,
    imprecise,
    ended_early,
    few_checkpoints,
    starved_clients,
    stood_still,
    uneven_clients,
    failures,
    unknown_commits,
    missed_starts,
    few_transactions,
    remote_share,
)
"""All rules, in the order in which their doubts are shown."""


def doubts(run: RunFacts, scales: Iterable[ScaleFacts], noticed: Iterable[Doubt] = ()) -> tuple[Doubt, ...]:
    """All doubts of a run, the severe first; ``noticed`` are those that the run itself wrote down.

    A rule keeps quiet where the run already noticed the same (code and scale).
    """
    found = list(noticed)
    known = {(doubt.code, doubt.scale) for doubt in found}
    derived = [doubt for rule in RUN_RULES for doubt in rule(run)]
    derived += [doubt for scale in scales for rule in SCALE_RULES for doubt in rule(run, scale)]
    found += [doubt for doubt in derived if (doubt.code, doubt.scale) not in known]
    return tuple(sorted(found, key=lambda doubt: not doubt.severe))

