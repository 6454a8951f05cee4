"""The pages, in the order of the menu. One file a page; adding one is a file here and one line below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.web.house import House
from dsbench.web.pages import (
    archive,
    archives,
    check,
    commons,
    compare,
    doctor,
    learn,
    live,
    new,
    new_study,
    study,
)


@dataclass(frozen=True)
class Page:
    """One page."""

    path: str
    heading: str
    build: Callable[[House, Any], None]
    """Makes its content out of what its address asks."""
    title: str = ""
    """In the menu; empty where it is reached from another page."""


PAGES: Final = (
    Page("/", "What do you want to know?", new.build, "New run"),
    Page("/live", "Runs", live.build, "Runs"),
    Page("/archives", "Archives", archives.build, "Archives"),
    Page("/archive", "Archive", archive.build),
    Page("/compare", "Comparison", compare.build),
    Page("/pair", "Compare two", compare.pair),
    Page("/commons", "Published results", commons.build, "Published"),
    Page("/publish", "Publish an archive", commons.publish),
    Page("/study", "Studies", study.build, "Studies"),
    Page("/new-study", "New study", new_study.build),
    Page("/learn", "First steps", learn.build),
    Page("/check", "Crash test", check.build, "Crash test"),
    Page("/doctor", "This machine", doctor.build, "Machine"),
)
