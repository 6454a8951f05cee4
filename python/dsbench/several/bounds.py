"""Runs of a workload and of the parts that its transaction consists of, as bounds of the one by the others."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isnan
from pathlib import Path
from typing import Any, Final

from dsbench.archive import Archive, RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.read import subjects
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.draw import render, vega
from dsbench.read.draw.axes import ValueAxis
from dsbench.read.draw.connections import across
from dsbench.read.draw.theme import HUES, SHAPES, Row, finish
from dsbench.read.draw.vega import Chart, Spec, channel
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.naming import server
from dsbench.read.subjects.rate import RateResult
from dsbench.read.text import render_text
from dsbench.stats.equations import bound_tps, minimum_time_s

_COUNT: Final = "transactions"
"""The setting that says nothing about what a transaction does."""
SAFE: Final = "on"
NOTE: Final = (
    "Minimum time: the time of the parts of one transaction at their peak rates, one after another; the upper bound "
    "is its inverse. Logging: durability settings that are off, otherwise on."
)
BEYOND: Final = (
    "faster than its bound: each part has its own commit and round trip, the whole only one; or the parts "
    "were disturbed"
)
_LINE: Final = 80
"""Characters of the subtitle's font that fit the width of the diagram."""
_NO_PARTS: Final = (
    "no run has all its parts: specify runs with the same server, machine, scale and settings, such as tp1, t1 and "
    "t2, with the same logging, and t1 without conflicts"
)


@dataclass(frozen=True)
class MeasuredRun:
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
    searched: tuple[int, float] | None
    """What a search for the peak found: its clients, and the rate of cycles by which it was not chosen."""

    @property
    def peak(self) -> tuple[int, float]:
        """The clients with the greatest rate, and that rate."""
        return self.searched or max(self.rates, key=lambda one: one[1])


@dataclass(frozen=True)
class Bound:
    """A run beside those of its parts."""

    whole: MeasuredRun
    parts: tuple[tuple[MeasuredRun, int], ...]
    """Each with how often a transaction of the whole has it."""

    @property
    def time_s(self) -> float:
        """What the parts of one transaction take."""
        return minimum_time_s([(part.peak[1], times) for part, times in self.parts])

    @property
    def tps(self) -> float:
        return bound_tps([(part.peak[1], times) for part, times in self.parts])

    @property
    def share(self) -> float:
        """The observed peak rate of the whole as a part of the bound."""
        return self.whole.peak[1] / self.tps


@dataclass(frozen=True)
class Bounds:
    """All that the archives tell."""

    bounds: tuple[Bound, ...]
    measured: tuple[MeasuredRun, ...]
    """Every run at its largest scale, those that bound nothing and are bound by nothing included."""

    def relative(self, one: MeasuredRun) -> float:
        """Its peak divided by that of the first run of its workload and scale."""
        first = next(other for other in self.measured if (other.workload, other.scale) == (one.workload, one.scale))
        return one.peak[1] / first.peak[1]


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


def _measured(run: RunRecord, evaluation: Evaluation) -> Iterator[MeasuredRun]:
    if evaluation.staged:  # Clients of different work have no peak in common.
        return
    parts = list(evaluation.series.values()) or [evaluation]
    scales = {x for part in parts for x in part.of(RateResult).cycle_rates if x not in part.of(RateResult).void_scales}
    if not scales:
        return
    scale = max(scales)
    of_part = subjects.measures()["tps"].read
    rates = {part.of(RateResult).connections: of_part(part)[scale]
        for part in parts if scale in part.of(RateResult).cycle_rates}
    known = sorted((clients, rate) for clients, rate in rates.items() if not isnan(rate))
    if known:
        words = [run.workload.label, *(f"{name} {value}" for name, value in _unusual(run).items())]
        logging = ", ".join(f"{one.switch} {one.value}" for one in run.unsafe) or SAFE
        system = f"{server(run)} on {run.host}"
        found = evaluation.of(RateResult).peaks.get(scale) if run.spec.peak else None
        of_all = {part.clients: part.of(RateResult).connections for part in parts}
        searched = (of_all[found.clients], found.rate_tps) if found is not None else None
        yield MeasuredRun(
            evaluation.name, system, ", ".join(words), run.workload.name, logging, scale, tuple(known), searched
        )  # fmt: skip


def _unusual(run: RunRecord) -> dict[str, str]:
    """Settings of the workload that are not at their default."""
    defaults = {one.name: one.default for one in run.workload.settings}
    given = run.spec.workload_settings.items()
    return {name: str(value) for name, value in given if name != _COUNT and str(value) != defaults.get(name)}


def _bounds(run: RunRecord, whole: MeasuredRun, found: Sequence[tuple[RunRecord, MeasuredRun]]) -> Iterator[Bound]:
    offered: list[dict[str, MeasuredRun]] = []
    for name, _ in run.workload.meaning.parts:
        fits = [
            one for other, one in found
            if (one.workload, one.system, one.scale) == (name, whole.system, whole.scale) and _alike(run, other)
        ]  # fmt: skip
        offered.append({one.logging: one for one in fits})
    if not offered:
        return
    times = [times for _, times in run.workload.meaning.parts]
    for chosen in product(*(fits.values() for fits in offered)):
        if len({one.logging for one in chosen}) == 1:
            yield Bound(whole, tuple(zip(chosen, times, strict=True)))


def _alike(whole: RunRecord, part: RunRecord) -> bool:
    """Whether ``part`` has the settings of ``whole`` as far as both know them, and its defaults else."""
    wanted = {one.name: one.default for one in whole.workload.settings} | dict(whole.spec.workload_settings)
    given = {one.name: one.default for one in part.workload.settings} | dict(part.spec.workload_settings)
    usual = {one.name: one.default for one in part.workload.settings}
    return all(str(value) == str(wanted.get(name, usual.get(name))) for name, value in given.items() if name != _COUNT)


def document(bounds: Bounds) -> dict[str, Any]:
    """As JSON values: rates in transactions per second, times in seconds."""
    def run(one: MeasuredRun) -> dict[str, Any]:
        rates = [{"clients": clients, "tps": rate} for clients, rate in one.rates]
        plain = ("archive", "system", "label", "workload", "logging", "scale")
        return {**{name: getattr(one, name) for name in plain}, "peak_clients": one.peak[0],
                "peak_tps": one.peak[1], "relative": bounds.relative(one), "rates": rates}  # fmt: skip

    return {
        "bounds": [
            {"whole": run(one.whole), "parts": [{**run(part), "times": times} for part, times in one.parts],
             "minimum_time_s": one.time_s, "bound_tps": one.tps, "share": one.share}
            for one in bounds.bounds
        ],
        "measured": [run(one) for one in bounds.measured],
    }  # fmt: skip

COLUMNS: Final = (
    Column("system", left=True), Column("workload", left=True), Column("minimum time"), Column("bound", "tps"),
    Column("observed", "tps"), Column("of bound", form=".0%"), Column("logging", left=True),
    Column("of parts", left=True),
)  # fmt: skip
_RUNS: Final = (
    Column("system", left=True), Column("workload", left=True), Column("scale"), Column("peak", "tps"),
    Column("clients"), Column("relative", form=".2f"), Column("logging", left=True),
)  # fmt: skip


def tell(bounds: Bounds) -> Iterator[Block]:
    """The bounds, and every run with its peak."""
    if bounds.bounds:
        yield from tell_bounds(bounds)
    else:
        yield Sentence(_NO_PARTS)
    yield from tell_peaks(bounds)


def tell_peaks(bounds: Bounds) -> Iterator[Block]:
    """Every run with its peak, as the publication's table 1 has it: relative to the first of the same workload."""
    peaks = [(one.system, one.label, one.scale, one.peak[1], one.peak[0], bounds.relative(one), one.logging)
             for one in bounds.measured]  # fmt: skip
    yield Table("Peaks; relative to the first run of the same workload and scale", _RUNS, peaks)


def tell_bounds(bounds: Bounds) -> Iterator[Block]:
    """The bounds alone."""
    yield Table("Upper bounds", COLUMNS, [row(one) for one in bounds.bounds])
    yield Sentence(NOTE, "note")
    yield from (Sentence(f"{one.whole.system}, {one.whole.label}: {BEYOND}", "warning")
                for one in bounds.bounds if one.share > 1)  # fmt: skip


def row(one: Bound) -> list[Any]:
    """What the table has of one bound, below ``COLUMNS``."""
    terms = " + ".join(f"{times}/{format_number(part.peak[1])}" for part, times in one.parts)
    time = f"{terms} = {one.time_s * 1e3:.3g} ms"
    return [one.whole.system, one.whole.label, time, one.tps, one.whole.peak[1], one.share, one.whole.logging,
            one.parts[0][0].logging]  # fmt: skip


def text(bounds: Bounds) -> str:
    """For a terminal."""
    return render_text(tell(bounds)) + "\n"


def files(bounds: Bounds) -> dict[str, bytes]:
    """File name to content: bound.txt, and a diagram of each system as .vl.json, .svg and .pdf."""
    found = {"bound.txt": text(bounds).encode()}
    systems = list(dict.fromkeys(one.system for one in bounds.measured))
    for number, system in enumerate(systems, start=1):
        stem = "bound" if len(systems) == 1 else f"bound-{number}"
        found |= render.drawn_as(stem, spec(bounds, system))
    return found


def _state(one: MeasuredRun) -> str:
    return "logging on" if one.logging == SAFE else one.logging


def _subtitle(bounds: Sequence[Bound], names: Mapping[MeasuredRun, str], scales: Sequence[int]) -> list[str]:
    """Below the title: what the dashed lines are, and what was observed of them."""
    states = " or ".join(dict.fromkeys(_state(one.parts[0][0]) for one in bounds))
    where = f"scale {scales[0]}; " * (len(scales) == 1)
    lines = [f"{where}dashed: upper bound from the peaks of the parts{f' [{states}]' if states else ''}"]
    lines += [f"{names[one.whole]}: {one.share:.0%} of the bound {format_number(one.tps)}" for one in bounds]
    return [part for line in lines for part in textwrap.wrap(line, _LINE)]


def spec(bounds: Bounds, system: str) -> Spec:
    """Rates of all runs of ``system`` over their clients, with the bounds as lines across."""
    runs = [one for one in bounds.measured if one.system == system]
    scales = sorted({one.scale for one in runs})
    names = {one: f"{one.label} [{_state(one)}]" + f", scale {one.scale}" * (len(scales) > 1) for one in runs}
    rows: list[Row] = [
        {"run": names[one], "clients": clients, "tps": rate} for one in runs for clients, rate in one.rates
    ]
    mine = [one for one in bounds.bounds if one.whole.system == system]
    # Labels of lines that lie close together stand at different ends.
    across_rows: list[Row] = [{"bound": tps, "label": f"bound {format_number(tps)}", "left": at % 2 == 1}
                              for at, tps in enumerate(sorted({one.tps for one in mine}))]  # fmt: skip
    y = ValueAxis.logarithmic("transactions per second", [row["tps"] for row in rows] + [one.tps for one in mine])
    order = list(dict.fromkeys(row["run"] for row in rows))
    colours = dict(domain=order, range=[HUES[i % len(HUES)] for i in range(len(order))])
    shapes = dict(domain=order, range=[SHAPES[i % len(SHAPES)] for i in range(len(order))])
    legend = dict(title=None, orient="bottom", columns=1, labelLimit=440)
    colour = channel("run:N", sort=None, scale=colours, legend=legend)
    shape = channel("run:N", sort=None, scale=shapes, legend=legend)
    base, bound = Chart("rates"), Chart("bounds")
    hidden = channel("clients:Q", axis=None)
    tips = ["run:N", "clients:Q", channel("tps:Q", format=",.4~r")]
    layers = [
        base.mark("line").encode(x=across(rows, "clients"), y=y.y("tps"), color=colour),
        base.mark("point", filled=True, size=45, opacity=1).encode(x=hidden, y="tps:Q", color=colour, shape=shape,
                                                                tooltip=tips),
        bound.mark("rule", strokeDash=[5, 3], color="#333333").encode(y="bound:Q"),
        bound.only("!datum.left").mark("text", align="right", dy=-6, x="width", dx=-4).encode(
            y="bound:Q", text="label:N"),
        bound.only("datum.left").mark("text", align="left", dy=-6, x=0, dx=4).encode(
            y="bound:Q", text="label:N"),
    ]  # fmt: skip
    return finish(
        layers, name="bound", archive=system, data={"rates": rows, "bounds": across_rows},
        title=vega.title(f"{system}: rates and upper bounds",
                              subtitle=_subtitle(mine, names, scales)),
        description="Rates of a workload and of its parts over the number of clients, with the upper bound from "
        "the peaks of the parts.",
    )  # fmt: skip
