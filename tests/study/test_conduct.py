"""Making the trials: what fails is named, what was cut is made anew, a kill loses nothing that was made."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest

from dsbench.archive import Archive, ArchiveError, claimed
from dsbench.library import apart
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Moment, Observer, Silent
from dsbench.measure.run import Outcome
from dsbench.servers.storage import volumes
from dsbench.spec import RunSpec
from dsbench.study import Study, Trial, begin, conduct, load
from dsbench.study.record import make_folder
from dsbench.study.spec import parse
from fixtures.waiting import until

FACTOR = {"name": "clients", "path": "clients", "levels": [1, 2, 4]}
RUN = {"target": "mock:", "workload": "select", "scales": [1], "cycles": 1, "duration": 0.1}


class Seen:
    """A watch that keeps what it was told."""

    def __init__(self) -> None:
        self.ended_trials: list[Trial] = []

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        assert study.with_trial(trial).trials[trial.number - 1].status == "running"
        assert load(study.folder).trials[trial.number - 1].status == "running", "written before it begins"
        return Silent()

    def ended(self, trial: Trial) -> None:
        self.ended_trials.append(trial)


def planned(folder: Path, **more: Any) -> Study:
    return begin(parse({"name": "x", "run": RUN, "factor": [FACTOR], "trials": {"repeat": 2}, **more}), folder)[0]


def making(outcome: Callable[[RunSpec], Outcome]) -> Any:
    return lambda spec, out, observer, stop: outcome(spec)


def complete(spec: RunSpec) -> Outcome:
    return Outcome(Path(f"run-{spec.clients}-{spec.seed}"), "complete")


def test_every_trial_is_made_and_written_down(tmp_path: Path) -> None:
    seen = Seen()
    found = conduct(planned(tmp_path / "s"), making(complete), seen, Stop())
    assert [one.status for one in found.trials] == ["done"] * 6
    assert load(tmp_path / "s").trials == found.trials == tuple(seen.ended_trials)
    assert len({one.archive for one in found.trials}) == 6


def test_what_fails_is_named_and_the_study_goes_on(tmp_path: Path) -> None:
    def outcome(spec: RunSpec) -> Outcome:
        if spec.clients == 2:
            raise RunError("the file system is not known here", "use another")
        return Outcome(Path("a"), "complete", None, (1,)) if spec.clients == 4 else complete(spec)

    found = conduct(planned(tmp_path / "s"), making(outcome), Seen(), Stop())
    told = {one.levels[0]: (one.status, one.reason) for one in found.trials}
    assert told["2"] == ("failed", "the file system is not known here")
    assert told["4"] == ("void", "the check failed at scale 1")
    again = conduct(load(tmp_path / "s"), making(complete), Seen(), Stop(), again=True)
    assert [one.status for one in again.trials] == ["done"] * 6


def test_a_wish_to_stop_leaves_the_rest_for_later(tmp_path: Path) -> None:
    stop, made = Stop(), []

    def outcome(spec: RunSpec) -> Outcome:
        made.append(spec)
        if len(made) == 3:
            stop.request("by its user")
            return Outcome(Path("cut"), "cut-short", RunError("by its user", ""))
        return complete(spec)

    found = conduct(planned(tmp_path / "s"), making(outcome), Seen(), stop)
    assert [one.status for one in found.trials] == ["done"] * 2 + ["planned"] * 4
    later = conduct(planned(tmp_path / "s"), making(complete), Seen(), Stop())
    assert [one.status for one in later.trials] == ["done"] * 6
    assert later.trials[:2] == found.trials[:2]


def test_two_programs_do_not_work_in_one_folder(tmp_path: Path) -> None:
    study = planned(tmp_path / "s")
    make_folder(study)
    with claimed(study.folder), pytest.raises(ArchiveError, match="still in progress"):
        conduct(study, making(complete), Seen(), Stop())


@pytest.mark.thorough
def test_a_study_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    text = 'name = "x"\n[run]\n' + "".join(f"{k} = {json.dumps(v)}\n" for k, v in {**RUN, "duration": 0.6}.items())
    (tmp_path / "x.toml").write_text(text + '[[factor]]\nname = "clients"\npath = "clients"\nlevels = [1, 2]\n[trials]\nrepeat = 1\n')
    command = [sys.executable, "-m", "dsbench", "study", "run", "x.toml", "--out", "s"]
    first = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not (found := _states(tmp_path / "s")) or found.count("done") < 1 or "running" not in found:
        assert first.poll() is None
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = load(tmp_path / "s").trials
    done = subprocess.run([*command[:5], "s", "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    after = load(tmp_path / "s").trials
    assert [one.status for one in after] == ["done"] * 2
    assert [one for one in before if one.status == "done"] == [
        one for one, old in zip(after, before, strict=True) if old.status == "done"
    ]
    assert all(trial["value"] > 0 for trial in json.loads(done.stdout)["trials"])
    assert (tmp_path / "s" / "results.html").stat().st_size > 10_000


def _states(folder: Path) -> list[str]:
    try:
        return [one.status for one in load(folder).trials]
    except ArchiveError:
        return []


def test_a_history_is_made_on_the_database_that_is_measured(tmp_path: Path) -> None:
    made: list[RunSpec] = []

    def outcome(spec: RunSpec) -> Outcome:
        assert spec.target.directory is None or spec.target.directory.is_dir()
        made.append(spec)
        return complete(spec)

    run = {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 0.1}
    factor = {"name": "runs before", "path": "history.runs", "levels": [0, 2]}
    study = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1, "order": "as listed"}}), tmp_path / "s")[0]
    assert len(conduct(study, making(outcome), Seen(), Stop()).counted("done")) == 2
    assert [(spec.keep, spec.reuse) for spec in made] == [(False, False), (True, False), (False, True), (False, True)]
    folders = [spec.target.directory for spec in made]
    assert folders[0] is None
    assert len(set(folders[1:])) == 1
    assert folders[1] is not None
    assert not folders[1].exists()


def test_a_history_of_another_workload_comes_before_the_run_that_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[RunSpec, str]] = []

    def make(spec: RunSpec, out: Path, observer: Observer, stop: Stop) -> Outcome:
        made.append((spec, out.name))
        return complete(spec)

    @contextmanager
    def mounted(*_: object) -> Iterator[Path]:
        (place := tmp_path / str(len(made))).mkdir()
        yield place

    monkeypatch.setattr(volumes, "refuse", lambda *_: None)
    monkeypatch.setattr(volumes, "mounted", mounted)
    run = {"target": "private:sqlite", "workload": "select", "scales": [1], "cycles": 1, "duration": 0.1, "clients": 1,
           "isolation": "serializable", "storage": "ext4?size=64MiB"}  # fmt: skip
    used = {"history.runs": 2, "history.workload": "tpcb", "history.clients": 4}
    factor = {"name": "history", "levels": [{"name": "fresh"}, {"name": "used", "set": used}]}
    values = {"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1, "order": "as listed"}}
    study = begin(parse(values), tmp_path / "s")[0]
    assert len(conduct(study, make, Seen(), Stop()).counted("done")) == 2
    assert [(spec.workload, spec.clients, spec.isolation, out) for spec, out in made] == [
        ("select", 1, "serializable", "archives"), *[("tpcb", 4, "read-committed", "before")] * 2, ("select", 1, "serializable", "archives")]  # fmt: skip
    assert not any(spec.keep or spec.reuse for spec, _ in made), "each has a database of its own"
    fresh, *others = (spec.target.directory for spec, _ in made)
    assert fresh is None
    assert set(others) == {tmp_path / "1" / "history"}, "on one file system"


def test_placement_is_that_of_the_first_run_that_looked_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path | None] = []
    monkeypatch.setattr(import_module("dsbench.study.conduct"), "fix_placement", lambda spec, archive: (asked.append(archive), spec)[1])
    factor = {"name": "placement", "path": "placement", "levels": ["free", "try"]}
    values = {"name": "x", "run": RUN, "factor": [factor], "trials": {"repeat": 2, "order": "as listed"}}
    conduct(begin(parse(values), tmp_path / "s")[0], making(complete), Seen(), Stop())
    assert [one is None for one in asked] == [True, True, False, False]


@pytest.mark.thorough
def test_trials_on_one_database_are_all_made_there_again_when_one_is_missing(tmp_path: Path) -> None:
    """Read first, then written to: the second database is the first, also after a break between them."""
    stop, run = Stop(), {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 0.1}
    factor = {"name": "workload", "path": "workload", "levels": ["select", "tpcb"], "same_database": True}
    study = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1}}), tmp_path / "s")[0]

    class Stopping(Seen):
        def ended(self, trial: Trial) -> None:
            stop.request()

    assert [one.status for one in apart.conduct(study, Stopping(), stop).trials] == ["done", "planned"]
    assert not list((tmp_path / "s").glob("before/*"))
    found = apart.conduct(load(study.folder), Seen(), Stop())
    assert [one.status for one in found.trials] == ["done", "done"], found.trials
    (again,) = (Archive.open(path).run for path in (tmp_path / "s" / "before").glob("*.zip"))
    last = Archive.open(found.archives / found.trials[1].archive).run
    assert last.reused is not None
    assert (last.reused.run, last.spec.workload, last.broken) == (again.name, "tpcb", {})


@pytest.mark.thorough
def test_a_workload_with_other_tables_has_a_database_of_its_own(tmp_path: Path) -> None:
    other = {"name": "tpcc", "set": {"workload": "tpcc", "workload_settings.size": "0.01"}}
    factor = {"name": "workload", "path": "workload", "levels": ["select", "tpcb", other], "same_database": True}
    run = {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 0.1}
    study = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1}}), tmp_path / "s")[0]
    found = apart.conduct(study, Seen(), Stop())
    assert [one.status for one in found.trials] == ["done"] * 3, found.trials
    runs = [Archive.open(found.archives / one.archive).run for one in found.trials]
    assert [run.spec.workload for run in runs] == ["select", "tpcb", "tpcc"]
    assert [run.reused is not None for run in runs] == [False, True, False]


def test_what_ended_the_first_on_a_database_ends_those_after_it(tmp_path: Path) -> None:
    factor = {"name": "workload", "path": "workload", "levels": ["select", "tpcb"], "same_database": True}
    run = {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 0.1}
    study = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1}}), tmp_path / "s")[0]

    def outcome(spec: RunSpec) -> Outcome:
        raise RunError("the disk is full", "free some")

    found = conduct(study, making(outcome), Seen(), Stop())
    reasons = ["the disk is full", "the trial before it on the same database, 1, is failed"]
    assert [(one.status, one.reason) for one in found.trials] == [("failed", reason) for reason in reasons]


class Keys(Seen):
    """Looks for keys of nodes, and folders of Dask, while their cycles go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.looked, self.found = folder, 0, list[Path]()

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Observer:
        class Looking(Silent):
            def moment(_self, moment: Moment) -> None:
                if moment.phase == "cycle":
                    self.looked += 1
                    self.found += self.folder.rglob("*.bundle")

        super().trial(study, trial, spec)
        return Looking()


@pytest.mark.thorough
def test_nodes_are_started_for_each_trial_and_end_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))  # Of the process of a trial.
    told = tmp_path / "told"
    command = f"sh -c 'echo started >>{told}; tee {told}.bundle | {sys.executable} -m dsbench cluster node --join - --name afar --quiet'"
    levels = [{"name": "local", "set": {"nodes": 0}}, {"name": "two", "set": {"nodes": 2}}]
    factor = {"name": "nodes", "levels": levels}
    asked = {"name": "x", "run": RUN, "factor": [factor], "trials": {"repeat": 1}, "nodes": [command], "address": "127.0.0.2"}
    study, _ = begin(parse(asked), tmp_path / "s")
    seen = Keys(temporary)
    found = apart.conduct(study, seen, Stop())
    assert [trial.status for trial in found.trials] == ["done", "done"], found.trials
    assert seen.looked
    assert seen.found == [], "a kill would leave keys"
    assert not [*temporary.glob("dask*"), *temporary.glob("dsbench-*")]
    (archive,) = [found.archives / trial.archive for trial in found.trials if trial.levels == ("two",)]
    assert set(Archive.open(archive).table("cycles").column("node").to_pylist()) == {"afar", "node-2"}
    assert told.read_text() == "started\n"
    assert '"127.0.0.2"' in (tmp_path / "told.bundle").read_text()
    assert until(lambda: not [one for one in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(one.info["cmdline"] or [])])
