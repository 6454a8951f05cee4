"""What the log says of a cycle: its rate, its events, and warnings of what makes its results doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import isfinite
from typing import Any, Final

from dsbench.archive import LOCAL
from dsbench.archive.columns import COUNTERS
from dsbench.dataclass import dataclass
from dsbench.format import say_time
from dsbench.measure.happening import Happened
from dsbench.measure.loaders import CycleLoad, CycleResult
from dsbench.measure.loaders.loader import Wanted
from dsbench.measure.loaders.results import NodePart, merge_whole
from dsbench.measure.moments import count_clients
from dsbench.measure.opening import WRONG
from dsbench.measure.rows import longest_ns
from dsbench.measure.setting import ScaleContext
from dsbench.stats.machine import Used

ABORTED: Final = "client-aborted"
"""The warning of a cycle that some of its clients left early."""
_LATE_SHARE: Final = 0.01
"""Share of a cycle by which its clients may begin late."""
_LATE_NS: Final = 5_000_000
"""The same for cycles that are short: no machine is asked to wake up faster."""


@dataclass(frozen=True)
class Measured:
    """What a cycle left."""

    parts: list[NodePart]
    samples: list[dict[str, object]]
    sessions: list[dict[str, object]]
    """Rows of the table ``samples`` without their key."""
    statements: list[dict[str, object]]
    """The same of ``server_statements``."""
    machine: Used | None
    """What this machine did; ``None`` where it does not tell."""
    load: CycleLoad
    changes: Sequence[tuple[str, tuple[str, str, str]]] = ()
    """What the machine lost "before" or "during" the cycle: code, words and remedy."""
    happened: Sequence[Happened] = ()
    """What became of the events that were asked for."""

    @cached_property
    def whole(self) -> CycleResult:
        """What the nodes did whose parts count, merged."""
        return merge_whole(self.parts)


def say_where(scale: int, number: int) -> str:
    """A closed loop before the cycles has the number 0."""
    return f"scale {scale}, " + (f"cycle {number}" if number else "before the cycles")


def log_cycle(setting: ScaleContext, wanted: Wanted, measured: Measured) -> None:
    """Its warnings, its line, and what became of its events."""
    _warn_of_late_start(setting, wanted, measured)
    _warn_of_standstill(setting, wanted, measured)
    _warn_of_aborted_clients(setting, wanted, measured)
    _warn_of_changes(setting, wanted, measured)
    _log_rate(setting, wanted, measured)
    _log_events(setting, wanted, measured.happened)


def _warn_of_changes(setting: ScaleContext, wanted: Wanted, measured: Measured) -> None:
    """Tells of what the machine lost in the cycle, or between it and the last one."""
    which = f"cycle {wanted.number} of scale {wanted.scale}"
    for when, (code, words, remedy) in measured.changes:
        setting.journal.warn(code, f"{when} {which} {words}", remedy, wanted.scale)


_LONG_NS: Final = 1e8
"""Shorter transactions in flight at the end of a cycle are not told of in its line."""


def _log_rate(setting: ScaleContext, wanted: Wanted, measured: Measured) -> None:
    """The line of a cycle in the log."""
    whole = measured.whole
    if lost := whole.dropped_trace_rows:
        words = f"cycle {wanted.number}: {lost} transactions are missing in the trace, as it was written too slowly"
        remedy = "specify a folder on a faster disk with --out; the rates are not affected"
        setting.journal.warn("trace", words, remedy, wanted.scale)
    rate = whole.total("committed") / max(longest_ns(measured.load, whole), 1) * 1e9
    moment = setting.moment
    where = f", {moment.stage}" if moment.stage else ""
    where += f", {count_clients(moment.clients)}" if moment.clients else ""
    p99 = whole.quantile_ns(0.99)
    time = f", p99 {say_time(p99)}" if isfinite(p99) else ""
    words = f"scale {wanted.scale}, cycle {wanted.number}{where}: {rate:,.{int(rate < 100)}f} tps{time}"
    words += f", {whole.total('failed'):,} failed"
    if (longest := whole.longest_in_flight_ns) > max(_LONG_NS, 10 * p99 if isfinite(p99) else 0):
        words += f", {say_time(longest)} in flight at the end"
    setting.journal.say("; ".join(part for part in (words, describe_load(measured.samples)) if part))


def late_start_ns(load: CycleLoad, result: CycleResult) -> int:
    """Nanoseconds by which all clients of this machine began after the start of their cycle; 0 where that is no doubt.

    Only the closed loop begins at the start, and a ramp-up covers a late one. Waking up takes its time on a busy
    machine, and whatever is a small part of the cycle does not show in its rate.
    """
    if load.ramp_up_ns > 0 or any(group.pacing != "closed" for group in load.groups):
        return 0
    counted = result.counters[:, :, COUNTERS.index("last_end_ns")] > 0
    starts = result.counters[:, :, COUNTERS.index("first_start_ns")][counted]
    late_ns = int(starts.min()) if starts.size else 0
    duration_ns = load.duration_ns or int(result.counters[:, :, COUNTERS.index("last_end_ns")].max())
    return late_ns if late_ns > max(_LATE_SHARE * duration_ns, _LATE_NS) else 0


def _warn_of_late_start(setting: ScaleContext, wanted: Wanted, measured: Measured) -> None:
    """Tells of a late start here; what nodes say of theirs is judged with the archive."""
    # A query that is asked cold counts for its own time.
    for part in measured.parts if not setting.spec.nodes and not wanted.stage.cold_each else ():
        late_ns = late_start_ns(measured.load, part.found.result) if part.found else 0
        if late_ns:
            which = f"cycle {wanted.number} of scale {wanted.scale}"
            words = f"{which} began {late_ns / 1e6:.1f} ms late, which reduces its rate"
            remedy = "give the client more CPU time, and repeat the scale"
            setting.journal.warn("late-start", words, remedy, wanted.scale)


def _warn_of_standstill(setting: ScaleContext, wanted: Wanted, measured: Measured) -> None:
    """Tells of a process that was stopped, or a machine that slept, for a noticeable part of the cycle."""
    for part in measured.parts:
        paused_ns = part.found.course.paused_ns if part.found and not part.why else 0
        if paused_ns > _LATE_SHARE * (measured.load.duration_ns or 0):
            who = "dsbench" if part.node == LOCAL else f"node {part.node}"
            words = (f"{who} was suspended for {paused_ns / 1e9:.2g} s of cycle {wanted.number} of scale "
                     f"{wanted.scale}: ")
            remedy = "make sure that neither dsbench nor its machine is suspended, and repeat the scale"
            told = "its rate is too low, and its maximum latencies are not those of the database"
            setting.journal.warn("stood-still", words + told, remedy, wanted.scale)


def _warn_of_aborted_clients(setting: ScaleContext, wanted: Wanted, measured: Measured) -> None:
    """Tells of clients that an error of their script ended: no other attempt fails by such an error."""
    wrong = [(count, example) for *_, kind, _code, count, example in measured.whole.errors if kind == WRONG]
    if clients := sum(count for count, _ in wrong):
        which = f"cycle {wanted.number} of scale {wanted.scale}"
        of = f"{clients} of {wanted.spec.all_clients} clients " + ("was" if clients == 1 else "were")
        words = f"{which}: {of} aborted, so that its results are incomplete: {wrong[0][1]}"
        setting.journal.warn(ABORTED, words, "correct the script; --exit-on-abort ends the run at once", wanted.scale)


def _log_events(setting: ScaleContext, wanted: Wanted, happened: Sequence[Happened]) -> None:
    """A line for each event; a warning for one that failed, or that the cycle did not reach."""
    for one in happened:
        if one.error:
            words = f"{say_where(wanted.scale, wanted.number)}: {one.event.words} failed: {one.error}"
            setting.journal.warn("event", words, "correct --event, and repeat the run", wanted.scale)
        elif one.done_ns is not None and one.event.what != "stop":
            took = f"after {one.at_ns / 1e9:.3f} s: {one.event.words}, done {say_time(one.done_ns - one.at_ns)} later"
            setting.journal.say(f"{say_where(wanted.scale, wanted.number)}, {took}")
    missing = len(setting.outages.events) - len(happened) if setting.outages is not None else 0
    if missing > 0:
        words = f"{say_where(wanted.scale, wanted.number)}: it ended before {missing} of its events"
        setting.journal.warn("event", words, "specify earlier events, or a longer cycle", wanted.scale)


_BUSY: Final = ("cpu_user", "cpu_system")
_IDLE: Final = ("cpu_idle", "cpu_iowait", "cpu_steal")


def describe_load(samples: Iterable[Mapping[str, Any]]) -> str:
    """CPU and storage load from the last sample before the cycle's clock started to the last of all; empty where no
    monitor told them. A CPU that is switched off takes its idle time with it: then that of CPUs is not told.

    ``samples`` are rows of the table ``monitors`` of one cycle, without its key. CPU: share of all CPUs that worked,
    that worked for the system, that waited for storage. Storage: MB (10^6 bytes) per second of the data's device.
    """
    samples = list(samples)
    idle = [row["value"] for row in samples if (row["monitor"], row["metric"]) == ("os", "cpu_idle")]
    whole = all(later > earlier - 1 for earlier, later in pairwise(idle))
    gained: dict[tuple[str, str], tuple[float, float]] = {}
    first: dict[tuple[str, str], tuple[int, float]] = {}
    for row in samples:
        key = (row["monitor"], row["metric"])
        if row["at_ns"] <= 0:  # Before it there was a ramp-up, or nothing.
            first[key] = (row["at_ns"], row["value"])
        at_ns, value = first.setdefault(key, (row["at_ns"], row["value"]))
        gained[key] = (row["value"] - value, (row["at_ns"] - at_ns) / 1e9)
    cpu = {name: gained.get(("os", name), (0.0, 0.0))[0] for name in (*_BUSY, *_IDLE)}
    total = sum(cpu.values())
    words = []
    if total > 0 and whole:
        busy = sum(cpu[name] for name in _BUSY) / total
        system, waiting = (cpu[name] / total for name in ("cpu_system", "cpu_iowait"))
        words.append(f"CPU {busy:.0%} (system {system:.0%}, waiting {waiting:.0%})")
    for metric, verb in (("read_bytes", "read"), ("write_bytes", "wrote")):
        count, span_s = gained.get(("device", metric), (0.0, 0.0))
        if span_s > 0:
            words.append(f"{verb} {count / span_s / 1e6:.3g} MB/s")
    return ", ".join(words)
