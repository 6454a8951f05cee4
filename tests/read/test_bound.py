"""The upper bound of a rate out of those of its parts, against the figures of McDonell (1987), section 3."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.several.bounds import Bound, Bounds, MeasuredRun, spec
from dsbench.stats import equations as eq
from dsbench.stats.equations import bound_tps, minimum_time_s


@pytest.mark.parametrize(
    ("t2", "t1", "seconds", "bound", "observed", "share"),
    [(60, 75, 0.073, 13.6, 12.2, 0.89), (57, 55, 0.089, 11.2, 9.5, 0.85), (45, 37, 0.13, 7.9, 6.5, 0.82)],
    ids=["Model-4", "Model-2", "Model-1"],
)
def test_the_bound_is_that_of_the_publication(
    t2: float, t1: float, seconds: float, bound: float, observed: float, share: float
) -> None:
    parts = [(t2, 2), (t1, 3)]
    # The publication cuts some figures off where it does not round them: a unit of the last digit either way.
    assert minimum_time_s(parts) == pytest.approx(seconds, abs=0.001 if seconds < 0.1 else 0.01)
    assert bound_tps(parts) == pytest.approx(bound, abs=0.1)
    assert observed / bound_tps(parts) == pytest.approx(share, abs=0.01)


def test_runs_of_two_scales_are_lines_of_their_own() -> None:
    def run(workload: str, scale: int, *rates: tuple[int, float]) -> MeasuredRun:
        return MeasuredRun(f"{workload}-{scale}", "PG 17 on h", workload, workload.lower(), "on", scale, rates, None)

    large, small = run("T1", 100, (1, 300.0), (2, 400.0)), run("T1", 10, (1, 1000.0), (2, 1800.0))
    whole = run("TP1", 10, (1, 500.0), (2, 900.0))
    drawn = spec(Bounds((Bound(whole, ((small, 1),)),), (large, small, whole)), "PG 17 on h")
    lines = {row["run"] for row in drawn["datasets"]["rates"]}
    assert lines == {"T1 [logging on], scale 100", "T1 [logging on], scale 10", "TP1 [logging on], scale 10"}
    said = " ".join(drawn["title"]["subtitle"])
    assert said.startswith("dashed: upper bound")
    assert "TP1 [logging on], scale 10: 50% of the bound 1,800" in said


def test_a_part_without_a_rate_bounds_nothing() -> None:
    assert np.isnan(bound_tps([(0.0, 2), (10.0, 3)]))
    assert np.isnan(bound_tps([]))


def test_the_two_definitions_of_tps_differ_as_far_as_streams_end_apart() -> None:
    second = 1_000_000_000
    committed = np.array([[[100, 100, 0]]])
    first, last = np.array([[[0, 0, 0]]]), np.array([[[10 * second, 5 * second, 0]]])
    assert eq.stream_rate_tps(committed, first, last).tolist() == [30.0]
    assert eq.span_rate_tps(committed, first, last).tolist() == [20.0]
    together = np.array([[[10 * second, 10 * second, 0]]])
    assert eq.stream_rate_tps(committed, first, together).tolist() == [20.0]
    assert eq.span_rate_tps(committed, first, together).tolist() == [20.0]
    nothing = np.zeros((1, 1, 3), dtype=np.int64)
    assert eq.span_rate_tps(nothing, nothing, nothing).tolist() == [0.0]
