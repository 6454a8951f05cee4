"""What can go wrong with a private server."""

from __future__ import annotations

from dsbench.problem import Problem


class ServerError(Problem):
    """A private server that cannot be had: ``problem`` says what and where, ``remedy`` what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
