"""What mends an error of a server in the middle of a run, by the code that the server gave it.

Where the engine's own words end with a remedy, that one stands. No code here is one of two products: SQLSTATEs have
five characters, Firebird's numbers nine digits, and those of MySQL are none of SQLite's.

Sources: appendix A of PostgreSQL's manual (SQLSTATE), the error references of MySQL 8.0 and MariaDB, and the
numbers of Firebird's fbclient (isc_*).
"""

from __future__ import annotations

from typing import Final

_AGAIN: Final = "then start the run again"
_READ_ONLY: Final = (
    "name the primary, or allow writes for this user (default_transaction_read_only, read_only); on a copy: --existing "
    "with --builtin select-only"
)
_SESSIONS: Final = "use fewer --clients, or allow more sessions on the server or the pooler"
_RIGHT: Final = f"grant the user of TARGET the right that the server names, {_AGAIN}"
_LOCK: Final = f"end the session that holds the lock, or raise the lock timeout of the user of TARGET, {_AGAIN}"
_STATEMENT: Final = f"raise the statement timeout of the user of TARGET, {_AGAIN}"
REMEDIES: Final = {
    "25006": _READ_ONLY, "1792": _READ_ONLY, "1836": _READ_ONLY,
    "42501": _RIGHT, "1044": _RIGHT, "1142": _RIGHT, "1143": _RIGHT, "1227": _RIGHT, "1370": _RIGHT,
    "335544352": _RIGHT,
    "53300": _SESSIONS, "1040": _SESSIONS, "1203": _SESSIONS, "1226": _SESSIONS,
    "55P03": _LOCK, "1205": _LOCK,
    "57014": _STATEMENT, "3024": _STATEMENT, "1969": _STATEMENT,
    "3750": f"allow tables without a primary key: SET GLOBAL sql_require_primary_key = OFF, {_AGAIN}",
    "1153": f"raise max_allowed_packet of the server to 16M or more, {_AGAIN}",
}  # fmt: skip


def find_remedy(code: str) -> str:
    """What mends the error; empty where its code says nothing that a user could mend."""
    return REMEDIES.get(code, "")
