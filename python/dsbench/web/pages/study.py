"""Studies: the matrix of their trials, as they are made, and what was found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from dsbench.study import Study, Trial, load
from dsbench.web import studies
from dsbench.web.house import House
from dsbench.web.parts import fields, frame_of, link, number, table, tag
from dsbench.web.shelf import Shelf

_EVERY_S: Final = 2.0


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of the study that ``name`` names, or the list of all."""
    name = asked.get("name", "")
    if not name:
        found = studies.folders(house.archives)
        if not found:
            tag("p", "There is no study here. dsbench study templates tells of some that are ready to be run.")
        with tag("ul"):
            for one in found:
                with tag("li"):
                    link(one, f"/study?name={quote(one)}")
        return
    _Matrix(studies.folder(house.archives, name)).place(asked.get("effects", ""))


class _Matrix:
    """The trials of one study: a row for each combination of levels, a column for each block."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._written = folder, 0
        self._shelf = Shelf(folder / "archives")

    def place(self, effects: str) -> None:
        """Makes the elements, and reads the study again when it was written."""
        tag("p", self._folder.name, "subject")
        self._told = tag("div")
        self._table = tag("div")
        self._look()
        ui.timer(_EVERY_S, self._look)
        if effects:
            frame_of(f"Effects of {self._folder.name}", f"/effects?name={quote(self._folder.name)}")
        else:
            link("Show the effects so far", f"/study?name={quote(self._folder.name)}&effects=yes", "button")

    def _look(self) -> None:
        written = (self._folder / "study.json").stat().st_mtime_ns
        if written == self._written:
            return
        self._written = written
        study = load(self._folder)
        self._told.clear()
        with self._told:
            counts = Counter(trial.status for trial in study.trials)
            trials = ", ".join(f"{count} {status}" for status, count in counts.most_common())
            fields([("about", study.spec.about), ("trials", trials)])
        self._table.clear()
        with self._table:
            self._matrix(study)

    def _matrix(self, study: Study) -> None:
        blocks = sorted({trial.block for trial in study.trials})
        rows: dict[tuple[str, ...], dict[int, Trial]] = {}
        for trial in study.trials:
            rows.setdefault(trial.levels, {})[trial.block] = trial
        heads = [*(factor.name for factor in study.factors), *(f"block {block}" for block in blocks)]
        cells = {levels: [self._cell(of.get(block)) for block in blocks] for levels, of in sorted(rows.items())}
        table("Trials", heads, [[*levels, *row] for levels, row in cells.items()])

    def _cell(self, trial: Trial | None) -> Any:
        def made() -> None:
            if trial is None:
                tag("span", "–")
                return
            rate = self._rate(trial)
            tag("span", f"{trial.number}: {rate or trial.status}", f"trial {trial.status.replace(' ', '-')}",
                title=trial.reason[:300] or None)  # fmt: skip

        return made

    def _rate(self, trial: Trial) -> str:
        if trial.status != "done" or trial.archive not in self._shelf.names():
            return ""
        return f"{number(self._shelf.book(trial.archive).best_tps)} tps"
