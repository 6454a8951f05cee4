"""The client's own ceiling on this machine: what it reaches when the database costs nothing.

Two engines stand in for a database. The mock answers inside the process: what is left is the loop, the
workload's inputs and the recording. The null PostgreSQL answers at once over a socket: that adds the
system calls, and its own small cost, so that the ceiling is somewhat lower than the client alone has it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

from dsbench.children import Child
from dsbench.dataclass import dataclass
from dsbench.measure.beside import NullPostgresql
from dsbench.measure.loaders import (
    GRACE_S,
    Bench,
    CoreError,
    TargetDatabase,
    Watch,
    connecting_s,
    measuring,
    now_ns,
)
from dsbench.measure.rows import longest_ns
from dsbench.servers.folder import Folder
from dsbench.spec import RunSpec, Target

MOCK: Final = "mock engine"
NULL: Final = "null PostgreSQL"

_MOST_CLIENTS: Final = 64
"""More clients than that reach no other rate on the way to a server that answers at once."""
_REPEATS: Final = 100_000
_PAUSE_NS: Final = 1_000_000
_STARVED: Final = "only CPU time limits this measurement: stop other programs, or use fewer --clients"


@dataclass(frozen=True)
class MeasuredCeiling:
    """What the client reached against an engine that costs nothing."""

    against: str
    transport: str
    """Empty for the mock, which has none."""
    clients: int
    rate_tps: float
    """Transactions per second of all clients together."""
    user_ns: float
    """CPU time of the clients' threads outside of the kernel, per transaction."""
    system_ns: float
    """CPU time of the clients' threads inside the kernel, per transaction."""


@dataclass(frozen=True)
class Calibration:
    """What a client costs here, for one workload called in one way."""

    workload: str
    call: str
    prepare: bool
    cpus: int
    measuring: dict[str, float]
    """Clock, recording and wake-ups: see ``generator.measuring``."""
    ceilings: tuple[MeasuredCeiling, ...]
    ceiling_tps: float
    """The rate of the last of them, which is the nearest to a run with these settings."""
    left_out: tuple[str, ...] = ()
    """What could not be measured, and why."""

    def described(self) -> dict[str, Any]:
        return asdict(self)


def calibrate(spec: RunSpec, watch: Watch, wakes: int = 200) -> Calibration:
    """All ceilings for the workload of ``spec``, each over its duration, with one client and with its clients."""
    cpus = psutil.cpu_count() or 1
    ceilings = [_mock(spec, n, watch) for n in sorted({1, min(spec.clients, cpus)})]
    call, left_out = spec.call or "statements", list[str]()
    found = measuring(_REPEATS, wakes, _PAUSE_NS)
    with null_postgresql() as urls:
        for transport, url in urls.items():
            for clients in sorted({1, spec.clients}):
                try:
                    ceilings.append(_null(spec, transport, url, clients, watch))
                except CoreError as error:
                    left_out.append(f"{transport}: {error}")
    reached = ceilings[-1].rate_tps
    return Calibration(spec.workload, call, spec.prepare, cpus, found, tuple(ceilings), reached, tuple(left_out))


def of_run(spec: RunSpec, engine: str, url: str, call: str, watch: Watch) -> Calibration:
    """The ceilings that concern a run: its workload, calls, transport and numbers of clients, half a second for each.

    The last is that of the largest number.
    """
    cpus = psutil.cpu_count() or 1
    numbers = sorted({min(clients, _MOST_CLIENTS) for clients in spec.client_numbers})
    ceilings = [_mock(_for(spec, 0.1), n, watch) for n in sorted({1, *(min(clients, cpus) for clients in numbers)})]
    if engine == "postgres":
        with null_postgresql() as urls:
            transport = _transport(url)
            short = _for(spec.model_copy(update={"call": call}), 0.25)
            with suppress(CoreError):  # Without it, the ceiling is that of the mock.
                ceilings += [_null(short, transport, urls[transport], clients, watch) for clients in numbers]
    found = measuring(_REPEATS // 10, 50, _PAUSE_NS)
    return Calibration(spec.workload, call, spec.prepare, cpus, found, tuple(ceilings), ceilings[-1].rate_tps)


def _for(spec: RunSpec, duration_s: float) -> RunSpec:
    """``spec`` as a closed loop of ``duration_s`` with one connection for each client."""
    closed = {"rate": None, "load": "", "pace": "none", "terminals": None, "ramp_up": 0.0}
    return spec.model_copy(update={"duration": duration_s, "trace": False, "connections": 1, **closed})


def _mock(spec: RunSpec, clients: int, watch: Watch) -> MeasuredCeiling:
    target = TargetDatabase("mock:")
    target.create("calibration")
    # The mock has no procedures: its transactions are statements.
    return _ceiling(target, spec.model_copy(update={"call": None}), MOCK, "", clients, watch)


def _null(spec: RunSpec, transport: str, url: str, clients: int, watch: Watch) -> MeasuredCeiling:
    return _ceiling(TargetDatabase(url), spec, NULL, transport, clients, watch)


def _ceiling(
    target: TargetDatabase, spec: RunSpec, against: str, transport: str, clients: int, watch: Watch
) -> MeasuredCeiling:
    spec = spec.at(clients)
    bench = Bench(target, spec.workload, spec.scales[0], spec.call, spec.workload_settings, spec.all_clients)
    cycle = bench.cycle(spec, seed=1, trace=None, by_time=True)
    try:
        cycle.connect(connecting_s(clients), watch)
        start = now_ns() + 5_000_000 + clients * 50_000
        cycle.start(start)
        cycle.wait(start, GRACE_S, watch)
    except BaseException:
        cycle.abandon()
        cycle.join()
        raise
    result = cycle.join()
    if (failure := result.failure) is not None:
        remedy = _STARVED if failure.kind == "disconnected" else failure.remedy
        raise CoreError(failure.kind, failure.code, f"{against}, {clients} clients: {failure}", remedy, failure.by_user)
    if result.total("failed"):
        # An engine that only plays a database may not know the answers that a workload insists on.
        raise CoreError("setup", "", f"{against}: it does not support the workload {spec.workload}")
    committed = max(result.total("committed"), 1)
    user_ns, system_ns = (ns / committed for ns in result.cpu_ns)
    # A load that ends by count has no demanded duration.
    seconds = longest_ns(cycle.load, result) / 1e9
    return MeasuredCeiling(against, transport, clients, committed / max(seconds, 1e-9), user_ns, system_ns)


def _transport(url: str) -> str:
    """How the server at ``url`` is reached. Without a host it is the usual unix socket, as libpq has it."""
    host = Target(url=url).host
    return TCP if host and not host.startswith("/") else UNIX


def lines(found: Calibration) -> Iterator[str]:
    """The calibration as a short table in plain words."""
    how = "prepared once" if found.prepare else "parsed for each execution"
    yield f"The client's own ceiling: workload {found.workload}, {found.call}, {how}; {found.cpus} CPUs"
    yield ""
    yield f"{'against':<30}{'clients':>8}{'tps':>12}{'tps/client':>12}{'CPU µs/transaction (user + system)':>38}"
    for c in found.ceilings:
        name = f"{c.against}, {c.transport}" if c.transport else c.against
        user, system = c.user_ns / 1e3, c.system_ns / 1e3
        cpu = f"{user + system:.2f} ({user:.2f} + {system:.2f})"
        yield f"{name:<30}{c.clients:>8}{c.rate_tps:>12,.0f}{c.rate_tps / c.clients:>12,.0f}{cpu:>38}"
    yield from (f"left out, {why}" for why in found.left_out)
    cost = found.measuring
    yield ""
    yield f"reading the clock           {cost['read_ns']:.0f} ns, resolution {cost['resolution_ns']:.0f} ns"
    yield f"recording a transaction     {cost['recording_ns']:.0f} ns"
    late = [f"{cost[f'late_{name}_ns'] / 1e3:.0f}" for name in ("p50", "p99", "max")]
    yield f"timer wake-ups are late by  {late[0]} µs (median), {late[1]} µs (99%), {late[2]} µs (longest)"


UNIX, TCP = "unix socket", "TCP"


@contextmanager
def null_postgresql() -> Iterator[dict[str, str]]:
    """Transport (``UNIX`` or ``TCP``, on this machine) to the URL by which the server is reached.

    ``ChildError`` when it cannot be started. It ends with the block, and with this process in any case.
    """
    with ExitStack() as ending:
        # Marked, so that a later run removes it where this program is killed.
        home = Folder.create(Path(tempfile.gettempdir()).resolve(), "null")
        ending.callback(home.remove)
        server = ending.enter_context(Child(NullPostgresql, "the null server"))
        server.ask("listen", str(home.path / ".s.PGSQL.5432"))
        port = server.answer()
        yield {
            UNIX: f"postgresql://null@/null?host={home.path}&port=5432",
            TCP: f"postgresql://null@127.0.0.1:{port}/null?sslmode=disable",
        }
