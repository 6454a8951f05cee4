"""Which cycle a source of load is to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    roots: Mapping[int, str] = field(default_factory=dict)
    """By pid on the machine of dsbench run: what is no other program there (``monitors.Known``)."""
