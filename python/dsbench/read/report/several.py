"""A comparison as text, as JSON and as files: verdicts, tables, diagrams, one page with all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from dsbench.read.bounds import of_evaluations
from dsbench.read.draw import render
from dsbench.read.draw.several import specs
from dsbench.read.draw.theme import Spec
from dsbench.read.report import stages_compared
from dsbench.read.report.bounds import section_of_bounds
from dsbench.read.report.bounds import spec as spec_of_bounds
from dsbench.read.report.several_page import page
from dsbench.read.report.stage_table import NAMES
from dsbench.read.settings import OF_SERVER
from dsbench.read.side_by_side import TIMES, Comparison, Section
from dsbench.read.stats.values import Interval
from dsbench.read.verdict import basis, verdicts

STEM = "comparison"
OVERALL = "the mean of the factors along lg scale, over the scales that an archive has in common with the first"
_TALL = 40
"""Letters of a value that the text shows."""
_MOST = 30
"""Settings that only some of the archives have, of which the text shows no more."""

Grid = tuple[str, list[list[str]]]
"""A title, and rows whose first cell is their head."""


def text(comparison: Comparison) -> str:
    """The tables for a terminal: a letter stands for each archive, or for the runs of the same settings."""
    letters = tuple(chr(65 + i % 26) + str(i // 26 or "") for i in range(len(comparison.sides)))
    lines = [f"{letter}  {label}" for letter, label in zip(letters, comparison.labels, strict=True)]
    apart = list(comparison.apart())
    lines += ["", *(f"warning: {line}" for line in apart)] if apart else []
    if comparison.stages.staged:
        for title, (heads, *rows) in stages_compared.tables(comparison.stages, letters):
            lines += ["", title, *aligned(heads, rows)]
    for section in comparison.sections:
        lines += ["", section.heading] if section.heading else []
        lines += ["", *(f"{name}  {words}" for name, words in verdicts(comparison, section, letters))]
        for title, rows in grids(section, letters[0]):
            lines += ["", title, *aligned([_head(title), *letters], rows)]
    if any(one.overall for section in comparison.sections for one in section.compared[1:]):
        lines += ["", f"mean: {OVERALL}"]
    if comparison.stages.staged:
        for name, rows in stages_compared.efficiency(comparison.stages, letters):
            lines += ["", f"efficiency, {name}", *aligned(["", *NAMES], rows)]
    lines += _what_differs(comparison, letters)
    lines += ["", *(f"doubt: {line}" for line in comparison.warnings() if line not in apart)]
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _head(title: str) -> str:
    return "scale, quantile" if "time" in title else "scale"


def grids(section: Section, first: str) -> Iterator[Grid]:
    """The tables of a section: rates with their index, relative rates, times, failures, checks."""
    several = any(len(side) > 1 for side in section.evaluations)
    of = "geometric mean of the runs' medians" if several else "median over the cycles"
    yield f"rate, {of}, {section.measure}", list(_rates(section))
    yield f"rate relative to {first}, 95 % interval {basis(section)}; = is within the noise", list(_factors(section))
    yield from _parts(section, first)
    which = "response times from the intended start" if section.waits else "residence times"
    yield f"{which}, ms", list(_times(section))
    yield "failed attempts", [
        [str(x), *(_share(section.failed_share(at, x)) for at in _sides(section))] for x in section.begun
    ]
    checks = [[str(x), *(_check(section, at, x) for at in _sides(section))] for x in section.begun]
    yield "check of the database", checks


def _sides(section: Section) -> range:
    return range(len(section.evaluations))


def _rates(section: Section) -> Iterator[list[str]]:
    for scale in section.scales:
        yield [str(scale), *(_rate(one.medians.get(scale)) for one in section.compared)]
    if section.measure == "tps":
        yield ["DSI", *(_index(section.dsi(at)) for at in _sides(section))]
    yield ["of scales", *(_span(one.medians) for one in section.compared)]


def _factors(section: Section) -> Iterator[list[str]]:
    for scale in section.scales:
        yield [str(scale), *(_factor(one.relative.get(scale)) for one in section.compared)]
    if len(section.scales) > 1:
        yield ["mean", *(_factor(one.overall) for one in section.compared)]


def _times(section: Section) -> Iterator[list[str]]:
    for scale in section.begun:
        for quantile, name in TIMES.items():
            yield [f"{scale}, {name}", *(_short(section.time_ms(at, scale, quantile)) for at in _sides(section))]


def _check(section: Section, side: int, scale: int) -> str:
    found = {_of_check(one, scale) for one in section.evaluations[side]}
    return next((word for word in ("FAILED", "not made", "holds") if word in found), "–")


def _of_check(one: Any, scale: int) -> str:
    if scale in one.void_scales:
        return "FAILED"
    if all(row.scale != scale for row in one.scales):
        return ""
    return "not made" if any(d.code == "unchecked" and d.scale == scale for d in one.doubts) else "holds"


def _index(found: Interval | None) -> str:
    if found is None:
        return "–"
    return f"{found.value:.2f}" + (f" [{found.low:.2f}, {found.high:.2f}]" if isfinite(found.low) else "")


def _parts(section: Section, first: str) -> Iterator[Grid]:
    """Which scales carry the difference of the DSIs; nothing where no side has one."""
    parts = [section.dsi_parts(at) for at in _sides(section)]
    if section.measure == "tps" and any(parts[1:]):
        rows = [[str(x), *("–" if x not in one else f"{one[x]:+.3f}" for one in parts)] for x in section.scales]
        sums = ["sum", *(f"{sum(one.values()):+.3f}" if one else "–" for one in parts)]
        yield f"part of each scale in the difference of the DSI from that of {first}", [*rows, sums]


def _span(medians: Mapping[int, float]) -> str:
    return f"{min(medians)}–{max(medians)}" if medians else "–"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else _short(rate)


def _short(value: float) -> str:
    if not isfinite(value):
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _share(share: float) -> str:
    return f"{share:.1%}" if isfinite(share) else "–"


def _factor(factor: Interval | None) -> str:
    if factor is None or not isfinite(factor.value):
        return "–"
    if factor.value == factor.low == factor.high == 1:
        return "1"
    within = f" [{factor.low:.2f}, {factor.high:.2f}]" if isfinite(factor.low) else ""
    return f"{factor.value:.2f}{within}" + (" =" if factor.holds_one else "")


def _what_differs(comparison: Comparison, letters: Sequence[str]) -> list[str]:
    """What somebody changed comes first, behind it what products have that others do not know."""
    changed = comparison.changed
    others = {name: values for name, values in comparison.differences.items() if name not in changed}
    lines = ["", *aligned(["differs", *letters], list(difference_rows(changed, _TALL)))] if changed else []
    if others:
        shown = dict(list(others.items())[:_MOST])
        lines += ["", *aligned(["not all of them have", *letters], list(difference_rows(shown, _TALL)))]
    if len(others) > _MOST:
        lines.append(f"and {len(others) - _MOST} more: see --json, or the page of --out")
    return lines


def difference_rows(differences: Mapping[str, Sequence[str]], longest: int) -> Iterator[list[str]]:
    """Settings with their values, cut to the ``longest`` that is shown; what a server was not told is its default."""
    for name, values in differences.items():
        unsaid = "default" if name.startswith(OF_SERVER) else ""
        yield [name, *(v if len(v) <= longest else v[: longest - 1] + "…" for v in (v or unsaid for v in values))]


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table: the first column to the left, all others to the right."""
    cells = [list(heads), *map(list, rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    return ["  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in cells]  # fmt: skip


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values; ``null`` where there is nothing. ``archives`` are those of the last section."""
    sections = [_section(comparison, section) for section in comparison.sections]
    return {
        "reference": comparison.labels[0],
        "archives": sections[-1]["archives"],
        "sections": sections,
        "stages": stages_compared.document(comparison.stages, comparison.labels),
        "differences": {name: list(values) for name, values in comparison.differences.items()},
        "doubts": list(comparison.warnings()),
    }


def _section(comparison: Comparison, section: Section) -> dict[str, Any]:
    return {
        "heading": section.heading,
        "measure": section.measure,
        "interval": basis(section),
        "verdicts": dict(verdicts(comparison, section, comparison.labels)),
        "archives": [_side(comparison, section, at) for at in _sides(section)],
    }


def _side(comparison: Comparison, section: Section, at: int) -> dict[str, Any]:
    runs, one = section.evaluations[at], section.compared[at]
    index = runs[0].index if runs else None
    parts = section.dsi_parts(at)
    names = [found.name for found in comparison.sides[at].evaluations]
    return {
        "label": comparison.labels[at],
        "name": names[0],
        "names": names,
        "dsi": _interval(section.dsi(at)),
        "dsi_parts": {str(x): part for x, part in parts.items()},
        "dsi_scales": [index.lowest_scale, index.highest_scale] if index else None,
        "relative_mean": _interval(one.overall),
        "scales": {
            str(scale): {
                "rate_median_tps" if section.measure == "tps" else "nopm_median": one.medians.get(scale),
                "relative": _interval(one.relative.get(scale)),
                "within_noise": scale in one.relative and one.relative[scale].holds_one,
                "times_ms": {name: _finite(section.time_ms(at, scale, q)) for q, name in TIMES.items()},
                "failed_share": _finite(section.failed_share(at, scale)),
                "check": _check(section, at, scale),
            }
            for scale in section.begun if any(row.scale == scale for found in runs for row in found.scales)
        },
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _interval(interval: Interval | None) -> dict[str, float | None] | None:
    if interval is None or not isfinite(interval.value):
        return None
    return {name: _finite(getattr(interval, name)) for name in ("value", "low", "high", "level")}


def html(comparison: Comparison, drawn: Mapping[str, Spec] | None = None) -> str:
    """The page; ``drawn`` are its diagrams, if they exist already."""
    parts = [(section, list(grids(section, comparison.labels[0]))) for section in comparison.sections]
    differences = list(difference_rows(comparison.differences, 200))
    shown = dict(specs(comparison) if drawn is None else drawn)
    known = [pair for side in comparison.sides for pair in zip(side.runs, side.evaluations, strict=True)]
    bounds = of_evaluations(known)
    if bounds.bounds:
        shown["bound"] = spec_of_bounds(bounds, bounds.bounds[0].whole.system)
    return page(comparison, shown, parts, differences, OVERALL, section_of_bounds(bounds))


def files(comparison: Comparison) -> dict[str, bytes]:
    """File name to content: comparison.txt, .json and .html, and each diagram as .vl.json, .svg and .pdf."""
    drawn = specs(comparison)
    found = {
        f"{STEM}.txt": text(comparison).encode(),
        f"{STEM}.json": (json.dumps(document(comparison), indent=2, ensure_ascii=False) + "\n").encode(),
        f"{STEM}.html": html(comparison, drawn).encode(),
    }
    for name, spec in drawn.items():
        found |= render.drawn_as(STEM if name == "rate" else f"{STEM}-{name}", spec)
    return found
