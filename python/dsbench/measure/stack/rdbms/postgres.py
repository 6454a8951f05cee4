"""PostgreSQL, as the administrative session sees it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import psutil

from dsbench.measure.stack.described import (
    Database,
    Items,
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

_HIDDEN = re.compile("password|passwd|passphrase|secret|token|key|conninfo|command|credential")
"""Settings with such a word in their name are shown as ``***``."""

_PLACES = {
    "data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "unix_socket_directories",
    "listen_addresses", "port", "ssl_cert_file", "ssl_ca_file", "ssl_crl_file", "ssl_crl_dir", "log_directory",
    "log_filename", "cluster_name", "stats_temp_directory", "dynamic_library_path",
}  # fmt: skip
"""Settings that say where things are: they differ everywhere, change no figure, and may name a person."""

POOL_VERSION = "show pool_version"
"""What only Pgpool-II answers."""
_DIFFERENT = (
    "select name, pg_catalog.current_setting(name, true) as value from pg_catalog.pg_settings"
    " where source not in ('default', 'override', 'client', 'session', 'interactive', 'test')"
    " and setting is distinct from boot_val order by name"
)
_MARKS = (
    "select name, setting::numeric * case unit when '8kB' then 8192 when 'kB' then 1024 when 'MB' then 1048576"
    " when 'B' then 1 else pg_catalog.current_setting('block_size')::numeric end as bytes"
    " from pg_catalog.pg_settings where name in ('shared_buffers', 'effective_cache_size') order by name desc"
)
_UNLOGGED = (
    "select c.relname as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace"
    " where n.nspname = 'dsbench' and c.relpersistence = 'u' and c.relkind = 'r' order by 1"
)


def describe(queries: StackQueries, url: str) -> Database:  # noqa: ARG001
    """Version, settings, promises and sizes; what the login may not see is left out."""
    version = cell(queries, "select pg_catalog.version() as version")
    pid = process(queries)
    return Database(
        version=version,
        here=pid is not None,
        pid=pid,
        items=_items(queries, version),
        identity=identity(queries),
        settings=settings(queries),
        durability=durability(queries),
        marks={row["name"]: int(float(row["bytes"])) for row in rows(queries, _MARKS)},
        # Archives before this one had Parse, Bind, Execute and Sync there: `compare` tells the difference.
        api={
            "interface": "PostgreSQL wire protocol 3.0",
            "transport": _transport(queries),
            "parsed each time": "one Query, values in its text",
        },
        driver={"client": "dsbench's own, compiled in"},
    )


def directory(queries: StackQueries, url: str) -> Path | None:  # noqa: ARG001
    """The data directory, when the server runs here and the login may know it."""
    path = _setting(queries, "data_directory")
    return Path(path) if path and process(queries) is not None else None


def process(queries: StackQueries) -> int | None:
    """Process id of the session's server process, when it is one of this machine; else ``None``.

    An address does not tell: a tunnel and a container both look local. That a process with the
    session's number and PostgreSQL's name runs here does.
    """
    try:
        pid = int(cell(queries, "select pg_catalog.pg_backend_pid() as pid"))
        return pid if psutil.Process(pid).name().startswith("postgres") else None
    except (ValueError, psutil.Error):
        return None


_IDENTITY = {
    "system identifier": "select system_identifier from pg_catalog.pg_control_system()",
    "timeline": "select timeline_id from pg_catalog.pg_control_checkpoint()",
    "start of the server": "select pg_catalog.pg_postmaster_start_time()",
    "address of the server": "select pg_catalog.host(pg_catalog.inet_server_addr()) || ' port '"
    " || pg_catalog.inet_server_port()",
    "port of the server": "select pg_catalog.current_setting('port')",
    "role of the server": "select case when pg_catalog.pg_is_in_recovery() then 'standby' else 'primary' end",
    "settings of roles and databases": "select pg_catalog.string_agg(setdatabase || '/' || setrole || ' '"
    " || pg_catalog.array_to_string(setconfig, ' '), '; ' order by setdatabase, setrole)"
    " from pg_catalog.pg_db_role_setting where setconfig is not null",
}


def identity(queries: StackQueries) -> dict[str, str]:
    """Which server answers; a login without rights is told less."""
    return {name: cell(queries, sql) for name, sql in _IDENTITY.items()}


def settings(queries: StackQueries) -> dict[str, str]:
    """Settings that differ from PostgreSQL's own defaults, without secrets and places."""
    found = [(row["name"], row["value"]) for row in rows(queries, _DIFFERENT)]
    return shown([(name, value) for name, value in found if name not in _PLACES], _HIDDEN)


def durability(queries: StackQueries) -> list[Switch]:
    """What a power cut does to committed transactions."""
    known = [(name, _setting(queries, name), meanings) for name, meanings in _SWITCHES.items()]
    switches = [switch(name, value, meanings) for name, value, meanings in known if value]
    unlogged = ", ".join(row["name"] for row in rows(queries, _UNLOGGED))
    if unlogged:
        switches.append(unsafe("unlogged tables", unlogged, "these tables are not logged: a crash empties them"))
    return switches


_FLUSH_DEPTH = (
    (True, "how the log is flushed")
    if sys.platform != "darwin"
    else (False, "the log is flushed into the drive's cache only: a power cut may lose commits")
)

_SWITCHES: dict[str, dict[str, tuple[bool, str]]] = {
    "fsync": {
        "": (True, "the log and the data files are flushed to the storage"),
        "off": (False, "nothing is flushed: a power cut loses commits and may corrupt the database"),
    },
    "synchronous_commit": {
        "": (True, "a commit is reported after its log is flushed, as fsync specifies"),
        "off": (False, "a commit is reported before it is flushed: a crash loses the last commits only"),
    },
    "full_page_writes": {
        "": (True, "a page torn by a power cut is restored from the log"),
        "off": (False, "a power cut while a page is written corrupts it, unless the file system writes pages "
                       "atomically"),
    },
    "wal_sync_method": {"": _FLUSH_DEPTH, "fsync_writethrough": (True, "the log is flushed through the drive's cache")},
    "data_checksums": {
        "": (True, "a page damaged by the storage is detected"),
        "off": (True, "corruption is not detected (no effect on durability)"),
    },
    "wal_level": {
        "": (True, "the log is also sufficient for replication and archiving"),
        "minimal": (True, "the log contains only what crash recovery needs"),
    },
    "archive_mode": {"": (True, "the log is archived as well"), "off": (True, "the log is not archived")},
}


def _items(queries: StackQueries, version: str) -> Items:
    bytes_now = cell(queries, "select pg_catalog.pg_database_size(pg_catalog.current_database()) as bytes")
    return present(
        {
            "version": version,
            "block size": _setting(queries, "block_size") and size(int(_setting(queries, "block_size"))),
            "log segments": _setting(queries, "wal_segment_size"),
            "data checksums": _setting(queries, "data_checksums"),
            "encoding": _setting(queries, "server_encoding"),
            "isolation level by default": _setting(queries, "default_transaction_isolation"),
            "replication": "this server is a standby" if _setting(queries, "in_hot_standby") == "on" else "",
            "database before the run": size(int(bytes_now)) if bytes_now else "",
        }
    )


def _setting(queries: StackQueries, name: str) -> str:
    return cell(queries, f"select pg_catalog.current_setting('{name}', true) as value")


def _transport(queries: StackQueries) -> str:
    """How the administrative session reaches the server; those of the load do it the same way."""
    ssl = cell(queries, "select ssl from pg_catalog.pg_stat_ssl where pid = pg_catalog.pg_backend_pid()")
    address = rows(queries, "select pg_catalog.host(pg_catalog.inet_server_addr()) as address")
    if not address:
        return ""
    return ("TCP" if address[0]["address"] else "Unix socket") + (" with TLS" if ssl in ("t", "true", "on") else "")
