"""The private PostgreSQL server, with the real one."""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dsbench import servers, spec
from dsbench.servers.postgresql import binaries
from dsbench.servers.postgresql.instance import _LIST, SharedMemory
from dsbench.servers.templates import VARIABLE
from fixtures.private import check_no_superuser, check_refused, working_in

Make = Callable[..., spec.Target]
Ask = Callable[[str, str], str]


def test_it_answers_and_leaves_nothing(target: Make, base: Path, psql: Ask) -> None:
    with servers.start(target(), 16) as server:
        assert psql(server.url, "select 6 * 7") == "42"
        assert psql(server.url, "show data_directory") == str(server.directory)
        assert psql(server.url, "show max_connections") == "100"
        assert psql(server.url, "show listen_addresses") == ""
        assert psql(server.url, "show server_version").split()[0] == server.version.removeprefix("PostgreSQL ")
        assert "ready to accept connections" in server.log_tail(3)[-1]
        pids = server.pids()
        assert len(pids) > 3
        assert server.directory.is_relative_to(base)
        assert not server.directory.is_relative_to("/dev/shm")
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert server.pids() == []
    server.stop()


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting a small disk needs root")
def test_a_folder_without_space_asks_for_space(target: Make, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m,mode=755", "tmpfs", str(base)], check=True)
    try:
        with pytest.raises(servers.ServerError, match=r"initdb .* failed") as refused:
            servers.start(target(), 16)
        assert refused.value.remedy == "free up space there, or specify another: directory = …"
        assert list(base.iterdir()) == []
    finally:
        subprocess.run(["umount", str(base)], check=True)


def test_settings_are_applied_and_quoted(target: Make, psql: Ask) -> None:
    settings = {"shared_buffers": "64MB", "fsync": "off", "dsbench.text": r"it's a \n 'word'", "Work_Mem": "8MB"}
    with servers.start(target(**settings), 4) as server:
        assert psql(server.url, "show shared_buffers") == "64MB"
        assert psql(server.url, "show fsync") == "off"
        assert psql(server.url, "show work_mem") == "8MB"
        assert psql(server.url, "show dsbench.text") == settings["dsbench.text"]


def test_room_is_made_for_the_connections_of_the_load(target: Make, psql: Ask) -> None:
    with servers.start(target(), 150) as server:
        assert psql(server.url, "show max_connections") == "160"
        assert any("max_connections" in note for note in server.notes)
    with servers.start(target(max_connections="155"), 150) as server:
        assert psql(server.url, "show max_connections") == "155"
        assert not any("max_connections" in note for note in server.notes)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"shared_bufers": "64MB"}, 'unrecognized configuration parameter "shared_bufers"'),
        ({"shared_buffers": "plenty"}, 'invalid value for parameter "shared_buffers": "plenty"'),
        ({"include": "/etc/passwd"}, "'include' is not a valid name"),
        ({"a b": "1"}, "'a b' is not a valid name"),
        ({"work_mem": "1MB\nfsync = off"}, "several lines"),
        ({"data_directory": "/tmp"}, "set by dsbench"),
        ({"port": "http"}, "port is 'http'"),
        ({"max_connections": "8"}, "is too low for the 16 connections"),
    ],
)
def test_a_wrong_setting_is_named_and_leaves_nothing(
    target: Make, base: Path, settings: dict[str, str], named: str
) -> None:
    check_refused(target(**settings), base, named)


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(target: Make, base: Path) -> None:
    with pytest.raises(servers.ServerError, match="did not start") as caught:
        servers.start(target(ssl="on"), 4)  # Without a certificate, which it misses at its start.
    assert "FATAL" in caught.value.problem
    assert working_in(base) == []
    assert list(base.iterdir()) == []


def test_a_version_that_is_not_here_is_refused(base: Path) -> None:
    with pytest.raises(spec.SpecError, match=r"no PostgreSQL 8\.1") as caught:
        servers.start(spec.Target(url="private:postgresql", directory=base, version="8.1"), 4)
    assert caught.value.option == "TARGET.version"


def test_a_version_can_be_asked_for_by_its_first_number(base: Path) -> None:
    newest = binaries.found()[0]
    major = newest.version.split(".")[0]
    target = spec.Target(url="private:postgresql", directory=base, version=major)
    with servers.start(target, 4) as server:
        assert server.version == f"PostgreSQL {newest.version}"


def test_a_build_of_ones_own_is_named_by_its_folder(base: Path, psql: Ask) -> None:
    """Whatever else is installed: that of another version is one, as dsbench did not choose it by its version."""
    own = binaries.found()[-1]
    target = spec.Target(url=f"private:postgresql?basedir={own.folder.parent}", directory=base)
    with servers.start(target, 4) as server:
        assert server.version == f"PostgreSQL {own.version}"
        assert psql(server.url, "show server_version").split()[0] == own.version
    assert list(base.iterdir()) == []


@pytest.mark.parametrize(
    ("more", "words"),
    [("", "basedir = {} contains no PostgreSQL server"), ("&block_size=16", "have a fixed block size")],
)
def test_a_folder_without_a_build_is_refused_before_anything_starts(tmp_path: Path, more: str, words: str) -> None:
    with pytest.raises(spec.SpecError, match=re.escape(words.format(tmp_path))):
        servers.find(spec.Target(url=f"private:postgresql?basedir={tmp_path}{more}"))


def test_two_servers_at_once_do_not_meet(target: Make, psql: Ask) -> None:
    with servers.start(target(), 4) as one, servers.start(target(), 4) as other:
        psql(one.url, "create table only_here (n int)")
        assert one.url != other.url
        assert psql(other.url, "select count(*) from pg_class where relname = 'only_here'") == "0"


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
def test_the_superuser_steps_down_and_closes_the_door(target: Make, base: Path) -> None:
    with servers.start(target(), 4) as server:
        check_no_superuser(server.pids())
        assert stat.S_IMODE(server.directory.stat().st_mode) == 0o700
        socket = server.directory.parent / "socket"
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700
        assert socket.stat().st_uid == server.directory.stat().st_uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
def test_the_superuser_steps_down_to_the_owner_of_the_folder(target: Make, base: Path) -> None:
    os.chown(base, 65534, 65534)
    with servers.start(target(), 4) as server:
        assert server.directory.stat().st_uid == 65534
    os.chown(base, 0, 0)


def test_over_the_network_a_password_is_needed(target: Make, psql: Ask) -> None:
    with servers.start(target(listen_addresses="127.0.0.1"), 4) as server:
        assert psql(server.url, "select 1") == "1"
        assert "@127.0.0.1:" in server.url
        password = server.url.split(":")[2].split("@")[0]
        assert len(password) >= 20
        with pytest.raises(RuntimeError, match="password authentication failed"):
            psql(server.url.replace(password, "guess"), "select 1")
        files = [p for p in server.directory.parent.rglob("*") if p.is_file() and password.encode() in p.read_bytes()]
        assert files == []


def test_a_long_path_gets_a_short_socket(base: Path, psql: Ask) -> None:
    deep = base / ("d" * 90)
    deep.mkdir()
    with servers.start(spec.Target(url="private:postgresql", directory=deep), 4) as server:
        assert psql(server.url, "select 1") == "1"
        assert server.directory.is_relative_to(deep)
        socket = Path(psql(server.url, "show unix_socket_directories"))
        assert not socket.is_relative_to(deep)
    assert not socket.exists()
    assert not socket.parent.exists()
    deep.rmdir()


def test_a_server_that_was_killed_leaves_no_shared_memory(target: Make) -> None:
    server = servers.start(target(), 4)
    pids = server.pids()
    held = SharedMemory.held(pids[0], pids)
    assert held.files
    assert held.segments <= _segments()
    os.kill(pids[0], signal.SIGKILL)
    server.stop()
    assert [file for file in held.files if file.exists()] == []
    assert not held.segments & _segments()


def test_what_a_killed_server_made_after_its_start_goes_too(target: Make) -> None:
    with servers.start(target(), 4) as server:
        pids = server.pids()
        held = SharedMemory.held(pids[0], pids)
        (first,) = [file for file in held.files if file.read_bytes().startswith(_LIST)]
        later = held.files - {first}
        assert later
        known = SharedMemory(pids[0], frozenset({first}), frozenset())
        assert known._listed() >= later
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        known.remove()
        assert [file for file in held.files if file.exists()] == []


def _segments() -> set[int]:
    lines = Path("/proc/sysvipc/shm").read_text().splitlines()
    return {int(line.split()[1]) for line in lines[1:]}
