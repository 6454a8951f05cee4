"""MariaDB and MySQL: sizes of the tables, and InnoDB's counters of pages, logs, locks and old row versions."""

from __future__ import annotations

from dsbench.monitors.monitor import Queries
from dsbench.monitors.statistics.figure import Figure, figures

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


class Statistics:
    """Of the tables of dsbench's database, and of InnoDB."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    def take(self) -> list[Figure]:
        """The figures now; rows are an estimate of the server's."""
        tables = [
            figure
            for row in self._queries.fetch(_TABLES)
            for figure in figures(row["object"] or "", row, _TABLE_UNITS)
        ]
        status = self._queries.fetch("show global status like 'Innodb%'")
        return tables + figures("", {row["Variable_name"] or "": row["Value"] for row in status}, _STATUS_UNITS)
