"""Models: exact curves give their parameters back, noisy ones intervals that hold them, others do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats.fits import BEYOND, Fit, collisions, fit_collision, memory, scalability, success_share
from dsbench.stats.values import Floats

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def law(rate: float, serial: float, pairs: float) -> Floats:
    n = np.array(CLIENTS, dtype=float)
    return np.asarray(rate * n / (1 + serial * (n - 1) + pairs * n * (n - 1)), dtype=float)


def of(fit: Fit, symbol: str) -> tuple[float, float, float]:
    (found,) = (one.interval for one in fit.parameters if one.symbol == symbol)
    return found.value, found.low, found.high


def test_scalability_gives_an_exact_law_back_with_its_peak() -> None:
    found = scalability(dict(zip(CLIENTS, law(1000, 0.05, 0.0005), strict=True)))
    assert found is not None
    assert found.fits
    assert [of(found, symbol)[0] for symbol in "λσκ"] == pytest.approx([1000, 0.05, 0.0005], rel=1e-6)
    assert found.rms < 1e-9
    assert found.conclusion == "the rate has its peak of 10,742 tps at 44 clients [44 to 44]"


def test_intervals_of_a_noisy_law_hold_its_parameters() -> None:
    random, truth, held = np.random.default_rng(4), (1000, 0.05, 0.0005), np.zeros(3)
    for _ in range(40):
        found = scalability(dict(zip(CLIENTS, law(*truth) * np.exp(random.normal(0, 0.03, 7)), strict=True)))
        assert found is not None
        held += [of(found, s)[1] <= value <= of(found, s)[2] for s, value in zip("λσκ", truth, strict=True)]
    assert (held >= 0.8 * 40).all(), "four degrees of freedom: nearly the level of the intervals"


def test_nothing_is_said_beyond_twice_of_what_was_measured() -> None:
    rising = scalability(dict(zip(CLIENTS, law(1000, 0.01, 1e-7), strict=True)))
    assert rising is not None
    assert rising.conclusion == "no peak up to 128 clients, twice the measured maximum; nothing is known beyond that"
    assert rising.curve[0][-1] == pytest.approx(CLIENTS[-1])
    near = scalability(dict(zip(CLIENTS, law(1000, 0.0, 1 / 100**2), strict=True)))
    assert near is not None
    assert near.conclusion.endswith("at 100 clients [100 to 100], beyond the measured range")
    assert BEYOND * CLIENTS[-1] >= 100


def test_what_is_no_law_does_not_fit() -> None:
    found = scalability(dict(zip(CLIENTS, (1000, 900, 100, 5000, 200, 9000, 50), strict=True)))
    assert found is not None
    assert not found.fits
    assert found.conclusion.startswith("the model does not fit: it is off by ")
    assert scalability({1: 100.0, 2: 190.0, 4: 300.0}) is None


def storage(hit_s: float, miss_s: float, place: float, clients: int = 4) -> Floats:
    x = np.array(LADDER, dtype=float)
    return np.asarray(clients / (hit_s + (miss_s - hit_s) * np.maximum(0, 1 - place / x)), dtype=float)


def test_the_end_of_the_memory_is_found_where_it_was_planted() -> None:
    random = np.random.default_rng(9)
    sizes = {x: 0.016 * x for x in LADDER}
    for _ in range(5):
        rates = storage(0.0001, 0.005, 62.0) * np.exp(random.normal(0, 0.02, len(LADDER)))
        found = memory(dict(zip(LADDER, rates, strict=True)), sizes, 4)
        assert found is not None
        assert found.fits
        place, low, high = of(found, "X_0")
        assert low <= 62 <= high or place == pytest.approx(62, rel=0.05)
        assert of(found, "G_0")[0] == pytest.approx(0.016 * place, rel=1e-6)
        assert of(found, "t_miss")[0] == pytest.approx(5, rel=0.15)


def test_a_level_curve_has_no_cut_off_and_four_scales_no_model() -> None:
    level = {x: 1000.0 - x / 1000 for x in LADDER}
    found = memory(level, {}, 4)
    assert found is not None
    assert not found.fits
    assert found.conclusion == "no cut-off within scales 1-1000"
    assert memory({1: 5.0, 2: 4.0, 5: 3.0, 10: 2.0}, {}, 4) is None


def test_collisions_say_from_which_scale_they_are_rare() -> None:
    scales = np.array([1.0, 4, 16, 64, 256, 1000])
    shares = success_share(scales, 0.6, 16)
    model = fit_collision([int(x) for x in scales], shares.tolist(), 16)
    assert model is not None
    found = collisions(scales, shares, model)
    assert found is not None
    assert found.fits
    assert found.conclusion == "at most one attempt in a hundred fails from scale 891 on"
    few = collisions(scales[:3], shares[:3], model)
    assert few is not None
    assert few.conclusion.startswith("more than one attempt in a hundred fails up to scale 32")


# Measured on PostgreSQL 15 under repeatable read with 16 clients.
SCALES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SHARES = (0.112, 0.168, 0.262, 0.411, 0.581, 0.746, 0.853, 0.919, 0.961)


def test_the_measured_table_gives_the_known_kappa() -> None:
    found = fit_collision(SCALES, SHARES, 16)
    assert found is not None
    assert 0.46 <= found.kappa <= 0.79
    assert 0.01 <= found.rms <= 0.03
    assert (found.clients, found.lowest_scale, found.highest_scale) == (16, 1, 256)
    residuals = success_share(np.array(SCALES, dtype=float), found.kappa, 16) - np.array(SHARES)
    assert found.rms == pytest.approx(np.sqrt(np.mean(residuals**2)))


@pytest.mark.parametrize("kappa", [0.05, 0.6, 5.0])
def test_an_exact_table_is_recovered(kappa: float) -> None:
    found = fit_collision(SCALES, success_share(np.array(SCALES, dtype=float), kappa, 8).tolist(), 8)
    assert found is not None
    assert found.kappa == pytest.approx(kappa, rel=1e-4)
    assert found.rms < 1e-6


def test_least_squares_beats_its_neighbours() -> None:
    found = fit_collision(SCALES, SHARES, 16)
    assert found is not None
    for other in (found.kappa * 0.98, found.kappa * 1.02):
        residuals = success_share(np.array(SCALES, dtype=float), other, 16) - np.array(SHARES)
        assert np.sqrt(np.mean(residuals**2)) > found.rms


def test_one_client_or_two_scales_are_no_model() -> None:
    assert fit_collision(SCALES, SHARES, 1) is None
    assert fit_collision(SCALES[:2], SHARES[:2], 16) is None
