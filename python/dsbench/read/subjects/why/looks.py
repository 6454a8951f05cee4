"""What was seen of transactions in progress: sessions, threads, messages and other programs, by cycle and second."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from math import ceil, isfinite
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.dataclass import dataclass
from dsbench.read.groups import grouped, whole
from dsbench.read.measured import Measured
from dsbench.read.subjects.machine import MachineResult
from dsbench.stats import shares
from dsbench.stats.resources import gains
from dsbench.stats.shares import StateSeen, Threads, What

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation


@dataclass
class ObservedStates:
    """What was seen at one scale."""

    cycles: dict[int, StateSeen]
    seconds: dict[tuple[int, int], StateSeen]
    """By cycle and second."""
    known: bool
    """Whether anything but the load itself was seen."""
    statement: str = ""


def read_looks(evaluation: Evaluation) -> dict[int, ObservedStates]:
    """By scale."""
    rows = evaluation.rows
    threads = _read_threads(rows.monitors, evaluation)
    sampled, statements = _read_samples(rows.of_cycles("samples"))
    trips = _read_round_trips(rows.monitors)
    foreign = _read_foreign(evaluation)
    found = {}
    for scale, load in rows.load.items():
        cycles: dict[int, StateSeen] = {}
        seconds: dict[tuple[int, int], StateSeen] = {}
        known = False
        for at, cycle in enumerate(load.cycles.tolist()):
            key = scale, cycle
            server, client = (threads.get((*key, side, -1)) for side in ("server", "client"))
            base = _see_load(evaluation, load, at, trips.get(key, 0.0), foreign.get(key, 0.0))
            waiting, active = sampled.get((*key, -1), (None, 0.0))
            known = known or server is not None or client is not None or waiting is not None
            cycles[cycle] = replace(base, waiting=waiting, active=active, server=server, client=client)
            for second in range(ceil(load.duration_s[at])):
                waiting, active = sampled.get((*key, second), (None, 0.0))
                if waiting is not None or (*key, -1) not in sampled:
                    seconds[cycle, second] = replace(
                        cycles[cycle], waiting=waiting, active=active,
                        server=_of_second(threads.get((*key, "server", second)), server),
                        client=_of_second(threads.get((*key, "client", second)), client),
                    )  # fmt: skip
        found[scale] = ObservedStates(cycles, seconds, known, statements.get(scale, ""))
    return found


def _of_second(here: Threads | None, cycle: Threads | None) -> Threads | None:
    """The states of a second; the times are those of its cycle."""
    if here is None or cycle is None:
        return cycle
    return replace(here, ran=cycle.ran, queued=cycle.queued, throttled=cycle.throttled)


def _see_load(evaluation: Evaluation, load: Measured, at: int, trip_s: float, foreign: float) -> StateSeen:
    """What the load itself tells of a cycle."""
    duration_ns = int(load.duration_ns[at])

    def total(*names: str) -> float:
        return float(sum(load[name][at].sum() for name in names)) / max(duration_ns, 1)

    makers, cycle = evaluation.rows.makers, int(load.cycles[at])
    closed = makers.pacings <= {"closed", "in-step"}
    in_time = evaluation.rows.groups.filter(pc.field("cycle") == cycle)
    ramp_ns = max((value or 0 for value in in_time["ramp_up_ns"].to_pylist()), default=0)
    return StateSeen(
        float(makers.clients) - total("waiting_ns") if closed else total("ended_ns", "in_flight_ns", "connecting_ns")
        or total("residence_ns", "failed_ns"),
        client_cpu=total("cpu_ns") * duration_ns / max(duration_ns + ramp_ns, 1),
        network=total("messages_sent") * trip_s * 1e9,
        foreign=foreign,
        embedded=evaluation.run.embedded,
    )


_TIMED: Final = ("ran", "queued", "throttled")
"""Metrics of threads that are times."""
_ThreadKey = tuple[int, int, str, int]
"""Scale, cycle, side and second; -1 for the whole cycle."""


def _read_threads(monitors: pa.Table, evaluation: Evaluation) -> dict[_ThreadKey, Threads]:
    """Of all nodes together; each second has the states of its own, and the times of its cycle."""
    table = monitors.filter(pc.is_in(monitors["monitor"], pa.array(["client_threads", "server_threads"])))
    if not table.num_rows:
        return {}
    times = _read_times(table.filter(pc.field("unit") == "s total"), evaluation)
    states: dict[_ThreadKey, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    looks: dict[_ThreadKey, int] = defaultdict(int)
    for row in table.filter((pc.field("unit") != "s total") & (pc.field("at_ns") > 0)).to_pylist():
        side, second = row["monitor"].removesuffix("_threads"), ceil(row["at_ns"] / 1e9) - 1
        for key in ((row["scale"], row["cycle"], side, -1), (row["scale"], row["cycle"], side, second)):
            if row["metric"] == "looks":
                looks[key] += 1
            else:
                states[key][row["metric"]].append(row["value"])
    found = {}
    for key in {*looks, *((*name, -1) for name in times)}:
        ran, queued, throttled = times.get(key[:3], (0.0, 0.0, 0.0))
        nodes = max(evaluation.run.spec.nodes, 1) if key[2] == "client" else 1
        mean = {state: nodes * sum(values) / looks[key] for state, values in states[key].items()} if looks[key] else {}
        found[key] = Threads(mean, ran, queued, sum(mean.values()), throttled)
    return found


def _read_times(table: pa.Table, evaluation: Evaluation) -> dict[tuple[int, int, str], tuple[float, float, float]]:
    """By scale, cycle and side how many threads ran and waited for a CPU, and how many CPUs a quota denied."""
    counters, number = grouped(table, ("scale", "cycle", "node", "monitor", "metric"))
    if not counters:
        return {}
    durations = {(x, int(c)): d for x, load in evaluation.rows.load.items()
                 for c, d in zip(load.cycles, load.duration_ns, strict=True)}  # fmt: skip
    of = zip(whole(table, "scale").tolist(), whole(table, "cycle").tolist(), strict=True)
    spans = np.array([durations.get(key, 0) for key in of], dtype=np.int64)
    found: dict[tuple[int, int, str], list[float]] = defaultdict(lambda: [0.0] * len(_TIMED))
    for name, gain, _, covered in zip(*gains(number, whole(table, "at_ns"), table["value"].to_numpy(), spans),
                                      strict=True):  # fmt: skip
        scale, cycle, _node, monitor, metric = counters[int(name)]
        load_s = covered * durations.get((scale, cycle), 0) / 1e9
        if load_s > 0 and isfinite(gain):
            found[scale, cycle, monitor.removesuffix("_threads")][_TIMED.index(metric)] += float(gain) / load_s
    return {key: (ran, queued, throttled) for key, (ran, queued, throttled) in found.items()}


_Sampled = dict[tuple[int, int, int], tuple[dict[What, float], float]]


def _read_samples(table: pa.Table) -> tuple[_Sampled, dict[int, str]]:
    """By scale, cycle and second (-1: all of them) the sessions by what they waited for, and those active without a
    wait; by scale the statement in which most of them were."""
    sums: dict[tuple[int, int, int], dict[What, float]] = defaultdict(lambda: defaultdict(float))
    looks: dict[tuple[int, int, int], int] = {}
    statements: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in table.to_pylist():
        key = row["scale"], row["cycle"], row["second"]
        looks[key] = row["looks"]
        if row["state"] not in ("active", "waiting") or row["class"] == "client":
            continue
        of = What(row["class"], row["wait"] or "", row["on"] or "") if row["class"] in shares.WAITS else What("")
        sums[key][of] += row["sessions"]
        statements[row["scale"]][row["statement"] or ""] += row["sessions"]
    totals: dict[tuple[int, int, int], int] = defaultdict(int)
    for key, number in looks.items():
        totals[key] = number
        totals[(*key[:2], -1)] += number
        for what, value in sums[key].items():
            sums[(*key[:2], -1)][what] += value
    found: _Sampled = {}
    for key, number in totals.items():
        means = {what: value / number for what, value in sums[key].items()} if number else {}
        found[key] = {what: value for what, value in means.items() if what.kind}, means.get(What(""), 0.0)
    return found, {scale: _name_statement(counts) for scale, counts in statements.items()}


def _name_statement(counts: Mapping[str, int]) -> str:
    text, count = max(counts.items(), key=lambda one: one[1])
    return f"{count / sum(counts.values()):.0%} of the time in the server in: {' '.join(text.split())}" if text else ""


def _read_round_trips(monitors: pa.Table) -> dict[tuple[int, int], float]:
    """By scale and cycle the mean over the nodes, in s."""
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for row in monitors.filter(pc.field("monitor") == "round_trip").to_pylist():
        found[row["scale"], row["cycle"]].append(row["value"])
    return {key: sum(values) / len(values) for key, values in found.items()}


def _read_foreign(evaluation: Evaluation) -> dict[tuple[int, int], float]:
    """By scale and cycle the share of the busy time of the server's machine that others had."""
    found = {}
    for scale, uses in evaluation.of(MachineResult).machine.items():
        for one in uses:
            use = one.use
            if one.node or (use.server_ns is None and not evaluation.run.embedded):
                continue
            others = use.others_ns + use.stolen_ns
            busy = others + use.run_ns + use.kernel_ns + (use.server_ns or 0)
            found[scale, one.cycle] = others / busy if busy else 0.0
    return found


def read_log_use(monitors: pa.Table, scale: int) -> float:
    """The age of InnoDB's last checkpoint as a share of the greatest that it allows, in the median of the cycles'
    seconds; nan where it is not told."""
    here = (pc.field("monitor") == "server") & (pc.field("scale") == scale) & (pc.field("at_ns") >= 0)
    rows = monitors.filter(here & pc.field("metric").isin(["checkpoint_age", "checkpoint_max_age"])).to_pylist()
    found: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        found[row["cycle"], row["at_ns"]][row["metric"]] = row["value"]
    used = [one["checkpoint_age"] / one["checkpoint_max_age"] for one in found.values()
            if len(one) > 1 and one["checkpoint_max_age"] > 0]  # fmt: skip
    return float(np.median(used)) if used else float("nan")
