"""All archives of the folder: a list that can be searched, filtered and sorted, and out of which some are compared."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote, urlencode

from nicegui import run, ui

from dsbench.read.verdict import Soundness
from dsbench.web.house import House
from dsbench.web.parts import button, go, link, on_text, tag
from dsbench.web.pictures import draw_sparkline
from dsbench.web.shelf import Book, Note

_FILTERS: Final = ("server", "workload", "host", "status")
_ORDERS: Final = {"latest first": "started", "highest rate first": "rate", "server": "server", "workload": "workload"}
_MOST: Final = 200
_TOLD: Final = {
    Soundness.VOID: "failed", Soundness.DISTURBED: "failed", Soundness.PRELIMINARY: "stopped",
}  # fmt: skip
"""Verdicts that a row tells, with the colour of each."""
_STATUS: Final = {"complete": "", "cut-short": "stopped", "failed": "failed"}


def build(house: House, asked: Any) -> None:
    """Makes the page; each ``pick`` of the address is chosen already."""
    known = set(house.shelf.names())
    picked = dict.fromkeys(name for name in asked.getlist("pick") if name in known)
    place = tag("div")
    with place:
        tag("p", "Reading the archives …", role="status")
    ui.timer(0, lambda: _place(house, place, picked), once=True)


async def _place(house: House, place: Any, picked: dict[str, None]) -> None:
    books = await run.io_bound(house.shelf.books) or []
    place.clear()
    with place:
        if not books:
            tag("p", "There is no archive here yet.", "sub")
            link("Begin a run", "/", "button primary")
            return
        _List(house, books, picked).place()


class _List:
    def __init__(self, house: House, books: list[Book], picked: dict[str, None]) -> None:
        self._books, self._notes, self._picked = books, house.shelf.notes(), picked
        self._wanted: dict[str, str] = {}
        self._by = "started"

    def place(self) -> None:
        with tag("div", cls="filters", role="search"):
            with tag("label"):
                tag("span", "Search")
                self._hear(tag("input", type="search", placeholder="any word"), "any")
            for name in (*_FILTERS, "tag"):
                values = self._values(name)
                if len(values) > 1 or (name == "tag" and values):
                    self._select(name.capitalize(), {"all": "", **{value: value for value in values}}, name)
            self._select("Order", _ORDERS, "order")
        self._count = tag("p", "", "note", role="status")
        self._rows = tag("ul", cls="books")
        with tag("div", cls="bar-below"), tag("div", cls="go"):
            self._compare = button("Compare", self._go, "primary")
            self._hint = tag("p", "", "note")
        self._show()
        self._count_picked()

    def _values(self, name: str) -> list[str]:
        if name == "tag":
            return sorted({one for note in self._notes.values() for one in note.tags})
        return sorted({value for book in self._books if (value := getattr(book, name))})

    def _select(self, label: str, choices: dict[str, str], name: str) -> None:
        with tag("label"):
            tag("span", label)
            with tag("select") as chosen:
                for text, value in choices.items():
                    tag("option", text, value=value)
        self._hear(chosen, name)

    def _hear(self, control: Any, name: str) -> None:
        def heard(text: str) -> None:
            if name == "order":
                self._by = text
            else:
                self._wanted[name] = text
            self._show()

        on_text(control, heard)

    def _fits(self, book: Book) -> bool:
        note = self._note(book)
        words = (*vars(book).values(), *note.tags, note.text)
        text = " ".join(word for word in words if isinstance(word, str)).lower()
        return all(
            all(word in text for word in wanted.lower().split()) if name == "any"
            else not wanted or (wanted in note.tags if name == "tag" else getattr(book, name) == wanted)
            for name, wanted in self._wanted.items()
        )  # fmt: skip

    def _show(self) -> None:
        found = [book for book in self._books if self._fits(book)]
        found.sort(key=lambda book: book.started, reverse=True)
        if self._by == "rate":
            found.sort(key=lambda book: book.place)
        elif self._by != "started":
            found.sort(key=lambda book: str(getattr(book, self._by)))
        shown = f"{len(found)} of {len(self._books)} archives"
        bad = [(word, sum(book.soundness is word for book in found)) for word in (Soundness.VOID, Soundness.DISTURBED)]
        shown += "".join(f", {count} {word.value}" for word, count in bad if count)
        self._count.text = shown + (f", the first {_MOST} are shown" if len(found) > _MOST else "")
        self._rows.clear()
        with self._rows:
            for book in found[:_MOST]:
                with tag("li"):
                    self._row(book)

    def _note(self, book: Book) -> Note:
        return self._notes.get(book.name, Note())

    def _row(self, book: Book) -> None:
        note, what = self._note(book), ", ".join(part for part in (book.server, book.workload) if part)
        box = tag("input", type="checkbox", checked=True if book.name in self._picked else None,
                  disabled=True if book.problem else None, aria_label=f"Compare {book.name}")  # fmt: skip
        box.on("change", lambda event: self._pick(book.name, chosen=bool(event.args)),
               js_handler="(event) => emit(event.target.checked)")  # fmt: skip
        ui.html(draw_sparkline(book.curve), sanitize=False)
        with tag("div"):
            link(book.answer or what or book.name, f"/archive?name={quote(book.name)}")
            for danger in book.dangers:
                tag("p", danger, "danger")
            with tag("p"):
                if (status := _STATUS.get(book.status, book.status or "cannot be read")):
                    tag("span", status, f"chip {'stopped' if status == 'running' else status.replace(' ', '-')}")
                if book.soundness and (colour := _TOLD.get(book.soundness)):
                    tag("span", book.soundness.value, f"chip {colour}")
                for one in note.tags:
                    tag("span", one, "chip")
                parts = (book.label, book.workload, book.host, book.started, book.problem[:160], note.text[:200])
                tag("span", " · ".join(part for part in parts if part))
        with tag("div", cls="figures"):
            for name, value in (("clients", book.clients), ("p99", book.p99), ("cycles", book.load)):
                with tag("div", cls="rate"):
                    if value:
                        tag("strong", value)
                        tag("span", name)
        with tag("div", cls="rate"):
            if book.figure:
                tag("strong", book.figure)
            if book.curve:
                scales = [scale for scale, _ in book.curve]
                many = f"scales {scales[0]:,}–{scales[-1]:,}" if len(scales) > 1 else f"scale {scales[0]:,}"
                tag("span", many)

    def _pick(self, name: str, *, chosen: bool) -> None:
        if chosen:
            self._picked[name] = None
        else:
            self._picked.pop(name, None)
        self._count_picked()

    def _count_picked(self) -> None:
        count = len(self._picked)
        self._compare.text = f"Compare {count}" if count > 1 else "Compare"
        self._compare.props["disabled"] = count < 2
        self._hint.text = "The first that you tick is the reference." if count else "Tick two archives or more."

    def _go(self) -> None:
        go("/compare?" + urlencode([("a", name) for name in self._picked]))
