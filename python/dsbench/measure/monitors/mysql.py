"""Counters and statistics of a MariaDB or MySQL server: of the server itself, of InnoDB and of MyRocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.monitor import Figure, Queries, Value, fetch_figures, figures


@dataclass(frozen=True)
class _Metric:
    """A metric and the server's status variables that it is made of; it is there when one of ``sources`` is."""

    name: str
    unit: str
    sources: tuple[str, ...]
    """Added up: a server has several storage engines, and what one does not use stays 0."""
    less: str = ""
    """Taken away from the first source."""
    instead: tuple[str, ...] = ()
    """Added up where none of ``sources`` is there."""
    factor: float = 1.0


_COUNT, _BYTES = "count total", "bytes total"

_METRICS = (
    # Pages and blocks in memory and from the storage, as PostgreSQL counts its blocks.
    _Metric(
        "blocks_hit", _COUNT, ("Innodb_buffer_pool_read_requests", "Rocksdb_block_cache_hit"),
        less="Innodb_buffer_pool_reads",
    ),
    _Metric("blocks_read", _COUNT, ("Innodb_pages_read", "Rocksdb_block_cache_miss")),
    _Metric("blocks_written", _COUNT, ("Innodb_pages_written",)),
    _Metric("doublewrite_pages", _COUNT, ("Innodb_dblwr_pages_written",)),
    _Metric("data_read_bytes", _BYTES, ("Innodb_data_read",)),
    _Metric("data_written_bytes", _BYTES, ("Innodb_data_written",)),
    _Metric("data_syncs", _COUNT, ("Innodb_data_fsyncs",)),
    # The logs.
    _Metric("wal_bytes", _BYTES, ("Innodb_os_log_written", "Rocksdb_wal_bytes")),
    _Metric("wal_writes", _COUNT, ("Innodb_log_writes", "Rocksdb_write_wal")),
    _Metric("wal_syncs", _COUNT, ("Innodb_os_log_fsyncs", "Rocksdb_wal_synced")),
    _Metric("binlog_bytes", _BYTES, ("Binlog_bytes_written",)),
    _Metric("binlog_group_commits", _COUNT, ("Binlog_group_commits",)),
    # Statements and what they did. MariaDB counts rows in the handler only; where InnoDB has its
    # own counters, the handler counts temporary tables as well, those of this monitor among them.
    _Metric("statements", _COUNT, ("Questions",)),
    _Metric("calls", _COUNT, ("Com_call_procedure",)),
    _Metric("commit_statements", _COUNT, ("Com_commit",)),
    _Metric("rollback_statements", _COUNT, ("Com_rollback",)),
    _Metric("engine_commits", _COUNT, ("Handler_commit",)),
    _Metric("engine_rollbacks", _COUNT, ("Handler_rollback",)),
    _Metric("rows_inserted", _COUNT, ("Innodb_rows_inserted",), instead=("Handler_write",)),
    _Metric("rows_updated", _COUNT, ("Innodb_rows_updated",), instead=("Handler_update",)),
    _Metric("rows_deleted", _COUNT, ("Innodb_rows_deleted",), instead=("Handler_delete",)),
    _Metric(
        "rows_read", _COUNT, ("Innodb_rows_read",),
        instead=(
            "Handler_read_first", "Handler_read_key", "Handler_read_last", "Handler_read_next", "Handler_read_prev",
            "Handler_read_rnd", "Handler_read_rnd_next",
        ),
    ),
    _Metric("temporary_tables_on_disk", _COUNT, ("Created_tmp_disk_tables",)),
    # What transactions wait for, and in what they fail.
    _Metric("row_lock_waits", _COUNT, ("Innodb_row_lock_waits",)),
    _Metric("row_lock_time", "s total", ("Innodb_row_lock_time",), factor=1e-3),
    _Metric("deadlocks", _COUNT, ("Innodb_deadlocks", "Rocksdb_row_lock_deadlocks"), instead=("lock_deadlocks",)),
    _Metric("snapshot_conflicts", _COUNT, ("Rocksdb_snapshot_conflict_errors",)),
    _Metric("write_stall_time", "s total", ("Rocksdb_stall_micros",), factor=1e-6),
    _Metric("compaction_written_bytes", _BYTES, ("Rocksdb_compact_write_bytes", "Rocksdb_flush_write_bytes")),
    # Gauges: work that waits for later.
    _Metric("dirty_bytes", "bytes", ("Innodb_buffer_pool_bytes_dirty", "Rocksdb_memtable_unflushed")),
    _Metric("purge_backlog", "transactions", ("Innodb_history_list_length",), instead=("trx_rseg_history_len",)),
    _Metric("checkpoint_age", "bytes", ("Innodb_checkpoint_age",), instead=("log_lsn_checkpoint_age",)),
    _Metric("checkpoint_max_age", "bytes", ("Innodb_checkpoint_max_age",)),
)  # fmt: skip

_OF_INNODB = ("lock_deadlocks", "trx_rseg_history_len", "log_lsn_checkpoint_age")
"""Counters that MySQL keeps in a table of InnoDB, which needs the right PROCESS."""


class Mysql:
    """Counters since the server's start, read through the administrative session."""

    name = "server"

    def __init__(self, queries: Queries) -> None:
        self.notes: list[str] = []
        self._queries = queries
        self._queried: list[str] = []
        status = self._readable("show global status")
        if not any(name in status for name in ("Innodb_deadlocks", "Innodb_history_list_length")):
            self._readable(_select(_OF_INNODB))
        known = self._values() if self._queried else {}
        self._metrics = [metric for metric in _METRICS if _present(metric, known)]
        wanted = sorted({name for metric in self._metrics for name in _names(metric) if name in known})
        self._queried = [_narrowed(query, wanted) for query in self._queried]

    def _readable(self, query: str) -> Mapping[str, float]:
        try:
            values = _numbers(self._queries.fetch(query))
        except Exception as error:  # no right, no such table, a product that only resembles MySQL
            self.notes.append(f"{query!r} fails: {error}")
            return {}
        self._queried.append(query)
        return values

    def sample(self) -> list[Value]:
        if not self._metrics:
            return []
        values = self._values()
        return [(metric.name, metric.unit, _value(metric, values)) for metric in self._metrics]

    def _values(self) -> Mapping[str, float]:
        return {name: value for query in self._queried for name, value in _numbers(self._queries.fetch(query)).items()}


def _select(names: Iterable[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    columns = "name as Variable_name, count as Value"
    return f"select {columns} from information_schema.innodb_metrics where name in ({listed})"


def _narrowed(query: str, names: Iterable[str]) -> str:
    """A query for all, for some: what is not asked for need not be sent every second."""
    if not query.startswith("show"):
        return query
    listed = ", ".join(f"'{name}'" for name in names)
    return f"{query} where Variable_name in ({listed})"


def _numbers(rows: Iterable[Mapping[str, str | None]]) -> dict[str, float]:
    result = {}
    for row in rows:
        try:
            result[row["Variable_name"] or ""] = float(row["Value"] or "")
        except ValueError:
            continue  # a status in words
    return result


def _names(metric: _Metric) -> tuple[str, ...]:
    return (*metric.sources, *filter(None, [metric.less]), *metric.instead)


def _present(metric: _Metric, known: Mapping[str, float]) -> bool:
    return any(name in known for name in (*metric.sources, *metric.instead))


def _value(metric: _Metric, values: Mapping[str, float]) -> float:
    chosen = metric.sources if any(name in values for name in metric.sources) else metric.instead
    total = sum(values.get(name, 0.0) for name in chosen)
    return (total - values.get(metric.less, 0.0)) * metric.factor


_TABLES = (
    "select table_name as object, data_length as table_size, index_length as index_size, data_free as free_size,"
    " table_rows as estimated_rows from information_schema.tables"
    " where binary table_schema = 'dsbench' and table_type = 'BASE TABLE' and left(table_name, 8) <> 'dsbench_'"
    " order by table_name"
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

_STATUS_NAMES = {
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


def take_statistics(queries: Queries) -> list[Figure]:
    """The figures now, of dsbench's tables and of the storage engines; rows are an estimate of the server's."""
    status: dict[str, str | None] = {}
    for engine in ("Innodb", "Rocksdb"):
        rows = queries.fetch(f"show global status like '{engine}%'")
        status |= {row["Variable_name"] or "": row["Value"] for row in rows}
    taken = fetch_figures(queries, _TABLES, _TABLE_UNITS)
    taken += figures("", {**_fetch_metrics(queries, status), **status}, _STATUS_UNITS)
    return taken + (fetch_figures(queries, _LEVELS, _LEVEL_UNITS) if "Rocksdb_compact_write_bytes" in status else [])


def _fetch_metrics(queries: Queries, status: Mapping[str, str | None]) -> dict[str, str | None]:
    """What MariaDB has among its status variables, by their names; empty there, and where the login may not see it."""
    if "Innodb_checkpoint_age" in status:
        return {}
    listed = ", ".join(f"'{name}'" for name in _STATUS_NAMES)
    query = f"select name as metric, count as value from information_schema.innodb_metrics where name in ({listed})"
    try:
        rows = queries.fetch(f"{query} and status = 'enabled'")
        return {_STATUS_NAMES[row["metric"] or ""]: row["value"] for row in rows}
    except Exception:  # no right PROCESS: the others are told all the same
        return {}
