"""Errors of the cluster as a user sees them."""

from __future__ import annotations


def how_to_install(extras: str = "cluster") -> str:
    """How ``extras`` of this program are installed: from where it came itself, as no index has it by its name."""
    return f"pip install 'PATH-OF-CHECKOUT[{extras}]', or the wheel's file in the same way"

class ClusterError(Exception):
    """Why nodes cannot work together; ``remedy`` says what to do, ``usage`` whether what the user gave is at fault."""

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy
        self.usage = usage
