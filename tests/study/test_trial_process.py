"""The process of a trial: versions and settings of an engine within it are levels, and it ends with the study."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from dsbench.archive import Archive
from dsbench.library import apart
from dsbench.library.apart import perform_apart, try_apart
from dsbench.measure.interrupts import Stop
from dsbench.measure.moments import Moment, Silent
from dsbench.spec import NotHere, RunSpec, SpecError
from dsbench.study import Study, Trial, begin, load
from dsbench.study.spec import parse
from fixtures.waiting import until


class Heard(Silent):
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.messages: list[str] = []
        self.paths: list[Path] = []

    def moment(self, moment: Moment) -> None:
        self.moments.append(moment)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def archive(self, path: Path) -> None:
        self.paths.append(path)


class Watching:
    """A watch whose trials are all heard by one."""

    def __init__(self) -> None:
        self.heard = Heard()

    def trial(self, study: Study, trial: Trial, spec: RunSpec) -> Heard:
        return self.heard

    def ended(self, trial: Trial) -> None:
        pass


def spec_of(**more: Any) -> RunSpec:
    return RunSpec.model_validate({"target": {"url": "mock:"}, "workload": "select", "scales": [1], "cycles": 1, "duration": 0.3, **more})


@pytest.mark.thorough
def test_versions_and_settings_of_an_engine_in_the_process_are_levels(tmp_path: Path) -> None:
    """A process takes one client library of Firebird, and an engine reads firebird.conf once."""
    run = {"target": "private:firebird", "workload": "tpcb", "scales": [1], "cycles": 1, "duration": 0.2, "clients": 1}
    levels = [{"name": f"5 {mode}", "set": {"target.version": "5", "target.settings.ServerMode": mode}} for mode in ("Super", "Classic")]
    factor = {"name": "firebird", "levels": [{"name": "3", "set": {"target.version": "3"}}, *levels]}
    asked = parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1, "order": "as listed"}})
    watch = Watching()
    made = apart.conduct(begin(asked, tmp_path / "s")[0], watch, Stop())
    assert [trial.status for trial in made.trials] == ["done"] * 3, made.trials
    runs = [Archive.open(made.archive_of(trial)).run for trial in made.trials]
    versions = [next(layer.items["version"] for layer in run.stack if layer.layer == "RDBMS") for run in runs]
    assert [version.split()[1][0] for version in versions] == ["3", "5", "5"]
    assert len({run.process["pid"] for run in runs}) == 3
    assert watch.heard.moments
    assert [path.name for path in watch.heard.paths] == [trial.archive for trial in made.trials]


@pytest.mark.thorough
def test_what_is_wrong_with_a_server_comes_back_as_it_is(tmp_path: Path) -> None:
    """A server of each version and setting is tried in a process of its own, too."""
    with pytest.raises(NotHere, match=r"no Firebird 2\.5 is installed here") as missing:
        try_apart(spec_of(target={"url": "private:firebird", "version": "2.5"}, workload="tpcb"))
    assert "basedir=FOLDER" in missing.value.remedy
    run = {"target": "private:firebird@5", "workload": "tpcb", "scales": [1], "cycles": 1, "duration": 0.2}
    factor = {"name": "mode", "path": "target.settings.ServerMode", "levels": ["Super", "Clasic"]}
    study, _ = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1}}), tmp_path / "s")
    with pytest.raises(SpecError, match="factor 'mode': levels: 'Clasic'"):
        apart.tried(study, lambda _words: None)


def test_a_run_hears_the_wish_to_stop_and_nobody_its_password(tmp_path: Path) -> None:
    """What is asked for goes through the pipe: it is in no argument and no variable of any process."""
    stop, seen = Stop(), list[str]()

    class Looking(Heard):
        def moment(self, moment: Moment) -> None:
            super().moment(moment)
            if moment.phase == "cycle":
                for child in psutil.Process().children(recursive=True):
                    seen.extend([*child.cmdline(), *child.environ().values()])
                stop.request("stopped by its user")

    target = {"url": "private:sqlite", "settings": {"cache_size": "-54321"}}
    heard = Looking()
    outcome = perform_apart(spec_of(target=target, duration=60.0), tmp_path, heard, stop)
    assert (outcome.status, str(outcome.error)) == ("cut-short", "stopped by its user")
    assert Archive.open(outcome.archive).run.reason == "stopped by its user"
    assert heard.paths == [outcome.archive]
    assert any("dsbench" in one for one in seen)
    assert not any("54321" in one for one in seen)


@pytest.mark.thorough
def test_a_process_that_is_killed_fails_its_trial_alone(tmp_path: Path) -> None:
    class Killing(Heard):
        def __init__(self) -> None:
            super().__init__()
            self.killed = False
            self.earlier = set(psutil.Process().children())

        def moment(self, moment: Moment) -> None:
            if not self.killed:
                (trial,) = set(psutil.Process().children()) - self.earlier
                trial.kill()
                self.killed = True

    # The first trial takes longer than a busy machine needs to hear of it and to end it.
    run = {"target": "mock:", "workload": "select", "scales": [1], "cycles": 1}
    factor = {"name": "duration", "path": "duration", "levels": [15, 0.5]}
    study, _ = begin(parse({"name": "x", "run": run, "factor": [factor], "trials": {"repeat": 1}}), tmp_path / "s")
    watch = Watching()
    watch.heard = Killing()
    made = apart.conduct(study, watch, Stop())
    assert [trial.status for trial in made.trials] == ["failed", "done"], made.trials
    assert "ended by SIGKILL" in made.trials[0].reason


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], psutil.Process, psutil.Process]]:
    """A study on the command line, the process of its trial, and the server of that."""
    (tmp_path / "x.toml").write_text(
        'name = "x"\n[run]\ntarget = "private:postgresql"\nworkload = "tpcb"\nscales = [1]\ncycles = 1\nduration = 60\n'
        '[[factor]]\nname = "clients"\npath = "clients"\nlevels = [1, 2]\n[trials]\nrepeat = 1\n'
    )
    command = [sys.executable, "-m", "dsbench", "study", "run", "x.toml", "--out", "s"]
    with (tmp_path / "stderr").open("wb") as errors:
        study = subprocess.Popen(command, cwd=tmp_path, stderr=errors, stdout=subprocess.DEVNULL)
    try:
        found: list[psutil.Process] = []

        def loads() -> bool:
            archives = list((tmp_path / "s/archives").glob("*/run.json"))
            running = bool(archives) and json.loads(archives[0].read_text())["segments"]
            with suppress(psutil.Error):
                trials = psutil.Process(study.pid).children()
                found[:] = [*trials, *(one for trial in trials for one in trial.children() if one.name() == "postgres")]
            return bool(running) and len(found) == 2

        assert until(loads), (tmp_path / "stderr").read_text()
        yield study, found[0], found[1]
    finally:
        if study.poll() is None:
            study.kill()
        study.wait()


@pytest.mark.thorough
def test_a_ctrl_c_ends_trial_and_server_and_the_study_says_what_is_left(
    begun: tuple[subprocess.Popen[bytes], psutil.Process, psutil.Process], tmp_path: Path
) -> None:
    study, trial, server = begun
    study.send_signal(signal.SIGINT)
    assert study.wait(60) == 130
    assert not trial.is_running()
    assert not server.is_running()
    assert "stopped, 2 trials are left" in (tmp_path / "stderr").read_text()
    assert [one.status for one in load(tmp_path / "s").trials] == ["planned", "planned"]
    (archive,) = (tmp_path / "s/archives").glob("*.zip")
    assert Archive.open(archive).run.reason == "stopped by SIGINT"


@pytest.mark.thorough
def test_a_kill_of_the_study_ends_trial_and_server(
    begun: tuple[subprocess.Popen[bytes], psutil.Process, psutil.Process], tmp_path: Path
) -> None:
    study, trial, server = begun
    study.kill()
    study.wait()
    assert until(lambda: not trial.is_running() or trial.status() == psutil.STATUS_ZOMBIE)
    assert until(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
    assert [one.status for one in load(tmp_path / "s").trials] == ["running", "planned"]
