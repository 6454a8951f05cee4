"""The lag of standbys: what is told of rows of the table ``monitors``, and of a real standby."""

from __future__ import annotations

from pathlib import Path

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


def test_a_server_without_standbys_says_so(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", scales=(1,), cycles=1, duration=0.2, clients=1, out=tmp_path)
    assert evaluate(archive).of(ReplicationResult).replication == {}
