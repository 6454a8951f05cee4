"""Transactions in pgbench's script language, from their files to their figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dsbench
from dsbench.read.page import command_line
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.spec import SpecError, merged
from fixtures.program import Program

SCRIPT = "\\set aid random(1, :size * :scale)\nSELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"


def test_scripts_and_builtins_are_kinds_with_figures_and_a_check(tmp_path: Path) -> None:
    own = tmp_path / "grün.sql"
    own.write_text(SCRIPT)
    asked = {"scales": (1,), "cycles": 2, "duration": 0.3, "clients": 2, "out": tmp_path, "seed": 7}
    of_both = dsbench.run(
        "private:sqlite", script=[f"{own}@3"], builtin="tpcb", define={"size": 100_000}, **asked
    )
    own.unlink()
    assert [kind.name for kind in of_both.run.workload.kinds] == ["tpcb-like", "grün.sql"]
    assert of_both.run.spec.isolation == "read-committed"
    counted = of_both.table("cycles").to_pylist()
    assert {row["kind"] for row in counted} == {"tpcb-like", "grün.sql"}
    assert sum(row["committed"] for row in counted) > 0
    # The archive has the text: the run is repeated without the file.
    again = merged({"cycles": 1}, config=of_both.path, earlier=of_both.run.spec.described(), trust=True).spec
    assert again.workload_settings == of_both.run.spec.workload_settings
    assert SCRIPT.rstrip() in command_line(of_both.run.spec.described())
    of_builtins = dsbench.run("private:sqlite", builtin=["tpcb-like", "simple-update", "se@2"], **asked)
    assert of_builtins.evaluate().of(RateResult).void_scales == frozenset()
    assert "history sum = sum of the clients" in [condition.name for condition in of_builtins.run.checks[1]]


def test_a_file_is_a_workload_and_works_on_the_tables_of_another(tmp_path: Path) -> None:
    own = tmp_path / "a.sql"
    own.write_text("SELECT 1;")
    of_file = merged({"workload": str(own)}).spec
    assert of_file.workload_settings == {"scripts": "9 a.sql\nSELECT 1;"}
    on_other = merged({"workload": "tpcb", "script": str(own)}).spec
    assert on_other.workload == of_file.workload
    assert on_other.workload_settings["tables"] == "tpcb"
    file = tmp_path / "run.toml"
    file.write_text('builtin = ["select-only@2"]\ndefine = { size = "3" }\n')
    of_toml = merged({}, config=file).spec
    assert of_toml.workload_settings == {"builtin": "select-only@2", "define": "size=3"}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"script": "no-such-file.sql"}, 'could not open file "no-such-file.sql"'),
        ({"script": [3]}, "must be text"),
    ],
)
def test_what_cannot_be_read_is_refused(asked: dict[str, object], why: str) -> None:
    with pytest.raises(SpecError) as caught:
        merged(asked)
    assert caught.value.option == "--script"
    assert why in str(caught.value)


def test_a_wrong_script_is_refused_with_file_line_and_column_before_anything_runs(tmp_path: Path) -> None:
    own = tmp_path / "wrong.sql"
    own.write_text("SELECT 1;\n\\set x 1 +\n")
    with pytest.raises(dsbench.RunError) as caught:
        dsbench.run("mock:", script=str(own), scales=(1,), cycles=1, duration=0.1, clients=1, out=tmp_path / "archives")
    assert 'wrong.sql:2: syntax error in command "set" at column 10: \\set x 1 +' in str(caught.value)
    assert not list((tmp_path / "archives").glob("*"))


def test_a_driver_of_python_runs_no_scripts(tmp_path: Path) -> None:
    asked = {"scales": (1,), "cycles": 1, "duration": 0.1, "clients": 1, "out": tmp_path / "archives"}
    for workload in ({"builtin": "select-only"}, {"workload": "ycsb-c"}):
        with pytest.raises(dsbench.RunError, match="neither scripts nor terminals"):
            dsbench.run("private:sqlite", driver="sqlite3", **workload, **asked)


def test_a_calibration_takes_workload_files(called: Program) -> None:
    """Those with results, too: the mock answers with zeros."""
    done = called("doctor", "--calibrate", "--workload", "smallbank", "--clients", "1", "--duration", "0.05")
    assert done.returncode == 0, done.stderr
    assert "workload smallbank" in done.stdout
    assert "mock engine" in done.stdout
    assert "no workload 'nosuch'" in called("doctor", "--calibrate", "--workload", "nosuch").stderr


def test_an_error_of_a_meta_command_aborts_one_client(called: Program, tmp_path: Path) -> None:
    own = tmp_path / "own.sql"
    own.write_text("SELECT 1;\n\\set x 1 / (:client_id - 1)\n")
    words = ("run", "private:sqlite", "--script", str(own), "--scales", "1", "--clients", "3", "--cycles", "2")
    words = (*words, "--duration", "0.3", "--set", "synchronous=off", "--out", str(tmp_path / "runs"))
    done = called(*words)
    assert done.returncode == 2, done.stderr
    assert re.search(r"error: some clients of the run were aborted: cycle 1 .*1 of 3 clients was aborted.*own\.sql:2: division by "
                     "zero", done.stderr), done.stderr  # fmt: skip
    archive = dsbench.Archive.open(next((tmp_path / "runs").glob("*.zip")))
    assert archive.run.status == "complete"
    cycles = archive.table("cycles").to_pylist()
    assert {row["cycle"] for row in cycles if row["committed"]} == {1, 2}
    assert {(row["cycle"], row["count"]) for row in archive.table("errors").to_pylist()} == {(1, 1), (2, 1)}
    assert "client-aborted" in {doubt.code for doubt in archive.evaluate().of(WarningsResult).doubts}
    at_once = called(*words, "--exit-on-abort")
    assert at_once.returncode == 2
    assert "own.sql:2: division by zero" in at_once.stderr
    assert "--resume" not in at_once.stderr
    own.write_text("SELECT 1;\n\\set x 1 / 0\n")
    none = called(*words)
    assert none.returncode == 2
    assert "all 3 clients were aborted; the first one: own.sql:2: division by zero" in none.stderr


@pytest.mark.parametrize("product", ["sqlite", "postgresql"])
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("SELECT abalance FROM pgbench_accounts;\nSELEC 1;", "own.sql:2: .*syntax error"),
        ("SELECT 1;\n\nSELECT abalanse FROM pgbench_accounts WHERE aid = :scale;", "own.sql:3: .*abalanse"),
        ("UPDATE accounts SET abalance = 0;", "own.sql:1: .*accounts"),
        ("BEGIN;\nSELECT 1;\n", "own.sql:2: end of script reached without completing the last transaction"),
    ],
)
def test_a_mistake_in_a_script_is_told_once_before_anything_is_populated(
    called: Program, tmp_path: Path, product: str, script: str, why: str
) -> None:
    own = tmp_path / "own.sql"
    own.write_text(script)
    done = called("run", f"private:{product}", "--script", str(own), "--scales", "1", "--out", str(tmp_path / "runs"))
    assert done.returncode == 2
    assert re.search(f"error: .*{why}", done.stderr), done.stderr
    assert len(re.findall(r"own\.sql:", done.stderr + done.stdout)) == 1
    assert "--resume" not in done.stderr
    assert not list((tmp_path / "runs").glob("*"))


def test_what_a_script_makes_itself_is_not_missed_before_the_run(tmp_path: Path) -> None:
    own = tmp_path / "own.sql"
    own.write_text("CREATE TEMP TABLE IF NOT EXISTS mine (n int);\nINSERT INTO mine VALUES (:client_id);\n")
    asked = {"scales": (1,), "cycles": 1, "duration": 0.2, "clients": 1, "out": tmp_path / "out"}
    done = dsbench.run("private:postgresql", script=str(own), **asked)
    assert sum(row["committed"] for row in done.table("cycles").to_pylist()) > 0
