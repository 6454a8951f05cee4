"""One scale of a run: its stages, one after another, on one database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from dsbench.archive import LOCAL, Archive
from dsbench.archive.conditions import Condition, State, say_conditions, state_of
from dsbench.archive.record import Segment
from dsbench.measure.capacity import place_rates
from dsbench.measure.cycle import run_cycle
from dsbench.measure.happening import Renewed, forgive_lost, leave_open, loses
from dsbench.measure.journal import RunError
from dsbench.measure.keeping import Base
from dsbench.measure.kernel import watch_kernel
from dsbench.measure.loaders import IN_DATABASE, UNCOUNTED, Counted, CycleResult, PhaseResult, Stage, now_ns
from dsbench.measure.loaders.results import NodePart, NodeResult
from dsbench.measure.monitors import Sampler
from dsbench.measure.place import DROP
from dsbench.measure.placing import place_clients
from dsbench.measure.plan import PlannedCycle
from dsbench.measure.setting import ScaleContext
from dsbench.measure.stopping import CycleTrials, Enough, choose_cycles, size_cycles


class Scale:
    """The stages of one scale; its database is made anew, or one that was kept."""

    def __init__(
        self, setting: ScaleContext, scale: int, cycles: tuple[PlannedCycle, ...], base: Base, known: Enough
    ) -> None:
        self._setting = setting
        self._scale = scale
        self._cycles = cycles
        self._base = base
        self._known = known
        self._counts = Counts(len(setting.bench.kinds), base.counted)
        self._conditions: list[Condition] = []
        self._again: Renewed | None = None

    def run(self) -> bool:
        """Runs all stages; whether no condition is broken."""
        does = {
            "build": self._build, "load": self._load, "work": self._sampled, "check": self._check, "drop": self._drop,
        }  # fmt: skip
        for stage in self._setting.bench.stages:
            does[stage.work](stage)
        return not self._is_broken

    def check(self, last: PlannedCycle, counts: Counts | None) -> bool:
        """Checks and drops the database of cycles that are all recorded; whether no condition is broken.

        ``counts`` is what is in that database. Without it a new one is made and loaded as in the cycle ``last``.
        """
        stages = self._setting.bench.stages
        if counts is not None:
            self._counts = counts
        else:
            for stage in (one for one in stages if one.work == "build"):
                self._build(stage)
            self._counts.add((self._scale, last.number), run_cycle(self._setting, self._scale, last, recorded=False))
        for stage in (one for one in stages if one.work in ("check", "drop")):
            (self._check if stage.work == "check" else self._drop)(stage)
        return not self._is_broken

    @property
    def _is_broken(self) -> bool:
        return state_of(self._conditions) is State.BROKEN

    def _build(self, stage: Stage) -> None:
        """Creates the place, fills it and adds the keys, each phase timed; a kept one is looked through instead.

        The database of the scale before, where it was left, is reset and gets the rows that it lacks.
        """
        setting, bench = self._setting, self._setting.bench
        if setting.spec.reuse:
            self._reuse(stage)
            return
        there = self._base.take(bench)
        (self._reset if there else self._create)(stage)
        rows = bench.rows - (bench.rows * there // self._scale)
        with setting.during("populate"):
            by_procedure = setting.spec.population == "procedure"
            filled = bench.populate(by_procedure, self._parts(), setting.watch("populate"), there)
            if by_procedure:
                setting.target.take_stock()  # Of the procedure that did it, too.
        self._phase(stage, "populate", filled, rows=rows)
        with setting.during("primary_key"):
            self._phase(stage, "primary_key", bench.phase("primary_key", setting.watch("primary_key")))
        with setting.during("foreign_key"):
            keyed = bench.phase("foreign_key", setting.watch("foreign_key"))
            size = setting.target.size_bytes()
        self._phase(stage, "foreign_key", keyed, size_bytes=size)
        per_s = rows / (filled.duration_ns / 1e9)
        if rows:
            grown = f" added to those of scale {there}" if there else ""
            setting.journal.say(f"scale {self._scale}: {rows:,} rows{grown}, {per_s:,.0f} rows/s, {_takes(size)}")

    def _create(self, stage: Stage) -> None:
        setting = self._setting
        with setting.during("create"):
            made = _timed(self._base.make)
            tables = setting.bench.phase("create", setting.watch("create"))
            setting.target.take_stock()
        self._phase(stage, "create", PhaseResult(made.duration_ns + tables.duration_ns))

    def _reset(self, stage: Stage) -> None:
        setting = self._setting
        with setting.during("reset"):
            self._phase(stage, "reset", setting.bench.phase("reset", setting.watch("reset")))

    def _reuse(self, stage: Stage) -> None:
        setting = self._setting
        with setting.during("reuse"):
            checked = setting.bench.check(self._base.counted, setting.watch("reuse"))
            size = setting.target.size_bytes()
        for condition in (c for c in checked.conditions if c.state is State.BROKEN):
            raise RunError(
                f"the kept database has changed since its run: {condition.name}: {condition.detail}",
                f"{DROP}, and omit --reuse",
            )
        self._phase(stage, "reuse", checked, size_bytes=size)
        held = say_conditions(checked.conditions)
        setting.journal.say(f"scale {self._scale}: the kept database, {_takes(size)}: {held}")

    def _parts(self) -> int:
        """Parts of a population at the same time: a core each, one where only one may write."""
        return 1 if self._setting.target.dialect.single_writer else min(psutil.cpu_count() or 1, 8)

    def _load(self, stage: Stage) -> None:
        cycles = [cycle for cycle in self._cycles if cycle.stage == stage]
        setting = self._setting
        if cycles and stage.transactions is not None:
            setting = size_cycles(setting, stage.transactions, cycles, self._count_trial)
        if cycles:
            setting = place_clients(setting, self._scale, cycles[0], self._count_trial)
        trials = CycleTrials(setting, self._scale, self._count_trial)
        last, ran = cycles[0].number - 1 if cycles else 0, None
        if cycles:
            setting.probes.measure(self._scale, stage.name, last, "before")
            setting.twice.begin()
        if (setting.spec.searches or setting.spec.graduated) and cycles:
            chosen = place_rates(setting, self._scale, cycles, self._count_trial)
        else:
            chosen = choose_cycles(setting, self._scale, cycles)
        for wanted in chosen:
            # The stage of a bench with another number of transactions is another one.
            cycle = replace(wanted, stage=setting.bench.load(stage.name))
            if self._known.reached(cycle):
                continue
            parts = run_cycle(self._refresh(trials.set_up(cycle), cycle), self._scale, cycle)
            last, ran = cycle.number, cycle
            self._counts.add((self._scale, last), parts)
            if self._known.reached(cycle):
                setting.journal.say(f"scale {self._scale}: {self._known.describe(cycle)}")
        if cycles:
            setting.twice.end(self._scale)
            self._setting.snapshots.after(stage.name)
            setting.probes.measure(self._scale, stage.name, last, "after")
            if ran is not None and stage.repeated:
                watch_kernel(self._now(trials.set_up(ran)), self._scale, ran, self._count_trial)

    def _refresh(self, setting: ScaleContext, cycle: PlannedCycle) -> ScaleContext:
        """The setting of a cycle: with the processes of a server that was restarted for it, or for one before."""
        if cycle.cold and setting.restart is not None:
            with setting.during("restart", cycle.number):
                began = setting.restart()
                self._again = began.now
                if setting.outages is not None:
                    setting.outages.now = began.now
                setting.twice.begin()
            key = {"scale": self._scale, "stage": cycle.stage.name, "cycle": cycle.number, "phase": "restart"}
            row = {**key, "duration_ns": began.duration_ns, "size_bytes": began.held}
            setting.journal.writer.rows("phases", f"scale-{self._scale:05d}_cycle-{cycle.number:05d}_restart", [row])
            if began.stayed:
                remedy = ("a folder in memory cannot be cleared from the page cache: specify one on a disk, "
                          "?directory=FOLDER")
                setting.journal.warn("cold", began.stayed, remedy, self._scale)
        return self._now(setting)

    def _now(self, setting: ScaleContext) -> ScaleContext:
        """The same with what runs since the server was started again."""
        again = setting.outages.now if setting.outages is not None else self._again
        return replace(setting, known=again.known, monitors=again.monitors) if again else setting

    def _count_trial(self, parts: Sequence[NodePart]) -> None:
        self._counts.add((self._scale, 0), parts)

    def _work(self, stage: Stage) -> None:
        setting = self._setting
        with setting.during(stage.name):
            done = setting.bench.work(stage, setting.watch(stage.name))
            size = setting.target.size_bytes()
        rows = sum(piece.rows for piece in done.pieces)
        self._phase(stage, stage.name, done, rows=rows, size_bytes=size)
        for piece in done.pieces:
            self._phase(stage, piece.name, PhaseResult(piece.duration_ns), rows=piece.rows)
        took = ", ".join(f"{piece.name} {piece.duration_ns / 1e9:.3f} s" for piece in done.pieces)
        words = f"scale {self._scale}: {stage.name} took {done.duration_ns / 1e9:.3f} s"
        setting.journal.say(f"{words}: {took}" if took else words)

    def _check(self, stage: Stage) -> None:
        setting, counts = self._setting, self._counts
        setting.load.tell()
        for cycle, part in setting.load.late():
            counts.settle(cycle, part)
        for words in counts.unknown():
            remedy = "the check cannot compare the history with the run's commits; repeat the scale"
            setting.journal.warn("uncounted", words, remedy, self._scale)
        with setting.during("check"):
            checked = setting.bench.check(counts.counted(), setting.watch("check"))
            conditions = checked.conditions
            if setting.spec.event and any(counts.counted()[1]):
                conditions = leave_open(conditions)
            if setting.spec.event and loses(conditions):
                conditions = forgive_lost(conditions, setting.bench.check(None, setting.watch("check")).conditions)
        self._phase(stage, "check", checked)
        several = sum(one.work == "check" for one in setting.bench.stages) > 1
        named = [c.changed(name=f"{stage.name}: {c.name}") if several else c for c in conditions]
        self._conditions += named
        setting.journal.checked(self._scale, self._conditions)
        setting.journal.say(f"scale {self._scale}: {say_conditions(named)}")
        for condition in (c for c in named if c.state is State.BROKEN):
            setting.journal.say(f"CHECK FAILED at scale {self._scale}: {condition.name}: {condition.detail}")

    def _drop(self, stage: Stage) -> None:
        setting = self._setting
        if self._base.stays(self._scale):
            with setting.during("keep"):
                self._base.keep(setting.journal, self._scale, self._counts.counted())
        elif self._is_broken or not self._base.leave(self._scale, self._setting.journal):
            with setting.during("drop"):
                self._phase(stage, "drop", _timed(self._base.remove))

    def _sampled(self, stage: Stage) -> None:
        """Statements that are timed, with the monitors beside them, as cycle 0."""
        sampler = Sampler(self._now(self._setting).monitors)
        sampler.first()
        try:
            sampler.go(now_ns())
            self._work(stage)
        finally:
            samples = sampler.stop()
        key = {"scale": self._scale, "stage": stage.name, "cycle": 0, "node": LOCAL, "clients": stage.parts}
        part = f"scale-{self._scale:05d}_{stage.name}_{LOCAL}"
        self._setting.journal.writer.rows("monitors", part, [{**key, **row} for row in samples])

    def _phase(
        self, stage: Stage, phase: str, result: PhaseResult, rows: int = 0, size_bytes: int | None = None,
    ) -> None:  # fmt: skip
        row = {"scale": self._scale, "stage": stage.name, "cycle": 0, "phase": phase, "duration_ns": result.duration_ns}
        journal = self._setting.journal
        part = f"scale-{self._scale:05d}_{len(journal.record.segments):03d}_{stage.name}_{phase}"
        journal.writer.rows("phases", part, [{**row, "rows": rows, "size_bytes": size_bytes}])


def _takes(size: int | None) -> str:
    return "size not known" if size is None else f"{size / 1e9:.3f} GB"


def _timed(phase: Callable[[], None]) -> PhaseResult:
    began = now_ns()
    phase()
    return PhaseResult(now_ns() - began)


Cycle = tuple[int, int]
"""(scale, number)"""

UNTOLD = ("partial", "lost")
"""States of a node's part in a cycle that has no rows in the table ``cycles`` and left something in the database."""


class Counts:
    """Everything that is known to be in the database, whether a rate counts it or not."""

    def __init__(self, kinds: int, before: Counted | None = None) -> None:
        """``kinds``: how many kinds of transactions the workload has; ``before``: what earlier runs did."""
        committed, unknown, sums = before or ([0] * kinds, [0] * kinds, [])
        self._committed, self._unknown = list(committed), list(unknown)
        self._sums: Counter[str] = Counter(dict(sums))
        self._lost: set[tuple[Cycle, str]] = set()

    @classmethod
    def of(cls, archive: Path, kinds: Sequence[str], segment: Segment) -> Counts:
        """What the cycles of ``segment``, which was the last one, have committed as the archive tells."""
        found, opened = cls(len(kinds)), Archive.open(archive)
        scale, first = segment.scale, segment.first_cycle
        rows = {
            table: [row for row in opened.table(table).to_pylist() if row["scale"] == scale and row["cycle"] >= first]
            for table in ("cycles", "sums", "nodes")
        }
        for row in rows["cycles"]:
            kind = kinds.index(row["kind"])
            found._committed[kind] += sum(row[name] for name in IN_DATABASE)
            found._unknown[kind] += row["unknown"]
        for row in rows["sums"]:
            found._sums[row["name"]] += row["value"]
        # Of a part that is not counted the archive does not tell what it committed.
        found._lost = {((scale, row["cycle"]), row["node"]) for row in rows["nodes"] if row["state"] in UNTOLD}
        return found

    def add(self, cycle: Cycle, parts: Sequence[NodePart]) -> None:
        """The parts of a cycle that has ended."""
        for part in parts:
            if part.found is not None:
                self._take(part.found.result)
        self._lost |= {(cycle, part.node) for part in parts if part.state == "lost"}

    def settle(self, cycle: Cycle, found: NodeResult) -> None:
        """A part that came late: the rates omit it, the database does not."""
        if (cycle, found.node) in self._lost:
            self._lost.remove((cycle, found.node))
            self._take(found.result)

    def _take(self, result: CycleResult) -> None:
        self._committed = [a + b for a, b in zip(self._committed, result.committed_in_database(), strict=True)]
        self._unknown = [a + b for a, b in zip(self._unknown, result.by_kind("unknown"), strict=True)]
        self._sums.update(result.sums)

    def unknown(self) -> Iterator[str]:
        """In words, the nodes of which nobody knows what they committed."""
        for (_scale, cycle), node in sorted(self._lost):
            yield f"node {node} was lost in cycle {cycle}: its commits there are unknown"

    def counted(self) -> Counted:
        """As the check wants it."""
        # A node that was lost may have committed any number of each kind.
        unknown = [n + (UNCOUNTED if self._lost else 0) for n in self._unknown]
        return self._committed, unknown, sorted(self._sums.items())
