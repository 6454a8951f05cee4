"""Commits that were acknowledged survive a kill; where they cannot, the check says so."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from dsbench import check as promises
from dsbench import devices, servers
from dsbench.check import durable, forgetting
from dsbench.check.durable import DurabilityCheck, Round
from dsbench.measure.interrupts import Stop
from dsbench.measure.loaders import LedgerContent, Stopped, TargetDatabase
from dsbench.servers import Server, ServerError, folder
from dsbench.spec import SpecError, Target
from fixtures.thorough import mostly_thorough
from fixtures.waiting import until


def killed(url: str, base: Path | None = None, kind: str = "plain", restart: str = "") -> DurabilityCheck:
    """One kill of ``url`` under two writers."""
    target = Target(url=url, directory=base)
    return promises.durability(
        target, rounds=1, writers=2, kind=kind, restart=restart, watch=lambda *_: None, said=print
    )


@pytest.mark.parametrize(
    "product", mostly_thorough(["sqlite", "postgresql", "mariadb", "firebird"], "sqlite", "postgresql")
)
def test_a_kill_loses_no_acknowledged_commit(product: str, base: Path) -> None:
    found = killed(f"private:{product}", base)
    (one,) = found.rounds
    assert (one.lost, one.torn, one.problem) == (0, 0, "")
    assert one.acknowledged >= 2
    assert one.extra <= 2, "each writer has one commit under way"
    assert found.holds
    assert product in found.version.lower()


@pytest.mark.parametrize(
    ("settings", "kind", "holds"),
    [("", "forgetful", True), ("?synchronous=off", "forgetful", False), ("", "lying", False)],
    ids=["flushed", "not flushed", "lies"],
)
def test_what_was_not_flushed_is_lost_on_a_file_system_that_forgets(
    settings: str, kind: str, holds: bool, base: Path
) -> None:
    found = killed(f"private:sqlite{settings}", base, kind)
    (one,) = found.rounds
    assert found.holds == holds
    assert (one.lost == 0) == holds
    assert one.lost in (0, one.acknowledged), "without a flush everything is gone"
    assert one.dropped_bytes is not None
    assert not any(base in point.parents for point in devices.forgetful())


@pytest.mark.parametrize("without_mark", [False, True])
def test_a_mount_whose_keepers_were_killed_is_cleared_away_wherever_it_lies(base: Path, without_mark: bool) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from dsbench.check import forgetting; from dsbench.servers.folder import Folder\n"
        f"home = Folder.create(Path({str(base)!r}), 'check')\n"
        "with forgetting.storage('forgetful', home.path) as place:\n"
        "    (place.folder / 'file').write_text('written')\n"
        "    print(place._process.pid, home.path, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        keeper, home = process.stdout.readline().split()
        left = Path(home)
        assert any(left in point.parents for point in devices.forgetful())
        os.kill(int(keeper), signal.SIGKILL)
        process.kill()
    assert until(lambda: devices.is_dead(left / "mount")), "its keeper has ended"
    if without_mark:
        (left / folder.MARK).unlink(missing_ok=True)
    servers.clean_for(Target(url="private:sqlite"))
    assert not any(left in point.parents for point in devices.forgetful())
    assert not left.exists() or without_mark
    shutil.rmtree(left, ignore_errors=True)


def test_a_machine_without_fuse_is_told_what_it_lacks(monkeypatch: pytest.MonkeyPatch, base: Path) -> None:
    monkeypatch.setattr(forgetting.os, "access", lambda *_: False)
    with pytest.raises(ServerError, match="/dev/fuse is missing") as error:
        killed("private:sqlite", base, "forgetful")
    assert "modprobe fuse" in error.value.remedy


def test_each_loss_is_counted_once() -> None:
    notes = durable._Notes()
    assert notes.take(1, struct.pack("<QQQQ", 11, 10, 5, 5)) == 15
    assert notes.sent == {1: 11, 2: 5}
    found = LedgerContent({1: (9, 11), 2: (5, 5)}, 0)
    assert list(durable._short(found, notes.acknowledged)) == [(1, 10)], "9 rows, and the last is the eleventh"
    assert list(durable._short(LedgerContent({2: (6, 6)}, 0), notes.acknowledged)) == [(1, 10)], "no row of the first"
    assert notes.lost({1: 2}) == 2
    assert notes.lost({1: 3}) == 1
    assert notes.lost({1: 3}) == 0


def test_a_wish_to_stop_is_heard_at_the_prompt(postgresql: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user who is asked to restart the server presses Ctrl-C instead."""
    master, slave = os.openpty()
    stop, asked = Stop(), []

    def said(words: str) -> None:
        asked.append(words)
        stop.request("stopped by SIGINT")
        os.write(master, b"\n")

    with os.fdopen(slave) as terminal, monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", terminal)
        with pytest.raises(Stopped, match="SIGINT"):
            promises.durability(
                Target(url=postgresql.url), rounds=1, writers=2, kind="plain", restart="",
                watch=lambda *_: stop.check(), said=said,
            )  # fmt: skip
    os.close(master)
    assert "then press Enter" in asked[0]
    assert TargetDatabase(postgresql.url).state()[0] == "absent"


def test_a_database_that_does_not_come_back_has_lost_everything() -> None:
    gone = DurabilityCheck("plain", 2, "", (), (Round(7, 7, 0, 0, None, 1.0, "no checkpoint record"),))
    assert not gone.holds
    told = promises.Checked("private:x", "X 1", durability=gone)
    assert told.failures == [
        "durability: 7 commits acknowledged over 2 sessions and 1 kill on plain storage: 7 LOST, none torn, and the "
        "database did not recover"
    ]
    assert told.verdict.startswith("X 1 FAILED: durability: ")


def test_a_server_of_the_users_is_restarted_by_a_command_or_not_at_all(postgresql: Server) -> None:
    with pytest.raises(SpecError, match="--restart: "):
        killed(postgresql.url)
    with pytest.raises(ServerError, match="--restart ended with 3"):
        killed(postgresql.url, restart="exit 3")
    assert TargetDatabase(postgresql.url).state()[0] == "absent", "what the check made is gone"
    with pytest.raises(SpecError, match="--storage: "):
        killed(postgresql.url, kind="lying", restart="exit 3")
