"""Which models a run can be held against, and what they say beside the memories that are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import isfinite, nan
from typing import TYPE_CHECKING, Final

import numpy as np

from dsbench.archive import RunRecord
from dsbench.format import format_number
from dsbench.read.blocks import Block, Column, Part, Sentence, Table
from dsbench.read.groups import Makers, Series
from dsbench.read.subject import Result, Subject, computed
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.fits import Fit, Parameter, collisions, memory, scalability
from dsbench.stats.index import Fall
from dsbench.stats.values import Collision, Floats, ScaleResult, percent

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
    for scale in sorted(last.of(RateResult).cycle_rates, reverse=True):
        alike = [part
            for key, part in parts.items() if key.stage == last.stage and scale not in part.of(RateResult).void_scales]
        rates = {part.clients * max(run.spec.nodes, 1): float(np.median(part.of(RateResult).cycle_rates[scale]))
                 for part in alike if scale in part.of(RateResult).cycle_rates}  # fmt: skip
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
        rows.run, evaluation.of(RateResult).cycle_rates, evaluation.of(RateResult).scales,
            evaluation.of(ErrorsResult).success_share, evaluation.of(ErrorsResult).collision, rows.makers
    )


def _read_all_models(evaluation: Evaluation) -> tuple[Fit, ...]:
    last = list(evaluation.series.values())[-1]
    return (*over_clients(evaluation.series, evaluation.run), *last.of(ModelsResult).models)


TITLES: Final = {
    "scalability": "Universal Scalability Law, T(N) = λN / (1 + σ(N - 1) + κN(N - 1))",
    "memory": "memory limit, t(X) = t_hit + (t_miss - t_hit)(1 - X_0 / X) beyond X_0",
    "collisions": "collisions, q(X) = 1 / (1 + κ(K - 1) / X)",
}


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """Where the rate falls, then each model: its parameters with intervals, and its residuals point by point."""
    falls = describe_falls(evaluation)
    yield from (Sentence(f"{line.strip()[:1].upper()}{line.strip()[1:]}.") for line in falls)
    for fit in evaluation.of(ModelsResult).models:
        blocks: list[Block] = []
        residuals = f"; residuals {fit.rms:.1%} (rms)" if fit.fits else ""
        blocks.append(Sentence(f"{fit.conclusion[:1].upper()}{fit.conclusion[1:]}{residuals}."))
        if fit.fits:
            heads = (Column("parameter", left=True), Column("meaning", left=True), Column("95% interval", left=True))
            rows = [(one.symbol, one.meaning, show_parameter(one)) for one in fit.parameters]
            blocks.append(Table("", heads, rows))
        points = (Column(fit.over, digits=6), Column("measured"), Column("model"), Column("residual", form="+.1%"))
        series = (fit.at, fit.measured, fit.modelled, fit.residuals)
        values = list(zip(*(map(float, column) for column in series), strict=True))
        blocks.append(Part("Residuals", [Table("", points, values)], folded=True))
        yield Part(TITLES[fit.model], blocks)
    if falls or evaluation.of(ModelsResult).models:
        words = "95% intervals from a bootstrap of the residuals; systematic errors of the model are not included."
        yield Sentence(words, "note")


def summarize_models(evaluation: Evaluation) -> list[str]:
    """Where the rate falls and each model in three lines; one that does not fit has no parameters."""
    lines = describe_falls(evaluation)
    for fit in evaluation.of(ModelsResult).models:
        lines.append(f"model: {TITLES[fit.model]}")
        if fit.fits:
            lines.append("  " + "; ".join(f"{one.symbol} {show_parameter(one)}" for one in fit.parameters))
        lines.append(f"  {fit.conclusion}" + (f"; residuals {fit.rms:.1%} (rms)" if fit.fits else ""))
    return lines


def describe_falls(evaluation: Evaluation) -> list[str]:
    """Where the rate falls most, and where it does at each confidence level, with the sizes of the database there."""
    rate = evaluation.of(RateResult)
    if rate.fall is None:
        return []
    sizes = {row.scale: row.database_size_gb for row in rate.scales}
    at = {f"  at confidence level {percent(level)}%": found for level, found in rate.falls_at.items()}
    return [f"{which} {_fall(found, sizes)}" for which, found in {"the rate falls most": rate.fall, **at}.items()]


def _fall(fall: Fall, sizes: Mapping[int, float]) -> str:
    low, high = sizes.get(fall.low, nan), sizes.get(fall.high, nan)
    where = f" ({low:.3g} to {high:.3g} GB)" if isfinite(low) and isfinite(high) else ""
    rates = f"from {format_number(fall.before_tps)} to {format_number(fall.after_tps)} tps"
    return f"between scale {fall.low} and {fall.high}{where}: {rates}"


def show_parameter(one: Parameter) -> str:
    """``1,200 tps [1,150, 1,260]``."""
    found = one.interval
    within = f" [{format_number(found.low)}, {format_number(found.high)}]" if isfinite(found.low) else ""
    return f"{format_number(found.value)}{f' {one.unit}' if one.unit else ''}{within}"


class ModelsResult(Result):
    models = computed(_read_models, whole=_read_all_models)
    """Those that the run can be held against, whether they fit or not."""


SUBJECT: Final = Subject(
    "models", "Models", ModelsResult, tell=_tell,
    nothing="There are too few scales and numbers of clients for a model.",
)  # fmt: skip
