"""Isolation: clients append to lists and read them under load, and what they saw is searched for anomalies.

The search is ``crates/histories``. What a level forbids is what the product documents of it.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from textwrap import wrap
from typing import Final

from dsbench import servers
from dsbench.check.durable import described
from dsbench.dataclass import dataclass
from dsbench.measure.loaders import Anomaly, CoreError, Histories, Judged, TargetDatabase, anomalies
from dsbench.measure.reading import url_for_reads
from dsbench.servers import Server, ServerError
from dsbench.servers.replication import Replicated
from dsbench.servers.server import OwnProcess
from dsbench.spec import ISOLATIONS, SpecError, Target
from dsbench.spec.outages import refuse_reads

CLIENTS: Final = 8
TRANSACTIONS: Final = 20_000
EVENTS: Final = ("restart", "kill", "switchover", "failover")
"""What may happen to the server when half of the transactions are committed."""
_SLICE_S: Final = 1.0
_SOON_S: Final = 0.1
"""The same before the event."""
_PATIENCE_S: Final = 30.0

_DIVIDED: Final = ("G-single", "G-nonadjacent")
"""Which of them a cycle is may be left open."""
_CYCLES: Final = ("G-single", "G-nonadjacent", "G2-item")
_ALLOWS: Final[dict[str, tuple[str, ...]]] = {
    "read committed": _CYCLES, "snapshot isolation": ("G2-item",), "serializable": (),
}  # fmt: skip
"""Anomalies that a guarantee lets happen. Adya, "Weak Consistency" (1999), chapter 3; Cerone and Gotsman, JACM 65
(2018)."""
_DOCUMENTED: Final = ("read committed", "snapshot isolation", "serializable")
_SNAPSHOTS: Final = "SHOW GLOBAL VARIABLES LIKE 'innodb_snapshot_isolation'"

Watch = Callable[[int, int], None]
"""Called now and then: committed transactions, those asked for. Raises ``Stopped``."""


@dataclass(frozen=True)
class IsolationCheck:
    """What was found at one level."""

    level: str
    clients: int
    version: str
    """Product and version, as the database says it."""
    guarantee: str
    """What the product documents of the level, of ``_ALLOWS``."""
    reads_elsewhere: bool
    """Whether half of the transactions read from another server; stale reads are no fault then."""
    event: str
    """What happened to the server, of ``EVENTS``; empty where nothing did."""
    found: Judged

    @property
    def words(self) -> str:
        """``repeatable read (snapshot isolation)``: the level, and what is documented of it where that is another."""
        level = self.level.replace("-", " ")
        return level if self.guarantee == level else f"{level} ({self.guarantee})"

    @property
    def forbidden(self) -> list[Anomaly]:
        """Those that the level forbids."""
        allowed = _ALLOWS[self.guarantee]
        found = [one for one in self.found.anomalies if one.name not in allowed]
        if self.found.undivided and _DIVIDED[0] not in allowed and not {one.name for one in found} & set(_DIVIDED):
            found.append(Anomaly(_DIVIDED[0], self.found.undivided, ""))
        return found

    @property
    def absent(self) -> list[str]:
        """Names of those that the level forbids and that did not occur."""
        occurred = {one.name for one in self.found.anomalies} | set(_DIVIDED if self.found.undivided else ())
        return [name for name in anomalies() if name not in occurred and name not in _ALLOWS[self.guarantee]]

    @property
    def is_stale(self) -> bool:
        """Whether reads of the server that took the writes missed some that it had acknowledged."""
        return bool(self.found.stale.reads) and not self.reads_elsewhere

    @property
    def holds(self) -> bool:
        """Whether nothing was found that the level forbids."""
        return not self.forbidden and not self.is_stale


def isolation(
    target: Target, level: str, *, clients: int, transactions: int, reads: str, event: str, watch: Watch
) -> IsolationCheck:
    """Has ``clients`` commit so many ``transactions`` at ``level`` and judges what they saw.

    ``reads`` is where half of the transactions read, as in ``--reads`` of a run; empty for the target. ``event`` of
    ``EVENTS`` happens when half of them are committed. Raises
    ``SpecError`` for what cannot be asked of the target, ``ServerError`` and ``CoreError`` where it cannot be worked
    with; what the check made is removed in every case.
    """
    if reads and level == "serializable" and (target.private or target.scheme).startswith("postgres"):
        raise SpecError("--reads", "standbys have no serializable transactions", "use --isolation repeatable-read")
    if reads:
        refuse_reads(target, reads, hands_over=event in ("switchover", "failover"))
    if target.private is not None:
        servers.clean_for(target)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(servers.start(target, 2 * clients + 4)) if target.private else None
        happens = _event(server, event) if event else None
        url = server.url if server is not None else target.url
        place = stack.enter_context(contextlib.closing(TargetDatabase(url)))
        if not place.dialect.keeps_data:
            raise SpecError("TARGET", "the engine keeps no data", "name a database")
        elsewhere = url_for_reads(target, server, reads, moves=bool(event)) if reads else ""
        other = stack.enter_context(contextlib.closing(TargetDatabase(elsewhere))) if elsewhere else None
        histories = Histories(
            place, other, level, clients=clients, transactions=transactions, patience_s=_PATIENCE_S,
            seed=secrets.randbits(63),
        )  # fmt: skip
        stack.push(lambda *_: histories.interrupt())
        version, _ = described(target, url)
        # No product says in which order commits are seen on several servers.
        guarantee = _guarantee(place, level) if other is None else "read committed"
        try:
            for done in _played(histories, transactions, happens):
                watch(min(done, transactions), transactions)
            found = histories.judge()
            histories.close()
        except CoreError:
            if not event and isinstance(server, OwnProcess) and not server.is_running:
                tail = "\n".join(server.log_tail(10))
                remedy = "check the free memory and the system's log here, then repeat the check"
                raise ServerError(f"{server.version} ended:\n{tail}", remedy) from None
            raise
        return IsolationCheck(level, clients, version, guarantee, other is not None, event, found)


def _event(server: Server | None, event: str) -> Callable[[], None]:
    if not isinstance(server, OwnProcess):
        problem = "dsbench did not start this server, or it has no process of its own"
        raise SpecError("--event", problem, "use a server such as private:postgresql")
    if event in ("restart", "kill"):
        return lambda: server.start_again(kill=event == "kill", within_s=_PATIENCE_S)
    if not isinstance(server, Replicated):
        remedy = "write private:postgresql?standbys=1 or private:mariadb?replicas=1"
        raise SpecError("--event", "the server has no standby", remedy)
    return server.fail_over if event == "failover" else server.switch_over


class _Beside(threading.Thread):
    """Something that happens to the server while clients go on."""

    def __init__(self, happens: Callable[[], None]) -> None:
        super().__init__(name="dsbench-event", daemon=True)
        self._happens = happens
        self.error: Exception | None = None

    def run(self) -> None:
        try:
            self._happens()
        except Exception as error:  # told by the thread of the check
            self.error = error


def _played(histories: Histories, transactions: int, happens: Callable[[], None] | None) -> Iterator[int]:
    """How many transactions are committed, now and then, until all are; ``happens`` is called once beside the middle of
    them. Raises what it raises, and ``ServerError`` where nothing was committed after it."""
    beside = _Beside(happens) if happens is not None else None
    committed, at_its_end, done = 0, -1, False
    try:
        while not done:
            yield committed
            if beside is not None and beside.ident is None and committed >= transactions // 2:
                beside.start()
            if beside is not None and beside.ident is not None and not beside.is_alive() and at_its_end < 0:
                at_its_end = committed
            committed, done = histories.play(_SLICE_S if beside is None or at_its_end >= 0 else _SOON_S)
    finally:
        if beside is not None and beside.ident is not None:
            beside.join()
            if beside.error is not None:
                raise beside.error  # Clients fail for it, too.
    if beside is not None and not 0 <= at_its_end < committed:
        raise ServerError("the transactions ended before the event", "raise --transactions")


def _guarantee(place: TargetDatabase, level: str) -> str:
    """What the product documents of a level."""
    if place.dialect.name == "sqlite":
        return "serializable"
    documented = _DOCUMENTED[ISOLATIONS.index(level)]
    if place.dialect.name == "firebird" and documented == "serializable":
        # SNAPSHOT TABLE STABILITY promises that nobody writes to a table that is used, not a serial order.
        return "snapshot isolation"
    if place.dialect.name == "mysql" and documented == "snapshot isolation":
        # InnoDB reads from a snapshot and writes to the newest rows, unless that is refused.
        rows = place.fetch(_SNAPSHOTS)
        if not any("ON" in row.values() for row in rows):
            return "read committed"
    return documented


_WIDTH: Final = 110
_ABOUT: Final = {
    "lost append": "acknowledged, and not there in the end",
    "duplicate": "there twice",
    "garbage": "there, although no client appended it",
    "incompatible order": "readers saw a list in different orders",
    "internal": "a transaction did not see its own append",
    "G1a": "an append that was rolled back was seen, or stayed",
    "G1b": "an append was seen before its transaction appended more to the list",
    "G0": "transactions wrote over each other in a cycle",
    "G1c": "transactions saw what each other wrote, in a cycle",
    "G-single": "a transaction saw a part of another and missed the rest (read skew, lost update)",
    "G-nonadjacent": "a cycle with several missed appends, of which no two are in a row (long fork)",
    "G2-item": "transactions each missed what the other appended (write skew)",
}


def isolation_lines(check: IsolationCheck) -> Iterator[str]:
    """What a terminal shows of it."""
    found = check.found
    event = f", {check.event} in the middle" if check.event else ""
    yield f"\nisolation: {check.words}, {check.clients} clients{event}"
    yield (f"  {found.committed:,} transactions committed, {found.aborted:,} rolled back; {found.appends:,} appends to "
           f"lists and {found.reads:,} reads")  # fmt: skip
    for one in found.anomalies:
        word = "BROKEN" if one in check.forbidden else "allowed"
        yield f"  {word:7}  {one.name}, {one.count:,} times: {_ABOUT[one.name]}"
        yield from (f"{'':13}{line}" for line in one.example.splitlines())
    if found.undivided:
        yield f"{'':11}{found.undivided:,} more are G-single or G-nonadjacent; the search ended before it knew which"
    stale = found.stale
    if stale.reads:
        word = "BROKEN" if check.is_stale else "allowed"
        lags = f"{stale.median_ns / 1e6:.3g} ms in the median, {stale.max_ns / 1e6:.3g} ms at most"
        yield f"  {word:7}  stale reads, {stale.reads:,} of {found.reads:,}: they missed up to {stale.items:,} appends,"
        yield f"{'':11}the first of them acknowledged {lags} before"
    absent = [*check.absent, *([] if stale.reads else ["stale reads"])]
    yield from wrap(", ".join(absent), _WIDTH, initial_indent="  none     ", subsequent_indent=" " * 11)
