"""What is believed of a server is read around the cycles as well, and what changed meanwhile is told."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import execute
from dsbench.measure.stack.described import Database
from dsbench.measure.twice import find_changes
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.clients import ClientsResult
from dsbench.spec import Target, merged
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

HERE = Database(
    version="PostgreSQL 15", identity={"start of the server": "10:00", "timeline": "1"}, settings={"work_mem": "4MB"},
    durability=[{"switch": "fsync", "value": "on", "safe": True, "meaning": "flushed"}],
)  # fmt: skip


def test_what_stays_is_not_told() -> None:
    assert list(find_changes(HERE, replace(HERE))) == []
    assert list(find_changes(HERE, Database())) == [], "a server that does not tell has not changed"


def test_the_server_its_promises_and_its_settings_are_told_in_turn() -> None:
    off = {"switch": "fsync", "value": "off", "safe": False, "meaning": "a power cut loses commits"}
    after = replace(HERE, identity={"start of the server": "10:07", "timeline": "2"}, settings={}, durability=[off])
    assert list(find_changes(HERE, after)) == [
        "start of the server was 10:00, and is 10:07", "timeline was 1, and is 2",
        "fsync was on, and is off: a power cut loses commits", "work_mem was 4MB, and is its default",
    ]  # fmt: skip


class Meddler(Silent):
    """Runs statements beside the run, once its first cycle is under way."""

    def __init__(self, url: str, *statements: str) -> None:
        self._url, self._statements = url, statements

    def moment(self, moment: Moment) -> None:
        if self._statements and moment.phase == "cycle":
            with closing(TargetDatabase(self._url, existing=True)) as target:
                for text in self._statements:
                    target.fetch(text)
            self._statements = ()


CHANGES = {
    "postgresql": (
        ("ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()"),
        "synchronous_commit was on, and is off: a commit is reported before it is flushed",
    ),
    "mariadb": (
        ("SET GLOBAL innodb_flush_log_at_trx_commit = 0",), "innodb_flush_log_at_trx_commit was 1, and is 0: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("product", mostly_thorough(CHANGES, "postgresql"))
@pytest.mark.parametrize("meddles", mostly_thorough([True, False], True), ids=["changed", "left alone"])
@unless_stalled
def test_a_promise_that_is_given_up_during_the_cycles_is_told(product: str, meddles: bool, tmp_path: Path) -> None:
    asked, words = CHANGES[product]
    with servers.start(Target(url=f"private:{product}"), 10) as server:
        values = {"scales": (1,), "cycles": 2, "duration": 0.3, "clients": 1, "placement": "free"}
        meddler = Meddler(server.url, *(asked if meddles else ()))
        made = execute(merged(values, target=server.url).spec, tmp_path / "out", meddler)
    run = Archive.open(made.archive).run
    told = [one.message for one in run.warnings if one.code == "server-changed"]
    if not meddles:
        assert told == []
        return
    assert len(told) == 1
    assert words in told[0]
    given_up = words.partition(" ")[0]
    assert given_up in [one.switch for one in run.unsafe]


@unless_stalled
def test_transactions_of_somebody_else_are_told(tmp_path: Path) -> None:
    with servers.start(Target(url="private:postgresql", settings={"fsync": "off"}), 10) as server:
        values = {"scales": (1,), "cycles": 2, "duration": 2.0, "clients": 2, "placement": "free", "samples": 0}
        meddler = Meddler(server.url, *["SELECT 1"] * 3000)
        made = execute(merged(values, target=server.url).spec, tmp_path / "out", meddler)
    first, second = evaluate(Archive.open(made.archive)).of(ClientsResult).both_counts[1]
    assert first.foreign > 2000
    assert (first.lacking, second.foreign, second.lacking) == (0, 0, 0)
