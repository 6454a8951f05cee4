"""Figures by kind: rates of what was done, shares, times and limits."""

from __future__ import annotations

import numpy as np
import pytest

from dsbench.stats.histogram import histogram
from dsbench.stats.kinds import ALL, KindCounts, KindResult, kind_results

MS, S = 1_000_000, 1_000_000_000


def times(*values_ns: int) -> object:
    values = np.array(values_ns, dtype=np.int64)
    return histogram(values, values, np.ones_like(values), min_ns=int(values.min()), max_ns=int(values.max()))


COUNTS = {
    "new_order": KindCounts(98, 2, 3, 1, 0, 500 * MS, 700 * MS),
    "payment": KindCounts(100, 0, 0, 0, 1, 200 * MS, 300 * MS),
    "idle": KindCounts(0, 0, 0, 0, 0, 0, 0),
}


def results(**more: object) -> dict[str, KindResult]:
    service = {"new_order": times(MS, 2 * MS, 7 * S), "payment": times(3 * MS)}
    rows = kind_results(
        COUNTS, service, more.get("response", {}), 10.0,  # type: ignore[arg-type]
        least_shares={"payment": 0.43, "idle": 0.04}, limits_s={"new_order": 5.0, "payment": 5.0, "idle": 5.0},
    )  # fmt: skip
    return {row.kind: row for row in rows}


def test_a_limit_is_kept_or_not_from_enough_transactions_on() -> None:
    """Of 49 fewer than five lie beyond the 90% quantile."""
    for count, met in ((49, None), (50, False)):
        some = times(*[7 * S] * 20, *[MS] * (count - 20))
        found = kind_results(
            {"order_status": KindCounts(count, 0, 0, 0, 0, 0, 0)}, {"order_status": some}, {"order_status": some}, 10.0,  # type: ignore[dict-item]
            least_shares={}, limits_s={"order_status": 5.0},
        )[0]  # fmt: skip
        assert found.limit_met is met


def test_rolled_back_ones_are_done_and_failed_ones_are_not() -> None:
    found = results()
    assert list(found) == ["new_order", "payment", "idle", ALL]
    order = found["new_order"]
    assert (order.committed, order.rolled_back, order.failed, order.retries) == (98, 2, 3, 1)
    assert (order.rate_tps, order.per_minute, order.share) == (10.0, 600.0, 0.5)
    assert order.service_mean_ns == 5 * MS
    everything = found[ALL]
    assert (everything.committed, everything.failed, everything.unknown) == (198, 3, 1)
    assert (everything.rate_tps, everything.share) == (20.0, 1.0)
    assert everything.service_ns[1.0] == 7 * S


def test_the_longest_of_a_kind_may_be_in_flight() -> None:
    counts = {
        "short": KindCounts(100, 0, 0, 0, 0, 0, 0), "stuck": KindCounts(100, 0, 0, 0, 0, 0, 0, in_flight_max_ns=9 * S),
        "none": KindCounts(0, 0, 0, 0, 0, 0, 0), "first": KindCounts(0, 0, 0, 0, 0, 0, 0, in_flight_max_ns=8 * S),
    }  # fmt: skip
    done = {"short": times(MS, 7 * S), "stuck": times(MS, 2 * S)}
    rows = kind_results(counts, done, {}, 10.0, least_shares={}, limits_s={})
    assert [row.longest_ns for row in rows] == [7 * S, 9 * S, pytest.approx(np.nan, nan_ok=True), 8 * S, 9 * S]
    assert [row.told_response()[-1] for row in rows[:2]] == [7 * S, 9 * S]
    assert [row.response_ns[1.0] for row in rows[:2]] == [7 * S, 2 * S], "of the done"


def test_shares_and_limits_are_met_or_missed_or_not_asked_for() -> None:
    found = results()
    assert [found[kind].share_met for kind in found] == [None, True, False, None]
    assert [found[kind].share_missed for kind in found] == [False, False, False, False], "none of 200 may be chance"
    assert [found[kind].limit_met for kind in found] == [False, True, None, None]


def test_a_share_is_missed_when_chance_does_not_explain_it() -> None:
    def payment(done: int) -> KindResult:
        counts = {"new_order": KindCounts(10_000 - done, 0, 0, 0, 0, 0, 0), "payment": KindCounts(done, 0, 0, 0, 0, 0, 0)}
        return kind_results(counts, {}, {}, 10.0, least_shares={"payment": 0.43}, limits_s={})[1]

    # Three standard deviations of 4300 are 3 sqrt(10000 x 0.43 x 0.57) = 149.
    assert [(payment(n).share_met, payment(n).share_missed) for n in (4300, 4200, 4140)] == [
        (True, False), (False, False), (False, True),
    ]  # fmt: skip


def test_response_times_are_service_times_unless_starts_were_due() -> None:
    closed = results()["payment"]
    assert (closed.response_mean_ns, closed.response_ns[0.9]) == (closed.service_mean_ns, 3 * MS)
    open_loop = results(response={"payment": times(9 * S)})["payment"]
    assert (open_loop.service_mean_ns, open_loop.response_mean_ns) == (2 * MS, 3 * MS)
    assert (open_loop.service_ns[0.9], open_loop.response_ns[0.9], open_loop.limit_met) == (3 * MS, 9 * S, False)


def test_one_kind_needs_no_sum() -> None:
    rows = kind_results({"select": COUNTS["payment"]}, {}, {}, 10.0, least_shares={}, limits_s={})
    assert [row.kind for row in rows] == ["select"]
    assert rows[0].share == pytest.approx(1.0)
