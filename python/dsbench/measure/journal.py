"""What is known of a run while it goes on: ``run.json`` and ``results.log``."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from dsbench import release, workloads
from dsbench.archive import FORMAT, Archive, Asked, RunRecord, Writer
from dsbench.archive.conditions import Condition
from dsbench.archive.record import Noticed, Segment
from dsbench.dataclass import dataclass
from dsbench.measure.moments import Observer
from dsbench.problem import Problem
from dsbench.redaction import redact_words
from dsbench.spec import RunSpec
from dsbench.spec.drivers import PEERS
from dsbench.workloads import Entry


class RunError(Problem):
    """Why a run could not go on, and what to do about it. ``usage`` when what was asked for cannot be."""

    def __init__(self, message: str, remedy: str, *, usage: bool = False) -> None:
        super().__init__(message, remedy, usage=usage)
        self.archive: Path | None = None
        """What the run left, once it has ended; ``None`` where nothing was begun."""


def _entry(spec: RunSpec) -> Entry:
    """What the workload says of itself: nothing of shares that the client does not tell."""
    found = workloads.find(spec.workload, spec.workload_settings)
    return replace(found, remote=None) if spec.driver in PEERS else found


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
    record: RunRecord

    @classmethod
    def begin(cls, writer: Writer, observer: Observer, spec: RunSpec) -> Journal:
        """The journal of a new run."""
        record = RunRecord(
            format=FORMAT,
            dsbench=release.VERSION,
            name=writer.path.name,
            started=now(),
            ended=None,
            status="running",
            reason="",
            spec=Asked.model_validate(spec.described()),
            workload=_entry(spec),
            host=platform.node(),
            process=this_process(),
            cpus=psutil.cpu_count() or 1,
            kinds=(),
            stack=(),
            settings={},
            durability=(),
            marks={},
            checks={},
            segments=(),
            calibration=None,
            warnings=(),
        )
        journal = cls(writer, observer, record)
        journal.save()
        return journal

    @classmethod
    def go_on(cls, writer: Writer, observer: Observer) -> Journal:
        """The journal of a run that is resumed."""
        begun = Archive.open(writer.path).run
        journal = cls(writer, observer, begun)
        journal.note(
            status="running", reason="", remedy="", ended=None, process=this_process(),
            resumed=(*begun.resumed, now()),
        )  # fmt: skip
        if begun.host != platform.node():
            words = f"resumed on {platform.node()}, begun on {begun.host}"
            journal.warn("resumed", words, "repeat the run on one host")
        return journal

    def save(self) -> None:
        self.writer.describe(self.record)

    def note(self, **values: Any) -> None:
        self.record = self.record.changed(**values)
        self.save()

    def say(self, text: str) -> None:
        """A line for the log and the observer."""
        text = redact_words(text)
        self.writer.log(f"{now()} {text}")
        self.observer.message(text)

    def segment(self, scale: int, first_cycle: int) -> None:
        """A population of ``scale`` begins, for the cycles from ``first_cycle`` on."""
        begins = Segment(started=now(), scale=scale, first_cycle=first_cycle)
        self.note(segments=(*self.record.segments, begins))

    def checked(self, scale: int, conditions: Iterable[Condition]) -> None:
        """The outcome of a check."""
        self.note(checks={**self.record.checks, scale: tuple(conditions)})

    def warn(self, code: str, message: str, remedy: str, scale: int | None = None) -> None:
        """A doubt that only the run itself can notice."""
        message = redact_words(message)
        warning = Noticed(code=code, message=message, remedy=remedy, scale=scale)
        if warning not in self.record.warnings:
            self.note(warnings=(*self.record.warnings, warning))
            self.say(f"warning: {message}")

    def forget(self, code: str) -> None:
        """Takes back warnings that hold no longer, such as those of a run before it was resumed."""
        left = tuple(warning for warning in self.record.warnings if warning.code != code)
        if left != self.record.warnings:
            self.note(warnings=left)

    def end(self, status: str, reason: str) -> None:
        """The run is over: "complete", "cut-short" or "failed"."""
        self.note(status=status, reason=reason, ended=now())
