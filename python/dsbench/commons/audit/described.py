"""Whether a run says what it was: durable or not, on what, of which size, which workload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from dsbench.archive.columns import LOCAL
from dsbench.commons.audit.kept import beside, write_history
from dsbench.commons.audit.rows import CYCLE, ENOUGH, MOST, Key, Rows, plain, size_of, where
from dsbench.workloads import find, names

_SWITCHES: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "postgres": {
        "fsync": frozenset({"on"}), "full_page_writes": frozenset({"on", "off"}),
        "synchronous_commit": frozenset({"on", "local", "remote_write", "remote_apply"}),
    },
    "mysql": {"innodb_flush_log_at_trx_commit": frozenset({"1", "3"})},
    "sqlite": {"synchronous": frozenset({"full", "extra"}), "journal_mode": frozenset()},
    "firebird": {},
}  # fmt: skip
"""By engine: switches that each archive of it has, with the values that lose nothing; none: any value."""
_FLUSHES: Final = ("wal_syncs", "data_syncs")
"""Counters of flushes of the log; newer versions of MariaDB count them with those of the data only."""
_SMALL: Final = 2**23
"""Bytes of a database that may be anything but its rows."""
_EMPTY: Final = 2**25
"""Bytes that the files of a product may have without a row: InnoDB makes them before they are needed."""
_LESS: Final = 0.6
"""Share of a size that the same rows have at least, however they were loaded."""
_ROUNDED: Final = 1.01
"""How many times a size that is told with two digits after the point may be larger."""
_BRANCH: Final = 11
"""Rows of a branch beside its accounts: itself and 10 tellers."""
_ACCOUNTS: Final = 100_000
"""Accounts of a branch where nobody says otherwise. Source: TPC Benchmark B 2.0, clause 4.2."""
_GROWN: Final = 1000
"""Bytes at most that a transaction before the first cycle adds; about 400 in MariaDB, with what undoes it."""


def switches(run: Rows) -> Iterator[str]:
    """What was durable is said, and agrees with the settings."""
    if run.run.engine != "mock" and not run.run.durability:
        yield "it does not describe the durability of commits"
        return
    values = {switch.switch: switch for switch in run.run.durability}
    for name, good in _SWITCHES.get(run.run.engine, {}).items():
        switch = values.get(name)
        if switch is None and "rocksdb_flush_log_at_trx_commit" not in values:
            yield f"it has no value of {name}"
        elif switch and good and switch.safe and str(switch.value).lower() not in good:
            yield f"it calls {name} = {switch.value} durable"
    for place, settings in (("was set to", run.run.spec.target.settings), ("is set to", run.run.settings)):
        for name, value in settings.items():
            if name in values and plain(values[name].value) != plain(value):
                yield f"{name} {place} {value}, and among the switches it is {values[name].value}"


def flushed(run: Rows) -> Iterator[str]:
    """A server to which each commit is durable has flushed its log for them. One flush serves all who wait for it."""
    switches = {one.switch: one for one in run.run.durability}
    durable = switches.get("innodb_flush_log_at_trx_commit")
    history = any(one.detail.startswith("history ") for some in run.run.checks.values() for one in some)
    if durable is None or not durable.safe or "rocksdb_flush_log_at_trx_commit" in switches or not history:
        return
    sessions: dict[Key, int] = {}
    for row in run.tables["groups"].to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        sessions[key] = sessions.get(key, 0) + (row["all_clients"] or 0) * max(row["connections"] or 1, 1)
    written = run.add_up("cycles", CYCLE, "committed", of=write_history(run))
    rows = run.tables["monitors"].filter(pc.field("monitor") == "server")
    rows = rows.filter(pc.is_in(pc.field("metric"), pa.array(_FLUSHES)))
    counted: dict[Key, float] = {}
    for row in rows.group_by([*CYCLE, "metric"]).aggregate([("value", "min"), ("value", "max")]).to_pylist():
        key = (row["scale"], row["stage"], row["cycle"])
        counted[key] = max(counted.get(key, 0.0), row["value_max"] - row["value_min"])
    for key, flushes in counted.items():
        (committed,), waiting = written.get(key, (0,)), sessions.get(key, 0)
        if waiting and committed > waiting * (2 * flushes + ENOUGH):
            yield f"{where(key)}: {committed:,} were durable by its switches, and {flushes:,.0f} flushes were made"


def described(run: Rows) -> Iterator[str]:
    """Each layer of the stack is said, and the server has one version."""
    if run.run.engine == "mock":
        return
    layers = {layer.layer for layer in run.run.stack if layer.items}
    for layer in ("core", "operating system", "file system", "RDBMS"):
        if layer not in layers and not (layer in ("core", "operating system", "file system") and not run.run.stack):
            yield f"it does not describe the {layer}"
    if not run.run.stack:
        yield "it describes no machine"
    if not run.run.server_version:
        yield "it has no version of the server"
    said = run.run.item("RDBMS", "version")
    if said and run.run.server_version and _numbers(said) != _numbers(run.run.server_version):
        yield f"its server is {said[:40]!r} in one place and {run.run.server_version[:40]!r} in another"


def machine(run: Rows) -> Iterator[str]:
    """A machine has the memory and the CPUs that it is described with, wherever the run tells of them."""
    ram, threads = size_of(run.run.item("core", "RAM")), run.run.item("core", "threads")
    if threads and run.run.cpus and threads != str(run.run.cpus):
        yield f"it has {threads} threads by its description, and {run.run.cpus} CPUs"
    if not ram:
        return
    said = {"memory": run.run.marks.get("RAM", 0)}
    limited = run.run.item("core", "RAM limit") or run.run.spec.limits.get("memory")
    if said["memory"] and not limited and said["memory"] * _ROUNDED < ram:
        yield f"it has {ram:,.0f} bytes of memory by its description, and {said['memory']:,.0f} bytes by its marks"
    local = run.tables["monitors"].filter((pc.field("monitor") == "os") & (pc.field("node") == LOCAL))
    said["memory in use"] = pc.max(local.filter(pc.field("metric") == "memory_used")["value"]).as_py() or 0
    for what, size in said.items():
        if size > _ROUNDED * ram:
            yield f"it has {ram:,.0f} bytes of memory by its description, and {size:,.0f} bytes of {what}"


def _numbers(version: str) -> str:
    found = re.search(r"\d+(\.\d+)+", version)
    return found[0] if found else version


def built(run: Rows) -> Iterator[str]:
    """A scale has its rows before it has its cycles."""
    phases = run.tables["phases"].to_pylist()
    for row in phases:
        if row["duration_ns"] is not None and not 0 <= row["duration_ns"] < MOST:
            yield f"scale {row['scale']}: {row['phase']} took {row['duration_ns']} ns"
    if run.run.spec.existing or run.run.reused:
        return
    yield from _rows_of_scale(run)
    built = {row["scale"] for row in phases}
    for scale in sorted({key[0] for key in run.finished} - built):
        yield f"scale {scale}: its population is missing"
    sizes = {row["scale"]: row["size_bytes"] for row in phases if row["size_bytes"] and row["phase"] == "foreign_key"}
    for (low, small), (high, large) in pairwise(sorted(sizes.items())):
        if large < small:
            yield f"scale {high} is smaller than scale {low}"
    yield from _sizes(run, sizes)


def _rows_of_scale(run: Rows) -> Iterator[str]:
    """A scale of TPC-B has the rows of so many branches, or those that lack where it grew out of a smaller one."""
    spec = run.run.spec
    known = find(spec.workload, spec.workload_settings)
    if "tpcb" not in (spec.workload, known.data.reads):
        return
    asked = spec.workload_settings.get("accounts", "")
    branch = _BRANCH + (int(asked) if asked.isdecimal() else _ACCOUNTS)
    rows = [row for row in run.tables["phases"].to_pylist() if row["phase"] == "populate"]
    scales = {row["scale"] for row in rows}
    for row in rows:
        smaller = {0, *(scale for scale in scales if scale < row["scale"] and spec.grow)}
        if row["rows"] not in {(row["scale"] - scale) * branch for scale in smaller}:
            yield f"scale {row['scale']}: it was filled with {row['rows']:,} rows, and has {row['scale'] * branch:,}"


def _sizes(run: Rows, sizes: Mapping[int, int]) -> Iterator[str]:
    """A database is as large as its rows make it, and as the monitor saw it before the first cycle."""
    rows = {row["scale"]: row["rows"] for row in run.tables["phases"].to_pylist() if row["phase"] == "populate"}
    least, most = find(run.run.spec.workload, run.run.spec.workload_settings).data.row_bytes
    if any(switch.switch.startswith("rocksdb") for switch in run.run.durability):
        least = 0  # It compresses.
    seen = run.tables["monitors"].filter((pc.field("metric") == "database_size") & (pc.field("cycle") == 1))
    first = {row["scale"]: row["value"] for row in reversed(seen.sort_by("at_ns").to_pylist())}
    for scale, size in sizes.items():
        count, grown = rows.get(scale, 0), _GROWN * beside(run, scale)
        if most and count and not _LESS * least * count <= size <= most * count / _LESS + _EMPTY:
            yield f"scale {scale}: {count:,} rows of {run.run.spec.workload} do not have {size:,} bytes"
        if count and size > _SMALL and scale in first and not _LESS * size <= first[scale] <= size / _LESS + grown:
            yield f"scale {scale}: it was built with {size:,} bytes, and had {first[scale]:,.0f} before its first cycle"


def workload(run: Rows) -> Iterator[str]:
    """A workload is what it is called."""
    name = run.run.spec.workload
    if name not in names():
        yield f"no workload of this dsbench is called {name[:40]!r}"
        return
    known = find(name, run.run.spec.workload_settings)
    said = run.run.workload
    for what, mine, its in (
        ("label", said.label, known.label), ("headline", said.headline, known.headline),
        ("specification", said.meaning.specification, known.meaning.specification),
    ):  # fmt: skip
        if mine != its:
            yield f"it calls the {what} of {name} {mine!r}, and it is {its!r}"
    if known.kinds and (strange := {str(kind) for kind in run.tables["cycles"]["kind"].unique().to_pylist()}
                        - {kind.name for kind in known.kinds}):  # fmt: skip
        yield f"{name} has no transaction {min(strange)!r}"
