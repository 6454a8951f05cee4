"""One archive: its report in place, its tags and note, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from dsbench.archive import ArchiveError
from dsbench.web.house import House
from dsbench.web.parts import button, frame_of, go, link, on_text, problem, tag
from dsbench.web.shelf import Note


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of the archive that ``name`` names."""
    name = asked.get("name", "")
    house.shelf.path(name)
    book, note = house.shelf.book(name), house.shelf.notes().get(name, Note())
    tag("p", name, "subject")
    if book.problem:
        problem(book.problem, "take another copy of it, or delete it")
    with tag("div", cls="go"):
        if not book.problem:
            link("Repeat", f"/?repeat={quote(name)}", "button")
            link("Compare", f"/compare?a={quote(name)}", "button")
        _deleting(house, name)
    _noting(house, name, note)
    if not book.problem:
        frame_of(f"Report of {name}", f"/report?name={quote(name)}")


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

    def delete() -> None:
        try:
            house.shelf.remove(name)
        except ArchiveError as error:
            sure.run_method("close")
            with place:
                problem(str(error), error.remedy)
        else:
            go("/archives")

    button("Delete …", lambda: sure.run_method("showModal"), "danger")
    with sure:
        tag("p", f"Delete {name} for ever, its folder and its zip?")
        with tag("div", cls="go"):
            button("Delete", delete, "danger")
            button("Keep it", lambda: sure.run_method("close"))
