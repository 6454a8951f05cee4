"""What a node does in a turn: its part of a cycle's load, and what it says of itself before the first."""

from __future__ import annotations

import contextlib
import json
import platform
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, Protocol

from dsbench.analysis.machine import Used, noticed
from dsbench.cluster.clock import FEW, PINGS, Estimate
from dsbench.cluster.errors import LONGEST_WHY
from dsbench.cluster.lease import Lease
from dsbench.cluster.outcome import MISSED, Course, encode
from dsbench.columns import COUNTERS
from dsbench.generator import Bench, Cycle, CycleResult, Target, now_ns
from dsbench.monitors import SERVER, Known, Look, Sampler, beside, between, look, monitors_for
from dsbench.spec import RunSpec
from dsbench.spec.trust import loads_library

_SOONEST_NS: Final = 3_000_000
"""A start nearer than that cannot be handed to all threads in time."""
_GRACE_S: Final = 20.0
"""How long a transaction may outlast its cycle: less than the coordinator waits for the node."""

Describe = Callable[[RunSpec, Target, str], Mapping[str, Any]]
"""What a node says of itself, its ceiling included: (specification, target, URL) to JSON values."""


class Interrupted(Exception):
    """The node must not go on: it was told so, or its lease ran out."""


class Answers(Protocol):
    """What the node may ask of the coordinator."""

    def ask(self, operation: str, **message: Any) -> Any:
        """The answer to one operation."""

    def tell(self, operation: str, **message: Any) -> None:
        """Sends what does not depend on whether the load may go on."""

    def carry(self, key: str, data: bytes) -> None:
        """Brings the result of the turn ``key``. Raises ``OSError``."""

    def clocks(self, pings: int) -> Estimate:
        """How far the clocks are apart now."""


class Node:
    """This machine as a source of load. It outlives its connections to the coordinator."""

    def __init__(self, describe: Describe) -> None:
        self.lease = Lease(1.0)
        self.totals = (0, 0, 0)
        """Clients connected, transactions committed and failed of the cycle under way: what beats tell."""
        self.outbox: dict[str, bytes] = {}
        """Results that nobody has acknowledged, by turn."""
        self.goodbye = ""
        self.key = ""
        """The turn under way; empty between turns."""
        self._describe = describe
        self._wish = ""
        self._busy = threading.Lock()

    def stop(self, why: str, key: str | None = None) -> None:
        """Ends the load under way, if it is that of the turn ``key``; ``None``: whatever it is, if any."""
        if key is None or key == self.key:
            self._wish = self._wish or why

    def dismiss(self, goodbye: str) -> None:
        """The coordinator needs this node no more."""
        self.goodbye = goodbye

    def check(self) -> None:
        """Raises ``Interrupted`` when the load must end."""
        if self._wish:
            raise Interrupted(self._wish)
        if self.lease.expired:
            raise Interrupted("no word from the coordinator: the lease ran out")

    def take_part(self, link: Answers, key: str) -> None:
        """This node's part of the turn ``key``; whatever comes of it is told to the coordinator."""
        with self._busy:
            self._wish, self.totals, self.key = "", (0, 0, 0), key
            try:
                self._take_part(link, key)
            finally:
                self.key = ""

    def _take_part(self, link: Answers, key: str) -> None:
        try:
            order = link.ask("order", key=key)
            if order is None:
                return  # The turn went on without this node.
            work = self._prepare if order["kind"] == "prepare" else self._load
            data = work(link, key, order)
        except Interrupted:
            return
        except Exception as error:  # whatever it is, the coordinator need not wait for this node
            with contextlib.suppress(OSError):
                link.tell("failed", key=key, why=f"{type(error).__name__}: {error}"[:LONGEST_WHY])
            return
        self.outbox[key] = data
        with contextlib.suppress(OSError):  # It stays in the outbox for the next connection.
            link.carry(key, data)
            self.outbox.pop(key, None)

    def _prepare(self, _link: Answers, _key: str, order: Mapping[str, Any]) -> bytes:
        """What the coordinator wants to know before it relies on this node: above all, that it reaches the database."""
        spec, watched = _spec(order), _Watched(order.get("beside", {}))
        if loads_library(order["url"]):
            words = "a node loads no library that another machine names: leave client_library out of TARGET"
            return json.dumps({"failure": words}).encode()
        target = Target(order["url"], existing=spec.existing)
        try:
            target.state()
            watched.begin()
            said = {"failure": "", **self._describe(spec, target, order["url"])}
            watched.end()
            said["noticed"] = [words for words, _ in noticed(watched.used, {})] if watched.used else []
        except Exception as error:  # whatever it is, the coordinator has to hear of it
            said = {"failure": str(error)}
        finally:
            target.close()
        return json.dumps(said).encode()

    def _load(self, link: Answers, key: str, order: Mapping[str, Any]) -> bytes:
        spec = _spec(order)
        if loads_library(order["url"]):
            raise Interrupted("TARGET names a library")
        target = Target(order["url"], existing=spec.existing)
        if not (target.dialect.keeps_data or spec.existing) and target.state()[0] == "absent":
            target.create("node")  # The mock lives in each process for itself.
        bench = Bench(
            target, spec.workload, order["scale"], spec.call, spec.workload_settings, spec.clients,
            existing=spec.existing,
        )  # fmt: skip
        cycle = bench.cycle(
            spec, order["seed"], None, stage=order["stage"], node=order["number"], nodes=order["nodes"]
        )
        sampler = Sampler(monitors_for("", None, None, clients=lambda: cycle.pids), now_ns)
        watched = _Watched(order.get("beside", {}))
        try:
            course = self._run(link, key, spec, cycle, sampler, watched)
        except Exception as error:  # what was committed until now is in the database, and has to be told
            cycle.abandon()
            course = Course(str(error))
        samples = sampler.stop()
        result = cycle.join()
        return encode(result, _settled(course, result, spec), samples, watched.used)

    def _run(
        self, link: Answers, key: str, spec: RunSpec, cycle: Cycle, sampler: Sampler, watched: _Watched
    ) -> Course:
        cycle.connect(30 + cycle.load.threads * spec.connections * 0.2, self._seen(connecting=True))
        if cycle.finished:
            raise Interrupted("its clients could not connect")
        sampler.first()
        watched.begin()
        before = link.clocks(PINGS)
        start_ns = link.ask("ready", key=key, offset_ns=before.offset_ns, error_ns=before.error_ns)
        if start_ns is None:
            raise Interrupted("the cycle was given up before its start")
        start = before.here(start_ns)
        begin = start - round(spec.ramp_up * 1e9)
        left = begin - now_ns()
        go = left > _SOONEST_NS and link.ask("armed", key=key, left_ns=left)
        if not go or begin - now_ns() < _SOONEST_NS:
            raise Interrupted(MISSED)
        sampler.go(start, round(spec.ramp_up * 1e9), cycle.load.duration_ns)
        cycle.start(start)
        cycle.wait(start, _GRACE_S, self._seen(connecting=False))
        watched.end()
        after = link.clocks(FEW)
        drift_ns = after.offset_ns - before.offset_ns
        return Course("complete", before.offset_ns, before.error_ns, drift_ns, left, still_ns=cycle.still_ns)

    def _seen(self, *, connecting: bool) -> Callable[[int, int], None]:
        def seen(done: int, other: int) -> None:
            self.totals = (done, 0, 0) if connecting else (self.totals[0], done, other)
            self.check()

        return seen


class _Watched:
    """What this machine does beside a cycle. ``beside`` says which processes on the coordinator's machine, if this is
    it, are no other programs: the coordinator, its server and the other nodes."""

    def __init__(self, beside_: Mapping[str, Any]) -> None:
        roots = dict(beside_.get("roots", ())) if beside_.get("host") == platform.node() else {}
        # Without the server's process here it may still run here, where it cannot be seen.
        self._known = Known({**roots, **beside()}, server=SERVER in roots.values())
        self._before: Look | None = None
        self.used: Used | None = None

    def begin(self) -> None:
        """The cycle is about to start."""
        self._before = look(self._known)

    def end(self) -> None:
        """The cycle has ended."""
        after = look(self._known)
        self.used = between(self._before, after, self._known) if self._before and after else None


def _spec(order: Mapping[str, Any]) -> RunSpec:
    return RunSpec.model_validate({**order["spec"], "target": {"url": order["url"]}})


def _settled(course: Course, result: CycleResult, spec: RunSpec) -> Course:
    """``course`` with what only the result tells: a failure, and how late the first transaction started."""
    if result.failure is not None:
        return Course(f"the database: {result.failure}")
    if spec.rate is not None or spec.pace != "none":  # Their starts are due later: that is no delay.
        return course
    counted = result.counters[:, :, COUNTERS.index("last_end_ns")] > 0
    starts = result.counters[:, :, COUNTERS.index("first_start_ns")][counted]
    return replace(course, start_late_ns=int(starts.min())) if starts.size else course
