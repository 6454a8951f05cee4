"""SQLite: in this process, on one file."""

from __future__ import annotations

import sys
from pathlib import Path

from dsbench.measure.stack.described import Database, StackQueries, Switch, cell, present, rows, size, switch
from dsbench.spec import Target

_DEFAULT_PAGE_BYTES = 4096
_LEVELS = {"0": "off", "1": "normal", "2": "full", "3": "extra"}
_ENGINE_DEFAULTS = {"journal_mode": "wal", "synchronous": "full", "foreign_keys": "on", "begin": "immediate"}
"""Of dsbench's engine, which sets these whatever SQLite's own defaults are."""


def describe(queries: StackQueries, url: str) -> Database:
    """SQLite as the sessions of this target have it.

    Before a run has made its file there is none to ask: what belongs to the file is told by the URL.
    """
    asked = {name: value.lower() for name, value in Target(url=url).parameters.items() if value}
    known = {**_ENGINE_DEFAULTS, **asked} if url else asked
    for name in ("synchronous", "cache_size", "mmap_size"):
        known.setdefault(name, _pragma(queries, name))
    if _on_file(queries):
        known |= {name: _pragma(queries, name) for name in ("journal_mode", "page_size", "synchronous")}
    known["synchronous"] = _LEVELS.get(known["synchronous"], known["synchronous"])
    page_bytes = int(known.get("page_size") or _DEFAULT_PAGE_BYTES)
    version = cell(queries, "select sqlite_version() as version")
    cache = cache_bytes(known.get("cache_size", ""), page_bytes)
    mapped = known.get("mmap_size", "")
    items = {
        "version": f"SQLite {version}",
        "page size": size(page_bytes),
        "cache of a connection": size(cache) if cache else "",
        "memory map": size(int(mapped)) if mapped.isdecimal() and mapped != "0" else "",
        "journal mode": known.get("journal_mode", ""),
        "synchronous": known["synchronous"],
        "transactions begin": known.get("begin", ""),
    }
    return Database(
        version=f"SQLite {version}".strip(),
        items=present(items),
        settings=asked,
        durability=durability(known.get("journal_mode", ""), known["synchronous"]),
        marks={"cache_size": cache},
        api={"interface": "SQLite's C library, called in the process of the load generator"},
        driver={"client": "dsbench's own, compiled in"},
    )


def directory(queries: StackQueries, url: str) -> Path | None:  # noqa: ARG001
    """The folder of the file that the URL names."""
    file = Target(url=url).file
    return file.resolve().parent if file is not None else None


def cache_bytes(cache_size: str, page_bytes: int) -> int:
    """Bytes of SQLite's ``cache_size``: pages when positive, KiB when negative; 0 when unknown."""
    try:
        pages = int(cache_size)
    except ValueError:
        return 0
    return pages * page_bytes if pages >= 0 else -pages * 1024


def durability(journal_mode: str, synchronous: str) -> list[Switch]:
    """What a power cut does to committed transactions (sqlite.org/pragma.html); unknown values are left out."""
    switches: list[Switch] = []
    if journal_mode:
        safe = journal_mode not in ("memory", "off")
        meaning = "an interrupted transaction is undone" if safe else "a crash within a transaction corrupts the file"
        switches.append(switch("journal_mode", journal_mode, {"": (safe, meaning)}))
    if synchronous:
        switches.append(switch("synchronous", synchronous, {"": _flushing(journal_mode, synchronous)}))
    return switches


def _flushing(journal_mode: str, synchronous: str) -> tuple[bool, str]:
    if synchronous == "off":
        return False, "nothing is flushed: a power cut loses commits and may corrupt the file"
    if synchronous == "normal":
        if journal_mode == "wal":
            return False, "commits are not flushed: a power cut loses the last ones, but the file stays intact"
        return False, "not every step is flushed: a power cut may lose a commit and, rarely, corrupt the file"
    if sys.platform == "darwin":
        return False, "commits are flushed into the drive's cache only, as macOS does it: a power cut may lose them"
    if journal_mode == "delete" and synchronous == "full":
        return False, "the end of the journal is not flushed: a power cut right after a commit may undo it"
    return True, "every commit is flushed to the storage before it is reported"


def _pragma(queries: StackQueries, name: str) -> str:
    return cell(queries, f"pragma {name}").lower()


def _on_file(queries: StackQueries) -> bool:
    found = rows(queries, "pragma database_list")
    return any(row.get("name") == "main" and row.get("file") for row in found)
