"""What is measured beside the cells: populations, memory, scripts, the archive, the Insert Benchmark, TPC-C."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench import archives, costs, iibench, kept, many, memory, page, place, point_select, population, scripted, tpcc
from bench.kept import Finished, Kept
from bench.measuring import say
from bench.place import Place
from bench.population_bounds import PRODUCTS


@dataclass(frozen=True)
class Part:
    """Lines of the page."""

    name: str
    settings: dict[str, Any]
    seconds: float
    """About what it takes."""
    measure: Callable[[], list[str]]


def parts(asked: argparse.Namespace) -> Iterator[Part]:
    """All of them; ``asked`` is the command line of ``python -m bench``."""
    pairs, duration, scale, most = asked.pairs, asked.duration, asked.scale, max(asked.clients)

    def at(measure: Callable[[Place], list[str]], connections: int = 80) -> list[str]:
        with place.populated(scale, connections, {}) as there:
            return measure(there)

    yield Part(
        "memory of connections", {"connections": most, "sweeps": pairs, "duration": duration}, 60,
        lambda: at(lambda there: page.many_lines(many.measure(there, most, duration, pairs)), most + 80),
    )  # fmt: skip
    for size in asked.population:
        for product, known in PRODUCTS.items():
            if size <= known.largest:
                seconds = size * known.seconds * population.PAIRS
                yield Part(
                    f"population, {product}, scale {size}", {"pairs": population.PAIRS}, seconds,
                    partial(population.section, product, size, population.PAIRS),
                )  # fmt: skip
    yield Part(
        "memory of a long run", {"transactions": asked.transactions}, asked.transactions / 1e6,
        lambda: [page.memory_line(memory.measure(asked.transactions))],
    )  # fmt: skip
    for name in scripted.NAMES:
        yield Part(
            name, {"sweeps": pairs, "duration": duration}, pairs * 4 * (duration + 1.2) + 15,
            partial(scripted.section, name, pairs, duration, scale),
        )  # fmt: skip
    for name in point_select.NAMES:
        yield Part(
            name, {"sweeps": pairs, "duration": duration}, pairs * 2 * (duration + 2) + 15,
            partial(point_select.section, name, pairs, duration),
        )  # fmt: skip
    for name in costs.NAMES:
        yield Part(
            name, {"sweeps": pairs, "duration": duration}, pairs * 4 * (duration + 1.5) + 15,
            partial(costs.section, name, pairs, duration, scale),
        )  # fmt: skip
    yield Part("archive", {}, 60, lambda: page.archive_lines(archives.measure()))
    yield Part("Insert Benchmark", {"sweeps": pairs}, pairs * 120.0, lambda: iibench.section(pairs))
    yield Part(
        "TPC-C", {"sweeps": pairs, "duration": 2 * duration}, 2 * pairs * 3 * (2 * duration + 3) + 120,
        lambda: tpcc.section(pairs, 2 * duration),
    )  # fmt: skip


def measure(todo: list[Part], finished: Kept, until: float = math.inf) -> None:
    """Measures and keeps them, but those that would hardly end before ``until`` (of ``time.monotonic``)."""
    for part in todo:
        if time.monotonic() + part.seconds > until:
            continue
        say(f"{part.name} …")
        began = time.monotonic()
        lines = part.measure()
        say("\n".join(lines))
        took_s = round(time.monotonic() - began, 1)
        finished.add(part.name, Finished(part.settings, took_s, kept.now(), kept.source(), "", {}, lines))
