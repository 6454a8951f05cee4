"""The conformance suite that every engine passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dsbench import _core
from dsbench.measure.loaders.core import errors
from dsbench.measure.loaders.target import Target


@dataclass(frozen=True)
class Case:
    """A case of the conformance suite and how it ended."""

    group: str
    name: str
    variant: str
    """Level of isolation, or way of sending statements; empty where there is but one."""
    outcome: str
    expected: str
    """What the product documents."""
    detail: str

    @property
    def passed(self) -> bool:
        """Whether it is as documented."""
        return self.outcome == self.expected


@dataclass(frozen=True)
class Family:
    """Products that document the same outcomes."""

    names: tuple[str, ...]
    title: str
    source: str


class Conformance:
    """The suite that every engine passes, on ``target``, where nothing of dsbench's may be yet."""

    def __init__(self, target: Target) -> None:
        with errors():
            self._core = _core.Conformance(target._core)
            self.family, self.version = self._core.product()

    @property
    def left(self) -> int:
        """Number of cases that are left."""
        with errors():
            return self._core.left()

    def cases(self) -> Iterator[Case]:
        """Runs one case at a time."""
        with errors():
            while (found := self._core.next()) is not None:
                yield Case(*found)

    def lose_server(self, kill: Callable[[], None]) -> list[Case]:
        """Ends the suite with the cases in which ``kill`` kills the server."""
        with errors():
            return [Case(*found) for found in self._core.lose_server(kill)]

    def close(self) -> None:
        """Drops what the suite made."""
        self._core.close()


def families() -> list[Family]:
    """Whose documentation the suite knows."""
    return [Family(tuple(names), title, source) for names, title, source in _core.families()]


def schedules() -> list[tuple[str, str]]:
    """The suite's schedules of two transactions: (name, what happens)."""
    return _core.schedules()
