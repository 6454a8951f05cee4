"""PostgreSQL's own counters, of the database under test and of the whole server, and its statistics: rows, dead rows,
sizes and bloat of the tables, vacuums, what background processes and the log wrote."""

from __future__ import annotations

import time

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.monitor import Figure, Queries, Value, fetch_figures


@dataclass(frozen=True)
class _Part:
    """Counters that are read together: those a login may not see are left out together."""

    what: str
    query: str
    units: dict[str, str]


_DATABASE = _Part(
    "counters of the database",
    "select blks_hit as blocks_hit, blks_read as blocks_read, xact_commit as commits, xact_rollback as rollbacks,"
    " tup_returned as tuples_returned, tup_fetched as tuples_fetched, tup_inserted as tuples_inserted,"
    " tup_updated as tuples_updated, tup_deleted as tuples_deleted, temp_bytes, deadlocks"
    " from pg_catalog.pg_stat_database where datname = pg_catalog.current_database()",
    {
        **dict.fromkeys(
            ("blocks_hit", "blocks_read", "commits", "rollbacks", "tuples_returned", "tuples_fetched",
             "tuples_inserted", "tuples_updated", "tuples_deleted", "deadlocks"),
            "count total",
        ),
        "temp_bytes": "bytes total",
    },
)  # fmt: skip

# The position in the log rather than pg_stat_wal: it is exact at once, in every version.
_WAL = _Part(
    "the position of the write-ahead log",
    "select pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0') as wal_bytes",
    {"wal_bytes": "bytes total"},
)

_CHECKPOINT_UNITS = {"checkpoints_timed": "count total", "checkpoints_requested": "count total"}
_CHECKPOINTS = _Part(
    "counters of checkpoints",
    "select num_timed as checkpoints_timed, num_requested as checkpoints_requested"
    " from pg_catalog.pg_stat_checkpointer",
    _CHECKPOINT_UNITS,
)
_CHECKPOINTS_BEFORE_17 = _Part(
    "counters of checkpoints",
    "select checkpoints_timed, checkpoints_req as checkpoints_requested from pg_catalog.pg_stat_bgwriter",
    _CHECKPOINT_UNITS,
)

_COPY = "select pg_catalog.pg_is_in_recovery()::int as number"
_OTHER_SESSIONS = (
    "select pg_catalog.count(*) as number from pg_catalog.pg_stat_activity"
    " where datname = pg_catalog.current_database() and usename = current_user"
    " and pid <> pg_catalog.pg_backend_pid()"
)


class Postgres:
    """Counters of a PostgreSQL server, read through the administrative session.

    A session reports what it did at most once per second, and the rest when it ends: see ``settle``.
    """

    name = "server"
    lag_ns = 1_000_000_000

    def __init__(self, queries: Queries) -> None:
        self.notes: list[str] = []
        self._queries = queries
        version = self._number("select pg_catalog.current_setting('server_version_num') as number")
        # Until version 14 a separate process gathered the counters and published them every half second.
        self._gathered_late = version < 150_000
        checkpoints = _CHECKPOINTS if version >= 170_000 else _CHECKPOINTS_BEFORE_17
        # A copy writes no log of its own.
        parts = (_DATABASE, checkpoints) if version and self._number(_COPY) else (_DATABASE, _WAL, checkpoints)
        self._parts = [part for part in parts if version and self._readable(part)]
        self._sessions_before = self._number(_OTHER_SESSIONS) if version else 0

    def _number(self, query: str) -> int:
        """One whole number; 0, with a note, when it cannot be had."""
        try:
            return int(self._row(query)["number"] or 0)
        except Exception as error:  # as in ``_readable``
            self.notes.append(f"{query!r} fails: {error}")
            return 0

    def _readable(self, part: _Part) -> bool:
        try:
            self._row(part.query)
        except Exception as error:  # no right, no such view, a product that only resembles PostgreSQL
            self.notes.append(f"{part.what} cannot be read: {error}")
            return False
        return True

    def sample(self) -> list[Value]:
        """The counters since the server's statistics were reset, in one query."""
        if not self._parts:
            return []
        joined = ", ".join(f"({part.query}) p{number}" for number, part in enumerate(self._parts))
        row = self._row(f"select * from {joined}")
        units = {metric: unit for part in self._parts for metric, unit in part.units.items()}
        return [(metric, unit, float(row[metric] or 0)) for metric, unit in units.items()]

    def settle(self) -> None:
        """Waits until the sessions of the load have ended and reported, a second at most."""
        deadline = time.monotonic() + 1.0
        while self._number(_OTHER_SESSIONS) > self._sessions_before and time.monotonic() < deadline:
            time.sleep(0.02)
        if self._gathered_late:
            time.sleep(0.6)

    def _row(self, sql: str) -> dict[str, str | None]:
        rows = self._queries.fetch(sql)
        if not rows:
            raise LookupError("the server returned no row")
        return rows[0]


_STANDBYS = (
    "select coalesce(nullif(application_name, ''), client_addr::text, '') as name, pid,"
    " extract(epoch from replay_lag) * 1e9 as lag_ns,"
    " pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), replay_lsn) as behind"
    " from pg_catalog.pg_stat_replication where state in ('streaming', 'catchup') and replay_lsn is not null"
    " and pid not in (select active_pid from pg_catalog.pg_replication_slots"
    " where slot_type = 'logical' and active_pid is not null) order by name, pid"
)


class Standbys:
    """How far the standbys of a primary are behind, as they told it: a metric for each, in bytes of log and in time."""

    name = "replication"

    def __init__(self, queries: Queries) -> None:
        self.notes: list[str] = []
        self._queries = queries

    @classmethod
    def of(cls, queries: Queries) -> Standbys | None:
        """``None`` where the server has none, or does not tell."""
        found = cls(queries)
        try:
            return found if found.sample() else None
        except Exception:  # a standby itself, or a product that only resembles PostgreSQL
            return None

    def sample(self) -> list[Value]:
        found: list[Value] = []
        rows = self._queries.fetch(_STANDBYS)
        names = [row["name"] for row in rows]
        for row in rows:
            name = f"{row['name']} {row['pid']}".strip() if names.count(row["name"]) > 1 else str(row["name"])
            behind = float(row["behind"] or 0)
            found.append((name, "bytes", behind))
            # It is not known before the first answer, and after some seconds in which all is there.
            if row["lag_ns"] is not None or not behind:
                found.append((name, "ns", float(row["lag_ns"] or 0)))
        return found


_TABLES = (
    "select relname as object, n_live_tup as live_rows, n_dead_tup as dead_rows, n_tup_ins as inserted_rows,"
    " n_tup_upd as updated_rows, n_tup_hot_upd as updated_in_page_rows, n_tup_del as deleted_rows,"
    " seq_scan as sequential_scans, idx_scan as index_scans, vacuum_count as vacuums, autovacuum_count as autovacuums,"
    " pg_catalog.pg_table_size(relid) as table_size, pg_catalog.pg_indexes_size(relid) as index_size"
    " from pg_catalog.pg_stat_user_tables where schemaname = 'dsbench' and left(relname, 8) <> 'dsbench_'"
    " order by relname"
)
_TABLE_UNITS = {
    "live_rows": "rows", "dead_rows": "rows", "inserted_rows": "rows", "updated_rows": "rows",
    "updated_in_page_rows": "rows", "deleted_rows": "rows", "sequential_scans": "scans", "index_scans": "scans",
    "vacuums": "count", "autovacuums": "count", "table_size": "bytes", "index_size": "bytes",
}  # fmt: skip

# Pages by those that the rows would fill which the last ANALYZE estimated: 24 bytes of a page and 28 of a row are for
# the server's own use (PostgreSQL 15, 73.6), and rows begin at multiples of 8 bytes.
_BLOAT = (
    "select c.relname as object, c.relpages / nullif(ceil(c.reltuples * (28 + ceil(s.width / 8) * 8)"
    " / (pg_catalog.current_setting('block_size')::int - 24)), 0) as bloat from pg_catalog.pg_class c"
    " join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " join (select tablename, sum((1 - null_frac) * avg_width) as width from pg_catalog.pg_stats"
    " where schemaname = 'dsbench' group by tablename) s on s.tablename = c.relname"
    " where n.nspname = 'dsbench' and c.relkind = 'r' and c.reltuples > 0 and left(c.relname, 8) <> 'dsbench_'"
    " order by c.relname"
)
_BLOAT_UNITS = {"bloat": "ratio"}
_WAL_QUERY = "select wal_records, wal_fpi as wal_full_pages, wal_bytes, wal_buffers_full from pg_catalog.pg_stat_wal"
_WAL_UNITS = {
    "wal_records": "records", "wal_full_pages": "pages", "wal_bytes": "bytes", "wal_buffers_full": "count",
}  # fmt: skip

_WRITER = (
    "select buffers_clean as pages_cleaned, maxwritten_clean as cleanings_stopped, buffers_alloc as pages_allocated"
    " from pg_catalog.pg_stat_bgwriter"
)
_CHECKPOINTS_QUERY = (
    "select num_timed as checkpoints_timed, num_requested as checkpoints_requested,"
    " buffers_written as pages_by_checkpoints from pg_catalog.pg_stat_checkpointer"
)
_CHECKPOINTS_QUERY_BEFORE_17 = (
    "select checkpoints_timed, checkpoints_req as checkpoints_requested,"
    " buffers_checkpoint as pages_by_checkpoints, buffers_backend as pages_by_sessions"
    " from pg_catalog.pg_stat_bgwriter"
)
_SERVER_UNITS = {
    "pages_cleaned": "pages", "cleanings_stopped": "count", "pages_allocated": "pages", "checkpoints_timed": "count",
    "checkpoints_requested": "count", "pages_by_checkpoints": "pages", "pages_by_sessions": "pages",
}  # fmt: skip


def take_statistics(queries: Queries) -> list[Figure]:
    """The figures, a second after whatever was done last: sessions report that late."""
    time.sleep(1.0)
    version = int(queries.fetch("select current_setting('server_version_num') as number")[0]["number"] or 0)
    checkpoints = _CHECKPOINTS_QUERY if version >= 170_000 else _CHECKPOINTS_QUERY_BEFORE_17
    parts = [(_TABLES, _TABLE_UNITS), (_BLOAT, _BLOAT_UNITS), (_WRITER, _SERVER_UNITS), (checkpoints, _SERVER_UNITS)]
    parts += [(_WAL_QUERY, _WAL_UNITS)] if version >= 140_000 else []
    return [figure for sql, units in parts for figure in fetch_figures(queries, sql, units)]
