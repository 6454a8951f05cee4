"""The place in which a run works: never anything but what carries dsbench's mark."""

from __future__ import annotations

import json
import os
import platform
from typing import Any

import psutil

from dsbench.generator import Target
from dsbench.run.journal import RunError, this_process


def mark(name: str) -> str:
    """The text of the mark: which run made the place, and which process may still use it."""
    return json.dumps({"run": name, **this_process()})


_LOCKS = {
    "postgres": "SELECT pg_try_advisory_lock(hashtextextended('dsbench place', 0)) AS locked",
    "mysql": "SELECT IF(GET_LOCK('dsbench place', 0) = 1, 't', 'f') AS locked",
}
"""By dialect: takes a lock that other runs see, whatever host they are on, until the session ends."""


def lock(target: Target) -> None:
    """Claims the target for this run, for as long as its administrative session lives.

    ``RunError`` when another run has it. Engines without such a lock have the mark alone.
    """
    statement = _LOCKS.get(target.dialect.name)
    if statement is not None and target.fetch(statement)[0]["locked"] != "t":
        raise RunError(
            "another run of dsbench is using this target",
            "wait until it has ended, or name another database in TARGET",
        )


def check_free(target: Target) -> bool:
    """True when a place of an earlier run is there, to be dropped; ``RunError`` when it must not be touched."""
    state, text = target.state()
    if state == "foreign":
        raise RunError(
            f"{text}: it was not made by dsbench and is not touched",
            "name another database in TARGET, or rename what is there",
            usage=True,
        )
    if state == "marked":
        _check_not_in_use(text)
    return state == "marked"


def _check_not_in_use(text: str) -> None:
    try:
        owner = json.loads(text)
        if not isinstance(owner, dict):
            return
    except ValueError:
        return  # A mark of another making tells no process; what it marks is dsbench's all the same.
    if owner_alive(owner):
        raise RunError(
            f"the run {owner.get('run')} (process {owner.get('pid')}) is using this target",
            "wait until it has ended, or name another database in TARGET",
        )


def owner_alive(owner: Any) -> bool:
    """Whether the process that a mark or an archive names still runs, as far as can be seen from this host."""
    try:
        pid, since, host = int(owner["pid"]), float(owner["process_started"]), owner["host"]
        if host != platform.node() or pid == os.getpid():
            return False
        return abs(psutil.Process(pid).create_time() - since) < 2
    except (ValueError, KeyError, TypeError, psutil.Error):
        return False


def make(target: Target, own: str) -> None:
    """Drops what an earlier run left, if anything, and creates a place with the mark ``own``."""
    if check_free(target):
        target.drop()
    target.create(own)


def remove(target: Target, own: str) -> None:
    """Drops the place if it carries the mark ``own``: never the place of another run."""
    if target.state() == ("marked", own):
        target.drop()
