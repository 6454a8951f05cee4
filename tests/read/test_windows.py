"""TPC-C's windows with their doubt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dsbench.stats.tpcc import binomial_interval, window_doubts, windows

GOOD = {
    "new_orders": 100_000, "new_orders_rolled_back": 1000, "order_lines": 1_000_000, "remote_lines": 10_000,
    "payments": 95_000, "remote_payments": 14_250, "by_name": 66_000, "by_name_of": 110_000, "deliveries": 89_991,
    "districts_skipped": 9, "payments_by_name": 57_000, "order_statuses": 15_000, "order_statuses_by_name": 9000,
    "delivery_transactions": 9000, "deliveries_with_skip": 9,
}  # fmt: skip
NAMES = (
    "rolled back", "lines of an order", "another warehouse", "another warehouse's customer", "Payments by last name",
    "Order-Status by last name", "skipped",
)  # fmt: skip


def test_a_valid_run_meets_every_window_for_certain() -> None:
    found = windows(GOOD, 5)
    for window, name in zip(found, NAMES, strict=True):
        assert name in window.name
        assert window.verdict == "met", window
    assert [round(window.value, 4) for window in found] == [0.01, 10.0, 0.01, 0.15, 0.6, 0.6, 0.001]
    assert [window.count for window in found] == [100_000, 100_000, 1_000_000, 95_000, 95_000, 15_000, 9000]
    assert window_doubts({5: found}) == []


@pytest.mark.parametrize(
    ("changed", "at"),
    [
        ({"new_orders_rolled_back": 2000}, 0), ({"order_lines": 900_000, "remote_lines": 9000}, 1),
        ({"remote_lines": 0}, 2), ({"remote_payments": 20_000}, 3), ({"payments_by_name": 50_000}, 4),
        ({"order_statuses_by_name": 15_000}, 5), ({"deliveries_with_skip": 180}, 6),
    ],
)  # fmt: skip
def test_each_window_is_missed_by_its_own_fault(changed: dict[str, int], at: int) -> None:
    found = windows({**GOOD, **changed}, 5)
    assert [window.met for window in found] == [i != at for i in range(7)]
    (doubt,) = window_doubts({5: found})
    assert (doubt.code, doubt.scale) == ("window", 5)
    assert f"{found[at].count:,}" in doubt.message


def test_skipped_districts_count_once_for_each_delivery() -> None:
    # 30 of 9000 Deliveries found all ten districts empty: 0.33%, though it is 300 districts.
    found = windows({**GOOD, "districts_skipped": 300, "deliveries_with_skip": 30}, 5)[-1]
    assert (round(found.value, 5), found.verdict) == (0.00333, "met")


@pytest.mark.parametrize(("count", "skipped", "met"), [(1, 1, True), (40, 1, True), (40, 2, False), (300, 3, True)])
def test_one_delivery_may_skip_however_few_there_are(count: int, skipped: int, met: bool) -> None:
    found = windows({"delivery_transactions": count, "deliveries_with_skip": skipped}, 5)[-1]
    assert found.met == met
    assert not found.missed


def test_a_small_sample_does_not_decide() -> None:
    few = windows({"new_orders": 200, "new_orders_rolled_back": 2, "order_lines": 2000, "remote_lines": 25}, 5)
    assert few[0].verdict == "met, but the sample is too small to decide"
    assert few[2].verdict == "missed, but the sample is too small to decide"
    assert few[3].verdict == "no Payments"
    assert window_doubts({5: few}) == [], "what is not certain is no doubt of the run"


def test_one_warehouse_has_no_other() -> None:
    found = windows({**GOOD, "remote_lines": 0, "remote_payments": 0}, 1)
    assert [window.verdict for window in found][2:4] == ["one warehouse has no other"] * 2
    assert window_doubts({1: found}) == []


@given(st.integers(1, 5000), st.data())
def test_the_interval_is_the_score_interval(count: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, count))
    least, most = binomial_interval(successes, count)
    known = stats.binomtest(successes, count).proportion_ci(0.9973, "wilson")
    assert least == pytest.approx(known.low, abs=2e-4)
    assert most == pytest.approx(known.high, abs=2e-4)
    assert 0 <= least <= successes / count <= most <= 1
