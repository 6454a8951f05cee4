"""What the statements of scripts found: their rows are counted, and one that never finds any is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import dsbench
from dsbench.spec import Script
from fixtures.program import Program
from fixtures.thorough import mostly_thorough

SCRIPT = """\\set aid random(1, 100000)
UPDATE pgbench_accounts SET abalance = 0 WHERE aid = -1;
SELECT count(*) FROM pgbench_accounts WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid BETWEEN :aid AND :aid + 1;
"""


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize(
    "target", mostly_thorough(["private:postgresql", "private:mariadb", "private:firebird", "private:sqlite"],
                              "private:postgresql", "private:sqlite")
)  # fmt: skip
def test_rows_of_each_statement_are_counted(target: str, prepare: bool, tmp_path: Path) -> None:
    archive = dsbench.run(
        target, script=[Script("three.sql", SCRIPT)], scales=(1,), cycles=2, duration=0.4, clients=2, prepare=prepare,
        out=tmp_path,
    )  # fmt: skip
    rows = archive.table("statement_rows").to_pylist()
    assert {(row["statement"], row["line"]) for row in rows} == {(1, 2), (2, 3), (3, 4)}
    executed = {row["statement"]: 0 for row in rows}
    for row in rows:
        executed[row["statement"]] += row["executions"]
        assert row["empty"] == (row["executions"] if row["statement"] == 1 else 0)
        if row["statement"] == 2:
            assert row["rows"] == row["executions"]
        if row["statement"] == 3:
            assert row["executions"] <= row["rows"] <= 2 * row["executions"]
    assert len(set(executed.values())) == 1
    (told,) = [one.message for one in archive.run.warnings if one.code == "nothing-found"]
    assert told.startswith(f"three.sql, line 2, found no row in any of {executed[1]:,} executions: UPDATE pgbench_accounts")


def test_builtin_scripts_find_their_rows(called: Program, tmp_path: Path) -> None:
    done = called("run", "private:sqlite", "--builtin", "tpcb-like", "--scales", "1", "--cycles", "1", "--duration", "0.3", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "found no row" not in done.stdout
    shown = called("show", str(next(Path(tmp_path, "out").glob("*.zip"))), "--by", "statements")
    assert "Rows found" in shown.stdout
    assert "rows per execution" in shown.stdout


def test_a_database_that_is_only_played_finds_nothing_and_says_nothing(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", builtin="tpcb-like", scales=(1,), cycles=1, duration=0.2, out=tmp_path)
    assert archive.table("statement_rows").num_rows == 0
    assert "nothing-found" not in {one.code for one in archive.run.warnings}
