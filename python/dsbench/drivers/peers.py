"""Other load generators as clients: pgbench, and sysbench on PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from dsbench.drivers.address import Address
from dsbench.drivers.postgres import session_options

_PREFERRED: Final = ("ssl_mode", "PREFERRED")


@dataclass(frozen=True)
class Peer:
    """A program that makes load by itself and tells what it did."""

    name: str
    package: str
    """What apt installs."""
    dialects: Mapping[str, str]
    """Engine to its own name for it."""
    untold: tuple[str, ...]
    """Columns of the table ``cycles`` that it tells nothing of."""
    whole: str
    """How it differs from dsbench's own client, in words."""

    def ignored(self, url: str) -> list[str]:
        """What ``url`` asks for and the program would not do."""
        query = Address.of(url).query
        return sorted(name for name in query if name.startswith("ssl_") and (name, query[name]) != _PREFERRED)

    @property
    def missing(self) -> str:
        """Why it cannot be used, with what to do; empty where it can."""
        return "" if program(self.name) else f"{self.name} is not installed: apt install {self.package}"

    @property
    def version(self) -> str:
        """As it says it."""
        return _version(self.name)


PEERS: Final = {
    peer.name: peer
    for peer in (
        Peer(
            "pgbench", "postgresql", {"postgres": "pgsql"}, ("remote", "failed_ns"),
            "times in whole microseconds; waits for BEGIN as for any statement",
        ),
        Peer(
            "sysbench", "sysbench", {"postgres": "pgsql", "mysql": "mysql"},
            ("remote", "failed_ns", "retries"),
            "times in 1.8 % wide steps; does not tell what each client did",
        ),
    )
}  # fmt: skip
"""By name, as ``--client`` has it."""


def program(name: str) -> str:
    """Where it is, not Debian's script that starts it and whose start would be in its CPU time; empty without one."""
    found = shutil.which(name)
    if found is None or Path(found).resolve().name == "pg_wrapper":
        places = Path("/usr/lib/postgresql").glob(f"[0-9]*/bin/{name}")
        return str(max(places, key=lambda path: int(path.parts[4]), default=found or ""))
    return found


@cache
def _version(name: str) -> str:
    done = subprocess.run([program(name), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def script(name: str) -> str:
    """Path of a script beside this module: transactions with dsbench's statements."""
    return str(resources.files("dsbench.drivers").joinpath("scripts", name))


_VARIABLES: Final = {
    "user": "PGUSER", "password": "PGPASSWORD", "host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT",
    "dbname": "PGDATABASE", "passfile": "PGPASSFILE", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "connect_timeout": "PGCONNECT_TIMEOUT",
    "application_name": "PGAPPNAME", "gssencmode": "PGGSSENCMODE", "channel_binding": "PGCHANNELBINDING",
}  # fmt: skip
"""Parameters of a URL of PostgreSQL to libpq's variables."""


def environment(address: Address, isolation: str) -> dict[str, str]:
    """What libpq's programs connect to, with dsbench's schema; a password is in no argument."""
    parts = {
        "host": address.host, "port": str(address.port or ""), "user": address.user, "password": address.password,
        "dbname": address.path, **address.query,
    }  # fmt: skip
    found = {variable: parts[name] for name, variable in _VARIABLES.items() if parts.get(name)}
    return {**os.environ, **found, "PGOPTIONS": session_options(address, isolation)}
