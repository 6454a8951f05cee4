"""Two rates in interleaved blocks: A/A is not told apart, and what is apart is told."""

from __future__ import annotations

from math import inf, sqrt

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


def test_a_block_is_two_pairs_whatever_their_order() -> None:
    for order in ORDERS:
        rates = np.array([{"A": 100.0, "B": 200.0}[side] for side in order])
        assert of_block(rates, order) == pytest.approx([np.log(2)] * 2)
    assert of_block(np.array([100.0, 200, 400, 100]), "ABBA") == pytest.approx([np.log(2), np.log(4)])
    assert of_block(np.array([100.0, 200, 400, 100]), "BABA") == pytest.approx([-np.log(2), np.log(4)])


def test_three_blocks_decide_where_all_pairs_say_the_same_and_not_where_the_draw_explains_it() -> None:
    same = np.full((3, 2), 0.05) + np.random.default_rng(2).normal(0, 0.0005, (3, 2))
    assert ratio(same, 0.02).verdict is Verdict.FASTER
    # A run that is slow in each block, which B has had three times: one chance in four.
    resonant = np.tile([0.1, 0.0], (3, 1)) + np.random.default_rng(3).normal(0, 0.0005, (3, 2))
    assert ratio(resonant, 0.02).verdict is Verdict.OPEN
    # By hand: six differences with a mean of 1 and a standard deviation of 0.1.
    pairs = np.array([[1.1, 0.9]] * 3)
    assert np.log(interval(pairs).high) == pytest.approx(1 + 2.4 * 0.1 / sqrt(6 - 5.76))


def test_intervals_hold_the_truth_when_blocks_are_looked_at_again_and_again() -> None:
    random, held = np.random.default_rng(4), 0
    for _ in range(400):
        blocks = 0.1 + random.normal(0, 0.03, (MOST, 2))
        held += all((found := interval(blocks[:n])).low <= np.exp(0.1) <= found.high for n in range(3, MOST + 1))
    assert held >= 0.95 * 400


def test_the_order_of_each_pair_is_drawn_with_the_seed() -> None:
    orders = [order_of(seed, number) for seed in range(100) for number in range(1, 11)]
    assert orders == [order_of(seed, number) for seed in range(100) for number in range(1, 11)]
    assert {one: orders.count(one) for one in ORDERS} == {one: pytest.approx(250, abs=60) for one in ORDERS}


def test_what_is_narrow_around_one_is_no_difference_of_more_than_that() -> None:
    found = ratio(np.random.default_rng(1).normal(0, 0.003, (12, 2)), 0.02)
    assert found.verdict is Verdict.ALIKE
    assert 0 < found.most <= 0.02


def test_two_blocks_and_rates_of_zero_say_nothing() -> None:
    assert ratio(np.full((2, 2), 0.5), 0.02).verdict is Verdict.OPEN
    assert interval(np.full((1, 2), 0.5)).high == inf
    stalled = np.array([of_block(np.array([100.0, 0, 100, 100]), "ABBA"), [0.1, 0.1], [0.1, 0.1]])
    assert ratio(stalled, 0.02).verdict is Verdict.OPEN
