"""Faults planted by SQL between a run and its check, in every workload and on each product.

``pytest tests/run/test_planted.py -s`` prints which of them are found. What cannot be found is in docs/check.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dsbench.archive.conditions import State
from dsbench.measure.loaders import Bench, CoreError, Counted, PhaseResult, TargetDatabase
from dsbench.measure.loaders.cycle import Watch
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.spec import RunSpec, merged
from fixtures.damage import Damage, served
from fixtures.thorough import mostly_thorough

PRODUCTS = ["postgresql", "mariadb", "firebird", "sqlite"]


@dataclass(frozen=True)
class Fault:
    """Something that is wrong."""

    what: str
    sql: str | dict[str, str]
    """The same for all products, or by product, of which some may lack it."""
    found: bool = True

    def on(self, product: str) -> str:
        """The statements for ``product``; empty where it has no such fault."""
        return self.sql if isinstance(self.sql, str) else self.sql.get(product, "")


def dropped(table: str, index: str) -> dict[str, str]:
    plain = f"DROP INDEX {index}"
    by_table = f"SET foreign_key_checks = 0;\nDROP INDEX {index} ON {{}}{table}"
    return {"postgresql": f"DROP INDEX {{}}{index}", "mariadb": by_table, "firebird": plain, "sqlite": plain}


def remade(table: str, index: str, columns: str) -> dict[str, str]:
    made = f"CREATE INDEX {index} ON {{}}{table} ({columns})"
    return {product: f"{sql};\n{made}" for product, sql in dropped(table, index).items()}


def partial(table: str, index: str, columns: str, where: str) -> dict[str, str]:
    plain = remade(table, index, columns)
    return {product: f"{plain[product]} WHERE {where}" for product in ("postgresql", "sqlite")}


def unusable(table: str, index: str) -> dict[str, str]:
    return {
        "postgresql": f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'dsbench.{index}'::regclass",
        "mariadb": f"ALTER TABLE {{}}{table} ALTER INDEX {index} IGNORED",
        "firebird": f"ALTER INDEX {index} INACTIVE",
    }


def without_key(table: str, name: str = "") -> dict[str, str]:
    return {
        "postgresql": f"ALTER TABLE {{}}{table} DROP CONSTRAINT {table}_pkey CASCADE",
        "mariadb": f"SET foreign_key_checks = 0;\nALTER TABLE {{}}{table} DROP PRIMARY KEY",
    } | ({"firebird": f"ALTER TABLE {table} DROP CONSTRAINT {name}"} if name else {})


def insert() -> list[Fault]:
    columns = "dateandtime, cashregisterid, customerid, productid, price, data"

    def copied(into: str, number: int, table: str, of: int) -> str:
        row = f"SELECT {number}, {columns} FROM {{}}{table} WHERE transactionid = {of}"
        return f"INSERT INTO {{}}{into} (transactionid, {columns}) {row}"

    def gone(table: str, number: int) -> str:
        return f"DELETE FROM {{}}{table} WHERE transactionid = {number}"

    long_ago = "UPDATE {}pi1 SET dateandtime = '2000-01-01' WHERE transactionid = 3704"
    times = dict.fromkeys(PRODUCTS, long_ago) | {"sqlite": long_ago.replace("'2000-01-01'", "0")}
    return [
        Fault("the price of a row", "UPDATE {}pi1 SET price = 499 - price WHERE transactionid = 3700"),
        Fault("the customer of a row", "UPDATE {}pi1 SET customerid = 99999 - customerid WHERE transactionid = 3701"),
        Fault("the product of a row", "UPDATE {}pi2 SET productid = 9999 - productid WHERE transactionid = 3702"),
        Fault("the text of a row", "UPDATE {}pi2 SET data = 'aaaaaaaaaaaaa' WHERE transactionid = 3703"),
        Fault("the time of a row", times, found=False),
        Fault("a row moved to the other table", f"{copied('pi2', 90_000_000, 'pi1', 3710)};\n{gone('pi1', 3710)}"),
        Fault("a row is a copy of one of the other table", f"{gone('pi2', 3711)};\n{copied('pi2', 3711, 'pi1', 3711)}"),
        Fault("a row went, another came at the end", f"{gone('pi1', 3712)};\n{copied('pi1', 90_000_001, 'pi1', 3713)}"),
        Fault("a row went", gone("pi1", 3714)),
        Fault("a row is there twice", copied("pi1", 90_000_002, "pi1", 3715)),
        Fault("a deleted row is back", copied("pi1", 3, "pi1", 3716)),
        Fault("an index is unusable", unusable("pi1", "pi1_pdc")),
        Fault("an index was dropped", dropped("pi1", "pi1_marketsegment")),
        Fault("an index is on other columns", remade("pi2", "pi2_marketsegment", "productid, price, customerid")),
        Fault("an index lacks its last column", remade("pi2", "pi2_registersegment", "cashregisterid, customerid")),
        Fault(
            "an index is on part of the rows",
            partial("pi2", "pi2_pdc", "price, dateandtime, customerid", "price >= 0"),
        ),
        Fault("the key was dropped", {
            "postgresql": "ALTER TABLE {}pi2 DROP CONSTRAINT pi2_pkey",
            "mariadb": "ALTER TABLE {}pi2 MODIFY transactionid bigint NOT NULL, DROP PRIMARY KEY",
        }),
    ]  # fmt: skip


def pgbench(*, tpcb: bool) -> list[Fault]:
    def moved(table: str, balance: str, key: str) -> str:
        return (
            f"UPDATE {{}}pgbench_{table} SET {balance} = {balance} + CASE {key} WHEN 1 THEN 5 ELSE -5 END"
            f" WHERE {key} IN (1, 2)"
        )

    def of_history(change: str) -> dict[str, str]:
        first = {
            "postgresql": "ctid = (SELECT min(ctid) FROM {}pgbench_history)",
            "mariadb": "1 = 1 LIMIT 1",
            "firebird": "1 = 1 ROWS 1",
            "sqlite": "rowid = 1",
        }
        return {product: f"UPDATE {{}}pgbench_history SET {change} WHERE {row}" for product, row in first.items()}

    every = [
        Fault("an amount went to another account", moved("accounts", "abalance", "aid")),
        Fault("an amount went to another teller", moved("tellers", "tbalance", "tid")),
        Fault("an update of a branch is lost", "UPDATE {}pgbench_branches SET bbalance = bbalance + 1"),
        Fault("the filler of an account", "UPDATE {}pgbench_accounts SET filler = 'x' WHERE aid = 7"),
        Fault("an account is of another branch", "UPDATE {}pgbench_accounts SET bid = 2 WHERE aid = 8"),
        Fault("an account has another number", "UPDATE {}pgbench_accounts SET aid = 900000 WHERE aid = 99999"),
        Fault("a row of the history names another teller", of_history("tid = 11 - tid")),
        Fault("a row of the history names another account", of_history("aid = 100001 - aid")),
        Fault("the key of the accounts was dropped", without_key("pgbench_accounts", "pgbench_accounts_pkey")),
    ]
    return every if tpcb else every[:4]


YCSB = [
    Fault("a field is short", "UPDATE {}usertable SET field0 = 'short' WHERE ycsb_key = 1"),
    Fault("a field is NULL", "UPDATE {}usertable SET field1 = NULL WHERE ycsb_key = 2"),
    Fault("letters of a field", dict.fromkeys(
        PRODUCTS, "UPDATE {}usertable SET field2 = reverse(field2) WHERE ycsb_key = 3"
    ) | {"sqlite": "UPDATE {}usertable SET field2 = substr(field2, 51) || substr(field2, 1, 50) WHERE ycsb_key = 3"}),
    Fault("fields of records changed places",
          "UPDATE {}usertable SET field3 = field4, field5 = field6 WHERE ycsb_key BETWEEN 150 AND 170"),
    Fault("two records changed places",
          "UPDATE {}usertable SET ycsb_key = -1 WHERE ycsb_key = 5;\n"
          "UPDATE {}usertable SET ycsb_key = 5 WHERE ycsb_key = 6;\n"
          "UPDATE {}usertable SET ycsb_key = 6 WHERE ycsb_key = -1"),
    Fault("a record went", "DELETE FROM {}usertable WHERE ycsb_key = 7"),
    Fault("a record has another number", "UPDATE {}usertable SET ycsb_key = 999999 WHERE ycsb_key = 8"),
    Fault("a record was added", "INSERT INTO {}usertable (ycsb_key, field0) VALUES (0, 'x')"),
    Fault("the key was dropped", without_key("usertable")),
]  # fmt: skip
INSERTED = Fault("a field of a new record", f"UPDATE {{}}usertable SET field0 = '{'x' * 100}' WHERE ycsb_key > 2000")
SYSBENCH = [
    Fault("a text is empty", "UPDATE {}sbtest1 SET pad = '' WHERE id = 1"),
    Fault("a text is another one", "UPDATE {}sbtest1 SET c = pad WHERE id = 3"),
    Fault("a row went", "DELETE FROM {}sbtest1 WHERE id = 4"),
    Fault("a row has another number", "UPDATE {}sbtest1 SET id = 0 WHERE id = 5"),
    Fault("the index was dropped", dropped("sbtest1", "k_1")),
    Fault("the key was dropped", without_key("sbtest1")),
    Fault("an update is lost", "UPDATE {}sbtest1 SET k = k - 1 WHERE id = 6 AND k > 1", found=False),
]
SMALLBANK = [
    Fault("money is lost", "UPDATE {}saving SET balance = balance - 1 WHERE custid = 1"),
    Fault("an account is gone", "DELETE FROM {}checking WHERE custid = 2"),
    Fault("a customer has another name", "UPDATE {}account SET name = 'x' WHERE custid = 3"),
    Fault("two customers changed places",
          "UPDATE {}account SET name = 'y' WHERE custid = 4;\nUPDATE {}account SET name = '4' WHERE custid = 5;\n"
          "UPDATE {}account SET name = '5' WHERE custid = 4"),
    Fault("the index is not unique", remade("account", "account_custid", "custid")),
    Fault("a key was dropped", without_key("saving")),
    Fault("money went to another customer",
          "UPDATE {}saving SET balance = balance + CASE custid WHEN 7 THEN 5 ELSE -5 END WHERE custid IN (7, 8)",
          found=False),
]  # fmt: skip
ORDERS = [
    Fault("an order was added",
          "INSERT INTO {}orders (id, customer_id, placed, total) VALUES (900000, 1, CURRENT_TIMESTAMP, 0)"),
    Fault("the amount of a line", "UPDATE {}order_line SET amount = 501 WHERE order_id = 1 AND line = 1"),
    Fault("what a customer owes", "UPDATE {}customer SET owed = owed + 1 WHERE id = 1"),
    Fault("amounts of two lines of an order",
          "UPDATE {}order_line SET amount = amount + CASE line WHEN 1 THEN 1 ELSE -1 END WHERE order_id = 2"),
    Fault("the item of a line", "UPDATE {}order_line SET item_id = 101 - item_id WHERE order_id = 3 AND line = 1"),
    Fault("the quantity of a new line",
          "UPDATE {}order_line SET quantity = quantity + 1"
          " WHERE order_id = (SELECT max(id) FROM {}orders) AND line = 1"),
    Fault("the customer of an order", "UPDATE {}orders SET customer_id = 1001 - customer_id WHERE id = 4"),
    Fault("the customer of a new order",
          "UPDATE {}orders SET customer_id = 1001 - customer_id"
          " WHERE id = (SELECT m FROM (SELECT max(id) AS m FROM {}orders) x)"),
    Fault("the price of an item", "UPDATE {}item SET price = price + 1 WHERE id = 5"),
    Fault("the name of a customer", "UPDATE {}customer SET name = 'x' WHERE id = 6"),
    Fault("a line has another number", "UPDATE {}order_line SET line = 3 WHERE order_id = 7 AND line = 2"),
    Fault("a line went", "DELETE FROM {}order_line WHERE order_id = 8 AND line = 2"),
    Fault("a foreign key was dropped", {
        "postgresql": "ALTER TABLE {}order_line DROP CONSTRAINT order_line_item_id_fkey",
        "mariadb": "ALTER TABLE {}order_line DROP FOREIGN KEY order_line_ibfk_2",
    }),
    Fault("an index was dropped", dropped("order_line", "order_line_key")),
    Fault("a debt went to another customer",
          "UPDATE {}customer SET owed = owed + CASE id WHEN 9 THEN 5 ELSE -5 END WHERE id IN (9, 10)", found=False),
]  # fmt: skip
OTHER_FILLER = Fault(
    "a filler of the same length",
    "UPDATE {}account SET filler = (SELECT filler FROM {}teller WHERE tid = 1) WHERE aid = 7",
)
TPCB = [
    OTHER_FILLER,
    Fault("a foreign key was dropped", {
        "postgresql": "ALTER TABLE {}history DROP CONSTRAINT history_aid_fkey",
        "mariadb": "ALTER TABLE {}history DROP FOREIGN KEY history_ibfk_3",
        "firebird": "ALTER TABLE history DROP CONSTRAINT history_account",
    }),
    Fault("the key was dropped", without_key("account", "account_key")),
]  # fmt: skip
TP1 = [OTHER_FILLER, Fault("the key was dropped", without_key("teller", "teller_key"))]
T1 = [
    OTHER_FILLER,
    Fault(
        "updates of another account",
        "UPDATE {}account SET abalance = abalance + CASE aid WHEN 1 THEN -1 ELSE 1 END WHERE aid IN (1, 501)",
    ),
    Fault("the key was dropped", without_key("account", "account_key")),
]
TPCC = [
    Fault("an index was dropped", dropped("customer", "customer_by_name")),
    Fault("an index is unusable", {
        product: sql for product, sql in unusable("orders", "orders_by_customer").items() if product != "firebird"
    }),
    # Firebird's is descending: nothing is expected of it.
    Fault("an index is on other columns", {
        product: sql for product, sql in remade("orders", "orders_by_customer", "o_w_id, o_d_id, o_id, o_c_id").items()
        if product in ("sqlite",)
    }),
    Fault("a key was dropped", without_key("new_order", "new_order_key")),
]  # fmt: skip

WORKLOADS: dict[str, tuple[dict[str, object], list[Fault]]] = {
    "insert": ({
        "workload": "insert", "clients": 2, "workload_settings": {"rows": "5000", "writes": "500", "rates": "1000"},
    }, insert()),
    "tpcb-like": ({"workload": "scripted"}, pgbench(tpcb=True)),
    "simple-update": (
        {"workload": "scripted", "workload_settings": {"builtin": "simple-update"}}, pgbench(tpcb=False)),
    "ycsb-a": ({"workload": "ycsb-a", "define": ["records=2000"]}, YCSB),
    "ycsb-b": ({"workload": "ycsb-b", "define": ["records=2000"]}, YCSB[:5]),
    "ycsb-c": ({"workload": "ycsb-c", "define": ["records=2000"]}, YCSB),
    "ycsb-d": ({"workload": "ycsb-d", "define": ["records=2000"], "duration": 3}, [INSERTED, *YCSB[2:5]]),
    "ycsb-e": ({"workload": "ycsb-e", "define": ["records=2000"], "duration": 3}, [INSERTED, *YCSB[2:5]]),
    "ycsb-f": ({"workload": "ycsb-f", "define": ["records=2000"]}, YCSB[:5]),
    "sysbench-rw": ({"workload": "sysbench-oltp-read-write", "define": ["table_size=1000"]}, SYSBENCH),
    "sysbench-ro": ({"workload": "sysbench-oltp-point-select", "define": ["table_size=1000"]}, [
        *SYSBENCH[:6], Fault("a number of the index", "UPDATE {}sbtest1 SET k = k + 1 WHERE id = 7"),
    ]),
    "sysbench-oltp": ({"workload": "sysbench-oltp", "define": ["table_size=1000"], "duration": 0.2}, [
        # A column that MariaDB numbers has to be a key.
        one for one in SYSBENCH if one.what != "the key was dropped"
    ]),
    "smallbank": ({"workload": "smallbank", "define": ["customers=50", "hot=5"]}, SMALLBANK),
    "orders": ({"workload": "orders"}, ORDERS),
    "tpcb": ({"workload": "tpcb"}, TPCB),
    "tp1": ({"workload": "tp1", "workload_settings": {"transactions": "20"}}, TP1),
    "t1": ({"workload": "t1", "workload_settings": {"transactions": "20"}}, T1),
    "t2": ({"workload": "t2", "workload_settings": {"transactions": "20"}}, TP1),
    "tpcc": ({"workload": "tpcc", "workload_settings": {"size": "0.02"}}, TPCC),
}  # fmt: skip
"""What is run, and what is then planted, one after another."""
PAIRS = mostly_thorough(
    ((product, name) for product in PRODUCTS for name in WORKLOADS),
    *(("sqlite", name) for name in WORKLOADS),
    *((product, "tpcc") for product in PRODUCTS[:3]),
)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Damage]]:
    """One of each product for all workloads: each run drops what it made."""
    with served(request.param, tmp_path_factory.mktemp("served")) as (url, damage):
        yield request.param, url, damage


@pytest.mark.parametrize(("server", "name"), PAIRS, indirect=["server"])
def test_what_is_planted_is_found_by_the_check(
    server: tuple[str, str, Damage], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    product, url, damage = server
    asked, planted = WORKLOADS[name]
    seen: dict[str, bool] = {}
    check = Bench.check
    words = {"clients": 1, "scales": (1,), "cycles": 1, "duration": 0.5, "seed": 7, **asked}
    spec = merged(words, target=url).spec
    earlier = iter(range(_checks(spec) - 1))

    def broken(bench: Bench, counted: Counted | None) -> dict[str, str]:
        try:
            found = check(bench, counted, lambda _done, _total: None).conditions
        except CoreError as error:
            return {"the check itself": str(error)}
        return {condition.name: condition.detail for condition in found if condition.state is State.BROKEN}

    def planting(bench: Bench, counted: Counted | None, watch: Watch) -> PhaseResult:
        found = check(bench, counted, watch)
        if next(earlier, None) is not None:
            return found
        before: dict[str, str] = {}
        for fault in planted:
            if sql := fault.on(product):
                damage(sql)
                after = broken(bench, counted)
                seen[fault.what] = after != before
                before = after
        return found

    monkeypatch.setattr(Bench, "check", planting)
    outcome = execute(spec, tmp_path / "out", Silent())
    assert (outcome.status, outcome.void_scales, outcome.error) == ("complete", (), None)
    for what, was_found in seen.items():
        print(f"{product} | {name} | {what} | {'found' if was_found else 'unseen'}")
    assert seen == {fault.what: fault.found for fault in planted if fault.on(product)}


def _checks(spec: RunSpec) -> int:
    stages = Bench(TargetDatabase("mock:"), spec.workload, 1, None, spec.workload_settings).stages
    return sum(stage.work == "check" for stage in stages)
