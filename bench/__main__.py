"""``python -m bench``: measures, prints one table and writes it to docs/performance.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import archives, bare, fbdriver, firebird, machine, many, mariadb, memory, page, population, tpcc
from bench.cases import Case, Settings, selects, tpcbs
from bench.page import Result
from bench.place import populated
from bench.process import BenchError
from bench.sweeps import sweep

PAGE = bare.ROOT / "docs" / "performance.md"


def main() -> None:
    """The table of contents of the comparison."""
    asked = _asked()
    text = [f"Measured by `{' '.join(['python -m bench', *sys.argv[1:]])}`.", ""]
    program = bare.build()
    with populated(asked.scale, asked.many + 80, {}) as place:
        text += [*machine.description(place.version), f"- tables at scale {asked.scale}, all in memory", ""]
        at = Settings(place, asked.duration, program, durable=True)
        results = _measure(asked, [*selects(at, asked.clients), *tpcbs(at, asked.clients)])
        more = _more(
            asked,
            lambda: page.many_lines(many.measure(place, asked.many, asked.duration, asked.pairs)),
            lambda: page.population_lines(population.measure(place, asked.population, asked.population_pairs)),
        )
    with populated(asked.scale, 80, {"fsync": "off", "synchronous_commit": "off"}) as place:
        results += _measure(asked, list(tpcbs(Settings(place, asked.duration, program, durable=False), (8,))))
    with mariadb.populated(asked.scale, 80) as other:
        text.append(f"- server of the rows that name it: {other.version}, tables at the same scale\n")
        results += _measure(asked, list(other.cases(asked.clients, asked.duration)))
    found, remarks = _firebird(asked)
    results += found
    more += remarks
    more += _more(
        asked,
        lambda: [page.memory_line(memory.measure(asked.transactions))],
        lambda: page.archive_lines(archives.measure()),
        lambda: tpcc.section(asked.quick, asked.pairs, 2 * asked.duration),
    )
    text += [page.table(results), "", *more]
    print("\n".join(text))
    if asked.write:
        page.write(asked.write, "\n".join(text))


def _firebird(asked: argparse.Namespace) -> tuple[list[Result], list[str]]:
    """Firebird against its Python driver, and a line that says what with; or why not."""
    if asked.only and "Firebird" not in asked.only:
        return [], []
    if not fbdriver.available():
        _say(firebird.LEFT_OUT)
        return [], [firebird.LEFT_OUT]
    scale = min(asked.scale, firebird.LARGEST_SCALE)
    with firebird.populated(scale) as (version, url):
        found = _measure(asked, list(firebird.cases(url, scale, asked.duration)))
    return found, [f"- Firebird: {version}, scale {scale}, against {fbdriver.version()}; both use its client library"]


def _measure(asked: argparse.Namespace, cases: list[Case]) -> list[Result]:
    results = []
    for case in cases:
        if asked.only in f"{case.title}, {case.clients} clients, {case.transport}":
            _say(f"{case.title}, {case.clients} clients, {case.transport}: {', '.join(case.run)}")
            results.append(Result(case, sweep(case.run, asked.pairs)))
            _say("\n".join(results[-1].lines()))
    return results


def _more(asked: argparse.Namespace, *parts: Callable[[], list[str]]) -> list[str]:
    """What is no case of the table; left out when only some cases were asked for."""
    found = []
    for part in parts if not asked.only else ():
        lines = part()
        _say("\n".join(lines))
        found += lines
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description="dsbench against its peers, as paired ratios.")
    for name, default, kind, words in _options():
        parser.add_argument(f"--{name}", default=default, type=kind, help=f"{words} [{default}]")
    parser.add_argument("--quick", action="store_true", help="a smoke run: every part once, figures of no worth")
    asked = parser.parse_args()
    if asked.quick:
        asked.pairs, asked.duration, asked.scale, asked.clients, asked.many = 1, 1.0, 1, (2,), 20
        asked.population, asked.population_pairs, asked.transactions = 1, 1, 1_000_000
        asked.write = None if asked.write == PAGE else asked.write
    return asked


def _options() -> Iterator[tuple[str, object, Callable[[str], object], str]]:
    yield "pairs", 6, int, "paired measurements of each case"
    yield "duration", 5.0, float, "seconds of each measurement, whole ones"
    yield "scale", 20, int, "scale of the tables"
    yield "clients", (1, 8, 64), _numbers, "numbers of clients"
    yield "many", 1000, int, "number of connections in the comparison of many"
    yield "population", 50, int, "scale of the populations"
    yield "population_pairs", 3, int, "pairs of populations"
    yield "transactions", 100_000_000, int, "transactions on the mock engine for the memory of a long run"
    yield "only", "", str, "run only the cases whose name contains this text"
    yield "write", PAGE, Path, "page to write"


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
