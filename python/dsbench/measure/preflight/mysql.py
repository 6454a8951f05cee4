"""What a MariaDB or a MySQL, or a server that speaks their protocol, is asked before a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Final

from dsbench.measure.locks import CLAIMS, PLACE
from dsbench.measure.preflight.facts import Asking, Fact, Fit, connections, durability, logged, number, way
from dsbench.measure.stack.rdbms import mysql as stack

SMALLEST: Final = "SELECT 1"
_ON: Final = ("ON", "1", "YES")
_SMALL_PACKET: Final = 1 << 20
_SHORT_WAIT_S: Final = 60
_OVER_LIMITS: Final = re.compile(r"\b(SUPER|READ[_ ]ONLY[_ ]ADMIN|CONNECTION[_ ]ADMIN|ALL PRIVILEGES)\b.* ON \*\.\*")
"""Rights by which a user may write to a read-only server, and pass over limits of connections."""


def facts(asking: Asking) -> Iterator[Fact]:
    """What the server is, what the user may, and what a run costs there."""
    known, counts = stack.variables(asking), _status(asking)
    grants = [str(next(iter(row.values()))) for row in asking.fetch("SHOW GRANTS")]
    yield _server(asking, known)
    yield from way(asking.target, SMALLEST)
    yield from _writes(asking, known, grants)
    yield from _user(asking, grants)
    yield _connections(asking, known, counts, grants)
    yield from _prepared(asking, known, counts)
    yield from _keys(asking, known)
    yield from _load(asking, known)
    yield from _timeouts(asking, known)
    yield from _logs(known)
    yield durability(stack.switches(asking, known, stack.storage_engine(asking)))


def _server(asking: Asking, known: Mapping[str, str]) -> Fact:
    if stack.is_itself(known):
        return Fact("server", Fit.OK, stack.named(known))
    words = f"{stack.named(known)}: neither MySQL nor MariaDB, whose protocol it speaks"
    if asking.need.makes and not asking.cell(CLAIMS["mysql"].take.replace(PLACE, "dsbench asks")):
        words += "; it does not show which session holds a lock, which protects the database of a run"
        return Fact("server", Fit.REFUSED, words, "use tables that are there: --existing with --script or --builtin")
    asking.fetch("SELECT RELEASE_LOCK('dsbench asks')")
    return Fact("server", Fit.COSTS, words, "what it does not answer is left out of the archive")


def _status(asking: Asking) -> dict[str, str]:
    wanted = "'Threads_connected', 'Prepared_stmt_count'"
    found = asking.fetch(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({wanted})")
    return {str(row.get("Variable_name")): str(row.get("Value")) for row in found}


def _writes(asking: Asking, known: Mapping[str, str], grants: list[str]) -> Iterator[Fact]:
    names = ("super_read_only", "innodb_read_only", "transaction_read_only", "tx_read_only", "read_only")
    closed = [name for name in names if known.get(name, "").upper() in (*_ON, "NO_LOCK", "NO_LOCK_NO_ADMIN")]
    if closed == ["read_only"] and _may_pass_over(grants):
        words = "read_only ON: whether this user may write even so depends on the version and the roles"
        yield Fact("writes", Fit.UNKNOWN if asking.need.writes else Fit.OK, words)
    elif closed:
        words = f"{closed[0]} {known[closed[0]]}: this server takes no writes, as a copy does"
        remedy = f"name the primary, or SET GLOBAL {closed[0]} = OFF; or read only: --existing --builtin select-only"
        fit = Fit.REFUSED if asking.need.writes else Fit.OK
        yield Fact("writes", fit, words, remedy if fit is Fit.REFUSED else "")


def _user(asking: Asking, grants: list[str]) -> Iterator[Fact]:
    name = asking.cell("SELECT CURRENT_USER() AS name")
    if not asking.need.makes:
        yield Fact("user", Fit.OK, name)
    elif any(_may_create(grant) for grant in grants):
        yield Fact("user", Fit.OK, f"{name}: may create the database dsbench")
    elif _by_role(grants):
        yield Fact("user", Fit.UNKNOWN, f"{name}: whether it may create the database dsbench is not reported")
    else:
        remedy = f"GRANT ALL ON dsbench.* TO {name}, or use tables that are there: --existing"
        yield Fact("user", Fit.REFUSED, f"{name}: may not create the database dsbench", remedy)


def _by_role(grants: list[str]) -> bool:
    """Whether rights may come by roles, which are not listed, or none are shown."""
    return not grants or any(" ON " not in grant for grant in grants)


def _may_pass_over(grants: list[str]) -> bool:
    """Whether the user may have one of the rights over limits."""
    return _by_role(grants) or any(_OVER_LIMITS.search(grant) for grant in grants)


def _may_create(grant: str) -> bool:
    """Whether ``GRANT … ON …`` lets its user make the database dsbench and its tables."""
    said = re.match(r"GRANT (.*?) ON [`\"]?(.*?)[`\"]?\.\*", grant)
    if said is None or not re.search(r"\bALL PRIVILEGES\b|\bCREATE\b(?! [A-Z])", said[1]):
        return False
    pattern = said[2].replace("\\_", "\0").replace("_", "?").replace("%", "*").replace("\0", "_")
    return said[2] == "*" or fnmatchcase("dsbench", pattern)


def _connections(asking: Asking, known: Mapping[str, str], counts: Mapping[str, str], grants: list[str]) -> Fact:
    limits = {}
    most, used = number(known.get("max_connections", "")), number(counts.get("Threads_connected", ""))
    if most is not None and used is not None:
        limits["max_connections"] = most - used + 1  # This session is among those that are used.
    of_user = number(asking.cell("SELECT @@session.max_user_connections AS most"))
    if of_user is not None and of_user > 0 and not _may_pass_over(grants):
        limits["max_user_connections"] = of_user
    return connections(asking.need, limits)


def _prepared(asking: Asking, known: Mapping[str, str], counts: Mapping[str, str]) -> Iterator[Fact]:
    most, need = number(known.get("max_prepared_stmt_count", "")), asking.need.statements
    if most is None or not need:
        return
    free = most - (number(counts.get("Prepared_stmt_count", "")) or 0)
    words = f"{free} free (max_prepared_stmt_count), {need} needed"
    remedy = "raise max_prepared_stmt_count, use fewer --clients, or --no-prepare"
    yield Fact("prepared statements", Fit.OK, words) if need <= free else Fact(
        "prepared statements", Fit.REFUSED, words, remedy
    )


def _keys(asking: Asking, known: Mapping[str, str]) -> Iterator[Fact]:
    if asking.need.makes and (name := stack.demands_keys(known)):
        words = f"{name} ON: a table without a primary key, such as history, gets an invisible one"
        yield Fact("primary keys", Fit.COSTS, words, f"SET GLOBAL {name} = OFF to measure without them")


def _load(asking: Asking, known: Mapping[str, str]) -> Iterator[Fact]:
    if not asking.need.makes:
        return
    if known.get("local_infile", "ON").upper() not in _ON:
        words = "local_infile OFF: rows are loaded by INSERT, which takes longer"
        yield Fact("bulk load", Fit.COSTS, words, "SET GLOBAL local_infile = ON")
    packet = number(known.get("max_allowed_packet", ""))
    if packet is not None and packet < _SMALL_PACKET:
        words = f"max_allowed_packet {packet}: rows are loaded in small packets"
        yield Fact("packets", Fit.COSTS, words, "SET GLOBAL max_allowed_packet = 16777216")


def _timeouts(asking: Asking, known: Mapping[str, str]) -> Iterator[Fact]:
    found = {
        "max_statement_time": "a statement of a client that takes longer is a failed transaction",
        "max_execution_time": "a query of a client that takes longer is a failed transaction",
        "idle_transaction_timeout": "a client that thinks longer within a transaction loses its connection",
    }
    for name, words in found.items():
        value = known.get(name, "")
        if value.strip("0."):
            words = f"{name} {value}: {words}; dsbench's own work lifts it"
            yield Fact("time-outs", Fit.COSTS, words, f"set {name} = 0 to measure without it")
    wait = number(known.get("wait_timeout", ""))
    if wait is not None and wait < _SHORT_WAIT_S and asking.need.paced:
        words = f"wait_timeout {wait} s: a client that waits longer between transactions loses its connection"
        yield Fact("time-outs", Fit.COSTS, words, "SET GLOBAL wait_timeout = 28800")


def _logs(known: Mapping[str, str]) -> Iterator[Fact]:
    found = [name for name in ("general_log",) if known.get(name, "").upper() in _ON]
    slow = known.get("slow_query_log", known.get("log_slow_query", "")).upper() in _ON
    if slow and not (known.get("long_query_time", "1").strip("0.")):
        found.append("slow_query_log with long_query_time 0")
    if found:
        yield logged(f"{', '.join(found)} ON")
