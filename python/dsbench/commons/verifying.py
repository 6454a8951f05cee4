"""Whether an entry follows from its archive, and its archive can be true."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, Final

from dsbench.archive import TABLES, Archive, ArchiveError
from dsbench.commons.about import EntryError, is_unseen
from dsbench.commons.audit import UNREADABLE, contradictions
from dsbench.commons.audit.whole import crowded
from dsbench.commons.entry import FILES, LARGEST_ARCHIVE, CommonsEntry, name_of, read_entry
from dsbench.commons.figures import describe_evaluated
from dsbench.read import tables
from dsbench.read.evaluation import evaluate_rows
from dsbench.read.rows import RunRows
from dsbench.redaction import redact_words

PACKED: Final = frozenset({"run.json", "results.csv", *(f"{table}.parquet" for table in TABLES)})
"""What an ``archive.zip`` may hold."""
_SAME: Final = 1e-9
"""Relative difference of figures that were computed twice."""


def verify(folder: Path) -> CommonsEntry:
    """The entry in ``folder``, once every figure was computed again from its archive.

    ``EntryError`` with one sentence for the first thing that is wrong.
    """
    entry = read_entry(folder)
    path = folder / "archive.zip"
    if path.is_symlink() or not path.is_file():
        raise EntryError(f"{entry.id} has no archive.zip")
    if path.stat().st_size > LARGEST_ARCHIVE:
        raise EntryError(f"{entry.id}: archive.zip is larger than {LARGEST_ARCHIVE >> 20} MiB")
    if more := sorted(one.name for one in folder.iterdir() if one.name not in FILES):
        raise EntryError(f"{entry.id} contains {more[0]!r}, and an entry has only entry.json and archive.zip")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != entry.sha256 or digest[:10] != entry.id[-10:]:
        raise EntryError(f"{entry.id}: archive.zip differs from the published one: wrong digest")
    if any(is_unseen(word) for word in _words(entry.model_dump())):
        raise EntryError(f"{entry.id}: entry.json contains invisible characters")
    if any(redact_words(word) != word for word in _words(entry.model_dump())):
        raise EntryError(f"{entry.id}: entry.json contains what looks like a password")
    try:
        if wrong := next(_contradictions(entry, Archive.open(path)), ""):
            raise EntryError(f"{entry.id}: {wrong}")
    except ArchiveError as error:
        raise EntryError(f"{entry.id}: {error}") from None
    except UNREADABLE as error:
        raise EntryError(f"{entry.id}: its tables cannot be evaluated: {error}") from None
    return entry


def _contradictions(entry: CommonsEntry, archive: Archive) -> Iterator[str]:
    """What in the archive cannot be true, and what the entry says that does not follow from it."""
    if more := sorted(set(archive.names()) - PACKED):
        yield f"archive.zip contains {more[0][:60]!r}, which no entry has"
        return
    if crowd := crowded(archive):
        yield crowd
        return
    rows = RunRows.of(archive)  # Once for all that is held against it.
    yield from (wrong.sentence for wrong in contradictions(archive, rows))
    evaluation = evaluate_rows(rows)
    for name, value in describe_evaluated(evaluation, archive.run).items():
        for where, mine, theirs in _differences(name, value, getattr(entry, name)):
            yield f"{where} is {theirs!r}, and its tables give {mine!r}"
    if entry.void:
        yield entry.void
    said = archive.read("results.csv").decode() if "results.csv" in archive.names() else ""
    if said != tables.results_csv(evaluation):
        yield "results.csv does not follow from its tables"
    if entry.id[:-11] != name_of(archive.run):
        yield f"it should be called {name_of(archive.run)}"


def _words(value: Any) -> Iterator[str]:
    """All texts in JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in [*value, *value.values()] if isinstance(value, Mapping) else value:
            yield from _words(part)


def _differences(where: str, mine: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    """What differs: the name of the field, what follows from the tables, and what is said."""
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        for name in sorted({*mine, *theirs}):
            yield from _differences(f"{where}.{name}", mine.get(name), theirs.get(name))
    elif isinstance(mine, list | tuple) and isinstance(theirs, list | tuple) and len(mine) == len(theirs):
        for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from _differences(f"{where}.{number}", one, other)
    elif _is_number(mine) and _is_number(theirs):
        # Of what is no number or has no end, nothing is less than anything: both have to be finite.
        if not abs(mine - theirs) <= _SAME * max(abs(mine), abs(theirs)) < inf:
            yield where, mine, theirs
    elif mine != theirs or isinstance(mine, bool) != isinstance(theirs, bool):
        yield where, mine, theirs


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)
