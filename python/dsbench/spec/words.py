"""What is said of a setting that cannot be."""

from __future__ import annotations

import math
import re
import tomllib
from typing import Any, Final, Literal

from pydantic_core import PydanticCustomError

from dsbench.dataclass import dataclass
from dsbench.problem import Problem

_PLAIN = [
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"value error, (.*)", r"\1"),
        (r"input should be greater than or equal to (\S+)", r"must be \1 or more"),
        (r"input should be less than or equal to (\S+)", r"must be \1 or less"),
        (r"input should be greater than (\S+)", r"must be greater than \1"),
        (r"input should be less than (\S+)", r"must be less than \1"),
        (r"input should be a valid integer.*", "must be a whole number"),
        (r"input should be a (?:valid|finite) number.*", "must be a number"),
        (r"input should be a valid (?:tuple|list)", "must be a list, such as [1, 2, 5]"),
        (r"input should be a valid string", "must be text"),
        (r"string should have at most (\d+) characters", r"must have \1 characters or fewer"),
        (r"input should be a valid boolean.*", "must be true or false"),
        (r"input should be a valid dictionary.*", "must be a table of names and values"),
        (r"input is not a valid path.*", "must be a path"),
        (r"input should be ('.*)", r"must be \1"),
    )
]
"""The words of Pydantic, also where the parser of the command line uses it, and ours."""


def plain(message: str) -> str:
    """``message`` about a value in plain words."""
    for pattern, words in _PLAIN:
        if found := pattern.fullmatch(message):
            return found.expand(words)
    return message


def per_cent(value: object) -> object:
    """The number of a text such as "2%", or what came."""
    return value.removesuffix("%").strip() if isinstance(value, str) else value


_SPAN: Final = re.compile(r"([0-9.]+)\s*(ms|s|m|min|h)", re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600}


def number(text: str) -> float:
    """``nan`` for what is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def seconds(value: object) -> object:
    """The seconds of a text such as "10", "10s", "1m" or "0.5h", or what came."""
    found = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return value
    try:
        span = float(found[1]) * _SECONDS[found[2].lower()]
    except ValueError:
        return value
    return int(span) if span.is_integer() else span


class SpecError(Problem, ValueError):
    """A setting that cannot be. ``option`` names it, ``remedy`` says what to do."""

    usage = True

    def __init__(self, option: str, problem: str, remedy: str) -> None:
        super().__init__(f"{option}: {problem}")
        self.option = option
        self.problem = problem
        self.remedy = remedy


class Unfit(ValueError):
    """A value that a setting cannot have; ``remedy`` says which it can."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}: {remedy}")
        self.problem = problem
        self.remedy = remedy


class NotHere(SpecError):
    """A program that is not installed here: what asks for it is not wrong, and can be had later or elsewhere."""


_PART: Final = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_MANY_PARTS: Final = re.compile(rf"""(?<![\w."'-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{32}}""")


def parsed_toml(text: str) -> dict[str, Any]:
    """The values of TOML. ``ValueError`` for what is none, for a key of more than 32 parts, which would take a reader's
    memory, and for what is nested too deeply."""
    if found := _MANY_PARTS.search(text):
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - text.rfind("\n", 0, found.start())
        raise ValueError(f"a key has more than 32 parts (at line {line}, column {column})")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


Compared = Literal["load", "told", "chance"]
"""What a difference between two runs means: ``load``: they did not do the same work, so that their rates cannot be
compared; ``told``: it is named beside the rates; ``chance``: it says nothing."""

SIZE: Final = "Size and time"
CLIENTS: Final = "Clients"
TRANSACTIONS: Final = "Transactions"
LOAD: Final = "Load (choose one)"
PACE: Final = "Pace"
OUTAGES: Final = "Outages"
RECORDS: Final = "Records"
WORK: Final = "Work"
GROUPS: Final = (WORK, SIZE, CLIENTS, LOAD, PACE, TRANSACTIONS, OUTAGES, RECORDS)
"""Headings of --help and of a form, in their order."""


@dataclass(frozen=True)
class About:
    """Annotates a field of ``RunSpec``."""

    help: str
    """What it is, in a line of --help, without a full stop and without its default."""
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
    more: str = ""
    """What else a user has to know of it, in sentences, the last without its full stop."""
    brief: bool = False
    """Whether the command that repeats a run leaves it out where it has its default. No profile may change it."""


def share(option: str, text: str) -> float:
    """A share (0-1) that is written as per cent, such as 2%; ``SpecError`` where ``text`` is none."""
    try:
        found = float(str(per_cent(text))) / 100
    except ValueError:
        found = 0.0
    if not 0.0005 <= found <= 1:
        raise SpecError(option, f"{text[:60]!r} is not a percentage from 0.05% to 100%", "write, for example, 2%")
    return found


def misfit(option: str, problem: str, remedy: str) -> PydanticCustomError:
    """An error about how settings fit together; ``option`` is where it can be mended."""
    # The braces of a message would be taken for places to fill in.
    return PydanticCustomError("misfit", "{problem}", {"option": option, "problem": problem, "remedy": remedy})
