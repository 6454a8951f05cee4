"""Clients follow a server of their own machine, and leave one on another machine alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.network import Network

from dsbench import servers
from dsbench.archive import Archive
from dsbench.evaluation.of_archive import evaluate


@pytest.mark.parametrize(
    ("machine", "told"), [(0, "follow"), (1, "free: the server is on another machine")], ids=["here", "elsewhere"]
)
def test_clients_follow_a_server_of_their_machine_alone(
    machine: int, told: str, machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    within = machines.within(machine) if machine else []
    command = [sys.executable, "-m", "dsbench", "run", database.url, "--placement", "follow", "--out", str(tmp_path)]
    # Clients can follow with a carrier for each CPU. By themselves there are fewer under a quota of CPU time.
    cpus = len(os.sched_getaffinity(0))
    size = ["--threads", str(max(5, cpus)), "--carriers", str(cpus), "--scales", "1", "--cycles", "2", "--duration", "0.5", "--retry"]
    done = subprocess.run([*within, *command, *size], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    archive = Archive.open(folder)
    assert archive.table("groups").column("placement").to_pylist() == [told] * 2
    moves = sum(archive.table("cycles").column("moves").to_pylist())
    assert machine == 0 or moves == 0
    shown = told if machine else f"follow, {moves / 2:.3g} moves per cycle"
    assert evaluate(archive).placement == shown
    assert f"placement: {shown}" in archive.read("results.txt").decode()
