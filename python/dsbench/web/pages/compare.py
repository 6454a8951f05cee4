"""Archives side by side."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from dsbench.web.house import House
from dsbench.web.parts import frame_of, link, tag


def build(house: House, asked: Any) -> None:
    """Makes the page: the comparison of the archives ``a``."""
    known = set(house.shelf.names())
    chosen = [name for name in asked.getlist("a") if name in known]
    others = "/archives?" + urlencode([("pick", name) for name in chosen])
    with tag("div", cls="go"):
        if len(chosen) < 2:
            tag("p", "A comparison takes two archives or more.")
            link("Choose them", others, "button primary")
            return
        tag("p", "The first one is the reference; runs of the same settings count as repetitions.")
        link("Choose others", others, "button")
    frame_of("Comparison", "/comparison?" + urlencode([("a", name) for name in chosen]))
