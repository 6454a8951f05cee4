"""A cycle whose clients are Python's drivers: a process for each CPU, as threads of one share the interpreter's lock.

Each process has its share of the clients and runs the core's loop and recorder. ``Processes`` has the same
interface as a cycle of the core.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench import _core
from dsbench.measure.drivers import DriverError, session_opener
from dsbench.spec.drivers import Driver, find_driver
from dsbench.spec.target import Target

TRACE_WORDS: Final = 5
_GONE: Final = "a process that made the load has ended: see its words above"
_ABANDONED_S: Final = 5.0
"""How long a process that was asked to end may take for it."""


class Processes:
    """A cycle in processes, with the methods of ``_core.Cycle``."""

    def __init__(
        self, bench: Mapping[str, Any], parts: Sequence[_core.CycleLoad], client: str, seed: int, trace: Path | None
    ) -> None:
        """``bench``: url and the arguments of ``_core.Bench``; ``parts``: the load of each process."""
        self._trace = trace
        self._clients = [part.clients for part in parts]
        self._workers: list[_Worker] = []
        self._started = False
        try:
            for number, part in enumerate(parts):
                self._workers.append(_Worker())
                own = _trace_of(trace, number) if trace is not None else None
                self._workers[-1].send(("cycle", dict(bench), client, part, seed, own))
            self._answers(self._workers, [])
        except BaseException:
            self._kill()
            raise

    def pids(self) -> list[int]:
        return [worker.pid for worker in self._workers]

    def ready(self) -> int:
        """Clients that are connected and wait."""
        return sum(self._ask("ready"))

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns`` of the monotonic clock."""
        self._started = True
        self._ask("start", at_ns)

    def finished(self) -> bool:
        """True when every client has ended. Where one could not connect, the others need not wait."""
        found = self._ask("finished")
        if any(found) and not all(found) and not self._started:
            self._ask("abandon", None)
        return all(found)

    def totals(self) -> tuple[int, int]:
        """(committed, failed attempts) so far."""
        found = self._ask("totals")
        return sum(one[0] for one in found), sum(one[1] for one in found)

    def seconds(self, start: int) -> list[tuple[int, int, int, int, int]]:
        """As ``_core.Cycle`` has it; a quantile is the mean of those of the processes, each by its transactions."""
        return [_together(parts) for parts in zip(*self._ask("seconds", start), strict=False)]

    def abandon(self, reason: str | None = None) -> None:
        """Ends what the clients wait for; a driver that does not hear it ends with its process, in ``join``."""
        with suppress(_core.CoreError):
            self._ask("abandon", reason)

    def join(self) -> list[dict[str, Any]]:
        """Waits for the end and gives everything of each process, in the form of ``_core.Cycle.join``."""
        try:
            parts = self._ask("join")
            if self._trace is not None:
                _join_traces(self._trace, self._clients)
            return parts
        finally:
            self._kill()

    def _ask(self, question: str, *values: Any) -> list[Any]:
        asked: list[_Worker] = []
        gone: list[_core.CoreError] = []
        for worker in self._workers:
            try:
                worker.send((question, *values))
                asked.append(worker)
            except _core.CoreError as error:
                gone.append(error)
        return self._answers(asked, gone)

    def _answers(self, asked: Sequence[_Worker], failed: list[_core.CoreError]) -> list[Any]:
        """One answer of each that was ``asked``: all are read, so that the next ones are those to the next question.

        Raises the first error, what a driver said before that a process is gone.
        """
        found = []
        for worker in asked:
            try:
                found.append(worker.answer())
            except _core.CoreError as error:
                failed.append(error)
        if failed:
            raise min(failed, key=lambda error: error.args[2] == _GONE)
        return found

    def _kill(self) -> None:
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process that makes load, at the other end of its standard streams: no password is in its arguments."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from dsbench.measure.loaders.processes import serve; serve()"]
        paths = [path for path in sys.path if path]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        # A Ctrl-C is for the run, which ends its processes in order.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, start_new_session=True
        )
        self.pid = self._process.pid

    def send(self, question: tuple[Any, ...]) -> None:
        assert self._process.stdin is not None
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            raise _gone() from None

    def answer(self) -> Any:
        assert self._process.stdout is not None
        try:
            kind, value = pickle.load(self._process.stdout)
        except (EOFError, pickle.UnpicklingError):
            raise _gone() from None
        if kind == "error":
            raise _core.CoreError(*value)
        return value

    def end(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_ABANDONED_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def _gone() -> _core.CoreError:
    return _core.CoreError("setup", "", _GONE)


def _together(parts: Sequence[tuple[int, int, int, int, int]]) -> tuple[int, int, int, int, int]:
    done, failed, p50, p99, longest = zip(*parts, strict=True)
    total = max(sum(done), 1)
    middle, late = (sum(n * time for n, time in zip(done, times, strict=True)) // total for times in (p50, p99))
    return sum(done), sum(failed), middle, late, max(longest)


def _trace_of(trace: Path, process: int) -> Path:
    return trace.with_name(f"{trace.name}.{process}")


def _join_traces(trace: Path, clients: Sequence[int]) -> None:
    """Puts the files of the processes into one, whose clients are numbered on."""
    with trace.open("wb") as whole:
        for number in range(len(clients)):
            one = _trace_of(trace, number)
            words = np.fromfile(one, dtype="<u8").reshape(-1, TRACE_WORDS)
            words[:, 3] += sum(clients[:number])
            words.tofile(whole)
            one.unlink()


class _Serving:
    """The other end: a process that makes its share of the load."""

    def __init__(self) -> None:
        self._cycle: _core.Cycle | None = None

    def cycle(
        self, bench: dict[str, Any], client: str, load: _core.CycleLoad, seed: int, trace: Path | None
    ) -> None:
        """Opens the connections of a cycle."""
        url = bench.pop("url")
        try:
            driver = find_driver(client)
            assert isinstance(driver, Driver)
            opener = session_opener(driver, Target(url=url))
        except DriverError as error:
            raise _core.CoreError("configuration", "", str(error)) from None
        target = _core.Target(url, False)
        self._cycle = _core.Bench(target, **bench).cycle(load, seed, trace, opener)

    def answer(self, question: str, *values: Any) -> Any:
        if question == "cycle":
            return self.cycle(*values)
        assert self._cycle is not None
        return getattr(self._cycle, question)(*values)


def serve() -> None:
    """Answers the questions of a run until their stream ends: what a process of load does."""
    # What others print must not come between the answers.
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serving = _Serving()
    while True:
        try:
            question = pickle.load(questions)
        except EOFError:
            # The run has ended or is gone; a client that waits for its server would keep the process.
            os._exit(0)
        try:
            answer = ("value", serving.answer(*question))
        except _core.CoreError as error:
            answer = ("error", error.args)
        except Exception:
            answer = ("error", ("setup", "", traceback.format_exc(limit=-3)))
        pickle.dump(answer, answers)
        answers.flush()
