"""The diagrams of a study: effects, relative rates, two factors at once, rates over a number, courses by level."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from typing import Final

import numpy as np

from dsbench.read.draw import vega
from dsbench.read.draw.axes import Form, ValueAxis
from dsbench.read.draw.curves import Span, agreed, compared, looks
from dsbench.read.draw.freq import curve, drawable
from dsbench.read.draw.theme import GREY, HUES, WHOLE, Row, finish, log_domain, log_ticks, number_labels, spans_decades
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.stats.effects import ANY
from dsbench.stats.values import Frequency
from dsbench.study import Made, Outcomes, Point, mean
from dsbench.study.levels import combine_indices, tell_index
from dsbench.study.panels import choose_ticks, panels, share_inks
from dsbench.study.slices import Slice, by_level, by_work, share, third_factor, work_factors

_ROW = 21
"""Pixels for each effect."""
_LETTERS = 60
"""That fit below a plot."""
_MOST_COURSES = 240
_NAMED: Final = 4
"""Factors in a title at most."""
"""Points of a course: with more seconds, neighbours are put together."""
_LEAST_COURSE = 4
"""Seconds that make one."""
_PAIRS = 3
"""Pairs of factors that are drawn where none was chosen."""
_FILES = re.compile(r"(.+), (\d+) files")
"""The test of a storage tool, and on how many files."""
_TELLING = 1.0
"""Percentage points by which hit ratios have to differ somewhere."""
_HITS = {
    "hit-ratio": "blocks, by the server's counters", "hit-ratio-1ms": "transactions that took less than 1 ms",
    "hit-ratio-valley": "transactions on the fast side of two modes",
}  # fmt: skip


def specs(found: Outcomes) -> dict[str, Spec]:
    """Name to each diagram that has something to show: of each workload by itself, and of pairs of factors for each
    level of a third one as well."""
    made = {"effects": effects(found)}
    for n in range(len(found.factors)):
        for part in by_work(found, (n,)):
            drawn = {f"{kind}-{n + 1}": draw(part.found, n) for kind, draw in _OF_FACTOR.items()}
            drawn |= _beside(part, f"freq-{n + 1}", partial(frequencies, factor=n), n)
            if (other := _beside_numbers(part.found, n)) is not None:
                drawn |= _beside(part, f"lines-{n + 1}", partial(lines, factor=n, beside=other), n, other)
            made |= {f"{name}{part.suffix}": _at(spec, part) for name, spec in drawn.items()}
    for a, b in pairs_of(found):
        for part in by_work(found, (a, b)):
            drawn = {f"heat-{a + 1}-{b + 1}": heat(part.found, a, b)}
            drawn |= _beside(part, f"heat-{a + 1}-{b + 1}", partial(heat, across=a, down=b), a, b)
            drawn[f"hits-{a + 1}-{b + 1}"] = hit_ratios(part.found, a, b)
            made |= {f"{name}{part.suffix}": _at(spec, part) for name, spec in drawn.items()}
    return {name: spec for name, spec in made.items() if spec is not None}


def pairs_of(found: Outcomes) -> list[tuple[int, int]]:
    """The pairs of factors that were chosen; else the three with the largest interactions."""
    if found.pairs:
        return list(found.pairs)
    work = work_factors(found)
    factors = [n for n in range(len(found.factors)) if n not in work]
    return sorted(combinations(factors, 2), key=lambda pair: -share(found, pair))[:_PAIRS]


def _at(spec: Spec | None, part: Slice) -> Spec | None:
    """``spec`` with the levels of ``part`` in its title."""
    if spec is None or not part.levels:
        return spec
    return {**spec, "title": {**spec["title"], "text": f"{spec['title']['text']}; {part.words}"}}


def _beside(part: Slice, name: str, draw: Callable[[Outcomes], Spec | None], *factors: int) -> dict[str, Spec | None]:
    """A diagram with a plot for each level of a third factor; of a pair that was chosen for each third factor."""
    third = third_factor(part, factors)
    chosen = [n for n in range(len(part.found.factors)) if n not in factors and n not in part.levels]
    every = chosen if factors in part.found.pairs else [] if third is None else [third]
    found: dict[str, Spec | None] = {}
    for n in every:
        factor, levels = part.found.factors[n], part.found.levels[n]
        plots = [(f"{factor} {levels[one.levels[n]].name}", draw(one.found)) for one in by_level(part, n)]
        drawn = [(words, spec) for words, spec in plots if spec is not None]
        if len(drawn) > 1:
            found[f"{name}-by-{n + 1}"] = panels(f"{drawn[0][1]['title']['text']}, by {factor}", drawn)
    return found


def hit_ratios(found: Outcomes, across: int, down: int) -> Spec | None:
    """What was found in memory by two factors, as the server counts it and by two thresholds of time; ``None`` where
    nothing tells two fields apart."""
    plots = []
    for measure, words in _HITS.items():
        spec = heat(found.choose(measure), across, down)
        values = [row["value"] for row in spec["datasets"]["fields"]] if spec else []
        if spec is not None and max(values) - min(values) > _TELLING:
            plots.append((words, spec))
    heading = f"Found in memory [%]: {found.factors[across]} × {found.factors[down]}"
    return panels(heading, plots, alike=False) if plots else None


def effects(found: Outcomes) -> Spec | None:
    """Ratios of all levels to their references, with intervals."""
    main = [one for one in (found.effects.main if found.effects else ()) if math.isfinite(one.ratio.value)]
    if not main:
        return None
    rows: list[Row] = []
    ratios = found.how.geometric
    for one in main:
        factor, level = one.factors[0], found.levels[one.factors[0]][one.levels[0]].name
        low, high = (one.ratio.low, one.ratio.high) if one.known else (one.ratio.value, one.ratio.value)
        if ratios:  # A bar that goes on has no end in sight.
            low, high = max(low, one.ratio.value / ANY), min(high, one.ratio.value * ANY)
        verdict = "not known" if not one.known else "none or undecided" if one.none else "effect"
        reference = found.levels[factor][found.references[factor]].name
        name = f"{found.factors[factor]}: {level} {'/' if ratios else '−'} {reference}"  # a minus, as it reads
        rows.append({"effect": name, "ratio": one.ratio.value, "low": low, "high": high, "verdict": verdict})
    ends = [row[name] for row in rows for name in ("low", "high")] + [1.0 if ratios else 0.0]
    log = ratios and spans_decades(ends, math.log10(4))
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.06
    domain = [low / 1.1, high * 1.1] if log else [max(low - margin, 0) if ratios else low - margin, high + margin]
    unit = "" if ratios or not found.unit else f" [{found.unit}]"
    title = f"{found.how.label} {'over' if ratios else 'minus'} that at the reference{unit}"
    *others, last = dict.fromkeys(found.factors[one.factors[0]] for one in main)
    few = f"{', '.join(others)} and {last}" if others else last
    varied = few if len(others) < _NAMED else f"{len(others) + 1} factors"
    # Without this, the layers that have no domain of their own would draw the axis from 0.
    scale = dict(type="log" if log else "linear", domain=domain, nice=False, zero=False)
    ticks = {"values": log_ticks(*domain)} if log else {"tickCount": 6}
    shown = {"title": title + ", log scale" * log, "labelExpr": "format(datum.value, ',.6~r')", **ticks}
    x = channel("ratio:Q", scale=scale, axis=shown)
    y = channel("effect:N", sort=[row["effect"] for row in rows], axis=dict(title=None, labelLimit=440),
              scale=dict(type="point", padding=0.9))  # The figure above the first row has room.  # fmt: skip
    names = ["effect", "none or undecided", "not known"]
    colour = channel("verdict:N", scale=dict(domain=names, range=[HUES[0], "#999999", "#999999"]), legend=None)
    known = "bars: simultaneous 95% intervals; grey: no significant effect"
    bars = known if any(one.known for one in main) else "intervals unknown" + ": one block" * bool(_unknown(found))
    base, bare = Chart("effects"), channel("ratio:Q", axis=None)
    tips = ["effect:N", *(channel(f"{name}:Q", format=".4~r") for name in ("ratio", "low", "high")), "verdict:N"]
    spec = finish(
        [
            Chart("one")
            .mark("rule", color=GREY, strokeDash=[4, 3])
            .encode(x=channel("value:Q", axis=None)),
            base.mark("rule", strokeWidth=2).encode(x=channel("low:Q", axis=None), x2="high:Q", y=y, color=colour),
            base.mark("point", filled=True, size=60, opacity=1).encode(x=x, y=y, color=colour, tooltip=tips),
            base.mark("text", dy=-8, fontSize=10).encode(
                x=bare, y=y, color=colour, text=channel("ratio:Q", format=".3~r" if ratios else "+.3~r")
            ),
        ],
        name="study-effects",
        archive="the study",
        data={"effects": rows, "one": [{"value": 1.0 if ratios else 0.0}]},
        title=vega.title(text=f"Effects of {varied}", subtitle=[*_work(found), bars]),
        description="Ratio of each level to the reference of its factor, with its interval.",
    )
    return {**spec, "height": max(_ROW * len(rows) + 20, 80)}


def rates(found: Outcomes, factor: int, form: Form | None = "log") -> Spec | None:
    """Over the scale a curve for each level (the paper, figures 8, 30 and 43), with the DSI of each; ``None`` with one
    scale."""
    clients = max((point.clients for one in found.made for point in one.values), default=0)
    curves: list[dict[int, Span]] = []
    for alike in found.alike(factor):
        spans: dict[int, Span] = {}
        for x in sorted({point.scale for one in alike for point in one.values if point.clients == clients} - {0}):
            values = [one.values.get(Point(clients, x), math.nan) for one in alike]
            known = [value for value in values if math.isfinite(value)]
            if known:
                spans[x] = found.mean(known), min(known), max(known)
        curves.append(spans)
    if len({x for spans in curves for x in spans}) < 2:
        return None
    # A number alone says nothing in a legend.
    of = f"{found.factors[factor]} "
    names = [of * (level.number is not None) + level.name for level in found.levels[factor]]
    drawn = [(name, spans) for name, spans in zip(names, curves, strict=True) if spans]
    indices = {name: tell_index(combine_indices(found, alike, clients))
               for name, alike in zip(names, found.alike(factor), strict=True)}  # fmt: skip
    ends = [value for _, spans in drawn for span in spans.values() for value in span]
    if form == "log" and not found.how.geometric:
        return None
    if form == "linear" and found.how.geometric and not spans_decades(ends, 0.7):
        return None
    sizes = [_sizes(one) for one in found.made]
    bars = _TRIALS if any(low < high for _, spans in drawn for _, low, high in spans.values()) else _unknown(found)
    notes = _notes(found, bars + (f"; {clients} clients" if clients else ""))
    headline = f"{_title(found)[:1].upper()}{_title(found)[1:]} by {found.factors[factor]}"
    return compared(
        [name for name, _ in drawn], [spans for _, spans in drawn], headline, notes,
        title=_title(found), form=form if found.how.geometric else "linear",
        more={name: words for name, words in indices.items() if words and found.measure in ("rate", "tps")},
        sizes_gb=agreed(sizes) if sizes else {}, marks=_marks(found, factor), name="study-rates", archive="the study",
    )  # fmt: skip


def _sizes(made: Made) -> dict[int, float]:
    """Sizes of its databases in GB, by scale."""
    return {point.scale: size for point, size in made.measured.get("size", {}).items() if math.isfinite(size)}


def _marks(found: Outcomes, factor: int) -> dict[str, float]:
    """The memories that all trials have; and those that the trials of one level have, by its name."""
    common = agreed([one.marks for one in found.made], 0)
    for level, alike in zip(found.levels[factor], found.alike(factor), strict=True):
        own = agreed([one.marks for one in alike], 0) if alike else {}
        common |= {f"{name} ({level.name})": size for name, size in own.items() if name not in common}
    return common


def relative(found: Outcomes, factor: int) -> Spec | None:
    """Each level over the reference by scale (the paper, figures 36 and 37); ``None`` with one scale."""
    if not found.how.geometric:
        return None
    clients = max((point.clients for point in found.points), default=0)
    scales = [point.scale for point in found.points if point.clients == clients]
    if len(scales) < 2:
        return None
    labels, curves = [], []
    for number, level in enumerate(found.levels[factor]):
        spans: dict[int, Span] = {}
        for x in scales:
            if (span := found.relative(factor, number, Point(clients, x))) is not None:
                spans[x] = span
        if spans:
            labels.append(level.name)
            curves.append(spans)
    ends = [value for curve in curves for span in curve.values() for value in span]
    if len(curves) < 2:
        return None
    reference = found.levels[factor][found.references[factor]].name
    note = "bars: minimum to maximum of the blocks" + (f"; {clients} clients" if clients else "")
    return compared(
        labels, curves, f"{found.factors[factor]}: relative to {reference}", [note], level=1.0,
        title=f"relative {found.how.label}", form="linear" if max(ends) / min(ends) < 10 else "log",
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
    log = share_inks(rows, log=found.how.geometric)
    for row in rows:
        row["shown"] = f"{row['value']:,.0f}" if row["value"] >= 100 else f"{row['value']:.3g}"
    sorts = [[level.name for level in found.levels[n]] for n in (across, down)]
    # Names that do not fit beside each other are slanted: of those that overlap some would be left out.
    slant = -30 if len(sorts[0]) * max(map(len, sorts[0])) > _LETTERS else 0
    axis = dict(title=found.factors[across], labelAngle=slant, labelOverlap=False, labelLimit=120 if slant else 90)
    x = channel("x:N", sort=sorts[0], axis=axis)
    y = channel("y:N", sort=sorts[1], axis=dict(title=found.factors[down], labelLimit=160))
    base = Chart("fields")
    inks = (("datum.dark", "#ffffff"), ("!datum.dark", "#000000"))  # Not by name: a dark page swaps the named ones.
    shades = dict(type="log" if log else "linear", scheme="viridis", zero=False, nice=False)
    legend = dict(title=found.unit or found.measure, **choose_ticks(rows, log=log))
    colour = channel("value:Q", scale=shades, legend=legend)
    layers = [
        base.mark("rect").encode(x=x, y=y, color=colour, tooltip=["x:N", "y:N", channel("value:Q", format=",.4~r")]),
        *(base.only(rule).mark("text", fontSize=12, color=ink).encode(
            x=channel("x:N", sort=sorts[0], axis=None), y=y, text="shown:N"
        ) for rule, ink in inks),
    ]  # fmt: skip
    spec = finish(
        layers,
        name="study-heat",
        archive="the study",
        data={"fields": rows},
        title=vega.title(f"{found.factors[across]} × {found.factors[down]}", subtitle=_notes(found, _unknown(found))),
        description="Geometric mean of the trials at each pair of levels of two factors.",
    )
    return {**spec, "height": min(max(46 * len(sorts[1]), 120), 400)}


def _beside_numbers(found: Outcomes, factor: int) -> int | None:
    """The other factor that goes with most of what is left, of those of which several levels were tried at several of
    ``factor``; the one of a pair that was chosen."""
    others = [n for n in range(len(found.factors)) if n != factor and _crossed(found, factor, n)]
    chosen = [n for pair in found.pairs if factor in pair for n in pair if n in others]
    return chosen[0] if chosen else max(others, key=lambda n: share(found, (factor, n)), default=None)


def lines(found: Outcomes, factor: int, beside: int | None = None) -> Spec | None:
    """Over the numbers of a factor, a line for each level of the factor ``beside``, or of that of ``_beside_numbers``.

    ``None`` where the levels of ``factor`` are no numbers, or fewer than three.
    """
    numbers = [level.number for level in found.levels[factor]]
    if len(numbers) < 3 or any(number is None for number in numbers):
        return None
    beside = _beside_numbers(found, factor) if beside is None else beside
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
        dict(type="log", domain=[known[0] / 1.15, known[-1] * 1.15], nice=False)
        if log
        else dict(zero=False, nice=False, padding=14)
    )
    x = channel(
        "number:Q",
        scale=scale,
        axis=dict(values=known, labelExpr=number_labels(), title=found.factors[factor] + ", log scale" * log),
    )
    look, base, bare = looks(names), Chart("lines"), channel("number:Q", axis=None)
    what = f", by {found.factors[beside]}" if beside is not None else ""
    return finish(
        [
            base.mark("line", strokeWidth=1.8).encode(x=x, y=y.y("rate"), color=look.colour, strokeDash=look.dash),
            base.mark("rule", strokeWidth=1.1, opacity=0.75).encode(x=bare, y="low:Q", y2="high:Q", color=look.colour),
            base.mark("point", filled=True, size=46, opacity=1).encode(
                x=bare, y="rate:Q", color=look.colour, shape=look.shape,
                tooltip=["archive:N", channel("number:Q", title=found.factors[factor]),
                         channel("rate:Q", format=",.4~r")],
            ),
        ],
        name="study-lines", archive="the study", data={"lines": rows},
        title=vega.title(f"Over {found.factors[factor]}{what}",
                              subtitle=_notes(found, _bars(found))),
        description="Values over the numbers of one factor, a line for each level of another.",
    )  # fmt: skip


def _crossed(found: Outcomes, factor: int, other: int) -> bool:
    """Whether two levels of ``other`` or more were tried with two of ``factor`` or more."""
    pairs = {(one.at[other], one.at[factor]) for one in found.made}
    return sum(count > 1 for count in Counter(level for level, _ in pairs).values()) > 1


_TRIALS: Final = "; bars: minimum to maximum of the trials"


def _bars(found: Outcomes) -> str:
    return _unknown(found) or _TRIALS


def _unknown(found: Outcomes) -> str:
    """That nothing tells how much trials scatter, where none repeats another."""
    return "; one block: spread unknown" if len({one.trial.block for one in found.made}) < 2 else ""


def _lines(found: Outcomes, factor: int, beside: int | None) -> list[tuple[int | None, str]]:
    if beside is None:
        return [(None, found.factors[factor])]
    return [(n, f"{found.factors[beside]} {level.name}") for n, level in enumerate(found.levels[beside])]


def frequencies(found: Outcomes, factor: int) -> Spec | None:
    """Cumulative frequencies of the levels in one diagram (the paper, figures 19, 21, 32 and 47), at those of the
    smallest and the largest scale that all trials share, or at those that the study names; without one, each trial at
    its largest."""
    rows: list[Row] = []
    each = found.alike(factor)
    own = [set(one.frequencies) for alike in each for one in alike if one.frequencies]
    common = set.intersection(*own) if own else set()
    named = found.study.spec.frequencies
    drawn = sorted(named if named and common.issuperset(named) else {min(common), max(common)}) if common else []
    ends: list[int | None] = [*drawn] or [None]
    for level, alike in zip(found.levels[factor], each, strict=True):
        for scale in ends:
            at = [one.frequency if scale is None else one.frequencies.get(scale) for one in alike]
            if known := [one for one in at if one is not None and drawable(one)]:
                key = {"archive": level.name, "scale": "" if scale is None else str(scale)}
                rows += [{**key, "ms": ms, "longer": share} for ms, share in _pooled(known)]
    names = list(dict.fromkeys(row["archive"] for row in rows))
    if len(names) < 2:
        return None
    low, high = log_domain((row["ms"] for row in rows), margin=1.15)
    ticks = dict(values=log_ticks(low, high), labelExpr=number_labels(), title="latency [ms], log scale")
    x = channel("ms:Q", scale=dict(type="log", domain=[low, high], nice=False), axis=ticks)
    rarest = min(row["longer"] for row in rows)
    y = ValueAxis("share of transactions that take longer", min(10 ** math.floor(math.log10(rarest)), 0.1), 1.0, True)
    look = looks(names)
    dash, where = look.dash, "each at its largest scale" if ends == [None] else f"at scale {ends[0]}"
    if len(ends) > 1:
        order = [str(one) for one in reversed(ends)]
        dash = channel("scale:N", scale=dict(domain=order, range=[[1, 0], [5, 3]]), legend=None)
        where = f"solid: scale {order[0]}, dashed: scale {order[1]}"
    return finish(
        [Chart("freq").mark("line", strokeWidth=1.5, interpolate="step-after").encode(
            x=x, y=y.y("longer"), color=look.colour, strokeDash=dash, order=channel("ms:Q"),
            tooltip=["archive:N", "scale:N", channel("ms:Q", format=",.4~r"), channel("longer:Q", format=".3~g")])],
        name="study-freq", archive="the study", data={"freq": rows},
        title=vega.title(f"Cumulative frequencies by {found.factors[factor]}",
                              subtitle=[f"all trials of a level together; {where}"]),
        description="Share of transactions whose latency is longer than x, one line for each level.",
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


def over_files(found: Outcomes, factor: int) -> Spec | None:
    """Results of disk benchmarks over the number of files that they worked on (the paper, figures 50 and 51), a curve
    for each level and a plot for each test."""
    points: dict[str, list[Row]] = {}
    for level, alike in zip(found.levels[factor], found.alike(factor), strict=True):
        for name in sorted({name for one in alike for name in one.probes}):
            if told := _FILES.fullmatch(name):
                values = [value for one in alike if (value := one.probes.get(name, math.nan)) > 0]
                row = {"archive": level.name, "files": int(told[2]), "rate": mean(values),
                       "low": min(values, default=math.nan), "high": max(values, default=math.nan)}  # fmt: skip
                points.setdefault(told[1], []).extend([row] * bool(values))
    plots = [(test, _files_plot(found, factor, test, sorted(rows, key=lambda row: row["files"])))
             for test, rows in points.items() if len({row["files"] for row in rows}) > 1]  # fmt: skip
    if len(plots) < 2:
        return plots[0][1] if plots else None
    return panels(f"Disk benchmarks over the number of files, by {found.factors[factor]}", plots, alike=False)


def _files_plot(found: Outcomes, factor: int, test: str, rows: list[Row]) -> Spec:
    known = sorted({row["files"] for row in rows})
    axis = dict(values=known, labelExpr=number_labels(), title="number of files, log scale")
    scale = dict(type="log", domain=[known[0] / 1.15, known[-1] * 1.15], nice=False)
    x, bare = channel("files:Q", scale=scale, axis=axis), channel("files:Q", axis=None)
    y = ValueAxis.linear(f"{test.partition(': ')[2]} [1/s]", [row["high"] for row in rows])
    look = looks([level.name for level in found.levels[factor]])
    base = Chart("files")
    tips = ["archive:N", "files:Q", channel("rate:Q", format=",.4~r")]
    return finish(
        [
            base.mark("line", strokeWidth=1.8).encode(x=x, y=y.y("rate"), color=look.colour, strokeDash=look.dash),
            base.mark("rule", strokeWidth=1.1, opacity=0.75).encode(x=bare, y="low:Q", y2="high:Q", color=look.colour),
            base.mark("point", filled=True, size=46, opacity=1).encode(
                x=bare, y="rate:Q", color=look.colour, shape=look.shape, tooltip=tips
            ),
        ],
        name="study-files", archive="the study", data={"files": rows},
        title=vega.title(f"{test}, by {found.factors[factor]}",
                              subtitle=["geometric mean of the trials, at the largest scale; bars: minimum to "
                                        "maximum"]),
        description="Results of disk benchmarks over the number of files, a line for each level.",
    )  # fmt: skip


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
    axis = dict(title="second of all cycles, one after another [s]", tickMinStep=1, format="d", labelExpr=WHOLE)
    x = channel("second:Q", scale=dict(nice=False), axis=axis)
    look = looks(names)
    return finish(
        [Chart("course").mark("line", strokeWidth=1.5).encode(
            x=x, y=y.y("rate"), color=look.colour, strokeDash=look.dash,
            tooltip=["archive:N", "second:Q", channel("rate:Q", format=",.4~r")])],
        name="study-course", archive="the study", data={"course": rows},
        title=vega.title(f"Course by {found.factors[factor]}",
                              subtitle=["mean over the trials of a level, at the largest scale"]),
        description="Committed transactions of each second, one line for each level.",
    )  # fmt: skip


_OF_FACTOR: Mapping[str, Callable[[Outcomes, int], Spec | None]] = {
    "rate": rates, "linear": partial(rates, form="linear"), "relative": relative, "lines": lines,
    "freq": frequencies, "course": course, "files": over_files,
}  # fmt: skip
"""What is drawn of each factor."""


def _title(found: Outcomes) -> str:
    unit = f" [{found.unit}]" if found.unit else ""
    return f"{'transaction rate' if found.unit == 'tps' else found.how.label}{unit}"


def _notes(found: Outcomes, more: str = "") -> list[str]:
    """Below a title: what was run on what, and what the values are."""
    stage = f"; {found.stage}" if found.stage else ""
    of = f"{'geometric ' * found.how.geometric}mean of the trials [{found.unit or found.how.label}]{stage}"
    return [*_work(found), of + more]


def _work(found: Outcomes) -> list[str]:
    return [f"{found.workload} on {', '.join(found.products)}"] if found.products else []
