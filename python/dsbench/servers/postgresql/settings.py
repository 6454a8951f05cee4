"""What goes into ``postgresql.conf`` and ``pg_hba.conf`` of a private server."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

from dsbench import spec

DEFAULT_CONNECTIONS = 100
SPARE_CONNECTIONS = 10
"""Sessions kept free beside those of the load: administration, monitors, the user who wants to look."""

_OWN = {
    "data_directory", "config_file", "hba_file", "ident_file", "external_pid_file", "unix_socket_directories",
    "unix_socket_permissions", "unix_socket_group", "logging_collector", "log_destination",
}  # fmt: skip
_DIRECTIVES = {"include", "include_dir", "include_if_exists"}


def checked(settings: Mapping[str, str], connections: int) -> dict[str, str]:
    """``settings`` by name in lower case, with ``max_connections`` raised where the load needs it.

    Raises ``SpecError`` for what the server could not refuse in a message that names it; whether a
    setting exists and its value is possible is for the server to say.
    """
    result = {name.lower(): value for name, value in settings.items()}
    for name, value in result.items():
        if not re.fullmatch(r"[a-z_][a-z0-9_$]*(\.[a-z_][a-z0-9_$]*)*", name) or name in _DIRECTIVES:
            raise _wrong(f"{name!r} is no name of a setting", "use the names of postgresql.conf")
        if name in _OWN:
            raise _wrong(f"{name} is set by dsbench itself", "leave it out")
        if name == "port" and not (value.isdecimal() and 1 <= int(value) <= 65535):
            raise _wrong(f"port is {value!r}", "give a number between 1 and 65535, or leave it out")
        if "\n" in value or "\r" in value:
            raise _wrong(f"{name} has a value of several lines", "give it in one line")
    _check_room(result, connections)
    return result


def _check_room(settings: dict[str, str], connections: int) -> None:
    needed = connections + SPARE_CONNECTIONS
    wanted = settings.get("max_connections")
    if wanted is None:
        if needed > DEFAULT_CONNECTIONS:
            settings["max_connections"] = str(needed)
    elif wanted.isdecimal() and int(wanted) < connections:
        raise _wrong(
            f"max_connections = {wanted} cannot hold the {connections} connections of the load",
            f"raise it to {needed}, or leave it out: dsbench then sets it",
        )


def conf(settings: Mapping[str, str]) -> str:
    """Lines for the end of ``postgresql.conf``."""
    lines = [f"{name} = '{_quoted(value)}'" for name, value in settings.items()]
    return "\n".join(["", "# set by dsbench", *lines, ""])


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def network_host(listen_addresses: str) -> str | None:
    """The host name by which clients reach a server that listens there; ``None`` for the socket alone."""
    first = listen_addresses.split(",")[0].strip()
    if not first:
        return None
    return socket.gethostname() if first in ("*", "0.0.0.0", "::") else first


def _wrong(problem: str, remedy: str) -> spec.SpecError:
    return spec.SpecError("--set", problem, remedy)
