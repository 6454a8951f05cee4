"""The face of the Rust core: targets, steps and cycles. The only importer of ``dsbench._core``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dsbench import _core
from dsbench.spec import RunSpec

COUNTERS: Final = (
    "committed", "rolled_back", "failed", "retries", "unknown", "in_flight", "late_commits", "early_commits",
    "missed", "remote", "residence_ns", "response_ns", "failed_ns", "residence_min_ns", "residence_max_ns",
    "first_start_ns", "last_end_ns", "cpu_ns",
)  # fmt: skip
"""Columns of ``CycleResult.counters``, in the core's order; names as in the archive's table ``cycles``."""

TRACE_WORDS: Final = 5
"""64-bit words of a transaction in a trace file: started, ended, intended (signed, ns), thread, and in one
word retries (32 bits), kind (8), outcome (8)."""

UInts = NDArray[np.uint64]

_POLL_S: Final = 0.05


class CoreError(Exception):
    """An error of an engine, a workload or the loop. ``kind`` is dsbench's word, ``code`` the engine's own."""

    def __init__(self, kind: str, code: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code


class Stopped(Exception):
    """The user asked to stop; what was finished before is kept."""


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except _core.CoreError as error:
        raise CoreError(*error.args) from None


@dataclass(frozen=True)
class Dialect:
    """How an engine speaks SQL, and what it is."""

    name: str
    procedures: bool
    embedded: bool
    single_writer: bool
    keeps_data: bool


def workloads() -> list[str]:
    """Names of the workloads this core knows."""
    return _core.workloads()


def workload_settings(workload: str) -> list[str]:
    """Names of the settings of a workload; none for an unknown one."""
    return _core.workload_settings(workload)


def schemes() -> list[str]:
    """URL schemes this core knows."""
    return _core.schemes()


def now_ns() -> int:
    """Nanoseconds of the monotonic clock by which cycles start."""
    return _core.now_ns()


def measuring(repeats: int, wakes: int, pause_ns: int) -> dict[str, float]:
    """What measuring costs here: see ``measuring`` of the core, which names the values."""
    return _core.measuring(repeats, wakes, pause_ns)


NULL_SERVER: Final = """
import sys
from dsbench import _core
unix, tcp = _core.NullServer(sys.argv[1]), _core.NullServer(None)
print(tcp.port(), flush=True)
sys.stdin.read()
"""
"""A program: the null PostgreSQL at the unix socket of its argument and at the TCP port that it prints, until
its standard input ends. It is short because a process of its own should be there at once."""


class Target:
    """The database behind a URL: its place (what dsbench may create and drop) and queries."""

    def __init__(self, url: str) -> None:
        with _errors():
            self._core = _core.Target(url)
        self.dialect = Dialect(**self._core.dialect())

    def state(self) -> tuple[str, str]:
        """("absent" | "marked" | "foreign", text of the mark or name of what is there)."""
        with _errors():
            return self._core.state()

    def create(self, mark: str) -> None:
        """Creates the place with dsbench's mark."""
        with _errors():
            self._core.create(mark)

    def drop(self) -> None:
        """Drops the place; refused unless it carries the mark."""
        with _errors():
            self._core.drop()

    def size_bytes(self) -> int:
        """Size of the place in bytes."""
        with _errors():
            return self._core.size_bytes()

    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        """Rows of an administrative query, by column name, all text."""
        with _errors():
            columns, rows = self._core.fetch(sql)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def close(self) -> None:
        """Closes the administrative connection."""
        self._core.close()


@dataclass(frozen=True)
class Condition:
    """One condition of a check, with the numbers that were found."""

    name: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class StepResult:
    """What a step took, and the conditions where it was a check."""

    duration_ns: int
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class CycleResult:
    """What one cycle left on this node."""

    counters: UInts
    """Shape (threads, kinds, 18): the columns of ``COUNTERS``."""
    histograms: tuple[tuple[int, str, UInts], ...]
    """(kind, "residence" | "response", array of shape (buckets, 3): low_ns, high_ns, count)."""
    seconds: UInts
    """Shape (rows, 7): second, kind, count, failed, p50_ns, p99_ns, max_ns."""
    errors: tuple[tuple[int, str, str, int, str], ...]
    """(kind of transaction, kind of error, native code, count, example)."""
    sums: Mapping[str, int]
    failure: CoreError | None
    """What ended the cycle early."""
    cpu_ns: tuple[int, int] = (0, 0)
    """CPU time of all clients' threads: (user, system). The sum is exact, the kernel may only estimate its parts."""
    trace: Path | None = None
    """File of the trace, 40 bytes a transaction (see ``TRACE_WORDS``); ``None`` without a trace."""

    def total(self, counter: str) -> int:
        """Sum of one counter over threads and kinds."""
        return int(self.counters[:, :, COUNTERS.index(counter)].sum())

    def committed_in_database(self) -> list[int]:
        """Per kind: transactions the database holds, those that ended before and after the duration included."""
        columns = [COUNTERS.index(name) for name in ("committed", "early_commits", "late_commits")]
        return [int(n) for n in self.counters[:, :, columns].sum(axis=(0, 2))]


Watch = Callable[[int, int], None]
"""Called about twenty times a second while something runs: (done, total) or (committed, failed)."""


Counted = tuple[list[int], int, list[tuple[str, int]]]
"""Committed transactions per kind, commits of unknown end, the clients' sums by name."""

UNCOUNTED: Final = _core.UNCOUNTED
"""As the number of commits of unknown end: nobody knows how many there are."""


class Bench:
    """A workload at one scale on one target."""

    def __init__(
        self, target: Target, workload: str, scale: int, call: str | None, settings: Mapping[str, str] | None = None
    ) -> None:
        """``settings``: those of this workload alone, by name; ``CoreError`` of kind "configuration" for others."""
        with _errors():
            self._core = _core.Bench(target._core, workload, scale, call, dict(settings or {}))
        self.scale = scale
        self.kinds = self._core.kinds()
        self.rows = self._core.rows()
        self.call = self._core.call()

    def draws(self, seed: int, client: int, count: int) -> list[str]:
        """The inputs ``client`` draws for transactions 0..count, in words."""
        return _core.draws(self._core, seed, client, count)

    def step(self, name: str, watch: Watch) -> StepResult:
        """Runs "create", "primary_key", "foreign_key" or "clean"."""
        with _errors():
            return _wait(self._core.step(name), watch)

    def populate(self, by_procedure: bool, parts: int, watch: Watch) -> StepResult:
        """Writes all rows, in parallel parts unless by procedure."""
        with _errors():
            return _wait(self._core.populate(by_procedure, parts), watch)

    def check(self, counted: Counted | None, watch: Watch) -> StepResult:
        """Checks the workload's conditions against what the cycles counted; ``None``: within the database alone."""
        with _errors():
            return _wait(self._core.check(counted), watch)

    def cycle(self, spec: RunSpec, seed: int, trace: Path | None, first_client: int = 0, nodes: int = 1) -> Cycle:
        """Opens the connections of a cycle; it starts when ``Cycle.start`` says so."""
        terminals = self._terminals(spec, first_client, nodes)
        # A thread without a terminal has nothing to do.
        threads = spec.threads if terminals is None else max(min(spec.threads, len(terminals)), 1)
        options = {
            "threads": threads,
            "carriers": spec.carriers,
            "connections": spec.connections,
            "first_client": first_client if terminals is None else terminals.start,
            "terminals": None if terminals is None else len(terminals),
            "clients": spec.terminals_at(self.scale) or spec.threads * nodes,
            "ramp_up_ns": round(spec.ramp_up * 1e9),
            "duration_ns": round(spec.duration * 1e9),
            "patience_ns": 5_000_000_000,
            "isolation": spec.isolation,
            "prepare": spec.prepare,
            "retry": spec.retry,
            "reconnect": spec.reconnect,
            "rate": spec.rate,
            "arrival": spec.arrival,
            "seed": seed,
            "trace": trace,
        }
        with _errors():
            return Cycle(self._core.cycle(options), threads, len(self.kinds), trace)

    def _terminals(self, spec: RunSpec, first_client: int, nodes: int) -> range | None:
        """The terminals of the node whose first client would be ``first_client``, out of those of all nodes."""
        total = spec.terminals_at(self.scale)
        if total is None:
            return None
        node = first_client // spec.threads
        mine = range(node * total // nodes, (node + 1) * total // nodes)
        if not mine:
            raise CoreError("configuration", "", f"--terminals {total}: fewer than the {nodes} nodes that share them")
        return mine


def _wait(task: _core.Task, watch: Watch) -> StepResult:
    """Waits for a step. An interruption ends its statements before it goes on upwards."""
    try:
        while not task.finished():
            watch(*task.progress())
            time.sleep(_POLL_S)
    except BaseException:
        task.abandon()
        # The step was ended on purpose: its complaint about that is no news.
        with suppress(_core.CoreError):
            task.join()
        raise
    conditions, duration_ns = task.join()
    return StepResult(duration_ns, tuple(Condition(*c) for c in conditions))


class Cycle:
    """A cycle under way."""

    def __init__(self, core: _core.Cycle, threads: int, kinds: int, trace: Path | None) -> None:
        self._core = core
        self._threads = threads
        self._kinds = kinds
        self._trace = trace

    def connect(self, timeout_s: float, watch: Watch) -> None:
        """Waits until every client is connected. ``CoreError`` when one cannot, or the time is over."""
        give_up = time.monotonic() + timeout_s
        while (ready := self._core.ready()) < self._threads and not self._core.finished():
            watch(ready, self._threads)
            if time.monotonic() > give_up:
                words = f"{ready} of {self._threads} threads were connected after {timeout_s:.0f} s"
                raise CoreError("setup", "", words)
            time.sleep(0.005)

    def start(self, at_ns: int) -> None:
        """Starts all clients at ``at_ns``."""
        self._core.start(at_ns)

    def wait(self, until_ns: int, grace_s: float, watch: Watch) -> None:
        """Waits until all clients have ended; a server silent for ``grace_s`` after ``until_ns`` is given up."""
        give_up = until_ns + round(grace_s * 1e9)
        while not self._core.finished():
            watch(*self._core.totals())
            if now_ns() > give_up:
                self._core.abandon(f"the server did not answer for {grace_s:.0f} s after the end of the cycle")
            time.sleep(_POLL_S)

    @property
    def finished(self) -> bool:
        """True when every client has ended, in whatever way."""
        return self._core.finished()

    def abandon(self) -> None:
        """Ends everything that is under way."""
        self._core.abandon()

    def join(self) -> CycleResult:
        """Waits for the end and gives what the cycle left."""
        with _errors():
            raw = self._core.join()
        failure = raw["failure"]
        return CycleResult(
            counters=_words(raw["counters"], self._kinds * len(COUNTERS)).reshape(-1, self._kinds, len(COUNTERS)),
            histograms=tuple((kind, measure, _words(data, 3)) for kind, measure, data in raw["histograms"]),
            seconds=_words(raw["seconds"], 7),
            errors=tuple(raw["errors"]),
            sums=raw["sums"],
            failure=CoreError(*failure) if failure else None,
            cpu_ns=raw["cpu_ns"],
            trace=self._trace,
        )


def _words(data: bytes, width: int) -> UInts:
    return np.frombuffer(data, dtype="<u8").reshape(-1, width)


def build() -> dict[str, Any]:
    """What this core knows: for ``dsbench doctor`` and for archives."""
    return {"schemes": schemes(), "workloads": workloads()}


@dataclass(frozen=True)
class Case:
    """A case of the conformance suite and how it ended."""

    group: str
    name: str
    variant: str
    """Level of isolation, or way of sending statements; empty where there is but one."""
    outcome: str
    expected: str
    """What the product documents."""
    detail: str

    @property
    def passed(self) -> bool:
        """Whether it is as documented."""
        return self.outcome == self.expected


@dataclass(frozen=True)
class Family:
    """Products that document the same outcomes."""

    names: tuple[str, ...]
    title: str
    source: str


class Conformance:
    """The suite that every engine passes, on ``target``, where nothing of dsbench's may be yet."""

    def __init__(self, target: Target) -> None:
        with _errors():
            self._core = _core.Conformance(target._core)
            self.family, self.version = self._core.product()

    @property
    def left(self) -> int:
        """Number of cases that are left."""
        with _errors():
            return self._core.left()

    def cases(self) -> Iterator[Case]:
        """Runs one case at a time."""
        with _errors():
            while (found := self._core.next()) is not None:
                yield Case(*found)

    def lose_server(self, kill: Callable[[], None]) -> list[Case]:
        """Ends the suite with the cases in which ``kill`` kills the server."""
        with _errors():
            return [Case(*found) for found in self._core.lose_server(kill)]

    def close(self) -> None:
        """Drops what the suite made."""
        self._core.close()


def families() -> list[Family]:
    """Whose documentation the suite knows."""
    return [Family(tuple(names), title, source) for names, title, source in _core.families()]


def schedules() -> list[tuple[str, str]]:
    """The suite's schedules of two transactions: (name, what happens)."""
    return _core.schedules()
