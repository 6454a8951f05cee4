"""One field of a description changed, its digests and figures made again: what contradicts the archive is refused, and
what nothing in it shows is told as claimed."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from tests.read.doctored.copies import Copy

from dsbench.archive import Archive
from dsbench.commons import audit
from dsbench.commons.about import EntryError, PublisherNotes, RefusedError
from dsbench.commons.entry import Package, write
from dsbench.commons.figures import describe
from dsbench.commons.packing import prepare
from dsbench.commons.verifying import verify
from fixtures.thorough import mostly_thorough

PUBLISHED = Path(__file__).parents[1] / "data/published"
BASES = ("pg-open", "mariadb", "pg-serializable")
REFUSED: Final[Mapping[str, tuple[str, Any]]] = {
    "isolation in force": ("isolation", "repeatable-read"),
    "isolation that was asked for": ("spec.isolation", "repeatable-read"),
    "open loop of one start": ("spec.rate", 1.0),
    "objective": ("spec.objective", "p99=20ms"),
    "graduated": ("spec.graduated", True),
    "legs": ("spec.load", "0s:10, 3s:end"),
    "terminals": ("spec.pace", "terminals"),
    "search of clients": ("spec.peak", True),
    "precision": ("spec.precision", 0.1),
    "ramp-up": ("spec.ramp_up", 60.0),
    "connections": ("spec.connections", 50),
    "another client": ("spec.driver", "pgbench"),
    "reconnect": ("spec.reconnect", True),
    "statements": ("call", "statements"),
    "clients": ("spec.clients", 64),
    "cycles": ("spec.cycles", 10),
    "duration": ("spec.duration", 60.0),
    "scales": ("spec.scales", [1, 2, 5, 10]),
    "memory of the server": ("settings.{cache}", "16MB"),
    "limit of memory": ("spec.limits", {"memory": "256MiB"}),
    "limit of CPUs": ("spec.limits", {"cpus": "0.5"}),
    "file system": ("spec.storage", {"type": "xfs"}),
    "a version to come": ("dsbench", "99.0"),
    "a version that is a formula": ("dsbench", "=1+1"),
    "no engine": ("engine", ""),
    "another engine": ("engine", "firebird"),
    "no calibration": ("calibration", None),
    "CPUs": ("cpus", 64),
    "nodes": ("spec.nodes", 4),
    "tables that were there": ("spec.existing", True),
    "workload": ("spec.workload", "select"),
    "label of the workload": ("workload.label", "TPC-C"),
    "status": ("status", "cut-short"),
    "checks": ("checks", {}),
    "server": ("server_version", "PostgreSQL 99.1"),
}  # fmt: skip
"""What is said where, and is not true of two of the bases at least."""
CLAIMED: Final[Mapping[str, tuple[str, Any]]] = {
    "prepared": ("spec.prepare", True),
    "population": ("spec.population", "procedure"),
    "os_threads": ("spec.os_threads", 2),
    "day": ("started", "2020-01-01T00:00:00+00:00"),
    "a setting": ("settings.random_page_cost", "1"),
    "profile": ("spec.profile", "dsi"),
}
"""What no table shows."""


def _told(base: str, path: str, value: Any) -> Copy:
    changed = Copy(PUBLISHED / f"{base}.zip")
    cache = "shared_buffers" if base.startswith("pg") else "innodb_buffer_pool_size"
    *within, name = path.format(cache=cache).split(".")
    place = changed.run
    for part in within:
        place = place[part]
    place[name] = value
    return changed


@pytest.mark.parametrize("lie", mostly_thorough(REFUSED, "objective", "clients", "memory of the server", "workload", "checks"))
def test_a_single_lie_that_the_archive_contradicts_is_refused(lie: str, tmp_path: Path) -> None:
    refused = set()
    for base in BASES:
        path = tmp_path / f"{base}.zip"
        path.write_bytes(_told(base, *REFUSED[lie]).packed())
        try:
            prepare(path, PublisherNotes())
        except RefusedError:
            refused.add(base)
    assert len(refused) >= 2, lie


def test_whether_collisions_were_tried_again_shows_where_there_were_some(tmp_path: Path) -> None:
    path = tmp_path / "lie.zip"
    for base, lie, said in (("pg-serializable", False, "without --retry"), ("../archives/pg", True, "none was retried")):
        path.write_bytes(_told(base, "spec.retry", lie).packed())
        assert any(said in wrong.sentence for wrong in audit.audit(Archive.open(path))), base


@pytest.mark.parametrize("lie", mostly_thorough(CLAIMED, "population", "profile"))
def test_what_no_table_shows_is_told_as_claimed(lie: str, tmp_path: Path) -> None:
    path = tmp_path / "lie.zip"
    path.write_bytes(_told("pg-open", *CLAIMED[lie]).packed())
    honest = describe(Archive.open(PUBLISHED / "pg-open.zip"))
    said = describe(Archive.open(path))
    verify(write(prepare(path, PublisherNotes()), tmp_path / "cm"))
    assert {name for name in said if said[name] != honest[name]} <= {"claimed", "measured"}
    assert (said == honest) == (lie == "profile")


def test_an_entry_of_more_rows_than_its_cycles_leave_ends_before_they_are_added_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes in a zip, and minutes for each rule that looks at every row."""
    package = prepare(PUBLISHED / "pg-open.zip", PublisherNotes())
    base = Copy(PUBLISHED / "pg-open.zip")

    def fail(_: Any) -> Any:
        raise AssertionError("a rule looked at the rows")

    monkeypatch.setattr(audit, "RULES", dict.fromkeys(audit.RULES, fail))
    for table, times, said in (("phases", 100, "its 5 cycles leave 350 at most"), ("groups", 2, "leave 5 at most"),
                               ("phases", 20_000, "an entry at most 200,000"), ("machine", 2, "leave 7 at most"),
                               ("programs", 400, "leave 350 at most")):  # fmt: skip
        changed = copy.deepcopy(base)
        changed.tables[table] *= times
        path = tmp_path / "bomb.zip"
        path.write_bytes(changed.packed())
        with pytest.raises(RefusedError, match=said):
            prepare(path, PublisherNotes())
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        told = {"sha256": digest, "id": f"{package.entry.id[:-10]}{digest[:10]}"}
        folder = write(Package(package.entry.model_copy(update=told), content, {}), tmp_path / "cm")
        with pytest.raises(EntryError, match=said):
            verify(folder)
