"""Models of a curve of rates with what tells whether to believe them: intervals, residuals, and a plain word.

Parameters come by least squares of relative residuals. Their intervals draw these residuals anew (Efron and Tibshirani,
An Introduction to the Bootstrap, chapter 9), enlarged by sqrt(n / (n - p)) for p parameters out of n points and by
Student's t over the normal quantile, as n is small: they hold the noise of the measurement and what the model misses.
Nothing is said beyond twice of what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, nan, sqrt
from statistics import NormalDist

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.precision import LEVEL, student
from dsbench.stats.values import Collision, Floats, Interval

FITS = 0.15
"""Root mean square of the relative residuals above which a model does not fit."""
BEYOND = 2.0
"""No statement beyond so many times the largest number that was measured."""
SEED = 0
"""Fixed, so that an archive evaluated twice gives the same digits."""
FEWEST_THREADS = 4
FEWEST_OF_MEMORY = 5
"""Points: one more than the model has parameters, two for memory, whose place has to be bracketed."""
SLOWER = 2.0
"""Times that a transaction has to take longer beyond the memory for its end to be a cut-off."""
_REPLICATES = 400
_GRID = 241
_CURVE = 120


@dataclass(frozen=True)
class Parameter:
    """One parameter of a model."""

    symbol: str
    meaning: str
    unit: str
    interval: Interval


@dataclass(frozen=True)
class Fit:
    """A model beside what was measured."""

    model: str
    """"scalability", "memory" or "collisions"."""
    over: str
    """What the points differ in: "clients" or "scale"."""
    of: str
    """What was measured, with its unit."""
    at: Floats
    measured: Floats
    modelled: Floats
    """At ``at``."""
    curve: tuple[Floats, Floats]
    """The model in between, from the first point to the last."""
    parameters: tuple[Parameter, ...]
    fits: bool
    conclusion: str
    """What follows from it, or that it does not fit."""

    @property
    def residuals(self) -> Floats:
        """measured / modelled - 1 of each point."""
        return np.asarray(self.measured / self.modelled - 1, dtype=float)

    @property
    def rms(self) -> float:
        """Root mean square of the residuals."""
        return float(np.sqrt(np.mean(self.residuals**2)))


def scalability(rates: Mapping[int, float]) -> Fit | None:
    """The Universal Scalability Law T(N) = λN / (1 + σ(N - 1) + κN(N - 1)) of ``rates`` (tps) by number of clients.

    Gunther, Guerrilla Capacity Planning, 2007. σ is the share of work that one client does at a time, κ what each pair
    of clients costs to agree. N / T(N) is linear in 1/λ, σ/λ and κ/λ, none of which is negative. ``None`` below four
    numbers of clients.
    """
    points = {n: rate for n, rate in sorted(rates.items()) if rate > 0}
    if len(points) < FEWEST_THREADS:
        return None
    from scipy.optimize import nnls  # Late: it takes most of a second.

    at, measured = np.array(list(points), dtype=float), np.array(list(points.values()))

    def solve(values: Floats) -> Floats:
        found, _ = nnls(_terms(at) * (values / at)[:, np.newaxis], np.ones(at.size))
        first = max(found[0], 1e-300)
        return np.array([1 / first, found[1] / first, found[2] / first])

    found = solve(measured)
    law = _law(found)
    drawn = np.array([solve(values) for values in _again(measured, law(at), 3)])
    meanings = (("λ", "rate of one client", "tps"), ("σ", "serial share", ""),
                ("κ", "coherency cost, per pair of clients", ""))  # fmt: skip
    parameters = _parameters(meanings, found, drawn)
    fits = _rms(measured, law(at)) <= FITS
    words = _peak(found, drawn, float(at[-1])) if fits else _unfit(measured, law(at), at, "clients")
    return Fit("scalability", "clients", "transaction rate [tps]", at, measured, law(at), _between(at, law), parameters,
               fits, words)  # fmt: skip


def _terms(at: Floats) -> Floats:
    return np.stack([np.ones(at.size), at - 1, at * (at - 1)], axis=1)


def _law(found: Floats) -> Callable[[Floats], Floats]:
    rate, serial, pairs = found
    return lambda at: np.asarray(rate * at / (1 + serial * (at - 1) + pairs * at * (at - 1)), dtype=float)


def _peak(found: Floats, drawn: Floats, largest: float) -> str:
    """Where the law has its peak; none where κ may be 0, as any κ above it makes one somewhere."""
    least, most = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    beyond = f"no peak up to {BEYOND * largest:g} clients, twice the measured maximum; nothing is known beyond that"
    at = float(_tops(found[np.newaxis])[0])
    if not at <= BEYOND * largest:
        return beyond
    if float(np.quantile(drawn[:, 2], least)) <= 0:
        return f"no peak is certain up to {BEYOND * largest:g} clients: κ may be 0, so the rate may keep rising"
    low, high = (float(end) for end in np.quantile(_tops(drawn), [least, most], method="inverted_cdf"))
    peak = float(_law(found)(np.array([at]))[0])
    where = "" if at <= largest else ", beyond the measured range"
    within = f"{min(low, at):.0f} to {max(high, at):.0f}" if high <= BEYOND * largest else f"{min(low, at):.0f} or more"
    return f"the rate has its peak of {peak:,.0f} tps at {at:.0f} clients [{within}]{where}"


def _tops(laws: Floats) -> Floats:
    """Number of clients at which each of ``laws`` (λ, σ, κ) is greatest, sqrt((1 - σ) / κ), 1 at least."""
    with np.errstate(divide="ignore"):
        ratio = np.where(laws[:, 2] > 0, np.maximum(1 - laws[:, 1], 0) / laws[:, 2], np.inf)
    return np.asarray(np.maximum(np.sqrt(ratio), 1.0), dtype=float)


def memory(rates: Mapping[int, float], sizes_gb: Mapping[int, float], clients: int) -> Fit | None:
    """Where the database outgrows the memory: time of a transaction = t_hit, beyond X_0 that of hits and misses.

    t(X) = t_hit + (t_miss - t_hit)(1 - X_0 / X) for X > X_0: of a database of X only X_0 is in memory, and whoever
    meets another part waits for storage. The times are K / T (s) for K ``clients`` of a closed loop (Little), from the
    first scale with (nearly) the highest of ``rates`` (tps) on, as smaller ones have collisions of their own. ``None``
    below five scales.
    """
    high = (1 - FITS) * max(rates.values(), default=0)
    first = min((x for x, rate in rates.items() if rate >= high), default=0)
    points = {x: rate for x, rate in sorted(rates.items()) if rate > 0 and x >= first}
    if len(points) < FEWEST_OF_MEMORY:
        return None
    at, measured = np.array(list(points), dtype=float), np.array(list(points.values()))
    grid = np.geomspace(at[0], at[-1], _GRID)
    misses = np.maximum(0, 1 - grid[:, np.newaxis] / at)
    found = _places(clients / measured[np.newaxis], grid, misses)[0]
    law = _of_memory(found, clients)
    drawn = _places(clients / _again(measured, law(at), 3), grid, misses)
    meanings = (("t_hit", "time of a transaction in memory", "ms"), ("t_miss", "and without", "ms"),
                ("X_0", "scale that fits the memory", ""))  # fmt: skip
    unit = np.array([1000, 1000, 1])
    parameters = list(_parameters(meanings, found * unit, drawn * unit))
    size = _size(sizes_gb)
    place = parameters[2].interval
    sized = Interval(size(place.value), size(place.low), size(place.high), LEVEL)
    parameters.append(Parameter("G_0", "its size", "GB", sized))
    ends = grid[0] < place.value < grid[-1] and found[1] > SLOWER * found[0]
    fits = _rms(measured, law(at)) <= FITS and ends
    words = f"the memory is full at scale {place.value:,.0f}" if fits else (
        _unfit(measured, law(at), at, "scales") if ends
        else f"no cut-off within scales {at[0]:.0f}-{at[-1]:.0f}")  # fmt: skip
    return Fit("memory", "scale", "transaction rate [tps]", at, measured, law(at), _between(at, law), tuple(parameters),
               fits, words)  # fmt: skip


def _places(times: Floats, grid: Floats, misses: Floats) -> Floats:
    """(t_hit, t_miss, X_0) of each row of ``times`` (s), shape (rows, scales), by least squares at each of ``grid``."""
    weight = 1 / times
    square = weight**2
    uu, uv, vv = square.sum(axis=1)[:, np.newaxis], square @ misses.T, square @ (misses**2).T
    u, v = weight.sum(axis=1)[:, np.newaxis], weight @ misses.T
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.nan_to_num((uu * v - uv * u) / (uu * vv - uv**2))
    more = np.maximum(more, 0)
    hit = np.maximum((u - more * uv) / uu, 0)
    squares = times.shape[1] - 2 * (hit * u + more * v) + hit**2 * uu + 2 * hit * more * uv + more**2 * vv
    best = np.argmin(squares, axis=1)
    rows = np.arange(len(times))
    return np.stack([hit[rows, best], (hit + more)[rows, best], grid[best]], axis=1)


def _of_memory(found: Floats, clients: int) -> Callable[[Floats], Floats]:
    hit, miss, place = found
    return lambda at: np.asarray(clients / (hit + (miss - hit) * np.maximum(0, 1 - place / at)), dtype=float)


def _size(sizes_gb: Mapping[int, float]) -> Callable[[float], float]:
    known = {x: size for x, size in sorted(sizes_gb.items()) if isfinite(size)}
    at, sizes = list(known), list(known.values())
    return lambda x: float(np.interp(x, at, sizes)) if known and isfinite(x) else nan


def collisions(scales: Floats, shares: Floats, found: Collision) -> Fit | None:
    """The share of attempts that succeed over the scale, with that of κ's fit; see ``models.fit_collision``."""
    if scales.size < FEWEST_SCALES:
        return None

    def law(at: Floats) -> Floats:
        return success_share(at, found.kappa, found.clients)

    near = found.kappa * np.geomspace(0.1, 10, 4 * _GRID)
    curves = np.stack([success_share(scales, float(kappa), found.clients) for kappa in near])
    again = np.minimum(_again(shares, law(scales), 1), 1.0)
    squares = (curves**2).sum(axis=1) - 2 * again @ curves.T
    drawn = near[np.argmin(squares, axis=1)][:, np.newaxis]
    unknown = (("κ", "probability that two clients on the same row conflict", ""),)
    parameters = _parameters(unknown, np.array([found.kappa]), drawn)
    fits = _rms(shares, law(scales)) <= FITS
    needed = found.kappa * (found.clients - 1) / (1 / 0.99 - 1)
    largest = float(scales[-1])
    words = (
        f"at most one attempt in a hundred fails from scale {needed:,.0f} on" if needed <= BEYOND * largest
        else f"more than one attempt in a hundred fails up to scale {BEYOND * largest:g}, twice the measured maximum"
    ) if fits else _unfit(shares, law(scales), scales, "scales")  # fmt: skip
    return Fit("collisions", "scale", "share of attempts that succeed", scales, shares, law(scales),
               _between(scales, law), parameters, fits, words)  # fmt: skip


def _unfit(measured: Floats, modelled: Floats, at: Floats, what: str) -> str:
    away = measured / modelled - 1
    worst = int(np.argmax(np.abs(away)))
    missed = f"{_rms(measured, modelled):.0%} (rms), {at[worst]:g} by {away[worst]:+.0%}"
    return f"the model does not fit: it is off by {missed} for {what}"


def _rms(measured: Floats, modelled: Floats) -> float:
    return float(np.sqrt(np.mean((measured / modelled - 1) ** 2)))


def _again(measured: Floats, modelled: Floats, parameters: int) -> Floats:
    """The modelled values with residuals drawn anew, shape (replicates, points)."""
    free = max(measured.size - parameters, 1)
    wider = sqrt(measured.size / free) * student(LEVEL, free) / NormalDist().inv_cdf((1 + LEVEL) / 2)
    away = np.log(measured / modelled) * wider
    random = np.random.default_rng(SEED)
    return np.asarray(modelled * np.exp(random.choice(away, (_REPLICATES, measured.size))), dtype=float)


def _parameters(meanings: tuple[tuple[str, str, str], ...], found: Floats, drawn: Floats) -> tuple[Parameter, ...]:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return tuple(
        Parameter(*words, Interval(float(value), min(float(a), float(value)), max(float(b), float(value)), LEVEL))
        for words, value, a, b in zip(meanings, found, low, high, strict=True)
    )


def _between(at: Floats, law: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    x = np.geomspace(at[0], at[-1], _CURVE)
    return x, law(x)


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
