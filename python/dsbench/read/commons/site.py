"""A commons as a static site: one page with all entries that were verified, which opens from a file."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from dsbench import release
from dsbench.archive import Archive
from dsbench.problem import Problem
from dsbench.read.commons import known
from dsbench.read.commons.about import EntryError
from dsbench.read.commons.entry import FILES, Entry, list_entries, read_entry, write
from dsbench.read.commons.figures import describe_group
from dsbench.read.commons.packing import prepare
from dsbench.read.commons.verifying import verify
from dsbench.read.evaluation import evaluate
from dsbench.read.html import environment, read_template
from dsbench.read.page import page

_LATE: Final = 32
"""Entries from which on several processes verify."""


Progress = Callable[[int, int], None]
"""Takes how many entries were verified, and of how many."""


@dataclass(frozen=True)
class Verified:
    """What became of the entries of a commons."""

    sound: tuple[Entry, ...] = ()
    refused: tuple[str, ...] = ()
    """A sentence for each."""
    remembered: int = 0
    """Of all of them, those that were known."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """What is known of them now."""


@dataclass(frozen=True)
class Site:
    """A site that was built."""

    path: Path
    verified: Verified


def _try(folder: Path) -> Entry | str:
    try:
        return verify(folder)
    except EntryError as error:
        return str(error)


def _verify_all(folders: Sequence[Path]) -> Iterator[Entry | str]:
    if len(folders) < _LATE:
        yield from map(_try, folders)
        return
    # Each on one CPU: threads of Arrow would wait for those that the others use.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), pa.set_cpu_count, (1,)) as workers:
        yield from workers.map(_try, folders, chunksize=8)


def check(folder: Path, progress: Progress | None = None, before: Mapping[str, str] | None = None) -> Verified:
    """Verifies each entry of the commons at ``folder`` but those that were verified ``before``."""
    marks = {path: known.mark(path) for path in list_entries(folder)}
    results: dict[Path, Entry | str] = {}
    for path, its in marks.items():
        if (said := (before or {}).get(its)) is not None:
            results[path] = said or read_entry(path)
    remembered, new = len(results), [path for path in marks if path not in results]
    for number, (path, result) in enumerate(zip(new, _verify_all(new), strict=True), 1):
        results[path] = result
        if progress:
            progress(number, len(new))
    ordered = [results[path] for path in marks]
    runs: dict[str, str] = {}
    refused = [one for one in ordered if isinstance(one, str)]
    kept = []
    for entry in (one for one in ordered if isinstance(one, Entry)):
        key = json.dumps(entry.figures, sort_keys=True)  # Of another day, too.
        if entry.figures and key in runs:
            refused.append(f"{entry.id}: it is the run of {runs[key]}")
            continue
        runs[key] = entry.id
        kept.append(entry)
    # A sentence that says where the entry lies may be wrong the next time.
    found = ((path, result if isinstance(result, str) else "") for path, result in results.items())
    again = {marks[path]: why for path, why in found if str(path) not in why}
    return Verified(tuple(kept), tuple(refused), remembered, again)


def build(folder: Path, out: Path, *, reports: bool = False, progress: Progress | None = None) -> Site:
    """Builds the site of the commons at ``folder`` into ``out``; entries that do not hold are left out.

    ``reports``: with the whole report of each entry, about a megabyte each.
    """
    if out.resolve() == folder.resolve():
        raise EntryError(f"--out: {out} is the commons itself", "name another folder, such as site", usage=True)
    marks, copied = known.read(out)
    verified = check(folder, progress, marks)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for entry in verified.sound:
            _copy(folder / "entries" / entry.id, out / "entries" / entry.id, reports=reports)
        here = {entry.id for entry in verified.sound}
        for old in set(copied) - here:
            _remove(out / "entries", old)
        known.write(out, verified.marks, sorted(here))
        path = out / "index.html"
        path.write_text(render(folder.resolve().name, verified.sound, reports=reports), "utf-8")
    except OSError as error:
        words = f"--out: cannot write to {out}: {error.strerror}"
        raise Problem(words, "name a folder that can be written", usage=True) from None
    return Site(path, verified)


def renew(folder: Path) -> list[Entry]:
    """Makes entries anew of which no figure follows from the archive, as an older dsbench computed others.

    The archive has to hold, and who measured stays as it is. Entries that are refused for other reasons stay.
    """
    made = []
    for path in list_entries(folder):
        if isinstance(_try(path), Entry):
            continue
        with suppress(Problem):
            old = read_entry(path)
            content = (path / "archive.zip").read_bytes()
            if hashlib.sha256(content).hexdigest() != old.sha256 or {one.name for one in path.iterdir()} != FILES:
                continue
            package = prepare(path / "archive.zip", old.about, old.hidden)
            if package.entry.id == old.id:
                (path / "entry.json").write_text(package.entry.rendered(), "utf-8")
            else:
                write(package, folder)
                _remove(path.parent, old.id)
            made.append(package.entry)
    return made


def _copy(source: Path, target: Path, *, reports: bool) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for name in ("entry.json", "archive.zip"):
        there = target / name
        if not there.exists() or there.read_bytes() != (source / name).read_bytes():
            shutil.copyfile(source / name, there)
            (target / "report.html").unlink(missing_ok=True)
    if reports and not (target / "report.html").exists():
        archive = Archive.open(source / "archive.zip")
        (target / "report.html").write_text(page(evaluate(archive), archive.run), "utf-8")


def _remove(folder: Path, entry_id: str) -> None:
    """Takes away what an earlier build put there, and nothing else."""
    if re.fullmatch(r"[0-9a-z-]+", entry_id):
        for name in ("entry.json", "archive.zip", "report.html"):
            (folder / entry_id / name).unlink(missing_ok=True)
        with suppress(OSError):  # What somebody else put there stays.
            (folder / entry_id).rmdir()


def describe_row(entry: Entry) -> dict[str, Any]:
    """What the page needs of an entry."""
    return {
        "id": entry.id, "group": describe_group(entry), "sentence": entry.sentence, "measured": entry.measured,
        "dsbench": entry.dsbench, "about": entry.about.model_dump(), "system": entry.system, "figures": entry.figures,
        "conditions": entry.conditions,
    }  # fmt: skip


def render(title: str, entries: Iterable[Entry], *, reports: bool = False, linked: bool = True) -> str:
    """The page of a commons; ``linked``: the archives lie beside it."""
    rows = [describe_row(entry) for entry in entries]
    style = read_template("page.css") + read_template("commons.css")
    return environment().get_template("commons.html").render(
        title=title, rows=rows, reports=reports, linked=linked, style=style,
        script=read_template("commons.js"), version=release.VERSION,
    )  # fmt: skip
