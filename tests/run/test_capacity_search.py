"""Runs that search the highest rate at which an objective holds, on a mock whose calls take a set time."""

from __future__ import annotations

from pathlib import Path

import pytest

import dsbench
from dsbench import spec
from dsbench.archive import Archive
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import CoreError
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute, resume
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.tables import results_txt
from dsbench.read.text import render_text
from dsbench.spec import SpecError
from fixtures.stalled import unless_stalled

# Two clients and 5 ms for each call: no rate beyond 400 per second can be kept up, however fast the machine is.
TARGET = "mock:?latency_us=5000"
LITTLE = {"workload": "select", "scales": (1,), "cycles": 2, "duration": 1.0, "ramp_up": 0.1, "clients": 2,
          "objective": "p90=60ms"}  # fmt: skip


def rates(archive: Archive) -> list[float]:
    """Demanded of the cycles, in their order."""
    rows = archive.table("groups").sort_by("cycle").to_pylist()
    return [row["rate_per_s"] for row in rows]


@unless_stalled
def test_a_run_searches_and_repeats_what_it_found(tmp_path: Path) -> None:
    archive = dsbench.run(TARGET, out=tmp_path, **LITTLE)
    found, tried = archive.evaluate(), rates(archive)
    load = found.of(LoadResult).load[1]
    assert len(load.tried) == len(tried)
    assert load.capacity is not None
    assert load.rate <= 480
    assert {one.keeps for one in load.tried} == {True, False}, "it has been on both sides"
    assert tried[-1] == tried[-2], "the cycles at the end are at the rate that was found"
    assert len(set(tried)) > 4
    # What repeats itself is those alone, and the figures are of them.
    assert list(found.of(RateResult).cycle_numbers[1]) == [at for at, rate in enumerate(tried, 1) if rate == tried[-1]]
    assert len(found.of(RateResult).cycle_rates[1]) == tried.count(tried[-1])
    assert "missing-cycles" not in [doubt.code for doubt in found.of(WarningsResult).doubts]
    told = render_text(find_subject("load").tell(found))
    assert "tps with 90% below 60 ms" in told
    assert told.count("\n") > len(tried)
    assert "tps with 90% below 60 ms" in (archive.path / "report.html").read_text()
    assert results_txt(found, archive.run)


def test_a_limit_that_no_rate_keeps_is_told(tmp_path: Path) -> None:
    archive = dsbench.run(TARGET, out=tmp_path, **{**LITTLE, "objective": "p90=2ms", "duration": 0.2})
    (warning,) = (one for one in archive.run.warnings if one.code == "capacity")
    assert "no rate with 90% below 2 ms is known" in warning.message
    assert archive.evaluate().of(LoadResult).load[1].capacity is None


class _Impatient(Silent):
    """Ends the run when its fourth cycle is kept."""

    def message(self, text: str) -> None:
        if text.startswith("scale 1, cycle 4:"):
            raise RunError("enough", "go on")


@unless_stalled
def test_a_search_that_was_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    cut = execute(spec.build({"target": {"url": TARGET}, **LITTLE}), tmp_path, _Impatient())
    assert cut.status == "failed"
    before = rates(Archive.open(cut.archive))
    done = resume(cut.archive, None, Silent())
    assert done.status == "complete"
    after = rates(Archive.open(done.archive))
    assert after[: len(before)] == before
    assert after[-1] == after[-2]
    assert max(after) < 2 * max(before), "it did not begin anew"


@pytest.mark.parametrize(
    "more",
    [{"rate": 100.0}, {"peak": True}, {"find_ramp_up": True}, {"duration": 0.5},
     {"objective": "p99"}, {"reconnect": True}],
)  # fmt: skip
def test_what_does_not_fit_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(SpecError):
        spec.build({"target": {"url": TARGET}, **LITTLE, **more})


def test_kinds_that_are_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises((CoreError, RunError), match="no transactions of kind 'nosuch'"):
        dsbench.run(TARGET, out=tmp_path, **{**LITTLE, "objective": "nosuch.p90=50ms"})
