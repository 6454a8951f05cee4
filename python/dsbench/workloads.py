"""What the workloads say of themselves, as the core's registry has it: nothing else knows one by name.

``find`` gives what one says today; an archive keeps what its workload said when it was run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import Annotated

from pydantic import Field, TypeAdapter

from dsbench import _core
from dsbench.dataclass import dataclass


@dataclass(frozen=True)
class Unit:
    """What a scale of 1 is."""

    name: str = "unit"
    """``branch``"""
    about: str = ""
    """What belongs to one."""


@dataclass(frozen=True)
class Kind:
    """A kind of transactions under the settings of the workload; ``None`` where it has no such rule."""

    name: str
    least_share: float | None = None
    """Share (0-1) that it must have in the mix."""
    limit_s: float | None = None
    """Seconds that 90% of its response times must not exceed."""
    keying_s: float | None = None
    """Seconds to key its inputs in."""
    mean_think_s: float | None = None
    """Mean of the seconds to think after it."""
    cards: int | None = None
    """Its cards in the deck from which the workload deals."""
    rows: str = ""
    """What it does to each row that it counts, ``inserted`` or ``deleted``: then its operations are rows; else empty,
    and they are transactions."""
    row_bytes: float = 0.0
    """Bytes of user data that a row has which it inserts, on average; 0 where they are not known."""


@dataclass(frozen=True)
class Setting:
    """A setting of the workload alone."""

    name: str
    default: str
    takes: str
    """Its values in words."""
    words: tuple[str, ...]
    """Its values where they are a few words; empty where they are numbers."""
    help: str


@dataclass(frozen=True)
class Rule:
    """A value of a setting that means something together with another option of the run only."""

    setting: str
    value: str
    option: str
    """The other option, by its name in the specification."""
    needs: str
    """What that has to be."""
    why: str
    """What is wrong without it."""


@dataclass(frozen=True)
class Headline:
    """The figure by which runs are told apart."""

    label: str = "tps"
    about: str = ""
    kind: str | None = None
    """The kind that counts; ``None``: all."""
    per_s: int = 1
    """Of how many seconds it is the number."""


@dataclass(frozen=True)
class Remote:
    """Transactions that reach another unit of scale."""

    sum: str
    """The clients' sum that counts them: column ``remote`` of the table ``cycles``."""
    what: str
    """What they did: ``changed another branch's account``."""
    share: Annotated[float, Field(ge=0, le=1)]
    """The share (0-1) of all that the inputs give them."""
    least: Annotated[float, Field(ge=0, le=1)]
    most: Annotated[float, Field(ge=0, le=1)]
    """The window of shares that a valid run shows."""


@dataclass(frozen=True)
class Meaning:
    """What the figures of a workload stand for."""

    specification: str = ""
    """The specification whose rules a run is held against: ``TPC-B``; empty without one."""
    disclaimer: str = ""
    """What its figures are not; empty where that needs no saying."""
    analysis: str = ""
    """The analysis of this workload alone (``stats.special``); empty without one."""
    parts: tuple[tuple[str, int], ...] = ()
    """Workloads that are parts of its transaction, with how often each is; empty where it is not taken apart."""


@dataclass(frozen=True)
class Data:
    """The tables of a workload."""

    row_bytes: tuple[int, int] = (0, 0)
    """Bytes of a row with its keys on average, on the product that needs least and on the one that needs most; zeros
    where that is not known."""
    row_data: str = ""
    """Bytes of user data that its rows have, in words; empty where that is not said."""
    loaded_rows: int = 0
    """Rows that each client adds to the database in stages of load, for each unit of scale; 0 where none stay."""
    history: str = ""
    """How the table is organised to which every transaction adds a row, in words; empty without one."""
    hot_row: bool = False
    """Whether every transaction changes the one row of its unit of scale, so that writers collide there."""
    indexed: bool = False
    """Whether its unit of scale is as small as the ladder of profile ``dsi`` wants it."""
    reads: str = ""
    """The workload whose tables it reads and leaves as they were made; empty without one."""
    fills_by_procedure: bool = False
    existing: bool = False
    """Whether its load may run on tables that somebody else made."""


@dataclass(frozen=True)
class Defaults:
    """What a run of a workload does of which nobody says otherwise."""

    call: str = "statements"
    """``procedure``, where the engine has them, or ``statements``."""
    retries: bool = False
    """Whether ``--retry`` is the default."""
    isolation: str = ""
    """Of ``--isolation``; empty for that of most."""
    quick_scales: tuple[int, ...] = (1, 2, 5)
    """The ladder of a run of which neither size nor time is said."""
    course: str = ""
    """What a run does in place of cycles of a demanded time; empty where it does those."""
    terminals_per_unit: int | None = None
    """Terminals for each unit of scale; ``None`` without keying and thinking times."""


@dataclass(frozen=True)
class Entry:
    """A workload. The defaults are those of one that says nothing, such as one that only a newer dsbench knows."""

    name: str
    label: str
    """What its figures are called: ``TPC-B-like``."""
    about: str = ""
    """What it is, in one sentence."""
    unit: Unit = Unit()
    headline: Headline = Headline()
    meaning: Meaning = Meaning()
    data: Data = Data()
    defaults: Defaults = Defaults()
    kinds: tuple[Kind, ...] = ()
    """Under the settings that were asked for."""
    settings: tuple[Setting, ...] = ()
    rules: tuple[Rule, ...] = ()
    remote: Remote | None = None


_ENTRY = TypeAdapter(Entry)


def names() -> list[str]:
    """Names of the workloads, that of the default first."""
    return _core.workloads()


def offered() -> list[str]:
    """Names of those that stand for themselves: neither what runs the files of its user, nor the one for rehearsals."""
    return [
        name for name in names()
        if name != "rehearsal" and not {"file", "scripts"} & {one.name for one in find(name).settings}
    ]  # fmt: skip


def find(name: str, settings: Mapping[str, str] | None = None) -> Entry:
    """What the workload ``name`` says of itself under ``settings``.

    Of an unknown name, or of settings that the core refuses when the workload is opened, it is an entry that says
    nothing: whoever needs to refuse them does.
    """
    return _find(name, tuple(sorted((settings or {}).items())))


def refused(name: str, settings: Mapping[str, str]) -> tuple[str, str] | None:
    """(problem, remedy) where the core refuses ``settings`` of the workload ``name``."""
    try:
        _core.workload_entry(name, dict(settings))
    except _core.CoreError as error:
        return error.args[2], error.args[3]
    return None


def brief(text: str, longest: int = 0) -> str:
    """The value of a setting; where it holds files and is longer than ``longest``, the first's name and a digest."""
    files = re.match(r"\d+ ([^\n]+)\n", text) if len(text) > longest else None
    return f"{files[1]} #{sha256(text.encode()).hexdigest()[:12]}" if files else text


@cache
def _find(name: str, settings: tuple[tuple[str, str], ...]) -> Entry:
    try:
        return _ENTRY.validate_json(_core.workload_entry(name, dict(settings)))
    except _core.CoreError:
        return _find(name, ()) if settings else Entry(name, name)
