"""Errors of the cluster as a user sees them."""

from __future__ import annotations

import shlex
import sys

import dsbench


def how_to_install(extras: str = "cluster") -> str:
    """The command that adds ``extras`` to this program, in the environment that it runs from.

    pip finds dsbench itself installed there, whether it came from a checkout or a wheel, and fetches the rest.
    """
    return f"{shlex.quote(sys.executable)} -m pip install '{dsbench.DISTRIBUTION}[{extras}]'"


class ClusterError(Exception):
    """Why nodes cannot work together; ``remedy`` says what to do, ``usage`` whether what the user gave is at fault."""

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.usage = usage
