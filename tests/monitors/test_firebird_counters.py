"""Counters of a real Firebird server, in the modes that count in different ways."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from dsbench import servers
from dsbench.measure.loaders import Bench, CycleResult, TargetDatabase, now_ns
from dsbench.measure.monitors import Lagging, Sampler, monitors_for
from dsbench.measure.monitors.firebird import Firebird
from dsbench.spec import RunSpec, Target

_COUNTS = {
    "page_reads", "page_writes", "page_fetches", "page_marks", "record_seq_reads", "record_idx_reads",
    "record_inserts", "record_updates", "record_deletes", "record_backouts", "record_purges", "record_expunges",
    "record_waits", "record_conflicts",
}  # fmt: skip
_OF_TRANSACTIONS = {"transactions_started": "count total", "transactions_behind": "transactions"}
_PAGE_BYTES = 8192


@pytest.fixture(scope="module", params=["Super", "SuperClassic", "Classic"])
def place(request: pytest.FixtureRequest) -> Iterator[tuple[str, Bench, TargetDatabase]]:
    """The mode of a server, the bank at scale 1 in its database, and its administrative session."""
    settings = {"ServerMode": request.param, "page_size": str(_PAGE_BYTES)}
    wanted = Target(url="private:firebird", version="3", settings=settings)
    with servers.start(wanted, 8) as server:
        target = TargetDatabase(server.url)
        target.create("test")
        bench = Bench(target, "tpcb", 1, "procedure")
        bench.phase("create", _unseen)
        yield request.param, bench, target
        target.close()


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


def _gain(rows: list[dict[str, object]], metric: str) -> float:
    values = [float(str(row["value"])) for row in rows if row["metric"] == metric]
    return values[-1] - values[0]


def _cycle(bench: Bench, clients: int) -> CycleResult:
    cycle = bench.cycle(RunSpec(clients=clients, duration=1.0, prepare=True), seed=1, trace=None)
    cycle.connect(30, _unseen)
    start = now_ns() + 20_000_000
    cycle.start(start)
    cycle.wait(start, 30, _unseen)
    return cycle.join()


def test_a_population_and_a_cycle_count_all_that_their_sessions_did(place: tuple[str, Bench, TargetDatabase]) -> None:
    mode, bench, admin = place
    monitor = Firebird(admin)
    assert not isinstance(monitor, Lagging)
    units = {metric: unit for metric, unit, _ in monitor.sample()}
    shared = mode == "Super"
    assert units == _OF_TRANSACTIONS | (dict.fromkeys(_COUNTS, "count total") if shared else {})
    assert len(monitor.notes) == (0 if shared else 1)
    assert all("Classic" in note for note in monitor.notes)

    beside = Sampler([monitor])
    beside.start(time.monotonic_ns())
    bench.populate(False, 1, _unseen)
    filled = beside.stop()
    for phase in ("primary_key", "foreign_key", "clean"):
        bench.phase(phase, _unseen)
    beside = Sampler([monitor])
    beside.start(time.monotonic_ns())
    result = _cycle(bench, clients=1)
    worked = beside.stop()
    done = sum(result.committed_in_database())
    assert (result.total("failed"), done > 0) == (0, True)
    looks = len([row for row in worked if row["metric"] == "transactions_started"])
    assert done <= _gain(worked, "transactions_started") <= done + 10 + looks
    if not shared:
        return
    # Those of system tables, which note new pages, among them.
    assert bench.rows <= _gain(filled, "record_inserts") <= bench.rows + 10
    # 100 bytes and more of each row, written through at least once.
    assert _gain(filled, "page_writes") * _PAGE_BYTES > bench.rows * 100
    assert _gain(filled, "page_marks") > _gain(filled, "page_writes") / 2
    assert done <= _gain(worked, "record_inserts") <= done + 10
    assert _gain(worked, "record_updates") == 3 * done
    assert _gain(worked, "page_fetches") > 8 * done
    assert _gain(worked, "page_writes") >= 4 * done, "three tables, the history and the transaction's end"


def test_clients_that_collide_are_counted(place: tuple[str, Bench, TargetDatabase]) -> None:
    mode, bench, admin = place
    beside = Sampler([Firebird(admin)])
    beside.start(time.monotonic_ns())
    # A machine with other work may run them one after another for a while.
    failed = next((failed for _ in range(20) if (failed := _cycle(bench, clients=3).total("failed"))), 0)
    rows = beside.stop()
    assert failed > 0
    if mode == "Super":
        assert _gain(rows, "record_conflicts") > 0


class Gone:
    def fetch(self, sql: str) -> list[dict[str, str | None]]:
        raise ConnectionError("the server is gone")


def test_a_server_that_is_gone_is_noted_not_raised() -> None:
    server = [m for m in monitors_for("firebird", (), Gone()) if m.name == "server"]
    beside = Sampler(server)
    beside.start(time.monotonic_ns())
    assert beside.stop() == []
    assert any("the server is gone" in note for note in beside.notes)
