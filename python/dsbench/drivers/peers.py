"""Other load generators as clients: pgbench, and sysbench on PostgreSQL, MariaDB and MySQL."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from dsbench.drivers.address import Address


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
    """Where it is; empty where it is not installed."""
    found = shutil.which(name)
    elsewhere = glob.glob(f"/usr/lib/postgresql/*/bin/{name}")  # noqa: PTH207 - these are absolute
    return found or max(elsewhere, default="")


@cache
def _version(name: str) -> str:
    done = subprocess.run([program(name), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def script(name: str) -> str:
    """Path of a script beside this module: transactions with dsbench's statements."""
    return str(resources.files("dsbench.drivers").joinpath("scripts", name))


def environment(address: Address, isolation: str) -> dict[str, str]:
    """What libpq's programs connect to, with dsbench's schema; a password is in no argument."""
    of_query = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "dbname": "PGDATABASE", "sslmode": "PGSSLMODE"}
    found = {
        "PGHOST": address.host, "PGPORT": str(address.port or ""), "PGUSER": address.user, "PGDATABASE": address.path,
        "PGPASSWORD": address.password or address.query.get("password", ""),
        **{variable: address.query[name] for name, variable in of_query.items() if name in address.query},
    }  # fmt: skip
    level = re.sub("-", "\\\\ ", isolation)
    options = f"-c search_path=dsbench -c default_transaction_isolation={level}"
    return {**os.environ, **{name: value for name, value in found.items() if value}, "PGOPTIONS": options}
