"""From a file to trials: combinations, blocks, what is left out, and one clear error for what is wrong."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsbench import study
from dsbench.measure.journal import RunError
from dsbench.measure.run import try_target
from dsbench.servers.storage import volumes
from dsbench.spec import NotHere, RunSpec, SpecError
from dsbench.study import estimate
from dsbench.study import spec as rules
from dsbench.study.estimate import ahead_of
from dsbench.study.plan import AskedTrials, asked
from dsbench.study.record import Study, begin, extend, load, make_folder, store
from dsbench.study.spec import parse

BASE = {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 0.1}
THREADS = {"name": "clients", "path": "clients", "levels": [1, 2, 4]}
HISTORY = {"name": "h", "path": "history.runs", "levels": [0, 1]}
OTHER = {"history.workload": "tpcb", "history.clients": 4}
LADDER = {**BASE, "scales": [1, 2], "storage": "ext4?size=64MiB"}
MODES = {"name": "mode", "path": "target.settings.journal_mode", "levels": ["wal", "delete"], "reference": "delete"}


def planned(tmp_path: Path, **values: Any) -> Study:
    return begin(parse({"name": "x", "run": BASE, **values}), tmp_path / "study")[0]


def test_a_full_design_has_every_combination_once_in_each_block_in_another_order(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS, MODES], trials={"repeat": 4})
    assert Counter((one.block, one.levels) for one in found.trials) == Counter(
        (block, (clients, mode)) for block in range(1, 5) for clients in "124" for mode in ("wal", "delete")
    )
    orders = {tuple(one.levels for one in found.trials if one.block == block) for block in range(1, 5)}
    assert len(orders) == 4
    assert [one.number for one in found.trials] == list(range(1, 25))


def test_one_at_a_time_leaves_the_others_at_their_reference(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS, MODES], trials={"design": "one-at-a-time", "repeat": 1})
    assert {one.levels for one in found.trials} == {("1", "delete"), ("2", "delete"), ("4", "delete"), ("1", "wal")}


def test_a_list_names_its_trials(tmp_path: Path) -> None:
    listed = [{"clients": 4}, {"clients": 2, "mode": "wal"}]
    found = planned(
        tmp_path, factor=[THREADS, MODES], trial=listed, trials={"design": "list", "repeat": 1, "order": "as listed"}
    )
    assert [one.levels for one in found.trials] == [("4", "delete"), ("2", "wal")]


def test_a_fixed_order_is_warned_of(tmp_path: Path) -> None:
    for order in ("as listed", "random blocks"):
        found = planned(tmp_path / order[:2], factor=[THREADS], trials={"order": order})
        ahead = ahead_of(found, estimate(found, begin(found.spec, found.folder)[1]), whole=False)
        assert ("warning: the trials of each block run in the same order" in ahead) == (order == "as listed")


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
                raise NotHere("--storage", f"mkfs.{name} is not installed", "install it")

        monkeypatch.setattr("dsbench.measure.ahead.volumes.refuse", refuse)

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
    assert "no longer left out: storage xfs (was: --storage: mkfs.xfs is not installed; install it)" in told


def test_a_study_that_was_added_to_sets_the_reference_beside_the_new_level(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS, MODES], trials={"repeat": 2})
    more = extend(found, {"clients": [8]}, 1)
    new = more.trials[len(found.trials) :]
    assert {one.levels for one in new} == {(clients, mode) for clients in "18" for mode in ("wal", "delete")}
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
        ("factor 'clients': path", {"factor": [{**THREADS, "path": "client"}]}),
        ("factor 'clients': path", {"factor": [{**THREADS, "path": ""}]}),
        ("factor 'clients': levels", {"factor": [{**THREADS, "levels": [1, 1]}]}),
        ("factor 'clients': levels", {"factor": [{**THREADS, "levels": [1, "many"]}]}),
        ("factor 'clients': levels", {"factor": [{**THREADS, "levels": [{"name": "a", "rules": "magic"}]}]}),
        ("factor 'clients': levels", {"factor": [{**THREADS, "levels": [{"set": {}}]}]}),
        ("factor 'clients': reference", {"factor": [{**THREADS, "reference": 3}]}),
        ("factor 'clients': levels", {"factor": [THREADS], "trials": {"design": "screening"}}),
        ("factor", {"factor": [THREADS, THREADS]}),
        ("trial", {"factor": [THREADS], "trials": {"design": "list"}}),
        ("trial.1", {"factor": [THREADS], "trial": [{"client": 1}], "trials": {"design": "list"}}),
        ("run: --isolation", {"run": {"isolation": "none"}, "factor": [THREADS]}),
        ("run.keep", {"run": {"keep": True}, "factor": [THREADS]}),
        ("history.runs", {"factor": [{"name": "h", "path": "history.runs", "levels": [-1]}]}),
        ("factor 'h': levels", {"run": {**BASE, "scales": [1, 2]}, "factor": [HISTORY]}),
        ("factor 'h': levels", {"run": {**LADDER, "history.database": "kept"}, "factor": [HISTORY]}),
        ("history.database", {"run": {**LADDER, "history.database": "old"}, "factor": [HISTORY]}),
        ("history.workload", {"run": {**LADDER, "history.workload": "tpc-b"}, "factor": [HISTORY]}),
        ("history.workload", {"run": {**LADDER, "history.workload": "mine.toml"}, "factor": [HISTORY]}),
        ("history.workload", {"run": {**LADDER, "history.workload": ["tpcb"]}, "factor": [HISTORY]}),
        ("history.workload", {"run": {**LADDER, "history.workload": "tpcb"}, "factor": [THREADS]}),
        ("history.clients", {"run": {**LADDER, "history.clients": 4}, "factor": [THREADS]}),
        ("history.clients", {"run": {**LADDER, "history.clients": 0}, "factor": [HISTORY]}),
        ("history.clients", {"run": {**LADDER, "history.clients": 1.5}, "factor": [HISTORY]}),
        ("history.clients", {"run": {**LADDER, "history.clients": True}, "factor": [HISTORY]}),
        ("factor 'h': levels", {"run": {**BASE, "workload": "select", "history.workload": "tpcb"}, "factor": [HISTORY]}),
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


def test_a_history_of_a_ladder_makes_new_databases_and_that_of_one_scale_keeps_its_own() -> None:
    levels = [{"name": "kept", "set": {"history.runs": 1}}, {"name": "new", "set": {"history.runs": 1, "history.database": "new"}}]
    factors = parse({"name": "x", "factor": [{"name": "h", "levels": levels}]}).factor
    one, ladder = (parse({"name": "x", "run": {**LADDER, "scales": scales}, "factor": [HISTORY]}) for scales in ([1], [1, 2]))
    assert [asked(one, factors, (number,), 1).kept for number in (0, 1)] == [True, False]
    assert not asked(ladder, ladder.factor, (1,), 1).kept


def _asked(**run: Any) -> AskedTrials:
    spec = parse({"name": "x", "run": {**BASE, "storage": "ext4?size=64MiB", **run}, "factor": [HISTORY]})
    return asked(spec, spec.factor, (1,), 1)


def test_a_history_of_another_workload_has_settings_of_its_own() -> None:
    own = {"workload": "tpch", "workload_settings": {"size": "0.1"}, "isolation": "serializable", "max_tries": 3, "call": "statements"}
    found = _asked(**own, **OTHER, target={"url": "private:sqlite", "settings": {"journal_mode": "wal"}}, limits={}, seed=7)
    counted, before = found.merged.spec, found.earlier.spec
    assert (counted.workload, counted.clients, counted.isolation) == ("tpch", 1, "serializable")
    assert (before.workload, before.clients, before.isolation, before.workload_settings) == ("tpcb", 4, "read-committed", {})
    assert (before.retry, before.max_tries, before.call) == (False, 0, None)
    same = ("target", "storage", "scales", "cycles", "duration", "seed")
    assert [getattr(before, name) for name in same] == [getattr(counted, name) for name in same]
    assert not found.kept, "they have no tables in common"


def test_a_history_has_the_ladder_of_the_run_that_counts() -> None:
    """That of a workload depends on its clients where nothing is said."""
    spec = parse({"name": "x", "run": {"target": "private:sqlite", "workload": "tpcb", "clients": 2, "storage": "ext4?size=64MiB",
                                       "history.clients": 8}, "factor": [HISTORY]})  # fmt: skip
    found = asked(spec, spec.factor, (1,), 1)
    assert found.earlier.spec.scales == found.merged.spec.scales
    assert (found.earlier.spec.clients, found.merged.spec.clients) == (8, 2)


def test_other_clients_alone_keep_the_database_and_the_settings_of_the_workload() -> None:
    for more in ({"history.clients": 4}, OTHER):
        found = _asked(workload="tpcb", isolation="serializable", **more)
        assert (found.kept, found.earlier.spec.clients, found.earlier.spec.isolation) == (True, 4, "serializable")
    assert _asked().other is None


def test_a_history_of_another_workload_has_no_kept_database() -> None:
    with pytest.raises(SpecError, match="no database in common") as refused:
        _asked(workload="select", **OTHER, **{"history.database": "kept"})
    assert refused.value.option == "history.database"
    assert "history.workload" in refused.value.remedy


def test_levels_without_runs_before_may_stand_beside_others_of_another_workload() -> None:
    spec = parse({"name": "x", "run": {**LADDER, "workload": "select", **OTHER}, "factor": [HISTORY]})
    assert [asked(spec, spec.factor, (level,), 1).before for level in (0, 1)] == [0, 1]
    assert asked(spec, spec.factor, (0,), 1).other is None


def test_runs_of_another_workload_are_in_the_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volumes, "refuse", lambda *_: None)
    least = []
    for workload in ("select", "tpcc"):
        levels = [{"name": "used", "set": {"history.runs": 2, "history.workload": workload}}]
        values = {"name": "x", "run": {**LADDER, "workload": "tpcb"}, "factor": [{"name": "h", "levels": levels}], "trials": {"repeat": 1}}
        found, ahead = begin(parse(values), tmp_path / workload)
        expected = study.estimate(found, ahead)
        assert (expected.trials, expected.runs) == (1, 3)
        least.append(expected)
    assert least[1].time_s[1] > least[0].time_s[1], "more rows are made"
    assert (least[1].size_bytes or 0) > (least[0].size_bytes or 0)


@pytest.mark.parametrize("name", study.templates())
def test_a_template_becomes_trials(name: str, tmp_path: Path) -> None:
    spec = parse(tomllib.loads(study.template(name)))
    found, ahead = begin(spec, tmp_path / "study")
    assert spec.about
    assert len(found.counted("planned")) > 1
    low, high = study.estimate(found, ahead).time_s
    assert 0 < low <= high


def test_tuned_settings_are_pgtune_s() -> None:
    # 8 GB and 4 CPUs, OLTP, SSD, as pgtune.leopard.in.ua has it.
    found = rules.pgtune(8 << 30, 4)
    assert found["shared_buffers"] == f"{2 << 20}kB"
    assert found["effective_cache_size"] == f"{6 << 20}kB"
    assert found["maintenance_work_mem"] == f"{512 << 10}kB"
    assert found["wal_buffers"] == f"{16 << 10}kB"
    assert found["max_parallel_workers_per_gather"] == "2"
    assert found["max_wal_size"] == "8GB"


def test_a_level_of_storage_is_whole_but_for_where_it_is_made() -> None:
    run = {**BASE, "storage": {"type": "ext4", "data": "journal", "size": "1GiB"}}
    factors = [{"name": "block", "path": "storage.block", "levels": ["1k"]},
               {"name": "storage", "path": "storage", "levels": ["ext4", "xfs?size=2GiB", {"name": "again", "set": {"storage": "ext3"}}]}]
    spec = parse({"name": "x", "run": run, "factor": factors})
    found = [asked(spec, spec.factor, (0, level), 1).merged.spec.storage for level in range(3)]
    assert [one.get("data") for one in found] == [None] * 3, "of the run's own file system nothing is left"
    assert [one["type"] for one in found] == ["ext4", "xfs", "ext3"]
    assert [one["block"] for one in found] == ["1k"] * 3, "whatever the order of the factors is"
    sizes = [asked(spec, spec.factor, (0, level), 1).merged.spec.storage["size"] for level in range(2)]
    assert sizes[0] != sizes[1]
    on_device = parse({"name": "x", "run": {**BASE, "storage": "ext4?device=/dev/sdz"}, "factor": factors[1:]})
    assert asked(on_device, on_device.factor, (0,), 1).merged.spec.storage == {"type": "ext4", "device": "/dev/sdz"}


def test_what_rules_say_is_that_of_the_machine_on_which_the_study_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [{"name": "default"}, {"name": "tuned", "rules": "pgtune", "set": {"target.settings.random_page_cost": "2"}}]
    factor = {"name": "configuration", "levels": levels}
    monkeypatch.setattr("dsbench.study.spec.psutil.virtual_memory", lambda: SimpleNamespace(total=8 << 30))
    found = planned(tmp_path, run={**BASE, "target": "private:postgresql"}, factor=[factor])
    make_folder(found)
    store(found)
    monkeypatch.setattr("dsbench.study.spec.psutil.virtual_memory", lambda: SimpleNamespace(total=64 << 30))
    there = begin(found.spec, found.folder)[0]
    wanted = asked(there.spec, there.factors, (1,), 1).merged.spec.target.settings
    assert (wanted["shared_buffers"], wanted["random_page_cost"]) == (f"{2 << 20}kB", "2")
    new = planned(tmp_path / "elsewhere", run={**BASE, "target": "private:postgresql"}, factor=[factor])
    assert asked(new.spec, new.factors, (1,), 1).merged.spec.target.settings["shared_buffers"] == f"{16 << 20}kB"
    run = {**BASE, "target": "private:postgresql", "limits": {"memory": "128MiB"}}
    limited = planned(tmp_path / "limited", run=run, factor=[factor])
    tuned = asked(limited.spec, limited.factors, (1,), 1).merged.spec.target.settings
    assert tuned["shared_buffers"] == f"{32 << 10}kB", "a quarter of what the limit leaves"


def test_trials_are_counted_before_any_is_made() -> None:
    """Were they made, 33 million rows would take the memory."""
    factors = [{"name": f"f{n}", "path": f"workload_settings.x{n}", "levels": [1, 2]} for n in range(25)]
    with pytest.raises(SpecError, match="100,663,296 trials are more than the 100,000"):
        parse({"name": "x", "run": BASE, "factor": factors})
    assert parse({"name": "x", "run": BASE, "factor": factors, "trials": {"design": "one-at-a-time"}}).factor
    assert parse({"name": "x", "run": BASE, "factor": factors, "trials": {"design": "screening"}}).factor


def test_more_blocks_than_a_study_may_have_are_refused(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS])
    with pytest.raises(SpecError, match="300,009 trials"):
        extend(found, {}, 100_000)


def test_the_estimate_has_what_again_makes(tmp_path: Path) -> None:
    found = planned(tmp_path, factor=[THREADS], trials={"repeat": 1})
    make_folder(found)
    store(replace(found, trials=(replace(found.trials[0], status="failed"), replace(found.trials[1], status="done"), found.trials[2])))
    for again, trials in ((False, 1), (True, 2)):
        there, ahead = begin(found.spec, found.folder, again=again)
        assert estimate(there, ahead, again=again).trials == trials
        assert there.trials[0].status == "failed", "until it is made"


@pytest.mark.parametrize(
    ("text", "words"),
    [("name = 'x'\n[[factors]]\nname = 'a'", "factors: there is no key of this name; did you mean factor?"),
     ("name = 'x'\n[[factor]]\nname = 'a'\nlevel = [1]", "factor.1.level: there is no key of this name; did you mean levels?"),
     ("name = 'x'\n[trials]\nrepeats = 2\n[[factor]]\nname='a'\npath='clients'\nlevels=[1]", "trials.repeats: there is no key of this name; did you mean repeat?"),
     ("[[transaction]]\nname = 'a'", "FILE: this is a workload file, not a study")],
)  # fmt: skip
def test_a_file_that_is_no_study_is_told_by_what_is_wrong_in_it(text: str, words: str) -> None:
    with pytest.raises(SpecError) as refused:
        study.of_text(text.encode(), "x.toml")
    assert str(refused.value) == words


def _tried(tmp_path: Path, attempt: Callable[[RunSpec], None] = try_target, **values: Any) -> tuple[Study, list[str]]:
    heard: list[str] = []
    return study.tried(planned(tmp_path, **{"trials": {"repeat": 1}, **values}), heard.append, attempt=attempt), heard


def test_a_setting_that_no_server_takes_ends_the_study_before_it_begins(tmp_path: Path) -> None:
    factor = {"name": "mode", "path": "target.settings.journal_mode", "levels": ["wal", "walk"]}
    with pytest.raises(SpecError, match="'walk': --set: journal_mode is 'walk'") as refused:
        _tried(tmp_path, factor=[factor, THREADS])
    assert refused.value.option == "factor 'mode': levels"
    wrong = {"name": "mode", "path": "target.settings.synchronus", "levels": ["on", "off"]}
    with pytest.raises(SpecError, match="dsbench has no setting 'synchronus' for SQLite"):
        _tried(tmp_path / "path", factor=[wrong])


def test_each_server_is_tried_once_and_one_that_takes_a_setting_elsewhere_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def took(spec: RunSpec) -> None:
        if spec.target.settings.get("io_method") == "worker" and spec.target.version == "17":
            raise SpecError("--set", "this version has no such setting", "use another")

    monkeypatch.setattr("dsbench.measure.ahead.servers.find", lambda _target: None)
    versions = {"name": "version", "path": "target.version", "levels": [17, 18]}
    methods = {"name": "method", "levels": [{"name": "own"}, {"name": "worker", "set": {"target.settings.io_method": "worker"}}]}
    run = {**BASE, "target": "private:postgresql"}
    found, heard = _tried(tmp_path, took, run=run, factor=[versions, THREADS, methods])
    assert len(heard) == 4, "two versions with two settings each, whatever the clients are"
    assert {one.levels[::2] for one in found.counted("left out")} == {("17", "worker")}
    assert {one.reason for one in found.counted("left out")} == {"--set: this version has no such setting"}
    with pytest.raises(SpecError, match="'worker': --set: this version has no such setting"):
        _tried(tmp_path / "one", took, run=run, factor=[{**versions, "levels": [17]}, methods])


def test_versions_that_are_not_here_are_left_out_and_none_at_all_is_an_error(tmp_path: Path) -> None:
    factor = {"name": "version", "path": "target.version", "levels": ["9.4", "8.0"]}
    run = {**BASE, "target": "private:postgresql"}
    versions = {"name": "v", "levels": [{"name": "own"}, {"name": "old", "set": {"target.product": "postgresql", "target.version": "9.4"}}]}
    found, _ = _tried(tmp_path, run=BASE, factor=[versions])
    assert [one.status for one in found.trials if one.levels == ("old",)] == ["left out"]
    assert "no PostgreSQL" in found.counted("left out")[0].reason
    with pytest.raises(SpecError, match="no trial can run"):
        planned(tmp_path / "none", run=run, factor=[factor])


def test_a_server_that_does_not_answer_ends_the_study_before_it_begins(tmp_path: Path) -> None:
    factor = {"name": "target", "path": "target.url", "levels": ["private:sqlite", "postgresql://nobody@127.0.0.1:1/x"]}
    with pytest.raises(RunError):
        _tried(tmp_path, factor=[factor])


@pytest.mark.parametrize(
    ("path", "levels", "words"),
    [("workload_settings.colour", ["red", "blue"], "colour"), ("workload_settings.keys", ["64", "sixty"], "sixty")],
)
def test_a_wrong_setting_of_the_workload_ends_the_study_before_it_begins(path: str, levels: list[str], words: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=words):
        planned(tmp_path, factor=[{"name": "setting", "path": path, "levels": levels}, THREADS])


def test_keys_of_a_template_are_changed() -> None:
    changes = ["run.scales=[1]", "run.target.settings.work_mem=4MB", "factor.workload=", "factor.clients.levels=[1, 4]",
               "factor.product.path=target.product", 'factor.product.levels=["postgresql", "firebird"]',
               "trials.repeat=1"]  # fmt: skip
    spec = study.read(Path("clients"), changes)
    assert spec.run["target"] == {"url": "private:postgresql", "settings": {"work_mem": "4MB"}}
    assert spec.run["scales"] == [1]
    assert [(one.name, len(one.levels)) for one in spec.factor] == [("clients", 2), ("product", 2)]
    assert spec.trials.repeat == 1
    for wrong in ("cycles", "factor.clients=4", "factor=x"):
        with pytest.raises(SpecError, match="not a KEY=VALUE of a study"):
            study.read(Path("clients"), [wrong])
    with pytest.raises(SpecError, match="there is no key of this name"):
        study.read(Path("clients"), ["trials.repeats=1"])
