"""Elements of pages: those of HTML itself, which browsers and screen readers know, with text that is never markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from dsbench.measure.moments import format_time
from dsbench.redaction import redact_words

Handler = Callable[[], Any]

_COPY: Final = """(event) => {
  const text = document.getElementById(event.currentTarget.dataset.from).textContent;
  const said = event.currentTarget.dataset.said, button = event.currentTarget;
  navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; });
  setTimeout(() => { button.textContent = said; }, 1500);
}"""


def tag(name: str, text: str = "", cls: str = "", **attributes: object) -> Any:
    """An element of HTML with a text; ``_`` in the name of an attribute is ``-``, ``None`` leaves it out."""
    made = TextElement(tag=name, text=text)
    for key, value in {**attributes, "class": cls or None}.items():
        if key == "class":
            made.classes(cls)
        elif value is not None:
            made.props[key.rstrip("_").replace("_", "-")] = value
    return made


BUSY: Final = "A run goes on: a second one would spoil the figures of both."
"""Why nothing can be started."""


def starter(label: str, begin: Handler) -> tuple[Any, Any, Any, Any, Any]:
    """What stands beside a form: a button that calls ``begin``, places for a hint, for what is wrong and for the time
    and the space that it takes, and the text of what will be done.
    """
    tag("h2", "Plan")
    told = tag("div", role="status", aria_live="polite")
    takes = tag("div", cls="tiles")
    with tag("div", cls="go"):
        start = button(label, begin, "primary large")
        hint = tag("p", "", "note")
    return start, hint, told, takes, tag("pre", "", tabindex=0, id="plan")


def show_tiles(place: Any, tiles: Sequence[tuple[str, str, str]]) -> None:
    """Figures with their names and notes, in ``place``, which is emptied before."""
    place.clear()
    with place:
        for name, value, note in tiles:
            with tag("p"):
                tag("span", name, "name")
                tag("strong", value)
                tag("span", note)


def show_ahead(place: Any, time_s: tuple[float, float], space: int | None, free: int | None) -> None:
    """The time and the space, in bytes, that something will take."""
    from dsbench.read.answer import format_size  # Late: its libraries take half a second.

    low, high = (format_time(seconds) for seconds in time_s)
    tiles = [("Takes", low if low == high else f"{low} – {high}", "on a fast machine, on a slow one")]
    if space is not None:
        left = f"{format_size(free / 1e9)} are free" if free is not None else "at its largest"
        tiles.append(("Needs", format_size(space / 1e9), left))
    show_tiles(place, tiles)


def option_radio(
    name: str, value: str, text: str, note: str, chosen: bool, pick: Callable[[str], Any]
) -> tuple[Any, Any]:
    """One of several to choose from; gives the control and its note."""
    with tag("label", cls="radio"):
        control = tag("input", type="radio", value=value, checked=True if chosen else None)
        control.props["name"] = name
        control.on("change", lambda: pick(value), args=[])
        with tag("span"):
            tag("span", text)
            said = tag("small", note)
    return control, said


def button(text: str, pressed: Handler, cls: str = "", **attributes: object) -> Any:
    """A button."""
    return tag("button", text, cls, type="button", **attributes).on("click", pressed, args=[])


def link(text: str, to: str, cls: str = "") -> Any:
    """A link within this server."""
    return tag("a", text, cls, href=to)


def copying(name: str, text: str = "") -> Any:
    """A text that can be copied; gives the element that holds it."""
    with tag("div", cls="copying"):
        shown = tag("pre", text, id=name, tabindex=0)
        tag("button", "Copy", "small", type="button", data_from=name, data_said="Copy").on("click", js_handler=_COPY)
    return shown


def problem(words: str, remedy: str = "") -> None:
    """An error, and what to do about it."""
    with tag("div", cls="box severe", role="alert"):
        tag("p", redact_words(words))
        if remedy:
            tag("p", redact_words(f"What to do: {remedy}"))


UNTRUSTED: Final = "look at it, and go on only if you trust where it comes from"
"""What to do about what others would have executed here."""


def untrusted(error: Exception, go_on: Callable[[], Any]) -> None:
    """What others would have executed here, and the button that goes on all the same."""
    problem(str(error), UNTRUSTED)
    button("I trust it", go_on, "danger")


def on_text(control: Any, heard: Callable[[str], Any]) -> None:
    """Hears the text of a field while it is typed, not at every key, and at once when the field is left."""
    last = [""]

    def changed(event: Any) -> Any:
        if str(event.args) == last[0]:
            return None
        last[0] = str(event.args)
        return heard(last[0])

    tell = "(event) => emit(event.target.value)"
    control.on("input", changed, throttle=0.3, leading_events=False, js_handler=tell)
    control.on("change", changed, js_handler=tell)


def table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: bool = False) -> None:
    """A table within a frame that scrolls; a cell is a text, or a function that makes its content."""
    with (
        tag("div", cls="scroll", tabindex=0, role="region", aria_label=caption),
        tag("table", cls="numbers" if numbers else ""),
    ):
        tag("caption", caption)
        with tag("thead"), tag("tr"):
            for head in heads:
                tag("th", head, scope="col")
        with tag("tbody"):
            for row in rows:
                with tag("tr"):
                    for at, cell in enumerate(row):
                        name, scope = ("th", "row") if at == 0 else ("td", None)
                        if callable(cell):
                            with tag(name, scope=scope):
                                cell()
                        else:
                            tag(name, str(cell), scope=scope)


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Names with what they are; those that are nothing are left out."""
    with tag("dl"):
        for name, value in pairs:
            if value:
                tag("dt", name)
                tag("dd", value)


def shares(parts: Sequence[tuple[str, float]]) -> None:
    """Parts of a whole as one bar, with their values below it."""
    whole = sum(value for _, value in parts) or 1.0
    with tag("div", cls="shares", aria_hidden="true"):
        for at, (_, value) in enumerate(parts):
            tag("div", cls=f"share-{at}").style(f"width: {100 * value / whole:.2f}%")
    with tag("ul"):
        for at, (name, value) in enumerate(parts):
            with tag("li"):
                tag("i", cls=f"share-{at}")
                tag("span", f"{name} {value:.2f}")


def frame_of(title: str, address: str) -> None:
    """A page that was made from archives, kept apart from this one: see ``reports``."""
    tag("iframe", cls="report", src=address, title=title, allow="clipboard-write")


def go(address: str) -> None:
    """Leads to another page."""
    ui.navigate.to(address)


def number(value: float) -> str:
    """Four significant digits; a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.4g}"
