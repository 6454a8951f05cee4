"""MariaDB and MySQL, as the administrative session sees them."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

from dsbench.measure.stack.described import (
    Database,
    Items,
    Meanings,
    StackQueries,
    Switch,
    cell,
    present,
    rows,
    shown,
    size,
    switch,
    unsafe,
)

_HIDDEN = re.compile(r"password|passwd|passphrase|secret|token|credential|sst_auth|init_connect|provider_options")
"""Settings with such a word in their name are shown as ``***``."""

_PLACES = re.compile(
    r"dir$|_file$|_path$|_index$|_basename$|_info$|^(ssl|tls|admin_ssl|admin_tls|report)_|^(socket|port|extra_port"
    r"|bind_address|admin_address|hostname|server_id|server_uuid|server_uid|log_error|skip_networking"
    r"|skip_name_resolve|version.*)$"
)
"""Settings that say where things are: they differ everywhere, change no figure, and may name a person."""

_NO_NEWS = frozenset(
    {"autocommit", "sql_mode", "time_zone", "transaction_isolation", "tx_isolation", "foreign_key_checks"}
)
"""What dsbench sets for its own sessions, and what MySQL sets itself."""

_START_TOLERANCE_S = 10.0
_SERVERS = ("mariadbd", "mysqld")

_DIFFERENT = (
    # MariaDB, then MySQL, which does not tell its defaults but who set a value.
    "select lower(variable_name) as name, global_value as value from information_schema.system_variables"
    " where global_value_origin in ('COMMAND-LINE', 'CONFIG', 'SQL') and not global_value <=> default_value order by 1",
    "select lower(i.variable_name) as name, g.variable_value as value"
    " from performance_schema.variables_info i join performance_schema.global_variables g using (variable_name)"
    " where i.variable_source <> 'COMPILED' order by 1",
)


def describe(queries: StackQueries, url: str) -> Database:  # noqa: ARG001
    """Version, settings, promises and sizes; what the login may not see is left out."""
    known = variables(queries)
    pid = process(queries)
    engine = storage_engine(queries)
    return Database(
        version=named(known),
        here=pid is not None,
        pid=pid,
        items=_items(queries, known, engine),
        identity=identity(known, pid),
        settings=settings(queries),
        durability=switches(queries, known, engine),
        marks=_marks(known, engine),
        api={"interface": "MySQL client/server protocol, version 10", "transport": _transport(queries)},
        driver={"client": "dsbench's own, compiled in"},
    )


def identity(known: Mapping[str, str], pid: int | None) -> dict[str, str]:
    """Which server answers. When it started it tells to the second at best, so its process stands for that."""
    named = {"identity of the server": "server_uuid", "number of the server": "server_id", "host": "hostname",
             "port": "port", "read-only": "read_only"}  # fmt: skip
    process = {"process of the server": str(pid or "")}
    return {name: known.get(variable, "") for name, variable in named.items()} | process


def directory(queries: StackQueries, url: str) -> Path | None:  # noqa: ARG001
    """The data directory, when the server runs here."""
    path = variables(queries).get("datadir")
    return Path(path) if path and process(queries) is not None else None


def variables(queries: StackQueries) -> dict[str, str]:
    """All settings of the server by name."""
    return {row["Variable_name"]: row["Value"] for row in rows(queries, "show global variables")}


def storage_engine(queries: StackQueries) -> str:
    """Storage engine of the tables that the sessions of this target make, in lower case."""
    return cell(queries, "select lower(@@session.default_storage_engine) as name")


def process(queries: StackQueries) -> int | None:
    """Process id of the server, when it is one of this machine; else ``None``.

    The server does not tell its process. It runs here when its host name is ours and a server process
    started here when it says it did; of several the one that its file names.
    """
    known = variables(queries)
    uptime = rows(queries, "show global status like 'Uptime'")
    if known.get("hostname") != platform.node() or not uptime:
        return None
    started = time.time() - float(uptime[0]["Value"])
    near = {p.pid for p in psutil.process_iter() if _is_server_since(p, started)}
    named = _named_in(Path(known.get("datadir", "/"), known.get("pid_file", "")))
    if named in near:
        return named
    return near.pop() if len(near) == 1 else None


def _is_server_since(process: psutil.Process, started: float) -> bool:
    try:
        return process.name() in _SERVERS and abs(process.create_time() - started) < _START_TOLERANCE_S
    except psutil.Error:
        return False


def _named_in(path: Path) -> int | None:
    with suppress(OSError, ValueError):
        return int(path.read_text())
    return None


def settings(queries: StackQueries) -> dict[str, str]:
    """Settings that differ from the server's own defaults, without secrets and places."""
    told = next(filter(None, (rows(queries, query) for query in _DIFFERENT)), [])
    found = [(row["name"], row["value"]) for row in told]
    return shown([(n, value) for n, value in found if not _PLACES.search(n) and n not in _NO_NEWS], _HIDDEN)


_OWN: Final = re.compile(
    "mysql|mariadb|percona|source distribution|google|debian|ubuntu|homebrew|gpl|^$", re.IGNORECASE
)
"""What the two products and their packages say in ``version_comment``."""


_OTHERS: Final = re.compile(r"tidb|singlestore|memsql|oceanbase|dolt|vitess|starrocks|doris", re.IGNORECASE)
"""Others that speak the protocol, some of which call themselves compatible."""


def is_itself(known: Mapping[str, str]) -> bool:
    """Whether a server is one of the two products, and not another that speaks their protocol."""
    version, comment = known.get("version", ""), known.get("version_comment", "")
    if _OTHERS.search(f"{version} {comment}"):
        return False
    return "mariadb" in version.lower() or _OWN.search(comment) is not None


def demands_keys(known: Mapping[str, str]) -> str:
    """The setting by which a server refuses tables without a primary key; empty where none does."""
    names = ("sql_require_primary_key", "innodb_force_primary_key")
    return next((name for name in names if known.get(name, "").upper() in ("ON", "1")), "")


def named(known: Mapping[str, str]) -> str:
    """``MariaDB 10.11.19 (10.11.19-MariaDB-0+deb12u1)``: the product, its numbers, and all that it says."""
    version, comment = known.get("version", ""), known.get("version_comment", "")
    numbers = re.match(r"[\d.]*", version)
    product = "MariaDB" if "mariadb" in version.lower() else "MySQL" if is_itself(known) else comment.split(" (")[0]
    if version.endswith("-Vitess"):  # Its comment begins with "Version: ", and its version is that of a MySQL.
        product, numbers = "Vitess", re.search(r"[\d.]+", comment)
    short = f"{product} {numbers[0] if numbers else ''}".strip()
    return short if short.endswith(version) else f"{short} ({version})"


def _marks(known: Mapping[str, str], engine: str) -> dict[str, int]:
    name = "rocksdb_block_cache_size" if engine == "rocksdb" else "innodb_buffer_pool_size"
    return {name: int(known[name])} if known.get(name, "").isdecimal() else {}


def _items(queries: StackQueries, known: Mapping[str, str], engine: str) -> Items:
    page = known.get("innodb_page_size", "") if engine == "innodb" else known.get("rocksdb_block_size", "")
    return present(
        {
            "version": f"{known.get('version', '')} ({known.get('version_comment', '')})",
            "storage engine": engine,
            "page size" if engine == "innodb" else "block size": size(int(page)) if page.isdecimal() else "",
            "compression": _compression(queries) if engine == "rocksdb" else "",
            "foreign keys": "none: MyRocks has none" if engine == "rocksdb" else "",
            "primary keys": _invisible_keys(known),
            "redo log": _redo_log(known) if engine == "innodb" else "",
            "binary log": known.get("log_bin", "").lower(),
            "character set": known.get("character_set_server", ""),
            "isolation level by default": known.get("transaction_isolation", known.get("tx_isolation", "")).lower(),
            "snapshot isolation": known.get("innodb_snapshot_isolation", "").lower() if engine == "innodb" else "",
            "read only": known.get("read_only", "").lower(),
        }
    )


def _invisible_keys(known: Mapping[str, str]) -> str:
    name = demands_keys(known)
    return f"tables without one got an invisible one: {name}" if name else ""


def _redo_log(known: Mapping[str, str]) -> str:
    capacity = known.get("innodb_redo_log_capacity", "")
    if capacity.isdecimal():
        return size(int(capacity))
    file = known.get("innodb_log_file_size", "")
    return size(int(file) * int(known.get("innodb_log_files_in_group", "1"))) if file.isdecimal() else ""


def _compression(queries: StackQueries) -> str:
    query = "select value as kind from information_schema.rocksdb_cf_options where cf_name = 'default'"
    return cell(queries, f"{query} and option_type = 'COMPRESSION_TYPE'")


def _transport(queries: StackQueries) -> str:
    """How the administrative session reaches the server; those of the load do it the same way."""
    host = cell(queries, "select host from information_schema.processlist where id = connection_id()")
    cipher = rows(queries, "show session status like 'Ssl_cipher'")
    if not host:
        return ""
    encrypted = bool(cipher and cipher[0]["Value"])
    return ("TCP" if ":" in host else "Unix socket") + (" with TLS" if encrypted else "")


_INNODB: dict[str, Meanings] = {
    "innodb_flush_log_at_trx_commit": {
        "": (True, "the log is flushed before a commit is reported"),
        "0": (False, "the log is written once a second: a crash of the server alone loses the last commits"),
        "2": (False, "the log is flushed once a second: a power cut loses the last commits"),
    },
    "innodb_doublewrite": {
        "": (True, "a page torn by a power cut is restored from a copy"),
        "off": (False, "a power cut while a page is written corrupts it, unless the file system writes pages "
                       "atomically"),
        "detect_only": (False, "a page torn by a power cut is detected, but lost"),
        "fast": (False, "pages and their copies are not flushed separately: a power cut may tear both"),
    },
    "innodb_flush_method": {
        "": (True, "how the data files are written and flushed"),
        "nosync": (False, "nothing is flushed: a power cut loses commits and may corrupt the database"),
        "littlesync": (False, "the data files are not flushed: a power cut may corrupt the database"),
        "o_direct_no_fsync": (False, "the data files are not flushed: pages in the drive's own cache may be lost"),
    },
    "innodb_checksum_algorithm": {
        "": (True, "a page damaged by the storage is detected"),
        "none": (True, "corruption is not detected (no effect on durability)"),
    },
}
_ROCKSDB: dict[str, Meanings] = {
    "rocksdb_flush_log_at_trx_commit": {
        "": (True, "the log is flushed before a commit is reported"),
        "0": (False, "the log is flushed when the operating system decides: a power cut loses the last commits"),
        "2": (False, "the log is flushed once a second: a power cut loses the last commits"),
    },
    "rocksdb_write_disable_wal": {
        "": (True, "changes are written to the log first"),
        "on": (False, "there is no log: a crash loses everything that is not yet in the data files"),
    },
}
_BINARY_LOG: Meanings = {
    "": (False, "the binary log is not flushed with every commit: a power cut loses the last commits"),
    "1": (True, "the binary log is flushed with every commit"),
}


def switches(queries: StackQueries, known: Mapping[str, str], engine: str) -> list[Switch]:
    """Of the storage ``engine`` and of the binary log, which commits together with it.

    ``known`` are the server's settings by name.
    """
    of_engine = {"innodb": _INNODB, "rocksdb": _ROCKSDB}.get(engine, {})
    found = [switch(name, known[name], meanings) for name, meanings in of_engine.items() if known.get(name)]
    found += _redo_log_switches(queries) if engine == "innodb" else []
    if known.get("log_bin", "").lower() in ("on", "1"):
        found.append(switch("sync_binlog", known.get("sync_binlog", ""), _BINARY_LOG))
    return [*found, *_without_transactions(queries, engine)]


def _redo_log_switches(queries: StackQueries) -> list[Switch]:
    """MySQL can do without its log; MariaDB cannot."""
    found = rows(queries, "show global status like 'Innodb_redo_log_enabled'")
    if not found or found[0]["Value"].upper() == "ON":
        return []
    return [unsafe("redo log", found[0]["Value"], "there is no log: a crash leaves an unusable database")]


def _without_transactions(queries: StackQueries, engine: str) -> list[Switch]:
    has = cell(queries, f"select transactions as has from information_schema.engines where engine = '{engine}'")
    if has in ("", "YES"):
        return []
    meaning = "its tables have no transactions: nothing is rolled back, and a crash may lose or damage them"
    return [unsafe("storage engine", engine, meaning)]
