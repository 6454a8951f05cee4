"""A run in an environment that lacks something goes well, or says in one sentence why not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures.waiting import PATIENCE_S

RUN = ("run", "private:sqlite", "--scales", "1", "--cycles", "1", "--duration", "0.3", "--out", "out")
NAMESPACES = subprocess.run(["unshare", "--user", "--map-user=54321", "true"], capture_output=True, check=False)
ALONE = pytest.mark.skipif(NAMESPACES.returncode != 0, reason="this system gives no user namespaces")
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and processes of one's own need root")


def _run(folder: Path, before: tuple[str, ...], *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [*before, sys.executable, "-m", "dsbench", *words]
    return subprocess.run(
        command, cwd=folder, env=os.environ | env, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        errors="replace",
    )  # fmt: skip


GOOD = {
    "no home": ("env", "-u", "HOME", "-u", "XDG_CACHE_HOME"),
    "a home that is not there": ("env", "HOME=/nonexistent"),
    "another locale": ("env", "LC_ALL=de_DE.ISO-8859-1", "PYTHONUTF8=0"),
    "a locale that is not there": ("env", "LC_ALL=xx_YY.UTF-8"),
    "a terminal of ASCII": ("env", "PYTHONIOENCODING=ascii"),
    "no programs": ("env", "PATH=/nonexistent"),
    "a folder for temporary files that is not there": ("env", "TMPDIR=/nonexistent"),
    "no standard files": ("sh", "-c", '"$@" <&- >&- 2>&-', "sh"),
    "few open files at first": ("sh", "-c", 'ulimit -Sn 40; "$@"', "sh"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_run_goes_well(tmp_path: Path, name: str) -> None:
    done = _run(tmp_path, GOOD[name], *RUN)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "out").glob("*.zip"))


@ALONE
@pytest.mark.parametrize(("target", "words"), [
    ("private:sqlite", ""), ("private:mariadb", ""), ("private:firebird", ""),
    ("private:postgresql", "run dsbench as a user who has an entry in /etc/passwd"),
])  # fmt: skip
def test_a_user_without_an_entry(tmp_path: Path, target: str, words: str) -> None:
    nobody = ("unshare", "--user", "--map-user=54321", "--map-group=54321", "env", "-u", "HOME")
    done = _run(tmp_path, nobody, "run", target, *RUN[2:], "--report", "none")
    assert done.returncode == (1 if words else 0), done.stderr
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@ROOT
def test_the_first_process_of_a_container(tmp_path: Path) -> None:
    done = _run(tmp_path, ("unshare", "-p", "-f", "--mount-proc"), "run", "private:postgresql", *RUN[2:], "--report", "none")
    assert done.returncode == 0, done.stderr


@ROOT
def test_a_system_that_is_read_only(tmp_path: Path) -> None:
    script = (
        'mount -t tmpfs none /mnt; mount -o bind,remount,ro / / 2>/dev/null || mount -o remount,ro,bind /; '
        'cd /mnt; export TMPDIR=/mnt; "$@"'
    )
    done = _run(Path("/"), ("unshare", "-m", "sh", "-c", script, "sh"), *RUN)
    assert done.returncode == 0, done.stderr
    # Nor may it write anywhere else.
    nowhere = 'mount -o bind / /mnt; mount -o remount,ro,bind /mnt; mount --bind /dev /mnt/dev; exec chroot /mnt "$@"'
    refused = _run(Path("/"), ("unshare", "-m", "sh", "-c", nowhere, "sh"), *RUN)
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.splitlines()[-2:] == [
        "error: no folder for temporary files can be written", "hint: set TMPDIR to one that can"
    ]  # fmt: skip


def test_a_device_that_is_full_is_named_and_the_archive_is_whole(tmp_path: Path) -> None:
    for buffered in ({}, {"PYTHONUNBUFFERED": "1"}):
        done = _run(tmp_path, ("sh", "-c", '"$@" > /dev/full', "sh"), *RUN, "--report", "none", **buffered)
        assert done.returncode == 1
        assert "error: standard output cannot be written: No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
    assert len(list((tmp_path / "out").glob("*.zip"))) + len(list((tmp_path / "out").glob("*/run.json"))) >= 2


def test_too_few_open_files_are_refused_before_the_server_is_asked(tmp_path: Path) -> None:
    done = _run(tmp_path, ("sh", "-c", 'ulimit -n 128; "$@"', "sh"), *RUN, "--clients", "100")
    assert done.returncode == 2, done.stderr
    assert "100 connections need about 364 open files, and 128 are allowed" in " ".join(done.stderr.split())
    assert not list((tmp_path / "out").glob("*"))
