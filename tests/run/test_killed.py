"""Servers and programs that are killed in the middle of a run, whatever it is doing: what was finished stays."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import Outcome, execute, resume
from dsbench.spec import RunSpec, build
from fixtures.kept import data_of, finished, servers_of
from fixtures.program import Program, described, only_archive
from fixtures.started import Begin, wait_for_cycle
from fixtures.thorough import mostly_thorough

Kill = tuple[str, int, str, list[int]]
"""The phase and the cycle in which the server is killed, what the error begins with, the cycles that are left."""

IN_CYCLE: list[Kill] = [("cycle", 2, "scale 1, cycle 2: ", [1])]
EVERYWHERE: list[Kill] = [
    # A phase may have ended when the signal comes: behind populate is primary_key, behind clean the cycle itself.
    ("populate", 0, "scale 1, p", []),
    ("clean", 1, "scale 1, cycle 1", []),
    *IN_CYCLE,
    ("check", 0, "scale 1, ", [1, 2]),
]

SERVERS = [
    pytest.param("private:postgresql", {}, "postgres", EVERYWHERE, id="postgresql"),
    pytest.param("private:mariadb", {}, "mariadbd", IN_CYCLE, id="mariadb"),
    pytest.param("private:mariadb", {"storage_engine": "RocksDB"}, "mariadbd", IN_CYCLE, id="myrocks"),
    pytest.param("private:mysql@8.0", {}, "mysqld", IN_CYCLE, id="mysql", marks=pytest.mark.needs_mysql),
    pytest.param("private:firebird@3", {"ServerMode": "Super"}, "firebird", IN_CYCLE, id="firebird-super"),
    pytest.param("private:firebird@3", {"ServerMode": "SuperClassic"}, "firebird", IN_CYCLE, id="superclassic"),
    pytest.param("private:firebird@3", {"ServerMode": "Classic"}, "firebird", EVERYWHERE, id="firebird-classic"),
]
KEPT = "finished cycles are kept; when the server works again: dsbench run --resume ARCHIVE"


class Killer(Silent):
    """Kills the server of the run that it listens to, in ``phase`` (of ``cycle``), once it is at work there.

    The run stands in the same place each time, however slow the machine is.
    """

    def __init__(self, program: str, phase: str, cycle: int = 0) -> None:
        self._program, self._phase, self._cycle = program, phase, cycle
        self._others = servers_of(os.getpid(), program)
        self._folders = data_of(os.getpid())
        self.killed: list[psutil.Process] = []

    def moment(self, moment: Moment) -> None:
        """Kills all processes of the server at once."""
        idle = self._phase == "cycle" and moment.done + moment.failed == 0
        if self.killed or (moment.phase, moment.cycle) != (self._phase, self._cycle) or idle:
            return
        # Standing still, the server makes no process for one more session that would outlive the others.
        for process in self._left():
            with suppress(psutil.NoSuchProcess):
                process.suspend()
        self.killed = self._left()
        for process in self.killed:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _left(self) -> list[psutil.Process]:
        return [process for process in servers_of(os.getpid(), self._program) if process not in self._others]

    def check(self, outcome: Outcome, where: str, cycles: list[int]) -> None:
        """What holds of every run whose server was killed."""
        assert self.killed, f"the run never came to {self._phase}"
        assert (outcome.status, outcome.error is not None) == ("failed", True), outcome
        assert outcome.error is not None
        assert str(outcome.error).startswith(where)
        assert str(outcome.error).count("the connection was lost") == 1, outcome.error
        assert outcome.error.remedy == KEPT
        kept = described(outcome.archive)
        assert (kept["status"], kept["reason"]) == ("failed", str(outcome.error))
        assert finished(outcome.archive) == cycles
        assert (outcome.archive / "server.log").read_text().strip(), "the server's last words are kept"
        assert self._left() == []
        assert data_of(os.getpid()) == self._folders, "nothing of the dead server is left"


def asked(target: str, settings: dict[str, str]) -> RunSpec:
    small = {"scales": (1,), "cycles": 2, "duration": 0.5, "clients": 3, "seed": 1}
    return build({"target": {"url": target, "settings": settings}, **small})


@pytest.mark.thorough
@pytest.mark.parametrize(("target", "settings", "program", "kills"), SERVERS)
def test_a_killed_server_costs_what_was_not_finished(
    target: str, settings: dict[str, str], program: str, kills: list[Kill], tmp_path: Path
) -> None:
    """One archive whose server dies several times; at last the run goes through."""
    archive = None
    for phase, cycle, where, kept in kills:
        killer = Killer(program, phase, cycle)
        begun = resume(archive, None, killer) if archive else execute(asked(target, settings), tmp_path, killer)
        killer.check(begun, where, kept)
        archive = begun.archive
    assert archive is not None
    resumed = resume(archive, None, Silent())
    assert (resumed.status, resumed.error, resumed.void_scales) == ("complete", None, ())
    assert finished(archive) == [1, 2]
    # Behind what was kept: where that was everything, the check alone was made, on another database.
    assert described(archive)["segments"][-1]["first_cycle"] == len(kills[-1][3]) + 1


@pytest.mark.parametrize("target", mostly_thorough(["private:sqlite", "private:firebird@5?embedded=on"], "private:sqlite"))
def test_a_killed_program_with_its_engine_in_it(
    target: str, begin: Begin, tmp_path: Path, called: Program, dsbench: Program
) -> None:
    process = begin(target, "--scales", "1", "--cycles", "3", "--duration", "1", "--clients", "3")
    archive = wait_for_cycle(process, tmp_path, 1)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    kept = finished(archive)
    assert kept[:1] == [1]
    shown = called("show", str(archive))
    assert shown.returncode == 0, shown.stderr
    assert described(archive)["status"] == "running", "nobody was left to write another word"
    # An engine reads its configuration once in a process.
    resumed = (dsbench if "embedded" in target else called)("run", "--resume", str(archive))
    assert resumed.returncode == 0, resumed.stderr
    assert described(archive)["status"] == "complete"
    assert finished(archive) == [1, 2, 3]
    assert only_archive(tmp_path / "out") == archive
    assert data_of(process.pid) == [], "what the killed program left was removed by the next"
