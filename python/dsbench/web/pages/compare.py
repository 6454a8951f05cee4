"""Archives side by side."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from nicegui import run, ui

from dsbench.web.house import House
from dsbench.web.parts import button, frame_of, go, link, number, problem, tag


def build(house: House, asked: Any) -> None:
    """Makes the page: the comparison of the archives ``a``, or with fewer than two a list to choose from."""
    known = set(house.shelf.names())
    chosen = [name for name in asked.getlist("a") if name in known]
    if len(chosen) >= 2:
        link("Choose others", "/compare?" + urlencode([("pick", name) for name in chosen]))
        frame_of("Comparison", "/comparison?" + urlencode([("a", name) for name in chosen]))
        return
    picked = dict.fromkeys([*chosen, *(name for name in asked.getlist("pick") if name in known)])
    place = tag("div")
    with place:
        tag("p", "Reading the archives …", role="status")
    ui.timer(0, lambda: _choose(house, place, picked), once=True)


async def _choose(house: House, place: Any, picked: dict[str, None]) -> None:
    books = [book for book in await run.io_bound(house.shelf.books) or [] if not book.problem]

    def heard(name: str) -> Any:
        return lambda event: picked.update({name: None}) if event.args else picked.pop(name, None)

    def compare() -> None:
        said.clear()
        if len(picked) >= 2:
            go("/compare?" + urlencode([("a", name) for name in picked]))
        else:
            with said:
                problem("One archive has nothing beside it.", "choose two or more")

    place.clear()
    with place:
        if len(books) < 2:
            tag("p", "There have to be two archives before they can be compared.")
            return
        tag("p", "The first that you choose is the reference; runs of the same settings count as repetitions.")
        with tag("fieldset", cls="choices"):
            tag("legend", "Archives")
            for book in books:
                with tag("label"):
                    tag("input", type="checkbox", checked=True if book.name in picked else None).on(
                        "change", heard(book.name), js_handler="(event) => emit(event.target.checked)"
                    )
                    words = (book.label, book.server, book.workload, f"{number(book.best_tps)} tps")
                    tag("span", f"{book.started}  {', '.join(word for word in words if word)}")
        with tag("div", cls="go"):
            button("Compare", compare, "primary")
        said = tag("div")
