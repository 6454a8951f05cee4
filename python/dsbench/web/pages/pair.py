"""A comparison of two: its verdict, and its runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from dsbench.web import pairs
from dsbench.web.house import House
from dsbench.web.parts import frame_of, link, tag


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page of the comparison that ``name`` names; with ``runs`` its runs side by side."""
    name, runs = asked.get("name", ""), asked.get("runs", "")
    where = pairs.folder(house.archives, name)
    tag("p", str(where), "sub")
    with tag("div", cls="go"):
        if runs:
            link("The verdict", "/pair?" + urlencode({"name": name}), "button")
        else:
            link("Its runs side by side", "/pair?" + urlencode({"name": name, "runs": "yes"}), "button")
        link("Compare two others", "/?for=two", "button")
    frame_of(f"Comparison {name}", "/ab?" + urlencode({"name": name, "runs": runs}))
