"""What databases say of themselves, read from real servers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.measure.loaders import IN_DATABASE, TargetDatabase
from dsbench.measure.moments import Silent
from dsbench.measure.monitors import statistics_of
from dsbench.measure.monitors.firebird import parse_gstat
from dsbench.measure.monitors.monitor import figures
from dsbench.measure.run import execute
from dsbench.read.blocks import Table
from dsbench.read.draw.statistics import statistics
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.statistics import StatisticsResult
from dsbench.spec import Target, build
from fixtures.kept import warned
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough


@dataclass
class Answering:
    """Answers every query with one row."""

    row: dict[str, str | None]
    asked: list[str] = field(default_factory=list)

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        self.asked.append(sql)
        return [self.row]


def test_only_numbers_with_a_unit_become_figures() -> None:
    row = {"size": "12", "name": "x", "empty": None, "ratio": "0.5", "other": "3"}
    units = {"size": "bytes", "name": "text", "empty": "rows", "ratio": "share", "absent": "rows"}
    assert figures("t", row, units) == [("t", "size", "bytes", 12.0), ("t", "ratio", "share", 0.5)]


def test_an_engine_without_statistics_has_none() -> None:
    assert statistics_of("mock", Answering({})) is None


def test_firebird_reads_the_header_first_and_takes_what_is_there() -> None:
    queries = Answering({"oldest_interesting": "7", "next_transaction": "12", "page_writes": "5", "row_waits": None})
    statistics = statistics_of("firebird", queries)
    assert statistics is not None
    found = {(name, unit): value for _, name, unit, value in statistics.take()}
    assert "mon$database" in queries.asked[0]
    assert found == {
        ("oldest_interesting", "transaction"): 7, ("next_transaction", "transaction"): 12, ("page_writes", "pages"): 5,
    }  # fmt: skip


GSTAT = """
ACCOUNT (131)
    Primary pointer page: 190, Index root page: 191
    Average record length: 63.40, total records: 100000
    Average version length: 9.50, total versions: 12, max versions: 3
    Average fragment length: 0.00, total fragments: 0, max fragments: 0
    Data pages: 1923, average fill: 71%
    Fill distribution:
\t 0 - 19% = 0
\t80 - 99% = 54

    Index ACCOUNT_KEY (0)
\tRoot page: 1979, depth: 2, leaf buckets: 67, nodes: 100000
\tAverage node length: 5.38, total dup: 4, max dup: 1
\tClustering factor: 2314, ratio: 0.02
\tFill distribution:
\t     0 - 19% = 0
\t    60 - 79% = 10
\t    80 - 99% = 30

DSBENCH_MARK (128)
    Average record length: 584.00, total records: 1
"""


def test_gstat_is_read_by_table_and_index() -> None:
    """Ten pages between 60 and 80% and thirty between 80 and 100%: 85% on average."""
    found = {(of, name): value for of, name, _, value in parse_gstat(GSTAT)}
    assert found == {
        ("ACCOUNT", "records"): 100_000, ("ACCOUNT", "versions"): 12, ("ACCOUNT", "max_versions"): 3,
        ("ACCOUNT", "fragments"): 0, ("ACCOUNT", "record_length"): 63.4, ("ACCOUNT", "data_pages"): 1923,
        ("ACCOUNT", "fill"): 71, ("ACCOUNT.ACCOUNT_KEY", "depth"): 2, ("ACCOUNT.ACCOUNT_KEY", "leaf_buckets"): 67,
        ("ACCOUNT.ACCOUNT_KEY", "nodes"): 100_000, ("ACCOUNT.ACCOUNT_KEY", "duplicates"): 4,
        ("ACCOUNT.ACCOUNT_KEY", "clustering_factor"): 2314, ("ACCOUNT.ACCOUNT_KEY", "fill"): 85,
    }  # fmt: skip
    assert parse_gstat("") == []


@pytest.mark.thorough
def test_a_run_on_firebird_has_gstat_before_and_after(tmp_path: Path) -> None:
    spec = build({"target": {"url": "private:firebird", "settings": {"forced_writes": "off"}}, "scales": (1,), "cycles": 1,
                  "duration": 0.3, "clients": 1, "seed": 3})  # fmt: skip
    outcome = execute(spec, tmp_path, Silent())
    archive = Archive.open(outcome.archive)
    changes = {(one.of, one.name): one for one in evaluate(archive).of(StatisticsResult).changes[1]}
    committed = changes["HISTORY", "records"]
    assert (committed.before, committed.after > 0) == (0, True)
    assert changes["ACCOUNT", "records"].after == 100_000
    # Of the whole database, not of one of its tables: each transaction updates three and inserts into a fourth.
    work = sum(archive.table("cycles").column(name).to_pylist()[0] for name in IN_DATABASE)
    rows = [row for row in archive.table("statistics").to_pylist() if row["object"] == "" and row["metric"] == "inserted_rows"]
    assert len(rows) == 2, "one before and one after"
    updated, inserted = changes["", "updated_rows"], changes["", "inserted_rows"]
    assert 3 * work <= updated.after - updated.before
    assert work <= inserted.after - inserted.before <= work + 100
    assert changes["ACCOUNT.ACCOUNT_KEY", "depth"].after >= 2
    assert 0 < changes["ACCOUNT.ACCOUNT_KEY", "fill"].before <= 100


@pytest.mark.parametrize("url", mostly_thorough(["private:postgresql", "private:mariadb"], "private:postgresql"))
@unless_stalled
def test_a_run_keeps_what_the_database_said_before_and_after(tmp_path: Path, url: str) -> None:
    spec = build({"target": {"url": url}, "scales": (1,), "cycles": 2, "duration": 0.4, "clients": 2, "seed": 3})
    outcome = execute(spec, tmp_path, Silent())
    assert outcome.status == "complete"
    archive = Archive.open(outcome.archive)
    rows = archive.table("statistics").to_pylist()
    assert {(row["scale"], row["moment"]) for row in rows} == {(1, "before"), (1, "after")}
    assert warned(archive) == []
    changes = {(change.of, change.name): change for change in evaluate(archive).of(StatisticsResult).changes[1]}
    committed = sum(archive.table("cycles").column("committed").to_pylist())
    table = changes[("history", "table_size")]
    assert table.after >= table.before >= 0
    assert {of for of, _ in changes} >= {"account", "branch", "history", "teller", ""}
    if url == "private:postgresql":
        gained = changes[("history", "inserted_rows")]
        late = sum(archive.table("cycles").column("commits_after_window").to_pylist())
        assert gained.after - gained.before == committed + late, "the second before the look lets sessions report"
        assert changes[("account", "updated_rows")].after > 0
        assert 0.9 < changes[("account", "bloat")].before < 1.3, "its pages are full after the population"
        assert changes[("", "wal_records")].after > changes[("", "wal_records")].before
    else:
        assert changes[("", "Innodb_checkpoint_age")].after > 0
        assert ("", "Innodb_ibuf_merges") in changes
        assert changes[("", "Innodb_os_log_written")].after > changes[("", "Innodb_os_log_written")].before


def test_myrocks_tells_of_its_levels() -> None:
    with servers.start(Target(url="private:mariadb", settings={"storage_engine": "RocksDB"}), 4) as server:
        target = TargetDatabase(server.url)
        target.create("mark")
        target.fetch("set global rocksdb_force_flush_memtable_now = 1")
        statistics = statistics_of("mysql", target)
        assert statistics is not None
        found = {(of, name): value for of, name, _, value in statistics.take()}
        target.drop()
        target.close()
    assert found["default L0", "files"] == 1
    assert found["default L0", "level_size"] == found["default Sum", "level_size"] > 0
    assert {("", "Rocksdb_stall_micros"), ("", "Rocksdb_compact_write_bytes")} <= set(found)


class Counting:
    """A database with one figure, which grows with each look."""

    looks = 0.0

    def take(self) -> list[tuple[str, str, str, float]]:
        self.looks += 1
        return [("", "looks", "count", self.looks)]


def test_each_load_stage_is_looked_at_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    monkeypatch.setattr("dsbench.measure.run.statistics_of", lambda *_: counting)
    target = {"url": "mock:?latency_us=300"}
    spec = build({"target": target, "workload": "rehearsal", "scales": (1,), "duration": 0.5, "clients": 1})
    outcome = execute(spec, tmp_path, Silent())
    found = evaluate(Archive.open(outcome.archive)).series
    looks = {key.stage: [(c.before, c.after) for c in part.of(StatisticsResult).changes[1]] for key, part in found.items()}
    assert looks == {"load": [(1, 2)], "query": [(3, 4)]}


def test_each_number_of_clients_is_looked_at_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = Counting()
    monkeypatch.setattr("dsbench.measure.run.statistics_of", lambda *_: counting)
    target = {"url": "mock:?latency_us=300"}
    spec = build({"target": target, "scales": (1, 2), "duration": 0.2, "cycles": 2, "clients": "1,3"})
    archive = Archive.open(execute(spec, tmp_path, Silent()).archive)
    found = evaluate(archive)
    looks = {key.clients: {scale: (one.before, one.after) for scale, (one,) in part.of(StatisticsResult).changes.items()}
             for key, part in found.series.items()}  # fmt: skip
    assert looks == {1: {1: (1, 2), 2: (5, 6)}, 3: {1: (3, 4), 2: (7, 8)}}
    # One look more from before the cycles to after them, for the transactions that the database has of them.
    drawn = statistics(found, archive.run)
    assert drawn is not None
    rows = {row["connections"]: row["value"] for row in drawn["datasets"]["statistics"]}
    kept = {key.clients: part.rows.load[2].kept for key, part in found.series.items()}
    assert rows == pytest.approx({clients: 1 / kept[clients] for clients in (1, 3)}, rel=1e-5)
    table = next(block for block in find_subject("statistics").tell(found) if isinstance(block, Table))
    assert [row[:2] for row in table.rows] == [(1, 1), (1, 2), (3, 1), (3, 2)]


class Refusing:
    """A database that lets nobody look."""

    def take(self) -> list[tuple[str, str, str, float]]:
        raise PermissionError("you may not")


def test_a_login_that_may_not_read_them_does_not_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsbench.measure.run.statistics_of", lambda *_: Refusing())
    spec = build({"target": {"url": "mock:"}, "scales": (1,), "cycles": 2, "duration": 0.2, "clients": 1})
    outcome = execute(spec, tmp_path, Silent())
    assert outcome.status == "complete"
    told = ("statistics", "the database's statistics cannot be read: you may not")
    assert warned(Archive.open(outcome.archive)) == [told]
