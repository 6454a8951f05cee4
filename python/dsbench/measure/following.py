"""Sessions at the replicas of a MariaDB or MySQL server, which are asked how far they are behind."""

from __future__ import annotations

from typing import Final

from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.monitors import Replicas
from dsbench.servers import Server
from dsbench.servers.replication import Replicated
from dsbench.spec import Target

_PRODUCT: Final = "mysql"
"""Dialect of servers that do not know how far those are that follow them. A primary of PostgreSQL does."""


class Followers:
    """Those of a private server, and else the one from which clients read."""

    def __init__(self, target: TargetDatabase, server: Server | None) -> None:
        self._target, self._server = target, server
        self._sessions: dict[str, TargetDatabase] = {}

    def watch(self) -> Replicas | None:
        """Reads the lag of those that follow now; ``None`` where none does, or it cannot be asked."""
        self.close()
        self._sessions = {name: TargetDatabase(url) for name, url in self._places().items()}
        found = Replicas.of(self._target, self._sessions) if self._sessions else None
        if found is None:
            self.close()
        return found

    def _places(self) -> dict[str, str]:
        """Name and URL of each."""
        if self._target.dialect.name != _PRODUCT:
            return {}
        if isinstance(self._server, Replicated):
            return self._server.following
        if (reading := self._target.reading) is None:
            return {}
        where = Target(url=reading.url)
        return {f"{where.host}:{where.port}" if where.port else where.host: reading.url}

    def close(self) -> None:
        """Ends the sessions."""
        while self._sessions:
            self._sessions.popitem()[1].close()
