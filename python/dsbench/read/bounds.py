"""Runs of a workload and of the parts that its transaction consists of, as bounds of the one by the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isnan
from pathlib import Path
from typing import Any, Final

from dsbench.archive import Archive, RunRecord
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.naming import server
from dsbench.read.stats.bound import bound_tps, minimum_time_s

_COUNT: Final = "transactions"
"""The setting that says nothing about what a transaction does."""
SAFE: Final = "on"


@dataclass(frozen=True)
class Measured:
    """One run at one scale."""

    archive: str
    system: str
    """Server and machine."""
    label: str
    """Of the workload, with those of its settings that are not at their default: ``T1, conflict same``."""
    workload: str
    logging: str
    """``on``, or the switches of durability that are off."""
    scale: int
    rates: tuple[tuple[int, float], ...]
    """(clients of all nodes, tps), rising: medians of the cycles' rates from the first start to the last end. Sums of
    the streams' own rates would count a server several times whose streams run one after the other, as writers do on
    SQLite."""

    @property
    def peak(self) -> tuple[int, float]:
        """The clients with the greatest rate, and that rate."""
        return max(self.rates, key=lambda one: one[1])


@dataclass(frozen=True)
class Bound:
    """A run beside those of its parts."""

    whole: Measured
    parts: tuple[tuple[Measured, int], ...]
    """Each with how often a transaction of the whole has it."""

    @property
    def time_s(self) -> float:
        """What the parts of one transaction take."""
        return minimum_time_s([(part.peak[1], times) for part, times in self.parts])

    @property
    def tps(self) -> float:
        """The upper bound."""
        return bound_tps([(part.peak[1], times) for part, times in self.parts])

    @property
    def share(self) -> float:
        """The observed peak rate of the whole as a part of the bound."""
        return self.whole.peak[1] / self.tps


@dataclass(frozen=True)
class Bounds:
    """All that the archives tell."""

    bounds: tuple[Bound, ...]
    measured: tuple[Measured, ...]
    """Every run at its largest scale, those that bound nothing and are bound by nothing included."""


def read(paths: Sequence[Path]) -> Bounds:
    """Reads archives, folders or zips; raises ``ArchiveError``.

    A whole is set beside parts of the same system and scale which have its settings as far as they know them, and
    their defaults else, once for each state of logging of the parts. Of several such runs the last one counts.
    """
    archives = [Archive.open(path) for path in paths]
    return of_evaluations([(archive.run, evaluate(archive)) for archive in archives])


def of_evaluations(given: Sequence[tuple[RunRecord, Evaluation]]) -> Bounds:
    """The same of what was read already."""
    found = [(run, one) for run, evaluation in given for one in _measured(run, evaluation)]
    bounds = [bound for run, one in found for bound in _bounds(run, one, found)]
    return Bounds(tuple(bounds), tuple(one for _, one in found))


def _measured(run: RunRecord, evaluation: Evaluation) -> Iterator[Measured]:
    parts = list(evaluation.series.values()) or [evaluation]
    scales = {x for part in parts for x in part.cycle_rates if x not in part.void_scales}
    if not scales:
        return
    scale = max(scales)
    rates = {part.connections: _rate(part, scale) for part in parts if scale in part.cycle_rates}
    known = sorted((clients, rate) for clients, rate in rates.items() if not isnan(rate))
    if known:
        words = [run.entry.label, *(f"{name} {value}" for name, value in _unusual(run).items())]
        logging = ", ".join(f"{one.switch} {one.value}" for one in run.unsafe) or SAFE
        system = f"{server(run)} on {run.host}"
        yield Measured(
            evaluation.name, system, ", ".join(words), run.entry.name, logging, scale, tuple(known)
        )  # fmt: skip


def _rate(part: Evaluation, scale: int) -> float:
    return next((row.rate_median_tps for row in part.scales if row.scale == scale), float("nan"))


def _unusual(run: RunRecord) -> dict[str, str]:
    """Settings of the workload that are not at their default."""
    defaults = {one.name: one.default for one in run.entry.settings}
    given = run.spec.workload_settings.items()
    return {name: str(value) for name, value in given if name != _COUNT and str(value) != defaults.get(name)}


def _bounds(run: RunRecord, whole: Measured, found: Sequence[tuple[RunRecord, Measured]]) -> Iterator[Bound]:
    offered: list[dict[str, Measured]] = []
    for name, _ in run.entry.parts:
        fits = [
            one for other, one in found
            if (one.workload, one.system, one.scale) == (name, whole.system, whole.scale) and _alike(run, other)
        ]  # fmt: skip
        offered.append({one.logging: one for one in fits})
    if not offered:
        return
    times = [times for _, times in run.entry.parts]
    for chosen in product(*(fits.values() for fits in offered)):
        if len({one.logging for one in chosen}) == 1:
            yield Bound(whole, tuple(zip(chosen, times, strict=True)))


def _alike(whole: RunRecord, part: RunRecord) -> bool:
    """Whether ``part`` has the settings of ``whole`` as far as both know them, and its defaults else."""
    wanted = {one.name: one.default for one in whole.entry.settings} | dict(whole.spec.workload_settings)
    given = {one.name: one.default for one in part.entry.settings} | dict(part.spec.workload_settings)
    usual = {one.name: one.default for one in part.entry.settings}
    return all(str(value) == str(wanted.get(name, usual.get(name))) for name, value in given.items() if name != _COUNT)


def document(bounds: Bounds) -> dict[str, Any]:
    """As JSON values: rates in transactions per second, times in seconds."""
    def run(one: Measured) -> dict[str, Any]:
        rates = [{"clients": clients, "tps": rate} for clients, rate in one.rates]
        plain = ("archive", "system", "label", "workload", "logging", "scale")
        return {**{name: getattr(one, name) for name in plain}, "peak_clients": one.peak[0],
                "peak_tps": one.peak[1], "rates": rates}  # fmt: skip

    return {
        "bounds": [
            {"whole": run(one.whole), "parts": [{**run(part), "times": times} for part, times in one.parts],
             "minimum_time_s": one.time_s, "bound_tps": one.tps, "share": one.share}
            for one in bounds.bounds
        ],
        "measured": [run(one) for one in bounds.measured],
    }  # fmt: skip
