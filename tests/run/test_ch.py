"""CH-benCHmark on real servers: groups alone and beside each other, every answer compared, and what each does to the other."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.loaders.answers import Rules, differ, load_tables
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.read import subjects
from dsbench.read.choice import make_choice
from dsbench.read.draw.hero import hero
from dsbench.read.evaluation import evaluate
from dsbench.read.page import page
from dsbench.read.subjects.interference import InterferenceResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.text import render_text
from dsbench.spec import build
from fixtures.program import Program
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

duckdb = pytest.importorskip("duckdb")

SIZE = {"size": "0.01"}
QUIET = {
    "private:sqlite": {"synchronous": "off"}, "private:postgresql": {"fsync": "off"},
    "private:mariadb": {"innodb_flush_log_at_trx_commit": "0"}, "private:firebird": {"forced_writes": "off"},
}  # fmt: skip
QUERIES = [f"Q{number}" for number in range(1, 23)]


@pytest.mark.parametrize("url", mostly_thorough(QUIET, "private:postgresql"))
@unless_stalled
def test_both_groups_work_alone_and_together_and_every_answer_is_right(url: str, tmp_path: Path) -> None:
    asked = build({
        "target": {"url": url, "settings": QUIET[url]}, "workload": "ch", "scales": (1,), "seed": 7, "cycles": 1,
        "duration": 0.3, "clients": 2, "workload_settings": {**SIZE, "streams": "2"},
    })  # fmt: skip
    outcome = execute(asked, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ())
    archive = Archive.open(outcome.archive)
    details = {condition.name: condition.detail for condition in archive.run.checks[1]}
    assert details["answers of queries"] == "22 of 22 are those of DuckDB"
    assert details["supplier rows"] == "found 10000, loaded 10000"
    assert "orders = loaded + committed New-Orders" in details
    groups = [(row["stage"], row["group"], row["all_clients"], row["until"]) for row in archive.table("groups").to_pylist()]
    assert groups == [
        ("analytics", "analytics", 2, "transactions"), ("transactions", "transactions", 2, "time"),
        ("both", "transactions", 2, "group"), ("both", "analytics", 2, "transactions"),
    ]  # fmt: skip
    done = {(row["stage"], row["kind"]): 0 for row in archive.table("cycles").to_pylist()}
    for row in archive.table("cycles").to_pylist():
        done[row["stage"], row["kind"]] += row["committed"]
    # Each stream goes through each query once.
    assert {done[stage, query] for stage in ("analytics", "both") for query in QUERIES} == {2}
    assert done["transactions", "new_order"] + done["transactions", "payment"] > 0


@pytest.mark.thorough
def test_what_each_does_to_the_other_is_a_ratio_of_its_own_rates(tmp_path: Path) -> None:
    asked = build({
        "target": {"url": "private:sqlite", "settings": QUIET["private:sqlite"]}, "workload": "ch", "scales": (1,),
        "cycles": 5, "duration": 0.2, "clients": 1, "workload_settings": {**SIZE, "answers": "unchecked"},
    })  # fmt: skip
    archive = Archive.open(execute(asked, tmp_path, Silent()).archive)
    found = evaluate(archive)
    transactions, analytics = found.of(InterferenceResult).interference[1]
    assert (transactions.group, transactions.unit, transactions.times_s) == ("transactions", "NOPM", {})
    assert (analytics.group, analytics.unit, list(analytics.times_s)) == ("analytics", "per hour", QUERIES)
    rows, spans = archive.table("cycles").to_pylist(), archive.table("groups").to_pylist()
    for one, kinds, per_s in ((transactions, ["new_order"], 60), (analytics, QUERIES, 3600)):
        for stage, rates in ((one.alone_stage, one.alone), (one.stage, one.beside)):
            by_hand = [
                sum(row["committed"] for row in rows if row["kind"] in kinds and row["cycle"] == span["cycle"])
                / span["duration_ns"] * 1e9 * per_s
                for span in spans if (span["stage"], span["group"]) == (stage, one.group)
            ]  # fmt: skip
            assert rates.tolist() == pytest.approx(by_hand)
    ratio = analytics.ratio
    assert ratio.low < ratio.value < ratio.high
    earlier = [row["committed"] for row in rows if row["stage"] != "both"]
    assert analytics.before == sum(earlier)
    told = render_text(subjects.find_subject("interference").tell(found))
    assert all(words in told for words in ("transactions do", "geometric mean", "is not measured here"))
    assert "geometric mean" in page(found, archive.run)
    chosen = make_choice("beside", "both", "analytics").read(found)
    assert chosen.value == pytest.approx(ratio.value)
    counted = {key.stage: list(part.of(KindsResult).headline) for key, part in found.series.items()}
    assert counted == {"analytics": [], "transactions": [1], "both": [1]}
    bars = hero(found, archive.run)
    assert bars is not None
    assert bars["title"]["text"] == "NOPM by stage"
    assert [row["stage"] for row in bars["datasets"]["rows"]] == ["stage transactions", "stage both"]
    q1 = make_choice("q1", "analytics").read(found)
    assert q1.value == pytest.approx(analytics.times_s["Q1"][0])


def test_a_run_without_such_stages_says_so(called: Program, tmp_path: Path) -> None:
    dsbench.run("mock:", scales=(1,), cycles=1, duration=0.1, clients=1, out=tmp_path / "runs")
    archive = next((tmp_path / "runs").glob("*.zip"))
    assert "No groups of clients" in called("show", str(archive), "--by", "interference").stdout


CHANGES = """
UPDATE order_line SET ol_quantity = 1 + (ol_i_id * 7919 + ol_o_id) % 10, ol_amount = 1 + (ol_i_id * 7907 + ol_o_id) % 9999,
    ol_delivery_d = ol_delivery_d + ((ol_o_id * 31) % 700) * 86400000000;
UPDATE orders SET o_entry_d = o_entry_d + ((o_id * 17) % 900) * 86400000000;
UPDATE customer SET c_balance = (c_id * 7919 + c_d_id) % 5000 - 2500;
UPDATE stock SET s_order_cnt = (s_i_id * 13) % 40;
"""
"""The loaded rows have few amounts and one date: so that each query has something to tell."""


def test_answers_on_rows_of_many_amounts_and_dates_are_those_of_the_second_engine(tmp_path: Path) -> None:
    database = tmp_path / "own.db"
    target = TargetDatabase(f"sqlite:///{database}")
    bench = Bench(target, "ch", 1, None, {**SIZE, "streams": "1"})
    target.create("a test")
    bench.phase("create", _unwatched)
    bench.populate(False, 1, _unwatched)
    bench._core.export(tmp_path)
    rules = Rules.of(tmp_path)
    with sqlite3.connect(database) as own:
        own.executescript(CHANGES)
        for table, described in rules.tables.items():
            columns = [column.split(" ") for column in described.split(", ")]
            rows = own.execute(f"SELECT {', '.join(name for name, _ in columns)} FROM {table}")
            lines = ["".join(f"{_text(cell, kind)}|" for cell, (_, kind) in zip(row, columns, strict=True))
                     for row in rows]  # fmt: skip
            (tmp_path / table).write_text("\n".join(lines) + "\n")
    own.close()
    bench.work(next(stage for stage in bench.stages if stage.name == "queries"), _unwatched)
    evidence = bench._core.evidence()
    assert evidence is not None
    second = duckdb.connect()
    load_tables(second, tmp_path)
    faults, told = {}, {}
    for kind, (_, _, _, text, given, *_) in zip(QUERIES, evidence[0], strict=True):
        wanted = [[None if cell is None else str(cell) for cell in row] for row in second.execute(text).fetchall()]
        faults[kind], told[kind] = differ(kind, given, wanted, rules), sum(cell is not None for row in wanted for cell in row)
    target.close()
    assert faults == dict.fromkeys(QUERIES, "")
    assert [kind for kind, cells in told.items() if not cells] == []


def _unwatched(_done: int, _all: int) -> None: ...


def _text(cell: Any, kind: str) -> str:
    if cell is None:
        return ""
    if kind == "timestamp":
        return str(datetime.fromtimestamp(cell / 1e6, UTC).replace(tzinfo=None))
    return str(Decimal(cell).scaleb(-int(kind[-2]))) if kind.startswith("decimal") else str(cell)
