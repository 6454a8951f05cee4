"""What the browser tells of the cycles of a run that goes on."""

from __future__ import annotations

from pathlib import Path

from dsbench.archive import RunRecord, Writer
from dsbench.archive.columns import ONLY_STAGE
from dsbench.web.course import Course
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, run_json


def test_cpus_are_those_of_all_machines_and_not_their_mean(tmp_path: Path) -> None:
    writer = Writer.create(tmp_path, "going")
    writer.describe(RunRecord.of(run_json({"nodes": 2})))
    key = {"scale": 1, "stage": ONLY_STAGE, "cycle": 1}
    used = {"local": (S, 9 * S, 10 * S), "a": (8 * S, None, 2 * S), "b": (6 * S, None, 4 * S)}
    for node, (run_ns, server_ns, idle_ns) in used.items():
        row = {**key, "node": node, "span_ns": 10 * S, "run_ns": run_ns, "server_ns": server_ns, "idle_ns": idle_ns}
        writer.rows("machine", f"one_{node}", [row])
        times = [MS] * (0 if node == "local" else 50)
        writer.rows("buckets", f"one_{node}", [{**key, **row} for row in bucket_rows(1, 1, times, node=node)])
    writer.rows("groups", "one", [group_row(1, ONLY_STAGE, 1, 10 * S)])
    writer.rows("cycles", "one", [{**key, **cycle_row(1, 1, [MS] * 50, node=node)} for node in ("a", "b")])
    course = Course()
    assert course.look(writer.path)
    (row,) = course.rows
    told = dict(zip(course.heads, row, strict=True))
    assert (told["tps"], told["client CPUs"], told["server CPUs"], told["idle CPUs"]) == ("10", "1.50", "0.90", "1.60")
