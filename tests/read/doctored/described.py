"""What somebody did to what a run says of itself: checks, durability, stack, sizes, workload."""

from __future__ import annotations

import re

from tests.read.doctored.copies import Absent, Copy, Doctor, in_row, in_run


def _other_sizes(times: float) -> Doctor:
    def doctor(copy: Copy) -> None:
        for row in copy.tables["phases"]:
            if row["size_bytes"]:
                row["size_bytes"] = round(row["size_bytes"] * times)

    return doctor


def _broken_check(copy: Copy) -> None:
    next(iter(copy.run["checks"].values()))[0]["state"] = "broken"


def _other_count(copy: Copy) -> None:
    done = 0
    for one in next(iter(copy.run["checks"].values())):
        if re.match(r"history \d+, committed", one["detail"]):
            one["detail"] = "history 99999, committed 99999"
            done += 1
    if not done:
        raise Absent


def _contradicting_check(copy: Copy) -> None:
    for one in next(iter(copy.run["checks"].values())):
        if found := re.match(r"history (\d+), committed (\d+)", one["detail"]):
            one["detail"] = f"history {int(found[1]) - 1}, committed {found[2]}"
            return
    raise Absent


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


def _without_layer(name: str) -> Doctor:
    def doctor(copy: Copy) -> None:
        copy.run["stack"] = [layer for layer in copy.run["stack"] if layer["layer"] != name]

    return doctor


DOCTORS: dict[str, Doctor] = {
    "a check that fails": _broken_check,
    "no check": in_run(checks={}),
    "other transactions in the check": _other_count,
    "a check that contradicts itself": _contradicting_check,
    "durability off and called safe": _unsafe,
    "durability off by the target's settings": _asked_unsafe,
    "no switches": in_run(durability=[]),
    "a switch left out": _without_switch,
    "no stack": in_run(stack=[]),
    "no core": _without_layer("core"),
    "no file system": _without_layer("file system"),
    "no server": _without_layer("RDBMS"),
    "another version": in_run(server_version="PostgreSQL 99.1"),
    "scales that were not built": lambda copy: copy.tables.update(phases=[]),
    "a negative time": in_row("phases", duration_ns=2**63),
    "a database of a third of the size": _other_sizes(0.3),
    "a database without a size": _other_sizes(1e-6),
    "a database of a thousand times the size": _other_sizes(1000),
    "a workload called by another name": lambda copy: copy.run["spec"].update(workload="select"),
    "a workload that nobody knows": lambda copy: copy.run["spec"].update(workload="tpcx"),
}
