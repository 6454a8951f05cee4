"""Makes one trial of a study, and writes down how it ended."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dsbench import servers
from dsbench.archive import ArchiveError
from dsbench.dataclass import dataclass
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer
from dsbench.measure.opening import explain_errors
from dsbench.measure.run import Outcome
from dsbench.servers.folder import Folder
from dsbench.servers.storage import volumes
from dsbench.spec import Merged, RunSpec, SpecError
from dsbench.study.paths import AFTERWARDS
from dsbench.study.plan import AskedTrials, Trial, asked, combination
from dsbench.study.record import Study, store

Make = Callable[[RunSpec, Path, Observer, Stop], Outcome]
"""Makes a run, leaves its archive in a folder and seals it."""


class StudyObserver(Protocol):
    """Listens to a study."""

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        """A trial begins; what is given listens to its run."""

    def ended(self, trial: Trial) -> None:
        """It ended, as ``trial`` tells."""


@dataclass(frozen=True)
class Making:
    """How trials are made."""

    make: Make
    watch: StudyObserver
    stop: Stop
    erase: str
    """The device that the user agreed to lose."""


def asked_by(study: Study, trial: Trial, erase: str) -> AskedTrials:
    """What ``trial`` asks for."""
    wanted = asked(study.spec, study.factors, combination(study.factors, trial), trial.block)
    other = wanted.other and _agreed(wanted.other, erase)
    return replace(wanted, merged=_agreed(wanted.merged, erase), other=other)


def _agreed(merged: Merged, erase: str) -> Merged:
    return replace(merged, spec=merged.spec.model_copy(update={"erase": erase}))


def one(study: Study, trial: Trial, how: Making, there: Callable[[RunSpec], RunSpec] | None = None) -> Study:
    """Makes ``trial``, whose run is that which ``there`` makes of its own, if given; the study as it is then."""
    trial = replace(trial, status="running", started=_now(), reason="", archive="", ended="")
    store(study := study.with_trial(trial))
    try:
        wanted = asked_by(study, trial, how.erase)
        spec = wanted.merged.spec
        observer = how.watch.trial(study, trial, spec)
        if there is None:
            outcome = _made(wanted, study, how, observer)
        else:
            outcome = how.make(there(spec), study.archives, observer, how.stop)
    except (SpecError, RunError, ArchiveError) as error:
        trial = replace(trial, status="planned" if how.stop.requested else "failed", reason=str(error))
    else:
        trial = replace(_told(trial, outcome), archive=outcome.archive.name)
    trial = replace(trial, ended=_now())
    store(study := study.with_trial(trial))
    how.watch.ended(trial)
    return study


def _told(trial: Trial, outcome: Outcome) -> Trial:
    if outcome.status == "complete":
        scales = ", ".join(str(x) for x in outcome.void_scales)
        void = f"the check failed at scale {scales}" if scales else ""
        return replace(trial, status="void" if void else "done", reason=void)
    return replace(trial, status="planned" if outcome.status == "cut-short" else "failed", reason=str(outcome.error))


def _made(wanted: AskedTrials, study: Study, how: Making, observer: Observer) -> Outcome:
    """The run of a trial, after those that are made on its database and its file system first."""
    spec, before = wanted.merged.spec, wanted.earlier.spec
    if not wanted.before:
        return how.make(spec, study.archives, observer, how.stop)
    with lasting(spec) as folder:
        for number in range(wanted.before):
            earlier = on_one(before, folder, number) if wanted.kept else _anew(before, folder)
            outcome = how.make(earlier, study.folder / BEFORE, observer, how.stop)
            if outcome.status != "complete":
                return outcome
        if wanted.then != AFTERWARDS[0]:
            {"defragment": volumes.defragment, "restart": volumes.restart}[wanted.then](folder)
        counted = on_one(spec, folder, wanted.before) if wanted.kept else _anew(spec, folder)
        return how.make(counted, study.archives, observer, how.stop)


BEFORE = "before"
"""Folder of the archives that belong to no trial."""


def _anew(spec: RunSpec, folder: Path) -> RunSpec:
    """``spec`` with new databases below ``folder``, on the file system that earlier runs have used."""
    return spec.model_copy(update={"target": spec.target.model_copy(update={"directory": folder})})


def on_one(spec: RunSpec, folder: Path, number: int) -> RunSpec:
    """``spec`` as run ``number``, from 0, on the database of a server in ``folder``, which the first makes."""
    target = spec.target.model_copy(update={"directory": folder})
    return spec.model_copy(update={"target": target, "keep": number == 0, "reuse": number > 0})


@contextmanager
def lasting(spec: RunSpec) -> Iterator[Path]:
    """A folder for a private server that outlives a run, on the file system that ``spec`` asks for. ``RunError``."""
    servers.clean_for(spec.target)
    with (
        explain_errors(spec.target.url),
        volumes.mounted(servers.base_directory(spec.target), spec.storage, spec.erase) as place,
        _shared(place, own=bool(spec.storage)) as folder,
    ):
        yield folder


@contextmanager
def _shared(place: Path, *, own: bool) -> Iterator[Path]:
    """A folder in ``place`` for the servers of several runs; on an ``own`` file system one that goes with that.

    There it has no lock: an open file would keep the file system from being unmounted.
    """
    if own:
        path = place / "history"
        path.mkdir()
        os.chown(path, place.stat().st_uid, place.stat().st_gid)
        yield path
        return
    # Where this program is killed, the next private server that is started there removes it.
    folder = Folder.create(place, "study")
    try:
        yield folder.path
    finally:
        folder.remove()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
