"""What is special about a workload stands in the core's registry: Python finds it there, whatever it is called."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

import dsbench
from dsbench import _core, workloads
from dsbench.archive import RunRecord
from dsbench.spec import RunSpec, examples
from fixtures.program import Program

PACKAGE = Path(dsbench.__file__).parent
NAMING = {
    "stats/special.py": "the word of an analysis",
    "spec/run.py": "the default of a run",
    "cli/doctor.py": "the default of a calibration",
    "workloads.py": "the one that no user chooses",
    "commons/audit/described.py": "whose rows a rule of checking counts",
    "commons/audit/kept.py": "a script of pgbench",
    "read/page.py": "a word of Vega-Lite",
    "read/draw/course.py": "the same",
    "measure/loaders/bench.py": "what drivers and peers can run",
    "measure/loaders/peers.py": "what sysbench can run",
    "web/frame.py": "an element of HTML",
    "web/fields.py": "an element of HTML",
    "web/pages/new_pair.py": "an element of HTML",
    "web/pages/new_study.py": "an element of HTML",
    "web/pages/archives.py": "an element of HTML",
}


def test_no_other_source_names_a_workload() -> None:
    naming, quoted = set(), re.compile(rf"""["']({'|'.join(workloads.names())})["']""")
    for file in PACKAGE.rglob("*.py"):
        if not quoted.search(text := file.read_text()):
            continue
        words = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
        if words & set(workloads.names()):
            naming.add(str(file.relative_to(PACKAGE)))
    assert naming == set(NAMING)


def test_the_default_is_the_first() -> None:
    assert workloads.names()[0] == RunSpec().workload


def test_what_is_said_depends_on_the_settings() -> None:
    (delivery,) = (kind for kind in workloads.find("tpcc").kinds if kind.name == "delivery")
    assert (delivery.least_share, delivery.limit_s, delivery.keying_s, delivery.mean_think_s) == (0.04, 5.0, 2.0, 5.0)
    queued = workloads.find("tpcc", {"delivery": "deferred", "mix": "45, 43,4,4 ,4"}).kinds
    assert [kind.cards for kind in queued] == [45, 43, 4, 4, 4]
    assert [kind.limit_s for kind in queued] == [5.0, 5.0, 5.0, 80.0, 20.0]
    assert [kind.cards for kind in workloads.find("tpcb").kinds] == [None]


def test_kinds_say_what_they_do_to_the_rows_that_they_count() -> None:
    assert [kind.rows for kind in workloads.find("rehearsal").kinds] == ["", "inserted", "deleted"]
    assert [kind.rows for kind in workloads.find("tpcb").kinds] == [""]


@pytest.mark.parametrize("name", [*workloads.names()])
def test_python_has_the_records_of_the_core_and_nothing_else(name: str) -> None:
    assert json.loads(json.dumps(asdict(workloads.find(name)))) == json.loads(_core.workload_entry(name, {}))


def test_an_unknown_workload_says_nothing_and_settings_that_are_refused_change_nothing() -> None:
    assert workloads.find("tpcz") == workloads.Entry("tpcz", "tpcz")
    assert workloads.find("tpcc", {"mix": "1"}) == workloads.find("tpcc")


def test_an_archive_is_judged_by_what_the_workload_said_when_it_was_run() -> None:
    spec = {"workload": "tpcc", "workload_settings": {"delivery": "deferred"}}
    old = workloads.find("tpcc", {"delivery": "deferred"})
    kept = json.loads(json.dumps(asdict(old)))
    assert RunRecord.of({"spec": spec, "workload": kept}).workload == old
    kept["kinds"][0]["limit_s"] = 7.0
    kept["of a later version"] = 1
    again = RunRecord.of({"spec": spec, "workload": kept})
    assert again.workload.kinds[0].limit_s == 7.0
    assert RunRecord.of(again.described()).workload == again.workload
    assert RunRecord.of({}).workload.kinds == ()


@pytest.mark.parametrize("name", [*workloads.names()])
def test_a_workload_describes_itself(name: str, called: Program) -> None:
    done = called("run", "--workload", name, "--list")
    entry = workloads.find(name)
    told = [entry.label, entry.about, entry.unit.name, entry.headline.label, entry.meaning.disclaimer]
    told += [f"kind {kind.name}" for kind in entry.kinds]
    told += [f"--set {setting.name}=VALUE: {setting.takes} [{setting.default}]" for setting in entry.settings]
    assert [words for words in told if words not in done.stdout] == []


def test_all_are_listed(called: Program) -> None:
    done = called("run", "--list", "--json")
    assert [entry["name"] for entry in json.loads(done.stdout)] == [*workloads.names(), *examples()]
    done = called("run", "--workload", "tpcz", "--list")
    assert (done.returncode, "no workload 'tpcz'" in done.stderr) == (2, True)


def test_the_list_has_what_a_user_can_choose(called: Program) -> None:
    listed = called("run", "--list").stdout
    names = {line.split()[0] for line in listed.splitlines() if line[:1].isalpha()}
    assert {"tpcb", "tpcc", "ycsb-a"} < names
    assert not {"rehearsal", "scripted", "workload-file"} & names
    assert "--script FILE" in listed
    assert "rehearsal" in called("run", "--workload", "rehearsal", "--list").stdout
