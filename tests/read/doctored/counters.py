"""What somebody did to what the server, the machine and clocks counted."""

from __future__ import annotations

from collections.abc import Callable

from tests.read.doctored.copies import Absent, Copy, Doctor
from tests.read.doctored.counts import uncounted


def _mixed(copy: Copy) -> None:
    """The last cycle of each scale is that of another run, made an hour later on the same machine."""
    uncounted(copy)
    last = max(row["cycle"] for row in copy.tables["cycles"])
    for row in copy.tables["monitors"]:
        if row["cycle"] == last and row["unit"].endswith("total"):
            row["value"] += 3600


def _other_counters(value: Callable[[float], float], monitor: str) -> Doctor:
    def doctor(copy: Copy) -> None:
        for row in copy.tables["monitors"]:
            if row["monitor"] == monitor:
                row["value"] = value(row["value"])

    return doctor


def _unseen(monitor: str) -> Doctor:
    return lambda copy: copy.leave_out("monitors", monitor=monitor)


def _counter_back(copy: Copy) -> None:
    for row in copy.tables["monitors"]:
        if row["unit"].endswith("total") and row["at_ns"] > 0:
            row["value"] *= 0.5


def _watched_less(copy: Copy) -> None:
    if not copy.tables["machine"]:
        raise Absent
    for row in copy.tables["machine"]:
        row["span_ns"] //= 3


def _more_cpu(copy: Copy) -> None:
    if not copy.tables["machine"]:
        raise Absent
    for row in copy.tables["machine"]:
        row["server_ns"] = row["span_ns"] * (row["cpus"] + 2) + 10**10


def _unwatched(copy: Copy) -> None:
    if not copy.tables["machine"]:
        raise Absent
    copy.tables["machine"] = []


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


def _other_machine(copy: Copy) -> None:
    """One of twice the CPUs, wherever the run describes it."""
    if not copy.tables["machine"]:
        raise Absent
    copy.run["cpus"] *= 2


def _crowded(copy: Copy) -> None:
    """More sessions were seen than the load had."""
    cycle = {name: copy.busiest[name] for name in ("scale", "stage", "cycle")}
    row = dict.fromkeys(copy.schemas["samples"].names, "") | cycle | {"second": 0, "sessions": 10**6, "looks": 20}
    copy.tables["samples"].append(row)


DOCTORS: dict[str, Doctor] = {
    "counters that go back": _counter_back,
    "a machine watched for less": _watched_less,
    "a machine with too much CPU time": _more_cpu,
    "a machine unwatched": _unwatched,
    "ended before it began": _past,
    "no time for its cycles": _short_run,
    "scales in another order of time": _segments_back,
    "cycles of two runs": _mixed,
    "a server that counted nothing": _unseen("server"),
    "a machine that counted nothing": _unseen("os"),
    "counters that stand still": _other_counters(lambda _: 1.0, "os"),
    "counters below zero": _other_counters(lambda value: -value, "os"),
    "counters that are no numbers": _other_counters(lambda _: float("nan"), "os"),
    "counters without end": _other_counters(lambda _: float("inf"), "os"),
    "described as a larger machine": _other_machine,
    "more sessions than the load has": _crowded,
}
