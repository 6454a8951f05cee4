"""Errors of the cluster as a user sees them."""

from __future__ import annotations


class ClusterError(Exception):
    """Why nodes cannot work together; ``remedy`` says what to do."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
