"""Tables of a study by level and scale, as the paper has them (tables 4, 6, 9, 10 and 12 to 19)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite, nan
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.format import NONE, finite, format_number
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.draw.curves import agreed
from dsbench.read.subjects import measures
from dsbench.read.subjects.rate import GROWN
from dsbench.stats.comparison import dsi_of_blocks
from dsbench.stats.index import Fall
from dsbench.stats.precision import LEVEL
from dsbench.stats.values import Interval
from dsbench.study.results import Made, Outcomes, Point, mean
from dsbench.study.slices import Slice, by_work


def combine_indices(found: Outcomes, alike: Sequence[Made], clients: int) -> Interval | None:
    """The DSI of some trials together: over the blocks, or where there is one over the cycles of its trials."""
    blocks: dict[int, dict[tuple[int, ...], Interval]] = {}
    for one in alike:
        part = found.part(one)
        ladder = part.ladders.get(clients) if part else None
        if ladder and ladder.dsi:
            blocks.setdefault(one.trial.block, {})[one.at] = ladder.dsi
    tried = {at for block in blocks.values() for at in block}
    # A block without one of the combinations would have another mean.
    return dsi_of_blocks([list(block.values()) for block in blocks.values() if set(block) == tried])


def tell_index(index: Interval | None) -> str:
    """``DSI 6.52 (6.45 to 6.58)``; empty without one."""
    if index is None:
        return ""
    return f"DSI {index.value:.2f}" + (f" ({index.low:.2f} to {index.high:.2f})" if isfinite(index.low) else "")


@dataclass(frozen=True)
class Row:
    """What the trials of one level found together, within one workload and at one number of clients."""

    part: Slice
    factor: int
    level: int
    clients: int
    """0 where each run has one number only."""
    alike: tuple[Made, ...]

    def mean(self, measure: str, scale: int) -> float:
        """Over its trials, as the measure wants it; nan where none knows it."""
        values = [one.measured.get(measure, {}).get(Point(self.clients, scale), nan) for one in self.alike]
        found = self.part.found
        return replace(found, how=measures()[measure]).mean(values) if measure else found.mean(
            one.values.get(Point(self.clients, scale), nan) for one in self.alike)  # fmt: skip

    @property
    def scales(self) -> list[int]:
        return sorted({point.scale for one in self.alike for known in (one.values, one.measured.get("size", {}))
                       for point in known if point.clients == self.clients} - {0})  # fmt: skip

    @property
    def index(self) -> Interval | None:
        return combine_indices(self.part.found, self.alike, self.clients)

    @property
    def falls(self) -> list[tuple[Fall, Made]]:
        """Of each trial that has a cut-off."""
        parts = [(self.part.found.part(one), one) for one in self.alike]
        ladders = [(part.ladders.get(self.clients), one) for part, one in parts if part]
        return [(ladder.fall, one) for ladder, one in ladders if ladder and ladder.fall]

    @property
    def cutoff(self) -> tuple[int, int, float, float] | None:
        """The scales between which the rate of its trials falls most, from the lowest to the highest, and the sizes of
        the database there in GB."""
        if not self.falls:
            return None
        low, high = min(fall.low for fall, _ in self.falls), max(fall.high for fall, _ in self.falls)
        return low, high, self.mean("size", low), self.mean("size", high)

    @property
    def unread(self) -> int | None:
        """Up to which scale it read next to nothing from the disk; ``None`` where it did from the first on."""
        last = None
        for scale in self.scales:
            if not self.mean("mb-read", scale) < _NOTHING_MB:
                return last
            last = scale
        return last

    @property
    def words(self) -> list[str]:
        """Its first cells."""
        found = self.part.found
        mark = " (reference)" * (self.level == found.references[self.factor])
        name = found.levels[self.factor][self.level].name + mark
        work = [found.levels[n][at].name for n, at in self.part.levels.items()]
        return [*work, found.factors[self.factor], name, *[str(self.clients)] * (self.clients > 0)]


_NOTHING_MB: Final = 0.1
"""MB/s below which a run read nothing worth a word."""
_TAKEN: Final = {
    "cpu": Column("CPU", "%"), "iowait": Column("I/O wait", "%"), "iowait-time": Column("I/O wait", "s/cycle"),
    "iowait-per-transaction": Column("I/O wait", "ms/transaction"), "mb-read": Column("read", "MB/s"),
    "mb-written": Column("written", "MB/s"), "gb-written": Column("written", "GB in all"),
    "read-time": Column("reads", "s/cycle"), "write-time": Column("writes", "s/cycle"),
    "kb-per-transaction": Column("read and written", "KB/transaction"),
    "kb-written": Column("written", "KB/transaction"), "net": Column("network", "MB/s"),
    "net-per-transaction": Column("network", "bytes/transaction"),
    "messages": Column("messages", "1/transaction"),
}  # fmt: skip
"""What stands beside the rate by level and scale, of what a run knows."""
_MADE: Final = {"populate": "populate", "primary-keys": "primary keys", "foreign-keys": "foreign keys"}
"""Measures of what makes a database, and what they are called."""
_MINUTES_FROM_S: Final = 120.0


def list_rows(found: Outcomes) -> list[Row]:
    """A row for each level of each factor, by workload."""
    return [
        Row(part, factor, level, 0, tuple(alike))
        for factor in range(len(found.factors)) for part in by_work(found, (factor,))
        for level, alike in enumerate(part.found.alike(factor))
    ]  # fmt: skip


def _by_clients(rows: Sequence[Row]) -> list[Row]:
    """The same by number of clients, where trials were made."""
    return [replace(row, clients=n) for row in rows for n in
            sorted({point.clients for one in row.alike for point in one.values})]  # fmt: skip


def tabulate_levels(found: Outcomes, *, brief: bool) -> Iterator[Block]:
    """All tables; ``brief``: with the smallest and the largest scale only."""
    rows = _by_clients(list_rows(found))
    if not rows:
        return
    yield from _tabulate_ladders(rows)
    yield from _tabulate_taken(rows, brief)
    yield from _tabulate_making(rows, brief)
    yield from _tabulate_tools(rows)


def key_columns(rows: Sequence[Row]) -> tuple[list[Column], list[list[str]]]:
    """The first columns of a table of ``rows``, and the cells of each; empty where a row is within no workload."""
    work = dict.fromkeys(row.part.found.factors[n] for row in rows for n in row.part.levels)
    names = [*work, "factor", "level", *["clients"] * any(row.clients for row in rows)]
    cells = [[*[""] * (len(names) - len(row.words)), *row.words] for row in rows]
    return [Column(name, left=True) for name in names], cells


def _table(title: str, rows: Sequence[Row], heads: Sequence[Column], cells: Sequence[Sequence[Any]]) -> Table:
    """Without columns of which no row knows anything."""
    keys, lines = key_columns(rows)
    known = [at for at in range(len(heads)) if any(_tells(line[at]) for line in cells)]
    shown = [[*key, *(line[at] for at in known)] for key, line in zip(lines, cells, strict=True)]
    return Table(title, [*keys, *(heads[at] for at in known)], shown)


def _tells(cell: Any) -> bool:
    return cell not in ("", NONE, None) and not (isinstance(cell, float) and not isfinite(cell))


def _tabulate_ladders(rows: Sequence[Row]) -> Iterator[Block]:
    if not any(row.index for row in rows):
        return
    names = dict.fromkeys(name for row in rows for one in row.alike for name in one.marks)
    heads = [Column("DSI", form=".2f"), Column(f"{LEVEL:.0%} from", form=".2f"), Column("to", form=".2f"),
             Column("trials"), Column("cut-off: scales"), Column("cut-off", "GB"), Column("in trials"),
             Column("reads nothing up to scale"), *(Column(name, "GB", 1e-9) for name in names)]  # fmt: skip
    cells = []
    for row in rows:
        index, cut = row.index, row.cutoff
        ends = [index.value, index.low, index.high] if index else [nan, nan, nan]
        falls: list[Any] = [NONE, NONE, None]
        if cut:
            falls = [f"{cut[0]}–{cut[1]}", "–".join(map(format_number, cut[2:])), len(row.falls)]
        marks = agreed([one.marks for one in row.alike])
        known = sum(isfinite(one.dsi) for one in row.alike)
        cells.append([*ends, known, *falls, row.unread, *(marks.get(name, nan) for name in names)])
    yield _table("DSI and cut-off by level", rows, heads, cells)
    yield Sentence(_OF_INDEX, "note")


_OF_INDEX: Final = (
    "DSI: mean of the trials, with an interval over the blocks, or for one block over the cycles. Cut-off: the "
    "scales between which the rate of a trial falls most, at least by half."
)


def _some(scales: Sequence[int], brief: bool) -> list[int]:
    return [*dict.fromkeys((scales[0], scales[-1]))] if brief and scales else list(scales)


def _tabulate_taken(rows: Sequence[Row], brief: bool) -> Iterator[Block]:
    """The rate, and what it took of the machine (tables 7, 8 and 12 to 18)."""
    found, units = rows[0].part.found, {row.part.found.unit for row in rows}
    heads = [Column("scale"), Column(found.how.label, found.unit if len(units) == 1 else "", digits=4),
             *_TAKEN.values()]  # fmt: skip
    lines = [(row, [scale, row.mean("", scale), *(row.mean(name, scale) for name in _TAKEN)])
             for row in rows for scale in _some(row.scales, brief)]  # fmt: skip
    if lines:
        title = "rate and resources by level and scale"
        title += " (smallest and largest)" * (brief and any(len(row.scales) > 2 for row in rows))
        yield _table(title, [row for row, _ in lines], heads, [cells for _, cells in lines])


def _tabulate_making(rows: Sequence[Row], brief: bool) -> Iterator[Block]:
    """Times of population and keys, each with its share of their sum (table 6)."""
    lines = []
    for row in rows:
        for scale in _some(row.scales, brief)[-1 if brief else 0 :]:
            times = [row.mean(name, scale) for name in _MADE]
            whole = sum(time for time in times if isfinite(time))
            if whole > 0:
                lines.append((row, [scale, *(cell for time in times for cell in (time, time / whole)), whole]))
    if not lines:
        return
    minutes = max(cells[-1] for _, cells in lines) >= _MINUTES_FROM_S
    unit, times_ = ("min", 1 / 60) if minutes else ("s", 1.0)
    each = [(Column(words, unit, times_), Column(f"{words}, of all", form=".0%")) for words in _MADE.values()]
    heads = [Column("scale"), *(head for both in each for head in both), Column("together", unit, times_)]
    largest = brief and any(len(row.scales) > 1 for row in rows)
    title = "loading the database, by level and scale" + " (largest)" * largest
    yield _table(title, [row for row, _ in lines], heads, [cells for _, cells in lines])
    parts = [row.part.found.part(one) for row in rows for one in row.alike]
    if any(part.grown for part in parts if part):
        yield Sentence(GROWN, "note")


def _tabulate_tools(rows: Sequence[Row]) -> Iterator[Block]:
    """What storage tools found beside the data (tables 4 and 19)."""
    parts = [row.part.found.part(one) for row in rows for one in row.alike]
    units = {name: unit for part in parts if part for name, unit in part.probe_units.items()}
    if units:
        cells = [[mean(one.probes.get(name, nan) for one in row.alike) for name in units] for row in rows]
        heads = [Column(name, unit, digits=4) for name, unit in units.items()]
        yield _table("disk benchmarks by level: geometric means over the trials, largest scale", rows, heads, cells)


def describe_levels(found: Outcomes) -> list[dict[str, Any]]:
    """The same as JSON values; ``null`` for what is not known."""
    return [_describe(row) for row in _by_clients(list_rows(found))]


def _describe(row: Row) -> dict[str, Any]:
    found, index, cut = row.part.found, row.index, row.cutoff
    return {
        "factor": found.factors[row.factor],
        "level": found.levels[row.factor][row.level].name,
        "at": {found.factors[n]: found.levels[n][level].name for n, level in row.part.levels.items()},
        "clients": row.clients or None,
        "trials": [one.trial.number for one in row.alike],
        "dsi": {name: finite(getattr(index, name)) for name in ("value", "low", "high", "level")} if index else None,
        "cutoff": {"scales": cut[:2], "size_gb": [finite(size) for size in cut[2:]]} if cut else None,
        "scales": {str(scale): {found.measure: finite(row.mean("", scale)), **{
            name: finite(row.mean(name, scale)) for name in (*_TAKEN, *_MADE, "size")}} for scale in row.scales},
        "probes": {name: finite(mean(one.probes.get(name, nan) for one in row.alike))
                   for name in dict.fromkeys(name for one in row.alike for name in one.probes)},
    }  # fmt: skip
