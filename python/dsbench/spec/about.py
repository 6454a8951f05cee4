"""What there is to say of a setting beside its type and its bounds: written once, at its field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Compared = Literal["load", "told", "chance"]
"""What a difference between two runs means: ``load``: they did not do the same work, so that their rates cannot be
compared; ``told``: it is named beside the rates; ``chance``: it says nothing."""

SIZE: Final = "Size and time"
CLIENTS: Final = "Clients"
TRANSACTIONS: Final = "Transactions"
PACE: Final = "Pace"
RECORDS: Final = "Records"
WORK: Final = "Work"
GROUPS: Final = (WORK, SIZE, CLIENTS, TRANSACTIONS, PACE, RECORDS)
"""Headings of --help and of a form, in their order."""


@dataclass(frozen=True)
class About:
    """Annotates a field of ``RunSpec``."""

    help: str
    """What it is, without a full stop and without its default."""
    group: str
    """One of ``GROUPS``."""
    compared: Compared
    unit: str = ""
    """Of its number, such as "s"."""
    default: str = ""
    """Its default in words, where the value does not say it."""
    metavar: str = ""
    """What stands for the value in --help, where its type says too little."""
    flag: str = ""
    """Its option, where that has another name."""
    several: bool = False
    """Whether several numbers may be given although the field holds one."""
    brief: bool = False
    """Whether the command that repeats a run leaves it out where it has its default. No profile may change it."""
