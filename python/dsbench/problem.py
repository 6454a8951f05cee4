"""What every error has that a user sees."""

from __future__ import annotations


class Problem(Exception):
    """``str`` of it says what is wrong and where, ``remedy`` what to do.

    ``usage`` says that what was asked for cannot be: the program ends with 2, and with 1 otherwise.
    """

    remedy: str = ""
    usage: bool = False
