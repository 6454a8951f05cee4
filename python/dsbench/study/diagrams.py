"""The diagrams of a study: effects, relative rates, two factors at once, rates over a number, courses by level."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import altair as alt
import numpy as np

from dsbench.read.draw.axes import ValueAxis
from dsbench.read.draw.curves import Span, compared, looks
from dsbench.read.draw.freq import curve, drawable
from dsbench.read.draw.theme import (
    GREY,
    HUES,
    WHOLE,
    Row,
    Spec,
    finish,
    log_domain,
    log_ticks,
    number_labels,
    spans_decades,
)
from dsbench.read.stats.values import Frequency
from dsbench.study import Outcomes, Point

_ROW = 21
"""Pixels for each effect."""
_LETTERS = 60
"""That fit below a plot."""
_MOST_COURSES = 240
"""Points of a course: with more seconds, neighbours are put together."""
_LEAST_COURSE = 4
"""Seconds that make one."""


def specs(found: Outcomes) -> dict[str, Spec]:
    """Name to each diagram that has something to show."""
    made = {"effects": effects(found)}
    factors = range(len(found.factors))
    made |= {f"relative-{n + 1}": relative(found, n) for n in factors}
    pairs = sorted(combinations(factors, 2), key=lambda pair: -_share(found, pair))[:3]
    made |= {f"heat-{a + 1}-{b + 1}": heat(found, a, b) for a, b in pairs}
    made |= {f"lines-{n + 1}": lines(found, n) for n in factors}
    made |= {f"freq-{n + 1}": frequencies(found, n) for n in factors}
    made |= {f"course-{n + 1}": course(found, n) for n in factors}
    return {name: spec for name, spec in made.items() if spec is not None}


def effects(found: Outcomes) -> Spec | None:
    """Ratios of all levels to their references, with intervals."""
    main = [one for one in (found.effects.main if found.effects else ()) if math.isfinite(one.ratio.value)]
    if not main:
        return None
    rows: list[Row] = []
    for one in main:
        factor, level = one.factors[0], found.levels[one.factors[0]][one.levels[0]].name
        low, high = (one.ratio.low, one.ratio.high) if one.known else (one.ratio.value, one.ratio.value)
        verdict = "not known" if not one.known else "none" if one.none else "effect"
        reference = found.levels[factor][found.references[factor]].name
        name = f"{found.factors[factor]}: {level} / {reference}"
        rows.append({"effect": name, "ratio": one.ratio.value, "low": low, "high": high, "verdict": verdict})
    ratios = found.how.geometric
    ends = [row[name] for row in rows for name in ("low", "high")] + [1.0 if ratios else 0.0]
    log = ratios and spans_decades(ends, math.log10(4))
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.06
    domain = [low / 1.1, high * 1.1] if log else [max(low - margin, 0) if ratios else low - margin, high + margin]
    title = f"{found.measure} {'over' if ratios else 'minus'} that at the reference"
    x = alt.X("ratio:Q", scale=alt.Scale(type="log" if log else "linear", domain=domain, nice=False),
              axis=alt.Axis(title=title + (", log scale" if log else ""), tickCount=6, format=".3~r"))  # fmt: skip
    y = alt.Y("effect:N", sort=[row["effect"] for row in rows], axis=alt.Axis(title=None, labelLimit=260),
              scale=alt.Scale(type="point", padding=0.9))  # The figure above the first row has room.  # fmt: skip
    names = ["effect", "none", "not known"]
    colour = alt.Color("verdict:N", scale=alt.Scale(domain=names, range=[HUES[0], "#999999", "#999999"]), legend=None)
    base, bare = alt.Chart(alt.NamedData("effects")), alt.X("ratio:Q", axis=None)
    tips = ["effect:N", *(alt.Tooltip(f"{name}:Q", format=".4~r") for name in ("ratio", "low", "high")), "verdict:N"]
    spec = finish(
        [
            alt.Chart(alt.NamedData("one"))
            .mark_rule(color=GREY, strokeDash=[4, 3])
            .encode(x=alt.X("value:Q", axis=None)),
            base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", axis=None), x2="high:Q", y=y, color=colour),
            base.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips),
            base.mark_text(dy=-8, fontSize=10).encode(
                x=bare, y=y, color=colour, text=alt.Text("ratio:Q", format=".3~r")
            ),
        ],
        name="study-effects",
        archive="the study",
        data={"effects": rows, "one": [{"value": 1.0 if ratios else 0.0}]},
        title=alt.TitleParams(
            text="Effects", subtitle=["bars: 95 % intervals that hold together; grey: no effect was found"]
        ),
        description="Ratio of each level to the reference of its factor, with its interval.",
    )
    return {**spec, "height": max(_ROW * len(rows) + 20, 80)}


def relative(found: Outcomes, factor: int) -> Spec | None:
    """Each level over the reference by scale (the paper, figures 36 and 37); ``None`` with one scale."""
    if not found.how.geometric:
        return None
    threads = max((point.threads for point in found.points), default=0)
    scales = [point.scale for point in found.points if point.threads == threads]
    if len(scales) < 2:
        return None
    labels, curves = [], []
    for number, level in enumerate(found.levels[factor]):
        spans: dict[int, Span] = {}
        for x in scales:
            if (span := found.relative(factor, number, Point(threads, x))) is not None:
                spans[x] = span
        if spans:
            labels.append(level.name)
            curves.append(spans)
    ends = [value for curve in curves for span in curve.values() for value in span]
    if len(curves) < 2:
        return None
    reference = found.levels[factor][found.references[factor]].name
    note = "bars: least to greatest of the blocks" + (f"; {threads} threads" if threads else "")
    return compared(
        labels, curves, f"{found.factors[factor]}: relative to {reference}", [note], level=1.0,
        title=f"relative {found.measure}", form="linear" if max(ends) / min(ends) < 10 else "log",
    )  # fmt: skip


def heat(found: Outcomes, across: int, down: int) -> Spec | None:
    """Geometric means of two factors at once; ``None`` where half of the fields are empty."""
    rows: list[Row] = []
    alike = found.comparable((across, down))
    for i, one in enumerate(found.levels[across]):
        for k, other in enumerate(found.levels[down]):
            value = found.mean(found.value(made) for made in alike if made.at[across] == i and made.at[down] == k)
            if math.isfinite(value):
                rows.append({"x": one.name, "y": other.name, "value": value})
    if len(rows) * 2 <= len(found.levels[across]) * len(found.levels[down]) or len(rows) < 4:
        return None
    values = [row["value"] for row in rows]
    log = found.how.geometric and max(values) > 10 * min(values)
    middle = math.sqrt(min(values) * max(values)) if log else (min(values) + max(values)) / 2
    for row in rows:
        row["dark"] = row["value"] < middle
        row["shown"] = f"{row['value']:,.0f}" if row["value"] >= 100 else f"{row['value']:.3g}"
    sorts = [[level.name for level in found.levels[n]] for n in (across, down)]
    # Names that do not fit beside each other are slanted: of those that overlap some would be left out.
    slant = -30 if len(sorts[0]) * max(map(len, sorts[0])) > _LETTERS else 0
    axis = alt.Axis(title=found.factors[across], labelAngle=slant, labelOverlap=False, labelLimit=120 if slant else 90)
    x = alt.X("x:N", sort=sorts[0], axis=axis)
    y = alt.Y("y:N", sort=sorts[1], axis=alt.Axis(title=found.factors[down], labelLimit=160))
    base = alt.Chart(alt.NamedData("fields"))
    inks = (("datum.dark", "#ffffff"), ("!datum.dark", "#000000"))  # Not by name: a dark page swaps the named ones.
    shades = alt.Scale(type="log" if log else "linear", scheme="viridis", zero=False, nice=False)
    colour = alt.Color("value:Q", scale=shades, legend=alt.Legend(title=found.unit))
    layers = [
        base.mark_rect().encode(x=x, y=y, color=colour, tooltip=["x:N", "y:N", alt.Tooltip("value:Q", format=",.4~r")]),
        *(base.transform_filter(rule).mark_text(fontSize=12, color=ink).encode(
            x=alt.X("x:N", sort=sorts[0], axis=None), y=y, text="shown:N"
        ) for rule, ink in inks),
    ]  # fmt: skip
    spec = finish(
        layers,
        name="study-heat",
        archive="the study",
        data={"fields": rows},
        title=alt.TitleParams(text=f"{found.factors[across]} × {found.factors[down]}", subtitle=[_of(found)]),
        description="Geometric mean of the trials at each two levels of two factors.",
    )
    return {**spec, "height": min(max(46 * len(sorts[1]), 120), 400)}


def lines(found: Outcomes, factor: int) -> Spec | None:
    """Over the numbers of a factor, a line for each level of the factor that goes with most of what is left.

    That one was tried at several of its levels together with these numbers. ``None`` where the levels of ``factor`` are
    no numbers, or fewer than three.
    """
    numbers = [level.number for level in found.levels[factor]]
    if len(numbers) < 3 or any(number is None for number in numbers):
        return None
    others = [n for n in range(len(found.factors)) if n != factor and _crossed(found, factor, n)]
    beside = max(others, key=lambda n: _share(found, (factor, n)), default=None)
    rows: list[Row] = []
    # With a line for each level of a second factor these are compared as well.
    alike = found.comparable((factor,) if beside is None else (factor, beside))
    for line, name in _lines(found, factor, beside):
        for at, number in enumerate(numbers):
            here = (one for one in alike if one.at[factor] == at and line in (None, one.at[beside or 0]))
            values = [value for value in map(found.value, here) if math.isfinite(value)]
            if values:
                span = {"low": min(values), "high": max(values)}
                rows.append({"archive": name, "number": number, "rate": found.mean(values), **span})
    if not rows:
        return None
    names = list(dict.fromkeys(row["archive"] for row in rows))
    positive = ValueAxis.of_rates if found.measure in ("rate", "tps") else ValueAxis.logarithmic
    make = positive if found.how.geometric else ValueAxis.linear
    y = make(_title(found), [row[end] for row in rows for end in ("low", "high")])
    known = sorted({float(number) for number in numbers if number is not None})
    log = known[0] > 0 and known[-1] / known[0] > 8
    scale = (
        alt.Scale(type="log", domain=[known[0] / 1.15, known[-1] * 1.15], nice=False)
        if log
        else alt.Scale(zero=False, nice=False, padding=14)
    )
    x = alt.X(
        "number:Q",
        scale=scale,
        axis=alt.Axis(values=known, labelExpr=number_labels(), title=found.factors[factor] + ", log scale" * log),
    )
    look, base, bare = looks(names), alt.Chart(alt.NamedData("lines")), alt.X("number:Q", axis=None)
    what = f", by {found.factors[beside]}" if beside is not None else ""
    return finish(
        [
            base.mark_line(strokeWidth=1.8).encode(x=x, y=y.y("rate"), color=look.colour, strokeDash=look.dash),
            base.mark_rule(strokeWidth=1.1, opacity=0.75).encode(x=bare, y="low:Q", y2="high:Q", color=look.colour),
            base.mark_point(filled=True, size=46, opacity=1).encode(
                x=bare, y="rate:Q", color=look.colour, shape=look.shape,
                tooltip=["archive:N", alt.Tooltip("number:Q", title=found.factors[factor]),
                         alt.Tooltip("rate:Q", format=",.4~r")],
            ),
        ],
        name="study-lines", archive="the study", data={"lines": rows},
        title=alt.TitleParams(text=f"Over {found.factors[factor]}{what}",
                              subtitle=[_of(found) + _bars(found)]),
        description="Values over the numbers of one factor, a line for each level of another.",
    )  # fmt: skip


def _crossed(found: Outcomes, factor: int, other: int) -> bool:
    """Whether two levels of ``other`` or more were tried with two of ``factor`` or more."""
    pairs = {(one.at[other], one.at[factor]) for one in found.made}
    return sum(count > 1 for count in Counter(level for level, _ in pairs).values()) > 1


def _bars(found: Outcomes) -> str:
    blocks = len({one.trial.block for one in found.made})
    return "; bars: least to greatest trial" if blocks > 1 else "; one block: how far trials scatter is not known"


def _lines(found: Outcomes, factor: int, beside: int | None) -> list[tuple[int | None, str]]:
    if beside is None:
        return [(None, found.factors[factor])]
    return [(n, f"{found.factors[beside]} {level.name}") for n, level in enumerate(found.levels[beside])]


def frequencies(found: Outcomes, factor: int) -> Spec | None:
    """Cumulative frequencies of the levels in one diagram (the paper, figures 19, 21, 32 and 47)."""
    rows: list[Row] = []
    for level, alike in zip(found.levels[factor], found.alike(factor), strict=True):
        known = [one.frequency for one in alike if one.frequency is not None and drawable(one.frequency)]
        if known:
            rows += [{"archive": level.name, "ms": ms, "longer": share} for ms, share in _pooled(known)]
    names = list(dict.fromkeys(row["archive"] for row in rows))
    if len(names) < 2:
        return None
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    ticks = alt.Axis(values=log_ticks(low, high), labelExpr=number_labels(), title="residence time [ms], log scale")
    x = alt.X("ms:Q", scale=alt.Scale(type="log", domain=[low, high], nice=False), axis=ticks)
    rarest = min(row["longer"] for row in rows)
    y = ValueAxis("share of transactions that take longer", min(10 ** math.floor(math.log10(rarest)), 0.1), 1.0, True)
    look = looks(names)
    return finish(
        [alt.Chart(alt.NamedData("freq")).mark_line(strokeWidth=1.5, interpolate="step-after").encode(
            x=x, y=y.y("longer"), color=look.colour, strokeDash=look.dash, order=alt.Order("ms:Q"),
            tooltip=["archive:N", alt.Tooltip("ms:Q", format=",.4~r"), alt.Tooltip("longer:Q", format=".3~g")])],
        name="study-freq", archive="the study", data={"freq": rows},
        title=alt.TitleParams(text=f"Cumulative frequencies by {found.factors[factor]}",
                              subtitle=["all trials of a level together, at the largest scale"]),
        description="Share of transactions whose residence time is longer than x, one line for each level.",
    )  # fmt: skip


def _pooled(known: list[Frequency]) -> list[tuple[float, float]]:
    """(ms, share that takes longer) of the transactions of several trials together, at most some 300 points."""
    times = np.unique(np.concatenate([one.residence_ns for one in known]))
    longer = np.zeros(times.size)
    for one in known:
        at = np.searchsorted(one.residence_ns, times, side="right") - 1
        longer += np.where(at < 0, 1.0, one.longer[np.maximum(at, 0)]) * one.count
    count = sum(one.count for one in known)
    slowest = max(one.quantiles_ns.get(1.0, float(one.residence_ns[-1])) for one in known)
    times_ns, shares = curve(Frequency(times, longer / count, {1.0: slowest}, count))
    return [(float(t) / 1e6, float(share)) for t, share in zip(times_ns, shares, strict=True)]


def course(found: Outcomes, factor: int) -> Spec | None:
    """Rate of each second through the cycles, averaged over the trials of a level."""
    rows: list[Row] = []
    names = []
    for level, alike in zip(found.levels[factor], found.alike(factor), strict=True):
        courses = [one.seconds for one in alike if one.seconds.size >= _LEAST_COURSE]
        if not courses:
            continue
        names.append(level.name)
        length = min(one.size for one in courses)
        means = np.mean([one[:length] for one in courses], axis=0)
        step = -(-length // _MOST_COURSES)
        rows += [{"archive": level.name, "second": at + (step - 1) / 2, "rate": float(means[at : at + step].mean())}
                 for at in range(0, length, step)]  # fmt: skip
    if len(names) < 2:
        return None
    y = ValueAxis.of_rates("transaction rate [tps]", [row["rate"] for row in rows])
    axis = alt.Axis(title="second of all cycles, one after another [s]", tickMinStep=1, format="d", labelExpr=WHOLE)
    x = alt.X("second:Q", scale=alt.Scale(nice=False), axis=axis)
    look = looks(names)
    return finish(
        [alt.Chart(alt.NamedData("course")).mark_line(strokeWidth=1.5).encode(
            x=x, y=y.y("rate"), color=look.colour, strokeDash=look.dash,
            tooltip=["archive:N", "second:Q", alt.Tooltip("rate:Q", format=",.4~r")])],
        name="study-course", archive="the study", data={"course": rows},
        title=alt.TitleParams(text=f"Course by {found.factors[factor]}",
                              subtitle=["mean over the trials of a level, at the largest scale"]),
        description="Committed transactions of each second, one line for each level.",
    )  # fmt: skip


def _share(found: Outcomes, pair: tuple[int, int]) -> float:
    """Of the variance that goes with the interaction of two factors; that of both alone where it is not known."""
    shares = found.effects.shares if found.effects else ()
    own = [one.share for one in shares if one.factors == tuple(sorted(pair))]
    return own[0] if own else 1e-6 * sum(one.share for one in shares if one.factors and set(one.factors) <= set(pair))


def _title(found: Outcomes) -> str:
    unit = f" [{found.unit}]" if found.unit else ""
    return f"{'transaction rate' if found.unit == 'tps' else found.measure}{unit}"


def _of(found: Outcomes) -> str:
    stage = f"; {found.stage}" if found.stage else ""
    return f"{'geometric ' * found.how.geometric}mean of the trials [{found.unit or found.measure}]{stage}"
