"""How long a server waits for those that follow it, with members that are made up."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from dsbench.servers import replication
from dsbench.servers.replication import Replicated

GROUP: Any = SimpleNamespace(_leader=None)


class Made:
    """Follows from the look after the last of its ``places``; after it the place stays."""

    def __init__(self, *places: str, follows: bool = True) -> None:
        self.places, self.place, self.ends = iter(places), places[-1], follows
        self.over = False

    def follows(self, _leader: object) -> bool:
        return self.over and self.ends

    def applied(self) -> str:
        try:
            return next(self.places)
        except StopIteration:
            self.over = True
            return self.place


def followed(*members: Made) -> bool:
    others: Any = list(members)
    return Replicated._follow(GROUP, others, lambda: None)


def test_one_that_has_applied_nothing_yet_is_waited_for() -> None:
    assert followed(Made("", ""))


def test_the_time_begins_anew_as_long_as_one_applies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "_LOOK_S", 0.0)
    clock = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock) * 10.0)
    assert followed(Made(*(str(at) for at in range(40))))


def test_one_that_applies_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replication, "_FOLLOWS_S", 0.3)
    assert not followed(Made("7", follows=False))
