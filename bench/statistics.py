"""``python -m bench.statistics``: draws series whose truth is known, and counts how often what is promised holds.

Nothing is measured and no database is needed. Each table of docs/statistics.md between two marks comes from here:
``--write`` puts the figures there. The same functions, with fewer draws, are tests (tests/read/test_promises.py).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.tables import put
from fixtures import simulated
from fixtures.simulated import Cycles, Levels

PAGE: Final = Path(__file__).parent.parent / "docs" / "statistics.md"
MARK: Final = "simulated"
DRAWS: Final = 2000
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Heads and rows, as they are printed."""
_ALIKE: Final = (0.0, 0.3, 0.5, 0.7, 0.9)
_SPREADS: Final = (0.003, 0.03)
_LEANS: Final = (0.0, 0.5, 0.8)


_FIGURE: Final = frozenset("0123456789.,%±() ")


def precision_table(draws: int) -> Table:
    heads = ("cycles scatter by", "asked for", "cycles at most", "made", "ended as precise", "holds",
             "holds, of the precise")  # fmt: skip
    cells = [
        *((Cycles(scatter), 0.02, 40) for scatter in (0.01, 0.02, 0.04, 0.06)),
        *((Cycles(scatter), 0.02, 400) for scatter in (0.02, 0.04, 0.06)),
        *((Cycles(0.02, hit), 0.02, 400) for hit in (0.1, 0.4)),
        *((Cycles(0.05, alike=alike), 0.02, 40) for alike in (0.5, 0.8, 0.9)),
        *((Cycles(0.02, leaning=leaning), 0.02, 400) for leaning in (0.3, 0.5, 0.9)),
    ]
    rows = []
    for kind, wanted, most in cells:
        found = simulated.stopped(kind, wanted, draws, most=most)
        shares = map(_percent, (found.precise, found.holds, found.holds_precise))
        rows.append((kind.words, f"{wanted:.0%}", str(most), f"{found.cycles:.1f}", *shares))
    return heads, rows


def median_table(draws: int) -> Table:
    counts, rows = (5, 6, 8, 10, 20), []
    for kind in (Cycles(0.03), *(Cycles(0.02, hit) for hit in (0.1, 0.3, 0.5))):
        found = (simulated.fixed(kind, n, draws) for n in counts)
        rows.append((kind.words, *(f"{_percent(held)} (±{reach:.1%})" for held, reach in found)))
    return ("cycles scatter by", *(f"{n} cycles" for n in counts)), rows


def index_table(draws: int) -> Table:
    rows = []
    kinds = [Cycles(s) for s in (0.01, 0.03, 0.1)] + [Cycles(0.02, hit) for hit in (0.1, 0.2, 0.4)]
    for kind in (*kinds, *(Cycles(0.05, alike=alike) for alike in (0.5, 0.9))):
        found = simulated.indexed(kind, max(draws // 2, 1))
        rows.append((kind.words, f"{found.cycles:.0f}", _percent(found.precise), _percent(found.holds)))
    return ("cycles scatter by", "cycles of all 13 scales", "known within 3%", "holds"), rows


def drift_table(draws: int) -> Table:
    draws = max(draws // 2, 1)
    rows = []
    for cycles, length in ((1, 30), (1, 300), (3, 60), (10, 60)):
        where = f"in a cycle of {length} s" if cycles == 1 else f"over {cycles} cycles of {length} s"
        found = (simulated.drifting(alike, 0.3, length, draws, cycles=cycles) for alike in _ALIKE)
        rows.append(("none", f"{where}, ±30%", *map(_percent, found)))
    for length in (30, 300):
        at = np.linspace(0, 1, length)
        for words, course in (("falls by 26%", 1.15 - 0.3 * at), ("warms up from half", 1 - 0.5 * np.exp(-4 * at))):
            found = (simulated.drifting(alike, 0.05, length, draws, course=course) for alike in _ALIKE)
            rows.append((words, f"in a cycle of {length} s, ±5%", *map(_percent, found)))
    return ("drift", "seconds", *(f"r = {alike}" for alike in _ALIKE)), rows


def scatter_table(draws: int) -> Table:
    rows = []
    for cycles, length in ((3, 10), (10, 60)):
        for apart, spread in ((0.0, 0.3), (0.2, 0.1)):
            few = max(draws // 2, 1)
            found = (simulated.scattered(alike, spread, length, few, cycles=cycles, apart=apart) for alike in _ALIKE)
            levels = f"scatter by {apart:.0%}" if apart else "all alike"
            rows.append((levels, f"{cycles} cycles of {length} s, ±{spread:.0%}", *map(_percent, found)))
    return ("levels of the cycles", "seconds", *(f"r = {alike}" for alike in _ALIKE)), rows


def scalability_table(draws: int) -> Table:
    rows = []
    for serial, pairs in ((0.02, 0.0), (0.3, 0.0), (0.05, 0.002), (0.05, 0.01)):
        for noise in (0.03, 0.1):
            found = simulated.peaked(serial, pairs, noise, max(draws // 2, 1))
            rows.append((f"{serial}", f"{pairs}", f"{noise:.0%}", *map(_percent, found)))
    return ("σ", "κ", "error of a rate", "said to have a peak", "whose interval holds it"), rows


def ab_table(draws: int) -> Table:
    rows = []
    for name, disturbed in simulated.DISTURBED.items():
        shares = (simulated.called_different(disturbed, spread, draws) for spread in _SPREADS)
        rows.append((name, *(f"{share:.1%}" for share in shares)))
    heads = (f"called different, runs scatter by {spread:.1%}" for spread in _SPREADS)
    return ("disturbance of A against A", *heads), rows


def found_table(draws: int) -> Table:
    rows, few = [], max(draws // 4, 1)
    for name in ("none", "one run in twenty is 40% slower"):
        for effect in (0.03, 0.05):
            kind = simulated.DISTURBED[name]
            found = [simulated.called(kind, spread, few, effect) for spread in (0.01, 0.02, 0.03)]
            cells = [f"{_percent(one.faster)} ({one.blocks:.1f})" for one in found]
            rows.append((name, f"{effect:.0%}", *cells))
    heads = (f"found (blocks), runs scatter by {spread}%" for spread in (1, 2, 3))
    return ("disturbance", "difference", *heads), rows


def compare_table(draws: int) -> Table:
    rows = []
    for columns, runs in ((2, 1), (2, 3), (7, 1), (7, 3)):
        words = f"{columns} columns that do the same, {runs} {'run' if runs == 1 else 'runs'} of each"
        rows.append((words, "some one differs", f"{simulated.differing(columns, runs, draws):.1%}"))
    for a, b in ((2, 2), (10, 3), (3, 10)):
        words = f"{a} runs that scatter by 2%, {b} by 10%"
        rows.append((words, "the interval holds the truth", f"{simulated.holding((a, b), draws):.1%}"))
    return ("columns", "", "share"), rows


def trend_table(draws: int) -> Table:
    rows = [(f"{runs} runs", "a change is named", *(f"{simulated.changing(runs, rho, draws):.1%}" for rho in _LEANS))
            for runs in (20, 50)]  # fmt: skip
    return ("history without a change", "", *(f"r = {rho:g}" for rho in _LEANS)), rows


def noise_table(draws: int) -> Table:
    rows = []
    for shape, spread in (
        ((8, 4, 3), (0.02, 0.02, 0.02)), ((6, 4, 3), (0.01, 0.02, 0.02)), ((5, 3, 3), (0.03, 0.05, 0.03)),
        ((8, 1, 5), (0.02, 0.0, 0.01)), ((1, 12, 3), (0.0, 0.02, 0.02)),
    ):  # fmt: skip
        found = simulated.levelled(Levels(shape, spread), draws)
        words = " × ".join(map(str, shape)), ", ".join(f"{one:.0%}" for one in spread)
        every = found.database, found.start, found.cycle, found.one_database, found.new_database, found.close
        rows.append((*words, *map(_percent, every)))
    return ("databases × starts × cycles", "spread of each", "database", "start", "cycle", "run, one database",
            "run, new databases", "the last within a factor of 1.25"), rows  # fmt: skip


def visible_table(draws: int) -> Table:
    counts = (3, 5, 10, 20)
    return ([f"within {n} blocks" for n in counts], [[_percent(simulated.visible_found(n, draws)) for n in counts]])


def periods_table(draws: int) -> Table:
    few, rows = max(draws // 10, 1), []
    for width, depth in ((0.15, 0.3), (0.05, 0.5)):
        found = (simulated.periods_found(period, width, depth, few) for period in (20, 37, 60, 90, 120))
        rows.append((f"{depth:.0%} lower for {width:.0%} of the period", *map(_percent, found)))
    return ("course of 600 s", *(f"{period} s" for period in (20, 37, 60, 90, 120))), rows


def no_period_table(draws: int) -> Table:
    few = max(draws // 10, 1)
    row = [_percent(simulated.periods_invented(alike, few)) for alike in (0.0, 0.3, 0.6, 0.9)]
    return (("no period, seconds r = 0", "r = 0.3", "r = 0.6", "r = 0.9", "12 stalls of 1 s"),
            [[*row, _percent(simulated.periods_invented(0.3, few, 12))]])  # fmt: skip


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{100 * share:.1f}%"


TABLES: Final[Mapping[str, Callable[[int], Table]]] = {
    "median": median_table, "precision": precision_table, "index": index_table, "drift": drift_table,
    "scatter": scatter_table, "scalability": scalability_table, "ab": ab_table, "found": found_table,
    "compare": compare_table, "trend": trend_table, "noise": noise_table, "visible": visible_table,
    "periods": periods_table, "no-period": no_period_table,
}  # fmt: skip
"""Name of a table, as its marks in the page have it, to what draws it."""


def main() -> None:
    """Draws the tables that are named, or all, and prints them."""
    parser = argparse.ArgumentParser(prog="python -m bench.statistics", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TABLES], help="tables; all of them without a name")
    parser.add_argument("--draws", type=int, default=DRAWS, help=f"series of each row ({DRAWS})")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.name}")
    asked = parser.parse_args()
    for name in asked.names or TABLES:
        begun = time.monotonic()
        heads, rows = TABLES[name](asked.draws)
        figures = [all(set(row[at]) <= _FIGURE for row in rows) for at in range(len(heads))]
        rule = ["--:" if at and number else "---" for at, number in enumerate(figures)]
        head, *body = ("| " + " | ".join(cells) + " |" for cells in (heads, *rows))
        text = "\n".join([head, f"|{'|'.join(rule)}|", *body])
        print(f"{name}: {asked.draws} draws, {time.monotonic() - begun:.0f} s", file=sys.stderr)
        print(text + "\n")
        if asked.write:
            put(PAGE, name, f"{text}\n", MARK)


if __name__ == "__main__":
    main()
