"""What a population leaves on PostgreSQL before the keys are added."""

from __future__ import annotations

import pytest

from dsbench import servers
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.spec import Target
from fixtures.thorough import mostly_thorough

_TABLES = {
    "tpcb": ("account", "branch", "teller"),
    "select": ("account", "branch", "teller"),
    "tpcc": (
        "customer", "district", "history", "item", "new_order", "order_line", "orders", "stock", "warehouse",
    ),
}  # fmt: skip

_PAGES = (
    "SELECT relname, relpages, relallvisible FROM pg_class"
    " WHERE relnamespace = 'dsbench'::regnamespace AND relkind = 'r' AND relpages > 0 ORDER BY relname"
)


@pytest.mark.parametrize("workload", mostly_thorough(_TABLES, "tpcb"))
def test_all_parts_are_settled_before_the_keys_read_them(workload: str) -> None:
    with servers.start(Target(url="private:postgresql", settings={"autovacuum": "off"}), 10) as server:
        target = TargetDatabase(server.url)
        target.create("test")
        bench = Bench(target, workload, 1, None)
        bench.phase("create", _unseen)
        seen: list[tuple[int, int]] = []
        bench.populate(False, 3, lambda done, total: seen.append((done, total)))
        found = {str(row["relname"]): row for row in target.fetch(_PAGES)}
        # What no vacuum has seen counts as 0 pages: every populated table is here.
        assert tuple(name for name in found if name != "load_constants") == _TABLES[workload]
        # A vacuum passes over a page that the server's writer holds at that moment: there are few of these.
        pages, visible = (sum(int(row[name] or 0) for row in found.values()) for name in ("relpages", "relallvisible"))
        assert 0.9 * pages < visible <= pages
        assert all(total == bench.rows and done <= total for done, total in seen)
        target.drop()
        target.close()


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""
