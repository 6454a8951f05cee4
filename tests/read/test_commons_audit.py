"""A commons refuses what cannot be true: archives in which somebody changed something are found, others pass."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dsbench.archive import TABLES, Archive
from dsbench.library import query
from dsbench.read.commons.about import About, EntryError
from dsbench.read.commons.audit import audit
from dsbench.read.commons.entry import Entry, Package, write
from dsbench.read.commons.packing import prepare
from dsbench.read.commons.verifying import verify

ARCHIVES = Path(__file__).parents[1] / "data/archives"
SOUND = sorted(path for path in ARCHIVES.glob("*.zip") if path.stem != "cut")
BASES = ("pg-tpcc", "pg")


class Copy:
    """An archive that can be changed, as somebody would who knows its format."""

    def __init__(self, path: Path) -> None:
        archive = Archive.open(path)
        self.run: dict[str, Any] = json.loads(archive.read("run.json"))
        self.tables: dict[str, list[dict[str, Any]]] = {name: archive.table(name).to_pylist() for name in TABLES}
        self.schemas = {name: archive.table(name).schema for name in TABLES}

    def packed(self) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as file:
            file.writestr("x/run.json", json.dumps(self.run))
            for name, rows in self.tables.items():
                if rows:
                    part = io.BytesIO()
                    pq.write_table(pa.Table.from_pylist(rows, schema=self.schemas[name]), part)
                    file.writestr(f"x/{name}.parquet", part.getvalue())
        return made.getvalue()

    def at(self, table: str, **where: Any) -> list[dict[str, Any]]:
        return [row for row in self.tables[table] if all(row[name] == value for name, value in where.items())]

    def leave_out(self, table: str, **where: Any) -> None:
        self.tables[table] = [
            row for row in self.tables[table] if any(row[name] != value for name, value in where.items())
        ]

    @property
    def busiest(self) -> dict[str, Any]:
        """The row of a client that ended most."""
        return max(self.tables["cycles"], key=lambda row: row["committed"])

    def of_cycle(self, row: dict[str, Any]) -> dict[str, Any]:
        return {name: row[name] for name in ("scale", "stage", "cycle") if name in row}


def _more(copy: Copy, *tables: str, times: float = 1.1, spent: bool = False) -> None:
    """Raises what one client ended, in ``tables`` too."""
    row = copy.busiest
    added = max(round(row["committed"] * (times - 1)), 1)
    row["committed"] += added
    if spent:
        row["residence_ns"] = round(row["residence_ns"] * times)
    where = {**copy.of_cycle(row), "kind": row["kind"], "node": row["node"]}
    if "buckets" in tables:
        buckets = copy.at("buckets", **where, measure="residence")
        max(buckets, key=lambda one: one["count"])["count"] += added
    if "seconds" in tables:
        copy.at("seconds", **where)[0]["count"] += added


def _all_more(copy: Copy) -> None:
    for row in copy.tables["cycles"]:
        row["committed"] = round(row["committed"] * 1.2)
        row["residence_ns"] = round(row["residence_ns"] * 1.2)
    for name in ("buckets", "seconds"):
        for row in copy.tables[name]:
            row["count"] = round(row["count"] * 1.2)


def _everything_more(copy: Copy) -> None:
    """Twice of everything that is counted, sums of times included."""
    for row in copy.tables["cycles"]:
        for name in ("committed", "rolled_back", "residence_ns", "response_ns"):
            row[name] *= 2
    for name in ("buckets", "seconds"):
        for row in copy.tables[name]:
            row["count"] *= 2


def _faster(copy: Copy) -> None:
    """Every time divided by two and every count doubled: nothing in the tables of clients contradicts it."""
    for row in copy.tables["cycles"]:
        for name in ("committed", "rolled_back"):
            row[name] *= 2
        for name in ("residence_min_ns", "residence_max_ns"):
            row[name] //= 2
    for row in copy.tables["buckets"]:
        row["low_ns"], row["high_ns"], row["count"] = row["low_ns"] // 2, row["high_ns"] // 2 + 1, row["count"] * 2
    for row in copy.tables["seconds"]:
        row["count"] *= 2


def _halved(copy: Copy) -> None:
    """Every time by two, bounds of histograms and the course included."""
    for row in copy.tables["cycles"]:
        for name in ("residence_ns", "response_ns", "residence_min_ns", "residence_max_ns", "failed_ns"):
            row[name] //= 2
    for row in copy.tables["buckets"]:
        row["low_ns"], row["high_ns"] = row["low_ns"] // 2, row["high_ns"] // 2
    for row in copy.tables["seconds"]:
        for name in ("p50_ns", "p99_ns", "max_ns"):
            row[name] //= 2


def _twice_as_fast(copy: Copy) -> None:
    """Every time by two and every count twice, of a run in which neither the database nor a client counted."""
    _uncounted(copy)
    for row in copy.tables["cycles"]:
        for name in ("committed", "rolled_back"):
            row[name] *= 2
        for name in ("residence_min_ns", "residence_max_ns"):
            row[name] //= 2
    for row in copy.tables["buckets"]:
        row["low_ns"], row["high_ns"], row["count"] = row["low_ns"] // 2, row["high_ns"] // 2, row["count"] * 2
    for row in copy.tables["seconds"]:
        row["count"], row["max_ns"], row["p50_ns"] = row["count"] * 2, row["max_ns"] // 2, row["p50_ns"] // 2


def _three_times_as_many(copy: Copy) -> None:
    """All counts and sums of times, of a run in which neither the database nor a client counted."""
    _uncounted(copy)
    for row in copy.tables["cycles"]:
        for name in ("committed", "rolled_back", "residence_ns"):
            row[name] *= 3
        row["residence_min_ns"], row["residence_max_ns"] = row["residence_min_ns"] // 3, row["residence_max_ns"] // 3
        row["residence_ns"] //= 3
    for row in copy.tables["buckets"]:
        row["low_ns"], row["high_ns"], row["count"] = row["low_ns"] // 3, row["high_ns"] // 3, row["count"] * 3
    for row in copy.tables["seconds"]:
        row["count"], row["max_ns"], row["p50_ns"] = row["count"] * 3, row["max_ns"] // 3, row["p50_ns"] // 3


def _uncounted(copy: Copy) -> None:
    for scale, conditions in copy.run["checks"].items():
        copy.run["checks"][scale] = [one for one in conditions if "committed" not in one["detail"]]
    copy.tables["sums"] = []


def _exchange(copy: Copy, *tables: str) -> None:
    """Exchanges the first two scales in ``tables``."""
    low, high = sorted({row["scale"] for row in copy.tables["cycles"]})[:2]
    for name in tables:
        for row in copy.tables[name]:
            if row["scale"] in (low, high):
                row["scale"] = low + high - row["scale"]


def _swapped_scales(copy: Copy) -> None:
    """All that was measured of two scales, their checks too; only how they were built stays."""
    _exchange(copy, *(name for name, rows in copy.tables.items() if name != "phases" and rows and "scale" in rows[0]))
    checks = copy.run["checks"]
    low, high = sorted(checks, key=int)[:2]
    checks[low], checks[high] = checks[high], checks[low]


def _mixed(copy: Copy) -> None:
    """The last cycle of each scale is that of another run, made an hour later on the same machine."""
    _uncounted(copy)
    last = max(row["cycle"] for row in copy.tables["cycles"])
    for row in copy.tables["monitors"]:
        if row["cycle"] == last and row["unit"].endswith("total"):
            row["value"] += 3600


def _other_counters(value: Callable[[float], float], monitor: str) -> Callable[[Copy], None]:
    def doctor(copy: Copy) -> None:
        for row in copy.tables["monitors"]:
            if row["monitor"] == monitor:
                row["value"] = value(row["value"])

    return doctor


def _other_sizes(times: float) -> Callable[[Copy], None]:
    def doctor(copy: Copy) -> None:
        for row in copy.tables["phases"]:
            if row["size_bytes"]:
                row["size_bytes"] = round(row["size_bytes"] * times)

    return doctor


def _unseen(monitor: str) -> Callable[[Copy], None]:
    return lambda copy: copy.leave_out("monitors", monitor=monitor)


def _shorter(copy: Copy) -> None:
    copy.run["spec"]["duration"] *= 0.5
    for row in copy.tables["groups"]:
        row["duration_ns"] //= 2


def _longer(copy: Copy) -> None:
    copy.run["spec"]["duration"] *= 20
    for row in copy.tables["groups"]:
        row["duration_ns"] *= 20


def _shorter_groups(copy: Copy) -> None:
    if not copy.tables["groups"]:
        raise _Absent
    for row in copy.tables["groups"]:
        row["duration_ns"] = row["duration_ns"] * 9 // 10


def _without_cycle(copy: Copy) -> None:
    row = min(copy.tables["cycles"], key=lambda one: (one["scale"], one["committed"]))
    for name in ("cycles", "buckets", "seconds", "groups", "monitors", "machine", "errors", "programs"):
        copy.leave_out(name, scale=row["scale"], cycle=row["cycle"])


def _without_last_cycle(copy: Copy) -> None:
    """The last of each scale, and nobody asked for it."""
    last = max(row["cycle"] for row in copy.tables["cycles"])
    for name in ("cycles", "buckets", "seconds", "groups", "monitors", "machine", "errors", "programs"):
        copy.leave_out(name, cycle=last)


def _without_scale(copy: Copy) -> None:
    last = max(row["scale"] for row in copy.tables["cycles"])
    for name in ("cycles", "buckets", "seconds", "groups", "monitors", "machine", "errors", "programs"):
        copy.leave_out(name, scale=last)


def _without_asked_scale(copy: Copy) -> None:
    _without_scale(copy)
    copy.run["spec"]["scales"] = copy.run["spec"]["scales"][:-1]
    copy.run["checks"].popitem()


def _swapped_histograms(copy: Copy) -> None:
    """Two cycles have changed their histograms."""
    scale = copy.busiest["scale"]
    numbers = sorted({row["cycle"] for row in copy.at("cycles", scale=scale)})[:2]
    for row in copy.at("buckets", scale=scale):
        if row["cycle"] in numbers:
            row["cycle"] = sum(numbers) - row["cycle"]


def _foreign_histogram(copy: Copy) -> None:
    """That of another run."""
    other = Copy(ARCHIVES / "mock-open.zip").tables["buckets"]
    mine = copy.tables["buckets"][0]
    keys = ("scale", "stage", "cycle", "node", "threads", "group", "kind")
    where = {name: mine[name] for name in keys if name in mine}
    copy.leave_out("buckets", **where)
    copy.tables["buckets"] += [{**row, **where} for row in other if row["scale"] == 1 and row["cycle"] == 1]


def _without_tail(copy: Copy) -> None:
    for row in sorted(copy.tables["buckets"], key=lambda one: one["high_ns"])[-20:]:
        copy.tables["buckets"].remove(row)


def _short_tail(copy: Copy) -> None:
    for row in sorted(copy.tables["buckets"], key=lambda one: one["high_ns"])[-20:]:
        row["low_ns"], row["high_ns"] = row["low_ns"] // 100, row["high_ns"] // 100


def _copied_cycle(copy: Copy) -> None:
    """The best cycle of a scale stands in the place of another."""
    best = copy.busiest
    others = {row["cycle"] for row in copy.at("cycles", scale=best["scale"])} - {best["cycle"]}
    place = min(others)
    for name in ("cycles", "buckets", "seconds", "groups", "monitors", "machine"):
        if not copy.at(name, scale=best["scale"], cycle=best["cycle"]):
            continue
        copy.leave_out(name, scale=best["scale"], cycle=place)
        same = [{**row, "cycle": place} for row in copy.at(name, scale=best["scale"], cycle=best["cycle"])]
        if name in ("cycles", "groups", "buckets", "seconds"):
            numbers = {row["threads"] for row in copy.at(name, scale=best["scale"])}
            same = [{**row, "threads": min(numbers) if len(numbers) > 1 else row["threads"]} for row in same]
        copy.tables[name] += same


def _counter_back(copy: Copy) -> None:
    for row in copy.tables["monitors"]:
        if row["unit"].endswith("total") and row["at_ns"] > 0:
            row["value"] *= 0.5


def _watched_less(copy: Copy) -> None:
    if not copy.tables["machine"]:
        raise _Absent
    for row in copy.tables["machine"]:
        row["span_ns"] //= 3


def _more_cpu(copy: Copy) -> None:
    if not copy.tables["machine"]:
        raise _Absent
    for row in copy.tables["machine"]:
        row["server_ns"] = row["span_ns"] * (row["cpus"] + 2) + 10**10


def _unwatched(copy: Copy) -> None:
    if not copy.tables["machine"]:
        raise _Absent
    copy.tables["machine"] = []


def _broken_check(copy: Copy) -> None:
    next(iter(copy.run["checks"].values()))[0]["holds"] = False


def _other_count(copy: Copy) -> None:
    done = 0
    for one in next(iter(copy.run["checks"].values())):
        if re.match(r"history \d+, committed", one["detail"]):
            one["detail"] = "history 99999, committed 99999"
            done += 1
    if not done:
        raise _Absent


def _contradicting_check(copy: Copy) -> None:
    for one in next(iter(copy.run["checks"].values())):
        if found := re.match(r"history (\d+), committed (\d+)", one["detail"]):
            one["detail"] = f"history {int(found[1]) - 1}, committed {found[2]}"
            return
    raise _Absent


def _unsafe(copy: Copy) -> None:
    for switch in copy.run["durability"]:
        if switch["switch"] in ("fsync", "synchronous"):
            switch["value"] = "off"


def _asked_unsafe(copy: Copy) -> None:
    name = copy.run["durability"][-1]["switch"] if copy.run["engine"] == "sqlite" else "fsync"
    copy.run["spec"]["target"]["settings"] = {name: "off"}


def _without_switch(copy: Copy) -> None:
    names = ("fsync", "synchronous")
    copy.run["durability"] = [one for one in copy.run["durability"] if one["switch"] not in names]


def _without_layer(name: str) -> Callable[[Copy], None]:
    def doctor(copy: Copy) -> None:
        copy.run["stack"] = [layer for layer in copy.run["stack"] if layer["layer"] != name]

    return doctor


def _past(copy: Copy) -> None:
    copy.run["ended"] = copy.run["started"].replace("2026", "2025")


def _short_run(copy: Copy) -> None:
    copy.run["ended"] = copy.run["started"]
    for segment in copy.run["segments"]:
        segment["started"] = copy.run["started"]
    for row in copy.tables["groups"]:
        row["duration_ns"] += 10**9


def _segments_back(copy: Copy) -> None:
    for segment in copy.run["segments"]:
        segment["started"] = copy.run["ended"]
    copy.run["segments"][-1]["started"] = copy.run["started"]


def _run(**values: Any) -> Callable[[Copy], None]:
    def doctor(copy: Copy) -> None:
        copy.run |= values

    return doctor


def _row(table: str, **values: Any) -> Callable[[Copy], None]:
    """Sets columns of the row of the client that ended most, or of the first row of another table."""

    def doctor(copy: Copy) -> None:
        if not copy.tables[table]:
            raise _Absent
        row = copy.busiest if table == "cycles" else copy.tables[table][0]
        row |= {name: value(row) if callable(value) else value for name, value in values.items()}

    return doctor


def _low_ceiling(copy: Copy) -> None:
    for one in copy.run["calibration"]["ceilings"]:
        one["rate_tps"] = 1.0


def _fewer_threads(copy: Copy) -> None:
    copy.run["spec"]["threads"] = 1
    for name in ("groups",):
        for row in copy.tables[name]:
            row["clients"] = 1


def _without_client(copy: Copy) -> None:
    row = copy.busiest
    copy.leave_out("cycles", **copy.of_cycle(row), thread=row["thread"])


def _renamed_kind(copy: Copy) -> None:
    for name in ("cycles", "buckets", "seconds"):
        for row in copy.tables[name]:
            row["kind"] = "fast"


def _older(copy: Copy) -> None:
    """Called an archive of format 1, without what that has not, but for what a run says of itself."""
    if copy.run["format"] == 1:
        raise _Absent
    copy.run["format"] = 1
    copy.tables |= {"groups": [], "machine": []}


def _other_machine(copy: Copy) -> None:
    """One of twice the CPUs, wherever the run describes it."""
    if not copy.tables["machine"]:
        raise _Absent
    copy.run["cpus"] *= 2


def _crowded(copy: Copy) -> None:
    """More sessions were seen than the load had."""
    cycle = {name: copy.busiest[name] for name in ("scale", "stage", "cycle")}
    row = dict.fromkeys(copy.schemas["samples"].names, "") | cycle | {"second": 0, "sessions": 10**6, "looks": 20}
    copy.tables["samples"].append(row)


def _open_loop(copy: Copy) -> None:
    """Called an open loop, of fewer starts than transactions."""
    if not copy.tables["groups"]:
        raise _Absent
    for row in copy.tables["groups"]:
        row |= {"pacing": "poisson", "rate_per_s": 1.0}


def _searched(copy: Copy) -> None:
    """Called the result of a search, whose steps follow from nothing."""
    if not copy.tables["groups"]:
        raise _Absent
    copy.run["spec"] |= {"objective": "p99=20ms", "peak": False}
    for row in copy.tables["groups"]:
        row |= {"pacing": "poisson", "rate_per_s": 1e6}


def _graduated(copy: Copy) -> None:
    """Called a graduated load, of which only the highest level is there."""
    if not copy.tables["groups"]:
        raise _Absent
    copy.run["spec"]["graduated"] = True
    for row in copy.tables["groups"]:
        row |= {"level": 100.0, "rate_per_s": 1e6, "pacing": "poisson"}


class _Absent(Exception):
    """There is nothing of that in this archive."""


DOCTORS: dict[str, Callable[[Copy], None]] = {
    "a rate raised": lambda copy: _more(copy),
    "one transaction more": lambda copy: _more(copy, times=1.0),
    "a rate raised, with its histogram": lambda copy: _more(copy, "buckets"),
    "a rate raised, with its course": lambda copy: _more(copy, "seconds"),
    "a rate raised, with both": lambda copy: _more(copy, "buckets", "seconds", times=2),
    "a rate raised, with all": lambda copy: _more(copy, "buckets", "seconds", times=2, spent=True),
    "all rates raised": _all_more,
    "all counts doubled": _everything_more,
    "all times halved": _faster,
    "cycles shortened": _shorter,
    "cycles lengthened": _longer,
    "cycles shortened in a table": _shorter_groups,
    "a cycle left out": _without_cycle,
    "the last cycle left out": _without_last_cycle,
    "a scale left out": _without_scale,
    "a scale left out, and not asked for": _without_asked_scale,
    "histograms swapped": _swapped_histograms,
    "a histogram of another run": _foreign_histogram,
    "no histogram": lambda copy: copy.tables.update(buckets=[]),
    "a histogram without its tail": _without_tail,
    "a tail made shorter": _short_tail,
    "a greatest time made smaller": _row("cycles", residence_max_ns=lambda row: row["residence_min_ns"]),
    "a least time above the greatest": _row("cycles", residence_min_ns=lambda row: row["residence_max_ns"] + 1),
    "a sum of times halved": _row("cycles", residence_ns=lambda row: row["residence_ns"] // 2),
    "failures forgotten": _row("cycles", failed=3),
    "more retries than failures": _row("cycles", retries=10**6),
    "an end after the cycle": _row("cycles", last_end_ns=10**13),
    "an end before the start": _row("cycles", first_start_ns=lambda row: row["last_end_ns"] + 1),
    "no course": lambda copy: copy.tables.update(seconds=[]),
    "a course that goes on": _row("seconds", second=10**6),
    "a course with other counts": _row("seconds", count=lambda row: row["count"] + 50),
    "a cycle copied": _copied_cycle,
    "counters that go back": _counter_back,
    "a machine watched for less": _watched_less,
    "a machine with too much CPU time": _more_cpu,
    "a machine unwatched": _unwatched,
    "a check that fails": _broken_check,
    "no check": _run(checks={}),
    "other transactions in the check": _other_count,
    "a check that contradicts itself": _contradicting_check,
    "durability off and called safe": _unsafe,
    "durability off by the target's settings": _asked_unsafe,
    "no switches": _run(durability=[]),
    "a switch left out": _without_switch,
    "no stack": _run(stack=[]),
    "no core": _without_layer("core"),
    "no file system": _without_layer("file system"),
    "no server": _without_layer("RDBMS"),
    "another version": _run(server_version="PostgreSQL 99.1"),
    "ended before it began": _past,
    "no time for its cycles": _short_run,
    "scales in another order of time": _segments_back,
    "still running": _run(status="running"),
    "failed": _run(status="failed"),
    "faster than the client can be": _low_ceiling,
    "fewer threads": _fewer_threads,
    "a client left out": _without_client,
    "a client twice": lambda copy: copy.tables["cycles"].append(dict(copy.busiest)),
    "another transaction": _renamed_kind,
    "scales that were not built": lambda copy: copy.tables.update(phases=[]),
    "a negative time": _row("phases", duration_ns=2**63),
    "all times halved, their counts left": _halved,
    "twice as fast, and nothing counts": _twice_as_fast,
    "three times as fast, and nothing counts": _three_times_as_many,
    "scales exchanged": _swapped_scales,
    "cycles of two runs": _mixed,
    "a server that counted nothing": _unseen("server"),
    "a machine that counted nothing": _unseen("os"),
    "counters that stand still": _other_counters(lambda _: 1.0, "os"),
    "counters below zero": _other_counters(lambda value: -value, "os"),
    "counters that are no numbers": _other_counters(lambda _: float("nan"), "os"),
    "counters without end": _other_counters(lambda _: float("inf"), "os"),
    "a database of a third of the size": _other_sizes(0.3),
    "a database without a size": _other_sizes(1e-6),
    "a database of a thousand times the size": _other_sizes(1000),
    "more remote transactions than any": _row("cycles", remote=10**9),
    "failures in the course only": _row("seconds", failed=10**6),
    "a course with a longer time": _row("seconds", max_ns=10**12),
    "a bucket of its own": _row("buckets", low_ns=2**30 + 1, high_ns=2**30 + 9),
    "a workload called by another name": lambda copy: copy.run["spec"].update(workload="select"),
    "endless counts": _row("cycles", committed=2**62),
    "called an older format": _older,
    "described as a larger machine": _other_machine,
    "more sessions than the load has": _crowded,
    "called an open loop": _open_loop,
    "called a search": _searched,
    "called a graduated load": _graduated,
    "a workload that nobody knows": lambda copy: copy.run["spec"].update(workload="tpcx"),
}
"""What somebody did to an archive. All digests and figures of its entry are made again afterwards: nothing but the
archive itself can say that it is not true."""


@pytest.fixture(scope="module")
def bases() -> dict[str, Copy]:
    return {name: Copy(ARCHIVES / f"{name}.zip") for name in BASES}


def doctored() -> list[tuple[str, str]]:
    return [(base, name) for base in BASES for name in DOCTORS]


def test_a_hundred_doctored_archives_are_refused(bases: dict[str, Copy], tmp_path: Path) -> None:
    refused, passed, absent = 0, [], []
    for base, name in doctored():
        changed = copy.deepcopy(bases[base])
        try:
            DOCTORS[name](changed)
        except _Absent:
            absent.append((base, name))
            continue
        path = tmp_path / "doctored.zip"
        path.write_bytes(changed.packed())
        if audit(Archive(path)):
            refused += 1
        else:
            passed.append((base, name))
    assert not passed
    assert refused >= 130, absent
    assert len({name for _, name in absent}) <= len(DOCTORS) - 50


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_sound_archive_passes_whole_and_written_again(path: Path, tmp_path: Path) -> None:
    assert audit(Archive.open(path)) == []
    again = tmp_path / "again.zip"
    again.write_bytes(Copy(path).packed())
    assert audit(Archive.open(again)) == []


@pytest.fixture(scope="module")
def commons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commons")
    write(prepare(ARCHIVES / "sqlite-threads.zip", About(by="somebody")), folder)
    return folder


LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "another rate": lambda entry: entry["figures"]["rate"].update(value=entry["figures"]["rate"]["value"] * 1.001),
    "another interval": lambda entry: entry["figures"]["rate"].update(low=entry["figures"]["rate"]["value"]),
    "another index": lambda entry: entry["figures"]["dsi"].update(value=99.0),
    "another point": lambda entry: entry["figures"]["curves"][0]["points"][0].__setitem__(2, 10**6),
    "another sentence": lambda entry: entry.update(sentence="SQLite does 1,000,000 transactions per second."),
    "another CPU": lambda entry: entry["system"].update(cpu="Z80"),
    "another product": lambda entry: entry["system"].update(product="SQLite 99"),
    "a durability of its own": lambda entry: entry["conditions"].update(durable=not entry["conditions"]["durable"]),
    "another workload": lambda entry: entry["conditions"].update(workload="select"),
    "another day": lambda entry: entry.update(measured="2020-01-01"),
    "another digest": lambda entry: entry.update(sha256="0" * 64),
    "a field more": lambda entry: entry.update(award="fastest"),
    "no number": lambda entry: entry["figures"]["rate"].update(value=float("nan")),
    "a rate without end": lambda entry: entry["figures"]["rate"].update(value=float("inf")),
    "a truth for a number": lambda entry: entry["figures"]["rate"].update(scale=True),
    "a password": lambda entry: entry["about"].update(notes="password=tiger"),
    "letters that turn the text around": lambda entry: entry["about"].update(by="\u202egnp.exe"),
    "letters that nobody sees": lambda entry: entry["system"].update(cpu=entry["system"]["cpu"] + "\u200b"),
    "no price": lambda entry: entry["about"].update(price={"per_hour": -1}),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_entry_that_says_other_than_its_tables_is_refused(lie: str, commons: Path) -> None:
    (folder,) = (commons / "entries").iterdir()
    path = folder / "entry.json"
    honest = path.read_text()
    assert verify(folder).about.by == "somebody"
    said = json.loads(honest)
    LIES[lie](said)
    path.write_text(json.dumps(said))
    try:
        with pytest.raises(EntryError):
            verify(folder)
    finally:
        path.write_text(honest)


def test_a_replaced_archive_and_its_csv_are_noticed(commons: Path, tmp_path: Path) -> None:
    (folder,) = (commons / "entries").iterdir()
    other = tmp_path / "entries" / folder.name
    other.mkdir(parents=True)
    (other / "entry.json").write_bytes((folder / "entry.json").read_bytes())
    content = Copy(folder / "archive.zip").packed()
    (other / "archive.zip").write_bytes(content)
    with pytest.raises(EntryError, match="its digest differs"):
        verify(other)
    # One who makes the digest again meets results.csv.
    entry = json.loads((folder / "entry.json").read_text())
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    entry["id"] = entry["id"][:-10] + entry["sha256"][:10]
    forged = tmp_path / "entries" / entry["id"]
    forged.mkdir()
    (forged / "entry.json").write_text(json.dumps(entry))
    (forged / "archive.zip").write_bytes(content)
    with pytest.raises(EntryError, match=r"results\.csv does not follow"):
        verify(forged)


def test_an_entry_is_two_files_and_no_link(commons: Path, tmp_path: Path) -> None:
    (folder,) = (commons / "entries").iterdir()
    (tmp_path / folder.name).symlink_to(folder)
    with pytest.raises(EntryError, match="is a link"):
        verify(tmp_path / folder.name)
    more = folder / "report.html"
    more.write_text("<script>")
    try:
        with pytest.raises(EntryError, match=r"holds 'report\.html'"):
            verify(folder)
    finally:
        more.unlink()


def test_an_archive_of_an_entry_holds_nothing_else(tmp_path: Path) -> None:
    package = prepare(ARCHIVES / "sqlite-threads.zip", About())
    made = io.BytesIO(package.archive)
    with zipfile.ZipFile(made, "a") as file:
        file.writestr(f"{file.namelist()[0].split('/')[0]}/report.html", "<script>")
    digest = hashlib.sha256(made.getvalue()).hexdigest()
    told = {"sha256": digest, "id": f"{package.entry.id[:-10]}{digest[:10]}"}
    forged = write(Package(package.entry.model_copy(update=told), made.getvalue(), {}), tmp_path)
    with pytest.raises(EntryError, match=r"archive\.zip holds 'report\.html'"):
        verify(forged)


def test_what_a_run_does_before_its_cycles_is_no_contradiction(bases: dict[str, Copy], tmp_path: Path) -> None:
    """A trial of places leaves transactions in the database which no table has; not as many as another cycle would."""
    changed = copy.deepcopy(bases["pg"])
    scale, check = changed.run["segments"][0]["scale"], None
    for one in changed.run["checks"][str(scale)]:
        if found := re.match(r"history (\d+), committed", one["detail"]):
            check, count = one, int(found[1])
    assert check is not None
    path = tmp_path / "tried.zip"

    def rules(beside: int) -> set[str]:
        check["detail"] = f"history {count + beside}, committed {count + beside}"
        path.write_bytes(changed.packed())
        return {wrong.rule for wrong in audit(Archive(path))}

    assert "kept rows" in rules(150)
    changed.run["placement_tried"] = {"free_tps": [100.0] * 4, "follow_tps": [100.0] * 4, "why": ""}
    assert "kept rows" not in rules(150)
    assert "kept rows" in rules(10**6)
    changed.run |= {"placement_tried": None}
    assert "kept rows" in rules(150)
    changed.run["spec"] |= {"shortest": 0.5, "precision": 5.0}
    assert "kept rows" not in rules(10**6)


def test_a_difference_of_counters_may_go_back_and_a_counter_may_not(bases: dict[str, Copy], tmp_path: Path) -> None:
    """InnoDB's hits are requests less reads, and a long query adds its requests late."""
    changed = copy.deepcopy(bases["pg"])
    last = max((row for row in changed.tables["monitors"] if row["metric"] == "blocks_hit"), key=lambda row: row["at_ns"])
    last["value"] *= 0.5
    path = tmp_path / "back.zip"

    def rules() -> set[str]:
        path.write_bytes(changed.packed())
        return {wrong.rule for wrong in audit(Archive(path))}

    assert "monitors" in rules()
    changed.run["engine"] = "mysql"
    assert "monitors" not in rules()


@pytest.mark.parametrize("before", [False, True])
def test_a_cycle_of_a_program_that_others_kept_from_its_cpus_is_no_contradiction(
    bases: dict[str, Copy], tmp_path: Path, before: bool
) -> None:
    """Monitors that are due say that nothing of it ran; a shorter cycle under the same others would have them."""
    changed = copy.deepcopy(bases["pg-tpcc"])
    looked = next(row for row in changed.tables["machine"] if row["node"] == "local")
    cycle, late = {"monitor": "os", **changed.of_cycle(looked)}, 6 * 10**9
    path = tmp_path / "starved.zip"

    def rules() -> set[str]:
        path.write_bytes(changed.packed())
        return {wrong.rule for wrong in audit(Archive(path))}

    assert not rules()
    looked["span_ns"] += late
    looked["others_ns"] += late * looked["cpus"]
    assert rules() == {"around cycles"}
    for row in changed.at("monitors", **cycle):
        if before != (row["at_ns"] > 0):
            row["at_ns"] += -late if before else late
    assert not rules()
    looked["others_ns"] -= 2 * late
    looked["idle_ns"] += 2 * late
    assert rules() == {"around cycles"}
    looked["others_ns"] += 2 * late
    looked["idle_ns"] -= 2 * late
    first = [row for row in changed.at("monitors", **cycle) if row["at_ns"] < 0]
    seconds = range(-5, 0) if before else range(1, 7)
    changed.tables["monitors"] += [{**row, "at_ns": second * 10**9} for second in seconds for row in first]
    assert rules() == {"around cycles"}


def test_a_search_that_found_no_rate_has_no_levels(bases: dict[str, Copy], tmp_path: Path) -> None:
    changed = copy.deepcopy(bases["pg-tpcc"])
    changed.run["spec"] |= {"graduated": True, "objective": "p99=1us"}
    for row in changed.tables["groups"]:
        row |= {"pacing": "poisson", "rate_per_s": 1e6}
    path = tmp_path / "found.zip"

    def rules() -> set[str]:
        path.write_bytes(changed.packed())
        return {wrong.rule for wrong in audit(Archive(path))}

    assert "levels" not in rules()
    changed.tables["groups"][-1]["level"] = 100.0
    assert "levels" in rules()
    changed.tables["groups"][-1]["level"] = None
    changed.run["spec"]["objective"] = ""
    assert "levels" in rules()


def test_what_is_hidden_is_nowhere(tmp_path: Path) -> None:
    changed = Copy(ARCHIVES / "sqlite-threads.zip")
    changed.run["host"] = "atlas"
    changed.run["spec"]["target"]["url"] = "sqlite:////home/jane/secret.db"
    changed.run["spec"]["label"] = "night"
    changed.run["stack"][0]["items"]["note"] = "at 192.0.2.7 and fe80::1:2 by jane in /home/jane/x on atlas, not 127.0.0.1"
    changed.tables["programs"] = [
        {**(changed.tables["programs"] or [dict.fromkeys(changed.schemas["programs"].names, 1)])[0], "node": "local",
         "program": "game", "stage": "load", "part": "itself", "pid": 1}
    ]  # fmt: skip
    source = tmp_path / "20260101T000000Z_atlas_sqlite_tpcb.zip"
    source.write_bytes(changed.packed())
    package = prepare(source, About(), {"host", "user", "paths", "addresses", "label", "programs"})
    with zipfile.ZipFile(io.BytesIO(package.archive)) as file:
        words = b"".join(
            file.read(name) if not name.endswith(".parquet")
            else json.dumps(pq.read_table(io.BytesIO(file.read(name))).to_pylist(), default=str).encode()
            for name in file.namelist()
        ) + "".join(file.namelist()).encode() + package.entry.rendered().encode()  # fmt: skip
    for secret in (b"atlas", b"/home/jane", b"192.0.2.7", b"fe80::1:2", b"night", b"game"):
        assert secret not in words, secret
    assert b"127.0.0.1" in words
    assert {"host", "paths", "addresses", "label", "programs"} <= package.hidden.keys()
    verify(write(package, tmp_path / "commons"))


def test_entries_are_told_apart_where_archives_are_read(tmp_path: Path) -> None:
    entries = [write(prepare(ARCHIVES / f"{name}.zip", About()), tmp_path) for name in ("pg", "sqlite-tpcb")]
    found = query.find(tmp_path)
    answer = query.ask(found, "SELECT DISTINCT archive FROM runs JOIN dsi USING (archive) ORDER BY archive")
    assert [row[0] for row in answer.rows] == sorted(entry.name for entry in entries)


def test_the_same_run_is_published_once(tmp_path: Path) -> None:
    first = prepare(ARCHIVES / "pg-tpcc.zip", About())
    assert prepare(ARCHIVES / "pg-tpcc.zip", About(by="x")).entry.id == first.entry.id
    write(first, tmp_path)
    with pytest.raises(EntryError, match="is there already"):
        write(first, tmp_path)
    with pytest.raises(EntryError, match="cut-short"):
        prepare(ARCHIVES / "cut.zip", About())
    assert Entry.model_validate_json(first.entry.rendered()) == first.entry
