"""A load that changes: its text, what falls due, and when response times are back."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench import spec
from dsbench.cli.run import specification
from dsbench.commons.audit import audit
from dsbench.read.choice import make_choice
from dsbench.read.evaluation import Evaluation
from dsbench.read.groups import Series
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.legs import LegResult, LegsResult, back_after, read_leg
from dsbench.read.text import render_text
from dsbench.spec.legs import legs, write_legs
from dsbench.stats.values import Floats


def test_legs_are_read_and_written_as_one_line() -> None:
    found = legs("0s:100, 1m: 100..500  # a ramp\n90s: sine 100 .. 900 / 10s, 2m:50x8")
    assert [(one.begin_s, one.duration_s, one.first, one.last, one.period_s, one.sessions) for one in found] == [
        (0, 60, 100, 100, 0, 0), (60, 30, 100, 500, 0, 0), (90, 30, 100, 900, 10, 0), (120, 30, 50, 50, 0, 8),
    ], "the last is as long as the one before it"  # fmt: skip
    assert write_legs(found) == "0s:100, 60s:100..500, 90s:sine 100..900/10s, 120s:50x8, 150s:end"
    assert legs(write_legs(found)) == found
    assert legs("") == ()


def test_what_falls_due_is_the_integral_of_the_rate() -> None:
    flat, ramp, sine = legs("0s:100, 10s:100..500, 20s:sine 100..900/10s, 40s:end")
    assert (flat.mean, ramp.mean, sine.mean) == (100, 300, pytest.approx(500))
    assert ramp.due(5) == 1000, "100 * 5 + 40 * 25 / 2"
    assert (sine.rate(0), sine.rate(5), sine.rate(10)) == (100, 900, pytest.approx(100))
    for one in (ramp, sine):
        steps = np.linspace(0, 7, 70_001)
        assert one.due(7) == pytest.approx(np.trapezoid([one.rate(at) for at in steps], steps), rel=1e-6)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0s:100", "has no end"), ("5s:1, 6s:end", "begins at 0s"), ("0s:a", "cannot read '0s:a'"),
        ("0s:1, 3s:2, 3s:3", "write legs in order of time"), ("0s:1, 9s:end, 10s:2", "write it last"),
        ("0s:sine 9..1/3s, 4s:end", "from its lowest to its highest rate"), ("0s:0, 4s:end", "has no transactions"),
        ("0s:5x0, 3s:end", "instead of 0 sessions"), ("0s:1, 20d:end", "cannot read the time"), ("0s:1, 999h:end", "a week"),
        ("0s:99999999, 1s:end", "per second or less"), ("0s:1..2/3s, 4s:end", "write a sine"),
    ],
)  # fmt: skip
def test_what_is_no_load_is_told(text: str, why: str) -> None:
    with pytest.raises(spec.SpecError) as refused:
        spec.build({"load": text})
    assert refused.value.option == "--load"
    assert why in f"{refused.value}: {refused.value.remedy}"


def test_a_cycle_is_as_long_as_its_load_and_another_duration_is_refused() -> None:
    text = "0s:1, 7s:end"
    assert spec.build({"load": text}, profile="dsi").duration == 7
    assert spec.merged({"load": text, "duration": "7"}, target="mock:").spec.duration == 7
    with pytest.raises(spec.SpecError, match="--duration: a cycle is as long as the legs of --load, 7 s"):
        spec.merged({"load": text, "duration": "5"}, target="mock:")
    for other in ({"rate": 5.0}, {"objective": "p99=20ms"}, {"peak": True}, {"ramp_up": 1.0}, {"graduated": True}):
        with pytest.raises(spec.SpecError, match="--load: already specifies when transactions start"):
            spec.build({"load": text, **other})


def test_a_file_has_the_legs_in_its_lines(tmp_path: Path) -> None:
    (tmp_path / "spike.load").write_text("# calm\n0s: 10\n5s: 90  # a spike\n6s: 10\n9s: end\n")
    read = specification({"target": "mock:", "load": str(tmp_path / "spike.load")}, None).spec
    assert read.load == "0s:10, 5s:90, 6s:10, 9s:end"
    with pytest.raises(spec.SpecError, match=r"--load: cannot read 'spike\.txt': No such file"):
        specification({"target": "mock:", "load": "spike.txt"}, None)


@pytest.mark.parametrize(
    ("after", "seconds"),
    [
        ([9, 9, 2, 2, 2, 2], 2), ([1, 1, 1, 9, 9, 9], 0), ([9, 2, 9, 2, 2, 9], math.inf), ([9, 9, 9, 9, 2, 2], 4),
        ([9, 9, math.nan, 2, 2, 2], 3),
    ],
)  # fmt: skip
def test_back_is_where_three_seconds_in_a_row_are_as_before_the_peak(after: list[float], seconds: float) -> None:
    p99 = np.array([1.0, 2.0, 1.5, 50.0, 50.0, *after])
    assert back_after(p99, slice(0, 3), slice(5, 11)) == seconds


def shown(found: tuple[LegResult, ...]) -> str:
    """What is told of them, in one line."""
    evaluation = Evaluation.without_rows(Series("", 1), {LegsResult: {"legs": {1: found}}})
    return " ".join(render_text(find_subject("legs").tell(evaluation)).split())


def course(seconds: int) -> Floats:
    """As many rows of a cycle: completed, failed, p50, p99 and the longest in ns."""
    return np.tile([100, 0, 2e6, 5e6, 6e6], (seconds, 1))


def test_a_stall_is_in_each_leg_that_it_lies_in() -> None:
    asked = legs("0s:100, 10s:400, 20s:100, 40s:end")
    cycle = course(40)
    cycle[12:27] = [[0, 0, math.nan, math.nan, 1e9 * (at + 1)] for at in range(15)]
    cycle[27, 3:] = 15e9
    found = tuple(read_leg(asked, at, [cycle]) for at in range(3))
    assert [(one.p50_ms, one.p99_ms, one.worst_p99_ms, one.longest_ms) for one in found] == [
        (2, 5, 5, 6), (2, 5, math.inf, 8_000), (2, 5, math.inf, 15_000),
    ]  # fmt: skip
    assert found[2].back_s == 8, "from second 28 on"
    text = shown(found)
    assert "recovered after 8 s (p99 at most 5 ms, as at 100/s before)" in text
    assert text.count("none completed") == 3, "two cells and the note"
    idle = course(40)
    idle[30:] = [0, 0, math.nan, math.nan, math.nan]
    assert read_leg(asked, 2, [idle]).worst_p99_ms == 5, "nothing was in flight"
    cycle[5] = [0, 0, math.nan, math.nan, 1e9]
    found = tuple(read_leg(asked, at, [cycle]) for at in range(3))
    text = shown(found)
    assert "recovered after 8 s (p99 as at 100/s before)" in text


def test_recovery_counts_from_the_beginning_of_a_leg_that_begins_within_a_second() -> None:
    asked = legs("0s:100, 10s:400, 20.5s:100, 40s:end")
    cycle = course(40)
    cycle[10:21, 3] = 50e6
    assert read_leg(asked, 2, [cycle]).back_s == 0.5, "second 20 has some of the peak"
    cycle[21:23, 3] = 50e6
    assert read_leg(asked, 2, [cycle]).back_s == 2.5


def test_a_spike_beyond_what_the_server_can_is_seen_until_its_queue_is_empty(tmp_path: Path) -> None:
    """A client whose seven messages take 0.3 ms each makes less than 476/s: 1,600 starts in a second leave more than
    1,100, and 100/s later on leave at most 376/s to work them off, which takes 3 s or longer."""
    load = "0s:100, 2s:1600, 3s:100, 10s:end"
    archive = dsbench.run("mock:?latency_us=300", load=load, arrival="constant", scales=(1,), cycles=2, clients=1,
                          out=tmp_path)  # fmt: skip
    calm, peak, after = archive.evaluate().of(LegsResult).legs[1]
    assert (calm.demanded, calm.like, after.like) == (100, 0, 1)
    assert 0 < calm.achieved <= 100, "no more than was demanded; what a slow machine ends later counts there"
    assert peak.achieved < 500
    assert after.back_s >= 3, "or never, on a machine that is slow"
    assert after.longest_ms > 1000, "counted from the intended start: half of what was due waited for a second or more"
    measured = make_choice("recovery").read(archive.evaluate()).value
    assert measured == after.back_s if math.isfinite(after.back_s) else math.isnan(measured)
    text = (archive.path / "report.html").read_text()
    assert '<section id="legs"' in text
    assert "in leg 2 of its load" in text
    assert list(audit(archive)) == []


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs Linux")
def test_sessions_that_idle_start_nothing_on_a_real_server(tmp_path: Path) -> None:
    archive = dsbench.run("private:postgresql", workload="select", load="0s:200, 2s:200x1, 4s:end", scales=(1,), cycles=1,
                          clients=4, trace=True, out=tmp_path)  # fmt: skip
    found = archive.evaluate().of(LegsResult).legs[1]
    assert all(one.achieved > 0 for one in found)
    trace = archive.table("trace").to_pylist()
    assert {row["client"] for row in trace if row["intended_ns"] < 1.9e9} == {0, 1, 2, 3}
    assert {row["client"] for row in trace if row["intended_ns"] > 2e9} == {0}
