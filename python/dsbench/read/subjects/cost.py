"""What explains a rate: what a transaction cost of each resource, and how evenly the clients got theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL, RunRecord
from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Listed, Part, Sentence, Table
from dsbench.read.groups import durations_ns, grouped, ramp_ups_ns, whole
from dsbench.read.measured import Measured
from dsbench.read.series import each_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.nodes import NodesResult
from dsbench.stats.cache import Hits, hits
from dsbench.stats.fairness import Evenness, evenness, irregularity
from dsbench.stats.resources import (
    CALLS,
    CLIENT_CPU,
    RESCHEDULING,
    SERVER_CPU,
    SWITCHES,
    TRANSFERS,
    Counter,
    costs,
    gains,
)
from dsbench.stats.values import Floats, Resource

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

NO_COSTS: Final = ("pressure", "client_threads", "server_threads")
"""Monitors that say where time goes rather than what is used up."""


def _count(table: pa.Table, groups: pa.Table) -> Iterator[tuple[int, str, Counter]]:
    """Scale and node of each cumulative counter of ``table`` (its unit ends in " total"), and what it gained."""
    table = table.filter(pc.ends_with(table["unit"], " total"))
    counters, number = grouped(table, ("scale", "cycle", "node", "monitor", "metric", "unit"))
    if not counters:
        return
    of_cycles = durations_ns(groups, table), ramp_ups_ns(groups, table)
    gained = gains(number, whole(table, "at_ns"), table["value"].to_numpy(), *of_cycles)
    for name, *figures in zip(*gained, strict=True):
        scale, cycle, node, monitor, metric, unit = counters[int(name)]
        yield scale, node, Counter(monitor, metric, unit, cycle, *(float(one) for one in figures))


def resources(table: pa.Table, load: Mapping[int, Measured], groups: pa.Table) -> dict[int, tuple[Resource, ...]]:
    """Costs by scale out of the cumulative counters."""
    table = table.filter(pc.invert(pc.is_in(table["monitor"], pa.array(NO_COSTS))))
    found: dict[int, list[Counter]] = {}
    told: dict[tuple[int, int, str, str, str], set[str]] = defaultdict(set)
    for scale, node, one in _count(table, groups):
        found.setdefault(scale, []).append(one)
        told[scale, one.cycle, one.monitor, one.metric, one.unit].add(node)
    for (scale, cycle, monitor, metric, unit), nodes in told.items():
        if nodes != {LOCAL} and not _makers(load[scale], cycle) <= nodes:
            found[scale].append(Counter(monitor, metric, unit, cycle, nan, 0.0))
    committed = {x: dict(zip(part.cycles.tolist(), part.by_cycle.tolist(), strict=True)) for x, part in load.items()}
    return {x: costs(rows, committed[x]) for x, rows in sorted(found.items())}


def server_cpu(
    table: pa.Table, groups: pa.Table, committed: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], float]:
    """Scale and cycle to the server's CPU time per transaction in µs; without cycles whose monitors do not tell.

    ``table`` has the samples of monitors, ``committed`` the counted transactions.
    """
    table = table.filter((pc.field("monitor") == "server_tasks") & (pc.field("metric") == "cpu"))
    counters: dict[tuple[int, int], list[Counter]] = defaultdict(list)
    for scale, _, one in _count(table, groups):
        counters[scale, one.cycle].append(one)
    found = {key: costs(of, {key[1]: committed.get(key, 0)})[0].per_transaction for key, of in counters.items()}
    return {key: us for key, us in found.items() if us > 0}


def _read_server_cpu(evaluation: Evaluation) -> dict[int, dict[int, float]]:
    rows = evaluation.rows
    committed = {(x, int(cycle)): int(count) for x, part in rows.load.items()
                 for cycle, count in zip(part.cycles, part.by_cycle, strict=True)}  # fmt: skip
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for (scale, cycle), us in server_cpu(rows.monitors, rows.groups, committed).items():
        found[scale][cycle] = us
    return dict(found)


MESSAGES: Final = {"messages_sent": "messages sent", "messages_received": "messages received"}
"""Columns of ``cycles`` to the names of their resources."""


def messages(part: Measured) -> tuple[Resource, ...]:
    """What clients and server sent each other, where the clients counted it."""
    totals = {name: part.total(column) for column, name in MESSAGES.items()}
    if not any(totals.values()):
        return ()
    committed, seconds = part.total("committed") or nan, part.measured_s or nan
    return tuple(
        Resource(name, "messages", total / committed, total / seconds, "client") for name, total in totals.items()
    )


def _read_resources(evaluation: Evaluation) -> dict[int, tuple[Resource, ...]]:
    load = evaluation.rows.load
    counted = resources(evaluation.rows.monitors, load, evaluation.rows.groups)
    exchanged = {x: messages(part) for x, part in load.items()}
    known = {x: (*counted.get(x, ()), *exchanged.get(x, ())) for x in sorted({*counted, *exchanged})}
    return {x: found for x, found in known.items() if found}


def _makers(part: Measured, cycle: int) -> set[str]:
    """The nodes that made the load of a cycle: a counter that one of them lacks is no counter of all."""
    return {node for node, there in zip(part.nodes, part.present[part.cycles == cycle][0], strict=True) if there}


def _read_evenness(evaluation: Evaluation) -> dict[int, Evenness]:
    """By scale, where all clients are of one group and there are several."""
    rows = evaluation.rows
    if len(set(rows.of_cycles("groups")["group"].to_pylist())) != 1:
        return {}
    found = {
        x: evenness(part.cycles, part["committed"], part.present,
            irregularity(evaluation.of(LatencyResult).frequency.get(x)))
        for x, part in rows.load.items()
    }
    return {x: one for x, one in found.items() if one is not None}


WAKE_UP_US: Final = 46.0
"""CPU time of client and server per rescheduling interrupt, in µs.

Source: selects by a key on PostgreSQL 15 over a unix socket, on a virtual machine with two CPUs (Intel Xeon, Linux
6.18). Over 117 short runs of several clients, in part on a busy machine, CPU time per select was 22 µs + 46 µs for each
rescheduling interrupt (r² = 0.96).

Doubt: one machine, one transaction, and a fit, which does not prove a cause. In a virtual machine such an interrupt
leaves the guest; without one it costs less. A CPU that sleeps is woken by a function call interrupt or by none, which
this figure knows nothing of.
"""
DOMINATES: Final = 0.5
"""Share of the CPU time beyond which more goes into wake-ups, by that figure, than into everything else."""


@dataclass(frozen=True)
class Waking:
    """What rescheduling interrupts may cost at one scale."""

    interrupts: float
    """Per transaction, of the run's own."""
    cpu_us: float
    """CPU time of client and server per transaction."""

    @property
    def share(self) -> float:
        """Of the CPU time (0-1), by ``WAKE_UP_US``."""
        return self.interrupts * WAKE_UP_US / self.cpu_us

    @property
    def words(self) -> str:
        return (
            f"wake-ups may dominate: {self.interrupts:.2f} rescheduling interrupts per transaction woke client and "
            f"server; at {WAKE_UP_US:.0f} µs each (measured with selects on a virtual machine with 2 CPUs) they are "
                f"{self.share:.0%} of the {self.cpu_us:.0f} µs of CPU time of client and server. The rate then "
                "depends on the CPUs on which these run"
        )


def waking(resources: Iterable[Resource]) -> Waking | None:
    """Wake-ups where they dominate; ``None`` where they do not, or client and server do not share a machine that tells.

    Interrupts are counted for the whole machine. A thread of client or server that was woken had waited before, so that
    no more of them are the run's than such threads gave up their CPU: the rest is other programs'. Where they would
    cost more than all the CPU time there was, the figure of the experiment does not fit this machine, and nothing is
    said.
    """
    known = {one.name: one.per_transaction for one in resources}
    of_client, of_server = (known.get(name, float("nan")) for name in (CLIENT_CPU, SERVER_CPU))
    waited = sum(known.get(f"{side} switches, voluntary", float("nan")) for side in ("client", "server"))
    figures = (known.get(RESCHEDULING, float("nan")), of_client, of_server, waited)
    if not all(isfinite(figure) for figure in figures) or of_client + of_server <= 0:
        return None
    found = Waking(min(figures[0], waited), of_client + of_server)
    return found if DOMINATES < found.share <= 1 else None


NO_CALLS: Final = (
    "System calls were not counted: that needs tracefs, and root, CAP_PERFMON or kernel.perf_event_paranoid=-1."
)
_IOWAIT: Final = "CPU waiting for I/O"
_CPU: Final = ("CPU time, user", "CPU time, system", _IOWAIT, "CPU idle", "CPU stolen by the host")
_READ, _WRITTEN = "read from disk", "written to disk"
_NOTE: Final = (
    "Interrupts are those of the whole machine; context switches, CPU migrations and waits are sums over all "
    "threads of client or server. Slowest and fastest client: rate divided by the mean of all, in the worst cycle."
)
_PARTS_NOTE: Final = (
    "From perf, which sampled all CPUs during one more cycle, by the function that a system call or a page fault led "
    "to. Percentages are of the time below system calls and page faults of server and client."
)
_KEYS: Final = tuple(Column(name, left=True) for name in ("resource", "unit", "of"))
_FIRST: Final = {name: at for at, name in enumerate((
    SERVER_CPU, CLIENT_CPU, "disk reads", "disk writes", _READ, _WRITTEN, "flushes", "WAL", "blocks read", SWITCHES,
))}  # fmt: skip
"""Resources with which a table of all begins, and their order."""
Row = tuple[object, ...]


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """What a transaction cost of each resource, the same per second, and the slowest and the fastest client."""
    shown = [(heading, part) for heading, part in each_series(evaluation) if _scales(part)]
    for heading, part in shown:
        yield from [Part(heading, list(_tell_series(part)), folded=True)] if heading else _tell_series(part)
    if shown:
        yield Sentence(_NOTE, "note")
        counted = any(one.name == CALLS for _, part in shown for found in part.of(CostResult).resources.values()
            for one in found)
        if not counted and not any(_seen(part, "calls") for _, part in shown):
            yield Sentence(NO_CALLS, "note")


SIDES: Final = {"server": "server", "run": "client", "others": "others"}
"""Column ``of`` of the table ``kernel`` to how it is shown."""
_LEAST_CALLS: Final = 0.005
"""Of a system call for each transaction: fewer have no row."""
_MOST_FUNCTIONS: Final = 15
_OUTSIDE: Final = ("programs", "interrupts", "tasks of the kernel")
"""Parts that are below no system call."""


@dataclass(frozen=True)
class KernelSeen:
    """What perf saw of one thing at one scale."""

    what: str
    """``calls``, ``part`` or ``function``."""
    name: str
    of: str
    """Server, client or others."""
    per_transaction: float
    """Calls, or µs of CPU time."""


def _read_kernel(evaluation: Evaluation) -> dict[int, tuple[KernelSeen, ...]]:
    """By scale, what there is most of first."""
    found: dict[int, list[KernelSeen]] = defaultdict(list)
    numbers = set(evaluation.rows.cycles["clients"].to_pylist())
    for row in evaluation.rows.tables["kernel"].to_pylist():
        if row["committed"] and row["clients"] in numbers:
            value = row["value"] * (1.0 if row["what"] == "calls" else 1e6) / row["committed"]
            found[row["scale"]].append(KernelSeen(row["what"], row["name"], SIDES.get(row["of"], row["of"]), value))
    return {x: tuple(sorted(seen, key=lambda one: -one.per_transaction)) for x, seen in sorted(found.items())}


def _tell_kernel(part: Evaluation) -> Iterator[Block]:
    if calls := [row for row in _seen(part, "calls") if max(row[2:]) >= _LEAST_CALLS]:
        yield Table("System calls per transaction, by name", _seen_columns(part, "system call", "scale"), calls)
    if parts := _seen(part, "part"):
        below = [sum(column) for column in zip(*(row[2:] for row in parts if _is_below(row)), strict=True)]
        rows = [
            (*row, *(100 * value / all_ if _is_below(row) and all_ else nan
                     for value, all_ in zip(row[2:], below, strict=True)))
            for row in parts
        ]  # fmt: skip
        columns = _seen_columns(part, "part of the kernel", "µs at scale", "% at scale")
        yield Table("CPU time per transaction, by part of the kernel", columns, rows)
        yield Sentence(_PARTS_NOTE, "note")
    if functions := [row for row in _seen(part, "function") if row[1] != "others"]:
        columns = _seen_columns(part, "function", "µs at scale")
        table = Table("CPU time per transaction", columns, functions[:_MOST_FUNCTIONS])
        yield Part("The functions of the kernel with most time", [table], folded=True)


def _is_below(row: Row) -> bool:
    """Whether the time was below a system call or a page fault of server or client."""
    return row[0] not in _OUTSIDE and row[1] != "others"


def _seen(part: Evaluation, what: str) -> list[Any]:
    """Name, side and the value at each scale, what there is most of at the largest scale first."""
    scales = [{(one.name, one.of): one.per_transaction for one in seen if one.what == what}
              for _, seen in sorted(part.of(CostResult).kernel.items(), reverse=True)]  # fmt: skip
    keys = dict.fromkeys(key for values in scales for key in values)
    return [(*key, *(values.get(key, 0.0) for values in reversed(scales))) for key in keys]


def _seen_columns(part: Evaluation, first: str, *heads: str) -> tuple[Column, ...]:
    figures = [Column(f"{head} {scale}") for head in heads for scale in sorted(part.of(CostResult).kernel)]
    return (Column(first, left=True), Column("of", left=True), *figures)


def _tell_series(part: Evaluation) -> Iterator[Block]:
    if lines := describe_waking(part):
        yield Listed(lines)
    columns = (*_KEYS, *(Column(f"scale {scale}") for scale in _scales(part)))
    yield Table("Per transaction", columns, [*_resources(part, "per_transaction"), *_clients(part)])
    if part.of(CostResult).resources:
        yield Table("Per second, of the machine", columns, _limits(part))
        every = Table("Per second", columns, _resources(part, "per_second"))
        yield Part("Every resource per second", [every], folded=True)
    yield from _tell_kernel(part)


def describe_waking(evaluation: Evaluation) -> list[str]:
    """A line for each scale at which wake-ups dominate, where client and server share a machine."""
    if evaluation.of(NodesResult).nodes:
        return []
    found = ((scale, waking(known)) for scale, known in sorted(evaluation.of(CostResult).resources.items()))
    return [f"scale {scale}: {one.words}" for scale, one in found if one is not None]


def _resources(part: Evaluation, field: str) -> list[Row]:
    """One row for each resource; ``field`` is that of ``Resource`` which is shown."""
    known = {x: {(one.name, one.unit, one.scope): getattr(one, field) for one in found}
             for x, found in _known(part).items()}  # fmt: skip
    names = dict.fromkeys(name for found in known.values() for name in found)
    rows = [(*name, *(known.get(x, {}).get(name, nan) for x in _scales(part))) for name in names]
    # What readers ask for first; what nothing was used of last. Otherwise they stand as the monitors have them.
    return sorted(rows, key=lambda row: (not any(row[len(_KEYS):]), _FIRST.get(str(row[0]), len(_FIRST))))


def _clients(part: Evaluation) -> list[Row]:
    """The slowest and the fastest client in the worst cycle of each scale, where the clients do the same."""
    even = [part.of(CostResult).evenness.get(x) for x in _scales(part)]
    if not any(even):
        return []
    unit = ("of the mean rate", "client")
    return [
        ("slowest client", *unit, *(_extreme(one.least if one else None, np.nanmin) for one in even)),
        ("fastest client", *unit, *(_extreme(one.largest if one else None, np.nanmax) for one in even)),
    ]


def _extreme(values: Floats | None, pick: Callable[[Floats], float]) -> float:
    return nan if values is None or np.isnan(values).all() else float(pick(values))


def _limits(part: Evaluation) -> list[Row]:
    """Where a machine is at its limit, in the columns of McDonell (1987), section 3: idle CPUs, system calls, context
    switches, and transfers of the device that had most of them."""
    found = [{one.name: one.per_second for one in _known(part).get(x, [])} for x in _scales(part)]
    return [
        ("CPUs idle", "%", "system", *map(_idle, found)),
        (CALLS, "1/s", "system", *(one.get(CALLS, nan) for one in found)),
        (SWITCHES, "1/s", "system", *(one.get(SWITCHES, nan) for one in found)),
        (f"{TRANSFERS}the busiest device", "1/s", "system", *map(_busiest, found)),
    ]


def _idle(per_s: Mapping[str, float]) -> float:
    """Of all time of all CPUs, what was idle, waiting for storage included; nan where it is not told."""
    every = sum(per_s.get(name, 0.0) for name in _CPU)
    idle = per_s.get("CPU idle", nan) + per_s.get(_IOWAIT, 0.0)
    return 100 * idle / every if every > 0 else nan


def _busiest(per_s: Mapping[str, float]) -> float:
    return max((rate for name, rate in per_s.items() if name.startswith(TRANSFERS)), default=nan)


def _scales(part: Evaluation) -> list[int]:
    return sorted({*_known(part), *part.of(CostResult).evenness})


def _known(part: Evaluation) -> dict[int, list[Resource]]:
    """Resources by scale without those of which no cycle tells anything."""
    known = {x: [one for one in found if not isnan(one.per_second)]
        for x, found in part.of(CostResult).resources.items()}
    return {x: found for x, found in known.items() if found}


Read = Callable[["Evaluation"], dict[int, float]]
Costs = Mapping[str, Resource]
"""What transactions cost at one scale, by the name of the resource."""


def _each_scale(read: Callable[[Costs], float]) -> Read:
    """``read`` at every scale; nan is what it gives where a resource is not known."""
    return lambda part: {x: read({one.name: one for one in found})
        for x, found in part.of(CostResult).resources.items()}


def _sum(field: str, *names: str, times: float = 1.0) -> Read:
    """The resources of these names together, by ``field`` of ``Resource``."""

    def total(costs: Costs) -> float:
        return times * sum(getattr(costs[name], field) if name in costs else nan for name in names)

    return _each_scale(total)


def _cpu_share(*names: str) -> Read:
    """Of all time of all CPUs, in %."""

    def share(costs: Costs) -> float:
        every = sum(costs[name].per_second for name in _CPU if name in costs)
        return 100 * sum(costs[name].per_second if name in costs else nan for name in names) / every if every else nan

    return _each_scale(share)


def _total(name: str) -> Read:
    """GB in all cycles of a scale, of a resource in KB."""
    per_s = _sum("per_second", name, times=1e-6)
    return lambda part: {x: rate * part.rows.load[x].measured_s for x, rate in per_s(part).items()}


def _in_a_cycle(name: str) -> Read:
    """Seconds in a cycle of mean duration, of a resource in µs."""
    per_s = _sum("per_second", name, times=1e-6)

    def read(part: Evaluation) -> dict[int, float]:
        load = part.rows.load
        return {x: rate * load[x].measured_s / load[x].cycles.size for x, rate in per_s(part).items()}

    return read


def _network(field: str, times: float = 1.0) -> Read:
    """Through all interfaces that are known, where the load passes one: what others sent is not its own. What the
    loopback sends it receives as well: it counts once."""

    def total(costs: Costs) -> float:
        known = [getattr(costs[name], field) for name in _INTERFACES if name in costs]
        return times * sum(known) if known else nan

    read = _each_scale(total)
    return lambda part: read(part) if _by_network(part.rows.run) else {}


def _by_network(run: RunRecord) -> bool:
    return bool(run.spec.nodes) or not (run.embedded or run.item("API", "transport") == "Unix socket")


def _hits(read: Callable[[Hits], float]) -> Read:
    """In %."""
    return lambda part: {
        x: 100 * read(hits(part.of(LatencyResult).frequency.get(x), part.of(CostResult).resources.get(x, ())))
        for x in sorted({*part.of(LatencyResult).frequency, *part.of(CostResult).resources})
    }


_INTERFACES: Final = ("network sent", "network received", "loopback sent")


def _machine(name: str, unit: str, about: str, read: Read, *, geometric: bool = False) -> Measure:
    """What a run took of the machine: less is better."""
    return Measure(name, unit, about, read, more=False, geometric=geometric)


MEASURES: Final = (
    Measure("hit-ratio", "%", "share of blocks found in the server's own cache, by its counters",
            _hits(lambda one: one.blocks), geometric=False),
    Measure("hit-ratio-1ms", "%", "share of transactions that took less than 1 ms", _hits(lambda one: one.usual),
            geometric=False),
    Measure("hit-ratio-valley", "%", "share of transactions on the fast side of two modes of the latencies",
            _hits(lambda one: one.found), geometric=False),
    _machine("cpu", "%", "share of the machine's CPUs in use, user and system",
             _cpu_share("CPU time, user", "CPU time, system")),
    _machine("iowait", "%", "share of the machine's CPU time that waited for I/O", _cpu_share(_IOWAIT)),
    _machine("iowait-time", "s", "CPU time of the machine that waited for I/O in a cycle", _in_a_cycle(_IOWAIT)),
    _machine("iowait-per-transaction", "ms", "CPU time of the machine that waited for I/O, for each transaction",
             _sum("per_transaction", _IOWAIT, times=1e-3)),
    _machine("cpu-per-transaction", "µs", "CPU time of the machine for each transaction",
             _sum("per_transaction", "CPU time, user", "CPU time, system"), geometric=True),
    _machine("server-cpu", "µs", "CPU time of the server for each transaction", _sum("per_transaction", SERVER_CPU),
             geometric=True),
    _machine("client-cpu", "µs", "CPU time of the clients for each transaction", _sum("per_transaction", CLIENT_CPU),
             geometric=True),
    _machine("switches", "", "context switches of the machine for each transaction", _sum("per_transaction", SWITCHES),
             geometric=True),
    _machine("kb-per-transaction", "KB", "KB read from the disk and written to it for each transaction",
             _sum("per_transaction", _READ, _WRITTEN)),
    _machine("kb-read", "KB", "KB read from the disk for each transaction", _sum("per_transaction", _READ)),
    _machine("kb-written", "KB", "KB written to the disk for each transaction", _sum("per_transaction", _WRITTEN)),
    _machine("mb-read", "MB/s", "MB read from the disk per second", _sum("per_second", _READ, times=1e-3)),
    _machine("mb-written", "MB/s", "MB written to the disk per second", _sum("per_second", _WRITTEN, times=1e-3)),
    _machine("gb-read", "GB", "GB read from the disk in all cycles", _total(_READ)),
    _machine("gb-written", "GB", "GB written to the disk in all cycles", _total(_WRITTEN)),
    _machine("read-time", "s", "time of reads from the disk in a cycle, added up where several wait at once",
             _in_a_cycle("disk read time")),
    _machine("write-time", "s", "time of writes to the disk in a cycle, added up where several wait at once",
             _in_a_cycle("disk write time")),
    _machine("net-per-transaction", "bytes", "bytes through network and loopback for each transaction",
             _network("per_transaction")),
    _machine("messages", "", "sends and receives between clients and server for each transaction",
             _sum("per_transaction", *MESSAGES.values()), geometric=True),
    _machine("net", "MB/s", "MB through network and loopback per second", _network("per_second", 1e-6)),
)  # fmt: skip
"""Of all clients together, as the counters do not tell who caused what."""


class CostResult(Result):
    resources = computed(_read_resources)
    server_cpu = computed(_read_server_cpu)
    """Scale to cycle to the server's CPU time per transaction in µs; without those that do not tell."""
    evenness = computed(_read_evenness)
    """By scale: the slowest and the fastest client; empty with one client, or groups that do not do the same."""
    kernel = computed(_read_kernel)
    """By scale: system calls by name, and where the kernel spent its time; empty without --perf."""


SUBJECT: Final = Subject(
    "cost", "Cost of a transaction", CostResult, tell=_tell,
    nothing="No monitor gave samples, and there is one client or several groups of them.",
    measures=MEASURES,
)  # fmt: skip
