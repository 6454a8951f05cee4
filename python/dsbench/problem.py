"""What every error has that a user sees."""

from __future__ import annotations

import copyreg
import shlex
import sys
from typing import Any

from dsbench import release


class Problem(Exception):
    """``str`` of it says what is wrong and where, ``remedy`` what to do.

    ``usage`` says that what was asked for cannot be: the program ends with 2, and with 1 otherwise.
    """

    remedy: str = ""
    usage: bool = False

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.problem, self.remedy, self.usage = problem, remedy or self.remedy, usage or self.usage

    def __reduce__(self) -> tuple[Any, ...]:
        """As it is, to another process: what its class is made from need not be what it has."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


def how_to_install(extras: str = "cluster") -> str:
    """The command that adds ``extras`` to this program, in the environment that it runs from.

    pip finds dsbench itself installed there, whether it came from a checkout or a wheel, and fetches the rest.
    """
    return f"{shlex.quote(sys.executable)} -m pip install '{release.DISTRIBUTION}[{extras}]'"
