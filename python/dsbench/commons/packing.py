"""Makes an entry of an archive."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dsbench.archive import TABLES, Archive
from dsbench.commons.about import EntryError, PublisherNotes, RefusedError
from dsbench.commons.audit import audit
from dsbench.commons.entry import LARGEST_ARCHIVE, CommonsEntry, Package, name_of
from dsbench.commons.figures import describe_packed
from dsbench.commons.hiding import HIDDEN, HIDEABLE, Hider
from dsbench.read import tables
from dsbench.read.evaluation import evaluate
from dsbench.spec import Target
from dsbench.spec.outages import STANDBY

_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""Of each file in the zip, so that the same archive gives the same digest."""


def prepare(path: Path, about: PublisherNotes, hide: Collection[str] = HIDDEN) -> Package:
    """The entry of the archive at ``path``; ``RefusedError`` for one that a commons would refuse."""
    if unknown := set(hide) - set(HIDEABLE):
        words = f"--hide: {min(unknown)!r} cannot be hidden"
        raise EntryError(words, f"use some of {', '.join(HIDEABLE)}", usage=True)
    source = Archive.open(path)
    if wrong := audit(source):
        words = f"{path}: {wrong[0].sentence}"
        raise RefusedError(words, "it was not written: omit it, or measure again", usage=True)
    run = source.run
    names = {run.host: "host"} | {node.name: f"node-{number}" for number, node in enumerate(run.nodes, 1) if node.name}
    hider = Hider(hide, {name: now for name, now in names.items() if name and name != "local"})
    name = name_of(run)
    content = pack(source, name, hider)
    if len(content) > LARGEST_ARCHIVE:
        words = (f"{path}: without its trace it has {len(content) >> 20} MiB, and the maximum for an entry is "
                 f"{LARGEST_ARCHIVE >> 20}")
        raise RefusedError(words, "it was not written: use shorter cycles, or omit --per-statement", usage=True)
    digest = hashlib.sha256(content).hexdigest()
    entry_id = f"{name}-{digest[:10]}"
    if about.price is None:
        about = about.model_copy(update={"price": run.price})
    entry = CommonsEntry(
        id=entry_id, sha256=digest, about=about, hidden=tuple(sorted(hide)), **describe_packed(content)
    )
    if void := entry.void:
        raise RefusedError(f"{path}: {void}", "it was not written: omit it, or measure again", usage=True)
    return Package(entry, content, hider.found)


def pack(source: Archive, name: str, hider: Hider) -> bytes:
    """A zip with run.json, the tables without the trace, and results.csv, with their words hidden."""
    if Target(url=source.run.spec.target.url).private is None:
        monitors = source.table("monitors")
        for server in monitors.filter(pc.field("monitor") == "replication")["metric"].unique().to_pylist():
            hider.servers(str(server))  # From here on its name is hidden in all words, such as those of warnings.
    hider.words(source.run.spec.target.url)  # The same of its host.
    described = json.loads(source.read("run.json"))
    described["name"] = name
    if "label" in hider.kinds and described.get("spec", {}).get("label"):
        described["spec"]["label"] = hider.note("label", described["spec"]["label"], "")
    if reads := described.get("spec", {}).get("reads", ""):
        described["spec"]["reads"] = reads if reads == STANDBY else hider.servers(reads)
    for part in ("process", "files"):
        described.pop(part, None)
    described = hider.values(described)
    if "host" in hider.kinds and "host" in described:
        described["host"] = hider.note("host", source.run.host, "host") if source.run.host else ""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        def add(part: str, content: bytes) -> None:
            member = zipfile.ZipInfo(f"{name}/{part}", _DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            file.writestr(member, content)

        add("run.json", (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode())
        for table in TABLES:
            rows = source.table(table)
            if rows.num_rows:
                written = io.BytesIO()
                pq.write_table(_hide_rows(table, rows, hider), written, compression="zstd")
                add(f"{table}.parquet", written.getvalue())
        add("results.csv", tables.results_csv(evaluate(source)).encode())
    return made.getvalue()


def _hide_rows(table: str, rows: pa.Table, hider: Hider) -> pa.Table:
    for position, column in enumerate(rows.schema):
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            continue
        values = rows[column.name].to_pylist()
        now: dict[Any, Any] = {value: hider.words(value) for value in set(values) if isinstance(value, str)}
        if table == "served" and column.name == "server":
            now = {value: hider.servers(value) for value in now}
        if table == "programs" and column.name == "program" and "programs" in hider.kinds:
            now = {value: hider.note("programs", value, "program") for value in now}
        if any(was != is_now for was, is_now in now.items()):
            hidden = pa.array([now.get(value, value) for value in values], kind)
            rows = rows.set_column(position, column, hidden.cast(column.type) if kind == column.type
                                   else hidden.dictionary_encode().cast(column.type))  # fmt: skip
    return rows
