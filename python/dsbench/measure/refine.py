"""Further scales between those of the ladder where the rate falls most."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dsbench.archive import Archive
from dsbench.read.evaluation import evaluate
from dsbench.read.stats.cutoff import between
from dsbench.spec import RunSpec


def next_scale(spec: RunSpec, archive: Path) -> int | None:
    """The scale to be run next, by what ``archive`` holds; ``None`` where the cut-off is known, or there is none."""
    found = evaluate(Archive.open(archive))
    rates = {x: float(np.median(rates)) for x, rates in found.cycle_rates.items() if x not in found.void_scales}
    scale = between(rates, spec.scales)
    return None if scale in found.cycle_rates else scale
