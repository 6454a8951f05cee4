"""NOPM, and what terminals can reach of it: values worked out by hand from clauses 5.2.4 and 5.2.5."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dsbench.stats.tpcc import Nopm, ceiling_of, nopm
from dsbench.workloads import Entry, Headline, Kind

TIMES = {"new_order": (18, 12), "payment": (3, 12), "order_status": (2, 10), "delivery": (2, 5), "stock_level": (2, 5)}
DECK = (10, 10, 1, 1, 1)


def kinds(deck: tuple[int, ...]) -> tuple[Kind, ...]:
    return tuple(
        Kind(name, keying_s=keying, mean_think_s=think, cards=cards)
        for (name, (keying, think)), cards in zip(TIMES.items(), deck, strict=True)
    )


def rate(orders: np.ndarray, duration_s: float, scale: int, deck: tuple[int, ...] = DECK, **conduct: int) -> Nopm:
    workload = Entry("company", "", kinds=kinds(deck), headline=Headline("NOPM", kind="new_order", per_s=60))
    return nopm(orders, duration_s, scale, workload, **conduct)


def test_nopm_counts_per_minute_of_a_cycle() -> None:
    found = rate(np.array([100.0, 120.0, 140.0]), 30.0, 5)
    assert (found.label, found.median, found.minimum, found.maximum) == ("NOPM, unpaced", 240.0, 200.0, 280.0)
    assert (found.per_warehouse, found.terminals_per_warehouse, found.ceiling) == (48.0, None, None)
    assert math.isnan(rate(np.zeros(0), 60.0, 5, terminals=50).median)


def test_the_label_says_what_is_not_as_the_specification_has_it() -> None:
    one = np.array([60.0])
    assert rate(one, 60.0, 1, terminals=10).label == "NOPM"
    assert rate(one, 60.0, 1, terminals=10, mix_met=False).label == "NOPM, mix not met"
    assert rate(one, 60.0, 1, mix_met=False).label == "NOPM, unpaced, mix not met"


@pytest.mark.parametrize(
    ("deck", "terminals", "per_minute"),
    [
        # 10 x 30 + 10 x 15 + 12 + 7 + 7 = 476 s for ten New-Orders of each terminal.
        (DECK, 10, 6000 / 476), (DECK, 50, 30_000 / 476), (DECK, 3, 1800 / 476),
        # The 45% of clause 5.2.3: 45 x 30 + 43 x 15 + 4 x 12 + 4 x 7 + 4 x 7 = 2099 s.
        ((45, 43, 4, 4, 4), 10, 27_000 / 2099),
        ((1, 0, 0, 0, 0), 1, 2.0), ((0, 1, 0, 0, 0), 1, 0.0), ((0, 0, 1, 1, 1), 10, 0.0),
    ],
)  # fmt: skip
def test_terminals_that_never_wait_enter_so_many(deck: tuple[int, ...], terminals: int, per_minute: float) -> None:
    assert ceiling_of(kinds(deck), "new_order", terminals) == pytest.approx(per_minute)


def test_the_ceiling_is_that_of_a_warehouse() -> None:
    orders = np.array([60.0])
    for warehouses in (1, 5):
        found = rate(orders, 60.0, warehouses, terminals=10 * warehouses)
        assert found.ceiling == pytest.approx(12.605, abs=5e-4)
        assert found.terminals_per_warehouse == 10
    few = rate(orders, 60.0, 5, deck=(45, 43, 4, 4, 4), terminals=20)
    assert (few.terminals_per_warehouse, few.ceiling) == (4, pytest.approx(0.4 * 12.863, abs=5e-4))


@pytest.mark.parametrize("kind", [Kind("payment", cards=1), Kind("payment", keying_s=3, mean_think_s=12)])
def test_a_deck_without_cards_or_times_has_no_ceiling(kind: Kind) -> None:
    assert math.isnan(ceiling_of((Kind("new_order", keying_s=18, mean_think_s=12), kind), "new_order", 10))
