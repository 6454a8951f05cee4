"""MariaDB and MySQL: sizes of the tables, and InnoDB's counters of pages, logs, locks and old row versions."""

from __future__ import annotations

from dsbench.monitors.monitor import Queries
from dsbench.monitors.statistics.figure import Figure, asked, figures

_TABLES = (
    "select table_name as object, data_length as table_size, index_length as index_size, data_free as free_size,"
    " table_rows as estimated_rows from information_schema.tables"
    " where binary table_schema = 'dsbench' and table_type = 'BASE TABLE' order by table_name"
)
_TABLE_UNITS = {"table_size": "bytes", "index_size": "bytes", "free_size": "bytes", "estimated_rows": "rows"}

_STATUS_UNITS = {
    "Innodb_buffer_pool_pages_data": "pages", "Innodb_buffer_pool_pages_dirty": "pages",
    "Innodb_buffer_pool_read_requests": "pages", "Innodb_buffer_pool_reads": "pages",
    "Innodb_buffer_pool_wait_free": "count", "Innodb_pages_created": "pages", "Innodb_pages_written": "pages",
    "Innodb_data_fsyncs": "count", "Innodb_data_written": "bytes", "Innodb_os_log_written": "bytes",
    "Innodb_log_waits": "count", "Innodb_row_lock_waits": "count", "Innodb_row_lock_time": "ms",
    "Innodb_row_lock_time_max": "ms", "Innodb_deadlocks": "count", "Innodb_history_list_length": "transactions",
}  # fmt: skip


def take(queries: Queries) -> list[Figure]:
    """The figures now, of dsbench's tables and of InnoDB; rows are an estimate of the server's."""
    status = {row["Variable_name"] or "": row["Value"] for row in queries.fetch("show global status like 'Innodb%'")}
    return asked(queries, _TABLES, _TABLE_UNITS) + figures("", status, _STATUS_UNITS)
