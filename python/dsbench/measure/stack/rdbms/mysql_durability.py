"""What a power cut does to committed transactions of MariaDB and MySQL."""

from __future__ import annotations

from collections.abc import Mapping

from dsbench.measure.stack.described import Meanings, Queries, Switch, cell, rows, switch, unsafe

_INNODB: dict[str, Meanings] = {
    "innodb_flush_log_at_trx_commit": {
        "": (True, "the log is flushed before a commit is reported"),
        "0": (False, "the log is written once a second: a crash of the server alone loses the last commits"),
        "2": (False, "the log is flushed once a second: a power cut loses the last commits"),
    },
    "innodb_doublewrite": {
        "": (True, "a page that a power cut tore in writing is restored from a copy"),
        "off": (False, "a power cut while a page is written corrupts it, unless the file system writes pages whole"),
        "detect_only": (False, "a page that a power cut tore in writing is noticed, but lost"),
        "fast": (False, "pages and their copies are not flushed one after the other: a power cut may tear both"),
    },
    "innodb_flush_method": {
        "": (True, "how the data files are written and flushed"),
        "nosync": (False, "nothing is flushed: a power cut loses commits and may corrupt the database"),
        "littlesync": (False, "the data files are not flushed: a power cut may corrupt the database"),
        "o_direct_no_fsync": (False, "the data files are not flushed: pages in the drive's own cache may be lost"),
    },
    "innodb_checksum_algorithm": {
        "": (True, "a page that the storage damaged is noticed"),
        "none": (True, "a page that the storage damaged is not noticed"),
    },
}
_ROCKSDB: dict[str, Meanings] = {
    "rocksdb_flush_log_at_trx_commit": {
        "": (True, "the log is flushed before a commit is reported"),
        "0": (False, "the log is flushed when the operating system likes: a power cut loses the last commits"),
        "2": (False, "the log is flushed once a second: a power cut loses the last commits"),
    },
    "rocksdb_write_disable_wal": {
        "": (True, "changes go to the log first"),
        "on": (False, "there is no log: a crash loses all that is not in files yet"),
    },
}
_BINARY_LOG: Meanings = {
    "": (False, "the binary log is not flushed with every commit: a power cut loses the last commits"),
    "1": (True, "the binary log is flushed with every commit"),
}


def switches(queries: Queries, known: Mapping[str, str], engine: str) -> list[Switch]:
    """Of the storage ``engine`` and of the binary log, which commits together with it.

    ``known`` are the server's settings by name.
    """
    of_engine = {"innodb": _INNODB, "rocksdb": _ROCKSDB}.get(engine, {})
    found = [switch(name, known[name], meanings) for name, meanings in of_engine.items() if known.get(name)]
    found += _redo_log(queries) if engine == "innodb" else []
    if known.get("log_bin", "").lower() in ("on", "1"):
        found.append(switch("sync_binlog", known.get("sync_binlog", ""), _BINARY_LOG))
    return [*found, *_without_transactions(queries, engine)]


def _redo_log(queries: Queries) -> list[Switch]:
    """MySQL can do without its log; MariaDB cannot."""
    found = rows(queries, "show global status like 'Innodb_redo_log_enabled'")
    if not found or found[0]["Value"].upper() == "ON":
        return []
    return [unsafe("redo log", found[0]["Value"], "there is no log: a crash leaves a database that cannot be used")]


def _without_transactions(queries: Queries, engine: str) -> list[Switch]:
    has = cell(queries, f"select transactions as has from information_schema.engines where engine = '{engine}'")
    if has in ("", "YES"):
        return []
    meaning = "its tables have no transactions: nothing is rolled back, and a crash may lose or damage them"
    return [unsafe("storage engine", engine, meaning)]
