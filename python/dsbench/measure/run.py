"""A run from its specification to its archive: its target is opened, described, and worked on scale by scale.

``execute`` starts a new run, ``resume`` goes on with one that was cut short. Whatever happens, the
archive stays readable, and no server and no database of dsbench's is left behind.
"""

from __future__ import annotations

import datetime
import itertools
import platform
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from typing import Final

from dsbench import servers
from dsbench.archive import Archive, ArchiveError, Writer
from dsbench.dataclass import dataclass
from dsbench.measure import calibration, keeping, place, preflight, reading, stack, surroundings
from dsbench.measure.ahead import refuse_absent, refuse_full
from dsbench.measure.cycle_log import ABORTED
from dsbench.measure.following import Followers
from dsbench.measure.happening import Outages, Renewed, TakingOver
from dsbench.measure.history import CycleHistory
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.joining import Joining, choose_loader
from dsbench.measure.journal import Journal, RunError, now
from dsbench.measure.kernel import possible_kinds
from dsbench.measure.loaders import Bench, CoreError, Stopped, TargetDatabase, now_ns
from dsbench.measure.loaders.answers import LACKING, lacks_engine
from dsbench.measure.loaders.loader import Loader
from dsbench.measure.moments import Moment, Observer, moment_around
from dsbench.measure.monitors import Known, Monitor, Sizes, Statistics, monitors_for, statistics_of
from dsbench.measure.monitors.counted import StatementCounts
from dsbench.measure.monitors.energy import Meter, Rapl
from dsbench.measure.monitors.host import Lasting
from dsbench.measure.opening import during, explain_errors, open_target
from dsbench.measure.place import owner_alive
from dsbench.measure.plan import PlannedCycle, can_go_on, planned
from dsbench.measure.plans import ask_plans, has_plans
from dsbench.measure.scale import Counts, Scale
from dsbench.measure.setting import Restarted, ScaleContext
from dsbench.measure.stopping import Enough, choose_scale
from dsbench.measure.success import refuse_barren, warn_of_nothing_found
from dsbench.measure.surroundings import Probes, Snapshots
from dsbench.measure.twice import Twice
from dsbench.redaction import HIDDEN, redact_words, secrets_of
from dsbench.servers.server import OwnProcess
from dsbench.spec import RunSpec, SpecError, Target
from dsbench.spec.drivers import OWN
from dsbench.spec.events import is_steady
from dsbench.spec.target import is_sqlite


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    archive: Path
    status: str
    """"complete", "cut-short" (the user stopped it) or "failed"."""
    error: RunError | None = None
    void_scales: tuple[int, ...] = ()
    """Scales whose check failed."""
    aborted: str = ""
    """What is said of the first cycle in which errors of their scripts ended clients."""


def execute(
    spec: RunSpec, out: Path, observer: Observer, joining: Joining | None = None, stop: Stop | None = None
) -> Outcome:
    """Runs ``spec`` and leaves an archive in ``out``; ``joining`` says how remote nodes come in.

    ``stop`` ends the run early; without one, signals do. Raises ``RunError`` (or ``SpecError``) while nothing was
    begun; afterwards errors are in the outcome.
    """
    surroundings.read_checked(spec.checked)  # Before a server is started for nothing.
    refuse_absent(spec)
    refuse_full(spec)
    with listening(stop) as stop, _opened(spec, observer) as (target, server):
        _refuse_unfit(spec, target)
        _refuse_stranger(spec, target)
        spec = keeping.claim_target(spec, target)
        base = keeping.choose_base(spec, target, server)
        bench = _open_bench(spec, target, spec.scales[0])  # Wrong options show before anything is made.
        _refuse_cold(bench, server)
        _refuse_events(spec, server)
        words = keeping.rehearse(spec, target, bench)
        load = choose_loader(spec, joining or Joining())
        writer = Writer.create(out, _name_archive(spec, target))
        journal = Journal.begin(writer, observer, spec)
        observer.archive(writer.path)
        if words:
            journal.say(f"the server has {words}")
        if bench.compares and lacks_engine():
            journal.say("; ".join(LACKING))
        return _Run(spec, base, journal, stop, load, CycleHistory()).make()


@contextmanager
def _opened(spec: RunSpec, observer: Observer) -> Iterator[tuple[TargetDatabase, servers.Server | None]]:
    """The target of ``spec``; ``observer`` hears that a private server starts and stops."""
    around = spec.target.private is not None and not is_sqlite(spec.target.url)
    if around:
        observer.moment(moment_around("start"))
    with open_target(spec, observer.message) as opened:
        yield opened
        if around:
            observer.moment(moment_around("stop"))


def try_target(spec: RunSpec) -> tuple[str, ...]:
    """Begins the run of ``spec`` and ends it before anything is made: its server starts, and its options fit.

    Gives the names of the stages that it would measure. ``SpecError`` or ``RunError`` for what is wrong. A file system
    of its own is not made for it.
    """
    surroundings.read_checked(spec.checked)
    tried = spec.model_copy(update={"storage": {}, "keep": False})
    with open_target(tried) as (target, server):
        _refuse_unfit(tried, target)
        _refuse_stranger(tried, target)
        _refuse_events(tried, server)
        tried = keeping.claim_target(tried, target)
        keeping.choose_base(tried, target, server)
        bench = _open_bench(tried, target, tried.scales[0])
        return tuple(one.name for one in bench.stages if one.work in ("load", "work"))


def resume(
    path: Path, target: Target | None, observer: Observer, joining: Joining | None = None, stop: Stop | None = None
) -> Outcome:
    """Goes on with the archive at ``path``: finished cycles stay, the missing ones are run.

    ``target`` is named again where its URL holds a password, which no archive keeps; ``stop`` is that of ``execute``.
    """
    spec = _read_specification(path)
    begun = Archive.open(path).run
    if begun.status == "complete":  # Its report is missing, and needs no database.
        with suppress(SpecError):  # The folder of its server may be gone, too.
            servers.clean_for(spec.target)
        return Outcome(path, "complete", None, tuple(begun.broken))
    if target is not None:
        spec = spec.model_copy(update={"target": target})
    elif any(HIDDEN in text for text in (spec.target.url, *spec.target.settings.values())):
        remedy = "specify TARGET again: dsbench run TARGET --resume ARCHIVE"
        raise RunError("an archive contains no password", remedy, usage=True)
    if HIDDEN in spec.event:
        problem = "the command of --event contained a password, and an archive contains none"
        raise RunError(problem, "repeat the run", usage=True)
    with listening(stop) as stop, _opened(spec, observer) as (database, server):
        _refuse_unfit(spec, database)
        _refuse_stranger(spec, database)
        _refuse_events(spec, server)
        keeping.claim_target(spec, database)  # Its scale stays that of the beginning.
        base = keeping.choose_base(spec, database, server, begun.name)
        _open_bench(spec, database, spec.scales[0])  # The target may be another than that of the beginning.
        load = choose_loader(spec, joining or Joining())
        journal = Journal.go_on(Writer(path), observer)
        observer.archive(path)
        return _Run(spec, base, journal, stop, load, CycleHistory.read(path)).make()


_NOTICED_S: Final = 0.2
_DIRECTORIES: Final = frozenset({"postgres", "mysql"})
"""Engines whose servers have a data directory for themselves."""


class _Run:
    """A run under way: the state that its scales share."""

    def __init__(
        self, spec: RunSpec, base: keeping.Base, journal: Journal, stop: Stop, load: Loader, history: CycleHistory
    ) -> None:
        self.spec = spec
        self.base = base
        self.target = base.target
        self.server = base.server
        self.journal = journal
        self.stop = stop
        self.void = list(journal.record.broken)
        self.monitors: tuple[Monitor, ...] = ()
        self.known = Known({})
        self.folders: list[Path] = []
        """Where the data lie, as far as that is known."""
        self.load = load
        self.statistics: Statistics | None = None
        self.probes: Probes
        self.perf: tuple[str, ...] = ()
        self.meter = Meter(spec.power) if spec.power else None
        self.lasting = Lasting()
        self.history = history
        self.followers = Followers(self.target, self.server)

    def make(self) -> Outcome:
        """All scales, without the cycles that are done."""
        status, error = "failed", None  # Also for an exception that is not expected.
        try:
            with explain_errors("run"):
                with during("before the first scale", self.target):
                    self.base.begin(self.journal)
                    with place.visible(self.target, self.base.mark, there=self.base.there):
                        self._describe_system()
                self.probes = Probes(self.spec, self.server.folder if self.server else None, self.journal)
                self.perf = possible_kinds(self.spec.perf, self.known.devices, self.journal.warn)
                with surroundings.watch_others(self.known, self.journal, self.load):
                    self.load.begin(self.journal, self.target, self._show_progress)
                    if not self.spec.nodes and self.spec.driver == OWN:
                        self._measure_ceiling()
                for number, scale in enumerate(self.spec.scales, start=1):
                    if not self._is_finished(scale):
                        self._run_scale(number, scale)
                        self.journal.observer.scale_done(self.journal.writer.path)
                self._run_further_scales()
                refuse_barren(self.journal, self.history)
                if _open_bench(self.spec, self.target, self.spec.scales[0]).statements:
                    warn_of_nothing_found(self.journal)
            status = "complete"
        except Stopped as stopped:
            status, error = "cut-short", RunError(str(stopped), "continue with: dsbench run --resume ARCHIVE")
        except RunError as failed:
            error = self._explain(failed)
        finally:
            self.load.end(status)
            if self.meter is not None:
                self.meter.end()
            self._drop_place()
        with suppress(ArchiveError):  # A full disk: what was written before stays, and the error is shown.
            if error is not None:
                self.journal.writer.log(f"{now()} {status}: {error}")  # The screen has it from the outcome.
            self._keep_server_log(status)
            self.journal.end(status, str(error or ""))
        aborted = (warning.message for warning in self.journal.record.warnings if warning.code == ABORTED)
        return Outcome(self.journal.writer.path, status, error, tuple(self.void), next(aborted, ""))

    def _explain(self, failed: RunError) -> RunError:
        """``failed`` with what of the server no longer runs, and the remedy for that."""
        ended = self.server.ended() if self.server is not None else []
        if self.server is not None and not ended:  # A lost connection may be noticed before the end of its process.
            time.sleep(_NOTICED_S)
            ended = self.server.ended()
        return RunError("; ".join(map(str, (failed, *ended))), ended[0].remedy) if ended else failed

    def _run_further_scales(self) -> None:
        """Further scales where the rate falls most; one that was begun before the run was resumed comes first."""
        spec, path = self.spec, self.journal.writer.path
        if spec.refine == "none":
            return
        begun = [one.scale for one in self.journal.record.segments if one.scale not in spec.scales]
        waiting = list(dict.fromkeys(begun))
        for number in itertools.count(len(spec.scales) + 1):
            scale = waiting.pop(0) if waiting else choose_scale(spec, self.history, self.void)
            if scale is None or (scale in self.void):
                return
            if not self._is_finished(scale):
                self._run_scale(number, scale)
                self.journal.observer.scale_done(path)

    def _run_scale(self, number: int, scale: int) -> None:
        spec, journal, done = self.spec, self.journal, self.history.last(scale)
        bench = _open_bench(spec, self.target, scale)
        known = Enough(spec, scale, self.history)
        cycles = known.select_needed(planned(bench.stages, spec, done))
        last, of = cycles[-1].number if cycles else 0, max(len(spec.scales), number)
        moment = Moment(scale, number, of, "create", cycles=last)
        stages = [{"name": one.name, "work": one.work, "repeated": one.repeated} for one in bench.stages]
        journal.note(kinds=bench.kinds, call=bench.call, stages=stages)
        if cycles:
            journal.segment(scale, done + 1)
        dialect = self.target.dialect.name
        snapshots = Snapshots(
            journal, self.statistics, scale, len(journal.record.segments),
            # Behind a pooler a question may change a session of the load.
            lambda: ask_plans(dialect, bench.prepared()) if has_plans(dialect) and not self.target.pooled else [],
        )  # fmt: skip
        setting = ScaleContext(
            spec, self.target, journal, bench, self.load, self.monitors, self.known, self.stop, moment, snapshots,
            Twice(journal, dialect, self.target, self._url()), self.probes, self.history, self.perf,
            self._restart if self.server is not None else None, self._plan_outages(), self.lasting,
        )
        running = Scale(setting, scale, cycles, self.base, known)
        if not (running.run() if cycles else running.check(*self._find_unchecked(bench, scale))):
            self.void.append(scale)
        if gone := self.server.missing() if self.server is not None else []:
            # What was measured since then is another server.
            raise RunError(f"scale {scale}: {gone[0]}", gone[0].remedy)

    def _find_unchecked(self, bench: Bench, scale: int) -> tuple[PlannedCycle, Counts | None]:
        """The last cycle of a scale that was killed before its check, and what its database holds if it is there."""
        last, segment = planned(bench.stages, self.spec)[-1], self.journal.record.segments[-1]
        if self.spec.reuse:  # Its mark tells that a run died on it.
            return last, Counts(len(bench.kinds), self.base.counted)
        # Trials, and cycles beside perf, are in the database and not in the archive.
        tried = self.journal.record.placement_tried
        whole = not self.perf and not any(stage.transactions for stage in bench.stages)
        whole = whole and not (tried and tried.free_tps and scale == self.spec.scales[0])
        if whole and segment.first_cycle <= last.number and place.is_own(self.target, self.base.mark):
            return last, Counts.of(self.journal.writer.path, bench.kinds, segment)
        words = f"scale {scale}: the run was killed before the check, and the database of its cycles is lost"
        remedy = f"the check used another database after the load of cycle {last.number}, which is not counted"
        self.journal.warn("resumed", words, remedy, scale)
        self.journal.segment(scale, last.number + 1)
        return last, None

    def _is_finished(self, scale: int) -> bool:
        """Whether nothing of ``scale`` is left to do."""
        stages = _open_bench(self.spec, self.target, scale).stages
        if not can_go_on(stages):
            return scale in _find_dropped(self.journal.writer.path)
        checks = any(stage.work == "check" for stage in stages)
        handed = self.journal.record.kept is not None or not self.base.stays(scale)
        known = Enough(self.spec, scale, self.history)
        left = known.select_needed(planned(stages, self.spec, self.history.last(scale)))
        # Where a peak is searched, its end shows in the check only.
        left = () if self.spec.peak and scale in self.journal.record.checks else left
        return not left and handed and (scale in self.journal.record.checks or not checks)

    def _describe_system(self) -> None:
        """The system stack, before the load."""
        name, queries = self.target.dialect.name, self.target
        directory = self.server.directory if self.server else stack.data_directory(name, queries, self.spec.target)
        self.statistics = statistics_of(name, queries)
        apart = self.server.apart if self.server else stack.find_apart(directory)
        folders = self.folders = [directory, *apart.values()] if directory is not None else []
        described = stack.describe(name, directory, queries, self._url(), apart)
        pids = self.server.pids() if self.server else []
        self.known = surroundings.known_processes(self.target, pids, described.server_pid, folders)
        if self.meter is not None:
            self.meter.start()
        self.monitors = self._watch(self.known, folders)
        surroundings.note_system(self.spec, self.target, self.server, self.journal, described)

    def _watch(self, known: Known, folders: Sequence[Path]) -> tuple[Monitor, ...]:
        """The monitors of the processes ``known``, whose data lie in ``folders``."""
        name, queries = self.target.dialect.name, self.target
        monitors = monitors_for(name, folders, queries, known, self.load.pids, port=Target(url=self._url()).port)
        if (counted := StatementCounts.of(name, queries, private=self.server is not None)) is not None:
            monitors += (counted,)
        if known.server and (rapl := Rapl.readable()):
            monitors += (rapl,)
        if is_steady(self.spec.events) and (lags := self.followers.watch()) is not None:
            monitors += (lags,)
        if self.meter is not None:
            monitors += (self.meter,)
        # The files of a database without a server may lie in a folder among others.
        own = folders if self.server or name in _DIRECTORIES else []
        if self.target.dialect.keeps_data and not self.spec.existing:
            monitors += (Sizes(self.target.size_bytes, own, known),)
        return monitors

    def _restart(self) -> Restarted:
        """Starts the private server again, with its files out of the page cache."""
        assert self.server is not None
        began = now_ns()
        with explain_errors("restart"):
            gone = self.server.restart()
        took = now_ns() - began
        with suppress(CoreError):  # The first query notices that the session has ended, the next opens another.
            self.target.state()
        self.target.hold()
        left = f"{gone.left / 2**20:,.1f} MiB of {gone.held / 2**20:,.1f} MiB of the server's files"
        stayed = f"{left} stayed in the page cache: the cold times are not cold" if gone.stays else ""
        held = int(gone.held) if isfinite(gone.held) else None
        return Restarted(self._renew(), took, held, stayed)

    def _renew(self) -> Renewed:
        """What runs now: the processes of a server are others after it was started again."""
        pids = self.server.pids() if self.server is not None else []
        name = self.target.dialect.name
        session = stack.find_process(name, self.target, self._url()) if self.server is None else None
        if pids or session is not None:
            self.known = surroundings.known_processes(self.target, pids, session, self.folders)
            self.monitors = self._watch(self.known, self.folders)
        return Renewed(self.known, self.monitors)

    def _plan_outages(self) -> Outages | None:
        """What happens to the server in each cycle; ``None`` where nothing was asked for."""
        if not self.spec.event:
            return None
        server = self.server if isinstance(self.server, OwnProcess) else None
        return Outages(self.spec.events, server, self.target, self._renew, self.spec.patience_s)

    def _url(self) -> str:
        return self.server.url if self.server else self.spec.target.url

    def _show_progress(self, phase: str, done: int, total: int) -> None:
        """Shows how far the nodes are, before the first scale."""
        self.stop.check()
        moment = Moment(self.spec.scales[0], 1, len(self.spec.scales), phase, done=done, total=total)
        self.journal.observer.moment(moment)

    def _measure_ceiling(self) -> None:
        """The client's own ceiling here, against which the rates are judged; a run does not fail for it."""
        call = _open_bench(self.spec, self.target, self.spec.scales[0]).call
        name = self.target.dialect.name
        try:
            found = calibration.of_run(self.spec, name, self._url(), call, lambda _done, _total: self.stop.check())
        except (CoreError, OSError) as error:
            words = f"the client's ceiling could not be measured: {error}"
            self.journal.warn("calibration", words, "see dsbench doctor --calibrate; the rates are not affected")
            return
        self.journal.note(calibration=found.described())

    def _drop_place(self) -> None:
        """Drops the place, where it is not kept."""
        try:
            if self.spec.event:  # The first question may only notice that the session has ended.
                with suppress(CoreError):
                    self.target.state()
            self.base.end()
            with suppress(ArchiveError):
                self.journal.forget("left-behind")
        except (CoreError, RunError) as error:
            words = f"the database of this run could not be {'released' if self.spec.reuse else 'dropped'}: {error}"
            with suppress(ArchiveError):
                self.journal.warn("left-behind", words, "the next run against this target cleans up")
        finally:
            self.followers.close()
            self.target.close()

    def _keep_server_log(self, status: str) -> None:
        if status == "failed" and self.server is not None and (lines := self.server.log_tail(200)):
            secrets = [*secrets_of(self._url()), *self.spec.target.secrets]
            shown = [redact_words(line, secrets) for line in lines]
            self.journal.writer.text("server.log", "\n".join(shown) + "\n")


def _refuse_unfit(spec: RunSpec, target: TargetDatabase) -> None:
    """``RunError`` where the server does not allow what the run needs."""
    with explain_errors(spec.target.redacted):
        preflight.refuse(spec, target)


def _refuse_stranger(spec: RunSpec, target: TargetDatabase) -> None:
    """``RunError`` where clients would read from a server of something else."""
    with explain_errors(f"--reads {spec.reads}"):
        reading.refuse_stranger(target)


def _refuse_cold(bench: Bench, server: servers.Server | None) -> None:
    """``RunError`` where a stage wants a server that is started again, and the run has none."""
    wanted = next((stage.name for stage in bench.stages if stage.cold_each), "")
    if wanted and (server is None or not server.restarts):
        whose = "dsbench did not start this one" if server is None else f"{server.version} runs in dsbench's process"
        words = f"--set {wanted}: its queries need a server that was just started, and {whose}"
        raise RunError(words, f"use a private server, such as private:postgresql, or omit {wanted}", usage=True)


def _refuse_events(spec: RunSpec, server: servers.Server | None) -> None:
    """``RunError`` where an event needs a process of the server's, and it has none."""
    needing = next((one for one in spec.events if one.needs_process), None)
    if needing is not None and not isinstance(server, OwnProcess):
        whose = f"{server.version} runs in dsbench's process" if server else "dsbench did not start this server"
        problem = f"--event: {needing.text}: {whose}"
        raise RunError(problem, "use a server with a process of its own, such as private:postgresql", usage=True)
    taking = next((one for one in spec.events if one.needs_standby), None)
    if taking is not None and not isinstance(server, TakingOver):
        problem = f"--event: {taking.text}: the server has no standby"
        raise RunError(problem, "use private:postgresql?standbys=1 or private:mariadb?replicas=1", usage=True)


def _refuse_pooled(spec: RunSpec, pooled: str) -> None:
    """``RunError`` for what does not get through the pooler before the server."""
    server = "specify the server itself as TARGET"
    if pooled and spec.driver != OWN:
        words = "the pooler in front of the server may not pass on the startup parameters"
        raise RunError(f"--driver {spec.driver}: {words}", f"omit --driver, or {server}", usage=True)
    if pooled == "transactions" and spec.prepare:
        words = ("--prepare: the pooler in front of the server gives each transaction another session, without the "
                 "prepared statements")
        raise RunError(words, f"omit --prepare, set its pool_mode to session, or {server}", usage=True)


def _open_bench(spec: RunSpec, target: TargetDatabase, scale: int) -> Bench:
    bench = Bench(
        target, spec.workload, scale, spec.call, spec.workload_settings, spec.all_clients, existing=spec.existing
    )
    bench.refuse(spec)
    _refuse_pooled(spec, target.pooled)
    if (spec.keep or spec.reuse) and not can_go_on(bench.stages):
        option = "--reuse" if spec.reuse else "--keep"
        problem = f"{option}: the stages of {spec.workload} need a fresh database"
        raise RunError(problem, f"omit {option}", usage=True)
    return bench


def _name_archive(spec: RunSpec, target: TargetDatabase) -> str:
    start = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    label = re.sub(r"[^\w.+-]+", "-", spec.label).strip("-.")
    parts = (start, platform.node() or "host", _name_product(spec, target), spec.workload, label)
    return "_".join(part for part in parts if part)


def _name_product(spec: RunSpec, target: TargetDatabase) -> str:
    """The database as people call it: MariaDB and MySQL speak one protocol."""
    engine = target.dialect.name
    if engine != "mysql":
        return {"postgres": "postgresql"}.get(engine, engine)
    said = spec.target.private or str(target.fetch("select version() as version")[0]["version"])
    return "mariadb" if "mariadb" in said.lower() else engine


def _read_specification(path: Path) -> RunSpec:
    """The specification of the archive at ``path``; ``RunError`` when there is nothing to resume."""
    if not path.is_dir():
        raise RunError(f"{path} is not a folder", "specify the archive's folder; unpack a .zip first", usage=True)
    archive = Archive.open(path)
    data = archive.run
    if data.status == "complete" and archive.sealed:
        raise RunError(f"{path} is complete", "there is nothing to resume", usage=True)
    if data.status == "running" and owner_alive(data.process):
        raise RunError(f"the run of {path} is still in progress", "wait until it has ended", usage=True)
    # Where the password stood in the authority it may come from the environment; in the query it cannot.
    return data.asked(url=data.spec.target.url.replace(":***@", "@"))


def _find_dropped(path: Path) -> set[int]:
    """Scales whose last stage, which drops the database, was reached."""
    rows = Archive.open(path).table("phases").to_pylist()
    return {int(row["scale"]) for row in rows if row["phase"] == "drop"}
