"""A part of TPC-C's rows: the run says so, and nothing where all rows are there."""

from __future__ import annotations

from dsbench.analysis.tpcc import size_doubts
from dsbench.archive import RunRecord
from dsbench.evaluation.by_kind import special_doubts


def test_a_part_of_the_rows_is_a_doubt_and_all_of_them_are_none() -> None:
    assert size_doubts({}) == size_doubts({"size": "1"}) == size_doubts({"size": "1.0", "mix": "1,1,1,1,1"}) == []
    [doubt] = size_doubts({"size": "0.02"})
    assert (doubt.code, doubt.scale) == ("size", None)
    assert "2% of the rows of TPC-C" in doubt.message
    assert "not TPC-C-like" in doubt.message


def test_other_workloads_have_no_size() -> None:
    def found(spec: dict[str, object]) -> int:
        return len(special_doubts(RunRecord.of({"format": 2, "spec": spec})))

    settings = {"size": "0.5"}
    assert found({"workload": "tpcb", "workload_settings": settings}) == 0
    assert found({"workload": "tpcc", "workload_settings": settings}) == 1
    assert found({"workload": "tpcc"}) == 0
