"""A full archive (13 scales, 10 cycles of 60 s, 64 threads): its size, and the time of analysis and report."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dsbench.archive import FORMAT, RunRecord, Writer
from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders import SECOND_WORDS, CycleLoad, CycleResult, Group, UInts
from dsbench.measure.rows import Names, group_rows, write_cycle
from dsbench.spec import DSI_SCALES, RunSpec

THREADS = 64
CYCLES = 10
SECONDS = 60
_DURATION_NS = SECONDS * 10**9
_GROUP = Group("all", (0,), THREADS, THREADS, "closed", None, None, "time", None, "", _DURATION_NS)
_LOAD = CycleLoad("", (_GROUP,), THREADS, 1, 0, _DURATION_NS)
_PHASES = ("create", "populate", "primary_key", "foreign_key", "check", "drop")


@dataclass(frozen=True)
class Sealed:
    """What came of it."""

    report_s: float
    megabytes: float
    """Of the sealed archive, without the page and the diagrams."""


def measure() -> Sealed:
    """Writes such an archive with drawn figures and reports on it."""
    from dsbench.read.report import finish  # The report draws: loading what it draws with takes seconds.

    with tempfile.TemporaryDirectory(prefix="dsbench-bench-") as folder:
        path = _write(Path(folder))
        tables = sum(file.stat().st_size for file in path.rglob("*.parquet"))
        began = time.monotonic()
        finish.write(path)
        return Sealed(time.monotonic() - began, tables / 1e6)


def _write(folder: Path) -> Path:
    spec = RunSpec(scales=DSI_SCALES, cycles=CYCLES, duration=SECONDS, threads=THREADS)
    writer = Writer.create(folder, "bench")
    writer.describe(RunRecord.of(_run(spec)))
    random = np.random.default_rng(1)
    for scale in DSI_SCALES:
        phase = {"scale": scale, "stage": "build", "cycle": 0, "duration_ns": scale * 10**8}
        writer.rows("phases", f"scale-{scale:05d}", [{**phase, "phase": name} for name in _PHASES])
        for cycle in range(1, CYCLES + 1):
            key = {"scale": scale, "stage": "load", "cycle": cycle, "node": "local", "threads": THREADS}
            name, result = f"scale-{scale:05d}_cycle-{cycle:05d}", _cycle(random)
            writer.rows("groups", name, [{**key, **row} for row in group_rows(_LOAD, [result])])
            write_cycle(writer, name, Names(["tpcb"], _LOAD.groups), [(key, result)])
            clean = {"scale": scale, "stage": "load", "cycle": cycle, "phase": "clean", "duration_ns": 10**9}
            writer.rows("phases", f"scale-{scale:05d}-{cycle:03d}", [clean])
    return writer.path


def _cycle(random: np.random.Generator) -> CycleResult:
    """A cycle of 64 threads whose residence times are log-normal about 10 ms."""
    counters = np.zeros((THREADS, 1, len(COUNTERS)), np.uint64)
    times = (random.lognormal(16.1, 0.5, 20_000)).astype(np.uint64)
    per_thread = len(times) // THREADS
    values = {
        "committed": per_thread, "residence_ns": int(times.sum()) // THREADS, "residence_min_ns": int(times.min()),
        "response_ns": int(times.sum()) // THREADS, "residence_max_ns": int(times.max()),
        "first_start_ns": 10**6, "last_end_ns": SECONDS * 10**9 - 10**6, "cpu_ns": 10**9,
    }  # fmt: skip
    for name, value in values.items():
        counters[:, 0, COUNTERS.index(name)] = value
    low, counts = np.unique(times & ~np.uint64(0x3FFF), return_counts=True)
    buckets = np.stack([low, low + np.uint64(0x3FFF), counts.astype(np.uint64)], axis=1)
    seconds = np.zeros((SECONDS, SECOND_WORDS), np.uint64)
    seconds[:, 1] = np.arange(SECONDS)
    seconds[:, 3] = random.poisson(len(times) / SECONDS, SECONDS)
    seconds[:, 5:] = (10**7, 3 * 10**7, 10**8)
    histograms: tuple[tuple[int, int, str, UInts], ...] = ((0, 0, "residence", buckets),)
    return CycleResult(counters, np.zeros(THREADS, np.uint64), histograms, seconds, (), {}, None)


def _run(spec: RunSpec) -> dict[str, object]:
    scales = [str(scale) for scale in spec.scales]
    holds = {"name": "sums", "holds": True, "detail": "equal"}
    began = "2026-01-01T00:00:00+00:00"
    return {
        "format": FORMAT, "dsbench": "0", "name": "bench", "started": began, "ended": began, "status": "complete",
        "reason": "", "spec": spec.described(), "engine": "postgres", "call": "procedure", "kinds": ["tpcb"],
        "embedded": False, "server_version": "PostgreSQL", "host": "bench", "cpus": 2, "stack": [], "settings": {},
        "durability": [], "marks": {}, "checks": {scale: [holds] for scale in scales},
        "segments": [{"started": began, "scale": scale, "first_cycle": 1} for scale in spec.scales],
        "calibration": None, "warnings": [],
    }  # fmt: skip
