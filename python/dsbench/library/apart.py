"""A run in a process of its own, which ends with the one that began it.

A process takes one client library of Firebird and one configuration of its engine, and what a driver or an engine does
to its process would last through all later runs. The request goes through a pipe, because a target may hold a password;
lines of JSON come back. ``dsbench.web.making`` is begun in the same way, but outlives the web server.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from dsbench.archive import ArchiveError
from dsbench.library.running import perform
from dsbench.measure.events import Moment, Observer
from dsbench.measure.interrupts import Stop, listening
from dsbench.measure.journal import RunError
from dsbench.measure.run import Outcome, try_target
from dsbench.problem import Problem
from dsbench.servers.process import python
from dsbench.spec import NotHere, RunSpec, SpecError
from dsbench.study import joined

_LOOK_S: Final = 0.1
"""How often the wish to stop is looked for."""
_EVERY_S: Final = 0.2
"""Between two moments of one phase that are passed on."""
_SECONDS: Final = 300
"""Of a cycle that are passed on with a moment."""
_END_S: Final = 60.0
"""How long a process may take to end after its last word."""


def perform_apart(
    spec: RunSpec, out: Path, observer: Observer, stop: Stop | None = None, nodes: Sequence[str] | None = None,
    address: str = "",
) -> Outcome:
    """As ``perform``, in a process of its own. ``nodes`` and ``address`` are those of ``study.joined``.

    Without ``nodes`` the run waits for those that were started by hand, as ``perform`` does. Where the process ends
    without a word, as by the kernel for a lack of memory, ``RunError`` says by what.
    """  # fmt: skip
    asked = {"spec": spec.model_dump(mode="json"), "out": str(out), "address": address,
             "nodes": None if nodes is None else list(nodes)}  # fmt: skip
    said = _ask(asked, observer, stop)
    error = _error_of(said["error"]) if said["error"] is not None else None
    return Outcome(Path(said["archive"]), said["status"], error, tuple(said["void_scales"]), said["aborted"])


def try_apart(spec: RunSpec) -> tuple[str, ...]:
    """As ``try_target``; that of Firebird is in a process of its own, because it fits one library and engine only."""
    if "firebird" in (spec.target.private, spec.target.scheme):
        return tuple(_ask({"spec": spec.model_dump(mode="json")})["stages"])
    return try_target(spec)


def send_line(child: subprocess.Popen[str], said: Mapping[str, Any]) -> None:
    """Writes a line of JSON to ``child``. One that has ended is noticed by its silence."""
    assert child.stdin is not None
    with suppress(BrokenPipeError):
        child.stdin.write(json.dumps(said) + "\n")
        child.stdin.flush()


def _ask(asked: Mapping[str, Any], observer: Observer | None = None, stop: Stop | None = None) -> Any:
    """What a process answers that serves ``asked``; raises the error that it tells of."""
    with listening(stop) as stop:
        child = python("from dsbench.library.apart import serve; serve()", stderr=None)
        try:
            send_line(child, asked)
            return _hear(child, observer, stop)
        finally:
            child.kill()  # Where it has not ended, its servers go with it, and the next run removes what it left.
            child.wait()
            for stream in (child.stdin, child.stdout):
                assert stream is not None
                with suppress(OSError):
                    stream.close()


def _hear(child: subprocess.Popen[str], observer: Observer | None, stop: Stop) -> Any:
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(child, lines), daemon=True).start()
    told = False
    last: dict[str, Any] | None = None
    while True:
        try:
            line = lines.get(timeout=_LOOK_S)
        except queue.Empty:
            line = ""
        if line is None:
            break
        if line:
            said: dict[str, Any] = json.loads(line)
            last = said if "end" in said or "error" in said else last
            if observer is not None:
                _tell(observer, said)
        if stop.requested and not told:
            told = True
            send_line(child, {"stop": stop.reason, "signal": stop.signal})
    code = child.wait(_END_S)
    if last is None:
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"over with exit code {code}"
        remedy = "see above what it said; the kernel ends a process where memory lacks: see dmesg"
        raise RunError(f"the process of the run was {how} before it could tell a result", remedy)
    if "error" in last:
        raise _error_of(last["error"])
    return last["end"]


def _read(child: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert child.stdout is not None
    with suppress(ValueError, OSError):  # It was closed meanwhile.
        for line in child.stdout:
            lines.put(line)
    lines.put(None)


def _tell(observer: Observer, said: Mapping[str, Any]) -> None:
    if "moment" in said:
        observer.moment(Moment(**said["moment"]))
    elif "message" in said:
        observer.message(said["message"])
    elif "archive" in said:
        observer.archive(Path(said["archive"]))
    elif "scale_done" in said:
        observer.scale_done(Path(said["scale_done"]))


def _described(error: BaseException) -> dict[str, Any]:
    """``error`` as JSON values. What is no ``Problem`` is named, as its traceback is on the screen only."""
    if not isinstance(error, Problem):
        error = RunError(repr(error), "see above what the process of the run said")
    archive = getattr(error, "archive", None)
    return {
        "kind": next((name for name, kind in _KINDS.items() if isinstance(error, kind)), "run"),
        "option": getattr(error, "option", ""), "problem": error.problem, "remedy": error.remedy, "usage": error.usage,
        "archive": None if archive is None else str(archive),
    }  # fmt: skip


_KINDS: Final[dict[str, type[Problem]]] = {"not here": NotHere, "spec": SpecError, "archive": ArchiveError}


def _error_of(said: Mapping[str, Any]) -> Any:
    if said["kind"] in ("not here", "spec"):
        kind = NotHere if said["kind"] == "not here" else SpecError
        return kind(said["option"], said["problem"], said["remedy"])
    if said["kind"] == "archive":
        return ArchiveError(said["problem"], said["remedy"], usage=said["usage"])
    error = RunError(said["problem"], said["remedy"], usage=said["usage"])
    error.archive = None if said["archive"] is None else Path(said["archive"])
    return error


class _Sending(Observer):
    """Passes on what a run says, its moments now and then."""

    def __init__(self) -> None:
        # What others print must not come between the lines.
        self._lines = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._told, self._phase = 0.0, ("", 0, 0)

    def send(self, **said: Any) -> None:
        with suppress(OSError):  # The other end is gone, and this process about to end.
            self._lines.write(json.dumps(said) + "\n")
            self._lines.flush()

    def moment(self, moment: Moment) -> None:
        now, phase = time.monotonic(), (moment.phase, moment.cycle, moment.scale)
        if now - self._told >= _EVERY_S or phase != self._phase:
            self._told, self._phase = now, phase
            latest = replace(moment, seconds=moment.seconds[-_SECONDS:], times=moment.times[-_SECONDS:])
            self.send(moment=vars(latest))

    def message(self, text: str) -> None:
        self.send(message=text)

    def archive(self, path: Path) -> None:
        self.send(archive=str(path))

    def scale_done(self, path: Path) -> None:
        self.send(scale_done=str(path))


def serve() -> None:
    """Makes the run that the first line of standard input asks for: what the process of a run does."""
    sending, stop = _Sending(), Stop(signals=True)
    lines = _lines_of_input()
    asked: dict[str, Any] = json.loads(next(lines))
    threading.Thread(target=_obey, args=(lines, stop), daemon=True).start()
    try:
        sending.send(end=_serve(asked, sending, stop))
    except BaseException as error:
        if not isinstance(error, Problem):
            traceback.print_exc()
        sending.send(error=_described(error))


def _serve(asked: Mapping[str, Any], observer: Observer, stop: Stop) -> dict[str, Any]:
    spec = RunSpec.model_validate(asked["spec"])
    if "out" not in asked:
        return {"stages": try_target(spec)}
    nodes = asked["nodes"]
    with nullcontext() if nodes is None else joined(spec, nodes, asked["address"]) as joining:
        finished = perform(spec, Path(asked["out"]), observer, stop, joining, report=False)
    outcome = finished.outcome
    if finished.problem and outcome.error is None:
        raise ArchiveError(finished.problem, "free space; ab goes on with --resume, and study run by itself")
    return {
        "archive": str(outcome.archive), "status": outcome.status, "void_scales": outcome.void_scales,
        "error": None if outcome.error is None else _described(outcome.error), "aborted": outcome.aborted,
    }  # fmt: skip


def _obey(lines: Iterator[str], stop: Stop) -> None:
    """Takes the wish to stop; the end of the input is that of the process on its other side, and of this one."""
    for line in lines:
        said = json.loads(line)
        if said["signal"] is not None:
            stop.heard(said["signal"])
        else:
            stop.request(said["stop"])
    os.kill(os.getpid(), signal.SIGKILL)


def _lines_of_input() -> Iterator[str]:
    """Of the file itself: a thread that waits in ``sys.stdin`` would hold its lock when Python ends."""
    rest = b""
    while some := os.read(0, 1 << 16):
        *whole, rest = (rest + some).split(b"\n")
        yield from (line.decode() for line in whole)

