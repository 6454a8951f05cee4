from __future__ import annotations

from math import isnan, nan, sqrt
from pathlib import Path

import numpy as np
import pytest

from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.nodes import NodesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.spec import LEVELS
from dsbench.stats.values import result_columns
from fixtures import small
from fixtures.archives import MS, S, bucket_rows, cycle_row, phase_rows, run_json, write


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return evaluate(small.archive(tmp_path_factory.mktemp("small")))


# Scale 1. M = (40+30+20+0) + (50+30+20+10) = 90 + 110 = 200, so T_1 = 90/10 = 9 and T_2 = 110/10 = 11 tps:
# median 10, mean T = 200/(2*10) = 10, stddev sqrt(((9-10)^2 + (11-10)^2)/1) = sqrt 2.
# R = 40*1 + 30*2 + 20*4 + 50*1 + 30*2 + 20*4 + 10*20 ms = 180 + 390 ms = 0.57 s; f = 0.57/(2*10) = 0.0285.
# Effective: cycle 1 from 0.1 s (a/0; b/1 never started) to 9.9 s (b/0) = 9.8 s, cycle 2 from 0.1 s to 10 s = 9.9 s.
# Sorted: 90 x 1 ms, 60 x 2 ms (to rank 150), 40 x 4 ms (to 190), 10 x 20 ms (to 200). Ranks of the levels:
# 0.5: 100 -> 2 ms, 0.68: 136 -> 2 ms, 0.87: 174 -> 4 ms, 0.95: 190 -> 4 ms, 0.99: 198 -> 20 ms,
# 0.997: 199.4 -> 200 -> 20 ms. Rates f/r: 0.0285/0.002 = 14.25, 0.0285/0.004 = 7.125, 0.0285/0.02 = 1.425.
SCALE_1 = (
    1, 0.015, 10, 10, sqrt(2), 9, 11, 200, 10, 0.57, 19.7, 0.0285,
    14.25, 14.25, 7.125, 7.125, 1.425, 1.425, 2.5, 0.5, 0.25, 0.3, 0.05,
)  # fmt: skip
# Scale 10: ten times the transactions in half the time each: M = 2000, T_i = 90, 110, R = 10/2 * 0.57 = 2.85 s,
# f = 2.85/20 = 0.1425; residence times 1, 2 and 10 ms at the levels: 142.5, 71.25, 14.25.
SCALE_10 = (
    10, 0.15, 100, 100, sqrt(200), 90, 110, 2000, 0, 2.85, 19.7, 0.1425,
    142.5, 142.5, 71.25, 71.25, 14.25, 14.25, 25, 5, 2.5, 3, 0.1,
)  # fmt: skip


def test_all_23_columns_are_those_worked_out_by_hand(evaluation: Evaluation) -> None:
    assert len(result_columns(LEVELS)) == 23
    first, second = (tuple(row.cells().values()) for row in evaluation.of(RateResult).scales)
    assert first == pytest.approx(SCALE_1, rel=1e-14)
    assert second == pytest.approx(SCALE_10, rel=1e-14)


def test_rates_by_cycle_and_by_node(evaluation: Evaluation) -> None:
    assert {scale: rates.tolist() for scale, rates in evaluation.of(RateResult).cycle_rates.items()} == {1: [9, 11], 10: [90, 110]}
    # T_in: node a 70 and 80 transactions in 10 s, node b 20 and 30.
    assert evaluation.of(NodesResult).node_rates["a"][1].tolist() == [7, 8]
    assert evaluation.of(NodesResult).node_rates["b"][1].tolist() == [2, 3]
    assert evaluation.of(KindsResult).kind_counts == {1: {"tpcb": 200}, 10: {"tpcb": 2000}}


def test_index_is_the_area_under_two_points(evaluation: Evaluation) -> None:
    # lg T = 1 and 2 over lg X = 0 and 1: 0.5 * (1 + 2)/2 * 1.
    index = evaluation.of(RateResult).index
    assert index.dsi is not None
    assert index.dsi.value == pytest.approx(0.75, rel=1e-14)
    assert np.isnan([index.dsi.low, index.dsi.high]).all(), "two cycles of each scale leave it as open as its rates"
    assert (index.lowest_scale, index.highest_scale, index.comparable) == (1, 10, False)
    assert (index.crossing, index.crossing_note) == (None, "above T = X up to scale 10: larger scales needed")


def test_distribution_and_quantiles(evaluation: Evaluation) -> None:
    found = evaluation.of(LatencyResult).frequency[1]
    assert found.count == 200
    assert found.residence_ns.tolist() == [1 * MS, 2 * MS, 4 * MS, 20 * MS]
    # Longer than 1 ms are 110 of 200, than 2 ms 50, than 4 ms 10, than 20 ms none.
    assert found.longer.tolist() == pytest.approx([0.55, 0.25, 0.05, 0], abs=1e-15)
    assert found.quantiles_ns[0.999] == found.quantiles_ns[1.0] == 20 * MS
    assert found.quantiles_ns[0.9] == 4 * MS
    assert evaluation.of(LatencyResult).response == {}


def test_course_per_second_adds_up_the_nodes(evaluation: Evaluation) -> None:
    course = evaluation.of(CourseResult).seconds[1]
    assert course.shape == (20, 5)
    # p50 of 30 at 1 ms and 10 at 5 ms: (30*1 + 10*5)/40 = 2 ms; p99 (30*2 + 10*6)/40 = 3 ms; the maximum is exact.
    assert course[0].tolist() == [40, 0, 2 * MS, 3 * MS, 7 * MS]
    assert course[9, :2].tolist() == [0, 10]
    assert np.isnan(course[9, 2:]).all()
    assert course[19].tolist() == [8, 0, MS, MS, MS]
    assert course[:, 0].sum() == 48
    assert 10 not in evaluation.of(CourseResult).seconds


def test_shares_and_errors(evaluation: Evaluation) -> None:
    assert evaluation.of(ErrorsResult).success_share == {1: pytest.approx(200 / 210), 10: 1}
    # Scale 10: 3 * 200 on other branches out of 2000 counted and 4 * 100 late commits.
    assert evaluation.of(ErrorsResult).remote_share == {1: 0, 10: pytest.approx(600 / 2400)}
    assert evaluation.of(ErrorsResult).errors == {1: {"deadlock 40P01": 1, "serialization 40001": 9}}


def test_a_zip_gives_the_same_as_the_folder(evaluation: Evaluation, tmp_path: Path) -> None:
    sealed = evaluate(small.archive(tmp_path, sealed=True))
    assert sealed.name == "small"
    assert (sealed.of(RateResult).scales, sealed.of(RateResult).index, sealed.of(WarningsResult).doubts) == (evaluation.of(RateResult).scales, evaluation.of(RateResult).index, evaluation.of(WarningsResult).doubts)


def test_a_scale_cut_short_has_a_row_of_nan(tmp_path: Path) -> None:
    tables = small.tables()
    tables["phases"] += phase_rows(100, populate=30 * S)
    tables["buckets"] += bucket_rows(100, 1, [MS] * 5)  # of a cycle that never got its row in ``cycles``
    tables["errors"].append({"scale": 100, "cycle": 1, "node": "a", "error": "busy", "code": "", "count": 4, "example": ""})
    run = {**small.RUN, "status": "cut-short", "reason": "stopped by the user"}
    found = evaluate(write(tmp_path, run, tables))
    row = found.of(RateResult).scales[2]
    assert (row.scale, row.transactions, row.failed, row.populate_s) == (100, 0, 0, 30)
    rest = {name: cell for name, cell in row.cells().items() if name not in ("scale", "transactions", "failed", "populate_s")}
    assert all(isnan(value) for value in rest.values()), rest
    for mapping in (found.of(RateResult).cycle_rates, found.of(LatencyResult).frequency, found.of(ErrorsResult).success_share, found.of(ErrorsResult).errors, found.of(KindsResult).kind_counts):
        assert 100 not in mapping
    assert found.of(RateResult).index.highest_scale == 10
    assert {"cut-short", "void"} <= {doubt.code for doubt in found.of(WarningsResult).doubts}


def test_an_archive_without_any_row_still_evaluates(tmp_path: Path) -> None:
    found = evaluate(write(tmp_path, run_json({}, status="running"), {}))
    assert (found.of(RateResult).scales, found.of(RateResult).index.dsi, found.of(NodesResult).node_rates, found.of(ErrorsResult).collision) == ((), None, {}, None)


def test_a_failed_check_voids_the_scale_and_spoils_the_index(tmp_path: Path) -> None:
    broken = [{"name": "branch sum", "state": "broken", "detail": "5 against 7"}]
    run = {**small.RUN, "checks": {**small.RUN["checks"], "10": broken}}
    found = evaluate(write(tmp_path, run, small.tables()))
    assert found.of(RateResult).void_scales == {10}
    assert found.of(RateResult).index.dsi is None
    first = found.of(WarningsResult).doubts[0]
    assert (first.code, first.scale, first.severe) == ("check-failed", 10, True)
    assert "branch sum (5 against 7)" in first.message


def test_kinds_add_up_and_an_idle_kind_does_not_touch_the_times(tmp_path: Path) -> None:
    rows = [
        cycle_row(1, 1, [2 * MS] * 6, kind="new_order", first_start_ns=500 * MS, last_end_ns=900 * MS, rolled_back=1),
        cycle_row(1, 1, [8 * MS] * 2, kind="payment", first_start_ns=700 * MS, last_end_ns=950 * MS),
        cycle_row(1, 1, [], kind="delivery"),
    ]
    buckets = bucket_rows(1, 1, [2 * MS] * 6, kind="new_order") + bucket_rows(1, 1, [8 * MS] * 2, kind="payment")
    run = run_json({"scales": (1,), "cycles": 1, "duration": 1.0, "workload": "tpcc"})
    found = evaluate(write(tmp_path, run, {"cycles": rows, "buckets": buckets}))
    row = found.of(RateResult).scales[0]
    assert (row.transactions, row.rate_median_tps, row.effective_duration_s) == (8, 8, 0.45)
    assert found.of(KindsResult).kind_counts == {1: {"delivery": 0, "new_order": 6, "payment": 2}}
    # 6 values of 2 ms and 2 of 8 ms: rank 4 of 8 is 2 ms, rank ceil(0.87 * 8) = 7 is 8 ms.
    assert (found.of(LatencyResult).frequency[1].quantiles_ns[0.5], found.of(LatencyResult).frequency[1].quantiles_ns[0.87]) == (2 * MS, 8 * MS)
    assert found.of(ErrorsResult).remote_share == {}


def test_a_node_that_is_missing_from_a_cycle_shows_as_nan(tmp_path: Path) -> None:
    tables = small.tables()
    gone = [row for row in tables["cycles"] if (row["scale"], row["cycle"], row["node"]) != (10, 2, "b")]
    found = evaluate(write(tmp_path, small.RUN, {**tables, "cycles": gone}))
    assert found.of(NodesResult).node_rates["b"][10].tolist() == pytest.approx([20, nan], nan_ok=True)
    assert [(d.code, d.scale) for d in found.of(WarningsResult).doubts if d.code == "degraded"] == [("degraded", 10)]


def test_response_times_of_the_open_loop_stand_beside_the_residence_times(tmp_path: Path) -> None:
    buckets = bucket_rows(1, 1, [MS] * 3) + bucket_rows(1, 1, [MS, 5 * MS, 9 * MS], measure="response")
    run = run_json({"scales": (1,), "cycles": 1, "duration": 1.0, "rate": 5.0})
    found = evaluate(write(tmp_path, run, {"cycles": [cycle_row(1, 1, [MS] * 3, skipped_starts=2)], "buckets": buckets}))
    assert found.of(LatencyResult).frequency[1].quantiles_ns[0.5] == MS
    assert (found.of(LatencyResult).response[1].quantiles_ns[0.5], found.of(LatencyResult).response[1].quantiles_ns[1.0]) == (5 * MS, 9 * MS)
    assert "missed-starts" in {doubt.code for doubt in found.of(WarningsResult).doubts}


def test_costs_come_from_the_counters_and_not_from_gauges(tmp_path: Path) -> None:
    key = {"scale": 1, "cycle": 1, "node": "local", "monitor": "os"}
    samples = [
        {**key, "metric": "cpu_user", "unit": "s total", "at_ns": -MS, "value": 100.0},
        {**key, "metric": "cpu_user", "unit": "s total", "at_ns": S // 2, "value": 100.2},
        {**key, "metric": "cpu_user", "unit": "s total", "at_ns": S + MS, "value": 100.5},
        {**key, "metric": "memory_used", "unit": "bytes", "at_ns": -MS, "value": 5.0},
        {**key, "metric": "memory_used", "unit": "bytes", "at_ns": S + MS, "value": 9.0},
        {**key, "metric": "cpu_user", "unit": "s total", "at_ns": 0, "value": 0.0, "cycle": 2},  # of an unfinished cycle
    ]
    run = run_json({"scales": (1,), "cycles": 1, "duration": 1.0})
    found = evaluate(write(tmp_path, run, {"cycles": [cycle_row(1, 1, [MS] * 100)], "monitors": samples}))
    (cost,) = found.of(CostResult).resources[1]
    # 0.5 s of CPU over 100 transactions, within 1.002 s between the samples.
    assert (cost.name, cost.unit, cost.scope) == ("CPU time, user", "µs", "system")
    assert (cost.per_transaction, cost.per_second) == pytest.approx((5000, 500_000 / 1.002))
