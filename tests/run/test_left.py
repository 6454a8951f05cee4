"""What a killed run has left to do: its check, its database, its report; one program at a time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

import dsbench
from dsbench.archive import Archive, Writer, claimed
from dsbench.archive.conditions import State
from fixtures.kept import finished, warned
from fixtures.program import Program, described, only_archive
from fixtures.thorough import mostly_thorough

SMALL = {"scales": (1,), "cycles": 2, "duration": 0.3, "clients": 2, "seed": 1}
DIES = """
import os, signal, sys, dsbench
class Dies(dsbench.Silent):
    def moment(self, moment):
        if (moment.phase, moment.cycle) == (sys.argv[2], int(sys.argv[3])):
            os.kill(os.getpid(), signal.SIGKILL)
dsbench.run(sys.argv[1], observer=Dies(), out="out", scales=(1,), cycles=2, duration=0.3, clients=2, seed=1)
"""


def killed_in(phase: str, target: str, folder: Path, cycle: int = 0) -> Path:
    """The archive of a run that is killed at the beginning of ``phase``."""
    command = [sys.executable, "-c", DIES, target, phase, str(cycle)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return only_archive(folder / "out")


def rows(archive: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = Archive.open(archive).table("cycles").to_pylist()
    return found


@pytest.mark.parametrize("damaged", mostly_thorough([False, True], True))
def test_a_run_killed_before_its_check_makes_it_on_the_database_that_is_there(tmp_path: Path, damaged: bool) -> None:
    database = tmp_path / "run.db"
    archive = killed_in("check", f"sqlite:///{database}", tmp_path)
    before = rows(archive)
    assert "checks" not in described(archive) or described(archive)["checks"] == {}
    if damaged:
        with sqlite3.connect(database) as session:
            session.execute("DELETE FROM history WHERE rowid IN (SELECT max(rowid) FROM history)")
        session.close()
    again = dsbench.resume(archive, trust=True)
    (checked,) = again.run.checks.values()
    assert all(condition.state is State.HOLDS for condition in checked) is not damaged
    assert (again.run.status, rows(archive), again.sealed) == ("complete", before, True)
    assert warned(again) == []
    assert not database.exists()
    assert "drop" in again.table("phases").column("phase").to_pylist()


def test_a_check_is_made_on_another_database_where_that_of_the_cycles_is_gone(tmp_path: Path) -> None:
    archive = killed_in("check", "private:sqlite", tmp_path)
    before = rows(archive)
    again = dsbench.resume(archive)
    assert [len(conditions) > 0 for conditions in again.run.checks.values()] == [True]
    assert (again.run.status, rows(archive), again.run.broken) == ("complete", before, {})
    (words,) = [words for code, words in warned(again) if code == "resumed"]
    assert "scale 1: the run was killed before the check" in words


def test_what_a_load_that_is_not_counted_left_is_no_database_to_check(tmp_path: Path) -> None:
    """The resumed run is killed as well, in the load that it makes for the check alone."""
    database = tmp_path / "run.db"
    archive = killed_in("check", f"sqlite:///{database}", tmp_path)
    database.unlink()
    for beside in tmp_path.glob("run.db-*"):
        beside.unlink()
    script = DIES.replace('dsbench.run(sys.argv[1], observer=Dies(), out="out"', "dsbench.resume(sys.argv[1], trust=True, observer=Dies()")
    script = script.split(", scales=")[0] + ")"
    command = [sys.executable, "-c", script, str(archive), "cycle", "2"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == -signal.SIGKILL
    assert database.exists()
    again = dsbench.resume(archive, trust=True)
    assert (again.run.status, again.run.broken, finished(archive)) == ("complete", {}, [1, 2])


@pytest.mark.parametrize("command", [("run", "--resume"), ("plot", "--fresh")])
def test_a_run_that_was_killed_while_it_was_sealed_can_be_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Program, command: tuple[str, ...]
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "pack", killed)
        with pytest.raises(KeyboardInterrupt):
            dsbench.run("private:sqlite", out=tmp_path / "out", **SMALL)
    archive = only_archive(tmp_path / "out")
    (archive / "report.html.part").write_text("half of it")
    (archive / "report.html").unlink()
    assert (described(archive)["status"], Archive.open(archive).sealed) == ("complete", False)
    again = called(*command, str(archive))
    assert (again.returncode, again.stderr.count("error")) == (0, 0), again.stderr
    packed = Archive.open(archive.with_name(archive.name + ".zip"))
    assert (finished(packed.path), Archive.open(archive).sealed) == ([1, 2], True)
    assert "report.html" in packed.names()
    assert not any(name.endswith(".part") for name in packed.names())
    refused = called("run", "--resume", str(archive))
    assert (refused.returncode, "there is nothing to resume" in refused.stderr) == (2, True)


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting a small disk needs root")
@pytest.mark.parametrize(
    ("step", "command"),
    mostly_thorough(
        [("text", ("plot", "--fresh")), ("seal", ("run", "--resume")), ("pack", ("run", "--resume")), ("pack", ("plot", "--fresh"))],
        ("seal", ("run", "--resume")),
    ),
)
def test_a_run_whose_disk_was_full_while_it_was_sealed_can_be_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: Program, step: str, command: tuple[str, ...]
) -> None:
    """Before the report is written, the tables are merged, or the zip is made."""
    (small := tmp_path / "out").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=True)
    try:
        real, filler = getattr(Writer, step), small / "filler"

        def full(writer: Writer, *arguments: str) -> Path:
            if described(writer.path)["status"] == "complete":
                with filler.open("ab", buffering=0) as file, suppress(OSError):
                    while True:
                        file.write(bytes(4096))
            made: Path = real(writer, *arguments)
            return made

        with monkeypatch.context() as patched:
            patched.setattr(Writer, step, full)
            done = called("run", "private:sqlite", "--scales=1", "--cycles=2", "--duration=0.3", "--out", str(small))
        archive = only_archive(small)
        assert (done.returncode, "No space left" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
        assert f"dsbench plot --fresh {archive}" in done.stderr
        assert (described(archive)["status"], Archive.open(archive).sealed) == ("complete", False)
        before = rows(archive)
        assert finished(archive) == [1, 2]
        filler.unlink()
        again = called(*command, str(archive))
        assert again.returncode == 0, again.stderr
        packed = Archive.open(archive.with_name(archive.name + ".zip"))
        assert rows(archive) == rows(packed.path) == before
        assert (Archive.open(archive).sealed, "report.html" in packed.names()) == (True, True)
        assert [path for path in small.rglob("*") if path.suffix == ".part"] == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.thorough
def test_sealing_removes_what_the_killed_run_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (temporary := tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    dies = "import os, dsbench.archive\ndsbench.archive.Writer.pack = lambda *_: os.kill(os.getpid(), 9)\n"
    command = [sys.executable, "-c", dies + DIES, "private:firebird?embedded=on", "never", "0"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert list(temporary.glob("dsbench-fb-engine-*"))
    assert dsbench.resume(only_archive(tmp_path / "out")).sealed
    assert list(temporary.glob("dsbench-*")) == []


def test_a_second_program_is_kept_from_an_archive_that_is_written(tmp_path: Path, called: Program) -> None:
    archive = killed_in("cycle", "private:sqlite", tmp_path, 2)
    with claimed(archive):
        refused = called("run", "--resume", str(archive))
        assert refused.returncode == 2
        assert [line for line in refused.stderr.splitlines() if line.startswith("error: ")] == [
            f"error: the run of {archive} is still in progress: another dsbench writes to this archive"
        ]
    assert json.loads((archive / "run.json").read_text()).get("resumed", []) == []


def test_a_signal_lets_a_run_that_is_over_be_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Writer.pack

    def pack(writer: Writer) -> Path:
        os.kill(os.getpid(), signal.SIGINT)
        return real(writer)

    monkeypatch.setattr(Writer, "pack", pack)
    archive = dsbench.run("private:sqlite", out=tmp_path / "out", **SMALL)
    assert (archive.run.status, archive.sealed) == ("complete", True)


def test_a_run_holds_its_archive_until_that_is_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    real = Writer.pack

    def pack(writer: Writer) -> Path:
        with pytest.raises(dsbench.ArchiveError) as error:
            dsbench.resume(writer.path)
        tried.append(str(error.value))
        return real(writer)

    monkeypatch.setattr(Writer, "pack", pack)
    dsbench.run("private:sqlite", out=tmp_path / "out", **SMALL)
    assert ["still in progress" in words for words in tried] == [True]
