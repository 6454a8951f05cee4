"""Whether the counters of the server and of the machine go on, and saw what the clients did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive.columns import LOCAL
from dsbench.commons.audit.rows import CYCLE, ENOUGH, LATE_NS, Key, Rows, plain, segment_of, where

_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "postgres": ("commits", "rollbacks"), "mysql": ("statements",), "firebird": ("page_fetches",),
}  # fmt: skip
"""By engine: counters of the server that each transaction raises."""
_SEEN: Final = 0.75
"""Share of the transactions of a cycle that the server has counted at least when the cycle ends."""
BEHIND_NS: Final = 1.2e9
"""For how long sessions of PostgreSQL keep what they counted to themselves at most: a second, and what a look takes."""
_HALF: Final = 0.55
"""The same of three cycles, of which the last may not be counted yet."""


_AROUND: Final = (1.02, 3.0, 0.4)
"""How long a machine is looked at around cycles that lasted so long: at most so many times their time, some seconds,
and some for each of them. Where seven programs ran for each CPU, it was 1.8 s more for one, and 0.08 s as a rule.
Where a program did not run at all for a while, also as long as that; and what was still under way at the end of a cycle
may take twice as long as what took longest in it."""
_TAKEN: Final = 0.8
"""Share of that while which other programs and the host had of all CPUs at least. This share alone would not do: cycles
whose times somebody shrank may have been measured beside others, too. But there monitors were read every second."""
_DIFFERENCES: Final[Mapping[str, tuple[str, ...]]] = {"mysql": ("blocks_hit",)}
"""By engine: what the monitor subtracts from each other, of counters that the server raises at different times."""


def monitors(run: Rows) -> Iterator[str]:
    """Counters never go back, and a machine was watched as long as its cycle."""
    rows = run.tables["monitors"]
    if not rows.num_rows:
        return
    grows = np.array([str(unit).endswith("total") for unit in rows["unit"].to_pylist()])
    differences = _DIFFERENCES.get(run.run.engine, ())
    grows &= ~np.array([metric in differences for metric in rows["metric"].to_pylist()])
    words = ("stage", "node", "monitor", "metric")
    names = [np.array(rows[name].to_pylist(), dtype=object).astype(str) for name in words]
    at, value = rows["at_ns"].to_numpy(), rows["value"].to_numpy()
    scale, cycle = rows["scale"].to_numpy(), rows["cycle"].to_numpy()
    clients = rows["clients"].to_numpy()
    order = np.lexsort((at, *names[::-1], clients, cycle, scale))
    columns = (scale, cycle, clients, *names)
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
    for row in os_rows.group_by(list(CYCLE)).aggregate([("at_ns", "max")]).to_pylist():
        ends[row["scale"], row["stage"], row["cycle"]] = row["at_ns_max"]
    for key, end in ends.items():
        if key in longest and key in run.finished and end < 0.7 * longest[key] - 2e9:
            yield f"{where(key)} lasted {longest[key] / 1e9:.4g} s, and its machine was watched for {end / 1e9:.4g} s"


def servers(run: Rows) -> Iterator[str]:
    """The server saw as many transactions as the clients."""
    metrics = _COUNTED.get(run.run.engine)
    if metrics is None or plain(run.run.settings.get("track_counts", "on")) == "off":
        return
    rows = run.tables["monitors"].filter(pc.field("monitor") == "server")
    rows = rows.filter(pc.is_in(pc.field("metric"), pa.array(metrics)))
    found = rows.group_by([*CYCLE, "metric"]).aggregate([("value", "min"), ("value", "max")]).to_pylist()
    seen: dict[Key, dict[str, tuple[float, float]]] = {}
    for row in found:
        key = (row["scale"], row["stage"], row["cycle"])
        seen.setdefault(key, {})[row["metric"]] = row["value_min"], row["value_max"]
    if (lacking := run.finished - seen.keys()) and run.run.engine != "firebird":  # There it needs rights.
        yield f"{where(min(lacking))}: counters of its server are missing"
    ended = run.whole
    for key, count in ended.items():
        # PostgreSQL tells others what it counted once in a second.
        late = run.run.engine == "postgres" and run.longest.get(key, 0) < 2 * 10**9
        counted = sum(most - least for least, most in seen.get(key, {}).values())
        # It is read just before the end where the cycle has a ramp-up, and may then be a second behind.
        behind = BEHIND_NS / run.longest[key] if run.run.engine == "postgres" and run.ramps.get(key) else 0.0
        if key in seen and not late and count >= ENOUGH and counted < _SEEN * (1 - behind) * count:
            yield f"{where(key)}: {count:,} transactions ended, and its server counted {counted:,.0f}"
    wholes: dict[Key, float] = {}
    for row in rows.group_by(["scale", "stage", "metric"]).aggregate([("value", "min"), ("value", "max")]).to_pylist():
        whole = (row["scale"], row["stage"])
        wholes[whole] = wholes.get(whole, 0.0) + row["value_max"] - row["value_min"]
    for whole, counted in wholes.items():
        counts = [count for key, count in ended.items() if key[:2] == whole]
        if len(counts) > 2 and sum(counts) >= ENOUGH and counted < _HALF * sum(counts):
            yield f"scale {whole[0]}: {sum(counts):,} transactions ended, and its server counted {counted:,.0f}"


def order(run: Rows) -> Iterator[str]:
    """The machine's own counters go on from cycle to cycle, in the order of the scales and no longer than the run."""
    rows = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == "local"))
    switches = rows.filter(pc.field("metric") == "context_switches")
    spans = sorted(
        (row["value_min"], row["value_max"], (row["scale"], row["stage"], row["cycle"]))
        for row in switches.group_by(list(CYCLE)).aggregate([("value", "min"), ("value", "max")]).to_pylist()
    )
    if lacking := run.finished - {key for *_, key in spans}:
        yield f"{where(min(lacking))}: counters of its machine are missing"
    for begin, end, one in spans:
        if not begin < end:
            yield f"{where(one)}: the counters of its machine did not change"
    for (_, end, one), (begin, _, other) in pairwise(spans):
        if run.run.resumed and segment_of(run, one[0], one[2]) != segment_of(run, other[0], other[2]):
            continue  # Perhaps on a machine that was started anew.
        if begin < end or (one[:2] == other[:2] and other[2] < one[2]):
            yield f"{where(one)}: by its machine's counters it did not end before {where(other)}"
    if run.run.resumed:
        return
    begun = {key[:2]: at for at, _, key in reversed(spans)}
    first = [min((at for (scale, _), at in begun.items() if scale == segment.scale), default=None)
             for segment in run.run.segments if segment.first_cycle == 1]  # fmt: skip
    known = [at for at in first if at is not None]
    if any(later < earlier for earlier, later in pairwise(known)):
        yield "by its machine's counters its scales were made in another order"


def lasted(run: Rows) -> Iterator[str]:
    """By the time that its CPUs counted, a run lasted no longer than it says."""
    if not run.run.cpus or not run.run.ended:
        return
    rows = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == "local"))
    spent: dict[Key, float] = {}
    for row in rows.filter(pc.starts_with(pc.field("metric"), "cpu_")).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["at_ns"])
        spent[key] = spent.get(key, 0.0) + row["value"]
    # A run that was resumed may have gone on when the machine was started anew: its populations each for itself.
    parts: dict[int, list[float]] = {}
    for key, value in spent.items():
        parts.setdefault(segment_of(run, key[0], key[2]) if run.run.resumed else 0, []).append(value)
    lasted = (datetime.fromisoformat(run.run.ended) - datetime.fromisoformat(run.run.started)).total_seconds()
    by_cpus = sum(max(values) - min(values) for values in parts.values()) / run.run.cpus
    if not by_cpus <= 1.1 * lasted + 5:
        yield f"by its machine's CPUs its cycles took {by_cpus:.4g} s, and the whole run {lasted:g} s"


def machines(run: Rows) -> Iterator[str]:
    """What a machine did around a cycle lasted as long, and took no more CPU time than it has."""
    longest = run.longest
    client = run.add_up("cycles", (*CYCLE, "node"), "cpu_ns")
    rows = run.tables["machine"].to_pylist()
    watched = {(row["scale"], row["stage"], row["cycle"]) for row in rows}
    if lacking := run.finished - watched:
        yield f"{where(min(lacking))}: samples of its machine are missing"
    for row in rows:
        key = (row["scale"], row["stage"], row["cycle"])
        span = row["span_ns"]
        if row["node"] == LOCAL and row["cpus"] and run.run.cpus and row["cpus"] != run.run.cpus:
            yield f"{where(key)}: its machine has {row['cpus']} CPUs, and by its description {run.run.cpus}"
        if key not in longest or not span:
            continue
        if span < longest[key] - 50 * LATE_NS:
            yield f"{where(key)} lasted {longest[key] / 1e9:.4g} s, its machine was looked at for {span / 1e9:.4g} s"
        if not row["cpus"]:
            continue
        whole = row["cpus"] * span
        parts = ("run_ns", "server_ns", "kernel_ns", "others_ns", "idle_ns", "stolen_ns")
        spent = sum(row[name] or 0 for name in parts)
        if any(row[name] is None for name in parts):
            continue
        late = row["cpus"] * 1e9  # Between its clock and its counters a look may have waited for a CPU.
        if not 0.5 * whole - late < spent < 1.5 * whole + late:
            yield f"{where(key)}: {spent / 1e9:.4g} s of CPU time on {row['cpus']} CPUs in {span / 1e9:.4g} s"
        if client.get((*key, row["node"]), (0,))[0] > 1.2 * whole + 1e9:
            yield f"{where(key)}: its clients took more CPU time than the machine has"


def around(run: Rows) -> Iterator[str]:
    """A machine was looked at for no longer than its cycles lasted: times were not shrunk."""
    if run.run.nodes:
        return  # The machine that waits for them is looked at, too.
    ramps = dict(run.ramps)
    for group, begun in run.begun.items():
        ramps[group[:3]] = max(ramps.get(group[:3], 0), begun)
    looks = {
        (row["scale"], row["stage"], row["cycle"]): row
        for row in run.tables["machine"].to_pylist() if row["node"] == LOCAL and row["span_ns"]
    }  # fmt: skip
    read, spans, under_way = _read(run), list[tuple[Key, int, int, int]](), _under_way(run)
    for key, row in looks.items():
        if key in run.longest:
            late = _late(read.get(key, [0]), row["span_ns"])
            taken = (row["others_ns"] or 0) + (row["stolen_ns"] or 0) >= _TAKEN * (row["cpus"] or 0) * late
            excused = (late if taken else 0) + 2 * under_way.get(key, 0)
            spans.append((key, row["span_ns"], run.longest[key] + ramps.get(key, 0), excused))
    times, more, each = _AROUND
    for key, span, lasted, excused in spans:
        if span > times * lasted + (more + each) * 1e9 + excused:
            yield f"{where(key)} lasted {lasted / 1e9:.4g} s, and its machine was looked at for {span / 1e9:.4g} s"
    span, lasted, excused = (sum(column) for column in list(zip(*spans, strict=True))[1:] or ((), (), ()))
    if span > times * lasted + (more + each * len(spans)) * 1e9 + excused:
        yield f"its cycles lasted {lasted / 1e9:.4g} s, and their machine was looked at for {span / 1e9:.4g} s"


def _under_way(run: Rows) -> dict[Key, int]:
    """By cycle in which transactions were under way at its end, the longest time of one, in nanoseconds."""
    rows = run.tables["cycles"].group_by(list(CYCLE)).aggregate([("in_flight", "sum"), ("residence_max_ns", "max")])
    return {
        (row["scale"], row["stage"], row["cycle"]): row["residence_max_ns_max"]
        for row in rows.to_pylist() if row["in_flight_sum"]
    }  # fmt: skip


def _read(run: Rows) -> dict[Key, list[int]]:
    """By cycle, when the machine's own monitor was read, in nanoseconds from its start."""
    rows = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == LOCAL))
    times = rows.group_by(list(CYCLE)).aggregate([("at_ns", "distinct")]).to_pylist()
    return {(row["scale"], row["stage"], row["cycle"]): sorted(row["at_ns_distinct"]) for row in times}


def _late(read: list[int], span_ns: int) -> int:
    """For how many nanoseconds of ``span_ns``, which end with the last, no monitor was ``read`` that was due: just
    before the start of a cycle, and every second of it."""
    after = [later - earlier for earlier, later in pairwise([0, *(at for at in read if at > 0)])]
    before = min(-max((at for at in read if at <= 0), default=0), span_ns - read[-1])
    return min(sum(max(wait - 10**9, 0) for wait in after) + max(before - 10**9 // 2, 0), span_ns)


def samples(run: Rows) -> Iterator[str]:
    """No more sessions of the load were seen than there were."""
    there: dict[Key, int] = {}
    for row in run.tables["groups"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        there[key] = there.get(key, 0) + (row["all_clients"] or 0) * max(row["connections"] or 1, 1)
    seen = run.tables["samples"].group_by([*CYCLE, "second"]).aggregate([("sessions", "sum"), ("looks", "max")])
    for row in seen.to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        if key in there and row["sessions_sum"] > (there[key] + 1) * (row["looks_max"] or 0):
            looks = row["looks_max"]
            yield f"{where(key)}: {row['sessions_sum']:,} sessions were seen in {looks} looks at {there[key]}"


def clock(run: Rows) -> Iterator[str]:
    """Times of day go on."""
    times = [run.run.started, *(segment.started for segment in run.run.segments), run.run.ended or ""]
    try:
        read = [datetime.fromisoformat(time) for time in times if time]
    except ValueError:
        yield "a time of day is none"
        return
    if any(later < earlier for earlier, later in pairwise(read)):
        yield "the run ended, or went on, before it began"
        return
    measured = sum(run.longest.values()) / 1e9
    if len(read) > 1 and run.run.ended and measured > (read[-1] - read[0]).total_seconds() + 2:
        lasted = (read[-1] - read[0]).total_seconds()
        yield f"its cycles lasted {measured:.4g} s, and the whole run {lasted:g} s"
