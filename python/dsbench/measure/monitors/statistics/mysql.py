"""MariaDB and MySQL: sizes of the tables; what InnoDB says of its pages, change buffer, logs, locks and old rows, and
MyRocks of its compactions, stalls and levels."""

from __future__ import annotations

from collections.abc import Mapping

from dsbench.measure.monitors.monitor import Queries
from dsbench.measure.monitors.statistics.figure import Figure, asked, figures

_TABLES = (
    "select table_name as object, data_length as table_size, index_length as index_size, data_free as free_size,"
    " table_rows as estimated_rows from information_schema.tables"
    " where binary table_schema = 'dsbench' and table_type = 'BASE TABLE' order by table_name"
)
_TABLE_UNITS = {"table_size": "bytes", "index_size": "bytes", "free_size": "bytes", "estimated_rows": "rows"}

_STATUS_UNITS = {
    "Innodb_buffer_pool_pages_data": "pages", "Innodb_buffer_pool_pages_dirty": "pages",
    "Innodb_buffer_pool_read_requests": "pages", "Innodb_buffer_pool_reads": "pages",
    "Innodb_buffer_pool_wait_free": "count", "Innodb_pages_created": "pages", "Innodb_pages_read": "pages",
    "Innodb_pages_written": "pages", "Innodb_dblwr_pages_written": "pages", "Innodb_data_read": "bytes",
    "Innodb_data_fsyncs": "count", "Innodb_data_written": "bytes", "Innodb_os_log_written": "bytes",
    "Innodb_log_waits": "count", "Innodb_row_lock_waits": "count", "Innodb_row_lock_time": "ms",
    "Innodb_row_lock_time_max": "ms", "Innodb_deadlocks": "count", "Innodb_history_list_length": "transactions",
    "Innodb_checkpoint_age": "bytes", "Innodb_ibuf_merges": "count", "Innodb_ibuf_merged_inserts": "count",
    "Innodb_ibuf_merged_delete_marks": "count", "Innodb_ibuf_merged_deletes": "count",
    "Rocksdb_compact_read_bytes": "bytes", "Rocksdb_compact_write_bytes": "bytes", "Rocksdb_flush_write_bytes": "bytes",
    "Rocksdb_wal_bytes": "bytes", "Rocksdb_stall_micros": "µs", "Rocksdb_stall_total_slowdowns": "count",
    "Rocksdb_stall_total_stops": "count", "Rocksdb_block_cache_hit": "blocks", "Rocksdb_block_cache_miss": "blocks",
    "Rocksdb_bloom_filter_useful": "count", "Rocksdb_bloom_filter_prefix_useful": "count",
}  # fmt: skip
"""By status variable. The change buffer (``ibuf``) holds changes to pages of indexes that are not in memory."""

_METRICS = {
    "trx_rseg_history_len": "Innodb_history_list_length", "log_lsn_checkpoint_age": "Innodb_checkpoint_age",
    "ibuf_merges": "Innodb_ibuf_merges", "ibuf_merges_insert": "Innodb_ibuf_merged_inserts",
    "ibuf_merges_delete_mark": "Innodb_ibuf_merged_delete_marks", "ibuf_merges_delete": "Innodb_ibuf_merged_deletes",
    "lock_deadlocks": "Innodb_deadlocks",
}  # fmt: skip
"""Counters that MySQL keeps in a table of InnoDB, which needs the right PROCESS, to MariaDB's status variables."""

_LEVELS = (
    "select concat(cf_name, ' ', level) as object, max(case type when 'SizeBytes' then value end) as level_size,"
    " max(case type when 'NumFiles' then value end) as files,"
    " max(case type when 'CompSec' then value end) as compaction_time,"
    " max(case type when 'WriteAmp' then value end) as write_amplification"
    " from information_schema.rocksdb_compaction_stats where level <> 'Int' group by cf_name, level"
    " having files > 0 or compaction_time > 0 order by cf_name, level"
)
_LEVEL_UNITS = {"level_size": "bytes", "files": "files", "compaction_time": "s", "write_amplification": "ratio"}


def take(queries: Queries) -> list[Figure]:
    """The figures now, of dsbench's tables and of the storage engines; rows are an estimate of the server's."""
    status: dict[str, str | None] = {}
    for engine in ("Innodb", "Rocksdb"):
        rows = queries.fetch(f"show global status like '{engine}%'")
        status |= {row["Variable_name"] or "": row["Value"] for row in rows}
    found = asked(queries, _TABLES, _TABLE_UNITS) + figures("", {**_of_mysql(queries, status), **status}, _STATUS_UNITS)
    return found + (asked(queries, _LEVELS, _LEVEL_UNITS) if "Rocksdb_compact_write_bytes" in status else [])


def _of_mysql(queries: Queries, status: Mapping[str, str | None]) -> dict[str, str | None]:
    """What MariaDB has among its status variables, by their names; empty there, and where the login may not see it."""
    if "Innodb_checkpoint_age" in status:
        return {}
    listed = ", ".join(f"'{name}'" for name in _METRICS)
    query = f"select name as metric, count as value from information_schema.innodb_metrics where name in ({listed})"
    try:
        return {_METRICS[row["metric"] or ""]: row["value"] for row in queries.fetch(f"{query} and status = 'enabled'")}
    except Exception:  # no right PROCESS: the others are told all the same
        return {}
