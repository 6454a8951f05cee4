"""Whether the conditions that an entry is ranked by are those of its tables and of its own description,
and whether what excuses it from rules is true: nodes of its own, a database that was there, one that was kept.

What no table shows, such as the isolation of a transaction, is a claim: ``figures.CLAIMED`` has the names of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow.compute as pc

from dsbench import release
from dsbench.archive.columns import LOCAL
from dsbench.commons.audit.rows import ENOUGH, Rows, size_of, where
from dsbench.stats.index import share
from dsbench.stats.precision import enough
from dsbench.workloads import find

_EXACT: Final = ("postgres", "mysql")
"""Engines in which the isolation that is asked for is in force."""
_ENGINES: Final = (*_EXACT, "sqlite", "firebird", "mock")
_OWN: Final = "dsbench's own, compiled in"
_SENDS: Final = 1.5
"""Messages of a transaction that statements, or a login, take at least; a call of a procedure takes one."""
_COLLISIONS: Final = frozenset({"serialization", "conflict", "deadlock"})
_ROUNDED: Final = 0.01
"""What a size that is told with four digits may be off."""


def pace(run: Rows) -> Iterator[str]:
    """Clients started their transactions when, and over as many connections, as was asked for."""
    spec = run.run.spec
    is_open = bool(spec.rate or spec.searches or spec.graduated or spec.legs)
    asked = "terminals" if spec.pace == "terminals" else spec.arrival if is_open else "closed"
    ramp_up = None if spec.find_ramp_up else round(spec.ramp_up * 1e9)
    for row in (row for row in run.tables["groups"].to_pylist() if row["group"] == "all"):
        key = (row["scale"], row["stage"], row["cycle"])
        if row["pacing"] != asked and not (spec.legs and row["pacing"] == "poisson"):
            yield f"{where(key)}: {asked} was requested, and its clients were {row['pacing']}"
        if row["connections"] != spec.connections:
            yield f"{where(key)}: {spec.connections} connections were requested, and it had {row['connections']}"
        if spec.rate and row["rate_per_s"] != spec.rate:
            yield f"{where(key)}: {spec.rate:g} starts per second were requested, and {row['rate_per_s']} were due"
        if None not in (ramp_up, row["ramp_up_ns"]) and row["ramp_up_ns"] != ramp_up:
            words = f"{spec.ramp_up:g} s of load before it were requested, and there were {row['ramp_up_ns'] / 1e9:g} s"
            yield f"{where(key)}: {words}"


def decided(run: Rows) -> Iterator[str]:
    """Where the run decided how many cycles there are, these are as many as that takes."""
    spec = run.run.spec
    rates: dict[tuple[int, int], dict[int, int]] = {}
    for row in run.tables["cycles"].to_pylist():
        if row["stage"] == "load":
            cycles = rates.setdefault((row["scale"], row["clients"]), {})
            cycles[row["cycle"]] = cycles.get(row["cycle"], 0) + row["committed"]
    for scale in sorted({scale for scale, _ in rates}) if spec.peak else ():
        if len([key for key in rates if key[0] == scale]) < 2:
            yield f"scale {scale}: the best number of clients was searched, and one was tried"
    if spec.precision is None or spec.searches or spec.peak:
        return
    for (scale, clients), cycles in rates.items():
        of_index = spec.precision_of == "index"
        wanted = share(spec.precision / 100, spec.scales, scale) if of_index else spec.precision / 100
        counts = np.array([cycles[number] for number in sorted(cycles)], dtype=float)
        if len(cycles) < spec.max_cycles and not enough(counts, wanted, spec.cycles):
            many = f"scale {scale}, clients {clients}: {len(cycles)} cycles"
            yield f"{many} do not know the rate within {spec.precision:g}%"


def tries(run: Rows) -> Iterator[str]:
    """What was tried again, called and logged in for is as the options say."""
    spec, engine = run.run.spec, run.run.engine
    cycles = run.tables["cycles"]
    retried, sent, ended = (pc.sum(cycles[name]).as_py() or 0 for name in ("retries", "messages_sent", "committed"))
    collided = sum(row["count"] for row in run.tables["errors"].to_pylist() if row["error"] in _COLLISIONS)
    if retried and not spec.retry:
        yield f"{retried:,} attempts were retried, without --retry"
    if collided > ENOUGH and spec.retry and not retried and spec.max_tries != 1 and engine != "mock":
        yield f"{collided:,} attempts failed with conflicts and none was retried, in spite of --retry"
    if sent and spec.driver != "own":
        yield f"dsbench's own client counted {sent:,} messages, and the load was made by {spec.driver}"
    few = 0 < sent < _SENDS * ended
    if few and spec.reconnect:
        yield f"{sent:,} messages cannot have the logins of {ended:,} transactions, each of which had one"
    several = find(spec.workload, spec.workload_settings).data.history  # A row of it beside the rows that are changed.
    if few and run.run.call == "statements" and several:
        yield f"{sent:,} messages cannot have the statements of {ended:,} transactions"


def description(run: Rows) -> Iterator[str]:
    """What stands in two places of the description of a run is the same in both."""
    one, spec = run.run, run.run.spec
    kind, client = spec.storage.get("type", ""), one.item("driver", "client")
    own = client == _OWN or bool(one.item("driver", "client interface"))  # That of Firebird is its vendor's library.
    makers = ("own" if own else "another", "own" if spec.driver == "own" else "another")
    twice = {
        "engine": (one.engine, one.dialect.name),
        "isolation": (one.in_force, spec.isolation if one.engine in _EXACT else one.in_force),
        "version of dsbench": (one.dsbench, one.item("application", "dsbench") or one.dsbench),
        "client": makers if client else ("", ""),
        "file system": (kind, one.item("file system", "type") if kind else ""),
    }
    for what, (here, there) in twice.items():
        if here != there:
            yield f"its {what} is {here[:60]!r} in one place and {there[:60]!r} in another"
    if one.engine not in _ENGINES:
        yield f"no engine of this dsbench is called {one.engine[:40]!r}"
    if not re.fullmatch(r"\d+(\.\d+){1,3}", one.dsbench) or _numbers(one.dsbench) > _numbers(release.VERSION):
        yield f"this dsbench knows no version {one.dsbench[:40]!r} of itself: a newer one is checked with that"


def sizes(run: Rows) -> Iterator[str]:
    """Limits and memories of the server are those in force, unless the run itself says why not; it says how fast its
    client can be."""
    one, noticed = run.run, {warning.code for warning in run.run.warnings}
    for what, item in (("memory", "RAM limit"), ("cpus", "CPU limit")):
        asked, there = one.spec.limits.get(what, ""), one.item("core", item).partition(" (")[0].removesuffix(" CPUs")
        if "limits" not in noticed and asked and not _are_alike(size_of(asked), size_of(there)):
            yield f"its server had {what} {asked[:40]} in one place and {there or 'all'} in another"
    for name, size in one.marks.items():
        if name in one.settings and not _are_alike(size_of(str(one.settings[name])), size):
            yield f"{name} is {str(one.settings[name])[:40]} among its settings, and {size:,.0f} bytes by its marks"
    measured = one.engine != "mock" and one.spec.driver == "own" and not one.nodes
    if measured and one.calibration is None and "calibration" not in noticed:
        yield "it has no maximum rate of its client, and no reason why that was not measured"


def nodes(run: Rows) -> Iterator[str]:
    """A run has nodes where these have made its load, and no others."""
    names = {node.name for node in run.run.nodes}
    here = {str(name) for name in run.tables["cycles"]["node"].unique().to_pylist()}
    if names and here - names:
        yield f"nodes made its load by its description, and {min(here - names)!r} made it by its cycles"
    if not names and here - {LOCAL}:
        yield f"{min(here - {LOCAL})!r} made its load, and is not described"
    if len(names) != run.run.spec.nodes:
        yield f"it describes {len(names)} nodes, and {run.run.spec.nodes} were requested"
    told = {(row["scale"], row["stage"], row["cycle"]) for row in run.tables["nodes"].to_pylist()}
    if names and (lacking := run.finished - told):
        yield f"{where(min(lacking))}: the part of its nodes is missing"


def there_before(run: Rows) -> Iterator[str]:
    """A database that was there was not filled, and one that was kept was looked through."""
    phases = {row["phase"] for row in run.tables["phases"].to_pylist()}
    if run.run.spec.existing and phases & {"populate", "create"}:
        yield "existing tables were requested, and it created them"
    if run.run.reused and "populate" in phases:
        yield "its database was kept by a run before, and it filled it"
    if run.run.reused and "reuse" not in phases:
        yield "its database was kept by a run before, and it never looked through it"


def _are_alike(one: float, other: float) -> bool:
    return abs(one - other) <= _ROUNDED * max(one, other)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
