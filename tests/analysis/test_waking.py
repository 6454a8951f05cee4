"""When wake-ups dominate, by hand-computed values."""

from __future__ import annotations

from typing import Literal

import pytest

from dsbench.analysis.resources import CLIENT_CPU, RESCHEDULING, SERVER_CPU
from dsbench.analysis.values import Resource
from dsbench.analysis.waking import waking


def _of(interrupts: float, client_us: float, server_us: float) -> list[Resource]:
    scope: Literal["system"] = "system"
    figures = {RESCHEDULING: interrupts, CLIENT_CPU: client_us, SERVER_CPU: server_us}
    return [Resource(name, "", value, 1.0, scope) for name, value in figures.items()]


def test_they_dominate_beyond_half_of_the_cpu_time() -> None:
    found = waking(_of(1.0, 20.0, 48.0))  # 46 of 68 µs: the fit's own select with one interrupt
    assert found is not None
    assert found.share == pytest.approx(46 / 68)
    assert "1.00 rescheduling interrupts per transaction" in found.words
    assert "68% of the 68 µs" in found.words
    assert waking(_of(0.5, 20.0, 26.0)) is None, "23 of 46 µs are half, not more"
    assert waking(_of(0.0, 20.0, 48.0)) is None


def test_the_share_is_never_more_than_all() -> None:
    found = waking(_of(3.0, 20.0, 30.0))
    assert found is not None
    assert found.share == 1.0


def test_nothing_is_claimed_of_what_is_not_measured() -> None:
    assert waking(_of(1.0, 20.0, 48.0)[:2]) is None
    assert waking(_of(float("nan"), 20.0, 48.0)) is None
    assert waking([]) is None
