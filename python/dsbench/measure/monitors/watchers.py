"""What each product is asked about the sessions of the load, and what its answers mean in our words.

PostgreSQL tells what every session waits for. MariaDB and MySQL tell it where the performance schema and its consumer
of waits are on; else the list of processes tells a commit, and InnoDB who waits for a row. Firebird tells the
statements under way, and which of them met a row of another transaction. SQLite works in this process, where the client
notes what it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.sessions import ACTIVE, IDLE, OPEN, WAITING, SessionSeen, Watcher, without_values

Row = Mapping[str, str | None]


@dataclass(frozen=True)
class MonitorSession:
    """A session of our own on the target, and what to omit of what it sees."""

    fetch: Callable[[str], Sequence[Row]]
    close: Callable[[], None]
    beside: Callable[[str], Sequence[Row]]
    """A query in the administrative session, which is none of the load's."""
    own: bool
    """Whether the load is made by dsbench's own client, whose sessions carry a name."""
    kept: bool = True
    """Whether each question reaches the same session; not behind a pooler of transactions."""


def _cell(row: Row, name: str) -> str:
    return row.get(name) or ""


_OF_EVENT: Final = {
    "LWLock:WALWrite": "flush", "LWLock:WALWriteLock": "flush", "Timeout:SpinDelay": "latch", "BufferPin:BufferPin":
    "latch", "Timeout:CommitDelay": "flush", "IPC:SyncRep": "other", "LWLock:lock_manager": "latch",
}  # fmt: skip
_OF_TYPE: Final = {"Lock": "lock", "LWLock": "latch", "BufferPin": "latch", "Buffer": "latch", "Client": "client"}


def class_of_postgres(kind: str, event: str) -> str:
    """Our word for a wait event of PostgreSQL.

    A session that waits for the lock ``WALWrite`` waits until another one has flushed the log for both.
    """
    if not kind:
        return ""
    if known := _OF_EVENT.get(f"{kind}:{event}"):
        return known
    if kind != "IO":
        return _OF_TYPE.get(kind, "other")
    if (event.startswith("WAL") and not event.endswith("Read")) or event.endswith("Sync"):
        return "flush"
    words = (("Read", "read"), ("Prefetch", "read"), ("Write", "write"), ("Extend", "write"), ("Truncate", "write"))
    return next((ours for end, ours in words if end in event), "other")


_STATES_OF_POSTGRES: Final = {"idle": IDLE, "idle in transaction": OPEN, "idle in transaction (aborted)": OPEN}
_LOCKS: Final = (
    "SELECT pid, granted, locktype, relation::text, coalesce(transactionid::text, concat_ws('/', database, relation,"
    " page, tuple, virtualxid, classid, objid)) AS what FROM pg_catalog.pg_lock_status()"
    " WHERE locktype IN ('transactionid', 'tuple') OR NOT granted"
)


class PostgresWatcher:
    """Of PostgreSQL: one statement, planned once where it can be, and one more while sessions wait for locks."""

    least_s = 0.0

    def __init__(self, asked: MonitorSession) -> None:
        self._asked = asked
        self._tables: dict[str, str] = {}
        self._look, self._locks = "EXECUTE dsbench_look", "EXECUTE dsbench_locks"

    def open(self) -> None:
        own = "SELECT pg_catalog.pg_backend_pid()::text AS pid"
        asking = (self._asked.fetch, self._asked.beside) if self._asked.kept else ()
        pids = ", ".join(_cell(ask(own)[0], "pid") for ask in asking)
        named = " AND application_name = pg_catalog.current_setting('application_name')" if self._asked.own else ""
        ours = self._asked.fetch(
            "SELECT d.oid::text AS here, r.oid::text AS role FROM pg_catalog.pg_database d, pg_catalog.pg_roles r"
            " WHERE d.datname = pg_catalog.current_database() AND r.rolname = current_user"
        )[0]
        # The view joins names that are not needed here.
        look = (
            "SELECT /* dsbench_look */ pid, state, wait_event_type AS kind, wait_event AS event, query"
            " FROM pg_catalog.pg_stat_get_activity(NULL)"
            f" WHERE datid = {_cell(ours, 'here')} AND usesysid = {_cell(ours, 'role')}"
            f" AND backend_type = 'client backend'{named} AND pid NOT IN ({pids or 'pg_catalog.pg_backend_pid()'})"
        )
        if not self._asked.kept:
            self._look, self._locks = look, _LOCKS
            return
        self._asked.fetch(f"PREPARE dsbench_look AS {look}")
        self._asked.fetch(f"PREPARE dsbench_locks AS {_LOCKS}")

    def look(self) -> Iterable[SessionSeen]:
        rows = self._asked.fetch(self._look)
        locks = self._asked.fetch(self._locks) if any(row["kind"] == "Lock" for row in rows) else ()
        states = {_cell(row, "pid"): _cell(row, "state") for row in rows}
        for row in rows:
            yield self._seen(row, locks, states)

    def _seen(self, row: Row, locks: Sequence[Row], states: Mapping[str, str]) -> SessionSeen:
        kind, event, statement = _cell(row, "kind"), _cell(row, "event"), without_values(_cell(row, "query"))
        state = _STATES_OF_POSTGRES.get(_cell(row, "state"), WAITING if kind else ACTIVE)
        if state in (IDLE, OPEN):
            return SessionSeen(state, "client", "", "", statement)
        wait = f"{kind}:{event}" if kind else ""
        on, holder = self._find_lock(_cell(row, "pid"), locks) if kind == "Lock" else ("", "")
        blocker = _STATES_OF_POSTGRES.get(states[holder], ACTIVE) if holder in states else ""
        return SessionSeen(state, class_of_postgres(kind, event), wait, on, statement, blocker)

    def _find_lock(self, pid: str, locks: Sequence[Row]) -> tuple[str, str]:
        """The table of the lock that session ``pid`` waits for, and the session that holds it.

        Who waits for a transaction to end holds the lock of its row meanwhile; not everybody does, but who waits for
        the same transaction mostly waits for the same row.
        """
        waited = next((lock["what"] for lock in locks if lock["pid"] == pid and lock["granted"] == "f"), None)
        if waited is None:  # It has what it waited for.
            return "", ""
        waiting = [pid, *(lock["pid"] for lock in locks if lock["granted"] == "f" and lock["what"] == waited)]
        relations = (_cell(lock, "relation") for of in waiting for lock in locks if lock["pid"] == of)
        holders = (_cell(lock, "pid") for lock in locks if lock["granted"] == "t" and lock["what"] == waited)
        return self._name(next(filter(None, relations), "")), next((one for one in holders if one != pid), "")

    def _name(self, relation: str) -> str:
        if relation and relation not in self._tables:
            found = self._asked.fetch(f"SELECT relname FROM pg_catalog.pg_class WHERE oid = {int(relation)}")
            self._tables[relation] = _cell(found[0], "relname") if found else ""
        return self._tables.get(relation, "")

    def close(self) -> None:
        self._asked.close()


_OF_STATE: Final = (
    ("row lock", "lock"), ("table metadata lock", "lock"), ("table level lock", "lock"), ("user lock", "lock"),
    ("global read lock", "lock"), ("backup lock", "lock"), ("stored", "lock"), ("commit", "flush"),
    ("starting cleanup", "flush"), ("updating status", "flush"), ("binlog", "flush"), ("semi-sync", "other"),
    ("waiting for", "other"),
)  # fmt: skip
_OF_INSTRUMENT: Final = (
    ("wait/io/file/innodb/innodb_log_file", "flush"), ("wait/io/file/sql/binlog", "flush"), ("wait/io/table/", ""),
    ("wait/lock/", "lock"), ("wait/synch/", "latch"), ("wait/io/socket/", "client"), ("idle", "client"),
)  # fmt: skip
_OF_OPERATION: Final = {"read": "read", "write": "write", "sync": "flush", "fsync": "flush"}


def class_of_mysql(wait: str, operation: str = "") -> str:
    """Our word for an instrument of the performance schema, or for the state in a list of processes.

    MariaDB ends a statement that commits while the log is being flushed, and waits for the flush before it answers:
    its cleanup takes no other time that shows.
    """
    if wait.startswith(("wait/", "idle")):
        known = next((ours for start, ours in _OF_INSTRUMENT if wait.startswith(start)), None)
        return _OF_OPERATION.get(operation, "other") if known is None else known
    return next((ours for part, ours in _OF_STATE if part in wait.lower()), "")


_TRANSACTIONS: Final = (
    "SELECT t.trx_mysql_thread_id AS id, t.trx_state AS state, {on} AS `on`, b.trx_mysql_thread_id AS holder"
    " FROM information_schema.innodb_trx t {locks}"
)
_LOCKS_OF_MARIADB: Final = (
    "LEFT JOIN information_schema.innodb_lock_waits w ON w.requesting_trx_id = t.trx_id"
    " LEFT JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id"
    " LEFT JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id"
)
_LOCKS_OF_MYSQL: Final = (
    "LEFT JOIN performance_schema.data_lock_waits w ON w.requesting_engine_transaction_id = t.trx_id"
    " LEFT JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id"
    " LEFT JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id"
)
_WAITS: Final = (
    "SELECT t.processlist_id AS id, w.event_name AS event, w.operation AS operation, w.object_name AS object"
    " FROM performance_schema.threads t JOIN performance_schema.events_waits_current w ON w.thread_id = t.thread_id"
    " WHERE t.processlist_id IS NOT NULL AND w.end_event_id IS NULL"
)
_CONSUMER: Final = "SELECT enabled FROM performance_schema.setup_consumers WHERE name = 'events_waits_current'"


class MysqlWatcher:
    """Of MariaDB and MySQL."""

    least_s = 0.12
    """InnoDB shows its transactions anew only where nobody has looked for 0.1 s."""

    def __init__(self, asked: MonitorSession) -> None:
        self._asked = asked
        self._left_out: frozenset[str] = frozenset()
        self._user, self._transactions, self._waits = "", "", False

    def open(self) -> None:
        own = "SELECT connection_id() AS id, substring_index(user(), '@', 1) AS user, version() AS version"
        mine, beside = self._asked.fetch(own)[0], self._asked.beside(own)[0]
        self._left_out, self._user = frozenset((_cell(mine, "id"), _cell(beside, "id"))), _cell(mine, "user")
        mariadb = "mariadb" in _cell(mine, "version").lower()
        on, locks = ("l.lock_table", _LOCKS_OF_MARIADB) if mariadb else ("l.object_name", _LOCKS_OF_MYSQL)
        self._transactions = _TRANSACTIONS.format(on=on, locks=locks)
        with suppress(Exception):  # Off, or not allowed: the list of processes says less.
            self._waits = any(_cell(row, "enabled") == "YES" for row in self._asked.fetch(_CONSUMER))
        self._asked.fetch(self._transactions)

    def look(self) -> Iterable[SessionSeen]:
        rows = self._asked.fetch("SHOW FULL PROCESSLIST")
        locks = {_cell(row, "id"): row for row in self._asked.fetch(self._transactions)} if self._transactions else {}
        waits = {_cell(row, "id"): row for row in self._asked.fetch(_WAITS)} if self._waits else {}
        load = [row for row in rows if self._is_of_load(row)]
        busy = {_cell(row, "Id"): _cell(row, "Command") != "Sleep" for row in load}
        for row in load:
            number = _cell(row, "Id")
            yield self._seen(row, locks.get(number), waits.get(number), busy)

    def _is_of_load(self, row: Row) -> bool:
        known = _cell(row, "Id") not in self._left_out and _cell(row, "User") == self._user
        return known and _cell(row, "Command") not in ("Daemon", "Binlog Dump", "Binlog Dump GTID")

    @staticmethod
    def _seen(row: Row, transaction: Row | None, wait: Row | None, busy: Mapping[str, bool]) -> SessionSeen:
        statement = without_values(_cell(row, "Info"), mysql=True)
        if _cell(row, "Command") == "Sleep":
            return SessionSeen(OPEN if transaction else IDLE, "client", "", "", statement)
        if transaction and _cell(transaction, "state") == "LOCK WAIT":
            on = _cell(transaction, "on").replace("`", "").rpartition(".")[2].partition(" ")[0]
            holder = busy.get(_cell(transaction, "holder"))
            blocker = "" if holder is None else ACTIVE if holder else OPEN
            return SessionSeen(WAITING, "lock", "innodb row lock", on, statement, blocker)
        state = _cell(row, "State")
        name = _cell(wait, "event") if wait else state
        ours = class_of_mysql(name, _cell(wait, "operation") if wait else "")
        return SessionSeen(WAITING, ours, name, "", statement) if ours else SessionSeen(ACTIVE, "", "", "", statement)

    def close(self) -> None:
        self._asked.close()


_WORK_OF_FIREBIRD: Final = (
    "SELECT a.mon$attachment_id AS id, s.mon$statement_id AS statement, t.mon$transaction_id AS tra,"
    " coalesce(s.mon$state, 0) AS state, CAST(substring(s.mon$sql_text FROM 1 FOR 500) AS varchar(500)) AS text,"
    " (SELECT first 1 trim(m.mon$table_name) FROM mon$table_stats m JOIN mon$record_stats r"
    "   ON r.mon$stat_id = m.mon$record_stat_id WHERE m.mon$stat_id = s.mon$stat_id AND r.mon$record_waits > 0) AS held"
    " FROM mon$attachments a"
    " LEFT JOIN mon$transactions t ON t.mon$attachment_id = a.mon$attachment_id AND t.mon$state = 1"
    " LEFT JOIN mon$statements s ON s.mon$transaction_id = t.mon$transaction_id AND s.mon$state = 1"
    " WHERE a.mon$system_flag = 0 AND a.mon$user = current_user AND a.mon$attachment_id NOT IN ({left})"
)


class FirebirdWatcher:
    """Of Firebird, whose every look makes the server gather all of its sessions.

    It names no waits. A statement that met a row of another transaction since it began is taken to wait for it.
    """

    least_s = 0.2

    def __init__(self, asked: MonitorSession) -> None:
        self._asked = asked
        self._query = ""

    def open(self) -> None:
        own = "SELECT current_connection AS id FROM rdb$database"
        left = ", ".join(_cell(ask(own)[0], "ID") for ask in (self._asked.fetch, self._asked.beside))
        self._query = _WORK_OF_FIREBIRD.format(left=left)

    def look(self) -> Iterable[SessionSeen]:
        found: dict[str, SessionSeen] = {}
        for row in self._asked.fetch(self._query):
            statement, held = without_values(_cell(row, "TEXT")), _cell(row, "HELD")
            if _cell(row, "STATE") != "1":
                seen = SessionSeen(OPEN if _cell(row, "TRA") else IDLE, "client", "", "", statement)
            elif held:
                seen = SessionSeen(WAITING, "lock", "record wait", held.lower(), statement)
            else:
                seen = SessionSeen(ACTIVE, "", "", "", statement)
            # A session may have several statements: the one that waits says most.
            if found.get(_cell(row, "ID"), seen).state not in (ACTIVE, WAITING) or seen.state == WAITING:
                found[_cell(row, "ID")] = seen
            found.setdefault(_cell(row, "ID"), seen)
        return found.values()

    def close(self) -> None:
        self._asked.close()


_OF_CORE: Final = {"idle": (IDLE, "client"), "open": (OPEN, "client"), "active": (ACTIVE, "")}


class EmbeddedWatcher:
    """Of an engine in this process, whose sessions note what they do."""

    least_s = 0.0

    def __init__(self, seen: Callable[[], Iterable[tuple[str, str, str]] | None]) -> None:
        """``seen``: state, name of the wait and statement of each session."""
        self._seen = seen

    def open(self) -> None:
        """Nothing is to be opened."""

    def look(self) -> Iterable[SessionSeen]:
        for state, wait, statement in self._seen() or ():
            ours, of = _OF_CORE.get(state, (WAITING, state))
            yield SessionSeen(ours, of, wait, "", without_values(statement))

    def close(self) -> None:
        """Nothing is open."""


WATCHERS: Final[Mapping[str, Callable[[MonitorSession], Watcher]]] = {
    "postgres": PostgresWatcher, "mysql": MysqlWatcher, "firebird": FirebirdWatcher,
}  # fmt: skip
"""By dialect, where there is a server to ask."""
