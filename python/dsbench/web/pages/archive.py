"""One archive: its report in place, its tags and note, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from nicegui import run, ui

from dsbench import workloads
from dsbench.archive import Archive, ArchiveError
from dsbench.several.bounds import BEYOND, COLUMNS, NOTE, Bound, read, row
from dsbench.web.house import House
from dsbench.web.parts import button, frame_of, go, link, on_text, problem, table, tag
from dsbench.web.shelf import Note

_MOST_PARTS: Final = 12
"""Archives of parts that are read, the latest: each takes a moment."""

_MOST_NAMED: Final = 20
"""Files that are named where an archive was deleted and they stay."""


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of the archive that ``name`` names."""
    name = asked.get("name", "")
    house.shelf.path(name)
    book, note = house.shelf.book(name), house.shelf.notes().get(name, Note())
    about = " · ".join(part for part in (book.label, book.workload, book.started, name) if part)
    tag("p", about, "sub")
    if book.problem:
        problem(book.problem, "take another copy of it; what no run of dsbench may have made is deleted by hand only")
    with tag("div", cls="go"):
        if not book.problem:
            link("Repeat", f"/?repeat={quote(name)}", "button")
            link("Compare", f"/archives?pick={quote(name)}", "button")
            link("Publish", f"/publish?name={quote(name)}", "button")
            tag("a", "Open alone", "button", href=f"/report?name={quote(name)}", target="_blank")
            if house.shelf.is_packed(name):
                link("All data (zip)", f"/data?name={quote(name)}", "button")
            _deleting(house, name)
    _noting(house, name, note)
    if not book.problem:
        place = tag("div")
        ui.timer(0, lambda: _bounded(house, name, place), once=True)
        frame_of(f"Report of {name}", f"/report?name={quote(name)}")


async def _bounded(house: House, name: str, place: Any) -> None:
    """Tells the upper bound of a workload that has parts, out of the archives of these that are here."""
    found = await run.io_bound(_bounds, house, name)
    with place:
        if isinstance(found, str):
            tag("p", found, "note")
        elif found:
            tag("h2", "Upper bound")
            rows = [[column.show(cell) for column, cell in zip(COLUMNS, row(one), strict=True)] for one in found]
            table("Upper bound", [column.head for column in COLUMNS], rows)
            if any(one.share > 1 for one in found):
                tag("p", f"A rate above its bound: {BEYOND}", "box")
            tag("p", NOTE, "note")
            parts = list(dict.fromkeys(part.archive for one in found for part, _ in one.parts))
            link("Compare with its parts", "/compare?" + urlencode([("a", one) for one in (name, *parts)]), "button")


def _bounds(house: House, name: str) -> list[Bound] | str:
    """Those of one archive, or why there are none; empty for a workload without parts."""
    entry = Archive.open(house.shelf.path(name)).run.workload
    if not entry.meaning.parts:
        return []
    labels, mine = {workloads.find(part).label for part, _ in entry.meaning.parts}, house.shelf.book(name)
    same = [book.name for book in house.shelf.books()
            if book.workload in labels and (book.server, book.host) == (mine.server, mine.host)]  # fmt: skip
    found = read([house.shelf.path(one) for one in (name, *same[:_MOST_PARTS])])
    of_it = [one for one in found.bounds if one.whole.archive == name]
    needed = " and ".join(sorted(labels))
    return of_it or f"Runs of {needed} on this server, machine and scale would tell its upper bound; none fits here."


def _noting(house: House, name: str, note: Note) -> None:
    texts = {"tags": ", ".join(note.tags), "note": note.text}

    def heard(field: str) -> Any:
        return lambda text: texts.update({field: text})

    def keep() -> None:
        try:
            house.shelf.write_note(name, texts["tags"], texts["note"])
            said.text = "kept"
        except ArchiveError as error:
            said.text = f"{error}; {error.remedy}"

    with tag("details", open=True if note.tags or note.text else None):
        tag("summary", "Tags and note")
        with tag("div", cls="filters"):
            for field, label in (("tags", "Tags, with commas between"), ("note", "Note")):
                with tag("label"):
                    tag("span", label)
                    control = tag("input", type="text", defaultValue=texts[field] or None, maxlength=2000)
                on_text(control, heard(field))
            button("Keep", keep)
            said = tag("p", "", "note", role="status")


def _deleting(house: House, name: str) -> None:
    place, sure = tag("div"), tag("dialog", aria_label="Delete this archive?")

    async def delete() -> None:
        try:
            left = await run.io_bound(house.shelf.remove, name)
        except ArchiveError as error:
            sure.run_method("close")
            with place:
                problem(str(error), error.remedy)
            return
        if not left:
            go("/archives")
            return
        sure.run_method("close")
        with place:
            more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
            words = f"The archive is deleted. What dsbench did not write stays in {house.archives}: "
            problem(words + ", ".join(left[:_MOST_NAMED]) + more, "look at it, and delete it by hand")

    button("Delete …", lambda: sure.run_method("showModal"), "danger")
    with sure:
        tag("p", f"Delete {name} for ever, its folder and its zip? Files that dsbench did not write stay.")
        with tag("div", cls="go"):
            button("Delete", delete, "danger")
            button("Keep it", lambda: sure.run_method("close"))
