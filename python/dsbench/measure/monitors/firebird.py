"""Firebird's own counters, from its monitoring tables (``MON$``)."""

from __future__ import annotations

from dsbench.measure.monitors.monitor import Queries, Value

_PAGES = ("page_reads", "page_writes", "page_fetches", "page_marks")
"""Pages from the storage, to the storage, touched in the cache, and changed there."""

_RECORDS = (
    "record_seq_reads", "record_idx_reads", "record_inserts", "record_updates", "record_deletes",
    "record_backouts", "record_purges", "record_expunges", "record_waits", "record_conflicts",
)  # fmt: skip

_COUNTERS = (*_PAGES, *_RECORDS)

_COLUMNS = ", ".join([*(f"i.mon${name}" for name in _PAGES), *(f"r.mon${name}" for name in _RECORDS)])

# One query is one transaction, and one transaction sees one state of the tables.
_QUERY = (
    f"select {_COLUMNS}, d.mon$next_transaction as started, d.mon$next_transaction - d.mon$oldest_snapshot as behind"
    " from mon$database d join mon$io_stats i on i.mon$stat_id = d.mon$stat_id"
    " join mon$record_stats r on r.mon$stat_id = d.mon$stat_id"
)

_EACH_FOR_ITSELF = (
    "in the Classic modes each session counts pages and records for itself, and its counters go when it ends:"
    " they are left out"
)


class Firebird:
    """Counters of the database under test, since it was opened.

    Firebird counts the transactions that are started, not those committed. In the Classic modes there are
    no counters of the database: those of its sessions would lack what each did after the last sample.
    """

    name = "server"

    def __init__(self, queries: Queries) -> None:
        # Nothing is asked here: before a run has made its database there is none to ask.
        self.notes: list[str] = []
        self._queries = queries

    def sample(self) -> list[Value]:
        """The counters now."""
        (row,) = self._queries.fetch(_QUERY)
        counted = [(name, "count total", float(row[f"MON${name.upper()}"] or 0)) for name in _COUNTERS]
        if not any(value for _, _, value in counted):
            counted = []
            self.notes[:] = [_EACH_FOR_ITSELF]
        return [
            *counted,
            ("transactions_started", "count total", float(row["STARTED"] or 0)),
            ("transactions_behind", "transactions", float(row["BEHIND"] or 0)),
        ]
