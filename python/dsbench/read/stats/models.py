"""The model of collisions between concurrent clients, with its residual."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dsbench.read.stats.values import Collision, Floats

FEWEST_SCALES = 3
"""A model of one or two parameters needs more points than parameters to have a residual."""


def success_share(scales: Floats, kappa: float, clients: int) -> Floats:
    """q(X) = 1 / (1 + kappa * (K - 1) / X): share of attempts that succeed at X branches with K clients.

    Under snapshot isolation a transaction fails when another client changed its branch since its
    snapshot; the other K - 1 clients are spread over X branches.
    """
    return np.asarray(1 / (1 + kappa * (clients - 1) / scales), dtype=float)


def fit_collision(scales: Sequence[int], shares: Sequence[float], clients: int) -> Collision | None:
    """kappa by least squares over the measured success shares (0-1).

    ``None`` for a single client, which cannot collide, and for fewer than three scales.
    """
    x, q = np.asarray(scales, dtype=float), np.asarray(shares, dtype=float)
    if clients < 2 or x.size < FEWEST_SCALES:
        return None
    from scipy import optimize  # Late: it takes most of a second, and a short run has too few scales for it.

    def residuals(lg: Floats) -> Floats:
        return np.asarray(success_share(x, 10 ** float(lg[0]), clients) - q, dtype=float)

    # Over lg kappa, so that kappa stays positive and the steps suit its size.
    fit = optimize.least_squares(residuals, x0=[-0.2])
    rms = float(np.sqrt(np.mean(np.square(fit.fun))))
    return Collision(10 ** float(fit.x[0]), clients, rms, int(x.min()), int(x.max()))
