"""Remote nodes: machines that make load together, as workers of Dask.

``measure.joining`` chooses them. Read ``nodes`` first (the nodes as a run's loader), then ``members`` (who they are),
``node`` (what each machine does) and ``rules``; ``outcome`` is what a node leaves of a cycle. ``bundle`` is how a
machine comes in, by ``serving`` there.
"""

from __future__ import annotations

from typing import Final

LONGEST_WHY: Final = 1000  # Characters of a reason


def plain(text: str, longest: int = LONGEST_WHY) -> str:
    """``text`` as it may stand in a log, whoever sent it: one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])
