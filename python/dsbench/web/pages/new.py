"""A form for a run, what it will do, and the command and the file that ask for the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from nicegui import run, ui

from dsbench import servers, workloads
from dsbench.library import RunError, SpecError
from dsbench.measure.ahead import text_of
from dsbench.spec import OPTIONS, PROFILE_NAMES, Option, Target, examples
from dsbench.spec.trust import Untrusted, risks
from dsbench.spec.words import GROUPS
from dsbench.web import form
from dsbench.web.house import House
from dsbench.web.pages import new_pair
from dsbench.web.parts import (
    BUSY,
    UNTRUSTED,
    button,
    copying,
    go,
    on_text,
    option_radio,
    problem,
    show_ahead,
    starter,
    tag,
)

_WAYS: Final = {
    "try": ("Try it", "One click: a database that dsbench starts, measures and removes. It takes a minute."),
    "server": ("Qualify my server", "How much does it do, and what happens as the database grows?"),
    "two": ("Compare two", "Two servers, versions or settings, in turn, so that a difference stands out from chance."),
}
_OTHERS: Final = (
    ("New to this:", "first steps", "/learn"),
    ("Many settings at once:", "a study", "/study"), ("What a kill loses:", "a check", "/check"),
    ("What was measured here:", "the archives", "/archives"),
)
"""Below the choices: a question, and the page that answers it."""
_EVERYTHING: Final = "all"
_SHOWN: Final = {
    "try": (), "server": ("target",),
    _EVERYTHING: ("target", "workload", "profile", "label", "scales", "cycles", "duration", "clients"),
}  # fmt: skip
"""What stands above the rest of the options, which are folded away."""
_DEPTHS: Final[dict[str, tuple[str, str, dict[str, str]]]] = {
    "look": ("Quick", "About a minute: too short to compare with other runs.", {}),
    "sizes": ("Three sizes", "A quarter of an hour or two: 100,000 to 10 million accounts, 4 clients and 16.",
              {"scales": "1,10,100", "cycles": "5", "duration": "20", "clients": "4,16"}),
    "capacity": ("What it can promise", "About six minutes: the highest rate with 99% of the transactions below 20 ms.",
                 {"profile": "capacity"}),
    "graduated": ("From full load to idle", "Three minutes: response times, CPUs and power at each tenth of its load.",
                  {"profile": "graduated"}),
    "dsi-fast": ("The index, faster", "Some hours: a comparable DSI, within about 3%.", {"profile": "dsi-fast"}),
    "dsi": ("The index", "Most of a day: the whole ladder, as for a publication.", {"profile": "dsi"}),
}  # fmt: skip
"""How thorough a run is: a name, what it is good for, and what it fills in."""
_PRODUCTS: Final = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL",
                    "firebird": "Firebird"}  # fmt: skip
_FILLED: Final = sorted({name for _, _, texts in _DEPTHS.values() for name in texts})
_NAMES: Final = {"target": "Database", "workload_settings": "Settings", "duration": "Duration of a cycle",
                 "max_cycles": "Max cycles", "scales": "Scales", form.PASSWORD: "Password"}  # fmt: skip
_LONG: Final = 3000


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page; ``for`` names one of the choices, ``repeat`` an archive whose settings the form begins with."""
    name, way = asked.get("repeat", ""), asked.get("for", "")
    if name or way not in (*_WAYS, _EVERYTHING):
        way = _EVERYTHING if name else next(iter(_WAYS))
    with tag("ul", cls="choices"):
        for key, (title, about) in _WAYS.items():
            with tag("li"), tag("a", href=f"/?for={key}", aria_current="true" if key == way else None):
                tag("strong", title)
                tag("span", about)
    with tag("p", cls="others"):
        for words, title, address in _OTHERS:
            tag("span", words)
            tag("a", title, href=address)
    if way == "two":
        new_pair.build(house)
    else:
        _build_run(house, way, _described(house, name) if name else {})


def _build_run(house: House, way: str, repeated: Mapping[str, Any]) -> None:
    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="Settings of the run").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            view = _Ahead(house, repeated, named=way == "server")
            if way == "try":
                _choose_product(view)
            for option in _SHOWN[way]:
                shows = view.field(OPTIONS[option])
                if option == "target":
                    if way == "server":
                        shows.props["placeholder"] = "postgresql://user@host/database"
                    view.password()
            if way == "server":
                _choose_depth(view)
            if way == _EVERYTHING:
                _rest(view, way)
            else:
                with tag("details"):
                    tag("summary", "All options")
                    _rest(view, way)
        with tag("section", cls="ahead", aria_label="Plan"):
            view.place()
    view.show()


def _rest(view: _Ahead, way: str) -> None:
    """The other options, by group. Where a product was chosen the URL has no field, as both would say the database."""
    for group in GROUPS:
        rest = [one for one in OPTIONS.values() if one.about.group == group and one.name not in _SHOWN[way]
                and not (way == "try" and one.name == "target")]  # fmt: skip
        with tag("details", open=True if any(one.name in view.texts for one in rest) else None):
            tag("summary", group)
            for one in rest:
                view.field(one)


def _choose_product(view: _Ahead) -> None:
    """The servers that dsbench starts; those that are not installed say how to get them."""
    controls = {}
    with tag("fieldset"):
        tag("legend", "Database")
        for number, product in enumerate(servers.products()):
            controls[product] = option_radio(
                "product", product, _PRODUCTS[product], "", number == 0,
                lambda one: view.put({"target": f"private:{one}"}),
            )  # fmt: skip

    async def look() -> None:
        here = await run.io_bound(servers.installations) or []
        for product, (control, said) in controls.items():
            mine = [one for one in here if one.product == product]
            versions = [one.version.removeprefix(_PRODUCTS[product]).strip() for one in mine if one.version]
            said.text = " · ".join(versions) or f"not installed: {mine[0].remedy if mine else ''}"
            if not versions:
                control.props["disabled"] = True

    ui.timer(0, look, once=True)


def _choose_depth(view: _Ahead) -> None:
    with tag("fieldset"):
        tag("legend", "How thorough")
        for number, (key, (title, about, _)) in enumerate(_DEPTHS.items()):
            option_radio("depth", key, title, about, number == 0,
                         lambda one: view.put({**dict.fromkeys(_FILLED, ""), **_DEPTHS[one][2]}))  # fmt: skip


_FILL: Final = """for (const [name, value] of Object.entries(%s)) {
  const field = document.getElementById("field-" + name);
  if (field) field.value = value;
}"""


def _described(house: House, name: str) -> Mapping[str, Any]:
    from dsbench.library import Archive

    return Archive.open(house.shelf.path(name)).run.spec.described()


class _Ahead:
    """What will be done, beside the form."""

    def __init__(self, house: House, repeated: Mapping[str, Any], *, named: bool) -> None:
        """``repeated``: a run that the form begins with; ``named``: nothing is asked for before a database is named."""
        self._house, self._named = house, named
        self.texts, self._theirs = form.texts_of(repeated) if repeated else {}, risks(repeated)
        self._trust = False
        self._asks: Any = None
        """Where the password is asked for."""
        self._left_open: dict[str, Any] = {}
        """By name of an option, what shows its value while its field is empty: the control, or its first choice."""

    def field(self, option: Option) -> Any:
        """Makes the field of ``option``; gives what shows its value while it is empty."""
        needed = self._named and option.name == "target"
        self._left_open[option.name] = _field(option, self.texts, self.show, needed=needed)
        return self._left_open[option.name]

    def password(self) -> None:
        """Makes the field for the password of the database's user; a server of dsbench's own has none to ask for."""
        with tag("div", cls="field") as self._asks:
            tag("label", _NAMES[form.PASSWORD], for_="field-password")
            control = tag("input", type="password", id="field-password", autocomplete="new-password",
                          aria_describedby="help-password")  # fmt: skip
            tag("small", "Of a database that asks for one. It is never shown, and never written.", id="help-password")
        _listening(control, form.PASSWORD, self.texts, self.show)

    def put(self, texts: Mapping[str, str]) -> None:
        """Fills in fields, as if they were typed."""
        self.texts.update(texts)
        ui.run_javascript(_FILL % json.dumps(dict(texts)))
        self.show()

    def place(self) -> None:
        """Makes the elements."""
        self._start, self._hint, self._told, self._takes, self._plan = starter("Start the run", self._begin)
        with tag("div") as self._same:
            tag("h2", "The same in a terminal")
            self._command = copying("command")
            with tag("details"):
                tag("summary", "As a file for --config")
                self._file = copying("file")

    def show(self) -> None:
        """Tells what the form asks for as it stands."""
        self._told.clear()
        self._takes.clear()
        going = self._house.runs.going()
        if self._asks is not None:
            self._asks.set_visibility(not (self.texts.get("target", "") or Target().url).startswith("private:"))
        if self._named and not self.texts.get("target", "").strip():
            self._start.props["disabled"] = True
            self._plan.text = self._command.text = self._file.text = ""
            self._same.set_visibility(False)
            self._hint.text = "Name the database first."
            return
        self._same.set_visibility(True)
        try:
            _, ahead = form.asked(self.texts, theirs=self._theirs, trust=self._trust)
            for one in ahead.settings:
                if one.name in self._left_open and not self.texts.get(one.name, "").strip():
                    option = OPTIONS[one.name]
                    _leave_open(self._left_open[one.name], option, "" if one.origin == "chance" else one.shown)
            self._plan.text = "\n".join(line.strip() for line in text_of(ahead).partition("\nplan\n")[2].splitlines())
            self._command.text, self._file.text = form.command(self.texts), form.toml(self.texts) or "# defaults"
            show_ahead(self._takes, ahead.time_s, ahead.size_bytes[1] if ahead.size_bytes else None, ahead.free_bytes)
            self._start.props["disabled"] = going is not None
        except Untrusted as error:
            self._refuse(str(error), UNTRUSTED)
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
        self._same.set_visibility(False)
        with self._told:
            problem(*(form.without_secrets(text, self.texts)[:_LONG] for text in (words, remedy)))

    def _begin(self) -> None:
        try:
            merged, _ = form.asked(self.texts, theirs=self._theirs, trust=self._trust)
            key = self._house.runs.begin(merged.spec)
        except (SpecError, RunError) as error:
            self._told.clear()
            self._refuse(str(error), error.remedy)
        else:
            go(f"/live?run={key}")


def _field(option: Option, texts: dict[str, str], changed: Any, *, needed: bool) -> Any:
    """A label, a control and the words of --help, without the default of what is ``needed``; gives what
    ``_leave_open`` takes."""
    name = option.name
    label = _NAMES.get(name, name.replace("_", " ").capitalize())
    unit = f" [{option.about.unit}]" if option.about.unit else ""
    with tag("div", cls="field"):
        tag("label", label + unit, for_=f"field-{name}")
        control, first = _control(option, texts.get(name, ""))
        control.props["id"] = f"field-{name}"
        control.props["aria-describedby"] = f"help-{name}"
        tag("small", option.about.help if needed else option.details, id=f"help-{name}")
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
    known = {"workload": (*workloads.offered(), *examples()), "profile": PROFILE_NAMES}.get(option.name, option.choices)
    if option.kind == "boolean":
        known = ("yes", "no")
    if known:
        known = known if not value or value in known else (*known, value)
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
