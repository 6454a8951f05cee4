"""Whether runs that are set beside each other did the same work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read.naming import unsafe, way
from dsbench.several.settings import OF_WORKLOAD, SAYS_NOTHING, described, product
from dsbench.spec import OPTIONS
from dsbench.stats.comparison import differing

WORKLOAD: Final = "spec.workload"
_LAYOUT: Final = frozenset({"spaces", "fillfactor", "history", "family"})
"""Settings of workloads that say how the server keeps the rows: the transactions, and so the work, are the same."""

Differences = Mapping[str, Sequence[str]]
"""Setting to its values, where they are not all the same."""


def find_differences(runs: Sequence[RunRecord]) -> Differences:
    """What of the settings and surroundings of ``runs`` is not the same, and may be why they differ."""
    known = [{n: v for n, v in values.items() if n not in SAYS_NOTHING} for values in described(runs)]
    return differing(known)


def find_load(differences: Differences, sides: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Options and settings of the workload among ``differences`` in which the sides did not do the same work.

    A placement that each run tried and chose for itself is none of them: each did its load as well as it could.
    """
    tried = all(run.placement_tried is not None for runs in sides.values() for run in runs)
    found = [name for name, option in OPTIONS.items() if option.of_load and f"spec.{name}" in differences]
    found = [name for name in found if name != "placement" or not tried]
    own = (name.removeprefix(OF_WORKLOAD) for name in differences if name.startswith(OF_WORKLOAD))
    return found + [name for name in own if name not in _LAYOUT]


def say_apart(
    sides: Mapping[str, Sequence[RunRecord]], differences: Differences, load: Sequence[str], figure: str = "rate"
) -> Iterator[str]:
    """Why the sides, by label, did not do the same work: what every ``figure`` has to be read with."""
    if WORKLOAD in differences:
        yield "the workloads differ: their rates count different transactions"
    if load:
        verb = "differ" if len(load) > 1 else "differs"
        yield f"the load differs: {', '.join(load)} {verb}; relative rates also include this difference"
    yield from _say_ways(sides)
    lax = {label: list(dict.fromkeys(x for run in runs for x in unsafe(run))) for label, runs in sides.items()}
    if not all(lax.values()):
        for label, switches in lax.items():
            if switches:
                yield f"{label} may lose committed data ({', '.join(switches)}): that is part of its {figure}"


def _say_ways(sides: Mapping[str, Sequence[RunRecord]]) -> Iterator[str]:
    """That servers of one product were reached in several ways: a local one spares what a network costs."""
    ways = {label: dict.fromkeys(found for run in runs if (found := way(run))) for label, runs in sides.items()}
    products: dict[str, list[str]] = {}
    for label, runs in sides.items():
        if ways[label]:
            products.setdefault(product(runs[0]), []).append(label)
    for labels in products.values():
        if len({found for label in labels for found in ways[label]}) > 1:
            said = "; ".join(f"{label}: {' or '.join(ways[label])}" for label in labels)
            yield f"the clients reach the servers in different ways ({said}): the comparison includes this difference"
