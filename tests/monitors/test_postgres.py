"""Counters of a real PostgreSQL server."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from dsbench.measure.monitors import Lagging, Sampler, monitors_for
from dsbench.measure.monitors.postgres import Postgres
from dsbench.servers import Server
from dsbench.servers.postgresql import binaries
from fixtures.psql import Psql
from fixtures.stalled import unless_stalled

_COUNTS = {
    "blocks_hit", "blocks_read", "commits", "rollbacks", "tuples_returned", "tuples_fetched", "tuples_inserted",
    "tuples_updated", "tuples_deleted", "deadlocks", "checkpoints_timed", "checkpoints_requested",
}  # fmt: skip


def _psql(server: Server, *commands: str) -> None:
    program = str(binaries.find(None).program("psql"))
    arguments = [part for command in commands for part in ("-c", command)]
    subprocess.run([program, server.url, "-Xq", *arguments], check=True, timeout=60, stdout=subprocess.DEVNULL)


def _last(rows: list[dict[str, object]], metric: str) -> float:
    values = [float(str(row["value"])) for row in rows if row["metric"] == metric]
    return values[-1] - values[0]


def test_names_and_units_are_those_of_the_archive(queries: Psql) -> None:
    monitor = Postgres(queries)
    units = {metric: unit for metric, unit, _ in monitor.sample()}
    assert units == {**dict.fromkeys(_COUNTS, "count total"), "wal_bytes": "bytes total", "temp_bytes": "bytes total"}
    assert monitor.notes == []
    assert isinstance(monitor, Lagging)


@unless_stalled
def test_a_cycle_counts_all_that_its_sessions_did(server: Server, queries: Psql) -> None:
    _psql(server, "create table if not exists filled (n int)")
    beside = Sampler([Postgres(queries)])
    beside.start(time.monotonic_ns())
    _psql(server, "insert into filled select generate_series(1, 5000)", "checkpoint", *["select 1"] * 20)
    rows = beside.stop()
    assert beside.notes == []
    assert _last(rows, "tuples_inserted") == 5000
    assert _last(rows, "commits") >= 22
    assert _last(rows, "checkpoints_requested") == 1
    assert _last(rows, "rollbacks") == 0
    # 5000 rows of some 50 bytes in the log, and little else.
    assert 5000 * 40 < _last(rows, "wal_bytes") < 5_000_000


def test_what_a_login_may_not_see_is_left_out_and_told(server: Server) -> None:
    _psql(
        server, "drop role if exists curious", "create role curious login",
        "revoke execute on function pg_current_wal_insert_lsn() from public",
    )  # fmt: skip
    curious = Psql.open(server.url.replace("postgres@", "curious@"))
    try:
        monitor = Postgres(curious)
        assert {metric for metric, _, _ in monitor.sample()} == _COUNTS | {"temp_bytes"}
        assert len(monitor.notes) == 1
        assert "write-ahead log" in monitor.notes[0]
        assert "permission denied" in monitor.notes[0]
    finally:
        curious.close()
        _psql(server, "grant execute on function pg_current_wal_insert_lsn() to public", "drop role curious")


class Gone:
    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        raise ConnectionError("the server is gone")


def test_a_server_that_is_gone_is_noted_not_raised(tmp_path: Path) -> None:
    monitors = monitors_for("postgres", [tmp_path], Gone())
    server = next(m for m in monitors if m.name == "server")
    assert server.sample() == []
    assert "the server is gone" in server.notes[0]


class Answers:
    """A server of another version: gives one row with every column it is asked for."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.asked: list[str] = []

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        self.asked.append(sql)
        number = self.version if "server_version_num" in sql else "0"
        return [{"number": number, **dict.fromkeys(_COUNTS | {"wal_bytes", "temp_bytes"}, "7")}]


def test_checkpoints_moved_with_version_17() -> None:
    for version, view in (("160004", "pg_stat_bgwriter"), ("170000", "pg_stat_checkpointer")):
        answers = Answers(version)
        monitor = Postgres(answers)
        assert {value for _, _, value in monitor.sample()} == {7.0}
        assert view in answers.asked[-1]


def test_it_works_while_it_is_sampled_by_the_second(queries: Psql) -> None:
    beside = Sampler([Postgres(queries)])
    origin = time.monotonic_ns()
    beside.start(origin)
    while time.monotonic_ns() - origin < 2_100_000_000:
        time.sleep(0.05)
    rows = beside.stop()
    positions = [row["value"] for row in rows if row["metric"] == "wal_bytes"]
    assert len(positions) >= 3
    assert positions == sorted(positions)
