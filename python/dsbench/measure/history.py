"""The finished cycles of a run: what decides how it goes on, also where it was resumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from dsbench.archive import Archive
from dsbench.archive.cycles import read_cycles
from dsbench.stats.cycles import CycleFigures


class CycleHistory:
    """The cycles so far, by scale and in their order."""

    def __init__(self, cycles: Iterable[CycleFigures] = ()) -> None:
        self._by_scale: dict[int, list[CycleFigures]] = defaultdict(list)
        for one in cycles:
            self.add(one)

    @classmethod
    def read(cls, archive: Path) -> CycleHistory:
        """Those that the archive of a run which goes on already has."""
        opened = Archive.open(archive)
        return cls(read_cycles({name: opened.table(name) for name in ("cycles", "groups", "buckets")}))

    def add(self, cycle: CycleFigures) -> None:
        """A cycle that has been written."""
        self._by_scale[cycle.scale].append(cycle)

    def of(self, scale: int, stage: str = "", clients: int | None = None) -> Sequence[CycleFigures]:
        """The cycles of ``scale``; of one ``stage`` and one number of ``clients``, where these are named."""
        return [
            one
            for one in self._by_scale.get(scale, ())
            if stage in ("", one.stage) and clients in (None, one.clients)
        ]

    def last(self, scale: int) -> int:
        """The number of the last cycle of ``scale``; 0 where there is none."""
        return max((one.cycle for one in self._by_scale.get(scale, ())), default=0)

    def final_rates(self, peak: bool) -> dict[int, list[float]]:
        """Scale to the rates (tps) of the cycles that stand for it: those of its last series.

        Of a search for a ``peak`` that is the one with most clients, of a search for a rate the cycles at the last
        one, and of a graduated load those at its highest level.
        """
        found = {}
        for scale, cycles in self._by_scale.items():
            stage = self.of(scale, cycles[-1].stage)
            clients = max(one.clients for one in stage) if peak else stage[-1].clients
            series = self.of(scale, stage[-1].stage, clients)
            top = max(one.level or 0 for one in series)
            level = [one for one in series if (one.level or 0) == top]
            found[scale] = [one.rate_tps for one in level if one.rate_per_s == level[-1].rate_per_s]
        return found
