"""NOPM, and what terminals can reach of it: values worked out by hand from clauses 5.2.4 and 5.2.5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsbench.analysis.tpcc import DECK, LIMITS_S, ceiling_per_minute, deck_of, limits_of, nopm


def test_nopm_counts_per_minute_of_a_cycle() -> None:
    found = nopm(np.array([100.0, 120.0, 140.0]), 30.0, 5)
    assert (found.label, found.median, found.minimum, found.maximum) == ("NOPM, unpaced", 240.0, 200.0, 280.0)
    assert (found.per_warehouse, found.terminals_per_warehouse, found.ceiling) == (48.0, None, None)
    assert math.isnan(nopm(np.zeros(0), 60.0, 5, terminals=50).median)


def test_the_label_says_what_is_not_as_the_specification_has_it() -> None:
    one = np.array([60.0])
    assert nopm(one, 60.0, 1, terminals=10).label == "NOPM"
    assert nopm(one, 60.0, 1, terminals=10, mix_met=False).label == "NOPM, mix not met"
    assert nopm(one, 60.0, 1, mix_met=False).label == "NOPM, unpaced, mix not met"


@pytest.mark.parametrize(
    ("deck", "terminals", "per_minute"),
    [
        # 10 x 30 + 10 x 15 + 12 + 7 + 7 = 476 s for ten New-Orders of each terminal.
        (DECK, 10, 6000 / 476), (DECK, 50, 30_000 / 476), (DECK, 3, 1800 / 476),
        # The 45 % of clause 5.2.3: 45 x 30 + 43 x 15 + 4 x 12 + 4 x 7 + 4 x 7 = 2099 s.
        ((45, 43, 4, 4, 4), 10, 27_000 / 2099),
        ((1, 0, 0, 0, 0), 1, 2.0), ((0, 1, 0, 0, 0), 1, 0.0), ((0, 0, 1, 1, 1), 10, 0.0),
    ],
)  # fmt: skip
def test_terminals_that_never_wait_enter_so_many(deck: tuple[int, ...], terminals: int, per_minute: float) -> None:
    assert ceiling_per_minute(deck, terminals) == pytest.approx(per_minute)


def test_the_ceiling_is_that_of_a_warehouse() -> None:
    orders = np.array([60.0])
    for warehouses in (1, 5):
        found = nopm(orders, 60.0, warehouses, terminals=10 * warehouses)
        assert found.ceiling == pytest.approx(12.605, abs=5e-4)
        assert found.terminals_per_warehouse == 10
    few = nopm(orders, 60.0, 5, deck=(45, 43, 4, 4, 4), terminals=20)
    assert (few.terminals_per_warehouse, few.ceiling) == (4, pytest.approx(0.4 * 12.863, abs=5e-4))


def test_the_deck_is_the_setting_of_the_workload() -> None:
    assert deck_of({}) == (10, 10, 1, 1, 1)
    assert deck_of({"mix": "45, 43,4,4 ,4", "affinity": "off"}) == (45, 43, 4, 4, 4)


def test_a_queued_delivery_has_eighty_seconds() -> None:
    assert limits_of({})["delivery"] == limits_of({"delivery": "inline"})["delivery"] == 5.0
    queued = limits_of({"delivery": "deferred"})
    assert queued["delivery"] == 80.0
    assert {**queued, "delivery": 5.0} == LIMITS_S
