"""The sampling thread: when it samples, and that nothing a monitor does disturbs a cycle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from dsbench import archive
from dsbench.measure.monitors import Sampler, Value, sampler
from dsbench.stats.resources import gains

SECOND = 1_000_000_000


class Counter:
    """Counts its samples."""

    name = "counter"

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.count = 0

    def sample(self) -> list[Value]:
        self.count += 1
        return [("samples", "count total", self.count)]


class Broken(Counter):
    name = "broken"

    def sample(self) -> list[Value]:
        self.count += 1
        raise OSError("no such counter")


class Silent(Counter):
    """A monitor whose server does not answer."""

    name = "silent"

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def sample(self) -> list[Value]:
        self.released.wait()
        return []


class Late(Counter):
    """A monitor whose counters lag by a second."""

    name = "late"
    lag_ns = SECOND

    def __init__(self) -> None:
        super().__init__()
        self.settled = 0

    def settle(self) -> None:
        self.settled += 1

    def sample(self) -> list[Value]:
        return [("settled", "count total", self.settled)]


def _sampled(wait: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not wait() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_one_sample_before_one_each_second_and_one_after() -> None:
    counter = Counter()
    beside = Sampler([counter])
    beside.first()
    assert counter.count == 1
    origin = time.monotonic_ns() + 20_000_000
    beside.go(origin)
    _sampled(lambda: counter.count >= 3)
    ended = time.monotonic_ns() - origin
    rows = beside.stop()
    at = [row["at_ns"] for row in rows]
    assert at == sorted(at)
    assert at[0] <= 0
    assert at[-1] >= ended
    # Seconds of the cycle: a sample lies at or after its second, never before the first.
    assert [second for second in at[1:-1] if second < SECOND - SECOND // 100] == []
    assert len(at) >= 4
    assert beside.notes == []


def test_a_ramp_up_costs_the_cycle_nothing() -> None:
    """The figures per transaction are those of the cycle: the gain begins just before it, not before the ramp-up."""
    counter = Counter()
    beside = Sampler([counter])
    beside.first()
    beside.go(time.monotonic_ns() + SECOND, ramp_up_ns=SECOND // 2)
    _sampled(lambda: counter.count >= 3)
    rows = beside.stop()
    at = np.array([row["at_ns"] for row in rows])
    assert at[0] < -SECOND // 2
    assert at[1] >= -sampler.JUST_BEFORE_NS
    assert at[2] >= SECOND
    values = np.array([row["value"] for row in rows])
    _, gain, *_ = gains(np.zeros(at.size, int), np.where(at == at[1], min(at[1], 0), at), values, SECOND)
    assert gain.tolist() == [1], "the sample of the ramp-up's end to that of the first second"


class Fleeting(Counter):
    """A monitor of what goes with the load."""

    name = "fleeting"
    begun = 0

    def begin(self) -> None:
        self.begun += 1


def test_what_goes_with_the_load_is_read_before_the_cycle_and_just_before_its_end() -> None:
    fleeting, counter = Fleeting(), Counter()
    beside = Sampler([fleeting, counter])
    beside.first()
    beside.go(time.monotonic_ns(), duration_ns=SECOND + SECOND // 2)
    _sampled(lambda: counter.count >= 3)
    rows = beside.stop()
    at = [row["at_ns"] for row in rows if row["monitor"] == "fleeting"]
    assert (len(at), fleeting.begun) == (2, 1)
    assert at[0] <= 0
    assert at[1] >= SECOND + SECOND // 2 - sampler.MOST_EARLY * 1.5 * SECOND
    assert len([row for row in rows if row["monitor"] == "counter"]) >= 4


def test_where_the_end_is_not_known_it_is_read_after_it() -> None:
    fleeting = Fleeting()
    beside = Sampler([fleeting])
    beside.start(time.monotonic_ns())
    at = [row["at_ns"] for row in beside.stop()]
    assert (len(at), fleeting.count) == (2, 2)
    assert at[0] < at[1]


def test_rows_have_the_columns_of_the_archive() -> None:
    beside = Sampler([Counter()])
    beside.start(time.monotonic_ns())
    row = beside.stop()[0]
    key = ["scale", "stage", "cycle", "node", "clients"]
    assert [*key, *row] == archive.TABLES["monitors"].names
    assert isinstance(row["value"], float)


def test_seconds_are_those_of_the_clock_that_is_given() -> None:
    now = [5 * SECOND]
    counter = Counter()
    beside = Sampler([counter], clock=lambda: now[0])
    beside.start(5 * SECOND)
    now[0] += 7 * SECOND + 1
    rows = beside.stop()
    assert [row["at_ns"] for row in rows] == [0, 7 * SECOND + 1]


def test_a_monitor_that_raises_is_noted_once_and_the_others_go_on() -> None:
    broken, counter = Broken(), Counter()
    beside = Sampler([broken, counter])
    beside.start(time.monotonic_ns())
    rows = beside.stop()
    assert broken.count >= 2
    assert {row["monitor"] for row in rows} == {"counter"}
    assert beside.notes == ["broken: no such counter"]


def test_what_a_monitor_cannot_read_is_told() -> None:
    counter = Counter()
    counter.notes.append("temperature cannot be read: no right")
    assert Sampler([counter]).notes == ["counter: temperature cannot be read: no right"]


def test_a_monitor_that_does_not_answer_does_not_hold_up_the_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "PATIENCE_S", 0.5)
    silent, counter = Silent(), Counter()
    beside = Sampler([counter, silent])
    beside.start(time.monotonic_ns())
    rows = beside.stop()
    assert [row["monitor"] for row in rows] == ["counter"]
    assert len(beside.notes) == 2
    assert "is missing" in beside.notes[1]
    silent.released.set()


def test_counters_that_lag_are_read_again_when_they_have_settled() -> None:
    now = [0]
    late, counter = Late(), Counter()
    beside = Sampler([late, counter], clock=lambda: now[0])
    beside.start(0)
    beside._take([late, counter])  # as at the end of the cycle: not yet all in it
    now[0] = SECOND // 2
    beside._take([late, counter])
    now[0] = 4 * SECOND
    rows = beside.stop()
    assert late.settled == 1
    assert [(r["at_ns"], r["value"]) for r in rows if r["monitor"] == "late"][-1] == (4 * SECOND, 1.0)
    assert {r["at_ns"] for r in rows if r["monitor"] == "late"} == {0, SECOND // 2, 4 * SECOND}


def test_the_sample_before_the_cycle_stays_however_short_the_cycle_was() -> None:
    now = [1]
    beside = Sampler([Late()], clock=lambda: now[0])
    beside.start(0)
    now[0] = SECOND // 10
    assert [(r["at_ns"], r["value"]) for r in beside.stop()] == [(1, 0.0), (SECOND // 10, 1.0)]


def test_a_sample_that_may_miss_the_end_of_the_load_is_left_out() -> None:
    now = [0]
    late, counter = Late(), Counter()
    beside = Sampler([late, counter], clock=lambda: now[0])
    beside.start(0)
    now[0] = 4 * SECOND
    beside._take([late, counter])
    now[0] += SECOND // 10
    rows = beside.stop()
    assert [r["at_ns"] for r in rows if r["monitor"] == "late"] == [0, 4 * SECOND + SECOND // 10]
    assert [r["at_ns"] for r in rows if r["monitor"] == "counter"] == [0, 4 * SECOND, 4 * SECOND + SECOND // 10]


def test_after_a_ramp_up_counters_that_lag_are_read_under_load_at_both_ends() -> None:
    late, counter = Late(), Counter()
    beside = Sampler([late, counter])
    beside.first()
    beside.go(time.monotonic_ns() + SECOND, ramp_up_ns=SECOND // 2, duration_ns=SECOND // 2)
    _sampled(lambda: len([row for row in beside._rows if row["monitor"] == "late"]) >= 3)
    rows = beside.stop()
    at = [row["at_ns"] for row in rows if row["monitor"] == "late"]
    assert late.settled == 0
    assert (len(at), at[0] < at[1] <= 0 < at[2]) == (3, True), "before all load, before the cycle and before its end"
    assert at[2] < max(row["at_ns"] for row in rows if row["monitor"] == "counter"), "not once more after it"


def test_stopping_what_was_not_started_gives_nothing() -> None:
    assert Sampler([Counter()]).stop() == []
