"""Conditions that were not made are told apart from those that hold, by the same numbers everywhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.archive import ArchiveError, RunRecord
from dsbench.archive.conditions import Condition, State, say_conditions, state_of
from dsbench.measure.loaders import TargetDatabase
from fixtures.program import Program, described, only_archive

HOLDS, BROKEN, NOT_MADE = (Condition(name=state, state=state, detail=f"{state}!") for state in State)
OPEN = {
    "history sum = sum of the clients", "remote rows of the history = those of the clients",
    "sum of accounts' numbers in the history = that of the clients",
}  # fmt: skip
"""Of TPC-B, what a commit of unknown end leaves open."""
LITTLE = ("--scales", "1", "--cycles", "1", "--duration", "0.3", "--clients", "1", "--quiet")


@pytest.mark.parametrize(
    ("found", "state", "words"),
    [
        ([], State.NOT_MADE, "not checked"),
        ([HOLDS], State.HOLDS, "the condition holds"),
        ([HOLDS, HOLDS], State.HOLDS, "all 2 conditions hold"),
        ([HOLDS, BROKEN], State.BROKEN, "1 of 2 conditions hold, 1 is broken"),
        ([NOT_MADE, NOT_MADE], State.NOT_MADE, "nothing was checked: not made!"),
        ([HOLDS, NOT_MADE], State.NOT_MADE, "1 of 2 conditions hold, 1 was not made: not made!"),
        ([BROKEN, NOT_MADE, NOT_MADE], State.BROKEN, "0 of 3 conditions hold, 1 is broken, 2 were not made: not made!"),
    ],
)
def test_all_hold_only_where_all_were_made(found: list[Condition], state: State, words: str) -> None:
    assert (state_of(found), say_conditions(found)) == (state, words)


def test_reasons_are_told_once_each_and_not_without_end() -> None:
    found = [Condition(name="a", detail=why) for why in ("one", "two", "one", "three")]
    assert say_conditions(found) == "nothing was checked: one; two; and 1 more reason"


def test_a_record_with_another_state_is_refused() -> None:
    with pytest.raises(ArchiveError, match=r"checks\.1\.0\.state"):
        RunRecord.of({"checks": {"1": [{"name": "sums", "state": "perhaps"}]}})


@pytest.fixture(params=["postgresql", "sqlite"])
def lost(request: pytest.FixtureRequest, tmp_path: Path, called: Program) -> Iterator[str]:
    """The URL of a kept database on which the end of one commit is unknown: it took place."""
    server: servers.Server | None = request.getfixturevalue("postgresql") if request.param == "postgresql" else None
    url = server.url if server is not None else f"sqlite:///{tmp_path}/file.db"
    assert called("run", url, *LITTLE, "--out", "first", "--keep").returncode == 0
    with closing(TargetDatabase(url)) as target:
        mark = json.loads(target.state()[1])
        mark["kept"]["committed"][0] -= 1
        mark["kept"]["unknown"][0] += 1
        target.remark(json.dumps(mark))
    yield url
    assert called("drop", url, "--yes").returncode == 0


def test_a_commit_of_unknown_end_leaves_conditions_open(lost: str, called: Program, tmp_path: Path) -> None:
    checked = called("check", lost)
    assert checked.returncode == 0, checked.stderr
    assert set(re.findall(r"^not made  (.*): connections were lost in commits", checked.stdout, re.MULTILINE)) == OPEN
    assert "hint: look at the errors" in checked.stdout
    told = json.loads(called("check", lost, "--json").stdout)
    assert {one["name"] for one in told if one["state"] == "not made"} == OPEN
    done = called("run", lost, *LITTLE, "--reuse", "--out", "out")
    assert done.returncode == 0, done.stderr
    archive = only_archive(tmp_path / "out")
    conditions = [Condition.model_validate(one) for one in described(archive)["checks"]["1"]]
    assert {one.name for one in conditions if one.state is State.NOT_MADE} == OPEN
    words = f"{len(conditions) - 3} of {len(conditions)} conditions hold, 3 were not made: connections were lost"
    assert f"scale 1: {words}" in (archive / "results.log").read_text()
    screen = " ".join(done.stdout.split())
    assert words in screen
    assert "NOT CHECKED: connections were lost in commits" in screen
    assert words in called("show", str(archive), "--by", "checks").stdout
    assert words in called("show", str(archive), "--by", "checklist").stdout
    assert words in (archive / "report.html").read_text()
    doubts = json.loads(called("show", str(archive), "--json").stdout)["doubts"]
    assert [one["message"].split(":")[0] for one in doubts if one["code"] == "not-made"] == [
        f"3 of {len(conditions)} conditions were not made"
    ]
    compared = called("compare", str(archive), str(archive), "--json").stdout
    assert f"{len(conditions) - 3} of {len(conditions)} hold" in compared
