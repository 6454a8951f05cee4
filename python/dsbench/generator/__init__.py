"""The face of the Rust core: targets, steps and cycles. The only importer of ``dsbench._core``."""

from dsbench.columns import COUNTERS
from dsbench.generator.bench import UNCOUNTED, Bench, Condition, Counted, StepResult
from dsbench.generator.core import (
    NULL_SERVER,
    CoreError,
    Stopped,
    build,
    measuring,
    now_ns,
    schemes,
    workload_settings,
    workloads,
)
from dsbench.generator.cycle import TRACE_WORDS, Cycle, CycleResult, UInts, Watch
from dsbench.generator.suite import Case, Conformance, Family, families, schedules
from dsbench.generator.target import TAKEN, Dialect, Target

__all__ = [
    "COUNTERS", "NULL_SERVER", "TAKEN", "TRACE_WORDS", "UNCOUNTED", "Bench", "Case", "Condition", "Conformance",
    "CoreError", "Counted", "Cycle", "CycleResult", "Dialect", "Family", "StepResult", "Stopped", "Target", "UInts",
    "Watch", "build", "families", "measuring", "now_ns", "schedules", "schemes", "workload_settings", "workloads",
]  # fmt: skip
