"""Effects of a study: published and known values, nothing named where nothing is, something where something is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dsbench.stats.effects import Effects, effects, full, one_at_a_time, screening
from dsbench.stats.values import Floats
from fixtures.thorough import mostly_thorough


def of(design: list[tuple[int, ...]], repeat: int, ln_rate: Floats, references: tuple[int, ...] = ()) -> Effects:
    """Effects of a design that was repeated in blocks; ``ln_rate`` block by block."""
    levels = np.array(design * repeat)
    blocks = np.repeat(np.arange(repeat), len(design))
    counts = [int(levels[:, n].max()) + 1 for n in range(levels.shape[1])]
    return effects(levels, counts, references or (0,) * len(counts), blocks, np.exp(ln_rate))


def test_shares_are_those_of_the_published_example() -> None:
    # Jain (1991), section 17.1: memory and cache of a workstation; 15, 45, 25, 75 MIPS share as 76, 19 and 5%.
    found = of([(0, 0), (1, 0), (0, 1), (1, 1)], 1, np.array([1.5, 4.5, 2.5, 7.5]))
    assert [round(one.share, 2) for one in found.shares] == [0.76, 0.19, 0.0, 0.05]


def test_two_levels_in_blocks_are_a_paired_t_test() -> None:
    random = np.random.default_rng(3)
    y = random.normal(5, 0.1, 20)
    (effect,) = of([(0,), (1,)], 10, y).main
    expected = stats.ttest_rel(y[1::2], y[::2]).confidence_interval(0.95)
    assert np.log([effect.ratio.low, effect.ratio.high]) == pytest.approx([expected.low, expected.high])
    assert effect.ratio.value == pytest.approx(np.exp((y[1::2] - y[::2]).mean()))


def test_effects_are_averaged_over_the_other_factor_and_what_both_do_together_stands_apart() -> None:
    # 1 does 2 times as much, b 3 times, both together 4 times more than that; blocks differ by 10 and 20%.
    design = full([2, 2])
    one = np.log([100, 300, 200, 2400])
    found = of(design, 3, np.concatenate([one, one + 0.1, one + 0.2]))
    values = {(e.factors, e.levels): e.ratio.value for e in (*found.main, *found.interactions)}
    assert values[(0,), (1,)] == pytest.approx(np.sqrt(2 * 8))
    assert values[(1,), (1,)] == pytest.approx(np.sqrt(3 * 12))
    assert values[(0, 1), (1, 1)] == pytest.approx(4)
    assert found.scatter == pytest.approx(0, abs=1e-6)


def test_the_reference_may_be_any_level() -> None:
    found = of(full([3]), 4, np.tile(np.log([1.0, 2.0, 4.0]), 4), (1,))
    assert [(one.levels[0], pytest.approx(one.ratio.value)) for one in found.main] == [(0, 0.5), (2, 2.0)]


def test_without_a_repetition_there_is_no_interval() -> None:
    found = of(one_at_a_time([2, 2], [0, 0]), 1, np.log([1.0, 2.0, 3.0]))
    assert [one.ratio.value for one in found.main] == pytest.approx([2, 3])
    assert not any(one.known or one.none for one in found.main)


def test_what_the_trials_do_not_tell_apart_has_no_effect() -> None:
    # The two factors always move together.
    found = of([(0, 0), (1, 1)], 5, np.random.default_rng(1).normal(0, 0.1, 10))
    assert all(np.isnan(one.ratio.value) for one in found.main)


@pytest.mark.parametrize("factors", [3, 7, 11, 15, 19, 23, 31])
def test_a_screening_balances_every_two_columns(factors: int) -> None:
    signs = np.array(screening(factors)) * 2 - 1
    rows = len(signs)
    assert rows == next(n for n in (4, 8, 12, 16, 20, 24, 32) if n > factors)
    assert np.array_equal(signs.T @ signs, rows * np.eye(factors, dtype=int))


def test_four_factors_in_eight_rows_are_not_mixed_with_interactions() -> None:
    signs = np.array(screening(4)) * 2 - 1
    pairs = [signs[:, a] * signs[:, b] for a in range(4) for b in range(a)]
    assert not np.any(signs.T @ np.array(pairs).T)


DESIGNS = {
    "two levels, 20 trials": (full([2]), 10),
    "four levels, 20 trials": (full([4]), 5),
    "two factors, 18 trials": (full([3, 2]), 3),
    "one at a time": (one_at_a_time([3, 2], [0, 0]), 4),
    "screening": (screening(3), 4),
}


def drifting(random: np.random.Generator, trials: int) -> Floats:
    """ln rates of trials one after another: each remembers the one before, and hosts wander over hours."""
    noise = random.standard_t(5, trials) * 0.02
    for at in range(1, trials):
        noise[at] += 0.7 * noise[at - 1]
    return noise + np.cumsum(random.normal(0, 0.005, trials))


@pytest.mark.parametrize("name", mostly_thorough(DESIGNS, *list(DESIGNS)[:1]))
def test_studies_in_which_nothing_does_anything_name_an_effect_in_5_per_cent(name: str) -> None:
    design, repeat = DESIGNS[name]
    random = np.random.default_rng(11)
    studies, named = 300, 0
    for _ in range(studies):
        course = drifting(random, len(design) * repeat).reshape(repeat, len(design))
        # Within a block the order is random: the combination at a place is, too.
        y = np.concatenate([block[random.permutation(len(design))] for block in course])
        found = of(design, repeat, y)
        named += any(not one.none for one in (*found.main, *found.interactions))
    # By chance 25 of 300 are more than 1 in 100 would see.
    assert stats.binom.sf(named - 1, studies, 0.05) > 0.01, f"{named} of {studies}"


def test_the_effects_of_several_stages_hold_together() -> None:
    random, draws, stages = np.random.default_rng(3), 300, 14
    levels, blocks = np.array(full([2]) * 5), np.repeat(np.arange(5), 2)
    named = 0
    for _ in range(draws):
        every = (np.exp(random.normal(7, 0.03, 10)) for _ in range(stages))
        found = [effects(levels, [2], [0], blocks, rates, studies=stages) for rates in every]
        named += any(not one.main[0].none for one in found)
    assert 0.02 <= named / draws <= 0.08, "one by one it were half of them"


def test_a_real_effect_is_named() -> None:
    random = np.random.default_rng(5)
    design = full([2, 3])
    planted = np.array([0.1 * (at[0] == 1) for at in design])
    y = np.concatenate([planted + drifting(random, len(design)) for _ in range(5)])
    found = of(design, 5, y)
    assert [one.factors for one in found.main if not one.none] == [(0,)]
    assert found.main[0].ratio.low < np.exp(0.1) < found.main[0].ratio.high


def test_what_the_blocks_get_is_theirs_alone() -> None:
    # Level 2 was added later, in blocks of its own with the reference beside it: it is the level that is fast there.
    random = np.random.default_rng(2)
    levels = np.array([0, 1] * 4 + [0, 2] * 4)[:, np.newaxis]
    y = np.array([0.0, 0.0, 1.0])[levels[:, 0]] + random.normal(0, 0.01, 16)
    found = effects(levels, [3], [0], np.repeat(np.arange(8), 2), np.exp(y))
    shares = {one.what: one.share for one in found.shares}
    assert shares["blocks"] < 0.01
    assert shares["factor"] > 0.5
    assert sum(shares.values()) == pytest.approx(1)
