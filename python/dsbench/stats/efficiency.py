"""What a stage reached and what that took of the machine: the columns of the Insert Benchmark's reports.

The columns, their names and their units are those of M. Callaghan's public reports, so that figures can be laid beside
them; docs/insert.md explains each. What was not measured is ``nan``, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from statistics import median
from typing import Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.histogram import Histogram
from dsbench.stats.values import Floats

KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
"""Bytes, as ``iostat`` and ``du`` count them in those reports."""
SUSTAINED: Final = 0.95
"""Least share of the target rate that the work in the background has to reach: the rule of the Insert Benchmark."""
BORDERS_NS: Final = tuple(round(s * 1e9) for s in (256e-6, 1e-3, 4e-3, 16e-3, 64e-3, 256e-3, 1.0, 4.0, 16.0))
"""Upper ends of the published buckets of response times; behind the last one is one more."""
BORDERS: Final = ("256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt")
"""Their published names."""
_NAN: Final = math.nan
_NO_RATES: Final[Floats] = np.empty(0)


@dataclass(frozen=True)
class Spent:
    """What the cycles of one stage at one scale did and took, in total. ``nan``: not known."""

    duration_s: float
    """How long they lasted."""
    operations: float
    """Of the group whose rate is measured: rows that it inserted or deleted, else transactions."""
    inserts: bool = False
    """Whether that group inserts."""
    inserted: float = _NAN
    """Rows that all groups inserted, or indexed; nan in a stage without."""
    device_s: float = _NAN
    """How long the device was watched; it may be longer than the cycles by a moment."""
    reads: float = _NAN
    read_bytes: float = _NAN
    writes: float = _NAN
    write_bytes: float = _NAN
    """Operations and bytes of the block device that holds the data, by whomever."""
    host_s: float = _NAN
    """How long the operating system was watched."""
    switches: float = _NAN
    """Context switches of the whole machine."""
    cpu_s: float = _NAN
    """User and system time of all its CPUs."""
    cpus_s: float = _NAN
    """All time of its CPUs, idle or not."""
    database_bytes: float = _NAN
    """The database with its indexes, at the end."""
    directory_bytes: float = _NAN
    """The whole data directory, with its logs."""
    resident_bytes: float = _NAN
    """Memory that the server's processes hold."""
    longest_ns: float = _NAN
    """The maximum response time of an operation, in flight at the end of a cycle or not."""
    rates: Floats = field(default_factory=lambda: _NO_RATES)
    """Operations in each whole second."""
    written_bytes: float = _NAN
    """User data in the rows that were inserted."""
    live_bytes: float = _NAN
    """User data in the rows that are there at the end."""

    @property
    def written(self) -> float:
        """What writes are divided by: the rows inserted, or the operations of a stage that inserts none."""
        return self.operations if math.isnan(self.inserted) else self.inserted


@dataclass(frozen=True)
class EfficiencyColumn:
    """One column of the table, and how it is computed."""

    name: str
    unit: str
    sentence: str
    of: Callable[[Spent], float]


COLUMNS: Final = (
    EfficiencyColumn("ips", "rows/s", "rows inserted, or indexed, per second", lambda s: per(s.inserted, s.duration_s)),
    EfficiencyColumn(
        "qps", "1/s", "queries or transactions per second, if the measured clients insert no rows",
        lambda s: _NAN if s.inserts else per(s.operations, s.duration_s),
    ),
    EfficiencyColumn("rps", "1/s", "reads of the device per second", lambda s: per(s.reads, s.device_s)),
    EfficiencyColumn(
        "rmbps", "MiB/s", "read from the device per second", lambda s: per(s.read_bytes / MIB, s.device_s)
    ),
    EfficiencyColumn("wps", "1/s", "writes of the device per second", lambda s: per(s.writes, s.device_s)),
    EfficiencyColumn(
        "wmbps", "MiB/s", "written to the device per second", lambda s: per(s.write_bytes / MIB, s.device_s)
    ),
    EfficiencyColumn("rpq", "reads", "reads of the device per operation", lambda s: per(s.reads, s.operations)),
    EfficiencyColumn(
        "rkbpq", "KiB", "read from the device per operation", lambda s: per(s.read_bytes / KIB, s.operations)
    ),
    EfficiencyColumn(
        "wpi", "writes", "writes of the device per row inserted, or per operation without inserts",
        lambda s: per(s.writes, s.written),
    ),
    EfficiencyColumn(
        "wkbpi", "KiB", "written to the device per row inserted, or per operation without inserts",
        lambda s: per(s.write_bytes / KIB, s.written),
    ),
    EfficiencyColumn("csps", "1/s", "context switches of the machine per second", lambda s: per(s.switches, s.host_s)),
    EfficiencyColumn("cpups", "%", "share of all CPUs in use, user and system", lambda s: 100 * per(s.cpu_s, s.cpus_s)),
    EfficiencyColumn("cspq", "switches", "context switches per operation", lambda s: per(s.switches, s.operations)),
    EfficiencyColumn(
        "cpupq", "µs", "CPU time of the machine per operation", lambda s: 1e6 * per(s.cpu_s, s.operations)
    ),
    EfficiencyColumn("dbgb1", "GiB", "the database with its indexes, at the end", lambda s: s.database_bytes / GIB),
    EfficiencyColumn("dbgb2", "GiB", "the whole data directory, logs included", lambda s: s.directory_bytes / GIB),
    EfficiencyColumn("rss", "GiB", "memory that the server holds", lambda s: s.resident_bytes / GIB),
    EfficiencyColumn("maxop", "s", "maximum response time of an operation", lambda s: s.longest_ns / 1e9),
    EfficiencyColumn("p50", "1/s", "rate reached in half of the seconds", lambda s: reached(s.rates, 0.50)),
    EfficiencyColumn("p99", "1/s", "rate reached in 99% of the seconds", lambda s: reached(s.rates, 0.99)),
    EfficiencyColumn(
        "read_amp", "", "read amplification: bytes read from the device per byte of user data inserted",
        lambda s: per(s.read_bytes, s.written_bytes),
    ),
    EfficiencyColumn(
        "write_amp", "", "write amplification: bytes written to the device per byte of user data inserted",
        lambda s: per(s.write_bytes, s.written_bytes),
    ),
    EfficiencyColumn(
        "space_amp", "", "space amplification: bytes of the database per byte of live user data",
        lambda s: per(s.database_bytes, s.live_bytes),
    ),
)  # fmt: skip
"""All columns but ``tag``, in the order of the reports; behind them the amplifications, which those do not have."""


@dataclass(frozen=True)
class Background:
    """Clients that work at a rate beside those that are measured."""

    group: str
    counted: str
    """``rows`` or ``transactions``."""
    target_per_s: float
    """Of all its clients."""
    sustained_per_s: float
    inserts: bool = True
    """Whether it inserts: the rule is about inserts."""

    @property
    def share(self) -> float:
        """Of the target that was sustained."""
        return per(self.sustained_per_s, self.target_per_s)

    @property
    def met(self) -> bool:
        """Whether the share is 95% at least."""
        return self.share >= SUSTAINED


@dataclass(frozen=True)
class Times:
    """The response times of a group in the published buckets."""

    counts: tuple[int, ...]
    """As many as there are ``BORDERS``."""
    max_ns: int
    """The longest, in flight at the end of a cycle or not."""
    unsure: int
    """Of these counts: they lie in buckets of the archive, at most 0.1% wide, that hold a border within them."""


@dataclass(frozen=True)
class Efficiency:
    """One stage at one scale."""

    measured: str
    """The group whose operations count; empty for statements that are timed."""
    counted: str
    """What its operations are: ``rows`` or ``transactions``."""
    values: Mapping[str, float]
    """Column to value, in the order of ``COLUMNS``; nan where it is not known."""
    background: tuple[Background, ...] = ()
    times: Mapping[str, Times] = field(default_factory=dict)
    """Group to its response times, from the intended starts where there are."""
    deletes_per_s: float = _NAN
    """Rows that all groups deleted; nan in a stage without."""
    cycles: tuple[float, ...] = ()
    """``rate`` of each cycle; empty of statements that are timed."""

    @property
    def rate(self) -> float:
        """Operations per second of the measured clients."""
        queries = self.values["qps"]
        return self.values["ips"] if math.isnan(queries) else queries

    @property
    def median_rate(self) -> float:
        """Its median over the cycles."""
        return median(self.cycles) if self.cycles else self.rate

    @property
    def ruled(self) -> tuple[Background, ...]:
        """Those of the background to which the rule applies: its inserts, or all where none inserts."""
        return tuple(one for one in self.background if one.inserts) or self.background

    @property
    def sustained(self) -> bool | None:
        """Whether they kept their rate; ``None`` in a stage without."""
        return all(one.met for one in self.ruled) if self.background else None


def values(spent: Spent) -> dict[str, float]:
    """All columns of one stage."""
    return {column.name: float(column.of(spent)) for column in COLUMNS}


def per(what: float, of: float) -> float:
    """``what / of``; nan where either is not known or there is nothing to divide by."""
    return what / of if of > 0 else _NAN


def reached(rates: Floats, share: float) -> float:
    """The highest rate that at least ``share`` (0-1) of the seconds reach; nan without a second."""
    falling = np.sort(rates)[::-1]
    return float(falling[max(math.ceil(share * falling.size - 1e-9), 1) - 1]) if falling.size else _NAN


def in_buckets(found: Histogram) -> Times:
    """``found`` in the published buckets. A bucket of the archive that holds a border goes where its middle lies."""
    middle = (found.low_ns + found.high_ns) / 2
    at = np.searchsorted(np.array(BORDERS_NS), middle, side="left")
    counts = np.bincount(at, found.counts, len(BORDERS))
    split = np.searchsorted(BORDERS_NS, found.low_ns, side="left") < np.searchsorted(BORDERS_NS, found.high_ns)
    return Times(tuple(int(n) for n in counts), found.max_ns, int(found.counts[split].sum()))
