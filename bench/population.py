"""Population: rows per second of dsbench, beside what the server itself makes of the same rows from its own files.

``python -m bench.population``: one table for each product. All sides end in the same state, with keys and
statistics, by the same statements: they differ in how the rows come in. On PostgreSQL ``pgbench -i`` is there too.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import psutil

from bench import pgbench
from bench.place import place_of
from bench.population_bounds import PRODUCTS, Way, run
from bench.process import BenchError
from bench.sweeps import Spread
from dsbench import servers
from dsbench.measure.loaders import Bench, Target

ROWS_PER_SCALE = 100_011
PAIRS = 3
DSBENCH, PGBENCH = "dsbench", "pgbench -i"
GOALS = {PGBENCH: 1.0}
GOAL = 0.95
"""Of the rate of the server's own fastest load."""


@dataclass(frozen=True)
class Once:
    """One population: seconds of its phases, CPU seconds of its client and of the server in all of them."""

    phases_s: Mapping[str, float]
    client_s: float
    server_s: float

    @property
    def whole_s(self) -> float:
        """All phases."""
        return sum(self.phases_s.values())

    @property
    def rows_s(self) -> float:
        """The rows alone; where phases have other names, all of them."""
        return self.phases_s.get("populate", self.whole_s)


@dataclass(frozen=True)
class Population:
    """What each side needed at one scale on one product, round by round."""

    product: str
    scale: int
    found: Mapping[str, Sequence[Once]]

    def bound(self) -> str:
        """The server's own fastest way to the same end."""
        own = [name for name in self.found if name not in (DSBENCH, PGBENCH)]
        return min(own, key=lambda name: statistics.median(once.whole_s for once in self.found[name]))

    def ratio(self, name: str, what: str) -> Spread:
        """Rate of dsbench by that of ``name``, pair by pair, over ``whole_s`` or ``rows_s``."""
        pairs = zip(self.found[DSBENCH], self.found[name], strict=True)
        return Spread.of([getattr(theirs, what) / getattr(ours, what) for ours, theirs in pairs])

    def lines(self) -> Iterator[str]:
        """Rows of the table; goals stand beside the fastest of the server's own ways and beside pgbench."""
        for name, found in self.found.items():
            cells = [self.product, str(self.scale), name]
            for what in ("rows_s", "whole_s"):
                rate = statistics.median(self.scale * ROWS_PER_SCALE / getattr(once, what) for once in found)
                known = name != PGBENCH or what == "whole_s"
                ratio = self._judged(name, what) if known and name != DSBENCH else ""
                cells += [f"{rate:,.0f}" if known else "", ratio]
            cpu = (f"{statistics.median(getattr(once, of) for once in found):.1f}" for of in ("client_s", "server_s"))
            yield "| " + " | ".join([*cells, phases(found), *cpu]) + " |"

    def _judged(self, name: str, what: str) -> str:
        found = self.ratio(name, what)
        goal = GOAL if name == self.bound() else GOALS.get(name)
        if goal is None or what == "rows_s":
            return str(found)
        return f"{found} goal ≥ {goal:.2f}: {'met' if found.median >= goal else 'MISSED'}"


_HEAD = (
    "| product | scale | rows by | rows/s | ratio | rows/s with keys and statistics | ratio | of it, seconds "
    "| client CPU s | server CPU s |\n|---|--:|---|--:|---|--:|---|---|--:|--:|"
)


def table(found: Sequence[Population]) -> str:
    """One row for each side; a ratio is the rate of dsbench by that of the row."""
    return "\n".join([_HEAD, *(line for one in found for line in one.lines())])


def section(product: str, scale: int, pairs: int) -> list[str]:
    """The part of the page, or why it is left out."""
    try:
        found = measure(product, scale, pairs)
    except servers.ServerError as error:
        return [f"- population on {product} is left out: {error}"]
    return ["", *table([found]).splitlines(), ""]


def phases(found: Sequence[Once]) -> str:
    """Medians of the seconds of each phase, in words."""
    names = found[0].phases_s
    return ", ".join(f"{name} {statistics.median(once.phases_s[name] for once in found):.2f}" for name in names)


def measure(name: str, scale: int, pairs: int) -> Population:
    """Populates ``scale`` by every side in turn, there and back again, on a private server of the product ``name``."""
    product = PRODUCTS[name]
    with servers.start(product.spec, 20) as server:
        if name == "postgresql":
            place = place_of(server, scale)
        side = _Side(server, scale)
        side.by_dsbench()
        ways = product.ways(server.url, server.directory, scale)
        sides: dict[str, Callable[[], Once]] = {DSBENCH: side.by_dsbench}
        sides |= {way: partial(side.by_server, how) for way, how in ways.items()}
        if name == "postgresql":
            sides[PGBENCH] = lambda: side.timed(lambda: pgbench.phases(pgbench.initialise(place, scale)))
        found: dict[str, list[Once]] = {name: [] for name in sides}
        for pair in range(pairs):
            for who in list(sides) if pair % 2 == 0 else list(sides)[::-1]:
                if product.before:
                    run(server.url, [product.before])
                found[who].append(sides[who]())
                print(f"{server.version}, {scale}, {who}: {phases(found[who][-1:])}", file=sys.stderr, flush=True)
        return Population(server.version, scale, found)


class _Side:
    """Populations on one server."""

    def __init__(self, server: servers.Server, scale: int) -> None:
        self._server, self._scale = server, scale

    def by_dsbench(self) -> Once:
        """As a run does it."""
        return self._populated(lambda bench, parts: bench.populate(False, parts, _unseen).duration_ns / 1e9, ())

    def by_server(self, way: Way) -> Once:
        """The same phases, but the rows by the server's own load."""

        def fill(_bench: Bench, _parts: int) -> float:
            began = time.monotonic()
            way.fill(self._server.url)
            return time.monotonic() - began

        return self._populated(fill, way.ready)

    def _populated(self, fill: Callable[[Bench, int], float], ready: Sequence[str]) -> Once:
        """Makes an empty place, fills it and looks whether all is there. Raises ``BenchError`` where it is not."""
        target = Target(self._server.url)
        if target.state()[0] == "marked":
            target.drop()
        target.create("bench")
        bench = Bench(target, "tpcb", self._scale, None)
        parts = 1 if target.dialect.single_writer else psutil.cpu_count() or 1
        created = bench.phase("create", _unseen).duration_ns / 1e9
        run(self._server.url, ready)

        def all_phases() -> dict[str, float]:
            done = {"create": created, "populate": fill(bench, parts)}
            keys = ("primary_key", "foreign_key", "clean")
            return done | {name: bench.phase(name, _unseen).duration_ns / 1e9 for name in keys}

        try:
            done = self.timed(all_phases)
            broken = [condition for condition in bench.check(None, _unseen).conditions if not condition.holds]
        finally:
            target.close()
        if broken:
            raise BenchError(f"the population is not whole: {broken[0].name}: {broken[0].detail}")
        return done

    def timed(self, populate: Callable[[], dict[str, float]]) -> Once:
        """Runs ``populate``, which gives seconds of phases, and bills the CPU time of it."""
        before = self._cpu_s()
        done = populate()
        client, server = (after - at for after, at in zip(self._cpu_s(), before, strict=True))
        return Once(done, client, server)

    def _cpu_s(self) -> tuple[float, float]:
        """Of this process and those it waited for, and of the server with the sessions that it has ended."""
        client = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        server = 0.0
        for pid in self._server.pids():
            with suppress(psutil.NoSuchProcess):
                server += sum(psutil.Process(pid).cpu_times()[:4])
        return client, server


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


def main() -> None:
    """Measures what is asked for and prints the table."""
    parser = argparse.ArgumentParser("python -m bench.population", description=__doc__)
    parser.add_argument("--products", default=",".join(PRODUCTS), help="of [%(default)s]")
    parser.add_argument("--scales", default="10,50", help="scales [%(default)s]")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="populations of each side [%(default)s]")
    asked = parser.parse_args()
    scales = [int(scale) for scale in asked.scales.split(",")]
    for name in asked.products.split(","):
        for scale in scales:
            print("\n".join(section(name, scale, asked.pairs)), flush=True)


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
