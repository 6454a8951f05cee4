"""One cycle: clean, connect, measure with the monitors beside it, write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from dsbench.archive import LOCAL
from dsbench.cluster.outcome import Course, Part
from dsbench.generator import COUNTERS, Bench, CycleResult, Target, now_ns
from dsbench.monitors import Monitor, Sampler
from dsbench.run.events import Moment
from dsbench.run.interrupts import Stop
from dsbench.run.journal import Journal
from dsbench.run.load import Load, Wanted
from dsbench.run.opening import ended, is_lost, lost, step
from dsbench.run.rows import DETAILS, STAGE, group_row, write_cycle
from dsbench.run.snapshots import Snapshots
from dsbench.spec import RunSpec

_GRACE_S = 30.0
"""How long a transaction may outlast its cycle before the server is given up."""
_LATE_SHARE = 0.01
"""Share of a cycle by which its clients may begin late."""
_LATE_NS = 5_000_000
"""The same for cycles that are short: no machine is asked to wake up faster."""


@dataclass(frozen=True)
class Setting:
    """What all cycles of a scale share."""

    spec: RunSpec
    target: Target
    journal: Journal
    bench: Bench
    load: Load
    monitors: tuple[Monitor, ...]
    stop: Stop
    moment: Moment
    snapshots: Snapshots

    def at(self, threads: int) -> Setting:
        """The same with one number of threads."""
        return replace(self, spec=self.spec.at(threads), moment=replace(self.moment, threads=threads))

    def step(self, phase: str, cycle: int = 0) -> AbstractContextManager[None]:
        """Around a step: its errors say that they came in ``phase``, and how the run goes on."""
        place = f"scale {self.moment.scale}" + (f", cycle {cycle}" if cycle else "")
        return step(f"{place}, {phase}" if phase != "cycle" else place, self.target)

    def watch(self, phase: str, cycle: int = 0, began: float = 0.0) -> Callable[[int, int], None]:
        """Shows progress of ``phase``, hears wishes to stop and notices when the target is another run's."""

        def seen(done: int, other: int) -> None:
            self.stop.check()
            self.target.check_claim()
            elapsed = monotonic() - began if began else 0.0
            total, failed = (0, other) if phase == "cycle" else (other, 0)
            self.journal.observer.moment(
                replace(self.moment, phase=phase, cycle=cycle, done=done, total=total, failed=failed, elapsed_s=elapsed)
            )

        return seen


def seed_of(seed: int, scale: int, cycle: int) -> int:
    """Seed of one cycle's inputs: cycles differ, and the same run draws the same inputs again."""
    digest = hashlib.blake2b(f"{seed}/{scale}/{cycle}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def run_cycle(setting: Setting, scale: int, cycle: int) -> list[Part]:
    """Runs cycle ``cycle`` and writes its results. ``RunError`` when no node could finish it."""
    journal = setting.journal
    with setting.step("clean", cycle):
        setting.target.hold()
        cleaned = setting.bench.step("clean", setting.watch("clean", cycle))
    phase = {"scale": scale, "stage": STAGE, "cycle": cycle, "phase": "clean", "duration_ns": cleaned.duration_ns}
    journal.writer.rows("phases", f"scale-{scale:05d}_cycle-{cycle:05d}_clean", [phase])
    setting.snapshots.before()
    trace = journal.writer.path / "trace.bin" if setting.spec.trace else None
    try:
        with setting.step("cycle", cycle):
            parts, samples = _measure(setting, scale, cycle, trace)
        _check_finished(setting, scale, cycle, parts)
    except BaseException:
        if trace is not None:
            trace.unlink(missing_ok=True)
        raise
    key = {"scale": scale, "stage": STAGE, "cycle": cycle, "threads": setting.spec.threads}
    _write(setting, key, parts, samples)
    _check_start(setting, scale, cycle, parts)
    whole = [part.found.result for part in parts if part.found and not part.why]
    if untraced := sum(result.untraced for result in whole):
        words = f"cycle {cycle}: {untraced} transactions are missing in the trace: they came faster than it was written"
        journal.warn("trace", words, "name a folder on a faster disk with --out; the rates are not touched", scale)
    rate = sum(result.total("committed") for result in whole) / setting.spec.duration
    failed = sum(result.total("failed") for result in whole)
    step = f", {setting.spec.threads} threads" if setting.moment.threads else ""
    journal.say(f"scale {scale}, cycle {cycle}{step}: {rate:.1f} tps, {failed} failed")
    return parts


def late_start_ns(spec: RunSpec, result: CycleResult) -> int:
    """Nanoseconds by which all clients of this machine began after the start of their cycle; 0 where that is no doubt.

    Only the closed loop begins at the start, and a ramp-up covers a late one. Waking up takes its time on a busy
    machine, and whatever is a small part of the cycle does not show in its rate.
    """
    if spec.rate is not None or spec.pace != "none" or spec.ramp_up > 0:
        return 0
    counted = result.counters[:, :, COUNTERS.index("last_end_ns")] > 0
    starts = result.counters[:, :, COUNTERS.index("first_start_ns")][counted]
    late_ns = int(starts.min()) if starts.size else 0
    return late_ns if late_ns > max(_LATE_SHARE * spec.duration * 1e9, _LATE_NS) else 0


def _check_start(setting: Setting, scale: int, cycle: int, parts: list[Part]) -> None:
    """Tells of a late start here; what nodes say of theirs is judged with the archive."""
    for part in parts if not setting.spec.nodes else ():
        late_ns = late_start_ns(setting.spec, part.found.result) if part.found else 0
        if late_ns:
            words = f"cycle {cycle} of scale {scale} began {late_ns / 1e6:.1f} ms late, which lowers its rate"
            setting.journal.warn("late-start", words, "leave the client more CPU, and repeat the scale", scale)


def _check_finished(setting: Setting, scale: int, cycle: int, parts: list[Part]) -> None:
    if all(part.why for part in parts):
        why = "; ".join(_why(setting, part) for part in parts)
        failures = [part.found.result.failure for part in parts if part.found]
        raise ended(f"scale {scale}, cycle {cycle}", why, failures)


def _why(setting: Setting, part: Part) -> str:
    """Why ``part`` is not whole; a server that was gone before its clients were connected is lost, too."""
    failure = part.found.result.failure if part.found else None
    words = lost(part.why) if failure is not None and is_lost(failure, setting.target) else part.why
    return words if part.node == LOCAL else f"node {part.node}: {words}"


def _write(setting: Setting, key: dict[str, Any], parts: list[Part], samples: list[dict[str, object]]) -> None:
    """Everything of one cycle, or nothing: what an earlier attempt at it or a failing one left is taken away."""
    writer, name = setting.journal.writer, f"scale-{key['scale']:05d}_cycle-{key['cycle']:05d}"
    by_node = {LOCAL: samples} | {part.node: list(part.found.samples) for part in parts if part.found and not part.why}
    if not setting.spec.nodes:
        by_node = {LOCAL: samples}
    results = [({**key, "node": part.node}, part.found.result) for part in parts if part.found and not part.why]
    writer.forget(DETAILS, name)
    try:
        writer.rows("groups", name, [group_row(key, setting.spec)])
        for node, rows in by_node.items():
            writer.rows("monitors", f"{name}_{node}", [{**key, "node": node, **row} for row in rows])
        if setting.spec.nodes:
            writer.rows("nodes", name, [{**key, **_took_part(part)} for part in parts])
        write_cycle(writer, name, setting.bench.kinds, results)
    except BaseException:
        if not writer.has("cycles", name):
            writer.forget(DETAILS, name)
        raise
    for part in parts:
        if part.why:
            setting.journal.say(f"scale {key['scale']}, cycle {key['cycle']}: without node {part.node}: {part.why}")


def _took_part(part: Part) -> dict[str, object]:
    """The row of one node in the table ``nodes``."""
    course = asdict(part.found.course if part.found else Course(""))
    course.pop("ended")
    return {"node": part.node, "state": part.state, "why": part.why, **course}


def _measure(
    setting: Setting, scale: int, number: int, trace: Path | None
) -> tuple[list[Part], list[dict[str, object]]]:
    spec = setting.spec
    wanted = Wanted(spec, setting.bench, scale, number, seed_of(spec.seed, scale, number), trace)
    cycle = setting.load.cycle(wanted, setting.watch("connect", number))
    sampler = Sampler(setting.monitors)
    try:
        cycle.connect(30 + spec.threads * spec.connections * 0.2, setting.watch("connect", number))
        sampler.first()
        # Asking for the lead may take a while itself: the clock is read afterwards.
        lead_ns = cycle.lead_ns + round(spec.ramp_up * 1e9)
        start = now_ns() + lead_ns
        sampler.go(start, round(spec.ramp_up * 1e9))
        cycle.start(start)
        watch = setting.watch("cycle", number, monotonic() + spec.ramp_up)
        cycle.wait(start + round(spec.duration * 1e9), _GRACE_S, watch)
    except BaseException:
        cycle.abandon()
        sampler.stop()
        cycle.join()
        raise
    samples = sampler.stop()
    parts = cycle.join()
    for note in sampler.notes:
        setting.journal.warn("monitor", note, "the figures of this monitor are missing; the rates are not touched")
    return parts, samples
