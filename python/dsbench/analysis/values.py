"""The values that an evaluation consists of. Symbols of the paper, section 2.6, stand beside the names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # They are made of the values below.
    from dsbench.analysis.kinds import KindResult
    from dsbench.analysis.tpcc import Nopm
    from dsbench.analysis.windows import Window

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ScaleResult:
    """One row of table 1 of the paper: the fields are its 23 columns, in order, with units in the names.

    Empty steps (a scale that was cut short) have ``nan`` where nothing was measured.
    """

    scale: int
    """X_s"""
    database_size_gb: float
    """Size after population and keys, in 10^9 bytes."""
    rate_median_tps: float
    """Median over the cycles of T_i (eq. 7): the official rate of the scale."""
    rate_mean_tps: float
    """T (eq. 8)"""
    rate_stddev_tps: float
    """Sample standard deviation (n - 1) of T_i; nan for one cycle."""
    rate_min_tps: float
    rate_max_tps: float
    transactions: int
    """M (eq. 5)"""
    failed: int
    """Sum of E_inj: failed attempts, those that were retried included."""
    residence_total_s: float
    """Sum of R_inj (eq. 1)"""
    effective_duration_s: float
    """Sum over the cycles of: first start to last counted end, over all nodes and threads."""
    rate_multiplier: float
    """f (eq. 11)"""
    rate_p50_tps: float
    """f / quantile of the residence times at the first level; and so on for the other five."""
    rate_p68_tps: float
    rate_p87_tps: float
    rate_p95_tps: float
    rate_p99_tps: float
    rate_p99_7_tps: float
    populate_s: float
    primary_key_s: float
    foreign_key_s: float
    cleanup_s: float
    """Sum over the cleanings before the cycles."""
    drop_s: float


COLUMNS: tuple[str, ...] = tuple(field.name for field in fields(ScaleResult))
"""Names of the 23 columns."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval at ``level`` (0-1)."""

    value: float
    low: float
    high: float
    level: float


@dataclass(frozen=True)
class Index:
    """The DSI (eq. 12) with its range of scales, and the spec-true rating beside it."""

    dsi: Interval | None
    """``None`` where it is not defined: fewer than two scales, or a rate of 0."""
    lowest_scale: int
    highest_scale: int
    comparable: bool
    """True for the full ladder of the profile dsi."""
    crossing: float | None
    """Scale (= tps) where T(X) = X (TPC-B clause 4.1); ``None`` when the curve does not cross it."""
    crossing_note: str
    """Why there is no crossing, in words; empty when there is one."""


@dataclass(frozen=True)
class Frequency:
    """Inverse cumulative distribution of the residence times of one scale."""

    residence_ns: Floats
    """Ascending."""
    longer: Floats
    """Share 0-1 of transactions whose residence time is longer than ``residence_ns``."""
    quantiles_ns: Mapping[float, float]
    """Quantile (0-1) to residence time; holds the confidence levels, 0.999 and 1 (the exact maximum)."""
    count: int


@dataclass(frozen=True)
class Resource:
    """What one transaction cost of one resource at one scale."""

    name: str
    """'CPU time', 'disk reads', 'WAL' …"""
    unit: str
    """'µs', 'operations', 'KB' …"""
    per_transaction: float
    per_second: float
    scope: Literal["system", "device", "network", "client", "server"]


@dataclass(frozen=True)
class Collision:
    """Fit of q = 1 / (1 + kappa (K - 1) / X): success share q of K clients over X branches."""

    kappa: float
    clients: int
    """K = nodes * threads"""
    rms: float
    """Root mean square of the residuals of q (0-1)."""
    lowest_scale: int
    highest_scale: int
    """The fit says nothing outside of these scales."""


@dataclass(frozen=True)
class Doubt:
    """A warning with its remedy. ``scale`` is ``None`` when it concerns the whole run."""

    code: str
    """Stable word: 'client-bottleneck', 'no-steady-state', 'remote-share', 'durability', 'failures',
    'missed-starts', 'check-failed', 'resumed', 'degraded' …"""
    message: str
    remedy: str
    scale: int | None = None
    severe: bool = False
    """True when the figures must not be used (a failed check)."""


@dataclass(frozen=True)
class NodeShare:
    """What one remote node did at one scale, over the cycles in which it took part wholly."""

    rate_median_tps: float
    """Of T_in (eq. 6); nan as all figures when it took part in no cycle."""
    rate_min_tps: float
    rate_max_tps: float
    p50_ns: float
    p99_ns: float
    """Of its residence times."""
    cpu_busy: float
    """Share (0-1) of its CPUs that was in use, by whomever."""
    sent_bytes: float
    received_bytes: float
    """Through its network interfaces, per committed transaction of its own."""
    ceiling_tps: float
    """Its rate against an engine that answers at once, as calibrated before the run."""
    start_late_ns: float
    """Its latest first start of a transaction after the agreed start of a cycle, by its own clock; nan in the
    open loop, where the first transaction is due later."""
    clock_error_ns: int
    """By how much its clock may have been off at a start: half of the shortest round trip and the drift."""
    cycles: int
    """In which it took part wholly."""
    absent: tuple[str, ...]
    """The other cycles, in words, with the reason."""


@dataclass(frozen=True)
class Change:
    """One statistic that the database keeps of itself, around the cycles of a scale."""

    of: str
    """Table, or empty for the database or the server."""
    name: str
    unit: str
    before: float
    after: float
    """nan where it was not read."""


@dataclass(frozen=True)
class Evaluation:
    """All that tables, diagrams and pages show of one archive.

    ``scales`` holds every scale that was begun. The mappings by scale hold only scales that have
    something to show: a scale that was cut short before its first cycle is in none of them.
    """

    name: str
    scales: tuple[ScaleResult, ...]
    levels: tuple[float, ...]
    void_scales: frozenset[int]
    """Scales whose check failed: shown, marked, and left out of the index."""
    cycle_rates: Mapping[int, Floats]
    """Scale to T_i (eq. 7), by cycle in order."""
    node_rates: Mapping[str, Mapping[int, Floats]]
    """Node to scale to T_in (eq. 6); one entry, the local node, for a local run."""
    kind_counts: Mapping[int, Mapping[str, int]]
    """Scale to kind to committed transactions."""
    frequency: Mapping[int, Frequency]
    response: Mapping[int, Frequency]
    """As ``frequency``, from the intended starts; empty in the closed loop."""
    seconds: Mapping[int, Floats]
    """Scale to array of shape (seconds of all cycles in order, 5): count, failed, p50_ns, p99_ns, max_ns.

    Each cycle has ceil(D) rows, seconds without an end included (times nan there). With several nodes or
    kinds p50 and p99 are means weighted by count, an approximation; the maximum is exact.
    """
    success_share: Mapping[int, float]
    """q: successful attempts / attempts."""
    remote_share: Mapping[int, float]
    """Share of committed transactions on another branch's account; empty when the workload has none."""
    errors: Mapping[int, Mapping[str, int]]
    """Scale to class ("serialization 40001") to count."""
    resources: Mapping[int, tuple[Resource, ...]]
    index: Index
    doubts: tuple[Doubt, ...]
    collision: Collision | None = None
    """``None`` where the model does not apply: one client, read committed, no failure, fewer than three scales."""
    nodes: Mapping[str, Mapping[int, NodeShare]] = field(default_factory=dict)
    """Remote node to scale to its share; empty for a local run."""
    kinds: Mapping[int, tuple[KindResult, ...]] = field(default_factory=dict)
    """Scale to the figures of each kind, and of all of them where there are several."""
    kind_errors: Mapping[int, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)
    """Scale to kind to class ("serialization 40001") to failed attempts; empty where there is one kind."""
    kind_frequency: Mapping[int, Mapping[str, Frequency]] = field(default_factory=dict)
    """Scale to kind to its residence times; empty where there is one kind."""
    kind_response: Mapping[int, Mapping[str, Frequency]] = field(default_factory=dict)
    """The same from the intended starts; empty in the closed loop."""
    nopm: Mapping[int, Nopm] = field(default_factory=dict)
    """By scale; empty for other workloads than TPC-C."""
    windows: Mapping[int, tuple[Window, ...]] = field(default_factory=dict)
    """By scale: what the inputs of TPC-C must look like; empty for other workloads."""
    changes: Mapping[int, tuple[Change, ...]] = field(default_factory=dict)
    """By scale: what the database's own statistics said before and after the cycles."""
    threads: int = 0
    """Threads of each node in these cycles."""
    connections: int = 0
    """Connections of all nodes and threads together."""
    cycle_numbers: Mapping[int, Ints] = field(default_factory=dict)
    """Scale to the numbers of its cycles in the archive, in the order of ``cycle_rates``."""
    steps: Mapping[int, Evaluation] = field(default_factory=dict)
    """Number of threads to its evaluation, where a run takes several; the whole is that of the largest."""
