"""The lag of standbys: what is told of rows of the table ``monitors``, and of a real standby."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import dsbench
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.replication import ReplicationResult


def test_a_standby_that_applies_late_is_behind_by_that(tmp_path: Path) -> None:
    target = "private:postgresql?standbys=1&recovery_min_apply_delay=200ms"
    archive = dsbench.run(target, workload="tpcb", scales=(1,), cycles=1, duration=4.0, clients=2, out=tmp_path)
    evaluation = evaluate(archive)
    (standby,) = evaluation.of(ReplicationResult).replication[1]
    assert standby.looks >= 3
    assert standby.lag_median_ns > 150e6, "commits are applied 200 ms after they were made"
    assert standby.lag_max_ns >= standby.lag_median_ns
    assert standby.behind_max > 0
    assert len(standby.seconds) == standby.looks
    words = [str(block) for block in find_subject("replication").tell(evaluation)]
    assert any(standby.standby in word for word in words)


@pytest.mark.parametrize(
    ("target", "more"),
    [
        pytest.param("private:mariadb?replicas=2", {"workload": "tpcb"}, id="replicas"),
        pytest.param("private:mariadb?replicas=1", {"workload": "insert", "reads": "standby"}, id="reads"),
    ],
)
def test_replicas_of_mariadb_are_asked_how_far_they_are(target: str, more: dict[str, str], tmp_path: Path) -> None:
    archive = dsbench.run(target, scales=(1,), cycles=1, duration=4.0, clients=2, out=tmp_path, **more)
    evaluation = evaluate(archive)
    found = evaluation.of(ReplicationResult).replication[1]
    assert len(found) == int(target[-1])
    for one in found:
        assert one.looks >= 3
        assert one.behind_max >= one.behind_median >= 0
        assert 0 <= one.lag_median_ns <= one.lag_max_ns
    words = [str(block) for block in find_subject("replication").tell(evaluation)]
    assert any("the binary log" in word for word in words)


@pytest.mark.parametrize(("late", "p99_ns"), [([900e6] * 5, 1e6), ([2e6] + [900e6] * 5, 2e6)])
def test_the_late_lag_is_the_nearest_rank_and_needs_five_looks_beyond(late: list[float], p99_ns: float) -> None:
    def p99_of(lags: list[float]) -> float:
        rows = [
            {"scale": 1, "cycle": 1, "monitor": "replication", "metric": "s", "at_ns": at * 10**9, "unit": unit, "value": value}
            for at, lag in enumerate(lags) for unit, value in (("ns", lag), ("bytes", 8.0))
        ]  # fmt: skip
        table = pa.Table.from_pylist(rows)
        evaluation: Any = SimpleNamespace(rows=SimpleNamespace(of_cycles={"monitors": table}.get), series={})
        ((standby,),) = ReplicationResult(evaluation).replication.values()
        assert standby.looks == len(lags)
        return standby.lag_p99_ns

    assert p99_of([1e6] * (500 - len(late)) + late) == p99_ns
    assert math.isnan(p99_of([1e6] * (499 - len(late)) + late))


def test_a_server_without_standbys_says_so(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", scales=(1,), cycles=1, duration=0.2, clients=1, out=tmp_path)
    assert evaluate(archive).of(ReplicationResult).replication == {}
