"""Thirty-two nodes on one machine: more than it can serve well, and still one start and one result."""

from __future__ import annotations

from pathlib import Path

from fixtures.nodes import Bed, ended

NODES = 32


def test_thirty_two_nodes_complete_a_cycle(tmp_path: Path) -> None:
    with Bed(tmp_path, NODES) as bed:
        nodes = [bed.node(number, "same") for number in range(1, NODES + 1)]
        run = bed.run("mock:?latency_us=20000", "--threads", "2", "--scales", "1", "--cycles", "1", "--duration", "2")
        ended(run, 240)
        for node in nodes:
            assert "the run is complete" in ended(node)
        archive = bed.archive()
    taken = archive.table("nodes").to_pylist()
    assert {row["state"] for row in taken} == {"complete"}, taken
    names = {"same", *(f"same-{number}" for number in range(2, NODES + 1))}
    assert {row["node"] for row in taken} == names
    cycles = archive.table("cycles").to_pylist()
    assert len(cycles) == NODES * 2
    assert min(row["committed"] for row in cycles) > 0
    counted = sum(row["committed"] for row in cycles)
    assert counted == sum(archive.table("buckets").column("count").to_pylist())
    assert counted == sum(archive.table("seconds").column("count").to_pylist())
