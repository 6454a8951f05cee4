"""A network of four machines with a PostgreSQL on the host, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dsbench import servers
from dsbench.spec import Target
from fixtures import network


@pytest.fixture(scope="session")
def machines() -> Iterator[network.Network]:
    """Four machines behind cables of their own."""
    if not network.possible():
        pytest.skip("making networks needs root and the right to enter namespaces")
    with network.Network(4) as made:
        yield made


@pytest.fixture(scope="session")
def database(machines: network.Network) -> Iterator[servers.Server]:
    """A private PostgreSQL that the machines reach, with a password."""
    settings = {"fsync": "off", "listen_addresses": machines.host}
    with servers.start(Target(url="private:postgresql", settings=settings), 60) as server:
        yield server
