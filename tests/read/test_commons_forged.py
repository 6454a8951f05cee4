"""Archives that somebody forged who knows the rules are refused, in cycles that are long enough for counters to tell."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from tests.read.doctored.copies import Absent, Copy
from tests.read.doctored.forged import DOCTORS

from dsbench.archive import Archive
from dsbench.read.commons.audit import audit

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


@pytest.mark.parametrize("name", DOCTORS)
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
