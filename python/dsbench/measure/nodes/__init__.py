"""Remote nodes: machines that make load together, as workers of Dask.

Read ``remote`` first (the loader of a run), then ``nodes`` (what a run sees of them), ``node`` (what each machine does)
and ``rules``; ``outcome`` is what a node leaves of a cycle. ``bundle`` is how a machine comes in, by ``serving`` there
or by ``launch`` over SSH.
"""

from __future__ import annotations

from typing import Final

from dsbench.problem import Problem

LONGEST_WHY: Final = 1000  # Characters of a reason


def plain(text: str, longest: int = LONGEST_WHY) -> str:
    """``text`` as it may stand in a log, whoever sent it: one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])


class ClusterError(Problem):
    """Why nodes cannot work together; ``remedy`` says what to do, ``usage`` whether what the user gave is at fault."""

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.usage = problem, remedy, usage
