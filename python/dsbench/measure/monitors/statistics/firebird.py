"""Firebird: the header of the database and the counters of its monitoring tables (the talk's ``gstat``)."""

from __future__ import annotations

from dsbench.measure.monitors.monitor import Queries
from dsbench.measure.monitors.statistics.figure import Figure, asked

_HEADER = (
    'select mon$oldest_transaction as "oldest_interesting", mon$oldest_active as "oldest_active",'
    ' mon$oldest_snapshot as "oldest_snapshot", mon$next_transaction as "next_transaction",'
    ' mon$next_transaction - mon$oldest_transaction as "transaction_gap",'
    ' mon$sweep_interval as "sweep_interval", mon$page_size as "page_size",'
    ' mon$page_buffers as "page_buffers", mon$pages as "pages" from mon$database'
)
_HEADER_UNITS = {
    "oldest_interesting": "transaction", "oldest_active": "transaction", "oldest_snapshot": "transaction",
    "next_transaction": "transaction", "transaction_gap": "transactions", "sweep_interval": "transactions",
    "page_size": "bytes", "page_buffers": "pages", "pages": "pages",
}  # fmt: skip

# Group 0 is the whole database.
_PAGES = (
    'select mon$page_reads as "page_reads", mon$page_writes as "page_writes", mon$page_fetches as "page_fetches",'
    ' mon$page_marks as "page_marks" from mon$io_stats where mon$stat_group = 0'
)
_RECORDS = (
    'select mon$record_seq_reads as "sequential_reads", mon$record_idx_reads as "index_reads",'
    ' mon$record_inserts as "inserted_rows", mon$record_updates as "updated_rows",'
    ' mon$record_deletes as "deleted_rows", mon$record_backouts as "backed_out_rows",'
    ' mon$record_purges as "purged_rows", mon$record_expunges as "expunged_rows",'
    ' mon$backversion_reads as "old_version_reads", mon$record_waits as "row_waits",'
    ' mon$record_conflicts as "row_conflicts" from mon$record_stats where mon$stat_group = 0'
)
_PAGE_UNITS = dict.fromkeys(("page_reads", "page_writes", "page_fetches", "page_marks"), "pages")
_RECORD_UNITS = dict.fromkeys(
    ("sequential_reads", "index_reads", "inserted_rows", "updated_rows", "deleted_rows", "backed_out_rows",
     "purged_rows", "expunged_rows", "old_version_reads", "row_waits", "row_conflicts"),
    "rows",
)  # fmt: skip


def take(queries: Queries) -> list[Figure]:
    """The figures now, in the order of ``gstat``: the header first."""
    parts = ((_HEADER, _HEADER_UNITS), (_PAGES, _PAGE_UNITS), (_RECORDS, _RECORD_UNITS))
    return [figure for sql, units in parts for figure in asked(queries, sql, units)]
