"""Workload files: read with errors that have a place, populated alike, run, and checked by conditions that can fail."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

import dsbench
from dsbench import workloads
from dsbench.archive.conditions import State
from dsbench.measure.keeping import check_target
from dsbench.read import subjects
from dsbench.read.page import command_line
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.text import render_text
from dsbench.spec import SpecError, build, examples, merged, taking
from fixtures import sample
from fixtures.program import Program
from fixtures.stalled import unless_stalled

SHOP = """
name = "shop"
headline = { label = "sales", transaction = "buy", per = "minute" }
[define]
most = 9
[schema]
tables = '''
CREATE TABLE customer (id {bigint} NOT NULL {key}, name varchar(40), spent bigint NOT NULL, born {timestamp});
CREATE TABLE sale (customer_id bigint NOT NULL REFERENCES customer (id), city int, amount decimal(8, 2), note {text});
CREATE TABLE city (id int, name varchar(20), area double precision);
'''
[tables.city]
load = "city.csv"
[tables.customer]
rows = "20000 * :scale"
[tables.customer.columns]
id = { sequence = 1 }
name = { text = [10, 40], null = 0.25 }
spent = { constant = 0 }
born = { timestamp = ["2000-02-29", "2000-03-01 12:30:00"] }
[tables.sale]
rows = 5000
[tables.sale.columns]
customer_id = { foreign = "customer", exponent = 0.99 }
city = { zipf = [1, 3] }
amount = { uniform = [0.25, 99.75] }
note = { expression = "CASE WHEN :row % 2 = 0 THEN :row * :most END" }
[groups.buyers]
[groups.lookers]
clients = 1
rate = 200
[transactions.buy]
group = "buyers"
adds = "amount"
sql = '''
\\set id random(1, 1000)
\\set amount random(1, :most)
UPDATE customer SET spent = spent + :amount WHERE id = :id;
'''
[transactions.look]
group = "lookers"
sql = { file = "look.sql" }
[conditions."spent = sum of the clients"]
sql = "SELECT sum(spent) FROM customer"
equals = ":sum_amount"
[conditions."no debts"]
sql = "SELECT id, spent FROM customer WHERE spent < 0"
"""
ASKED = {"cycles": 1, "duration": 0.3, "clients": 2, "seed": 7}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    (tmp_path / "look.sql").write_text("\\set id random(1, 1000)\nSELECT name FROM customer WHERE id = :id;\n")
    (tmp_path / "city.csv").write_text('id,name,area\n1,"a, b",1.5\n2,,2\n3,"",\n')
    (tmp_path / "shop.toml").write_text(SHOP)
    return tmp_path / "shop.toml"


def kept(shop: Path, name: str, **asked: object) -> tuple[dsbench.Archive, Path]:
    folder = shop.parent / name
    folder.mkdir()
    private = f"private:sqlite?directory={folder}&synchronous=off"  # So that no client has to wait for flushes.
    done = dsbench.run(private, workload=str(shop), scales=(1,), keep=True, out=shop.parent, **{**ASKED, **asked})
    return done, next(folder.rglob("run.db"))


@unless_stalled
def test_clients_count_over_all_groups(shop: Path) -> None:
    text = SHOP.replace("UPDATE customer SET", "UPDATE customer SET born = :client_id,")
    shop.write_text(text.replace("rate = 200", ""))
    (shop.parent / "look.sql").write_text("UPDATE customer SET born = :client_id WHERE id = 1001;\n")
    _, file = kept(shop, "one")
    with sqlite3.connect(file) as database:
        found = list(database.execute("SELECT id > 1000, born FROM customer WHERE length(born) < 3 GROUP BY 1, 2"))
    assert {str(born) for late, born in found if not late} == {"0", "1"}
    assert {str(born) for late, born in found if late} == {"2"}


def test_rows_transactions_and_conditions_come_from_the_file(shop: Path) -> None:
    done, file = kept(shop, "one")
    assert done.evaluate().of(RateResult).void_scales == frozenset()
    assert (done.run.workload.label, done.run.workload.headline.label) == ("shop", "sales")
    cycles = done.table("cycles").to_pylist()
    assert {(row["group"], row["kind"]) for row in cycles} == {("buyers", "buy"), ("lookers", "look")}
    of_schema = ["indexes are there, valid and whole", "foreign keys are there"]
    assert [condition.name for condition in done.run.checks[1]] == [*of_schema, "spent = sum of the clients", "no debts"]
    with sqlite3.connect(file) as database:
        rows = list(database.execute("SELECT id, name, born FROM customer ORDER BY id"))
        assert [row[0] for row in rows] == list(range(1, 20_001))
        assert 0.22 < sum(name is None for _, name, _ in rows) / len(rows) < 0.28
        assert {len(name) for _, name, _ in rows if name} == set(range(10, 41))
        assert {born[:10] for *_, born in rows} == {"2000-02-29", "2000-03-01"}
        keys = [key for (key,) in database.execute("SELECT customer_id FROM sale")]
        assert keys.count(1) > 300  # 1 / (1 + 1/2^0.99 + …) = 9.3% of 5,000
        assert set(keys) < set(range(1, 20_001))
        low, high = next(database.execute("SELECT min(amount), max(amount) FROM sale"))
        assert 0.25 <= float(low) < 1
        assert 99 < float(high) <= 99.75
        notes = [note for (note,) in database.execute("SELECT note FROM sale ORDER BY rowid LIMIT 2")]
        assert notes == [None, "18"]
        cities = list(database.execute("SELECT * FROM city"))
        assert cities == [(1, "a, b", 1.5), (2, None, 2.0), (3, "", None)]


def test_a_damaged_row_fails_the_conditions(shop: Path) -> None:
    done, file = kept(shop, "two")
    target = build({"target": {"url": f"private:sqlite?directory={shop.parent / 'two'}"}}).target
    asked = {"workload": taking("file"), "workload_settings": done.run.spec.workload_settings}
    assert all(condition.state is State.HOLDS for condition in check_target(target, asked).conditions)
    with sqlite3.connect(file) as database:
        database.execute("UPDATE customer SET spent = spent - 1000000 WHERE id = 9")
    broken = {c.name: c.detail for c in check_target(target, asked).conditions if c.state is State.BROKEN}
    assert set(broken) == {"spent = sum of the clients", "no debts"}
    assert re.fullmatch(r"found 1 rows, the first: id 9, spent -\d+", broken["no debts"])
    with pytest.raises(dsbench.RunError, match=r"made by shop\.toml"):
        check_target(target, {})


def test_a_file_is_kept_and_its_runs_are_told_apart(shop: Path) -> None:
    of_file = merged({"workload": str(shop), "define": ["most=3"]}).spec
    (shop.parent / "look.sql").write_text("SELECT 1;\n")
    other = merged({"workload": str(shop)}).spec
    assert "SELECT name FROM customer" in of_file.workload_settings["file"]
    assert of_file.workload_settings["define"] == "most=3"
    again = merged({}, earlier=of_file.described(), trust=True).spec
    assert again.workload_settings == of_file.workload_settings
    briefs = {workloads.brief(spec.workload_settings["file"]) for spec in (of_file, other)}
    assert len(briefs) == 2
    assert all(re.fullmatch(r"shop\.toml #[0-9a-f]{12}", text) for text in briefs)


def test_parquet_is_loaded_as_csv_is(shop: Path) -> None:
    table = pyarrow.table({"id": [1, 2], "name": ["x", None], "area": [0.5, None]})
    parquet.write_table(table, shop.parent / "city.parquet")
    shop.write_text(SHOP.replace("city.csv", "city.parquet"))
    text = merged({"workload": str(shop)}).spec.workload_settings["file"]
    assert '"id","name","area"\n1,"x",0.5\n2,,\n' in text


@pytest.mark.parametrize(
    ("was", "written", "place", "why"),
    [
        ("most = 9", "most = ", r"shop\.toml:5:\d+", "[Ii]nvalid value"),
        ("null = 0.25", "nul = 0.25", r"shop\.toml:18:\d+", 'no key "nul" is known here; there are sequence, .*; did you mean null\\?$'),
        ("null = 0.25", "null = 1.5", r"shop\.toml:18:\d+", "a number from 0 to 1"),
        ("rows = 5000", 'rows = "5 +"', r"shop\.toml:22:\d+", "syntax error"),
        ("[tables.sale]", "[tables.sales]", r"shop\.toml:21:\d+", "no statement of the schema makes a table sales"),
        ('foreign = "customer"', 'foreign = "client"', r"shop\.toml:24:\d+", "no table client has rows here"),
        ("city = {", "town = {", r"shop\.toml:25:\d+", "the table sale has no column town$"),
        ("amount = { uniform", "amonut = { uniform", r"shop\.toml:26:\d+", "no column amonut; did you mean amount\\?$"),
        ('name = "shop"', 'name = "a\\u0007b"', r"shop\.toml:2:\d+", "control characters"),
        ('label = "sales"', 'label = "a\\tb"', r"shop\.toml:3:\d+", "control characters"),
        ("[groups.buyers]", '[groups."a\\u001bb"]', r"shop\.toml:28:\d+", "control characters"),
        ('"no debts"', '"no\\u0000debts"', r"shop\.toml:\d+:\d+", "control characters"),
        ("name = { text = [10, 40]", "name = { uniform = [1, 2]", r"shop\.toml:18:\d+", "makes no values for name"),
        ("[groups.buyers]", '[groups.buyers]\nstage = "check"', r"shop\.toml:29:\d+", "build, check, drop are stages of every run"),
        ('group = "lookers"', 'group = "people"', r"shop\.toml:41:\d+", r"no group people stands in \[groups\]$"),
        (':sum_amount', ":sum_money", r"shop\.toml:45:\d+", 'undefined variable "sum_money"'),
        ("2000-02-29", "29.2.2000", r"shop\.toml:20:\d+", "YYYY-MM-DD"),
        ('file = "look.sql"', 'file = "no.sql"', r"shop\.toml:42:16: \S*no\.sql", "No such file"),
        ('transaction = "buy"', 'transaction = "sell"', r"shop\.toml:3:\d+", "no such transaction; there are buy, look"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(shop: Path, was: str, written: str, place: str, why: str) -> None:
    assert was in SHOP
    shop.write_text(SHOP.replace(was, written))
    with pytest.raises(SpecError) as caught:
        merged({"workload": str(shop)})
    assert re.search(place, str(caught.value)), str(caught.value)
    assert re.search(why, str(caught.value)), str(caught.value)
    assert not re.search(r"[\"']\)|\\\\", str(caught.value)), "no Python in it"


@pytest.mark.parametrize("named", ["../secret.sql", "{}/secret.sql", "link.sql", "inner/secret.sql", "inner/../../secret.sql"])
def test_a_workload_file_takes_nothing_in_from_outside_of_its_folder(shop: Path, tmp_path: Path, named: str) -> None:
    (tmp_path / "secret.sql").write_text("SELECT 1;\n")
    (own := tmp_path / "own").mkdir()
    (own / "link.sql").symlink_to("../secret.sql")
    (own / "inner").symlink_to(tmp_path)
    shop.rename(own / "shop.toml")
    (tmp_path / "city.csv").rename(own / "city.csv")
    (own / "shop.toml").write_text(SHOP.replace("look.sql", named.replace("{}", str(tmp_path))))
    with pytest.raises(SpecError, match=r"shop\.toml:42:16: \S*\.sql is outside the folder of"):
        merged({"workload": str(own / "shop.toml")})


def test_a_workload_file_takes_in_what_lies_below_it(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "sql").mkdir()
    (tmp_path / "look.sql").rename(tmp_path / "sql/real.sql")
    (tmp_path / "look.sql").symlink_to("sql/real.sql")
    (beside := tmp_path / "beside").symlink_to(tmp_path)
    for path in (shop, beside / "shop.toml"):
        assert "SELECT name FROM customer" in merged({"workload": str(path)}).spec.workload_settings["file"]
    (tmp_path / "look.sql").unlink()
    (tmp_path / "look.sql").symlink_to("look.sql")
    with pytest.raises(SpecError, match=r"look\.sql: "):
        merged({"workload": str(shop)})


def test_what_would_take_all_memory_is_refused_at_once(shop: Path) -> None:
    words = ['w0 = "ha"', *(f'w{n} = "{{w{n - 1}}} {{w{n - 1}}}"' for n in range(1, 40))]
    laughs = "\n".join(words)
    shop.write_text(SHOP.replace("[schema]", f"[words]\n{laughs}\n[schema]"))
    with pytest.raises(SpecError, match=r"shop\.toml:\d+:\d+: this SQL is longer than 4000000 bytes"):
        merged({"workload": str(shop)})
    shop.write_text(f"{'.'.join(['a'] * 50_000)} = 1\n{SHOP}")
    with pytest.raises(SpecError, match=r"shop\.toml:1:1: a key has more than 32 parts"):
        merged({"workload": str(shop)})
    shop.write_text(f"{SHOP}\n[words]\n" + "\n".join(f'w{n} = ""' for n in range(300)))
    with pytest.raises(SpecError, match=r"\[words\] has 300 entries; at most 256"):
        merged({"workload": str(shop)})


def test_a_workload_file_is_no_configuration(shop: Path) -> None:
    with pytest.raises(SpecError, match="is a workload file") as caught:
        merged({}, config=shop)
    assert caught.value.remedy == f"specify it with --workload {shop}"


def test_the_headline_stands_in_every_form_of_the_results(shop: Path, called: Program) -> None:
    options = ("--cycles", "2", "--duration", "0.3", "--clients", "2", "--scales", "1", "--out", str(shop.parent / "runs"))
    done = called("run", "private:sqlite", "--workload", str(shop), *options)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"(?:does|did) ([\d,.]+) sales with \d clients? at scale 1 .*on this machine", done.stdout)
    assert shown, done.stdout
    assert "scale 1: all 4 conditions hold" in done.stdout + done.stderr
    archive = dsbench.Archive.open(next((shop.parent / "runs").glob("*.zip")))
    counted = [row for row in archive.table("cycles").to_pylist() if row["kind"] == "buy"]
    found = archive.evaluate().of(KindsResult).headline[1]
    assert found.label == "sales"
    assert found.minimum <= found.median <= found.maximum
    most = max(sum(row["committed"] for row in counted if row["cycle"] == n) for n in (1, 2))
    assert found.maximum <= most / 0.3 * 60
    folder = next(path for path in (shop.parent / "runs").iterdir() if path.is_dir())
    assert f" connections: sales: {shown[1]}" in (folder / "results.txt").read_text()
    assert " sales</strong>" in (folder / "report.html").read_text()
    told = json.loads(called("show", str(folder), "--json").stdout)
    assert told["headline"]["1"]["median"] == pytest.approx(found.median)
    of_one = sample.replace(archive.evaluate(), kinds={1: archive.evaluate().of(KindsResult).kinds[1][:1]})
    assert render_text(subjects.find_subject("kinds").tell(of_one)).startswith("scale 1, ")


@unless_stalled
def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/workload-files.md").read_text()
    example, look = (re.search(rf"^```{kind}\n(.*?)^```", page, re.M | re.S)[1] for kind in ("toml", "sql"))
    (tmp_path / "shop.toml").write_text(example)
    (tmp_path / "look.sql").write_text(look)
    done = dsbench.run("private:sqlite", workload=str(tmp_path / "shop.toml"), scales=(1,), out=tmp_path, **ASKED)
    assert [condition.state for condition in done.run.checks[1]] == [State.HOLDS] * 4
    assert {row["kind"] for row in done.table("cycles").to_pylist() if row["committed"]} == {"buy", "look"}


def test_a_wrong_transaction_is_told_with_the_line_of_the_file(shop: Path) -> None:
    shop.write_text(SHOP.replace("\\set amount random(1, :most)", "\\set amount random(1 :most)"))
    with pytest.raises(dsbench.RunError, match=r"shop\.toml:37: syntax error in command \"set\" at column 26"):
        dsbench.run("mock:", workload=str(shop), scales=(1,), out=shop.parent, **ASKED)
    shop.write_text(SHOP.replace("UPDATE customer", "UPDATE client"))
    with pytest.raises(dsbench.RunError, match=r"shop\.toml:38: no such table: client"):
        dsbench.run("private:sqlite", workload=str(shop), scales=(1,), out=shop.parent, **ASKED)


@pytest.mark.parametrize(
    ("was", "written", "line"),
    [
        ("SELECT id, spent FROM customer WHERE", "SELECT id, spend FROM customer WHERE", 47),
        ("[tables.city]", "keys = 'CREATE INDEX i ON customer (nothing);'\n[tables.city]", 12),
    ],
)
def test_a_wrong_condition_or_key_is_told_before_anything_is_populated(
    shop: Path, called: Program, was: str, written: str, line: int
) -> None:
    assert was in SHOP
    shop.write_text(SHOP.replace(was, written))
    out = shop.parent / "runs"
    done = called("run", "private:sqlite", "--workload", str(shop), "--scales", "1", "--out", str(out))
    assert done.returncode == 2, done.stderr
    assert re.search(rf"error: .*shop\.toml:{line}: no such column|error: .*shop\.toml:{line}: .*nothing", done.stderr), \
        done.stderr
    assert "--resume" not in done.stderr
    assert not list(out.glob("*"))


def test_a_condition_of_the_user_that_does_not_hold_may_be_wrong_itself(shop: Path, called: Program) -> None:
    shop.write_text(SHOP.replace('":sum_amount"', '":sum_amount + 1"'))
    options = ("--cycles", "1", "--duration", "0.2", "--scales", "1", "--out", str(shop.parent / "runs"))
    done = called("run", "private:sqlite", "--workload", str(shop), *options)
    assert done.returncode == 1
    assert "or a mistake in the condition itself" in " ".join((done.stdout + done.stderr).split())


def test_stages_follow_each_other_in_the_order_of_the_file(shop: Path) -> None:
    text = SHOP.replace("[groups.buyers]\n", '[groups.look]\nstage = "first look"\n[groups.buyers]\nstage = "sale"\n')
    text = text.replace('group = "lookers"\n', "").replace("[groups.lookers]\n", '[groups.lookers]\nstage = "sale"\n')
    shop.write_text(text + "[transactions.watch]\ngroup = \"lookers\"\nsql = { file = \"look.sql\" }\n")
    done = dsbench.run("private:sqlite?synchronous=off", workload=str(shop), scales=(1,), out=shop.parent, **{**ASKED, "cycles": 2})
    rows = done.table("cycles").to_pylist()
    found = {(row["cycle"], row["stage"], row["group"], row["kind"]) for row in rows}
    looks = {(cycle, "first look", "look", "look") for cycle in (1, 2)}
    sales = {(cycle, "sale", *one) for cycle in (3, 4) for one in (("buyers", "buy"), ("lookers", "watch"))}
    assert found == looks | sales, "a transaction without a group is of the group of its name"
    assert done.evaluate().of(RateResult).void_scales == frozenset()


@pytest.mark.parametrize("name", [name for name in examples() if name != "sysbench-oltp"])
def test_what_ships_runs_and_can_fail_its_check(name: str, tmp_path: Path) -> None:
    private = f"private:sqlite?directory={tmp_path}&synchronous=off"
    done = dsbench.run(private, workload=name, scales=(1,), keep=True, out=tmp_path / "archives", **ASKED)
    assert done.evaluate().of(RateResult).void_scales == frozenset()
    assert f"--workload {name} " in command_line(done.run.spec.described())
    counted = done.table("cycles").to_pylist()
    assert {row["kind"] for row in counted} == {kind.name for kind in done.run.workload.kinds}
    assert sum(row["committed"] for row in counted) > 0
    assert sum(row["failed"] for row in counted) == 0
    target = build({"target": {"url": private}}).target
    asked = {"workload": taking("file"), "workload_settings": done.run.spec.workload_settings}
    file = next(tmp_path.rglob("run.db"))
    with sqlite3.connect(file) as database:
        tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            if not table.startswith(("dsbench_", "sqlite_")):
                database.execute(f"DELETE FROM {table} WHERE rowid = 1")
    conditions = check_target(target, asked).conditions
    assert any(condition.state is State.BROKEN for condition in conditions), conditions
    with pytest.raises(dsbench.RunError) as caught:
        check_target(target, {})
    assert caught.value.remedy == f"specify that file: --workload {name}"
