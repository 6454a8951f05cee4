"""Other load generators as clients, pgbench and sysbench: where their programs are and what they are given."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from dsbench.measure.drivers.postgres import session_options
from dsbench.spec.target import Target


def program(name: str) -> str:
    """Where it is, not Debian's script that starts it and whose start would be in its CPU time; empty without one."""
    found = shutil.which(name)
    if found is None or Path(found).resolve().name == "pg_wrapper":
        places = Path("/usr/lib/postgresql").glob(f"[0-9]*/bin/{name}")
        return str(max(places, key=lambda path: int(path.parts[4]), default=found or ""))
    return found


@cache
def version(name: str) -> str:
    """What the program says of its version."""
    done = subprocess.run([program(name), "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def script(name: str) -> str:
    """Path of a script beside this module: transactions with dsbench's statements."""
    return str(resources.files("dsbench.measure.drivers").joinpath("scripts", name))


_VARIABLES: Final = {
    "user": "PGUSER", "password": "PGPASSWORD", "host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT",
    "dbname": "PGDATABASE", "passfile": "PGPASSFILE", "sslmode": "PGSSLMODE", "sslrootcert": "PGSSLROOTCERT",
    "sslcert": "PGSSLCERT", "sslkey": "PGSSLKEY", "connect_timeout": "PGCONNECT_TIMEOUT",
    "application_name": "PGAPPNAME", "gssencmode": "PGGSSENCMODE", "channel_binding": "PGCHANNELBINDING",
}  # fmt: skip
"""Parameters of a URL of PostgreSQL to libpq's variables."""


def environment(target: Target, isolation: str) -> dict[str, str]:
    """What libpq's programs connect to, with dsbench's schema; a password is in no argument."""
    parts = {
        **target.parameters, "host": target.host, "port": str(target.port or ""), "user": target.user,
        "password": target.password, "dbname": target.database,
    }  # fmt: skip
    found = {variable: parts[name] for name, variable in _VARIABLES.items() if parts.get(name)}
    return {**os.environ, **found, "PGOPTIONS": session_options(target, isolation)}
