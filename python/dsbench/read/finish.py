"""From an archive to its tables, diagrams and page: what a run writes at its end, and ``plot`` again."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from dsbench.archive import Archive, ArchiveError, Writer, claimed, there, try_out
from dsbench.read import draw as diagrams
from dsbench.read import tables
from dsbench.read.csv import render_csv
from dsbench.read.draw import gnuplot, render
from dsbench.read.draw.axes import Form
from dsbench.read.draw.hero import hero
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.page import page
from dsbench.read.shown import Shown, show
from dsbench.read.subjects.stages import tabulate_efficiency


def write_tables(path: Path) -> None:
    """Writes results.txt and results.csv of what the archive at ``path`` holds so far."""
    archive = Archive.open(path)
    _write_tables(Writer(path), evaluate(archive), archive)


def _write_tables(writer: Writer, evaluation: Evaluation, archive: Archive) -> None:
    writer.text("results.txt", tables.results_txt(evaluation, archive.run))
    writer.text("results.csv", tables.results_csv(evaluation))
    writer.text("results-efficiency.csv", render_csv([tabulate_efficiency(evaluation)], units=False))


def write(path: Path) -> Shown:
    """Writes everything that is made from the results, and seals the archive.

    When the disk is full, what was measured stays readable and the summary is shown all the same.
    """
    archive = Archive.open(path)
    evaluation = evaluate(archive)
    written = [path]
    try:
        writer = Writer(path)
        _write_tables(writer, evaluation, archive)
        specs = diagrams.specs(evaluation, archive.run)
        for name, content in render.sources(specs).items():
            writer.text(name, content)
        written.insert(0, writer.text("report.html", page(evaluation, archive.run, specs)))
        written.append(writer.seal())
    except ArchiveError as error:
        return replace(show(evaluation, archive, written, alone=False), problem=str(error))
    return show(evaluation, archive, written, alone=False)


def plot(path: Path, out: Path | None, *, fresh: bool, form: Form | None = None) -> list[Path]:
    """Draws the diagrams again from the edited files, or ``fresh`` from the data; gives the files.

    A ``form`` of the axes of rates asks for fresh ones, and is not kept in report and zip.
    ``fresh`` writes report and zip, too, where the program that should have was killed or met a full disk.
    """
    there(path)
    fresh = fresh or form is not None or (out is None and path.is_dir() and _lacks_report(path))
    folder = out or path
    if path.is_file() and out is None:
        remedy = "specify a folder with --out, or the unpacked archive"
        raise ArchiveError(f"--out: {path} is packed, and diagrams need a folder", remedy, usage=True)
    # A folder to which diagrams were drawn by --out holds no run, but files that can be edited all the same.
    archive = Archive(path) if not fresh and out is None and _edited(path) else Archive.open(path)
    if out is not None:
        try_out(out)
    if not fresh:
        if out is not None:
            _copy_specs(archive, out)
        return render.replot(folder)
    if out is None and form is None and archive.run.status != "running" and not _is_whole(archive):
        with claimed(path):
            sealed = _sealed(path)
        return [*sealed, *(render.replot(path) if _edited(path) else [])]
    files = render.diagrams(evaluate(archive), archive.run, form)
    if out is not None:
        files |= render.files(_first(archive, _PRINTED))
    writer = Writer(folder)
    return [writer.text(name, content) for name, content in sorted(files.items())]


def for_gnuplot(path: Path, out: Path | None, *, fresh: bool, form: Form | None = None) -> list[Path]:
    """Writes the diagrams for gnuplot, from the edited files where there are some, or ``fresh``; gives the files."""
    drawn = _drawn(path, out, fresh=fresh, form=form)
    writer = Writer(out or path)
    found = [gnuplot.files(name, spec) for name, spec in drawn.items()]
    return [writer.text(name, text) for one in found for name, text in one.items()]


def for_slides(path: Path, out: Path | None, *, fresh: bool, form: Form | None, width: int) -> list[Path]:
    """Writes the diagrams as PNG, ``width`` pixels wide, and the one that the report begins with; gives the files."""
    drawn = _drawn(path, out, fresh=fresh, form=form)
    if _holds_run(path):
        drawn = _first(Archive.open(path), _SLIDE) | drawn
    writer = Writer(out or path)
    return [writer.text(f"results-{name}.png", render.png(spec, width)) for name, spec in drawn.items()]


_SLIDE: Final = 960
_PRINTED: Final = 540
"""Pixels, as wide as the other diagrams are."""


def _first(archive: Archive, width: int) -> dict[str, Spec]:
    """The picture that the report begins with, by its name."""
    picture = hero(evaluate(archive), archive.run)
    return {"hero": {**picture, "width": width}} if picture else {}


def _holds_run(path: Path) -> bool:
    """Whether it is an archive, and not a folder to which diagrams were drawn by ``--out``."""
    return path.is_file() or (path / "run.json").is_file()


def _drawn(path: Path, out: Path | None, *, fresh: bool, form: Form | None) -> dict[str, Spec]:
    """The diagrams by name: as the edited files have them where there are some, or ``fresh``."""
    there(path)
    if path.is_file() and out is None:
        remedy = "specify a folder with --out, or the unpacked archive"
        raise ArchiveError(f"--out: {path} is packed, and diagrams need a folder", remedy, usage=True)
    if not fresh and form is None and _edited(path):
        drawn = render.edited(path)
    else:
        archive = Archive.open(path)
        drawn = diagrams.specs(evaluate(archive), archive.run, form)
    if out is not None:
        try_out(out)
    return drawn


def _sealed(path: Path) -> list[Path]:
    if problem := write(path).problem:
        raise ArchiveError(problem, f"free up space, then dsbench plot --fresh {path}")
    return [path / name for name in Archive(path).names()] + [path.with_name(path.name + ".zip")]


def _is_whole(archive: Archive) -> bool:
    """Whether a finished run has its report; ``--report none`` writes none."""
    return archive.sealed and "report.html" in archive.names()


def _lacks_report(folder: Path) -> bool:
    return _holds_run(folder) and not _edited(folder)


def _edited(path: Path) -> bool:
    return any(path.glob("results-*.vl.json"))


def _copy_specs(archive: Archive, out: Path) -> None:
    writer = Writer(out)
    kept = [name for name in archive.names() if re.fullmatch(r"results-[^/]*\.vl\.json", name)]
    for name in kept:
        writer.text(name, archive.read(name))
    missing = _first(archive, _PRINTED) | ({} if kept else diagrams.specs(evaluate(archive), archive.run))
    for name, spec in missing.items():
        writer.text(f"results-{name}.vl.json", render.source(spec))
