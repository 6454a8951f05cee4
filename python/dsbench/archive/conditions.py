"""What became of the conditions that a database has to keep: each holds, is broken, or was not made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from dsbench.archive.asked import Recorded
from dsbench.format import counted

_NAMED: Final = 2
"""So many reasons are told."""


class State(StrEnum):
    """What became of a condition; the names are those of the core."""

    HOLDS = "holds"
    BROKEN = "broken"
    NOT_MADE = "not made"

    @property
    def shown(self) -> str:
        """For tables, where what is broken has to stand out."""
        return self.value.upper() if self is State.BROKEN else self.value


class Commits(Recorded):
    """Commits as the database and its clients count them."""

    found: int
    """In the database."""
    acknowledged: int
    """That clients heard of."""
    unknown: int | None
    """Whose end no client heard of; ``None`` where nobody knows how many these are."""

    @property
    def lost(self) -> int:
        """Acknowledged, and not in the database: at least so many."""
        return max(0, self.acknowledged - self.found)


class Condition(Recorded):
    """A condition that the database had to keep."""

    name: str = ""
    state: State = State.NOT_MADE
    detail: str = ""
    """The numbers that were found; of one that was not made, why."""
    remedy: str = ""
    """How one that was not made is made next time; empty where it cannot be on this target with this workload."""
    commits: Commits | None = None
    """Of one that compares them."""


def state_of(found: Iterable[Condition]) -> State:
    """That of all together: they hold where each was made and holds."""
    states = {one.state for one in found} or {State.NOT_MADE}
    return next(state for state in (State.BROKEN, State.NOT_MADE, State.HOLDS) if state in states)


def say_conditions(found: Iterable[Condition]) -> str:
    """The same numbers for logs, screens and pages: ``18 of 21 conditions hold, 3 were not made: …``."""
    found = tuple(found)
    if not found:
        return "not checked"
    states = Counter(one.state for one in found)
    broken, open_ = states[State.BROKEN], states[State.NOT_MADE]
    reasons = list(dict.fromkeys(one.detail for one in found if one.state is State.NOT_MADE))
    more = [f"and {counted(len(reasons) - _NAMED, 'more reason')}"] if reasons[_NAMED:] else []
    told = f": {'; '.join(reasons[:_NAMED] + more)}" if reasons else ""
    if open_ == len(found):
        return f"nothing was checked{told}"
    if states[State.HOLDS] == len(found):
        return "the condition holds" if len(found) == 1 else f"all {counted(len(found), 'condition')} hold"
    words = f"{states[State.HOLDS]:,} of {counted(len(found), 'condition')} hold"
    words += f", {broken:,} {'is' if broken == 1 else 'are'} broken" if broken else ""
    return words + (f", {open_:,} {'was' if open_ == 1 else 'were'} not made{told}" if open_ else "")

