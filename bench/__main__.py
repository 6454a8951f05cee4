"""``python -m bench``: measures what is not measured yet, cell by cell, and writes the page of this machine."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from bench import bare, cells, machine, measuring, page, parts
from bench.cells import Cell
from bench.kept import Kept
from bench.measuring import Plan, say
from bench.peers import Settings
from bench.process import BenchError

FOLDER = bare.ROOT / "docs" / "performance"
QUICK = bare.ROOT / "target" / "bench-quick.json"
"""What ``--quick`` found last, to put beside what it finds next."""


def main() -> None:
    """Measures and writes."""
    asked = _asked()
    at = Settings(asked.duration, asked.quick, tuple(asked.beside))
    plan = Plan(asked.scale, asked.pairs, at)
    finished, before = _kept(asked)
    known = list(cells.quick() if asked.quick else cells.table(asked.clients))
    chosen = [cell for cell in known if _wanted(asked, cell.name)]
    more = [part for part in parts.parts(asked) if not asked.quick and _wanted(asked, part.name)]
    todo = [cell for cell in chosen if asked.again or not finished.has(cell.name, plan.of(cell))]
    left = [part for part in more if asked.again or not finished.has(part.name, part.settings)]
    if asked.page:
        todo, left = [], []
    if not chosen and not more:
        raise BenchError("no cell has such a name; python -m bench --list shows all of them")
    if asked.list:
        print("\n".join([*(cell.name for cell in chosen), *(part.name for part in more)]))
    seconds = measuring.estimate(plan, todo, known, finished) + sum(part.seconds for part in left)
    done = len(chosen) + len(more) - len(todo) - len(left)
    where = f", kept in {finished.path}" if finished.path else ""
    say(f"to measure: {len(todo) + len(left)}, about {_duration(seconds)}; finished before: {done}{where}")
    if asked.list:
        return
    if bare.possible() and any(cell.work == cells.SELECT for cell in todo) and not asked.quick:
        plan = replace(plan, settings=replace(at, bare_program=bare.build()))
    todo = measuring.in_order(todo, finished)
    until = time.monotonic() + 60 * asked.minutes
    measuring.measure(plan, todo, finished, lambda cell: _shown(cell, finished, before), until)
    parts.measure(left, finished, until)
    rest = sum(not finished.has(cell.name, plan.of(cell)) for cell in todo)
    say(f"cells left for another run: {rest}")
    # The page shows what was ever kept, whatever was asked for now.
    shown = chosen if asked.quick else cells.table(tuple(sorted({*cells.COUNTS, *asked.clients})))
    text = "\n".join([*machine.description(), page.document(shown, finished, before)])
    print(text)
    if asked.write is not None:
        path = asked.write / f"{machine.name()}.md"
        page.write(path, text)
        say(f"written to {path}")


def _kept(asked: argparse.Namespace) -> tuple[Kept, Kept | None]:
    """Where finished cells are kept, and what an earlier quick run found."""
    if asked.write is not None:
        asked.write.mkdir(parents=True, exist_ok=True)
        return Kept.open(asked.write / f"{machine.name()}.json"), None
    if not asked.quick:
        return Kept(None, {}), None
    return Kept(QUICK, dict(Kept.open(QUICK).pieces)), Kept.open(QUICK)


def _wanted(asked: argparse.Namespace, name: str) -> bool:
    return not asked.only or any(text in name for text in asked.only)


def _shown(cell: Cell, finished: Kept, before: Kept | None) -> str:
    one = finished.pieces[cell.name]
    if one.failure:
        return ""
    if cell.steady:
        return page.steady_row(cell, one)
    earlier = before.pieces.get(cell.name) if before else None
    return page.row(cell, one.found, earlier.found if earlier and not earlier.failure else None)


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description=__doc__, epilog=__import__("bench").__doc__)
    for name, default, kind, words in _options():
        parser.add_argument(f"--{name}", default=default, type=kind, help=f"{words} [{default}]")
    parser.add_argument("--only", action="append", default=[], help="what has this text in its name; several times")
    parser.add_argument("--list", action="store_true", help="say what would be measured, how long it takes, and end")
    parser.add_argument("--again", action="store_true", help="measure finished cells as well")
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page of what is kept")
    parser.add_argument("--quick", action="store_true", help="few cells, five minutes, beside the last such run")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=VALUE",
                        help="dsbench once more in each cell, with this setting of a run; several times")  # fmt: skip
    where = f"{FOLDER.relative_to(bare.ROOT)}; with --quick or --beside: none"
    parser.add_argument("--write", type=Path, help=f"folder of the page and the finished cells [{where}]")
    asked = parser.parse_args()
    if asked.quick:
        asked.pairs, asked.scale, asked.again = min(asked.pairs, 3), min(asked.scale, 5), True
    elif asked.write is None and not asked.beside:
        asked.write = FOLDER
    return asked


def _options() -> Iterator[tuple[str, object, Callable[[str], object], str]]:
    yield "pairs", 6, int, "paired measurements of each cell"
    yield "duration", 2.0, float, "seconds of each measurement, whole ones"
    yield "scale", 20, int, "scale of the tables"
    yield "clients", cells.COUNTS, _numbers, "numbers of clients"
    yield "minutes", math.inf, float, "begin nothing that would end later; what was never measured comes first"
    yield "population", (10, 50, 100), _numbers, "scales of the populations"
    yield "transactions", 100_000_000, int, "transactions on the mock engine for the memory of a long run"


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
