"""How often what compares runs is wrong, by drawn runs: the tables of ``bench.statistics`` on ab, compare and trend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from dsbench.read.stats.changes import changes
from dsbench.read.stats.comparison import compare
from dsbench.read.stats.ratio import Verdict, of_block, order_of, ratio
from dsbench.read.stats.values import Floats

Table = tuple[Sequence[str], Sequence[Sequence[str]]]
MOST: Final = 20
"""Blocks after which ``dsbench ab`` ends."""

Random = np.random.Generator
Disturbed = Callable[[Random], Floats]
"""ln of what happens to the runs of all blocks, shape (blocks, 4)."""


def autoregressive(random: Random, count: int, rho: float, spread: float) -> Floats:
    """AR(1) of mean 0 and standard deviation ``spread``, stationary from its first value on."""
    values = random.normal(0, spread * np.sqrt(1 - rho**2), count)
    values[0] = random.normal(0, spread)
    for number in range(1, count):
        values[number] += rho * values[number - 1]
    return values


def periodic(runs: float) -> Disturbed:
    """A wave of ±5 % with a period of so many ``runs``, which begins anywhere."""
    return lambda random: (
        0.05 * np.sin(2 * np.pi * (np.arange(4 * MOST) / runs + random.random())).reshape(MOST, 4)
    )  # fmt: skip


AGAINST: Final[dict[str, Disturbed]] = {
    "none": lambda _: np.zeros((MOST, 4)),
    "the first run of each block is 5 % slower": lambda _: np.tile([np.log(0.95), 0, 0, 0], (MOST, 1)),
    **{f"a wave of ±5 %, {runs} runs long": periodic(runs) for runs in (3, 4, 5, 6, 8, 12, 16)},
    "each run leans on the one before it, AR(1) of 0.9": (
        lambda random: autoregressive(random, 4 * MOST, 0.9, 0.05).reshape(MOST, 4)
    ),
}


def is_called_different(random: Random, disturbed: Disturbed, spread: float) -> bool:
    """Whether ``dsbench ab`` on twice the same finds a difference."""
    rates = np.exp(disturbed(random) + random.normal(0, spread, (MOST, 4)))
    seed = int(random.integers(1 << 32))
    blocks = np.array([of_block(row, order_of(seed, number)) for number, row in enumerate(rates, 1)])
    verdicts = (ratio(blocks[:n], 0.02).verdict for n in range(3, MOST + 1))
    return next((one for one in verdicts if one is not Verdict.OPEN), None) in (Verdict.FASTER, Verdict.SLOWER)


def ab_table(draws: int) -> Table:
    rows = []
    for name, disturbed in AGAINST.items():
        shares = []
        for spread in _SPREADS:
            random = np.random.default_rng(1)
            found = [is_called_different(random, disturbed, spread) for _ in range(draws)]
            shares.append(f"{np.mean(found):.1%}")
        rows.append(("A against A", name, *shares))
    return ("", "disturbance", *(f"called different, runs scatter by {spread:.1%}" for spread in _SPREADS)), rows


def differing(columns: int, runs: int, draws: int) -> float:
    """Share of comparisons of ``columns`` that do the same in which some one differs."""
    random, different = np.random.default_rng(2), 0
    for _ in range(draws):
        kinds = [[{1: random.lognormal(0, 0.03, 10)} for _ in range(runs)] for _ in range(columns)]
        different += any(not one.relative[1].holds_one for one in compare(kinds)[1:])
    return different / draws


def holding(runs: tuple[int, int], draws: int) -> float:
    """Share of intervals that hold the truth, where the first column scatters by 2 % and the second by 10 %."""
    random, held = np.random.default_rng(3), 0
    for _ in range(draws):
        kinds = [[{1: random.lognormal(0, scatter, 1)} for _ in range(count)]
                 for count, scatter in zip(runs, (0.02, 0.1), strict=True)]  # fmt: skip
        held += compare(kinds)[1].relative[1].holds_one
    return held / draws


def compare_table(draws: int) -> Table:
    rows = [(f"{columns} columns that do the same, {runs} {'run' if runs == 1 else 'runs'} of each", "some one differs",
             f"{differing(columns, runs, draws):.1%}") for columns in (2, 4, 7) for runs in (1, 3)]  # fmt: skip
    rows += [(f"{runs[0]} runs that scatter by 2 %, {runs[1]} by 10 %", "the interval holds the truth",
              f"{holding(runs, draws):.1%}") for runs in ((2, 2), (3, 3), (5, 5), (10, 3), (3, 10))]  # fmt: skip
    return ("columns", "", "share"), rows


def trend_table(draws: int) -> Table:
    rows = []
    for runs in (20, 50):
        shares = []
        for rho in _LEANS:
            random = np.random.default_rng(4)
            found = [bool(changes(np.exp(autoregressive(random, runs, rho, 0.03)), 0.0)) for _ in range(draws)]
            shares.append(f"{np.mean(found):.1%}")
        rows.append((f"{runs} runs", "a change is named", *shares))
    return ("history without a change", "", *(f"r = {rho:g}" for rho in _LEANS)), rows


_SPREADS: Final = (0.003, 0.03)
_LEANS: Final = (0.0, 0.5, 0.8)
TABLES: Final[Mapping[str, Callable[[int], Table]]] = {"ab": ab_table, "compare": compare_table, "trend": trend_table}
