"""What somebody did who knows the rules, for a better QphH or NOPM: to queries, answers, New-Orders, terminals."""

from __future__ import annotations

import re

from tests.read.doctored.copies import Absent, Copy, Doctor


def _only(workload: str, doctor: Doctor) -> Doctor:
    def doctored(copy: Copy) -> None:
        if copy.run["spec"]["workload"] != workload:
            raise Absent
        doctor(copy)

    return doctored


def _without(copy: Copy, *stages: str) -> None:
    for name, rows in copy.tables.items():
        copy.tables[name] = [row for row in rows if row.get("stage") not in stages]
    for scale, conditions in copy.run["checks"].items():
        copy.run["checks"][scale] = [one for one in conditions if one["name"].removeprefix("answers of ") not in stages]


def _one_run(copy: Copy) -> None:
    """The second run of the tests was slower, and is gone from all tables and from the check."""
    _without(copy, "power2", "throughput2")


def _one_run_of_stages(copy: Copy) -> None:
    """The same, and the archive tells of no such stages."""
    _one_run(copy)
    copy.run["stages"] = [stage for stage in copy.run["stages"] if not stage["name"].endswith("2")]


def _more_streams(copy: Copy) -> None:
    """A third stream in each throughput test, whose times are a little other than those of the second."""
    for table in ("cycles", "buckets", "seconds"):
        for row in [row for row in copy.tables[table] if row["stage"].startswith("throughput") and row["group"] == "query"]:
            if row.get("client", 1) == 1 and table == "cycles":
                copy.tables[table].append({**row, "client": 2})
            elif table != "cycles":
                row["count"] += row["count"] // 2
    for row in copy.at("groups", group="query"):
        row["all_clients"] = row["clients"] = 3
    for conditions in copy.run["checks"].values():
        for one in conditions:
            one["detail"] = one["detail"].replace("44 of 44", "66 of 66")


def _wrong_answers(copy: Copy) -> None:
    """Answers that are wrong are called right."""
    for conditions in copy.run["checks"].values():
        for one in conditions:
            one["detail"] = re.sub(r"^22 of 22 .*", "20 of 22 are those of DuckDB; Q2 of stream 0: 3 rows, and 5", one["detail"])


def _no_answers(copy: Copy) -> None:
    """The check does not tell of the answers of one stage, which were wrong."""
    for scale, conditions in copy.run["checks"].items():
        copy.run["checks"][scale] = [one for one in conditions if one["name"] != "answers of throughput1"]


def _lacking_rows(copy: Copy) -> None:
    """Some rows were never loaded, and the check is called one that holds."""
    for conditions in copy.run["checks"].values():
        for one in conditions:
            one["detail"] = re.sub(r"^(\d+), expected|^found (\d+), scale", lambda found: found[0].replace(
                found[1] or found[2], str(int(found[1] or found[2]) - 1)), one["detail"])  # fmt: skip


def _quick_query(copy: Copy) -> None:
    """The slowest query of a power test, which took a minute, took a tenth of that; what came after it stayed where it was."""
    mine = copy.at("cycles", stage="power1")
    slowest = max(mine, key=lambda row: row["residence_ns"])
    more = 60 * 10**9
    for row in mine:
        if row["first_start_ns"] > slowest["first_start_ns"]:
            row.update({name: row[name] + more for name in ("first_start_ns", "last_end_ns")})
    for row in copy.at("groups", stage="power1"):
        row["duration_ns"] += more


def _at_the_same_time(copy: Copy) -> None:
    """Streams were shorter: each query began before the one before had ended."""
    for row in copy.tables["cycles"]:
        if row["stage"].startswith("throughput") and row["group"] == "query":
            row.update({name: row[name] // 2 for name in ("first_start_ns",)})
            row["last_end_ns"] = row["first_start_ns"] + row["residence_ns"]


def _committed_all(copy: Copy) -> None:
    """New-Orders that were entered to be rolled back count as committed."""
    for row in copy.at("cycles", kind="new_order"):
        row["committed"] += row["rolled_back"]
        row["rolled_back"] = 0


def _none_rolled_back(copy: Copy) -> None:
    """The same, in a run a hundred times as long, and no client was to roll back."""
    for row in copy.at("sums", name="new_orders"):
        row["value"] *= 100
    for row in copy.at("sums", name="new_orders_rolled_back"):
        row["value"] = 0
    for row in copy.at("cycles", kind="new_order"):
        row |= {"committed": 100 * (row["committed"] + row["rolled_back"]), "rolled_back": 0}


def _people(copy: Copy) -> None:
    """Clients that never waited are called people at ten terminals of each warehouse."""
    copy.run["spec"] |= {"pace": "terminals", "terminals": None}
    for row in copy.tables["groups"]:
        row["pacing"] = "terminals"


def _people_by_name(copy: Copy) -> None:
    """The same, said of what was asked for alone."""
    copy.run["spec"] |= {"pace": "terminals", "terminals": None}


DOCTORS: dict[str, tuple[Doctor, str]] = {
    "the slower run of the tests left out": (_only("tpch", _one_run), "ladder"),
    "the slower run and its stages left out": (_only("tpch", _one_run_of_stages), "queries"),
    "a stream more": (_only("tpch", _more_streams), "queries"),
    "wrong answers called right": (_only("tpch", _wrong_answers), "queries"),
    "the answers of a stage left out": (_only("tpch", _no_answers), "queries"),
    "rows that were never loaded": (_lacking_rows, "checks"),
    "a minute of a query left out": (_only("tpch", _quick_query), "queries"),
    "queries of a stream at the same time": (_only("tpch", _at_the_same_time), "queries"),
    "New-Orders to be rolled back that were committed": (_only("tpcc", _committed_all), "sums"),
    "no New-Order that was to be rolled back": (_only("tpcc", _none_rolled_back), "sums"),
    "clients that never wait called people at terminals": (_only("tpcc", _people), "terminals"),
    "terminals by what was asked for alone": (_only("tpcc", _people_by_name), "terminals"),
}
"""With the rule that has to find each."""
