"""What goes into ``postgresql.conf`` and ``pg_hba.conf`` of a private server."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dsbench.servers.settings import check_port, raise_max_connections, wrong

DEFAULT_CONNECTIONS = 100

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
            raise wrong(f"{name!r} is no name of a setting", "use the names of postgresql.conf")
        if name in _OWN:
            raise wrong(f"{name} is set by dsbench itself", "leave it out")
        if name == "port":
            check_port(name, value)
        if "\n" in value or "\r" in value:
            raise wrong(f"{name} has a value of several lines", "give it in one line")
    raise_max_connections(result, connections, DEFAULT_CONNECTIONS)
    return result


def conf(settings: Mapping[str, str]) -> str:
    """Lines for the end of ``postgresql.conf``."""
    lines = [f"{name} = '{_quoted(value)}'" for name, value in settings.items()]
    return "\n".join(["", "# set by dsbench", *lines, ""])


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")
