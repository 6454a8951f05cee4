"""The rows of an archive, read once: those of the whole run, and those of each series of cycles.

A cycle counts when its row in ``cycles`` was written; what other tables hold of a cycle that was cut
short is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import LOCAL, TABLES, Archive, RunRecord
from dsbench.dataclass import dataclass
from dsbench.read.groups import (
    Makers,
    Series,
    makers_of,
    of_cycles,
    series_of,
    texts,
    whole,
    with_all_responses,
    with_class,
)
from dsbench.read.measured import Measured, measured
from dsbench.spec.objective import GRADES

Tables = Mapping[str, pa.Table]

SHARED: Final = "nodes"
"""Name under which the network of all nodes together is counted beside that of the system under test."""
_OF_SCALES: Final = ("phases", "statistics", "probes")
"""Tables whose rows concern all stages of a scale: what is timed or read around the cycles."""


@dataclass(frozen=True)
class RunRows:
    """The tables of an archive."""

    name: str
    run: RunRecord
    tables: Tables

    @classmethod
    def of(cls, archive: Archive) -> RunRows:
        """Reads ``archive``; also one that was cut short or still grows."""
        return cls(archive.name, archive.run, {name: archive.table(name) for name in TABLES})

    @cached_property
    def keys(self) -> tuple[Series, ...]:
        """The series of the run in their order."""
        return series_of(self.tables["cycles"], self.run.spec)

    @cached_property
    def monitors(self) -> pa.Table:
        """The table ``monitors`` without what was not of the system under test."""
        return of_tested_system(self.tables["monitors"], self.run)

    def of_series(self, key: Series) -> SeriesRows:
        """The rows of one series."""
        if self.run.spec.graduated and (graded := self.of_level(GRADES[0], key)).cycles.num_rows:
            return graded
        if self.run.spec.searches:
            return SeriesRows(self, self.run.of_stage(key.stage), self._last_rates(), key)
        return self.of_every_cycle(key)

    def of_every_cycle(self, key: Series) -> SeriesRows:
        """The same, of a search for a rate with the cycles at every rate."""
        here = pc.field("stage") == key.stage
        tables = {name: rows if name in _OF_SCALES else rows.filter(here) for name, rows in self.tables.items()}
        if len(self.keys) == 1:
            return SeriesRows(self, self.run.of_stage(key.stage), tables, key)
        tables["cycles"] = tables["cycles"].filter(pc.field("clients") == key.clients)
        return SeriesRows(self, self.run.at(key.clients).of_stage(key.stage), tables, key)

    def of_level(self, level: float, key: Series) -> SeriesRows:
        """The rows of one level of a graduated load."""
        levels = {(row["scale"], row["cycle"]): row["level"] for row in self.tables["groups"].to_pylist()}
        chosen = {cycle for cycle, found in levels.items() if found == level}
        return SeriesRows(self, self.run.of_stage(key.stage), self._of_cycles(chosen), key)

    def _last_rates(self) -> Tables:
        """Of a search for a rate, the cycles at the last one of each scale: they repeat each other."""
        groups = of_cycles(self.tables["groups"], self.tables["cycles"])
        rates = {(row["scale"], row["cycle"]): row["rate_per_s"] for row in groups.to_pylist()}
        last = {scale: rate for (scale, _), rate in sorted(rates.items())}
        return self._of_cycles({cycle for cycle, rate in rates.items() if rate == last[cycle[0]]})

    def _of_cycles(self, chosen: Collection[tuple[int, int]]) -> Tables:
        """The tables by which others are filtered, with the ``chosen`` cycles alone: scale and number."""

        def filtered(name: str) -> pa.Table:
            table = self.tables[name]
            keys = zip(whole(table, "scale").tolist(), whole(table, "cycle").tolist(), strict=True)
            return table.filter(pa.array([key in chosen for key in keys], pa.bool_()))

        return {**self.tables, "groups": filtered("groups"), "cycles": filtered("cycles")}


@dataclass(frozen=True)
class SeriesRows:
    """The rows of one series of cycles, and what most subjects begin with."""

    whole: RunRows
    run: RunRecord
    """As if the run had this series only."""
    tables: Tables
    key: Series
    group: str = ""
    """The only group of clients whose rows these are; empty for all of them."""

    def of_group(self, group: str) -> SeriesRows:
        """The rows of one group of clients. What concerns no group, such as counters of the machine, stays."""
        here = pc.field("group") == group
        tables = {name: one.filter(here) if "group" in one.column_names else one for name, one in self.tables.items()}
        return SeriesRows(self.whole, self.run, tables, self.key, group)

    def of_cycles(self, table: str) -> pa.Table:
        """Of ``table``, the rows of finished cycles."""
        return of_cycles(self.tables[table], self.cycles)

    @property
    def cycles(self) -> pa.Table:
        return self.tables["cycles"]

    @property
    def groups(self) -> pa.Table:
        return self.tables["groups"]

    @cached_property
    def load(self) -> Mapping[int, Measured]:
        """Scale to its cycles as arrays."""
        return measured(self.cycles, self.groups)

    @cached_property
    def finished(self) -> frozenset[tuple[int, int]]:
        """Scale and number of each cycle."""
        return frozenset(zip(whole(self.cycles, "scale").tolist(), whole(self.cycles, "cycle").tolist(), strict=True))

    @cached_property
    def buckets(self) -> pa.Table:
        """The table ``buckets``, with response times of all groups where one has them."""
        return with_all_responses(self.of_cycles("buckets"))

    @cached_property
    def failed(self) -> pa.Table:
        """The table ``errors`` with the column ``class``."""
        return with_class(self.of_cycles("errors"))

    @cached_property
    def makers(self) -> Makers:
        return makers_of(self.groups, self.cycles, max(self.run.spec.nodes, 1))

    @cached_property
    def monitors(self) -> pa.Table:
        """What the monitors of the system under test counted."""
        return of_tested_system(self.of_cycles("monitors"), self.run)


def divide_networks(monitors: pa.Table, run: RunRecord) -> pa.Table:
    """``monitors`` with the bytes of interfaces that several nodes have in common in even parts for those that took
    part in a cycle: each of them counts all that goes through its machine."""
    networks = {node.name: node.network for node in run.nodes if node.network}
    several = {name for name, of in networks.items() if list(networks.values()).count(of) > 1}
    if not several:
        return monitors
    names, kinds = (np.array(texts(monitors, column)) for column in ("node", "monitor"))
    chosen = np.flatnonzero(np.isin(names, sorted(several)) & (kinds == "network"))
    scale, cycle = (whole(monitors, column)[chosen].tolist() for column in ("scale", "cycle"))
    rows = [(x, at, networks[node], node) for x, at, node in zip(scale, cycle, names[chosen].tolist(), strict=True)]
    sharing: dict[tuple[int, int, str], set[str]] = defaultdict(set)
    for x, at, network, node in rows:
        sharing[x, at, network].add(node)
    values = monitors["value"].to_numpy().copy()
    values[chosen] /= [len(sharing[x, at, network]) for x, at, network, _ in rows]
    return monitors.set_column(monitors.column_names.index("value"), "value", pa.array(values, pa.float64()))


def of_tested_system(monitors: pa.Table, run: RunRecord) -> pa.Table:
    """The rows of ``monitors`` that tell what a transaction cost, whoever paid.

    With remote nodes the system under test is the machine of dsbench run. Its own CPU as a client is only that of
    the coordinator and is left out, as are the CPUs of the nodes; the clients' CPU time and network are the nodes'.
    """
    if not run.spec.nodes:
        return monitors
    monitors = divide_networks(monitors, run)
    here, monitor = pc.field("node") == LOCAL, pc.field("monitor")
    of_clients = monitor.isin(["client", "client_tasks", "client_threads", "round_trip"])
    kept = monitors.filter((here & ~of_clients) | (~here & (of_clients | (monitor == "network"))))
    pairs = zip(texts(kept, "node"), texts(kept, "monitor"), strict=True)
    renamed = [SHARED if name == "network" and node != LOCAL else name for node, name in pairs]
    return kept.set_column(kept.column_names.index("monitor"), "monitor", pa.array(renamed, pa.string()))
