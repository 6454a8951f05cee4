"""What a stage reached and took, out of an archive that was made by hand: queries beside inserts and deletes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.read import subjects
from dsbench.read.csv import render_csv
from dsbench.read.evaluation import Evaluation, Series, evaluate
from dsbench.read.page import page
from dsbench.read.shown import read
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.stages import StagesResult, tabulate_efficiency
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, phase_rows, run_json, write

MIB = 2**20
LOAD, QUERY = "load", "query"


def row(stage: str, group: str, count: int, time_ns: int, rows: int = 0) -> dict[str, Any]:
    more = {"stage": stage, "clients": 1, "group": group, "kind": group, "rows": rows}
    return cycle_row(1, 1 if stage == LOAD else 2, [time_ns] * count, **more)


def times(stage: str, group: str, found: list[int], measure: str = "residence") -> list[dict[str, Any]]:
    rows = bucket_rows(1, 1 if stage == LOAD else 2, found, stage=stage, clients=1, group=group, kind=group)
    return [{**one, "measure": measure} for one in rows]


def second(number: int, group: str, count: int, most: int) -> dict[str, Any]:
    key = {"scale": 1, "stage": QUERY, "cycle": 2, "node": "local", "clients": 1, "group": group, "kind": group}
    return {**key, "second": number, "count": count, "failed": 0, "p50_ns": MS, "p99_ns": MS, "max_ns": most}


def samples(monitor: str, metric: str, unit: str, *values: float) -> list[dict[str, Any]]:
    key = {"scale": 1, "stage": QUERY, "cycle": 2, "node": "local", "clients": 1, "monitor": monitor, "metric": metric}
    return [{**key, "unit": unit, "at_ns": at * 2 * S, "value": value} for at, value in enumerate(values)]


def phase(stage: str, duration_ns: int, rows: int) -> dict[str, Any]:
    key = {"scale": 1, "stage": stage, "cycle": 0, "phase": stage}
    return {**key, "duration_ns": duration_ns, "rows": rows, "size_bytes": 0}


STAGES = [
    {"name": name, "work": work, "repeated": False}
    for name, work in (("build", "build"), (LOAD, "load"), ("index", "work"), (QUERY, "load"), ("check", "check"))
]


def rows() -> dict[str, list[dict[str, Any]]]:
    """2 s of queries; beside them 20 inserts of 50 rows were to come each second, and 18 did."""
    rated = {"pacing": "constant", "rate_per_s": 20.0, "until": "group", "until_of": "query", "all_clients": 1}
    total = ("count total", "operations total", "bytes total", "s total")
    return {
        "cycles": [
            row(LOAD, "insert", 10, MS, 1000), row(QUERY, "query", 400, MS),
            row(QUERY, "insert", 36, MS, 1800), row(QUERY, "delete", 40, MS, 2000),
        ],
        "groups": [
            group_row(1, LOAD, 1, S // 2, group="insert", until="rows", until_count=1000),
            group_row(1, QUERY, 2, 2 * S, group="query"), group_row(1, QUERY, 2, 2 * S, group="insert", **rated),
            group_row(1, QUERY, 2, 2 * S, group="delete", **rated),
        ],
        "buckets": [
            *times(LOAD, "insert", [MS] * 10), *times(QUERY, "query", [MS] * 399 + [300 * MS]),
            *times(QUERY, "insert", [MS] * 36), *times(QUERY, "insert", [2000 * MS] * 36, "response"),
            *times(QUERY, "delete", [MS] * 40), *times(QUERY, "delete", [MS] * 40, "response"),
        ],
        "seconds": [second(0, "query", 300, 5 * MS), second(1, "query", 100, 300 * MS), second(1, "insert", 36, MS)],
        "monitors": [
            *samples("device", "reads", total[1], 10, 210), *samples("device", "writes", total[1], 0, 900),
            *samples("device", "read_bytes", total[2], 0, 4 * MIB), *samples("os", "context_switches", total[0], 0, 8000),
            *samples("os", "cpu_user", total[3], 0, 1.0), *samples("os", "cpu_system", total[3], 0, 0.5),
            *samples("os", "cpu_idle", total[3], 0, 2.5), *samples("sizes", "database_size", "bytes", 2**29, 2**30),
            *({**one, "stage": "index", "cycle": 0} for one in samples("device", "writes", total[1], 5, 105)),
        ],
        "phases": [
            *phase_rows(1, populate=S), phase("index", 2 * S, 1000), {**phase("index", S, 1000), "phase": "indexes"},
        ],
    }  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return write(tmp_path, run_json({"workload": "rehearsal", "target": {"url": "mock:"}}, stages=STAGES), rows())


@pytest.fixture
def evaluation(archive: Archive) -> Evaluation:
    return evaluate(archive)


def test_the_longest_operation_of_a_stage_may_be_in_flight(tmp_path: Path) -> None:
    made = rows()
    made["cycles"] = [{**one, "in_flight_max_ns": longest} for one, longest in
                      zip(made["cycles"], (0, 1500 * MS, 0, 2 * MS), strict=True)]  # fmt: skip
    found = of(evaluate(write(tmp_path, run_json({"workload": "rehearsal", "target": {"url": "mock:"}}, stages=STAGES), made)), QUERY)
    assert found.values["maxop"] == 1.5
    assert {group: one.max_ns for group, one in found.times.items()} == {
        "delete": 2 * MS, "insert": 2000 * MS, "query": 1500 * MS,
    }  # fmt: skip


def of(evaluation: Evaluation, stage: str) -> Any:
    return evaluation.series[Series(stage, 1)].of(StagesResult).efficiency[1]


def test_a_stage_of_queries_beside_inserts(evaluation: Evaluation) -> None:
    found = of(evaluation, QUERY)
    assert (found.measured, found.counted) == ("query", "transactions")
    expected = {
        "ips": 900, "qps": 200, "rps": 100, "rmbps": 2, "wps": 450, "rpq": 0.5, "rkbpq": 10.24, "wpi": 0.5,
        "csps": 4000, "cspq": 20, "cpups": 37.5, "cpupq": 3750, "dbgb1": 1, "maxop": 0.3, "p50": 300, "p99": 100,
    }  # fmt: skip
    assert {name: value for name, value in found.values.items() if not math.isnan(value)} == pytest.approx(expected)


def test_a_load_counts_its_rows(evaluation: Evaluation) -> None:
    found = of(evaluation, LOAD)
    assert (found.measured, found.counted, found.rate, found.sustained) == ("insert", "rows", 2000, None)


def test_clients_that_could_insert_nothing_inserted_no_rows_and_fail_the_rule(tmp_path: Path) -> None:
    told = rows()
    told["cycles"] = [row(QUERY, "insert", 0, MS) if one["rows"] == 1800 else one for one in told["cycles"]]
    groups = [one for one in told["groups"] if one["group"] == "insert" and one["stage"] == QUERY]
    groups[0]["rows_per_s"] = 1000.0
    found = of(evaluate(write(tmp_path, run_json({"workload": "rehearsal", "target": {"url": "mock:"}}, stages=STAGES), told)), QUERY)
    assert found.values["ips"] == 0
    assert [(one.counted, one.target_per_s, one.met) for one in found.ruled] == [("rows", 1000, False)]
    assert math.isnan(found.values["wpi"])


def test_where_no_rows_are_told_none_were_inserted(tmp_path: Path) -> None:
    told = rows()
    told["cycles"] = [{**one, "rows": None} for one in told["cycles"]]
    found = evaluate(write(tmp_path, run_json({"workload": "rehearsal", "target": {"url": "mock:"}}, stages=STAGES), told))
    assert of(found, LOAD).rate == 0


def test_statements_that_are_timed_stand_between_the_loads(archive: Archive, evaluation: Evaluation) -> None:
    assert [key.stage for key in evaluation.of(StagesResult).stages] == [LOAD, "index", QUERY]
    found = evaluation.of(StagesResult).stages[Series("index", 0)][1].values
    expected = {"ips": 500, "wps": 50, "wpi": 0.1}
    assert {name: value for name, value in found.items() if not math.isnan(value)} == pytest.approx(expected)
    assert [(row[0], row[-2]) for row in tabulate_efficiency(evaluation).rows] == [(LOAD, None), ("index", None), (QUERY, "no")]
    assert read(archive.path).document["statements"]["index"]["1"]["values"]["ips"] == 500


def test_a_target_of_rows_is_taken_as_it_was_demanded(tmp_path: Path) -> None:
    found = rows()
    for one in found["groups"]:
        if one["group"] == "insert" and one["stage"] == QUERY:
            one["rows_per_s"] = 1200.0
    asked = run_json({"workload": "rehearsal", "target": {"url": "mock:"}}, stages=STAGES)
    (insert, delete) = of(evaluate(write(tmp_path, asked, found)), QUERY).background
    assert (insert.target_per_s, delete.target_per_s, insert.share) == (1200, 1000, 0.75)


def test_inserts_that_fall_behind_fail_the_stage(archive: Archive, evaluation: Evaluation) -> None:
    found = of(evaluation, QUERY)
    assert [(b.group, b.target_per_s, b.sustained_per_s, b.met) for b in found.background] == [
        ("insert", 1000, 900, False), ("delete", 1000, 1000, True),
    ]  # fmt: skip
    assert found.sustained is False
    first = next(iter(subjects.find_subject("stages").tell(evaluation)))
    assert "SLA! in query, 1: the background inserts did not reach 95%" in str(first)
    csv = render_csv([tabulate_efficiency(evaluation)], units=False)
    (line,) = (line for line in csv.splitlines() if line.startswith("query"))
    assert line.startswith("query,1,900,200,100,2,450,,")
    assert line.endswith(",no,PostgreSQL 15.18")


def test_times_in_the_published_buckets_are_response_times_where_there_are(evaluation: Evaluation) -> None:
    found = of(evaluation, QUERY).times
    assert found["query"].counts == (0, 399, 0, 0, 0, 0, 1, 0, 0, 0)
    assert (found["insert"].counts[7], found["insert"].max_ns) == (36, 2 * S)


def test_the_page_has_them_with_the_failing_stage_marked(archive: Archive, evaluation: Evaluation) -> None:
    shown = page(evaluation, archive.run)
    assert '<tr class="void"><th scope="row">query</th><td>1</td><td>900</td>' in shown
    assert "<caption>Response times by stage: how many up to</caption>" in shown


def test_the_json_has_them(archive: Archive) -> None:
    document = read(archive.path, "stages").document
    one = document["series"]["query"]["efficiency"]["1"]
    assert (one["values"]["qps"], one["values"]["rss"], one["sustained"]) == (200, None, False)
    assert one["background"][0]["share"] == 0.9
    assert one["times"]["query"]["1ms"] == 399


def test_courses_are_those_of_each_group(evaluation: Evaluation) -> None:
    courses = evaluation.series[Series(QUERY, 1)].of(CourseResult).group_courses[1]
    assert courses["query"].tolist() == [[300, 5 * MS], [100, 300 * MS]]
    assert courses["insert"][1].tolist() == [1800, MS]
    assert math.isnan(courses["insert"][0, 1])
