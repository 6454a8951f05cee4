"""The stages of a study side by side, as in reports on the Insert Benchmark: a row for each level, a column for each
stage, absolute and relative, and the effects in each stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from dsbench.format import DOWN, FAILED, NONE, UP, format_number
from dsbench.read.blocks import Column, Table
from dsbench.stats.effects import LEVEL, Effect
from dsbench.study.results import Outcomes, is_of_run

Key = tuple[tuple[int, ...], tuple[int, ...]]
"""Factors of an effect, and their levels."""


def name_effect(found: Outcomes, one: Effect) -> str:
    """``isolation serializable against read-committed``, or two levels that are together."""
    levels = [
        (found.factors[at], found.levels[at][level].name) for at, level in zip(one.factors, one.levels, strict=True)
    ]
    if len(levels) == 2:
        return " with ".join(f"{factor} {level}" for factor, level in levels)
    (factor, level), reference = levels[0], found.references[one.factors[0]]
    return f"{factor} {level} against {found.levels[one.factors[0]][reference].name}"


def show_effect(one: Effect) -> str:
    """``0.83 [0.75, 0.92]``; a difference has its sign."""
    if not isfinite(one.ratio.value):
        return NONE
    form = ".3g" if one.neutral else "+.3g"
    within = f" [{one.ratio.low:{form}}, {one.ratio.high:{form}}]" if one.known and not one.anything else ""
    return f"{one.ratio.value:{form}}{within}"


def each_stage(found: Outcomes) -> dict[str, Outcomes]:
    """Every stage in which some trial has the measure, in order, with intervals that hold for all of them together;
    none where it is one of the whole run."""
    if is_of_run(found.made, found.measure):
        return {}
    parts = {name: found.choose(stage=name) for name in found.stages}
    known = {name: part for name, part in parts.items() if any(isfinite(part.value(one)) for one in part.made)}
    return {name: part.put_beside(len(known)) for name, part in known.items()}


def tabulate_stages(found: Outcomes) -> Iterator[Table]:
    """Each level in each stage: absolute, relative to the reference of its factor, and the effects with intervals."""
    parts = each_stage(found)
    ratios, rate = found.how.geometric, found.measure == "rate"
    missed = f"; {FAILED} if background work missed its target rate in a trial" if rate else ""
    what = "rate" if rate else found.how.about
    title = f"{what} by stage, {'geometric means' if ratios else 'means'} of the trials{missed}"
    yield Table(title, _columns({name: part.unit for name, part in parts.items()}), _absolute(found, parts))
    signs = f"{DOWN} {UP} where the interval of the effect excludes {1 if ratios else 0}"
    title = f"{'relative to' if ratios else 'minus'} the reference of the factor; {signs}"
    yield Table(title, _columns(dict.fromkeys(parts, "")), _relative(found, parts))
    for kind, title in (("main", "effects"), ("interactions", "interactions")):
        if rows := _effects(parts, kind):
            kinds = "ratios" if ratios else "differences"
            title += f" by stage, as {kinds} with {LEVEL:.0%} intervals of all stages together"
            yield Table(title, [Column("", left=True), *map(Column, parts)], rows)


def _columns(units: Mapping[str, str]) -> list[Column]:
    ahead = [Column("factor", left=True), Column("level", left=True)]
    return [*ahead, *(Column(name, unit, digits=4, signed=True) for name, unit in units.items())]


def _absolute(found: Outcomes, parts: Mapping[str, Outcomes]) -> list[list[Any]]:
    rows = []
    for factor, levels in enumerate(found.levels):
        for number, level in enumerate(levels):
            mark = " (reference)" if number == found.references[factor] else ""
            cells: list[Any] = []
            for name, part in parts.items():
                alike = part.alike(factor)[number]
                value = part.mean(map(part.value, alike))
                bad = found.measure == "rate" and any(name in one.stages and one.stages[name].missed for one in alike)
                cells.append(f"{format_number(value, digits=4)} {FAILED}" if bad else value)
            rows.append([found.factors[factor], level.name + mark, *cells])
    return rows


def _relative(found: Outcomes, parts: Mapping[str, Outcomes]) -> list[list[Any]]:
    """Of the levels that are no reference."""
    rows = []
    for factor, levels in enumerate(found.levels):
        reference = found.references[factor]
        for number, level in enumerate(levels):
            if number != reference:
                cells = [_against(part, factor, number, reference) for part in parts.values()]
                rows.append([found.factors[factor], level.name, *cells])
    return rows


def _against(part: Outcomes, factor: int, number: int, reference: int) -> str:
    """A level of a factor against the reference in one stage: the quotient of their means, or the difference."""
    alike = part.alike(factor)
    one, other = (part.mean(map(part.value, alike[at])) for at in (number, reference))
    key = (factor,), (number,)
    effect = next((found for found in getattr(part.effects, "main", ()) if (found.factors, found.levels) == key), None)
    sign = "" if effect is None or not effect.known or effect.none else UP if effect.size > 0 else DOWN
    times = part.how.geometric
    return f"{format_number(one / other, form='.2f') if times else format_number(one - other, form='+.3g')}{sign}"


def _effects(parts: Mapping[str, Outcomes], kind: str) -> list[list[Any]]:
    found: dict[Key, dict[str, tuple[str, Effect]]] = {}
    for name, part in parts.items():
        for one in getattr(part.effects, kind, ()):
            found.setdefault((one.factors, one.levels), {})[name] = (name_effect(part, one), one)
    return [
        [next(iter(cells.values()))[0], *(show_effect(cells[name][1]) if name in cells else NONE for name in parts)]
        for cells in found.values()
    ]
