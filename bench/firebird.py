"""The comparison on Firebird: dsbench's engine against the Python driver, one client each, by TCP.

Both call the same client library. What is compared is what lies above it, and how transactions are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from bench import fbdriver
from bench.cells import Cell
from bench.fbdriver import Loop
from bench.peers import Settings, ours
from bench.place import populate
from bench.sweeps import Client
from dsbench import servers
from dsbench.measure.loaders import Target
from dsbench.spec import Target as TargetSpec

SETTINGS = {"forced_writes": "off", "sweep_interval": "0", "page_size": "8192", "page_buffers": "65536"}
"""The tables lie in memory, no sweep comes between two clients, and no disk has a say in the client's cost."""

LARGEST_SCALE = 5
"""The client's cost does not depend on it, and the population of Firebird takes its time."""

LEFT_OUT = "- Firebird is left out: firebird-driver is not installed (.venv/bin/pip install 'dsbench-db[drivers]')"


@contextmanager
def populated(scale: int) -> Iterator[tuple[str, str]]:
    """A private server with dsbench's tables: (its version, the URL of its database)."""
    with servers.start(TargetSpec(url="private:firebird", settings=SETTINGS), 8) as server:
        target = Target(server.url)
        target.create("bench")
        populate(target, scale)
        target.close()
        # A command line is everybody's to read: clients take the login from their environment.
        parts = urlsplit(server.url)
        login = {"ISC_USER": parts.username or "", "ISC_PASSWORD": unquote(parts.password or "")}
        before = {name: os.environ.get(name) for name in login}
        os.environ.update(login)
        try:
            yield server.version, f"firebird://{parts.hostname}:{parts.port}{parts.path}"
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def clients(cell: Cell, url: str, scale: int, settings: Settings) -> dict[str, Client]:
    """dsbench and the driver; the call is made without forced writes."""
    loop = Loop(url, cell.work.workload, scale, settings.duration)
    return {**ours(cell, url, scale, settings), "firebird-driver": lambda: fbdriver.measure(loop)}
