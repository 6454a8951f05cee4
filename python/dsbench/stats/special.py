"""Analyses of one workload alone, by the word under which its entry names one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.stats.tpcc import Nopm, Window, home_doubts, nopm, size_doubts, windows
from dsbench.stats.values import Doubt


@dataclass(frozen=True)
class Special:
    """What is computed of a workload beside what all have."""

    headline: Callable[..., Nopm]
    """The headline of a scale out of the committed transactions of the kind that it counts; called as ``nopm`` is."""
    windows: Callable[[Mapping[str, int], int], tuple[Window, ...]]
    """What the sums of its clients must look like at a scale."""
    doubts: Callable[[Mapping[str, str]], list[Doubt]]
    """What to think of a run with these settings of the workload."""
    client_doubts: Callable[[Mapping[str, str], Mapping[int, Sequence[int]]], list[Doubt]]
    """What to think of a run with these settings and, by scale, these numbers of clients."""


ANALYSES: Final[Mapping[str, Special]] = {"tpcc": Special(nopm, windows, size_doubts, home_doubts)}
