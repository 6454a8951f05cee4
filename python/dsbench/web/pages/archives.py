"""All archives of the folder: a table that can be searched, filtered and sorted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from nicegui import run, ui

from dsbench.web.house import House
from dsbench.web.parts import link, number, on_text, tag
from dsbench.web.shelf import Book, Note

_FILTERS: Final = ("server", "workload", "host", "status")
_COLUMNS: Final = ("started", "label", "server", "workload", "best rate", "status", "tags", "note")
_MOST: Final = 500


def build(house: House, _asked: Mapping[str, str]) -> None:
    """Makes the page."""
    place = tag("div")
    with place:
        tag("p", "Reading the archives …", role="status")
    ui.timer(0, lambda: _place(house, place), once=True)


async def _place(house: House, place: Any) -> None:
    books = await run.io_bound(house.shelf.books) or []
    place.clear()
    with place:
        if not books:
            tag("p", "There is no archive here yet.")
            link("Begin a run", "/")
            return
        _Table(books, house.shelf.notes()).place()


class _Table:
    def __init__(self, books: list[Book], notes: Mapping[str, Note]) -> None:
        self._books, self._notes = books, notes
        self._wanted: dict[str, str] = {}
        self._by, self._down = "started", True

    def place(self) -> None:
        with tag("div", cls="filters", role="search"):
            with tag("label"):
                tag("span", "Search")
                self._hear(tag("input", type="search", placeholder="any word"), "any")
            for name in (*_FILTERS, "tag"):
                values = self._values(name)
                if len(values) > 1 or (name == "tag" and values):
                    self._select(name, values)
        self._count = tag("p", "", "note", role="status")
        self._rows = tag("div")
        self._show()

    def _values(self, name: str) -> list[str]:
        if name == "tag":
            return sorted({one for note in self._notes.values() for one in note.tags})
        return sorted({value for book in self._books if (value := getattr(book, name))})

    def _select(self, name: str, values: list[str]) -> None:
        with tag("label"):
            tag("span", name.capitalize())
            with tag("select") as chosen:
                for value in ("", *values):
                    tag("option", value or "all", value=value)
        self._hear(chosen, name)

    def _hear(self, control: Any, name: str) -> None:
        def heard(text: str) -> None:
            self._wanted[name] = text
            self._show()

        on_text(control, heard)

    def _fits(self, book: Book) -> bool:
        note = self._notes.get(book.name, Note())
        text = " ".join((*_cells(book, note), book.name, book.host)).lower()
        return all(
            all(word in text for word in wanted.lower().split()) if name == "any"
            else not wanted or (wanted in note.tags if name == "tag" else getattr(book, name) == wanted)
            for name, wanted in self._wanted.items()
        )  # fmt: skip

    def _show(self) -> None:
        found = [book for book in self._books if self._fits(book)]
        at = _COLUMNS.index(self._by)
        if self._by == "best rate":
            found.sort(key=lambda book: book.best_tps if book.best_tps == book.best_tps else -1, reverse=self._down)
        else:
            found.sort(key=lambda book: _cells(book, self._note(book))[at], reverse=self._down)
        shown = f"{len(found)} of {len(self._books)} archives"
        self._count.text = shown + (f", the first {_MOST} are shown" if len(found) > _MOST else "")
        self._rows.clear()
        with self._rows, tag("div", cls="scroll", tabindex=0, role="region", aria_label="Archives"), tag("table"):
            tag("caption", "Archives")
            with tag("thead"), tag("tr"):
                for name in _COLUMNS:
                    self._head(name)
            with tag("tbody"):
                for book in found[:_MOST]:
                    self._row(book)

    def _head(self, name: str) -> None:
        sorted_so = ("descending" if self._down else "ascending") if name == self._by else None
        with tag("th", scope="col", aria_sort=sorted_so):
            tag("button", name, "sort", type="button").on("click", lambda: self._sort(name), args=[])

    def _sort(self, name: str) -> None:
        self._by, self._down = name, not self._down if name == self._by else name in ("started", "best rate")
        self._show()

    def _note(self, book: Book) -> Note:
        return self._notes.get(book.name, Note())

    def _row(self, book: Book) -> None:
        first, *others = _cells(book, self._note(book))
        with tag("tr", cls="void" if book.problem else ""):
            with tag("th", scope="row"):
                link(first or book.name, f"/archive?name={quote(book.name)}")
            for name, cell in zip(_COLUMNS[1:], others, strict=True):
                tag("td", cell, "number" if name == "best rate" else "")


def _cells(book: Book, note: Note) -> tuple[str, ...]:
    status = book.status or f"cannot be read: {book.problem[:120]}"
    rate = number(book.best_tps)
    return (book.started, book.label, book.server, book.workload, rate, status, ", ".join(note.tags), note.text[:200])
