"""Firebird's own counters, from its monitoring tables (``MON$``), and its statistics: those and its header
(the talk's ``gstat``)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Final

from dsbench.measure.monitors.monitor import Figure, Queries, Value, fetch_figures
from dsbench.spec import Target

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
    "in the Classic modes each session counts its own pages and records, and its counters are lost when it "
    "ends: they are omitted"
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

# The tables stand beside the database with records of their own: the group of statistics does not tell them apart.
_PAGES_QUERY = (
    'select mon$page_reads as "page_reads", mon$page_writes as "page_writes", mon$page_fetches as "page_fetches",'
    ' mon$page_marks as "page_marks" from mon$database d join mon$io_stats i on i.mon$stat_id = d.mon$stat_id'
)
_RECORDS_QUERY = (
    'select mon$record_seq_reads as "sequential_reads", mon$record_idx_reads as "index_reads",'
    ' mon$record_inserts as "inserted_rows", mon$record_updates as "updated_rows",'
    ' mon$record_deletes as "deleted_rows", mon$record_backouts as "backed_out_rows",'
    ' mon$record_purges as "purged_rows", mon$record_expunges as "expunged_rows",'
    ' mon$backversion_reads as "old_version_reads", mon$record_waits as "row_waits",'
    ' mon$record_conflicts as "row_conflicts"'
    " from mon$database d join mon$record_stats r on r.mon$stat_id = d.mon$stat_id"
)
_PAGE_UNITS = dict.fromkeys(("page_reads", "page_writes", "page_fetches", "page_marks"), "pages")
_RECORD_UNITS = dict.fromkeys(
    ("sequential_reads", "index_reads", "inserted_rows", "updated_rows", "deleted_rows", "backed_out_rows",
     "purged_rows", "expunged_rows", "old_version_reads", "row_waits", "row_conflicts"),
    "rows",
)  # fmt: skip


LARGEST: Final = 2 << 30
"""Bytes of a database up to which every page of it is read for its statistics."""
_PATIENCE_S: Final = 600.0
_ANALYSED: Final = ("sts_data_pages", "sts_idx_pages", "sts_record_versions")
_TABLE: Final = re.compile(r"^(\S.*?) \(\d+\)\s*$")
_INDEX: Final = re.compile(r"^ +Index (\S+) \(\d+\)\s*$")
_BAND: Final = re.compile(r"^\s+(\d+) - (\d+)% = (\d+)\s*$")
_OF_TABLE: Final[tuple[tuple[str, str, str], ...]] = (
    ("records", "rows", r"total records: (\d+)"), ("versions", "versions", r"total versions: (\d+)"),
    ("max_versions", "versions", r"max versions: (\d+)"), ("fragments", "fragments", r"total fragments: (\d+)"),
    ("record_length", "bytes", r"Average record length: ([\d.]+)"), ("data_pages", "pages", r"Data pages: (\d+)"),
    ("fill", "%", r"average fill: (\d+)%"),
)  # fmt: skip
_OF_INDEX: Final[tuple[tuple[str, str, str], ...]] = (
    ("depth", "levels", r"depth: (\d+)"), ("leaf_buckets", "pages", r"leaf buckets: (\d+)"),
    ("nodes", "nodes", r"nodes: (\d+)"), ("duplicates", "nodes", r"total dup: (\d+)"),
    ("clustering_factor", "pages", r"Clustering factor: (\d+)"),
)  # fmt: skip


def take_statistics(queries: Queries) -> list[Figure]:
    """The figures now, in the order of ``gstat``: the header first, then every table with its indexes."""
    parts = ((_HEADER, _HEADER_UNITS), (_PAGES_QUERY, _PAGE_UNITS), (_RECORDS_QUERY, _RECORD_UNITS))
    found = [figure for sql, units in parts for figure in fetch_figures(queries, sql, units)]
    size = {name: value for _, name, _, value in found}
    small = size.get("pages", 0) * size.get("page_size", 0) <= LARGEST
    return [*found, *parse_gstat(_analyse(getattr(queries, "url", "")))] if small else found


def _analyse(url: str) -> str:
    """What the server's own ``gstat -a -r`` says of the database at ``url``; empty where it cannot be asked for it: an
    embedded engine, no program ``fbsvcmgr``, no right."""
    target = Target(url=url) if url else None
    program = shutil.which("fbsvcmgr")
    if target is None or not target.host or program is None:
        return ""
    words = [program, f"{target.host}/{target.port or 3050}:service_mgr", "action_db_stats", "dbname",
             "/" + target.database.lstrip("/"), *_ANALYSED]  # fmt: skip
    # The password stands in no command line, where everybody could read it.
    login = {"ISC_USER": target.user, "ISC_PASSWORD": target.password or target.password_of_environment}
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", env={**os.environ, **login},
                              timeout=_PATIENCE_S, check=False)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def parse_gstat(said: str) -> list[Figure]:
    """Figures of tables, and of indexes as ``TABLE.INDEX``. How full the pages of an index are is told in five bands:
    its mean is that of their middles."""
    found: list[Figure] = []
    table, of, known, bands = "", "", _OF_TABLE, [0, 0]
    for line in [*said.splitlines(), "END (0)"]:
        if header := _TABLE.match(line) or _INDEX.match(line):
            if known is _OF_INDEX and bands[1]:
                found.append((of, "fill", "%", bands[0] / bands[1]))
            inner = line.startswith(" ")
            table = table if inner else header[1]
            of, known, bands = (f"{table}.{header[1]}", _OF_INDEX, [0, 0]) if inner else (table, _OF_TABLE, [0, 0])
        elif of and (band := _BAND.match(line)):
            low, high, pages = map(int, band.groups())
            bands = [bands[0] + (low + high + 1) // 2 * pages, bands[1] + pages]
        elif of:
            found += [(of, name, unit, float(m[1])) for name, unit, form in known if (m := re.search(form, line))]
    return [figure for figure in found if not figure[0].startswith("DSBENCH_")]
