"""A form for a run, what it will do, and the command and the file that ask for the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nicegui import run, ui

from dsbench import servers, workloads
from dsbench.library import RunError, SpecError
from dsbench.measure.ahead import text_of
from dsbench.spec import OPTIONS, PROFILE_NAMES, Option, examples
from dsbench.spec.trust import Untrusted
from dsbench.spec.words import GROUPS
from dsbench.web import form
from dsbench.web.house import House
from dsbench.web.parts import BUSY, button, copying, fields, go, link, on_text, problem, starter, tag

_FIRST: Final = ("target", "workload", "profile", "label", "scales", "cycles", "duration", "threads")
"""What a first run asks for; all else is folded away under its heading."""
_NAMES: Final = {"target": "Database", "workload_settings": "Settings", "duration": "Duration of a cycle",
                 "most_cycles": "Most cycles", "scales": "Scales", form.PASSWORD: "Password"}  # fmt: skip
_LONG: Final = 3000


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page; ``repeat`` names an archive whose settings the form begins with."""
    texts: dict[str, str] = {}
    if name := asked.get("repeat", ""):
        texts = form.texts_of(_described(house, name))
    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="Settings of the run").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            view = _Ahead(house, texts)
            for option in _FIRST:
                view.field(OPTIONS[option])
                if option == "target":
                    _password(texts, view.show)
            for group in GROUPS:
                rest = [one for one in OPTIONS.values() if one.about.group == group and one.name not in _FIRST]
                said = any(one.name in texts for one in rest)
                with tag("details", open=True if said else None):
                    tag("summary", f"More: {group.lower()}")
                    for one in rest:
                        view.field(one)
        with tag("section", cls="ahead", aria_label="What will be done"):
            view.place()
    view.show()
    ui.timer(0, lambda: _machine(view.machine), once=True)


def _described(house: House, name: str) -> Mapping[str, Any]:
    from dsbench.library import Archive

    return Archive.open(house.shelf.path(name)).run.spec.described()


class _Ahead:
    """What will be done, beside the form."""

    def __init__(self, house: House, texts: dict[str, str]) -> None:
        self._house, self._texts = house, texts
        self._trust = False
        self._left_open: dict[str, Any] = {}
        """By name of an option, what shows its value while its field is empty: the control, or its first choice."""
        self.machine: Any = None

    def field(self, option: Option) -> None:
        """Makes the field of ``option``."""
        self._left_open[option.name] = _field(option, self._texts, self.show)

    def place(self) -> None:
        self._start, self._hint, self._told, self._plan = starter("Start the run", self._begin)
        tag("h2", "The same elsewhere")
        tag("h3", "Command line")
        self._command = copying("command")
        tag("h3", "Configuration file")
        self._file = copying("file")
        tag("h2", "This machine")
        self.machine = tag("div")

    def show(self) -> None:
        """Tells what the form asks for as it stands."""
        self._told.clear()
        going = self._house.runs.going()
        try:
            _, ahead = form.asked(self._texts, trust=self._trust)
            for one in ahead.settings:
                if not self._texts.get(one.name, "").strip():
                    option = OPTIONS[one.name]
                    _leave_open(self._left_open[one.name], option, "" if one.origin == "chance" else one.shown)
            self._plan.text = "\n".join(line.strip() for line in text_of(ahead).partition("\nplan\n")[2].splitlines())
            self._command.text, self._file.text = form.command(self._texts), form.toml(self._texts) or "# defaults"
            self._start.props["disabled"] = going is not None
        except Untrusted as error:
            self._refuse(str(error), "look at it, and go on only if you trust where it comes from")
            with self._told:
                button("I trust it", self._confirm, "danger")
        except (SpecError, RunError) as error:
            self._refuse(str(error), error.remedy)
        self._hint.text = "" if going is None else BUSY

    def _confirm(self) -> None:
        self._trust = True
        self.show()

    def _refuse(self, words: str, remedy: str) -> None:
        self._start.props["disabled"] = True
        self._plan.text = self._command.text = self._file.text = ""
        with self._told:
            problem(*(form.without_secrets(text, self._texts)[:_LONG] for text in (words, remedy)))

    def _begin(self) -> None:
        try:
            merged, _ = form.asked(self._texts, trust=self._trust)
            key = self._house.runs.begin(merged.spec)
        except (SpecError, RunError) as error:
            self._told.clear()
            self._refuse(str(error), error.remedy)
        else:
            go(f"/live?run={key}")


def _field(option: Option, texts: dict[str, str], changed: Any) -> Any:
    """A label, a control and the words of --help; gives what ``_leave_open`` takes."""
    name = option.name
    label = _NAMES.get(name, name.replace("_", " ").capitalize())
    unit = f" [{option.about.unit}]" if option.about.unit else ""
    with tag("div", cls="field"):
        tag("label", label + unit, for_=f"field-{name}")
        control, first = _control(option, texts.get(name, ""))
        control.props["id"] = f"field-{name}"
        control.props["aria-describedby"] = f"help-{name}"
        tag("small", option.help, id=f"help-{name}")
    _listening(control, name, texts, changed)
    return first


def _leave_open(shows: Any, option: Option, value: str) -> None:
    """Tells in an empty field what it stands for: ``value``, as the plan has it."""
    if option.kind == "object" and option.name != "target":
        return
    value = value or option.about.default
    if "placeholder" in shows.props:
        shows.props["placeholder"] = value
    else:
        shows.text = f"default: {value}" if value else "default"
    shows.update()


def _listening(control: Any, name: str, texts: dict[str, str], changed: Any) -> None:
    def heard(text: str) -> None:
        texts[name] = text
        changed()

    on_text(control, heard)


def _control(option: Option, value: str) -> tuple[Any, Any]:
    """The control, and what shows its value while it is empty."""
    default = option.about.default or option.shown(option.default)
    known = {"workload": (*workloads.names(), *examples()), "profile": PROFILE_NAMES}.get(option.name, option.choices)
    if option.kind == "boolean":
        known = ("yes", "no")
    if known:
        chosen = tag("select")
        with chosen:
            first, *_ = [
                tag("option", one or "default", value=one, selected=True if one == value else None)
                for one in ("", *known)
            ]
        return chosen, first
    if option.kind == "object" and option.name != "target":
        metavar = option.about.metavar
        made = tag("textarea", rows=2, placeholder=metavar, spellcheck="false", defaultValue=value or None)
        return made, made
    made = tag("input", type="text", placeholder=default, spellcheck="false", defaultValue=value or None)
    if option.name == "target":
        made.props["list"] = "targets"
        with tag("datalist", id="targets"):
            for product in servers.products():
                tag("option", value=f"private:{product}")
    return made, made


def _password(texts: dict[str, str], changed: Any) -> None:
    with tag("div", cls="field"):
        tag("label", _NAMES[form.PASSWORD], for_="field-password")
        control = tag("input", type="password", id="field-password", autocomplete="new-password",
                      aria_describedby="help-password")  # fmt: skip
        tag("small", "Of a database that asks for one. It is never shown, and never written.", id="help-password")
    _listening(control, form.PASSWORD, texts, changed)


async def _machine(place: Any) -> None:
    """Tells which private servers there are, and how to get the others."""
    found = await run.io_bound(servers.installations)
    with place:
        fields([(f"private:{one.product}", one.version or f"not installed: {one.remedy}") for one in found or ()])
        link("All checks of this machine", "/doctor")
