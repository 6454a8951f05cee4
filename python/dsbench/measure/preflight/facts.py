"""A fact about a server, what a run needs, and how a server is asked."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from statistics import median
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.measure.stack.described import Switch

_ROUND_TRIPS: Final = 21


class Fit(Enum):
    """Whether a run can be made with it."""

    OK = "ok"
    COSTS = "costs"
    """It can, and the figures have something of it."""
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """The server does not report it."""

    @property
    def word(self) -> str:
        """For a table."""
        return {"refused": "no", "unknown": "?"}.get(self.value, self.value)


@dataclass(frozen=True)
class Fact:
    """One thing that a server allows or has."""

    name: str
    fit: Fit
    found: str
    remedy: str = ""
    """What to do; empty where nothing has to be done."""

    def described(self) -> dict[str, str]:
        return {"name": self.name, "fit": self.fit.value, "found": self.found, "remedy": self.remedy}


@dataclass(frozen=True)
class Need:
    """What a run needs."""

    makes: bool
    """A schema or database of its own."""
    only_reads: bool
    unknown: bool
    """It has scripts of the user's, which may write."""
    connections: int
    """At once, at least: of the clients, and one to look at the server."""
    with_spare: int
    """With those of all phases."""
    statements: int
    """Prepared at once by all clients, where they prepare the statements of transactions."""
    procedures: bool
    """Whether a transaction may be a call."""
    of_user: bool
    """The server is the user's, and dsbench did not start it."""
    paced: bool
    """Whether clients wait between transactions, because the load has a rate."""

    @property
    def writes(self) -> bool:
        """For certain."""
        return not self.only_reads and not self.unknown


class Asking:
    """A server that is asked: what it does not answer is an empty text."""

    def __init__(self, target: TargetDatabase, need: Need) -> None:
        self.target = target
        self.need = need

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows by column name; none where the server refuses the query. ``CoreError`` where it cannot be reached."""
        try:
            return self.target.fetch(sql)
        except CoreError as error:
            if error.kind in ("disconnected", "unknown", "configuration") or (error.kind == "setup" and not error.code):
                raise
            return []

    def row(self, sql: str) -> dict[str, str]:
        """The one row of a query, with NULL as empty text; empty where there is none."""
        found = self.fetch(sql)
        return {name: cell or "" for name, cell in found[0].items()} if found else {}

    def cell(self, sql: str) -> str:
        """The first cell of a query."""
        return next(iter(self.row(sql).values()), "")


def number(text: str) -> int | None:
    """A whole number that a server told; ``None`` where it told none."""
    try:
        return int(text)
    except ValueError:
        return None


def way(target: TargetDatabase, smallest: str) -> Iterator[Fact]:
    """How the server is reached, by its ``smallest`` query."""
    words = f"a round trip takes {median(target.round_trips(smallest, _ROUND_TRIPS)) / 1e6:.3g} ms"
    if target.pooled:
        kept = {"sessions": "as long as it stays", "transactions": "for each transaction"}[target.pooled]
        words = f"a pooler gives each client a session {kept}; {words}"
        yield Fact("connection", Fit.COSTS, words, "name the server itself as TARGET to measure it without the pooler")
    else:
        yield Fact("connection", Fit.OK, words)
    if target.is_unproved:
        words = "the server does not report the isolation and the settings of its sessions"
        yield Fact("isolation", Fit.UNKNOWN, words)
    if passed := target.passed_over:
        yield Fact("URL", Fit.OK, f"its parameters {', '.join(passed)} have no effect here")


def logged(settings: str) -> Fact:
    """The server writes statements to its log, by these ``settings``."""
    return Fact("log", Fit.COSTS, f"{settings}: statements are logged", "switch it off to measure without it")


def durability(switches: list[Switch]) -> Fact:
    """What a power cut does to commits."""
    wrong = [f"{one['switch']} {one['value']}: {one['meaning']}" for one in switches if not one["safe"]]
    if wrong:
        return Fact("durability", Fit.COSTS, "; ".join(wrong), "set it as in production before you compare")
    known = ", ".join(f"{one['switch']} {one['value']}" for one in switches)
    return Fact("durability", Fit.OK if known else Fit.UNKNOWN, known or "the user may not see the settings")


def connections(need: Need, free: dict[str, int]) -> Fact:
    """``free``: connections that are left, by what limits them."""
    if not free:
        return Fact("connections", Fit.UNKNOWN, f"{need.connections} needed; the server does not report its limit")
    limit = min(free, key=lambda name: free[name])
    words = f"{max(free[limit], 0)} free ({limit}), {need.connections} needed"
    if free[limit] < need.connections:
        return Fact("connections", Fit.REFUSED, words, f"use fewer --clients, or raise {limit}")
    if free[limit] < need.with_spare:
        words += f", {need.with_spare} with those that load and check in parallel"
        return Fact("connections", Fit.COSTS, words, f"raise {limit}")
    return Fact("connections", Fit.OK, words)
