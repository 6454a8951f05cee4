"""A real PostgreSQL server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dsbench import servers, spec
from fixtures.psql import Psql


@pytest.fixture(scope="module")
def server() -> Iterator[servers.Server]:
    # Without workers of its own, whose rows would be counted, too.
    with servers.start(spec.Target(url="private:postgresql", settings={"autovacuum": "off"}), 8) as running:
        yield running


@pytest.fixture
def queries(server: servers.Server) -> Iterator[Psql]:
    session = Psql.open(server.url)
    yield session
    session.close()
