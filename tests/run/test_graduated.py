"""Load from the capacity down to idle, on a mock whose calls take a set time, with a meter that is a made-up program."""

from __future__ import annotations

import sys
from math import isnan
from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench import spec
from dsbench.archive import Archive
from dsbench.measure.interrupts import Stop
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import execute, resume
from dsbench.read.choice import make_choice
from dsbench.read.draw import specs
from dsbench.read.draw.hero import hero
from dsbench.read.evaluation import Evaluation
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.energy import EnergyResult, Grade, rate_overall
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.text import render_text
from dsbench.spec.objective import GRADES

TARGET = "mock:?latency_us=2000"
LITTLE = {"workload": "select", "scales": (1,), "cycles": 1, "duration": 0.4, "ramp_up": 0.0, "clients": 2,
          "graduated": True}  # fmt: skip


def levels(archive: Archive) -> list[tuple[float, float]]:
    """Level and demanded rate of the cycles that have a level, in their order."""
    rows = archive.table("groups").sort_by("cycle").to_pylist()
    return [(row["level"], row["rate_per_s"]) for row in rows if row["level"] is not None]


def _meter(folder: Path) -> str:
    (folder / "meter.py").write_text("import time\nwhile True:\n    print(40, flush=True)\n    time.sleep(0.05)\n")
    return f"{sys.executable} {folder / 'meter.py'}"


def _picture(found: Evaluation, archive: Archive) -> tuple[list[dict[str, Any]], list[str]]:
    """Of the first picture of the page its rows, and what its bars and its line show."""
    drawn = hero(found, archive.run)
    assert drawn is not None
    return drawn["datasets"]["grades"], [layer["encoding"]["y"]["field"] for layer in drawn["layer"]]


def test_a_run_goes_from_its_capacity_to_idle(tmp_path: Path) -> None:
    archive = dsbench.run(TARGET, out=tmp_path, power=_meter(tmp_path), **LITTLE)
    found, made = archive.evaluate(), levels(archive)
    assert tuple(level for level, _ in made) == GRADES
    full = made[0][1]
    assert [rate for _, rate in made[:-1]] == pytest.approx([full * level / 100 for level in GRADES[:-1]], rel=1e-3)
    grades = found.of(EnergyResult).grades[1]
    assert tuple(one.level for one in grades) == GRADES
    assert grades[-1].achieved == 0
    assert isnan(grades[-1].p50_ms)
    assert [one.watts for one in grades] == pytest.approx([40.0] * len(GRADES), rel=1e-6)
    # The figures of the run are those of the full load alone.
    assert list(found.of(RateResult).cycle_numbers[1]) == [1]
    overall = make_choice("transactions-per-joule").read(found).value
    assert overall == pytest.approx(sum(one.achieved for one in grades) / sum(one.watts for one in grades))
    assert make_choice("idle-watts").read(found).value == pytest.approx(grades[-1].watts)
    said = render_text(find_subject("energy").tell(found))
    assert "transactions per joule over all levels" in said
    assert "these figures are not SPEC results" in said
    assert len(specs(found, archive.run)["graduated"]["vconcat"]) >= 1
    rows, fields = _picture(found, archive)
    assert [row["name"] for row in rows] == [*(f"{level}%" for level in range(100, 0, -10)), "idle"]
    assert [row["rate"] for row in rows] == [one.achieved for one in grades]
    assert fields == ["rate", "watts"]
    assert "missing-cycles" not in [doubt.code for doubt in found.of(WarningsResult).doubts]


def test_without_a_meter_the_cpus_stand_in_its_place(tmp_path: Path) -> None:
    archive = dsbench.run(TARGET, out=tmp_path, **{**LITTLE, "duration": 0.2, "cycles": 2})
    found = archive.evaluate()
    assert [level for level, _ in levels(archive)] == [level for level in GRADES for _ in range(2)]
    if found.of(EnergyResult).energy:  # The machine of this test counts its own energy.
        return
    assert isnan(rate_overall(found.of(EnergyResult).grades[1]))
    said = render_text(find_subject("energy").tell(found))
    assert "CPU use is shown instead" in said
    assert "power" not in said.splitlines()[1]
    assert "CPUs in use" in str(specs(found, archive.run)["graduated"])
    assert _picture(found, archive)[1] == ["rate", "ms"]


def test_the_overall_ratio_is_that_of_sums_with_idle_below() -> None:
    grades = [Grade(level, 10.0 * level, 10.0 * level, 1.0, 2.0, 50.0, 100.0 + level) for level in GRADES]
    assert rate_overall(grades) == pytest.approx(5500 / (11 * 100 + 550))
    assert isnan(rate_overall(grades[:-1])), "without idle"
    assert isnan(rate_overall([*grades[:-1], Grade(0, 0, 0, 1, 2, 3, float("nan"))]))


class _StopsAt(Silent):
    """Ends the run in a cycle."""

    def __init__(self, cycle: int) -> None:
        self.stop, self._cycle = Stop(), cycle

    def moment(self, moment: Moment) -> None:
        if moment.phase == "cycle" and moment.cycle == self._cycle:
            self.stop.request("enough")


def test_a_run_that_is_resumed_goes_on_with_the_level_it_was_at(tmp_path: Path) -> None:
    observer = _StopsAt(4)
    cut = execute(spec.build({"target": {"url": TARGET}, **LITTLE}), tmp_path, observer, stop=observer.stop)
    before = levels(Archive.open(cut.archive))
    assert cut.status == "cut-short"
    assert 1 <= len(before) < len(GRADES)
    done = resume(cut.archive, None, Silent())
    assert done.status == "complete", done.error
    after = levels(Archive.open(done.archive))
    assert tuple(level for level, _ in after) == GRADES
    assert after[: len(before)] == before
    assert after[-2][1] == pytest.approx(after[0][1] / 10, rel=1e-3), "of the same capacity"


@pytest.mark.thorough
def test_with_an_objective_the_levels_are_of_the_rate_that_keeps_it(tmp_path: Path) -> None:
    archive = dsbench.run(TARGET, out=tmp_path, **{**LITTLE, "objective": "p90=30ms", "ramp_up": 0.1})
    found, made = archive.evaluate(), levels(archive)
    if found.of(LoadResult).load[1].capacity is None:  # On a busy machine a search of 12 s may end without one.
        assert made == []
        return
    assert tuple(level for level, _ in made) == GRADES
    below = {row["rate_per_s"] for row in archive.table("groups").to_pylist() if row["level"] not in (None, 100.0)}
    assert not below & {one.demanded for one in found.of(LoadResult).load[1].tried}, "no step of the search"


@pytest.mark.parametrize("option", ["rate", "peak", "pace", "precision", "driver", "several_clients"])
def test_what_does_not_go_with_levels_is_refused(option: str) -> None:
    values = {"rate": 5.0, "peak": True, "pace": "terminals", "precision": 2.0, "driver": "sqlite3"}.get(option)
    more = {"clients": [1, 2]} if option == "several_clients" else {option: values}
    with pytest.raises(spec.SpecError) as refused:
        spec.build({"graduated": True, **more})
    assert refused.value.option == "--graduated"
