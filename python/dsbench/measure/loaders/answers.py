"""Whether the answers of queries are right: DuckDB gives its own, on the same rows after the same refreshes.

Rows come as lines of text from the generator itself, not from the database that was measured. The rules are those of
TPC-H, clause 2.1.3.5, but closer: the clause lets a sum differ by 100 and an average by 1%.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any, Final

from dsbench import _core
from dsbench.archive.conditions import Condition, State
from dsbench.dataclass import dataclass

Row = Sequence[str | None]

TABLES: Final[Mapping[str, str]] = {
    "region": "r_regionkey integer, r_name varchar, r_comment varchar",
    "nation": "n_nationkey integer, n_name varchar, n_regionkey integer, n_comment varchar",
    "part": "p_partkey integer, p_name varchar, p_mfgr varchar, p_brand varchar, p_type varchar, p_size integer, "
    "p_container varchar, p_retailprice decimal(15,2), p_comment varchar",
    "supplier": "s_suppkey integer, s_name varchar, s_address varchar, s_nationkey integer, s_phone varchar, "
    "s_acctbal decimal(15,2), s_comment varchar",
    "partsupp": "ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost decimal(15,2), "
    "ps_comment varchar",
    "customer": "c_custkey integer, c_name varchar, c_address varchar, c_nationkey integer, c_phone varchar, "
    "c_acctbal decimal(15,2), c_mktsegment varchar, c_comment varchar",
    "orders": "o_orderkey bigint, o_custkey integer, o_orderstatus varchar, o_totalprice decimal(15,2), "
    "o_orderdate date, o_orderpriority varchar, o_clerk varchar, o_shippriority integer, o_comment varchar",
    "lineitem": "l_orderkey bigint, l_partkey integer, l_suppkey integer, l_linenumber integer, "
    "l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), l_tax decimal(15,2), "
    "l_returnflag varchar, l_linestatus varchar, l_shipdate date, l_commitdate date, l_receiptdate date, "
    "l_shipinstruct varchar, l_shipmode varchar, l_comment varchar",
}
"""The tables as DuckDB has them."""

COLUMNS: Final[Mapping[str, str]] = {
    "Q1": "vvssssaaav", "Q2": "vvvvvvvv", "Q3": "vsvv", "Q4": "vv", "Q5": "vs", "Q6": "s", "Q7": "vvvs", "Q8": "va",
    "Q9": "vvs", "Q10": "vvsvvvvv", "Q11": "vs", "Q12": "vvv", "Q13": "vv", "Q14": "a", "Q15": "vvvvs", "Q16": "vvvv",
    "Q17": "a", "Q18": "vvvvvs", "Q19": "s", "Q20": "vv", "Q21": "vv", "Q22": "vvs",
}  # fmt: skip
"""What the columns of an answer hold: a value or a count that must be the same, a sum, an average or a ratio."""

FALLING: Final[Mapping[str, int]] = {"Q2": 0, "Q3": 1, "Q5": 1, "Q10": 2, "Q11": 1, "Q16": 3, "Q18": 4, "Q21": 1}
"""The column by which rows are ordered, where it is a number: the rest of the order is a matter of collation."""
IN_ORDER: Final = ("Q1", "Q4", "Q7", "Q8", "Q9", "Q12", "Q13", "Q15", "Q20", "Q22")
"""Queries whose rows have one order."""


@dataclass(frozen=True)
class Rules:
    """What the second engine must know of the tables and of the answers."""

    tables: Mapping[str, str]
    columns: Mapping[str, str]
    falling: Mapping[str, int]
    in_order: Sequence[str]

    @classmethod
    def of(cls, folder: Path) -> Rules:
        """Those that a workload wrote beside its rows, in a file ``second.json``; else those of TPC-H."""
        own = folder / "second.json"
        return cls(**json.loads(own.read_text())) if own.exists() else TPCH


TPCH: Final = Rules(TABLES, COLUMNS, FALLING, IN_ORDER)


@dataclass(frozen=True, eq=False)
class DatabaseAnswer:
    """What the measured database answered."""

    stage: str
    stream: int
    kind: str
    text: str
    rows: list[list[str | None]]
    least: int
    """Refreshes that were committed when the query began."""
    most: int
    """Refreshes that it may have seen."""
    failed: str
    published: str
    """The answer that is published for its parameters, as a table of text; empty where there is none."""


LACKING: Final = ("no answer was compared: DuckDB is not installed", "pip install 'dsbench-db[query]'")
"""Why answers are not compared, and how they are."""

_ROW_BYTES: Final = 140
"""The least of a row: 122 to 132 as text, and what DuckDB has while the text is there. Measured at the peak: 138 for
TPC-H of 0.1, 194 for a warehouse of CH."""


def lacks_engine() -> bool:
    """Whether there is nothing that answers could be compared with."""
    return importlib.util.find_spec("duckdb") is None


def space_needed(rows: int) -> int:
    """Bytes that a comparison takes at least in the folder for temporary files."""
    return rows * _ROW_BYTES


def check_answers(core: _core.Bench, kinds: Sequence[str]) -> tuple[Condition, ...]:
    """A condition for the answers of each stage; none where the workload has no answers to check."""
    evidence = core.evidence()
    if evidence is None:
        return ()
    raw, refreshes, unknown = evidence
    answers = [DatabaseAnswer(one[0], one[1], kinds[one[2]], *one[3:]) for one in raw]
    by_stage: dict[str, list[DatabaseAnswer]] = defaultdict(list)
    for answer in answers:
        by_stage[answer.stage].append(answer)
    if not answers:
        return _open(["the queries"], "no query was run", "")
    if lacks_engine():
        return _open(by_stage, *LACKING)
    if unknown:
        return _open(by_stage, *_core.UNKNOWN_END)
    duckdb = importlib.import_module("duckdb")
    try:
        with tempfile.TemporaryDirectory(prefix="dsbench-answers-") as name:
            folder = Path(name)
            core.export(folder)
            with duckdb.connect(folder / "second.db") as second:
                load_tables(second, folder)
                wrong = _compare(second, folder, answers, refreshes, Rules.of(folder))
    except (_core.CoreError, OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        words = str(error).splitlines()[0]
        return _open(by_stage, f"no answer was compared: {words}", "set TMPDIR to a folder with more space")
    conditions = [_condition(stage, given, wrong) for stage, given in by_stage.items()]
    if published := [answer for answer in answers if answer.published]:
        conditions.append(_published(published))
    return tuple(conditions)


def _open(stages: Iterable[str], why: str, remedy: str) -> tuple[Condition, ...]:
    """Those of all stages, which are not made."""
    return tuple(
        Condition(name=f"answers of {stage}", state=State.NOT_MADE, detail=why, remedy=remedy) for stage in stages
    )


def _made(name: str, holds: bool, detail: str) -> Condition:
    return Condition(name=name, state=State.HOLDS if holds else State.BROKEN, detail=detail)


def _published(answers: Sequence[DatabaseAnswer]) -> Condition:
    faults = []
    for one in answers:
        if fault := differ_from_published(one.kind, one.rows, one.published):
            faults.append(f"{one.kind}: {fault}")
    words = f"{len(answers) - len(faults)} of {len(answers)} are the published ones"
    return _made("answers to the default parameters", not faults, "; ".join([words, *faults[:3]]))


def differ_from_published(kind: str, rows: Sequence[Row], text: str) -> str:
    """As ``differ``. The keys of parts in Q11 are cut there: of six places, with blanks before, four stand."""
    given = [[(row[0] or "").rjust(6)[:4], *row[1:]] for row in rows] if kind == "Q11" else rows
    return differ(kind, given, read_published(text), rounded=True)


def read_published(text: str) -> list[list[str | None]]:
    """The rows of a published answer: columns between bars, under their names."""
    lines = [line for line in text.splitlines() if line.strip()]
    return [list(line.split("|")) for line in lines[1:]]


def _condition(stage: str, answers: Sequence[DatabaseAnswer], wrong: Mapping[DatabaseAnswer, str]) -> Condition:
    answered = [answer for answer in answers if not answer.failed]
    if not answered:
        why = f"no query was answered: {', '.join(f'{_name(one)} ({one.failed})' for one in answers[:3])}"
        return _open([stage], why, "allow the queries more time: --set timeout")[0]
    faults = [f"{_name(answer)}: {wrong[answer]}" for answer in answered if answer in wrong]
    words = f"{len(answered) - len(faults)} of {len(answered)} are those of DuckDB"
    if failed := [f"{_name(answer)} ({answer.failed})" for answer in answers if answer.failed]:
        words += f"; without an answer: {', '.join(failed)}"
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return _made(f"answers of {stage}", not faults, "; ".join([words, *faults[:3]]) + more)


def _name(answer: DatabaseAnswer) -> str:
    return f"{answer.kind} of stream {answer.stream}"


def load_tables(second: Any, folder: Path) -> None:
    """Makes the tables in DuckDB and fills them from the files of a folder."""
    for table, columns in Rules.of(folder).tables.items():
        second.execute(f"CREATE TABLE {table} ({columns})")
        _load(second, table, folder / table, columns)


def _load(second: Any, table: str, path: Path, described: str) -> None:
    """Fills a table of DuckDB from lines in which each column ends with a bar."""
    columns = dict(column.split(" ") for column in described.split(", "))
    read = {**columns, "ended": "varchar"}
    second.execute(
        f"INSERT INTO {table} SELECT * EXCLUDE (ended) FROM "
        f"read_csv(?, delim = '|', header = false, quote = '', escape = '', auto_detect = false, columns = {read})",
        [str(path)],
    )
    path.unlink()


def _compare(
    second: Any, folder: Path, answers: Sequence[DatabaseAnswer], refreshes: Sequence[tuple[int, bool]], rules: Rules
) -> dict[DatabaseAnswer, str]:
    """What is wrong, by answer: one is right where it is that of a state which its query may have seen."""
    wrong: dict[DatabaseAnswer, str] = {}
    left = [answer for answer in answers if not answer.failed]
    for state in range(len(refreshes) + 1):
        if state:
            _refresh(second, folder, *refreshes[state - 1])
        for answer in [one for one in left if one.least <= state <= max(one.least, min(one.most, len(refreshes)))]:
            rows = second.execute(answer.text).fetchall()
            wanted = [[None if cell is None else str(cell) for cell in row] for row in rows]
            if fault := differ(answer.kind, answer.rows, wanted, rules):
                wrong.setdefault(answer, fault)
            else:
                wrong.pop(answer, None)
                left.remove(answer)
    return wrong


def _refresh(second: Any, folder: Path, number: int, inserts: bool) -> None:
    if inserts:
        for table in ("orders", "lineitem"):
            _load(second, table, folder / f"{table}.{number}", TABLES[table])
        return
    file = folder / f"deleted.{number}"
    keys = f"(SELECT column0 FROM read_csv('{file}', header = false, columns = {{'column0': 'bigint'}}))"
    second.execute(f"DELETE FROM lineitem WHERE l_orderkey IN {keys}")
    second.execute(f"DELETE FROM orders WHERE o_orderkey IN {keys}")


def differ(
    kind: str, given: Sequence[Row], wanted: Sequence[Row], rules: Rules = TPCH, *, rounded: bool = False
) -> str:
    """In words, how an answer differs from the one that is right; empty where it does not.

    Published answers are rounded to hundredths.
    """
    if len(given) != len(wanted):
        return f"{len(given)} rows, expected {len(wanted)}"
    columns = rules.columns[kind]
    keys = [[tuple(map(_plain, row)) for row in rows] for rows in (given, wanted)]
    exact = [at for at, column in enumerate(columns) if column == "v"]
    pairs = [sorted(rows, key=lambda row: [str(row[at]) for at in exact]) for rows in keys]
    for mine, other in zip(*pairs, strict=True):
        for at, column in enumerate(columns):
            if not _same(column, mine[at], other[at], rounded):
                of = f" of {mine[exact[0]]}" if exact and at != exact[0] else ""
                return f"column {at + 1}{of} is {mine[at]}, expected {other[at]}"
    return _disorder(kind, keys[0], keys[1], exact, rules)


def _disorder(
    kind: str, given: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], exact: Sequence[int], rules: Rules
) -> str:
    if kind in rules.in_order and any(a[at] != b[at] for a, b in zip(given, wanted, strict=True) for at in exact):
        return "the rows are in another order"
    if kind in rules.falling:
        column = [float(row[rules.falling[kind]]) for row in given]
        if any(b > a + 0.01 for a, b in pairwise(column)):
            return "the rows are in another order"
    return ""


def _plain(cell: str | None) -> float | str | None:
    """A number where it is one, else the text without the blanks that fill its type."""
    if cell is None:
        return None
    with suppress(ValueError):
        if isfinite(number := float(cell)):  # A text such as 3e567 is no number.
            return round(number, 8)
    return cell.rstrip()


def _same(column: str, given: float | str | None, wanted: float | str | None, rounded: bool) -> bool:
    if not isinstance(given, float) or not isinstance(wanted, float):
        return given == wanted
    average = max(1e-4 * abs(wanted), 0.0051 if rounded else 2e-6)
    return abs(given - wanted) <= {"v": 1e-6, "s": 0.01 + 1e-11 * abs(wanted), "a": average}[column]
