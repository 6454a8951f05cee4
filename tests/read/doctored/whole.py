"""What somebody did to a whole run: cycles and scales left out, times and loads called others."""

from __future__ import annotations

from tests.read.doctored.copies import Absent, Copy, Doctor, in_run


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
        raise Absent
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


def _fewer_threads(copy: Copy) -> None:
    copy.run["spec"]["clients"] = 1
    for name in ("groups",):
        for row in copy.tables[name]:
            row["all_clients"] = 1


def _without_groups(copy: Copy) -> None:
    copy.tables["groups"] = []


def _without_machine(copy: Copy) -> None:
    copy.tables["machine"] = []


def _open_loop(copy: Copy) -> None:
    """Called an open loop, of fewer starts than transactions."""
    if not copy.tables["groups"]:
        raise Absent
    for row in copy.tables["groups"]:
        row |= {"pacing": "poisson", "rate_per_s": 1.0}


def _searched(copy: Copy) -> None:
    """Called the result of a search, whose steps follow from nothing."""
    if not copy.tables["groups"]:
        raise Absent
    copy.run["spec"] |= {"objective": "p99=20ms", "peak": False}
    for row in copy.tables["groups"]:
        row |= {"pacing": "poisson", "rate_per_s": 1e6}


def _graduated(copy: Copy) -> None:
    """Called a graduated load, of which only the highest level is there."""
    if not copy.tables["groups"]:
        raise Absent
    copy.run["spec"]["graduated"] = True
    for row in copy.tables["groups"]:
        row |= {"level": 100.0, "rate_per_s": 1e6, "pacing": "poisson"}


DOCTORS: dict[str, Doctor] = {
    "cycles shortened": _shorter,
    "cycles lengthened": _longer,
    "cycles shortened in a table": _shorter_groups,
    "a cycle left out": _without_cycle,
    "the last cycle left out": _without_last_cycle,
    "a scale left out": _without_scale,
    "a scale left out, and not asked for": _without_asked_scale,
    "still running": in_run(status="running"),
    "failed": in_run(status="failed"),
    "fewer clients": _fewer_threads,
    "scales exchanged": _swapped_scales,
    "groups left out": _without_groups,
    "what the machine did left out": _without_machine,
    "called an open loop": _open_loop,
    "called a search": _searched,
    "called a graduated load": _graduated,
}
