"""What stands around every page: its heading, the way to the others, and light or dark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import Any, Final

from nicegui import ui

from dsbench.web.house import House
from dsbench.web.parts import link, tag

_THEMES: Final = {"as the system": "", "light": "light", "dark": "dark"}
_SET: Final = """const theme = %s;
if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
document.querySelectorAll("iframe").forEach((frame) => frame.contentWindow.postMessage({theme}, "*"));"""


def style() -> str:
    """The stylesheet of all pages: that of a report, and what only the browser has."""
    both = (("dsbench.read", "templates/page.css"), ("dsbench.web", "web.css"))
    return "\n".join(resources.files(package).joinpath(name).read_text("utf-8") for package, name in both)


@contextmanager
def framed(house: House, heading: str, here: str, ways: Sequence[tuple[str, str]]) -> Iterator[None]:
    """Around the content of the page at ``here``; ``ways`` are title and address of all pages in the menu."""
    # Before the stylesheet: a dark page never shows itself light.
    ui.add_head_html(f'<script>{{{_SET % json.dumps(house.theme)}}}</script><link rel="stylesheet" href="/style.css">')
    tag("a", "To the content", "skip", href="#content")
    with tag("header", cls="bar"):
        tag("a", "dsbench", "brand", href="/")
        with tag("nav", aria_label="Pages"):
            for title, address in ways:
                way = link(title, address)
                if address == here:
                    way.props["aria-current"] = "page"
        _switch(house)
    with tag("div", cls="page", id="content"):
        tag("h1", heading)
        yield


def _switch(house: House) -> None:
    def choose(event: Any) -> None:
        house.theme = _THEMES.get(str(event.args), "")
        ui.run_javascript(f"{{{_SET % json.dumps(house.theme)}}}")

    with tag("label", cls="colours"):
        tag("span", "Colours")
        with tag("select").on("change", choose, js_handler="(event) => emit(event.target.value)"):
            for name, value in _THEMES.items():
                tag("option", name, value=name, selected=True if value == house.theme else None)
