"""Two databases against each other: a study of two levels, out of a few fields."""

from __future__ import annotations

import shlex
import time
from typing import Any, Final

import tomli_w

from dsbench import servers
from dsbench.spec import redact
from dsbench.web.house import House
from dsbench.web.pages.new_study import StudyAhead
from dsbench.web.parts import copying, on_text, tag

_FIELDS: Final = {
    "first": ("First", "private:postgresql?shared_buffers=16MB",
              "A URL, or private:PRODUCT[@VERSION][?SETTING=VALUE] for a server that dsbench starts."),
    "second": ("Second", "private:postgresql?shared_buffers=1GB",
               "The same, with another server, version or setting. Passwords come from PGPASSWORD or .pgpass."),
    "scales": ("Scale", "10", "Size of the database: 1 is 100,000 accounts."),
    "clients": ("Clients", "4", "At a time."),
    "duration": ("Duration of a cycle", "10", "Seconds; a run has three cycles."),
    "repeat": ("Runs of each", "5", "Each on a new database. More of them tell smaller differences apart."),
}  # fmt: skip
_CYCLES: Final = 3


def build(house: House) -> None:
    """Makes the form, and beside it what it will do."""
    texts = {name: default for name, (_, default, _) in _FIELDS.items()}
    name = time.strftime("two-%Y%m%dT%H%M%S")
    view = StudyAhead(house, write_study(name, texts))

    async def change() -> None:
        command.text = write_command(texts)
        await view.show(write_study(name, texts))

    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="The two").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            for key, (title, default, about) in _FIELDS.items():
                _field(key, title, default, about, texts, change)
            with tag("datalist", id="targets"):
                for product in servers.products():
                    tag("option", value=f"private:{product}")
        with tag("section", cls="ahead", aria_label="Plan"):
            view.place()
            tag("h2", "In a terminal")
            tag("p", "The same question, with runs until the answer is known:", "note")
            command = copying("command", write_command(texts))


def _field(key: str, title: str, default: str, about: str, texts: dict[str, str], change: Any) -> None:
    def heard(text: str) -> Any:
        texts[key] = text.strip() or default
        return change()

    with tag("div", cls="field"):
        tag("label", title, for_=f"field-{key}")
        control = tag("input", type="text", id=f"field-{key}", placeholder=default, spellcheck="false",
                      aria_describedby=f"help-{key}")  # fmt: skip
        if key in ("first", "second"):
            control.props["list"] = "targets"
        tag("small", about, id=f"help-{key}")
    on_text(control, heard)


def write_study(name: str, texts: dict[str, str]) -> str:
    """The study that asks which of the two is faster. Reading the study refuses what is no number."""
    values = {key: _number(text) for key, text in texts.items()}
    run = {"scales": [values["scales"]], "cycles": _CYCLES, **{key: values[key] for key in ("clients", "duration")}}
    return tomli_w.dumps({
        "name": name, "about": "Two databases, in turn", "run": run,
        "factor": [{"name": "database", **_levels(texts["first"], texts["second"])}],
        "trials": {"repeat": values["repeat"]},
    })  # fmt: skip


def _levels(*urls: str) -> dict[str, Any]:
    """Named by what the one has and the other has not, where they differ in settings only."""
    places, _, settings = zip(*(redact(url).partition("?") for url in urls), strict=True)
    first, second = (text.split("&") for text in settings)
    names = ["&".join(part for part in mine if part not in others) or "default"
             for mine, others in ((first, second), (second, first))]  # fmt: skip
    if len(set(places)) > 1 or len(set(names)) == 1:
        return {"path": "target", "levels": list(urls)}
    return {"levels": [{"name": name, "set": {"target": url}} for name, url in zip(names, urls, strict=True)]}


def write_command(texts: dict[str, str]) -> str:
    """The command that asks the same."""
    options = [part for name in ("scales", "clients", "duration") for part in (f"--{name}", texts[name])]
    return shlex.join(["dsbench", "ab", texts["first"], texts["second"], *options, "--cycles", str(_CYCLES)])


def _number(text: str) -> int | float | str:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
