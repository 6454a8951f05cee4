"""Nodes started over SSH, by a real client and a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import sshd
from fixtures.nodes import Bed, ended


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """(home of the user, port)"""
    home = tmp_path / "home"
    home.mkdir()
    with subprocess.Popen([sys.executable, sshd.__file__, str(home)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield home, int(process.stdout.readline())
        process.kill()


def up(bed: Bed, home: Path, hosts: str) -> subprocess.Popen[str]:
    """Starts ``dsbench cluster up`` for a user whose home is ``home``."""
    command = f"PYTHONPATH={os.environ.get('PYTHONPATH', '')} {sys.executable} -m dsbench"
    return bed.start("cluster", "up", "--ssh", hosts, "--command", command, env={**os.environ, "HOME": str(home)})


@pytest.mark.thorough
def test_nodes_start_over_ssh_and_leave_no_file(server: tuple[Path, int], tmp_path: Path) -> None:
    home, port = server
    with Bed(tmp_path / "bed", 2) as bed:
        launcher = up(bed, home, f"127.0.0.1:{port},root@127.0.0.1:{port}")
        ended(bed.run("mock:", "--clients", "1", "--scales", "1", "--cycles", "1", "--duration", "0.2"))
        said = ended(launcher)
    assert said.count("joined the run") == 2
    assert said.count("the run is complete") == 2
    assert sorted(p.name for p in home.rglob("*") if p.is_file()) == ["authorized_keys", "id_ed25519", "known_hosts"]


def test_an_unknown_host_is_not_trusted(server: tuple[Path, int], tmp_path: Path) -> None:
    home, port = server
    (home / ".ssh" / "known_hosts").write_text("")
    with Bed(tmp_path / "bed", 1) as bed:
        launcher = up(bed, home, f"127.0.0.1:{port}")
        said, _ = launcher.communicate(timeout=60)
    assert launcher.returncode == 1
    assert "Host key is not trusted" in said
    assert "these nodes failed: 127.0.0.1" in said


@pytest.mark.parametrize(
    ("hosts", "words"),
    [("a@@b", "--ssh: 'a@@b' is not a host"), (" ,", "--ssh has no host"), ("a,b", "invites 1 nodes, not 2")],
)
def test_hosts_that_cannot_be_are_refused_before_anything_starts(tmp_path: Path, hosts: str, words: str) -> None:
    with Bed(tmp_path / "bed", 1) as bed:
        launcher = bed.start("cluster", "up", "--ssh", hosts)
        said, _ = launcher.communicate(timeout=60)
    assert (launcher.returncode, words in said) == (2, True), said
    assert "hint: " in said
