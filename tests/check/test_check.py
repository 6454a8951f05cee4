"""``dsbench check --promises`` and ``--durability`` as people and runs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dsbench
from dsbench.archive import Archive
from dsbench.measure import surroundings
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.checklist import checklist
from dsbench.spec import SpecError
from fixtures import sample
from fixtures.program import Program


def test_the_promises_of_sqlite_are_shown_and_taken_up_by_a_run(called: Program, tmp_path: Path) -> None:
    done = called("check", "private:sqlite", "--promises", "--rounds", "1", "--clients", "2", "--out", "check.json")
    assert done.returncode == 0, done.stderr
    assert "  kept    a transaction that failed is rolled back whole" in done.stdout
    assert "  write skew" in done.stdout
    assert "waits, prevented" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("SQLite ")
    assert "none lost, none torn" in done.stdout.splitlines()[-1]
    said = json.loads((tmp_path / "check.json").read_text())
    assert said["holds"] is True
    assert said["durability"]["acknowledged"] == said["durability"]["rounds"][0]["acknowledged"] > 0
    options = {"scales": (1,), "cycles": 1, "duration": 0.2, "clients": 1, "checked": str(tmp_path / "check.json")}
    good = "beware" if said["flushes"]["suspicion"] else "good"
    for url, verdict in (("private:sqlite", good), ("private:sqlite?synchronous=off", "beware")):
        archive = Archive.open(dsbench.run(url, out=tmp_path / url.rpartition("?")[2], **options).path)
        (answer,) = [one for one in checklist(archive.run, evaluate(archive)) if "Was it tested" in one.question]
        assert answer.verdict == verdict
        assert said["verdict"] in answer.answer
        assert ("synchronous was full, is now off" in answer.answer) == ("off" in url)


def test_a_check_elsewhere_and_flushes_that_were_none_are_doubts_of_the_run() -> None:
    said = {**dict.fromkeys(("version", "settings", "at", "dsbench", "verdict"), ""), "host": "there", "holds": True}
    flushes, evaluation = {"suspicion": "tmpfs is in memory: nothing is ever flushed"}, sample.evaluation(scales=(1,))
    for host, more, doubt in (
        ("there", {}, ""), ("", {}, ""), ("here", {}, "checked on the machine there"), ("there", {"flushes": flushes}, "in memory"),
    ):  # fmt: skip
        kept = surroundings.compare_checked({**said, "durability": None, **more}, "", (), host)
        (answer,) = [one for one in checklist(sample.run(promised=kept), evaluation) if "Was it tested" in one.question]
        assert answer.verdict == ("beware" if doubt else "good")
        assert doubt in answer.answer


def test_a_loss_is_a_failure(called: Program) -> None:
    url = "private:sqlite?synchronous=off"
    done = called("check", url, "--durability", "--rounds", "1", "--storage", "forgetful", "--json")
    assert done.returncode == 1
    said = json.loads(done.stdout)
    assert said["holds"] is False
    assert said["durability"]["lost"] > 0
    assert "FAILED: durability: " in said["verdict"]
    assert "error: the target failed the test" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--rounds", "3"], "--rounds: it needs --promises, --durability or --isolation"),
        (["--durability", "--scale", "3"], "--scale: --promises uses its own tables"),
        (["--durability", "--storage", "wet"], "--storage: no storage called 'wet'"),
    ],
)
def test_what_does_not_fit_together_is_refused(called: Program, arguments: list[str], problem: str) -> None:
    done = called("check", "private:sqlite", *arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def test_a_file_that_no_check_wrote_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    known = dict.fromkeys(("version", "settings", "at", "host", "dsbench", "holds", "verdict"), "")
    in_part = json.dumps({**known, "durability": {"storage": "plain"}})
    for text, problem in (("{}", "is not the result of a check"), (in_part, "is not the result of a check"), ("[", "cannot be read")):
        file.write_text(text)
        with pytest.raises(SpecError, match=problem):
            dsbench.run("mock:", scales=(1,), cycles=1, duration=0.1, clients=1, checked=str(file), out=tmp_path)
