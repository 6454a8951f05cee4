"""What a comparison begins with: a sentence, and every rate divided by that of the reference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite, isnan
from typing import Any, Final

from dsbench.format import format_share
from dsbench.read.blocks import Column, Overview, Ratio, Table
from dsbench.read.naming import listed
from dsbench.several import noise
from dsbench.several.compare import Comparison, Section, basis
from dsbench.stats.precision import FEWEST
from dsbench.stats.search import say_ends, say_rate
from dsbench.stats.values import Interval

_MOST_WITH_INTERVALS: Final = 3
"""Columns of a terminal's table in which intervals stand."""
SLOWER: Final = 0.95
FASTER: Final = 1.05
"""Ratios between the two are told to be about 1."""


def answer(comparison: Comparison) -> Overview:
    """The sentence, and how sure it is."""
    sections = [one for one in comparison.sections if _factors(one)]
    about = f"{comparison.extent}; relative to {_reference(comparison)}"
    if comparison.stages.staged:
        about += f"; {_say_basis(comparison)}"
    elif sections:
        known = any(isfinite(one.low) for one in _factors(sections[0]).values())
        without = "no intervals: the steps of the searches do not give any" if sections[0].searched else \
            f"no intervals below {FEWEST} cycles of each scale"
        about += f"; grey: no significant difference; 95% intervals {basis(sections[0])}" if known else \
            f"; {without}, so no difference is significant"
    if comparison.alike and len(comparison.sides) > 2:
        same = _join(_labels(comparison)[at] for at in sorted(comparison.alike))
        about += f"; {same} has the settings of the first: differences between them are chance"
    dangers = [f"{line[:1].upper()}{line[1:]}." for line in comparison.apart()] + _say_noise(comparison, sections)
    noun = "number of clients" if comparison.of_one_run else "run"
    about = "; ".join([about, *comparison.tally.say_unknown(noun)])
    return Overview(_say(comparison, sections), about, dangers, verdict=comparison.tally.say(noun))


def _say_noise(comparison: Comparison, sections: Sequence[Section]) -> list[str]:
    """What is known of the noise of this machine, where it may be all that a difference between single runs is."""
    runs = [run for side in comparison.sides for run in side.runs]
    if comparison.stages.staged or comparison.of_one_run or len(runs) > len(comparison.sides):
        return []
    sizes = [max(one.value, 1 / one.value) for section in sections if not section.searched
             for one in _factors(section).values() if one.low > 1 or one.high < 1]  # fmt: skip
    if not sizes or (limit := noise.limit_of_pairs(runs)) is None or min(sizes) >= limit[0]:
        return []
    return [f"On this machine 95% of pairs of runs that do the same differ by less than {format_share(limit[0] - 1)} "
            f"(dsbench noise, {limit[1]}): a smaller difference may be chance. "
            "Repeat the runs, or use dsbench ab."]  # fmt: skip


def _reference(comparison: Comparison) -> str:
    return _join(_labels(comparison)[base] for base in dict.fromkeys(comparison.stages.bases))


def _labels(comparison: Comparison) -> list[str]:
    """Of the sides, without how many runs they are of."""
    return [re.sub(r" \(\d+ runs\)$", "", label) for label in comparison.labels]


def _join(words: Iterable[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _factors(section: Section) -> dict[int, Interval]:
    """Of each side with a rate beside its reference: the mean over the scales, or that of the only one."""
    found = {}
    for at, one in enumerate(section.compared):
        sound = [factor for factor in one.relative.values() if isfinite(factor.value)]
        factor = one.overall or (sound[0] if len(sound) == 1 else None)
        if at != section.bases[at] and factor is not None and isfinite(factor.value):
            found[at] = factor
    return found


def _say(comparison: Comparison, sections: Sequence[Section]) -> str:
    if "spec.workload" in comparison.differences:
        return "The workloads differ: their rates count different transactions."
    if comparison.stages.staged:
        return _say_stages(comparison)
    if not sections:
        searched = comparison.sections[0].searched
        return f"No scale has a {'highest rate with the objective' if searched else 'rate'} on both sides."
    if len(sections) == 1 and len(comparison.sides) == 2:
        return _say_pair(comparison, sections[0])
    found = {(number, at): factor for number, one in enumerate(sections) for at, factor in _factors(one).items()}
    apart = {key: one for key, one in found.items() if Ratio(one.value, one.low, one.high).apart}
    if not apart:
        if not any(isfinite(one.low) for one in found.values()):
            few = "Searches without intervals rank none" if sections[0].searched else "So few cycles rank none"
            return f"{few} apart from {_reference(comparison)}."
        return _say_alike(found.values(), f"None differs significantly from {_reference(comparison)}", "")

    def who(key: tuple[int, int], word: str) -> str:
        section = sections[key[0]]
        base = _labels(comparison)[section.bases[key[1]]]
        where = f" with {section.heading}" if len(comparison.sections) > 1 else ""
        if section.searched:
            most = f"has the {'highest' if word == 'fastest' else 'lowest'} capacity"
            return f"{_labels(comparison)[key[1]]} {most}{where}, {apart[key].value:.2f} times that of {base}"
        return f"{_labels(comparison)[key[1]]} is the {word}{where}, {apart[key].value:.2f} times as fast as {base}"

    best, worst = (pick(apart, key=lambda key: apart[key].value) for pick in (max, min))
    said = [who(best, "fastest")] if apart[best].value > 1 else []
    said += [who(worst, "slowest")] if apart[worst].value < 1 else []
    return f"{'; '.join(said)}."


def _say_pair(comparison: Comparison, section: Section) -> str:
    (at, factor), base = next(iter(_factors(section).items())), _labels(comparison)[0]
    other = _labels(comparison)[at]
    scales = {x: one for x, one in section.compared[at].relative.items() if isfinite(one.value)}
    over = f" over scales {min(scales):,} to {max(scales):,}" if len(scales) > 1 else f" at scale {min(scales):,}"
    within = f" ({factor.low:.2f} to {factor.high:.2f})" if isfinite(factor.low) else ""
    figure = f"{_times(section, f'{factor.value:.2f}', base)}{within}{over}"
    if section.searched and len(scales) == 1:
        figure += _say_capacities(section, at)
    if at in comparison.alike:
        return f"Two runs with the same settings: one {figure}."
    apart = {x: one.value > 1 for x, one in scales.items() if one.low > 1 or one.high < 1}
    if not isfinite(factor.low):
        few = "the searches have no interval" if section.searched else "too few cycles to rule out chance"
        return f"{other} {figure}; {few}."
    if not apart and factor.holds_one:
        return _say_alike([factor], "Cannot tell", f": {other} {figure}")
    if 0 < len(apart) < len(scales):
        return _say_where(section, (other, base), apart, scales)
    if len(set(apart.values())) > 1:
        faster, slower = (listed(x for x, up in apart.items() if up is wanted) for wanted in (True, False))
        if section.searched:
            return f"{other} has a higher capacity than {base} at scale {faster}, and a lower one at scale {slower}."
        return f"{other} is faster than {base} at scale {faster}, and slower at scale {slower}."
    return f"{other} {figure}."


def _say_alike(factors: Iterable[Interval], unknown: str, figure: str) -> str:
    """No difference is one where no interval leaves room for a larger one; else it is ``unknown``."""
    ends = [end for one in factors for end in (one.low, one.high)]
    if all(SLOWER <= end <= FASTER for end in ends):
        most = max(max(end, 1 / end) - 1 for end in ends)
        return f"No difference of more than {most:.1%}{figure}."
    return f"{unknown}{figure}."


def _times(section: Section, times: str, base: str) -> str:
    """``is 1.20 times as fast as A``."""
    return f"has {times} times the capacity of {base}" if section.searched else f"is {times} times as fast as {base}"


def _say_capacities(section: Section, at: int) -> str:
    """Of one scale both capacities with their intervals, or what there is of one."""
    (scale,) = (x for x, one in section.compared[at].relative.items() if isfinite(one.value))
    ours, theirs = (say_capacity(section.capacity(side, scale), " tps") for side in (at, section.bases[at]))
    kept, other = (section.objectives(side) for side in (at, section.bases[at]))
    if kept == other:
        return f": {ours} against {theirs}, with {kept}"
    return f": {ours} with {kept} against {theirs} with {other}"


def say_capacity(found: Interval, unit: str = "") -> str:
    """``6,200 (5,900 to 6,450)``; an end that is not known is told, but for the median of several runs."""
    if not isfinite(found.value):
        return "not known"
    return say_rate(found.value) + unit + ("" if isnan(found.low) else f" ({say_ends(found.low, found.high)})")


def _say_where(
    section: Section, names: tuple[str, str], apart: Mapping[int, bool], scales: Mapping[int, Interval]
) -> str:
    """At which scales the two differ, where they do not at all of them."""
    values = [scales[x].value for x in apart]
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    times = low if low == high else f"{low} to {high}"
    last, first = list(scales)[-len(apart) :], list(scales)[: len(apart)]
    if len(set(apart.values())) == 1 and list(apart) == last:
        where = f"from scale {last[0]:,} on; below, the two may be equal" if len(last) > 1 else \
            f"at scale {last[0]:,}; below, the two may be equal"
    elif len(set(apart.values())) == 1 and list(apart) == first:
        where = f"up to scale {first[-1]:,}; above, the two may be equal"
    else:
        where = f"at scale {listed(apart)}; elsewhere, the two may be equal"
    return f"{names[0]} {_times(section, times, names[1])} {where}."


def _say_stages(comparison: Comparison) -> str:
    stages, labels = comparison.stages, _labels(comparison)
    columns = range(len(stages.names))
    if len(labels) == 2:
        ratios = [ratio for at in columns if isfinite((ratio := stages.relative(1, at)).value)]
        return _say_two(ratios, (labels[1], labels[0]))
    first = [found for at in columns if (found := _find_fastest(comparison, at)) is not None]
    won = {label: first.count(side) for side, label in enumerate(labels) if side in first}
    said = [f"{label} in {count}" for label, count in sorted(won.items(), key=lambda one: one[1], reverse=True)]
    tied = f"in {first.count(_ALIKE)} the two highest differ by less than {FASTER - 1:.0%}" if _ALIKE in first else ""
    words = "; ".join(part for part in (_join(said) if said else "", tied) if part)
    return f"Highest rate of {len(labels)} in {len(first)} stages: {words}."


def _say_two(ratios: Sequence[Interval], names: tuple[str, str]) -> str:
    """In how many stages the first of ``names`` is the faster one; of single runs, which had the higher rate."""
    known = any(isfinite(one.low) for one in ratios)
    up = sum(one.low > 1 if known else one.value >= FASTER for one in ratios)
    down = sum(one.high < 1 if known else one.value <= SLOWER for one in ratios)
    of, rest = f"{up} of {len(ratios)} stages", len(ratios) - up - down
    if known:
        alike = f"; in {rest}, no difference is significant" if rest else ""
        return f"{names[0]} is faster than {names[1]} in {of} and slower in {down}{alike}."
    if not up and not down:
        return f"In none of {rest} stages do the rates of {names[1]} and {names[0]} differ by {FASTER - 1:.0%} or more."
    alike = f"; in {rest}, they differ by less than {FASTER - 1:.0%}" if rest else ""
    return f"{names[0]} has a higher rate than {names[1]} in {of} and a lower one in {down}{alike}."


def _say_basis(comparison: Comparison) -> str:
    """What the marks of stages rest on."""
    if not _repeated(comparison):
        return "no run was repeated, so stages have no intervals and no difference between them is significant"
    return "grey: no significant difference; 95% intervals, for all stages together, by the spread between runs"


def _repeated(comparison: Comparison) -> bool:
    return any(len(side.runs) > 1 for side in comparison.sides)


_ALIKE: Final = -1
"""In place of the side that is fastest in a stage."""


def _find_fastest(comparison: Comparison, at: int) -> int | None:
    """The side that is fastest in stage number ``at``; ``None`` where none has a rate."""
    stages = comparison.stages
    rates = sorted(((rate, -side) for side in range(len(comparison.sides)) if (rate := stages.rate(side, at)) > 0),
                   reverse=True)  # fmt: skip
    if not rates:
        return None
    return _ALIKE if len(rates) > 1 and rates[0][0] < FASTER * rates[1][0] else -rates[0][1]


def tell_relative(comparison: Comparison, names: Sequence[str], *, brief: bool) -> Iterator[Table]:
    """Rates relative to the reference. For a terminal a row for each scale, for a page one for each side."""
    if comparison.stages.staged:
        yield from _tabulate_stages(comparison, names)
        return
    sections = [one for one in comparison.sections if any(found for at, found in _each(one) if at != one.bases[at])]
    if brief:
        yield from _tabulate_scales(comparison, sections, names)
        return
    for section in sections:
        others = [found for at, found in _each(section) if at != section.bases[at]]
        scales = [x for x in section.scales if any(x in found for found in others)]
        mean = len(scales) > 1
        heads = [Column("", left=True), *(Column(f"scale {x:,}") for x in scales), *[Column("mean")] * mean]
        rows = [
            [names[at], *(found.get(x) for x in scales), *[_ratio(section.compared[at].overall)] * mean]
            for at, found in _each(section) if found
        ]  # fmt: skip
        yield Table(section.heading, heads, rows)


def _each(section: Section) -> Iterator[tuple[int, dict[int, Ratio]]]:
    for at, one in enumerate(section.compared):
        yield at, {x: ratio for x, factor in one.relative.items() if (ratio := _ratio(factor)) is not None}


def _ratio(factor: Interval | None, *, brief: bool = False) -> Ratio | None:
    if factor is None or not isfinite(factor.value):
        return None
    return Ratio(factor.value, factor.low, factor.high, brief)


def _tabulate_scales(comparison: Comparison, sections: Sequence[Section], names: Sequence[str]) -> Iterator[Table]:
    several = len(comparison.sections) > 1
    sides = sorted({at for one in sections for at, found in _each(one) if found})
    narrow = len(sides) > _MOST_WITH_INTERVALS
    rows: list[list[Any]] = []
    for section in sections:
        each, heading = dict(_each(section)), [section.heading] if several else []
        rows += [[*heading, f"{x:,}", *(each[at].get(x) for at in sides)] for x in section.scales
                 if any(x in each[at] for at in sides if at != section.bases[at])]  # fmt: skip
        if len(section.scales) > 1:
            rows.append([*heading, "mean", *(_ratio(section.compared[at].overall) for at in sides)])
    if rows:
        heads = [*[Column("", left=True)] * several, Column("scale", left=True), *(Column(names[at]) for at in sides)]
        shown = [[Ratio(cell.value, cell.low, cell.high, brief=True) if narrow and isinstance(cell, Ratio) else cell
                  for cell in row] for row in rows]  # fmt: skip
        what = "relative capacities; ▲ more, ▼ less" if sections[0].searched else "relative rates; ▲ faster, ▼ slower"
        known = any(isfinite(one.low) for one in _factors(sections[0]).values())
        meaning = "no sign: no significant difference"
        what = f"{what}, {meaning}" if known else f"{what.partition(';')[0]}, without intervals"
        yield Table(what, heads, shown)


def _tabulate_stages(comparison: Comparison, names: Sequence[str]) -> Iterator[Table]:
    stages = comparison.stages
    sides = [f"{name}, scale {stages.scales[side]}" if stages.scales else name for side, name in enumerate(names)]
    rows = [[_ratio(stages.relative(side, at), brief=True) for at in range(len(stages.names))]
            for side in range(len(sides))]  # fmt: skip
    known = [at for at in range(len(stages.names)) if any(row[at] for row in rows)]
    heads = [Column("", left=True), *(Column(stages.names[at]) for at in known)]
    meaning = "; ▲ faster, ▼ slower, no sign: no significant difference" if _repeated(comparison) else \
        ", without intervals: no run was repeated"  # fmt: skip
    title = f"relative rate of each stage{meaning}"
    yield Table(title, heads, [[side, *(row[at] for at in known)] for side, row in zip(sides, rows, strict=True)])
