"""A private server with others that follow it, one of which can take over: each a server of its own on this machine."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from dsbench.servers.errors import ServerError
from dsbench.servers.pages import LetGo
from dsbench.servers.process import Process
from dsbench.servers.server import OwnProcess
from dsbench.servers.settings import wrong

_FOLLOWS_S: Final = 60.0
"""How long one may apply nothing that it has received."""
_LOOK_S: Final = 0.1


SYNC: Final = "sync"
"""The setting that says what commits wait for."""
_MOST: Final = 8


def asked_for(settings: Mapping[str, str], name: str, levels: Collection[str]) -> tuple[dict[str, str], int, str]:
    """Of ``settings`` those of each server, how many follow by the setting ``name``, and which of ``levels`` commits
    wait for. ``SpecError`` for what cannot be."""
    given = {each.lower(): value for each, value in settings.items()}
    rest = {each: value for each, value in settings.items() if each.lower() not in (name, SYNC)}
    number, sync = given.get(name, "0"), given.get(SYNC, "off")
    if not number.isdecimal() or int(number[:3]) > _MOST:
        raise wrong(f"{name} is {number!r}", f"use a number from 1 to {_MOST}, or omit it")
    if sync not in levels:
        raise wrong(f"{SYNC} is {sync!r}", f"use {', '.join(levels)}")
    if SYNC in given and not int(number):
        raise wrong(f"{SYNC} has no effect without {name}", f"add {name}=1, or omit {SYNC}")
    return rest, int(number), sync


class Member(OwnProcess):
    """One of the servers. It follows another one, or is the primary."""

    @abstractmethod
    def follow(self, leader: Member) -> None:
        """Follows ``leader``: from now on where it runs, else from its next start."""

    @abstractmethod
    def copy(self, leader: Member) -> None:
        """Makes its data a copy of those of ``leader``, in place of what was there, and follows it."""

    @abstractmethod
    def follows(self, leader: Member) -> bool:
        """Whether it has the log of ``leader`` as it is written."""

    @abstractmethod
    def received(self) -> int:
        """How far it has the log of its primary; 0 where it does not tell."""

    def applied(self) -> str:
        """How far it has applied the log of its primary; it changes as long as it does."""
        return str(self.received())

    @abstractmethod
    def promote(self, *, others: bool) -> None:
        """Makes it the primary, with all that it has received; returns when it takes writes. Its commits wait, if at
        all, where it has ``others`` that follow."""

    @abstractmethod
    def wait_for(self, *, others: bool) -> None:
        """Has its commits wait for those that follow it, as far as the run asks for that, or for nobody."""

    @property
    def process(self) -> Process:
        """Its process, which may have ended."""
        assert self._process is not None
        return self._process

    @property
    def last_words(self) -> str:
        """The last line of its log, as it follows a sentence."""
        said = self.log_tail(1)
        return f"; the last line in its log: {said[0]}" if said else ""

    def end(self, *, kill: bool) -> None:
        """Stops it in order, or kills it."""
        if kill:
            self.process.kill()
        else:
            self.process.stop(self.PATIENCE_S, *self.ENDING[1:])

    def begin_again(self) -> None:
        """Starts it as it is to be now."""
        self._serve_again()


class Replicated(Member):
    """A primary and those that follow it. What is done to a server is done to the one that is the primary now."""

    restarts = False
    SETTING: str
    """That says how many follow."""
    NAME: str
    """What one that follows is called."""
    _others: list[Member]
    _leader: Member
    _away: list[tuple[Member, bool]]
    """Those that were the primary, and whether they were killed."""
    _failed: ServerError | None = None
    """Why nobody leads."""

    def _lead(self) -> None:
        """It is the primary, and alone so far."""
        self._leader, self._others, self._away = self, [], []

    @property
    @abstractmethod
    def following(self) -> dict[str, str]:
        """Name and URL of those that follow the primary."""

    @property
    def _members(self) -> list[Member]:
        return [self, *self._others]

    def _note_others(self, how: str) -> None:
        number = len(self._others)
        words = f"{number} {how} {self.NAME}{'s' * (number > 1)} on this machine"
        self.notes.append(f"{words}: CPU time and transfers of the server include theirs")

    def switch_over(self) -> None:
        """Stops the primary in order, once those that follow have all of its log, and promotes one of them."""
        self._hand_over(kill=False)

    def fail_over(self) -> None:
        """Kills the primary and promotes the one that has most of its log."""
        self._hand_over(kill=True)

    def _hand_over(self, *, kill: bool) -> None:
        old, away = self._leader, [one for one, _ in self._away]
        left = [one for one in self._members if one is not old and one not in away]
        if not left:
            raise ServerError(f"no {self.NAME} is left to take over", f"write {self.SETTING}={len(away) + 1}")
        old.end(kill=kill)
        self._away.append((old, kill))
        new = max(left, key=lambda one: one.received()) if len(left) > 1 else left[0]
        others = [one for one in left if one is not new]
        # As a manager does: whoever is gone must not be waited for.
        try:
            new.promote(others=bool(others))
        except ServerError as error:
            self._failed = error
            raise
        self._leader = new
        for one in others:
            one.follow(new)

    def settle(self, check: Callable[[], None] = lambda: None) -> None:
        """Has each server that was the primary come back and follow, after a failover with a new copy. ``check``
        raises where nobody waits for it."""
        if self._failed is not None:
            raise self._failed
        while self._away:
            old, wiped = self._away[0]
            if not wiped:
                old.follow(self._leader)
                old.begin_again()
            if wiped or not self._follow([old], check):
                # Its log has gone another way.
                old.end(kill=True)
                old.copy(self._leader)
                old.begin_again()
            self._away.pop(0)
        self._wait(check)

    def _wait(self, check: Callable[[], None] = lambda: None) -> None:
        """Until all have the log as it is written; commits wait for them from then on."""
        others = [one for one in self._members if one is not self._leader]
        if not self._follow(others, check):
            tail = "\n".join(line for one in others for line in one.log_tail(10))
            remedy = "lower the load (--rate, --clients), or repeat the run"
            raise ServerError(f"a {self.NAME} of {self.version} does not follow:\n{tail}", remedy)
        self._leader.wait_for(others=True)

    def _follow(self, others: list[Member], check: Callable[[], None]) -> bool:
        """Whether they follow the primary, within a time after they last applied some of its log."""
        applied: list[str] = []
        give_up = time.monotonic() + _FOLLOWS_S
        while not all(one.follows(self._leader) for one in others):
            check()
            if (now := [one.applied() for one in others]) != applied:
                applied, give_up = now, time.monotonic() + _FOLLOWS_S
            if time.monotonic() > give_up:
                return False
            time.sleep(_LOOK_S)
        return True

    def start_again(self, *, kill: bool, within_s: float = 0.0) -> None:
        if self._leader is self:
            super().start_again(kill=kill, within_s=within_s)
        else:
            self._leader.start_again(kill=kill, within_s=within_s)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        with super().suspended() if self._leader is self else self._leader.suspended():
            yield

    def restart(self) -> LetGo:
        raise ServerError(f"a server with {self.SETTING} is not started again cold", f"omit {self.SETTING}")

    def keep(self) -> None:
        raise ServerError(f"data with {self.SETTING} lies in several places and cannot be kept", f"omit {self.SETTING}")

    def pids(self) -> list[int]:
        """Those of all members."""
        return [*super().pids(), *(pid for one in self._others for pid in one.pids())]

    def missing(self) -> list[ServerError]:
        away = [one for one, _ in self._away]
        gone = [one for one in self._members if one is not self._leader and one not in away and not one.is_running]
        remedy = "check the free memory and the system's log here, then repeat the run"
        return [ServerError(f"a {self.NAME} ended{one.last_words}", remedy) for one in gone]

    def ended(self) -> list[ServerError]:
        return [*super().ended(), *(found for one in self._others for found in one.ended()), *self.missing()]

    def stop(self) -> None:
        """The primary first, where it waits for nobody."""
        for one in [self._leader, *(one for one in self._others if one is not self._leader)]:
            if one is not self:
                one.stop()
        super().stop()
