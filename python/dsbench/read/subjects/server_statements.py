"""What the server tells of the statements: how often and how long each ran, and how it would execute each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Part, Sentence, Table
from dsbench.read.series import each_series
from dsbench.read.subject import Result, Subject, computed

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

Place = tuple[str, int]
"""The heading of a series, which may be empty, and a scale."""
_MOST: Final = 20
_DONE: Final = ("committed", "rolled_back", "commits_before_window", "commits_after_window")
"""Transactions of which the server has counted statements: its counts are read around ramp-up and cycle."""
_COUNTS: Final = ("calls", "time_ns", "rows", "blocks_hit", "blocks_read", "lock_ns")


@dataclass(frozen=True)
class Ran:
    """One statement at one scale, per transaction; ``None`` where the server does not tell it."""

    statement: str
    source: str
    calls: float | None
    time_ns: float | None
    rows: float | None
    blocks_hit: float | None
    blocks_read: float | None
    lock_ns: float | None


@dataclass(frozen=True)
class Planned:
    """The plans of one statement at one scale, around the cycles."""

    statement: str
    before: str
    """Empty where there is none."""
    after: str
    changed: bool
    fingerprint: str
    """That after the cycles, or before them where there is no other."""
    problem: str


def _read_ran(evaluation: Evaluation) -> dict[int, tuple[Ran, ...]]:
    sums: dict[tuple[int, str, str], dict[str, float]] = defaultdict(dict)
    cycles: dict[int, set[int]] = defaultdict(set)
    for row in evaluation.rows.of_cycles("server_statements").to_pylist():
        cycles[row["scale"]].add(row["cycle"])
        known = sums[row["scale"], row["statement"], row["source"]]
        for name in _COUNTS:
            if row[name] is not None:
                known[name] = known.get(name, 0.0) + row[name]
    found: dict[int, list[Ran]] = defaultdict(list)
    for (scale, statement, source), known in sums.items():
        load = evaluation.rows.load[scale]
        counted = sum(
            float(sum(load[name][at].sum() for name in _DONE))
            for at, cycle in enumerate(load.cycles.tolist()) if cycle in cycles[scale]
        )  # fmt: skip
        if counted:
            figures = {name: known[name] / counted if name in known else None for name in _COUNTS}
            found[scale].append(Ran(statement, source, **figures))
    return {scale: tuple(sorted(some, key=_weigh)) for scale, some in sorted(found.items())}


def _weigh(one: Ran) -> float:
    return -next((value for value in (one.time_ns, one.blocks_hit, one.calls) if value is not None), 0.0)


def _read_plans(evaluation: Evaluation) -> dict[int, tuple[Planned, ...]]:
    rows = [row for row in evaluation.rows.tables["plans"].to_pylist() if row["stage"] == evaluation.rows.key.stage]
    return {scale: tuple(_of_scale([row for row in rows if row["scale"] == scale]))
            for scale in sorted({row["scale"] for row in rows})}  # fmt: skip


def _of_scale(rows: Sequence[Mapping[str, Any]]) -> Iterator[Planned]:
    """Of the last population that was looked at."""
    last = max(row["segment"] for row in rows)
    at = {(row["moment"], row["statement"]): row for row in rows if row["segment"] == last}
    numbers = {row["statement"]: row["number"] for row in at.values()}
    for statement in sorted(numbers, key=lambda one: numbers[one]):
        before, after = at.get(("before", statement)), at.get(("after", statement))
        prints = [row["fingerprint"] for row in (before, after) if row and row["fingerprint"]]
        old, new = (row["plan"] if row else "" for row in (before, after))
        problem = next((row["problem"] for row in (after, before) if row and row["problem"]), "")
        yield Planned(statement, old, new, len(set(prints)) > 1, prints[-1] if prints else "", problem)


_COLUMNS: Final = (
    Column("statement", left=True), Column("calls"), Column("time", "ms", 1e-6), Column("rows"),
    Column("blocks hit"), Column("blocks read"), Column("lock", "ms", 1e-6),
)  # fmt: skip
_PLANS: Final = (
    Column("statement", left=True), Column("plan", left=True), Column("fingerprint", left=True),
    Column("after the cycles", left=True),
)  # fmt: skip
_PLANS_NOTE: Final = (
    "EXPLAIN output for each statement, from a separate session before and after the cycles; no statement is "
    "executed. Costs and values are omitted. For a workload that calls procedures, these are its statements with "
    "--call statements."
)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    for heading, part in each_series(evaluation):
        for scale, ran in part.of(ServerStatementsResult).ran.items():
            where = f"scale {scale}" + (f", {heading}" if heading else "")
            rows = [(one.statement, *(getattr(one, name) for name in _COUNTS)) for one in ran[:_MOST]]
            yield Table(f"Per transaction, {where}, from {ran[0].source}", _COLUMNS, rows)
    yield from _tell_plans(evaluation)


def _tell_plans(evaluation: Evaluation) -> Iterator[Block]:
    """What is the same at several places is told once, with all of them."""
    series = each_series(evaluation)
    found = {(heading, scale): plans for heading, part in series
        for scale, plans in part.of(ServerStatementsResult).plans.items()}
    if not found:
        return
    counts: dict[str, list[Place]] = defaultdict(list)
    changes: dict[tuple[str, str, str], list[Place]] = defaultdict(list)
    alike: dict[tuple[Planned, ...], list[Place]] = defaultdict(list)
    for place, plans in found.items():
        told = [one for one in plans if one.before or one.after]
        counts[f"{len(told)} of {len(plans)} statements"].append(place)
        alike[plans].append(place)
        for one in plans:
            if one.changed:
                changes[one.statement, _in_line(one.before), _in_line(one.after)].append(place)
    said = "; ".join(f"{words}{_at(places, found)}" for words, places in counts.items())
    number = len({statement for statement, _, _ in changes})
    yield Sentence(f"Plans of {said} were captured; {number or 'none'} changed during the cycles.")
    for (statement, before, after), places in changes.items():
        yield Sentence(f"{statement}: {after}; before the cycles: {before}{_at(places, found)}.", "warning")
    for plans, places in alike.items():
        rows = [(one.statement, _in_line(one.before or one.after) or one.problem, one.fingerprint,
                 _in_line(one.after) if one.changed else "the same" if one.after and one.before else "")
                for one in plans]  # fmt: skip
        yield Part(f"Plans{_at(places, found)}", [Table("", _PLANS, rows)], folded=True)
    yield Sentence(_PLANS_NOTE, "note")


def _at(places: Sequence[Place], every: Collection[Place]) -> str:
    """`` (clients 4: scale 1, 2; clients 16: scale 1)``, and nothing where it is ``every`` place."""
    if len(places) == len(every):
        return ""
    scales: dict[str, list[str]] = defaultdict(list)
    for heading, scale in places:
        scales[heading].append(str(scale))
    by_scales: dict[str, list[str]] = defaultdict(list)
    for heading, some in scales.items():
        by_scales[", ".join(some)].append(heading)
    said = "; ".join(f"{' and '.join(filter(None, headings))}: scale {some}".removeprefix(": ")
                     for some, headings in by_scales.items())  # fmt: skip
    return f" ({said})"


def _in_line(plan: str) -> str:
    """A plan in one line: what a step is made of follows an arrow."""
    return " → ".join(line.strip(" ->") for line in plan.splitlines())


def say_plans(before: Mapping[str, Planned], after: Mapping[str, Planned]) -> Iterator[str]:
    """A sentence for each statement whose plan differs from one archive to another."""
    for statement, one in after.items():
        old = before.get(statement)
        if old is not None and old.fingerprint and one.fingerprint and old.fingerprint != one.fingerprint:
            was, now = _in_line(old.after or old.before), _in_line(one.after or one.before)
            yield f"{statement}: the plan is {now} instead of {was}"


class ServerStatementsResult(Result):
    ran = computed(_read_ran)
    """By scale: what the server counted of each statement; empty where it does not."""
    plans = computed(_read_plans)
    """By scale: the plans of the statements around the cycles; empty where the product tells none."""


SUBJECT: Final = Subject(
    "server_statements",
    "Statements in the server", ServerStatementsResult,
    tell=_tell,
    nothing="The server reported neither plans nor counts of statements.",
)
