"""What nodes did, out of an archive whose figures can be worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import RunRecord
from dsbench.read import subjects
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.page import page
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.nodes import NodesResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.text import render_text
from fixtures.archives import MS, S, bucket_rows, cycle_row, run_json, write

KEY = {"scale": 1, "cycle": 1}


def counter(node: str, monitor: str, metric: str, unit: str, before: float, after: float) -> list[dict[str, Any]]:
    row = {**KEY, "node": node, "monitor": monitor, "metric": metric, "unit": f"{unit} total"}
    return [{**row, "at_ns": -MS, "value": before}, {**row, "at_ns": 10 * S, "value": after}]


def course(node: str, cycle: int = 1, state: str = "complete", why: str = "", **more: int | None) -> dict[str, Any]:
    times = {"clock_offset_ns": -5, "clock_error_ns": MS, "clock_drift_ns": -MS, "armed_before_ns": S, "start_late_ns": 0}
    return {"scale": 1, "cycle": cycle, "node": node, "state": state, "why": why, **times, **more}


def tables() -> dict[str, list[dict[str, Any]]]:
    """Two nodes in one cycle of 10 s: a with 600 transactions of 1 ms, b with 400 of 4 ms."""
    a, b = [MS] * 600, [4 * MS] * 400
    return {
        "cycles": [cycle_row(1, 1, a, node="a"), cycle_row(1, 1, b, node="b")],
        "buckets": [*bucket_rows(1, 1, a, node="a"), *bucket_rows(1, 1, b, node="b")],
        "monitors": [
            *counter("local", "os", "cpu_user", "s", 0, 10),
            *counter("local", "network", "sent_bytes", "bytes", 0, 100_000),
            *counter("local", "client", "cpu_user", "s", 0, 7),
            *counter("a", "os", "cpu_user", "s", 100, 119), *counter("a", "os", "cpu_idle", "s", 0, 1),
            *counter("b", "os", "cpu_user", "s", 100, 101), *counter("b", "os", "cpu_idle", "s", 0, 19),
            *counter("a", "client", "cpu_user", "s", 0, 2), *counter("b", "client", "cpu_user", "s", 0, 1),
            *counter("a", "client", "cpu_system", "s", 0, 0), *counter("b", "client", "cpu_system", "s", 0, 0),
            *counter("a", "network", "sent_bytes", "bytes", 0, 60_000),
            *counter("b", "network", "sent_bytes", "bytes", 0, 20_000),
        ],
    }  # fmt: skip


def evaluated(
    folder: Path, nodes: list[dict[str, Any]], network: str = "", **changed: list[dict[str, Any]]
) -> Evaluation:
    """The run of ``tables``, of which some are ``changed``; ``network``: what both nodes are behind."""
    of = {"a": 1e6, "b": 50.0}
    ceilings = [{"name": n, "network": network, "calibration": {"ceiling_tps": tps}} for n, tps in of.items()]
    spec = {"scales": (1,), "cycles": 1, "duration": 10.0, "clients": 1, "nodes": 2}
    return evaluate(write(folder, run_json(spec, nodes=ceilings), {**tables(), "nodes": nodes, **changed}))


@pytest.fixture
def found(tmp_path: Path) -> Evaluation:
    return evaluated(tmp_path, [course("a", start_late_ns=3 * MS), course("b", start_late_ns=2 * MS)])


def test_each_node_has_its_own_figures(found: Evaluation) -> None:
    a, b = found.of(NodesResult).nodes["a"][1], found.of(NodesResult).nodes["b"][1]
    assert (a.rate_median_tps, b.rate_median_tps) == (60, 40)
    assert (a.p50_ns, b.p99_ns) == (MS, 4 * MS)
    assert (a.cpu_busy, b.cpu_busy) == (0.95, 0.05)
    assert (a.sent_bytes, b.sent_bytes) == (100, 50)
    assert (a.start_late_ns, a.clock_error_ns, a.cycles, a.absent) == (3 * MS, 2 * MS, 1, ())


def test_what_a_transaction_cost_is_not_mixed_up_between_machines(found: Evaluation) -> None:
    costs = {r.name: r.per_transaction for r in found.of(CostResult).resources[1]}
    assert costs["CPU time, user"] == pytest.approx(10 / 1000 * 1e6), "of the system under test alone"
    assert costs["client CPU time"] == pytest.approx(3 / 1000 * 1e6), "of the nodes alone"
    assert costs["network sent"] == pytest.approx(100)
    assert costs["network sent by the nodes"] == pytest.approx(80)


def test_what_one_node_does_not_tell_is_not_known_of_all(tmp_path: Path) -> None:
    rows = [row for row in tables()["monitors"] if (row["node"], row["monitor"]) != ("b", "client")]
    found = evaluated(tmp_path, [course("a"), course("b")], monitors=rows)
    costs = {r.name: r.per_transaction for r in found.of(CostResult).resources[1]}
    assert math.isnan(costs["client CPU time"]), "that of a, over the transactions of both, would be too little"
    assert costs["network sent by the nodes"] == pytest.approx(80)


def test_bytes_of_a_machine_with_two_nodes_count_once(tmp_path: Path) -> None:
    rows = [row for row in tables()["monitors"] if (row["node"], row["monitor"]) != ("b", "network")]
    rows += counter("b", "network", "sent_bytes", "bytes", 0, 60_000)
    found = evaluated(tmp_path, [course("a"), course("b")], network="client-1 4026531840", monitors=rows)
    costs = {r.name: r.per_transaction for r in found.of(CostResult).resources[1]}
    assert costs["network sent by the nodes"] == pytest.approx(60)
    assert (found.of(NodesResult).nodes["a"][1].sent_bytes, found.of(NodesResult).nodes["b"][1].sent_bytes) == (50, 75), "half of them each"


def test_slow_nodes_are_named(found: Evaluation) -> None:
    (doubt,) = [d for d in found.of(WarningsResult).doubts if d.code == "slow-node"]
    assert "a (CPUs 95% busy)" in doubt.message
    assert "b (at 80% of its rate against an engine that answers at once)" in doubt.message


def shown(found: Evaluation) -> str:
    return render_text(subjects.find_subject("nodes").tell(found))


@pytest.mark.parametrize(("late_ms", "doubted"), [(97, False), (99, True)])
def test_a_start_that_may_be_off_by_a_hundredth_is_doubted(tmp_path: Path, late_ms: int, doubted: bool) -> None:
    found = evaluated(tmp_path, [course("a"), course("b", start_late_ns=late_ms * MS)])
    assert [d.code for d in found.of(WarningsResult).doubts].count("start-skew") == doubted


def test_nodes_that_were_never_there_are_missed(tmp_path: Path) -> None:
    gone = course("c", state="absent", why="it was lost when the cycle began", start_late_ns=None)
    found = evaluated(tmp_path, [course("a"), course("b"), gone])
    (doubt,) = [d for d in found.of(WarningsResult).doubts if d.code == "degraded"]
    assert "1 cycle without all nodes" in doubt.message
    assert "node c, cycle 1: it was lost when the cycle began" in doubt.message
    assert math.isnan(found.of(NodesResult).nodes["c"][1].rate_median_tps)
    assert "node c at scale 1, cycle 1: it was lost" in shown(found)


def test_the_table_and_the_page_show_all_nodes(found: Evaluation) -> None:
    rows = [line.split() for line in shown(found).splitlines() if "1 of 1" in line]
    assert [(row[1], row[5]) for row in rows] == [("a", "60%"), ("b", "40%")]
    assert "Machines that generated the load" in page(found, RunRecord.of(run_json({"nodes": 2})), {})
