"""What a newcomer wants to know, and for each question the form that answers it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from nicegui import run, ui

from dsbench import servers
from dsbench.library import SpecError
from dsbench.measure.ahead import needs_of, scales_of
from dsbench.spec import OPTIONS, Option, Target
from dsbench.spec.objective import objectives
from dsbench.spec.trust import risks
from dsbench.web import fields, form
from dsbench.web.house import House
from dsbench.web.pages import new_pair
from dsbench.web.parts import option_radio, tag
from dsbench.web.planned import FormPlan, PlannedForm
from dsbench.web.state import Form

_WAYS: Final = {
    "try": ("Try it", "One click: a database that dsbench starts, measures and removes. It takes a minute."),
    "server": ("Benchmark my server", "How much does it do, and what happens as the database grows?"),
    "script": ("Run my SQL", "My own scripts, on my tables or on those of a workload."),
    "two": ("Compare two", "Which is faster? Runs of two servers, versions or settings alternate until that is known."),
    "clients": ("How many clients", "How many at a time does it serve before transactions take too long?"),
}
_CRASH: Final = ("Crash test", "What does a server lose when it is killed, or the power fails?", "/check")
_OTHERS: Final = (
    ("New to this:", "first steps", "/learn"), ("Many settings at once:", "a study", "/study"),
    ("Every option:", "the whole form", "/?for=all"), ("What was measured here:", "the archives", "/archives"),
)  # fmt: skip
"""Below the choices: a question, and the page that answers it."""
EVERYTHING: Final = "all"
_SHOWN: Final = {
    "try": (), "server": ("target",), "script": ("target", "existing", "clients", "duration"),
    "clients": ("target", "workload", "scales", "clients", "duration"),
    EVERYTHING: ("target", "workload", "profile", "label", "scales", "cycles", "duration", "clients"),
}  # fmt: skip
"""What stands above the rest of the options, which are folded away."""
_BEGUN: Final[dict[str, dict[str, str]]] = {
    "script": {"existing": "yes", "clients": "4", "duration": "10"},
    "clients": {"target": "private:postgresql", "scales": "10", "clients": "1,2,4,8,16", "duration": "10",
                "limit": "20ms"},
}  # fmt: skip
"""What stands in fields at first."""
_DEPTHS: Final[dict[str, tuple[str, str, dict[str, str]]]] = {
    "look": ("Quick", "About a minute: too short to compare with other runs.", {}),
    "sizes": ("Three sizes", "A quarter of an hour to two hours: 100,000, 1 million and 10 million accounts, with 4 "
              "clients and with 16.", {"scales": "1,10,100", "cycles": "5", "duration": "20", "clients": "4,16"}),
    "capacity": ("Highest rate within 20 ms", "About six minutes: the highest rate at which 99% of the transactions "
                 "take less than 20 ms.", {"profile": "capacity"}),
    "graduated": ("From full load to idle", "Three minutes: response times, CPUs and power at each tenth of its load.",
                  {"profile": "graduated"}),
    "dsi-fast": ("All sizes, short cycles", "Some hours: from sizes within memory to sizes far beyond it, as a "
                 "curve and one figure, the DSI, within about 3%.", {"profile": "dsi-fast"}),
    "dsi": ("All sizes, long cycles", "Most of a day: the same as for a publication.", {"profile": "dsi"}),
}  # fmt: skip
"""How thorough a run is: a name, what it is good for, and what it fills in."""
_PRODUCTS: Final = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL",
                    "firebird": "Firebird"}  # fmt: skip
_FILLED: Final = sorted({name for _, _, texts in _DEPTHS.values() for name in texts})


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page; ``for`` names one of the choices, ``repeat`` an archive whose settings the form begins with, and
    ``again`` a run of this browser."""
    name, way, before = asked.get("repeat", ""), asked.get("for", ""), house.runs.form(asked.get("again", ""))
    if before is not None:
        way = before.way
    elif name or way not in (*_WAYS, EVERYTHING):
        way = EVERYTHING if name else next(iter(_WAYS))
    with tag("ul", cls="choices"):
        for key, (title, about) in _WAYS.items():
            _choice(title, about, f"/?for={key}", current=key == way)
        _choice(*_CRASH, current=False)
    with tag("p", cls="others"):
        for words, title, address in _OTHERS:
            tag("span", words)
            tag("a", title, href=address)
    texts = before.texts if before is not None else None
    if way == "two":
        new_pair.build(house, texts)
    else:
        described = _described(house, name) if name else {}
        texts = texts or (form.texts_of(described) if described else _BEGUN.get(way, {}))
        _build_run(_RunForm(house, way, texts, described))


def _choice(title: str, about: str, address: str, *, current: bool) -> None:
    with tag("li"), tag("a", href=address, aria_current="true" if current else None):
        tag("strong", title)
        tag("span", about)


def _described(house: House, name: str) -> Mapping[str, Any]:
    from dsbench.library import Archive

    return Archive.open(house.shelf.path(name)).run.spec.described()


def _build_run(view: _RunForm) -> None:
    way, shown = view.way, _SHOWN[view.way]
    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="Settings of the run").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            if way == "try":
                _choose_product(view)
            for option in shown:
                view.field(OPTIONS[option], needed=option == "target" and view.named)
                if option == "target":
                    view.ask_password()
                if option == "existing":
                    fields.Scripts(view.texts, view.show).place()
            if way == "clients":
                fields.text_field("limit", "99% of the transactions take less than", "A time with its unit, such as "
                                  "20ms or 0.5s.", view.texts, view.show)  # fmt: skip
            if way == "server":
                _choose_depth(view)
            # Where a product was chosen the URL has no field, as both would say the database.
            left_out = {*shown, *(["target"] if way == "try" else [])}
            scripts = fields.Scripts(view.texts, view.show).place if way == EVERYTHING else None
            if way == EVERYTHING:
                fields.other_options(view.texts, left_out, view.field, scripts)
            else:
                with tag("details"):
                    tag("summary", "All options")
                    fields.other_options(view.texts, left_out, view.field)
        with tag("section", cls="ahead", aria_label="Plan"):
            view.place()
    view.show()


def _choose_product(view: _RunForm) -> None:
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


def _choose_depth(view: _RunForm) -> None:
    with tag("fieldset"):
        tag("legend", "How thorough")
        for number, (key, (title, about, _)) in enumerate(_DEPTHS.items()):
            option_radio("depth", key, title, about, number == 0,
                         lambda one: view.put({**dict.fromkeys(_FILLED, ""), **_DEPTHS[one][2]}))  # fmt: skip


_FILL: Final = """for (const [name, value] of Object.entries(%s)) {
  const field = document.getElementById("field-" + name);
  if (field) field.value = value;
}"""


class _RunForm(PlannedForm):
    """The form of one run."""

    def __init__(self, house: House, way: str, texts: Mapping[str, str], described: Mapping[str, Any]) -> None:
        """``described``: the run of an archive that the form begins with."""
        super().__init__(house, texts)
        self.way, self._theirs = way, risks(described)
        self._asks: Any = None
        """Where the password is asked for."""

    @property
    def named(self) -> bool:
        """Whether a database has to be named before anything is told."""
        return self.way in ("server", "script")

    def ask_password(self) -> None:
        """Makes the field for the password of the database's user; a server of dsbench's own has none to ask for."""
        self._asks = fields.password_field(form.PASSWORD, self.texts, self.show)

    def field(self, option: Option, *, needed: bool = False) -> Any:
        shows = super().field(option, needed=needed)
        if needed:
            shows.props["placeholder"] = "postgresql://user@host/database"
        return shows

    def put(self, texts: Mapping[str, str]) -> None:
        """Fills in fields, as if they were typed."""
        self.texts.update(texts)
        ui.run_javascript(_FILL % json.dumps(dict(texts)))
        self.show()

    def show(self) -> None:
        if self._asks is not None:
            self._asks.set_visibility(not (self.texts.get("target", "") or Target().url).startswith("private:"))
        super().show()

    def plan(self) -> FormPlan | str:
        if self.named and not self.texts.get("target", "").strip():
            return "Name the database first."
        if self.way == "script" and not (self.texts.get("script") or self.texts.get("builtin", "").strip()):
            return "Write a script, or choose a file."
        asked = self._asked()
        _, ahead = form.asked(asked, theirs=self._theirs, trust=self.trust)
        text = "\n".join([*scales_of(ahead), *needs_of(ahead)])
        size = ahead.size_bytes[1] if ahead.size_bytes else None
        command, file = form.command(asked), form.toml(asked) or "# defaults"
        return FormPlan(text, ahead.time_s, size, ahead.free_bytes, ahead.settings, command, file)

    def _asked(self) -> dict[str, str]:
        """The texts of the options, with the limit that as many clients as possible should keep."""
        texts = {name: text for name, text in self.texts.items() if name != "limit"}
        if self.way != "clients":
            return texts
        text = self.texts.get("limit", "").replace(" ", "") or _BEGUN["clients"]["limit"]
        try:
            objectives(found := f"p99={text}")
        except ValueError:
            raise SpecError("99% of the transactions", f"cannot read {text[:60]!r}", "write 20ms or 0.5s") from None
        return {**texts, "objective": found}

    def begin(self) -> str:
        merged, _ = form.asked(self._asked(), theirs=self._theirs, trust=self.trust)
        texts = {name: text for name, text in self.texts.items() if name != form.PASSWORD}
        way = self.way if self.way in _BEGUN else EVERYTHING
        return self.house.runs.begin(merged.spec, Form(way, texts))

    def without_secrets(self, words: str) -> str:
        return form.without_secrets(words, self.texts)
