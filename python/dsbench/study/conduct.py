"""Makes the trials of a study one after another, and writes down how each ended before the next begins."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path

from dsbench.archive import ArchiveError, claimed
from dsbench.measure.events import Silent
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.journal import RunError
from dsbench.spec import SpecError
from dsbench.study.making import BEFORE, Make, Making, Watch, asked_by, lasting, on_one, one
from dsbench.study.plan import Trial, chain_of, combination
from dsbench.study.record import FAILED, Study, make_folder, store


def conduct(
    study: Study, make: Make, watch: Watch, stop: Stop, *, again: bool = False, erase: str = ""
) -> Study:  # fmt: skip
    """Makes all trials that are planned, ``again`` those as well that failed; gives the study as it is then.

    ``erase`` is the device that the user agreed to lose.

    A trial that Ctrl-C or a kill interrupted is repeated, because a resumed run would have a different server. Its
    first archive is kept but not counted. A failing trial is reported by name, and the study goes on.
    ``ArchiveError`` where the folder cannot be written, or another program works in it.
    """
    make_folder(study)
    wanted = ("planned", "running", *(FAILED if again else ()))
    how = Making(make, watch, stop, erase)
    with claimed(study.folder), listening(stop):
        store(study)
        for chain in _chains(study):
            if any(trial.status in wanted for trial in chain) and not stop.requested:
                study = one(study, chain[0], how) if len(chain) == 1 else _together(study, chain, wanted, how)
    return study


def _chains(study: Study) -> list[list[Trial]]:
    """The trials in their order, those together that are made on one database."""

    def key(trial: Trial) -> object:
        return trial.block, chain_of(study.factors, combination(study.factors, trial)) or trial.number

    return [list(some) for _key, some in groupby(study.trials, key=key)]


def _together(study: Study, chain: list[Trial], wanted: Collection[str], how: Making) -> Study:
    """Makes those of ``chain`` whose status is one of ``wanted`` on one database, which the first of all makes."""
    try:
        with lasting(asked_by(study, chain[0], how.erase).merged.spec) as folder:
            study = _in_turn(study, chain, wanted, how, folder)
    except (SpecError, RunError, ArchiveError) as error:
        study = _without(study, chain, wanted, how, str(error))
    return study


def _in_turn(study: Study, chain: list[Trial], wanted: Collection[str], how: Making, folder: Path) -> Study:
    """One that was made earlier is made once more for those after it, and its second archive belongs to no trial."""
    last = max(number for number, trial in enumerate(chain) if trial.status in wanted)
    for number, trial in enumerate(chain[: last + 1]):
        status: str = trial.status
        if status in wanted:
            study = one(study, trial, how, partial(on_one, folder=folder, number=number))
            status = study.trials[trial.number - 1].status
        elif status == "done":
            spec = on_one(asked_by(study, trial, how.erase).merged.spec, folder, number)
            outcome = how.make(spec, study.folder / BEFORE, Silent(), how.stop)
            status = "done" if outcome.status == "complete" and not outcome.void_scales else "failed"
        if status != "done":
            words = f"the trial before it on the same database, {trial.number}, is {status}"
            return _without(study, chain, wanted, how, words)
    return study


def _without(study: Study, chain: list[Trial], wanted: Collection[str], how: Making, reason: str) -> Study:
    """Those of ``chain`` that were still to be made cannot be; after a wish to stop they stay for later."""
    for trial in chain:
        if not how.stop.requested and study.trials[trial.number - 1] == trial and trial.status in wanted:
            study = study.with_trial(replace(trial, status="failed", reason=reason))
    store(study)
    return study
