"""What somebody did to what clients counted and timed: rates, histograms, courses."""

from __future__ import annotations

from tests.read.doctored.copies import ARCHIVES, Absent, Copy, Doctor, in_row


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
    uncounted(copy)
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
    uncounted(copy)
    for row in copy.tables["cycles"]:
        for name in ("committed", "rolled_back", "residence_ns"):
            row[name] *= 3
        row["residence_min_ns"], row["residence_max_ns"] = row["residence_min_ns"] // 3, row["residence_max_ns"] // 3
        row["residence_ns"] //= 3
    for row in copy.tables["buckets"]:
        row["low_ns"], row["high_ns"], row["count"] = row["low_ns"] // 3, row["high_ns"] // 3, row["count"] * 3
    for row in copy.tables["seconds"]:
        row["count"], row["max_ns"], row["p50_ns"] = row["count"] * 3, row["max_ns"] // 3, row["p50_ns"] // 3


def uncounted(copy: Copy) -> None:
    for scale, conditions in copy.run["checks"].items():
        copy.run["checks"][scale] = [one for one in conditions if "committed" not in one["detail"]]
    copy.tables["sums"] = []


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
    keys = ("scale", "stage", "cycle", "node", "clients", "group", "kind")
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
            numbers = {row["clients"] for row in copy.at(name, scale=best["scale"])}
            same = [{**row, "clients": min(numbers) if len(numbers) > 1 else row["clients"]} for row in same]
        copy.tables[name] += same


def _low_ceiling(copy: Copy) -> None:
    if copy.busiest["committed"] < 500:
        raise Absent  # It is slower than any ceiling that is believed.
    for one in copy.run["calibration"]["ceilings"]:
        one["rate_tps"] = 250.0


def _without_client(copy: Copy) -> None:
    row = copy.busiest
    copy.leave_out("cycles", **copy.of_cycle(row), client=row["client"])


def _renamed_kind(copy: Copy) -> None:
    for name in ("cycles", "buckets", "seconds"):
        for row in copy.tables[name]:
            row["kind"] = "fast"


DOCTORS: dict[str, Doctor] = {
    "a rate raised": lambda copy: _more(copy),
    "one transaction more": lambda copy: _more(copy, times=1.0),
    "a rate raised, with its histogram": lambda copy: _more(copy, "buckets"),
    "a rate raised, with its course": lambda copy: _more(copy, "seconds"),
    "a rate raised, with both": lambda copy: _more(copy, "buckets", "seconds", times=2),
    "a rate raised, with all": lambda copy: _more(copy, "buckets", "seconds", times=2, spent=True),
    "all rates raised": _all_more,
    "all counts doubled": _everything_more,
    "all times halved": _faster,
    "histograms swapped": _swapped_histograms,
    "a histogram of another run": _foreign_histogram,
    "no histogram": lambda copy: copy.tables.update(buckets=[]),
    "a histogram without its tail": _without_tail,
    "a tail made shorter": _short_tail,
    "a greatest time made smaller": in_row("cycles", residence_max_ns=lambda row: row["residence_min_ns"]),
    "a least time above the greatest": in_row("cycles", residence_min_ns=lambda row: row["residence_max_ns"] + 1),
    "a sum of times halved": in_row("cycles", residence_ns=lambda row: row["residence_ns"] // 2),
    "failures forgotten": in_row("cycles", failed=3),
    "more retries than failures": in_row("cycles", retries=10**6),
    "an end after the cycle": in_row("cycles", last_end_ns=10**13),
    "an end before the start": in_row("cycles", first_start_ns=lambda row: row["last_end_ns"] + 1),
    "no course": lambda copy: copy.tables.update(seconds=[]),
    "a course that goes on": in_row("seconds", second=10**6),
    "a course with other counts": in_row("seconds", count=lambda row: row["count"] + 50),
    "a cycle copied": _copied_cycle,
    "faster than the client can be": _low_ceiling,
    "a client left out": _without_client,
    "a client twice": lambda copy: copy.tables["cycles"].append(dict(copy.busiest)),
    "another transaction": _renamed_kind,
    "all times halved, their counts left": _halved,
    "twice as fast, and nothing counts": _twice_as_fast,
    "three times as fast, and nothing counts": _three_times_as_many,
    "more remote transactions than any": in_row("cycles", remote=10**9),
    "failures in the course only": in_row("seconds", failed=10**6),
    "a course with a longer time": in_row("seconds", max_ns=10**12),
    "a bucket of its own": in_row("buckets", low_ns=2**30 + 1, high_ns=2**30 + 9),
    "endless counts": in_row("cycles", committed=2**62),
}
