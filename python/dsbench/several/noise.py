"""How much equal runs differ on this machine: what was measured, what it says to people, and where it is kept."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil

from dsbench import caches
from dsbench.archive import RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import NONE, counted, format_number
from dsbench.measure.moments import format_time
from dsbench.measure.stack.machine import model
from dsbench.read.blocks import Block, Column, Listed, Overview, Sentence, Table
from dsbench.spec import OPTIONS, RunSpec, SpecError, build
from dsbench.stats import noise
from dsbench.stats.noise import Costs, GoesWith, Scatter
from dsbench.stats.periods import SHORTEST, Period, longest
from dsbench.stats.values import Floats, Interval

STEM: Final = "noise"
"""Of the file beside the archives."""
DIFFERENCES: Final = (0.01, 0.03, 0.05)
BLOCKS: Final = (3, 5, 10, 20)
_KEPT: Final = 50
"""Measurements of one kind that are kept."""
_FEWEST: Final = 3
"""Measurements at different times, from which on their scatter is told."""
_PAST: Final = frozenset({"cycles", "placement", "max_tries", "min_duration"})
"""Options of the load that make no other work."""


@dataclass(frozen=True)
class Watched:
    """What the seconds of one long cycle say."""

    seconds: int
    period: Period | None
    ramp_up: int
    """Seconds until the rate was settled."""
    settled: bool
    searched: int
    """Seconds in which a period was looked for."""
    independent: int
    """Seconds of a cycle that does not depend on the one before it."""

    def tell(self, duration: float, ramp_up: float) -> Iterator[str]:
        """What that means for cycles of ``duration`` seconds after a ``ramp_up``."""
        most = longest(self.searched)
        if self.period is not None:
            every = round(self.period.seconds)
            yield (f"The rate falls by {self.period.depth:.0%} every {every} s: cycles of that length, or a multiple, "
                   f"have the same share of it (--duration {every})")  # fmt: skip
        elif most >= 2 * SHORTEST:
            yield f"The rate had no period of {SHORTEST} to {most:.0f} s in {self.searched} s"
        if not self.settled:
            yield f"The rate had not settled after {self.seconds} s: use a longer --watch to see when it does"
        elif self.ramp_up > ramp_up:
            yield f"The rate settled after {self.ramp_up} s: use --ramp-up {self.ramp_up}"
        if self.settled and self.independent > duration and self.period is None:
            yield (f"Neighbouring seconds resemble each other: cycles below {self.independent} s depend on the cycle "
                   f"before them (--duration {self.independent})")  # fmt: skip


@dataclass(frozen=True)
class Noise:
    """A against A on this machine."""

    target: str
    """Without a password."""
    scale: int
    duration: float
    """Seconds of a cycle."""
    ramp_up: float
    rates: Sequence[Sequence[Sequence[float]]]
    """tps by database, start of the server, and cycle."""
    costs: Costs
    causes: Sequence[GoesWith]
    looked: Sequence[str]
    """What was looked at beside the rate."""
    watched: Watched | None
    when: str
    """UTC, in ISO 8601."""
    earlier: Sequence[float] = ()
    """Mean rates of earlier measurements of the same, in tps."""
    shares_database: bool = True
    """Whether ``ab --one-database`` is possible."""
    disturbed: Sequence[str] = ()
    """How many of the runs were disturbed, and by what: sentences."""

    @cached_property
    def scatter(self) -> Scatter:
        return noise.scatter(np.array(self.rates))

    @property
    def cycles(self) -> int:
        return len(self.rates[0][0])

    @property
    def known(self) -> tuple[bool, ...]:
        """Whether runs are on one database, for the ways of repeating them that were measured: new databases first."""
        return tuple(one for one in (False, True) if self.of_run(one_database=one) is not None)

    def of_run(self, *, one_database: bool) -> Interval | None:
        """Scatter of ln rate between runs as they were made here; ``None`` where that was not repeated."""
        return self.scatter.of_run(self.cycles, one_database=one_database)

    def finds(self, blocks: int, *, one_database: bool) -> float | None:
        """The difference (share above 0) that ``ab`` finds within so many blocks of such runs, with a ``--difference``
        no larger; ``None`` as above."""
        found = self.of_run(one_database=one_database)
        return None if found is None else noise.visible(found.value, blocks) - 1

    @property
    def mean_tps(self) -> float:
        return float(np.exp(np.log(np.array(self.rates)).mean()))

    def sentence(self) -> str:
        """The answer."""
        one_database = self.known[0]
        found = self.of_run(one_database=one_database)
        assert found is not None
        within = ", ".join(f"{_say(self.finds(n, one_database=one_database))} within {n}" for n in BLOCKS[1:])
        spread = f"{found.value:.2%} [{found.low:.2%}, {found.high:.2%}], {found.level:.0%}"
        runs = "equal runs on one database" if one_database else "equal runs"
        return f"The spread of {runs} is {spread}: dsbench ab finds a difference of {within} blocks."

    def tell(self) -> Iterator[Block]:
        """For people."""
        databases, starts, cycles = self.scatter.shape
        runs = counted(databases * starts, "run")
        yield Overview(
            self.sentence(),
            f"{runs} of {counted(cycles, 'cycle')} of {self.duration:g} s on {counted(databases, 'database')}; "
            f"{self.target}, scale {self.scale}, {self.mean_tps:,.0f} tps",
            verdict=self.disturbed,
        )
        yield Table("Spread by level", (Column("level", left=True), Column("spread", form=".2%"),
                    Column("from", form=".2%"), Column("to", form=".2%"), Column("share", form=".0%")),
                    list(self._levels()))  # fmt: skip
        yield Sentence("Spread: standard deviation, with its 95% interval. Share: of a cycle's variance.", "note")
        one = "--one-database" if self.shares_database else "the same tables"
        yield Table("What dsbench ab finds", (Column("within blocks"), *(
                    Column(one if way else "new databases") for way in self.known)),
                    [(n, *(_say(self.finds(n, one_database=way)) for way in self.known)) for n in BLOCKS])  # fmt: skip
        less = "A difference below --difference (2% by default) ends as none: specify a smaller one."
        yield Sentence(f"Found: in {noise.FOUND:.0%} of the comparisons with such runs. {less}", "note")
        yield Table("The shortest comparison", (Column("difference", form=".0%"), Column("cycles of a run"),
                    Column("databases", left=True), Column("blocks"), Column("time", left=True)),
                    list(self._shortest()))  # fmt: skip
        yield Listed([*self._say_causes(), *self._say_times(), *(
            self.watched.tell(self.duration, self.ramp_up) if self.watched else [])])  # fmt: skip

    def _levels(self) -> Iterator[tuple[object, ...]]:
        found = self.scatter
        parts = (found.database, found.start, found.cycle)
        for name, one, share in zip(("database", "start of the server", "cycle"), parts, found.shares, strict=True):
            if isfinite(one.value):
                yield name, one.value, one.low, one.high, share
        if (between := self.between) is not None:
            yield f"time ({len(self.earlier) + 1} measurements)", between, None, None, None

    @property
    def between(self) -> float | None:
        """Scatter between measurements at different times, beyond what the runs of one explain."""
        if len(self.earlier) + 1 < _FEWEST:
            return None
        logs = np.log([*self.earlier, self.mean_tps])
        return float(np.sqrt(max(float(logs.var(ddof=1)) - self.scatter.of_mean, 0.0)))

    def _shortest(self) -> Iterator[tuple[object, ...]]:
        for difference in DIFFERENCES:
            best = noise.best_design(self.scatter, self.costs, difference)
            if best is None:
                yield difference, None, f"more than {noise.MOST_BLOCKS} blocks", None, ""
            else:
                where = "one" if best.one_database else "new"
                yield difference, best.cycles, where, best.blocks, format_time(best.seconds)

    def _say_causes(self) -> Iterator[str]:
        for one in self.causes:
            way = "falls" if one.correlation < 0 else "rises"
            yield (f"{one.share:.0%} of the variance between the cycles of a run goes with {one.what}: the rate {way} "
                   f"with it (correlation {one.correlation:+.2f}, p = {one.p_value:.2g})")  # fmt: skip
        if not self.causes and self.looked:
            yield f"None of these goes with the rate of a cycle: {', '.join(self.looked)}"

    def _say_times(self) -> Iterator[str]:
        if self.earlier:
            all_of = [*self.earlier, self.mean_tps]
            yield (f"{counted(len(self.earlier), 'earlier measurement')} on this machine: the rates are "
                   f"{format_number(min(all_of))} to {format_number(max(all_of))} tps")  # fmt: skip

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        own, one = self.of_run(one_database=False), self.of_run(one_database=True)
        best = [noise.best_design(self.scatter, self.costs, difference) for difference in DIFFERENCES]
        parts = {"database": self.scatter.database, "start": self.scatter.start, "cycle": self.scatter.cycle}
        return {
            "target": self.target, "scale": self.scale, "when": self.when,
            "duration_s": self.duration, "ramp_up_s": self.ramp_up,
            "rates_tps": self.rates, "earlier_tps": list(self.earlier), "shares_database": self.shares_database,
            "scatter": {name: _as_json(found) for name, found in parts.items()},
            "of_run": {"new_databases": _as_json(own), "one_database": _as_json(one)},
            "finds": [{"blocks": n, "new_databases": self.finds(n, one_database=False),
                       "one_database": self.finds(n, one_database=True)} for n in BLOCKS],
            "shortest": [asdict(found) if found else None for found in best],
            "costs_s": asdict(self.costs), "causes": [asdict(cause) for cause in self.causes],
            "looked": list(self.looked), "disturbed": list(self.disturbed),
            "watched": asdict(self.watched) if self.watched else None,
        }  # fmt: skip


def _say(difference: float | None) -> str:
    if difference is None:
        return NONE
    return f"{difference:.1%}" if difference < 1 else f"a factor of {1 + difference:.3g}" if difference < 99 else "none"


def _as_json(one: Interval | None) -> dict[str, float] | None:
    if one is None or not isfinite(one.value):
        return None
    return {"value": one.value, "low": one.low, "high": one.high, "level": one.level}


def read(document: Mapping[str, Any]) -> Noise:
    """What ``document`` gave. ``ValueError``, ``KeyError`` or ``TypeError`` where it is none of these."""
    found = Noise(
        str(document["target"]), int(document["scale"]), float(document["duration_s"]), float(document["ramp_up_s"]),
        [[[float(rate) for rate in start] for start in database] for database in document["rates_tps"]],
        Costs(**document["costs_s"]), [GoesWith(**one) for one in document["causes"]],
        [str(one) for one in document["looked"]], read_watched(document["watched"]), str(document["when"]),
        [float(one) for one in document["earlier_tps"]], bool(document["shares_database"]),
        [str(one) for one in document["disturbed"]],
    )  # fmt: skip
    if not found.known:
        raise ValueError("nothing was repeated")
    return found


def read_watched(document: Mapping[str, Any] | None) -> Watched | None:
    """As ``read``, of what the long cycle said."""
    if document is None:
        return None
    period = document["period"]
    return Watched(**{**document, "period": Period(**period) if period else None})


def same(spec: RunSpec) -> dict[str, Any]:
    """What two runs have in common whose noise is the same but for their scale: the machine, the server, the work."""
    load = {name: getattr(spec, name) for name, option in OPTIONS.items() if option.of_load and name not in _PAST}
    machine = {"cpu": model(), "cpus": psutil.cpu_count(), "memory": psutil.virtual_memory().total >> 28}
    # The settings of a private server are what comparisons vary.
    server = f"private:{spec.target.private}" if spec.target.private else spec.target.redacted
    work = {"server": server, "driver": spec.driver, "workload": spec.workload, "settings": spec.workload_settings,
            "limits": spec.limits, "storage": spec.storage}  # fmt: skip
    found: dict[str, Any] = json.loads(json.dumps({**machine, **work, **load}, default=str, sort_keys=True))
    return found


def _place(spec: RunSpec) -> Path:
    name = sha256(json.dumps(same(spec), sort_keys=True).encode()).hexdigest()[:16]
    return caches.folder() / "noise" / f"{name}.json"


def _kept(spec: RunSpec) -> list[Noise]:
    """The oldest first; none of a file that says something else."""
    try:
        found = json.loads(_place(spec).read_text("utf-8"))
        return [read(one) for one in found["measurements"]] if found["of"] == same(spec) else []
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def known(spec: RunSpec) -> Noise | None:
    """The last measurement of such runs on this machine, at the largest scale of theirs that was measured; ``None``
    without one."""
    fitting = [one for one in _kept(spec) if one.scale in spec.scales]
    return max(fitting, key=lambda one: (one.scale, one.when), default=None)


def means(spec: RunSpec, rates: Sequence[Sequence[Sequence[float]]]) -> list[float]:
    """Of all kept measurements of such runs, in tps, the oldest first, but for that which has these ``rates``."""
    return [one.mean_tps for one in _kept(spec) if one.scale in spec.scales and one.rates != rates]


def keep(spec: RunSpec, found: Noise) -> None:
    """Keeps what was found with this machine's earlier measurements, where the user's caches can be written."""
    others = [one for one in _kept(spec) if one.rates != found.rates]
    document = {"of": same(spec), "measurements": [one.document() for one in [*others, found][-_KEPT:]]}
    caches.keep(_place(spec), (json.dumps(document, indent=1) + "\n").encode())


def say_of_ab(
    sides: Sequence[RunSpec], blocks: int, max_blocks: int, difference: float, *, one_database: bool
) -> str:
    """What a comparison finds by what is known of both sides on this machine; empty where that is nothing. Below the
    ``difference`` (share above 0) it finds none."""
    both = [(found, spec.cycles) for spec in sides if (found := known(spec)) is not None]
    runs = [found.scatter.of_run(cycles, one_database=one_database) for found, cycles in both]
    own = [one.value for one in runs if one is not None]
    if len(own) < len(sides):
        return ""
    mean = float(np.sqrt(np.square(own).mean()))
    least, most = (max(noise.visible(mean, n) - 1, difference) for n in (blocks, max_blocks))
    when = min(found.when for found, _ in both)[:10]
    return (f"noise of this machine ({when}): a difference of {_say(least)} is found within {blocks} "
            f"blocks, of {_say(most)} within {max_blocks}")  # fmt: skip


def limit_of_pairs(runs: Sequence[RunRecord]) -> tuple[float, str] | None:
    """The ratio below which single ``runs`` that do the same differ in 95% of pairs, and the day when their noise was
    measured. ``None`` where one of them was not made on this machine, has several scales, or has a noise that is not
    known between databases: each such run has its own."""
    variances, days, freedom = [], [], inf
    for run in runs:
        try:
            spec = build(run.spec.described())
        except SpecError:  # Of a target that is not said, or an option that is no more.
            return None
        found = known(spec) if run.host == platform.node() and len(spec.scales) == 1 else None
        of_run = None if found is None else found.scatter.of_run(spec.cycles, one_database=False)
        if found is None or of_run is None:
            return None
        variances.append(of_run.value**2 + (found.between or 0.0) ** 2)
        days.append(found.when[:10])
        freedom = min(freedom, max(found.scatter.shape[0] - 1, 1))
    if not variances:
        return None
    return noise.limit_of_pairs(float(np.mean(variances)), freedom), min(days)


def within_runs(values: Sequence[Sequence[Sequence[float]]]) -> tuple[Floats, list[int]]:
    """All cycles in a row, and the number of the run of each."""
    runs = [run for database in values for run in database]
    return np.array([one for run in runs for one in run]), [number for number, run in enumerate(runs) for _ in run]
