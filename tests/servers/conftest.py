"""A real PostgreSQL and its own client program."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dsbench import spec
from dsbench.servers.postgresql import binaries


@pytest.fixture(scope="session")
def psql() -> Callable[[str, str], str]:
    """Runs one statement at a URL and gives its answer as text; raises with the server's words when it fails."""
    program = binaries.find(None).program("psql")

    def ask(url: str, sql: str) -> str:
        done = subprocess.run(
            [str(program), url, "-XAtc", sql], capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    return ask


@pytest.fixture
def target(base: Path) -> Callable[..., spec.Target]:
    """A private PostgreSQL in ``base`` with the settings given."""

    def make(**settings: str) -> spec.Target:
        return spec.Target(url="private:postgresql", directory=base, settings=settings)

    return make
