"""What a node does: its part of a cycle's load. Its one object is a Dask actor, whose methods the coordinator calls.

No import of Dask: this runs in any worker that has dsbench.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import field, replace
from importlib.metadata import version
from typing import Any, Final

import psutil
from pydantic import BaseModel, Field

from dsbench import release
from dsbench.archive.columns import COUNTERS
from dsbench.dataclass import dataclass
from dsbench.measure import calibration
from dsbench.measure.loaders import Bench, CoreError, Cycle, CycleResult, TargetDatabase, connecting_s, now_ns
from dsbench.measure.loaders.results import MISSED, NodeCourse
from dsbench.measure.monitors import (
    SERVER,
    Known,
    MachineSnapshot,
    Sampler,
    beside,
    between,
    look,
    monitors_for,
    system,
)
from dsbench.measure.nodes import LONGEST_WHY
from dsbench.measure.nodes.outcome import encode
from dsbench.measure.nodes.rules import Lease
from dsbench.measure.stack import machine
from dsbench.spec import RunSpec
from dsbench.spec.trust import loads_library
from dsbench.stats.machine import Used, noticed

_SOONEST_NS: Final = 3_000_000  # A start nearer than that cannot be handed to all clients in time
_CONNECTING_S: Final = 5.0  # How much longer than its patience a client may take for its last try
_GRACE_S: Final = 20.0  # How long a transaction may outlast its cycle: less than the coordinator waits for the node
_SLICE_S: Final = 0.02  # How long a load that waits for its start leaves the lease unwatched

class Interrupted(Exception):
    """The node must not go on: it was told so, or its lease ran out."""


@dataclass
class _Share:
    """The turn under way."""

    key: str
    ready: Future[None] = field(default_factory=Future)  # Its clients are connected
    done: Future[bytes] = field(default_factory=Future)
    wish: str = ""  # Why the load is to end; empty while it is not
    totals: tuple[int, int, int] = (0, 0, 0)  # Clients connected, transactions committed and failed
    start_ns: int = 0  # The common start by this machine's clock
    go: threading.Event = field(default_factory=threading.Event)


class Node:
    """This machine as a source of load. It outlives its connections to the coordinator."""

    def __init__(self) -> None:
        self.name, self.goodbye, self.refused = "", "", ""
        self.lease = Lease(0.0)
        self.results: dict[str, bytes] = {}  # That nobody has acknowledged, by turn
        self.heard: Callable[[str], None] = lambda _what: None
        self._run = ""
        self._sent: dict[int, float] = {}
        self._share = _Share("")
        self._busy = threading.Lock()

    # What the coordinator calls, on the worker's event loop.

    async def enrol(self, run: str, lease_s: float) -> dict[str, Any]:
        """Takes part in ``run``; what this machine is, and of which turns it has results."""
        if self._run not in ("", run) and not self.lease.expired:
            return {"busy": True}
        if self._run != run:
            self.stop("another run began")
            self.results.clear()
        self._run, self.lease = run, Lease(lease_s)
        self._sent = {0: self.lease.clock()}
        self.heard("enrolled")
        return {
            "busy": False, "name": self.name, "host": platform.node()[:300], "system": platform.platform()[:300],
            "pid": os.getpid(), "cpus": psutil.cpu_count() or 1,
            "results": list(dict.fromkeys([*self.results, *([self._share.key] if self.working else [])])),
            "versions": {"dsbench": release.VERSION, "distributed": version("distributed")},
        }  # fmt: skip

    async def clock(self) -> int:
        """What time is it here?"""
        return now_ns()

    async def beat(self, heard: int) -> tuple[str, int, int, int]:
        """A sign of life, after the answer with the number ``heard`` has come; the turn, and how far the load is."""
        self.lease.renew(self._sent.get(heard, 0.0))
        self._sent = {heard: self._sent.get(heard, 0.0), heard + 1: self.lease.clock()}
        return (self._share.key, *self._share.totals)

    async def begin(self, key: str, order: Mapping[str, Any]) -> None:
        """Begins with the turn ``key``. A thread for each: one that is still in an earlier turn is waited for there."""
        self.stop("the next task began")
        self._share = share = _Share(key)
        threading.Thread(target=self._take_part, args=(share, order), name="dsbench-load", daemon=True).start()

    async def ready(self, key: str) -> None:
        """Waits until all clients of the turn are connected. Raises what went wrong."""
        await asyncio.shield(asyncio.wrap_future(self._of(key).ready))

    async def arm(self, key: str, start_ns: int, ramp_up_ns: int) -> int:
        """Nanoseconds until the load begins for a start at ``start_ns`` here; 0 when that is too soon."""
        share, left = self._of(key), start_ns - ramp_up_ns - now_ns()
        share.start_ns = start_ns
        return left if left > _SOONEST_NS else 0

    async def go(self, key: str) -> None:
        """The coordinator counts on this node: it may begin."""
        self._of(key).go.set()

    async def result(self, key: str) -> bytes:
        """The result of a turn, once it is over. It stays here until the coordinator forgets it."""
        if key not in self.results:
            await asyncio.shield(asyncio.wrap_future(self._of(key).done))
        return self.results[key]

    async def forget(self, key: str) -> None:
        self.results.pop(key, None)

    async def end(self, key: str, why: str) -> None:
        """Ends the turn ``key`` before its time."""
        if self._share.key == key:
            self.stop(why)

    async def dismiss(self, goodbye: str, refused: str = "") -> None:
        """The coordinator needs this node no more, or does not want it."""
        self.stop(goodbye or refused)
        self._run, self.goodbye, self.refused = "", goodbye, refused
        self.heard("dismissed")

    def _of(self, key: str) -> _Share:
        if self._share.key != key:
            raise Interrupted("another task has begun")
        return self._share

    # This process.

    def stop(self, why: str) -> None:
        """Ends the load under way, if there is any."""
        self._share.wish = self._share.wish or why

    @property
    def working(self) -> bool:
        """Whether a part of a turn is still under way."""
        return self._busy.locked()

    # The thread of the load.

    def _check(self, share: _Share) -> None:
        if share.wish:
            raise Interrupted(share.wish)
        if self.lease.expired:
            raise Interrupted("no message from the coordinator: the lease expired")

    def _take_part(self, share: _Share, order: Mapping[str, Any]) -> None:
        with self._busy:
            try:
                self._check(share)
                data = (self._prepare if order["kind"] == "prepare" else self._load)(share, order)
            except Exception as error:  # whatever it is, the coordinator need not wait for this node
                words = str(error) if isinstance(error, Interrupted) else f"{type(error).__name__}: {error}"
                for future in (share.ready, share.done):
                    if not future.done():
                        future.set_exception(Interrupted(words[:LONGEST_WHY]))
                return
            self.results[share.key] = data
            if not share.ready.done():
                share.ready.set_result(None)
            share.done.set_result(data)

    def _prepare(self, _share: _Share, order: Mapping[str, Any]) -> bytes:
        """What the coordinator wants to know before it relies on this node: above all, that it reaches the database."""
        spec, known = _spec(order), _known(order)
        target = TargetDatabase(order["url"], existing=spec.existing, reads=order["reads"])
        try:
            target.state()
            if target.reading is not None:
                target.reading.state()
            before = look(known)
            said = {"failure": "", **_describe(spec, target, order["url"])}
            used = _used(before, known)
            said["noticed"] = [words for words, _ in noticed(used, {})] if used else []
        except Exception as error:  # whatever it is, the coordinator has to hear of it
            said = {"failure": str(error)}
        finally:
            target.close()
        return json.dumps(said).encode()

    def _load(self, share: _Share, order: Mapping[str, Any]) -> bytes:
        spec = _spec(order)
        target = TargetDatabase(order["url"], existing=spec.existing, reads=order["reads"])
        if not (target.dialect.keeps_data or spec.existing) and target.state()[0] == "absent":
            target.create("node")  # The mock lives in each process for itself.
        bench = Bench(
            target, spec.workload, order["scale"], spec.call, spec.workload_settings, spec.all_clients,
            existing=spec.existing,
        )  # fmt: skip
        cycle = bench.cycle(
            spec, order["seed"], None, stage=order["stage"], node=order["number"], nodes=order["nodes"]
        )
        sampler = Sampler(monitors_for("", (), None, clients=lambda: cycle.pids), now_ns)
        try:
            course, used = self._run_cycle(share, spec, cycle, sampler, _known(order))
        except Exception as error:  # what was committed until now is in the database, and has to be told
            cycle.abandon()
            course, used = NodeCourse(str(error)), None
        samples = sampler.stop()
        result = cycle.join()
        return encode(result, _settled(course, result, spec), samples, used)

    def _run_cycle(
        self, share: _Share, spec: RunSpec, cycle: Cycle, sampler: Sampler, known: Known
    ) -> tuple[NodeCourse, Used | None]:
        def seen(done: int, other: int) -> None:
            share.totals = (share.totals[0], done, other) if share.go.is_set() else (done, 0, 0)
            self._check(share)

        cycle.connect(connecting_s(cycle.load.clients * spec.connections), seen)
        if cycle.finished:
            raise Interrupted("its clients could not connect")
        sampler.first()
        before = look(known)
        share.ready.set_result(None)
        while not share.go.wait(_SLICE_S):
            self._check(share)
        ramp_up_ns = round(spec.ramp_up * 1e9)
        if share.start_ns - ramp_up_ns - now_ns() < _SOONEST_NS:
            raise Interrupted(MISSED)
        sampler.go(share.start_ns, ramp_up_ns, cycle.load.duration_ns)
        cycle.start(share.start_ns)
        grace_s = max(_GRACE_S, spec.patience_s + _CONNECTING_S) if spec.event else _GRACE_S
        cycle.wait(share.start_ns, grace_s, seen)
        used = _used(before, known)
        return NodeCourse("complete", paused_ns=cycle.paused_ns), used


_HERE: Final = Node()


def here() -> Node:
    """The node that this process is, as a Dask actor."""
    return _HERE


def _describe(spec: RunSpec, target: TargetDatabase, url: str) -> Mapping[str, Any]:
    """What this machine is, and its ceiling for the load of ``spec``."""
    call = Bench(target, spec.workload, spec.scales[0], spec.call).call
    try:
        found = calibration.of_run(spec, target.dialect.name, url, call, lambda _done, _total: None).described()
    except (CoreError, OSError) as error:
        found = {"problem": str(error)}
    return {"calibration": found, "core": machine.describe_core(None), "network": system.identity()}


def _known(order: Mapping[str, Any]) -> Known:
    """What is no other program here: on the coordinator's machine that, its server and the other nodes as well."""
    roots = dict(order["beside"]["roots"]) if order["beside"]["host"] == platform.node() else {}
    # Without the server's process here it may still run here, where it cannot be seen.
    return Known({**roots, **beside()}, server=SERVER in roots.values())


def _used(before: MachineSnapshot | None, known: Known) -> Used | None:
    """What this machine did since ``before``."""
    after = look(known)
    return between(before, after, known) if before and after else None


class _Own(BaseModel, strict=True, extra="forbid"):
    """What a cycle of a search has of its own: no run may ask for it beside what it searches."""

    rate: float | None = Field(None, gt=0, le=1e7)
    duration: float = Field(1.0, gt=0, le=1e6)
    # They fit to the server of the coordinator, of which a node knows the address alone.
    event: str = Field("", max_length=20_000)
    reads: str = Field("", max_length=1000)


def _spec(order: Mapping[str, Any]) -> RunSpec:
    if loads_library(order["url"]) or loads_library(order["reads"]):
        raise Interrupted("nodes do not load libraries specified by another machine: omit client_library in TARGET")
    asked = RunSpec.model_validate({**order["spec"], "target": {"url": order["url"]}})
    return asked.model_copy(update=_Own.model_validate(order["own"]).model_dump(exclude_unset=True))


def _settled(course: NodeCourse, result: CycleResult, spec: RunSpec) -> NodeCourse:
    """``course`` with what only the result tells: a failure, and how late the first transaction started."""
    if result.failure is not None:
        return NodeCourse(f"the database: {result.failure}")
    if spec.rate is not None or spec.load or spec.pace != "none":  # Their starts are due later: that is no delay.
        return course
    counted = result.counters[:, :, COUNTERS.index("last_end_ns")] > 0
    starts = result.counters[:, :, COUNTERS.index("first_start_ns")][counted]
    return replace(course, start_late_ns=int(starts.min())) if starts.size else course
