from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.stats.resources import Counter, costs, gains

S = 1_000_000_000


def gain_of(samples: list[tuple[float, float]], duration_s: float = 10) -> tuple[float, float]:
    """(gain, span) of one counter from samples (seconds, value)."""
    at = np.array([round(second * S) for second, _ in samples], dtype=np.int64)
    values = np.array([value for _, value in samples], dtype=float)
    names, gain, span, _ = gains(np.zeros(at.size, dtype=np.int64), at, values, round(duration_s * S))
    assert names.tolist() == [0]
    return float(gain[0]), float(span[0])


def test_a_gain_runs_between_the_samples_around_the_cycle() -> None:
    around = [(-2, 1.0), (-0.1, 5.0), (1, 9.0), (9.9, 40.0), (10.2, 45.0), (12, 99.0)]
    assert gain_of(around) == (40, pytest.approx(10.3))
    assert gain_of(around[::-1]) == (40, pytest.approx(10.3))


def test_a_missing_edge_takes_the_nearest_sample_there_is() -> None:
    assert gain_of([(1, 5.0), (5, 7.0), (9, 11.0)]) == (6, 8)


def test_samples_exactly_at_the_edges_count() -> None:
    assert gain_of([(-1, 3.0), (0, 5.0), (10, 7.0), (11, 100.0)]) == (2, 10)


@pytest.mark.parametrize(
    "samples",
    [
        [(0, 100.0), (10, 20.0)],
        [(0, 100.0), (5, 0.0), (10, 150.0)],  # a restart in between: 50 would be nonsense
        [(0, 100.0)],
    ],
)
def test_a_reset_or_a_single_sample_is_nan(samples: list[tuple[float, float]]) -> None:
    assert isnan(gain_of(samples)[0])


def test_a_reset_outside_of_the_cycle_does_not_matter() -> None:
    assert gain_of([(-5, 900.0), (0, 10.0), (10, 30.0), (11, 0.0)])[0] == 20


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 25), st.floats(0, 1e6)), max_size=40))
def test_many_counters_at_once_are_the_counters_one_by_one(rows: list[tuple[int, int, float]]) -> None:
    rows = list({(series, at): (series, at, value) for series, at, value in rows}.values())
    series, at, values = (np.array([row[i] for row in rows]) for i in range(3))
    series, at = series.astype(np.int64), at.astype(np.int64) * S
    names, gain, span, _ = gains(series, at, values.astype(float), 10 * S)
    assert names.tolist() == sorted({row[0] for row in rows})
    for name, together, time in zip(names, gain, span, strict=True):
        alone = gain_of([(row[1], row[2]) for row in rows if row[0] == name])
        assert (together, time) == pytest.approx(alone, nan_ok=True)


def counter(metric: str, cycle: int, gain: float, *, monitor: str = "os", unit: str = "s total") -> Counter:
    return Counter(monitor, metric, unit, cycle, gain, 10.0)


def test_costs_add_up_cycles_and_nodes() -> None:
    rows = [counter("cpu_user", 1, 2.0), counter("cpu_user", 1, 1.0), counter("cpu_user", 2, 3.0)]
    (cost,) = costs(rows, {1: 1000, 2: 2000})
    # 6 s over 3000 transactions and two cycles of 10 s, in µs.
    assert (cost.name, cost.unit, cost.scope) == ("CPU time, user", "µs", "system")
    assert (cost.per_transaction, cost.per_second) == (2000, 300_000)


def test_a_reset_takes_its_cycle_along() -> None:
    (cost,) = costs([counter("cpu_user", 1, np.nan), counter("cpu_user", 2, 3.0)], {1: 1000, 2: 2000})
    assert (cost.per_transaction, cost.per_second) == (1500, 300_000)
    (lost,) = costs([counter("cpu_user", 1, np.nan)], {1: 1000})
    assert isnan(lost.per_transaction)
    assert isnan(lost.per_second)


def test_the_clients_cpu_is_one_figure_and_needs_both_counters() -> None:
    rows = [counter("cpu_user", 1, 2.0, monitor="client"), counter("cpu_system", 1, 1.0, monitor="client")]
    (cost,) = costs(rows, {1: 1000})
    assert (cost.name, cost.per_transaction, cost.scope) == ("client CPU time", 3000, "client")
    assert [c.name for c in costs(rows[:1], {1: 1000})] == []


def test_units_of_display() -> None:
    rows = [
        counter("read_bytes", 1, 5_000_000, monitor="device", unit="bytes total"),
        counter("wal_bytes", 1, 500_000, monitor="server", unit="bytes total"),
        counter("buffer_waits", 1, 20, monitor="server", unit="count total"),
        counter("lock_time", 1, 0.5, monitor="server", unit="s total"),
    ]
    found = {cost.name: (cost.per_transaction, cost.unit, cost.scope) for cost in costs(rows, {1: 1000})}
    assert found == {
        "read from disk": (5, "KB", "device"),
        "WAL": (500, "bytes", "server"),
        "buffer waits": (0.02, "count", "server"),
        "lock time": (500, "µs", "server"),
    }


def test_no_transaction_leaves_the_rate_per_second() -> None:
    (cost,) = costs([counter("cpu_user", 1, 2.0)], {1: 0})
    assert isnan(cost.per_transaction)
    assert cost.per_second == 200_000


def test_samples_within_a_cycle_stand_for_their_share_of_its_transactions() -> None:
    # From the start to 8 of 10 s: 400 switches of some 80 of the 100 transactions.
    at = np.array([-1, 8]) * S
    found = gains(np.zeros(2, dtype=np.int64), at, np.array([0.0, 400.0]), 10 * S)
    assert found.covered.tolist() == [0.8]
    assert gains(np.zeros(2, dtype=np.int64), np.array([-1, 11]) * S, np.zeros(2), 10 * S).covered.tolist() == [1.0]
    # From a second before the end of a ramp-up on: 11 s of load, which are 110 transactions.
    ramped = gains(np.zeros(2, dtype=np.int64), np.array([-1, 11]) * S, np.zeros(2), 10 * S, 3 * S)
    assert ramped.covered.tolist() == [1.1]
    (cost,) = costs([Counter("os", "context_switches", "count total", 1, 400.0, 9.0, 0.8)], {1: 100})
    assert cost.per_transaction == pytest.approx(5.0)
    assert cost.per_second == pytest.approx(400 / 9)
