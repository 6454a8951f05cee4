"""Pictures of a page that changes each second, as SVG out of numbers and of our own words only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.measure.moments import format_time
from dsbench.web.parts import number

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BELOW = 560, 240, 52, 84, 22
_POINTS: Final = 600
"""Points of a line, at most: longer courses are shown in steps."""


@dataclass(frozen=True)
class Line:
    """Values over the time, with their name."""

    name: str
    points: Sequence[tuple[float, float]]
    """Seconds and value; a nan ends a piece of the line."""


def draw_lines(lines: Sequence[Line], what: str, unit: str, borders: Mapping[float, str], until_s: float) -> str:
    """Lines from 0 to the greatest value of all, each with its last value at its end; ``borders`` are times with names.

    ``what`` they are, in ``unit``.
    """
    values = [value for line in lines for _, value in line.points if math.isfinite(value)]
    top, end_s = _round_up(max(values, default=0.0)), max(until_s, 1.0)
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BELOW - 8

    def x(at_s: float) -> float:
        return _LEFT + min(at_s, end_s) / end_s * wide

    def y(value: float) -> float:
        return 8 + (1 - value / top) * high

    drawn = "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(share * top):.0f}" y2="{y(share * top):.0f}"/>'
        f'<text x="{_LEFT - 8}" y="{y(share * top) + 4:.0f}" text-anchor="end">{number(share * top)}</text>'
        for share in (0.0, 0.25, 0.5, 0.75, 1.0) if share in (0.0, 0.5, 1.0) or values
    )  # fmt: skip
    drawn += f'<text x="{_LEFT}" y="{_HEIGHT - 4}">0</text>'
    drawn += f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">{format_time(until_s)} of load</text>'
    for at_s, name in borders.items():
        drawn += f'<line class="border" x1="{x(at_s):.1f}" x2="{x(at_s):.1f}" y1="8" y2="{8 + high}"/>'
        drawn += f'<text x="{x(at_s) + 4:.1f}" y="18">{name}</text>'
    said, all_pieces = "", [_pieces(line.points) for line in lines]
    ends = _ends([pieces[-1][-1][1] if pieces else math.nan for pieces in all_pieces], y)
    for at, (line, pieces) in enumerate(zip(lines, all_pieces, strict=True)):
        drawn += "".join(
            f'<polyline class="line-{at}" points="{" ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in piece)}"/>'
            for piece in pieces
        )
        drawn += "".join(
            f'<circle class="line-{at}" cx="{x(s):.1f}" cy="{y(v):.1f}" r="2"/>'
            for piece in pieces if len(piece) == 1 for s, v in piece
        )  # fmt: skip
        if pieces:
            last = format_number(pieces[-1][-1][1])
            said += f", {line.name} {last} {unit}"
            label = f"{line.name} {last}" if len(lines) > 1 else f"{last} {unit}"
            drawn += f'<text class="line-{at}" x="{_WIDTH - _RIGHT + 6}" y="{ends[at]:.0f}">{label}</text>'
    whole = f"{what}{said}, the greatest {number(max(values))} {unit}" if values else f"{what}: none yet"
    if not values:
        middle = f'x="{_LEFT + wide / 2:.0f}" y="{_HEIGHT / 2:.0f}"'
        drawn += f'<text {middle} text-anchor="middle">no cycle has begun</text>'
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{whole}">{drawn}</svg>'


def draw_sparkline(curve: Sequence[tuple[int, float]]) -> str:
    """A small curve of rates over scales, both as powers of ten; a point where there is one."""
    shown = [(math.log(scale), math.log(rate)) for scale, rate in curve if scale > 0 and 0 < rate < math.inf]
    if not shown:
        return ""
    (left, right), (low, high) = ((min(values), max(values)) for values in zip(*shown, strict=True))
    # Rates that differ by less than twofold are a flat line: chance must not look like a mountain.
    middle, reach = (low + high) / 2, max(high - low, math.log(2))
    at = [(4 + 112 * ((x - left) / (right - left) if right > left else 0.5), 24 - 40 * (y - middle) / reach)
          for x, y in shown]  # fmt: skip
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    points = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>' for x, y in at)
    words = f"rate over scales {curve[0][0]:,} to {curve[-1][0]:,}"
    return f'<svg viewBox="0 0 120 48" role="img" aria-label="{words}"><polyline points="{line}"/>{points}</svg>'


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 5, 8 and 10 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value * 0.999)


def _ends(values: Sequence[float], y: Callable[[float], float]) -> list[float]:
    """Where the names of lines stand beside their ends: two that would touch are moved apart."""
    at = [y(value) + 4 if math.isfinite(value) else _HEIGHT / 2 for value in values]
    if len(at) == 2 and abs(at[0] - at[1]) < 14:
        middle, first = sum(at) / 2, 1 if at[0] > at[1] else -1
        at = [middle + 7 * first, middle - 7 * first]
    return at


def _pieces(points: Sequence[tuple[float, float]]) -> list[list[tuple[float, float]]]:
    found: list[list[tuple[float, float]]] = [[]]
    for at_s, value in points:
        if math.isfinite(value):
            found[-1].append((at_s, value))
        elif found[-1]:
            found.append([])
    return [piece for piece in found if piece]


def thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most some hundred points, each the mean of a few neighbours; the ends of cycles stay."""
    step = math.ceil(len(points) / _POINTS)
    if step < 2:
        return points
    found, few = list[tuple[float, float]](), list[tuple[float, float]]()
    for point in points:
        few.append(point)
        whole = [one for one in few if math.isfinite(one[1])]
        if len(few) == step or not math.isfinite(point[1]):
            if whole:
                found.append((sum(s for s, _ in whole) / len(whole), sum(v for _, v in whole) / len(whole)))
            found += [point] if not math.isfinite(point[1]) else []
            few = []
    return found
