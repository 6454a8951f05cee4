"""Makes the trials of a study one after another, and writes down how each ended before the next begins."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dsbench import servers
from dsbench.archive import ArchiveError, claimed
from dsbench.runner import Observer, Outcome, RunError, Stop
from dsbench.runner.interrupts import listening
from dsbench.runner.opening import told
from dsbench.servers import volumes
from dsbench.servers.folder import Folder
from dsbench.spec import RunSpec, SpecError
from dsbench.study.paths import AFTERWARDS
from dsbench.study.plan import Asked, Trial, asked, combination
from dsbench.study.record import Study, make_folder, store

Make = Callable[[RunSpec, Path, Observer, Stop], Outcome]
"""Makes a run, leaves its archive in a folder and seals it."""


class Watch(Protocol):
    """Listens to a study."""

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        """A trial begins; what is given listens to its run."""

    def ended(self, trial: Trial) -> None:
        """It ended, as ``trial`` tells."""


def conduct(
    study: Study, make: Make, watch: Watch, stop: Stop, *, again: bool = False, erase: str = ""
) -> Study:  # fmt: skip
    """Makes all trials that are planned, ``again`` those as well that failed; gives the study as it is then.

    ``erase`` is the device that the user agreed to lose.

    A trial that was cut short by Ctrl-C or a kill is made anew, as a run that goes on after a break has another server
    than before it. Its first archive stays, and belongs to no trial. One that fails is told by name, and the study goes
    on. ``ArchiveError`` where the folder cannot be written, or another program works in it.
    """
    make_folder(study)
    with claimed(study.folder), listening(stop):
        store(study)
        for trial in study.trials:
            if trial.status not in ("planned", "running", *(("failed", "void") if again else ())):
                continue
            if stop.requested:
                break
            study = _one(study, trial, make, watch, stop, erase)
    return study


def _one(study: Study, trial: Trial, make: Make, watch: Watch, stop: Stop, erase: str) -> Study:
    trial = replace(trial, status="running", started=_now(), reason="", archive="", ended="")
    store(study := study.with_trial(trial))
    try:
        wanted = asked(study.spec, study.factors, combination(study.factors, trial), trial.block)
        agreed = wanted.merged.spec.model_copy(update={"erase": erase})
        wanted = replace(wanted, merged=replace(wanted.merged, spec=agreed))
        observer = watch.trial(study, trial, agreed)
        outcome = _made(wanted, study, make, observer, stop)
    except (SpecError, RunError, ArchiveError) as error:
        trial = replace(trial, status="planned" if stop.requested else "failed", reason=str(error))
    else:
        trial = replace(_told(trial, outcome), archive=outcome.archive.name)
    trial = replace(trial, ended=_now())
    store(study := study.with_trial(trial))
    watch.ended(trial)
    return study


def _told(trial: Trial, outcome: Outcome) -> Trial:
    if outcome.status == "complete":
        scales = ", ".join(str(x) for x in outcome.void_scales)
        void = f"the check failed at scale {scales}" if scales else ""
        return replace(trial, status="void" if void else "done", reason=void)
    return replace(trial, status="planned" if outcome.status == "cut-short" else "failed", reason=str(outcome.error))


def _made(wanted: Asked, study: Study, make: Make, observer: Observer, stop: Stop) -> Outcome:
    """The run of a trial, after those that are made on its database and its file system first."""
    spec = wanted.merged.spec
    if not wanted.before:
        return make(spec, study.archives, observer, stop)
    servers.clean_for(spec.target)
    with told(spec.target.url), volumes.mounted(servers.base_directory(spec.target), spec.storage, spec.erase) as place:
        return _aged(wanted, place, study, make, observer, stop)


def _aged(wanted: Asked, place: Path, study: Study, make: Make, observer: Observer, stop: Stop) -> Outcome:
    spec = wanted.merged.spec
    with _shared(place, own=bool(spec.storage)) as folder:
        target = spec.target.model_copy(update={"directory": folder})
        for number in range(wanted.before):
            aging = spec.model_copy(update={"target": target, "keep": number == 0, "reuse": number > 0})
            outcome = make(aging, study.folder / "before", observer, stop)
            if outcome.status != "complete":
                return outcome
        if wanted.then != AFTERWARDS[0]:
            {"defragment": volumes.lay_out_anew, "restart": volumes.restart}[wanted.then](folder)
        return make(spec.model_copy(update={"target": target, "reuse": True}), study.archives, observer, stop)


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
