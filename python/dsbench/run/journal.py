"""What is known of a run while it goes on: ``run.json`` and ``results.log``."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import psutil

import dsbench
from dsbench.archive import FORMAT, Archive, Writer
from dsbench.generator import Condition
from dsbench.run.events import Observer
from dsbench.spec import RunSpec


class RunError(Exception):
    """Why a run could not go on, and what to do about it. ``usage`` when what was asked for cannot be."""

    def __init__(self, message: str, remedy: str, *, usage: bool = False) -> None:
        super().__init__(message)
        self.remedy = remedy
        self.usage = usage


def now() -> str:
    """The time of day in UTC, to the second, ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def this_process() -> dict[str, Any]:
    """What tells this process from any other: host, number and start in seconds since 1970."""
    return {"host": platform.node(), "pid": os.getpid(), "process_started": round(psutil.Process().create_time())}


@dataclass
class Journal:
    """Keeps ``run.json`` current and writes the log. Every change is on disk when the call returns."""

    writer: Writer
    observer: Observer
    data: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def begin(cls, writer: Writer, observer: Observer, spec: RunSpec) -> Journal:
        """The journal of a new run."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "dsbench": dsbench.__version__,
            "name": writer.path.name,
            "started": now(),
            "ended": None,
            "status": "running",
            "reason": "",
            "spec": spec.described(),
            "host": platform.node(),
            "process": this_process(),
            "cpus": psutil.cpu_count() or 1,
            "kinds": [],
            "stack": [],
            "settings": {},
            "durability": [],
            "marks": {},
            "checks": {},
            "segments": [],
            "calibration": None,
            "warnings": [],
        }
        journal = cls(writer, observer, data)
        journal.save()
        return journal

    @classmethod
    def go_on(cls, writer: Writer, observer: Observer) -> Journal:
        """The journal of a run that is resumed."""
        data = dict(Archive.open(writer.path).run)
        data.update(status="running", reason="", ended=None, process=this_process())
        data.setdefault("resumed", []).append(now())
        journal = cls(writer, observer, data)
        journal.save()
        if data["host"] != platform.node():
            words = f"resumed on {platform.node()}, begun on {data['host']}"
            journal.warn("resumed", words, "repeat the run on one host")
        return journal

    def save(self) -> None:
        """Writes ``run.json``."""
        self.writer.describe(self.data)

    def note(self, **values: Any) -> None:
        """Sets fields of ``run.json``."""
        self.data.update(values)
        self.save()

    def say(self, text: str) -> None:
        """A line for the log and the observer."""
        self.writer.log(f"{now()} {text}")
        self.observer.message(text)

    def segment(self, scale: int, first_cycle: int) -> None:
        """A population of ``scale`` begins, for the cycles from ``first_cycle`` on."""
        self.data["segments"].append({"started": now(), "scale": scale, "first_cycle": first_cycle})
        self.save()

    def checked(self, scale: int, conditions: Iterable[Condition]) -> None:
        """The outcome of a check."""
        rows = [{"name": c.name, "holds": c.holds, "detail": c.detail} for c in conditions]
        self.data["checks"][str(scale)] = rows
        self.save()

    def warn(self, code: str, message: str, remedy: str, scale: int | None = None) -> None:
        """A doubt that only the run itself can notice."""
        warning = {"code": code, "message": message, "remedy": remedy, "scale": scale}
        if warning not in self.data["warnings"]:
            self.data["warnings"].append(warning)
            self.save()
            self.say(f"warning: {message}")

    def end(self, status: str, reason: str) -> None:
        """The run is over: "complete", "cut-short" or "failed"."""
        self.note(status=status, reason=reason, ended=now())
