"""Runs at several numbers of clients, with terminals and with a ramp-up."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dsbench import servers, workloads
from dsbench.archive import Archive
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute, resume
from dsbench.read import finish
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.spec import RunSpec, build
from fixtures.program import described
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough
from fixtures.told import kept


def spec_for(url: str, **values: object) -> RunSpec:
    small = {"scales": (1, 2), "cycles": 2, "duration": 0.3, "clients": [1, 2, 4], "seed": 7}
    return build({"target": {"url": url}, **small, **values})


def cycles_of(archive: Path) -> list[tuple[int, int, int]]:
    table = Archive.open(archive).table("cycles")
    return sorted({(r["scale"], r["cycle"], r["clients"]) for r in table.to_pylist()})


WHOLE = [(x, 2 * place + i, n) for x in (1, 2) for place, n in enumerate((1, 2, 4)) for i in (1, 2)]


@unless_stalled
def test_the_cycles_of_every_scale_are_run_at_each_number_of_threads(tmp_path: Path) -> None:
    outcome = execute(spec_for("mock:?latency_us=3000"), tmp_path, Silent())
    assert outcome.status == "complete"
    assert cycles_of(outcome.archive) == WHOLE
    archive = Archive.open(outcome.archive)
    for name in ("buckets", "seconds", "monitors", "sums"):
        assert set(archive.table(name).column("clients").to_pylist()) == {1, 2, 4}, name
    clients = archive.table("cycles").to_pylist()
    assert {row["clients"]: max(r["client"] for r in clients if r["clients"] == row["clients"]) for row in clients} == {
        1: 0, 2: 1, 4: 3,
    }  # fmt: skip
    entry = archive.run.workload
    assert entry == workloads.find("tpcb")
    assert entry is not None
    assert entry.remote is not None
    reached = [row["value"] for row in archive.table("sums").to_pylist() if row["name"] == entry.remote.sum]
    assert sum(row["remote"] for row in clients) == sum(reached) > 0
    found = evaluate(archive)
    assert [key.clients for key in found.series] == [1, 2, 4]
    assert found.clients == 4
    rates = [part.of(RateResult).scales[0].rate_median_tps for part in found.series.values()]
    assert rates == sorted(rates), "a mock that only waits serves more clients at once"
    assert all(rates.size == 2 for part in found.series.values() for rates in part.of(RateResult).cycle_rates.values())
    assert not [doubt for doubt in found.of(WarningsResult).doubts if doubt.code == "missing-cycles"]
    assert not any(part.of(RateResult).index.comparable for part in found.series.values()), "each finds what the others left"
    ceilings = {c.clients for c in archive.run.calibration.ceilings}
    assert [part.of(RateResult).cycle_numbers[1].tolist() for part in found.series.values()] == [[1, 2], [3, 4], [5, 6]]
    assert {1, 2} <= ceilings, "each number of clients has a ceiling of its own"
    document = json.loads(json.dumps(finish.write(outcome.archive).document))
    assert list(document["series"]) == ["1", "2", "4"]
    csv = (outcome.archive / "results.csv").read_text().splitlines()
    assert csv[0].endswith(",drop_s,clients")
    assert [line.rpartition(",")[2] for line in csv[1:]] == ["1", "1", "2", "2", "4", "4"]
    blocks = (outcome.archive / "results.txt").read_text().split("\n\n\n")
    assert [np.loadtxt(block.splitlines()).shape for block in blocks] == [(2, 23)] * 3


def test_a_run_is_resumed_at_the_number_of_threads_it_had_reached(tmp_path: Path) -> None:
    class Impatient(Silent):
        def message(self, text: str) -> None:
            if kept(text, 1, 3, clients=2):
                raise RunError("enough", "go on")

    outcome = execute(spec_for("mock:?latency_us=500"), tmp_path, Impatient())
    assert outcome.status == "failed"
    assert cycles_of(outcome.archive) == WHOLE[:3]
    resumed = resume(outcome.archive, None, Silent())
    assert resumed.status == "complete"
    assert cycles_of(outcome.archive) == WHOLE
    begun = [(s["scale"], s["first_cycle"]) for s in described(outcome.archive)["segments"]]
    assert begun == [(1, 1), (1, 4), (2, 1)]
    resumed_at = [d.message for d in evaluate(Archive.open(outcome.archive)).of(WarningsResult).doubts if d.code == "resumed"]
    assert len(resumed_at) == 1, "only the cycles with two clients come from two populations"
    assert resumed_at[0].startswith("2 clients: ")


@pytest.mark.parametrize("url", mostly_thorough(["private:sqlite", "private:postgresql"], "private:postgresql"))
def test_what_the_ramp_up_committed_is_in_the_database_and_nowhere_else(tmp_path: Path, url: str) -> None:
    spec = spec_for(url, clients=3, ramp_up=0.5, scales=(2,), cycles=1, trace=True)
    outcome = execute(spec, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ()), "the check knows of the early ones"
    archive = Archive.open(outcome.archive)
    early, committed, late, remote, count = (
        np.asarray(archive.table(table).column(name)).sum()
        for table, name in (*(("cycles", one) for one in ("commits_before_window", "committed", "commits_after_window", "remote")), ("buckets", "count"))
    )
    assert early > 0
    assert committed == count
    ended = np.asarray(archive.table("trace").column("ended_ns"))
    assert ended.min() >= 0
    share = evaluate(archive).of(ErrorsResult).remote_share[2]
    assert share == pytest.approx(remote / (early + committed + late)), "both are counted over the same transactions"


def test_a_workload_without_a_pace_has_no_terminals(postgresql: servers.Server, tmp_path: Path) -> None:
    spec = spec_for(postgresql.url, clients=2, scales=(1,), cycles=1, pace="terminals")
    with pytest.raises(RunError, match="no keying and thinking times") as refused:
        execute(spec, tmp_path, Silent())
    assert refused.value.usage
    assert list(tmp_path.iterdir()) == []
