"""Runs on nodes of this machine against a real PostgreSQL."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from dsbench import servers
from dsbench.generator import Bench, Target
from dsbench.monitors import network
from dsbench.runner.cycle import seed_of
from fixtures.nodes import Bed, ended, history


def test_two_nodes_are_merged_into_one_archive(postgresql: servers.Server, tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(1, "alba"), bed.node(2, "syrtis")]
        run = bed.run(
            postgresql.url, "--threads", "3", "--scales", "1,2", "--cycles", "2", "--duration", "0.5", "--seed", "7"
        )
        ended(run)
        assert all("the run is complete" in ended(node) for node in nodes)
        archive = bed.archive()
        assert not (bed.invitation.folder / "coordinator.bundle").exists(), "the bundles are spent"
    cycles = archive.table("cycles").to_pylist()
    assert Counter((r["scale"], r["cycle"], r["node"]) for r in cycles) == {
        (scale, cycle, node): 3 for scale in (1, 2) for cycle in (1, 2) for node in ("alba", "syrtis")
    }
    assert min(r["committed"] for r in cycles) > 0
    buckets, seconds = archive.table("buckets").to_pylist(), archive.table("seconds").to_pylist()
    for scale in (1, 2):
        counted = sum(r["committed"] for r in cycles if r["scale"] == scale)
        late = sum(r["late_commits"] for r in cycles if r["scale"] == scale)
        assert counted == sum(r["count"] for r in buckets if r["scale"] == scale)
        assert counted == sum(r["count"] for r in seconds if r["scale"] == scale)
        assert counted + late == history(archive)[scale]
        assert all(c.holds for c in archive.run.checks[scale])
    took_part = archive.table("nodes").to_pylist()
    assert {r["state"] for r in took_part} == {"complete"}
    # All nodes share one clock here, so the true offset is 0 and must lie within the error that is claimed.
    assert all(abs(r["clock_offset_ns"]) <= r["clock_error_ns"] for r in took_part)
    assert [n.name for n in archive.run.nodes] == ["alba", "syrtis"]
    assert [n.network for n in archive.run.nodes] == [network.identity()] * 2, "bytes that both count are told once"
    assert {"local", "alba", "syrtis"} == set(archive.table("monitors").column("node").to_pylist())
    machines = archive.table("machine").to_pylist()
    assert Counter(r["node"] for r in machines) == dict.fromkeys(("local", "alba", "syrtis"), 4)
    # All of them are on this machine, and none takes the others' processes, or the server's, for other programs.
    assert all(r["server_ns"] > 0 and r["run_ns"] > 0 for r in machines)
    own = {*postgresql.pids(), *(process.pid for process in (run, *nodes))}
    assert not own & set(archive.table("programs").column("pid").to_pylist())


def test_nodes_draw_the_inputs_of_their_own_clients(postgresql: servers.Server) -> None:
    bench = Bench(Target(postgresql.url), "tpcb", 3, None)
    drawn = [bench.draws(seed_of(7, 3, 1), client, 20) for client in range(2 * 3)]
    assert len(np.unique([" ".join(lines) for lines in drawn])) == 6
