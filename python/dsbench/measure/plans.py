"""How the server would execute each statement of the workload, asked before and after the cycles of a load stage.

The statements are those that the clients prepare, on a session of its own that is opened for the question. None of them
is executed. Where a workload calls procedures, its statements are asked about as ``--call statements`` sends them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from dsbench.dataclass import dataclass
from dsbench.measure.monitors.sessions import without_values

Row = Mapping[str, str | None]

_LONGEST: Final = 8000
"""Characters of a plan that are kept."""
_NO_PLAN: Final = "the server shows no plan for it"
CHEAP: Final = 100.0
"""Cost in PostgreSQL's units (a page read in order is 1, one read at random 4) below which a changed plan is told and
no warning: on a table of a few pages, such as the branches of TPC-B, a scan and an index are as good, and the choice
turns with each vacuum."""


class PlanSession(Protocol):
    """A session on which the statements of the workload are prepared."""

    @property
    def statements(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Text, and the types of its parameters: number, text, time."""

    def fetch(self, sql: str) -> list[Row]:
        """Runs one query. It may raise."""


@dataclass(frozen=True)
class Plan:
    """How one statement would be executed."""

    number: int
    statement: str
    """Without its values."""
    text: str
    """The plan without costs, numbers and values; empty where there is none."""
    problem: str = ""
    cost: float | None = None
    """What the server expects it to cost, in its own units; None where it is not told."""

    @property
    def fingerprint(self) -> str:
        """The same for the same plan, whatever its costs are."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12] if self.text else ""


def has_plans(dialect: str) -> bool:
    """Whether the product tells plans."""
    return dialect in _ASK


def ask_plans(dialect: str, session: PlanSession) -> list[Plan]:
    """The plans of all statements."""
    ask, known = _ASK[dialect](session), session.statements
    found = []
    for number, (sql, types) in enumerate(known, start=1):
        shown = without_values(sql, mysql=dialect == "mysql")
        try:
            lines, cost = ask(sql, types)
        except Exception as error:  # a statement that it does not explain, such as COMMIT
            found.append(Plan(number, shown, "", without_values(str(error), mysql=True)))
            continue
        text = "\n".join(lines)[:_LONGEST]
        found.append(Plan(number, shown, text, "" if text else _NO_PLAN, cost))
    return found


Ask = Callable[[str, Sequence[str]], tuple[list[str], float | None]]
"""Statement and types of its parameters to the lines of its plan and its cost, if that is told; it may raise."""


_TYPES: Final = {"text": "text", "time": "timestamp"}
_PLANNED: Final = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|MERGE|WITH|VALUES|TABLE)\b", re.IGNORECASE)
"""What PostgreSQL prepares (PREPARE)."""
_COST: Final = re.compile(r"\s+\(cost=[\d.]+\.\.([\d.]+) rows=\d+ width=\d+\)$")


def _ask_postgres(session: PlanSession) -> Ask:
    """By the plan for any value, which prepared statements end with (PostgreSQL, PREPARE)."""
    session.fetch("SET plan_cache_mode = force_generic_plan")
    with suppress(Exception):
        session.fetch("SET jit = off")  # Beside costs it would say how it compiles, which is no part of the plan.

    def ask(sql: str, types: Sequence[str]) -> tuple[list[str], float | None]:
        if not _PLANNED.match(sql):  # BEGIN and the like: the server would log an error.
            return [], None
        try:
            session.fetch(f"PREPARE dsbench_plan AS {sql}")
        except Exception:  # It cannot tell the types by itself.
            session.fetch(f"PREPARE dsbench_plan ({', '.join(_TYPES.get(one, 'bigint') for one in types)}) AS {sql}")
        try:
            values = f"({', '.join('NULL' for _ in types)})" if types else ""
            rows = session.fetch(f"EXPLAIN EXECUTE dsbench_plan{values}")
        finally:
            with suppress(Exception):
                session.fetch("DEALLOCATE dsbench_plan")
        lines = [next(iter(row.values())) or "" for row in rows]
        whole = _COST.search(lines[0]) if lines else None
        return [_bare(_COST.sub("", line)) for line in lines], float(whole[1]) if whole else None

    return ask


_VALUES: Final = {"number": "1", "text": "'a'", "time": "'2020-01-01 00:00:00'"}
_SHOWN: Final = ("id", "select_type", "table", "type", "key", "ref", "Extra")
_FOUND_NONE: Final = re.compile(r"^no matching |^impossible where noticed", re.IGNORECASE)
"""In the column Extra: the optimizer read a table and found no row of these values, as in one that is to be filled."""


def _ask_mysql(session: PlanSession) -> Ask:
    """With one value for each parameter: it plans anew for those of every execution."""

    def ask(sql: str, types: Sequence[str]) -> tuple[list[str], None]:
        text = f"EXPLAIN {sql}".replace("\\", "\\\\").replace("'", "''")
        session.fetch(f"PREPARE dsbench_plan FROM '{text}'")
        try:
            for number, kind in enumerate(types):
                session.fetch(f"SET @dsbench_{number} = {_VALUES.get(kind, '1')}")
            used = f" USING {', '.join(f'@dsbench_{number}' for number in range(len(types)))}" if types else ""
            rows = session.fetch(f"EXECUTE dsbench_plan{used}")
        finally:
            with suppress(Exception):
                session.fetch("DEALLOCATE PREPARE dsbench_plan")
        if any(_FOUND_NONE.match(row.get("Extra") or "") for row in rows):
            raise LookupError("no row has the values for which the plan was asked")
        return [" | ".join(_bare_of_mysql(name, row.get(name)) for name in _SHOWN) for row in rows], None

    return ask


def _bare_of_mysql(name: str, value: str | None) -> str:
    return without_values(value or "-", mysql=True) if name == "Extra" else value or "-"


_OF_FIREBIRD: Final = (
    "SELECT CAST(substring(mon$sql_text FROM 1 FOR 2000) AS varchar(2000)) AS text,"
    " CAST(substring(mon$explained_plan FROM 1 FOR 4000) AS varchar(4000)) AS told"
    " FROM mon$statements WHERE mon$attachment_id = current_connection"
)


def _ask_firebird(session: PlanSession) -> Ask:
    """The plans of all that is prepared on the session, at once."""
    told = {(row.get("TEXT") or "").strip()[:2000]: row.get("TOLD") or "" for row in session.fetch(_OF_FIREBIRD)}

    def ask(sql: str, _types: Sequence[str]) -> tuple[list[str], None]:
        return [_bare(line) for line in told.get(sql.strip()[:2000], "").splitlines() if line.strip()], None

    return ask


def _ask_sqlite(session: PlanSession) -> Ask:
    def ask(sql: str, _types: Sequence[str]) -> tuple[list[str], None]:
        depth: dict[str, int] = {"0": -1}
        lines = []
        for row in session.fetch(f"EXPLAIN QUERY PLAN {sql}"):
            at = depth[row["id"] or ""] = depth.get(row["parent"] or "0", -1) + 1
            lines.append("  " * at + without_values(row["detail"] or ""))
        return lines, None

    return ask


_ASK: Final[Mapping[str, Callable[[PlanSession], Ask]]] = {
    "postgres": _ask_postgres, "mysql": _ask_mysql, "firebird": _ask_firebird, "sqlite": _ask_sqlite,
}  # fmt: skip

_INDENT: Final = re.compile(r"^\s*")


def _bare(line: str) -> str:
    """A line of a plan with its indentation and without values."""
    indent = _INDENT.match(line)
    return (indent[0] if indent else "") + without_values(line)


def is_cheap(before: Plan, after: Plan) -> bool:
    """Whether both cost so little that it does not matter which of them is taken."""
    return all(one.cost is not None and one.cost < CHEAP for one in (before, after))


def describe_change(before: Plan, after: Plan) -> str:
    """``Index Scan using item_code on item instead of Seq Scan on item``: the first lines that differ."""
    old, new = before.text.splitlines(), after.text.splitlines()
    at = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), min(len(old), len(new))
    )
    was, now = (lines[at].strip(" ->") if at < len(lines) else "no further line" for lines in (old, new))
    return f"{now} instead of {was}"
