"""Errors of the cluster as a user sees them."""

from __future__ import annotations

import shlex
import sys
from typing import Final

import dsbench
from dsbench.problem import Problem

LONGEST_WHY: Final = 1000
"""Characters of a reason."""


def plain(text: str, longest: int = LONGEST_WHY) -> str:
    """``text`` as it may stand in a log, whoever sent it: one line without control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:longest])


def how_to_install(extras: str = "cluster") -> str:
    """The command that adds ``extras`` to this program, in the environment that it runs from.

    pip finds dsbench itself installed there, whether it came from a checkout or a wheel, and fetches the rest.
    """
    return f"{shlex.quote(sys.executable)} -m pip install '{dsbench.DISTRIBUTION}[{extras}]'"


class ClusterError(Problem):
    """Why nodes cannot work together; ``remedy`` says what to do, ``usage`` whether what the user gave is at fault."""

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.usage = usage
