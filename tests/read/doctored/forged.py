"""What somebody did who knows the format and these rules, and changed all that follows: for a better place in a ranking."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.read.doctored.copies import Absent, Copy, Doctor

_KEYS = ("scale", "stage", "cycle", "node", "clients", "group", "kind")


def _numbered(copy: Copy, change: Callable[[int, int], int]) -> None:
    """Gives each cycle the number that ``change`` makes of its scale and number; 0 leaves it out."""
    for name, rows in copy.tables.items():
        if rows and "cycle" in rows[0]:
            kept = []
            for row in rows:
                number = change(row["scale"], row["cycle"]) if row["cycle"] else 0
                if number or not row["cycle"]:
                    kept.append({**row, "cycle": number})
            copy.tables[name] = kept


def _counted(copy: Copy) -> None:
    """The check found as many as the cycles that are left have."""
    for scale, conditions in copy.run["checks"].items():
        there = sum(row["committed"] + row["commits_before_window"] + row["commits_after_window"] for row in copy.at("cycles", scale=int(scale)))
        for one in conditions:
            if re.match(r"history \d+, committed \d+$", one["detail"]):
                one["detail"] = f"history {there}, committed {there}"


def _without_slow_cycles(copy: Copy) -> None:
    """The second cycle of each scale is gone, those after it are called by one less, and nobody asked for it."""
    if max(row["cycle"] for row in copy.tables["cycles"]) < 4:
        raise Absent
    _numbered(copy, lambda _scale, cycle: {1: 1, 2: 0}.get(cycle, cycle - 1))
    copy.run["spec"]["cycles"] -= 1
    _counted(copy)


def _best_of_two_runs(copy: Copy) -> None:
    """Cycles after the first are those of a run that was made an hour later, and it is called resumed, as if the machine
    had been started in between."""
    for row in copy.tables["monitors"]:
        if row["cycle"] > 1 and row["unit"].endswith("total"):
            row["value"] += 3600 * (copy.run["cpus"] if row["metric"].startswith("cpu_") else 1000)
    copy.run["resumed"] = [copy.run["ended"]]


def _to_buckets(copy: Copy, share: float, measure: str = "") -> None:
    """Times of histograms by ``share``, in the buckets that a histogram of dsbench has."""
    found: Counter[tuple[Any, ...]] = Counter()
    rows = []
    for row in copy.tables["buckets"]:
        if measure and row["measure"] != measure:
            rows.append(row)
            continue
        low = max(int((row["low_ns"] + row["high_ns"]) / 2 * share), 1)
        width = 1 << max(low.bit_length() - 11, 0)
        begin = low - low % width
        found[tuple(row.get(name) for name in (*_KEYS, "measure")), begin, begin + width - 1] += row["count"]
    for (key, low, high), count in found.items():
        rows.append({**dict(zip((*_KEYS, "measure"), key, strict=True)), "low_ns": low, "high_ns": high, "count": count})
    copy.tables["buckets"] = rows


def _shrunk(copy: Copy) -> None:
    """Every time that a clock told is by 0.6 of what it was: cycles of a minute that took a hundred seconds. Counts stay."""
    share = 0.6
    times = {
        "cycles": ("residence_ns", "response_ns", "failed_ns", "residence_min_ns", "residence_max_ns", "first_start_ns",
                   "last_end_ns", "cpu_ns"),
        "groups": ("duration_ns", "ramp_up_ns"), "seconds": ("p50_ns", "p99_ns", "max_ns"),
        "monitors": ("at_ns",),
        "machine": ("span_ns", "run_ns", "server_ns", "kernel_ns", "others_ns", "idle_ns", "stolen_ns"),
    }  # fmt: skip
    for table, names in times.items():
        for row in copy.tables[table]:
            row.update({name: int(row[name] * share) for name in names if row.get(name)})
            if table == "seconds":
                row["second"] = int(row["second"] * share)
    _to_buckets(copy, share)
    copy.run["spec"]["duration"] *= share


def _without_slow_second(copy: Copy) -> None:
    """The last second of each cycle is gone, with its transactions, from counts, histogram and course; nobody asked for it."""
    second = 10**9
    if not all(row["duration_ns"] > 2 * second for row in copy.tables["groups"]):
        raise Absent
    copy.run["spec"]["duration"] -= 1
    for row in copy.tables["groups"]:
        row["duration_ns"] -= second
    last = {tuple(row[name] for name in _KEYS[:3]): row["duration_ns"] // second for row in copy.tables["groups"]}
    gone: Counter[tuple[Any, ...]] = Counter()
    kept = []
    for row in copy.tables["seconds"]:
        if row["second"] >= last[tuple(row[name] for name in _KEYS[:3])]:
            gone[tuple(row[name] for name in _KEYS)] += row["count"]
        else:
            kept.append(row)
    copy.tables["seconds"] = kept
    for key, count in gone.items():
        where = dict(zip(_KEYS, key, strict=True))
        mine, left, spent = copy.at("cycles", **where), count, 0
        for bucket in sorted(copy.at("buckets", **where, measure="residence"), key=lambda one: -one["high_ns"]):
            less = min(bucket["count"] - 1, left)
            bucket["count"], left, spent = bucket["count"] - less, left - less, spent + less * bucket["low_ns"]
        for number, row in enumerate(mine):
            less = count // len(mine) + (count % len(mine) if number == 0 else 0)
            row["committed"] -= less
            row["residence_ns"] -= spent // len(mine)
            row["response_ns"] = row["residence_ns"]
            row["last_end_ns"] = min(row["last_end_ns"], last[key[:3]] * second)
    _counted(copy)


def _warmed_up(copy: Copy) -> None:
    """What was committed in the ramp-up counts, at the median time, in histogram and course as well."""
    if not any(row["commits_before_window"] for row in copy.tables["cycles"]):
        raise Absent
    for row in copy.tables["cycles"]:
        early = row["commits_before_window"]
        where = {name: row[name] for name in _KEYS}
        buckets = copy.at("buckets", **where, measure="residence")
        if not early or not buckets:
            continue
        likely = max(buckets, key=lambda one: one["count"])
        likely["count"] += early
        copy.at("seconds", **where)[0]["count"] += early
        row |= {"committed": row["committed"] + early, "commits_before_window": 0}
        row["residence_ns"] += early * likely["low_ns"]
        row["response_ns"] = row["residence_ns"]


def _prompt(copy: Copy) -> None:
    """Starts of an open loop were never late: response times are those of the transactions."""
    if not any(row["measure"] == "response" for row in copy.tables["buckets"]):
        raise Absent
    copy.tables["buckets"] = [row for row in copy.tables["buckets"] if row["measure"] == "residence"]
    copy.tables["buckets"] += [{**row, "measure": "response"} for row in copy.tables["buckets"]]
    for row in copy.tables["cycles"]:
        row["response_ns"] = row["residence_ns"]


def _shorter_responses(copy: Copy) -> None:
    """Response times of an open loop by ten, in histogram and sums: below those of the transactions."""
    if not any(row["measure"] == "response" for row in copy.tables["buckets"]):
        raise Absent
    _to_buckets(copy, 0.1, "response")
    for row in copy.tables["cycles"]:
        row["response_ns"] //= 10


def _no_responses(copy: Copy) -> None:
    """Response times are gone: those of the transactions stand in their place."""
    if not any(row["measure"] == "response" for row in copy.tables["buckets"]):
        raise Absent
    copy.tables["buckets"] = [row for row in copy.tables["buckets"] if row["measure"] == "residence"]


def _light_tail(copy: Copy) -> None:
    """The longest fiftieth of times takes as long as the others do; clients, sums and greatest times follow."""
    for key in {tuple(row[name] for name in _KEYS) for row in copy.tables["buckets"]}:
        where = dict(zip(_KEYS, key, strict=True))
        rows = sorted(copy.at("buckets", **where, measure="residence"), key=lambda one: one["low_ns"])
        whole, seen, edge = sum(row["count"] for row in rows), 0, rows[0]
        for row in rows:
            if seen + row["count"] > 0.98 * whole:
                break
            seen, edge = seen + row["count"], row
        saved = 0
        for row in rows:
            if row["low_ns"] > edge["low_ns"]:
                saved += row["count"] * (row["low_ns"] - edge["high_ns"])
                edge["count"] += row["count"]
                copy.tables["buckets"].remove(row)
        mine = copy.at("cycles", **where)
        for row in mine:
            row["residence_max_ns"] = min(row["residence_max_ns"], edge["high_ns"])
            row["residence_ns"] -= saved // len(mine)
            row["response_ns"] = row["residence_ns"]
        for row in copy.at("seconds", **where):
            row["max_ns"] = min(row["max_ns"], edge["high_ns"])


def _no_failures(copy: Copy) -> None:
    """Attempts that failed are gone from all tables."""
    if sum(row["failed"] for row in copy.tables["cycles"]) < 1000:
        raise Absent
    for row in copy.tables["cycles"]:
        row |= {"failed": 0, "retries": 0, "failed_ns": 0}
    for row in copy.tables["seconds"]:
        row["failed"] = 0
    copy.tables["errors"] = []


def _forgiving(copy: Copy) -> None:
    """A condition that failed is called one that holds."""
    for one in next(iter(copy.run["checks"].values())):
        if re.fullmatch(r"\w+ -?\d+, \w+ -?\d+", one["detail"]) and " = " in one["name"] and "history rows" not in one["name"]:
            one["detail"] = re.sub(r"\d+$", lambda found: str(int(found[0]) + 1), one["detail"])
            return
    raise Absent


def _forgotten(copy: Copy) -> None:
    """A condition that failed is gone from all checks."""
    if copy.run["spec"]["workload"] != "tpcb":
        raise Absent
    for scale, conditions in copy.run["checks"].items():
        copy.run["checks"][scale] = [one for one in conditions if one["name"] != "account sum = teller sum"]


def _empty_checks(copy: Copy) -> None:
    copy.run["checks"] = {scale: [] for scale in copy.run["checks"]}


def _excused_by_nodes(copy: Copy) -> None:
    """Called a run of a node, whose machine may be looked at for longer."""
    copy.run["nodes"] = [{"name": "n1", "cpus": 2, "system": "Linux"}]
    copy.run["spec"]["nodes"] = 1


def _excused_by_tables(copy: Copy) -> None:
    """Called a run on tables that were there, which nobody checks."""
    copy.run["spec"]["existing"] = True
    copy.run["checks"] = {}


def _excused_by_keeping(copy: Copy) -> None:
    """Called a run on a database that another one kept, in which any number may be."""
    copy.run["reused"] = {"run": "x", "scale": 1, "runs": 1, "transactions": 10**6}


def _larger_scales(copy: Copy) -> None:
    """Scales are called ten times as large, with databases of ten times the size."""
    if copy.run["spec"]["workload"] != "tpcb":
        raise Absent
    for rows in copy.tables.values():
        for row in rows:
            if "scale" in row:
                row["scale"] *= 10
    for row in copy.tables["phases"]:
        row["size_bytes"] = (row["size_bytes"] or 0) * 10
    for row in copy.tables["monitors"]:
        if row["metric"] == "database_size":
            row["value"] *= 10
    run = copy.run
    run["spec"]["scales"] = [scale * 10 for scale in run["spec"]["scales"]]
    run["checks"] = {str(int(scale) * 10): conditions for scale, conditions in run["checks"].items()}
    for segment in run["segments"]:
        segment["scale"] *= 10


def _never_flushed(copy: Copy) -> None:
    """A log that was flushed once in a second, and switches by which it was flushed for each commit."""
    rows = [row for row in copy.at("monitors", monitor="server") if row["metric"] in ("wal_syncs", "data_syncs")]
    if copy.run["engine"] != "mysql":
        raise Absent
    first = {(row["scale"], row["cycle"], row["metric"]): row["value"] for row in sorted(rows, key=lambda one: -one["at_ns"])}
    for row in rows:
        row["value"] = first[row["scale"], row["cycle"], row["metric"]] + max(row["at_ns"], 0) // 10**9


def _memory(size: str) -> Doctor:
    def doctor(copy: Copy) -> None:
        core = [layer for layer in copy.run["stack"] if layer["layer"] == "core" and "RAM" in layer["items"]]
        if not core:
            raise Absent
        core[0]["items"]["RAM"] = size

    return doctor


DOCTORS: dict[str, Doctor] = {
    "slow cycles left out, and fewer asked for": _without_slow_cycles,
    "the cycles of two runs, called resumed": _best_of_two_runs,
    "everything shrunk but the counters of CPUs": _shrunk,
    "a slow second of each cycle left out": _without_slow_second,
    "a ramp-up that counts": _warmed_up,
    "starts that were never late": _prompt,
    "response times by ten": _shorter_responses,
    "no response times": _no_responses,
    "a tail that is lighter": _light_tail,
    "failures left out": _no_failures,
    "a failed condition called one that holds": _forgiving,
    "a condition left out of all checks": _forgotten,
    "checks without a condition": _empty_checks,
    "called a run of nodes": _excused_by_nodes,
    "called a run on tables that were there": _excused_by_tables,
    "called a run on a kept database": _excused_by_keeping,
    "scales called ten times as large": _larger_scales,
    "durable commits without flushes": _never_flushed,
    "a machine described with less memory": _memory("512.00 MiB"),
    "a machine described with more memory": _memory("2.00 TiB"),
}
