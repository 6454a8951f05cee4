"""Workload files: those that ship, with values of other types and bytes changed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random
from typing import Any

from dsbench.spec import examples

from .mutate import changed, mutated, strange
from .sandbox import called
from .toml import text

_PATHS = sorted(path for path in examples().values())
_BESIDE = {path.name: path.read_bytes() for path in _PATHS[0].parent.iterdir() if path.suffix in (".sql", ".toml")}


def make(random: Random) -> bytes:
    """A file."""
    values: Any = tomllib.loads(random.choice(_PATHS).read_text())
    if random.random() < 0.05:
        values = {name: strange(random) for name in values}
    said = text(changed(random, values))
    return mutated(random, said) if random.random() < 0.3 else said


def run(data: bytes, folder: Path) -> None:
    """``dsbench run --workload FILE``, until it would begin."""
    (folder / "my.toml").write_bytes(data)
    for name, content in _BESIDE.items():
        (folder / name).write_bytes(content)
    called("run", "mock:", "--workload", "my.toml", "--scales", "1", *(["--dry-run"] if sum(data) % 2 else []))
