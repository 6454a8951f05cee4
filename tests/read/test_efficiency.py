"""The columns of a stage against values computed by hand; the rule of 95%; the published buckets."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsbench.stats import histogram as hist
from dsbench.stats.efficiency import (
    BORDERS_NS,
    COLUMNS,
    Background,
    Efficiency,
    Spent,
    in_buckets,
    reached,
    values,
)

MIB, GIB = 2**20, 2**30
QUERIES = Spent(
    duration_s=100.0, operations=50_000, inserts=False, inserted=10_000, device_s=101.0, reads=20_200,
    read_bytes=404 * MIB, writes=2_020, write_bytes=101 * MIB, host_s=101.0, switches=1_010_000, cpu_s=50.5,
    cpus_s=202.0, database_bytes=3 * GIB / 2, directory_bytes=2 * GIB, resident_bytes=GIB / 4, longest_ns=250_000_000,
    rates=np.array([500.0] * 98 + [100.0, 0.0]), written_bytes=470_000, live_bytes=GIB,
)  # fmt: skip


def test_each_column_is_what_a_pocket_calculator_gives() -> None:
    assert values(QUERIES) == pytest.approx({
        "ips": 100, "qps": 500, "rps": 200, "rmbps": 4, "wps": 20, "wmbps": 1,
        "rpq": 0.404, "rkbpq": 8.27392, "wpi": 0.202, "wkbpi": 10.3424,
        "csps": 10_000, "cspq": 20.2, "cpups": 25, "cpupq": 1010,
        "dbgb1": 1.5, "dbgb2": 2, "rss": 0.25, "maxop": 0.25, "p50": 500, "p99": 100,
        "read_amp": 404 * MIB / 470_000, "write_amp": 101 * MIB / 470_000, "space_amp": 1.5,
    })  # fmt: skip


def test_a_stage_of_inserts_divides_by_its_rows() -> None:
    found = values(Spent(10.0, 5_000, inserts=True, inserted=5_000, device_s=10, reads=50, writes=500, write_bytes=1024 * 5_000))
    assert (found["ips"], found["rpq"], found["wpi"], found["wkbpi"]) == (500, 0.01, 0.1, 1.0)
    assert math.isnan(found["qps"])


def test_where_no_row_is_inserted_writes_are_those_of_an_operation() -> None:
    found = values(Spent(10.0, 5_000, device_s=10, writes=10_000))
    assert (found["wpi"], found["qps"]) == (2, 500)
    assert math.isnan(found["ips"])


def test_what_no_monitor_knows_is_not_zero() -> None:
    found = values(Spent(10.0, 5_000))
    assert [name for name, value in found.items() if not math.isnan(value)] == ["qps"]
    assert all(math.isnan(value) for value in values(Spent(0.0, 0)).values())
    assert set(found) == {column.name for column in COLUMNS}


@pytest.mark.parametrize(("share", "rate"), [(0.5, 60.0), (0.99, 10.0), (1.0, 10.0), (0.1, 100.0)])
def test_p99_is_the_rate_that_99_percent_of_the_seconds_reach(share: float, rate: float) -> None:
    assert reached(np.arange(10.0, 101.0, 10.0), share) == rate


def test_one_second_of_a_hundred_may_stand_still() -> None:
    assert reached(np.array([0.0] + [7.0] * 99), 0.99) == 7.0
    assert reached(np.array([0.0] * 2 + [7.0] * 98), 0.99) == 0.0
    assert math.isnan(reached(np.empty(0), 0.5))


def background(target: float, sustained: float, *, inserts: bool = True) -> Background:
    return Background("insert" if inserts else "delete", "rows", target, sustained, inserts)


def test_a_stage_fails_below_95_percent_of_the_target_of_its_inserts() -> None:
    def sustained(*beside: Background) -> bool | None:
        return Efficiency("query", "transactions", values(QUERIES), beside).sustained

    assert sustained(background(1000, 950)) is True
    assert sustained(background(1000, 949)) is False
    assert sustained(background(1000, 1000), background(1000, 10, inserts=False)) is True
    assert sustained(background(1000, math.nan)) is False
    assert sustained() is None


def test_times_fall_into_the_published_buckets() -> None:
    ms = 1_000_000
    exact = np.array([1, 255_000, 300_000, 2 * ms, 15 * ms, 20 * ms, 100 * ms, 999 * ms, 3_000 * ms, 15_000 * ms, 17_000 * ms])
    found = in_buckets(hist.histogram(exact, exact, np.ones(exact.size, dtype=np.int64)))
    assert found.counts == (2, 1, 1, 1, 1, 1, 1, 1, 1, 1)
    assert (found.max_ns, found.unsure) == (17_000 * ms, 0)


def test_what_lies_at_a_border_is_told() -> None:
    low, high = np.array([999_936, 5_000_000]), np.array([1_000_447, 5_000_100])
    found = in_buckets(hist.histogram(low, high, np.array([3, 4])))
    assert found.counts == (0, 0, 3, 4, 0, 0, 0, 0, 0, 0)
    assert found.unsure == 3
    assert BORDERS_NS[:2] == (256_000, 1_000_000)
