"""Where the rate falls most, at the median and at each confidence level."""

from __future__ import annotations

from pathlib import Path

from dsbench.read import tables
from dsbench.read.evaluation import evaluate
from dsbench.read.page import page
from dsbench.read.subjects.rate import RateResult
from fixtures.archives import MS, bucket_rows, cycle_row, phase_rows, run_json, write
from fixtures.told import summary_text

SLOW = {1: 0.0, 2: 0.0, 4: 0.0, 8: 0.05, 16: 0.3, 32: 0.9}
"""By scale: the share of transactions that wait for storage, a hundred times as long as the others."""


def test_the_levels_fall_one_after_the_other(tmp_path: Path) -> None:
    times = {}
    for scale, share in SLOW.items():
        count = round(1000 / (1 + 99 * share))
        slow = round(count * share)
        times[scale] = [MS] * (count - slow) + [100 * MS] * slow
    rows = {
        "cycles": [cycle_row(scale, 1, some) for scale, some in times.items()],
        "buckets": [row for scale, some in times.items() for row in bucket_rows(scale, 1, some)],
        "phases": [row for scale in SLOW for row in phase_rows(scale, foreign_key=1, size_bytes=16 * MS * scale)],
    }
    spec = {"scales": list(SLOW), "cycles": 1, "duration": 1.0, "levels": [0.5, 0.99]}
    archive = write(tmp_path, run_json(spec), rows)
    found = evaluate(archive)
    said = summary_text(found)
    assert "the rate falls most between scale 4 and 8 (0.064 to 0.128 GB): from 1,000 to 168 tps" in said
    assert "at confidence level 50% between scale 16 and 32 (0.256 to 0.512 GB): " in said
    assert "at confidence level 99% between scale 4 and 8 (0.064 to 0.128 GB): " in said
    assert {level: (fall.low, fall.high) for level, fall in found.of(RateResult).falls_at.items()} == {0.5: (16, 32), 0.99: (4, 8)}
    assert tables.to_json(found)["falls_at"]["0.5"]["low"] == 16
    assert "At confidence level 50% between scale 16 and 32" in page(found, archive.run)
