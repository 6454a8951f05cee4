"""``python -m bench``: measures what is not measured yet, cell by cell, and writes the page of this machine."""

from __future__ import annotations

import argparse
import datetime
import math
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import psutil

import dsbench
from bench import cells, results
from bench.cells import FIREBIRD, MANY, MARIADB, UNSAFE, Cell
from bench.clients import ROOT, BenchError
from bench.peers import of_cell
from bench.places import UNFLUSHED, Place, populated
from bench.population import ALL, PRODUCTS, section
from bench.results import Finished, Kept, sweep
from dsbench.measure import drivers
from dsbench.measure.stack import machine
from dsbench.spec.drivers import PEERS

FOLDER = ROOT / "docs" / "performance"
QUICK = ROOT / "target" / "bench-quick.json"
"""What ``--quick`` found last, to put beside what it finds next."""


def main() -> None:
    """Measures and writes."""
    asked = _asked()
    page = asked.write / f"{_machine()}.md" if asked.write else None
    finished = Kept(page.with_suffix(".json") if page else QUICK if asked.quick else None)
    before = Kept(QUICK if asked.quick else None)
    known = cells.quick() if asked.quick else cells.table(asked.clients)
    chosen = [cell for cell in known if _wanted(asked, cell.name)]
    more = [part for part in _populations(asked) if not asked.quick and _wanted(asked, part[0])]
    if not chosen and not more:
        raise BenchError("no cell has such a name; python -m bench --list shows all of them")
    todo = [cell for cell in chosen if asked.again or not finished.has(cell.name, settings(asked, cell))]
    left = [part for part in more if asked.again or not finished.has(part[0], {})]
    if asked.page:
        todo, left = [], []
    if asked.list:
        print("\n".join([*(cell.name for cell in chosen), *(part[0] for part in more)]))
    expected = sum(seconds(asked, cell) for cell in todo) + sum(part[1] for part in left)
    hours, minutes = divmod(round(expected / 60), 60)
    done = len(chosen) + len(more) - len(todo) - len(left)
    where = f", kept in {finished.path}" if finished.path else ""
    say(f"to measure: {len(todo) + len(left)}, about {hours} h {minutes} min; finished before: {done}{where}")
    if asked.list:
        return
    until = time.monotonic() + 60 * asked.minutes
    measure(asked, in_order(todo, finished), finished, before, until)
    for name, took_s, make in left:
        if time.monotonic() + took_s < until:
            say(f"{name} …")
            say("\n".join(keep(finished, name, {}, "", make).lines))
    say(f"cells left for another run: {sum(not finished.has(cell.name, settings(asked, cell)) for cell in todo)}")
    # The page shows what was ever kept, whatever was asked for now.
    shown = chosen if asked.quick else cells.table(tuple(sorted({*cells.COUNTS, *asked.clients})))
    text = "\n".join([*_description(), results.document(shown, finished, before)])
    print(text)
    if page:
        results.write(page, text)


def settings(asked: argparse.Namespace, cell: Cell) -> dict[str, Any]:
    """What must be equal for a cell to count as finished."""
    more = {"beside": asked.beside} if asked.beside else {}
    return cell.amounts(asked.pairs, asked.duration, asked.scale) | more


def seconds(asked: argparse.Namespace, cell: Cell) -> float:
    """About what a cell takes: each client runs, and starts once or twice before, with all connections."""
    amounts = settings(asked, cell)
    clients = 2 if cell.server in (MARIADB, FIREBIRD) else 3 if asked.quick or cell.steady else 5
    each = amounts["duration"] + 1.2 + 0.008 * cell.clients
    return float(amounts["sweeps"] * (clients + len(asked.beside)) * each)


def in_order(todo: list[Cell], finished: Kept) -> list[Cell]:
    """Cells that were never measured come first, then the others, oldest first, a server at a time, and those that take
    longest last: a run that ends early has done what was wanted most."""

    def before(cell: Cell) -> str:
        one = finished.get(cell.name)
        return one.at if one and not one.failure else ""

    servers = list(dict.fromkeys((cell.server, cell.work.tables) for cell in todo))
    return sorted(todo, key=lambda cell: (
        before(cell) != "", cell.clients >= MANY, servers.index((cell.server, cell.work.tables)), before(cell)
    ))  # fmt: skip


def measure(
    asked: argparse.Namespace, todo: list[Cell], finished: Kept, before: Kept, until: float = math.inf
) -> None:
    """Measures ``todo``, each server started once, and begins none that would hardly end before ``until``."""

    def fits(cell: Cell) -> bool:
        return time.monotonic() + seconds(asked, cell) < until

    def found(cell: Cell, place: Place) -> Mapping[str, Any]:
        amounts = settings(asked, cell)
        clients = of_cell(cell, place, amounts["duration"], asked.beside, asked.quick or cell.steady)
        say(f"{cell.name}: {', '.join(clients)}")
        return {"found": sweep(clients, amounts["sweeps"], lambda: (place.cpu_s(), psutil.cpu_stats().ctx_switches))}

    for (server, tables, scale), group in groupby(todo, key=lambda one: _tables(asked, one)):
        if not (mine := [cell for cell in group if fits(cell)]):
            continue
        product = {MARIADB: "mariadb", FIREBIRD: "firebird"}.get(server, "postgresql")
        connections, more = max(cell.clients for cell in mine) + 80, UNFLUSHED if server == UNSAFE else {}
        with populated(product, tables, scale, connections, more) as place:
            for cell in filter(fits, mine):
                amounts, version = settings(asked, cell), place.server.version
                one = keep(finished, cell.name, amounts, version, partial(found, cell, place))
                old = before[cell.name].found if cell.name in before else None
                if not one.failure:
                    say(results.steady_row(cell, one) if cell.steady else results.row(cell, one, old))


def _tables(asked: argparse.Namespace, cell: Cell) -> tuple[str, str, int]:
    return cell.server, cell.work.tables, settings(asked, cell)["scale"]


def _populations(asked: argparse.Namespace) -> Iterator[tuple[str, float, Callable[[], Mapping[str, Any]]]]:
    """Name, about the seconds, what measures it."""
    for rows in ALL:
        for scale in rows.scales or asked.population:
            for product in rows.products or PRODUCTS:
                known = PRODUCTS[product]
                if scale <= known.largest:
                    make = lambda product=product, scale=scale, rows=rows: {"lines": section(product, scale, rows)}  # noqa: E731
                    yield (f"{rows.name}, {product}, scale {scale}",
                           rows.pairs * scale * known.seconds * rows.seconds, make)  # fmt: skip


def keep(
    finished: Kept, name: str, amounts: Mapping[str, Any], server: str, make: Callable[[], Mapping[str, Any]]
) -> Finished:
    """Makes and keeps a piece; one that fails is kept as such, and measured again by the next run."""
    began, made = time.monotonic(), {}
    try:
        made = dict(make())
    except BenchError as error:
        say(f"{name}: {error}")
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no reason was given"]
        made["failure"] = next((line for line in lines if re.search("error|fatal", line, re.IGNORECASE)), lines[-1])
    took_s, at = round(time.monotonic() - began, 1), f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"
    source = machine.commit(Path(dsbench.__file__).parent)
    finished.add(name, Finished(amounts, took_s, at, source, server, **made))
    return finished[name]


def _machine() -> str:
    """Of the machine's files: machines of one kind share it, whoever has them."""
    words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((?:R|TM)\)", "", machine.model()).lower()).strip("-")
    return f"{words}-{psutil.cpu_count()}-cpus-{_kind()}"


def _kind() -> str:
    return "virtual" if machine.describe_system().get("virtual machine") else "physical"


def _description() -> list[str]:
    """Lines for the page: the machine, the kernel, the peers."""
    about, cpus, memory = machine.describe_system(), psutil.cpu_count(), psutil.virtual_memory().total / 2**30
    facts = [f"{cpus} CPUs ({machine.model()})", f"{memory:.0f} GiB memory", f"{_kind()} machine", about["kernel"]]
    facts += [f"clock source {about['clock source']}"] if "clock source" in about else []
    peers = [drivers.version(peer) for peer in PEERS.values() if not drivers.missing(peer)]
    return [f"- machine: {', '.join(facts)}", f"- peers: {', '.join(peers)}", ""]


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def _wanted(asked: argparse.Namespace, name: str) -> bool:
    return not asked.only or any(text in name for text in asked.only)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description=__doc__)
    for name, default, kind, words in (
        ("pairs", 6, int, "paired measurements of each cell"),
        ("duration", 2.0, float, "seconds of each measurement, whole ones"),
        ("scale", 20, int, "scale of the tables"),
        ("clients", cells.COUNTS, _numbers, "numbers of clients"),
        ("minutes", math.inf, float, "begin nothing that would end later; what was never measured comes first"),
        ("population", (10, 50, 100), _numbers, "scales of the populations"),
    ):
        parser.add_argument(f"--{name}", default=default, type=kind, help=f"{words} [{default}]")
    parser.add_argument("--only", action="append", default=[], help="what has this text in its name; several times")
    parser.add_argument("--list", action="store_true", help="say what would be measured, how long it takes, and end")
    parser.add_argument("--again", action="store_true", help="measure finished cells as well")
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page of what is kept")
    parser.add_argument("--quick", action="store_true", help="few cells, five minutes, beside the last such run")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=VALUE",
                        help="dsbench once more in each cell, with this setting of a run; several times")  # fmt: skip
    where = f"{FOLDER.relative_to(ROOT)}; with --quick or --beside: none"
    parser.add_argument("--write", type=Path, help=f"folder of the page and the finished cells [{where}]")
    asked = parser.parse_args()
    if asked.quick:
        asked.pairs, asked.scale, asked.again = min(asked.pairs, 3), min(asked.scale, 5), True
    elif asked.write is None and not asked.beside:
        asked.write = FOLDER
    return asked


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"error: {error}")
