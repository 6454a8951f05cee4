"""PostgreSQL: rows, dead rows, sizes and bloat of the tables, vacuums, what background processes and the log wrote."""

from __future__ import annotations

import time

from dsbench.measure.monitors.monitor import Queries
from dsbench.measure.monitors.statistics.figure import Figure, asked

_TABLES = (
    "select relname as object, n_live_tup as live_rows, n_dead_tup as dead_rows, n_tup_ins as inserted_rows,"
    " n_tup_upd as updated_rows, n_tup_hot_upd as updated_in_page_rows, n_tup_del as deleted_rows,"
    " seq_scan as sequential_scans, idx_scan as index_scans, vacuum_count as vacuums, autovacuum_count as autovacuums,"
    " pg_catalog.pg_table_size(relid) as table_size, pg_catalog.pg_indexes_size(relid) as index_size"
    " from pg_catalog.pg_stat_user_tables where schemaname = 'dsbench' order by relname"
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
    " where n.nspname = 'dsbench' and c.relkind = 'r' and c.reltuples > 0 order by c.relname"
)
_BLOAT_UNITS = {"bloat": "ratio"}
_WAL = "select wal_records, wal_fpi as wal_full_pages, wal_bytes, wal_buffers_full from pg_catalog.pg_stat_wal"
_WAL_UNITS = {
    "wal_records": "records", "wal_full_pages": "pages", "wal_bytes": "bytes", "wal_buffers_full": "count",
}  # fmt: skip

_WRITER = (
    "select buffers_clean as pages_cleaned, maxwritten_clean as cleanings_stopped, buffers_alloc as pages_allocated"
    " from pg_catalog.pg_stat_bgwriter"
)
_CHECKPOINTS = (
    "select num_timed as checkpoints_timed, num_requested as checkpoints_requested,"
    " buffers_written as pages_by_checkpoints from pg_catalog.pg_stat_checkpointer"
)
_CHECKPOINTS_BEFORE_17 = (
    "select checkpoints_timed, checkpoints_req as checkpoints_requested,"
    " buffers_checkpoint as pages_by_checkpoints, buffers_backend as pages_by_sessions"
    " from pg_catalog.pg_stat_bgwriter"
)
_SERVER_UNITS = {
    "pages_cleaned": "pages", "cleanings_stopped": "count", "pages_allocated": "pages", "checkpoints_timed": "count",
    "checkpoints_requested": "count", "pages_by_checkpoints": "pages", "pages_by_sessions": "pages",
}  # fmt: skip


def take(queries: Queries) -> list[Figure]:
    """The figures, a second after whatever was done last: sessions report that late."""
    time.sleep(1.0)
    version = int(queries.fetch("select current_setting('server_version_num') as number")[0]["number"] or 0)
    checkpoints = _CHECKPOINTS if version >= 170_000 else _CHECKPOINTS_BEFORE_17
    parts = [(_TABLES, _TABLE_UNITS), (_BLOAT, _BLOAT_UNITS), (_WRITER, _SERVER_UNITS), (checkpoints, _SERVER_UNITS)]
    parts += [(_WAL, _WAL_UNITS)] if version >= 140_000 else []
    return [figure for sql, units in parts for figure in asked(queries, sql, units)]
