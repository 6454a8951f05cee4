"""``python -m bench.outages FOLDER``: what dsbench tells of outages whose length is known, on every product here.

Servers are suspended for 1, 2 and 5 s in each cycle; the told length is held against how long all their processes were.
The same where nothing goes through the network, after which a client waits until one of both systems tries again.
The restart, the kill and the hand-over to a standby follow, whose lengths are the product's. Runs that FOLDER has are
not made again; ``--write`` puts the tables into docs/outage.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Final

from bench.tables import put
from dsbench.archive import Archive
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.outage import EventSummary, OutageResult, say_length

PAGE: Final = Path(__file__).parent.parent / "docs" / "outage.md"
FROZEN: Final = (1, 2, 5)
PRODUCTS: Final = {
    "PostgreSQL": "private:postgresql", "MariaDB": "private:mariadb", "MySQL": "private:mysql",
    "Firebird": "private:firebird@3",
}  # fmt: skip
_LOAD: Final = ("--scales", "8", "--clients", "8", "--cycles", "2")
_REPLICATED: Final = {
    "PostgreSQL, asynchronous standby": "private:postgresql?standbys=1",
    "PostgreSQL, synchronous standby": "private:postgresql?standbys=1&sync=on",
    "MariaDB, asynchronous replica": "private:mariadb?replicas=1",
    "MariaDB, semi-synchronous replica": "private:mariadb?replicas=1&sync=on",
    "MariaDB, Galera of three": "private:mariadb?galera=3",
}  # fmt: skip


def made(folder: Path, target: str, event: str, duration: int) -> Evaluation:
    """The run with that event, which is made where the folder does not have it."""
    if not list(folder.glob("*.zip")):
        words = [target, *_LOAD, "--duration", str(duration), "--event", event, "--out", str(folder)]
        subprocess.run([sys.executable, "-m", "dsbench", "run", *words], check=True)
    (archive,) = folder.glob("*.zip")
    return evaluate(Archive.open(archive))


def frozen(folder: Path) -> Iterator[str]:
    """How far the told lengths lie from the true ones, by product."""
    yield "| product | suspended for | outage, median | longer by, each cycle |"
    yield "|---|---|---|---|"
    for name, target in PRODUCTS.items():
        found = made(folder / f"frozen-{name}", target, "2s:stop 1s, 5s:stop 2s, 9s:stop 5s", 16)
        (events,) = found.of(OutageResult).events.values()
        (summaries,) = found.of(OutageResult).outages.values()
        for summary in summaries:
            off = [one.outage.length_ns - (one.done_ns - one.outage.at_ns)
                   for one in events if one.number == summary.number]  # fmt: skip
            told = ", ".join(f"{ns / 1e6:+.1f} ms" for ns in off)
            yield f"| {name} | {FROZEN[summary.number - 1]} s | {say_length(summary.length.value)} | {told} |"


def cut_off(folder: Path) -> Iterator[str]:
    """How long clients wait that nothing tells of a network that was cut."""
    yield "| product | network cut for | outage, each cycle |"
    yield "|---|---|---|"
    for name in ("PostgreSQL", "MariaDB", "MySQL"):
        found = made(folder / f"cut-{name}", PRODUCTS[name], "2s:partition 1s, 8s:partition 5s, 24s:partition 10s", 52)
        (events,) = found.of(OutageResult).events.values()
        for number, seconds in enumerate((1, 5, 10), start=1):
            lengths = ", ".join(say_length(one.outage.length_ns) for one in events if one.number == number)
            yield f"| {name} | {seconds} s | {lengths} |"


def kept(name: str, found: Evaluation, one: EventSummary) -> str:
    """A row of an event."""
    (commits,) = found.of(OutageResult).commits.values()
    low, high = one.length_range_ns
    most = commits.lost_at_most
    lost = f"{commits.lost:,}{'' if most == commits.lost else f' to {most:,}'} of {commits.acknowledged:,}"
    back = f"{one.rate_ns / 1e9:.1f} s" if isfinite(one.rate_ns) else "not within the cycle"
    return (f"| {name} | {one.text} | {say_length(one.length.value)} | {say_length(low)} to {say_length(high)} "
            f"| {say_length(one.all_ns)} | {back} | {lost} |")  # fmt: skip


def others(folder: Path) -> Iterator[str]:
    """The lengths that are the product's."""
    yield "| server | event | outage, median | range | all clients back | rate back | commits lost in the run |"
    yield "|---|---|---|---|---|---|---|"
    for name, target in PRODUCTS.items():
        found = made(folder / f"restarted-{name}", target, "5s:restart, 13s:kill", 22)
        (summaries,) = found.of(OutageResult).outages.values()
        yield from (kept(name, found, one) for one in summaries)
    for how, target in _REPLICATED.items():
        for event in ("switchover", "failover"):
            found = made(folder / f"{event}-{how.replace(', ', '-').replace(' ', '-')}", target, f"5s:{event}", 14)
            (summaries,) = found.of(OutageResult).outages.values()
            yield from (kept(how, found, one) for one in summaries)


TABLES: Final = {"frozen": frozen, "cut": cut_off, "outages": others}


def main() -> None:
    """Makes the runs and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=TABLES, help="one of the tables")
    parser.add_argument("--write", action="store_true", help=f"put them into {PAGE.name}")
    asked = parser.parse_args()
    for name in [asked.only] if asked.only else TABLES:
        text = "\n".join(TABLES[name](asked.folder)) + "\n"
        print(text)
        if asked.write:
            put(PAGE, name, text)


if __name__ == "__main__":
    main()
