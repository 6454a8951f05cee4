"""What a study measures can be chosen: every measure, a stage, a group of clients; hand-made archives, known values."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.read.choice import choose, read_values
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import measures
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, phase_rows, run_json, write


def _samples(scale: int, cycle: int, monitor: str, metric: str, unit: str, gained: float) -> list[dict[str, object]]:
    key = {"scale": scale, "stage": "load", "cycle": cycle, "node": "local", "threads": 1, "monitor": monitor}
    return [{**key, "metric": metric, "unit": f"{unit} total", "at_ns": at, "value": value}
            for at, value in ((0, 5.0), (2 * S, 5.0 + gained))]  # fmt: skip


def _whole(folder: Path) -> Archive:
    """Scales 1 and 10 with two cycles of 2 s; 100 and 200 transactions at scale 1, a tenth of that at scale 10."""
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in ("cycles", "groups", "buckets", "monitors", "phases")}
    for scale, cycle, count in ((1, 1, 100), (1, 2, 200), (10, 1, 10), (10, 2, 20)):
        tables["cycles"].append(cycle_row(scale, cycle, [MS] * (count - 1) + [100 * MS], failed=count // 4))
        tables["groups"].append(group_row(scale, "load", cycle, 2 * S))
        tables["buckets"] += bucket_rows(scale, cycle, [MS] * (count - 1) + [100 * MS])
        if scale == 1:
            for monitor, metric, unit, gained in (
                ("os", "cpu_user", "s", 1.0), ("os", "cpu_system", "s", 0.5), ("os", "cpu_iowait", "s", 0.5), ("os", "cpu_idle", "s", 2.0),
                ("device", "read_bytes", "bytes", 3e5), ("device", "write_bytes", "bytes", 6e5),
                ("network", "loopback_sent_bytes", "bytes", 9e4), ("network", "loopback_received_bytes", "bytes", 9e4),
                ("server", "blocks_hit", "blocks", 900), ("server", "blocks_read", "blocks", 100),
            ):  # fmt: skip
                tables["monitors"] += _samples(scale, cycle, monitor, metric, unit, gained)
        tables["phases"] += phase_rows(scale, populate=3 * S, primary_key=2 * S, foreign_key=S) if cycle == 1 else []
    return write(folder, run_json({"target": {"url": "mock:"}, "scales": [1, 10], "cycles": 2, "duration": 2.0}), tables)


def test_every_measure_has_the_value_that_the_rows_say(tmp_path: Path) -> None:
    (part,) = choose(evaluate(_whole(tmp_path)))
    found = {name: dict(read_values(one, part)) for name, one in measures().items()}
    at_1 = {
        "rate": 75, "tps": 75, "failures": 20, "cpu": 37.5, "iowait": 12.5, "cpu-per-transaction": 1e4,
        "kb-read": 2, "kb-written": 4, "kb-per-transaction": 6, "mb-read": 0.15, "mb-written": 0.3, "gb-read": 6e-4,
        "gb-written": 1.2e-3, "net-per-transaction": 600, "net": 0.045, "hit-ratio": 90, "load-time": 6, "populate": 3,
        "primary-keys": 2, "foreign-keys": 1, "p50": 1, "p90": 1, "p95": 1, "qps": 75,
    }  # fmt: skip
    for name, value in at_1.items():
        assert found[name][1] == pytest.approx(value, rel=1e-3), name
    assert found["max"][1] == pytest.approx(100, rel=1e-3)
    # eq. 12: half of the area below lg T over lg X, from 75 tps at 1 to 7.5 at 10.
    assert found["dsi"] == {0: pytest.approx((math.log10(75) + math.log10(7.5)) / 2 / 2)}
    assert found["hit-ratio"].get(10, math.nan) != 0, "what is not known is not 0"
    assert found["nopm"] == {}
