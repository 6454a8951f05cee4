"""A commons as a static site: one page with all entries that were verified, which opens from a file."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from dsbench import release
from dsbench.archive import Archive
from dsbench.commons.about import EntryError
from dsbench.commons.entry import FILES, CommonsEntry, list_entries
from dsbench.commons.figures import describe_group
from dsbench.commons.verifying import verify
from dsbench.dataclass import dataclass
from dsbench.problem import Problem
from dsbench.read.evaluation import evaluate
from dsbench.read.html import environment, read_template
from dsbench.read.page import page

_OWN: Final = "dsbench.commons"
"""The package whose templates these are."""
_LATE: Final = 32
"""Entries from which on several processes verify."""
_BUILT: Final = re.compile(r"index\.html|entries(/[0-9a-z-]+(/(entry\.json|archive\.zip|report\.html))?)?")
"""What a build makes in a site."""

Progress = Callable[[int, int], None]
"""Takes how many entries were verified, and of how many."""


@dataclass(frozen=True)
class Verified:
    """What became of the entries of a commons."""

    sound: tuple[CommonsEntry, ...] = ()
    refused: tuple[str, ...] = ()
    """A sentence for each."""


@dataclass(frozen=True)
class Site:
    """A site that was built."""

    path: Path
    verified: Verified


def _try(folder: Path) -> CommonsEntry | str:
    try:
        return verify(folder)
    except EntryError as error:
        return str(error)


def _verify_all(folders: Sequence[Path]) -> Iterator[CommonsEntry | str]:
    if len(folders) < _LATE:
        yield from map(_try, folders)
        return
    # Each on one CPU: threads of Arrow would wait for those that the others use.
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn"), pa.set_cpu_count, (1,)) as workers:
        yield from workers.map(_try, folders, chunksize=8)


def check(folder: Path, progress: Progress | None = None) -> Verified:
    """Verifies each entry of the commons at ``folder``. Of entries of one run nothing tells which was there first: all
    of them are refused."""
    paths, results = list_entries(folder), list[CommonsEntry | str]()
    for result in _verify_all(paths):
        results.append(result)
        if progress:
            progress(len(results), len(paths))
    entries = [one for one in results if isinstance(one, CommonsEntry)]
    runs: dict[str, list[str]] = {}
    for one in entries:  # Of whatever day.
        runs.setdefault(json.dumps(one.figures, sort_keys=True) if one.figures else one.id, []).append(one.id)
    refused = [one for one in results if isinstance(one, str)]
    for same in (ids for ids in runs.values() if len(ids) > 1):
        which = f"{len(same)} entries are this run, {' and '.join(same[:2])}{', …' * (len(same) > 2)}"
        refused += [f"{one}: {which}: keep one of them" for one in same]
    alone = {one for ids in runs.values() if len(ids) == 1 for one in ids}
    return Verified(tuple(one for one in entries if one.id in alone), tuple(refused))


def build(folder: Path, out: Path, *, reports: bool = False, progress: Progress | None = None) -> Site:
    """Builds the site of the commons at ``folder`` into ``out``, in place of what an earlier build made there; entries
    that do not hold are left out.

    ``reports``: with the whole report of each entry, about a megabyte each.
    """
    _see(folder, out)
    verified = check(folder, progress)
    new = out.with_name(f".{out.name}.part")
    try:
        if new.exists():
            shutil.rmtree(new)
        new.mkdir(parents=True)
        for entry in verified.sound:
            _copy(folder / "entries" / entry.id, new / "entries" / entry.id, reports=reports)
        (new / "index.html").write_text(render(folder.resolve().name, verified.sound, reports=reports), "utf-8")
        if out.exists():
            shutil.rmtree(out)
        new.rename(out)
    except OSError as error:
        words = f"--out: cannot write to {out}: {error.strerror or error}"
        raise Problem(words, "specify a writable folder", usage=True) from None
    return Site(out / "index.html", verified)


def _see(folder: Path, out: Path) -> None:
    """Refuses a place for a site that a commons can say something about, and one that holds anything else."""
    if out.resolve().is_relative_to(folder.resolve()):
        words = f"--out: {out} is within the commons, which must not contain the site"
        raise EntryError(words, "specify a folder outside of it, such as ../site", usage=True)
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise EntryError(f"--out: {out} is a {'link' if out.is_symlink() else 'file'}", "specify a new "
                                                                                        "folder", usage=True)
    here = (path.relative_to(out).as_posix() for path in out.rglob("*"))
    if strange := next((name for name in here if not _BUILT.fullmatch(name)), ""):
        raise EntryError(f"--out: {out} contains {strange!r}, which no build created", "specify a new "
                                                                                       "folder", usage=True)


def _copy(source: Path, target: Path, *, reports: bool) -> None:
    target.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(source / name, target / name)
    if reports:
        archive = Archive.open(source / "archive.zip")
        (target / "report.html").write_text(page(evaluate(archive), archive.run), "utf-8")


def describe_row(entry: CommonsEntry) -> dict[str, Any]:
    """What the page needs of an entry."""
    return {
        "id": entry.id, "group": describe_group(entry), "sentence": entry.sentence, "measured": entry.measured,
        "dsbench": entry.dsbench, "about": entry.about.model_dump(), "system": entry.system, "figures": entry.figures,
        "conditions": entry.conditions, "claimed": entry.claimed, "verdict": entry.verdict, "warnings": entry.warnings,
    }  # fmt: skip


def render(title: str, entries: Iterable[CommonsEntry], *, reports: bool = False, linked: bool = True) -> str:
    """The page of a commons; ``linked``: the archives lie beside it."""
    rows = [describe_row(entry) for entry in entries]
    style = read_template("page.css") + read_template("commons.css", _OWN)
    return environment(_OWN).get_template("commons.html").render(
        title=title, rows=rows, reports=reports, linked=linked, style=style,
        script=read_template("commons.js", _OWN), version=release.VERSION,
    )  # fmt: skip
