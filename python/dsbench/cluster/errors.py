"""Errors of the cluster as a user sees them."""

from __future__ import annotations


class ClusterError(Exception):
    """Why nodes cannot work together; ``remedy`` says what to do, ``usage`` whether what the user gave is at fault."""

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.usage = usage
