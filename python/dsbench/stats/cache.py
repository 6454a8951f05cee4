"""How many transactions or blocks were found in memory: by the server's counters, and by the times of transactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.values import Frequency, Resource

USUAL_NS: Final = 1_000_000
"""Transactions that take less are taken for hits (Vondra, 2011: file systems and PostgreSQL)."""
_BINS: Final = 12
"""Of a doubling of the time tenfold."""
_LEAST_SHARE: Final = 0.005
"""Of all transactions that make a mode."""
_DEPTH: Final = 0.6
"""The dip between two modes may be at most this share of the lower mode's height."""


@dataclass(frozen=True)
class Hits:
    """Shares 0-1 of what was found in memory, side by side; nan where one is not known."""

    blocks: float
    """Of blocks, by the server's counters: those of its own cache, whatever the system kept beside it."""
    usual: float
    """Of transactions that took less than ``USUAL_NS``."""
    valley_ns: float
    """The time between the two modes of the distribution; nan where there is one mode only."""
    found: float
    """Of transactions that took less than that."""


def hits(frequency: Frequency | None, resources: Iterable[Resource]) -> Hits:
    """What one trial found in memory at one scale."""
    valley = valley_ns(frequency) if frequency is not None else float(np.nan)
    return Hits(
        of_blocks(resources),
        below(frequency, USUAL_NS) if frequency is not None else float(np.nan),
        valley,
        below(frequency, valley) if frequency is not None and np.isfinite(valley) else float(np.nan),
    )


def of_blocks(resources: Iterable[Resource]) -> float:
    """Hits by hits and reads, as PostgreSQL, MariaDB and MySQL count them; by fetches and reads, as Firebird does."""
    per_s = {one.name: one.per_second for one in resources if one.scope == "server"}
    hit, read = per_s.get("blocks hit", np.nan), per_s.get("blocks read", np.nan)
    if np.isnan(hit):
        read = per_s.get("page reads", np.nan)
        hit = per_s.get("page fetches", np.nan) - read
    return float(hit / (hit + read)) if hit + read > 0 else float(np.nan)


def below(frequency: Frequency, limit_ns: float) -> float:
    """Share of the transactions that took at most ``limit_ns``; nan without one."""
    if not frequency.count:
        return float(np.nan)
    at = int(np.searchsorted(frequency.residence_ns, limit_ns, side="right"))
    return 1 - float(frequency.longer[at - 1]) if at else 0.0


def valley_ns(frequency: Frequency) -> float:
    """The time of the least density between the two greatest modes on a logarithmic axis; nan where there are not two.

    Densities are those of twelfths of a decade, smoothed by 1/4, 1/2, 1/4. Two maxima are modes when each has half a
    per cent of all transactions in its bin, and the valley has at most 0.6 of the lower one.
    """
    times, longer = frequency.residence_ns, frequency.longer
    known = times > 0
    if frequency.count < 1 / _LEAST_SHARE or known.sum() < 2:
        return float(np.nan)
    logs = np.log10(times[known])
    shares = -np.diff(np.concatenate([[1.0], longer[known]]))
    edges = np.arange(np.floor(logs.min() * _BINS) - 2, np.ceil(logs.max() * _BINS) + 3) / _BINS
    density, _ = np.histogram(logs, edges, weights=shares)
    smooth = np.convolve(density, [0.25, 0.5, 0.25], "same")
    tops = [n for n in range(1, smooth.size - 1) if smooth[n - 1] < smooth[n] >= smooth[n + 1]]
    tops = sorted((n for n in tops if smooth[n] >= _LEAST_SHARE), key=lambda n: -smooth[n])
    for other in tops[1:]:
        low, high = sorted((tops[0], other))
        valley = low + int(np.argmin(smooth[low : high + 1]))
        if smooth[valley] <= _DEPTH * smooth[other]:
            empty = np.flatnonzero(smooth[low : high + 1] == smooth[valley]) + low
            valley = int(empty[len(empty) // 2])
            return float(10 ** ((edges[valley] + edges[valley + 1]) / 2))
    return float(np.nan)
