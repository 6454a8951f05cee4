"""Where the time of the clients went, what of it no quantile over transactions shows, and when nothing ended."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.format import NONE
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.groups import whole
from dsbench.read.measured import Measured
from dsbench.read.series import label_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.outage import OutageResult
from dsbench.stats.both_counts import BothCounts
from dsbench.stats.ledger import PARTS, Gap, Ledger, busy_parts, find_gap, idle_clients, weighted_quantile
from dsbench.stats.values import Floats

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


def _read_ledger(evaluation: Evaluation) -> dict[int, Ledger]:
    """By scale; empty where the client does not tell where its time went."""
    told = {x: part for x, part in evaluation.rows.load.items() if part.total("client_ns")}
    return {x: _of_scale(evaluation, x, part) for x, part in told.items()}


def longest_ns(part: Evaluation, scale: int) -> float | None:
    """The longest transaction, with those in flight at the ends of the cycles where the client tells these; in the open
    loop from the intended start. ``None`` where there was none."""
    if ledger := part.of(ClientsResult).ledger.get(scale):
        return float(ledger.longest_ns)
    curve = part.of(LatencyResult).curve(scale)
    return curve.quantiles_ns[1.0] if curve else None


def _of_scale(evaluation: Evaluation, scale: int, part: Measured) -> Ledger:
    times, weights = _in_transactions(evaluation, scale)
    latency = evaluation.of(LatencyResult)
    curve = latency.curve(scale)
    lasted = part.most["in_flight_max_ns"].max(axis=(1, 2))
    longest = [int(lasted.max(initial=0)), int(curve.quantiles_ns[1.0]) if curve else 0]
    median = latency.frequency[scale].quantiles_ns[0.5] if scale in latency.frequency else 0.0
    worst = [int(one.max()) for one in part.most["client_p99_ns"]]
    done = part["committed"] + part["rolled_back"]
    busy = part["ended_ns"] + part["in_flight_ns"] + part["connecting_ns"]
    return Ledger(
        clients_ns=part.total("client_ns"), ended_ns=part.total("ended_ns"), in_flight_ns=part.total("in_flight_ns"),
        waiting_ns=part.total("waiting_ns"), connecting_ns=part.total("connecting_ns"),
        in_flight=part.total("in_flight"), longest_ns=max(longest),
        lasted=tuple((int(cycle), int(one)) for cycle, one in zip(part.cycles, lasted, strict=True) if one),
        longest_failed_ns=_longest_failed(evaluation, scale), half_ns=weighted_quantile(times, weights, 0.5),
        median_ns=median, worst_p99_ns=int(np.median(worst)) if worst else 0,
        idle=idle_clients(part.cycles, done, busy, part["client_ns"]),
        clients=int((part["client_ns"] > 0).sum(axis=(1, 2)).max(initial=0)), gaps=_gaps(evaluation, scale, part),
    )  # fmt: skip


def _longest_failed(evaluation: Evaluation, scale: int) -> int:
    buckets = evaluation.rows.buckets
    failed = buckets.filter((pc.field("scale") == scale) & (pc.field("measure") == "failed"))
    return int(whole(failed, "high_ns").max(initial=0))


def _in_transactions(evaluation: Evaluation, scale: int) -> tuple[Floats, Floats]:
    """Times of transactions and the client time that each of them stands for: of the ended by the middle of their
    bucket, of the one in flight of a client exactly."""
    buckets = evaluation.rows.buckets.filter((pc.field("scale") == scale) & (pc.field("measure") != "response"))
    middles = (whole(buckets, "low_ns") + whole(buckets, "high_ns")) / 2
    flying = evaluation.rows.cycles.filter((pc.field("scale") == scale) & (pc.field("in_flight_ns") > 0))
    times = np.concatenate([middles, whole(flying, "in_flight_max_ns").astype(float)])
    weights = np.concatenate([middles * whole(buckets, "count"), whole(flying, "in_flight_ns").astype(float)])
    return times, weights


_PART_NS: Final = 10**9 / PARTS


def _gaps(evaluation: Evaluation, scale: int, part: Measured) -> tuple[Gap, ...]:
    rows = evaluation.rows.of_cycles("seconds")
    rows = rows.filter((pc.field("scale") == scale) & pc.field("busy").is_valid())
    names = ("cycle", "second", "busy", "busy_later", "count")
    cycle, second, first, later, count = (whole(rows, name) for name in names)
    found, planned = [], evaluation.of(OutageResult).events.get(scale, ())
    for number, duration_ns in zip(part.cycles.tolist(), part.duration_ns.tolist(), strict=True):
        here = cycle == number
        if here.any():
            busy = busy_parts(second[here], first[here], later[here], duration_ns)
            for one in (one for one in planned if one.cycle == number):
                for gap in one.outage.gaps:  # Those are told by themselves.
                    ended_ns = min(gap.ended_ns, duration_ns)
                    busy[int(gap.began_ns // _PART_NS) : int(ended_ns // _PART_NS) + 1] = True
            found.append(find_gap(number, busy, int(count[here].sum())))
    return tuple(found)


_LOOKS: Final = (2, 12, 100)
"""Transactions of dsbench's own at most: for each look at the sessions, for each reading of the counters, and around
them."""


def _read_counted(evaluation: Evaluation) -> dict[int, tuple[BothCounts, ...]]:
    """By scale, where the server counts transactions of the database under test: PostgreSQL does.

    A pooler of transactions makes some of its own, and of the clients' several; what a standby serves its primary does
    not count.
    """
    rows = evaluation.rows
    if rows.run.engine != "postgres" or rows.run.pooled == "transactions" or rows.run.spec.reads:
        return {}
    server = rows.monitors.filter(pc.field("monitor") == "server")
    server = server.filter(pc.is_in(server["metric"], pa.array(["commits", "rollbacks"])))
    keys = ["scale", "cycle", "metric"]
    ends = server.group_by(keys).aggregate([("value", "min"), ("value", "max"), ("value", "count")])
    sums: dict[tuple[int, int], tuple[float, int]] = {}
    for row in ends.to_pylist():
        key = row["scale"], row["cycle"]
        before = sums.get(key, (0.0, 0))
        sums[key] = before[0] + row["value_max"] - row["value_min"], max(before[1], row["value_count"])
    looks: dict[tuple[int, int], int] = {}
    samples = rows.of_cycles("samples").group_by(["scale", "cycle", "second"]).aggregate([("looks", "max")])
    for row in samples.to_pylist():
        key = row["scale"], row["cycle"]
        looks[key] = looks.get(key, 0) + row["looks_max"]
    names = ("committed", "rolled_back", "failed", "in_flight", "commits_before_window")
    found = {}
    for scale, part in rows.load.items():
        ended = sum((part[name].sum(axis=(1, 2)) for name in names), np.zeros(part.cycles.size, dtype=np.int64))
        cycles = [(scale, int(cycle)) for cycle in part.cycles]
        found[scale] = tuple(
            BothCounts(key[1], int(ended[at]), int(sums[key][0]),
                    sum(a * b for a, b in zip(_LOOKS, (looks.get(key, 0), sums[key][1], 1), strict=True)),
                    float(part.duration_s[at]))
            for at, key in enumerate(cycles) if key in sums
        )  # fmt: skip
    return found


_HEADS: Final = (
    Column("scale"), Column("client time", "s", about="clients × duration of the cycles"),
    Column("ended", form=".1%", about="in transactions that ended in their cycle"),
    Column("in flight", form=".1%", about="in transactions that were in flight at its end"),
    Column("waiting", form=".1%", about="for a turn, or with nothing left to do"),
    Column("connecting", form=".1%"),
    Column("dsbench", form=".1%", about="between transactions: what is left over"),
)  # fmt: skip
_LONG: Final = (
    Column("scale"), Column("in flight at the end", "transactions"), Column("longest", "ms", 1e-6),
    Column("longest failed", "ms", 1e-6),
    Column("half of the time above", "ms", 1e-6, about="half of the client time is in transactions that take as long"),
    Column("worst client's p99", "ms", 1e-6), Column("clients without a transaction", about="added up over the cycles"),
    Column("seconds without one", "s"), Column("longest gap", "ms", 1e-6, about="in which no transaction ended"),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    keys, parts = label_series(evaluation)
    known = [(cells, x, one) for cells, part in parts for x, one in sorted(part.of(ClientsResult).ledger.items())]
    if not known:
        return
    shares = [
        (*cells, x, one.clients_ns / 1e9, *(spent / one.clients_ns for spent in (
            one.ended_ns, one.in_flight_ns, one.waiting_ns, one.connecting_ns, one.own_ns)))
        for cells, x, one in known
    ]  # fmt: skip
    yield Table("Where the time of the clients went", (*keys, *_HEADS), shares)
    rows = [(*cells, x, *_long(one)) for cells, x, one in known]
    yield Table("What quantiles over transactions do not show", (*keys, *_LONG), rows)
    yield Sentence(_WHY, "note")


def _long(one: Ledger) -> tuple[object, ...]:
    gap = one.gap
    return (
        one.in_flight, one.longest_ns, one.longest_failed_ns or NONE,
        one.half_ns if isfinite(one.half_ns) else NONE, one.worst_p99_ns,
        sum(clients for _, clients in one.idle), sum(found.seconds for found in one.gaps) if gap else NONE,
        gap.length_ns if gap else NONE,
    )  # fmt: skip


_WHY: Final = (
    "A client that waits for seconds makes few transactions, and a lucky one makes all the others: no quantile over "
    "transactions shows that. Client time does, as each transaction weighs what it takes."
)


class ClientsResult(Result):
    ledger = computed(_read_ledger)
    """By scale: where the time of the clients went; empty where the client does not tell."""
    both_counts = computed(_read_counted)
    """By scale: cycles of which the server counted the transactions as well; empty where it does not."""


SUBJECT: Final = Subject(
    "clients", "Client time", ClientsResult, tell=_tell, nothing="The client does not tell where its time went.",
    measures=(
        Measure("half-time", "ms", "half of the client time is in transactions that take as long",
                lambda part: {x: one.half_ns / 1e6 for x, one in part.of(ClientsResult).ledger.items()}, more=False,
                    own=True),
    ),
)  # fmt: skip
