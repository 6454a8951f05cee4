"""What a transaction costs in energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING, Final

from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.series import each_series
from dsbench.read.subject import Measure, Result, Subject, Values, computed
from dsbench.read.subjects.cost import MEASURES as COSTS
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.spec.objective import GRADES
from dsbench.stats.resources import ENERGY, ENERGY_OF_CPUS

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

METER, CPUS = "a meter", "the counters of CPUs and memory"
_SOURCES: Final = {ENERGY: METER, ENERGY_OF_CPUS: CPUS}
"""Resource to who measured it, the better one first."""


@dataclass(frozen=True)
class Energy:
    """What was used at one scale."""

    watts: float
    """In the mean over the cycles."""
    joules_per_transaction: float
    of: str
    """Who measured it."""


def _read_energy(evaluation: Evaluation) -> dict[int, Energy]:
    found = {}
    for scale, resources in evaluation.of(CostResult).resources.items():
        known = {one.name: one for one in resources if isfinite(one.per_second)}
        name = next((name for name in _SOURCES if name in known), "")
        if name:
            found[scale] = Energy(known[name].per_second, known[name].per_transaction, _SOURCES[name])
    return found


@dataclass(frozen=True)
class Grade:
    """One level of a graduated load. ``nan``: not known."""

    level: float
    """Per cent of the capacity; 0 when idle."""
    demanded: float
    """Starts per second."""
    achieved: float
    """Committed per second."""
    p50_ms: float
    p99_ms: float
    """Response times; of all cycles of the level."""
    cpu: float
    """Per cent of the machine's CPUs in use."""
    watts: float


def _read_grades(evaluation: Evaluation) -> dict[int, tuple[Grade, ...]]:
    """By scale, the highest level first; empty without a graduated load."""
    whole = evaluation.rows.whole
    if not whole.run.spec.graduated:
        return {}
    rows = [row for row in whole.tables["groups"].to_pylist() if row["level"] is not None]
    found: dict[int, list[Grade]] = {}
    for level in sorted({row["level"] for row in rows}, reverse=True):
        part = type(evaluation)(whole.of_level(level, evaluation.key))
        for scale, measured in part.rows.load.items():
            demanded = [row["rate_per_s"] for row in rows if (row["scale"], row["level"]) == (scale, level)]
            curve, energy = part.of(LatencyResult).response.get(scale), part.of(EnergyResult).energy.get(scale)
            p50, p99 = (curve.told(q) / 1e6 if curve else nan for q in (0.5, 0.99))
            found.setdefault(scale, []).append(Grade(
                level, sum(demanded) / len(demanded) if level else 0.0,
                measured.total("committed") / measured.measured_s if measured.measured_s > 0 else 0.0,
                p50, p99, _CPU.read(part).get(scale, nan), energy.watts if energy else nan,
            ))  # fmt: skip
    return {scale: tuple(grades) for scale, grades in found.items()}


_CPU: Final = next(one for one in COSTS if one.name == "cpu")


def rate_overall(grades: Sequence[Grade]) -> float:
    """Transactions per joule over all levels: the sum of the rates by the sum of the power, idle among them; nan where
    a level or its power is missing.

    Source: SPECpower_ssj2008, Result File Fields, 4.4 (https://www.spec.org/power/docs/), the sum of ssj_ops by the sum
    of power. All levels last equally long.
    """
    watts = sum(one.watts for one in grades)
    whole = tuple(one.level for one in grades) == GRADES
    return sum(one.achieved for one in grades) / watts if whole and watts > 0 else nan


_COLUMNS: Final = (
    Column("series", left=True), Column("scale"), Column("power", "W", digits=4), Column("joules per transaction", "J"),
    Column("transactions per joule", "1/J", digits=4),
)  # fmt: skip


_GRADES: Final = (
    Column("scale"), Column("load", left=True), Column("demanded", "1/s", digits=4),
    Column("achieved", "tps", digits=4), Column("reached", form=".1%", about="of the demanded rate"),
    Column("p50", "ms"), Column("p99", "ms"),
    Column("CPUs", "%"), Column("power", "W", digits=4), Column("transactions per joule", "1/J", digits=4),
)  # fmt: skip
_NO_SPEC: Final = (
    "The levels and this ratio of sums follow SPECpower_ssj2008, with other transactions and without its "
    "rules: these figures are not SPEC results."
)
_NO_POWER: Final = "No power was measured (--power, docs/energy.md): CPU use is shown instead."


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    yield from _tell_grades(evaluation)
    yield from _tell_energy(evaluation)


def _tell_grades(evaluation: Evaluation) -> Iterator[Block]:
    if not evaluation.of(EnergyResult).grades:
        return
    for scale, grades in evaluation.of(EnergyResult).grades.items():
        overall, idle = rate_overall(grades), next((one.watts for one in grades if not one.level), nan)
        if isfinite(overall):
            words = f"{format_number(overall)} transactions per joule over all levels, {format_number(idle)} W idle"
            yield Sentence(f"Scale {scale:,}: {words}.", "lead")
    rows = [
        (scale, f"{one.level:g}%" if one.level else "idle", one.demanded, one.achieved,
         one.achieved / one.demanded if one.demanded else nan, one.p50_ms, one.p99_ms, one.cpu, one.watts,
         one.achieved / one.watts if one.watts > 0 else nan)
        for scale, grades in evaluation.of(EnergyResult).grades.items() for one in grades
    ]  # fmt: skip
    measured = any(isfinite(one.watts) for grades in evaluation.of(EnergyResult).grades.values() for one in grades)
    columns = _GRADES if measured else _GRADES[:-2]
    yield Table("Load from the capacity to idle", columns, [row[: len(columns)] for row in rows])
    yield Sentence(_NO_SPEC if measured else _NO_POWER, "note")


def _tell_energy(evaluation: Evaluation) -> Iterator[Block]:
    parts = [(heading, part) for heading, part in each_series(evaluation) if part.of(EnergyResult).energy]
    rows = [(heading, scale, one.watts, one.joules_per_transaction, 1 / one.joules_per_transaction)
            for heading, part in parts for scale, one in part.of(EnergyResult).energy.items()
            if one.joules_per_transaction > 0]  # fmt: skip
    if not rows:
        return
    several = any(heading for heading, *_ in rows)
    columns = _COLUMNS if several else _COLUMNS[1:]
    yield Table("Power and energy", columns, rows if several else [row[1:] for row in rows])
    sources = dict.fromkeys(one.of for _, part in parts for one in part.of(EnergyResult).energy.values())
    words = f"Measured by {' and '.join(sources)}."
    if CPUS in sources:
        words += " They exclude disks, network, fans and the loss of the power supply."
    yield Sentence(words, "note")


def _watts(part: Evaluation) -> Values:
    return {x: one.watts for x, one in part.of(EnergyResult).energy.items()}


def _joules(part: Evaluation) -> Values:
    return {x: one.joules_per_transaction for x, one in part.of(EnergyResult).energy.items()}


def _idle_watts(part: Evaluation) -> Values:
    return {x: one.watts for x, grades in part.of(EnergyResult).grades.items() for one in grades if not one.level}


def _overall(part: Evaluation) -> Values:
    return {x: rate_overall(grades) for x, grades in part.of(EnergyResult).grades.items()}


class EnergyResult(Result):
    energy = computed(_read_energy)
    """By scale: power, and energy for each transaction; empty where none was measured."""
    grades = computed(_read_grades)
    """By scale: the levels of a graduated load, the highest first; empty without one."""


SUBJECT: Final = Subject(
    "energy", "Energy", EnergyResult, tell=_tell,
    nothing="No power was measured: specify a meter with --power, or let this user read the energy counters of the "
            "CPUs.",
    measures=(
        Measure("joules-per-transaction", "J", "energy for each transaction", _joules, more=False),
        Measure("watts", "W", "power of the machine during the load", _watts, more=False),
        Measure("idle-watts", "W", "power of the idle machine in a graduated load", _idle_watts, more=False),
        Measure("transactions-per-joule", "1/J", "transactions for each joule over all levels of a graduated load",
                _overall),
    ),
)  # fmt: skip
