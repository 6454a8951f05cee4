"""Studies and archives of several machines as one study."""

from __future__ import annotations

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.spec import SpecError
from dsbench.study import Study, begin, best, load, merge, outcomes, shown
from dsbench.study.diagrams import specs
from dsbench.study.plan import Trial
from dsbench.study.record import make_folder, store
from dsbench.study.results import unlike
from dsbench.study.spec import Factor, parse
from fixtures.archives import MS, cycle_row, run_json, write


def test_studies_of_two_machines_are_one_whose_factor_is_the_host(made: Study, tmp_path: Path) -> None:
    found = merge([("old", made.folder), ("new", made.folder)], tmp_path / "both")
    assert [factor.name for factor in found.factors] == ["host", "isolation", "clients"]
    assert len(found.counted("done")) == len(found.trials) == 2 * len(made.counted("done"))
    assert load(found.folder).trials == found.trials
    one = outcomes(load(found.folder))
    assert one.effects is not None
    (host,) = [effect for effect in one.effects.main if effect.factors == (0,)]
    assert (host.ratio.value, host.none) == (pytest.approx(1), True)
    assert "host new against old" in shown.text(one)
    assert {"freq-1", "freq-2"} <= set(specs(one)), "cumulative frequencies of both in one diagram"
    with pytest.raises(SpecError, match="no run on this machine has a") as refused:
        begin(parse({"name": "x", "factor": [{"name": "host", "path": "host", "levels": ["a"]}]}), tmp_path / "x")
    assert "dsbench study merge" in refused.value.remedy


def test_frequencies_are_drawn_at_the_scales_that_the_study_names(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "data/archives/pg.zip"
    found = merge([("old", path), ("new", path)], tmp_path / "both")
    scales = Archive.open(path).run.spec.scales

    def drawn(*named: int) -> set[str]:
        of = replace(found, spec=found.spec.model_copy(update={"frequencies": named}))
        return {row["scale"] for row in specs(outcomes(of))["freq-1"]["datasets"]["freq"]}

    ends = {str(scales[0]), str(scales[-1])}
    assert len(scales) == 3
    assert (drawn(), drawn(scales[1]), drawn(*scales[1:])) == (ends, {str(scales[1])}, {str(one) for one in scales[1:]})
    assert drawn(scales[0], 999) == ends, "of scales that no trial has none is drawn"


def test_archives_of_one_run_are_a_study_too(tmp_path: Path) -> None:
    spec = {"workload": "tpcb", "scales": [1], "cycles": 2, "clients": 1}
    paths = []
    for host, count in (("a", 100), ("a", 102), ("b", 200), ("b", 198)):
        rows = [cycle_row(1, cycle, [MS] * count) for cycle in (1, 2)]
        run = {**run_json(spec, name=f"run-{len(paths)}"), "host": host}
        paths.append(write(tmp_path, run, {"cycles": rows}, sealed=len(paths) % 2 == 0).path)
    found = merge([("", path) for path in paths], tmp_path / "hosts")
    assert [(one.block, one.levels) for one in found.trials] == [(1, ("a",)), (1, ("b",)), (2, ("a",)), (2, ("b",))]
    effects = outcomes(found).effects
    assert effects is not None
    assert effects.main[0].ratio.value == pytest.approx(2, rel=0.03)
    other = write(tmp_path, {**run_json({**spec, "clients": 4}, name="other"), "host": "c"}, {"cycles": rows}).path
    with pytest.raises(SpecError, match="their work differs: clients is 1, 4"):
        merge([("", paths[0]), ("", other)], tmp_path / "none")
    failed = {"1": [{"name": "sums", "state": "broken", "detail": "0"}]}
    void = write(tmp_path, {**run_json(spec, name="void"), "host": "c", "checks": failed}, {"cycles": rows}).path
    with pytest.raises(SpecError, match="its check failed at scale 1"):
        merge([("", paths[0]), ("", void)], tmp_path / "none")
    with pytest.raises(SpecError, match="of one host, a"):
        merge([("", path) for path in paths[:2]], tmp_path / "none")


def test_trials_on_servers_that_differ_are_not_comparable(made: Study, tmp_path: Path) -> None:
    """Another machine is the factor; another version or setting is none, unless a factor of the study sets it."""
    spec, rows = {"workload": "tpcb", "scales": [1], "cycles": 2, "clients": 1}, [cycle_row(1, n, [MS] * 9) for n in (1, 2)]
    paths = {}
    for host, version, memory in (("a", "15.18", "4MB"), ("b", "15.18", "4MB"), ("c", "14.2", "8MB")):
        more = {"host": host, "server_version": f"PostgreSQL {version}", "settings": {"work_mem": memory}}
        layer = {"layer": "core", "items": {"CPU": f"of {host}"}}
        run = {**run_json(spec, name=f"of-{host}"), **more, "stack": [layer]}
        paths[host] = write(tmp_path, run, {"cycles": rows}).path
    assert outcomes(merge([("", paths["a"]), ("", paths["b"])], tmp_path / "machines")).unlike == {}
    found = outcomes(merge([("", paths["a"]), ("", paths["c"])], tmp_path / "servers"))
    apart = {"server": ("PostgreSQL 15.18", "PostgreSQL 14.2"), "setting.work_mem": ("4MB", "8MB")}
    assert found.unlike == {2: apart}
    told = shown.text(found)
    assert "not comparable with the first of the same levels: trial 2 (server PostgreSQL" in told
    assert "setting.work_mem 8MB, there 4MB" in told
    of_trials = [one["not_comparable"] for one in shown.document(found)["trials"]]
    assert of_trials == [{}, {name: {"first": one, "here": other} for name, (one, other) in apart.items()}]
    ruled = Factor(name="caches", path="target.settings.work_mem", levels=("4MB",))
    trials = [Trial(n, 1, (host, "4MB"), "done") for n, host in ((1, "a"), (2, "c"))]
    runs = [Archive.open(paths[host]).run for host in "ac"]
    host = found.study.factors[0]
    assert unlike((host, ruled), list(zip(trials, runs, strict=True))) == {2: {"server": apart["server"]}}
    assert outcomes(made).unlike == {}


def test_a_second_study_of_a_host_fills_no_gap_of_the_first(made: Study, tmp_path: Path) -> None:
    copy = Study(tmp_path / "again", made.spec, made.factors, made.trials)
    shutil.copytree(made.folder, copy.folder)
    found = merge([("old", made.folder), ("old", copy.folder), ("new", made.folder)], tmp_path / "both")
    blocks = {(one.levels[0], one.block) for one in found.trials}
    assert blocks == {("old", n) for n in range(1, 7)} | {("new", n) for n in range(1, 4)}
    assert [one.block for one in found.trials] == sorted(one.block for one in found.trials)
    of_three = [one for one in found.trials if one.levels[0] == "old" and one.block <= 3]
    assert len(of_three) == len(made.counted("done")), "trial 1 failed: that of another time does not stand in for it"
    with pytest.raises(SpecError, match="is listed twice"):
        merge([("old", made.folder), ("old", made.folder), ("new", made.folder)], tmp_path / "none")
    with pytest.raises(SpecError, match="already has the factor"):
        merge([("a", found.folder), ("b", found.folder)], tmp_path / "none")


def test_a_host_is_no_level_that_can_be_chosen(made: Study, tmp_path: Path) -> None:
    found = merge([("old", made.folder), ("new", made.folder)], tmp_path / "both")
    spec = parse(tomllib.loads(best(outcomes(found), likely=True)))
    assert all("host" not in level.sets for level in spec.factor[0].resolved)


def test_screenings_stay_screenings_and_levels_of_one_name_are_the_same(tmp_path: Path) -> None:
    def study(name: str, clients: int) -> Path:
        many = [{"name": f"f{n}", "levels": [{"name": "low"}, {"name": "high", "set": {"clients": clients}}]} for n in range(3)]
        run = {"target": "private:sqlite", "scales": [1], "cycles": 1, "duration": 1.0}
        begun, _ = begin(parse({"name": "s", "run": run, "factor": many, "trials": {"design": "screening"}}), tmp_path / name)
        make_folder(begun)
        rows = {"cycles": [cycle_row(1, 1, [MS] * 100)]}
        for trial in begun.trials[:2]:
            path = write(begun.archives, run_json({"scales": [1]}, name=f"{name}-{trial.number}"), rows).path
            begun = begun.with_trial(replace(trial, status="done", archive=path.name))
        store(begun)
        return begun.folder

    one, two, other = study("a", 2), study("b", 2), study("c", 3)
    assert load(merge([("a", one), ("b", two)], tmp_path / "both").folder).spec.trials.design == "screening"
    with pytest.raises(SpecError, match="level high of f0 sets other values"):
        merge([("a", one), ("b", other)], tmp_path / "none")


def test_studies_of_other_work_are_refused(made: Study, tmp_path: Path) -> None:
    spec = json.loads((made.folder / "study.json").read_text())["spec"]
    for key, value, words in (("run", {**spec["run"], "cycles": 9}, "cycles is 2, 9"), ("factor", spec["factor"][:1], "other factors")):
        other, _ = begin(parse({**spec, key: value}), tmp_path / key)
        make_folder(other)
        trial = made.trials[1]
        store(other.with_trial(replace(trial, levels=trial.levels[: len(other.factors)])))
        with pytest.raises(SpecError, match=words):
            merge([("a", made.folder), ("b", other.folder)], tmp_path / "none")
    assert not (tmp_path / "none").exists()
