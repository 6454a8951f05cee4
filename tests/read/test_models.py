from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats.fits import fit_collision, success_share

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
