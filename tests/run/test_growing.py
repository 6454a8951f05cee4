"""A database that grows from scale to scale is as one that was made at its scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.read.subjects.rate import RateResult
from fixtures.thorough import mostly_thorough
from fixtures.told import summary_text

ASKED: dict[str, Any] = {"cycles": 1, "duration": 0.5, "clients": 2, "seed": 1}


def phases(archive: Archive, scale: int) -> dict[str, dict[str, int]]:
    return {row["phase"]: row for row in archive.table("phases").to_pylist() if row["scale"] == scale}


@pytest.mark.parametrize(
    ("product", "workload"),
    mostly_thorough(
        [("postgresql", "tpcb"), ("mariadb", "tpcb"), ("sqlite", "tpcb"), ("sqlite", "select")], ("sqlite", "tpcb")
    ),
)
def test_it_has_the_size_of_a_fresh_one_and_keeps_its_conditions(product: str, workload: str, tmp_path: Path) -> None:
    grown, fresh = (
        dsbench.run(f"private:{product}", workload=workload, scales=scales, grow=True, out=tmp_path, **ASKED)
        for scales in ((1, 2), (2,))
    )
    assert not grown.run.broken
    assert set(grown.run.checks) == {1, 2}
    did, whole = phases(grown, 2), phases(fresh, 2)
    assert set(did) == set(whole) - {"create"} | {"reset"}
    assert (did["populate"]["rows"], whole["populate"]["rows"]) == (100_011, 200_022)
    assert did["foreign_key"]["size_bytes"] == pytest.approx(whole["foreign_key"]["size_bytes"], rel=0.02)
    assert ["drop" in phases(grown, x) for x in (1, 2)] == [False, True]
    took = did["reset"]["duration_ns"] + did["populate"]["duration_ns"]
    found = grown.evaluate()
    assert found.of(RateResult).scales[1].populate_s == pytest.approx(took / 1e9)
    assert found.of(RateResult).grown == {2}
    first, second = (line.split()[-1] for line in summary_text(found).splitlines()[1:3])
    assert (first.endswith("+"), second.endswith("+")) == (False, True)
    assert "--grow" in summary_text(found)


def test_what_does_not_come_to_the_same_is_made_anew(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", scales=(1, 2), grow=True, out=tmp_path, **ASKED)
    assert {"create", "drop"} <= set(phases(archive, 1)) & set(phases(archive, 2))
    assert "scale 2 is loaded from scratch and not grown: mock keeps no data" in archive.read("results.log").decode()


@pytest.mark.parametrize(
    ("workload", "settings", "there", "why"),
    [
        ("tpcb", {}, 10, "other keys at the smaller scale"), ("tpcb", {"keys": "64"}, 10, ""), ("select", {}, 22_000, ""),
        ("select", {}, 30_000, "a smaller scale"), ("tpcc", {}, 10, "no rows that could be added"), ("tp1", {}, 10, "no reset"),
    ],
)  # fmt: skip
def test_it_is_told_why_not(workload: str, settings: dict[str, str], there: int, why: str) -> None:
    target = TargetDatabase("postgresql://nobody@localhost/none")
    lacks = Bench(target, workload, 30_000, None, settings).lacks(there)
    assert (why in lacks, bool(lacks)) == (True, bool(why))
