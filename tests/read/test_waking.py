"""When wake-ups dominate, by hand-computed values."""

from __future__ import annotations

from typing import Literal

import pytest

from dsbench.read.subjects.cost import waking
from dsbench.stats.resources import CLIENT_CPU, RESCHEDULING, SERVER_CPU
from dsbench.stats.values import Resource


def _of(interrupts: float, client_us: float, server_us: float, waited: float = 2.0) -> list[Resource]:
    scope: Literal["system"] = "system"
    figures = {RESCHEDULING: interrupts, CLIENT_CPU: client_us, SERVER_CPU: server_us,
               "client switches, voluntary": waited / 2, "server switches, voluntary": waited / 2}  # fmt: skip
    return [Resource(name, "", value, 1.0, scope) for name, value in figures.items()]


def test_they_dominate_beyond_half_of_the_cpu_time() -> None:
    found = waking(_of(1.0, 20.0, 48.0))  # 46 of 68 µs: the fit's own select with one interrupt
    assert found is not None
    assert found.share == pytest.approx(46 / 68)
    assert "1.00 rescheduling interrupts per transaction" in found.words
    assert "68% of the 68 µs" in found.words
    assert waking(_of(0.5, 20.0, 26.0)) is None, "23 of 46 µs are half, not more"
    assert waking(_of(0.0, 20.0, 48.0)) is None


def test_interrupts_of_other_programs_are_not_the_runs() -> None:
    # 3 interrupts, of which client and server, who waited 1.2 times, can have been woken by 1.2 at most: 55.2 of 80 µs.
    found = waking(_of(3.0, 30.0, 50.0, waited=1.2))
    assert found is not None
    assert (found.interrupts, found.share) == (1.2, pytest.approx(55.2 / 80))
    assert waking(_of(3.0, 30.0, 50.0, waited=0.8)) is None


def test_a_share_beyond_all_is_not_told() -> None:
    assert waking(_of(3.0, 20.0, 30.0, waited=3.0)) is None, "138 of 50 µs: the price is not that of this machine"


def test_nothing_is_claimed_of_what_is_not_measured() -> None:
    assert waking(_of(1.0, 20.0, 48.0)[:2]) is None
    assert waking(_of(1.0, 20.0, 48.0)[:3]) is None, "who was woken is not known"
    assert waking(_of(float("nan"), 20.0, 48.0)) is None
    assert waking([]) is None
