"""Whether histograms and courses have the transactions and times of the clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dsbench.commons.audit.rows import CYCLE, KIND, LATE_NS, Key, Rows, extremes_of, where
from dsbench.stats.values import Ints

_FEW: Final = 24
"""Counts of which one is odd in any run, and not all can be divided by three."""


def histograms(run: Rows) -> Iterator[str]:
    """As many transactions in the buckets as clients ended, with the same sum of times."""
    found = summed(run, "residence")
    if not found and any(values[0] + values[1] for values in run.ended.values()):
        yield "there is no histogram"
        return
    if any(row["turned"] for row in found.values()):
        yield "a bucket ends before it begins"
    extremes = extremes_of(run)
    for key, (committed, rolled_back, spent, _failed) in run.ended.items():
        here = found.get(key)
        in_them = here["count_sum"] if here else 0
        if in_them != committed + rolled_back:
            yield f"{where(key)}: {committed + rolled_back:,} {key[-1]} ended, and its histogram has {in_them:,}"
        elif here and not here["floor_sum"] * 0.999999 <= spent <= here["roof_sum"] * 1.000001:
            yield f"{where(key)}, {key[-1]}: its histogram adds up to other times than its clients"
        elif here and not (here["low_ns_min"] <= extremes[key][0] <= extremes[key][1] <= here["high_ns_max"]):
            yield f"{where(key)}, {key[-1]}: its minimum or maximum time is outside its histogram"
    for key in found.keys() - run.ended.keys():
        if key[:3] in run.finished:
            yield f"{where(key)} has a histogram of {key[-1]!r}, which did not occur"
            return


def summed(run: Rows, measure: str) -> dict[Key, dict[str, Any]]:
    """By kind, the buckets of ``measure`` added up: their count, the least and the greatest sum of their times, where
    they begin and end, and whether one ends before it begins."""
    buckets = run.tables["buckets"].filter(pc.field("measure") == measure)
    if not buckets.num_rows:
        return {}
    low, high, count = (buckets[name].to_numpy().astype(np.float64) for name in ("low_ns", "high_ns", "count"))
    more = {"floor": low * count, "roof": high * count, "turned": (low > high).astype(np.int64)}
    for name, values in more.items():
        buckets = buckets.append_column(name, pa.array(values))
    whole = buckets.group_by(list(KIND)).aggregate(
        [*((name, "sum") for name in ("count", "floor", "roof", "turned")), ("low_ns", "min"), ("high_ns", "max")]
    )
    return {tuple(row[key] for key in KIND): {**row, "turned": row["turned_sum"] > 0} for row in whole.to_pylist()}


def buckets(run: Rows) -> Iterator[str]:
    """Buckets have the bounds that the client's histogram has, and no run counts in pairs."""
    rows = run.tables["buckets"].filter(pc.field("measure") == "residence")
    if not rows.num_rows:
        return
    low, high = (rows[name].to_numpy().astype(np.int64) for name in ("low_ns", "high_ns"))
    begin, width = begins_of(low)
    ends = _ends(run)
    for row in rows.filter(pa.array((low != begin) | (high != begin + width - 1))).to_pylist():
        key = tuple(row[name] for name in KIND)
        width_here = 1 << max(row["low_ns"].bit_length() - 11, 0)
        begins = row["low_ns"] - row["low_ns"] % width_here
        least, most = ends.get(key, ({row["low_ns"]}, {row["high_ns"]}))
        if row["low_ns"] not in {begins, *least} or row["high_ns"] not in {begins + width_here - 1, *most}:
            yield f"{where(key)}: no histogram of dsbench has a bucket from {row['low_ns']} to {row['high_ns']} ns"
    common = int(np.gcd.reduce(rows["count"].to_numpy()))
    if rows.num_rows >= _FEW and common > 1:
        yield f"all counts of its histograms can be divided by {common}"


def begins_of(low: Ints) -> tuple[Ints, Ints]:
    """Where the buckets of a histogram begin that have times from ``low`` on, and how wide they are: 2,048 of a
    nanosecond, then twice as wide with each doubling. The least and the greatest time of a client end its own."""
    bits = np.frexp(np.maximum(low, 1).astype(np.float64))[1].astype(np.int64)
    width = np.int64(1) << np.maximum(bits - 11, 0)
    return low - low % width, width


def _ends(run: Rows) -> dict[Key, tuple[set[int], set[int]]]:
    """By kind the least and the maximum times of its clients: there the histogram of a client begins and ends."""
    found: dict[Key, tuple[set[int], set[int]]] = {}
    some = run.tables["cycles"].filter(pc.field("last_end_ns") > 0)
    for row in some.select([*KIND, "residence_min_ns", "residence_max_ns"]).to_pylist():
        least, most = found.setdefault(tuple(row[key] for key in KIND), (set(), set()))
        least.add(row["residence_min_ns"])
        most.add(row["residence_max_ns"])
    return found


def courses(run: Rows) -> Iterator[str]:
    """As many transactions by second as clients ended."""
    counts = run.add_up("seconds", KIND, "count", "failed")
    if not counts:
        if run.ended and any(values[0] for values in run.ended.values()):
            yield "there is no course of the seconds"
        return
    groups = run.tables["groups"].to_pylist()
    clients = {tuple(row[key] for key in (*CYCLE, "group")): row["all_clients"] or 0 for row in groups}
    for key, (committed, rolled_back, _spent, _failed) in run.ended.items():
        ended = counts.get(key, (0, 0))[0]
        # A client that waits for a CPU between the end and its place in the course may come too late for that.
        if not 0 <= committed + rolled_back - ended <= clients.get((*key[:3], key[5]), 0) // 8:
            yield f"{where(key)}, {key[-1]}: {committed + rolled_back:,} transactions ended, {ended:,} by its seconds"
    seconds, begun = run.tables["seconds"].filter((pc.field("count") > 0) | (pc.field("failed") > 0)), run.begun
    for row in seconds.group_by([*CYCLE, "group"]).aggregate([("second", "max")]).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"], row["group"])
        if key in run.durations and row["second_max"] * 1e9 > begun.get(key, 0) + run.durations[key] + LATE_NS:
            yield f"{where(key)} went on in second {row['second_max']}, after its end"
    for low, high in (("p50_ns", "p99_ns"), ("p99_ns", "max_ns")):
        if seconds.filter((pc.field("count") > 0) & (pc.field(low) > pc.field(high))).num_rows:
            yield "a quantile in the course lies above one that is larger"


def greatest(run: Rows) -> Iterator[str]:
    """The greatest time of the course is that of the clients, where all that ended is in the course."""
    seconds, extremes = run.tables["seconds"].filter(pc.field("count") > 0), extremes_of(run)
    in_open_loop = summed(run, "response")
    for row in seconds.group_by(list(KIND)).aggregate([("max_ns", "max"), ("count", "sum")]).to_pylist():
        key = tuple(row[name] for name in KIND)
        least, most = extremes.get(key, (0, 0))
        here, whole = row["max_ns_max"], row["count_sum"] == sum(run.ended.get(key, (0, 0))[:2])
        # In an open loop the course has response times: what waited for its turn took longer.
        most_here = here if key in in_open_loop else most
        if most and not (most if whole else least) <= here <= most_here:
            yield f"{where(key)}: the maximum time of its course is {here} ns, that of its clients {most} ns"


def copies(run: Rows) -> Iterator[str]:
    """Two cycles never have the same times to the nanosecond."""
    by_cycle: dict[Key, list[tuple[int, ...]]] = {}
    for row in run.tables["cycles"].to_pylist():
        if row["committed"] + row["rolled_back"] > 2:
            times = (row["residence_ns"], row["residence_min_ns"], row["residence_max_ns"], row["first_start_ns"])
            by_cycle.setdefault((row["scale"], row["stage"], row["cycle"]), []).append(times)
    seen: dict[tuple[tuple[int, ...], ...], Key] = {}
    if run.run.engine == "mock":
        return  # Its times are those that were scripted.
    for key, spent in by_cycle.items():
        same = tuple(sorted(spent))
        if same in seen:
            yield f"{where(key)} has the very times of {where(seen[same])}"
        seen[same] = key
