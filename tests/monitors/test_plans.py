"""Plans of statements and what servers count of them, by what made-up servers answer, and on a real SQLite."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import dsbench
from dsbench.measure.monitors.counted import StatementCounts
from dsbench.measure.plans import Plan, Row, ask_plans, describe_change, is_cheap
from dsbench.read import subjects
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import server_statements
from dsbench.read.subjects.server_statements import ServerStatementsResult
from dsbench.read.text import render_text
from fixtures.archives import MS, cycle_row, run_json, write


class Server:
    """Answers a question by the first pattern that it matches; an exception is raised."""

    def __init__(self, *answers: tuple[str, list[Row] | Exception], statements: Sequence[tuple[str, Sequence[str]]] = ()):
        self.answers, self.statements, self.asked = answers, statements, list[str]()

    def fetch(self, sql: str) -> list[Row]:
        self.asked.append(sql)
        found = next(answer for pattern, answer in self.answers if re.search(pattern, sql))
        if isinstance(found, Exception):
            raise found
        return found


NONE: list[Row] = []


def test_postgres_tells_the_plan_for_any_value_without_values() -> None:
    explained: list[Row] = [{"QUERY PLAN": "Index Scan using a on t  (cost=0.14..8.16 rows=1 width=12)"},
                            {"QUERY PLAN": "  Index Cond: (x = $1)"},
                            {"QUERY PLAN": "  Filter: (name = 'Jane'::text)"}]  # fmt: skip
    server = Server(("^EXPLAIN", explained), (".", NONE), statements=[("SELECT 1 FROM t WHERE x = $1", ["number"])])
    (plan,) = ask_plans("postgres", server)
    assert plan.text == "Index Scan using a on t\n  Index Cond: (x = ?)\n  Filter: (name = ?::text)"
    assert plan.statement == "SELECT ? FROM t WHERE x = ?"
    assert plan.cost == 8.16
    assert "EXPLAIN EXECUTE dsbench_plan(NULL)" in server.asked
    assert server.asked[-1] == "DEALLOCATE dsbench_plan"


def test_counts_are_divided_by_the_transactions_that_they_are_of(tmp_path: Path) -> None:
    """They are read around ramp-up and cycle: 30 transactions, of which the cycle counts 20 in its time."""
    row = {"scale": 1, "cycle": 1, "source": "s", "statement": "u", "calls": 60, "time_ns": 90 * MS, "rows": None}
    done = cycle_row(1, 1, [MS] * 18, rolled_back=2, commits_before_window=9, commits_after_window=1)
    spec = {"workload": "tpcb", "scales": [1], "cycles": 1, "clients": 1}
    archive = write(tmp_path, run_json(spec), {"cycles": [done], "server_statements": [row]})
    (ran,) = evaluate(archive).of(ServerStatementsResult).ran[1]
    assert (ran.calls, ran.time_ns, ran.rows) == (2, 3 * MS, None)


def test_postgres_is_told_the_types_where_it_cannot_know_them() -> None:
    server = Server(
        (r"^PREPARE dsbench_plan AS", ValueError("text = integer")), ("^EXPLAIN", [{"QUERY PLAN": "Result"}]), (".", NONE),
        statements=[("SELECT $1, $2", ["number", "text"])],
    )  # fmt: skip
    assert [one.text for one in ask_plans("postgres", server)] == ["Result"]
    assert "PREPARE dsbench_plan (bigint, text) AS SELECT $1, $2" in server.asked


def test_a_statement_without_a_plan_says_why() -> None:
    server = Server(("^PREPARE", ValueError("it is 'secret'")), (".", NONE), statements=[("CALL p(?)", ["number"])])
    assert ask_plans("mysql", server) == [Plan(1, "CALL p(?)", "", "it is ?")]


def test_mysql_gets_a_value_for_each_parameter() -> None:
    row: Row = {"id": "1", "select_type": "SIMPLE", "table": "t", "type": "ref", "key": "k", "ref": "const",
                "rows": "17", "Extra": None}  # fmt: skip
    statements = [("SELECT x FROM t WHERE a = ? AND b = 'it''s'", ["text"])]
    server = Server(("^EXECUTE", [row]), (".", NONE), statements=statements)
    assert [one.text for one in ask_plans("mysql", server)] == ["1 | SIMPLE | t | ref | k | const | -"]
    assert server.asked[:2] == [
        "PREPARE dsbench_plan FROM 'EXPLAIN SELECT x FROM t WHERE a = ? AND b = ''it''''s'''", "SET @dsbench_0 = 'a'",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "extra", ["No matching min/max row", "no matching row in const table", "Impossible WHERE noticed after reading const tables"]
)
def test_mysql_shows_no_plan_where_it_has_found_no_row(extra: str) -> None:
    server = Server(("^EXECUTE", [{"id": "1", "Extra": extra}]), (".", NONE), statements=[("SELECT max(x) FROM t", [])])
    (plan,) = ask_plans("mysql", server)
    assert (plan.text, plan.problem) == ("", "no row has the values for which the plan was asked")


def test_costs_and_values_change_no_fingerprint_and_a_change_is_told_by_its_first_line() -> None:
    old, same = Plan(1, "s", "Index Scan using a on t\n  Index Cond: (x = ?)"), Plan(1, "s", "Index Scan using a on t")
    new = Plan(1, "s", "Seq Scan on t\n  Filter: (x = ?)")
    assert old.fingerprint == Plan(7, "other", old.text).fingerprint != new.fingerprint
    assert describe_change(old, new) == "Seq Scan on t instead of Index Scan using a on t"
    assert describe_change(old, same) == "no further line instead of Index Cond: (x = ?)"


def test_a_changed_plan_does_not_matter_where_both_are_cheap() -> None:
    scan, index, dear = Plan(1, "s", "Seq Scan", "", 1.12), Plan(1, "s", "Index", "", 8.16), Plan(1, "s", "Seq", "", 2890.0)
    assert is_cheap(scan, index)
    assert not is_cheap(index, dear)
    assert not is_cheap(dear, index)
    assert not is_cheap(Plan(1, "s", "a"), Plan(1, "s", "b")), "nothing is known of their costs"


def test_what_a_cycle_ran_is_the_difference_of_two_readings() -> None:
    def counted(calls: int, ms: float) -> list[Row]:
        return [{"query": "SELECT x FROM t WHERE a = $1", "calls": str(calls), "ms": str(ms), "rows": str(calls), "hit": "9",
                 "read": "1"}]  # fmt: skip

    server = Server(
        ("shared_preload_libraries", [{"libraries": "pg_stat_statements"}]),
        ("pg_extension", [{"place": "public", "version": "1.10"}]), (".", counted(10, 1.0)),
    )  # fmt: skip
    monitor = StatementCounts.of("postgres", server)
    assert monitor is not None
    assert monitor.sample() == []
    server.answers = ((".", counted(25, 4.0)),)
    monitor.sample()
    (row,) = monitor.take()
    assert (row["statement"], row["calls"], row["time_ns"], row["rows"]) == ("SELECT x FROM t WHERE a = ?", 15, 3_000_000, 15)
    assert monitor.take() == []


def test_mysql_counts_a_statement_once_whatever_the_sign_of_its_values() -> None:
    def told(*texts: str) -> list[Row]:
        return [{"text": text, "calls": "1", "ps": "2000", "locked": "0", "done": "0"} for text in texts]

    server = Server(("@@performance", [{"on": "1"}]), (".", NONE))
    monitor = StatementCounts.of("mysql", server)
    assert monitor is not None
    monitor.sample()
    calls = ("CALL `f` (...)", "CALL `f` ( ?, ... , (?) )", "CALL g ( ?, ... , NOW ( ) )", "CALL g ( ?, ... , (?) , NOW ( ) )")
    server.answers = ((".", told(*calls, "UPDATE t SET a = a + (?)", "UPDATE t SET a = a + ?")),)
    monitor.sample()
    counts = {row["statement"]: row["calls"] for row in monitor.take()}
    assert counts == {"CALL f (?, …)": 2, "CALL g (?, … , NOW ( ) )": 2, "UPDATE t SET a = a + ?": 2}


def test_nothing_is_made_in_a_server_of_others() -> None:
    def loaded() -> Server:
        return Server(("shared_preload", [{"libraries": "pg_stat_statements"}]), (".", NONE))

    foreign, private = loaded(), loaded()
    assert StatementCounts.of("postgres", foreign) is None
    assert not [sql for sql in foreign.asked if sql.startswith("CREATE")]
    StatementCounts.of("postgres", private, private=True)
    assert [sql for sql in private.asked if sql.startswith("CREATE")]


def test_a_server_that_does_not_count_is_not_asked() -> None:
    assert StatementCounts.of("postgres", Server((".", [{"libraries": ""}]))) is None
    assert StatementCounts.of("mysql", Server((".", [{"on": "0"}]))) is None
    assert StatementCounts.of("mysql", Server((".", ValueError("no right")))) is None
    assert StatementCounts.of("sqlite", Server((".", NONE))) is None


def test_a_run_has_the_plans_before_and_after_its_cycles(tmp_path: Path) -> None:
    archive = dsbench.run(
        "private:sqlite", workload="select", scales=(1, 2), cycles=1, duration=0.2, clients=1, out=tmp_path
    )
    rows = archive.table("plans").to_pylist()
    assert {row["moment"] for row in rows} == {"before", "after"}
    (plan,) = archive.evaluate().of(ServerStatementsResult).plans[1]
    assert plan.before == plan.after == "SEARCH account USING INTEGER PRIMARY KEY (rowid=?)"
    assert not plan.changed
    said = render_text(subjects.find_subject("server_statements").tell(archive.evaluate()))
    assert "Plans of 1 of 1 statements were captured; none changed" in said
    assert said.count(plan.after) == 1, "what is the same at both scales is told once"
    assert not [one for one in archive.run.warnings if one.code in ("plan", "plans")]


def test_places_of_a_plan_are_told_where_they_are_not_all() -> None:
    every = [(heading, scale) for heading in ("clients 1", "clients 4") for scale in (1, 2, 5)]
    assert server_statements._at(every, every) == ""
    assert server_statements._at([("", 2)], [("", 1), ("", 2)]) == " (scale 2)"
    assert server_statements._at([*every[:2], *every[3:5]], every) == " (clients 1 and clients 4: scale 1, 2)"
    assert server_statements._at([every[0], *every[3:5]], every) == " (clients 1: scale 1; clients 4: scale 1, 2)"
