"""The summary of the Insert Benchmark's reports over several archives: rates of the stages, absolute, relative to the
first archive, and those of the work in the background against their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite, log, nan
from typing import Final

import numpy as np

from dsbench.read.evaluation import Evaluation, Series
from dsbench.read.series import headings
from dsbench.read.stats.efficiency import COLUMNS, Background, Efficiency, per

SLOWER: Final = 0.95
FASTER: Final = 1.05
"""Relative rates up to the one and from the other on are marked, as in those reports."""
Place = tuple[Series, int]
"""A series and a scale."""


@dataclass(frozen=True)
class Stages:
    """Archives by stage; sequences are in the order of the sides, their members in that of ``names``."""

    names: tuple[str, ...]
    """Of each column: the stage, with its number of threads and scale where there are several."""
    found: tuple[tuple[tuple[Efficiency, ...], ...], ...]
    """Side, column, runs."""
    staged: bool
    """Whether some archive has several stages, or work in the background."""
    scales: tuple[int, ...] = ()
    """Of each side, where each has one and they are not the same; a column then has each side at its own."""

    def rate(self, side: int, column: int) -> float:
        """Operations per second, the geometric mean of the runs; nan where there is none."""
        rates = [one.rate for one in self.found[side][column]]
        if len(rates) == 1:
            return rates[0]
        return exp(sum(log(rate) for rate in rates) / len(rates)) if rates and all(rate > 0 for rate in rates) else nan

    def relative(self, side: int, column: int) -> float:
        """That rate divided by the one of the first side."""
        return per(self.rate(side, column), self.rate(0, column))

    def background(self, side: int, column: int) -> Background | None:
        """The inserts in the background of the run that sustained the least; ``None`` in a stage without."""
        beside = [b for one in self.found[side][column] for b in one.ruled]
        return min(beside, key=lambda b: b.share if isfinite(b.share) else -1.0, default=None)

    def values(self, side: int, column: int) -> dict[str, float]:
        """Each column of the efficiency in the median over the runs; nan where no run knows it."""
        runs = self.found[side][column]
        known = {c.name: [one.values[c.name] for one in runs if isfinite(one.values[c.name])] for c in COLUMNS}
        return {name: float(np.median(some)) if some else nan for name, some in known.items()}


def by_stage(sides: Sequence[Sequence[Evaluation]]) -> Stages:
    """The stages of all ``sides``, each of several runs, in the order in which the archives have them."""
    every = [[_places(one) for one in side] for side in sides]
    own = [{scale for one in side for _, scale in one} for side in every]
    apart = len(set().union(*own)) > 1 and all(len(scales) == 1 for scales in own)
    if apart:  # Profiles whose scale follows from the memory: each stage at its own.
        every = [[{(key, 0): found for (key, _), found in one.items()} for one in side] for side in every]
    order = dict.fromkeys(place for side in every for one in side for place in one)
    keys = list(dict.fromkeys(key for key, _ in order))
    scales = {scale for _, scale in order}
    places = [(key, scale) for key in keys for scale in sorted(scales) if (key, scale) in order]
    said = headings(keys) if len(keys) > 1 else dict.fromkeys(keys, "")
    names = tuple(_name(said[key], scale, several=len(scales) > 1) for key, scale in places)
    found = tuple(tuple(tuple(one[place] for one in side if place in one) for place in places) for side in every)
    at = tuple(min(scales, default=0) for scales in own) if apart else ()
    several = any(len({key.stage for key in one.series}) > 1 for side in sides for one in side)
    background = any(run.background for side in found for column in side for run in column)
    return Stages(names, found, several or background, at)


def _places(one: Evaluation) -> Mapping[Place, Efficiency]:
    return {(key, scale): found for key, scales in one.stages.items() for scale, found in scales.items()
            if scale not in one.void_scales}  # fmt: skip


def _name(heading: str, scale: int, *, several: bool) -> str:
    words = heading.removeprefix("stage ")
    return ", ".join(part for part in (words, f"scale {scale}" if scale and (several or not words) else "") if part)
