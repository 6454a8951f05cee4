"""What a PostgreSQL, or a server that speaks its protocol, is asked before a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Final

from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.measure.preflight.facts import Asking, Fact, Fit, connections, durability, logged, number, way
from dsbench.measure.stack.rdbms import postgres as stack

SMALLEST: Final = "SELECT 1"
_ROLE: Final = (
    "SELECT current_user AS name, r.rolsuper AS super, r.rolconnlimit AS most, d.datconnlimit AS of_database,"
    " has_database_privilege(current_database(), 'CREATE') AS creates, current_database() AS database,"
    " has_language_privilege('plpgsql', 'USAGE') AS programs"
    " FROM pg_catalog.pg_roles r, pg_catalog.pg_database d"
    " WHERE r.rolname = session_user AND d.datname = current_database()"
)
_SESSION: Final = "SELECT pid, backend_start FROM pg_catalog.pg_stat_activity WHERE pid = pg_catalog.pg_backend_pid()"
_CONNECTIONS: Final = (
    # Of sessions of other roles an ordinary user sees the number and the database only.
    "SELECT count(*) FILTER (WHERE datid IS NOT NULL"
    " AND coalesce(backend_type, 'client backend') = 'client backend') AS all_used,"
    " count(*) FILTER (WHERE usename = session_user) AS of_role,"
    " count(*) FILTER (WHERE datname = current_database()) AS of_database"
    " FROM pg_catalog.pg_stat_activity WHERE pid <> pg_backend_pid()"
)
_TIMEOUTS: Final = {
    "statement_timeout": "a statement of a client that takes longer is a failed transaction",
    "lock_timeout": "a client that waits longer for a lock has a failed transaction",
    "transaction_timeout": "a transaction that takes longer loses its connection",
    "idle_session_timeout": "a client that waits longer between transactions loses its connection",
    "idle_in_transaction_session_timeout": "a client that thinks longer within a transaction loses its connection",
}
_TIMEOUTS_SET: Final = (
    "SELECT name, setting, pg_catalog.current_setting(name) AS shown, reset_val FROM pg_catalog.pg_settings"
    f" WHERE name IN ({', '.join(f'{name!r}' for name in _TIMEOUTS)}) AND reset_val <> '0' ORDER BY name"
)
_CAPABILITIES: Final = {
    "settings": "SELECT count(*) FROM pg_catalog.pg_settings",
    "advisory locks": "SELECT pg_catalog.pg_try_advisory_xact_lock(hashtextextended('dsbench preflight', 0))",
    "comments on schemas": "SELECT coalesce(pg_catalog.obj_description(0, 'pg_namespace'), 'none')",
    "list of sessions": "SELECT count(*) FROM pg_catalog.pg_stat_activity",
    "sizes of tables": "SELECT pg_catalog.pg_total_relation_size('pg_catalog.pg_class')",
    "counters of the database": "SELECT count(*) FROM pg_catalog.pg_stat_database",
}
"""What PostgreSQL has, and who speaks its protocol may not have: a query that gives something where it is there."""
_TO_MAKE: Final = ("advisory locks", "comments on schemas", "list of sessions")
_AT_PRIMARY: Final = "/*NO LOAD BALANCE*/"
_IDLE: Final = ("idle_session_timeout",)
"""Where a closed loop has no such clients."""


def facts(asking: Asking) -> Iterator[Fact]:
    """What the server is, what the user may, and what a run costs there."""
    yield from _server(asking)
    if asking.need.of_user and (version := asking.cell(stack.POOL_VERSION)):
        words = f"Pgpool-II {version} is in front of the server: it may send reads to copies"
        yield Fact("pooler", Fit.COSTS, words, "name the server itself as TARGET to measure it without the pooler")
    yield from way(asking.target, SMALLEST)
    role = asking.row(_ROLE)
    yield from _user(asking, role)
    if not asking.target.pooled:
        yield _connections(asking, role)
    yield from _timeouts(asking)
    yield from _logs(asking)
    yield from _triggers(asking)
    yield durability(stack.durability(asking))
    # Last: its session may still be counted for a moment after it was closed.
    yield from _shared(asking)


def _setting(asking: Asking, name: str) -> str:
    return asking.cell(f"SELECT pg_catalog.current_setting('{name}', true)")


def _server(asking: Asking) -> Iterator[Fact]:
    version = asking.cell("SELECT version()")
    name = version.partition(" on ")[0] or "a server without a version"
    lacking = [what for what, sql in _CAPABILITIES.items() if not asking.cell(sql)]
    needed = [what for what in lacking if what in _TO_MAKE and asking.need.makes]
    if needed:
        words = f"{name}: this user has no {', no '.join(lacking)}; a run needs for its schema: {', '.join(needed)}"
        remedy = "grant them to the user, or use tables that are there: --existing with --script or --builtin"
        yield Fact("server", Fit.REFUSED, words, remedy)
    elif lacking:
        words = f"{name}: this user has no {', no '.join(lacking)}"
        yield Fact("server", Fit.COSTS, words, "what it does not answer is left out of the archive")
    else:
        yield Fact("server", Fit.OK, name)
    # The comment has Pgpool-II ask the primary.
    copy = asking.cell(f"{_AT_PRIMARY} SELECT pg_catalog.pg_is_in_recovery()") == "t"
    closed = asking.cell(f"{_AT_PRIMARY} SELECT pg_catalog.current_setting('transaction_read_only', true)") == "on"
    need = asking.need
    if copy or closed:
        what = "this server is a copy (hot standby)" if copy else \
            "sessions of this user take no writes (default_transaction_read_only)"  # fmt: skip
        remedy = (
            "name the primary, or read only: --existing with --builtin select-only or scripts that read" if copy
            else "ALTER ROLE … RESET default_transaction_read_only, or read only: --existing --builtin select-only"
        )
        fit = Fit.REFUSED if need.writes else Fit.OK
        yield Fact("writes", fit, what, remedy if need.writes else "")
    encoding = _setting(asking, "server_encoding")
    if encoding and encoding != "UTF8":
        yield Fact("encoding", Fit.OK, f"{encoding}; dsbench writes ASCII, and reads as UTF8")


def _shared(asking: Asking) -> Iterator[Fact]:
    """That two connections are in one session, as where one process serves all: a lock of one then keeps nobody away,
    and a bulk load of one holds up all others."""
    if not asking.need.of_user or asking.target.pooled or not (own := asking.row(_SESSION)):
        return
    try:
        with closing(TargetDatabase(asking.target.url, existing=True)) as another:
            shared = Asking(another, asking.need).row(_SESSION) == own
    except CoreError:  # The user may have one connection only: the number of them is looked at by itself.
        return
    if shared and asking.need.makes:
        words = "all connections share one session, so that no lock protects the database of a run"
        yield Fact("sessions", Fit.REFUSED, words, "use tables that are there: --existing with --script or --builtin")
    elif shared:
        words = "all connections share one session: clients wait for each other"
        yield Fact("sessions", Fit.COSTS, words, "use --clients 1 to measure it without these waits")


def _user(asking: Asking, role: dict[str, str]) -> Iterator[Fact]:
    need = asking.need
    if not role:
        yield Fact("user", Fit.UNKNOWN, "the server does not report what the user may do")
        return
    words = f"{role['name']}{', superuser' if role['super'] == 't' else ''}, database {role['database']}"
    if need.makes and role["creates"] != "t":
        grant = f"GRANT CREATE ON DATABASE {role['database']} TO {role['name']}"
        remedy = f"{grant}, or use tables that are there: --existing"
        yield Fact("user", Fit.REFUSED, f"{words}: may not create the schema dsbench", remedy)
    else:
        yield Fact("user", Fit.OK, words)
    if need.makes and need.procedures and role["programs"] != "t":
        words = f"{role['name']} may not write functions in plpgsql"
        yield Fact("functions", Fit.REFUSED, words, "GRANT USAGE ON LANGUAGE plpgsql, or --call statements")


def _connections(asking: Asking, role: dict[str, str]) -> Fact:
    used = asking.row(_CONNECTIONS)
    most, limits = number(_setting(asking, "max_connections")), {}
    if most is not None and used:
        # Those that are reserved for pg_use_reserved_connections may be this user's.
        kept = 0 if role.get("super") == "t" else number(_setting(asking, "superuser_reserved_connections")) or 0
        limits["max_connections"] = most - kept - int(used["all_used"])
    for name, column, counted in (
        (f"CONNECTION LIMIT of role {role.get('name')}", "most", "of_role"),
        (f"CONNECTION LIMIT of database {role.get('database')}", "of_database", "of_database"),
    ):
        if (limit := number(role.get(column, ""))) is not None and limit >= 0 and role.get("super") != "t" and used:
            limits[name] = limit - int(used[counted])
    return connections(asking.need, limits)


def _timeouts(asking: Asking) -> Iterator[Fact]:
    for row in asking.fetch(_TIMEOUTS_SET):
        name = str(row["name"])
        if name in _IDLE and not asking.need.paced:
            continue
        lifted = "; dsbench's own work lifts it" if asking.target.pooled != "transactions" else ""
        words = f"{name} {row['reset_val']} ms: {_TIMEOUTS[name]}{lifted}"
        yield Fact("time-outs", Fit.COSTS, words, f"ALTER ROLE … SET {name} = 0 to measure without it")


def _logs(asking: Asking) -> Iterator[Fact]:
    costly = {
        "log_statement": ("", "none"), "log_duration": ("", "off"), "pgaudit.log": ("", "none"),
    }  # fmt: skip
    values = {name: _setting(asking, name) for name in costly}
    found = [f"{name} {value}" for name, value in values.items() if value not in costly[name]]
    timed = ("log_min_duration_statement", "auto_explain.log_min_duration")
    if found := [*found, *(f"{name} 0" for name in timed if _setting(asking, name) == "0")]:
        yield logged(", ".join(found))


def _triggers(asking: Asking) -> Iterator[Fact]:
    if not asking.need.makes:
        return
    names = [str(row["name"]) for row in asking.fetch(
        "SELECT evtname AS name FROM pg_catalog.pg_event_trigger WHERE evtenabled <> 'D' ORDER BY 1"
    )]  # fmt: skip
    if names:
        words = f"event triggers see every CREATE and DROP: {', '.join(names)}"
        yield Fact("triggers", Fit.UNKNOWN, words, "if one refuses, name a database without it")
