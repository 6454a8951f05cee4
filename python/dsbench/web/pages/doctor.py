"""What can run on this machine, what is missing, and what would spoil figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import run, ui

from dsbench.web.house import House
from dsbench.web.parts import button, tag


def build(house: House, _asked: Mapping[str, str]) -> None:
    """Makes the page. While a run goes on nothing is looked at before it is asked for: it takes CPU for a second."""
    place = tag("div", aria_live="polite")
    if house.runs.going() is None:
        with place:
            tag("p", "Looking at the machine, for a second or two …")
        ui.timer(0, lambda: _place(place), once=True)
        return
    with place:
        tag("p", "A run goes on. Looking at the machine takes CPU from it for a second.")
        button("Look all the same", lambda: _place(place))


async def _place(place: Any) -> None:
    from dsbench.check import doctor  # Late: no other page needs it.

    found = await run.io_bound(doctor.findings) or []
    wrong = [one for one in found if not one.ok]
    place.clear()
    with place:
        count = f"Warnings: {len(wrong)} of {len(found)} checks." if wrong else f"All {len(found)} checks are well."
        tag("p", count, "sub")
        for title, some in (("Warnings", wrong), ("Ready", [one for one in found if one.ok])):
            if some:
                tag("h2", title)
                with tag("ul", cls="findings"):
                    for one in some:
                        _show(one)


def _show(one: Any) -> None:
    with tag("li", cls="ok" if one.ok else "look"):
        tag("strong", one.name)
        tag("span", one.found)
        if one.remedy:
            tag("span", f"What to do: {one.remedy}", "remedy")
