"""Folders of private servers: marked, locked by a living owner, cleaned only when the owner is dead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from dsbench.servers import folder
from dsbench.servers.folder import MARK, Folder
from fixtures.waiting import until

_OWNER = """
import sys, time
from pathlib import Path
from dsbench.servers.folder import Folder
made = Folder.create(Path(sys.argv[1]), "pg")
made.serves(int(sys.argv[2]))
print(made.path, flush=True)
time.sleep(600)
"""


def _owner(base: Path, server: int) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER, str(base), str(server)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def _killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_folder_goes_with_what_is_in_it(tmp_path: Path) -> None:
    made = Folder.create(tmp_path, "pg")
    (made.path / "data").mkdir()
    (made.path / "data" / "table").write_text("rows")
    assert made.path.name.startswith("dsbench-pg-")
    assert made.remove()
    assert list(tmp_path.iterdir()) == []
    assert made.remove()


def test_a_removal_that_is_cut_leaves_the_mark_by_which_a_later_run_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Folder.create(tmp_path, "pg")
    for name in ("a", "zz"):
        (made.path / name).mkdir()
    gone: list[Path] = []

    def cut(path: Path, **_how: bool) -> None:
        assert (made.path / MARK).exists()
        gone.append(path)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", cut)
        with pytest.raises(KeyboardInterrupt):
            made.remove()
    assert len(gone) == 1
    made._lock.close()  # as the kernel does when the program is killed
    assert folder.clean(tmp_path) == [made.path]
    assert list(tmp_path.iterdir()) == []


def test_the_folder_of_a_living_owner_is_not_stale(tmp_path: Path) -> None:
    mine = Folder.create(tmp_path, "pg")
    other, theirs = _owner(tmp_path, 0)
    try:
        assert folder.stale(tmp_path) == []
        assert folder.clean(tmp_path) == []
        assert mine.path.is_dir()
        assert theirs.is_dir()
    finally:
        _killed(other)
        mine.remove()


def test_only_marked_folders_of_dead_owners_are_removed(tmp_path: Path) -> None:
    dead, left = _owner(tmp_path, 0)
    _killed(dead)
    alive = Folder.create(tmp_path, "pg")
    unmarked = tmp_path / "dsbench-pg-unmarked"
    unmarked.mkdir()
    stranger = tmp_path / "somebody"
    stranger.mkdir()
    (stranger / MARK).write_text('{"owner": 1}')
    link = tmp_path / "dsbench-pg-link"
    link.symlink_to(left)
    assert folder.stale(tmp_path) == [left]
    assert folder.clean(tmp_path) == [left]
    assert not left.exists()
    assert all(path.is_dir() for path in (alive.path, unmarked, stranger))
    assert link.is_symlink()
    alive.remove()


def test_a_number_in_the_mark_that_lives_again_does_not_keep_the_folder(tmp_path: Path) -> None:
    """The lock decides: process ids are given to others."""
    left = tmp_path / "dsbench-pg-left"
    left.mkdir()
    (left / MARK).write_text(f'{{"owner": {os.getpid()}}}')
    assert folder.clean(tmp_path) == [left]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can make a folder of somebody else")
def test_a_mark_in_the_folder_of_another_user_counts_for_nothing(tmp_path: Path) -> None:
    planted = tmp_path / "dsbench-pg-planted"
    planted.mkdir()
    (planted / MARK).write_text('{"owner": 1}')
    os.chown(planted, 65534, 65534)
    assert folder.stale(tmp_path) == []


def test_a_server_that_outlived_its_owner_is_ended(tmp_path: Path) -> None:
    marked = tmp_path / "dsbench-pg-orphan"
    marked.mkdir()
    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", str(marked / "data")])
    try:
        # The kernel shows what it was called with a moment after it has begun.
        assert until(lambda: str(marked / "data") in psutil.Process(server.pid).cmdline())
        (marked / MARK).write_text(f'{{"owner": 1, "server": {server.pid}}}')
        assert folder.clean(tmp_path) == [marked]
        server.wait(timeout=20)
        assert not psutil.pid_exists(server.pid)
    finally:
        server.kill()
        server.wait()


def test_a_process_that_only_got_the_number_of_the_server_lives_on(tmp_path: Path) -> None:
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        dead, left = _owner(tmp_path, stranger.pid)
        _killed(dead)
        assert folder.clean(tmp_path) == [left]
        assert psutil.Process(stranger.pid).is_running()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()
