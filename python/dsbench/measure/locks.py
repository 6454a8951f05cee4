"""How a run is seen by others that want its target, whatever host they are on: by dialect, in queries."""

from __future__ import annotations

from typing import Final

from dsbench.measure.loaders import Claim

_POSTGRES_NAME: Final = "pid || '/' || extract(epoch FROM {0}backend_start)"
"""A session among all of a server: process numbers are used again."""

PLACE: Final = "dsbench place"
"""The name of that lock."""

CLAIMS: Final = {
    "postgres": Claim(
        f"SELECT pg_try_advisory_lock(hashtextextended('{PLACE}', 0)), {_POSTGRES_NAME.format('')}"
        " FROM pg_stat_activity WHERE pid = pg_backend_pid()",
        f"SELECT l.{_POSTGRES_NAME.format('a.')} AS name, l.pid, CASE WHEN a.client_port = -1"
        " THEN 'the machine of the server' ELSE host(a.client_addr) || ':' || a.client_port END AS origin"
        f" FROM (SELECT hashtextextended('{PLACE}', 0) AS key) k JOIN pg_locks l ON l.objsubid = 1"
        " AND l.classid = ((k.key >> 32) & 4294967295)::oid AND l.objid = (k.key & 4294967295)::oid"
        " JOIN pg_database d ON d.oid = l.database LEFT JOIN pg_stat_activity a ON a.pid = l.pid"
        " WHERE l.locktype = 'advisory' AND l.granted AND d.datname = current_database()",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {_POSTGRES_NAME.format('')} = '{{name}}'",
    ),
    # Numbers begin anew with the server: a session is known by the port of its client, too.
    "mysql": Claim(
        f"SELECT IF(GET_LOCK('{PLACE}', 0) = 1, 't', 'f') AS locked, (SELECT IF(host LIKE '%:%',"
        " CONCAT(id, '/', host), NULL) FROM information_schema.processlist WHERE id = CONNECTION_ID()) AS name",
        f"SELECT CONCAT(p.id, '/', p.host) AS name, l.id, p.host FROM (SELECT IS_USED_LOCK('{PLACE}') AS id) l"
        " LEFT JOIN information_schema.processlist p ON p.id = l.id",
        "KILL {number}",
    ),
}
"""A lock that a run holds until its session ends."""

SESSIONS: Final = {
    "firebird": "SELECT mon$attachment_id AS number, mon$remote_address AS origin FROM mon$attachments"
    " WHERE mon$system_flag = 0 AND mon$attachment_id <> CURRENT_CONNECTION",
}
"""Where there is no such lock, and places are databases of their own: number and origin of the sessions beside the
asking one.

A run has sessions in its place while it works there; a server that is asked to drop a database with sessions refuses. A
run between two scales has no session and cannot be seen.
"""
