"""Archives side by side, and a comparison of two: its verdict, and its runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from dsbench.web import folders
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


def pair(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of the comparison that ``name`` names; with ``runs`` its runs side by side."""
    name, runs = asked.get("name", ""), asked.get("runs", "")
    where = folders.pair(house.archives, name)
    tag("p", str(where), "sub")
    with tag("div", cls="go"):
        if runs:
            link("The verdict", "/pair?" + urlencode({"name": name}), "button")
        else:
            link("Its runs side by side", "/pair?" + urlencode({"name": name, "runs": "yes"}), "button")
        link("Compare two others", "/?for=two", "button")
    frame_of(f"Comparison {name}", "/ab?" + urlencode({"name": name, "runs": runs}))
