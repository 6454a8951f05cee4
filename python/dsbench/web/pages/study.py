"""Studies: the matrix of their trials, as they are made, and what was found so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from nicegui import run, ui

from dsbench.archive import ArchiveError, claimed
from dsbench.library import RunError, SpecError
from dsbench.spec.trust import Untrusted
from dsbench.study import Study, Trial, again, combination, extend, load, store
from dsbench.web import folders
from dsbench.web.house import House
from dsbench.web.parts import button, fields, frame_of, go, link, problem, table, tag, untrusted
from dsbench.web.shelf import Shelf

_EVERY_S: Final = 2.0
_MORE: Final = 2
"""Blocks that one click adds."""
_REASONS: Final = 30
"""Trials whose reasons are told, the latest."""


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of the study that ``name`` names, or the list of all."""
    name = asked.get("name", "")
    if not name:
        _list(house)
    else:
        _Matrix(house, name).place(asked.get("effects", ""))


def _list(house: House) -> None:
    with tag("div", cls="go"):
        link("Begin a study", "/new-study", "button primary")
    place = tag("div")
    with place:
        tag("p", "Reading the studies …", role="status")
    ui.timer(0, lambda: _fill(house, place), once=True)


async def _fill(house: House, place: Any) -> None:
    rows = await run.io_bound(lambda: [_told(name, at) for name, at in folders.studies(house.archives).items()])
    place.clear()
    with place:
        _table(rows or [])


def _table(rows: list[list[Any]]) -> None:
    if rows:
        table("Studies", ["study", "about", "trials"], rows)
    else:
        tag("p", "There is no study here yet. A study runs many trials and shows the effect of each setting.")


def _told(name: str, folder: Path) -> list[Any]:
    def named() -> None:
        link(name, f"/study?name={quote(name)}")

    try:
        study = load(folder)
    except ArchiveError as error:
        return [named, str(error), ""]
    return [named, study.spec.about, _counts(study)]


def _counts(study: Study) -> str:
    counts = Counter(trial.status for trial in study.trials)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


def add_blocks(folder: Path, blocks: int) -> None:
    """Plans ``blocks`` more, unless trials are left: a second click, or another browser, adds none."""
    with claimed(folder):
        study = load(folder)
        if not study.counted("planned", "running"):
            store(extend(study, {}, blocks))


class _Matrix:
    """The trials of one study: a row for each combination of levels, a column for each block."""

    def __init__(self, house: House, name: str) -> None:
        self._house, self._name, self._written = house, name, (0, False)
        self._folder = folders.study(house.archives, name)
        self._shelf = Shelf(self._folder / "archives")

    def place(self, effects: str) -> None:
        """Makes the elements, and reads the study again when it was written."""
        self._about = tag("p", self._name, "sub")
        self._told = tag("div")
        with tag("div", cls="go"):
            self._more = button("Make the trials that are left", self._go_on, "primary")
            self._again = button(f"Make {_MORE} more blocks", self._add, "primary")
            self._live = link("See the trial that goes on", "/live", "button")
            if not effects:
                link("Show the effects so far", f"/study?name={quote(self._name)}&effects=yes", "button")
        self._wrong = tag("div")
        self._table = tag("div")
        ui.timer(_EVERY_S, self._look)
        if effects:
            frame_of(f"Effects of {self._name}", f"/effects?name={quote(self._name)}")

    async def _add(self) -> None:
        await self._go_on(blocks=_MORE)

    async def _go_on(self, *, trust: bool = False, blocks: int = 0) -> None:
        self._wrong.clear()
        try:
            folders.refuse_commands(await run.io_bound(again, self._folder), self._folder, trust=trust)
            if blocks:
                await run.io_bound(add_blocks, self._folder, blocks)
            key = self._house.runs.begin_study(self._folder)
        except Untrusted as error:
            with self._wrong:
                untrusted(error, lambda: self._go_on(trust=True, blocks=blocks))
        except (SpecError, ArchiveError, RunError) as error:
            with self._wrong:
                problem(str(error), error.remedy)
        else:
            go(f"/live?run={key}")

    async def _look(self) -> None:
        going = self._house.runs.going()
        mine = going is not None and going.study == self._name
        self._live.set_visibility(mine)
        try:
            written = (self._folder / "study.json").stat().st_mtime_ns
            if (written, mine) == self._written:
                return
            study = await run.io_bound(load, self._folder)
            await run.io_bound(self._shelf.books)
        except (ArchiveError, OSError) as error:  # It was removed, or damaged, while the page is open.
            self._told.clear()
            with self._told:
                problem(str(error), getattr(error, "remedy", ""))
            return
        self._written = written, mine
        left = bool(study.counted("planned", "running"))
        self._more.set_visibility(not mine and left)
        self._again.set_visibility(not mine and not left and bool(study.counted("done")))
        self._told.clear()
        trials = f"{len(study.trials)} trials: {_counts(study)}"
        self._about.text = " · ".join(part for part in (self._name, study.spec.about, trials) if part)
        self._table.clear()
        with self._table:
            self._matrix(study)

    def _matrix(self, study: Study) -> None:
        blocks = sorted({trial.block for trial in study.trials})
        rows: dict[tuple[int, ...], dict[int, Trial]] = {}
        for trial in study.trials:
            rows.setdefault(combination(study.factors, trial), {})[trial.block] = trial
        heads = [*(factor.name for factor in study.factors), *(f"block {block}" for block in blocks)]
        cells = [[*next(iter(of.values())).levels, *(self._cell(of.get(block)) for block in blocks)]
                 for _, of in sorted(rows.items())]  # fmt: skip
        table("Trials", heads, cells)
        wrong = [(f"trial {one.number}, {one.status}", one.reason[:300]) for one in study.trials if one.reason]
        if wrong:
            tag("h2", "What went wrong")
            fields(wrong[-_REASONS:])

    def _cell(self, trial: Trial | None) -> Any:
        def made() -> None:
            if trial is None:
                tag("span", "–")
                return
            cls = f"trial {trial.status.replace(' ', '-')}"
            if rate := self._rate(trial):
                at = {"study": self._name, "name": trial.archive}
                tag("a", rate, cls, href=f"/report?{urlencode(at)}", target="_blank", title=f"trial {trial.number}")
            else:
                reason = f": {trial.reason[:300]}" if trial.reason else ""
                tag("span", trial.status, cls, title=f"trial {trial.number}{reason}")

        return made

    def _rate(self, trial: Trial) -> str:
        if trial.status != "done":
            return ""
        try:
            return self._shelf.book(trial.archive).figure
        except ArchiveError:  # Somebody removed it.
            return ""
