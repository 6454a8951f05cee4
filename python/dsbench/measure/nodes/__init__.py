"""Remote nodes: machines that make load together, as workers of Dask.

Read ``remote`` first (who makes the load of a run), then ``nodes`` (the nodes as a run's loader), ``members`` (who they
are), ``node`` (what each machine does) and ``rules``; ``outcome`` is what a node leaves of a cycle. ``bundle`` is how a
machine comes in, by ``serving`` there or by ``launch`` over SSH.
"""

from __future__ import annotations

from typing import Final

from dsbench.problem import Problem

LONGEST_WHY: Final = 1000  # Characters of a reason


class ClusterError(Problem):
    """Why nodes cannot work together."""


def plain(text: str, longest: int = LONGEST_WHY) -> str:
    """``text`` as it may stand in a log, whoever sent it: one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])
