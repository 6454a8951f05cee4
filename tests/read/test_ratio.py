"""Two rates in interleaved blocks: A/A is not told apart, and what is apart is told."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from dsbench.stats.comparison import ORDERS, RateRatio, Verdict, interval, of_block, order_of, ratio
from dsbench.stats.values import Floats
from fixtures.noise import autoregressive

MOST = 20


def series(random: np.random.Generator, rho: float, factor: float, spread: float = 0.03) -> RateRatio:
    """What is found when it looks after each block from the third on; noise leans on that of the run before."""
    noise = autoregressive(random, 4 * MOST, rho, spread).reshape(MOST, 4)
    return _told(1000 * np.exp(noise), factor, int(random.integers(1 << 32)))


def _told(rates: Floats, factor: float, seed: int) -> RateRatio:
    """The verdict on ``rates`` of shape (blocks, 4), where those of B are ``factor`` times as high."""
    orders = [order_of(seed, number) for number in range(1, len(rates) + 1)]
    as_made = [row * [factor if side == "B" else 1 for side in order] for row, order in zip(rates, orders, strict=True)]
    blocks = np.array([of_block(row, order) for row, order in zip(as_made, orders, strict=True)])
    looks = (ratio(blocks[:n], 0.02) for n in range(3, MOST + 1))
    return next((found for found in looks if found.verdict is not Verdict.OPEN), ratio(blocks, 0.02))


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 0.99])
def test_the_same_twice_is_called_different_in_at_most_one_of_twenty(rho: float) -> None:
    random = np.random.default_rng(int(rho * 100))
    verdicts = [series(random, rho, 1.0).verdict for _ in range(500)]
    different = sum(found in (Verdict.FASTER, Verdict.SLOWER) for found in verdicts)
    assert different <= 0.05 * 500


@pytest.mark.parametrize(("factor", "verdict"), [(1.2, Verdict.FASTER), (0.8, Verdict.SLOWER)])
def test_a_fifth_is_found_and_its_size_is_right(factor: float, verdict: Verdict) -> None:
    random = np.random.default_rng(7)
    found = [series(random, 0.5, factor) for _ in range(200)]
    assert sum(one.verdict is verdict for one in found) >= 0.99 * 200
    assert sum(one.interval.low <= factor <= one.interval.high for one in found) >= 0.95 * 200


def test_a_drift_that_goes_straight_on_is_no_difference() -> None:
    falling = [np.exp(-0.05 * np.arange(4 * n, 4 * n + 4)) * 1000 for n in range(3)]
    for order in ORDERS:
        assert [of_block(rates, order) for rates in falling] == pytest.approx([0, 0, 0], abs=1e-12)
    assert of_block(np.array([100.0, 200, 200, 100]), "ABBA") == pytest.approx(np.log(2))
    assert of_block(np.array([100.0, 200, 200, 100]), "BAAB") == pytest.approx(-np.log(2))


DISTURBED = {
    "the first run of a block is 5% slower": lambda _at: np.tile([0.95, 1, 1, 1], (MOST, 1)),
    "a period of a block": lambda at: np.exp(0.05 * np.sin(2 * np.pi * (np.arange(4 * MOST) / 4 + at))).reshape(MOST, 4),
    "a period of two blocks": lambda at: np.exp(0.05 * np.sin(2 * np.pi * (np.arange(4 * MOST) / 8 + at))).reshape(MOST, 4),
}


@pytest.mark.parametrize("name", DISTURBED)
@pytest.mark.parametrize("spread", [0.003, 0.03])
def test_what_comes_back_in_every_block_is_no_difference(name: str, spread: float) -> None:
    random = np.random.default_rng(8)
    different = 0
    for seed in range(200):
        rates = 1000 * DISTURBED[name](random.random()) * np.exp(random.normal(0, spread, (MOST, 4)))
        different += _told(rates, 1.0, seed).verdict in (Verdict.FASTER, Verdict.SLOWER)
    assert different <= 0.05 * 200


def test_the_order_is_that_of_the_seed_and_each_four_blocks_have_both_alike() -> None:
    for seed in range(20):
        orders = [order_of(seed, number) for number in range(1, 13)]
        assert orders == [order_of(seed, number) for number in range(1, 13)]
        assert all(set(orders[at : at + 3]) == set(ORDERS) for at in (0, 4, 8)), "not one order alone when it may end"
        assert all(orders[at : at + 4].count("ABBA") == 2 for at in (0, 4, 8))
    assert len({tuple(order_of(seed, number) for number in range(1, 5)) for seed in range(20)}) == 4


def test_what_is_narrow_around_one_is_no_difference_of_more_than_that() -> None:
    found = ratio(np.random.default_rng(1).normal(0, 0.003, 12), 0.02)
    assert found.verdict is Verdict.ALIKE
    assert 0 < found.most <= 0.02


def test_two_blocks_and_rates_of_zero_say_nothing() -> None:
    assert ratio(np.array([0.5, 0.5]), 0.02).verdict is Verdict.OPEN
    assert interval(np.array([0.5])).high == inf
    stalled = np.array([of_block(np.array([100.0, 0, 100, 100]), "ABBA"), 0.1, 0.1])
    assert ratio(stalled, 0.02).verdict is Verdict.OPEN
