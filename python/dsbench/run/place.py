"""The place in which a run works: never anything but what carries dsbench's mark."""

from __future__ import annotations

import json
import os
import platform

import psutil

from dsbench.generator import Target
from dsbench.run.journal import RunError


def mark(name: str) -> str:
    """The text of the mark: which run made the place, and which process may still use it."""
    created = psutil.Process().create_time()
    return json.dumps({"run": name, "host": platform.node(), "pid": os.getpid(), "process_started": round(created)})


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
        pid, since = int(owner["pid"]), float(owner["process_started"])
        same_host = owner["host"] == platform.node()
        name = str(owner["run"])
    except (ValueError, KeyError, TypeError):
        return  # A mark of another making tells no process; what it marks is dsbench's all the same.
    if not same_host or pid == os.getpid():
        return
    try:
        alive = abs(psutil.Process(pid).create_time() - since) < 2
    except psutil.Error:
        return
    if alive:
        raise RunError(
            f"the run {name} (process {pid}) is using this target",
            "wait until it has ended, or name another database in TARGET",
        )


def make(target: Target, name: str) -> None:
    """Drops the place of an earlier scale or run, if there is one, and creates a new one."""
    if check_free(target):
        target.drop()
    target.create(mark(name))


def remove(target: Target) -> None:
    """Drops the place if it is there and carries the mark."""
    if target.state()[0] == "marked":
        target.drop()
