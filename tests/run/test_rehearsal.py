"""A scale of many stages, from the core to the page: groups of clients at the same time, ends by count, timed work."""

from __future__ import annotations

from collections import defaultdict
from math import isnan
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.archive.conditions import State, state_of
from dsbench.measure.history import CycleHistory
from dsbench.measure.loaders import Bench, CoreError, TargetDatabase
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import execute, resume
from dsbench.read import finish
from dsbench.read.evaluation import Series, evaluate
from dsbench.read.shown import read
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.spec import RunSpec, build
from fixtures.nodes import Bed, ended

ROWS = 100
TARGET = "mock:?latency_us=300"


def spec(**more: object) -> RunSpec:
    asked = {"target": {"url": TARGET}, "workload": "rehearsal", "scales": (1, 2), "duration": 1.0, "clients": 3}
    return build({**asked, "cycles": 5, "seed": 7, **more})


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    outcome = execute(spec(), tmp_path_factory.mktemp("out"), Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ())
    finish.write(outcome.archive)
    return Archive.open(outcome.archive)


def test_each_stage_has_its_cycle_with_its_own_groups_and_end(archive: Archive) -> None:
    groups = {(row["scale"], row["stage"], row["group"]): row for row in archive.table("groups").to_pylist()}
    assert sorted(groups) == [
        (scale, stage, group)
        for scale in (1, 2)
        for stage, names in (("load", ["insert"]), ("query", ["delete", "insert", "query"]))
        for group in names
    ]
    load, query = groups[2, "load", "insert"], groups[2, "query", "query"]
    assert (load["until"], load["until_count"], load["until_of"], load["all_clients"]) == ("rows", 4000, "each", 2)
    # 40 inserts of each client take 12 ms at least.
    assert 12_000_000 <= load["duration_ns"] < 1_000_000_000
    assert (query["until"], query["duration_ns"], query["pacing"], query["clients"]) == ("time", 10**9, "closed", 3)
    insert = groups[2, "query", "insert"]
    assert (insert["until"], insert["until_of"], insert["pacing"], insert["rate_per_s"], insert["rows_per_s"]) == (
        "group", "query", "constant", 10.0, 1000.0
    )  # fmt: skip
    assert {row["cycle"]: row["stage"] for row in groups.values()} == {1: "load", 2: "query"}


def test_rows_are_counted_beside_transactions(archive: Archive) -> None:
    found: dict[tuple[int, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for row in archive.table("cycles").to_pylist():
        counts = found[row["scale"], row["stage"], row["kind"]]
        counts[0] += row["committed"]
        counts[1] += row["rows"]
    for scale in (1, 2):
        assert found[scale, "load", "insert"] == [40 * scale, 4000 * scale], "exactly as many as the stage asks for"
        queries, inserts = found[scale, "query", "query"], found[scale, "query", "insert"]
        assert queries[0] > 100
        assert queries[1] == 0
        assert inserts[1] == ROWS * inserts[0]
        assert 5 <= inserts[0] <= 11, "ten starts a second are due"
        assert {key[2] for key in found if key[1] == "load"} == {"insert"}, "a kind that no client runs has no row"


def test_what_a_client_has_once_stands_with_the_first_kind_that_it_runs(archive: Archive) -> None:
    rows = archive.table("cycles").to_pylist()
    cpu = {(row["stage"], row["group"], row["kind"]): row["cpu_ns"] for row in rows if row["committed"]}
    assert set(cpu) == {("load", "insert", "insert"), *(("query", one, one) for one in ("query", "insert", "delete"))}
    assert all(value > 0 for value in cpu.values()), cpu


def test_counters_histograms_and_course_agree_in_every_stage_and_group(archive: Archive) -> None:
    sums: dict[str, dict[tuple[int, str, str, str], int]] = {}
    for table, count in (("cycles", "committed"), ("buckets", "count"), ("seconds", "count")):
        of_table: dict[tuple[int, str, str, str], int] = defaultdict(int)
        for row in archive.table(table).to_pylist():
            if row.get("measure", "residence") == "residence" and row[count]:
                of_table[row["scale"], row["stage"], row["group"], row["kind"]] += row[count]
        sums[table] = dict(of_table)
    assert sums["cycles"] == sums["buckets"] == sums["seconds"]


def test_what_is_timed_and_checked_in_between_is_in_the_archive(archive: Archive) -> None:
    phases = [(row["stage"], row["phase"]) for row in archive.table("phases").to_pylist() if row["scale"] == 1]
    assert set(phases) >= {("build", "create"), ("build", "populate"), ("index", "index"), ("loaded", "check"),
                           ("check", "check"), ("drop", "drop")}  # fmt: skip
    assert not any(phase == "clean" for _stage, phase in phases), "its load is not cleaned"
    names = [condition.name for condition in archive.run.checks[1]]
    assert names == [f"{stage}: {what}" for stage in ("loaded", "check")
                     for what in ("rows = inserts x rows", "the load is whole")]  # fmt: skip


def test_each_stage_is_evaluated_by_itself(archive: Archive) -> None:
    found = evaluate(archive)
    assert list(found.series) == [Series("load", 2), Series("query", 5)]
    load, query = found.series.values()
    row = next(group for group in archive.table("groups").to_pylist() if group["stage"] == "load")
    assert load.of(RateResult).scales[0].rate_median_tps == pytest.approx(40 / row["duration_ns"] * 1e9)
    assert load.of(KindsResult).kinds[1][0].rows_per_s == pytest.approx(4000 / row["duration_ns"] * 1e9)
    # Clients of a closed loop have response times as well, where others have a rate: those from their own starts.
    queries, inserts, *_ = query.of(KindsResult).kinds[1]
    assert queries.response_ns == queries.service_ns
    assert inserts.response_mean_ns >= inserts.service_mean_ns
    assert not any("of 5 cycles" in doubt.message for doubt in found.of(WarningsResult).doubts), "a chain of stages has one cycle of each"
    ceilings = [archive.run.of_stage(stage).ceiling_tps for stage in ("load", "query")]
    assert ceilings[0] > 0
    assert isnan(ceilings[1]), "what was calibrated is the load of the first stage"
    text = read(archive.path, verbose=True).text
    assert "stage load" in text
    assert "rows 1/s" in text


def test_a_run_that_was_cut_in_a_chain_begins_its_scale_anew(tmp_path: Path) -> None:
    class Impatient(Silent):
        def moment(self, moment: Moment) -> None:
            if moment.stage == "query" and moment.elapsed_s > 0.1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(spec(scales=(1,)), tmp_path, Impatient())
    (path,) = tmp_path.iterdir()
    assert CycleHistory.read(path).last(1) == 1
    outcome = resume(path, None, Silent())
    assert outcome.status == "complete"
    rows = {(row["cycle"], row["stage"]) for row in Archive.open(path).table("groups").to_pylist()}
    assert rows == {(1, "load"), (2, "load"), (3, "query")}
    (checks,) = Archive.open(path).run.checks.values()
    assert state_of(checks) is State.HOLDS, "what the first attempt did is not expected of the second"


@pytest.mark.thorough
def test_each_group_is_divided_over_the_nodes(tmp_path: Path) -> None:
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(1, "alba"), bed.node(2, "syrtis")]
        ended(bed.run(TARGET, "--workload", "rehearsal", "--scales", "1", "--duration", "1", "--clients", "2"))
        assert all("the run is complete" in ended(node) for node in nodes)
        archive = bed.archive()
    committed: dict[tuple[str, str, str], int] = defaultdict(int)
    for row in archive.table("cycles").to_pylist():
        committed[row["stage"], row["group"], row["node"]] += row["committed"]
    # Two clients load 2,000 rows each, one on each node; the one that inserts beside the queries is on the second.
    assert (committed["load", "insert", "alba"], committed["load", "insert", "syrtis"]) == (20, 20)
    assert committed["query", "query", "alba"] > 0
    assert committed["query", "query", "syrtis"] > 0
    assert 5 <= committed["query", "insert", "syrtis"] <= 11
    assert ("query", "insert", "alba") not in committed
    assert state_of(archive.run.checks[1]) is State.HOLDS


def test_a_database_is_not_rehearsed_on() -> None:
    with pytest.raises(CoreError, match="sqlite is a database"):
        Bench(TargetDatabase("sqlite:///tmp/x.db"), "rehearsal", 1, None, {})
