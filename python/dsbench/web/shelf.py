"""The archives of a folder, with the tags and notes that the browser gives them."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dsbench.archive import ArchiveError, claimed
from dsbench.archive import folder as own
from dsbench.archive.parts import replace
from dsbench.dataclass import dataclass
from dsbench.format import format_number, say_time
from dsbench.library import Archive
from dsbench.read.naming import server
from dsbench.read.verdict import Soundness
from dsbench.stats.values import known
from dsbench.web.state import FOLDER

_NOTES: Final = "notes.json"
_LONGEST: Final = 10_000


@dataclass(frozen=True)
class Book:
    """What a table of archives tells of one."""

    name: str
    label: str = ""
    server: str = ""
    workload: str = ""
    host: str = ""
    started: str = ""
    status: str = ""
    answer: str = ""
    """The sentence at the head of its report; empty where it has none."""
    dangers: tuple[str, ...] = ()
    """Its verdict, unless it is valid, and what else stands beside every figure, as its report has it."""
    soundness: Soundness | None = None
    """As its report has it; ``None`` without a report."""
    figure: str = ""
    """The highest of what its workload counts, as its report has it: ``1,234 NOPM``; empty where there is none."""
    curve: tuple[tuple[int, float], ...] = ()
    """The scales with the highest median rate of each, in transactions per second."""
    clients: str = ""
    p99: str = ""
    """At the scale of the highest rate."""
    load: str = ""
    """Cycles and their duration: ``3 × 10 s``."""
    problem: str = ""
    """Why it cannot be read."""

    @property
    def place(self) -> tuple[bool, str, float]:
        """Where it stands by its figure: units one after another, the highest of each first, those without one last."""
        value, _, unit = self.figure.partition(" ")
        return not value, unit, -float(value.replace(",", "") or 0)


@dataclass(frozen=True)
class Note:
    """What a user wrote to an archive."""

    tags: tuple[str, ...] = ()
    text: str = ""


class Shelf:
    """Archives by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[str, tuple[int, Book]] = {}

    def names(self) -> list[str]:
        """Of all archives right in the folder, the latest first: names begin with the time."""
        return sorted(self._places(), reverse=True)

    def _places(self) -> dict[str, tuple[Path, int]]:
        """By name: the folder or the zip of an archive, and when it was written."""
        found: dict[str, tuple[Path, int]] = {}
        try:
            with os.scandir(self.folder) as entries:
                names = [entry.name for entry in entries if entry.name != FOLDER]
        except OSError:
            return {}
        for name in names:
            if name.endswith(".zip") and name.removesuffix(".zip") not in found:
                _note_file(found, name.removesuffix(".zip"), self.folder / name, "")
            _note_file(found, name, self.folder / name, "run.json")  # The folder goes before its zip.
        return found

    def path(self, name: str) -> Path:
        """The folder or the zip of an archive; ``ArchiveError`` for all that is none of ``names``."""
        found: dict[str, tuple[Path, int]] = {}
        if name and name != FOLDER and not {"/", "\\", "\0"}.intersection(name) and name not in (".", ".."):
            _note_file(found, name, self.folder / f"{name}.zip", "")
            _note_file(found, name, self.folder / name, "run.json")
        if name not in found:
            remedy = "choose one of the page Archives"
            raise ArchiveError(f"no archive {name[:80]!r} in {self.folder}", remedy, usage=True)
        return found[name][0]

    def packed(self, name: str) -> Path:
        """The zip of an archive; ``ArchiveError`` where it has none."""
        folder = self.path(name)
        if not self.is_packed(name):
            raise ArchiveError(f"{folder} has no zip", "a run writes it at its end; or pack the folder by hand")
        return self._zip(name)

    def is_packed(self, name: str) -> bool:
        """Whether an archive has a zip."""
        return self._zip(name).is_file() and not self._zip(name).is_symlink()

    def _zip(self, name: str) -> Path:
        return self.folder / f"{name}.zip"

    def books(self) -> list[Book]:
        places = self._places()
        self._known = {name: known for name, known in self._known.items() if name in places}
        return [self._book(name, *places[name]) for name in sorted(places, reverse=True)]

    def book(self, name: str) -> Book:
        """One, read again only when it has changed."""
        path = self.path(name)
        try:
            written = (path / "run.json" if path.is_dir() else path).stat().st_mtime_ns
        except OSError:
            written = 0
        return self._book(name, path, written)

    def _book(self, name: str, path: Path, written: int) -> Book:
        known = self._known.get(name)
        if known is None or known[0] != written:
            known = self._known[name] = (written, _read(name, path))
        return known[1]

    def notes(self) -> dict[str, Note]:
        """By name of the archive."""
        try:
            values: dict[str, Any] = json.loads((self.folder / _NOTES).read_text("utf-8"))
            return {name: Note(tuple(map(str, one["tags"])), str(one["text"])) for name, one in values.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def write_note(self, name: str, tags: str, text: str) -> None:
        """Keeps ``tags``, which commas separate, and a note. ``ArchiveError`` where it cannot be written."""
        self.path(name)
        parted = dict.fromkeys(tag.strip()[:60] for tag in tags.split(",") if tag.strip())
        notes = {**self.notes(), name: Note(tuple(parted)[:20], text[:_LONGEST])}
        self._store(notes)

    def _store(self, notes: Mapping[str, Note]) -> None:
        written = {key: {"tags": one.tags, "text": one.text} for key, one in notes.items() if one.tags or one.text}
        replace(self.folder / _NOTES, (json.dumps(written, indent=1, ensure_ascii=False) + "\n").encode())

    def remove(self, name: str) -> list[str]:
        """Deletes an archive for ever, folder and zip; gives the names of what stays, as dsbench did not write it.

        ``ArchiveError`` where it lies elsewhere or is in use, and for what no run of dsbench wrote.
        """
        path = self.path(name)
        both = [self.folder / name, self.folder / f"{name}.zip"]
        if any(one.is_symlink() for one in both):
            raise ArchiveError(f"{path} is a link to elsewhere", "delete the link by hand")
        with claimed(both[0]):
            for one in both:
                if one.exists():
                    _ours(one)
            try:
                left = [f"{name}/{one}" for one in own.remove(both[0])] if both[0].is_dir() else []
                if both[1].is_file():
                    left += _remove_zip(both[1])
            except OSError as error:
                raise ArchiveError(f"cannot delete {path}: {error.strerror}", "delete it by hand") from None
        if name in (notes := self.notes()):
            self._store({key: one for key, one in notes.items() if key != name})
        return left


def _note_file(found: dict[str, tuple[Path, int]], name: str, path: Path, within: str) -> None:
    """Adds ``path`` where it, or the file ``within`` it, is a regular file."""
    try:
        status = (path / within).stat()
    except OSError:  # None is there, or it has just been removed.
        return
    if stat.S_ISREG(status.st_mode):
        found[name] = (path, status.st_mtime_ns)


def _remove_zip(path: Path) -> list[str]:
    """Removes a zip that holds an archive and nothing else; gives its name with what else it holds."""
    others = [name for name in Archive.open(path).names() if not own.is_own(name)]
    if others:
        return [f"{path.name} with {', '.join(others)}"]
    path.unlink()
    return []


def _ours(path: Path) -> None:
    try:
        _ = Archive.open(path).run
    except ArchiveError as error:
        raise ArchiveError(f"not deleted: {error}", "look at it, and delete it by hand") from None


def _read(name: str, path: Path) -> Book:
    try:
        archive = Archive.open(path)
        run = archive.run
        workload = run.workload.label
        head, results = _texts(archive)
    except (ArchiveError, OSError, LookupError, ValueError) as error:
        return Book(name, problem=str(error))
    curve, spec = _curve(results), run.spec
    numbers = spec.clients if isinstance(spec.clients, tuple) else (spec.clients,)
    clients = "–".join(f"{number:,}" for number in dict.fromkeys((numbers[0], numbers[-1])))
    load = f"{spec.cycles} × {spec.duration:g} s"
    figure = _figure(head) if _HEADER.search(head) else _highest(curve)
    return Book(
        name, spec.label, server(run), workload, run.host, run.started[:19].replace("T", " "), run.status,
        _answer(head), _dangers(head), _soundness(head), figure, curve, clients,
        "" if spec.rate or spec.load or spec.searches else _p99(results), load,
    )  # fmt: skip


_HEADER: Final = re.compile(r'<header(?: data-soundness="([a-z ]{1,20})")?>')


_HEAD: Final = 200_000
"""Characters of a page in which its heading stands, after its stylesheet."""


def _texts(archive: Archive) -> tuple[str, str]:
    """The beginning of its report, and results.csv; empty where it has none. What was measured without a report is
    evaluated now."""
    names = archive.names()
    if "report.html" not in names and "cycles.parquet" in names:
        from dsbench.read import page, tables  # Late: most archives have a report.
        from dsbench.read.evaluation import evaluate

        evaluation = evaluate(archive)
        return str(page.show_answer(evaluation, archive.run)), tables.results_csv(evaluation)
    return _text_of(archive, "report.html")[:_HEAD], _text_of(archive, "results.csv")


def _text_of(archive: Archive, name: str) -> str:
    try:
        return archive.read(name).decode("utf-8", "replace")
    except (KeyError, OSError, ArchiveError):
        return ""


def _answer(head: str) -> str:
    found = re.search(r"<h1>(.{1,2000}?)</h1>", _header(head), re.DOTALL)
    return _text(found[1]) if found else ""


def _header(head: str) -> str:
    begun = _HEADER.search(head)
    return head[begun.end() :].partition("</header>")[0] if begun else ""


def _soundness(head: str) -> Soundness | None:
    found = _HEADER.search(head)
    return next((one for one in Soundness if found and one.value == found[1]), None)


def _dangers(head: str) -> tuple[str, ...]:
    said = re.findall(r'<p class="(verdict|foreign)" role="note">(.{1,2000}?)</p>', _header(head), re.DOTALL)
    if said and said[0][0] == "verdict" and _soundness(head) is Soundness.VALID:
        said = said[1:]
    return tuple(_text(markup) for _, markup in said)


def _text(markup: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", markup)).replace("\xa0", " ")[:400]


_FIRST: Final = re.compile(r'<div class="tiles"><p><span class="name">[^<]*</span><strong[^>]*>([^<]{1,80})</strong>')
_NUMBER: Final = re.compile(r"[\d,]{1,20}(\.\d{1,9})?(e[-+]\d{1,3})? \S")
"""How a figure begins that is known."""


def _figure(head: str) -> str:
    """The first of the tiles; empty where it is no number, as that of a search that found no rate."""
    found = _FIRST.search(head)
    figure = html.unescape(found[1]) if found else ""
    return figure if _NUMBER.match(figure) else ""


def _highest(curve: Sequence[tuple[int, float]]) -> str:
    """Without a report: the highest rate of all transactions."""
    return f"{format_number(max(rate for _, rate in curve), digits=4)} tps" if curve else ""


def _p99(results: str) -> str:
    """Of the row with the highest rate: that rate of transactions which took as long is its multiplier over them. Empty
    where they are too few; in an open loop these are no response times."""
    try:
        rows = [row for row in csv.DictReader(results.splitlines()) if row["rate_median_tps"]]
        best = max(rows, key=lambda row: float(row["rate_median_tps"]), default=None)
        if best is None or not float(best["rate_p99_tps"] or 0) or not known(0.99, int(best["transactions"])):
            return ""
        return say_time(1e9 * float(best["rate_multiplier"]) / float(best["rate_p99_tps"]))
    except (KeyError, ValueError, csv.Error):
        return ""


def _curve(results: str) -> tuple[tuple[int, float], ...]:
    best: dict[int, float] = {}
    try:
        for row in csv.DictReader(results.splitlines()):
            if rate := row["rate_median_tps"]:
                best[int(row["scale"])] = max(best.get(int(row["scale"]), 0.0), float(rate))
    except (KeyError, ValueError, csv.Error):
        return ()
    return tuple(sorted(best.items()))
