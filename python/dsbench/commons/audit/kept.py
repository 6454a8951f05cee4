"""Whether the database kept what clients say that they committed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive.conditions import Condition, State
from dsbench.commons.audit.rows import CYCLE, ENOUGH, Rows, where
from dsbench.spec.run import TURN_RAMP_UP_S, turn_s

WRITING: Final = ("tpcb-like", "simple-update")
"""Scripts of pgbench that write a row of history for each transaction."""
_SUMMED: Final = {"payments": "payment", "order_statuses": "order_status", "delivery_transactions": "delivery"}
"""What the clients of TPC-C add up for the check, and the transaction that it is of."""
_ALWAYS: Final = {"tpcb": (
    "account sum = teller sum", "teller sum = branch sum", "branch sum = history sum",
    "account balance = sum of its history", "history rows = committed transactions",
)}  # fmt: skip
"""By workload: conditions that each check of it has, whatever its settings."""
_EQUAL: Final = re.compile(r"\D+ (-?\d+), \D+ (-?\d+)")
"""What a check found of two that are equal; commits of unknown end have more words."""
_OFF: Final = re.compile(r"(\d+) (?:rows are off|lines have none)")
_ASKED: Final = re.compile(r"(?:found )?(\d+), (?:scale|expected) (\d+)")
"""What a check found of rows that are there from the beginning, and how many there have to be."""
_UNEVEN: Final = 3.0
"""How many times the rate of a trial its ramp-up may have had."""
_UNDONE: Final = 0.01
"""Share of the New-Orders with an item that is not there."""
_SIGMAS: Final = 8
"""Standard deviations by which no count of a Poisson process lies off."""
_MORE: Final = 4
"""Cycles at most that are made beside perf, or for a check."""


def checks(run: Rows) -> Iterator[str]:
    """The database kept its promises at each scale."""
    for scale, conditions in run.run.broken.items():
        yield f"scale {scale}: the check found that {conditions[0].name} does not hold"
    stages = [stage.work for stage in run.run.stages]
    if "check" in stages and not run.run.spec.existing:
        told = {scale for scale, some in run.run.checks.items() if some}
        for scale in sorted({key[0] for key in run.finished} - told):
            yield f"scale {scale}: its check is missing"
    asked = {scale: {one.name for one in conditions} for scale, conditions in run.run.checks.items()}
    always = _ALWAYS.get(run.run.spec.workload, ()) if run.run.engine != "mock" else ()
    every = set[str]().union(*asked.values(), always)
    for scale, names in sorted(asked.items()):
        if lacking := every - names:
            yield f"scale {scale}: its check does not cover {min(lacking)}"
    for scale, conditions in run.run.checks.items():
        for one in conditions:
            if one.state is State.HOLDS and (_differs(one) or ((off := _OFF.fullmatch(one.detail)) and off[1] != "0")):
                yield f"scale {scale}: {one.name} holds by its check, and it found {one.detail}"


def _differs(one: Condition) -> bool:
    """Whether a check found two numbers where one was expected."""
    found = (_EQUAL.fullmatch(one.detail) if " = " in one.name else None) or _ASKED.fullmatch(one.detail)
    return found is not None and found[1] != found[2]


def kept_rows(run: Rows) -> Iterator[str]:
    """What the check counted in the database is what the clients counted."""
    counted = ("committed", "commits_before_window", "commits_after_window", "unknown")
    kept = run.add_up("cycles", ("scale", "cycle"), *counted)
    written = run.add_up("cycles", ("scale", "cycle"), *counted, of=write_history(run))
    first: dict[int, int] = {}
    for segment in run.run.segments:
        first[segment.scale] = segment.first_cycle
    for scale, conditions in run.run.checks.items():
        for one in conditions:
            found = re.fullmatch(r"history (\d+), committed (\d+)", one.detail)
            if found is None:
                continue
            if found[1] != found[2] and one.state is State.HOLDS:
                yield f"scale {scale}: according to the check, {found[1]} rows are {found[2]}"
            here = [key for key in kept if key[0] == scale and key[1] >= first.get(scale, 1)]
            least = sum(sum(written.get(key, (0, 0, 0, 0))[:3]) for key in here)
            most = sum(sum(kept[key]) for key in here)
            if not least <= int(found[2]) <= most + beside(run, scale):
                yield f"scale {scale}: the check found {int(found[2]):,} transactions, the cycles have {least:,}"


def write_history(run: Rows) -> pc.Expression | None:
    """Which rows of clients write history, of which some scripts write none; ``None`` for all."""
    return pc.is_in(pc.field("kind"), pa.array(WRITING)) if run.run.spec.workload == "scripted" else None


def beside(run: Rows, scale: int) -> float:
    """Transactions at most that the database of ``scale`` has and no table: what others did before, and cycles that no
    rate counts, of a ramp-up or warm-up, before a search for a rate, of a trial of places or of a length, and the one
    beside perf."""
    spec = run.run.spec
    warmed = any(until != "time" for until in run.tables["groups"]["until"].to_pylist())
    found = spec.find_ramp_up or spec.min_duration is not None or spec.searches or spec.graduated
    if run.run.reused or found or warmed:
        return inf
    tried = run.run.placement_tried
    here = [key for key in run.whole if key[0] == scale]
    more = 0.0
    if spec.perf != "none" or run.run.resumed:  # Beside perf, or on another database that was made for the check.
        most = max((run.whole[key] * (1 + run.ramp_share(key)) for key in here), default=0.0)
        more = _UNEVEN * _MORE * most + ENOUGH
    if tried is None or scale != run.run.segments[0].scale:
        return more
    best = max((run.whole[key] * 1e9 / run.longest[key] for key in here), default=0.0)
    rates = (*tried.free_tps, *tried.follow_tps) or (best,)  # A first turn in which no client could follow.
    return more + _UNEVEN * sum(rates) * (turn_s(spec.duration) + TURN_RAMP_UP_S) + ENOUGH


def sums(run: Rows) -> Iterator[str]:
    """What clients added up for the check is as many as they committed."""
    if not run.tables["sums"].num_rows:
        return
    names = ("committed", "commits_before_window", "commits_after_window", "unknown")
    kept = run.add_up("cycles", (*CYCLE, "kind"), *names)
    for key, (value,) in run.add_up("sums", (*CYCLE, "name"), "value").items():
        kind = _SUMMED.get(key[3])
        if kind is None or (*key[:3], kind) not in kept:
            continue
        *counts, unknown = kept[*key[:3], kind]
        if not sum(counts) <= value <= sum(counts) + unknown:
            yield f"{where(key)}: its clients committed {sum(counts):,} {kind}, and added up {value:,}"
    yield from _new_orders(run)


def _new_orders(run: Rows) -> Iterator[str]:
    """Of the New-Orders that clients entered those that were not rolled back are committed, and one in a hundred was
    entered to be rolled back (TPC-C, clause 2.4.1.4)."""
    sums = run.add_up("sums", (*CYCLE, "name"), "value")
    counted = ("committed", "commits_before_window", "commits_after_window", "unknown", "rolled_back", "in_flight")
    kept = run.add_up("cycles", (*CYCLE, "kind"), *counted)
    entered = undone = 0
    for key, (*counts, unknown, rolled_back, in_flight) in kept.items():
        if key[3] != "new_order" or (*key[:3], "new_orders") not in sums:
            continue
        (orders,), (back,) = sums[*key[:3], "new_orders"], sums.get((*key[:3], "new_orders_rolled_back"), (0,))
        entered, undone = entered + orders, undone + back
        if not sum(counts) <= orders - back <= sum(counts) + unknown:
            yield f"{where(key)}: {sum(counts):,} New-Orders were committed, and its clients added up {orders - back:,}"
        if not rolled_back <= back <= rolled_back + in_flight:
            yield f"{where(key)}: {rolled_back:,} New-Orders were rolled back, and its clients added up {back:,}"
    expected = _UNDONE * entered
    if run.run.engine == "mock":
        return  # It has every item.
    if abs(undone - expected) > _SIGMAS * (expected**0.5 + 1):
        yield f"of {entered:,} New-Orders {undone:,} were rolled back, and {expected:,.0f} are entered for that"
