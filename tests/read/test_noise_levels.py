"""The levels of noise, what a comparison finds in it, and what goes with it."""

from __future__ import annotations

import re
from math import inf, log, nan, sqrt
from pathlib import Path

import numpy as np
import pytest

from dsbench.stats import noise
from dsbench.stats.effects import effects, full, visible
from dsbench.stats.noise import Costs, best_design, blocks_for, goes_with, median_factor, scatter
from fixtures.simulated import Levels, levelled, pairs_below, visible_found


def test_mean_squares_and_components_by_hand() -> None:
    logs = np.array([[[1.0, 3.0], [5.0, 7.0]], [[2.0, 4.0], [2.0, 4.0]]])
    found = scatter(np.exp(logs))
    # Runs have the means 2, 6, 3, 3 and databases 4, 3. Cycles: 8 squares of 1 over 4 degrees of freedom. Starts:
    # 2 (4 + 4) over 2. Databases: 4 (1/4 + 1/4) over 1.
    assert found.squares == pytest.approx((2.0, 8.0, 2.0))
    assert found.cycle.value == pytest.approx(sqrt(2))
    assert found.start.value == pytest.approx(sqrt(3))
    assert found.database.value == 0.0
    assert found.shares == pytest.approx((0.0, 0.6, 0.4))
    # A run of four cycles: the start's 3 and 2 / 4 times the factor of a median of four.
    assert (run := found.of_run(4, one_database=True)) is not None
    assert run.value == pytest.approx(sqrt(3 + 2 / 4 * median_factor(4)))


def test_a_level_that_was_not_repeated_is_not_known() -> None:
    rates = np.exp(np.array([[[1.0, 3.0]], [[5.0, 7.0]]]))
    found = scatter(rates)
    assert np.isnan(found.start.value)
    assert found.database.value == pytest.approx(sqrt(7))  # (16 - 2) / 2
    assert (run := found.of_run(2, one_database=False)) is not None
    assert run.value == pytest.approx(sqrt(8))
    assert found.of_run(2, one_database=True) is None
    with pytest.raises(ValueError, match="two cycles of two runs"):
        scatter(rates[:1])
    with pytest.raises(ValueError, match="above 0"):
        scatter(rates * 0)


@pytest.mark.parametrize(
    ("shape", "spread"), [((6, 4, 3), (0.01, 0.02, 0.02)), ((8, 1, 5), (0.02, 0.0, 0.01)), ((1, 12, 3), (0.0, 0.02, 0.02))]
)
def test_intervals_hold_what_was_planted(shape: tuple[int, int, int], spread: tuple[float, float, float]) -> None:
    found = levelled(Levels(shape, spread), 600)
    held = np.array([found.database, found.start, found.cycle, found.one_database, found.new_database])
    assert (held[np.isfinite(held)] >= 0.92).all(), held
    assert np.isnan(held).tolist() == [shape[0] < 2, shape[1] < 2, False, shape[1] < 2, shape[0] < 2]
    assert found.width < 6


@pytest.mark.parametrize("shape", [(3, 2, 3), (8, 4, 3), (8, 1, 5)])
def test_equal_runs_differ_by_less_than_their_limit(shape: tuple[int, int, int]) -> None:
    starts = 0.02 * (shape[1] > 1)
    assert pairs_below(Levels(shape, (0.02, starts, 0.02)), 1000) >= 0.93


@pytest.mark.parametrize("blocks", [4, 10, 20])
def test_comparisons_find_what_is_called_visible(blocks: int) -> None:
    assert 0.72 <= visible_found(blocks, 300) <= 0.88


def test_more_blocks_find_smaller_differences() -> None:
    found = [noise.visible(0.01, blocks) for blocks in (3, 4, 7, 20, 50, 100)]
    assert found == sorted(found, reverse=True)
    assert blocks_for(0.01, noise.visible(0.01, 20) - 1 + 1e-9) == 20
    assert blocks_for(0.01, 0.0001) is None


def test_the_example_of_the_page_is_what_its_spread_comes_to() -> None:
    page = (Path(__file__).parents[2] / "docs/noise.md").read_text()
    assert (spread := re.search(r"The spread of equal runs is ([\d.]+)%", page)) is not None
    said = re.findall(r"([\d.]+)%\s+within (\d+)", page)
    assert [int(blocks) for _, blocks in said] == [5, 10, 20]
    assert [f"{noise.visible(float(spread[1]) / 100, int(blocks)) - 1:.1%}" for _, blocks in said] == [
        f"{share}%" for share, _ in said
    ]


def test_the_best_design_repeats_what_scatters_and_is_cheap() -> None:
    rng = np.random.default_rng(3)

    def planted(*deviations: float) -> noise.Scatter:
        parts = [one * rng.standard_normal(size) for one, size in zip(deviations, ((40, 1, 1), (40, 6, 1), (40, 6, 5)), strict=True)]
        return scatter(np.exp(7 + parts[0] + parts[1] + parts[2]))

    costs = Costs(database=60, start=2, cycle=5)
    assert (of_cycles := best_design(planted(0.0, 0.001, 0.05), costs, 0.02)) is not None
    assert (of_starts := best_design(planted(0.0, 0.05, 0.001), costs, 0.02)) is not None
    assert (of_databases := best_design(planted(0.05, 0.001, 0.001), Costs(1, 1, 5), 0.02)) is not None
    assert of_cycles.cycles > 5
    assert of_starts.cycles == 1
    assert of_starts.one_database
    assert of_databases.one_database, "both sides have the same database then, and it cannot tell them apart"
    assert of_starts.seconds == of_starts.blocks * (60 + 4 * (2 + 5))
    few = {"a": np.array([1.0, 2.0, 3.0, 4.0])}
    assert goes_with(np.array([1.0, 2.0, 3.0, 4.0]), few, [0, 0, 1, 1]) == [], "there are four orders in all"


def test_what_goes_with_the_rate_is_named_and_nothing_else() -> None:
    rng, draws = np.random.default_rng(8), 100
    groups = [number // 4 for number in range(48)]
    named = 0
    for _ in range(draws):
        causes = {name: rng.random(48) for name in "abcdef"}
        named += bool(goes_with(rng.standard_normal(48), causes, groups))
    assert named <= 12, "5% of the draws, give or take"
    stolen = rng.random(48)
    logs = 7 + np.array(groups) - 0.1 * stolen + 0.01 * rng.standard_normal(48)
    (found,) = goes_with(logs, {"stolen": stolen, "other": rng.random(48), "same": np.ones(48), "not known": np.full(48, nan)},
                         groups)  # fmt: skip
    assert found.what == "stolen"
    assert found.correlation < -0.9


def test_a_study_without_repetitions_finds_nothing() -> None:
    levels = np.array(full((3,)))
    assert visible(levels, (3,), [0], np.array([1, 1, 1]), 0.03) == inf


@pytest.mark.parametrize(("counts", "repeat"), [((2,), 4), ((3,), 3), ((2, 2), 3)])
def test_studies_find_what_is_called_visible(counts: tuple[int, ...], repeat: int) -> None:
    levels = np.array(full(counts) * repeat)
    blocks = np.repeat(np.arange(repeat), len(full(counts)))
    references = [0] * len(counts)
    wanted = visible(levels, counts, references, blocks, 0.03)
    rng, draws, found = np.random.default_rng(9), 300, 0
    for _ in range(draws):
        logs = 7 + 0.05 * rng.standard_normal(repeat)[blocks] + 0.03 * rng.standard_normal(len(levels))
        told = effects(levels, counts, references, blocks, np.exp(logs + log(wanted) * (levels[:, 0] == 1)))
        effect = next(one for one in told.main if one.factors == (0,) and one.levels == (1,))
        found += effect.ratio.low > 1
    assert 0.68 <= found / draws <= 0.88
    assert visible(levels, counts, references, blocks, 0.06) == pytest.approx(wanted**2)
