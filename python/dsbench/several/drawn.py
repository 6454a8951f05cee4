"""The diagrams of a comparison: rates, relative rates, cumulative frequencies, rates over clients."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dsbench.format import counted
from dsbench.read.draw import vega
from dsbench.read.draw.axes import Form, ValueAxis
from dsbench.read.draw.connections import across
from dsbench.read.draw.curves import Span, agreed, compared, looks
from dsbench.read.draw.freq import curve, drawable
from dsbench.read.draw.load import loads
from dsbench.read.draw.theme import GREEN, GREY, HUES, RED, WHOLE, Row, finish, log_domain, log_ticks, number_labels
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.read.evaluation import Evaluation
from dsbench.read.subject import Measure
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.queries import QueriesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.several import drawn_stages
from dsbench.several.compare import Comparison, Section, basis
from dsbench.stats.search import Load
from dsbench.stats.values import Interval

if TYPE_CHECKING:
    from dsbench.several.trend import ResultHistory

_DASHES = ([1, 0], [5, 3])
"""Of the largest scale and of the smallest."""
_LINE = 92
"""Characters of a note that fit above the plot."""


def _searches(comparison: Comparison) -> dict[str, Load]:
    """The search of each side, at the largest scale that all of them have."""
    found = {label: side.evaluations[0].of(LoadResult).load
        for label, side in zip(comparison.labels, comparison.sides, strict=True)}
    common = set.intersection(*(set(one) for one in found.values())) if found else set()
    return {label: one[max(common)] for label, one in found.items()} if common else {}


def specs(comparison: Comparison) -> dict[str, Spec]:
    """Name to each diagram that has something to show, of the last section; the first stands for the whole."""
    section = comparison.sections[-1]
    found = {
        "rate": rates(comparison, section),
        "linear": rates(comparison, section, "linear"),
        "relative": relative(comparison, section),
        "freq": frequencies(comparison, section),
        "clients": over_clients(comparison),
        "load": loads(_searches(comparison)),
        "stages": drawn_stages.bars(comparison),
        "courses": drawn_stages.courses(comparison),
    }
    return {name: spec for name, spec in found.items() if spec is not None}


def rates(comparison: Comparison, section: Section, form: Form = "log") -> Spec | None:
    """Rates over the scale, a line for each side (the paper, figures 8 and 9); the legend has the DSI."""
    spans: list[dict[int, Span]] = [
        {x: (rate, *_ends([_cycles(one, section, x) for one in runs])) for x, rate in one.medians.items()}
        for runs, one in zip(section.evaluations, section.compared, strict=True)
    ]
    indices = {label: f"DSI {_dsi(runs)}" for label, runs in zip(comparison.labels, section.evaluations, strict=True)
               if section.measure == "tps" and _dsi(runs)}  # fmt: skip
    several = comparison.archives > len(comparison.sides)
    middle = "geometric mean of the runs' medians" if several else "median over the cycles"
    note = f"{middle}; bars: minimum to maximum of the cycles; marks of one scale are side by side"
    what = "transaction rate [tps]" if section.measure == "tps" else f"New-Orders per minute ({section.measure})"
    headline = f"Transaction rates of {comparison.extent}"
    if section.searched:
        note = "highest rates with the objective; bars: 95% intervals of the searches, where they are known"
        what, headline = "highest rate [tps]", f"Highest rates of {comparison.extent}"
    runs = [one for side in comparison.sides for one in side.runs]
    sizes = [{row.scale: row.database_size_gb for row in one.of(RateResult).scales} for side in section.evaluations
        for one in side]
    return compared(
        comparison.labels, spans, headline, _notes(section, note), title=what, form=form, more=indices,
        sizes_gb=agreed(sizes), marks=agreed([run.marks for run in runs], 0),
    )


def relative(comparison: Comparison, section: Section) -> Spec | None:
    """Each rate over that of the first (the paper, figures 36 and 37)."""
    spans = [{x: _within(f) for x, f in one.relative.items() if math.isfinite(f.value)} for one in section.compared]
    if not any(spans[1:]):
        return None
    values = [value for curve in spans for span in curve.values() for value in span if value > 0]
    notes = _notes(section, f"bars: 95% interval {basis(section)}")
    what = "Capacities" if section.searched else "Rates"
    return compared(
        comparison.labels, spans, f"{what} relative to {comparison.labels[0]}", notes, level=1.0,
        title=f"relative {section.figure}", form="linear" if max(values) / min(values) < 10 else "log",
    )


def frequencies(comparison: Comparison, section: Section) -> Spec | None:
    """Cumulative frequencies of all sides in one diagram (the paper, figures 19, 21 and 32), at two scales at most.

    These are the smallest and the largest that all sides have. Of several runs of one side the first is shown.
    """
    sides = [[one.own for one in runs] for runs in section.evaluations]
    having = [set(runs[0].of(LatencyResult).frequency) if runs else set() for runs in sides]
    common = sorted(set.intersection(*having)) if having else []
    chosen = sorted({*common[:1], *common[-1:]})
    waits = all(runs and runs[0].of(LatencyResult).response for runs in sides)
    rows: list[Row] = []
    for label, runs in zip(comparison.labels, sides, strict=True):
        for x in chosen:
            found = (runs[0].of(LatencyResult).response if waits else runs[0].of(LatencyResult).frequency)[x]
            if drawable(found):
                key = {"archive": label, "scale": str(x)}
                points = zip(*curve(found), strict=True)
                rows += [{**key, "ms": float(time_ns) / 1e6, "longer": float(share)} for time_ns, share in points]
    if not rows:
        return None
    time, times = ("response time", "response times") if waits else ("latency", "latencies")
    rarest = min(row["longer"] for row in rows)
    y = ValueAxis("share of transactions that take longer", min(10 ** math.floor(math.log10(rarest)), 0.1), 1.0, True)
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    axis = dict(values=log_ticks(low, high), labelExpr=number_labels(), title=f"{time} [ms], log scale")
    x_axis = channel("ms:Q", scale=dict(type="log", domain=[low, high], nice=False), axis=axis)
    order = [str(x) for x in reversed(chosen)]
    dashes = dict(domain=order, range=list(_DASHES[: len(order)]))
    line = Chart("curves").mark("line", strokeWidth=1.6, interpolate="step-after").encode(
        x=x_axis, y=y.y("longer"), color=looks(comparison.labels).colour, order=channel("ms:Q"),
        strokeDash=channel("scale:N", scale=dashes, legend=None),
        tooltip=["archive:N", "scale:N", channel("ms:Q", title="time [ms]", format=",.4~r"),
                 channel("longer:Q", title="share that takes longer", format=".3~g")],
    )  # fmt: skip
    note = f"solid: scale {chosen[-1]}" + (f"; dashed: scale {chosen[0]}" if len(chosen) > 1 else "")
    note += "; of repeated runs the first" if comparison.archives > len(comparison.sides) else ""
    return finish(
        [line], name="compared-freq", archive="the comparison", data={"curves": rows},
        title=vega.title(f"Cumulative frequency of {times}", subtitle=_notes(section, note)),
        description="Share of transactions whose time is longer than x, one colour per archive.",
    )


def over_clients(comparison: Comparison) -> Spec | None:
    """Rates over the number of clients at the largest scale that all have (the paper, figure 33).

    A line is a run with several numbers of clients, or runs that differ in that number only; each stage has its own.
    """
    if any(one.of(QueriesResult).queries for side in comparison.sides for one in side.evaluations):
        return None  # Streams, each with queries of its own, and no clients that share them.
    curves = _by_clients(comparison)
    curves = {label: points for label, points in curves.items() if len(points) > 1}
    scales = [set(found) for points in curves.values() for found in points.values()]
    common = set.intersection(*scales) if scales else set()
    if not common:
        return None
    scale = max(common)
    rows: list[Row] = [
        {"archive": label, "clients": clients, "rate": middle, "low": low, "high": high}
        for label, points in curves.items() for clients, found in sorted(points.items())
        for middle, low, high in [found[scale]]
    ]  # fmt: skip
    last = comparison.sections[-1]
    rate = "highest rate [tps]" if last.searched else "transaction rate [tps]"
    y = ValueAxis.linear(rate if last.measure == "tps" else last.measure, [row["high"] for row in rows])
    x, names, base = across(rows, "clients"), list(curves), Chart("clients")
    look = looks(names)
    return finish(
        [
            base.mark("line", strokeWidth=1.8).encode(x=x, y=y.y("rate"), color=look.colour, strokeDash=look.dash),
            base.mark("rule", strokeWidth=1.1, opacity=0.75).encode(
                x=channel("clients:Q", axis=None), y="low:Q", y2="high:Q", color=look.colour
            ),
            base.mark("point", filled=True, size=46, opacity=1).encode(
                x=channel("clients:Q", axis=None), y="rate:Q", color=look.colour, shape=look.shape,
                tooltip=["archive:N", "clients:Q", channel("rate:Q", format=",.4~r")],
            ),
        ],
        name="compared-clients", archive="the comparison", data={"clients": rows},
        title=vega.title(f"Rates by clients at scale {scale}",
                              subtitle=["median over the cycles; bars: minimum to maximum"]),
        description="Rate over the number of clients, one line per archive.",
    )  # fmt: skip


def _by_clients(comparison: Comparison) -> dict[str, dict[int, Mapping[int, Span]]]:
    """Label of a line to clients to scale to median, lowest and highest rate."""
    stages = {one.stage for section in comparison.sections for side in section.evaluations for one in side}
    curves: dict[str, dict[int, Mapping[int, Span]]] = {}
    others = [name for name in comparison.differences if name != "spec.clients"]
    named: dict[tuple[str, ...], str] = {}
    for number, label in enumerate(comparison.labels):
        key = (comparison.sides[number].runs[0].spec.label, *(comparison.differences[name][number] for name in others))
        line = named.setdefault(key, re.sub(r", clients \d+\b", "", label))
        for section in comparison.sections:
            runs = section.evaluations[number]
            for one in runs[:1]:
                medians = section.compared[number].medians
                spans = {x: (medians[x], *_ends([_cycles(run, section, x) for run in runs])) for x in medians}
                name = f"{line}, {one.stage}" if len(stages) > 1 else line
                curves.setdefault(name, {})[one.clients] = spans
    return curves


def _cycles(one: Evaluation, section: Section, scale: int) -> Sequence[float]:
    """The rates of the cycles in what ``section`` counts; empty where the scale is missing. Of a search the ends of
    the capacity's interval, or the capacity itself."""
    if section.searched:
        found = one.of(LoadResult).load[scale].capacity if scale in one.of(LoadResult).load else None
        return [end if 0 < end < math.inf else found.rate for end in (found.low, found.high)] if found else ()
    if section.measure != "tps":
        return one.of(KindsResult).nopm[scale].by_cycle if scale in one.of(KindsResult).nopm else ()
    rates_tps: Sequence[float] = one.own.of(RateResult).cycle_rates.get(scale, np.empty(0)).tolist()
    return rates_tps


def _ends(cycles: Sequence[Sequence[float]]) -> tuple[float, float]:
    values = [value for some in cycles for value in some]
    return min(values, default=math.nan), max(values, default=math.nan)


def _within(factor: Interval) -> Span:
    """A factor without an interval has no bar."""
    low, high = (end if math.isfinite(end) else factor.value for end in (factor.low, factor.high))
    return factor.value, low, high


def _dsi(runs: Sequence[Evaluation]) -> str:
    found = [dsi.value for one in runs if (dsi := one.own.of(RateResult).index.dsi) is not None]
    return f"{sum(found) / len(found):.2f}" if found else ""


def _notes(section: Section, note: str) -> list[str]:
    return textwrap.wrap(f"{section.heading}; {note}" if section.heading else note, _LINE)


def versus(courses: Sequence[tuple[float, Interval]], difference: float, how: Measure) -> Spec:
    """``courses``: of each block its ratio B / A, and what was known after it; ``difference``: share that counts.

    Of a measure that is compared by differences the ratios are powers of e, and differences are drawn.
    """
    change = how.as_change
    last = courses[-1][1]
    bounds = [last.low, last.high] if last.low > 0 else []
    around = [change(1 / (1 + difference)), change(1 + difference)]
    shown = [*(change(one) for one in [*(one for one, _ in courses), *bounds]), *around]
    low, high = min(shown), max(shown)
    margin = 0.08 * (high - low)
    # Whoever has seen two blocks knows nothing: such an interval would make all others a line.
    between = "minus" if how.step else "/"
    y = channel("ratio:Q", title=f"{how.label} of B {between} {how.label} of A",
              scale=dict(domain=[low - margin, high + margin], zero=False, nice=False))  # fmt: skip
    rows: list[Row] = [
        {"block": number, "ratio": change(one), "mean": change(found.value),
         "low": max(change(found.low), low - margin), "high": min(change(found.high), high + margin)}
        for number, (one, found) in enumerate(courses, 1)
    ]  # fmt: skip
    base = Chart("blocks")
    axis = dict(title="block of four runs", tickMinStep=1, format="d", labelFlush=True, labelExpr=WHOLE)
    x = channel("block:Q", axis=axis, scale=dict(domain=[0.5, len(rows) + 0.5], nice=False))
    bare = channel("block:Q", axis=None)
    level = Chart("one")
    layers = [
        level.mark("rect", color=GREY, opacity=0.12).encode(y=channel("low:Q"), y2="high:Q"),
        level.mark("rule", color=GREY, strokeDash=[4, 3]).encode(y="value:Q"),
        base.mark("rule", color=HUES[0], strokeWidth=7, opacity=0.35).encode(x=x, y=channel("low:Q"), y2="high:Q"),
        base.mark("tick", color=HUES[0], thickness=2.5, size=16).encode(x=bare, y=channel("mean:Q")),
        base.mark("point", color=RED, filled=True, size=46, opacity=1).encode(
            x=bare, y=y, tooltip=[channel("block:Q"), *(channel(f"{name}:Q", format=".4f")
                                                         for name in ("ratio", "mean", "low", "high"))],
        ),
    ]  # fmt: skip
    of = " of the mean" * how.of_mean
    note = f"points: each block; bars: {last.level:.0%} interval after that block; grey: ±{difference:.1%}{of}"
    words = f"B has {last.value:.3f} times the {how.label} of A"
    words = f"{how.label} of B minus that of A: {how.show_ratio(last.value)}" if how.step else words
    return finish(
        layers, name="ab", archive="the comparison",
        data={"blocks": rows, "one": [{"value": change(1.0), "low": around[0], "high": around[1]}]},
        title=vega.title(words, subtitle=[note]),
        description=f"{how.label} of B {between} that of A by block, with the interval of the mean so far.",
    )


_WRAP = 84


def history(found: ResultHistory) -> Spec:
    """Rates over the number of the run; lines are the medians between changes, which have their size beside them."""
    rates = np.array([result.rate_tps for result in found.results])
    ends = [0, *(told.change.at for told in found.changes), rates.size]
    rows: list[Row] = [
        {"number": n, "rate": one.rate_tps, "archive": one.archive, "label": one.label, "started": one.started[:16]}
        for n, one in enumerate(found.results, 1)
    ]
    levels: list[Row] = [{"from": a + 0.5, "to": b + 0.5, "level": float(np.median(rates[a:b]))}
                         for a, b in itertools.pairwise(ends)]  # fmt: skip
    low, high = float(rates.min()), float(rates.max())
    margin = 0.12 * (high - low) or 0.05 * high or 1.0
    how = found.how
    marks: list[Row] = [
        {"at": told.change.at + 0.5,
         "words": f"{how.show_ratio(told.change.ratio.value)} {told.result.label}".strip()[:30],
         "worse": found.is_worse(told), "top": high + margin}
        for told in found.changes
    ]  # fmt: skip
    x = channel("number:Q", scale=dict(domain=[0.5, rates.size + 0.5], nice=False),
              axis=dict(title="runs in order of time", tickMinStep=1, format="d",
                            labelExpr=WHOLE))  # fmt: skip
    what = "transaction rate" if how.name == "rate" else how.label
    y = channel("rate:Q", title=f"{what} [{found.unit}]" if found.unit else what,
              scale=dict(domain=[max(low - margin, 0), high + 1.6 * margin], nice=False, zero=False),
              axis=dict(labelExpr=number_labels()))  # fmt: skip
    colour = {"condition": {"test": "datum.worse", "value": RED}, "value": GREEN}
    at = channel("at:Q", axis=None)
    layers = [
        Chart("changes").mark("rule", strokeDash=[4, 3]).encode(x=at, color=colour),
        Chart("levels").mark("rule", color=GREY, strokeWidth=2).encode(
            x=channel("from:Q", axis=None), x2="to:Q", y=channel("level:Q")),
        Chart("results").mark("point", color=HUES[0], filled=True, size=40, opacity=1).encode(
            x=x, y=y, tooltip=[channel(f"{name}:N") for name in ("archive", "label", "started")]
            + [channel("rate:Q", format=",.4~r")]),
        Chart("changes").mark("text", align="left", dx=4, dy=4).encode(
            x=at, y=channel("top:Q"), text="words:N", color=colour),
    ]  # fmt: skip
    return finish(
        layers, name="trend", archive="the folder", data={"results": rows, "levels": levels, "changes": marks},
        title=vega.title(f"{counted(len(found.changes), 'change')} in {rates.size} runs" if found.changes
                              else f"no change in {rates.size} runs", subtitle=textwrap.wrap(found.name, _WRAP)),
        description=f"{what} of each run in order of time; vertical lines are changes of the level.",
    )  # fmt: skip
