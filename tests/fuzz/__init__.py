"""Inputs that nobody means: whatever Python reads is given damaged, huge, nested and false, and has to be told.

One module for each kind of input. It has ``make``, which gives one input as bytes out of a random generator, and
``run``, which has the program read it in an empty folder. To add a kind is to add a module and its line in ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Final, Protocol


class Module(Protocol):
    """One kind of input."""

    def make(self, random: Random) -> bytes:
        """One input. The same state of ``random`` gives the same input."""

    def run(self, data: bytes, folder: Path) -> None:
        """Has the program read it. Whatever is raised that no user should see is a finding."""


@dataclass(frozen=True)
class Kind:
    """How a kind is tried."""

    about: str
    share: int
    """Of all inputs, beside the shares of the other kinds."""
    places: bool = False
    """Whether an input may name any folder: then to write elsewhere is refused by the system, and is no finding."""


KINDS: Final = {
    "options": Kind("command lines", 20, places=True),
    "toml": Kind("configuration files", 20, places=True),
    "urls": Kind("URLs of databases", 20, places=True),
    "description": Kind("run.json of an archive", 5),
    "tables": Kind("Parquet tables of an archive", 5),
    "zips": Kind("packed archives", 5),
    "bundles": Kind("bundles of nodes", 10, places=True),
    "studies": Kind("files of studies, and study.json", 10, places=True),
    "workloads": Kind("workload files", 10, places=True),
    "queries": Kind("queries over archives", 5),
    "histories": Kind("archives of a history", 3),
    "folders": Kind("damaged folders of archives", 5),
    "live": Kind("files of runs that go on", 10),
    "wire": Kind("what nodes say", 15),
}


def module(kind: str) -> Module:
    """The module of ``kind``."""
    found: Module = import_module(f"{__name__}.{kind}")  # type: ignore[assignment]  # a module has what it defines
    return found


def shares(inputs: int, kinds: Sequence[str]) -> dict[str, int]:
    """How many of ``inputs`` each of ``kinds`` gets: at least one."""
    whole = sum(KINDS[kind].share for kind in kinds)
    return {kind: max(1, inputs * KINDS[kind].share // whole) for kind in kinds}


def seeded(seed: int, kind: str, number: int) -> Random:
    """The generator of one input."""
    return Random(f"{seed} {kind} {number}")
