"""Ports of private servers: between choosing one and binding it another program may take it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsbench import servers, spec
from dsbench.measure.loaders import TargetDatabase
from dsbench.servers import server as life
from dsbench.servers.process import free_port
from fixtures.thorough import mostly_thorough

_NETWORKED = mostly_thorough(
    [
        pytest.param("postgresql", {"listen_addresses": "127.0.0.1"}, "port", id="postgresql"),
        pytest.param("mariadb", {"bind_address": "127.0.0.1"}, "port", id="mariadb"),
        pytest.param("mysql", {"bind_address": "127.0.0.1"}, "port", marks=pytest.mark.needs_mysql, id="mysql"),
        pytest.param("firebird", {}, "RemoteServicePort", id="firebird"),
    ],
    "postgresql", "firebird",
)  # fmt: skip


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which another program listens."""
    with socket.create_server(("127.0.0.1", free_port())) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize(("product", "settings", "_"), _NETWORKED)
def test_a_port_taken_before_the_server_binds_it_is_left_for_another(
    product: str, settings: dict[str, str], _: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = iter([taken, *(free_port() for _ in range(4))])
    monkeypatch.setattr(life, "free_port", lambda: next(ports))
    with servers.start(spec.Target(url=f"private:{product}", settings=settings), 4) as server:
        assert f":{taken}/" not in server.url
        assert server.pids()
        assert TargetDatabase(server.url).state() == ("absent", "")


@pytest.mark.parametrize(("product", "settings", "name"), _NETWORKED)
def test_a_port_that_the_user_names_and_another_has_is_named(
    product: str, settings: dict[str, str], name: str, taken: int, base: Path
) -> None:
    wanted = spec.Target(url=f"private:{product}", directory=base, settings={**settings, name: str(taken)})
    with pytest.raises(servers.ServerError, match=f"127.0.0.1:{taken} is in use by another program") as caught:
        servers.start(wanted, 4)
    assert name in caught.value.remedy


def test_no_port_of_outgoing_connections_is_chosen() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not [port for port in (free_port() for _ in range(20)) if first <= port <= last or port < 1024]
