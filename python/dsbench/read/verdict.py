"""What a comparison comes to, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from dsbench.read.side_by_side import Comparison, Section
from dsbench.read.stats.precision import FEWEST, LEVEL
from dsbench.read.stats.values import Interval


def basis(section: Section) -> str:
    """What the intervals of ``section`` speak of, and what they know nothing of."""
    columns = len(section.compared) - 1
    together = f"; {LEVEL:.0%} for all {columns} columns of a row together (Bonferroni)" if columns > 1 else ""
    if not section.compared[0].repeated:
        return f"over the cycles of one run each: the spread between runs is not in it{together}"
    counts = [len(side) for side in section.evaluations]
    alike = "; a column of one run is taken to scatter as the others do" if min(counts) == 1 else ""
    numbers = " + ".join(map(str, counts))
    return f"by the spread between runs of the same settings ({numbers} runs){alike}{together}"


def verdicts(comparison: Comparison, section: Section, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(name, sentence) for each side but the first; ``names`` stand for the sides."""
    for number, name in enumerate(names[1:], start=1):
        yield name, _verdict(comparison, section, number, names[0])


def _verdict(comparison: Comparison, section: Section, number: int, first: str) -> str:
    one = section.compared[number]
    sound = {scale: found for scale, found in one.relative.items() if isfinite(found.value)}
    if not sound:
        return f"no verdict: no scale with a rate and a check that holds, here and at {first}"
    over = "" if len(sound) == 1 else f" over scales {min(sound)}-{max(sound)}"
    if one.overall is None and len(sound) > 1:
        return f"no verdict: nothing was committed at a scale, see {', '.join(map(str, sound))} one by one"
    factor = one.overall or next(iter(sound.values()))
    at = f" at scale {next(iter(sound))}" if len(sound) == 1 else over
    within = f" [{factor.low:.2f}, {factor.high:.2f}]" if isfinite(factor.low) else ""
    figure = f"{factor.value:.2f} times the rate of {first}{within}{at}"
    void = sorted({x for side in (0, number) for found in section.evaluations[side] for x in found.void_scales})
    more = f"; without scale {', '.join(map(str, void))}, whose check failed" if void else ""
    if "spec.workload" in comparison.differences:
        return f"no verdict, as the workloads differ: {figure}{more}"
    if comparison.load:
        more += "; they did not do the same work"
    return _words(comparison, section, number, factor, figure) + more


def _words(comparison: Comparison, section: Section, number: int, factor: Interval, figure: str) -> str:
    differs = factor.low > 1 or factor.high < 1
    word = "faster" if factor.value > 1 else "slower"
    if section.compared[number].repeated:
        if not isfinite(factor.low):
            return f"{figure}: no verdict, no run was repeated at these scales"
        return f"{word}: {figure}" if differs else f"no difference shown: {figure} lies within the spread between runs"
    if number in comparison.alike:
        return f"{figure} with the same settings: so far may two runs lie apart here, whatever is changed"
    if not isfinite(factor.low):
        return f"{figure}: no interval, no verdict below {FEWEST} cycles of each scale that commit"
    if not differs:
        return f"no difference seen: {figure}"
    return (
        f"{word} in this one pair of runs: {figure}. How far runs of the same settings lie apart is not known: "
        "repeat both, and name all archives"
    )
