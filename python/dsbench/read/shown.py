"""An archive's results for people and for programs: what ``show`` reads, and what a run says at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dsbench.archive import Archive
from dsbench.dataclass import dataclass
from dsbench.read import subjects, tables
from dsbench.read.blocks import Block, Sentence
from dsbench.read.brief import tell_brief
from dsbench.read.csv import render_csv
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.markdown import render_markdown
from dsbench.read.subjects.checklist import ChecklistResult
from dsbench.read.text import render_text
from dsbench.read.verdict import judge_run


@dataclass(frozen=True)
class Shown:
    """An archive's results for people and for programs."""

    blocks: Sequence[Block]
    describe: Callable[[], dict[str, Any]]
    problem: str = ""
    """Why the report is not whole; empty when it is."""

    @cached_property
    def document(self) -> dict[str, Any]:
        """For programs."""
        return self.describe()

    @property
    def text(self) -> str:
        """For a file or a pipe."""
        return render_text(self.blocks)


def read(path: Path, by: str = "scale", *, verbose: bool = False, price: str = "") -> Shown:
    """The results of an archive, folder or zip, by one of ``show --by``; nothing is written.

    ``price`` is that of its machine, where the run was not told it.
    """
    archive = Archive.open(path, price)
    evaluation = evaluate(archive)
    if by == "scale":
        return show(evaluation, archive, [path], verbose=verbose)
    return Shown(_tell(by, evaluation), partial(_describe, evaluation, archive, [path]))


def _tell(by: str, evaluation: Evaluation) -> list[Block]:
    subject = subjects.find_subject(by)
    return list(subject.tell(evaluation)) or [Sentence(subject.nothing)]


def read_as(path: Path, by: str, *, csv: bool, price: str = "") -> str:
    """The same as Markdown or CSV, which has the tables alone."""
    evaluation = evaluate(Archive.open(path, price))
    if by != "scale":
        blocks = _tell(by, evaluation)
    elif csv:
        return tables.results_csv(evaluation).rstrip("\n")
    else:
        blocks = [*subjects.find_subject("rate").tell(evaluation), *subjects.find_subject("warnings").tell(evaluation)]
    return (render_csv(blocks) if csv else render_markdown(blocks)).rstrip("\n")


def show(
    evaluation: Evaluation, archive: Archive, files: list[Path], *, alone: bool = True, verbose: bool = False
) -> Shown:
    """What ``evaluation`` says in brief. ``alone``: whether nobody else tells why a run has ended early."""
    blocks = list(tell_brief(evaluation, archive.run, files, alone=alone, verbose=verbose))
    return Shown(blocks, partial(_describe, evaluation, archive, files))


def _describe(evaluation: Evaluation, archive: Archive, files: Sequence[Path]) -> dict[str, Any]:
    return {
        "run": archive.run.described(),
        "verdict": judge_run(evaluation, archive.run).document(),
        **tables.to_json(evaluation),
        "checklist": [asdict(answer) for answer in evaluation.of(ChecklistResult).checklist],
        "files": [str(file) for file in files],
    }
