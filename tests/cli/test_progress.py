"""What the progress line says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dsbench.cli.progress import Progress
from dsbench.measure.moments import (
    Moment,
    TimeLeft,
    describe_briefly,
    describe_moment,
    draw_rates,
    format_time,
    shorten,
)
from dsbench.spec import build


def test_a_line_says_scale_cycle_rate_and_failures() -> None:
    moment = Moment(5, 3, 3, "cycle", 2, 10, done=4000, failed=7, elapsed_s=2.0)
    assert describe_moment(moment) == "scale 5 (3/3), cycle 2/10: 2 s, 2,000 tps, 7 failed"
    seen = Moment(5, 3, 3, "cycle", 2, 10, done=4000, elapsed_s=2.0, times=[(0.001, 0.2)], cpus=(0.25, 1.5))
    assert describe_moment(seen) == (
        "scale 5 (3/3), cycle 2/10: 2 s, 2,000 tps, p50 1 ms, p99 200 ms, 0 failed, CPUs 1.5 (own 0.2)"
    )
    nothing_ended = Moment(5, 3, 3, "cycle", 2, 10, done=4000, elapsed_s=2.0, times=[(0.001, 0.2), (0.0, 0.0)])
    assert describe_moment(nothing_ended) == "scale 5 (3/3), cycle 2/10: 2 s, 2,000 tps, 0 failed"
    assert describe_moment(Moment(5, 3, 3, "populate", done=1, total=4)) == "scale 5 (3/3): populate 25%"
    assert describe_moment(Moment(5, 3, 3, "clean", 2, 10, clients=1)) == "scale 5 (3/3), 1 client, cycle 2/10: clean"
    assert "1 of 4 clients" in describe_moment(Moment(5, 3, 3, "connect", 1, 10, done=1, total=4))


def test_a_closed_loop_before_a_search_has_no_number() -> None:
    assert describe_moment(Moment(5, 3, 3, "cycle", 0, 42, done=50, elapsed_s=1.0)).startswith("scale 5 (3/3), before the cycles: 1 s")


def test_a_line_that_would_say_the_same_is_not_printed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("dsbench.cli.progress.time.monotonic", lambda: now[0])
    progress = Progress(build({"scales": (1,)}))
    for done in (0, 0, 1, 1, 2):
        progress.moment(Moment(1, 1, 1, "nodes", done=done, total=2))
        now[0] += 10
    assert [line[:6] for line in capsys.readouterr().err.splitlines()] == ["0 of 2", "1 of 2", "2 of 2"]


def test_a_log_has_no_line_of_a_second_that_has_not_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr("dsbench.cli.progress.time.monotonic", lambda: now[0])
    progress = Progress(build({"scales": (1,)}))
    for elapsed_s, done in ((0.2, 10), (0.4, 30), (1.2, 60), (-3.0, 0)):
        progress.moment(Moment(1, 1, 1, "cycle", 0, 2, done=done, elapsed_s=elapsed_s))
        now[0] += 10
    told = [line.partition(", before the cycles: ")[2] for line in capsys.readouterr().err.splitlines()]
    assert [line.partition(",")[0] for line in told] == ["1 s", "ramp-up"]


def test_the_course_of_a_cycle_is_as_wide_as_there_is_room() -> None:
    assert draw_rates([0.0, 50.0, 100.0], 8) == "▁▅█"
    assert draw_rates([9999.0, 50.0, 100.0], 2) == "▅█"
    assert draw_rates([], 8) == draw_rates([0.0], 8) == ""


def test_a_terminal_has_it_all_in_one_line() -> None:
    moment = Moment(5, 3, 3, "cycle", 2, 10, done=4000, elapsed_s=2.0, times=[(0.001, 0.2)], seconds=[1e3, 2e3] * 30)
    line = describe_briefly(moment, 42.0, 79)
    assert line == "scale 5, cycle 2/10:  2,000 tps  p99 200 ms  " + "█" + "▅█" * 11 + "  42 s left"
    assert len(line) == 79
    bars = [describe_briefly(moment, 42.0, width).count("█") for width in (200, 79, 70, 60)]
    assert bars == [16, 12, 7, 2]
    assert describe_briefly(moment, 0.0, 40) == "scale 5, cycle 2/10:  2,000 tps  p99 20…"
    wide = replace(moment, stage="qr100", clients=1, failed=7)
    assert describe_briefly(wide, 0.0, 60) == "scale 5, qr100, 1 client, cycle 2/10:  2,000 tps  p99 200 m…"


def test_a_line_that_is_too_long_loses_its_end() -> None:
    line = "scale 1, cycle 1: 4,528 tps, 0 failed; CPU 78% (system 49%, waiting 13%), read 0 MB/s, wrote 127 MB/s"
    assert shorten(line, 120) == line
    assert shorten(line, 79) == "scale 1, cycle 1: 4,528 tps, 0 failed; CPU 78%, read 0 MB/s, wrote 127 MB/s"
    assert shorten(line, 50) == "scale 1, cycle 1: 4,528 tps, 0 failed; CPU 78%"
    assert shorten(line, 30) == "scale 1, cycle 1: 4,528 tps"
    assert shorten(line, 20) == "scale 1, cycle 1: 4…"


@pytest.mark.parametrize(("seconds", "words"), [(42, "42 s"), (600, "10 min"), (7800, "2 h 10 min")])
def test_a_length_of_time_in_words(seconds: float, words: str) -> None:
    assert format_time(seconds) == words


def test_the_time_left_counts_the_cycles_that_are_left() -> None:
    left = TimeLeft(build({"scales": (1, 2), "cycles": 3, "duration": 10.0}))
    at_start = left.seconds(Moment(1, 1, 2, "cycle", 1, 3))
    assert at_start == pytest.approx(6 * 10.3, rel=0.01)
    assert left.seconds(Moment(1, 1, 2, "cycle", 2, 3, elapsed_s=5.0)) == pytest.approx(5 * 10.3 - 5, rel=0.01)
    assert left.seconds(Moment(2, 2, 2, "check")) == 0


def test_the_time_left_knows_cleaning_and_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dsbench.measure.moments.time.monotonic", lambda: now[0])
    left = TimeLeft(build({"scales": (1, 2), "cycles": 2, "duration": 10.0}))
    for seconds, moment in [
        (0, Moment(1, 1, 2, "populate")), (3, Moment(1, 1, 2, "clean", 1, 2)),
        (15, Moment(1, 1, 2, "clean", 2, 2)), (15, Moment(1, 1, 2, "check")),
    ]:  # fmt: skip
        now[0] += seconds
        found = left.seconds(moment)
    # Of scale 2: two cycles, each with the five seconds beside its load, and twice the population of scale 1.
    assert found == pytest.approx(2 * 15 + 2 * 3)
    now[0] += 4
    assert left.seconds(Moment(2, 2, 2, "populate")) == pytest.approx(2 * 15 + 2 * 4)


def test_what_comes_before_the_cycles_takes_as_long_at_every_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("dsbench.measure.moments.time.monotonic", lambda: now[0])
    left = TimeLeft(build({"scales": (1, 100), "cycles": 2, "duration": 10.0}))
    for seconds, moment in [
        (0, Moment(1, 1, 2, "populate")), (1, Moment(1, 1, 2, "connect", 0, 2)), (2, Moment(1, 1, 2, "cycle", 0, 2)),
        (18, Moment(1, 1, 2, "connect", 1, 2)),
    ]:  # fmt: skip
        now[0] += seconds
        found = left.seconds(moment)
    assert found == pytest.approx(2 * 10.3 + 20 + 2 * 10.3 + 100 * 1)
