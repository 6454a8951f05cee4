from __future__ import annotations

from math import exp, isnan, log10, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dsbench.stats.comparison import compare, differing, dsi_of_runs, dsi_parts, mean_lg, overall, relative
from dsbench.stats.index import dsi
from dsbench.stats.precision import reach, spread, student

RATES = st.lists(st.floats(0.1, 1e6), min_size=5, max_size=12).map(np.array)


def test_a_relative_rate_is_the_quotient_of_the_medians() -> None:
    ours, theirs = np.array([30.0, 10, 20, 21, 19]), np.array([5.0, 4, 6, 5, 5])
    found = relative(ours, theirs)
    assert found.value == pytest.approx(4.0)
    assert 1 < found.low < found.value < found.high
    assert found.low * found.high == pytest.approx(found.value**2), "symmetric in lg T"
    assert found.level == 0.95
    # Where only one varies, what is open is what that one leaves open.
    steady = relative(np.full(5, 20.0), theirs)
    known = spread(theirs)
    assert known is not None
    assert steady.high == pytest.approx(4.0 * exp(reach([(1.0, known)])))


def test_cycles_that_do_not_vary_leave_no_doubt() -> None:
    found = relative(np.full(5, 30.0), np.full(6, 20.0))
    assert (found.value, found.low, found.high) == (1.5, 1.5, 1.5)


def test_the_interval_covers_the_true_quotient_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        found = relative(random.normal(200, 8, 10), random.normal(100, 4, 10))
        covered += found.low <= 2.0 <= found.high
    assert 0.93 <= covered / 200 <= 1.0


def test_few_cycles_have_no_interval_and_a_reference_of_nothing_no_quotient() -> None:
    few = relative(np.full(4, 30.0), np.full(5, 10.0))
    assert few.value == 3.0
    assert isnan(few.low)
    assert isnan(few.high)
    assert isnan(relative(np.full(5, 30.0), np.zeros(5)).value)
    # One of the reference's cycles did nothing: there is no lg of its rate.
    uncertain = relative(np.full(5, 30.0), np.array([0.0, 10, 10, 10, 10]))
    assert uncertain.value == 3.0
    assert isnan(uncertain.low)


@given(RATES, RATES, st.floats(0.01, 100))
def test_another_unit_of_both_changes_nothing_and_of_one_scales_it(
    ours: np.ndarray, theirs: np.ndarray, factor: float
) -> None:
    found, scaled, one = (
        relative(a, b) for a, b in [(ours, theirs), (ours * factor, theirs * factor), (ours * factor, theirs)]
    )
    for name in ("value", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(found, name), rel=1e-9)
        assert getattr(one, name) == pytest.approx(getattr(found, name) * factor, rel=1e-9)
    assert found.low <= found.high


def _flat(rates: dict[int, float], cycles: int = 5) -> dict[int, np.ndarray]:
    return {scale: np.full(cycles, rate) for scale, rate in rates.items()}


def test_the_overall_factor_is_the_one_factor_of_curves_that_differ_by_one() -> None:
    reference = _flat({1: 100.0, 7: 300.0, 1000: 20.0})
    faster = {scale: rates * 2.5 for scale, rates in reference.items()}
    found = overall(faster, reference)
    assert found is not None
    assert found.value == pytest.approx(2.5, rel=1e-12)
    assert found.low == pytest.approx(2.5, rel=1e-12)


def test_the_overall_factor_is_the_difference_of_the_indices() -> None:
    ours, theirs = {1: 100.0, 10: 1000.0, 1000: 10.0}, {1: 200.0, 10: 500.0, 1000: 40.0}
    found = overall(_flat(ours), _flat(theirs))
    scales = list(ours)
    by_hand = 10 ** (2 * (dsi(scales, list(ours.values())) - dsi(scales, list(theirs.values()))) / log10(1000))
    assert found is not None
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    # lg of the quotients -0.301, 0.301, -0.602 over lg X 0, 1, 3: (0 * 1 - 0.1505 * 2) / 3
    assert found.value == pytest.approx(10 ** (-0.301 / 3), rel=1e-3)


def test_the_overall_factor_needs_two_common_scales_with_rates() -> None:
    assert overall(_flat({1: 1.0, 2: 2.0}), _flat({2: 2.0, 5: 1.0})) is None
    assert overall(_flat({1: 1.0, 2: 0.0}), _flat({1: 1.0, 2: 2.0})) is None
    some = overall(_flat({1: 4.0, 2: 2.0}, cycles=1), _flat({1: 1.0, 2: 2.0}))
    assert some is not None
    assert some.value == pytest.approx(2.0)
    assert isnan(some.low)


def test_runs_are_set_beside_the_first_over_the_scales_of_both() -> None:
    first, second = compare([[_flat({1: 10.0, 2: 20.0, 5: 30.0})], [_flat({2: 40.0, 5: 15.0, 9: 1.0})]])
    assert {scale: found.value for scale, found in first.relative.items()} == {1: 1.0, 2: 1.0, 5: 1.0}
    assert first.overall is not None
    assert first.overall.value == 1.0
    assert second.medians == {2: 40.0, 5: 15.0, 9: 1.0}
    assert {scale: found.value for scale, found in second.relative.items()} == {2: 2.0, 5: 0.5}
    (empty,) = compare([[{1: np.array([])}]])
    assert empty.medians == {}
    assert empty.overall is None


def test_repeated_runs_are_compared_by_their_spread() -> None:
    """However steady the cycles of each are: what counts is how far runs of the same settings lie apart."""
    slow, fast = ([_flat({1: rate, 100: rate}) for rate in rates] for rates in ((80.0, 125.0), (160.0, 250.0)))
    first, second = compare([slow, fast])
    assert (first.repeated, first.medians[1], second.medians[1]) == (True, pytest.approx(100), pytest.approx(200))
    # lg of the medians lie 0.0969 on either side of their mean, with the same variance: Welch has 2 degrees of freedom.
    half = 4.3027 * sqrt(2 * 0.096910**2) * sqrt(1 / 2 + 1 / 2)
    for found in (second.relative[1], second.overall):
        assert found is not None
        assert (found.low, found.value, found.high) == pytest.approx((2 / 10**half, 2, 2 * 10**half), rel=1e-4)
    # A run that nobody repeated is judged by the spread of those that were.
    _, alone = compare([slow, fast[:1]])
    half = 12.7062 * sqrt(2 * 0.096910**2) * sqrt(1 / 2 + 1)
    assert alone.relative[1].high == pytest.approx(1.6 * 10**half, rel=1e-4)


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (30, 2.0423)])
def test_student_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert student(0.95, freedom) == pytest.approx(t, abs=1e-4)


def test_the_interval_of_repeated_runs_covers_the_true_quotient_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        ours, theirs = ([_flat({1: rate * random.lognormal(0, 0.2)}) for _ in range(3)] for rate in (200.0, 100.0))
        _, found = compare([theirs, ours])
        covered += found.relative[1].low <= 2.0 <= found.relative[1].high
    assert 0.9 <= covered / 200 <= 0.99


@pytest.mark.parametrize("runs", [3, 5])
def test_runs_of_one_column_may_scatter_more_than_those_of_another(runs: int) -> None:
    random = np.random.default_rng(2)
    covered, draws = 0, 400
    for _ in range(draws):
        ours, theirs = ([_flat({1: random.lognormal(0, scatter)}) for _ in range(count)]
                        for scatter, count in ((0.1, runs), (0.02, 2 * runs)))  # fmt: skip
        _, found = compare([theirs, ours])
        covered += found.relative[1].low <= 1 <= found.relative[1].high
    assert stats.binom.cdf(covered, draws, 0.95) > 0.001


@pytest.mark.parametrize("runs", [1, 3])
def test_of_six_columns_that_do_the_same_rarely_any_looks_different(runs: int) -> None:
    random = np.random.default_rng(3)
    different, draws = 0, 200
    for _ in range(draws):
        kinds = [[{1: random.lognormal(0, 0.03, 10)} for _ in range(runs)] for _ in range(7)]
        different += any(not found.relative[1].holds_one for found in compare(kinds)[1:])
    assert stats.binom.sf(different - 1, draws, 0.05) > 0.001


def test_what_differs_is_told_in_order_and_what_is_missing_is_empty() -> None:
    found = differing([{"a": "1", "b": "x", "c": "same"}, {"b": "y", "a": "1", "c": "same", "d": "only here"}])
    assert found == {"b": ["x", "y"], "d": ["", "only here"]}
    assert list(found) == ["b", "d"]


@given(st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)), min_size=2, max_size=13))
def test_the_parts_of_the_scales_add_up_to_the_difference_of_the_indexes(rates: list[tuple[float, float]]) -> None:
    scales = [2**n for n in range(len(rates))]
    ours, theirs = (dict(zip(scales, column, strict=True)) for column in zip(*rates, strict=True))
    parts = dsi_parts(ours, theirs)
    difference = dsi(scales, list(ours.values())) - dsi(scales, list(theirs.values()))
    assert sum(parts.values()) == pytest.approx(difference, abs=1e-9)


def test_a_scale_carries_what_lies_between_its_neighbours() -> None:
    # Twice the rate at scale 10 alone: half of lg 10 on either side, 0.25 * (1 + 1) * lg 2.
    found = dsi_parts({1: 100, 10: 200, 100: 100}, {1: 100, 10: 100, 100: 100})
    assert found == pytest.approx({1: 0, 10: 0.5 * log10(2), 100: 0})
    assert dsi_parts({1: 1}, {1: 2}) == {}
    assert dsi_parts({1: 1, 2: 0}, {1: 1, 2: 2}) == {}


def test_the_index_of_repeated_runs_has_the_interval_of_their_spread() -> None:
    def run(factor: float) -> dict[int, np.ndarray]:
        return {x: np.full(3, 100.0 * factor) for x in (1, 10)}

    found = dsi_of_runs([run(0.9), run(1.0), run(1.1)])
    assert found is not None
    values = [0.5 * log10(100 * f) for f in (0.9, 1.0, 1.1)]
    half = student(0.95, 2) * np.std(values, ddof=1) / sqrt(3)
    assert (found.value, found.high - found.value) == (pytest.approx(np.mean(values)), pytest.approx(half))
    assert isnan(dsi_of_runs([run(1.0)]).low)  # type: ignore[union-attr]  # it is there
    assert dsi_of_runs([run(1.0), {1: np.full(3, 1.0)}]) is None


def test_the_mean_along_lg_scale_is_that_of_the_single_scale_where_there_is_one() -> None:
    assert mean_lg({5: np.array([100.0, 10.0, 1000.0])}, [5]) == pytest.approx(2)
    assert isnan(mean_lg({5: np.array([0.0])}, [5]))
