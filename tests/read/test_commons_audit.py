"""A commons refuses what cannot be true: archives in which somebody changed something are found, others pass."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
from tests.read.doctored import counters, counts, described, whole
from tests.read.doctored.copies import ARCHIVES, Absent, Copy

from dsbench.archive import Archive
from dsbench.commons.audit import audit

SOUND = sorted(path for path in ARCHIVES.glob("*.zip") if path.stem != "cut")
BASES = ("pg-tpcc", "pg")
DOCTORS = counts.DOCTORS | whole.DOCTORS | counters.DOCTORS | described.DOCTORS
"""What somebody did to an archive. All digests and figures of its entry are made again afterwards: nothing but the
archive itself can say that it is not true."""


@pytest.fixture(scope="module")
def bases() -> dict[str, Copy]:
    return {name: Copy(ARCHIVES / f"{name}.zip") for name in BASES}


def doctored() -> list[tuple[str, str]]:
    return [(base, name) for base in BASES for name in DOCTORS]


@pytest.mark.thorough
def test_a_hundred_doctored_archives_are_refused(bases: dict[str, Copy], tmp_path: Path) -> None:
    refused, passed, absent = 0, [], []
    for base, name in doctored():
        changed = copy.deepcopy(bases[base])
        try:
            DOCTORS[name](changed)
        except Absent:
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


def test_a_rate_beyond_the_ceiling_of_its_client_is_refused(tmp_path: Path) -> None:
    changed, path = Copy(ARCHIVES / "mariadb.zip"), tmp_path / "doctored.zip"
    DOCTORS["faster than the client can be"](changed)
    path.write_bytes(changed.packed())
    assert {one.rule for one in audit(Archive.open(path))} == {"ceilings"}


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.stem)
def test_a_sound_archive_passes_whole_and_written_again(path: Path, tmp_path: Path) -> None:
    assert audit(Archive.open(path)) == []
    again = tmp_path / "again.zip"
    again.write_bytes(Copy(path).packed())
    assert audit(Archive.open(again)) == []


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
    changed.run["spec"] |= {"min_duration": 0.5, "precision": 5.0}
    assert "kept rows" not in rules(10**6)


def test_a_difference_of_counters_may_go_back_and_a_counter_may_not(bases: dict[str, Copy], tmp_path: Path) -> None:
    """InnoDB's hits are requests less reads, and a long query adds its requests late."""
    changed = copy.deepcopy(bases["pg"])
    last = max((row for row in changed.tables["monitors"] if row["metric"] == "blocks_hit"), key=lambda row: row["at_ns"])
    last["value"] = 0.0
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
