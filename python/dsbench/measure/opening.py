"""The target of a run, with its private server around it, and the errors of the rooms below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil

from dsbench import servers
from dsbench.archive import ArchiveError, OutError
from dsbench.measure import open_files
from dsbench.measure.joining import ClusterError
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import HALF_OPEN, TAKEN, Bench, CoreError, TargetDatabase
from dsbench.measure.reading import url_for_reads
from dsbench.servers.errors import IS_FULL
from dsbench.servers.storage import volumes
from dsbench.spec import Limits, RunSpec

_SESSIONS_BESIDE = 6
"""Connections beside the clients': administration, monitors, phases, samples, plans."""

WRONG = "configuration"
"""Kind of errors in what was asked for: a resumed run would meet them again."""

_REMEDIES = {
    WRONG: "see dsbench run --help, and dsbench run --list for the settings of workloads",
    "setup": "dsbench doctor shows what is missing here, dsbench doctor TARGET what the server allows",
    "disconnected": "check that the server is running",
    "unknown": "check that the server is running",
}
"""By kind of error, before anything was begun."""

_REFUSED = "check the user, the password and the database in TARGET, and the user's privileges"
"""When the server or the file is there and said no."""

_ABSENT = "check that the server is running, and that TARGET has the right host, port and database"
_NO_FILE = "check that TARGET has the right file, sqlite:////absolute/path.db, and that its folder is writable"
"""When nothing of dsbench's is missing, but the server or the file of the user."""

_FULL = "free up space on the disk of the database, or specify another folder; then: dsbench run --resume ARCHIVE"
_REMEDIES_MEANWHILE = {kind: _REMEDIES[kind] for kind in (WRONG, "setup")}
_GO_ON = "see the server's log; then: dsbench run --resume ARCHIVE"

KEPT = "finished cycles are kept; when the server works again: dsbench run --resume ARCHIVE"
"""What to do when a server went away in the middle of a run."""

NODES = ("finished cycles are kept; check that the nodes are running and not too busy; then: dsbench run --resume "
         "ARCHIVE")
"""What to do when no node could take part in a cycle, whose database was well."""

_MEND = "correct the SQL, and start a new run"

_CLAIM_LOST = {
    TAKEN: "another run may have dropped this one's database; when it has ended: dsbench run --resume ARCHIVE",
    HALF_OPEN: "terminate that session on the server, or wait until the server does; then: dsbench run --resume "
               "ARCHIVE",
}
"""By code: how a run goes on that has lost its target."""

LOST = "the connection was lost"
_LOSSES = ("disconnected", "unknown")


@contextmanager
def open_target(
    spec: RunSpec, tell: Callable[[str], None] = volumes.on_screen
) -> Iterator[tuple[TargetDatabase, servers.Server | None]]:
    """The target of ``spec``; a private server is started for it and is gone afterwards: ``tell`` hears what is not."""
    open_files.allow(spec)
    if spec.target.private is None:
        servers.clean_for(spec.target)
        with (
            explain_errors(spec.target.redacted),
            closing(_database(spec, None)) as target,
        ):
            yield target, None
        return
    with (
        explain_errors(spec.target.url),
        _place(spec, tell) as place,
        _started(spec, place, tell) as server,
        closing(_database(spec, server)) as target,
    ):
        yield target, server


def _database(spec: RunSpec, server: servers.Server | None) -> TargetDatabase:
    url = server.url if server is not None else spec.target.url
    reads = url_for_reads(spec.target, server, spec.reads, moves=bool(spec.event)) if spec.reads else ""
    return TargetDatabase(url, existing=spec.existing, reads=reads)


@contextmanager
def _place(spec: RunSpec, tell: Callable[[str], None]) -> Iterator[Path | None]:
    """The file system that is made for the run, where one is asked for."""
    if not spec.storage:
        yield None
        return
    base = servers.base_directory(spec.target)
    servers.clean_for(spec.target)
    volumes.refuse(base, spec.storage)
    with volumes.mounted(base, spec.storage, spec.erase, tell) as place:
        yield place


@contextmanager
def _started(spec: RunSpec, place: Path | None, tell: Callable[[str], None]) -> Iterator[servers.Server]:
    limits = Limits.of(spec.limits)
    cut = any(one.what == "partition" for one in spec.events)
    server = servers.start(
        spec.target, sessions(spec), keep=spec.keep, reuse=spec.reuse, limits=limits, on=place, network=cut
    )
    known = len(server.notes)
    try:
        with server:
            try:
                yield server
            finally:
                known = len(server.notes)
    finally:
        for note in server.notes[known:]:
            tell(f"warning: {note}; hint: {volumes.REMEDY}")


def sessions(spec: RunSpec) -> int:
    """Connections that a run has at once: those of all groups of its fullest stage, and some beside them.

    The stages are those of the workload on the mock, since no database is there yet to be asked.
    """
    with closing(TargetDatabase("mock:")) as target:
        stages = Bench(target, spec.workload, spec.scales[0], None, spec.workload_settings, spec.all_clients).stages
    loads = [[clients or spec.all_clients for clients in stage.clients] for stage in stages]
    most = max(*(sum(load) * spec.connections for load in loads), *(stage.parts for stage in stages))
    return most + _SESSIONS_BESIDE + (psutil.cpu_count() or 1)


@contextmanager
def explain_errors(doing: str) -> Iterator[None]:
    """Errors of the rooms below while ``doing`` something, as ``RunError`` with a remedy."""
    try:
        yield
    except CoreError as error:
        if error.by_user or error.kind == WRONG:  # It names the option, or file and line.
            known = _MEND if error.by_user else _REMEDIES[WRONG]
            raise RunError(str(error), error.remedy or known, usage=True) from None
        remedy = error.remedy
        if not remedy and error.kind == "setup" and "://" in doing:
            # A code is what the server itself said.
            remedy = _REFUSED if error.code else _NO_FILE if doing.startswith("sqlite:") else _ABSENT
        remedy = remedy or _REMEDIES.get(error.kind, "see the server's log")
        raise RunError(f"{doing}: {error}", remedy) from None
    except ClusterError as error:
        raise RunError(str(error), error.remedy, usage=error.usage) from None
    except servers.ServerError as error:
        raise RunError(str(error), error.remedy) from None
    except OutError as error:
        raise RunError(str(error), error.remedy, usage=True) from None
    except ArchiveError as error:
        raise RunError(str(error), "free up space, or specify another folder with --out") from None


@contextmanager
def during(where: str, target: TargetDatabase) -> Iterator[None]:
    """While a run is under way on ``target``: errors say ``where``, and how the run goes on.

    A server that goes away is told alike, whatever it was doing and whichever session noticed it first.
    """
    try:
        yield
    except CoreError as error:
        if error.code in _CLAIM_LOST:
            raise RunError(f"{where}: {error}", _CLAIM_LOST[error.code]) from None
        if error.by_user:
            raise RunError(f"{where}: {error}", _MEND, usage=True) from None
        if is_lost(error, target):
            remedy = f"{error.remedy}; then: dsbench run --resume ARCHIVE" if error.remedy and error.code else KEPT
            raise RunError(f"{where}: {name_loss(str(error))}", remedy) from None
        known = error.remedy or _REMEDIES_MEANWHILE.get(error.kind, _GO_ON)
        remedy = _FULL if IS_FULL.search(str(error)) else known
        raise RunError(f"{where}: {error}", remedy, usage=error.kind == WRONG) from None


def explain_cycle(where: str, words: str, failures: Iterable[CoreError | None]) -> RunError:
    """The error of a cycle that no node could finish: ``words`` say why, ``failures`` are those of its clients.

    Without any of these the database was well, and the nodes could not take part.
    """
    found = [failure for failure in failures if failure is not None]
    if any(failure.by_user for failure in found):
        return RunError(f"{where}: {words}", _MEND, usage=True)
    wrong = any(failure.kind == WRONG for failure in found)
    full = bool(IS_FULL.search(words))
    known = next((failure.remedy for failure in found if failure.remedy and failure.code), "")
    remedy = _REMEDIES[WRONG] if wrong else _FULL if full else known or (KEPT if found else NODES)
    return RunError(f"{where}: {words}", remedy, usage=wrong)


def is_lost(error: CoreError, target: TargetDatabase) -> bool:
    """Whether ``error`` means that the server of ``target``, which has answered before, does so no more."""
    if error.kind in _LOSSES:
        return True
    try:
        target.state()
    except CoreError:
        return error.kind != WRONG
    return False


def is_session_lost(error: CoreError, target: TargetDatabase) -> bool:
    """Whether ``error`` means that a session was lost while the server of ``target`` goes on."""
    if error.kind not in _LOSSES:
        return False
    try:
        target.state()
    except CoreError:
        return False
    return True


def name_loss(words: str) -> str:
    """``words`` of an error that is a loss, saying so: the loop's own do already, those of a connect do not."""
    return words if LOST in words else f"{LOST} ({words})"
