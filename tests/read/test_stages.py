"""Archives of several stages, whose cycles have durations and groups of their own."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsbench.archive import Archive
from dsbench.read import draw as diagrams
from dsbench.read import tables
from dsbench.read.draw import course
from dsbench.read.evaluation import Evaluation, Series, evaluate
from dsbench.read.page import page
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.read.subjects.warnings import WarningsResult
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, phase_rows, run_json, write
from fixtures.told import summary_text

READING, WRITING = Series("reading", 2), Series("writing", 3)


def samples(stage: str, cycle: int, until_ns: int, value: float) -> list[dict[str, Any]]:
    """A counter that stands still after the end of the cycle, but for what another program does."""
    row = {"scale": 1, "stage": stage, "cycle": cycle, "node": "local", "monitor": "os", "metric": "cpu_user", "unit": "s total"}
    at = ((0, 0.0), (until_ns, value), (until_ns + S, value + 100))
    return [{**row, "at_ns": at_ns, "value": v} for at_ns, v in at]


def second(stage: str, cycle: int, number: int, count: int) -> dict[str, Any]:
    times = {"p50_ns": MS, "p99_ns": MS, "max_ns": MS, "failed": 0}
    return {"scale": 1, "stage": stage, "cycle": cycle, "node": "local", "kind": "tpcb", "second": number, "count": count, **times}


def test_the_rate_of_a_stage_is_the_median_of_its_cycles(archive: Archive) -> None:
    """10 and 20 per second in 2 s and 4 s: 15, and not the 16.7 of 100 in 6 s. What ends before its stage is over its own
    time: the inserts do 20 in 1.5 s, the deletes 10 in 1 s."""
    parts = {key.stage: part for key, part in evaluate(archive).series.items()}
    assert parts["reading"].own_rates == {1: pytest.approx(15)}
    assert parts["reading"].of(StagesResult).efficiency[1].rate == pytest.approx(100 / 6)
    writing = parts["writing"]
    assert {name: writing.of_group(name).own_rates[1] for name in writing.groups} == {
        "inserts": pytest.approx(20 / 1.5), "deletes": pytest.approx(10),
    }  # fmt: skip


def rows() -> dict[str, list[dict[str, Any]]]:
    """Cycles of 2 s and 4 s that read, and one of 1.5 s that writes; both stages number theirs from 1."""
    reading, writing = {"stage": "reading", "clients": 2}, {"stage": "writing", "clients": 3}
    return {
        "cycles": [
            cycle_row(1, 1, [MS] * 20, **reading), cycle_row(1, 2, [MS] * 80, **reading),
            cycle_row(1, 1, [5 * MS] * 20, **writing, group="inserts", rows=200),
            cycle_row(1, 1, [5 * MS] * 10, **writing, group="deletes", client=1, rows=100),
        ],
        "groups": [
            group_row(1, "reading", 1, 2 * S), group_row(1, "reading", 2, 4 * S),
            group_row(1, "writing", 1, 3 * S // 2, group="inserts"),
            group_row(1, "writing", 1, S, group="deletes", until="group", until_of="inserts", all_clients=1, connections=4),
        ],
        "buckets": [
            *bucket_rows(1, 1, [MS] * 20, **reading), *bucket_rows(1, 2, [MS] * 80, **reading),
            *bucket_rows(1, 1, [5 * MS] * 30, **writing),
        ],
        "seconds": [
            second("reading", 1, 1, 20), second("reading", 2, 0, 40), second("reading", 2, 3, 40),
            second("writing", 1, 0, 20), second("writing", 1, 1, 10),
        ],
        "monitors": [
            *samples("reading", 1, 2 * S, 1.0), *samples("reading", 2, 4 * S, 2.0), *samples("writing", 1, 3 * S // 2, 3.0),
        ],
        "phases": [
            *phase_rows(1, populate=S), {"scale": 1, "stage": "reading", "cycle": 1, "phase": "clean", "duration_ns": S},
            {"scale": 1, "stage": "writing", "cycle": 1, "phase": "clean", "duration_ns": 5 * S},
        ],
    }  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return write(tmp_path, run_json({"scales": (1,), "cycles": 2, "duration": 600.0, "clients": 99}), rows())


@pytest.fixture
def found(archive: Archive) -> Evaluation:
    return evaluate(archive)


def test_each_stage_is_a_series_whose_cycles_have_their_own_durations(found: Evaluation) -> None:
    assert list(found.series) == [READING, WRITING]
    reading, writing = found.series.values()
    assert reading.of(RateResult).cycle_rates[1].tolist() == [10, 20]
    # 100 transactions in 6 s; 100 ms of residence times over 6 s.
    assert reading.of(RateResult).scales[0].rate_mean_tps == pytest.approx(100 / 6, rel=1e-14)
    assert reading.of(RateResult).scales[0].rate_multiplier == pytest.approx(0.1 / 6, rel=1e-14)
    assert writing.of(RateResult).cycle_rates[1].tolist() == [20], "30 transactions in 1.5 s, as long as the longer group took"
    assert (reading.of(LatencyResult).frequency[1].quantiles_ns[1.0], writing.of(LatencyResult).frequency[1].quantiles_ns[1.0]) == (MS, 5 * MS)
    assert (reading.of(RateResult).scales[0].cleanup_s, writing.of(RateResult).scales[0].cleanup_s, writing.of(RateResult).scales[0].populate_s) == (1, 5, 1)
    assert (reading.of(RateResult).connections, writing.of(RateResult).connections) == (2, 6), "of all groups: 2 clients of 1 and 1 client of 4"
    assert found.key == WRITING, "the whole is that of the last"


def test_terminals_share_the_sessions_of_their_threads(tmp_path: Path) -> None:
    changed = rows()
    changed["groups"][0] |= {"pacing": "terminals", "all_clients": 50, "clients": 4, "connections": 2}
    found = evaluate(write(tmp_path, run_json({"scales": (1,), "cycles": 2, "clients": 4, "nodes": 2}), changed))
    assert found.series[READING].of(RateResult).connections == 16, "two sessions of each of four clients on two nodes"


def test_counters_and_seconds_end_with_their_own_cycle(found: Evaluation) -> None:
    reading, writing = found.series.values()
    (cost,), (other,) = reading.of(CostResult).resources[1], writing.of(CostResult).resources[1]
    # 3 s of CPU time over 100 transactions in 6 s.
    assert (cost.per_transaction, cost.per_second) == pytest.approx((30_000, 500_000))
    assert other.per_transaction == pytest.approx(100_000)
    assert reading.of(CourseResult).seconds[1][:, 0].tolist() == [0, 20, 40, 0, 0, 40]
    assert writing.of(CourseResult).seconds[1][:, 0].tolist() == [20, 10]
    drawn = course.courses(reading)["1"]
    assert drawn["boundaries"] == [2]
    assert course.courses(writing)["1"]["columns"]["count"] == [20, 20, 20], "10 in the half second that it has"


def test_tables_tell_the_stages_apart(archive: Archive, found: Evaluation) -> None:
    head, *body = csv.reader(io.StringIO(tables.results_csv(found)))
    assert (head[-1], [row[-1] for row in body]) == ("stage", ["reading", "writing"])
    text = tables.results_txt(found, archive.run)
    assert [line for line in text.splitlines() if line in ("# stage reading", "# stage writing")] == [
        "# stage reading", "# stage writing",
    ]  # fmt: skip
    assert [np.loadtxt(block.splitlines(), ndmin=2).shape for block in text.split("\n\n\n")] == [(1, 23)] * 2
    assert "\nstage writing\n" in summary_text(found)
    assert list(json.loads(json.dumps(tables.to_json(found)))["series"]) == ["reading", "writing"]


def test_the_page_shows_the_last_stage_and_names_it(archive: Archive, found: Evaluation) -> None:
    drawn = diagrams.specs(found, archive.run)
    shown = page(found, archive.run, drawn)
    assert "Tables and diagrams that tell no series apart show the stage writing." in shown
    assert len(drawn["connections"]["datasets"]["connections"]) == 1, "stages do different things with connections"


def test_doubts_say_of_which_stage_they_speak(tmp_path: Path) -> None:
    changed = rows()
    changed["cycles"][0]["failed"] = 500
    doubts = evaluate(write(tmp_path, run_json({"scales": (1,), "cycles": 2, "duration": 9.0}), changed)).of(WarningsResult).doubts
    assert [d.message.split(":")[0] for d in doubts if d.code == "failures"] == ["stage reading"]
