"""Measures cells and parts one after another, each server started once, and keeps each as soon as it is finished."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from bench import fbdriver, firebird, kept, mariadb, peers, place
from bench.cells import FIREBIRD, MANY, MANY_SECONDS, MARIADB, STEADY_SECONDS, UNSAFE, Cell
from bench.kept import Finished, Kept
from bench.peers import Settings
from bench.process import BenchError
from bench.sweeps import Client, sweep

UNSAFE_SETTINGS = {"fsync": "off", "synchronous_commit": "off"}
Clients = Callable[[Cell], Mapping[str, Client]]


@dataclass(frozen=True)
class Plan:
    """How cells are measured."""

    scale: int
    pairs: int
    settings: Settings

    def of(self, cell: Cell) -> dict[str, Any]:
        """What must be equal for a cell to count as finished."""
        more = {"beside": list(self.settings.beside)} if self.settings.beside else {}
        scale = min(self.scale, firebird.LARGEST_SCALE) if cell.server == FIREBIRD else self.scale
        amounts = {"duration": self.settings_of(cell).duration, "sweeps": cell.sweeps(self.pairs)}
        return {**amounts, "scale": scale, **cell.conditions, **more}

    def settings_of(self, cell: Cell) -> Settings:
        """How the clients of a cell are run."""
        if cell.steady:
            return replace(self.settings, duration=STEADY_SECONDS, few=True)
        least = MANY_SECONDS if cell.clients >= MANY else 0.0
        return replace(self.settings, duration=max(self.settings.duration, least))

    def seconds(self, cell: Cell) -> float:
        """About what a cell takes: each client runs, and starts once or twice before, with all connections."""
        settings = self.settings_of(cell)
        clients = 2 if cell.server in (MARIADB, FIREBIRD) else 3 if settings.few else 5
        clients += len(settings.beside)
        return cell.sweeps(self.pairs) * clients * (settings.duration + 1.2 + 0.008 * cell.clients)


def in_order(todo: Sequence[Cell], finished: Kept) -> list[Cell]:
    """Cells that were never measured under the conditions of today come first, then the others, oldest first, a server
    at a time, and those that take longest last: a run that ends early has done what was wanted most."""

    def before(cell: Cell) -> str:
        one = finished.pieces.get(cell.name)
        return one.at if one and not one.failure and cell.is_today(one.settings) else ""

    known = {cell: before(cell) for cell in todo}
    servers = list(dict.fromkeys(cell.server for cell in todo))
    return sorted(
        todo, key=lambda cell: (known[cell] != "", cell.clients >= MANY, servers.index(cell.server), known[cell])
    )


def estimate(plan: Plan, todo: Sequence[Cell], known: Sequence[Cell], finished: Kept) -> float:
    """Seconds for ``todo``, judged by what those of ``known`` took that are finished with the same settings."""
    guessed = took = 0.0
    for cell in known:
        if finished.has(cell.name, plan.of(cell)):
            guessed, took = guessed + plan.seconds(cell), took + finished.pieces[cell.name].took_s
    return sum(plan.seconds(cell) for cell in todo) * (took / guessed if guessed else 1.0)


def measure(
    plan: Plan, todo: Sequence[Cell], finished: Kept, show: Callable[[Cell], str], until: float = math.inf
) -> None:
    """Measures ``todo``, and begins none that would hardly end before ``until`` (of ``time.monotonic``). A cell that
    fails is kept as such, and measured again by the next run."""

    def fits(cell: Cell) -> bool:
        return time.monotonic() + plan.seconds(cell) < until

    for server, cells in groupby(todo, key=lambda cell: cell.server):
        mine = [cell for cell in cells if fits(cell)]
        if not mine:
            continue
        if server == FIREBIRD and not fbdriver.available():
            say(firebird.LEFT_OUT)
            continue
        with _running(server, plan, max(cell.clients for cell in mine)) as (version, clients):
            for cell in filter(fits, mine):
                _one(cell, plan, finished, version, clients)
                say(show(cell))


def _one(cell: Cell, plan: Plan, finished: Kept, version: str, clients: Clients) -> None:
    began = time.monotonic()
    failure, found = "", {}
    try:
        run = clients(cell)
        say(f"{cell.name}: {', '.join(run)}")
        found = sweep(run, cell.sweeps(plan.pairs))
    except BenchError as error:
        failure = _why(str(error))
        say(f"{cell.name}: {error}")
    took_s = round(time.monotonic() - began, 1)
    finished.add(cell.name, Finished(plan.of(cell), took_s, kept.now(), kept.source(), version, found, (), failure))


def _why(text: str) -> str:
    """The line that tells most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason was given"]
    return next((line for line in lines if "error" in line.lower() or "fatal" in line.lower()), lines[-1])


@contextmanager
def _running(server: str, plan: Plan, most: int) -> Iterator[tuple[str, Clients]]:
    """A private server with dsbench's tables: (its version, the clients of a cell)."""
    connections = most + 80
    if server == MARIADB:
        with mariadb.populated(plan.scale, connections) as there:
            yield there.version, lambda cell: there.clients(cell, plan.settings_of(cell))
    elif server == FIREBIRD:
        scale = min(plan.scale, firebird.LARGEST_SCALE)
        with firebird.populated(scale) as (version, url):
            yield version, lambda cell: firebird.clients(cell, url, scale, plan.settings_of(cell))
    else:
        with place.populated(plan.scale, connections, UNSAFE_SETTINGS if server == UNSAFE else {}) as here:
            yield here.version, lambda cell: peers.on_postgresql(cell, here, plan.settings_of(cell))


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)
