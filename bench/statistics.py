"""``python -m bench.statistics``: draws series whose truth is known, and counts how often what is promised holds.

Nothing is measured and no database is needed. Each table of docs/method.md between two marks comes from here:
``--write`` puts the figures there. The same functions, with fewer draws, are tests (tests/analysis/test_promises.py).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import NormalDist
from typing import Final

import numpy as np

from bench import comparisons
from dsbench.read.stats import index
from dsbench.read.stats.fits import scalability
from dsbench.read.stats.precision import enough, half_width, looks, median_interval
from dsbench.read.stats.scatter import scatter
from dsbench.read.stats.steady import Verdict, drift, over_cycles
from dsbench.read.stats.values import Floats

PAGE: Final = Path(__file__).parent.parent / "docs" / "method.md"
DRAWS: Final = 2000
LADDER: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Heads and rows, as they are printed."""


@dataclass(frozen=True)
class Cycles:
    """How the rates of cycles are drawn, around 1000 tps."""

    scatter: float
    """Standard deviation of ln T_i; with ``alike`` of the seconds."""
    hit: float = 0.0
    """Share of cycles that a checkpoint falls into."""
    cost: float = 0.15
    """Share of its rate that such a cycle loses."""
    alike: float = 0.0
    """Correlation from second to second (AR(1)), in cycles of ten seconds; 0 draws cycles that stand for themselves."""

    def draw(self, random: np.random.Generator, draws: int, count: int) -> Floats:
        """Rates, shape (draws, count)."""
        if self.alike:
            logs = seconds(random, draws, count * 10, self.alike, self.scatter).reshape(draws, count, 10).mean(axis=2)
        else:
            logs = random.normal(0, self.scatter, (draws, count))
        logs = logs + log(1 - self.cost) * (random.random(logs.shape) < self.hit)
        return np.asarray(1000 * np.exp(logs), dtype=float)

    @property
    def median(self) -> float:
        """The median of all cycles there could be; without ``alike``."""
        low, high, normal = log(1 - self.cost) - 1, 1.0, NormalDist(0, self.scatter)
        for _ in range(60):
            at = (low + high) / 2
            below = (1 - self.hit) * normal.cdf(at) + self.hit * normal.cdf(at - log(1 - self.cost))
            low, high = (at, high) if below < 0.5 else (low, at)
        return float(1000 * np.exp(low)) if self.hit else 1000.0

    @property
    def words(self) -> tuple[str, str]:
        scatter = f"{self.scatter:.0%}" + (f", seconds r = {self.alike}" if self.alike else "")
        return scatter, f"{self.hit:.0%} by {self.cost:.0%}" if self.hit else ""


def seconds(random: np.random.Generator, draws: int, count: int, alike: float, spread: float) -> Floats:
    """AR(1) series of mean 0 and standard deviation ``spread``, stationary from the first value on."""
    shocks = random.normal(0, spread * (1 - alike**2) ** 0.5, (draws, count))
    found = np.empty((draws, count))
    before = random.normal(0, spread, draws)
    for at in range(count):
        before = found[:, at] = alike * before + shocks[:, at]
    return found


@dataclass(frozen=True)
class Held:
    """Shares (0-1) of runs."""

    cycles: float
    """That were made, on average."""
    precise: float
    """Runs that ended because they were as precise as was asked for."""
    holds: float
    """Runs whose last interval holds the truth."""
    holds_precise: float
    """The same of those that ended as precise; nan without one."""


def stopped(kind: Cycles, wanted: float, draws: int, *, fewest: int = 5, most: int = 40, seed: int = 1) -> Held:
    """What ``--precision`` makes of ``draws`` series: cycles until the median is known within ``wanted``."""
    random = np.random.default_rng(seed)
    made, precise, holds = np.zeros(draws), np.zeros(draws, dtype=bool), np.zeros(draws, dtype=bool)
    for at, rates in enumerate(kind.draw(random, draws, most)):
        count = most
        for count in looks(fewest):
            if count >= most or enough(rates[:count], wanted, fewest):
                break
        rates = rates[: min(count, most)]
        found = median_interval(rates)
        made[at], precise[at] = rates.size, half_width(rates) <= wanted
        holds[at] = found.low <= kind.median <= found.high
    among = float(holds[precise].mean()) if precise.any() else np.nan
    return Held(float(made.mean()), float(precise.mean()), float(holds.mean()), among)


def fixed(kind: Cycles, count: int, draws: int, seed: int = 2) -> tuple[float, float]:
    """(share of intervals of ``count`` cycles that hold the median, median of their reach)."""
    series = kind.draw(np.random.default_rng(seed), draws, count)
    found = [median_interval(rates) for rates in series]
    holds = [one.low <= kind.median <= one.high for one in found]
    return float(np.mean(holds)), float(np.median([one.reach for one in found]))


def indexed(kind: Cycles, draws: int, *, fewest: int = 5, most: int = 10, wanted: float = 0.03, seed: int = 3) -> Held:
    """What the profile dsi-fast makes of thirteen scales: its index is to be known within ``wanted``."""
    random = np.random.default_rng(seed)
    truth = index.dsi(LADDER, [kind.median] * len(LADDER))
    whole = np.log10(LADDER[-1] / LADDER[0]) / 2
    made, precise, holds = np.zeros(draws), np.zeros(draws, dtype=bool), np.zeros(draws, dtype=bool)
    parts = {scale: index.share(wanted, LADDER, scale) for scale in LADDER}
    for at in range(draws):
        rates = {}
        for scale, drawn in zip(LADDER, kind.draw(random, len(LADDER), most), strict=True):
            count = next(n for n in range(fewest, most + 1) if n == most or enough(drawn[:n], parts[scale], fewest))
            rates[scale] = drawn[:count]
        found = index.interval(rates)
        assert found is not None
        made[at] = sum(one.size for one in rates.values())
        precise[at] = 10 ** ((found.high - found.value) / whole) - 1 <= wanted
        holds[at] = found.low <= truth <= found.high
    among = float(holds[precise].mean()) if precise.any() else np.nan
    return Held(float(made.mean()), float(precise.mean()), float(holds.mean()), among)


def drifting(
    alike: float, spread: float, length: int, draws: int, *, cycles: int = 1, course: Floats | None = None
) -> float:
    """Share of runs called no steady state: ``cycles`` of ``length`` seconds that scatter by ``spread``, AR(1).

    ``course`` is what each cycle has beside it, by second; of several cycles the drift from the first to the last is
    judged, of one that within it.
    """
    series = 1000 * np.exp(seconds(np.random.default_rng(4), draws, length * cycles, alike, spread))
    series = series.reshape(draws, cycles, length) * (1 if course is None else course)
    judged = (over_cycles(one) if cycles > 1 else drift(one[0]) for one in series)
    return float(np.mean([found.verdict is Verdict.DRIFTING for found in judged]))


def scattered(alike: float, spread: float, length: int, draws: int, *, cycles: int, apart: float = 0.0) -> float:
    """Share of runs with scattered cycles: their levels scatter by ``apart``, their seconds by ``spread``, AR(1)."""
    random = np.random.default_rng(5)
    series = 1000 * np.exp(seconds(random, draws * cycles, length, alike, spread)).reshape(draws, cycles, length)
    series = series * np.exp(random.normal(0, apart, (draws, cycles, 1)))
    numbers = np.arange(1, cycles + 1)
    return float(np.mean([scatter(numbers, one.mean(axis=1), list(one)) is not None for one in series]))


def precision_table(draws: int) -> Table:
    heads = ("cycles scatter by", "checkpoint in", "asked for", "cycles at most", "made", "ended as precise", "holds",
             "holds, of the precise")  # fmt: skip
    cells = [
        *((Cycles(scatter), 0.02, most) for most in (40, 400) for scatter in (0.01, 0.02, 0.03, 0.04, 0.05, 0.06)),
        *((Cycles(0.06), wanted, 40) for wanted in (0.03, 0.05, 0.1)),
        *((Cycles(0.02, hit), 0.02, 400) for hit in (0.1, 0.3, 0.4)),
        *((Cycles(0.05, alike=alike), 0.02, 40) for alike in (0.5, 0.8, 0.9)),
    ]
    rows = []
    for kind, wanted, most in cells:
        found = stopped(kind, wanted, draws, most=most)
        rows.append((*kind.words, f"{wanted:.0%}", str(most), f"{found.cycles:.1f}", _percent(found.precise),
                     _percent(found.holds), _percent(found.holds_precise)))  # fmt: skip
    return heads, rows


def median_table(draws: int) -> Table:
    heads = ("cycles scatter by", "checkpoint in", *(f"{n} cycles" for n in (5, 6, 8, 10, 20)))
    rows = []
    for kind in (Cycles(0.03), *(Cycles(0.02, hit) for hit in (0.1, 0.3, 0.4, 0.5))):
        found = (fixed(kind, n, draws) for n in (5, 6, 8, 10, 20))
        rows.append((*kind.words, *(f"{_percent(held)} (±{reach:.1%})" for held, reach in found)))
    return heads, rows


def index_table(draws: int) -> Table:
    heads = ("cycles scatter by", "checkpoint in", "cycles of all 13 scales", "known within 3 %", "holds")
    rows = []
    kinds = [Cycles(s) for s in (0.01, 0.02, 0.03, 0.06, 0.1)] + [Cycles(0.02, hit) for hit in (0.1, 0.2, 0.3, 0.4)]
    for kind in (*kinds, *(Cycles(0.05, alike=alike) for alike in (0.5, 0.9))):
        found = indexed(kind, max(draws // 2, 1))
        rows.append((*kind.words, f"{found.cycles:.0f}", _percent(found.precise), _percent(found.holds)))
    return heads, rows


_ALIKE: Final = (0.0, 0.3, 0.5, 0.7, 0.9)


def drift_table(draws: int) -> Table:
    draws = max(draws // 2, 1)
    rows = []
    for cycles, length in ((1, 30), (1, 60), (1, 300), (3, 60), (5, 60), (10, 60)):
        spread = 0.3
        where = f"in a cycle of {length} s" if cycles == 1 else f"over {cycles} cycles of {length} s"
        found = (drifting(alike, spread, length, draws, cycles=cycles) for alike in _ALIKE)
        rows.append(("none", f"{where}, ±{spread:.0%}", *map(_percent, found)))
    for length in (30, 60, 300):
        at = np.linspace(0, 1, length)
        for words, course in (("falls by 26 %", 1.15 - 0.3 * at), ("warms up from half", 1 - 0.5 * np.exp(-4 * at))):
            found = (drifting(alike, 0.05, length, draws, course=course) for alike in _ALIKE)
            rows.append((words, f"in a cycle of {length} s, ±5%", *map(_percent, found)))
    return ("drift", "seconds", *(f"r = {alike}" for alike in _ALIKE)), rows


def scatter_table(draws: int) -> Table:
    draws, rows = max(draws // 2, 1), []
    for cycles, length in ((3, 10), (10, 10), (3, 60), (10, 60)):
        for apart, spread in ((0.0, 0.3), (0.2, 0.1)):
            found = (scattered(alike, spread, length, draws, cycles=cycles, apart=apart) for alike in _ALIKE)
            levels = f"scatter by {apart:.0%}" if apart else "all alike"
            rows.append((levels, f"{cycles} cycles of {length} s, ±{spread:.0%}", *map(_percent, found)))
    return ("levels of the cycles", "seconds", *(f"r = {alike}" for alike in _ALIKE)), rows


def peaked(serial: float, pairs: float, noise: float, draws: int, most: int = 64) -> tuple[float, float]:
    """(share of curves that are said to have a peak, share of those whose interval holds it; nan without a peak).

    Rates of 1, 2, 4 … ``most`` clients after the Universal Scalability Law, each with a relative error of ``noise``.
    """
    random = np.random.default_rng(6)
    clients = 2 ** np.arange(int(np.log2(most)) + 1)
    law = 1000 * clients / (1 + serial * (clients - 1) + pairs * clients * (clients - 1))
    top = ((1 - serial) / pairs) ** 0.5 if pairs else np.nan
    told, holds = 0, 0
    for _ in range(draws):
        rates = law * np.exp(random.normal(0, noise, clients.size))
        found = scalability(dict(zip(clients.tolist(), rates.tolist(), strict=True)))
        if found is not None and (ends := re.search(r"\[(\d+) (?:to (\d+)|or more)\]", found.conclusion)):
            told += 1
            holds += int(ends[1]) - 0.5 <= top <= (int(ends[2]) + 0.5 if ends[2] else np.inf)
    return told / draws, holds / told if pairs and told else np.nan


def scalability_table(draws: int) -> Table:
    rows = []
    for serial, pairs in ((0.02, 0.0), (0.1, 0.0), (0.3, 0.0), (0.05, 0.002), (0.05, 0.01)):
        for noise in (0.03, 0.1):
            told, holds = peaked(serial, pairs, noise, max(draws // 2, 1))
            rows.append((f"{serial}", f"{pairs}", f"{noise:.0%}", _percent(told), _percent(holds)))
    return ("σ", "κ", "error of a rate", "said to have a peak", "whose interval holds it"), rows


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f} %"


TABLES: Final[Mapping[str, Callable[[int], Table]]] = {
    "median": median_table,
    "precision": precision_table,
    "index": index_table,
    "drift": drift_table,
    "scatter": scatter_table,
    "scalability": scalability_table,
    **comparisons.TABLES,
}
"""Name of a table, as its marks in the page have it, to what draws it."""


def markdown(table: Table) -> str:
    """The table as Markdown; all columns but the first two on the right."""
    heads, rows = table
    rule = ["---" if at < 2 else "--:" for at in range(len(heads))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, rule, *rows))


def marks(name: str) -> tuple[str, str]:
    """Before and behind a table in the page."""
    return f"<!-- simulated: {name} -->", f"<!-- /simulated: {name} -->"


def main() -> None:
    """Draws the tables that are named, or all, and prints them."""
    parser = argparse.ArgumentParser(prog="python -m bench.statistics", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TABLES], help="tables; all of them without a name")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"series of each row ({DRAWS})")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    asked = parser.parse_args()
    for name in asked.names or TABLES:
        begun = time.monotonic()
        text = markdown(TABLES[name](asked.draws))
        print(f"{name}: {asked.draws} draws, {time.monotonic() - begun:.0f} s", file=sys.stderr)
        print(text + "\n")
        if asked.write:
            page, (begin, end) = PAGE.read_text(), marks(name)
            before, _, rest = page.partition(begin)
            _, _, after = rest.partition(end)
            PAGE.write_text(f"{before}{begin}\n{text}\n{end}{after}")


if __name__ == "__main__":
    main()
