"""The workload files that ship on each product: populated, their conditions hold, and each of them can fail."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from dsbench import servers
from dsbench.generator import Bench, Target
from dsbench.servers.firebird import binaries
from dsbench.spec import Target as TargetSpec
from dsbench.spec import examples, merged

YCSB = {
    "fields are whole": "UPDATE {}usertable SET field0 = 'short' WHERE ycsb_key = 1",
    "records": "DELETE FROM {}usertable WHERE ycsb_key = 2",
}
SYSBENCH = {
    "columns are filled": "UPDATE {}sbtest1 SET pad = '' WHERE id = 1",
    "no other rows": "INSERT INTO {}sbtest1 (id, k, c, pad) VALUES (0, 1, 'c', 'p')",
    "rows are those of the load": "DELETE FROM {}sbtest1 WHERE id = 2",
}
DAMAGE = {
    "orders": {
        "orders = loaded + committed":
            "INSERT INTO {}orders (id, customer_id, placed, total) VALUES (900000, 1, CURRENT_TIMESTAMP, 0)",
        "totals are those of the lines": "UPDATE {}order_line SET amount = 501 WHERE order_id = 1 AND line = 1",
        "owed = ordered - paid": "UPDATE {}customer SET owed = 1 WHERE id = 1",
    },
    "smallbank": {
        "money = loaded + sum of the clients": "UPDATE {}saving SET balance = balance - 1 WHERE custid = 1",
        "every customer has both accounts": "DELETE FROM {}checking WHERE custid = 2",
    },
}  # fmt: skip
"""What breaks each condition, none of which an earlier damage broke; ``{}`` stands before the names of tables."""
SMALL = {"smallbank": ["customers=50", "hot=5"], "ycsb": ["records=20"], "sysbench": ["table_size=50"]}

Damage = Callable[[str], object]


@contextmanager
def served(product: str, folder: Path) -> Iterator[tuple[str, Callable[[Target], Damage]]]:
    """The URL of a server of its own, and what changes rows there."""
    if product == "sqlite":
        yield f"sqlite:///{folder / 'run.db'}", lambda target: lambda sql: target.fetch(sql.format(""))
        return
    version = {"firebird": "3", "mysql": "8.0"}.get(product)
    with servers.start(TargetSpec(url=f"private:{product}", version=version), 10) as server:
        if product == "firebird":
            yield server.url, lambda _target: lambda sql: by_isql(server.url, sql.format(""))
        else:
            yield server.url, lambda target: lambda sql: target.fetch(sql.format("dsbench."))


def by_isql(url: str, sql: str) -> None:
    """Firebird's administrative session only reads."""
    parts = urlsplit(url)
    login = f"{parts.hostname}/{parts.port}:{unquote(parts.path.removeprefix('/'))}"
    who = ["-user", parts.username or "", "-password", unquote(parts.password or "")]
    done = subprocess.run(
        [str(binaries.servers()[0].isql), "-q", "-b", *who, login], input=f"{sql};\nCOMMIT;\n", capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def found(bench: Bench, *, holds: bool) -> set[str]:
    none = [0] * len(bench.kinds)
    conditions = bench.check((none, none, []), lambda _done, _total: None).conditions
    return {condition.name for condition in conditions if condition.holds == holds}


PRODUCTS = [
    "postgresql", "mariadb", pytest.param("mysql", marks=pytest.mark.needs_mysql), "firebird", "sqlite",
]  # fmt: skip


@pytest.mark.parametrize("product", PRODUCTS)
def test_each_condition_of_what_ships_can_fail(product: str, tmp_path: Path) -> None:
    with served(product, tmp_path) as (url, damaging):
        for name in examples():
            asked = merged({"workload": name, "define": SMALL.get(name.partition("-")[0], [])}).spec
            target = Target(url)
            target.create("test")
            bench = Bench(target, asked.workload, 1, None, asked.workload_settings)
            for phase in ("create", "populate", "primary_key", "foreign_key", "clean"):
                if phase == "populate":
                    bench.populate(False, 2, lambda _done, _total: None)
                else:
                    bench.phase(phase, lambda _done, _total: None)
            assert found(bench, holds=False) == set(), name
            damage, family = damaging(target), YCSB if name.startswith("ycsb") else SYSBENCH
            for condition, sql in DAMAGE.get(name, family).items():
                before = found(bench, holds=False)
                damage(sql)
                newly = found(bench, holds=False) - before
                assert any(one.startswith(condition) for one in newly), (name, condition, newly)
            assert found(bench, holds=True) == set(), name
            target.drop()
            target.close()
