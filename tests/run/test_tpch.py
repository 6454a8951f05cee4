"""TPC-H-like: stages in the archive on real servers, every answer compared, and faults that the comparison finds."""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.archive.conditions import State
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.loaders.answers import (
    COLUMNS,
    check_answers,
    differ,
    differ_from_published,
    load_tables,
    read_published,
)
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import measures
from dsbench.read.subjects.queries import QueriesResult
from dsbench.spec import build
from dsbench.stats.queries import read_temperatures
from fixtures.program import Program
from fixtures.thorough import mostly_thorough

duckdb = pytest.importorskip("duckdb")

SIZE = {"size": "0.01"}
ORDER = [14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12]
"""Of the queries in a power test."""
QUIET = {
    "private:sqlite": {"synchronous": "off"}, "private:postgresql": {"fsync": "off"},
    "private:mariadb": {"innodb_flush_log_at_trx_commit": "0"}, "private:mysql": {"innodb_flush_log_at_trx_commit": "0"},
    "private:firebird": {"forced_writes": "off"},
}  # fmt: skip


@pytest.mark.parametrize("url", mostly_thorough(QUIET, "private:postgresql"))
def test_every_answer_of_both_tests_is_that_of_the_second_engine(url: str, tmp_path: Path) -> None:
    target = {"url": url, "settings": QUIET[url]}
    cold = "1" if url == "private:sqlite" else "0"  # What a restart leaves of a server is tests/servers/test_restart.py.
    settings = {**SIZE, "cold": cold}
    asked = build({"target": target, "workload": "tpch", "scales": (1,), "seed": 7, "workload_settings": settings})
    outcome = execute(asked, tmp_path, Silent())
    archive = Archive.open(outcome.archive)
    wrong = {one.name: one.detail for one in archive.run.checks[1] if one.state is State.BROKEN}
    assert (outcome.status, outcome.void_scales, wrong) == ("complete", (), {})
    if cold == "1":
        _see_cold(archive)
    details = {condition.name: condition.detail for condition in archive.run.checks[1]}
    for run in "12":
        assert details[f"answers of power{run}"] == "22 of 22 are those of DuckDB"
        assert details[f"answers of throughput{run}"] == "44 of 44 are those of DuckDB"
    done = [(row["stage"], row["group"], row["client"], row["kind"]) for row in archive.table("cycles").to_pylist()
            if row["committed"] == 1]  # fmt: skip
    assert sum(stage == "power1" for stage, *_ in done) == 24
    streams = {thread for stage, group, thread, _ in done if (stage, group) == ("throughput1", "query")}
    assert len(streams) == 2
    phases = {row["phase"] for row in archive.table("phases").to_pylist()}
    assert {"populate", "indexes", "lineitem_of_partsupp", "statistics", "lineitem"} <= phases


def test_a_power_test_alone_has_no_streams_and_what_is_unchecked_no_answers(tmp_path: Path) -> None:
    settings = {**SIZE, "tests": "power", "runs": "1", "answers": "unchecked"}
    target = {"url": "private:sqlite", "settings": QUIET["private:sqlite"]}
    asked = build({"target": target, "workload": "tpch", "scales": (1,), "workload_settings": settings})
    outcome = execute(asked, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ())
    archive = Archive.open(outcome.archive)
    assert {row["stage"] for row in archive.table("cycles").to_pylist()} == {"power1"}
    (answers,) = [condition for condition in archive.run.checks[1] if "answers" in condition.name]
    assert (answers.state, answers.remedy) == (State.NOT_MADE, "")
    found = evaluate(archive)
    decision = found.of(QueriesResult).queries[1]
    assert decision.value == decision.runs[0].power > 0
    assert measures()["headline"].read(found) == {1: decision.value}


@pytest.mark.thorough
def test_a_query_that_takes_too_long_has_a_class_of_its_own_and_voids_the_power(tmp_path: Path) -> None:
    """60,000 rows are not summed up in a tenth of a millisecond anywhere."""
    settings = {**SIZE, "timeout": "0.0001"}
    asked = build({"target": {"url": "private:sqlite"}, "workload": "tpch", "scales": (1,), "workload_settings": settings})
    outcome = execute(asked, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ())
    archive = Archive.open(outcome.archive)
    failed = [row for row in archive.table("errors").to_pylist() if row["stage"] == "power1"]
    assert {row["error"] for row in failed} == {"timeout"}
    power = [row for row in archive.table("cycles").to_pylist() if row["stage"] == "power1"]
    assert {row["kind"]: (row["committed"], row["failed"]) for row in power}["Q1"] == (0, 1)
    assert sum(row["committed"] + row["failed"] for row in power) == 24, "none is asked twice"
    details = {condition.name: condition.detail for condition in archive.run.checks[1]}
    assert details["answers of power1"].startswith("no query was answered: Q14 of stream 0 (timeout), "), "the first"
    decision = evaluate(archive).of(QueriesResult).queries[1]
    assert "Q1" in decision.runs[0].unfinished
    assert isnan(decision.runs[0].power)
    assert isnan(decision.runs[0].throughput)


def _see_cold(archive: Archive) -> None:
    """Each query three times, in the order of the power test, the first time after a restart."""
    rows = [row for row in archive.table("cycles").to_pylist() if row["stage"] == "cold"]
    by_cycle = [row["kind"] for row in sorted(rows, key=lambda row: row["cycle"]) if row["committed"]]
    assert by_cycle == [f"Q{query}" for query in ORDER for _ in range(3)]
    first = min(row["cycle"] for row in rows)
    restarts = [row["cycle"] for row in archive.table("phases").to_pylist() if row["phase"] == "restart"]
    assert sorted(restarts) == [first + 3 * at for at in range(22)]
    details = {condition.name: condition.detail for condition in archive.run.checks[1]}
    assert details["answers of cold"] == "66 of 66 are those of DuckDB"
    known = read_temperatures(rows, 0.01)
    assert known is not None
    assert known.whole


def test_published_answers_are_rounded_and_their_faults_are_found() -> None:
    text = "\no_year              |mkt_share   \n                1995|0.03\n                1996|0.04\n"
    assert differ("Q8", [["1995", "0.034435890"], ["1996", "0.041485521"]], read_published(text), rounded=True) == ""
    assert "expected 0.03" in differ("Q8", [["1995", "0.0444"], ["1996", "0.0415"]], read_published(text), rounded=True)
    assert "1 rows, expected 2" in differ("Q8", [["1995", "0.0344"]], read_published(text), rounded=True)


def test_keys_of_parts_are_compared_as_they_are_cut_in_the_published_answer() -> None:
    text = "\nps_partkey   |value\n1297         |17538456.86\n 344         |15983844.72\n   1         |15451755.62\n    |9.50\n"
    rows = [["129760", "17538456.86"], ["34452", "15983844.72"], ["101", "15451755.62"], ["57", "9.5"]]
    assert differ_from_published("Q11", rows, text) == ""
    assert differ_from_published("Q11", [*rows[:2], ["1011", "15451755.62"], rows[3]], text) != ""


def test_a_text_that_is_written_like_a_number_without_bounds_is_compared_as_a_text() -> None:
    assert differ("Q4", [["3e567", "2"], ["nan", "1"]], [["3e567", "2"], ["nan", "1"]]) == ""
    assert differ("Q4", [["3e567", "2"]], [["4e567", "2"]]) == "column 1 is 3e567, expected 4e567"


def test_what_cannot_be_is_refused_in_one_sentence(called: Program, tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        done = called("run", f"private:sqlite?directory={tmp_path}", "--workload", "tpch", *words)
        assert done.returncode == 2
        return done.stderr

    assert "use hundredths" in refused("--set", "size=0.015")
    assert "scale factor 1, not 0.01" in refused("--set", "size=0.01", "--set", "answers=published")
    assert "use a number from 0 to 86400" in refused("--set", "size=0.01", "--set", "timeout=soon")
    words = called("run", f"sqlite:///{tmp_path / 'own.db'}", "--workload", "tpch", "--set", "size=0.01", "--set", "cold=1")
    assert words.returncode == 2
    assert "--set cold: its queries need a server that was just started, and dsbench did not start" in words.stderr
    assert "--keep: the stages of tpch need a fresh database" in refused("--set", "size=0.01", "--keep")


Change = Callable[[str], str] | str
"""What a fault does to the text of a query, or a statement that damages the rows."""

FAULTS: dict[str, tuple[str, Change]] = {
    "a join without its condition": ("Q5", lambda sql: sql.replace("AND l_suppkey = s_suppkey", "")),
    "an index that misses rows": ("Q1", "DELETE FROM lineitem WHERE l_orderkey % 1000 = 1"),
    "one row that is missing": ("Q1", "DELETE FROM lineitem WHERE l_orderkey = 1 AND l_linenumber = 1"),
    "a refresh without its lines": ("Q13", "INSERT INTO orders SELECT o_orderkey + 8, o_custkey, o_orderstatus, "
                                    "o_totalprice, o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment "
                                    "FROM orders WHERE o_orderkey < 8"),
    "a deletion of lines alone": ("Q1", "DELETE FROM lineitem WHERE l_orderkey < 8"),
    "a truncated decimal": ("Q1", "UPDATE lineitem SET l_extendedprice = CAST(l_extendedprice AS integer)"),
    "a rate of one digit": ("Q1", "UPDATE lineitem SET l_discount = round(l_discount, 1)"),
    "days of another time zone": ("Q1", "UPDATE lineitem SET l_shipdate = date(l_shipdate, '+1 day')"),
    "a bound that is included": ("Q4", lambda sql: sql.replace("o_orderdate < ", "o_orderdate <= ")),
    "another order": ("Q10", lambda sql: sql.replace("revenue DESC", "revenue")),
    "the same rows in another order": ("Q16", lambda sql: sql.replace("supplier_cnt DESC", "supplier_cnt")),
    "rows that a limit left out": ("Q3", lambda sql: sql + " OFFSET 1"),
    "numbers of 32 bits": ("Q1", lambda sql: sql.replace("sum(l_extendedprice),", "sum(l_extendedprice) & 2147483647,")
                           .replace("sum(l_extendedprice) AS", "CAST(sum(l_extendedprice) AS integer) & 16777215 AS")),
    "an outer join that is none": ("Q13", lambda sql: sql.replace("LEFT OUTER JOIN", "JOIN")),
    "a sum that counts twice": ("Q11", "UPDATE partsupp SET ps_availqty = 2 * ps_availqty"),
}  # fmt: skip


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, dict[str, str], dict[str, str]]:
    """A database of SQLite and the same rows in DuckDB, with the texts of the power test for each."""
    folder = tmp_path_factory.mktemp("tpch")
    texts = []
    for url in (f"sqlite:///{folder / 'own.db'}", "postgresql://nobody@127.0.0.1:1/none"):
        target = TargetDatabase(url)
        bench = Bench(target, "tpch", 1, None, SIZE)
        drawn = [text for text in bench.draws(3, 0, 24) if not text.startswith("RF")]
        texts.append({f"Q{query}": text for query, text in zip(ORDER, drawn, strict=True)})
        if url.startswith("sqlite"):
            target.create("a test")
            bench.phase("create", lambda _done, _all: None)
            bench.populate(False, 1, lambda _done, _all: None)
            second = duckdb.connect()
            bench._core.export(folder)
            load_tables(second, folder)
            target.close()
    return folder / "own.db", second, texts[0], texts[1]


def _answer(database: Path, sql: str) -> list[list[str | None]]:
    with sqlite3.connect(database) as own:
        return [[None if cell is None else str(cell) for cell in row] for row in own.execute(sql).fetchall()]


def _wanted(second: Any, sql: str) -> list[list[str | None]]:
    return [[None if cell is None else str(cell) for cell in row] for row in second.execute(sql).fetchall()]


def test_answers_without_a_fault_differ_in_nothing(tested: Any) -> None:
    database, second, own, other = tested
    faults = {kind: differ(kind, _answer(database, own[kind]), _wanted(second, other[kind])) for kind in COLUMNS}
    assert faults == dict.fromkeys(COLUMNS, "")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tested: Any, tmp_path: Path) -> None:
    database, second, own, other = tested
    kind, change = FAULTS[fault]
    sql = own[kind]
    if isinstance(change, str):
        database = shutil.copy(database, tmp_path / "damaged.db")
        with sqlite3.connect(database) as damaged:
            assert damaged.execute(change).rowcount > 0
    else:
        sql = change(sql)
        assert sql != own[kind]
    assert differ(kind, _answer(database, sql), _wanted(second, other[kind]))


def test_without_a_second_engine_no_answer_is_compared_and_the_first_screen_says_so(
    called: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    settings = [f"--set={name}={value}" for name, value in {**SIZE, "tests": "power", "runs": "1"}.items()]
    asked = ("run", "private:sqlite", "--workload", "tpch", *settings)
    words = "no answer was compared: DuckDB is not installed; pip install 'dsbench-db[query]'"
    assert f"warning: {words}" in called(*asked, "--dry-run").stdout
    done = called(*asked, "--quiet", "--out", "out")
    assert done.returncode == 0, done.stderr
    (archive,) = (Archive.open(path) for path in (tmp_path / "out").glob("*.zip"))
    open_ = [one.name for one in archive.run.checks[1] if one.state is State.NOT_MADE]
    assert open_ == ["answers of power1"]
    screen = " ".join(done.stdout.split())
    held = len(archive.run.checks[1]) - 1
    assert f"NOT CHECKED: {words}" in screen
    assert f"{held} of {held + 1} conditions hold, 1 was not made: no answer was compared" in screen


def test_space_for_the_answers_is_known_before_the_load(
    called: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = shutil.disk_usage
    full = Path(tempfile.gettempdir())

    def small(path: Path) -> Any:
        return usage(path)._replace(free=10**9) if Path(path) == full else usage(path)

    monkeypatch.setattr(shutil, "disk_usage", small)
    asked = ("run", f"sqlite:///{tmp_path}/x.db", "--workload", "tpch", "--set", "tests=power")
    done = called(*asked, "--out", "out")
    assert done.returncode == 1
    assert "scale 1: comparing its answers needs 1.21 GB" in done.stderr
    assert "TMPDIR" in done.stderr
    assert not list(tmp_path.glob("x.db*"))
    assert "comparing its answers" in called(*asked, "--dry-run").stdout
    assert "comparing its answers" not in called(*asked, "--set", "answers=unchecked", "--dry-run").stdout


def test_a_comparison_that_cannot_write_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def evidence(self) -> Any:
            return [("power1", 0, 0, "SELECT 1", [["1"]], 0, 0, "", "")], [], False

        def export(self, folder: Path) -> None:
            raise OSError(28, "No space left on device")

    (found,) = check_answers(Full(), ["Q1"])  # type: ignore[arg-type]
    assert (found.name, found.state) == ("answers of power1", State.NOT_MADE)
    assert "No space left on device" in found.detail
    assert "TMPDIR" in found.remedy


def test_no_query_that_was_answered_is_no_answer_that_is_right() -> None:
    class Late:
        def evidence(self) -> Any:
            return [("power1", 0, 0, "SELECT 1", [], 0, 0, "timeout", "")], [], False

        def export(self, folder: Path) -> None:
            (folder / "second.json").write_text('{"tables": {}, "columns": {}, "falling": {}, "in_order": []}')

    (found,) = check_answers(Late(), ["Q1"])  # type: ignore[arg-type]
    assert found.state is State.NOT_MADE
    assert "Q1 of stream 0 (timeout)" in found.detail
