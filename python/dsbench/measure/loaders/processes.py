"""A cycle whose clients are Python's drivers: a process for each CPU, as threads of one share the interpreter's lock.

Each process has its share of the clients and runs the core's loop and recorder. ``Processes`` has the same
interface as a cycle of the core.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from dsbench import _core
from dsbench.children import Child, ChildError, Task
from dsbench.measure.drivers import DriverError, session_opener
from dsbench.spec.drivers import Driver, find_driver
from dsbench.spec.target import Target

TRACE_WORDS: Final = 5
_GONE: Final = "a process of the load generator ended: see its messages above"
_QUESTIONS: Final = ("ready", "start", "finished", "totals", "seconds", "abandon", "join")


class Processes:
    """A cycle in processes, with the methods of ``_core.Cycle``."""

    def __init__(
        self, bench: Mapping[str, Any], parts: Sequence[_core.CycleLoad], client: str, seed: int, trace: Path | None
    ) -> None:
        """``bench``: url and the arguments of ``_core.Bench``; ``parts``: the load of each process."""
        self._trace = trace
        self._clients = [part.clients for part in parts]
        self._workers: list[Child] = []
        self._started = False
        try:
            for number, part in enumerate(parts):
                self._workers.append(Child(_LoadTask, "a share of the load"))
                own = _trace_of(trace, number) if trace is not None else None
                self._workers[-1].ask("cycle", dict(bench), client, part, seed, own)
            self._answers()
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
        for worker in self._workers:
            worker.ask(question, *values)
        return self._answers()

    def _answers(self) -> list[Any]:
        """One answer of each process: all are read, so that the next ones are those to the next question.

        Raises the first error, what a driver said before that a process is gone.
        """
        found, failed, gone = [], list[_core.CoreError](), list[ChildError]()
        for worker in self._workers:
            try:
                found.append(worker.answer())
            except _core.CoreError as error:
                failed.append(error)
            except ChildError as error:
                gone.append(error)
        if failed:
            raise failed[0]
        if gone:
            raise _core.CoreError("setup", "", _GONE if gone[0].code is not None else gone[0].said, "", False)
        return found

    def _kill(self) -> None:
        for worker in self._workers:
            worker.end()


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


class _LoadTask(Task):
    """A process that makes its share of the load: it answers with what its cycle does."""

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
        cycle = _core.Bench(target, **bench).cycle(load, seed, trace, opener)
        for question in _QUESTIONS:
            setattr(self, question, getattr(cycle, question))

    def close(self) -> None:
        """A client that waits for its server would keep the process."""
        os._exit(0)
