"""What a database keeps of its promises: the form, the check as it goes on, and what it found."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from nicegui import ui

from dsbench import servers, spec
from dsbench.library import RunError, SpecError
from dsbench.spec.trust import Untrusted, refuse, risks
from dsbench.web.house import House
from dsbench.web.parts import (
    BUSY,
    button,
    copying,
    go,
    link,
    on_text,
    option_radio,
    problem,
    starter,
    tag,
    untrusted,
)
from dsbench.web.state import WebState

_EVERY_S: Final = 1.0
_KILLS, _SESSIONS = 5, 4
_TARGET: Final = "private:postgresql"
_LOSES: Final = {
    "forgetful": ("A power cut", "What was not flushed is gone: a file system of dsbench's drops it."),
    "plain": ("A crash of the server", "The operating system keeps what was written, flushed or not."),
}
_TRIES: Final = {
    "durability": ("What it committed", "A minute or two: it is killed while sessions commit."),
    "promises": ("All that it promises", "Some minutes: atomicity, consistency and isolation as well."),
}


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the form, or, where ``run`` names a check, what that does."""
    state = house.runs.state(asked.get("run", ""))
    if state is not None and state.check:
        _CheckView(house, state).place()
    else:
        _Form(house).place()


class _Form:
    """What to try out, and the command that does the same."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._trust = False
        self._texts = {"target": _TARGET, "storage": next(iter(_LOSES)), "what": next(iter(_TRIES))}

    def place(self) -> None:
        """Makes the elements."""
        with tag("div", cls="columns"):
            with tag("form", cls="form", autocomplete="off", aria_label="What is tried out").on(
                "submit", js_handler="(event) => event.preventDefault()"
            ):
                with tag("div", cls="field"):
                    tag("label", "Database", for_="field-target")
                    control = tag("input", type="text", id="field-target", placeholder=_TARGET, spellcheck="false",
                                  list="targets", aria_describedby="help-target")  # fmt: skip
                    words = "dsbench starts, kills and removes it. private:postgresql?fsync=off loses something."
                    tag("small", words, id="help-target")
                with tag("datalist", id="targets"):
                    for product in servers.products():
                        tag("option", value=f"private:{product}")
                on_text(control, lambda text: self._put("target", text.strip() or _TARGET))
                self._choose("storage", "What happens", _LOSES)
                self._choose("what", "What is tried out", _TRIES)
            with tag("section", cls="ahead", aria_label="Plan"):
                self._start, self._hint, self._told, _, self._plan = starter("Start the check", self._begin)
                tag("h2", "The same in a terminal")
                self._command = copying("command")
        self._show()

    def _choose(self, name: str, title: str, choices: Mapping[str, tuple[str, str]]) -> None:
        with tag("fieldset"):
            tag("legend", title)
            for key, (text, note) in choices.items():
                option_radio(name, key, text, note, key == self._texts[name], lambda value: self._put(name, value))

    def _put(self, name: str, text: str) -> None:
        self._texts[name] = text
        self._trust = self._trust and name != "target"
        self._show()

    def _target(self) -> spec.Target:
        described = spec.build({"target": {"url": self._texts["target"]}})
        target = described.target
        if target.private is None:
            remedy = f"dsbench check {target.redacted} --durability in a terminal asks you to kill it"
            raise SpecError("Database", "only a server of dsbench's own is killed from here", remedy)
        if not self._trust:
            refuse(risks(described.described()), "the form", "settings")
        return target

    def _show(self) -> None:
        self._told.clear()
        self._plan.text = self._command.text = ""
        going = self._house.runs.going()
        self._start.props["disabled"] = True
        self._hint.text = "" if going is None else BUSY
        try:
            self._target()
        except Untrusted as error:
            with self._told:
                untrusted(error, self._confirm)
            return
        except SpecError as error:
            with self._told:
                problem(str(error), error.remedy)
            return
        self._start.props["disabled"] = going is not None
        self._plan.text = (
            f"{_KILLS} kills while {_SESSIONS} sessions commit; after each dsbench looks for what was acknowledged"
        )
        words = ["dsbench", "check", self._texts["target"], f"--{self._texts['what']}"]
        self._command.text = shlex.join([*words, "--storage", self._texts["storage"]])

    def _confirm(self) -> None:
        self._trust = True
        self._show()

    def _begin(self) -> None:
        how = {"whole": self._texts["what"] == "promises", "rounds": _KILLS, "writers": _SESSIONS,
               "kind": self._texts["storage"]}  # fmt: skip
        try:
            key = self._house.runs.begin_check(self._target(), how)
        except (SpecError, RunError) as error:
            with self._told:
                problem(str(error), error.remedy)
        else:
            go(f"/check?run={key}")


class _CheckView:
    """One check, as it goes on and when it is over."""

    def __init__(self, house: House, state: WebState) -> None:
        self._house, self._key, self._target = house, state.key, state.target

    def place(self) -> None:
        """Makes the elements, and looks at the check once a second while it goes on."""
        tag("p", self._target, "sub")
        with tag("div", cls="go"):
            self._status = tag("p", "", "status", role="status")
            self._stop = button("Stop", lambda: self._house.runs.stop(self._key), "danger")
        self._verdict = tag("h2")
        self._found = tag("pre", "", tabindex=0, aria_label="What it kept")
        self._over = tag("div")
        with tag("details") as self._told:
            tag("summary", "Log")
            self._log = tag("pre", "", "log", tabindex=0, role="log", aria_label="Log of the check")
        if self._look():
            self._timer = ui.timer(_EVERY_S, self._look)

    def _look(self) -> bool:
        """Whether it goes on."""
        state = self._house.runs.state(self._key)
        if state is None:
            return False
        self._log.text = "\n".join(reversed(state.log))
        self._told.set_visibility(bool(state.log))
        self._stop.set_visibility(state.goes_on)
        *lines, verdict = state.found or [""]
        self._found.text, self._verdict.text = "\n".join(lines), verdict.strip()
        for element in (self._found, self._verdict):
            element.set_visibility(bool(state.found))
        if state.goes_on:
            moment = state.moment
            self._status.text = f"{moment.phase}: {moment.done} of {moment.total}" if moment.total else state.status
            return True
        if (timer := getattr(self, "_timer", None)) is not None:
            timer.deactivate()
        self._status.text = {"complete": "complete", "cut-short": "stopped"}.get(state.status, "failed")
        self._over.clear()
        with self._over:
            if state.found:
                tag("p", "A run of the same database tells in its report what was found here, if you give it this:")
                copying("result", shlex.join(["--checked", state.check]))
            if state.problem:
                problem(state.problem, state.remedy)
            elif not state.ended:
                problem("The process of the check has ended without a word: it was killed.", "repeat the check")
            link("Another check", "/check")
        return False
