"""A start that no node was ready for is tried again, with a longer lead, before a run is given up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dsbench.cluster import lead
from dsbench.cluster.outcome import MISSED, Course, NodeResult, Part, missed
from dsbench.columns import COUNTERS
from dsbench.generator import SECOND_WORDS, CycleResult
from dsbench.runner import opening
from fixtures.nodes import Bed, ended

HURRIED = """
import sys
from dsbench.cluster import lead
lead.BASE_NS, lead.PER_NODE_NS, lead.ERRORS = {base_ns}, 0, 0
from dsbench.cli import main
main()
"""
LOAD = ("run", "mock:?latency_us=1000", "--nodes", "2", "--threads", "1", "--scales", "1", "--cycles", "2", "--duration", "0.3")


def hurried(bed: Bed, base_ns: int) -> subprocess.Popen[str]:
    """A run that names its starts ``base_ns`` before: a node needs more than 3 ms."""
    command = [sys.executable, "-c", HURRIED.format(base_ns=base_ns), *LOAD]
    process = subprocess.Popen(
        command, cwd=bed.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    bed.processes.append(process)
    return process


def test_a_missed_start_is_tried_again(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        for number in (1, 2):
            bed.node(number)
        said = ended(hurried(bed, 2_500_000))
        assert "cycle 1: no node was ready for the common start; trying again with a longer lead" in said
        archive = bed.archive()
    assert archive.run.status == "complete"
    cycles = archive.table("cycles").to_pylist()
    assert {row["cycle"] for row in cycles} == {1, 2}
    assert sum(row["committed"] for row in cycles) == sum(archive.table("buckets").column("count").to_pylist())


def test_a_start_that_is_always_missed_is_the_nodes_fault_not_the_servers(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        for number in (1, 2):
            bed.node(number)
        run = hurried(bed, 1)
        said, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    assert said.count("trying again with a longer lead") == 4
    assert f"error: scale 1, cycle 1: node n1: {MISSED}; node n2: {MISSED}" in said
    assert "hint: finished cycles are kept; see whether the nodes are up and not too busy" in said
    assert "server works again" not in said


def test_the_lead_grows_when_a_start_was_missed_and_shrinks_again() -> None:
    own = lead.Lead(2)
    quiet = own.ns([])
    assert quiet == lead.BASE_NS + 2 * lead.PER_NODE_NS
    assert own.ns([1_000_000, 5]) == quiet + lead.ERRORS * 1_000_000
    leads = []
    for was_missed in (True, True, False, False, False):
        own.learn(missed=was_missed)
        leads.append(own.ns([]) // quiet)
    assert leads == [3, 9, 3, 1, 1]
    for _ in range(20):
        own.learn(missed=True)
    assert own.ns([]) < 30 * 10**9


def part(why: str, committed: int | None = None, *, loaded: bool = False) -> Part:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    counters[0, 0, COUNTERS.index("late_commits")] = committed or 0
    result = CycleResult(counters, np.zeros(1, "<u8"), (), np.zeros((0, SECOND_WORDS), "<u8"), (), {}, None)
    return Part("n", why, None if committed is None else NodeResult("n", result, Course(why)), loaded)


@pytest.mark.parametrize(
    ("parts", "again"),
    [
        ([part(MISSED), part(MISSED, 0, loaded=True)], True),
        ([part(MISSED), part("it was gone when the cycle began")], True),
        ([part(MISSED), part("", 5, loaded=True)], False),
        ([part(MISSED), part(MISSED, 1, loaded=True)], False),
        ([part(MISSED), part("no beat for 6 s", loaded=True)], False),
        ([part("it was gone when the cycle began")], False),
    ],
)
def test_only_a_cycle_without_any_load_is_tried_again(parts: list[Part], again: bool) -> None:
    assert missed(parts) is again


def test_the_hint_names_the_nodes_when_the_database_was_well() -> None:
    assert opening.ended("cycle 1", "why", [None, None]).remedy == opening.NODES
    assert opening.ended("cycle 1", "why", []).remedy == opening.NODES
