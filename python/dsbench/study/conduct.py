"""Makes the trials of a study one after another, and writes down how each ended before the next begins."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dsbench import servers
from dsbench.archive import ArchiveError, claimed
from dsbench.runner import Observer, Outcome, RunError, Stop
from dsbench.runner.interrupts import listening
from dsbench.servers.folder import Folder
from dsbench.spec import RunSpec, SpecError
from dsbench.study.plan import Trial, asked, combination
from dsbench.study.record import Study, make_folder, store

Make = Callable[[RunSpec, Path, Observer, Stop], Outcome]
"""Makes a run, leaves its archive in a folder and seals it."""


class Watch(Protocol):
    """Listens to a study."""

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        """A trial begins; what is given listens to its run."""

    def ended(self, trial: Trial) -> None:
        """It ended, as ``trial`` tells."""


def conduct(study: Study, make: Make, watch: Watch, stop: Stop, *, again: bool = False) -> Study:
    """Makes all trials that are planned, ``again`` those as well that failed; gives the study as it is then.

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
            study = _one(study, trial, make, watch, stop)
    return study


def _one(study: Study, trial: Trial, make: Make, watch: Watch, stop: Stop) -> Study:
    trial = replace(trial, status="running", started=_now(), reason="", archive="", ended="")
    store(study := study.with_trial(trial))
    try:
        wanted = asked(study.spec, study.factors, combination(study.factors, trial), trial.block)
        observer = watch.trial(study, trial, wanted.merged.spec)
        outcome = _made(wanted.merged.spec, wanted.before, study, make, observer, stop)
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


def _made(spec: RunSpec, before: int, study: Study, make: Make, observer: Observer, stop: Stop) -> Outcome:
    """The run of a trial; ``before`` runs are made on its database first."""
    if not before:
        return make(spec, study.archives, observer, stop)
    # Where this program is killed, the next private server that is started there removes it.
    folder = Folder.create(servers.base_directory(spec.target), "study")
    try:
        target = spec.target.model_copy(update={"directory": folder.path})
        for number in range(before):
            aging = spec.model_copy(update={"target": target, "keep": number == 0, "reuse": number > 0})
            outcome = make(aging, study.folder / "before", observer, stop)
            if outcome.status != "complete":
                return outcome
        return make(spec.model_copy(update={"target": target, "reuse": True}), study.archives, observer, stop)
    finally:
        folder.remove()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
