"""What happens to the server in each cycle: ``20s:restart, 40s:stop 5s, 60s:command 'patronictl switchover'``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, Literal, get_args

from dsbench.dataclass import dataclass
from dsbench.redaction import redact_words
from dsbench.spec.words import Unfit, seconds

What = Literal["restart", "kill", "stop", "partition", "fill-disk", "switchover", "failover", "command"]
_WHATS: Final[tuple[What, ...]] = get_args(What)
_LASTING: Final = {
    "stop": "the server is suspended", "partition": "nothing goes through the network", "fill-disk": "the disk is full",
}  # fmt: skip
"""Those that are written with a time, and what goes on for so long."""

_STEADY: Final[frozenset[What]] = frozenset(["stop", "partition"])
_PART: Final = re.compile(r"""(?:[^,'"\n]|'[^'\n]*'|"[^"\n]*")+""")
_WHOLE: Final = re.compile(r"""(?:[^'"]|'[^'\n]*'|"[^"\n]*")*""")
_ONE: Final = re.compile(r"(?P<at>[\w.]+)\s*:\s*(?P<what>[a-z-]+)\s*(?P<more>.*)", re.DOTALL)
_HOW: Final = (
    "write TIME:EVENT such as 20s:restart, 40s:kill, 60s:stop 5s (suspended so long), 60s:partition 5s, "
    "60s:fill-disk 5s, 80s:switchover, 80s:failover, 80s:command 'ssh db1 systemctl restart postgresql'"
)
_MOST: Final = 100
_LONGEST_S: Final = 86_400.0


@dataclass(frozen=True)
class Event:
    """Something that is done to the server while the clients go on."""

    at_s: float
    """After the start of the cycle."""
    what: What
    """``restart``: stopped in order, and started; ``kill``: SIGKILL, and started; ``stop``: suspended; ``partition``:
    nothing goes through the network between the server and its clients; ``fill-disk``: the file system of its data has
    no room; ``switchover``: a standby takes over from a primary that is stopped in order; ``failover``: from one that
    is killed; ``command``."""
    lasts_s: float = 0.0
    """Of those in ``_LASTING``."""
    command: str = ""
    """Of ``command``: a line for a shell."""

    @property
    def end_s(self) -> float:
        """When it is over at the earliest."""
        return self.at_s + self.lasts_s

    @property
    def needs_process(self) -> bool:
        """Whether the server has to be a private one, with processes of its own."""
        return self.what != "command"

    @property
    def needs_standby(self) -> bool:
        """Whether another server takes over."""
        return self.what in ("switchover", "failover")

    @property
    def lasts(self) -> bool:
        """Whether it is written with a time."""
        return self.what in _LASTING

    @property
    def text(self) -> str:
        """As it is written."""
        lasts = f" {self.lasts_s:.15g}s" if self.lasts else ""
        more = f" {shlex.quote(self.command)}" if self.what == "command" else lasts
        return f"{self.at_s:.15g}s:{self.what}{more}"

    @property
    def redacted(self) -> Event:
        """The same without passwords."""
        return replace(self, command=redact_words(self.command))

    @property
    def words(self) -> str:
        """``restart``, ``stop of 5 s``, ``command 'patronictl switchover'``; without passwords."""
        if self.lasts:
            return f"{self.what} of {self.lasts_s:g} s"
        return f"command {self.redacted.command!r}" if self.command else self.what


def events(text: str) -> tuple[Event, ...]:
    """Those that ``text`` names in order of time, with commas or lines between them; none of an empty one.

    ``ValueError`` for what is none.
    """
    if not _WHOLE.fullmatch(text):
        raise Unfit(f"cannot read {text[:60]!r}: a quotation mark is missing", _HOW)
    words = [word.strip() for word in _PART.findall(text) if word.strip()]
    if len(words) > _MOST:
        raise Unfit(f"has {len(words)} events", f"use {_MOST} or fewer")
    found = [_event(word) for word in words]
    for before, after in pairwise(found):
        if after.at_s < before.end_s:
            raise Unfit(f"{after.text} comes before {before.text} is over", "write events in order of time")
    return tuple(found)


def _event(word: str) -> Event:
    found = _ONE.fullmatch(word)
    at_s = _span(found["at"]) if found else None
    what = next((one for one in _WHATS if found is not None and one == found["what"]), None)
    if found is None or at_s is None or what is None:
        raise Unfit(f"cannot read {word[:60]!r}", _HOW)
    more = found["more"].strip()
    if what in _LASTING:
        lasts_s = _span(more)
        if not lasts_s:
            raise Unfit(f"cannot read {word[:60]!r}", f"write how long {_LASTING[what]}, such as 60s:{what} 5s")
        return Event(at_s, what, lasts_s)
    if what == "command":
        try:
            (command,) = shlex.split(more)
        except ValueError:
            remedy = "write the command in quotation marks: 80s:command 'ssh db1 systemctl restart postgresql'"
            raise Unfit(f"cannot read {word[:60]!r}", remedy) from None
        if not command.strip() or not command.isprintable():
            raise Unfit(f"cannot read {word[:60]!r}", "write the command in one line")
        return Event(at_s, what, command=command)
    if more:
        raise Unfit(f"cannot read {word[:60]!r}", f"write {found['at']}:{what} alone")
    return Event(at_s, what)


def _span(text: str) -> float | None:
    """Seconds, of a time with its unit or without; ``None`` for what is none."""
    found = seconds(text if text[-1:].isalpha() else f"{text}s")
    return float(found) if isinstance(found, int | float) and 0 <= found <= _LONGEST_S else None


def write_events(found: tuple[Event, ...]) -> str:
    """One line that ``events`` reads as the same."""
    return ", ".join(one.text for one in found)


def is_steady(events: Sequence[Event]) -> bool:
    """Whether the server stays itself: it is suspended or cut off at most."""
    return all(event.what in _STEADY for event in events)
