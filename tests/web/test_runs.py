"""The runs that the browser begins: what their files may say, and what becomes of one that cannot begin."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from dsbench import study as room
from dsbench.archive import ArchiveError, claimed
from dsbench.library import RunError, RunSpec
from dsbench.measure.interrupts import Stop
from dsbench.measure.moments import Moment
from dsbench.web import state as states
from dsbench.web.making import Telling
from dsbench.web.pages.study import add_blocks
from dsbench.web.state import Runs, WebState

SPEC = RunSpec.model_validate({"target": {"url": "mock:"}, "duration": 0.1, "cycles": 1})


@pytest.mark.parametrize(
    "wrong",
    [{"pid": "x"}, {"pid": -1}, {"pid": 2**40}, {"log": [1]}, {"began": 1e300}, {"target": 5}, {"moment": {}},
     *({"moment": {**asdict(WebState("", 1, 0.0, "", "", "").moment), **wrong}} for wrong in (
         {"times": [[1]]}, {"seconds": {}}, {"elapsed_s": "soon"}, {"scale": None}, {"cpus": "ab"}, {"done": -1}))],
)  # fmt: skip
def test_a_file_of_a_run_with_wrong_values_is_left_out(tmp_path: Path, wrong: dict[str, Any]) -> None:
    runs = Runs(tmp_path)
    folder = tmp_path / states.FOLDER
    states.write(folder, WebState("good", 1, 0.0, "mock:", "tpcb", ""))
    values = {**asdict(WebState("bad", 1, 0.0, "mock:", "tpcb", "")), **wrong}
    (folder / "bad.json").write_text(json.dumps(values))
    (folder / "no.json").write_text("[" * 100_000)
    assert [state.key for state in runs.states()] == ["good"]


def test_rates_that_are_no_numbers_hide_no_run(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    states.write(tmp_path / states.FOLDER, WebState("a", 1, 0.0, "mock:", "tpcb", "", moment=Moment(
        1, 1, 1, "cycle", done=9, elapsed_s=float("nan"), seconds=[float("inf")], times=[(float("nan"), 0.5)])))  # fmt: skip
    (moment,) = (state.moment for state in runs.states())
    assert (moment.rate_tps, list(moment.seconds), list(moment.times)) == (0.0, [0.0], [(0.0, 0.5)])


def test_a_run_whose_file_cannot_be_written_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def kept(*words: Any, **more: Any) -> subprocess.Popen[bytes]:
        begun.append(popen(*words, **more))
        return begun[-1]

    def full(*_: object) -> None:
        raise ArchiveError("cannot write: No space left on device")

    runs = Runs(tmp_path)
    monkeypatch.setattr("dsbench.children.subprocess.Popen", kept)
    monkeypatch.setattr("dsbench.web.state.write", full)
    with pytest.raises(RunError, match="No space left"):
        runs.begin(SPEC)
    assert len(begun) == 1
    assert begun[0].returncode is not None, "it would wait on its standard input for ever"
    assert runs.states() == []


def test_two_servers_over_one_folder_begin_one_run(tmp_path: Path) -> None:
    first, second = Runs(tmp_path), Runs(tmp_path)
    with claimed(tmp_path / states.FOLDER), pytest.raises(RunError):
        second.begin(SPEC)
    assert first.states() == second.states() == []


def test_what_a_study_has_left_counts_the_trials_to_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    spec = RunSpec.model_validate({"target": {"url": "mock:"}, "scales": [1], "cycles": 1, "duration": 10, "ramp_up": 0})
    state = WebState("a", 1, 0.0, "mock:", "tpcb", "")
    telling = Telling(tmp_path, state, Stop())
    told = []
    for later in (2, 1, 0):
        telling.begin(spec, later)
        now += 5  # Until its cycle begins.
        telling.moment(Moment(1, 1, 1, "cycle", 1, 1, elapsed_s=4.0))
        told.append(state.left_s)
        now += 5
    # Each has 6.3 s of its cycle left; the mean of those begun is told for each of those that come.
    assert told == pytest.approx([6.3 + 2 * (5 + 6.3), 6.3 + (15 + 6.3) / 2, 6.3])


def test_a_second_click_adds_no_more_blocks(tmp_path: Path) -> None:
    text = """
name = "twice"
run = { target = "mock:", scales = [1], cycles = 1 }
factor = [{ name = "clients", path = "clients", levels = [1, 2] }]
trials = { repeat = 1 }
"""
    study, _ = room.begin(room.of_text(text.encode(), "test"), tmp_path / "twice")
    study.folder.mkdir()
    for trial in study.trials:
        study = study.with_trial(replace(trial, status="done", archive=f"trial-{trial.number}"))
    room.store(study)
    for _ in range(2):
        add_blocks(study.folder, 2)
    assert [trial.block for trial in room.load(study.folder).trials] == [1, 1, 2, 2, 3, 3]
