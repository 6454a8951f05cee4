"""What stands around every page: its heading, the way to the others, and light or dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any, Final

from nicegui import ui

from dsbench.web.house import House
from dsbench.web.parts import link, tag

_THEMES: Final = {"as the system": None, "light": False, "dark": True}


def style() -> str:
    """The style sheet of all pages."""
    return resources.files("dsbench.web").joinpath("web.css").read_text("utf-8")


@contextmanager
def framed(house: House, heading: str, here: str, ways: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Around the content of the page at ``here``; ``ways`` are title and address of all pages in the menu."""
    ui.add_head_html('<link rel="stylesheet" href="/style.css">')
    dark = ui.dark_mode(house.dark)
    tag("a", "To the content", "skip", href="#content")
    with tag("div", cls="top"):
        tag("a", "dsbench", "brand", href="/")
        with tag("nav", aria_label="Pages"):
            for title, address in ways:
                way = link(title, address)
                if address == here:
                    way.props["aria-current"] = "page"
        _switch(house, dark)
    with tag("div", cls="page", id="content"):
        tag("h1", heading)
        yield


def _switch(house: House, dark: Any) -> None:
    def chosen(event: Any) -> None:
        house.dark = dark.value = _THEMES.get(str(event.args))

    with tag("label", cls="theme"):
        tag("span", "Colours")
        with tag("select").on("change", chosen, js_handler="(event) => emit(event.target.value)"):
            for name, value in _THEMES.items():
                tag("option", name, value=name, selected=True if value == house.dark else None)
