"""Runs on nodes of this machine: merged into one archive, started together, and placed where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.archive.conditions import State, state_of
from dsbench.measure import opening
from dsbench.measure.cycle import seed_of
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.loaders.results import MISSED
from dsbench.measure.monitors import system
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult
from fixtures.archives import timed
from fixtures.network import Network
from fixtures.nodes import Bed, ended, history
from fixtures.stalled import unless_stalled


@unless_stalled
def test_two_nodes_are_merged_into_one_archive(postgresql: servers.Server, tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(1, "alba"), bed.node(2, "syrtis")]
        run = bed.run(
            postgresql.url, "--clients", "3", "--scales", "1,2", "--cycles", "2", "--duration", "0.5", "--seed", "7"
        )
        ended(run)
        assert all("the run is complete" in ended(node) for node in nodes)
        archive = bed.archive()
        assert [path.name for path in bed.invitation.folder.iterdir()] == [".gitignore"], "the keys are gone"
    cycles = archive.table("cycles").to_pylist()
    assert Counter((r["scale"], r["cycle"], r["node"]) for r in cycles) == {
        (scale, cycle, node): 3 for scale in (1, 2) for cycle in (1, 2) for node in ("alba", "syrtis")
    }
    tried = Counter[tuple[int, int, str]]()
    for row in cycles:
        tried[row["scale"], row["cycle"], row["node"]] += row["committed"] + row["failed"] + row["in_flight"]
    assert min(tried.values()) > 0
    buckets, seconds = archive.table("buckets").to_pylist(), archive.table("seconds").to_pylist()
    for scale in (1, 2):
        counted = sum(r["committed"] for r in cycles if r["scale"] == scale)
        late = sum(r["commits_after_window"] for r in cycles if r["scale"] == scale)
        assert counted == sum(r["count"] for r in buckets if (r["scale"], r["measure"]) == (scale, "residence"))
        assert counted == sum(r["count"] for r in seconds if r["scale"] == scale)
        assert counted + late == history(archive)[scale]
        assert state_of(archive.run.checks[scale]) is State.HOLDS
    took_part = archive.table("nodes").to_pylist()
    assert {r["state"] for r in took_part} == {"complete"}
    # All nodes share one clock here, so the true offset is 0 and must lie within the error that is claimed.
    assert all(abs(r["clock_offset_ns"]) <= r["clock_error_ns"] for r in took_part)
    assert [n.name for n in archive.run.nodes] == ["alba", "syrtis"]
    assert [n.network for n in archive.run.nodes] == [system.identity()] * 2, "bytes that both count are told once"
    assert {"local", "alba", "syrtis"} == set(archive.table("monitors").column("node").to_pylist())
    machines = archive.table("machine").to_pylist()
    assert Counter(r["node"] for r in machines) == dict.fromkeys(("local", "alba", "syrtis"), 4)
    # All of them are on this machine, and none takes the others' processes, or the server's, for other programs.
    # The kernel counts in ticks of 10 ms, of which a short cycle on a busy machine may have none.
    taken = Counter[tuple[str, str]]()
    for row in machines:
        taken.update({(row["node"], who): row[f"{who}_ns"] for who in ("server", "run")})
    assert all(taken[node, who] > 0 for node in ("local", "alba", "syrtis") for who in ("server", "run")), taken
    own = {*postgresql.pids(), *(process.pid for process in (run, *nodes))}
    assert not own & set(archive.table("programs").column("pid").to_pylist())


def test_nodes_draw_the_inputs_of_their_own_clients(postgresql: servers.Server) -> None:
    bench = Bench(TargetDatabase(postgresql.url), "tpcb", 3, None)
    drawn = [bench.draws(seed_of(7, 3, 1), client, 20) for client in range(2 * 3)]
    assert len(np.unique([" ".join(lines) for lines in drawn])) == 6


@pytest.mark.thorough
@pytest.mark.parametrize("tables", ["each", "shared"])
def test_two_nodes_run_stages_of_every_form_and_no_condition_is_broken(
    tables: str, postgresql: servers.Server, tmp_path: Path
) -> None:
    # Each cycle of two nodes takes seconds: the queries beside one rate are of the form of all.
    sizes = [word for one in ("rows=1000", "writes=500", "rates=1000", f"tables={tables}") for word in ("--set", one)]
    words = ["--workload", "insert", "--clients", "2", "--scales", "1", "--duration", "0.3", *sizes]
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(number, "same") for number in (1, 2)]
        ended(bed.run(postgresql.url, *words), 240)
        for node in nodes:
            assert "the run is complete" in ended(node)
        archive = bed.archive()
    (checks,) = archive.run.checks.values()
    assert len(checks) == 6 + 9 + 9
    # Clients that share a table insert out of order, which leaves some conditions open.
    assert {one.state for one in checks} - ({State.NOT_MADE} if tables == "shared" else set()) == {State.HOLDS}, checks
    rows = [row for row in archive.table("cycles").to_pylist() if (row["stage"], row["group"]) == ("l.i0", "insert")]
    assert {row["node"] for row in rows} == {"same", "same-2"}
    assert sum(row["rows"] for row in rows) == 4 * 1000
    done = {
        group: sum(row["rows"] for row in archive.table("cycles").to_pylist() if (row["stage"], row["group"]) == ("l.i1", group))
        for group in ("insert", "delete")
    }  # fmt: skip
    assert done == {"insert": 4 * 400, "delete": 4 * 400}


@pytest.mark.thorough
@pytest.mark.parametrize("more", [("--objective", "p90=60ms"), ("--graduated",)])
def test_two_nodes_make_rates_that_are_searched(more: tuple[str, ...], tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(number, "same") for number in (1, 2)]
        words = ("--workload", "select", "--clients", "1", "--scales", "1", "--cycles", "1", "--duration", "1", "--ramp-up", "0.1")
        ended(bed.run("mock:?latency_us=5000", *words, *more), 300)
        for node in nodes:
            assert "the run is complete" in ended(node)
        archive = bed.archive()
    rates = set(archive.table("groups")["rate_per_s"].to_pylist())
    assert len(rates) > 4
    # Two clients and 5 ms for each call: no rate beyond 400 per second can be kept up.
    found = evaluate(archive).of(LoadResult).load
    assert not found or found[1].rate <= 480


@pytest.mark.thorough
def test_thirty_two_nodes_complete_a_cycle(tmp_path: Path) -> None:
    with Bed(tmp_path, 32) as bed:
        nodes = [bed.node(number, "same") for number in range(1, 33)]
        run = bed.run("mock:?latency_us=20000", "--clients", "2", "--scales", "1", "--cycles", "1", "--duration", "2")
        ended(run, 600)
        for node in nodes:
            assert "the run is complete" in ended(node)
        archive = bed.archive()
    taken = archive.table("nodes").to_pylist()
    assert {row["state"] for row in taken} == {"complete"}, taken
    names = {"same", *(f"same-{number}" for number in range(2, 33))}
    assert {row["node"] for row in taken} == names
    cycles = archive.table("cycles").to_pylist()
    assert len(cycles) == 64
    assert min(row["committed"] for row in cycles) > 0
    counted = sum(row["committed"] for row in cycles)
    assert counted == timed(archive)
    assert counted == sum(archive.table("seconds").column("count").to_pylist())


HURRIED = """
import sys
from dsbench.measure.nodes import rules
rules.BASE_NS, rules.PER_NODE_NS, rules.ERRORS = {base_ns}, 0, 0
from dsbench.cli import main
main()
"""
LOAD = ("run", "mock:?latency_us=1000", "--nodes", "2", "--clients", "1", "--scales", "1", "--cycles", "2", "--duration", "0.3")


def hurried(bed: Bed, base_ns: int) -> subprocess.Popen[str]:
    """A run that names its starts ``base_ns`` before: a node needs more than 3 ms."""
    command = [sys.executable, "-c", HURRIED.format(base_ns=base_ns), *LOAD]
    process = subprocess.Popen(
        command, cwd=bed.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    bed.processes.append(process)
    return process


@pytest.mark.thorough
def test_a_missed_start_is_tried_again(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        for number in (1, 2):
            bed.node(number)
        said = ended(hurried(bed, 2_500_000))
        assert "cycle 1: no node was ready for the common start; retrying with a later one" in said
        archive = bed.archive()
    assert archive.run.status == "complete"
    cycles = archive.table("cycles").to_pylist()
    assert {row["cycle"] for row in cycles} == {1, 2}
    assert sum(row["committed"] for row in cycles) == timed(archive)


@pytest.mark.thorough
def test_a_start_that_is_always_missed_is_the_nodes_fault_not_the_servers(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        for number in (1, 2):
            bed.node(number)
        run = hurried(bed, 1)
        said, _ = run.communicate(timeout=120)
    assert run.returncode == 1
    assert said.count("retrying with a later one") == 4
    assert f"error: scale 1, cycle 1: node n1: {MISSED}; node n2: {MISSED}" in said
    assert "hint: finished cycles are kept; check that the nodes are running and not too busy" in said
    assert "server works again" not in said


def test_the_hint_names_the_nodes_when_the_database_was_well() -> None:
    assert opening.explain_cycle("cycle 1", "why", [None, None]).remedy == opening.NODES
    assert opening.explain_cycle("cycle 1", "why", []).remedy == opening.NODES


@pytest.mark.thorough
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
    size = ["--clients", str(max(5, cpus)), "--os-threads", str(cpus), "--scales", "1", "--cycles", "2", "--duration", "0.5", "--retry"]
    done = subprocess.run([*within, *command, *size], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    archive = Archive.open(folder)
    assert archive.table("groups").column("placement").to_pylist() == [told] * 2
    moves = sum(archive.table("cycles").column("moves").to_pylist())
    assert machine == 0 or moves == 0
    shown = told if machine else f"follow, {moves / 2:.3g} moves per cycle"
    assert evaluate(archive).of(RateResult).placement == shown
    assert f"placement: {shown}" in archive.read("results.txt").decode()
