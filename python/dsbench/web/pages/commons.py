"""The commons of this browser: its site in place; and the page that publishes an archive to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nicegui import run, ui

from dsbench.problem import Problem
from dsbench.web.house import House
from dsbench.web.parts import button, fields, frame_of, link, on_text, problem, table, tag

_TEXTS: Final = {
    "by": ("By", "Who measured."),
    "machine": ("Machine", "Its name in a shop or a rack: entries of one name are one machine."),
    "price": ("Price", "What the machine costs: 0.34 USD/h, 250 EUR/month, or 12000 EUR/3y of a purchase."),
    "currency": ("Currency", "Of a price that names none: USD, EUR and so on."),
    "notes": ("Notes", "What else readers should know."),
}


_HEADS: Final = {"cpu": "CPU", "cpus": "CPUs", "ram": "RAM", "os": "Operating system"}


def build(house: House, _asked: Mapping[str, str]) -> None:
    """Makes the page of the commons."""
    if not (house.commons / "entries").is_dir():
        tag("p", f"There are no published results in {house.commons} yet. Publish an archive from its page, or show "
                 "another folder by dsbench web --commons FOLDER.")  # fmt: skip
        link("To the archives", "/archives", "button")
        return
    place = tag("div", aria_live="polite")
    with place:
        tag("p", "Every figure is computed again from its archive …")
    ui.timer(0, lambda: _verify(house, place), once=True)


async def _verify(house: House, place: Any) -> None:
    from dsbench.commons import site

    found = await run.io_bound(site.check, house.commons)
    place.clear()
    if found is None:  # The server ends.
        return
    house.sound = found.sound
    with place:
        for sentence in found.refused:
            problem(f"refused: {sentence}")
        entries = len(found.sound) + len(found.refused)
        tag("p", f"{len(found.sound)} of {entries} entries in {house.commons} hold.", "sub")
        frame_of("Published results", "/commons-site")


def publish(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page that publishes the archive that ``name`` names."""
    from dsbench.commons.hiding import HIDDEN, HIDEABLE

    path = house.shelf.path(asked.get("name", ""))
    texts, hide = dict.fromkeys(_TEXTS, ""), set(HIDDEN)
    tag("p", f"{path.name} becomes an entry of {house.commons}, which others can check.", "sub")

    def prepare() -> Any:
        from dsbench.commons import about, packing

        currency = texts["currency"].strip()
        said = about.describe_owner(None, texts["by"], texts["machine"], texts["price"], currency, texts["notes"])
        return packing.prepare(path, said, hide)

    async def show() -> None:
        try:
            package = await run.io_bound(prepare)
        except Problem as error:
            shown.clear()
            with shown:
                problem(str(error), error.remedy)
            return
        if package is not None:
            _preview(shown, package)

    async def write() -> None:
        from dsbench.commons import entry

        try:
            folder = await run.io_bound(lambda: entry.write(prepare(), house.commons))
        except Problem as error:
            said.clear()
            with said:
                problem(str(error), error.remedy)
            return
        said.clear()
        with said:
            tag("p", f"Published to {folder}.")
            link("To the published results", "/commons", "button")

    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="What an archive cannot know").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            for key, (title, help_text) in _TEXTS.items():
                _field(key, title, help_text, texts, show)
            with tag("fieldset"):
                tag("legend", "Hide")
                for kind, words in HIDEABLE.items():
                    _box(kind, words, hide, show)
            button("Publish", write, "primary")
            said = tag("div", role="status", aria_live="polite")
        with tag("section", cls="ahead", aria_label="What will be published"):
            tag("h2", "What will be published")
            shown = tag("div", aria_live="polite")
    ui.timer(0, show, once=True)


def _field(key: str, title: str, help_text: str, texts: dict[str, str], change: Any) -> None:
    def heard(text: str) -> Any:
        texts[key] = text
        return change()

    with tag("div", cls="field"):
        tag("label", title, for_=f"publish-{key}")
        control = tag("input", type="text", id=f"publish-{key}", maxlength=2000, aria_describedby=f"help-{key}")
        tag("small", help_text, id=f"help-{key}")
    on_text(control, heard)


def _box(kind: str, words: str, hide: set[str], change: Any) -> None:
    async def heard(event: Any) -> None:
        (hide.add if event.args else hide.discard)(kind)
        await change()

    with tag("label", cls="check"):
        control = tag("input", type="checkbox", checked=True if kind in hide else None)
        tag("span", f" {words}")
    control.on("change", heard, js_handler="(event) => emit(event.target.checked)")


def _preview(place: Any, package: Any) -> None:
    place.clear()
    with place:
        tag("p", package.entry.sentence)
        if package.entry.disturbed:
            problem(f"Disturbed: {package.entry.disturbed}. It will have no place in the ranking.")
        for warning in package.entry.warnings:
            tag("p", f"Warning: {warning}.", "sub")
        heads = {name: _HEADS.get(name, name.replace("_", " ").capitalize()) for name in package.entry.system}
        fields([(heads[name], str(value)) for name, value in package.entry.system.items() if value])
        rows = [[kind, was, now or "nothing"] for kind, found in sorted(package.hidden.items())
                for was, now in sorted(found.items())]  # fmt: skip
        if rows:
            tag("h2", "What will be hidden")
            table("Hidden", ["Kind", "In the archive", "In the entry"], rows)
        else:
            tag("p", "The archive has nothing of what is to be hidden.")
