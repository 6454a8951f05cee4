"""From an archive to its tables, diagrams and page: what a run writes at its end and ``show`` reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from dsbench.archive import Archive, ArchiveError, Writer, claimed, there, try_out
from dsbench.read import draw as diagrams
from dsbench.read import subjects, tables
from dsbench.read.blocks import Block
from dsbench.read.csv import render_csv
from dsbench.read.draw import gnuplot, render
from dsbench.read.draw.axes import Form
from dsbench.read.draw.hero import hero
from dsbench.read.draw.theme import Spec
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.markdown import render_markdown
from dsbench.read.naming import limited
from dsbench.read.page import page
from dsbench.read.subjects.stages import tabulate_efficiency
from dsbench.read.text import render_text


@dataclass(frozen=True)
class Shown:
    """An archive's results for people and for programs."""

    text: str
    document: dict[str, Any]
    problem: str = ""
    """Why the report is not whole; empty when it is."""


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
        for name, content in render.files(specs).items():
            writer.text(name, content)
        written.insert(0, writer.text("report.html", page(evaluation, archive.run, specs)))
        written.append(writer.seal())
    except ArchiveError as error:
        return replace(_shown(evaluation, archive, written, alone=False), problem=str(error))
    return _shown(evaluation, archive, written, alone=False)


_OTHER_NAMES: Final = {"node": "nodes", "stage": "stages", "statement": "statements"}
"""Words that ``show --by`` had for subjects."""
_MEDIA: Final[dict[str, Callable[[Sequence[Block]], str]]] = {
    "text": render_text, "markdown": render_markdown, "csv": render_csv
}


def _told(by: str, form: str, evaluation: Evaluation) -> str:
    name = _OTHER_NAMES.get(by, by)
    subject = subjects.load(name)
    blocks = list(subject.tell(evaluation))
    return _MEDIA[form](blocks).rstrip("\n") or (subject.nothing if form != "csv" else "")


def _scales(form: str, evaluation: Evaluation) -> str:
    if form == "csv":
        return tables.results_csv(evaluation).rstrip("\n")
    return _MEDIA[form]([*subjects.load("rate").tell(evaluation), *subjects.load("warnings").tell(evaluation)])


def read(path: Path, by: str = "scale", form: str = "text") -> Shown:
    """The results of an archive, folder or zip, by one of ``show --by`` in one of ``--as``; nothing is written."""
    archive = Archive.open(path)
    evaluation = evaluate(archive)
    shown = _shown(evaluation, archive, [path])
    if by == "scale":
        return shown if form == "text" else replace(shown, text=_scales(form, evaluation))
    return replace(shown, text=_told(by, form, evaluation))


def plot(path: Path, out: Path | None, *, fresh: bool, form: Form | None = None) -> list[Path]:
    """Draws the diagrams again from the edited files, or ``fresh`` from the data; gives the files.

    A ``form`` of the axes of rates asks for fresh ones, and is not kept in report and zip.
    ``fresh`` writes report and zip, too, where the program that should have was killed or met a full disk.
    """
    there(path)
    fresh = fresh or form is not None
    folder = out or path
    if path.is_file() and out is None:
        remedy = "name a folder with --out, or the unpacked archive"
        raise ArchiveError(f"--out: {path} is packed, and a diagram has to go somewhere", remedy, usage=True)
    # A folder to which diagrams were drawn by --out holds no run, but files that can be edited all the same.
    archive = Archive(path) if not fresh and out is None and _edited(path) else Archive.open(path)
    if out is not None:
        try_out(out)
    if not fresh:
        if out is not None:
            _copy_specs(archive, out)
        return render.replot(folder)
    if out is None and form is None and archive.run.status != "running" and not archive.sealed:
        with claimed(path):
            return _sealed(path)
    files = render.diagrams(evaluate(archive), archive.run, form)
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
        archive = Archive.open(path)
        picture = hero(evaluate(archive), archive.run)
        drawn = {**({"hero": {**picture, "width": _HERO_WIDTH}} if picture else {}), **drawn}
    writer = Writer(out or path)
    return [writer.text(f"results-{name}.png", render.png(spec, width)) for name, spec in drawn.items()]


_HERO_WIDTH: Final = 960


def _holds_run(path: Path) -> bool:
    """Whether it is an archive, and not a folder to which diagrams were drawn by ``--out``."""
    return path.is_file() or (path / "run.json").is_file()


def _drawn(path: Path, out: Path | None, *, fresh: bool, form: Form | None) -> dict[str, Spec]:
    """The diagrams by name: as the edited files have them where there are some, or ``fresh``."""
    there(path)
    if path.is_file() and out is None:
        remedy = "name a folder with --out, or the unpacked archive"
        raise ArchiveError(f"--out: {path} is packed, and a diagram has to go somewhere", remedy, usage=True)
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
        raise ArchiveError(problem, f"free space, then dsbench plot --fresh {path}")
    return [path / name for name in Archive(path).names()] + [path.with_name(path.name + ".zip")]


def _edited(path: Path) -> bool:
    return any(path.glob("results-*.vl.json"))


def _copy_specs(archive: Archive, out: Path) -> None:
    writer = Writer(out)
    for name in archive.names():
        if name.startswith("results-") and name.endswith(".vl.json") and "/" not in name:
            writer.text(name, archive.read(name))


def _shown(evaluation: Evaluation, archive: Archive, files: list[Path], *, alone: bool = True) -> Shown:
    """``alone``: whether nobody else tells why a run has ended early."""
    run = archive.run
    measured = run.status == "complete" or any(part.cycle_rates for part in (evaluation, *evaluation.series.values()))
    lines = [f"label: {run.spec.label}"] if run.spec.label else []
    lines += [limits] if (limits := limited(run)) else []
    lines += [tables.summary_text(evaluation).rstrip("\n")] if measured else []
    if run.status != "complete":
        lines.append(f"status: {run.status}" + (f" ({run.reason})" if run.reason and alone else ""))
    if run.kept is not None:
        which = f"scale {run.kept.scale}" + (", the last" if len(run.spec.scales) > 1 else "")
        lines.append(f"kept: the database of {which}; run on it with --reuse, or remove it: dsbench drop TARGET")
    names = {"report.html": "report", ".zip": "archive"}
    for file in files if measured else [path for path in files if path.is_dir()]:
        label = next((word for end, word in names.items() if file.name.endswith(end)), "folder")
        lines.append(f"{label}: {file}")
    answers = [asdict(answer) for answer in evaluation.checklist]
    figures = {**tables.to_json(evaluation), "checklist": answers}
    document = {"run": run.described(), **figures, "files": [str(file) for file in files]}
    return Shown("\n".join(line.rstrip() for line in lines), document)
