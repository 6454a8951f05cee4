"""The checks behind ``dsbench doctor``."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import pytest

from dsbench import children, devices, release
from dsbench.check import doctor
from dsbench.check.doctor import Finding
from dsbench.devices import Mount
from dsbench.measure.stack import machine
from dsbench.servers.folder import MARK
from dsbench.servers.postgresql import binaries


def _named(found: list[Finding], name: str) -> Finding:
    return next(f for f in found if f.name == name)


def test_what_is_not_well_has_a_remedy() -> None:
    found = doctor.findings()
    assert [f.name for f in found if not f.ok and not f.remedy] == []
    assert [f.name for f in found if not f.found] == []
    names = [f.name for f in found]
    for name in ("core", "private:sqlite", "private:postgresql", "account", "left-overs", "room", "storage", "clock"):
        assert name in names


def test_file_systems_that_can_be_made_are_told() -> None:
    found = _named(doctor.findings(), "file systems")
    assert "ext4" in found.found
    assert "f2fs" in found.found, "it is not here: why stands beside it"


def test_servers_are_told_with_version_and_place() -> None:
    newest = binaries.found()[0]
    found = _named(doctor.findings(), "private:postgresql")
    assert found == Finding("private:postgresql", True, f"PostgreSQL {newest.version}, {newest.folder}")


def test_a_missing_server_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_folders", lambda: iter(()))
    found = _named(doctor.findings(), "private:postgresql")
    assert not found.ok
    assert "dsbench servers install postgresql" in found.remedy


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
def test_the_superuser_is_told_who_runs_the_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "run as the user" in _named(doctor.findings(), "account").found
    monkeypatch.setattr(children, "_setpriv", lambda: None)
    assert not _named(doctor.findings(), "account").ok


def test_folders_of_dead_runs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(tmp_path))
    assert _named(doctor.findings(), "left-overs").ok
    left = tmp_path / "dsbench-pg-left"
    left.mkdir()
    (left / MARK).write_text('{"owner": 1}')
    found = _named(doctor.findings(), "left-overs")
    assert not found.ok
    assert str(left) in found.found
    assert left.is_dir()


def test_room_is_told_in_scales(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    for free, words in ((2_000_000_000 + 24_000_000 * 999, "up to 500"), (1_000_000_000, "too little")):
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _path, free=free: usage._replace(free=free))
        assert words in _named(doctor.findings(), "room").found


@pytest.mark.parametrize(("kind", "ok"), [("tmpfs", False), ("overlay", False), ("ext4", True)])
def test_the_kind_of_storage_is_judged(kind: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "mounts", lambda: [Mount(Path("/"), "somewhere", kind, ())])
    assert _named(doctor.findings(), "storage").ok is ok


@pytest.mark.parametrize(("limit", "ok"), [((256, 300), False), ((256, 4096), True)])
def test_the_limit_of_open_files_is_judged(limit: tuple[int, int], ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda _what: limit)
    assert _named(doctor.findings(), "open files").ok is ok


@pytest.mark.parametrize(("governor", "ok"), [("performance", True), ("powersave", False), ("", True)])
def test_the_governor_is_judged(governor: str, ok: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "governor", lambda: governor)
    assert _named(doctor.findings(), "CPU frequency").ok is ok


@pytest.mark.parametrize(
    ("online", "quota", "wrong"),
    [(4, None, {}), (3, None, {"CPUs": "3 of 4 CPUs are online"}), (4, 1.5, {"CPU quota": "allows 1.5 of 4 CPUs"})],
)
def test_cpus_that_are_off_or_allowed_in_part_are_told(
    online: int, quota: float | None, wrong: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "read_cpus", lambda: {"present": [0, 1, 2, 3], "online": list(range(online))})
    monkeypatch.setattr(doctor.control_groups, "cpu_limit", lambda _pid: quota)
    found = {f.name: f.found for f in doctor.findings() if f.name.startswith("CPU") and f.name != "CPU frequency" and not f.ok}
    assert found.keys() == wrong.keys()
    assert all(words in found[name] for name, words in wrong.items())


def test_a_counter_that_the_kernel_gave_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_tsc_given_up", lambda: True)
    monkeypatch.setattr(doctor, "_clock_cost_ns", lambda: 1500.0)
    found = _named(doctor.findings(), "clock")
    assert not found.ok
    assert "unstable" in found.found
    assert found.remedy.startswith("see dmesg")


def test_huge_pages_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, ok in (("always", False), ("madvise", True), ("never", True)):
        monkeypatch.setattr(machine, "huge_pages", lambda value=value: value)
        assert _named(doctor.findings(), "transparent huge pages").ok is ok


def test_a_slow_clock_is_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for cost_ns, ok in ((2000.0, False), (40.0, True)):
        monkeypatch.setattr(doctor, "_clock_cost_ns", lambda cost_ns=cost_ns: cost_ns)
        assert _named(doctor.findings(), "clock").ok is ok


def test_extras_that_the_package_offers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_offered", lambda: ["dev", "cluster", "drivers"])
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda module: None if module == "firebird.driver" else object())
    found = _named(doctor._extras(), "extras")
    assert found.ok
    told = "cluster (load from several machines): installed; drivers (other client programs, for comparison): not installed"
    assert found.found == told
    assert found.remedy.endswith(" -m pip install 'dsbench-db[drivers]'")
    monkeypatch.setattr(doctor, "_offered", list)
    assert doctor._extras() == []


def test_the_extras_that_are_told_are_those_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["name"] == release.DISTRIBUTION
    assert set(doctor._EXTRAS) == set(project["optional-dependencies"]) - {"dev"}
    assert doctor._is_there("json.decoder")
    assert not doctor._is_there("nowhere.at.all")


def test_how_to_get_more_servers_is_told() -> None:
    told = _named(doctor.findings(), "more servers").found
    assert "dsbench servers install" in told
    assert not [name for name in ("firebird", "mariadb", "MyRocks", "postgresql", "mysql") if name not in told]


def test_what_has_one_remedy_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_WATCHED_S", 0.0)
    wrong = [("others take a CPU", "end them"), ("the clock jumped", "look"), ("programs waited", "end them")]
    monkeypatch.setattr(doctor, "noticed", lambda *_: iter(wrong))
    known = doctor.Known(doctor.beside())
    before = doctor.look(known)
    assert before is not None
    assert [(one.found, one.remedy) for one in doctor._others(known, before, 0.0)] == [
        ("others take a CPU; programs waited", "end them"), ("the clock jumped", "look"),
    ]  # fmt: skip
