"""A study out of a template or a text: what it will do, and its beginning."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from nicegui import run, ui

from dsbench import study as room
from dsbench.archive import ArchiveError
from dsbench.library import RunError, SpecError
from dsbench.redaction import redact_words, secrets_of
from dsbench.spec.trust import Untrusted
from dsbench.study import Study
from dsbench.study.estimate import Estimate, ahead_of
from dsbench.web import folders
from dsbench.web.house import House
from dsbench.web.parts import BUSY, UNTRUSTED, button, go, on_text, problem, show_ahead, starter, tag

_URL: Final = re.compile(r"[a-z]+://[^\s\"']+")


def build(house: House, asked: Mapping[str, str]) -> None:
    """Makes the page; ``template`` names the one whose text it begins with, the first study where none is named."""
    found = room.templates()
    name = asked.get("template", "")
    name = name if name in found else "first"
    view = StudyAhead(house, found[name])
    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="The study").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            with tag("div", cls="field"):
                tag("label", "Template", for_="template")
                with tag("select", id="template") as chosen:
                    for one, text in found.items():
                        tag("option", f"{one}: {_about(text)}", value=one, selected=True if one == name else None)
                chosen.on("change", lambda event: go(f"/new-study?template={event.args}"),
                          js_handler="(event) => emit(encodeURIComponent(event.target.value))")  # fmt: skip
            with tag("div", cls="field"):
                tag("label", "The study, as TOML", for_="text")
                control = tag("textarea", rows=30, id="text", spellcheck="false", aria_describedby="text-help",
                              defaultValue=found[name])  # fmt: skip
                tag("small", "A base run, factors with their levels, and how often each combination is made: "
                             "docs/studies.md.", id="text-help")  # fmt: skip
            on_text(control, view.show)
        with tag("section", cls="ahead", aria_label="Plan"):
            view.place()


def _about(text: str) -> str:
    values = tomllib.loads(text)
    return str(values.get("about", values["name"]))


class StudyAhead:
    """What a study will do, beside its text."""

    def __init__(self, house: House, text: str) -> None:
        self._house, self._text = house, text
        self._reading = False
        self._trust = False

    def place(self) -> None:
        """Makes the elements."""
        self._start, self._hint, self._told, self._takes, self._plan = starter("Start the study", self._begin)
        self._start.props["disabled"] = True
        ui.timer(0, lambda: self.show(self._text), once=True)

    async def show(self, text: str) -> None:
        """Tells what ``text`` asks for. It is read in a thread: other pages go on while a large study is looked at."""
        self._text = text
        if self._reading:  # The text as it is then is read next.
            return
        self._reading = True
        try:
            read, found = None, None
            while read != self._text:
                read = self._text
                found = await run.io_bound(self._looked_at, read)
        finally:
            self._reading = False
        going = self._house.runs.going() is not None
        self._told.clear()
        self._takes.clear()
        if isinstance(found, tuple):
            expected, self._plan.text = found
            show_ahead(self._takes, expected.time_s, expected.size_bytes, expected.free_bytes)
            self._start.props["disabled"] = going
        else:
            self._refuse(found)
        self._hint.text = BUSY if going else ""

    def _looked_at(self, text: str) -> tuple[Estimate, str] | Exception:
        """What the study will do, or what is wrong with it."""
        try:
            study, ahead = self._asked(text)
            expected = room.estimate(study, ahead)
            return expected, ahead_of(study, expected, whole=False)
        except (SpecError, RunError, ArchiveError) as error:
            return error

    def _asked(self, text: str) -> tuple[Study, Any]:
        spec = room.of_text(text.encode("utf-8", "replace"), "the text")
        folder = folders.place_of_studies(self._house.archives) / spec.folder_name
        folders.refuse_commands(spec, folder, trust=self._trust)
        try:
            return room.begin(spec, folder)
        except SpecError as error:
            if error.option != "--out":
                raise
            words = f"{spec.folder_name} is the name of another study that is here"
            raise SpecError("name", words, 'give this one another name: name = "…" in the text') from None

    def _refuse(self, error: Any) -> None:
        self._start.props["disabled"], self._plan.text = True, ""
        remedy = UNTRUSTED if isinstance(error, Untrusted) else error.remedy
        with self._told:
            problem(*(_without_secrets(words, self._text)[:3000] for words in (str(error), remedy)))
            if isinstance(error, Untrusted):
                button("I trust it", self._confirm, "danger")

    async def _confirm(self) -> None:
        self._trust = True
        await self.show(self._text)

    async def _begin(self) -> None:
        try:
            study, _ = await run.io_bound(self._asked, self._text)
            key = self._house.runs.begin_study(study.folder, self._text)
        except (SpecError, RunError, ArchiveError) as error:
            self._told.clear()
            self._refuse(error)
        else:
            go(f"/live?run={key}")


def _without_secrets(words: str, text: str) -> str:
    return redact_words(words, [secret for url in _URL.findall(text) for secret in secrets_of(url)])
