"""A workload on a target: its phases, its stages and its cycles."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dsbench import _core
from dsbench._core import CycleLoad, Stage
from dsbench.archive.conditions import Commits, Condition, State
from dsbench.dataclass import dataclass
from dsbench.measure import drivers
from dsbench.measure.loaders.answers import check_answers, lacks_engine, space_needed
from dsbench.measure.loaders.core import CoreError, TargetDatabase, errors, fetch
from dsbench.measure.loaders.cycle import POLL_S, Cycle, Source, Watch
from dsbench.measure.loaders.peers import PeerProgram, Pgbench, Sysbench
from dsbench.measure.loaders.processes import Processes
from dsbench.spec import NotHere, RunSpec, Target
from dsbench.spec.drivers import OWN, Peer, clients_of, find_driver

Counted = tuple[list[int], list[int], list[tuple[str, int]]]
"""Committed transactions per kind, commits of unknown end per kind, the clients' sums by name."""

_PROGRAMS: Final[Mapping[str, type[PeerProgram]]] = {"pgbench": Pgbench, "sysbench": Sysbench}

UNCOUNTED: Final = _core.UNCOUNTED
"""As the number of commits of unknown end of a kind: it is not known how many there are."""


@dataclass(frozen=True)
class TimedStep:
    """A piece of a phase that was timed by itself."""

    name: str
    rows: int
    """Rows that it went through, where it says so."""
    duration_ns: int


@dataclass(frozen=True)
class StatementName:
    """A statement whose times can be kept."""

    kind: int
    """Number of the kind of transactions that it belongs to."""
    line: int
    """Line in its script, from 1."""
    text: str


class Prepared:
    """A session like those of the load, on which the statements of the workload are prepared."""

    def __init__(self, core: _core.Prepared) -> None:
        self._core = core
        self.statements: Sequence[tuple[str, Sequence[str]]] = core.statements()
        """Text, and the types of its parameters: number, text, time."""

    def fetch(self, sql: str) -> list[Mapping[str, str | None]]:
        """Rows of a query by column name, all text."""
        return fetch(self._core, sql)


@dataclass(frozen=True)
class PhaseResult:
    """What a phase took, the conditions where it was a check, its pieces where they were timed."""

    duration_ns: int
    conditions: tuple[Condition, ...] = ()
    pieces: tuple[TimedStep, ...] = ()


class Bench:
    """A workload at one scale on one target."""

    def __init__(
        self, target: TargetDatabase, workload: str, scale: int, call: str | None,
        settings: Mapping[str, str] | None = None, clients: int = 1, *, existing: bool = False,
    ) -> None:
        """``settings``: those of this workload alone, by name; ``CoreError`` of kind "configuration" for others.

        ``clients``: those that the run asks for, on all nodes; a workload may have a table for each. ``existing``: the
        tables are there, and nothing is done but the load.
        """  # fmt: skip
        self._target = target
        self._asked: dict[str, Any] = {
            "workload": workload, "scale": scale, "call": call, "settings": dict(settings or {}), "clients": clients
        }  # fmt: skip
        with errors():
            reading = target.reading._core if target.reading is not None else None
            self._core = _core.Bench(target._core, workload, scale, call, dict(settings or {}), clients, reading)
        self.scale = scale
        self.cleaned = False
        """Whether the phase "clean" was done."""
        self.kinds = self._core.kinds()
        self.rows = 0 if existing else self._core.rows()
        self.call = self._core.call()
        self.statements = tuple(StatementName(*raw) for raw in self._core.statements())
        """By number; empty where the workload times none."""
        self.stages: Sequence[Stage] = self._core.stages()
        if existing:
            self.stages = [stage.uncleaned() for stage in self.stages if stage.work == "load"]

    def refuse(self, spec: RunSpec) -> None:
        """``CoreError`` of kind "configuration" for what ``spec`` wants and engine or workload do not have."""
        with errors():
            self._core.refuse(spec.population == "procedure", spec.pace == "terminals")
        self._refuse_client(spec)
        if spec.reads and not any(stage.reads for stage in self.stages):
            words = f"--reads: no clients of {spec.workload} only read"
            raise _wrong(words, "omit --reads, or use select, or a workload file with role = \"read\" in a group")
        if self._core.alone() and (spec.nodes or spec.driver != OWN):
            flag = "--nodes" if spec.nodes else "--driver"
            words = f"{flag}: the clients of {spec.workload} share the state of its refreshes"
            raise _wrong(words, f"omit {flag}")
        for stage in (one for one in self.stages if one.work == "load"):
            self.fill(spec, stage.name, nodes=max(spec.nodes, 1))
        counts = any(stage.repeated and not stage.timed for stage in self.stages)
        if spec.objective or spec.graduated:
            self._refuse_objective(spec)
        for flag, asked in (("--precision", spec.precision is not None), ("--find-ramp-up", spec.find_ramp_up)):
            if counts and asked:
                words = f"{flag}: the cycles of {spec.workload} end by count, not by time"
                raise _wrong(words, f"omit {flag}")
        if spec.per_statement and not self.statements:
            words = f"--per-statement: {spec.workload} does not time its statements, only scripts do"
            raise _wrong(words, "omit --per-statement")
        if spec.peak and spec.precision is not None:
            raise _wrong("--peak and --precision both set the number of cycles", "omit one")
        if spec.several_clients and not any(stage.repeated for stage in self.stages):
            listed = ",".join(map(str, spec.client_numbers))
            words = f"--clients {listed}: the stages of {spec.workload} are run once each"
            raise _wrong(words, "specify one number")

    def _refuse_objective(self, spec: RunSpec) -> None:
        loads = [stage for stage in self.stages if stage.work == "load"]
        unknown = [one.kind for one in spec.objectives if one.kind and one.kind not in self.kinds]
        words = f"no transactions of kind {unknown[0]!r}" if unknown else ""
        remedy = f"use one of its kinds, {', '.join(self.kinds)}"
        if len(loads) != 1 or not loads[0].repeated or not loads[0].timed:
            words = "its stages are run once each, or end by count"
            remedy = "use a workload with repeated cycles"
        if words:
            flag = "--objective" if spec.objective else "--graduated"
            raise _wrong(f"{flag}: {spec.workload}: {words}", remedy)

    def _refuse_client(self, spec: RunSpec) -> None:
        client, dialect = find_driver(spec.driver), self._target.dialect.name
        if client is None:
            return
        words, remedy = "", "omit --driver"
        if client.name not in clients_of(dialect):
            words, remedy = f"{client.name} does not support {dialect}", f"use one of {', '.join(clients_of(dialect))}"
        elif ignored := client.ignored(Target(url=self._target.url)):
            words, remedy = f"{client.name} ignores {', '.join(ignored)} of the target", "omit either"
        elif isinstance(client, Peer):
            words, remedy = _beyond(client, spec, self._target.dialect.name, self.call), "omit either"
        elif spec.prepare and not client.prepares:
            words, remedy = f"{client.name} does not prepare statements", "omit --prepare"
        elif self.statements or spec.pace == "terminals":
            words = f"{client.name} supports neither scripts nor terminals"
        elif client.name == "sqlite3" and spec.workload != "select" and sqlite3.sqlite_version_info < (3, 42):
            words, remedy = f"{drivers.version(client)} is too old", "use another client, or SQLite 3.42 or later"
        if words:
            raise _wrong(f"--driver: {words}", remedy)
        if missing := drivers.missing(client):
            raise NotHere("--driver", missing, "install it, or use another client")

    def draws(self, seed: int, client: int, count: int) -> list[str]:
        """The inputs ``client`` draws for transactions 0..count, in words."""
        return _core.draws(self._core, seed, client, count)

    def phase(self, name: str, watch: Watch) -> PhaseResult:
        """Runs "create", "reset", "primary_key", "foreign_key" or "clean"."""
        with errors():
            done = _wait(self._core.phase(name), watch)
        self.cleaned = self.cleaned or name == "clean"
        return done

    def prepared(self) -> Prepared:
        """Opens a session with the statements of the workload; in place of procedures, those that do the same."""
        core = self._core
        with errors():
            if core.call() == "procedure":
                core = _core.Bench(self._target._core, **{**self._asked, "call": "statements"})
            return Prepared(core.prepared())

    @property
    def rehearses(self) -> bool:
        """Whether SQL of the user is in the workload, which ``rehearse`` tries."""
        return self._core.rehearses()

    def rehearse(self, prepare: bool, fresh: bool) -> None:
        """Tries SQL of the user; ``fresh``: keys and conditions as well, on tables that are dropped afterwards."""
        with errors():
            _wait(self._core.rehearse(prepare, fresh), lambda _done, _total: None)

    def populate(self, by_procedure: bool, parts: int, watch: Watch, there: int = 0) -> PhaseResult:
        """Writes all rows, in parallel parts unless by procedure; in bulk those that the scale ``there``, which was
        reset, lacks."""
        with errors():
            return _wait(self._core.populate(by_procedure, parts, there), watch)

    def lacks(self, there: int) -> str:
        """Why a database of the smaller scale ``there`` does not become one of this; empty where it does."""
        try:
            with errors():
                self._core.grows(there)
        except CoreError as error:
            return str(error).removeprefix(f"{error.kind}: ")
        return ""

    def check(self, counted: Counted | None, watch: Watch) -> PhaseResult:
        """Checks the workload's conditions against what the cycles counted; ``None``: within the database alone."""
        with errors():
            checked = _wait(self._core.check(counted), watch)
            answers = () if counted is None else check_answers(self._core, self.kinds)
        return replace(checked, conditions=checked.conditions + answers)

    @property
    def compares(self) -> bool:
        """Whether its check compares answers with those of a second engine."""
        return self._core.evidence() is not None

    @property
    def check_bytes(self) -> int:
        """What that writes at least into the folder for temporary files; 0 where there is no second engine."""
        return space_needed(self.rows) if self.compares and not lacks_engine() else 0

    def work(self, stage: Stage, watch: Watch) -> PhaseResult:
        """Runs the statements of a work stage, on as many connections as it has parts."""
        with errors():
            return _wait(self._core.work(stage.name, stage.parts), watch)

    def load(self, stage: str) -> Stage:
        """The load stage called ``stage``; the first one for an empty name."""
        found = [one for one in self.stages if one.work == "load" and stage in ("", one.name)]
        if not found:
            raise _wrong(f"the workload has no load stage {stage!r}")
        return found[0]

    def fill(
        self, spec: RunSpec, stage: str = "", *, node: int = 0, nodes: int = 1, by_time: bool = False
    ) -> CycleLoad:
        """The load of one cycle of ``stage`` on node number ``node`` of ``nodes``, the last of which has most clients.

        ``by_time``: every group ends after the duration of ``spec``, whatever the workload says. ``CoreError`` of kind
        "configuration" where there are fewer terminals than nodes, or a ramp-up before a load that ends by count.
        """  # fmt: skip
        name, terminals = self.load(stage).name, spec.terminals_at(self.scale)
        with errors():
            return self._core.fill(name, spec, node, nodes, terminals, by_time)

    def cycle(
        self,
        spec: RunSpec,
        seed: int,
        trace: Path | None,
        *,
        stage: str = "",
        node: int = 0,
        nodes: int = 1,
        by_time: bool = False,
    ) -> Cycle:
        """Opens the connections of a cycle of ``stage``; it starts when ``Cycle.start`` says so.

        ``node``, ``nodes`` and ``by_time`` as in ``fill``.
        """
        load = self.fill(spec, stage, node=node, nodes=nodes, by_time=by_time)
        with errors():
            if spec.driver == OWN:
                source: Source = self._core.cycle(load, seed, trace)
            else:
                source = self._by_another(spec, load, seed, trace)
        return Cycle(source, load, len(self.kinds), trace)

    def _by_another(self, spec: RunSpec, load: CycleLoad, seed: int, trace: Path | None) -> Source:
        client = find_driver(spec.driver)
        if isinstance(client, Peer):
            dialect = client.dialects[self._target.dialect.name]
            return _PROGRAMS[spec.driver](spec, self._target.url, self.scale, dialect, self.call, load.clients, seed)
        parts = load.divide(os.cpu_count() or 1)
        return Processes({"url": self._target.url, **self._asked}, parts, spec.driver, seed, trace)


def _beyond(client: Peer, spec: RunSpec, dialect: str, call: str) -> str:
    """What ``spec`` wants and the program ``client`` cannot do; empty where it can all of it."""
    wanted = {
        f"--workload {spec.workload}": spec.workload not in ("tpcb", "select"),
        "--set": bool(spec.workload_settings),
        "results of MySQL procedures: add --call statements": (client.name, dialect, call, spec.workload)
        == ("sysbench", "mysql", "procedure", "tpcb"),
        "--nodes": spec.nodes > 0,
        "--per-statement": spec.per_statement,
        "--connections": spec.connections > 1,
        "--rate": spec.rate is not None,
        "--pace": spec.pace != "none",
        "--ramp-up": spec.ramp_up > 0 or spec.find_ramp_up,
        "--trace": spec.trace,
        "--reconnect": spec.reconnect and client.name != "pgbench",
        f"--duration {spec.duration:g}, only whole seconds": spec.duration != round(spec.duration),
    }
    found = next((option for option, asked in wanted.items() if asked), "")
    return f"{client.name} does not take {found}" if found else ""


def _wrong(problem: str, remedy: str = "") -> CoreError:
    return CoreError("configuration", "", problem, remedy)


def _commits(found: tuple[int, int, int] | None) -> Commits | None:
    if found is None:
        return None
    there, acknowledged, unknown = found
    return Commits(found=there, acknowledged=acknowledged, unknown=unknown if unknown < UNCOUNTED else None)


def _wait(task: _core.Task, watch: Watch) -> PhaseResult:
    """Waits for a phase. An interruption ends its statements before it goes on upwards."""
    try:
        watch(*task.progress())  # Once at least: whoever watches hears of every phase, however short.
        while not task.finished():
            watch(*task.progress())
            time.sleep(POLL_S)
    except BaseException:
        task.abandon()
        # The phase was ended on purpose: its complaint about that is no news.
        with suppress(_core.CoreError):
            task.join()
        raise
    found, duration_ns, pieces = task.join()
    conditions = tuple(
        Condition(name=name, state=State(state), detail=detail, remedy=remedy, commits=_commits(commits))
        for name, state, detail, remedy, commits in found
    )
    return PhaseResult(duration_ns, conditions, tuple(TimedStep(*piece) for piece in pieces))
