"""The face of the Rust core: targets, phases and cycles. It, ``beside`` and ``workloads`` import ``dsbench._core``.

Read ``loader`` first: who makes load for a run. ``core`` has the target, errors and the clock; ``bench`` is a workload
on a target, ``cycle`` a cycle under way on this machine, ``results`` what became of it. Drivers in ``processes``, and
``pgbench`` and ``sysbench`` as ``peers``, make clients run in place of the core. ``checking`` is what ``dsbench check``
wants of the core.
"""

from dsbench._core import CycleLoad, Group, Stage
from dsbench.measure.loaders.bench import UNCOUNTED, Bench, Counted, PhaseResult, StatementName
from dsbench.measure.loaders.checking import (
    NOTES_BYTES,
    Anomaly,
    Case,
    CheckLedger,
    Conformance,
    Histories,
    Judged,
    LedgerContent,
    StaleReads,
    anomalies,
    families,
    schedules,
)
from dsbench.measure.loaders.core import (
    HALF_OPEN,
    TAKEN,
    Claim,
    CoreError,
    EngineDialect,
    Holder,
    Stopped,
    TargetDatabase,
    build,
    measuring,
    now_ns,
    schemes,
)
from dsbench.measure.loaders.cycle import GRACE_S, Cycle, Second, Watch, connecting_s
from dsbench.measure.loaders.results import (
    BUCKET_WORDS,
    IN_DATABASE,
    OPEN,
    PAUSE_WORDS,
    SECOND_WORDS,
    TRACE_WORDS,
    CycleResult,
    UInts,
)

__all__ = [
    "BUCKET_WORDS", "GRACE_S", "HALF_OPEN", "IN_DATABASE", "NOTES_BYTES", "OPEN", "PAUSE_WORDS", "SECOND_WORDS",
    "TAKEN", "TRACE_WORDS", "UNCOUNTED", "Anomaly", "Bench", "Case", "CheckLedger", "Claim", "Conformance",
    "CoreError", "Counted", "Cycle", "CycleLoad", "CycleResult", "EngineDialect", "Group", "Histories", "Holder",
    "Judged", "LedgerContent", "PhaseResult", "Second", "Stage", "StaleReads", "StatementName", "Stopped",
    "TargetDatabase", "UInts", "Watch", "anomalies", "build", "connecting_s", "families", "measuring", "now_ns",
    "schedules", "schemes",
]  # fmt: skip
