"""Bundles of nodes and of the coordinator."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from random import Random

from .mutate import changed, mutated
from .sandbox import called


@cache
def samples() -> tuple[bytes, ...]:
    """That of the coordinator, and those of two nodes."""
    from dsbench.measure.nodes.bundle import invite

    with tempfile.TemporaryDirectory() as folder:
        invite(Path(folder) / "c", 2, "127.0.0.1", 9000)
        return tuple(path.read_bytes() for path in sorted((Path(folder) / "c").glob("*.bundle")))


def make(random: Random) -> bytes:
    """One with values of other types, bytes changed, or parts of another one."""
    pick = random.random()
    if pick < 0.03:
        return random.choice((b"[", b'{"format":')) * random.choice((100, 90_000))
    sample = random.choice(samples())
    if pick < 0.6:
        sample = json.dumps(changed(random, json.loads(sample))).encode()
    elif pick < 0.7:
        one, other = json.loads(sample), json.loads(random.choice(samples()))
        sample = json.dumps({**one, **{random.choice(list(one)): random.choice(list(other.values())) for _ in range(2)}}).encode()
    return mutated(random, sample, random.choice(samples())) if pick > 0.5 else sample


def run(data: bytes, folder: Path) -> None:
    """A node and a run that read it."""
    (folder / "cluster").mkdir()
    for name in ("node-1", "coordinator"):
        (folder / "cluster" / f"{name}.bundle").write_bytes(data)
    if len(data) % 2:
        called("cluster", "node", "--join", "cluster/node-1.bundle")
    else:
        called("cluster", "up", "--ssh", "h", "--cluster", "cluster")
