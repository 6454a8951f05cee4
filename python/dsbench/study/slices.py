"""Which trials of a study belong into one diagram or row: never those of several workloads, and a slice for each level
of a third factor.

Trials of several workloads count different transactions. A mean over the levels of any other factor says little as well
where these do other things with each other, so that the levels of a third factor stand side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.study.results import Outcomes

_WORK: Final = "workload"
"""The path of a factor whose levels do other work."""


@dataclass(frozen=True)
class Slice:
    """Trials at some levels of some factors."""

    found: Outcomes
    levels: Mapping[int, int]
    """Number of a factor to that of its level; empty where all trials are in it."""

    @property
    def words(self) -> str:
        """``workload select``"""
        found = self.found
        return ", ".join(f"{found.factors[n]} {found.levels[n][level].name}" for n, level in self.levels.items())

    @property
    def suffix(self) -> str:
        """What tells the names of its diagrams from others: ``-at-1-2``, of the second level of the first factor."""
        return "".join(f"-at-{n + 1}-{level + 1}" for n, level in self.levels.items())


def work_factors(found: Outcomes) -> list[int]:
    """Numbers of the factors whose levels are different workloads."""
    works = [{str(level.sets.get(_WORK, "")) for level in levels} for levels in found.levels]
    return [n for n, names in enumerate(works) if len(names) > 1]


def select(found: Outcomes, levels: Mapping[int, int]) -> Slice:
    """The trials that have all of ``levels``, with the effects of the whole study."""
    made = tuple(one for one in found.made if all(one.at[n] == level for n, level in levels.items()))
    named = found.measure != "rate"  # Which may stand for New-Orders per minute.
    units = {part.units[found.measure] for one in made if (part := found.part(one)) and part.measured[found.measure]}
    return Slice(replace(found, made=made, unit=units.pop() if len(units) == 1 and named else found.unit), dict(levels))


def by_work(found: Outcomes, kept: Collection[int] = ()) -> Iterator[Slice]:
    """A slice for each workload, unless it is one of the factors ``kept``, or there is one only."""
    work = [n for n in work_factors(found) if n not in kept]
    for levels in product(*(range(len(found.levels[n])) for n in work)):
        part = select(found, dict(zip(work, levels, strict=True)))
        if part.found.made:
            yield part


def by_level(part: Slice, factor: int) -> list[Slice]:
    """A slice of ``part`` for each level of one more factor."""
    every = [select(part.found, {factor: level}) for level in range(len(part.found.levels[factor]))]
    return [replace(one, levels={**part.levels, **one.levels}) for one in every if one.found.made]


def third_factor(part: Slice, kept: Collection[int]) -> int | None:
    """The factor other than ``kept`` that goes with most of the variance, of those that were tried together with them:
    two of its levels, each at two combinations of theirs."""
    found = part.found

    def crossed(factor: int) -> bool:
        tried: dict[int, set[tuple[int, ...]]] = {}
        for one in found.made:
            tried.setdefault(one.at[factor], set()).add(tuple(one.at[n] for n in kept))
        return sum(len(some) > 1 for some in tried.values()) > 1

    others = [n for n in range(len(found.factors)) if n not in kept and n not in part.levels and crossed(n)]
    return max(others, key=lambda n: share(found, (n,)), default=None)


def share(found: Outcomes, factors: Collection[int]) -> float:
    """Of the variance that goes with a factor, or with the interaction of two; that of all alone where it is not
    known."""
    shares = found.effects.shares if found.effects else ()
    own = [one.share for one in shares if one.factors == tuple(sorted(factors))]
    alone = sum(one.share for one in shares if one.factors and set(one.factors) <= set(factors))
    return own[0] if own else 1e-6 * alone
