"""SQL over archives: the views and their columns, what is refused, how rows are printed."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest
import typer

from dsbench import papers
from dsbench.archive import ArchiveError
from dsbench.archive.columns import TABLES
from dsbench.cli.papers import split
from dsbench.cli.query import QueryForm, command
from dsbench.library import query
from dsbench.study import Study, outcomes


@pytest.fixture(scope="module")
def found(made: Study) -> query.Found:
    return query.find(made.folder)


def rows(found: query.Found, sql: str) -> list[dict[str, object]]:
    answer = query.ask(found, sql)
    return [dict(zip(answer.heads, row, strict=True)) for row in answer.rows]


def test_trials_stand_beside_what_they_reached(found: query.Found) -> None:
    sql = """SELECT isolation, trials.clients, count(*) AS trials, avg(rate_median_tps) AS tps
             FROM trials JOIN scales USING (archive) WHERE scale = 10 GROUP BY ALL ORDER BY tps"""
    first, *_, last = rows(found, sql)
    assert (first["isolation"], first["clients"]) == ("serializable", 1)
    assert (last["isolation"], last["clients"]) == ("read-committed", 4)
    assert sum(int(str(row["trials"])) for row in rows(found, sql)) == 17


def test_measures_and_the_dsi_are_views(found: query.Found, made: Study) -> None:
    sql = """SELECT trial, value, dsi FROM trials JOIN measures USING (archive) JOIN dsi USING (archive)
             WHERE measure = 'dsi' ORDER BY trial"""
    told = rows(found, sql)
    outcome = outcomes(made, "dsi")
    expected = {one.trial.number: outcome.value(one) for one in outcome.made}
    assert {row["trial"]: row["value"] for row in told} == expected
    assert all(row["value"] == row["dsi"] for row in told)
    (one,) = rows(found, "SELECT * FROM measures WHERE archive = 'trial-2' AND measure = 'p99' AND scale = 10")
    assert one["value"] == pytest.approx(1, rel=1e-3)
    assert (one["stage"], one["group"], one["unit"], one["more_is_better"]) == ("load", "", "ms", False)
    assert rows(found, "SELECT DISTINCT scale, comparable FROM measures JOIN dsi USING (archive) WHERE measure = 'dsi'") == [
        {"scale": None, "comparable": False}]  # fmt: skip


def test_the_queries_of_the_papers_are_answered(found: query.Found) -> None:
    """Those of factors ask for columns that this study does not have; its own take their place."""
    items = [item for paper in papers.papers().values() for item in paper.items]
    lines = [split(line)[0] for item in items for line in item.shown("small")]
    queries = {words[2] for words in lines if words[0] == "query"}
    assert len(queries) == 3
    for sql in queries:
        own = sql.replace("trials.architecture", "trials.isolation").replace("trials.connections", "trials.clients")
        assert rows(found, own), sql


def test_every_view_is_there_with_its_columns(found: query.Found) -> None:
    known = query.described(found)
    assert set(known) == {"runs", "scales", "settings", "trials", "measures", "dsi", *TABLES}
    for name, table in TABLES.items():
        assert known[name] == ["archive", *(column.name for column in table.columns)]
    assert {"archive", "clients", "isolation", "server_version"} <= set(known["runs"])
    assert len(rows(found, "SELECT * FROM cycles")) == 17 * 4
    assert rows(found, "SELECT DISTINCT workload FROM runs") == [{"workload": "tpcb"}]
    assert {row["name"] for row in rows(found, "SHOW TABLES")} == set(known)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM nothing",
        "SELEC",
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/dsbench-query-test'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM found",
    ],
)
def test_a_query_sees_views_and_nothing_else(sql: str, found: query.Found) -> None:
    with pytest.raises(query.QueryError) as refused:
        rows(found, sql)
    assert refused.value.remedy
    assert not Path("/tmp/dsbench-query-test").exists()


def test_a_damaged_archive_is_left_out_by_name(made: Study, tmp_path: Path) -> None:
    shutil.copytree(made.archives, tmp_path / "archives")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    left = query.find(tmp_path)
    assert len(left.archives) == 17
    assert "broken" in left.problems[0]
    with pytest.raises(ArchiveError, match="broken"):
        query.find(tmp_path / "broken")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArchiveError, match="no archive in or below"):
        query.find(tmp_path / "empty")


def test_rows_are_printed_as_text_csv_and_json(made: Study, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT archive, clients, NULL AS nothing FROM runs ORDER BY archive LIMIT 2"
    command(made.folder, sql, QueryForm.TEXT)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["archive", "clients", "nothing"]
    assert len(lines) == 3
    command(made.folder, sql, QueryForm.CSV)
    assert len(list(csv.reader(io.StringIO(capsys.readouterr().out)))) == 3
    command(made.folder, sql, QueryForm.JSON)
    assert json.loads(capsys.readouterr().out)[0]["nothing"] is None
    command(made.folder)
    assert "trials: A trial of a study" in capsys.readouterr().out


def test_a_wrong_query_is_wrong_usage(made: Study, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises((SystemExit, typer.Exit)) as ended:
        command(made.folder, "SELECT * FROM nothing")
    assert ended.value.code == 2  # type: ignore[union-attr]  # of SystemExit
    assert "hint: dsbench query FOLDER" in capsys.readouterr().err


def test_columns_of_one_name_are_all_printed(made: Study, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT 1 AS a, 2 AS a_1, 3 AS a, 4 AS a"
    printed = {}
    for form in QueryForm:
        command(made.folder, sql, form)
        printed[form] = capsys.readouterr().out
    assert printed[QueryForm.CSV] == "a,a_1,a_2,a_3\n1,2,3,4\n"
    assert json.loads(printed[QueryForm.JSON]) == [{"a": 1, "a_1": 2, "a_2": 3, "a_3": 4}]
    assert [line.split() for line in printed[QueryForm.TEXT].splitlines()] == [["a", "a_1", "a_2", "a_3"], ["1", "2", "3", "4"]]
    joined = "SELECT r.archive, s.archive FROM runs r JOIN scales s USING (archive) LIMIT 1"
    command(made.folder, joined, QueryForm.CSV)
    heads, row = capsys.readouterr().out.splitlines()
    assert heads == "archive,archive_1"
    assert len(set(row.split(","))) == 1


@pytest.mark.parametrize("value", ["DATE '99999-01-01'", "'infinity'::TIMESTAMP", "[DATE '99999-01-01']"])
def test_a_value_that_cannot_be_shown_is_told_with_the_remedy(found: query.Found, value: str) -> None:
    with pytest.raises(query.QueryError, match="the column x has values") as refused:
        rows(found, f"SELECT {value} AS x")
    assert "CAST" in refused.value.remedy
    assert rows(found, f"SELECT CAST({value} AS VARCHAR) AS x")


def test_json_has_null_for_what_is_no_number_within_lists_too(made: Study, capsys: pytest.CaptureFixture[str]) -> None:
    command(made.folder, "SELECT ['nan'::DOUBLE, 1] AS x, {'a': 'inf'::DOUBLE} AS y", QueryForm.JSON)
    assert json.loads(capsys.readouterr().out) == [{"x": [None, 1.0], "y": {"a": None}}]
