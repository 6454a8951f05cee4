"""Whether the rows of an archive can be those of one run: every count is held against the others that it follows from.

A run counts the same thing in several places: transactions by thread, in the histogram and in the course; times by
their sums and by their buckets; what the database kept by the clients and by the check. Whoever changes a figure
afterwards has to change all of them, and none of these rules needs the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive import Archive, ArchiveError
from dsbench.archive.asked import Asked
from dsbench.archive.columns import LOCAL
from dsbench.read.rows import RunRows
from dsbench.read.stats.capacity import Judged, Step, lowest, next_step
from dsbench.read.subjects.load import Tried, read_loads, search_of
from dsbench.spec.run import GRADES, TURN_RAMP_UP_S, turn_s
from dsbench.workloads import find, names

Key = tuple[Any, ...]

_CYCLE: Final = ("scale", "stage", "cycle")
_KIND: Final = (*_CYCLE, "node", "threads", "group", "kind")
_LATE_NS: Final = 1_000_000
"""What a clock that is read twice may be off, in nanoseconds."""
_FASTER: Final = 2.0
"""How many times its calibrated ceiling a client may seem to reach: a ceiling is measured for half a second."""
_ENOUGH: Final = 100
"""Transactions from which on their number says something."""
_SEEN: Final = 0.75
"""Share of the transactions of a cycle that the server has counted at least when the cycle ends."""
_HALF: Final = 0.55
"""The same of three cycles, of which the last may not be counted yet."""
_BUSY: Final = 0.6
"""Share of its time that a client in the closed loop spends in transactions at least; it was never less than 0.85."""
_SMALL: Final = 2**23
"""Bytes of a database that may be anything but its rows."""
_EMPTY: Final = 2**25
"""Bytes that the files of a product may have without a row: InnoDB makes them before they are needed."""
_LESS: Final = 0.6
"""Share of a size that the same rows have at least, however they were loaded."""
_FEW: Final = 24
"""Counts of which one is odd in any run, and not all can be divided by three."""
_UNEVEN: Final = 3.0
"""How many times the rate of a trial its ramp-up may have had."""
_GRADED: Final = 2e-3
"""What rates that are rounded to four digits are off, relatively."""
_SIGMAS: Final = 8
"""Standard deviations by which no count of a Poisson process lies off."""
_MOST: Final = 2**53
"""Nobody counts so far, and doubles count no further."""


@dataclass(frozen=True)
class Contradiction:
    """Two parts of an archive that cannot both be true."""

    rule: str
    sentence: str


class Rows:
    """An archive's rows, added up as the rules need them."""

    def __init__(self, archive: Archive) -> None:
        self.archive, self.run = archive, archive.run
        self.rows = RunRows.of(archive)
        self.tables = self.rows.tables

    def add_up(self, table: str, keys: tuple[str, ...], *columns: str, of: Any = None) -> dict[Key, tuple[int, ...]]:
        """The sums of whole columns of ``table`` by ``keys``; ``of`` chooses its rows."""
        rows = self.tables[table] if of is None else self.tables[table].filter(of)
        if not rows.num_rows:
            return {}
        summed = rows.group_by(list(keys)).aggregate([(column, "sum") for column in columns])
        values = zip(*(summed[f"{column}_sum"].to_pylist() for column in columns), strict=True)
        names = zip(*(summed[key].to_pylist() for key in keys), strict=True)
        return dict(zip(names, values, strict=True))

    @cached_property
    def ended(self) -> dict[Key, tuple[int, ...]]:
        """By kind: committed, rolled back, the sum of their times, failed attempts."""
        return self.add_up("cycles", _KIND, "committed", "rolled_back", "residence_ns", "failed")

    @cached_property
    def durations(self) -> dict[Key, int]:
        """By cycle and group, in nanoseconds."""
        groups = self.tables["groups"]
        keys = zip(*(groups[key].to_pylist() for key in (*_CYCLE, "group")), strict=True)
        return dict(zip(keys, groups["duration_ns"].to_pylist(), strict=True))

    @cached_property
    def longest(self) -> dict[Key, int]:
        """By cycle, the duration of its longest group in nanoseconds."""
        longest: dict[Key, int] = {}
        for key, duration in self.durations.items():
            longest[key[:3]] = max(longest.get(key[:3], 0), duration)
        return longest

    @cached_property
    def whole(self) -> dict[Key, int]:
        """By cycle, what ended."""
        found: dict[Key, int] = {}
        for key, values in self.ended.items():
            found[key[:3]] = found.get(key[:3], 0) + values[0] + values[1]
        return found

    @cached_property
    def decided(self) -> bool:
        """Whether the run decided itself how many cycles there are, and how long."""
        spec = self.run.spec
        return spec.precision is not None or spec.peak or spec.shortest is not None or bool(spec.objective)

    @cached_property
    def begun(self) -> dict[Key, int]:
        """By cycle and group, when its measured time began, in nanoseconds since the start of the cycle: with the first
        transaction where no time was demanded, else 0."""
        groups = self.tables["groups"].filter(pc.field("until") != "time")
        demanded = set(zip(*(groups[key].to_pylist() for key in (*_CYCLE, "group")), strict=True))
        some = self.tables["cycles"].filter(pc.field("last_end_ns") > 0)
        first = some.group_by([*_CYCLE, "group"]).aggregate([("first_start_ns", "min")])
        keys = zip(*(first[key].to_pylist() for key in (*_CYCLE, "group")), strict=True)
        starts: list[int] = [at or 0 for at in first["first_start_ns_min"].to_pylist()]
        return {key: at for key, at in zip(keys, starts, strict=True) if key in demanded}

    @cached_property
    def finished(self) -> frozenset[Key]:
        return frozenset(key[:3] for key in self.ended)


def _where(key: Key) -> str:
    stage = "" if key[1] == "load" else f", stage {key[1]}"
    return f"scale {key[0]}{stage}, cycle {key[2]}"


def _whole(run: Rows) -> Iterator[str]:
    if run.run.status != "complete":
        yield f"the run is {run.run.status}, and only a complete one has all its cycles"
    if not run.finished:
        yield "it has no cycle"


def _checks(run: Rows) -> Iterator[str]:
    for scale, conditions in run.run.broken.items():
        yield f"scale {scale}: the check found that {conditions[0].name} does not hold"
    stages = [stage.work for stage in run.run.stages]
    if ("check" in stages or not stages) and not run.run.spec.existing:
        for scale in sorted({key[0] for key in run.finished} - set(run.run.checks)):
            yield f"scale {scale}: its check is missing"


def _kept_rows(run: Rows) -> Iterator[str]:
    """What the check counted in the database is what the clients counted."""
    counted = ("committed", "early_commits", "late_commits", "unknown")
    kept = run.add_up("cycles", ("scale", "cycle"), *counted)
    # Of scripts some write no history.
    writing = pc.is_in(pc.field("kind"), pa.array(_WRITING)) if run.run.spec.workload == "scripted" else None
    written = run.add_up("cycles", ("scale", "cycle"), *counted, of=writing)
    first: dict[int, int] = {}
    for segment in run.run.segments:
        first[segment.scale] = segment.first_cycle
    for scale, conditions in run.run.checks.items():
        for one in conditions:
            found = re.fullmatch(r"history (\d+), committed (\d+)", one.detail)
            if found is None:
                continue
            if found[1] != found[2] and one.holds:
                yield f"scale {scale}: the check says that {found[1]} rows are {found[2]}"
            here = [key for key in kept if key[0] == scale and key[1] >= first.get(scale, 1)]
            least = sum(sum(written.get(key, (0, 0, 0, 0))[:3]) for key in here)
            most = sum(sum(kept[key]) for key in here)
            if not least <= int(found[2]) <= most + _beside(run, scale):
                yield f"scale {scale}: the check found {int(found[2]):,} transactions, the cycles have {least:,}"


_WRITING: Final = ("tpcb-like", "simple-update")
"""Scripts of pgbench that write a row of history for each transaction."""


def _beside(run: Rows, scale: int) -> float:
    """Transactions at most that the database of ``scale`` has and no table: what others did before, and cycles that no
    rate counts, of a ramp-up or warm-up, before a search for a rate, of a trial of places, and the one beside perf."""
    spec, extra = run.run.spec, run.run.spec.model_extra or {}
    warmed = any(until != "time" for until in run.tables["groups"]["until"].to_pylist())
    found = extra.get("find_ramp_up") or spec.objective or spec.graduated
    if run.run.reused or spec.perf != "none" or found or warmed or run.run.resumed:
        return inf
    tried = run.run.placement_tried
    if tried is None or scale != run.run.segments[0].scale:
        return 0
    best = max((ended * 1e9 / run.longest[key] for key, ended in run.whole.items() if key[0] == scale), default=0.0)
    rates = (*tried.free_tps, *tried.follow_tps) or (best,)  # A first turn in which no client could follow.
    return _UNEVEN * sum(rates) * (turn_s(spec.duration) + TURN_RAMP_UP_S) + _ENOUGH


_SUMMED: Final = {"payments": "payment", "order_statuses": "order_status", "delivery_transactions": "delivery"}
"""What the clients of TPC-C add up for the check, and the transaction that it is of."""


def _sums(run: Rows) -> Iterator[str]:
    """What clients added up for the check is as many as they committed."""
    if not run.tables["sums"].num_rows:
        return
    kept = run.add_up("cycles", (*_CYCLE, "kind"), "committed", "early_commits", "late_commits", "unknown")
    for key, (value,) in run.add_up("sums", (*_CYCLE, "name"), "value").items():
        kind = _SUMMED.get(key[3])
        if kind is None or (*key[:3], kind) not in kept:
            continue
        *counts, unknown = kept[*key[:3], kind]
        if not sum(counts) <= value <= sum(counts) + unknown:
            yield f"{_where(key)}: its clients committed {sum(counts):,} {kind}, and added up {value:,}"


def _ladder(run: Rows) -> Iterator[str]:
    spec = run.run.spec
    asked, here = set(spec.scales), {key[0] for key in run.finished}
    if asked - here and spec.refine == "none":
        yield f"scale {min(asked - here)} was asked for and has no cycle"
    if here - asked and spec.refine == "none":
        yield f"scale {min(here - asked)} was not asked for"
    for other in sorted({row["scale"] for row in run.tables["phases"].to_pylist()} - here):
        yield f"scale {other} was built, and has no cycle"
    repeated = {stage.name for stage in run.run.stages if stage.work == "load" and stage.repeated}
    for scale in sorted(here):
        numbers = sorted(key[2] for key in run.finished if key[0] == scale)
        if lacking := set(range(1, numbers[-1] + 1)) - set(numbers):
            yield f"scale {scale}, cycle {min(lacking)} is missing"
        for stage in sorted(repeated):
            there = sum(key[:2] == (scale, stage) for key in run.finished)
            wanted = spec.cycles * len(spec.thread_numbers) * (len(GRADES) if spec.graduated else 1)
            if not run.decided and there != wanted:
                yield f"scale {scale}: {wanted} cycles were asked for, and there are {there}"


def _settings_of_load(run: Rows) -> Iterator[str]:
    spec, stages = run.run.spec, {stage.name for stage in run.run.stages if stage.repeated}
    groups = run.tables["groups"].to_pylist()
    for row in groups:
        key = (row["scale"], row["stage"], row["cycle"])
        timed = row["until"] == "time" and row["stage"] in (stages or {"load"}) and len(run.run.stages) <= 5
        asked = round(spec.duration * 1e9)
        if timed and not run.decided and row["stage"] == "load" and abs(row["duration_ns"] - asked) > _LATE_NS:
            yield f"{_where(key)} lasted {row['duration_ns'] / 1e9:g} s, and {spec.duration:g} s were asked for"
        # Where another group ends it, it may not have done anything by then.
        least = 0 if row["until"] == "group" else 1
        if not least <= row["duration_ns"] < _MOST:
            yield f"{_where(key)} lasted {row['duration_ns']} ns"
    keys = {(row["scale"], row["stage"], row["cycle"], row["group"]) for row in groups}
    if len(keys) != len(groups):
        yield "a group of clients is there twice in a cycle"
    numbers = {row["threads"] for row in groups if row["stage"] == "load"}
    load = [row for row in groups if row["stage"] == "load"]
    if load and not spec.peak and spec.terminals is None and spec.pace == "none" and len(run.run.stages) <= 5 \
            and {row["group"] for row in load} == {"all"} and numbers - set(spec.thread_numbers):  # fmt: skip
        yield f"{max(numbers - set(spec.thread_numbers))} threads made load, and nobody asked for them"


def _paced(run: Rows) -> Iterator[str]:
    """In an open loop no more ends than is due: what the demanded rate comes to over the cycle and its ramp-up."""
    ended: dict[Key, int] = {}
    for key, values in run.ended.items():
        ended[*key[:3], key[5]] = ended.get((*key[:3], key[5]), 0) + values[0] + values[1]
    legs = run.run.spec.legs
    for row in run.tables["groups"].to_pylist():
        if row["pacing"] not in ("poisson", "constant") or row["rows_per_s"] is not None:
            continue
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        due = sum(leg.due(leg.duration_s) for leg in legs) if legs else 0.0
        if row["rate_per_s"] and not legs:
            due = row["rate_per_s"] * (row["duration_ns"] + (row["ramp_up_ns"] or 0)) / 1e9
        most = due + _SIGMAS * due**0.5 + _SIGMAS
        if due and ended.get(key, 0) > most:
            yield f"{_where(key)}: {ended[key]:,} transactions ended of {due:,.0f} that were due"


def _graded(run: Rows) -> Iterator[str]:
    """A graduated load has each of its levels, at that share of the first one's rate."""
    spec = run.run.spec
    rows = [row for row in run.tables["groups"].to_pylist() if row["level"] is not None]
    if rows and not spec.graduated:
        yield "nobody asked for the levels that its load has"
    if not spec.graduated:
        return
    for scale in sorted({key[0] for key in run.finished}):
        found: dict[float, list[float]] = {}
        cycles: dict[float, set[int]] = {}
        for row in (row for row in rows if row["scale"] == scale):
            found.setdefault(row["level"], []).append(row["rate_per_s"])
            cycles.setdefault(row["level"], set()).add(row["cycle"])
        full = next(iter(found.get(GRADES[0], ())), 0.0)
        for level in GRADES:
            if (there := len(cycles.get(level, ()))) != spec.cycles:
                yield f"scale {scale}: {spec.cycles} cycles at {level} % were asked for, and there are {there}"
            off = [rate for rate in found[level] if level and abs(rate - full * level / 100) > _GRADED * full]
            if off:
                yield f"scale {scale}: {off[0]:g} starts per second are not {level} % of {full:g}"
        order = [level for level, _ in sorted(cycles.items(), key=lambda one: min(one[1]))]
        if order != sorted(order, reverse=True):
            yield f"scale {scale}: its levels are not in their order"


def _search(run: Rows) -> Iterator[str]:
    """Each step of a search for a rate is the one that follows from those before it, and the last one ends it."""
    spec = run.run.spec
    if not spec.objective:
        return
    wanted = [(one.allowed, one.limit_ns / 1e9) for one in spec.objectives]
    search = search_of(spec)
    for scale, load in read_loads(run.tables, spec.objectives, spec.duration).items():
        for at, one in enumerate(load.tried):
            steps = [[before.steps[number] for before in load.tried[:at]] for number in range(len(wanted))]
            step = next_step(steps, wanted, search, one.demanded)
            if step is None:
                yield from _end_of_search(scale, load.tried[at:], steps, wanted, spec)
                break
            if abs(one.demanded - step.rate) > _GRADED * step.rate or abs(one.seconds - step.seconds) > 1e-2:
                words = f"{one.demanded:,.6g}/s for {one.seconds:g} s, and {step.rate:,.6g}/s for {step.seconds:.4g} s"
                yield f"scale {scale}, cycle {one.cycle}: its search went on with {words} follow from the steps before"
                break


def _end_of_search(
    scale: int, rest: Sequence[Tried], steps: Sequence[Sequence[Step]], wanted: Sequence[Judged], spec: Asked
) -> Iterator[str]:
    found = lowest(steps, wanted)
    rates = {one.demanded for one in rest}
    if found is None or any(abs(rate - found[1].rate) > _GRADED * found[1].rate for rate in rates):
        yield f"scale {scale}: its search was over, and it went on with {min(rates):,.6g}/s"
    elif not spec.graduated and len(rest) != spec.cycles:
        yield f"scale {scale}: {spec.cycles} cycles at the rate it found were asked for, and there are {len(rest)}"


def _clients(run: Rows) -> Iterator[str]:
    """Each client has its rows once in each cycle, and all of them have some."""
    cycles = run.tables["cycles"]
    keys = [*_KIND, "thread"]
    groups = cycles.group_by(keys).aggregate([([], "count_all")]) if cycles.num_rows else None
    if groups is not None and (pc.max(groups["count_all"]).as_py() or 0) > 1:
        yield "a client has two rows of one kind in a cycle"
    there = cycles.group_by([*_CYCLE, "group", "node"]).aggregate([("thread", "count_distinct"), ("thread", "max")])
    clients = dict.fromkeys(run.durations, 0)
    for row in there.to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        if key not in clients:
            yield f"{_where(key)} has rows of clients {row['group']!r} that no group has"
            return
        clients[key] += row["thread_count_distinct"]
    for row in run.tables["groups"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        if row["clients"] is not None and not 0 < clients[key] <= row["clients"]:
            yield f"{_where(key)}: {clients[key]} clients have rows, and there were {row['clients']}"
    if run.run.kinds and (strange := {str(kind) for kind in cycles["kind"].to_pylist()} - set(run.run.kinds)):
        yield f"the workload has no transaction {min(strange)!r}"


def _times(run: Rows) -> Iterator[str]:
    """What one client did fits into its cycle, and into its own least and greatest time."""
    connections = {
        (row["scale"], row["stage"], row["cycle"], row["group"]): max(row["connections"] or 1, 1)
        for row in run.tables["groups"].to_pylist()
    }
    closed = {
        (row["scale"], row["stage"], row["cycle"], row["group"])
        for row in run.tables["groups"].to_pylist() if row["pacing"] in ("closed", "in-step")
    }  # fmt: skip
    busy: dict[Key, int] = {}
    longest: dict[Key, int] = {}
    begun = run.begun
    for row in run.tables["cycles"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        counted = row["committed"] + row["rolled_back"]
        group = (*key, row["group"])
        duration = run.durations.get(group)
        if duration is None:
            continue
        least, most = row["residence_min_ns"], row["residence_max_ns"]
        if counted and not least * counted <= row["residence_ns"] <= most * counted:
            words = f"{counted} transactions of {least} to {most} ns cannot take {row['residence_ns']} ns"
            yield f"{_where(key)}, client {row['thread']}: {words}"
        if counted and not 0 <= row["first_start_ns"] <= row["last_end_ns"]:
            yield f"{_where(key)}, client {row['thread']} ended before it began"
        if row["last_end_ns"] > begun.get(group, 0) + duration + _LATE_NS:
            yield f"{_where(key)}, client {row['thread']} ended after the cycle"
        if not counted and (row["residence_ns"] or row["last_end_ns"]):
            yield f"{_where(key)}, client {row['thread']} has times without a transaction"
        if row["retries"] > row["failed"] or row["late_commits"] > row["in_flight"]:
            yield f"{_where(key)}, client {row['thread']} counts more retries than failures, or late ends than ends"
        client = (*group, row["node"], row["thread"])
        busy[client] = busy.get(client, 0) + row["residence_ns"]
        longest[client] = max(longest.get(client, 0), row["residence_max_ns"])
    for client, spent in busy.items():
        group = client[:4]
        # What a client began in the ramp-up and ended afterwards counts, with all of its time.
        most = (run.durations[group] + longest[client] + _LATE_NS) * connections[group]
        if group in closed and spent > most:
            yield f"{_where(client)}, client {client[5]}: {spent / 1e9:.4g} s of transactions in {most / 1e9:.4g} s"


def _remote(run: Rows) -> Iterator[str]:
    counts = run.add_up("cycles", _CYCLE, "remote", "committed", "early_commits", "late_commits", "unknown")
    for key, (remote, *committed) in counts.items():
        if remote > sum(committed):
            yield f"{_where(key)}: {remote:,} of {sum(committed):,} transactions changed other branches"


def _idle(run: Rows) -> Iterator[str]:
    """A client that waits for nothing but its transactions spends its time in them."""
    spec = run.run.spec
    if run.run.engine == "mock" or spec.client != "own" or spec.reconnect:
        return
    closed = {
        (row["scale"], row["stage"], row["cycle"], row["group"])
        for row in run.tables["groups"].to_pylist()
        if row["pacing"] == "closed" and row["until"] == "time" and (row["connections"] or 1) == 1
    }
    clients: dict[Key, list[int]] = {}
    for row in run.tables["cycles"].to_pylist():
        group = (row["scale"], row["stage"], row["cycle"], row["group"])
        if group in closed and (ended := row["committed"] + row["rolled_back"]):
            one = clients.setdefault((*group, row["node"], row["thread"]), [0, 0, _MOST, 0])
            one[0] += ended
            one[1] += row["residence_ns"] + (row["failed_ns"] or 0)
            one[2:] = min(one[2], row["first_start_ns"]), max(one[3], row["last_end_ns"])
    cycles: dict[Key, tuple[int, int, int]] = {}
    for client, (ended, spent, begin, end) in clients.items():
        count, busy, whole = cycles.get(client[:4], (0, 0, 0))
        cycles[client[:4]] = (count + ended, busy + spent, whole + end - begin)
    for cycle, (count, busy, whole) in cycles.items():
        if count >= _ENOUGH and busy < _BUSY * whole:
            yield f"{_where(cycle)}: of {whole / 1e9:.4g} s its clients spent {busy / 1e9:.4g} s in transactions"


def _histograms(run: Rows) -> Iterator[str]:
    buckets = run.tables["buckets"].filter(pc.field("measure") == "residence")
    if not buckets.num_rows and any(values[0] + values[1] for values in run.ended.values()):
        yield "there is no histogram"
        return
    low, high, count = (buckets[name].to_numpy().astype(np.float64) for name in ("low_ns", "high_ns", "count"))
    if (low > high).any():
        yield "a bucket ends before it begins"
    floors, roofs = pa.array(low * count), pa.array(high * count)
    summed = buckets.append_column("floor", floors).append_column("roof", roofs).group_by(list(_KIND)).aggregate(
        [("count", "sum"), ("floor", "sum"), ("roof", "sum"), ("low_ns", "min"), ("high_ns", "max")]
    ) if buckets.num_rows else None  # fmt: skip
    found = {tuple(row[key] for key in _KIND): row for row in (summed.to_pylist() if summed is not None else [])}
    extremes = _extremes(run)
    for key, (committed, rolled_back, spent, _failed) in run.ended.items():
        here = found.get(key)
        in_them = here["count_sum"] if here else 0
        if in_them != committed + rolled_back:
            yield f"{_where(key)}: {committed + rolled_back:,} {key[-1]} ended, and its histogram has {in_them:,}"
        elif here and not here["floor_sum"] * 0.999999 <= spent <= here["roof_sum"] * 1.000001:
            yield f"{_where(key)}, {key[-1]}: its histogram adds up to other times than its clients"
        elif here and not (here["low_ns_min"] <= extremes[key][0] <= extremes[key][1] <= here["high_ns_max"]):
            yield f"{_where(key)}, {key[-1]}: its least or greatest time lies outside its histogram"
    for key in found.keys() - run.ended.keys():
        if key[:3] in run.finished:
            yield f"{_where(key)} has a histogram of {key[-1]!r}, which nobody did"
            return


def _buckets(run: Rows) -> Iterator[str]:
    """Buckets have the bounds that the client's histogram has, and no run counts in pairs."""
    rows = run.tables["buckets"].filter(pc.field("measure") == "residence")
    if not rows.num_rows:
        return
    low, high = (rows[name].to_numpy().astype(np.int64) for name in ("low_ns", "high_ns"))
    # 2,048 buckets of a nanosecond, then twice as wide with each doubling; the least and the greatest time end them.
    width = np.int64(1) << np.maximum(np.frexp(np.maximum(low, 1).astype(np.float64))[1] - 11, 0)
    begin = low - low % width
    ends = _ends(run)
    for row in rows.filter(pa.array((low != begin) | (high != begin + width - 1))).to_pylist():
        key = tuple(row[name] for name in _KIND)
        width_here = 1 << max(row["low_ns"].bit_length() - 11, 0)
        begins = row["low_ns"] - row["low_ns"] % width_here
        least, most = ends.get(key, ({row["low_ns"]}, {row["high_ns"]}))
        if row["low_ns"] not in {begins, *least} or row["high_ns"] not in {begins + width_here - 1, *most}:
            yield f"{_where(key)}: no histogram of dsbench has a bucket from {row['low_ns']} to {row['high_ns']} ns"
    common = int(np.gcd.reduce(rows["count"].to_numpy()))
    if rows.num_rows >= _FEW and common > 1:
        yield f"all counts of its histograms can be divided by {common}"


def _ends(run: Rows) -> dict[Key, tuple[set[int], set[int]]]:
    """By kind the least and the greatest times of its clients: there the histogram of a client begins and ends."""
    found: dict[Key, tuple[set[int], set[int]]] = {}
    some = run.tables["cycles"].filter(pc.field("last_end_ns") > 0)
    for row in some.select([*_KIND, "residence_min_ns", "residence_max_ns"]).to_pylist():
        least, most = found.setdefault(tuple(row[key] for key in _KIND), (set(), set()))
        least.add(row["residence_min_ns"])
        most.add(row["residence_max_ns"])
    return found


def _extremes(run: Rows) -> dict[Key, tuple[int, int]]:
    some = run.tables["cycles"].filter(pc.field("last_end_ns") > 0)
    if not some.num_rows:
        return {}
    found = some.group_by(list(_KIND)).aggregate([("residence_min_ns", "min"), ("residence_max_ns", "max")])
    return {
        tuple(row[key] for key in _KIND): (row["residence_min_ns_min"], row["residence_max_ns_max"])
        for row in found.to_pylist()
    }


def _courses(run: Rows) -> Iterator[str]:
    counts = run.add_up("seconds", _KIND, "count", "failed")
    if not counts:
        if run.ended and any(values[0] for values in run.ended.values()):
            yield "there is no course of the seconds"
        return
    groups = run.tables["groups"].to_pylist()
    clients = {tuple(row[key] for key in (*_CYCLE, "group")): row["clients"] or 0 for row in groups}
    for key, (committed, rolled_back, _spent, _failed) in run.ended.items():
        ended = counts.get(key, (0, 0))[0]
        # A client that waits for a CPU between the end and its place in the course may come too late for that.
        if not 0 <= committed + rolled_back - ended <= clients.get((*key[:3], key[5]), 0) // 8:
            yield f"{_where(key)}, {key[-1]}: {committed + rolled_back:,} transactions ended, {ended:,} by its seconds"
    seconds, begun = run.tables["seconds"].filter((pc.field("count") > 0) | (pc.field("failed") > 0)), run.begun
    for row in seconds.group_by([*_CYCLE, "group"]).aggregate([("second", "max")]).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        if key in run.durations and row["second_max"] * 1e9 > begun.get(key, 0) + run.durations[key] + _LATE_NS:
            yield f"{_where(key)} went on in second {row['second_max']}, after its end"
    wrong = seconds.filter((pc.field("count") > 0) & (pc.field("p50_ns") > pc.field("max_ns")))
    if wrong.num_rows:
        yield "a median in the course lies above the greatest time"


def _greatest(run: Rows) -> Iterator[str]:
    """The greatest time of the course is that of the clients, where all that ended is in the course."""
    seconds, extremes = run.tables["seconds"].filter(pc.field("count") > 0), _extremes(run)
    for row in seconds.group_by(list(_KIND)).aggregate([("max_ns", "max"), ("count", "sum")]).to_pylist():
        key = tuple(row[name] for name in _KIND)
        least, most = extremes.get(key, (0, 0))
        here, whole = row["max_ns_max"], row["count_sum"] == sum(run.ended.get(key, (0, 0))[:2])
        # In a load that changes the course has response times: what waited for its turn took longer.
        most_here = here if run.run.spec.legs else most
        if most and not (most if whole else least) <= here <= most_here:
            yield f"{_where(key)}: the greatest time of its course is {here} ns, that of its clients {most} ns"


def _copies(run: Rows) -> Iterator[str]:
    """Two cycles never have the same times to the nanosecond."""
    by_cycle: dict[Key, list[tuple[int, ...]]] = {}
    for row in run.tables["cycles"].to_pylist():
        if row["committed"] + row["rolled_back"] > 2:
            times = (row["residence_ns"], row["residence_min_ns"], row["residence_max_ns"], row["first_start_ns"])
            by_cycle.setdefault((row["scale"], row["stage"], row["cycle"]), []).append(times)
    seen: dict[tuple[tuple[int, ...], ...], Key] = {}
    if run.run.engine == "mock":
        return  # Its times are those that were scripted.
    for key, spent in by_cycle.items():
        same = tuple(sorted(spent))
        if same in seen:
            yield f"{_where(key)} has the very times of {_where(seen[same])}"
        seen[same] = key


def _monitors(run: Rows) -> Iterator[str]:
    rows = run.tables["monitors"]
    if not rows.num_rows:
        return
    grows = np.array([str(unit).endswith("total") for unit in rows["unit"].to_pylist()])
    words = ("stage", "node", "monitor", "metric")
    names = [np.array(rows[name].to_pylist(), dtype=object).astype(str) for name in words]
    at, value = rows["at_ns"].to_numpy(), rows["value"].to_numpy()
    scale, cycle = rows["scale"].to_numpy(), rows["cycle"].to_numpy()
    threads = rows["threads"].to_numpy()
    order = np.lexsort((at, *names[::-1], threads, cycle, scale))
    columns = (scale, cycle, threads, *names)
    same = np.ones(len(order) - 1, dtype=bool)
    for column in columns:
        ordered = column[order]
        same &= ordered[1:] == ordered[:-1]
    ordered = value[order]
    back = same & grows[order][1:] & (ordered[1:] < ordered[:-1] - 1e-6 * np.abs(ordered[:-1]))
    if back.any():
        first = order[1:][back][0]
        yield f"scale {scale[first]}, cycle {cycle[first]}: the counter {names[2][first]} {names[3][first]} goes back"
    longest = run.longest
    ends: dict[Key, int] = {}
    os_rows = rows.filter((pc.field("monitor") == "os") & (pc.field("node") == "local"))
    for row in os_rows.group_by(list(_CYCLE)).aggregate([("at_ns", "max")]).to_pylist():
        ends[row["scale"], row["stage"], row["cycle"]] = row["at_ns_max"]
    for key, end in ends.items():
        if key in longest and key in run.finished and end < 0.7 * longest[key] - 2e9:
            yield f"{_where(key)} lasted {longest[key] / 1e9:.4g} s, and its machine was watched for {end / 1e9:.4g} s"


_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "postgres": ("commits", "rollbacks"), "mysql": ("statements",), "firebird": ("page_fetches",),
}  # fmt: skip
"""By engine: counters of the server that each transaction raises."""


def _servers(run: Rows) -> Iterator[str]:
    """The server saw as many transactions as the clients."""
    metrics = _COUNTED.get(run.run.engine)
    if metrics is None or _plain(run.run.settings.get("track_counts", "on")) == "off":
        return
    rows = run.tables["monitors"].filter(pc.field("monitor") == "server")
    rows = rows.filter(pc.is_in(pc.field("metric"), pa.array(metrics)))
    found = rows.group_by([*_CYCLE, "metric"]).aggregate([("value", "min"), ("value", "max")]).to_pylist()
    seen: dict[Key, dict[str, tuple[float, float]]] = {}
    for row in found:
        key = (row["scale"], row["stage"], row["cycle"])
        seen.setdefault(key, {})[row["metric"]] = row["value_min"], row["value_max"]
    if (lacking := run.finished - seen.keys()) and run.run.engine != "firebird":  # There it needs rights.
        yield f"{_where(min(lacking))}: nothing says what its server counted"
    ended = run.whole
    for key, count in ended.items():
        # PostgreSQL tells others what it counted once in a second.
        late = run.run.engine == "postgres" and run.longest.get(key, 0) < 2 * 10**9
        counted = sum(most - least for least, most in seen.get(key, {}).values())
        if key in seen and not late and count >= _ENOUGH and counted < _SEEN * count:
            yield f"{_where(key)}: {count:,} transactions ended, and its server counted {counted:,.0f}"
    wholes: dict[Key, float] = {}
    for row in rows.group_by(["scale", "stage", "metric"]).aggregate([("value", "min"), ("value", "max")]).to_pylist():
        whole = (row["scale"], row["stage"])
        wholes[whole] = wholes.get(whole, 0.0) + row["value_max"] - row["value_min"]
    for whole, counted in wholes.items():
        counts = [count for key, count in ended.items() if key[:2] == whole]
        if len(counts) > 2 and sum(counts) >= _ENOUGH and counted < _HALF * sum(counts):
            yield f"scale {whole[0]}: {sum(counts):,} transactions ended, and its server counted {counted:,.0f}"


def _order(run: Rows) -> Iterator[str]:
    """The machine's own counters go on from cycle to cycle, in the order of the scales and no longer than the run."""
    rows = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == "local"))
    switches = rows.filter(pc.field("metric") == "context_switches")
    spans = sorted(
        (row["value_min"], row["value_max"], (row["scale"], row["stage"], row["cycle"]))
        for row in switches.group_by(list(_CYCLE)).aggregate([("value", "min"), ("value", "max")]).to_pylist()
    )
    if lacking := run.finished - {key for *_, key in spans}:
        yield f"{_where(min(lacking))}: nothing says what its machine counted"
    if run.run.resumed:
        return  # Perhaps on a machine that was started anew.
    for begin, end, one in spans:
        if not begin < end:
            yield f"{_where(one)}: the counters of its machine stood still"
    for (_, end, one), (begin, _, other) in pairwise(spans):
        if begin < end or (one[:2] == other[:2] and other[2] < one[2]):
            yield f"{_where(one)}: by its machine's counters it did not end before {_where(other)}"
    begun = {key[:2]: at for at, _, key in reversed(spans)}
    first = [min((at for (scale, _), at in begun.items() if scale == segment.scale), default=None)
             for segment in run.run.segments if segment.first_cycle == 1]  # fmt: skip
    known = [at for at in first if at is not None]
    if any(later < earlier for earlier, later in pairwise(known)):
        yield "by its machine's counters its scales were made in another order"


def _lasted(run: Rows) -> Iterator[str]:
    """By the time that its CPUs counted, a run lasted no longer than it says."""
    if run.run.resumed or not run.run.cpus or not run.run.ended:
        return
    rows = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == "local"))
    spent: dict[Key, float] = {}
    for row in rows.filter(pc.starts_with(pc.field("metric"), "cpu_")).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["at_ns"])
        spent[key] = spent.get(key, 0.0) + row["value"]
    if spent:
        lasted = (datetime.fromisoformat(run.run.ended) - datetime.fromisoformat(run.run.started)).total_seconds()
        by_cpus = (max(spent.values()) - min(spent.values())) / run.run.cpus
        if not by_cpus <= 1.1 * lasted + 5:
            yield f"by its machine's CPUs its cycles took {by_cpus:.4g} s, and the whole run {lasted:g} s"


def _machines(run: Rows) -> Iterator[str]:
    """What a machine did around a cycle lasted as long, and took no more CPU time than it has."""
    longest = run.longest
    client = run.add_up("cycles", (*_CYCLE, "node"), "cpu_ns")
    rows = run.tables["machine"].to_pylist()
    watched = {(row["scale"], row["stage"], row["cycle"]) for row in rows}
    if run.run.format > 1 and (lacking := run.finished - watched):
        yield f"{_where(min(lacking))}: nothing says what its machine did"
    for row in rows:
        key = (row["scale"], row["stage"], row["cycle"])
        span = row["span_ns"]
        if row["node"] == LOCAL and row["cpus"] and run.run.cpus and row["cpus"] != run.run.cpus:
            yield f"{_where(key)}: its machine has {row['cpus']} CPUs, and by its description {run.run.cpus}"
        if key not in longest or not span:
            continue
        if span < longest[key] - 50 * _LATE_NS:
            yield f"{_where(key)} lasted {longest[key] / 1e9:.4g} s, its machine was looked at for {span / 1e9:.4g} s"
        if not row["cpus"]:
            continue
        whole = row["cpus"] * span
        parts = ("run_ns", "server_ns", "kernel_ns", "others_ns", "idle_ns", "stolen_ns")
        spent = sum(row[name] or 0 for name in parts)
        if any(row[name] is None for name in parts):
            continue
        if not 0.5 * whole - 1e9 < spent < 1.5 * whole + 1e9:
            yield f"{_where(key)}: {spent / 1e9:.4g} s of CPU time on {row['cpus']} CPUs in {span / 1e9:.4g} s"
        if client.get((*key, row["node"]), (0,))[0] > 1.2 * whole + 1e9:
            yield f"{_where(key)}: its clients took more CPU time than the machine has"


def _samples(run: Rows) -> Iterator[str]:
    """No more sessions of the load were seen than there were."""
    there: dict[Key, int] = {}
    for row in run.tables["groups"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        there[key] = there.get(key, 0) + (row["clients"] or 0) * max(row["connections"] or 1, 1)
    seen = run.tables["samples"].group_by([*_CYCLE, "second"]).aggregate([("sessions", "sum"), ("looks", "max")])
    for row in seen.to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        if key in there and row["sessions_sum"] > (there[key] + 1) * (row["looks_max"] or 0):
            looks = row["looks_max"]
            yield f"{_where(key)}: {row['sessions_sum']:,} sessions were seen in {looks} looks at {there[key]}"


def _format(run: Rows) -> Iterator[str]:
    """An archive of an old format has nothing that came later: it would be held against less."""
    later = run.run.stages or run.run.workload or run.run.placement_tried or run.archive.table("groups").num_rows
    if run.run.format == 1 and later:
        yield "it says that it has format 1, and holds what came with format 2"


def _clock(run: Rows) -> Iterator[str]:
    """Times of day go on."""
    times = [run.run.started, *(segment.started for segment in run.run.segments), run.run.ended or ""]
    try:
        read = [datetime.fromisoformat(time) for time in times if time]
    except ValueError:
        yield "a time of day is none"
        return
    if run.run.resumed:
        return
    if any(later < earlier for earlier, later in pairwise(read)):
        yield "the run ended, or went on, before it began"
        return
    measured = sum(run.longest.values()) / 1e9
    if len(read) > 1 and run.run.ended and measured > (read[-1] - read[0]).total_seconds() + 2:
        lasted = (read[-1] - read[0]).total_seconds()
        yield f"its cycles lasted {measured:.4g} s, and the whole run {lasted:g} s"


def _errors(run: Rows) -> Iterator[str]:
    """Each attempt that failed has its error."""
    failed = run.add_up("errors", _CYCLE, "count")
    ours: dict[Key, int] = {}
    for key, values in run.ended.items():
        ours[key[:3]] = ours.get(key[:3], 0) + values[3]
    for cycle, count in ours.items():
        said = failed.get(cycle, (0,))[0]
        if bool(said) != bool(count) or said > count:
            yield f"{_where(cycle)}: {count:,} attempts failed, and there are errors of {said:,}"
    course = run.add_up("seconds", _CYCLE, "failed")
    for cycle, (said,) in course.items():
        if said > ours.get(cycle, said):
            yield f"{_where(cycle)}: {ours[cycle]:,} attempts failed, and {said:,} by its seconds"


def _ceilings(run: Rows) -> Iterator[str]:
    """No client is faster than against an engine that answers at once."""
    loads = {key[1] for key in run.finished}
    if run.run.calibration is None or run.run.spec.client != "own" or run.run.engine == "mock" or len(loads) > 1:
        return  # One stage is calibrated, which says nothing of others; and the mock engine is what it is held against.
    best: dict[Key, float] = {}
    for key, (committed, rolled_back, _spent, _failed) in run.ended.items():
        duration = run.durations.get((*key[:3], key[5]))
        if duration:
            best[key[:3], key[4]] = best.get((key[:3], key[4]), 0.0) + (committed + rolled_back) * 1e9 / duration
    for (cycle, _threads), rate in best.items():
        most = max((one.rate_tps for one in run.run.calibration.ceilings), default=float("nan"))
        if isfinite(most) and most > 0 and rate > _FASTER * most and not run.run.nodes:
            yield f"{_where(cycle)}: {rate:,.0f} transactions per second, and the client can make {most:,.0f}"


_SWITCHES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "postgres": {
        "fsync": frozenset({"on"}), "full_page_writes": frozenset({"on", "off"}),
        "synchronous_commit": frozenset({"on", "local", "remote_write", "remote_apply"}),
    },
    "mysql": {"innodb_flush_log_at_trx_commit": frozenset({"1"})},
    "sqlite": {"synchronous": frozenset({"full", "extra"}), "journal_mode": frozenset()},
    "firebird": {},
}  # fmt: skip
"""By engine: switches that each archive of it has, with the values that lose nothing; none: any value."""


def _switches(run: Rows) -> Iterator[str]:
    if run.run.engine != "mock" and not run.run.durability:
        yield "it does not say whether what was committed is durable"
        return
    values = {switch.switch: switch for switch in run.run.durability}
    for name, good in _SWITCHES.get(run.run.engine, {}).items():
        switch = values.get(name)
        if switch is None and "rocksdb_flush_log_at_trx_commit" not in values:
            yield f"it does not say what {name} was"
        elif switch and good and switch.safe and str(switch.value).lower() not in good:
            yield f"it calls {name} = {switch.value} durable"
    for place, settings in (("was set to", run.run.spec.target.settings), ("is set to", run.run.settings)):
        for name, value in settings.items():
            if name in values and _plain(values[name].value) != _plain(value):
                yield f"{name} {place} {value}, and among the switches it is {values[name].value}"


def _plain(value: Any) -> str:
    text = str(value).strip().lower()
    return {"true": "on", "false": "off", "yes": "on", "no": "off", "1": "on", "0": "off"}.get(text, text)


def _described(run: Rows) -> Iterator[str]:
    if run.run.engine == "mock":
        return
    layers = {layer.layer for layer in run.run.stack if layer.items}
    for layer in ("core", "operating system", "file system", "RDBMS"):
        if layer not in layers and not (layer in ("core", "operating system", "file system") and not run.run.stack):
            yield f"it does not describe the {layer}"
    if not run.run.stack:
        yield "it describes no machine"
    if not run.run.server_version:
        yield "it does not say which version of the server it was"
    said = run.run.item("RDBMS", "version")
    if said and run.run.server_version and _numbers(said) != _numbers(run.run.server_version):
        yield f"its server is {said[:40]!r} in one place and {run.run.server_version[:40]!r} in another"


def _numbers(version: str) -> str:
    found = re.search(r"\d+(\.\d+)+", version)
    return found[0] if found else version


def _built(run: Rows) -> Iterator[str]:
    """A scale has its rows before it has its cycles."""
    phases = run.tables["phases"].to_pylist()
    for row in phases:
        if row["duration_ns"] is not None and not 0 <= row["duration_ns"] < _MOST:
            yield f"scale {row['scale']}: {row['phase']} took {row['duration_ns']} ns"
    if run.run.spec.existing or run.run.reused or run.run.resumed:
        return
    built = {row["scale"] for row in phases}
    for scale in sorted({key[0] for key in run.finished} - built):
        yield f"scale {scale}: nothing says how it was built"
    sizes = {row["scale"]: row["size_bytes"] for row in phases if row["size_bytes"] and row["phase"] == "foreign_key"}
    for (low, small), (high, large) in pairwise(sorted(sizes.items())):
        if large < small:
            yield f"scale {high} is smaller than scale {low}"
    yield from _sizes(run, sizes)


def _sizes(run: Rows, sizes: Mapping[int, int]) -> Iterator[str]:
    """A database is as large as its rows make it, and as the monitor saw it before the first cycle."""
    rows = {row["scale"]: row["rows"] for row in run.tables["phases"].to_pylist() if row["phase"] == "populate"}
    least, most = find(run.run.spec.workload, run.run.spec.workload_settings).row_bytes
    if any(switch.switch.startswith("rocksdb") for switch in run.run.durability):
        least = 0  # It compresses.
    seen = run.tables["monitors"].filter((pc.field("metric") == "database_size") & (pc.field("cycle") == 1))
    first = {row["scale"]: row["value"] for row in reversed(seen.sort_by("at_ns").to_pylist())}
    for scale, size in sizes.items():
        count = rows.get(scale, 0)
        if most and count and not _LESS * least * count <= size <= most * count / _LESS + _EMPTY:
            yield f"scale {scale}: {count:,} rows of {run.run.spec.workload} do not have {size:,} bytes"
        if count and size > _SMALL and scale in first and not _LESS * size <= first[scale] <= size / _LESS:
            yield f"scale {scale}: it was built with {size:,} bytes, and had {first[scale]:,.0f} before its first cycle"


def _workload(run: Rows) -> Iterator[str]:
    """A workload is what it is called."""
    name = run.run.spec.workload
    if name not in names():
        yield f"no workload of this dsbench is called {name[:40]!r}"
        return
    known = find(name, run.run.spec.workload_settings)
    said = run.run.workload or known
    for what in ("label", "headline", "specification"):
        if (mine := getattr(said, what)) != (its := getattr(known, what)):
            yield f"it calls the {what} of {name} {mine!r}, and it is {its!r}"
    if known.kinds and (strange := {str(kind) for kind in run.tables["cycles"]["kind"].unique().to_pylist()}
                        - {kind.name for kind in known.kinds}):  # fmt: skip
        yield f"{name} has no transaction {min(strange)!r}"


RULES: Final[Mapping[str, Callable[[Rows], Iterator[str]]]] = {
    "complete": _whole,
    "checks": _checks,
    "kept rows": _kept_rows,
    "sums": _sums,
    "ladder": _ladder,
    "load": _settings_of_load,
    "pace": _paced,
    "levels": _graded,
    "search": _search,
    "clients": _clients,
    "times": _times,
    "remote": _remote,
    "idle clients": _idle,
    "histograms": _histograms,
    "buckets": _buckets,
    "courses": _courses,
    "greatest times": _greatest,
    "copies": _copies,
    "monitors": _monitors,
    "servers": _servers,
    "machines": _machines,
    "samples": _samples,
    "format": _format,
    "order": _order,
    "lasted": _lasted,
    "clock": _clock,
    "errors": _errors,
    "ceilings": _ceilings,
    "switches": _switches,
    "description": _described,
    "building": _built,
    "workload": _workload,
}
"""What an archive is held against, each rule by its name."""


def audit(archive: Archive) -> list[Contradiction]:
    """What in ``archive`` cannot be true, the first of each rule; empty where nothing speaks against it."""
    try:
        rows = Rows(archive)
    except (ArchiveError, ValueError, LookupError, TypeError, ArithmeticError, pa.ArrowException) as error:
        return [Contradiction("readable", str(error))]
    found = []
    for name, rule in RULES.items():
        try:
            first = next(iter(rule(rows)), None)
        except (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, pa.ArrowException) as error:
            first = f"its rows cannot be added up: {error}"
        if first:
            found.append(Contradiction(name, first))
    return found
