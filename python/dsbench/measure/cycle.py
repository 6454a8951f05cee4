"""One cycle: clean, connect, measure with the monitors beside it, write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, field, replace
from functools import cached_property
from itertools import pairwise
from math import isfinite
from time import monotonic
from typing import Any, Final

from dsbench import workloads
from dsbench.archive import LOCAL
from dsbench.archive.columns import COUNTERS
from dsbench.dataclass import dataclass
from dsbench.format import say_time
from dsbench.measure.happening import OF_THE_SERVER, Happened, Outages, Renewed, event_rows
from dsbench.measure.history import CycleHistory
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import (
    GRACE_S,
    Bench,
    CoreError,
    CycleLoad,
    CycleResult,
    PhaseResult,
    Second,
    TargetDatabase,
    connecting_s,
    now_ns,
)
from dsbench.measure.loaders.loader import Loader, Wanted
from dsbench.measure.loaders.results import NodeCourse, NodePart, merge_whole, missed
from dsbench.measure.moments import Cpus, Moment, Observer, Seconds, count_clients
from dsbench.measure.monitors import (
    RUN,
    Known,
    Monitor,
    Sampler,
    SessionSampler,
    between,
    look,
    with_sessions,
)
from dsbench.measure.monitors.counted import StatementCounts
from dsbench.measure.monitors.host import Host, Lasting, describe_changes, read_host
from dsbench.measure.opening import WRONG, during, explain_cycle, is_lost, is_session_lost, name_loss
from dsbench.measure.plan import PlannedCycle, several_loads
from dsbench.measure.rows import DETAILS, Names, figures, group_rows, longest_ns, write_cycle, write_use
from dsbench.measure.surroundings import Probes, Snapshots, sample_sessions, with_nodes
from dsbench.measure.twice import Twice
from dsbench.spec import RunSpec
from dsbench.stats.cycles import CycleFigures
from dsbench.stats.machine import Used

ABORTED = "client-aborted"
"""The warning of a cycle that some of its clients left early."""
_STARTS = 5
"""How often the nodes of a cycle may miss its start before the run is given up."""
_NOT_DONE: Final = ("syntax", "statement", "setup")
"""Kinds of errors by which a server says that it does not do something, or not for this user."""
_SESSIONS_TO_CLEAN = 3
"""How many sessions may be ended while they clean before the run is."""
_CONNECTING_S = 10.0
"""How much longer than its patience a client may take for its last try."""
_LATE_SHARE = 0.01
"""Share of a cycle by which its clients may begin late."""
_LATE_NS = 5_000_000
"""The same for cycles that are short: no machine is asked to wake up faster."""


@dataclass(frozen=True)
class Restarted:
    """A server that was started again, and what its files had in the page cache before."""

    now: Renewed
    duration_ns: int
    held: int | None
    """Bytes; ``None`` where the system does not tell."""
    stayed: str
    """What did not leave the page cache, in words; empty where next to nothing stayed."""


@dataclass(frozen=True)
class ScaleContext:
    """What all cycles of a scale share."""

    spec: RunSpec
    target: TargetDatabase
    journal: Journal
    bench: Bench
    load: Loader
    monitors: tuple[Monitor, ...]
    known: Known
    stop: Stop
    moment: Moment
    snapshots: Snapshots
    twice: Twice
    probes: Probes
    history: CycleHistory
    perf: tuple[str, ...] = ()
    """What perf is to watch in a cycle more."""
    restart: Callable[[], Restarted] | None = None
    """Restarts the server, where the run has one of its own."""
    outages: Outages | None = None
    """What happens to the server in each cycle."""
    lasting: Lasting = field(default_factory=Lasting)
    """The machine over all cycles of the run."""

    def narrow(self, cycle: PlannedCycle) -> ScaleContext:
        """The same for one cycle: with its number of clients, where the run takes several, and its stage."""
        stage = cycle.stage.name if several_loads(self.bench.stages) else ""
        if cycle.duration is not None:
            spec = self.spec.model_copy(update={"rate": cycle.rate, "duration": cycle.duration})
            return replace(self, spec=spec, moment=replace(self.moment, stage=stage))
        if cycle.clients is None or not self.spec.several_clients:
            return replace(self, moment=replace(self.moment, stage=stage))
        moment = replace(self.moment, clients=cycle.clients, stage=stage)
        return replace(self, spec=self.spec.at(cycle.clients), moment=moment)

    def during(self, phase: str, cycle: int = 0) -> AbstractContextManager[None]:
        """Around a phase: its errors say that they came in it, and how the run goes on."""
        place = f"scale {self.moment.scale}" + (f", cycle {cycle}" if cycle else "")
        return during(f"{place}, {phase}" if phase != "cycle" else place, self.target)

    def watch(
        self, phase: str, cycle: int = 0, began: float = 0.0, told: Callable[[int], Sequence[Second]] | None = None
    ) -> Watching:
        """Shows progress of ``phase``, hears wishes to stop and notices when the target is another run's.

        ``told`` gives the seconds of a cycle from a number on.
        """

        def check() -> None:
            self.stop.check()
            self.target.check_claim()

        moment = replace(self.moment, phase=phase, cycle=cycle)
        return Watching(self.journal.observer, check, moment, began, told)


class Watching:
    """Looks at a phase while it goes on, and tells where it is."""

    def __init__(
        self,
        observer: Observer,
        check: Callable[[], None],
        moment: Moment,
        began: float,
        told: Callable[[int], Sequence[Second]] | None,
    ) -> None:
        """``check`` raises when the run has to end; a cycle began at ``began`` of the monotonic clock, in s."""
        self._observer, self._check, self._moment, self._began, self._told = observer, check, moment, began, told
        self._seconds, self._times, self._cpus = Seconds(), list[tuple[float, float]](), Cpus()

    def __call__(self, done: int, other: int) -> None:
        """``done`` of ``other`` are done; in a cycle ``done`` are committed and ``other`` attempts have failed."""
        self._check()
        elapsed, told, moment = monotonic() - self._began if self._began else 0.0, self._told, self._moment
        total, failed = (0, other) if moment.phase == "cycle" else (other, 0)
        if moment.phase == "cycle" and self._seconds.look(elapsed, done):
            moment = replace(moment, cpus=self._cpus.look())
            self._times.extend((p50 / 1e9, p99 / 1e9) for _, _, p50, p99, _ in (told(len(self._times)) if told else ()))
        moment = replace(moment, done=done, total=total, failed=failed, elapsed_s=elapsed)
        self._tell(replace(moment, seconds=self._seconds, times=self._times))

    def end(self, committed: int, failed: int, duration_s: float) -> None:
        """What a cycle counted in all, which the last look did not see yet."""
        self._tell(replace(self._moment, done=committed, failed=failed, elapsed_s=duration_s))

    def _tell(self, moment: Moment) -> None:
        self._moment = moment
        self._observer.moment(moment)


@dataclass(frozen=True)
class _Measured:
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


def seed_of(seed: int, scale: int, cycle: int) -> int:
    """Seed of one cycle's inputs: cycles differ, and the same run draws the same inputs again."""
    digest = hashlib.blake2b(f"{seed}/{scale}/{cycle}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def run_cycle(setting: ScaleContext, scale: int, cycle: PlannedCycle, *, recorded: bool = True) -> list[NodePart]:
    """Runs a cycle and writes its results, if they are ``recorded``. ``RunError`` when no node could finish it."""
    setting, number = setting.narrow(cycle), cycle.number
    journal = setting.journal
    setting = setting if recorded else replace(setting, outages=None)
    with setting.during("cycle", number):
        setting.target.hold()
    # What only reads leaves nothing to clean; to do so again would change what caches hold.
    reads_only = bool(workloads.find(setting.spec.workload, setting.spec.workload_settings).data.reads)
    if cycle.stage.cleaned and not (reads_only and setting.bench.cleaned):
        _clean(setting, scale, cycle, recorded)
    if recorded and not cycle.stage.cold_each:  # What a server counts begins anew with it.
        setting.snapshots.before(cycle.stage.name)
    trace = journal.writer.path / "trace.bin" if setting.spec.trace and recorded else None
    seed = seed_of(setting.spec.seed, scale, number)
    setting = replace(setting, known=with_nodes(setting.known, setting.load.pids()))
    wanted = Wanted(setting.spec, setting.bench, cycle.stage, scale, number, seed, trace, setting.known.roots)
    try:
        with setting.during("cycle", number):
            measured = _measure(setting, wanted)
        parts, load = measured.parts, measured.load
        _refuse_unfinished(setting, scale, number, parts, measured.happened)
        if not recorded:
            return parts
        with setting.during("cycle", number):
            changed = _settle(setting)
    except BaseException:
        if trace is not None:
            trace.unlink(missing_ok=True)
        raise
    clients = load.clients if cycle.clients is None else cycle.clients
    key = {"scale": scale, "stage": cycle.stage.name, "cycle": number, "clients": clients}
    setting.history.add(_write(setting, key, measured, cycle.level, changed))
    _warn_of_late_start(setting, wanted, load, parts)
    _warn_of_standstill(setting, wanted, load, parts)
    _warn_of_aborted_clients(setting, wanted, measured)
    _warn_of_changes(setting, wanted, measured)
    _log_rate(setting, wanted, measured)
    _log_events(setting, wanted, measured.happened)
    return parts


def _settle(setting: ScaleContext) -> Sequence[str]:
    """Waits until the server is back from the events of a cycle. Gives what it says of itself now that it did not say
    before."""
    if setting.outages is None or setting.outages.steady:
        return ()
    setting.outages.settle(setting.stop.check)
    return setting.twice.renew()


def _log_events(setting: ScaleContext, wanted: Wanted, happened: Sequence[Happened]) -> None:
    """A line for each event; a warning for one that failed, or that the cycle did not reach."""
    for one in happened:
        if one.error:
            words = f"{_where(wanted.scale, wanted.number)}: {one.event.words} failed: {one.error}"
            setting.journal.warn("event", words, "correct --event, and repeat the run", wanted.scale)
        elif one.done_ns is not None and one.event.what != "stop":
            took = f"after {one.at_ns / 1e9:.3f} s: {one.event.words}, done {say_time(one.done_ns - one.at_ns)} later"
            setting.journal.say(f"{_where(wanted.scale, wanted.number)}, {took}")
    missing = len(setting.outages.events) - len(happened) if setting.outages is not None else 0
    if missing > 0:
        words = f"{_where(wanted.scale, wanted.number)}: it ended before {missing} of its events"
        setting.journal.warn("event", words, "specify earlier events, or a longer cycle", wanted.scale)


def _where(scale: int, number: int) -> str:
    """A closed loop before the cycles has the number 0."""
    return f"scale {scale}, " + (f"cycle {number}" if number else "before the cycles")


def _clean(setting: ScaleContext, scale: int, cycle: PlannedCycle, recorded: bool) -> None:
    with setting.during("clean", cycle.number):
        try:
            cleaned = _cleaned(setting, scale, cycle.number)
        except CoreError as error:
            # Neither what the user wrote is at fault, nor is the server gone: it does not do it.
            if error.by_user or error.kind not in _NOT_DONE or is_lost(error, setting.target):
                raise
            words = f"the statements between cycles failed ({error}): tables may be larger, and plans others"
            setting.journal.warn("uncleaned", words, "compare it only with runs that have this warning", scale)
            return
    if not recorded:
        return
    phase = {"scale": scale, "stage": cycle.stage.name, "cycle": cycle.number, "phase": "clean"}
    part = f"scale-{scale:05d}_cycle-{cycle.number:05d}_clean"
    setting.journal.writer.rows("phases", part, [{**phase, "duration_ns": cleaned.duration_ns}])


def _cleaned(setting: ScaleContext, scale: int, number: int) -> PhaseResult:
    """Cleans, on another session when one was ended and the server goes on: cleaning twice leaves the same state."""
    for _ in range(_SESSIONS_TO_CLEAN - 1):
        try:
            return setting.bench.phase("clean", setting.watch("clean", number))
        except CoreError as error:
            if not is_session_lost(error, setting.target):
                raise
            where = _where(scale, number)
            setting.journal.say(f"{where}: the VACUUM session was terminated ({error}): once more")
    return setting.bench.phase("clean", setting.watch("clean", number))


def _measure(setting: ScaleContext, wanted: Wanted) -> _Measured:
    """The cycle, once more when no node was ready for its start: they were told of it too late."""
    measured = _measure_once(setting, wanted)
    for _ in range(_STARTS - 1):
        if not missed(measured.parts):
            break
        words = "no node was ready for the common start; retrying with a later one"
        setting.journal.say(f"{_where(wanted.scale, wanted.number)}: {words}")
        measured = _measure_once(setting, wanted)
    return measured


def _measure_once(setting: ScaleContext, wanted: Wanted) -> _Measured:
    spec, number = wanted.spec, wanted.number
    cycle = setting.load.cycle(wanted, setting.watch("connect", number))
    outages = setting.outages
    monitors, sessions = setting.monitors, sample_sessions(spec, setting.target)
    if outages is not None and not outages.steady:
        monitors = tuple(one for one in monitors if one.name not in OF_THE_SERVER)
        sessions = SessionSampler(None)
    sampler, happening = Sampler(monitors), None
    try:
        cycle.connect(connecting_s(cycle.load.clients * spec.connections), setting.watch("connect", number))
        known = with_nodes(setting.known, setting.load.pids())
        happening = outages.begin(known) if outages is not None else None
        _take_statements(setting)
        sampler.first()
        sessions.first()
        before, host = look(known), _read_host(setting)
        # Asking for the lead may take a while itself: the clock is read afterwards.
        lead_ns = cycle.lead_ns + cycle.load.ramp_up_ns
        start = now_ns() + lead_ns
        sampler.go(start, cycle.load.ramp_up_ns, cycle.load.duration_ns)
        sessions.go(start, cycle.load.duration_ns)
        cycle.start(start)
        if happening is not None:
            happening.go(start, before)
        watching = setting.watch("cycle", number, monotonic() + spec.ramp_up, cycle.seconds)
        grace_s = max(GRACE_S, spec.patience_s + _CONNECTING_S) if outages is not None else GRACE_S
        cycle.wait(start, grace_s, watching)
        happened = happening.end(setting.stop.check) if happening is not None else ()
        after, host_after = look(known), _read_host(setting)
    except BaseException:
        if happening is not None:
            happening.leave()
        cycle.abandon()
        if happening is not None:
            happening.give_up()
        sampler.give_up()
        sessions.give_up()
        cycle.collect()
        raise
    seen = sessions.stop()
    samples = sampler.stop()
    statements = _take_statements(setting) if outages is None or outages.steady else []
    parts = cycle.collect()
    for note in sampler.notes:
        setting.journal.warn("monitor", note, "the samples of this monitor are missing; the rates are not affected")
    if sessions.failure:
        setting.journal.warn("samples", sessions.failure, "the rates are not affected; --samples 0 turns sampling off")
    used = between(before, after, known) if before and after else None
    used = happening.used(after) if happening is not None else used
    machine = with_sessions(used, samples) if used is not None else None
    changes = [("before", change) for change in setting.lasting.begin(host)]
    changes += (("during", change) for change in describe_changes(host, host_after, max(now_ns() - start, 1)))
    setting.lasting.end(host_after)
    measured = _Measured(parts, samples, seen, statements, machine, cycle.load, changes, happened)
    if not all(part.why for part in parts):
        whole = measured.whole
        watching.end(whole.total("committed"), whole.total("failed"), longest_ns(cycle.load, whole) / 1e9)
    return measured


def _take_statements(setting: ScaleContext) -> list[dict[str, object]]:
    return [row for one in setting.monitors if isinstance(one, StatementCounts) for row in one.take()]


def _read_host(setting: ScaleContext) -> Host:
    """Of dsbench, and of a server whose CPU time the run itself does not limit."""
    pids = {"dsbench" if who == RUN else "the server": pid for pid, who in setting.known.roots.items()}
    if "cpus" in setting.spec.limits:
        pids.pop("the server", None)
    return read_host(pids)


def _warn_of_changes(setting: ScaleContext, wanted: Wanted, measured: _Measured) -> None:
    """Tells of what the machine lost in the cycle, or between it and the last one."""
    which = f"cycle {wanted.number} of scale {wanted.scale}"
    for when, (code, words, remedy) in measured.changes:
        setting.journal.warn(code, f"{when} {which} {words}", remedy, wanted.scale)


_LONG_NS: Final = 1e8
"""Shorter transactions in flight at the end of a cycle are not told of in its line."""


def _log_rate(setting: ScaleContext, wanted: Wanted, measured: _Measured) -> None:
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


def _warn_of_late_start(setting: ScaleContext, wanted: Wanted, load: CycleLoad, parts: list[NodePart]) -> None:
    """Tells of a late start here; what nodes say of theirs is judged with the archive."""
    # A query that is asked cold counts for its own time.
    for part in parts if not setting.spec.nodes and not wanted.stage.cold_each else ():
        late_ns = late_start_ns(load, part.found.result) if part.found else 0
        if late_ns:
            which = f"cycle {wanted.number} of scale {wanted.scale}"
            words = f"{which} began {late_ns / 1e6:.1f} ms late, which reduces its rate"
            remedy = "give the client more CPU time, and repeat the scale"
            setting.journal.warn("late-start", words, remedy, wanted.scale)


def _warn_of_standstill(setting: ScaleContext, wanted: Wanted, load: CycleLoad, parts: list[NodePart]) -> None:
    """Tells of a process that was stopped, or a machine that slept, for a noticeable part of the cycle."""
    for part in parts:
        paused_ns = part.found.course.paused_ns if part.found and not part.why else 0
        if paused_ns > _LATE_SHARE * (load.duration_ns or 0):
            who = "dsbench" if part.node == LOCAL else f"node {part.node}"
            words = (f"{who} was suspended for {paused_ns / 1e9:.2g} s of cycle {wanted.number} of scale "
                     f"{wanted.scale}: ")
            remedy = "make sure that neither dsbench nor its machine is suspended, and repeat the scale"
            told = "its rate is too low, and its maximum latencies are not those of the database"
            setting.journal.warn("stood-still", words + told, remedy, wanted.scale)


def _warn_of_aborted_clients(setting: ScaleContext, wanted: Wanted, measured: _Measured) -> None:
    """Tells of clients that an error of their script ended: no other attempt fails by such an error."""
    wrong = [(count, example) for *_, kind, _code, count, example in measured.whole.errors if kind == WRONG]
    if clients := sum(count for count, _ in wrong):
        which = f"cycle {wanted.number} of scale {wanted.scale}"
        of = f"{clients} of {wanted.spec.all_clients} clients " + ("was" if clients == 1 else "were")
        words = f"{which}: {of} aborted, so that its results are incomplete: {wrong[0][1]}"
        setting.journal.warn(ABORTED, words, "correct the script; --exit-on-abort ends the run at once", wanted.scale)


def _refuse_unfinished(
    setting: ScaleContext, scale: int, cycle: int, parts: list[NodePart], happened: Sequence[Happened]
) -> None:
    if all(part.why for part in parts):
        why = "; ".join(_explain_part(setting, part) for part in parts)
        why += "".join(f"; {one.event.words} failed: {one.error}" for one in happened if one.error)
        failures = [part.found.result.failure for part in parts if part.found]
        raise explain_cycle(_where(scale, cycle), why, failures)


def _explain_part(setting: ScaleContext, part: NodePart) -> str:
    """Why ``part`` is not whole; a server that was gone before its clients were connected is lost, too."""
    failure = part.found.result.failure if part.found else None
    words = name_loss(part.why) if failure is not None and is_lost(failure, setting.target) else part.why
    return words if part.node == LOCAL else f"node {part.node}: {words}"


def _write(
    setting: ScaleContext, key: dict[str, Any], measured: _Measured, level: int | None, changed: Sequence[str] = ()
) -> CycleFigures:
    """Everything of one cycle, or nothing: what an earlier attempt at it or a failing one left is taken away."""
    parts, samples = measured.parts, measured.samples
    writer, name = setting.journal.writer, f"scale-{key['scale']:05d}_cycle-{key['cycle']:05d}"
    by_node = {LOCAL: samples} | {part.node: list(part.found.samples) for part in parts if part.found and not part.why}
    if not setting.spec.nodes:
        by_node = {LOCAL: samples}
    used = {part.node: part.found.machine for part in parts if part.found and not part.why} | {LOCAL: measured.machine}
    results = [({**key, "node": part.node}, part.found.result) for part in parts if part.found and not part.why]
    names = Names(setting.bench.kinds, measured.load.groups, setting.bench.statements)
    writer.forget(DETAILS, name)
    try:
        for node, rows in by_node.items():
            writer.rows("monitors", f"{name}_{node}", [{**key, "node": node, **row} for row in rows])
        key_of_cycle = {name: key[name] for name in ("scale", "stage", "cycle")}
        writer.rows("samples", name, [{**key_of_cycle, **row} for row in measured.sessions])
        writer.rows("server_statements", name, [{**key_of_cycle, **row} for row in measured.statements])
        writer.rows("events", name, [{**key_of_cycle, **row} for row in event_rows(measured.happened, changed)])
        for node, use in used.items():
            if use is not None:
                write_use(writer, f"{name}_{node}", {**key, "node": node}, use)
        if setting.spec.nodes:
            writer.rows("nodes", name, [{**key, **_node_row(part)} for part in parts])
        rows = group_rows(measured.load, measured.whole)
        paused_ns = max((part.found.course.paused_ns for part in parts if part.found and not part.why), default=0)
        writer.rows("groups", name, [{**key, **row, "level": level, "paused_ns": paused_ns} for row in rows])
        write_cycle(writer, name, names, results)
    except BaseException:
        if not writer.has("cycles", name):
            writer.forget(DETAILS, name)
        raise
    for part in parts:
        if part.why:
            setting.journal.say(f"scale {key['scale']}, cycle {key['cycle']}: without node {part.node}: {part.why}")
    return figures(key, measured.load, names, measured.whole, level, paused_ns)


def _node_row(part: NodePart) -> dict[str, object]:
    """The row of one node in the table ``nodes``."""
    course = asdict(part.found.course if part.found else NodeCourse(""))
    course.pop("ended")
    return {"node": part.node, "state": part.state, "why": part.why, **course}


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
