"""``python -m bench.comparisons``: how often what compares rates is wrong, by simulation.

Each line is a share in per cent over ``--draws`` drawn series: of verdicts where nothing differs, or of intervals that
hold the truth. It takes some minutes, no database and no quiet machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from dsbench.analysis.changes import changes
from dsbench.analysis.comparison import compare
from dsbench.analysis.ratio import Verdict, of_block, order_of, ratio
from dsbench.analysis.values import Floats

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
    "nothing": lambda _: np.zeros((MOST, 4)),
    "the first run of each block is 5 % slower": lambda _: np.tile([np.log(0.95), 0, 0, 0], (MOST, 1)),
    **{f"a wave of ±5 % with a period of {runs} runs": periodic(runs) for runs in (3, 4, 5, 6, 8, 12, 16)},
    "AR(1) of 0.9": lambda random: autoregressive(random, 4 * MOST, 0.9, 0.05).reshape(MOST, 4),
}


def is_called_different(random: Random, disturbed: Disturbed, spread: float) -> bool:
    """Whether ``dsbench ab`` on twice the same finds a difference."""
    rates = np.exp(disturbed(random) + random.normal(0, spread, (MOST, 4)))
    seed = int(random.integers(1 << 32))
    blocks = np.array([of_block(row, order_of(seed, number)) for number, row in enumerate(rates, 1)])
    verdicts = (ratio(blocks[:n], 0.02).verdict for n in range(3, MOST + 1))
    return next((one for one in verdicts if one is not Verdict.OPEN), None) in (Verdict.FASTER, Verdict.SLOWER)


def ab(draws: int) -> Iterator[tuple[str, float]]:
    """A against A."""
    for name, disturbed in AGAINST.items():
        for spread in (0.003, 0.03):
            random = np.random.default_rng(1)
            found = np.mean([is_called_different(random, disturbed, spread) for _ in range(draws)])
            yield f"ab, A against A: {name}, runs scatter by {spread:.1%}: called different", float(found)


def compare_columns(draws: int) -> Iterator[tuple[str, float]]:
    """``dsbench compare`` of columns that do the same."""
    for columns in (2, 4, 7):
        for runs in (1, 3):
            random, different = np.random.default_rng(2), 0
            for _ in range(draws):
                kinds = [[{1: random.lognormal(0, 0.03, 10)} for _ in range(runs)] for _ in range(columns)]
                different += any(not one.relative[1].holds_one for one in compare(kinds)[1:])
            yield f"compare: {columns} columns of {runs} runs that do the same: some differs", different / draws


def compare_scatter(draws: int) -> Iterator[tuple[str, float]]:
    """``dsbench compare`` of columns that scatter differently."""
    for runs in ((2, 2), (3, 3), (5, 5), (10, 3), (3, 10)):
        random, held = np.random.default_rng(3), 0
        for _ in range(draws):
            kinds = [[{1: random.lognormal(0, scatter, 1)} for _ in range(count)]
                     for count, scatter in zip(runs, (0.02, 0.1), strict=True)]  # fmt: skip
            held += compare(kinds)[1].relative[1].holds_one
        words = f"{runs[0]} runs that scatter by 2 % against {runs[1]} by 10 %"
        yield f"compare: {words}: the interval holds the truth", held / draws


def trend(draws: int) -> Iterator[tuple[str, float]]:
    """``dsbench trend`` of histories without a change."""
    for runs in (20, 50):
        for rho in (0.0, 0.5, 0.8):
            random = np.random.default_rng(4)
            found = [bool(changes(np.exp(autoregressive(random, runs, rho, 0.03)), 0.0)) for _ in range(draws)]
            yield f"trend: {runs} runs without a change, AR(1) of {rho:g}: a change is named", float(np.mean(found))


SIMULATIONS: Final = (ab, compare_columns, compare_scatter, trend)


def main() -> None:
    """Prints all shares."""
    parser = argparse.ArgumentParser(prog="python -m bench.comparisons", description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="series of each line (default: %(default)s)")
    names = [one.__name__ for one in SIMULATIONS]
    parser.add_argument("--only", choices=names, action="append", help="these alone")
    asked = parser.parse_args()
    draws = asked.draws
    for simulation in (one for one in SIMULATIONS if one.__name__ in (asked.only or names)):
        for name, share in simulation(draws):
            print(f"{share:6.1%}  {name}", flush=True)


if __name__ == "__main__":
    main()
