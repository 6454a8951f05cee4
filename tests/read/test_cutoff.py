"""Where the rate falls most, and bisection towards it."""

from __future__ import annotations

import pytest

from dsbench.stats.index import MOST, NARROW, between, falls

LADDER = (1, 2, 5, 10, 20, 50, 100, 200)


def rate(scale: float, place: float, miss: float = 50.0) -> float:
    return 1000 / (1 + (miss - 1) * max(0.0, 1 - place / scale))


@pytest.mark.parametrize("place", [27.0, 49.0, 52.0, 61.5, 95.0, 99.0, 130.0])
def test_bisection_ends_around_the_planted_cut_off(place: float) -> None:
    rates = {x: rate(x, place) for x in LADDER}
    while (scale := between(rates, LADDER)) is not None:
        assert scale not in rates
        rates[scale] = rate(scale, place)
    assert len(rates) - len(LADDER) <= MOST
    found = max(falls(rates), key=lambda one: one.slope)
    assert found.low <= place * 1.05
    assert place <= found.high
    assert found.high <= NARROW * found.low


def test_a_level_curve_or_one_that_falls_by_less_than_half_has_none() -> None:
    assert falls({1: 10.0, 2: 20.0, 3: 0.0}) == []
    assert between(dict.fromkeys(LADDER, 10.0), LADDER) is None
    assert between({x: 1000 / (1 + x / 500) for x in LADDER}, LADDER) is None
    assert between({1: 10.0, 2: 1.0}, (1, 2)) is None, "there is no scale between"
