"""One cycle: clean, connect, measure with the monitors beside it, write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from dsbench.generator import Bench, CycleResult, now_ns
from dsbench.monitors import Monitor, Sampler
from dsbench.run.events import Moment
from dsbench.run.interrupts import Stop
from dsbench.run.journal import Journal, RunError
from dsbench.run.rows import write_cycle
from dsbench.spec import RunSpec

LOCAL = "local"
"""Name of the node in a local run."""

_GRACE_S = 30.0
"""How long a transaction may outlast its cycle before the server is given up."""


@dataclass(frozen=True)
class Setting:
    """What all cycles of a scale share."""

    spec: RunSpec
    journal: Journal
    bench: Bench
    monitors: tuple[Monitor, ...]
    stop: Stop
    moment: Moment

    def watch(self, phase: str, cycle: int = 0, began: float = 0.0) -> Callable[[int, int], None]:
        """Shows progress of ``phase`` and hears wishes to stop."""

        def seen(done: int, other: int) -> None:
            self.stop.check()
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


def run_cycle(setting: Setting, scale: int, cycle: int) -> CycleResult:
    """Runs cycle ``cycle`` and writes its results. ``RunError`` when it could not be finished."""
    journal = setting.journal
    cleaned = setting.bench.step("clean", setting.watch("clean", cycle))
    phase = {"scale": scale, "cycle": cycle, "phase": "clean", "duration_ns": cleaned.duration_ns}
    journal.writer.rows("phases", f"scale-{scale:05d}_cycle-{cycle:05d}_clean", [phase])
    trace = journal.writer.path / "trace.bin" if setting.spec.trace else None
    try:
        result, samples = _measure(setting, seed_of(setting.spec.seed, scale, cycle), cycle, trace)
    except BaseException:
        if trace is not None:
            trace.unlink(missing_ok=True)
        raise
    if result.failure is not None:
        if trace is not None:
            trace.unlink(missing_ok=True)
        raise RunError(
            f"scale {scale}, cycle {cycle}: {result.failure}",
            "finished cycles are kept; once the server works again: dsbench run --resume ARCHIVE",
        )
    key = {"scale": scale, "cycle": cycle, "node": LOCAL}
    monitors = [{**key, **sample} for sample in samples]
    journal.writer.rows("monitors", f"scale-{scale:05d}_cycle-{cycle:05d}_{LOCAL}", monitors)
    write_cycle(journal.writer, key, setting.bench.kinds, result)
    rate = result.total("committed") / setting.spec.duration
    journal.say(f"scale {scale}, cycle {cycle}: {rate:.1f} tps, {result.total('failed')} failed")
    return result


def _measure(
    setting: Setting, seed: int, number: int, trace: Path | None
) -> tuple[CycleResult, list[dict[str, object]]]:
    spec = setting.spec
    cycle = setting.bench.cycle(spec, seed, trace)
    sampler = Sampler(setting.monitors)
    try:
        cycle.connect(30 + spec.threads * spec.connections * 0.2, setting.watch("connect", number))
        # Long enough that every thread has gone to sleep before the common start.
        sampler.first()
        start = now_ns() + 20_000_000 + spec.threads * 100_000
        sampler.go(start)
        cycle.start(start)
        watch = setting.watch("cycle", number, monotonic())
        cycle.wait(start + round(spec.duration * 1e9), _GRACE_S, watch)
    except BaseException:
        cycle.abandon()
        sampler.stop()
        cycle.join()
        raise
    samples = sampler.stop()
    result = cycle.join()
    for note in sampler.notes:
        setting.journal.warn("monitor", note, "the figures of this monitor are missing; the rates are not touched")
    return result, samples
