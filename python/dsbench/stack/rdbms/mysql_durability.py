"""What a power cut does to committed transactions of MariaDB and MySQL."""

from __future__ import annotations

from collections.abc import Mapping

from dsbench.stack.described import Queries, Switch, rows

_Meanings = dict[str, tuple[bool, str]]

_INNODB: dict[str, _Meanings] = {
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
_ROCKSDB: dict[str, _Meanings] = {
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
_BINARY_LOG: _Meanings = {
    "": (False, "the binary log is not flushed with every commit: a power cut loses the last commits"),
    "1": (True, "the binary log is flushed with every commit"),
}


def switches(queries: Queries, known: Mapping[str, str], engine: str) -> list[Switch]:
    """Of the storage ``engine`` and of the binary log, which commits together with it.

    ``known`` are the server's settings by name.
    """
    found = [_switch(name, known[name], meanings) for name, meanings in _of(engine).items() if known.get(name)]
    found += _redo_log(queries) if engine == "innodb" else []
    if known.get("log_bin", "").lower() in ("on", "1"):
        found.append(_switch("sync_binlog", known.get("sync_binlog", ""), _BINARY_LOG))
    return [*found, *_without_transactions(queries, engine)]


def _of(engine: str) -> dict[str, _Meanings]:
    return {"innodb": _INNODB, "rocksdb": _ROCKSDB}.get(engine, {})


def _switch(name: str, value: str, meanings: _Meanings) -> Switch:
    safe, meaning = meanings.get(value.lower(), meanings[""])
    return {"switch": name, "value": value, "safe": safe, "meaning": meaning}


def _redo_log(queries: Queries) -> list[Switch]:
    """MySQL can do without its log; MariaDB cannot."""
    found = rows(queries, "show global status like 'Innodb_redo_log_enabled'")
    if not found or found[0]["Value"].upper() == "ON":
        return []
    meaning = "there is no log: a crash leaves a database that cannot be used"
    return [{"switch": "redo log", "value": found[0]["Value"], "safe": False, "meaning": meaning}]


def _without_transactions(queries: Queries, engine: str) -> list[Switch]:
    found = rows(queries, f"select transactions as has from information_schema.engines where engine = '{engine}'")
    if not found or found[0]["has"] == "YES":
        return []
    meaning = "its tables have no transactions: nothing is rolled back, and a crash may lose or damage them"
    return [{"switch": "storage engine", "value": engine, "safe": False, "meaning": meaning}]
