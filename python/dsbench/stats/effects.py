"""What the levels of a study's factors do to a rate: effects, interactions, and their share of the variance.

The model is linear in ln of the rate: a constant, a term for each block, one for each level of a factor beside its
reference, and one for each two levels of two factors where the trials can tell them apart. So effects are ratios, and
one per cent is as much at a low rate as at a high one (Jain, "The Art of Computer Systems Performance Analysis", 1991,
chapters 21 and 22; Montgomery, "Design and Analysis of Experiments", chapter 4 on blocks). One trial gives one value:
its cycles share a server, a file system and a population, and do not repeat the trial. Blocks take up what drifts
between them; the random order within a block keeps what drifts inside of it from one level's side.

Intervals are simultaneous over all effects and interactions of the study: half-width = c * standard error, with c the
quantile of the largest |t| of all of them (Hothorn, Bretz and Westfall, "Simultaneous inference in general parametric
models", Biometrical Journal 50, 2008). So a study of factors that change nothing names any effect at all in 5% of
repetitions. The model takes the scatter of ln rate to be the same at all levels.

Of what is no rate and no time, such as shares and the DSI, which is a logarithm already, the model is linear in the
value itself: effects are differences, and 0 is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, product
from typing import Final, NamedTuple

import numpy as np
from scipy import special
from scipy.linalg import hadamard

from dsbench.dataclass import dataclass
from dsbench.stats import ranks
from dsbench.stats.values import Floats, Interval, Ints

LEVEL = 0.95
_DRAWS = 20_000
"""Of the largest |t|: the level then is right within 0.3%."""
FOUND = 0.8
"""Share of studies that tell an effect which is called visible."""
ANY = 1000.0
"""A ratio beyond which nothing is told: with one trial more than there are levels an interval may reach 10¹⁷."""
_MIXED = 0.005
"""Share from which on it is told that terms are not told apart; below it is rounding."""
_LEAST_FREE = 3
"""Degrees of freedom that interactions leave to the scatter: with fewer, intervals would say nothing."""


@dataclass(frozen=True)
class Effect:
    """Levels of one factor, or of two, by their numbers; what they do as a ratio, or as a difference."""

    factors: tuple[int, ...]
    levels: tuple[int, ...]
    ratio: Interval
    """Of one factor: rate over the rate at its reference, averaged over the levels of the other factors. Of two: what
    both do together over the product of what each does alone. The ends are nan where nothing was repeated, and all of
    it where the trials do not tell it apart from another. Of a value that is added up it is the difference, and of two
    factors what both do together minus the sum of what each does alone."""
    neutral: float = 1.0
    """What no effect is: 1 as a ratio, 0 as a difference."""

    @property
    def none(self) -> bool:
        """Whether the interval contains what no effect is."""
        return self.known and self.ratio.low <= self.neutral <= self.ratio.high

    @property
    def size(self) -> float:
        """Below 0 where the value falls: ln of the ratio, or the difference."""
        return float(np.log(self.ratio.value)) if self.neutral else self.ratio.value

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return bool(np.isfinite(self.ratio.low))

    @property
    def anything(self) -> bool:
        """Whether the interval of a ratio excludes nothing that occurs."""
        return bool(self.neutral) and self.known and self.ratio.low < 1 / ANY and self.ratio.high > ANY


@dataclass(frozen=True)
class EffectShare:
    """What part of the scatter of ln rate over the trials goes with something."""

    factors: tuple[int, ...]
    """One or two; empty for what is no factor."""
    what: str
    """"factor", "interaction", "blocks", "rest", or "mixed": of what the trials do not tell apart."""
    share: float
    """0-1 of the sum of squares."""


@dataclass(frozen=True)
class Effects:
    """All of a study."""

    main: tuple[Effect, ...]
    interactions: tuple[Effect, ...]
    shares: tuple[EffectShare, ...]
    free: int
    """Degrees of freedom of the scatter."""
    scatter: float
    """Standard deviation of ln rate between trials that repeat each other: about the relative one; nan if not known. Of
    differences that of the value."""
    trials: int


def effects(
    levels: Ints, counts: Sequence[int], references: Sequence[int], blocks: Ints, rates: Floats, *, pairs: bool = True,
    ratios: bool = True, studies: int = 1,
) -> Effects:
    """Effects of the factors on ``rates``, one for each trial: above 0 where they are to be ``ratios``.

    ``levels`` has the shape (trials, factors) and holds numbers below ``counts``; ``references`` are numbers of levels;
    ``blocks`` numbers the block of each trial. Each level of a factor should occur; one that does not has no effect
    here. Interactions of two factors are in the model where all of them can be told apart, where ``pairs`` are wanted:
    a screening would show some of those that it mixes. With several ``studies``, such as one for each stage of the same
    trials, the intervals of all of them hold together (Bonferroni).
    """
    model = _Model(levels, counts, references, blocks, pairs)
    values = np.log(rates) if ratios else rates
    fit = model.fitted(values)
    wanted = model.contrasts()
    rows = np.array([row for _, _, row in wanted]).reshape(len(wanted), -1)
    middles, errors = fit.of(rows)
    alike = fit.correlation(rows[np.isfinite(middles)])
    factor = _critical(alike.round(9).tobytes(), len(alike), fit.free, 1 - (1 - LEVEL) / studies)
    found = []
    for (factors, at, _), middle, error in zip(wanted, middles, errors, strict=True):
        ends = (float(end) for end in (middle, middle - factor * error, middle + factor * error))
        value, low, high = (float(np.exp(end)) if ratios else end for end in ends)
        found.append(Effect(factors, at, Interval(value, low, high, LEVEL), 1.0 if ratios else 0.0))
    return Effects(
        tuple(one for one in found if len(one.factors) == 1),
        tuple(one for one in found if len(one.factors) == 2),
        tuple(_shares(model, values)) if fit.free else (),
        fit.free,
        float(np.sqrt(fit.variance)),
        len(rates),
    )


def visible(
    levels: Ints, counts: Sequence[int], references: Sequence[int], blocks: Ints, scatter: float, *, pairs: bool = True
) -> float:
    """The ratio that 80% of such studies tell from 1, for every level of every factor, where ln rate scatters by
    ``scatter`` between trials that repeat each other; inf where none can. The other arguments are those of ``effects``.
    """
    model = _Model(levels, counts, references, blocks, pairs)
    fit = model.fitted(np.zeros(len(levels)))
    wanted = model.contrasts()
    rows = np.array([row for _, _, row in wanted]).reshape(len(wanted), -1)
    if not fit.free or not len(rows):
        return float("inf")
    told = np.all(np.isclose(rows @ fit.seen, rows, atol=1e-6), axis=1)
    mains = np.array([len(factors) == 1 for factors, _, _ in wanted])
    if not told[mains].all():
        return float("inf")
    rows = rows[told]
    factor = _critical(fit.correlation(rows).round(9).tobytes(), len(rows), fit.free)
    errors = np.sqrt(np.diag(rows @ fit.covariance @ rows.T))[mains[told]] * scatter
    return float(np.exp(errors.max() * (factor + special.stdtrit(fit.free, FOUND))))


@dataclass(frozen=True)
class _Fit:
    """Least squares."""

    coefficients: Floats
    covariance: Floats
    """Of the coefficients, for a variance of 1."""
    seen: Floats
    """Projects a sum of coefficients on those that the trials tell."""
    left: float
    """Sum of squares of the residuals."""
    free: int

    @property
    def variance(self) -> float:
        return self.left / self.free if self.free else np.nan

    def of(self, rows: Floats) -> tuple[Floats, Floats]:
        """Values and standard errors of the sums ``rows`` of coefficients; nan where the trials do not tell them."""
        told = np.all(np.isclose(rows @ self.seen, rows, atol=1e-6), axis=1)
        errors = np.sqrt(np.diag(rows @ self.covariance @ rows.T) * self.variance)
        return np.where(told, rows @ self.coefficients, np.nan), errors

    def correlation(self, rows: Floats) -> Floats:
        spread = rows @ self.covariance @ rows.T
        deviations = np.sqrt(np.diag(spread))
        return np.asarray(spread / np.outer(deviations, deviations), dtype=float)


def _least_squares(x: Floats, y: Floats) -> _Fit:
    inverse = np.linalg.pinv(x)
    coefficients = inverse @ y
    residuals = y - x @ coefficients
    free = len(y) - int(np.linalg.matrix_rank(x))
    # What is left of an exact fit is rounding.
    left = float(residuals @ residuals) if free else 0.0
    return _Fit(coefficients, inverse @ inverse.T, inverse @ x, left, free)


class _Model:
    """Columns of the model, in groups: blocks with the constant, then each factor, then each pair of factors."""

    def __init__(
        self, levels: Ints, counts: Sequence[int], references: Sequence[int], blocks: Ints, pairs: bool
    ) -> None:
        self._levels = levels
        self._blocks = (blocks[:, np.newaxis] == np.unique(blocks)[np.newaxis, :]).astype(float)
        self.mains = [(factor,) for factor in range(len(counts))]
        self._others = [
            [n for n in range(count) if n != ref and np.any(levels[:, factor] == n)]
            for factor, (count, ref) in enumerate(zip(counts, references, strict=True))
        ]
        self.pairs: list[tuple[int, int]] = []
        for pair in combinations(range(len(counts)), 2) if pairs else ():
            x = self.matrix([*self.mains, *self.pairs, pair])
            if x.shape[1] == np.linalg.matrix_rank(x) and len(x) - x.shape[1] >= _LEAST_FREE:
                self.pairs.append(pair)

    def terms(self, factors: Sequence[int]) -> list[tuple[int, ...]]:
        """Levels of the columns of ``factors``, one or two."""
        first, *rest = (self._others[factor] for factor in factors)
        return [(one, other) for one in first for other in rest[0]] if rest else [(one,) for one in first]

    def matrix(self, groups: Sequence[tuple[int, ...]], *, blocks: bool = True) -> Floats:
        """The columns of the blocks, or of the constant alone, and of ``groups``; shape (trials, columns)."""
        columns = [
            np.all(self._levels[:, list(factors)] == np.array(at), axis=1).astype(float)
            for factors in groups for at in self.terms(factors)
        ]  # fmt: skip
        return np.column_stack([self._blocks if blocks else np.ones((len(self._levels), 1)), *columns])

    def fitted(self, y: Floats) -> _Fit:
        return _least_squares(self.matrix([*self.mains, *self.pairs]), y)

    def contrasts(self) -> list[tuple[tuple[int, ...], tuple[int, ...], Floats]]:
        """Every effect: its factors, their levels, and the sum of coefficients that it is."""
        groups: list[tuple[int, ...]] = [*self.mains, *self.pairs]
        columns = [(factors, at) for factors in groups for at in self.terms(factors)]
        ahead = self._blocks.shape[1]
        found = []
        for factors, at in columns:
            row = np.zeros(ahead + len(columns))
            for number, (others, beside) in enumerate(columns):
                row[ahead + number] = self._weight(factors, at, others, beside)
            found.append((factors, at, row))
        return found

    def _weight(
        self, factors: tuple[int, ...], at: tuple[int, ...], others: tuple[int, ...], beside: tuple[int, ...]
    ) -> float:
        """How much of the column ``beside`` is in the effect ``at``, averaged over all levels of other factors."""
        if factors == others:
            return float(at == beside)
        if len(factors) == 1 and len(others) == 2 and factors[0] in others:
            place = others.index(factors[0])
            # One of all levels of the other factor, its reference included.
            return float(at[0] == beside[place]) / (len(self._others[others[1 - place]]) + 1)
        return 0.0


@lru_cache(64)
def _critical(correlation: bytes, size: int, free: int, level: float = LEVEL) -> float:
    """Quantile ``level`` of the largest |t| of ``size`` sums with this correlation; nan without a degree of freedom.

    It depends on the design alone: studies of one design share it.
    """
    if free == 0 or not size:
        return float(np.nan)
    if size == 1:
        return float(special.stdtrit(free, (1 + level) / 2))
    random = np.random.default_rng(0)
    values, vectors = np.linalg.eigh(np.frombuffer(correlation).reshape(size, size))
    root = vectors * np.sqrt(np.clip(values, 0, None))
    normal = random.standard_normal((_DRAWS, size)) @ root.T
    scale = np.sqrt(random.chisquare(free, _DRAWS) / free)
    return float(np.quantile(np.abs(normal).max(axis=1) / scale, level))


def _shares(model: _Model, y: Floats) -> list[EffectShare]:
    """Sums of squares of type II: of each term, the blocks too, beside all others that do not hold it. Where trials are
    missing they add up to more than 1, or to less: then what lacks goes with several terms together."""
    total = float(np.sum((y - y.mean()) ** 2))
    if total == 0:
        return []
    shares = []
    for factors in model.mains:
        rest = [one for one in [*model.mains, *model.pairs] if factors[0] not in one]
        gained = _least_squares(model.matrix(rest), y).left - _least_squares(model.matrix([*rest, factors]), y).left
        shares.append(EffectShare(factors, "factor", gained / total))
    whole = model.fitted(y).left
    for pair in model.pairs:
        rest = [one for one in [*model.mains, *model.pairs] if one != pair]
        gained = _least_squares(model.matrix(rest), y).left - whole
        shares.append(EffectShare(pair, "interaction", gained / total))
    unblocked = _least_squares(model.matrix([*model.mains, *model.pairs], blocks=False), y).left
    shares += [EffectShare((), "blocks", (unblocked - whole) / total), EffectShare((), "rest", whole / total)]
    mixed = 1 - sum(one.share for one in shares)
    return [*shares, EffectShare((), "mixed", mixed)] if mixed > _MIXED else shares


class RankCorrelation(NamedTuple):
    """Spearman's rho of two figures over the same trials."""

    rho: float
    """-1 to 1; nan where fewer than three pairs are known, or one figure is the same in all of them."""
    p: float
    """Chance of a rho so far from 0 where neither figure tells anything of the other, from permutations of the ranks;
    nan as rho."""
    pairs: int


def spearman(first: Floats, second: Floats, *, seed: int = 1, draws: int = 5000) -> RankCorrelation:
    """Rank correlation of two figures of equal length, ties at their mean rank; pairs with a nan are left out.

    Spearman (1904). The chance is that of ``draws`` random orders, the observed one included, which holds for the few
    trials of a study as well, where tables of large samples do not.
    """
    known = np.isfinite(first) & np.isfinite(second)
    pairs = int(known.sum())
    if pairs < 3 or np.ptp(first[known]) == 0 or np.ptp(second[known]) == 0:
        return RankCorrelation(float("nan"), float("nan"), pairs)
    one, other = (ranks.ranks(values[known]) for values in (first, second))
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one**2).sum() * (other**2).sum()))
    rho = float(one @ other) / scale
    random = np.random.default_rng(seed)
    drawn = np.abs(random.permuted(np.tile(other, (draws, 1)), axis=1) @ one) / scale
    return RankCorrelation(rho, float((1 + (drawn >= abs(rho) - 1e-12).sum()) / (1 + draws)), pairs)


_FIRST_ROWS: Final = {
    12: "++-+++---+-",
    20: "++--++++-+-+----++-",
    24: "+++++-+-++--++--+-+----",
}
"""Of Plackett and Burman, by the number of rows; the other rows are this one turned round, and one of ``-``."""
MOST_SCREENED: Final = 31


def full(counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Every combination; ``counts`` are the levels of each factor."""
    return list(product(*(range(count) for count in counts)))


def one_at_a_time(counts: Sequence[int], references: Sequence[int]) -> list[tuple[int, ...]]:
    """The combination of all references, then each other level of each factor beside the references of the rest."""
    base = tuple(references)
    others = [
        (*base[:factor], level, *base[factor + 1 :])
        for factor, count in enumerate(counts) for level in range(count) if level != base[factor]
    ]  # fmt: skip
    return [base, *others]


def screening(factors: int) -> list[tuple[int, ...]]:
    """Rows of 0 and 1 in which every two columns are balanced: main effects of many factors by few trials.

    The number of rows is the least of 4, 8, 12, 16, 20, 24 and 32 above ``factors`` (1 to 31). With a power of two it
    is a fractional factorial, else Plackett and Burman's. With 2 factors, and with 4, no main effect is mixed with an
    interaction of two others. With all other numbers it is, wholly or in part: what is found may be an interaction.
    """
    rows = next(size for size in (4, 8, 12, 16, 20, 24, 32) if size > factors)
    signs = _plackett_burman(rows) if rows in _FIRST_ROWS else _fractional(rows)
    return [tuple(int(sign > 0) for sign in row[:factors]) for row in signs]


def _plackett_burman(rows: int) -> Ints:
    first = np.array([1 if sign == "+" else -1 for sign in _FIRST_ROWS[rows]])
    turned = [np.roll(first, shift) for shift in range(rows - 1)]
    return np.vstack([*turned, -np.ones(rows - 1, dtype=int)]).astype(np.int64)


def _fractional(rows: int) -> Ints:
    """Columns of the Hadamard matrix: the factors of a full design first, then products of odd numbers of them."""
    order = sorted(range(1, rows), key=lambda n: (n.bit_count() != 1, n.bit_count() % 2 == 0, n.bit_count(), n))
    return np.asarray(hadamard(rows)[:, order], dtype=np.int64)
