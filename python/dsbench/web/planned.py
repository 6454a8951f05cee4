"""What stands beside a form: what it asks for, how long that takes, the command that does the same, and the button that
begins it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.library import RunError, SpecError
from dsbench.measure.ahead import SettingAhead
from dsbench.spec import OPTIONS, Option
from dsbench.spec.trust import Untrusted
from dsbench.web import fields
from dsbench.web.house import House
from dsbench.web.parts import BUSY, UNTRUSTED, button, copying, go, problem, show_ahead, starter, tag

_LONG: Final = 3000


@dataclass(frozen=True)
class FormPlan:
    """What a form asks for."""

    text: str
    time_s: tuple[float, float]
    size_bytes: int | None
    free_bytes: int | None
    """In the folder of the data."""
    settings: Sequence[SettingAhead]
    """What empty fields stand for."""
    command: str
    file: str = ""
    """For ``--config``; empty where there is none."""


class PlannedForm(ABC):
    """A form and what it asks for."""

    start = "Start the run"

    def __init__(self, house: House, texts: Mapping[str, str]) -> None:
        self.house = house
        self.texts: dict[str, str] = dict(texts)
        """By name of a field, what stands in it."""
        self.trust = False
        """Whether what others ask for was confirmed."""
        self._left_open: dict[str, Any] = {}
        """By name of an option, what shows its value while its field is empty: the control, or its first choice."""

    @abstractmethod
    def plan(self) -> FormPlan | str:
        """What the form asks for, or what is missing before anything can be told of it. Raises ``SpecError`` or
        ``RunError``."""

    @abstractmethod
    def begin(self) -> str:
        """Begins it and gives its key; raises the same."""

    @abstractmethod
    def without_secrets(self, words: str) -> str:
        """``words`` without the passwords that stand in the form."""

    def field(self, option: Option, *, needed: bool = False) -> Any:
        """Makes the field of ``option``; gives what shows its value while it is empty."""
        self._left_open[option.name] = fields.option_field(option, self.texts, self.show, needed=needed)
        return self._left_open[option.name]

    def place(self) -> None:
        """Makes the elements beside the form."""
        self._start, self._hint, self._told, self._takes, self._plan = starter(self.start, self._begin)
        with tag("div") as self._same:
            tag("h2", "The same in a terminal")
            self._command = copying("command")
            with tag("details") as self._filed:
                tag("summary", "As a file for --config")
                self._file = copying("file")

    def show(self) -> None:
        """Tells what the form asks for as it stands."""
        going = self.house.runs.going()
        self._told.clear()
        self._takes.clear()
        self._start.props["disabled"] = True
        self._plan.text = self._command.text = self._file.text = self._hint.text = ""
        self._same.set_visibility(False)
        try:
            found = self.plan()
        except Untrusted as error:
            self._refuse(error, UNTRUSTED)
            with self._told:
                button("I trust it", self._confirm, "danger")
            return
        except (SpecError, RunError) as error:
            self._refuse(error, error.remedy)
            return
        if isinstance(found, str):
            self._hint.text = found
            return
        for one in found.settings:
            if one.name in self._left_open and not self.texts.get(one.name, "").strip():
                value = "" if one.origin == "chance" else one.shown
                fields.leave_open(self._left_open[one.name], OPTIONS[one.name], value)
        self._plan.text, self._command.text, self._file.text = found.text, found.command, found.file
        self._same.set_visibility(True)
        self._filed.set_visibility(bool(found.file))
        show_ahead(self._takes, found.time_s, found.size_bytes, found.free_bytes)
        self._start.props["disabled"] = going is not None
        self._hint.text = "" if going is None else BUSY

    def _confirm(self) -> None:
        self.trust = True
        self.show()

    def _refuse(self, error: Exception, remedy: str) -> None:
        with self._told:
            problem(*(self.without_secrets(text)[:_LONG] for text in (str(error), remedy)))

    def _begin(self) -> None:
        try:
            key = self.begin()
        except (SpecError, RunError) as error:
            self._told.clear()
            self._refuse(error, error.remedy)
        else:
            go(f"/live?run={key}")
