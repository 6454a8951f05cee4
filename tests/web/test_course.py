"""What the browser tells of the cycles of a run that goes on."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dsbench.archive import RunRecord, Writer
from dsbench.archive.columns import ONLY_STAGE
from dsbench.web.course import Course, cpus_of
from dsbench.web.pictures import Line, draw_lines, draw_sparkline, thin
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, run_json


def test_cpus_are_those_of_all_machines_and_not_their_mean(tmp_path: Path) -> None:
    writer = Writer.create(tmp_path, "going")
    writer.describe(RunRecord.of(run_json({"nodes": 2})))
    key = {"scale": 1, "stage": ONLY_STAGE, "cycle": 1, "group": "all", "clients": 1}
    used = {"local": (S, 9 * S, 10 * S), "a": (8 * S, None, 2 * S), "b": (6 * S, None, 4 * S)}
    for node, (run_ns, server_ns, idle_ns) in used.items():
        rest = dict.fromkeys(("kernel_ns", "others_ns", "unseen_ns", "stolen_ns"), 0)
        row = {**key, **rest, "node": node, "span_ns": 10 * S, "run_ns": run_ns, "server_ns": server_ns, "idle_ns": idle_ns}
        writer.rows("machine", f"one_{node}", [row])
        times = [MS] * (0 if node == "local" else 50)
        writer.rows("buckets", f"one_{node}", [{**key, **row} for row in bucket_rows(1, 1, times, node=node)])
    writer.rows("groups", "one", [group_row(1, ONLY_STAGE, 1, 10 * S)])
    writer.rows("cycles", "one", [{**key, **cycle_row(1, 1, [MS] * 50, node=node)} for node in ("a", "b")])
    writer.rows("seconds", "one", [{**key, "node": "a", "second": second, "count": 10 * (second + 1)} for second in range(10)])
    course = Course()
    assert course.look(writer.path)
    assert not course.look(writer.path), "each part is read once"
    (row,) = course.rows
    told = dict(zip(course.heads, row, strict=True))
    assert (told["tps"], told["client CPUs"], told["server CPUs"], told["idle CPUs"]) == ("10", "1.50", "0.90", "1.60")
    (cycle,) = course.cycles
    assert cycle.seconds == [10.0 * (second + 1) for second in range(10)]
    assert dict(cpus_of(cycle))["server"] == pytest.approx(0.9)
    rates = course.rates([7.0, 8.0])
    assert "scale 1<" in rates
    assert "12 s of load" in rates
    assert ">8 tps<" in rates
    assert "p99 3" in course.times([(0.001, 0.002), (0.002, 0.003)], 2)


def test_a_long_course_is_drawn_by_some_hundred_points() -> None:
    points = [(float(at), float(at % 10)) for at in range(10_000)]
    assert len(thin(points)) <= 600
    assert len(thin([*points, (10_000.0, math.nan)])) <= 601
    assert math.isnan(thin([*points, (10_000.0, math.nan)])[-1][1])
    assert thin(points[:5]) == points[:5]


@pytest.mark.parametrize(("curve", "points"), [([], 0), ([(1, 0.0)], 0), ([(5, 10.0)], 1), ([(1, 10.0), (10, 1.0)], 2)])
def test_a_sparkline_has_a_point_for_each_rate(curve: list[tuple[int, float]], points: int) -> None:
    drawn = draw_sparkline(curve)
    assert drawn.count("<circle") == points
    assert "nan" not in drawn


def test_a_second_that_stands_alone_is_seen() -> None:
    drawn = draw_lines([Line("rate", [(1.0, 5.0), (math.nan, math.nan), (2.0, 7.0), (3.0, 6.0)])], "Rate", "tps", {}, 3.0)
    assert drawn.count("<circle") == 1


def test_a_cycle_that_is_sealed_before_it_was_seen_is_shown_in_the_end(tmp_path: Path) -> None:
    writer = Writer.create(tmp_path, "going")
    writer.describe(RunRecord.of(run_json({})))
    course = Course()
    for number in (1, 2):
        writer.rows("groups", f"cycle-{number}", [group_row(1, ONLY_STAGE, number, S)])
        key = {"stage": ONLY_STAGE, "group": "all", "clients": 1}
        writer.rows("cycles", f"cycle-{number}", [{**cycle_row(1, number, [MS] * 50 * number), **key}])
        if number == 1:
            assert course.look(writer.path)
    writer.seal()
    assert course.look(writer.path, whole=True)
    assert [(one.number, one.rate_tps) for one in course.cycles] == [(1, 50.0), (2, 100.0)]
    assert not course.look(writer.path, whole=True)
