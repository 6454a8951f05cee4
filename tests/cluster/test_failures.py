"""Nodes that die, freeze and lose their cable: the run goes on, the archive tells, and nobody loads unbidden."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from bench.network import Network

from dsbench import servers
from dsbench.generator import Target
from fixtures.nodes import Bed, ended, history

LEASE_S = 2.0
AWAY_S = 7.0
"""Longer than a lease, and shorter than what is left of a cycle."""
CYCLE_S = 14.0


def test_four_nodes_climb_a_ladder_of_three_scales(
    machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    with Bed(tmp_path, 4, machines.host) as bed:
        nodes = [bed.node(n, within=machines.within(n)) for n in (1, 2, 3, 4)]
        run = bed.run(
            database.url, "--threads", "4", "--scales", "1,2,4", "--cycles", "1", "--duration", "2", "--retry"
        )
        ended(run)
        assert all("the run is complete" in ended(node) for node in nodes)
        archive = bed.archive()
    cycles = archive.table("cycles").to_pylist()
    rows = history(archive)
    for scale in (1, 2, 4):
        here = [r for r in cycles if r["scale"] == scale]
        assert {r["node"] for r in here} == {"n1", "n2", "n3", "n4"}
        assert sum(r["committed"] + r["late_commits"] for r in here) == rows[scale]
        assert all(c["holds"] for c in archive.run["checks"][str(scale)])
    password = database.url.split(":")[2].split("@")[0]
    assert len(password) > 20
    for bundle in bed.invitation.bundles:
        assert password not in bundle.read_text()
    for file in bed.archive().path.rglob("*"):
        assert not file.is_file() or password.encode() not in file.read_bytes(), file


def test_a_run_survives_dead_frozen_and_cut_off_nodes(
    machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    with Bed(tmp_path, 4, machines.host) as bed:
        _, frozen, _, dead = (bed.node(n, within=machines.within(n)) for n in (1, 2, 3, 4))
        run = bed.run(
            database.url, "--threads", "2", "--scales", "1", "--cycles", "3", "--duration", str(CYCLE_S),
            "--lease", str(LEASE_S),
        )  # fmt: skip
        admin = Target(database.url)
        until(lambda: sessions(admin, machines.address(4)) == 2)
        time.sleep(2)
        dead.send_signal(signal.SIGKILL)
        machines.cut(3)
        time.sleep(LEASE_S / 2)
        machines.mend(3)
        until(lambda: "cycle 1:" in bed.log())
        until(lambda: sessions(admin, machines.address(2)) == 2 == sessions(admin, machines.address(3)))
        time.sleep(2)
        frozen.send_signal(signal.SIGSTOP)
        machines.cut(3)
        time.sleep(AWAY_S)
        frozen.send_signal(signal.SIGCONT)
        machines.mend(3)
        time.sleep(1.5)  # generous: it takes a look at the clock every 50 ms
        back = now(admin)
        time.sleep(1)
        for machine in (2, 3):
            assert busy_since(admin, machines.address(machine), back) == 0, "no load after the lease"
        ended(run)
        archive, log = bed.archive(), bed.log()
    states = {(r["cycle"], r["node"]): r["state"] for r in archive.table("nodes").to_pylist()}
    assert [states[1, n] for n in ("n1", "n2", "n3", "n4")] == ["complete", "complete", "complete", "lost"]
    assert states[2, "n1"] == "complete"
    assert {states[2, "n2"], states[2, "n3"]} <= {"lost", "partial"}
    assert states[2, "n4"] == "absent"
    assert [states[3, n] for n in ("n1", "n2", "n3", "n4")] == ["complete", "complete", "complete", "absent"]
    assert "node n4 is lost: its connection ended" in log
    assert "node n2 is lost: no beat for" in log
    assert "node n3 is lost: no beat for" in log
    # What n2 and n3 did until their leases ran out came late, and the database is exactly what is known and n4's.
    warned = [w["message"] for w in archive.run["warnings"] if w["code"] == "uncounted"]
    assert warned == ["node n4 was lost in cycle 1: what it committed there is not known"]
    assert all(c["holds"] for c in archive.run["checks"]["1"])
    counted = {(r["cycle"], r["node"]) for r in archive.table("cycles").to_pylist()}
    assert counted == {key for key, state in states.items() if state == "complete"}


def test_nodes_stop_their_load_when_the_coordinator_is_gone(
    machines: Network, database: servers.Server, tmp_path: Path
) -> None:
    with Bed(tmp_path, 2, machines.host) as bed:
        for n in (1, 2):
            bed.node(n, within=machines.within(n))
        run = bed.run(
            database.url, "--threads", "2", "--scales", "1", "--cycles", "1", "--duration", "60", "--lease", str(LEASE_S)
        )
        admin = Target(database.url)
        until(lambda: sessions(admin, machines.address(1)) == 2 == sessions(admin, machines.address(2)))
        time.sleep(1)
        run.kill()
        time.sleep(LEASE_S + 1.5)
        gone = now(admin)
        time.sleep(1)
        assert [busy_since(admin, machines.address(n), gone) for n in (1, 2)] == [0, 0]
    admin.fetch("DROP SCHEMA dsbench CASCADE")


def until(holds: Callable[[], bool], timeout_s: float = 60) -> None:
    """Waits for something that has to happen."""
    give_up = time.monotonic() + timeout_s
    while not _now(holds):
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.05)


def _now(holds: Callable[[], bool]) -> bool:
    try:
        return holds()
    except (ValueError, OSError):  # the archive is not there yet
        return False


def sessions(admin: Target, address: str) -> int:
    """Sessions of one machine."""
    return len(admin.fetch(f"SELECT pid FROM pg_stat_activity WHERE client_addr = '{address}'"))


def now(admin: Target) -> str:
    """The server's clock."""
    return str(admin.fetch("SELECT clock_timestamp() AS at")[0]["at"])


def busy_since(admin: Target, address: str, since: str) -> int:
    """Sessions of one machine that began a statement after ``since``."""
    return len(
        admin.fetch(
            f"SELECT pid FROM pg_stat_activity WHERE client_addr = '{address}' AND query_start > '{since}'::timestamptz"
        )
    )
