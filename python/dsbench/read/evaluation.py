"""What an archive says: the results of all subjects, each computed when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from dsbench.archive import Archive, RunRecord
from dsbench.read.groups import Series, texts
from dsbench.read.rows import RunRows, SeriesRows
from dsbench.read.subjects import readers
from dsbench.read.subjects.cost import Seen
from dsbench.read.subjects.device_times import Timed
from dsbench.read.subjects.energy import Energy, Grade
from dsbench.read.subjects.interference import Beside
from dsbench.read.subjects.kinds import Counted
from dsbench.read.subjects.legs import LegResult
from dsbench.read.subjects.nodes import NodeShare
from dsbench.read.subjects.price import Worth
from dsbench.read.subjects.probes import Probed
from dsbench.read.subjects.server_statements import Planned, Ran
from dsbench.read.subjects.stacks import Profile
from dsbench.read.subjects.statistics import Change
from dsbench.read.subjects.why import Why
from dsbench.stats.both_counts import BothCounts
from dsbench.stats.efficiency import Efficiency
from dsbench.stats.fairness import Evenness
from dsbench.stats.fits import Fit
from dsbench.stats.index import Fall
from dsbench.stats.kinds import KindResult, StatementResult
from dsbench.stats.ledger import Ledger
from dsbench.stats.machine import CycleUse
from dsbench.stats.queries import Decision
from dsbench.stats.search import Load
from dsbench.stats.tpcc import Nopm, Window
from dsbench.stats.values import (
    Collision,
    Doubt,
    Floats,
    Frequency,
    Index,
    Interval,
    Ints,
    Left,
    Resource,
    ScaleResult,
)

__all__ = ["Change", "Evaluation", "NodeShare", "Series", "evaluate", "evaluate_rows"]


class Evaluation:
    """What one archive says, or one series of its cycles.

    Each result is computed by the subject that ``read.subjects`` has for it, when it is first used.
    ``scales`` holds every scale that was begun. The mappings by scale hold only scales that have
    something to show: a scale that was cut short before its first cycle is in none of them.
    """

    run: RunRecord
    """Of one series as if the run had no other."""
    rows: SeriesRows
    """Of several series those of the last."""
    name: str
    scales: tuple[ScaleResult, ...]
    levels: tuple[float, ...]
    void_scales: frozenset[int]
    """Scales whose check failed: shown, marked, and left out of the index."""
    left: Left | None
    """What a run on tables of somebody else left there; ``None`` where its rates count all of it."""
    cycle_rates: Mapping[int, Floats]
    """Scale to T_i (eq. 7), by cycle in order."""
    node_rates: Mapping[str, Mapping[int, Floats]]
    """Node to scale to T_in (eq. 6); one entry, the local node, for a local run."""
    kind_counts: Mapping[int, Mapping[str, int]]
    """Scale to kind to committed transactions."""
    frequency: Mapping[int, Frequency]
    response: Mapping[int, Frequency]
    """As ``frequency``, from the intended starts; empty in the closed loop."""
    due: Mapping[int, float]
    """Scale to the starts per second that were due, made or not, in the median over the cycles; empty in the closed
    loop."""
    seconds: Mapping[int, Floats]
    """Scale to array of shape (seconds of all cycles in order, 5): count, failed, p50_ns, p99_ns, max_ns.

    Each cycle has ceil(D) rows, seconds without an end included (times nan there). With several nodes or
    kinds p50 and p99 are means weighted by count, an approximation; the maximum is exact. It is the age of a
    transaction that was under way during all of the second, if that is greater.
    """
    success_share: Mapping[int, float]
    """q: successful attempts / attempts."""
    remote_share: Mapping[int, float]
    """Share of committed transactions on another branch's account; empty when the workload has none."""
    errors: Mapping[int, Mapping[str, int]]
    """Scale to class ("serialization 40001") to count."""
    resources: Mapping[int, tuple[Resource, ...]]
    server_cpu: Mapping[int, Mapping[int, float]]
    """Scale to cycle to the server's CPU time per transaction in µs; without those that do not tell."""
    index: Index
    doubts: tuple[Doubt, ...]
    collision: Collision | None
    """``None`` where the model does not apply: one client, read committed, no failure, fewer than three scales."""
    nodes: Mapping[str, Mapping[int, NodeShare]]
    """Remote node to scale to its share; empty for a local run."""
    kinds: Mapping[int, tuple[KindResult, ...]]
    """Scale to the figures of each kind, and of all of them where there are several."""
    kind_errors: Mapping[int, Mapping[str, Mapping[str, int]]]
    """Scale to kind to class ("serialization 40001") to failed attempts; empty where there is one kind."""
    kind_frequency: Mapping[int, Mapping[str, Frequency]]
    """Scale to kind to its residence times; empty where there is one kind."""
    kind_response: Mapping[int, Mapping[str, Frequency]]
    """The same from the intended starts; empty in the closed loop."""
    probes: Mapping[int, tuple[Probed, ...]]
    """Scale to what storage tools found around its cycles; empty without them."""
    statement_times: Mapping[int, tuple[StatementResult, ...]]
    """Scale to the statements of scripts in their order; empty where they were not timed."""
    nopm: Mapping[int, Nopm]
    """By scale; empty where the workload has no special analysis."""
    headline: Mapping[int, Counted]
    """By scale; empty where the workload counts tps, or has a special analysis."""
    windows: Mapping[int, tuple[Window, ...]]
    """By scale: what the inputs must look like; empty where the workload has no analysis of its clients' sums."""
    quantiles: Mapping[int, Mapping[str, Interval]]
    """Scale to p50, p95 and p99 in ns with their 95% intervals over the cycles, whose bounds are nan where these or
    the transactions are too few; in the open loop of response times."""
    load: Mapping[int, Load]
    """By scale: the search of the highest rate with an objective; empty without one."""
    worth: Mapping[int, Worth]
    """By scale: what a unit of money buys; empty where nobody said what the machine costs."""
    energy: Mapping[int, Energy]
    """By scale: power, and energy for each transaction; empty where none was measured."""
    legs: Mapping[int, tuple[LegResult, ...]]
    """By scale: what was reached in each leg of a load that changes; empty without one."""
    grades: Mapping[int, tuple[Grade, ...]]
    """By scale: the levels of a graduated load, the highest first; empty without one."""
    queries: Mapping[int, Decision]
    """By scale: power, throughput and the times of queries, of all stages; empty where there are no such queries."""
    interference: Mapping[int, tuple[Beside, ...]]
    """By scale: groups of clients beside each other against each alone, of all stages; empty where there are none."""
    changes: Mapping[int, tuple[Change, ...]]
    """By scale: what the database's own statistics said before and after the cycles."""
    threads: int
    """Threads of each node in these cycles."""
    machine: Mapping[int, tuple[CycleUse, ...]]
    """By scale: what each machine did beside the run in each cycle; empty where the archive does not tell."""
    evenness: Mapping[int, Evenness]
    """By scale: the slowest and the fastest client; empty with one client, or groups that do not do the same."""
    both_counts: Mapping[int, tuple[BothCounts, ...]]
    """By scale: cycles of which the server counted the transactions as well; empty where it does not."""
    ledger: Mapping[int, Ledger]
    """By scale: where the time of the clients went; empty where the client does not tell."""
    kernel: Mapping[int, tuple[Seen, ...]]
    """By scale: system calls by name, and where the kernel spent its time; empty without --perf."""
    profile: Mapping[int, Profile]
    """By scale: what the server did on CPUs, function by function; empty without --perf stacks."""
    device_times: Mapping[int, tuple[Timed, ...]]
    """By scale: how long the disks of the data took for their requests; empty without --perf storage."""
    ran: Mapping[int, tuple[Ran, ...]]
    """By scale: what the server counted of each statement; empty where it does not."""
    plans: Mapping[int, tuple[Planned, ...]]
    """By scale: the plans of the statements around the cycles; empty where the product tells none."""
    why: Mapping[int, Why]
    """By scale: where the time of a transaction goes; empty where the archive does not tell."""
    checkpoints: Mapping[int, tuple[int, ...]]
    """Scale to the cycles in which the server began a checkpoint; empty where it counts none."""
    connections: int
    """Connections of all nodes and threads together."""
    placement: str
    """Where the clients ran, in words; empty without a cycle."""
    fall: Fall | None
    """Between which scales the rate falls most; ``None`` where it falls by less than half anywhere."""
    falls_at: Mapping[float, Fall]
    """Confidence level (0-1) to where the rate at that level falls most; empty where ``fall`` is ``None``, and without
    levels whose rate falls by less than half anywhere."""
    models: tuple[Fit, ...]
    """Those that the run can be held against, whether they fit or not."""
    intervals: Mapping[int, Interval]
    """Scale to the median rate with its interval at 95%, over its cycles; bounds nan below five of them."""
    cycle_numbers: Mapping[int, Ints]
    """Scale to the numbers of its cycles in the archive, in the order of ``cycle_rates``."""
    durations_s: Mapping[int, Floats]
    """Scale to the demanded duration D_i of each cycle, in the order of ``cycle_rates``."""
    efficiency: Mapping[int, Efficiency]
    """Scale to what the cycles reached and took of the machine, by the columns of the Insert Benchmark."""
    stages: Mapping[Series, Mapping[int, Efficiency]]
    """The same of every series, and of the stages of statements in between, which have 0 threads; in order."""
    group_courses: Mapping[int, Mapping[str, Floats]]
    """Scale to group to an array of shape (seconds of all cycles in order, 2): operations, and the longest time in ns,
    nan where nothing ended."""
    definitions: Mapping[int, tuple[float, float]]
    """Scale to TPS by two definitions, each the median over the cycles: the sum over streams of their own rates, and
    all transactions from the first start to the last end. Only where streams have even shares of a fixed number."""
    stage: str
    """That of these cycles."""
    grown: frozenset[int]
    """Scales whose rows were added to the database of the scale before (``--grow``)."""
    series: Mapping[Series, Evaluation]
    """Every series of cycles with its evaluation, where a run has several; the whole is that of the last."""


    def __init__(
        self, rows: SeriesRows | None = None, series: Mapping[Series, Evaluation] | None = None, **known: Any
    ) -> None:
        """``rows`` are those of the series, of several series those of the last; ``known`` are results by name, which
        are not computed."""
        self.series = dict(series or {})
        if rows is not None:
            self.rows, self.run = rows, rows.whole.run if series else rows.run
            self.name, self.levels = rows.whole.name, rows.run.spec.levels
            self.stage, self.threads = rows.key
        self.__dict__.update(known)

    def __getattr__(self, name: str) -> Any:
        read = None if name.startswith("__") else readers(whole=bool(self.series)).get(name)
        if read is None:
            raise AttributeError(f"no subject has a result {name!r}")
        # Of several series the whole shows the last, but for what concerns the run.
        found = self.__dict__[name] = read(self) if "rows" in self.__dict__ else None
        return found

    def replace(self, **known: Any) -> Evaluation:
        """The same with other results; what rests on them and was not yet computed follows."""
        other = Evaluation()
        other.__dict__.update({**{k: v for k, v in self.__dict__.items() if k != "own"}, **known})
        return other

    @property
    def has_clients(self) -> bool:
        """Whether this is a series of cycles, and not statements that are timed."""
        return "rows" in self.__dict__

    @property
    def groups(self) -> list[str]:
        """The groups of clients of these cycles, in the order of the workload; none in a stage of statements."""
        return list(dict.fromkeys(texts(self.rows.groups, "group"))) if self.has_clients else []

    def of_group(self, group: str) -> Evaluation:
        """The same series of one group of its clients alone."""
        return Evaluation(self.rows.of_group(group))

    @cached_property
    def own(self) -> Evaluation:
        """The same series of the measured clients alone, without what runs beside them in a stage."""
        found = next(iter(self.efficiency.values()), None)
        if found is None or not self.counts_operations or len(self.groups) < 2:
            return self
        return self.of_group(found.measured)

    @property
    def counts_operations(self) -> bool:
        """Whether the rate of this series is that of the operations of some clients in a stage, such as rows that they
        insert, and not that of all transactions."""
        if not self.has_clients or self.rows.group:
            return True
        staged = len({key.stage for key in self.rows.whole.keys}) > 1
        return staged or any(one.background for one in self.efficiency.values())

    @property
    def of_stage(self) -> str:
        """What ``own_rates`` are of, where they are those of operations: ``stage qp1000, transactions per second
        of the query clients``. Else empty: then all transactions count."""
        found = next(iter(self.efficiency.values()), None)
        if found is None or not self.counts_operations:
            return ""
        alone = len(self.groups) < 2 and not (self.has_clients and self.rows.group)
        clients = "" if alone else f" of the {found.measured} clients"
        return f"stage {self.stage}, {found.counted} per second{clients}"

    @property
    def own_rates(self) -> dict[int, float]:
        """Scale to the median over the cycles; in stages, and of one group of clients, that of the operations of the
        measured clients alone, never with what runs beside them."""
        if self.counts_operations:
            return {scale: found.rate for scale, found in self.own.efficiency.items()}
        return {row.scale: row.rate_median_tps for row in self.scales}

    @property
    def staged(self) -> bool:
        """Whether several stages were measured, each for itself: an index over scales says little of them together."""
        return len({key.stage for key in self.series}) > 1

    @property
    def by_threads(self) -> dict[int, Evaluation]:
        """Numbers of threads of this stage, rising, each with its evaluation; empty where the run has one series."""
        return {key.threads: part for key, part in sorted(self.series.items(), key=lambda one: one[0].threads)
                if key.stage == self.stage}  # fmt: skip

    @property
    def key(self) -> Series:
        """The series of these cycles."""
        return Series(self.stage, self.threads)


def evaluate(archive: Archive) -> Evaluation:
    """What ``archive`` says; also of one that was cut short or still grows."""
    return evaluate_rows(RunRows.of(archive))


def evaluate_rows(rows: RunRows) -> Evaluation:
    """What an archive says whose rows were read."""
    parts = {key: Evaluation(rows.of_series(key)) for key in rows.keys}
    *_, last = parts.values()
    return last if len(parts) == 1 else Evaluation(last.rows, parts)
