"""Which models a run can be held against, and what they say beside the memories that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.read.groups import Makers, Series
from dsbench.read.stats.fits import Fit, collisions, memory, scalability
from dsbench.read.stats.values import Collision, Floats, ScaleResult
from dsbench.read.subject import Subject

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

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


def _read_models(evaluation: Evaluation) -> tuple[Fit, ...]:
    rows = evaluation.rows
    return over_scales(
        rows.run, evaluation.cycle_rates, evaluation.scales, evaluation.success_share, evaluation.collision, rows.makers
    )


def _read_all_models(evaluation: Evaluation) -> tuple[Fit, ...]:
    last = list(evaluation.series.values())[-1]
    return (*over_clients(evaluation.series, evaluation.run), *last.models)


SUBJECT: Final = Subject("models", "Models", reads={"models": _read_models}, whole={"models": _read_all_models})
