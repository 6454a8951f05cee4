"""Models beside what was measured, as lines of text and as a section of the page."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, nan

from dsbench.read.evaluation import Evaluation
from dsbench.read.report.page.markup import Html, section, table, tag
from dsbench.read.stats.cutoff import Fall
from dsbench.read.stats.fits import Fit, Parameter
from dsbench.read.stats.values import percent

TITLES = {
    "scalability": "Universal Scalability Law, T(N) = λN / (1 + σ(N - 1) + κN(N - 1))",
    "memory": "end of the memory, t(X) = t_hit + (t_miss - t_hit)(1 - X_0 / X) beyond X_0",
    "collisions": "collisions, q(X) = 1 / (1 + κ(K - 1) / X)",
}


def model_lines(evaluation: Evaluation) -> list[str]:
    """Three lines for each model; one that does not fit has no parameters."""
    lines = fall_lines(evaluation)
    for fit in evaluation.models:
        lines.append(f"model: {TITLES[fit.model]}")
        if fit.fits:
            lines.append("  " + "; ".join(f"{one.symbol} {value(one)}" for one in fit.parameters))
        lines.append(f"  {fit.conclusion}" + (f"; residuals {fit.rms:.1%} (rms)" if fit.fits else ""))
    return lines


def fall_lines(evaluation: Evaluation) -> list[str]:
    """Where the rate falls most, and where it does at each confidence level, with the sizes of the database there."""
    if evaluation.fall is None:
        return []
    sizes = {row.scale: row.database_size_gb for row in evaluation.scales}
    at = {f"  at the level {percent(level)} %": found for level, found in evaluation.falls_at.items()}
    return [f"{which} {_fall(found, sizes)}" for which, found in {"the rate falls most": evaluation.fall, **at}.items()]


def _fall(fall: Fall, sizes: Mapping[int, float]) -> str:
    low, high = sizes.get(fall.low, nan), sizes.get(fall.high, nan)
    where = f" ({low:.3g} to {high:.3g} GB)" if isfinite(low) and isfinite(high) else ""
    rates = f"from {_short(fall.before_tps)} to {_short(fall.after_tps)} tps"
    return f"between scale {fall.low} and {fall.high}{where}: {rates}"


def value(one: Parameter) -> str:
    """``1,200 tps [1,150, 1,260]``."""
    found = one.interval
    within = f" [{_short(found.low)}, {_short(found.high)}]" if isfinite(found.low) else ""
    return f"{_short(found.value)}{f' {one.unit}' if one.unit else ''}{within}"


def _short(number: float) -> str:
    if not isfinite(number):
        return "–"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def section_of_models(evaluation: Evaluation) -> Html | None:
    """Parameters with their intervals, and residuals point by point; ``None`` without a model."""
    where = [tag("p", line.strip()[:1].upper() + line.strip()[1:] + ".") for line in fall_lines(evaluation)]
    parts = [*where, *(part for fit in evaluation.models for part in _of(fit))]
    note = "Intervals at 95 % by drawing the residuals anew: they do not know what the model misses everywhere."
    return section("Models", *parts, tag("p", note, cls="note"), key="models") if parts else None


def _of(fit: Fit) -> list[Html]:
    rows = [[one.symbol, one.meaning, value(one)] for one in fit.parameters] if fit.fits else []
    points = [[f"{x:g}", _short(float(y)), _short(float(m)), f"{r:+.1%}"]
              for x, y, m, r in zip(fit.at, fit.measured, fit.modelled, fit.residuals, strict=True)]  # fmt: skip
    return [
        tag("h3", TITLES[fit.model]),
        tag("p", f"{fit.conclusion[:1].upper()}{fit.conclusion[1:]}. Residuals {fit.rms:.1%} (rms)."),
        *([table("Parameters", ["", "", "value, 95 % interval"], rows, numbers=False)] if rows else []),
        table("Residuals", [fit.over, "measured", "model", "residual"], points),
    ]
