"""What is measured beside the cells: costs, scripts, sysbench's point select, runs of dsbench, populations, TPC-C."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import psutil

from bench import cells, clients, iibench, population
from bench.cells import CALL, POSTGRESQL, SELECT, TPCB, Cell
from bench.clients import Client, Measured, load, run
from bench.peers import of_cell
from bench.places import TCP, UNIX, UNSAFE, Place, fill, populated, started
from bench.results import paired, sweep
from dsbench.drivers.address import Address
from dsbench.drivers.peers import script
from dsbench.spec import with_file


@dataclass(frozen=True)
class Part:
    """Lines of the page."""

    name: str
    settings: dict[str, Any]
    seconds: float
    """About what it takes."""
    measure: Callable[[], list[str]]


COSTS: Final = (
    *(Cell(POSTGRESQL, SELECT, count) for count in (1, 2, 8, 64)), Cell(POSTGRESQL, SELECT, 8, TCP),
    Cell(POSTGRESQL, TPCB, 8), Cell(POSTGRESQL, CALL, 8),
)  # fmt: skip
CLIENTS: Final = 8
BUILTIN: Final = ("tpcb-like", "simple-update", "select-only")


def parts(pairs: int, duration: float, scale: int, populations: tuple[int, ...], transactions: int) -> Iterator[Part]:
    """All of them."""
    amounts = {"sweeps": pairs, "duration": duration}
    for name, command, seconds, sql in _runs(transactions):
        yield Part(name, {"run": command}, seconds, partial(of_run, name, command, sql))
    for size in populations:
        for product, known in population.PRODUCTS.items():
            if size <= known.largest:
                measure = partial(population.section, product, size)
                yield Part(f"population, {product}, scale {size}", {"pairs": 3}, size * known.seconds * 3, measure)
    for work in (*BUILTIN, "workload tpcb", "workload select"):
        measure = partial(scripts, work, pairs, duration, scale)
        yield Part(f"scripts, {work}", amounts, pairs * 4 * (duration + 1.2) + 15, measure)
    for product in ("MariaDB", "PostgreSQL"):
        measure = partial(point_select, product, pairs, duration)
        yield Part(f"point select, {product}", amounts, pairs * 2 * (duration + 2) + 15, measure)
    for cell in COSTS:
        name = f"costs, {cell.work.title}, {cell.clients} clients, {cell.transport}"
        measure = partial(costs, cell, pairs, duration, scale)
        yield Part(name, amounts, pairs * 4 * (duration + 1.5) + 15, measure)
    yield Part("Insert Benchmark", {"sweeps": pairs}, pairs * 120.0, partial(iibench.section, pairs))
    for product in ("postgresql", "mariadb"):
        measure = partial(tpcc, product, pairs, 2 * duration)
        yield Part(f"TPC-C, {product}", {**amounts, "duration": 2 * duration}, pairs * 3 * (2 * duration + 3) + 60, measure)


def _runs(transactions: int) -> Iterator[tuple[str, str, float, str]]:
    """Runs of dsbench, and what is asked of their archives: name, command, about its seconds, SQL."""
    grown = "max(value) FILTER (threads = {most}) - {least}(value) FILTER (threads = {few})"
    resident = "FROM monitors WHERE monitor = 'client' AND metric = 'resident_memory'"
    yield (
        "memory of connections", "private:postgresql --workload select --scales 1 --cycles 1 --duration 4 "
        "--call statements --prepare --threads 1,1000 --set max_connections=1100", 60,
        f"SELECT round(({grown.format(most=1000, least='max', few=1)}) / 999 / 1024) || "
        f"' KiB for each of 1000 connections, goal at most 100' AS said {resident}",
    )  # fmt: skip
    seconds = max(transactions // 2_000_000, 4)
    yield (
        "memory of a long run", f"mock: --workload select --scales 1 --cycles 1 --threads 2 --duration {seconds}",
        1.5 * seconds,
        f"SELECT round((max(value) - min(value)) / 1048576, 1) || ' MiB more at the end of {seconds} s on the mock "
        f"engine, goal less than 5' AS said {resident}",
    )  # fmt: skip


def of_run(name: str, command: str, sql: str) -> list[str]:
    """The first column of ``sql`` on the archive of ``dsbench run`` with the words of ``command``."""
    program = [sys.executable, "-m", "dsbench"]
    with tempfile.TemporaryDirectory() as folder:
        run([*program, "run", *command.split(), "--out", folder, "--quiet"], limit_s=3600)
        rows = json.loads(run([*program, "query", sql, folder, "--json"]).output)
    return [f"- {name}: {rows[0]['said']} (`dsbench run {command}`)"]
