"""Nodes that die, freeze and lose their cable: the run goes on, the archive tells, and nobody loads unbidden."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dsbench import servers
from dsbench.archive.conditions import State, state_of
from dsbench.measure.loaders import TargetDatabase
from fixtures.network import Network
from fixtures.nodes import Bed, ended, history
from fixtures.waiting import until

LEASE_S = 3.0
AWAY_S = 6.0
"""Longer than a lease, and shorter than what is left of a cycle."""
CYCLE_S = 13.0
SHORT_S = 1.0
"""Several beats, and what TCP waits for afterwards, are less than a lease."""


@pytest.mark.thorough
def test_four_nodes_climb_a_ladder_of_three_scales(
    machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    with Bed(tmp_path, 4, machines.host) as bed:
        nodes = [bed.node(n, within=machines.within(n)) for n in (1, 2, 3, 4)]
        run = bed.run(
            database.url, "--clients", "4", "--scales", "1,2,4", "--cycles", "1", "--duration", "0.7", "--retry"
        )
        ended(run)
        assert all("the run is complete" in ended(node) for node in nodes)
        archive = bed.archive()
    cycles = archive.table("cycles").to_pylist()
    rows = history(archive)
    for scale in (1, 2, 4):
        here = [r for r in cycles if r["scale"] == scale]
        assert {r["node"] for r in here} == {"n1", "n2", "n3", "n4"}
        assert sum(r["committed"] + r["commits_after_window"] for r in here) == rows[scale]
        assert state_of(archive.run.checks[scale]) is State.HOLDS
    password = database.url.split(":")[2].split("@")[0]
    assert len(password) > 20
    for bundle in bed.invitation.bundles:
        assert password not in bundle.read_text()
    for file in bed.archive().path.rglob("*"):
        assert not file.is_file() or password.encode() not in file.read_bytes(), file


@pytest.mark.thorough
@pytest.mark.serial
def test_a_run_survives_dead_frozen_and_cut_off_nodes(
    machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    with Bed(tmp_path, 4, machines.host) as bed:
        _, frozen, _, dead = (bed.node(n, within=machines.within(n)) for n in (1, 2, 3, 4))
        run = bed.run(
            database.url, "--clients", "4", "--os-threads", "1", "--scales", "1", "--cycles", "2",
            "--duration", str(CYCLE_S), "--lease", str(LEASE_S),
        )  # fmt: skip
        admin = TargetDatabase(database.url)
        assert until(lambda: committed(admin) > 0)
        time.sleep(1)
        dead.send_signal(signal.SIGKILL)
        frozen.send_signal(signal.SIGSTOP)
        machines.cut(1)
        machines.cut(3)
        time.sleep(SHORT_S)
        machines.mend(1)
        time.sleep(AWAY_S - SHORT_S)
        frozen.send_signal(signal.SIGCONT)
        machines.mend(3)
        assert until(lambda: [sessions(admin, machines.address(n)) for n in (2, 3, 4)] == [0, 0, 0])
        during = "cycle 1:" not in bed.log()
        ended(run)
        archive, log = bed.archive(), bed.log()
    assert during, "they left the database before the cycle was over"
    states = {(r["cycle"], r["node"]): r["state"] for r in archive.table("nodes").to_pylist()}
    assert (states[1, "n1"], states[1, "n4"]) == ("complete", "lost")
    assert {states[1, "n2"], states[1, "n3"]} <= {"lost", "partial"}
    assert [states[2, n] for n in ("n1", "n2", "n3", "n4")] == ["complete", "complete", "complete", "absent"]
    assert "node n4 is lost: its connection ended" in log
    assert not re.search("workers died|unregistered worker", log), "in dsbench's own words"
    assert "node n2 is lost: no heartbeat for" in log
    assert "node n3 is lost: no heartbeat for" in log
    # What n2 and n3 did until their leases ran out came late, and the database is exactly what is known and n4's.
    warned = [w.message for w in archive.run.warnings if w.code == "uncounted"]
    assert warned == ["node n4 was lost in cycle 1: its commits there are unknown"]
    assert archive.run.broken == {}
    (rows, *others) = archive.run.unmade[1]
    assert (rows.name, {one.detail for one in (rows, *others)}) == (
        "history rows = committed transactions", {"nodes were lost, and with them what they committed"}
    )  # fmt: skip
    counted = {(r["cycle"], r["node"]) for r in archive.table("cycles").to_pylist()}
    assert counted == {key for key, state in states.items() if state == "complete"}


@pytest.mark.thorough
def test_nodes_stop_their_load_when_the_coordinator_is_gone_and_the_database_silent(
    machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    admin = TargetDatabase(database.url)
    with Bed(tmp_path, 2, machines.host) as bed:
        for n in (1, 2):
            bed.node(n, within=machines.within(n))
        run = bed.run(
            database.url, "--clients", "4", "--os-threads", "1", "--scales", "1", "--cycles", "1", "--duration", "90",
            "--lease", str(LEASE_S),
        )  # fmt: skip
        assert until(lambda: committed(admin) > 0)
        # Those of one machine wait for an answer that does not come, all of them on one thread.
        silent = [row["pid"] for row in of_machine(admin, machines.address(1))]
        assert len(silent) == 4
        for pid in silent:
            os.kill(int(pid), signal.SIGSTOP)
        try:
            assert connected(machines, 1, database) == 4
            run.kill()
            assert until(lambda: [connected(machines, n, database) for n in (1, 2)] == [0, 0])
        finally:
            for pid in silent:
                os.kill(int(pid), signal.SIGCONT)
        assert until(lambda: [sessions(admin, machines.address(n)) for n in (1, 2)] == [0, 0])
    admin.fetch("DROP SCHEMA dsbench CASCADE")


def of_machine(admin: TargetDatabase, address: str) -> Sequence[Mapping[str, Any]]:
    """Sessions of one machine."""
    return admin.fetch(f"SELECT pid FROM pg_stat_activity WHERE client_addr = '{address}'")


def sessions(admin: TargetDatabase, address: str) -> int:
    """How many sessions one machine has."""
    return len(of_machine(admin, address))


def committed(admin: TargetDatabase) -> int:
    """Transactions of the cycles since the last clean-up; 0 while there is no place for them."""
    if not admin.fetch("SELECT to_regclass('dsbench.history') AS name")[0]["name"]:
        return 0
    return int(admin.fetch("SELECT count(*) AS n FROM dsbench.history")[0]["n"])


def connected(machines: Network, machine: int, database: servers.Server) -> int:
    """Connections to the database that the machine itself holds for open."""
    port = database.url.rsplit(":", 1)[1].split("/")[0]
    command = [*machines.within(machine), "ss", "-Htn", "state", "established", "dport", "=", f":{port}"]
    return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())
