"""Which models a run can be held against, and what they say beside the memories that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.evaluation.evaluated import Evaluation, Series
from dsbench.read.evaluation.groups import Makers
from dsbench.read.stats.cutoff import STEEP, Fall, falls
from dsbench.read.stats.fits import FEWEST_OF_MEMORY, Fit, collisions, memory, scalability
from dsbench.read.stats.values import Collision, Floats, ScaleResult


def over_scales(
    run: RunRecord, rates: Mapping[int, Floats], results: Sequence[ScaleResult], success: Mapping[int, float],
    collision: Collision | None, makers: Makers,
) -> tuple[Fit, ...]:
    """The models over the scale, of one series: where the memory ends, and how often clients collide."""  # fmt: skip
    sound = {x: float(np.median(found)) for x, found in rates.items() if x not in run.broken and found.size}
    found = []
    if makers.pacings == {"closed"}:
        sizes = {row.scale: row.database_size_gb for row in results}
        found.append(_beside(memory(sound, sizes, makers.clients), run))
    if collision is not None:
        scales = [x for x in sorted(success) if collision.lowest_scale <= x <= collision.highest_scale and x in sound]
        found.append(collisions(np.array(scales, dtype=float), np.array([success[x] for x in scales]), collision))
    return tuple(one for one in found if one is not None)


def fall_of(rates: Mapping[int, Floats], run: RunRecord) -> Fall | None:
    """Where the rate falls most, if that is a cut-off, in a run that looked for it or has enough scales to show one."""
    sound = {x: float(np.median(one)) for x, one in rates.items() if x not in run.broken and one.size}
    known = run.spec.refine != "none" or len(sound) >= FEWEST_OF_MEMORY
    if not known or not any(one.factor >= STEEP for one in falls({x: sound[x] for x in run.spec.scales if x in sound})):
        return None
    return max(falls(sound), key=lambda one: one.slope)


def falls_at(results: Sequence[ScaleResult], run: RunRecord) -> dict[float, Fall]:
    """By confidence level (0-1): where the rate at that level falls most, if that is by half (the paper, figure 24)."""
    found = {}
    for level in dict.fromkeys(level for row in results for level in row.rates_at):
        rates = {row.scale: row.rates_at.get(level, 0.0) for row in results if row.scale not in run.broken}
        steep = [one for one in falls(rates) if one.factor >= STEEP]
        if steep:
            found[level] = max(steep, key=lambda one: one.slope)
    return found


def over_clients(parts: Mapping[Series, Evaluation], run: RunRecord) -> tuple[Fit, ...]:
    """The model over the number of clients, at the largest scale where there are enough of them."""
    if run.spec.rate is not None or run.spec.pace != "none":
        return ()
    last = list(parts.values())[-1]
    for scale in sorted(last.cycle_rates, reverse=True):
        alike = [part for key, part in parts.items() if key.stage == last.stage and scale not in part.void_scales]
        rates = {part.threads * max(run.spec.nodes, 1): float(np.median(part.cycle_rates[scale]))
                 for part in alike if scale in part.cycle_rates}  # fmt: skip
        if (found := scalability(rates)) is not None:
            return (replace(found, conclusion=f"at scale {scale}: {found.conclusion}"),)
    return ()


def _beside(found: Fit | None, run: RunRecord) -> Fit | None:
    """With the sizes of memories that the system and the server tell."""
    if found is None or not found.fits:
        return found
    size = found.parameters[-1].interval
    where = f", {size.value:.3g} GB [{size.low:.3g}, {size.high:.3g}]" if isfinite(size.value) else ""
    marks = ", ".join(f"{name} {amount / 1e9:.3g} GB" for name, amount in run.marks.items())
    return replace(found, conclusion=f"{found.conclusion}{where}" + (f"; known are {marks}" if marks else ""))
