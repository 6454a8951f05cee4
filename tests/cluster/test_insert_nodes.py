"""The Insert Benchmark from two nodes: each has clients of all groups, and the tables hold what both wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsbench import servers
from fixtures.nodes import Bed, ended


@pytest.mark.parametrize("tables", ["each", "shared"])
def test_two_nodes_run_stages_of_every_form_and_every_condition_holds(
    tables: str, postgresql: servers.Server, tmp_path: Path
) -> None:
    # Each cycle of two nodes takes seconds: the queries beside one rate are of the form of all.
    sizes = [word for one in ("rows=1000", "writes=500", "rates=1000", f"tables={tables}") for word in ("--set", one)]
    words = ["--workload", "insert", "--threads", "2", "--scales", "1", "--duration", "0.3", *sizes]
    with Bed(tmp_path, 2) as bed:
        nodes = [bed.node(number, "same") for number in (1, 2)]
        ended(bed.run(postgresql.url, *words), 240)
        for node in nodes:
            assert "the run is complete" in ended(node)
        archive = bed.archive()
    (checks,) = archive.run.checks.values()
    assert len(checks) == 6 + 9 + 9
    assert all(check.holds for check in checks), checks
    rows = [row for row in archive.table("cycles").to_pylist() if (row["stage"], row["group"]) == ("l.i0", "insert")]
    assert {row["node"] for row in rows} == {"same", "same-2"}
    assert sum(row["rows"] for row in rows) == 4 * 1000
    done = {
        group: sum(row["rows"] for row in archive.table("cycles").to_pylist() if (row["stage"], row["group"]) == ("l.i1", group))
        for group in ("insert", "delete")
    }  # fmt: skip
    assert done == {"insert": 4 * 400, "delete": 4 * 400}
