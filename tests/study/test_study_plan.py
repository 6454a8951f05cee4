"""From a file to trials: combinations, blocks, what is left out, and one clear error for what is wrong."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsbench import study
from dsbench.report.study_ahead import ahead_of
from dsbench.spec import SpecError
from dsbench.study import estimate, rules
from dsbench.study.plan import asked
from dsbench.study.record import Study, begin, extend, load, make_folder, store
from dsbench.study.spec import parse

BASE = {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 0.1}
THREADS = {"name": "threads", "path": "threads", "levels": [1, 2, 4]}
MODES = {"name": "mode", "path": "target.settings.journal_mode", "levels": ["wal", "delete"], "reference": "delete"}


def planned(tmp_path: Path, **values: Any) -> Study:
    return begin(parse({"name": "x", "run": BASE, **values}), tmp_path / "study")[0]


def test_a_full_design_has_every_combination_once_in_each_block_in_another_order(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS, MODES], trials={"repeat": 4})
    assert Counter((one.block, one.levels) for one in found.trials) == Counter(
        (block, (threads, mode)) for block in range(1, 5) for threads in "124" for mode in ("wal", "delete")
    )
    orders = {tuple(one.levels for one in found.trials if one.block == block) for block in range(1, 5)}
    assert len(orders) == 4
    assert [one.number for one in found.trials] == list(range(1, 25))


def test_one_at_a_time_leaves_the_others_at_their_reference(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS, MODES], trials={"design": "one-at-a-time", "repeat": 1})
    assert {one.levels for one in found.trials} == {("1", "delete"), ("2", "delete"), ("4", "delete"), ("1", "wal")}


def test_a_list_names_its_trials(tmp_path: Path) -> None:
    listed = [{"threads": 4}, {"threads": 2, "mode": "wal"}]
    found = planned(
        tmp_path, factor=[THREADS, MODES], trial=listed, trials={"design": "list", "repeat": 1, "order": "as listed"}
    )
    assert [one.levels for one in found.trials] == [("4", "delete"), ("2", "wal")]


def test_a_fixed_order_is_warned_of(tmp_path: Path) -> None:
    for order in ("as listed", "random blocks"):
        found = planned(tmp_path / order[:2], factor=[THREADS], trials={"order": order})
        ahead = ahead_of(found, estimate(found, begin(found.spec, found.folder)[1]), whole=False)
        assert ("warning: the trials of each block are made in one order" in ahead) == (order == "as listed")


def test_a_screening_tries_many_factors_by_few_trials(tmp_path: Path) -> None:
    names = ["prepare", "retry", "reconnect"]
    factors = [{"name": name, "path": name, "levels": [False, True]} for name in names]
    found = planned(tmp_path, factor=factors, trials={"design": "screening", "repeat": 1})
    assert len({one.levels for one in found.trials}) == len(found.trials) == 4


def test_levels_on_one_database_stand_together_in_their_order(tmp_path: Path) -> None:
    workloads = {"name": "workload", "path": "workload", "levels": ["select", "tpcb"], "same_database": True}
    found = planned(tmp_path, factor=[THREADS, workloads], trials={"repeat": 3})
    rows = [one.levels for one in found.trials]
    assert [row[1] for row in rows] == ["select", "tpcb"] * 9
    assert all(one[0] == other[0] for one, other in zip(rows[::2], rows[1::2], strict=True))
    assert len({tuple(row[0] for row in rows[at : at + 6]) for at in (0, 6, 12)}) > 1


def test_levels_reach_every_part_of_a_run() -> None:
    spec = parse({
        "name": "x", "run": {"workload": "tpcc", "scales": [1], "ramp-up": 1.0},
        "factor": [
            {"name": "product", "path": "target.product", "levels": ["postgresql"]},
            {"name": "version", "path": "target.version", "levels": [18]},
            {"name": "memory", "levels": [{"name": "much", "set": {"target.settings.work_mem": "1GB", "ramp-up": 2.0}}]},
            {"name": "size", "path": "workload_settings.size", "levels": [0.1]},
        ],
    })  # fmt: skip
    found = asked(spec, spec.factor, (0, 0, 0, 0), 3).merged.spec
    assert (found.target.url, found.target.version) == ("private:postgresql", "18")
    assert found.target.settings == {"work_mem": "1GB"}
    assert (found.workload_settings, found.ramp_up) == ({"size": "0.1"}, 2.0)
    assert found.label == "product postgresql, version 18, memory much, size 0.1"


def test_runs_of_one_block_have_the_same_inputs_and_those_of_another_do_not() -> None:
    spec = parse({"name": "x", "run": BASE, "factor": [THREADS]})
    seeds = [asked(spec, spec.factor, (level,), block).merged.spec.seed for block in (1, 2) for level in (0, 1)]
    assert seeds[0] == seeds[1] != seeds[2] == seeds[3]


def test_what_does_not_fit_together_is_left_out_by_name(tmp_path: Path) -> None:
    factors = [
        {"name": "connections", "path": "connections", "levels": [1, 4]},
        {"name": "reconnect", "path": "reconnect", "levels": [False, True]},
    ]
    found = planned(tmp_path, factor=factors, trials={"repeat": 2})
    out = found.counted("left out")
    assert {one.levels for one in out} == {("4", "yes")}
    assert all("reconnect" in one.reason for one in out)
    assert len(found.counted("planned")) == 6


def test_what_was_left_out_is_made_once_it_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    factors = [{"name": "storage", "path": "storage", "levels": ["ext4", "xfs"]}]
    run = {**BASE, "target": "private:sqlite"}

    def installed(*systems: str) -> None:
        def refuse(_folder: Path, storage: dict[str, str]) -> None:
            if (name := storage["type"]) not in systems:
                raise SpecError("--storage", f"mkfs.{name} is not installed", "install it")

        monkeypatch.setattr("dsbench.runner.ahead.volumes.refuse", refuse)

    installed("ext4")
    found = planned(tmp_path, run=run, factor=factors, trials={"repeat": 1})
    make_folder(found)
    done = tuple(replace(one, status="done") if one.status == "planned" else one for one in found.trials)
    store(replace(found, trials=done))
    still, _ = begin(found.spec, found.folder)
    assert sorted((one.levels[0], one.status) for one in still.trials) == [("ext4", "done"), ("xfs", "left out")]
    installed("ext4", "xfs")
    again, ahead = begin(found.spec, found.folder)
    assert sorted((one.levels[0], one.status) for one in again.trials) == [("ext4", "done"), ("xfs", "planned")]
    told = ahead_of(again, estimate(again, ahead), whole=False)
    assert "no longer left out: storage xfs (was: --storage: mkfs.xfs is not installed)" in told


def test_a_study_that_was_added_to_sets_the_reference_beside_the_new_level(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS, MODES], trials={"repeat": 2})
    more = extend(found, {"threads": [8]}, 1)
    new = more.trials[len(found.trials) :]
    assert {one.levels for one in new} == {(threads, mode) for threads in "18" for mode in ("wal", "delete")}
    assert {one.block for one in new} == {3}
    again = extend(more, {}, 2).trials[len(more.trials) :]
    assert len({one.levels for one in again}) == 8
    make_folder(more)
    store(more)
    assert load(more.folder).trials == more.trials
    assert begin(found.spec, more.folder)[0].trials == more.trials, "its file still goes on with it"


def test_no_password_is_stored(tmp_path: Path) -> None:
    url = "postgresql://me:secret@host/db"
    factor = {"name": "host", "path": "target", "levels": [url, "postgresql://me:hidden@other/db"]}
    with pytest.raises(SpecError):
        planned(tmp_path, factor=[{**factor, "reference": "nothing"}])
    found = planned(tmp_path, factor=[factor])
    make_folder(found)
    store(found)
    text = (found.folder / "study.json").read_text()
    assert "secret" not in text
    assert "hidden" not in text


def test_another_study_does_not_go_on_in_the_folder(tmp_path: Path) -> None:
    store_ = planned(tmp_path, factor=[THREADS])
    make_folder(store_)
    store(store_)
    with pytest.raises(SpecError, match="another study") as refused:
        planned(tmp_path, factor=[MODES])
    assert refused.value.option == "--out"


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("factor", {}),
        ("name", {"name": "", "factor": [THREADS]}),
        ("trails", {"trails": {}, "factor": [THREADS]}),
        ("trials.repeat", {"trials": {"repeat": 0}, "factor": [THREADS]}),
        ("trials.design", {"trials": {"design": "latin"}, "factor": [THREADS]}),
        ("factor 'threads': path", {"factor": [{**THREADS, "path": "thread"}]}),
        ("factor 'threads': path", {"factor": [{**THREADS, "path": ""}]}),
        ("factor 'threads': levels", {"factor": [{**THREADS, "levels": [1, 1]}]}),
        ("factor 'threads': levels", {"factor": [{**THREADS, "levels": [1, "many"]}]}),
        ("factor 'threads': levels", {"factor": [{**THREADS, "levels": [{"name": "a", "rules": "magic"}]}]}),
        ("factor 'threads': levels", {"factor": [{**THREADS, "levels": [{"set": {}}]}]}),
        ("factor 'threads': reference", {"factor": [{**THREADS, "reference": 3}]}),
        ("factor 'threads': levels", {"factor": [THREADS], "trials": {"design": "screening"}}),
        ("factor", {"factor": [THREADS, THREADS]}),
        ("trial", {"factor": [THREADS], "trials": {"design": "list"}}),
        ("trial.1", {"factor": [THREADS], "trial": [{"thread": 1}], "trials": {"design": "list"}}),
        ("run: --isolation", {"run": {"isolation": "none"}, "factor": [THREADS]}),
        ("run.keep", {"run": {"keep": True}, "factor": [THREADS]}),
        ("history.runs", {"factor": [{"name": "h", "path": "history.runs", "levels": [-1]}]}),
        ("same_database", {"factor": [{**THREADS, "same_database": True}, {**MODES, "same_database": True}]}),
        ("same_database", {"factor": [{**THREADS, "same_database": True}], "trials": {"design": "one-at-a-time"}}),
        ("same_database", {"run": {**BASE, "scales": [1, 2]}, "factor": [{**THREADS, "same_database": True}]}),
    ],
)
def test_what_is_wrong_is_one_error_that_names_its_key(key: str, values: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SpecError) as refused:
        planned(tmp_path, **values)
    assert key in refused.value.option
    assert refused.value.remedy


@pytest.mark.parametrize("name", study.templates())
def test_a_template_becomes_trials(name: str, tmp_path: Path) -> None:
    spec = parse(tomllib.loads(study.template(name)))
    found, ahead = begin(spec, tmp_path / "study")
    assert spec.about
    assert len(found.counted("planned")) > 1
    low, high = study.estimate(found, ahead).time_s
    assert 0 < low < high


def test_tuned_settings_are_pgtune_s() -> None:
    # 8 GB and 4 CPUs, OLTP, SSD, as pgtune.leopard.in.ua has it.
    found = rules.pgtune(8 << 30, 4)
    assert found["shared_buffers"] == f"{2 << 20}kB"
    assert found["effective_cache_size"] == f"{6 << 20}kB"
    assert found["maintenance_work_mem"] == f"{512 << 10}kB"
    assert found["wal_buffers"] == f"{16 << 10}kB"
    assert found["max_parallel_workers_per_gather"] == "2"
    assert found["max_wal_size"] == "8GB"
