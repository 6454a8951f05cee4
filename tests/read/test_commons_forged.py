"""Archives that somebody forged who knows the rules are refused, in cycles that are long enough for counters to tell."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from tests.read.doctored import queries
from tests.read.doctored.copies import ARCHIVES, Absent, Copy
from tests.read.doctored.forged import DOCTORS

from dsbench.archive import Archive
from dsbench.commons.audit import audit
from fixtures.thorough import mostly_thorough

PUBLISHED = Path(__file__).parents[1] / "data/published"
BASES = ("pg-serializable", "pg-open", "mariadb")
"""TPC-B-like in cycles of three seconds with a ramp-up: serializable transactions that are tried again, and an open loop,
and MariaDB."""


@pytest.fixture(scope="module")
def bases() -> dict[str, Copy]:
    return {name: Copy(PUBLISHED / f"{name}.zip") for name in BASES}


@pytest.mark.parametrize("base", BASES)
def test_the_archives_that_are_forged_are_sound(base: str, bases: dict[str, Copy], tmp_path: Path) -> None:
    assert audit(Archive.open(PUBLISHED / f"{base}.zip")) == []
    path = tmp_path / "again.zip"
    path.write_bytes(bases[base].packed())
    assert audit(Archive.open(path)) == []


@pytest.mark.parametrize("name", mostly_thorough(DOCTORS, *list(DOCTORS)[::5]))
def test_a_forged_archive_is_refused(name: str, bases: dict[str, Copy], tmp_path: Path) -> None:
    tried = 0
    for base in BASES:
        changed = copy.deepcopy(bases[base])
        try:
            DOCTORS[name](changed)
        except Absent:
            continue
        tried += 1
        path = tmp_path / f"{base}.zip"
        path.write_bytes(changed.packed())
        assert audit(Archive.open(path)), base
    assert tried


OF_QUERIES = (PUBLISHED / "tpch.zip", ARCHIVES / "pg-tpcc.zip")
"""TPC-H-like with two runs of both tests, and TPC-C-like, unpaced."""


@pytest.mark.parametrize("name", mostly_thorough(queries.DOCTORS, *list(queries.DOCTORS)[::5]))
def test_forged_queries_and_orders_are_refused_by_the_rule_for_them(name: str, tmp_path: Path) -> None:
    doctor, rule = queries.DOCTORS[name]
    tried = 0
    for base in OF_QUERIES:
        assert audit(Archive.open(base)) == []
        changed = Copy(base)
        try:
            doctor(changed)
        except Absent:
            continue
        tried += 1
        path = tmp_path / base.name
        path.write_bytes(changed.packed())
        assert rule in [one.rule for one in audit(Archive.open(path))], base.name
    assert tried
