"""Makes the trials of a study one after another, and writes down how each ended before the next begins."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Final

from dsbench import workloads
from dsbench.archive import ArchiveError, claimed
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.joining import Joining
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer, Silent
from dsbench.measure.placing import TRY, fix_placement
from dsbench.measure.run import Outcome
from dsbench.servers.process import free_port
from dsbench.spec import RunSpec, SpecError
from dsbench.study.making import BEFORE, Make, Making, StudyObserver, asked_by, lasting, on_one, one
from dsbench.study.plan import Trial, chain_of, combination
from dsbench.study.record import FAILED, Study, make_folder, store


def conduct(
    study: Study, make: Make, watch: StudyObserver, stop: Stop, *, again: bool = False, erase: str = ""
) -> Study:  # fmt: skip
    """Makes all trials that are planned, ``again`` those as well that failed; gives the study as it is then.

    ``erase`` is the device that the user agreed to lose.

    A trial that Ctrl-C or a kill interrupted is repeated, because a resumed run would have a different server. Its
    first archive is kept but not counted. A failing trial is reported by name, and the study goes on.
    ``ArchiveError`` where the folder cannot be written, or another program works in it.
    """
    make_folder(study)
    wanted = ("planned", "running", *(FAILED if again else ()))
    how = Making(_placing_alike(make, study), watch, stop, erase)
    with claimed(study.folder), listening(stop):
        store(study)
        for chain in _chains(study):
            if any(trial.status in wanted for trial in chain) and not stop.requested:
                study = one(study, chain[0], how) if len(chain) == 1 else _together(study, chain, wanted, how)
    return study


def _placing_alike(make: Make, study: Study) -> Make:
    """``make`` with the placement of clients that the first trial found: what trials differ in is their factors."""
    first: Path | None = None
    with suppress(ArchiveError):  # It is gone: the next trial finds out.
        first = next((study.archive_of(trial) for trial in study.counted("done")), None)

    def make_alike(spec: RunSpec, out: Path, observer: Observer, stop: Stop) -> Outcome:
        nonlocal first
        outcome = make(fix_placement(spec, first), out, observer, stop)
        if outcome.status == "complete" and spec.placement == TRY:
            first = first or outcome.archive
        return outcome

    return make_alike


def _chains(study: Study) -> list[list[Trial]]:
    """The trials in their order, those together that are made on one database."""

    def key(trial: Trial) -> object:
        return trial.block, chain_of(study.factors, combination(study.factors, trial)) or trial.number

    together = (list(some) for _key, some in groupby(study.trials, key=key))
    return [part for chain in together for part in _split(study, chain)]


def _split(study: Study, chain: list[Trial]) -> list[list[Trial]]:
    """The parts of ``chain`` that can have one database: a workload with other tables begins a new one."""
    parts = [chain[:1]]
    for before, trial in pairwise(chain):
        last, this = (_workload(study, one) for one in (before, trial))
        if last == this or workloads.find(last).data.reads == this:
            parts[-1].append(trial)
        else:
            parts.append([trial])
    return parts


def _workload(study: Study, trial: Trial) -> str:
    try:
        return asked_by(study, trial, "").merged.spec.workload
    except SpecError:  # One that was left out: it is not made, and its place tells nothing.
        return ""


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


_PATIENCE_S: Final = 120.0
"""How long nodes and run look for each other. Nodes of a study that was killed end after as long."""
_END_S: Final = 10.0
"""How long a node may take to end once its run is over."""


@contextmanager
def joined(spec: RunSpec, commands: Sequence[str], address: str = "") -> Iterator[Joining | None]:
    """How the nodes of a run come to it; ``None`` where it has none. All are ended afterwards.

    Node n is started by the nth of ``commands``, and where there is none as a process of this machine. Its bundle comes
    through its standard input, so that no file is left elsewhere. ``address`` is that of this machine, by which they
    find it. ``RunError`` where a command is not there.
    """
    if not spec.nodes:
        yield None
        return
    from dsbench.measure.nodes.bundle import Invitation, issue  # Late: an extra.

    # No key is in a file: a study that is killed leaves none.
    here = spec.nodes > len(commands)
    coordinator, bundles = issue(spec.nodes, address or ("127.0.0.1" if here else ""), free_port())
    started: list[subprocess.Popen[str]] = []
    try:
        for number, bundle in enumerate(bundles, start=1):
            started.append(_start(number, commands[number - 1 : number], bundle.text))
        yield Joining(patience_s=_PATIENCE_S, invitation=Invitation(coordinator))
    finally:
        for node in started:
            _end(node)


def _start(number: int, command: Sequence[str], bundle: str) -> subprocess.Popen[str]:
    here = [sys.executable, "-m", "dsbench", "cluster", "node", "--join", "-", "--name", f"node-{number}", "--quiet"]
    words = shlex.split(command[0]) if command else [*here, "--join-timeout", f"{_PATIENCE_S:g}"]
    try:
        # A Ctrl-C is for the study, whose run tells its nodes.
        node = subprocess.Popen(words, stdin=subprocess.PIPE, text=True, start_new_session=True)
    except OSError as error:
        raise RunError(f"nodes: {words[0]}: {error.strerror}", "specify an installed command", usage=True) from None
    assert node.stdin is not None
    try:
        with node.stdin:
            node.stdin.write(bundle)
    except BrokenPipeError:
        node.wait()
        raise RunError(f"nodes: {words[0]} ended with {node.returncode} before it read its bundle",
                       "run the command by hand: its messages are above") from None  # fmt: skip
    return node


def _end(node: subprocess.Popen[str]) -> None:
    for ask in (None, node.terminate, node.kill):
        if ask is not None:
            ask()
        try:
            node.wait(_END_S)
        except subprocess.TimeoutExpired:
            continue
        return
