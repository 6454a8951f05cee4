"""How long before a common start the nodes must know of it: longer when one of them was not ready for the last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

BASE_NS: Final = 150_000_000
PER_NODE_NS: Final = 11_000_000
ERRORS: Final = 40
"""Largest errors of a clock: who answers slowly hears of the start slowly."""
_LONGER: Final = 3
_LONGEST: Final = 81


class Lead:
    """The lead of one run's cycles."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._factor = 1

    def ns(self, errors_ns: Iterable[int]) -> int:
        """Nanoseconds for nodes whose clocks are known within ``errors_ns``."""
        quiet = BASE_NS + PER_NODE_NS * self._nodes
        return quiet * self._factor + ERRORS * max(errors_ns, default=0)

    def learn(self, *, missed: bool) -> None:
        """Whether a node was not ready for the last start."""
        self._factor = min(_LONGER * self._factor, _LONGEST) if missed else max(1, self._factor // _LONGER)
