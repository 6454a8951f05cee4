from __future__ import annotations

from math import isnan, log10

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.stats.index import crossing, dsi, imprecise, index, interval, share, weights
from dsbench.stats.values import Index, Interval
from fixtures.noise import cycles

LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)


def test_a_constant_rate_is_a_rectangle() -> None:
    # 0.5 * lg 100 * (lg 1000 - lg 1) = 0.5 * 2 * 3
    assert dsi((1, 10, 100, 1000), (100, 100, 100, 100)) == pytest.approx(3, rel=1e-15)
    assert dsi((1, 1000), (100, 100)) == pytest.approx(3, rel=1e-15)


def test_trapezoids_by_hand() -> None:
    # lg T = 2, 3, 1 over lg X = 0, 1, 3: 0.5 * ((2 + 3)/2 * 1 + (3 + 1)/2 * 2) = 0.5 * 6.5
    assert dsi((1, 10, 1000), (100, 1000, 10)) == pytest.approx(3.25, rel=1e-15)


def test_published_figures_are_met() -> None:
    # Seed 000, section 4.5: reconnecting to Firebird gives about 30 tps at every scale, and a DSI of 2.9.
    assert dsi(LADDER, [30] * 13) == pytest.approx(2.9, abs=0.06)
    # Section 4.1.1, figure 1: 50,000 tps up to scale 500, three orders of magnitude less beyond; DSI 8.4.
    assert dsi(LADDER, [50_000] * 9 + [500] + [60] * 3) == pytest.approx(8.4, abs=0.7)


@pytest.mark.parametrize(("scales", "rates"), [((1,), (10,)), ((), ()), ((1, 2), (10, 0))])
def test_it_is_not_defined_below_two_scales_or_at_a_rate_of_zero(scales: tuple, rates: tuple) -> None:
    assert isnan(dsi(scales, rates))
    assert interval({scale: np.array([rate]) for scale, rate in zip(scales, rates, strict=True)}) is None


@given(st.lists(st.floats(0.01, 1e6), min_size=13, max_size=13), st.floats(1.1, 100))
def test_a_faster_machine_gains_half_its_factor_per_decade_of_scale(rates: list[float], factor: float) -> None:
    # T * k adds 0.5 * lg k * (lg 10000 - lg 1) = 2 lg k
    faster = [rate * factor for rate in rates]
    assert dsi(LADDER, faster) - dsi(LADDER, rates) == pytest.approx(2 * log10(factor), abs=1e-9)


def test_the_interval_of_a_known_distribution() -> None:
    # Two scales a decade apart, the lower without spread at 1 tps: the DSI is 0.25 * lg of the upper's
    # median. For many cycles of lg T ~ N(2, 0.1) the median's standard error is sqrt(pi/2) * 0.1/sqrt(n).
    cycles = 400
    upper = 10 ** np.random.default_rng(5).normal(2, 0.1, cycles)
    found = interval({1: np.ones(cycles), 10: upper})
    assert found is not None
    half = 1.96 * np.sqrt(np.pi / 2) * 0.1 / np.sqrt(cycles) * 0.25
    assert found.value == pytest.approx(0.25 * np.log10(np.median(upper)), rel=1e-12)
    assert found.value == pytest.approx(0.5, abs=2 * half)
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=0.3)
    assert found.level == 0.95


@pytest.mark.parametrize(("count", "rho"), [(5, 0.0), (10, 0.0), (10, 0.5), (10, 0.9)])
def test_the_interval_covers_the_truth_as_often_as_it_says(count: int, rho: float) -> None:
    """Also where cycles of ten seconds resemble their neighbours."""
    random = np.random.default_rng(11)
    found = [interval({x: cycles(random, count, 10, rho, 0.05) for x in (1, 10, 100)}) for _ in range(200)]
    assert sum(one is not None and one.low <= 3 <= one.high for one in found) >= 0.95 * 200  # 0.5 * lg 1000 * 2


def test_equal_cycles_leave_no_doubt() -> None:
    even = interval({1: np.full(5, 10.0), 10: np.full(5, 10.0)})
    assert even is not None
    assert even.low == even.value == even.high == 0.5


@pytest.mark.parametrize("last", [[100.0], [100.0] * 4, [0.0, *[100.0] * 5]])
def test_bounds_are_unknown_where_those_of_a_rate_are(last: list[float]) -> None:
    """Below five cycles, and for cycles without transactions."""
    found = interval({1: np.full(5, 10.0), 10: np.array(last)})
    assert found is not None
    assert found.value == pytest.approx(0.75)
    assert isnan(found.low)
    assert isnan(found.high)


def test_the_index_of_capacities_has_the_interval_that_theirs_come_to() -> None:
    """lg 100 / 4 + lg 1000 / 4 = 1.25; the ends, 1.25 times away each, are off by lg 1.25 / 4 * sqrt 2."""
    known = {1: Interval(100, 80, 125, 0.95), 10: Interval(1000, 800, 1250, 0.95)}
    def found(capacities: dict[int, Interval]) -> Index:
        return index(full(), begun=(1, 10, 100), void={50}, ladder=LADDER, duration_s=60, conduct=True, capacities=capacities)

    one = found({**known, 50: Interval(1, 1, 1, 0.95)})
    assert one.dsi is not None
    assert (one.dsi.value, one.comparable, one.left_out) == (pytest.approx(1.25), False, {100: "no capacity is known"})
    assert one.dsi.value - one.dsi.low == pytest.approx(np.log10(1.25) / 4 * np.sqrt(2))
    assert one.dsi.high - one.dsi.value == pytest.approx(np.log10(1.25) / 4 * np.sqrt(2))
    open_end = found({**known, 10: Interval(1000, 0, 1250, 0.95)}).dsi
    assert open_end is not None
    assert (open_end.value, isnan(open_end.low)) == (pytest.approx(1.25), True)
    assert found({1: known[1]}).dsi is None


def test_shares_of_the_precision_of_all_scales_add_up_to_it() -> None:
    assert float(weights(LADDER) @ np.full(13, 3.0)) == pytest.approx(dsi(LADDER, [1000.0] * 13))
    parts = [np.log1p(share(0.03, LADDER, x)) * w for x, w in zip(LADDER, weights(LADDER), strict=True)]
    assert np.sqrt(np.square(parts).sum()) / weights(LADDER).sum() == pytest.approx(np.log1p(0.03))
    assert share(0.03, LADDER, 10000) > 1.4 * share(0.03, LADDER, 1000) > 0.1, "an end counts half and may be known less"
    assert share(0.03, LADDER, 700) == share(0.03, LADDER, 1), "a scale that was put in between counts nowhere"
    assert share(0.03, [20], 20) == 0.03


def test_an_index_that_is_less_precise_than_wanted_is_told() -> None:
    rates = {x: cycles(np.random.default_rng(x), 6, 10, 0.5, 0.2) for x in LADDER}
    found = index(rates, begun=LADDER, void=set(), ladder=LADDER, duration_s=60, conduct=True)
    assert found.dsi is not None
    known = 10 ** ((found.dsi.high - found.dsi.value) / 2) - 1
    assert list(imprecise(found, known * 1.01)) == []
    (told,) = imprecise(found, known * 0.99)
    assert (told.code, told.scale) == ("imprecise", None)
    assert f"±{known:.1%}, requested was ±{known * 0.99:.1%}" in told.message


def test_crossing_is_interpolated_on_logarithmic_axes() -> None:
    # T = 1000 at X = 100 and 100 at X = 1000: the line falls by a decade a decade and meets T = X at sqrt(1e5).
    assert crossing((100, 1000), (1000, 100)) == (pytest.approx(10**2.5), "")
    assert crossing((1, 10, 100), (50, 40, 40)) == (pytest.approx(40), "")
    assert crossing((1, 10, 100), (50, 10, 5)) == (pytest.approx(10), "")
    assert crossing((1, 10), (50, 10)) == (10, "")


def test_of_several_crossings_the_highest_counts() -> None:
    # Below T = X at 10, above at 20, below at 40: the second fall counts, between 20 and 40.
    found, note = crossing((1, 10, 20, 40), (50, 9, 30, 30))
    assert (found, note) == (pytest.approx(30), "")


def test_no_crossing_says_on_which_side_the_curve_stays() -> None:
    assert crossing((1, 10), (500, 400)) == (None, "above T = X up to scale 10: larger scales needed")
    found, note = crossing((100, 1000), (50, 60))
    assert found is None
    assert note.startswith("below T = X from scale 100 on")
    assert crossing((), ()) == (None, "no scale with a transaction rate above 0")


def full(cycles: int = 10) -> dict[int, np.ndarray]:
    return {scale: np.full(cycles, 100.0) for scale in LADDER}


def test_comparable_is_the_whole_ladder_with_its_cycles_and_duration() -> None:
    assert index(full(), begun=LADDER, void=set(), ladder=LADDER, duration_s=60, conduct=True).comparable
    assert not index(full(), begun=LADDER, void={500}, ladder=LADDER, duration_s=60, conduct=True).comparable
    assert not index(full(9), begun=LADDER, void=set(), ladder=LADDER, duration_s=60, conduct=True).comparable
    assert not index(full(), begun=LADDER, void=set(), ladder=LADDER, duration_s=59, conduct=True).comparable
    part = {scale: rates for scale, rates in full().items() if scale <= 1000}
    found = index(part, begun=part, void=set(), ladder=LADDER, duration_s=60, conduct=True)
    assert (found.comparable, found.lowest_scale, found.highest_scale) == (False, 1, 1000)


def test_void_scales_and_scales_without_cycles_are_left_out() -> None:
    rates = {1: np.array([100.0]), 10: np.array([1e9]), 100: np.array([100.0]), 1000: np.array([])}
    found = index(rates, begun=(*rates, 20), void={10}, ladder=LADDER, duration_s=60, conduct=True)
    assert found.dsi is not None
    assert found.dsi.value == pytest.approx(2)
    assert found.highest_scale == 100
    missing = "no cycle was finished"
    assert found.left_out == {10: "its check failed", 20: missing, 1000: missing}
    assert found.crossing == pytest.approx(100)
