"""What happens to the server while a cycle goes on: the events that were asked for, each in its time."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, Protocol, runtime_checkable

import psutil

from dsbench.archive.conditions import Condition, State
from dsbench.dataclass import dataclass
from dsbench.measure.loaders import CoreError, TargetDatabase, now_ns
from dsbench.measure.monitors import SERVER, Known, MachineSnapshot, Monitor, between, look
from dsbench.redaction import redact_words
from dsbench.servers import ServerError
from dsbench.servers.server import OwnProcess
from dsbench.spec.events import Event, is_steady
from dsbench.stats.machine import Used, added

OF_THE_SERVER: Final = frozenset(
    ["server", "server_tasks", "server_threads", "server_statements", "round_trip", "sizes", "replication"]
)
"""Monitors whose counters begin anew with a server, or whose session ends with it."""
_SECOND_NS: Final = 1_000_000_000
_LOOK_S: Final = 0.2
_POLL_S: Final = 0.01
_PATIENCE_S: Final = 5.0
"""How long a command may take to end that nobody waits for."""
_ENDS_S: Final = 3.0
"""How long a server may take to end that had no room."""
_LAST_WORDS: Final = 300
_PIECE: Final = 2**30
"""The first piece of a file that takes all room; the last ones are bytes."""


@dataclass(frozen=True)
class Happened:
    """What became of an event."""

    event: Event
    at_ns: int
    """When it was begun, from the start of the cycle."""
    done_ns: int | None
    """When the server took sessions again, was no longer suspended, or the command had ended. ``None``: it failed."""
    error: str = ""


@dataclass(frozen=True)
class Renewed:
    """A server that runs in other processes than before."""

    known: Known
    monitors: tuple[Monitor, ...]


@runtime_checkable
class TakingOver(Protocol):
    """A private server with standbys."""

    def switch_over(self) -> None:
        """A standby takes over from the primary, which is stopped in order. ``ServerError`` where none can."""

    def fail_over(self) -> None:
        """A standby takes over from the primary, which is killed."""

    def settle(self, check: Callable[[], None]) -> None:
        """What was the primary comes back as a standby. ``check`` raises where nobody waits for it."""


class Outages:
    """How a run does to its server what was asked for."""

    def __init__(
        self, events: tuple[Event, ...], server: OwnProcess | None, target: TargetDatabase,
        renew: Callable[[], Renewed], patience_s: float,
    ) -> None:  # fmt: skip
        """``renew`` says what runs once the server has been started again, which may take ``patience_s``."""
        self.events, self.server = events, server
        self._target, self._renew, self.patience_s = target, renew, patience_s
        self.now: Renewed | None = None
        """What runs since the last event after which it was others; ``None`` before one."""

    def processes(self) -> dict[int, str]:
        """Those of the server now, as of ``Known``."""
        return dict.fromkeys(self.server.pids(), SERVER) if self.server is not None else {}

    @property
    def steady(self) -> bool:
        """Whether the server stays itself: it is suspended at most."""
        return is_steady(self.events)

    def begin(self, known: Known) -> Happening:
        """Those of one cycle, before which the processes ``known`` run."""
        return Happening(self, known)

    def settle(self, check: Callable[[], None]) -> None:
        """Waits until the server takes sessions, and notes what runs now. ``CoreError`` and ``ServerError`` where it
        does not come back. ``check`` raises where the run has to end."""
        if isinstance(self.server, TakingOver):
            self.server.settle(check)
        if not self.steady:
            self._target.renew()
        give_up = time.monotonic() + self.patience_s
        while not self.steady:
            try:
                # The first question may only notice that the session has ended.
                self._target.state()
                self._target.hold()
                self.now = self._renew()
                return
            except CoreError:
                check()
                if time.monotonic() > give_up:
                    raise
                time.sleep(_LOOK_S)


class _Span:
    """From when to when an event was what it says; without an end it is over when its call has returned."""

    def __init__(self) -> None:
        self.began_ns, self.done_ns = now_ns(), 0


class Happening:
    """The events of a cycle, in a thread beside it."""

    def __init__(self, outages: Outages, known: Known) -> None:
        self._outages, self._known = outages, known
        self._before: MachineSnapshot | None = None
        self._parts: list[Used] = []
        self._found: list[Happened] = []
        self._ending, self._leaving = threading.Event(), threading.Event()
        self._gone = False
        self._thread: threading.Thread | None = None
        self._defect: Exception | None = None
        self._start_ns = 0

    def go(self, start_ns: int, before: MachineSnapshot | None) -> None:
        """The cycle starts at ``start_ns``, and was looked at ``before``."""
        self._start_ns, self._before = start_ns, before
        self._thread = threading.Thread(target=self._run, name="dsbench-events", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """No further event is begun, a suspended server goes on, and a command is ended."""
        self._leaving.set()
        self._ending.set()

    def give_up(self) -> None:
        """Ends it after a cycle that nobody waits for; a start of the server under way is brought to its end."""
        self.leave()
        if self._thread is not None:
            self._thread.join()

    def end(self, check: Callable[[], None]) -> Sequence[Happened]:
        """What has happened. Waits for an event under way; ``check`` raises where nobody waits for it."""
        self._ending.set()
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(_LOOK_S)
            check()
        if self._defect is not None:
            raise self._defect
        return self._found

    def used(self, after: MachineSnapshot | None) -> Used | None:
        """What the machine did in the cycle without the time in which a server ended and started: its processes are
        others then. ``None`` where the machine does not tell, and where a command started the server anew."""
        if self._before is None or after is None or self._gone:
            return None
        return added([*self._parts, between(self._before, after, self._known)])

    def _run(self) -> None:
        try:
            self._make_all()
        except Exception as defect:  # told by the thread of the run
            self._defect = defect

    def _make_all(self) -> None:
        for event in self._outages.events:
            due_ns = self._start_ns + round(event.at_s * _SECOND_NS)
            if self._ending.wait(max(0, due_ns - now_ns()) / _SECOND_NS):
                return
            self._found.append(self._make(event))

    def _make(self, event: Event) -> Happened:
        own = {"stop": self._stop, "partition": self._cut_off, "fill-disk": self._fill, "command": self._command}
        does = self._hand_over if event.needs_standby else own.get(event.what, self._again)
        others = does in (self._again, self._fill, self._hand_over)
        if others:
            self._leave()
        span, error = _Span(), ""
        try:
            does(event, span)
        except (ServerError, OSError, subprocess.SubprocessError) as failed:
            error = redact_words(str(failed) or type(failed).__name__)
        began_ns, done_ns = span.began_ns, span.done_ns or now_ns()
        if others:
            self._arrive()
        self._gone |= event.what == "command" and self._is_gone()
        return Happened(event, began_ns - self._start_ns, None if error else done_ns - self._start_ns, error)

    def _is_gone(self) -> bool:
        """Whether a process of the server has ended."""
        return any(who == SERVER and not psutil.pid_exists(pid) for pid, who in self._known.roots.items())

    def _leave(self) -> None:
        """Looks at the machine before the processes of the server are others."""
        now = look(self._known)
        if self._before is not None and now is not None:
            self._parts.append(between(self._before, now, self._known))

    def _arrive(self) -> None:
        self._known = replace(self._known, roots={**self._known.roots, **self._outages.processes()})
        self._before = look(self._known)

    def _stop(self, event: Event, span: _Span) -> None:
        assert self._outages.server is not None
        with self._outages.server.suspended():
            span.began_ns = now_ns()
            self._leaving.wait(event.lasts_s)
            span.done_ns = now_ns()

    def _cut_off(self, event: Event, _span: _Span) -> None:
        assert self._outages.server is not None
        with self._outages.server.cut_off():
            self._leaving.wait(event.lasts_s)

    def _fill(self, event: Event, span: _Span) -> None:
        server = self._outages.server
        assert server is not None
        with filled(_mount_of(server.directory)):
            span.began_ns = now_ns()
            self._leaving.wait(event.lasts_s)
            span.done_ns = now_ns()
        # One that had no room for its log may be about to end.
        give_up = time.monotonic() + _ENDS_S
        while time.monotonic() < give_up and not self._leaving.is_set():
            if not server.is_running:
                server.start_again(kill=True, within_s=self._outages.patience_s)
                return
            time.sleep(_POLL_S)

    def _again(self, event: Event, _span: _Span) -> None:
        assert self._outages.server is not None
        self._outages.server.start_again(kill=event.what == "kill", within_s=self._outages.patience_s)

    def _hand_over(self, event: Event, _span: _Span) -> None:
        assert isinstance(self._outages.server, TakingOver)
        if event.what == "failover":
            self._outages.server.fail_over()
        else:
            self._outages.server.switch_over()

    def _command(self, event: Event, _span: _Span) -> None:
        # What it leaves behind may keep its output open: a file has no end to wait for.
        with TemporaryFile() as out:
            done = subprocess.Popen(
                event.command, shell=True, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            while done.poll() is None:
                if self._leaving.wait(_POLL_S):
                    _end(done)
            if not done.returncode:
                return
            out.seek(0)
            said = " ".join(out.read().decode(errors="replace").split())[-_LAST_WORDS:]
        raise ServerError(f"it ended with {done.returncode}{f': {said}' if said else ''}", "correct the command")


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Meanwhile the file system of ``folder`` has no room: a file takes it all."""
    file = folder / "dsbench-fill"
    try:
        with file.open("wb") as opened:
            size, piece = 0, _PIECE
            while piece:
                try:
                    os.posix_fallocate(opened.fileno(), size, piece)
                    size += piece
                except OSError as full:
                    if full.errno != errno.ENOSPC:
                        raise
                    piece //= 2
        yield
    finally:
        file.unlink(missing_ok=True)


def _mount_of(folder: Path) -> Path:
    """The top of the file system that ``folder`` lies in."""
    return next(one for one in (folder, *folder.parents) if one.is_mount())


def _end(command: subprocess.Popen[bytes]) -> None:
    """Ends it with all that it started, unless that has left its group."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(command.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            command.wait(_PATIENCE_S)
            return


def forgive_lost(found: Sequence[Condition], alone: Sequence[Condition]) -> tuple[Condition, ...]:
    """The conditions of a database that lost commits in an outage: what it lost is a finding, and is told with it. What
    has to hold ``alone``, whatever the clients counted, still decides."""
    inside = {one.name: one for one in alone}
    return tuple(
        one.changed(state=State.NOT_MADE, detail="commits were lost in an outage")
        if one.state is State.BROKEN and inside[one.name].state is State.NOT_MADE and not _gained(one) else one
        for one in found
    )  # fmt: skip


def _gained(one: Condition) -> bool:
    """Whether more commits are there than anybody made."""
    return one.commits is not None and not one.commits.lost


def leave_open(found: Sequence[Condition]) -> tuple[Condition, ...]:
    """Conditions that commits of unknown end leave open cannot be made by another run with the same outages."""
    return tuple(one.changed(remedy="") if one.state is State.NOT_MADE else one for one in found)


def loses(found: Sequence[Condition]) -> bool:
    """Whether acknowledged commits are missing."""
    return any(one.commits is not None and one.commits.lost for one in found)


def event_rows(found: Sequence[Happened], changed: Sequence[str]) -> list[dict[str, Any]]:
    """Those of the table ``events``, without their key."""
    last = len(found)
    return [
        {"number": number, "event": one.event.what, "text": one.event.words, "at_ns": one.at_ns,
         "done_ns": one.done_ns, "error": one.error, "changed": "; ".join(changed) if number == last else ""}
        for number, one in enumerate(found, start=1)
    ]  # fmt: skip
