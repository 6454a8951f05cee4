"""Which cycle a source of load is to run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dsbench.generator import Bench, Stage
from dsbench.spec import RunSpec


@dataclass(frozen=True)
class Wanted:
    """A cycle that is to be run."""

    spec: RunSpec
    """With one number of threads: that of the cycle."""
    bench: Bench
    stage: Stage
    scale: int
    number: int
    """From 1."""
    seed: int
    trace: Path | None
    """Where to write the trace, if at all."""
