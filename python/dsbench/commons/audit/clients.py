"""Whether what each client did fits into its cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, Final

import pyarrow.compute as pc

from dsbench.commons.audit.rows import CYCLE, ENOUGH, KIND, LATE_NS, MOST, Key, Rows, plain, where

_BUSY: Final = 0.6
"""Share of its time that a client in the closed loop spends in transactions at least; it was never less than 0.85."""
_FASTER: Final = 2.0
"""How many times its calibrated ceiling a client may seem to reach: a ceiling is measured for half a second."""
_UNTOLD: Final = (1.5, 0.02)
"""How many times as much as clients tell of a server may have rolled back, beside a share of what was committed: it
counts what others do, and clients in their ramp-up."""
_LOWEST: Final = 2.0 * ENOUGH
"""Transactions per second of a ceiling at least: in half a second of fewer the client hardly ran."""


def clients(run: Rows) -> Iterator[str]:
    """Each client has its rows once in each cycle, and all of them have some."""
    cycles = run.tables["cycles"]
    keys = [*KIND, "client"]
    groups = cycles.group_by(keys).aggregate([([], "count_all")]) if cycles.num_rows else None
    if groups is not None and (pc.max(groups["count_all"]).as_py() or 0) > 1:
        yield "a client has two rows of one kind in a cycle"
    there = cycles.group_by([*CYCLE, "group", "node"]).aggregate([("client", "count_distinct"), ("client", "max")])
    clients = dict.fromkeys(run.durations, 0)
    for row in there.to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        if key not in clients:
            yield f"{where(key)} has rows of clients {row['group']!r} that no group has"
            return
        clients[key] += row["client_count_distinct"]
    for row in run.tables["groups"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        if row["all_clients"] is not None and not 0 < clients[key] <= row["all_clients"]:
            yield f"{where(key)}: {clients[key]} clients have rows, and there were {row['all_clients']}"
    if run.run.kinds and (strange := {str(kind) for kind in cycles["kind"].to_pylist()} - set(run.run.kinds)):
        yield f"the workload has no transaction {min(strange)!r}"


def times(run: Rows) -> Iterator[str]:
    """What one client did fits into its cycle, and into its own least and greatest time."""
    connections = {
        (row["scale"], row["stage"], row["cycle"], row["group"]): max(row["connections"] or 1, 1)
        for row in run.tables["groups"].to_pylist()
    }
    closed = {
        (row["scale"], row["stage"], row["cycle"], row["group"])
        for row in run.tables["groups"].to_pylist() if row["pacing"] in ("closed", "in-step")
    }  # fmt: skip
    busy: dict[Key, int] = {}
    longest: dict[Key, int] = {}
    begun = run.begun
    for row in run.tables["cycles"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        counted = row["committed"] + row["rolled_back"]
        group = (*key, row["group"])
        duration = run.durations.get(group)
        if duration is None:
            continue
        least, most = row["residence_min_ns"], row["residence_max_ns"]
        if counted and not least * counted <= row["residence_ns"] <= most * counted:
            words = f"{counted} transactions of {least} to {most} ns cannot take {row['residence_ns']} ns"
            yield f"{where(key)}, client {row['client']}: {words}"
        if counted and not 0 <= row["first_start_ns"] <= row["last_end_ns"]:
            yield f"{where(key)}, client {row['client']} ended before it began"
        if row["last_end_ns"] > begun.get(group, 0) + duration + LATE_NS:
            yield f"{where(key)}, client {row['client']} ended after the cycle"
        who = f"{where(key)}, client {row['client']}"
        yield from (f"{who}: {words}" for words in _one_after_another(row, connections.get(group, 1)))
        if not counted and (row["residence_ns"] or row["last_end_ns"]):
            yield f"{where(key)}, client {row['client']} has times without a transaction"
        if row["retries"] > row["failed"] or row["commits_after_window"] > row["in_flight"]:
            yield f"{where(key)}, client {row['client']} counts more retries than failures, or late ends than ends"
        client = (*group, row["node"], row["client"])
        busy[client] = busy.get(client, 0) + row["residence_ns"]
        longest[client] = max(longest.get(client, 0), row["residence_max_ns"])
    for client, spent in busy.items():
        group = client[:4]
        # What a client began in the ramp-up and ended afterwards counts, with all of its time.
        most = (run.durations[group] + longest[client] + LATE_NS) * connections[group]
        if group in closed and spent > most:
            yield f"{where(client)}, client {client[5]}: {spent / 1e9:.4g} s of transactions in {most / 1e9:.4g} s"


def _one_after_another(row: Mapping[str, Any], connections: int) -> Iterator[str]:
    """What speaks against it that a client did its transactions of a kind between the start of the first and the end of
    the last. What began in the ramp-up has no start there."""
    counted, spent = row["committed"] + row["rolled_back"], row["residence_ns"]
    span, known = row["last_end_ns"] - row["first_start_ns"], row["first_start_ns"] > 0
    if counted and known and connections == 1 and spent > span + LATE_NS:
        yield f"{spent} ns of transactions within {span} ns"
    if counted == 1 and (row["residence_min_ns"] != row["residence_max_ns"] or (known and abs(spent - span) > LATE_NS)):
        yield f"its only {row['kind']} has two times"


def remote(run: Rows) -> Iterator[str]:
    """No more transactions changed other branches than were committed."""
    names = ("remote", "committed", "commits_before_window", "commits_after_window", "unknown")
    counts = run.add_up("cycles", CYCLE, *names)
    for key, (remote, *committed) in counts.items():
        known = sum(count or 0 for count in committed)
        if (remote or 0) > known:  # Other programs do not tell.
            yield f"{where(key)}: {remote:,} of {known:,} transactions changed other branches"


def idle(run: Rows) -> Iterator[str]:
    """A client that waits for nothing but its transactions spends its time in them."""
    spec = run.run.spec
    if run.run.engine == "mock" or spec.driver != "own" or spec.reconnect:
        return
    closed = {
        (row["scale"], row["stage"], row["cycle"], row["group"])
        for row in run.tables["groups"].to_pylist()
        if row["pacing"] == "closed" and row["until"] == "time" and (row["connections"] or 1) == 1
    }
    clients: dict[Key, list[int]] = {}
    for row in run.tables["cycles"].to_pylist():
        group = (row["scale"], row["stage"], row["cycle"], row["group"])
        if group in closed and (ended := row["committed"] + row["rolled_back"]):
            one = clients.setdefault((*group, row["node"], row["client"]), [0, 0, MOST, 0])
            one[0] += ended
            one[1] += row["residence_ns"] + (row["failed_ns"] or 0)
            one[2:] = min(one[2], row["first_start_ns"]), max(one[3], row["last_end_ns"])
    cycles: dict[Key, tuple[int, int, int]] = {}
    for client, (ended, spent, begin, end) in clients.items():
        count, busy, whole = cycles.get(client[:4], (0, 0, 0))
        cycles[client[:4]] = (count + ended, busy + spent, whole + end - begin)
    for cycle, (count, busy, whole) in cycles.items():
        if count >= ENOUGH and busy < _BUSY * whole:
            yield f"{where(cycle)}: of {whole / 1e9:.4g} s its clients spent {busy / 1e9:.4g} s in transactions"


def errors(run: Rows) -> Iterator[str]:
    """Each attempt that failed has its error."""
    failed = run.add_up("errors", CYCLE, "count")
    ours: dict[Key, int] = {}
    for key, values in run.ended.items():
        ours[key[:3]] = ours.get(key[:3], 0) + values[3]
    for cycle, count in ours.items():
        said = failed.get(cycle, (0,))[0]
        if bool(said) != bool(count) or said > count:
            yield f"{where(cycle)}: {count:,} attempts failed, and there are errors of {said:,}"
    yield from _rolled_back(run, ours)
    course = run.add_up("seconds", CYCLE, "failed")
    for cycle, (said,) in course.items():
        if said > ours.get(cycle, said):
            yield f"{where(cycle)}: {ours[cycle]:,} attempts failed, and {said:,} by its seconds"


def _rolled_back(run: Rows, failed: Mapping[Key, int]) -> Iterator[str]:
    """A server has not rolled back much more than its clients tell of: failures were not taken out."""
    if run.run.engine != "postgres" or plain(run.run.settings.get("track_counts", "on")) == "off":
        return
    rows = run.tables["monitors"].filter((pc.field("monitor") == "server") & (pc.field("metric") == "rollbacks"))
    told = run.add_up("cycles", CYCLE, "rolled_back", "in_flight", "committed")
    for row in rows.group_by(list(CYCLE)).aggregate([("value", "min"), ("value", "max")]).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        if key not in told:
            continue
        back, under_way, committed = told[key]
        known = (back + failed.get(key, 0)) * (1 + run.ramp_share(key))
        most = _UNTOLD[0] * known + under_way + _UNTOLD[1] * committed + ENOUGH
        if (counted := row["value_max"] - row["value_min"]) > most:
            yield f"{where(key)}: its server rolled back {counted:,.0f}, and its clients report {known:,.0f}"


def ceilings(run: Rows) -> Iterator[str]:
    """No client is faster than against an engine that answers at once."""
    loads = {key[1] for key in run.finished}
    if run.run.calibration is None or run.run.spec.driver != "own" or run.run.engine == "mock" or len(loads) > 1:
        return  # One stage is calibrated, which says nothing of others; and the mock engine is what it is held against.
    best: dict[Key, float] = {}
    for key, (committed, rolled_back, _spent, _failed) in run.ended.items():
        duration = run.durations.get((*key[:3], key[5]))
        if duration:
            best[key[:3], key[4]] = best.get((key[:3], key[4]), 0.0) + (committed + rolled_back) * 1e9 / duration
    for (cycle, _threads), rate in best.items():
        most = max((one.rate_tps for one in run.run.calibration.ceilings), default=float("nan"))
        if isfinite(most) and most >= _LOWEST and rate > _FASTER * most and not run.run.nodes:
            yield f"{where(cycle)}: {rate:,.0f} transactions per second, and the client can make {most:,.0f}"
