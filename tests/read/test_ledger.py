"""The ledger of client time: what it holds is checked against transactions that are known one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench import servers
from dsbench.archive import Archive
from dsbench.read.subjects.clients import ClientsResult
from dsbench.stats.fairness import by_chance, irregularity
from dsbench.stats.ledger import PARTS, busy_parts, find_gap, idle_clients, weighted_quantile
from dsbench.stats.values import Frequency, Ints
from fixtures.thorough import mostly_thorough

SECOND = 10**9


def bits(*ends_s: float) -> tuple[Ints, Ints, Ints]:
    """Rows of ``seconds`` of transactions that ended then, as the core writes them."""
    rows: dict[int, list[int]] = {}
    for end in ends_s:
        second, part = divmod(round(end * PARTS * 1000) // 1000, PARTS)
        words = rows.setdefault(second, [0, 0])
        words[part // 50] |= 1 << part % 50
    ordered = sorted(rows.items())
    first, later = (np.array([words[at] for _, words in ordered], dtype=np.int64) for at in (0, 1))
    return np.array([second for second, _ in ordered], dtype=np.int64), first, later


def test_a_gap_is_known_within_ten_milliseconds_wherever_it_lies() -> None:
    rng = np.random.default_rng(5)
    for begin, length in ((1.3, 0.7), (0.0, 2.2), (3.1, 1.9), (0.95, 0.1), (2.0, 1.0)):
        steady = np.arange(0.0, 5.0, 0.004) + rng.uniform(0, 0.003)
        ends = steady[(steady <= begin) | (steady >= begin + length)]
        edges = np.concatenate([[0.0], ends[ends < 5], [5.0]])
        found = find_gap(2, busy_parts(*bits(*ends[ends < 5]), 5 * SECOND), len(ends))
        true = np.diff(edges)
        assert found.cycle == 2
        assert found.length_ns / 1e9 == pytest.approx(true.max(), abs=0.01)
        assert found.at_ns / 1e9 == pytest.approx(edges[true.argmax()], abs=0.011)


def test_of_gaps_with_as_many_empty_parts_the_longer_is_told() -> None:
    """Beside the begin of a cycle one part is empty for 10 to 20 ms; between two transactions for up to 30 ms."""
    ends = [0.0101, *np.arange(0.02, 1, 0.009), 1.0001, 1.0265, *np.arange(1.03, 2, 0.009)]
    found = find_gap(1, busy_parts(*bits(*ends), 2 * SECOND), len(ends))
    assert found.length_ns / 1e9 == pytest.approx(0.0264, abs=0.01)
    assert found.at_ns / 1e9 == pytest.approx(1.0001, abs=0.011)


def test_seconds_without_a_transaction_and_what_a_gap_cost() -> None:
    ends = [*np.arange(0.005, 1.5, 0.01), *np.arange(4.005, 5, 0.01)]
    found = find_gap(1, busy_parts(*bits(*ends), 5 * SECOND), 250)
    assert found.seconds == 2
    assert found.missing == pytest.approx(250, rel=0.02), "as many as in the two and a half seconds beside it"
    assert np.isnan(find_gap(1, np.zeros(500, dtype=bool), 0).missing)


def test_half_of_the_client_time() -> None:
    # 1,000 transactions of 1 ms, and one of 3 s that began 2 s before the end.
    times, weights = np.array([1e6, 3e9]), np.array([1e9, 2e9])
    assert weighted_quantile(times, weights, 0.5) == 3e9
    assert weighted_quantile(times, weights, 0.3) == 1e6
    assert np.isnan(weighted_quantile(np.zeros(0), np.zeros(0), 0.5))


def test_idle_clients_were_in_transactions_and_finished_none() -> None:
    cycles = np.array([1, 2])
    done = np.array([[[0, 10, 0]], [[3, 0, 0]]])
    clients_ns = np.full((2, 1, 3), 100)
    busy_ns = np.array([[[100, 99, 10]], [[100, 90, 80]]])
    assert idle_clients(cycles, done, busy_ns, clients_ns) == ((1, 1), (2, 2)), "one waited, by its pace"


def test_waits_by_which_clients_starve_are_no_excuse() -> None:
    """As SQLite's lock without a queue gives it: 600 transactions of 3 ms by one client, two of 2.5 s by others."""
    times = np.array([3e6, 2.5e9])
    curve = Frequency(times, np.array([2 / 602, 0.0]), {}, 602)
    assert irregularity(curve) < 1.5
    assert by_chance(150.0, 0.0, 4, irregularity(curve)) < 1e-20


def test_an_exponential_queue_keeps_its_irregularity() -> None:
    shares = np.linspace(0.9995, 0, 2000)
    times = -np.log(np.maximum(shares, 1e-4)) * 1e6
    assert irregularity(Frequency(times, shares, {}, 2000)) == pytest.approx(0.97, abs=0.06)


@pytest.mark.parametrize("options", mostly_thorough([
    pytest.param({}, id="closed"), pytest.param({"rate": 20.0}, id="open"), pytest.param({"reconnect": True}, id="reconnect"),
    pytest.param({"retry": True, "isolation": "serializable"}, id="retry"),
], "closed", "retry"))  # fmt: skip
def test_the_ledger_of_a_run_is_that_of_its_trace(
    postgresql: servers.Server, tmp_path: Path, options: dict[str, object]
) -> None:
    """Over PostgreSQL: what is told of client time, of the longest transaction and of gaps, from all transactions."""
    archive = dsbench.run(postgresql.url, scales=(1,), cycles=2, duration=1.5, clients=3, trace=True, seed=7, out=tmp_path,
                          **options)  # fmt: skip
    evaluation = archive.evaluate()
    ledger = evaluation.of(ClientsResult).ledger[1]
    rows = Archive.open(archive.path).table("trace").to_pylist()
    duration = round(1.5 * SECOND)
    spent = in_flight = 0
    for row in rows:
        inside = min(row["ended_ns"], duration) - max(row["started_ns"], 0)
        if row["ended_ns"] > duration:
            in_flight += inside
        else:
            spent += inside
    connecting = ledger.connecting_ns
    assert ledger.clients_ns == 2 * 3 * duration
    assert ledger.ended_ns + ledger.in_flight_ns + connecting == spent + in_flight
    assert ledger.longest_ns == max(
        row["ended_ns"] - row["intended_ns"] for row in rows
        if row["ended_ns"] > duration or row["outcome"] in ("committed", "rolled back")
    )  # fmt: skip
    assert ledger.in_flight == sum(row["ended_ns"] > duration for row in rows)
    assert (connecting > 0) == ("reconnect" in options)
    assert ledger.waiting_ns + ledger.own_ns == ledger.clients_ns - spent - in_flight
    assert ledger.own_ns >= 0
    assert ledger.waiting_ns > 0
    for gap in ledger.gaps:
        ends = [row["ended_ns"] for row in rows if row["cycle"] == gap.cycle and 0 <= row["ended_ns"] <= duration
                and row["outcome"] in ("committed", "rolled back")]  # fmt: skip
        longest = np.diff(np.concatenate([[0], np.sort(ends), [duration]])).max()
        if gap.length_ns:
            assert gap.length_ns == pytest.approx(longest, abs=1e7)
        else:
            assert longest < 2e7, "where no hundredth of a second is empty, none is longer than two"
