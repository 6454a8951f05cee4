"""Settings of a private server of the MySQL family, as options of its program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dsbench.servers.settings import check_port, raise_max_connections, wrong

DEFAULT_CONNECTIONS = 151
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
            raise wrong(f"{name!r} is no name of a setting", "use the names of my.cnf")
        if name in _OWN:
            raise wrong(f"{name} is set by dsbench itself", "leave it out")
        if not value.isprintable():
            raise wrong(f"{name} has a value of several lines", "give it in one line")
    if not re.fullmatch(r"\w*", result.get("storage_engine", ""), re.ASCII):
        raise wrong(f"storage_engine is {result['storage_engine']!r}", "use InnoDB or RocksDB")
    if "port" in result:
        check_port("port", result["port"])
        if "bind_address" not in result:
            remedy = "give bind_address as well: without it there is only a Unix socket"
            raise wrong("port without bind_address", remedy)
    _raise_limits(result, connections)
    return result


def _raise_limits(settings: dict[str, str], connections: int) -> None:
    needed = raise_max_connections(settings, connections, DEFAULT_CONNECTIONS)
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
