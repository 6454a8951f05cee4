"""Where PostgreSQL's programs are looked for, and which of several is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsbench import spec
from dsbench.servers import installations
from dsbench.servers.errors import ServerError
from dsbench.servers.postgresql import binaries
from dsbench.servers.postgresql.binaries import PostgresBinaries


def _install(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    for name in ("postgres", "initdb"):
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{name} (PostgreSQL) {version} (of a test)'\n")
        program.chmod(0o755)
    return folder


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which programs lie below the folder given, one version each."""
    monkeypatch.setattr(binaries, "_PLACES", (f"{tmp_path}/*/bin",))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("DSBENCH_SERVERS", "/nowhere")
    return tmp_path


def test_the_newest_is_taken_and_a_wish_is_heard(only: Path) -> None:
    for version in ("9.6.24", "14.9", "15.2", "15.18", "18beta1", "18rc1"):
        _install(only / version / "bin", version)
    assert [b.version for b in binaries.found()][2:] == ["15.18", "15.2", "14.9", "9.6.24"]
    assert binaries.find(None).version in ("18beta1", "18rc1")
    assert binaries.find("15").version == "15.18"
    assert binaries.find("15.2").version == "15.2"
    assert binaries.find("9.6").version == "9.6.24"
    with pytest.raises(spec.SpecError, match=r"no PostgreSQL 1 "):
        binaries.find("1")


def test_a_version_that_can_be_had_is_named_with_its_command(only: Path) -> None:
    _install(only / "15" / "bin", "15.2")
    for wish, words in (("17", "dsbench servers install postgresql --version 17"), ("9.4", "private:postgresql?basedir=FOLDER")):
        with pytest.raises(spec.NotHere) as caught:
            binaries.find(wish)
        assert caught.value.remedy.startswith("use one of 15.2; or ")
        assert words in caught.value.remedy
    with pytest.raises(spec.SpecError, match=r"contains PostgreSQL 15\.2, and not 17"):
        binaries.find_in(only / "15", "17")


def test_a_release_comes_after_its_candidates() -> None:
    order = [PostgresBinaries(Path(), v).order for v in ("18beta2", "18.0", "18.1", "19devel")]
    assert order == sorted(order)


def test_nothing_found_says_how_to_get_one(only: Path) -> None:
    with pytest.raises(ServerError) as caught:
        binaries.find(None)
    assert "dsbench servers install postgresql" in caught.value.remedy
    missing = next(i for i in installations() if i.product == "postgresql")
    assert (missing.version, missing.path) == ("", None)
    assert missing.remedy == caught.value.remedy


def test_a_folder_without_initdb_and_one_that_fails_are_passed_over(only: Path) -> None:
    (_install(only / "client" / "bin", "16.1") / "initdb").unlink()
    broken = _install(only / "broken" / "bin", "16.2") / "postgres"
    broken.write_text("#!/bin/sh\nexit 1\n")
    assert binaries.found() == []


def test_a_link_leads_to_the_companions_and_counts_once(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _install(only / "15" / "bin", "15.18")
    links = only / "links"
    links.mkdir()
    (links / "postgres").symlink_to(home / "postgres")
    monkeypatch.setenv("PATH", str(links))
    assert binaries.found() == [PostgresBinaries(home, "15.18")]


def test_the_versions_of_this_machine_are_offered() -> None:
    offered = [i for i in installations() if i.product == "postgresql"]
    assert [i.version.partition(",")[0] for i in offered] == [f"PostgreSQL {b.version}" for b in binaries.found()]
    assert ["blocks of" in i.version for i in offered] == [b.block is not None for b in binaries.found()]
    assert all(i.path is not None and (i.path / "psql").exists() for i in offered)


def test_programs_with_other_blocks_are_taken_by_these_only(only: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSBENCH_SERVERS", str(only / "own"))
    monkeypatch.setattr(binaries, "_PLACES", (f"{only}/usual-*/bin",))
    _install(only / "usual-15" / "bin", "15.18")
    for name, version in (("postgresql-15-16k", "15.20"), ("postgresql-14-16k", "14.9"), ("postgresql-18.6", "18.6")):
        _install(only / "own" / name / "bin", version)
    assert binaries.find(None).version == binaries.find("15").version == "15.18"
    assert binaries.find(None, 8).version == "15.18", "without a build of that size: the usual one"
    assert binaries.find(None, 16).version == "15.20"
    assert binaries.find("14", 16).version == "14.9"
    _install(only / "own" / "postgresql-15-8k" / "bin", "15.20")
    assert binaries.find(None, 8).version == "15.20", "builds that are alike are compared"
    assert binaries.find(None).version == "15.18"
    with pytest.raises(spec.SpecError) as refused:
        binaries.find("15", 32)
    assert "dsbench servers install postgresql --version 15 --block-size 32" in refused.value.remedy
