"""A part of TPC-C's rows: the run says so, and nothing where all rows are there."""

from __future__ import annotations

from dsbench.read.subjects.kinds import special_doubts
from dsbench.stats.tpcc import home_doubts, size_doubts
from fixtures import sample


def test_a_part_of_the_rows_is_a_doubt_and_all_of_them_are_none() -> None:
    assert size_doubts({}) == size_doubts({"size": "1"}) == size_doubts({"size": "1.0", "mix": "1,1,1,1,1"}) == []
    [doubt] = size_doubts({"size": "0.02"})
    assert (doubt.code, doubt.scale) == ("size", None)
    assert "2% of the rows of TPC-C" in doubt.message
    assert "not TPC-C-like" in doubt.message


def test_other_workloads_have_no_size() -> None:
    def found(spec: dict[str, object]) -> int:
        return len(special_doubts(sample.run(spec=spec)))

    settings = {"size": "0.5"}
    assert found({"workload": "tpcb", "workload_settings": settings}) == 0
    even = {"workload": "tpcc", "scales": [2, 4], "clients": 8}
    assert found({**even, "workload_settings": settings}) == 1
    assert found(even) == 0


def test_homes_that_clients_share_unevenly_are_told_with_their_scales() -> None:
    def found(clients: object, **settings: str) -> list[str]:
        spec = {"workload": "tpcc", "scales": [1, 2, 5], "clients": clients, "workload_settings": settings}
        return [f"{doubt.code}: {doubt.message}" for doubt in special_doubts(sample.run(spec=spec))]

    assert found(10) == []
    [uneven] = found(8)
    assert uneven.startswith("homes: the number of clients is not a multiple")
    assert uneven.endswith("at scale 5")
    [shared] = found([10, 20])
    assert "more than ten clients" in shared
    assert shared.endswith("at scale 1")
    assert found(8, affinity="off") == []
    assert home_doubts({}, {4: [3], 2: [20]}) == [], "fewer clients than warehouses share these out evenly"
