"""Fields of forms: an option with the words of --help, a password, and scripts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from dsbench import servers, workloads
from dsbench.spec import (
    OPTIONS,
    PROFILE_NAMES,
    SCRIPTS,
    Option,
    Script,
    examples,
    joined_scripts,
    parted_scripts,
)
from dsbench.spec.words import GROUPS
from dsbench.web.parts import button, on_text, tag

Texts = dict[str, str]
Changed = Callable[[], Any]

_NAMES: Final = {"target": "Database", "workload_settings": "Settings", "duration": "Duration of a cycle",
                 "max_cycles": "Max cycles"}  # fmt: skip
_LONGEST: Final = 300_000
"""Characters of a script; what browsers send at a time has an end."""
_LOAD: Final = """(event) => {
  const picker = event.target, file = picker.files[0];
  const field = picker.closest("fieldset"), told = field.querySelector("[role=status]");
  if (!file) return;
  if (file.size > field.querySelector("textarea").maxLength) {
    told.textContent = file.name + " is too large: use --script in a terminal.";
    return;
  }
  file.text().then((text) => {
    told.textContent = "";
    for (const [name, value] of [["input[type=text]", file.name], ["textarea", text]]) {
      field.querySelector(name).value = value;
      field.querySelector(name).dispatchEvent(new Event("change", {bubbles: true}));
    }
    picker.value = "";
  });
}"""
"""Puts name and text of a file into the fields beside it."""


def listening(control: Any, name: str, texts: Texts, changed: Changed) -> None:
    """Keeps what is typed as ``texts[name]``."""

    def heard(text: str) -> Any:
        texts[name] = text
        return changed()

    on_text(control, heard)


def text_field(
    name: str, label: str, about: str, texts: Texts, changed: Changed, *, kind: str = "text", mark: str = "",
    **attributes: Any,
) -> Any:
    """A field for a line of text, with a label and a sentence; gives all of it. ``mark`` tells it from others of its
    name on the page."""
    at = mark or name
    with tag("div", cls="field") as whole:
        tag("label", label, for_=f"field-{at}")
        control = tag("input", type=kind, id=f"field-{at}", spellcheck="false", aria_describedby=f"help-{at}",
                      defaultValue=(texts.get(name) or None) if kind != "password" else None, **attributes)  # fmt: skip
        tag("small", about, id=f"help-{at}")
    listening(control, name, texts, changed)
    return whole


def password_field(name: str, texts: Texts, changed: Changed, label: str = "Password") -> Any:
    """A field for the password of a database's user."""
    about = "If the database asks for one. It is never shown and never written."
    return text_field(name, label, about, texts, changed, kind="password", autocomplete="new-password")


def list_targets() -> None:
    """What fields for a database propose."""
    with tag("datalist", id="targets"):
        for product in servers.products():
            tag("option", value=f"private:{product}")


def option_field(option: Option, texts: Texts, changed: Changed, *, needed: bool = False) -> Any:
    """A label, a control and the words of --help, without the default of what is ``needed``; gives what ``leave_open``
    takes."""
    name = option.name
    label = _NAMES.get(name, name.replace("_", " ").capitalize())
    unit = f" [{option.about.unit}]" if option.about.unit else ""
    with tag("div", cls="field"):
        tag("label", label + unit, for_=f"field-{name}")
        control, first = _control(option, texts.get(name, ""))
        control.props["id"] = f"field-{name}"
        control.props["aria-describedby"] = f"help-{name}"
        tag("small", option.about.help if needed else option.details, id=f"help-{name}")
    listening(control, name, texts, changed)
    return first


def leave_open(shows: Any, option: Option, value: str) -> None:
    """Tells in an empty field what it stands for: ``value``, as the plan has it."""
    if option.kind == "object" and option.name != "target":
        return
    value = value or option.about.default
    if "placeholder" in shows.props:
        shows.props["placeholder"] = value
    else:
        shows.text = f"default: {value}" if value else "default"
    shows.update()


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
        list_targets()
    return made, made


def other_options(
    texts: Mapping[str, str], leave_out: Collection[str], make: Callable[[Option], Any], more: Changed | None = None
) -> None:
    """All options but those of ``leave_out``, by group and folded away; ``more`` makes what is said beside them."""
    for group in GROUPS:
        rest = [one for one in OPTIONS.values() if one.about.group == group and one.name not in leave_out]
        with tag("details", open=True if any(texts.get(one.name) for one in rest) else None):
            tag("summary", group)
            for one in rest:
                make(one)
    if more is not None:
        with tag("details", open=True if any(texts.get(name) for name in SCRIPTS) else None):
            tag("summary", "Scripts")
            more()


class Scripts:
    """Scripts, each with a name and a text that a file may fill; and what else is said of them."""

    def __init__(self, texts: Texts, changed: Changed) -> None:
        self._texts, self._changed = texts, changed
        found = parted_scripts(texts.get("script", "")) or [Script("", "")]
        self._scripts = [{"name": one.name, "text": one.text} for one in found]

    def place(self) -> None:
        """Makes the elements."""
        with tag("div") as self._place:
            for number in range(len(self._scripts)):
                self._field(number)
        with tag("div", cls="go"):
            button("Add a script", self._add)
        text_field("builtin", "Scripts of pgbench", "tpcb-like, simple-update or select-only, separated by commas; "
                   "each may have a weight: select-only@9.", self._texts, self._changed)  # fmt: skip
        with tag("div", cls="field"):
            tag("label", "Variables", for_="field-define")
            control = tag("textarea", rows=2, id="field-define", placeholder="NAME=VALUE", spellcheck="false",
                          aria_describedby="help-define", defaultValue=self._texts.get("define") or None)  # fmt: skip
            tag("small", "Of the scripts, one per line.", id="help-define")
        listening(control, "define", self._texts, self._changed)

    def _add(self) -> None:
        self._scripts.append({"name": "", "text": ""})
        with self._place:
            self._field(len(self._scripts) - 1)

    def _field(self, number: int) -> None:
        script, mark = self._scripts[number], number + 1
        with tag("fieldset"):
            tag("legend", f"Script {mark}" if mark > 1 else "Script")
            with tag("div", cls="field"):
                tag("label", "From a file", for_=f"file-{mark}")
                tag("input", type="file", id=f"file-{mark}", accept=".sql,text/plain").on("change", js_handler=_LOAD)
                tag("p", "", "note", role="status")
            text_field("name", "Name", "Of its file. With several scripts, add a weight: my.sql@3.", script,
                       self._keep, mark=f"name-{mark}", placeholder=f"script-{mark}.sql")  # fmt: skip
            with tag("div", cls="field"):
                tag("label", "SQL", for_=f"script-{mark}")
                control = tag("textarea", rows=8, id=f"script-{mark}", spellcheck="false",
                              maxlength=_LONGEST, aria_describedby=f"help-script-{mark}",
                              defaultValue=script["text"] or None)  # fmt: skip
                about = "One transaction, in pgbench's language, with \\set and :variables. The archive keeps it."
                tag("small", about, id=f"help-script-{mark}")
            listening(control, "text", script, self._keep)

    def _keep(self) -> Any:
        found = [Script(one["name"].strip() or f"script-{mark}.sql", one["text"].rstrip())
                 for mark, one in enumerate(self._scripts, 1) if one["text"].strip()]  # fmt: skip
        self._texts["script"] = joined_scripts(found)
        return self._changed()
