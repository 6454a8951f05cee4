"""One cycle: clean, connect, measure with the monitors beside it, write."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from time import monotonic
from typing import Any, Final

from dsbench import workloads
from dsbench.archive import LOCAL
from dsbench.measure.cycle_log import Measured, log_cycle, say_where
from dsbench.measure.happening import OF_THE_SERVER, Happened, event_rows
from dsbench.measure.loaders import (
    GRACE_S,
    CoreError,
    PhaseResult,
    connecting_s,
    now_ns,
)
from dsbench.measure.loaders.loader import Wanted
from dsbench.measure.loaders.results import NodeCourse, NodePart, missed
from dsbench.measure.monitors import (
    RUN,
    Sampler,
    SessionSampler,
    between,
    look,
    with_sessions,
)
from dsbench.measure.monitors.counted import StatementCounts
from dsbench.measure.monitors.host import Host, describe_changes, read_host
from dsbench.measure.opening import explain_cycle, is_lost, is_session_lost, name_loss
from dsbench.measure.plan import PlannedCycle
from dsbench.measure.reading import catch_up
from dsbench.measure.rows import DETAILS, Names, figures, group_rows, longest_ns, write_cycle, write_use
from dsbench.measure.setting import ScaleContext
from dsbench.measure.surroundings import sample_sessions, with_nodes
from dsbench.stats.cycles import CycleFigures

_STARTS = 5
"""How often the nodes of a cycle may miss its start before the run is given up."""
_NOT_DONE: Final = ("syntax", "statement", "setup")
"""Kinds of errors by which a server says that it does not do something, or not for this user."""
_SESSIONS_TO_CLEAN = 3
"""How many sessions may be ended while they clean before the run is."""
_CONNECTING_S = 10.0
"""How much longer than its patience a client may take for its last try."""


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
    if recorded:
        setting.snapshots.turn(cycle.stage.name, cycle.clients)
    # What only reads leaves nothing to clean; to do so again would change what caches hold.
    reads_only = bool(workloads.find(setting.spec.workload, setting.spec.workload_settings).data.reads)
    if cycle.stage.cleaned and not (reads_only and setting.bench.cleaned):
        _clean(setting, scale, cycle, recorded)
    if setting.target.reading is not None:
        with setting.during("catch up", number):
            catch_up(setting.target, setting.target.reading, setting.watch("catch up", number), setting.spec.patience_s)
    if recorded and not cycle.stage.cold_each:  # What a server counts begins anew with it.
        setting.snapshots.before(cycle.stage.name, cycle.clients)
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
    log_cycle(setting, wanted, measured)
    return parts


def _settle(setting: ScaleContext) -> Sequence[str]:
    """Waits until the server is back from the events of a cycle. Gives what it says of itself now that it did not say
    before."""
    if setting.outages is None or setting.outages.steady:
        return ()
    setting.outages.settle(setting.stop.check)
    return setting.twice.renew()


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
            where = say_where(scale, number)
            setting.journal.say(f"{where}: the VACUUM session was terminated ({error}): once more")
    return setting.bench.phase("clean", setting.watch("clean", number))


def _measure(setting: ScaleContext, wanted: Wanted) -> Measured:
    """The cycle, once more when no node was ready for its start: they were told of it too late."""
    measured = _measure_once(setting, wanted)
    for _ in range(_STARTS - 1):
        if not missed(measured.parts):
            break
        words = "no node was ready for the common start; retrying with a later one"
        setting.journal.say(f"{say_where(wanted.scale, wanted.number)}: {words}")
        measured = _measure_once(setting, wanted)
    return measured


def _measure_once(setting: ScaleContext, wanted: Wanted) -> Measured:
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
    measured = Measured(parts, samples, seen, statements, machine, cycle.load, changes, happened)
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


def _refuse_unfinished(
    setting: ScaleContext, scale: int, cycle: int, parts: list[NodePart], happened: Sequence[Happened]
) -> None:
    if all(part.why for part in parts):
        why = "; ".join(_explain_part(setting, part) for part in parts)
        why += "".join(f"; {one.event.words} failed: {one.error}" for one in happened if one.error)
        failures = [part.found.result.failure for part in parts if part.found]
        raise explain_cycle(say_where(scale, cycle), why, failures)


def _explain_part(setting: ScaleContext, part: NodePart) -> str:
    """Why ``part`` is not whole; a server that was gone before its clients were connected is lost, too."""
    failure = part.found.result.failure if part.found else None
    words = name_loss(part.why) if failure is not None and is_lost(failure, setting.target) else part.why
    return words if part.node == LOCAL else f"node {part.node}: {words}"


def _write(
    setting: ScaleContext, key: dict[str, Any], measured: Measured, level: int | None, changed: Sequence[str] = ()
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
