"""A network of four machines with a PostgreSQL on the host, and a coordinator to attack, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import network

from dsbench import servers
from dsbench.cluster import limits
from dsbench.cluster.bundle import invite
from dsbench.cluster.coordinator import Coordinator
from dsbench.spec import Target
from fixtures.house import House
from fixtures.nodes import free_port

LEASE_S = 60.0
"""Of intruders, who send no beats: what they do takes less than that on any machine."""


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


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A coordinator of two nodes that were invited with a third; it says all it has to say."""
    monkeypatch.setattr(limits, "JOINS", 1000)
    monkeypatch.setattr(limits, "LINES", 1000)
    monkeypatch.setattr(limits, "MESSAGES", 50)
    made = invite(tmp_path / "cluster", 3, "127.0.0.1", free_port())
    coordinator = Coordinator(made.coordinator, 2, LEASE_S)
    coordinator.start()
    yield House(made, coordinator, [])
    coordinator.close("over")
    assert not coordinator._thread.is_alive()
