"""What the core does in a process of its own, for those who measure and check. It loads nothing but the core, so that
such a process is there at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dsbench import _core
from dsbench.children import Task
from dsbench.problem import Problem


class NullPostgresql(Task):
    """The null PostgreSQL, until it is ended."""

    def listen(self, path: str) -> int:
        """Listens at the unix socket ``path``, and at the TCP port that it gives."""
        self._servers = _core.NullServer(path), _core.NullServer(None)
        port = self._servers[1].port()
        assert port is not None
        return port


class LedgerWriters(Task):
    """Writers of a ledger."""

    def write(self, url: str, notes: str, first: int, writers: int) -> list[str]:
        """Writes on the target ``url`` until all sessions have failed; gives how."""
        try:
            ended = _core.Ledger(_core.Target(url)).write(first, writers, notes)
        except _core.CoreError as error:
            raise Problem(*error.args[2:4]) from None
        return [f"{kind} {message}" for kind, message in ended]


class Forgetting(Task):
    """The file system that forgets. It is unmounted when nothing more is asked, by whatever end of those who ask."""

    outlives = True

    def __init__(self, say: Callable[[Any], None]) -> None:
        super().__init__(say)
        self._mounted: _core.Forgetful | None = None

    def mount(self, disk: str, place: str) -> None:
        """Shows the folder ``disk`` at ``place``. ``Problem`` where it may not."""
        try:
            self._mounted = _core.Forgetful(disk, place)
        except (OSError, AttributeError) as error:
            raise Problem(str(error)) from None

    def settle(self) -> None:
        """All that was written is on the disk."""
        self._there.settle()

    def lie(self, lies: bool) -> None:
        """Whether a flush is a lie from now on."""
        self._there.lie(lies)

    def forget(self) -> int:
        """Drops what is not on the disk; gives the number of its bytes."""
        return self._there.forget()

    def close(self) -> None:
        """Unmounts it."""
        if self._mounted is not None:
            self._mounted.unmount()

    @property
    def _there(self) -> _core.Forgetful:
        assert self._mounted is not None
        return self._mounted
