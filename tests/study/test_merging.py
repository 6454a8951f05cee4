"""Studies and archives of several machines as one study."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dsbench.report import study as shown
from dsbench.report.diagrams.study import specs
from dsbench.spec import SpecError
from dsbench.study import Study, begin, load, merge, outcomes
from dsbench.study.record import make_folder, store
from dsbench.study.spec import parse
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
    with pytest.raises(SpecError, match="no run of this machine is one of a") as refused:
        begin(parse({"name": "x", "factor": [{"name": "host", "path": "host", "levels": ["a"]}]}), tmp_path / "x")
    assert "dsbench study merge" in refused.value.remedy


def test_archives_of_one_run_are_a_study_too(tmp_path: Path) -> None:
    spec = {"workload": "tpcb", "scales": [1], "cycles": 2, "threads": 1}
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
    other = write(tmp_path, {**run_json({**spec, "threads": 4}, name="other"), "host": "c"}, {"cycles": rows}).path
    with pytest.raises(SpecError, match="their work is not the same: threads is 1, 4"):
        merge([("", paths[0]), ("", other)], tmp_path / "none")
    with pytest.raises(SpecError, match="of one host, a"):
        merge([("", path) for path in paths[:2]], tmp_path / "none")


def test_studies_of_other_work_are_refused(made: Study, tmp_path: Path) -> None:
    spec = json.loads((made.folder / "study.json").read_text())["spec"]
    for key, value, words in (("run", {**spec["run"], "cycles": 9}, "cycles is 2, 9"), ("factor", spec["factor"][:1], "other factors")):
        other, _ = begin(parse({**spec, key: value}), tmp_path / key)
        make_folder(other)
        store(other.with_trial(made.trials[1]))
        with pytest.raises(SpecError, match=words):
            merge([("a", made.folder), ("b", other.folder)], tmp_path / "none")
    assert not (tmp_path / "none").exists()
