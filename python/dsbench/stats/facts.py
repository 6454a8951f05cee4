"""What the rules of doubt look at: plain facts of one run and of its scales."""

from __future__ import annotations

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.both_counts import BothCounts
from dsbench.stats.fairness import Evenness
from dsbench.stats.ledger import Ledger
from dsbench.stats.machine import CycleUse
from dsbench.stats.steady import Drift, Scatter
from dsbench.stats.values import Ints
from dsbench.workloads import Entry


@dataclass(frozen=True)
class UnsafeSwitch:
    """A durability setting that gives up safety: its name, its value and what may be lost."""

    switch: str
    value: str
    meaning: str


@dataclass(frozen=True)
class RunFacts:
    """What was asked for, and how the run ended."""

    workload: Entry
    status: str
    """'running', 'complete', 'cut-short' or 'failed'."""
    reason: str
    remedy: str
    """What mends that, where to resume the run does not."""
    duration_s: float
    """D, that of the shortest cycle"""
    cycles: int
    """I that was demanded."""
    made: int
    """The fewest of a scale, where the results decide how many there are; else I."""
    isolation: str
    retry: bool
    reconnect: bool
    pacings: frozenset[str]
    """Of all groups of clients: "closed", "constant", "poisson", "terminals"."""
    timed: bool
    """Whether a duration ended the cycles, and not only what was done."""
    nodes: int
    """Remote nodes; 0 for load made on the machine of the server."""
    embedded: bool
    """The engine runs inside the client's process."""
    single_writer: bool
    """The engine lets one transaction write at a time."""
    cpus: int
    unsafe: tuple[UnsafeSwitch, ...]
    peak: bool = False
    """Whether ``cycles`` are at most so many, for the numbers of clients near the best."""
    searched: bool = False
    """Whether its load is that of a search or of legs, or has outages, which no profile for comparable figures has."""
    outages: bool = False
    """Whether its cycles have outages that were asked for."""
    precision: float | None = None
    """Share (0-1) of its median within which the interval of a rate was to lie; ``None`` where nothing was said."""
    sized_for_s: float = np.nan
    """How long cycles were to last of which a fixed number of transactions was made; nan for all others."""
    clock: str = ""
    """The kernel's clock source; empty where it is not known."""
    governor: str = ""
    """That of the frequency of the CPUs."""
    memory_limited: bool = False
    """Whether the memory of the server is limited on purpose."""
    undo_log: bool = False
    """Whether Firebird takes back what fails by its undo log, which leaves changes now and then."""
    ceiling_tps: float = np.nan
    """Rate of the same client against an engine that answers at once, as calibrated; nan when unknown."""


@dataclass(frozen=True)
class NodeFacts:
    """A remote node at one scale."""

    name: str
    cpu_busy: float
    """Share (0-1) of its CPUs in use; nan when unknown."""
    ceiling_share: float
    """Its rate over its calibrated ceiling; nan when unknown."""
    start_off_ns: int
    """By how much its start may have missed the agreed one: lateness and error of its clock."""
    absent: tuple[str, ...]
    """Cycles in which it is missing, in words with the reason."""


@dataclass(frozen=True)
class ScaleFacts:
    """What happened at one scale, summed over cycles, nodes, clients and kinds."""

    scale: int
    cycles: int
    """Cycles that were measured."""
    committed: int
    """M"""
    failed: int
    """Failed attempts."""
    main_error: str
    """Class of the most frequent error: dsbench's word and the engine's code; empty when there was none."""
    attempts: int
    """Successful and failed."""
    unknown: int
    missed: int
    remote: int
    """Committed transactions on another branch's account, out of ``kept``."""
    kept: int
    """Transactions that the database holds, those that ended before and after the duration included."""
    absent: int
    """Cycles in which a node of the run is missing."""
    outside_share: float
    """Share (0-1) of the clients' time that lies outside of transactions; nan when unknown."""
    client_cpus: float
    """CPU seconds per second that the load cost on its own machine; nan when unknown."""
    histogram_count: int
    """Transactions in the histogram: the committed, or those rolled back on purpose as well."""
    rolled_back: int
    drifts: tuple[tuple[str, Drift], ...]
    """Drift of the rate with the stretch it was judged over, in words."""
    checked: bool
    """The workload's conditions were looked at after the cycles."""
    broken: tuple[str, ...]
    """Conditions of the check that do not hold, in words."""
    unmade: tuple[tuple[str, str, int], ...]
    """Why conditions were not made, how they are made, and how many of them, where they could have been."""
    conditions: int
    """Of its check, in whatever state."""
    measured_s: float
    """Sum of the demanded durations of the cycles."""
    populations: int
    """Populations that the cycles come from: two when the run was resumed between them."""
    nodes: tuple[NodeFacts, ...] = ()
    """Remote nodes; empty for a local run."""
    half_width: float = np.nan
    """By which share (0-1) the interval of the median rate reaches beyond it; nan where it is not known."""
    scatter: Scatter | None = None
    """Cycles that lie off the others."""
    checkpoints: tuple[int, ...] = ()
    """Cycles in which the server counted a checkpoint; empty where it counts none."""
    lasted_s: tuple[tuple[int, float], ...] = ()
    """Cycles with their durations."""
    uses: tuple[CycleUse, ...] = ()
    """What the machines did in each cycle."""
    stood_still: tuple[int, ...] = ()
    """Cycles in which hardly a transaction ended for about a second; see ``stalls``."""
    server_cpu_us: tuple[float, ...] = ()
    """The server's CPU time per transaction in each cycle that tells it."""
    counted: tuple[BothCounts, ...] = ()
    """Cycles of which the server counted the transactions as well."""
    ledger: Ledger | None = None
    """Where its clients' time went; ``None`` where the client does not tell."""
    evenness: Evenness | None = None
    """How evenly its clients got their transactions; ``None`` where they do not do the same, or there is one."""


def outside_share(residence_ns: Ints, failed_ns: Ints, first_start_ns: Ints, last_end_ns: Ints) -> float:
    """Share (0-1) of thread time outside of transactions: 1 - (R + time of the failed) / L, summed.

    Over L_inj (eq. 3), not D: a transaction that is in flight at the end is time in the database as
    well, though it is not counted. Failures before the first and after the last success make the share
    too small, so it errs on the side of silence. Arrays of shape (cycles, nodes, clients); clients
    without a last end have no L and are left out. nan when there is none.
    """
    some = last_end_ns > 0
    length = int((last_end_ns - first_start_ns)[some].sum())
    inside = int(residence_ns[some].sum()) + int(failed_ns[some].sum())
    return max(0.0, 1 - inside / length) if length > 0 else np.nan
