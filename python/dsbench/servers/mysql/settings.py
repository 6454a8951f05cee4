"""Settings of a private server of the MySQL family, as options of its program."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

from dsbench import spec

DEFAULT_CONNECTIONS = 151
SPARE_CONNECTIONS = 10
"""Sessions kept free beside those of the load: administration, monitors, the user who wants to look."""
DEFAULT_STATEMENTS = 16_382
STATEMENTS_OF_A_CONNECTION = 16
"""Prepared statements that a connection of the load may hold, with room to spare."""

DSBENCH = ("basedir", "storage_engine", "bind_address", "port")
"""Settings that dsbench reads itself; the server gets them from it, where it needs them."""

_OWN = {
    "datadir", "socket", "pid_file", "tmpdir", "user", "log_error", "init_file", "initialize", "initialize_insecure",
    "bootstrap", "skip_networking", "defaults_file", "defaults_extra_file", "no_defaults", "daemonize", "chroot",
    "default_storage_engine", "skip_grant_tables", "console", "help", "verbose", "validate_config",
}  # fmt: skip
_SWITCHES = ("log_bin",)
"""Settings whose word is a file's name: as switches they are written with and without ``skip``."""


def checked(settings: Mapping[str, str], connections: int) -> dict[str, str]:
    """``settings`` by name with underscores, with the limits raised that the load needs.

    Raises ``SpecError`` for what the server could not refuse in a message that names it; whether a
    setting exists and its value is possible is for the server to say.
    """
    result = {name.lower().replace("-", "_"): value for name, value in settings.items()}
    for name, value in result.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*", name):
            raise _wrong(f"{name!r} is no name of a setting", "use the names of my.cnf")
        if name in _OWN:
            raise _wrong(f"{name} is set by dsbench itself", "leave it out")
        if not value.isprintable():
            raise _wrong(f"{name} has a value of several lines", "give it in one line")
    _check_storage_engine(result.get("storage_engine", ""))
    _check_port(result)
    _check_room(result, connections)
    return result


def _check_storage_engine(name: str) -> None:
    if name and not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise _wrong(f"storage_engine is {name!r}", "use InnoDB or RocksDB")


def _check_port(settings: Mapping[str, str]) -> None:
    port = settings.get("port")
    if port is None:
        return
    if not (port.isdecimal() and 1 <= int(port) <= 65535):
        raise _wrong(f"port is {port!r}", "give a number between 1 and 65535, or leave it out")
    if "bind_address" not in settings:
        raise _wrong("port without bind_address", "give bind_address as well: without it there is only a Unix socket")


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
    statements = needed * STATEMENTS_OF_A_CONNECTION
    if statements > DEFAULT_STATEMENTS:
        settings.setdefault("max_prepared_stmt_count", str(min(statements, 1_048_576)))


def options(settings: Mapping[str, str]) -> list[str]:
    """What the server's program is called with; without those that are dsbench's."""
    return [word for name, value in settings.items() if name not in DSBENCH for word in _option(name, value)]


def of_the_data(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings that shape a data folder when it is made."""
    shaping = ("innodb_", "lower_case_table_names")
    return {name: value for name, value in settings.items() if name.startswith(shaping)}


def _option(name: str, value: str) -> list[str]:
    option = name.replace("_", "-")
    if name in _SWITCHES and value.lower() in ("on", "off"):
        return [f"--{option}" if value.lower() == "on" else f"--skip-{option}"]
    if name.startswith("skip_") and value.lower() in ("on", "off"):
        return [f"--{option}"] if value.lower() == "on" else []
    return [f"--{option}={value}"]


def network_host(bind_address: str) -> str | None:
    """The host name by which clients reach a server that listens there; ``None`` for the socket alone."""
    first = bind_address.split(",")[0].strip()
    if not first:
        return None
    return socket.gethostname() if first in ("*", "0.0.0.0", "::") else first


def _wrong(problem: str, remedy: str) -> spec.SpecError:
    return spec.SpecError("--set", problem, remedy)
