"""Two databases against each other: the form of ``dsbench ab``, and what earlier ones found."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from nicegui import run, ui

from dsbench.measure.ahead import Ahead, scales_of
from dsbench.spec import OPTIONS, Merged, share
from dsbench.web import fields, folders, form
from dsbench.web.house import House
from dsbench.web.parts import link, table, tag
from dsbench.web.planned import FormPlan, PlannedForm
from dsbench.web.state import Form

_BEGUN: Final = {
    "first": "private:postgresql?shared_buffers=16MB", "second": "private:postgresql?shared_buffers=1GB",
    "scales": "10", "cycles": "3", "duration": "10", "difference": "2%",
}  # fmt: skip
"""What stands in fields at first."""
_SIDES: Final = {
    "first": ("A", "A URL, or private:PRODUCT[@VERSION][?SETTING=VALUE] for a server that dsbench starts."),
    "second": ("B", "The same, with another server, version or setting."),
}
_SHOWN: Final = ("workload", "isolation", "scales", "clients", "cycles", "duration")
_NOT_BOTH: Final = ("target", "keep", "reuse", "peak")
"""Options that a comparison has not, or each side has its own."""
_BLOCKS, _MAX_BLOCKS = 3, 20
_RUNS: Final = {
    "": "one after another, each on a new database",
    "one-database": "one after another, those of a block on one database: for settings that do not change the data",
    "duet": "both sides at the same time, each on half of the CPUs: for a machine that other programs use",
}  # fmt: skip
"""What stands in the field ``runs``: an option of ``dsbench ab``, and what it does."""


def build(house: House, before: Mapping[str, str] | None = None) -> None:
    """Makes the form, and beside it what it will do; ``before`` stands in its fields."""
    view = _Pair(house, before or _BEGUN)
    with tag("div", cls="columns"):
        with tag("form", cls="form", autocomplete="off", aria_label="The two").on(
            "submit", js_handler="(event) => event.preventDefault()"
        ):
            view.fields()
        with tag("section", cls="ahead", aria_label="Plan"):
            view.place()
    view.show()
    earlier = tag("div")
    ui.timer(0, lambda: _list(house, earlier), once=True)


async def _list(house: House, place: Any) -> None:
    if found := await run.io_bound(_told, house):
        with place:
            tag("h2", "Earlier comparisons")
            table("Earlier comparisons", ["begun", "A", "B", "B is", "blocks"], found)


def _told(house: House) -> list[list[Any]]:
    from dsbench.library.ab import brief  # Late: numerical libraries take a second.

    folder = folders.place_of_pairs(house.archives)
    return [[lambda one=one: link(one, "/pair?" + urlencode({"name": one})), *brief(folder / one)]
            for one in folders.pair_names(house.archives)]  # fmt: skip


class _Pair(PlannedForm):
    """The form of a comparison of two."""

    start = "Start the comparison"

    def __init__(self, house: House, texts: Mapping[str, str]) -> None:
        super().__init__(house, texts)
        self._out = folders.place_of_pairs(house.archives) / time.strftime("%Y%m%dT%H%M%S")
        self._asks: dict[str, Any] = {}
        """By side, where its password is asked for."""

    def fields(self) -> None:
        """Makes the elements of the form."""
        for side, (label, about) in _SIDES.items():
            fields.text_field(side, label, about, self.texts, self.show, list="targets")
            name = f"{form.PASSWORD}-{side}"
            self._asks[side] = fields.password_field(name, self.texts, self.show, f"Password of {label}")
        fields.list_targets()
        for name in _SHOWN:
            self.field(OPTIONS[name])
        fields.text_field("difference", "Difference that matters", "Rates that differ by less count as equal.",
                          self.texts, self.show)  # fmt: skip
        with tag("div", cls="field"):
            tag("label", "Runs", for_="field-runs")
            with tag("select", id="field-runs") as chosen:
                for value, words in _RUNS.items():
                    tag("option", words, value=value, selected=True if value == self._runs else None)
        fields.listening(chosen, "runs", self.texts, self.show)
        with tag("details"):
            tag("summary", "All options")
            scripts = fields.Scripts(self.texts, self.show).place
            fields.other_options(self.texts, (*_SHOWN, *_NOT_BOTH), self.field, scripts)

    def show(self) -> None:
        for side, asks in self._asks.items():
            asks.set_visibility(not self.texts.get(side, "").strip().startswith("private:"))
        super().show()

    def plan(self) -> FormPlan | str:
        if not all(self.texts.get(side, "").strip() for side in _SIDES):
            return "Name both databases first."
        self._difference()
        # Late: numerical libraries take a second.
        from dsbench.library.ab import say_plan, seconds_of
        from dsbench.library.duet import halves, refuse_duet

        asked, duet = self._asked(), self._runs == "duet"
        ahead = [one for _, one in asked]
        if duet:
            refuse_duet({letter: merged.spec for letter, (merged, _) in zip("AB", asked, strict=True)})
            halves()
        text = say_plan(ahead, _BLOCKS, _MAX_BLOCKS, duet=duet)
        sizes = [one.size_bytes[1] for one in ahead if one.size_bytes]
        size = max(sizes, default=None)
        if duet:
            size = sum(sizes) if len(sizes) == len(ahead) else None
        lines = [f"{text}, until it is known which is faster"]
        lines += [f"{side}: {line}" for side, one in zip("AB", ahead, strict=True) for line in scales_of(one)]
        return FormPlan(
            "\n".join(lines), seconds_of(ahead, _BLOCKS, _MAX_BLOCKS, duet=duet), size,
            ahead[0].free_bytes, ahead[0].settings, self._in_terminal(),
        )  # fmt: skip

    def _asked(self) -> list[tuple[Merged, Ahead]]:
        """Both sides, with as many clients on as large a database where neither was said."""
        from dsbench.library.ab import even, naming_side

        def both(more: Mapping[str, str]) -> list[tuple[Merged, Ahead]]:
            found = []
            for letter, side in zip("AB", _SIDES, strict=True):
                with naming_side(letter):
                    found.append(form.asked({**self._texts_of(side), **more}))
            return found

        asked = both({})
        unsaid = not any(self.texts.get(name, "").strip() for name in ("clients", "scales"))
        alike = even([one.spec for one, _ in asked]) if unsaid else {}
        return both(alike) if alike else asked

    def _texts_of(self, side: str) -> dict[str, str]:
        """The form of a run of one side."""
        shared = {name: text for name, text in self.texts.items() if name in OPTIONS or name in form.PARTED}
        private = self.texts[side].strip().startswith("private:")
        password = "" if private else self.texts.get(f"{form.PASSWORD}-{side}", "")
        return {**shared, "target": self.texts[side], form.PASSWORD: password}

    def _difference(self) -> float:
        text = self.texts.get("difference", "").strip() or _BEGUN["difference"]
        return share("--difference", text)

    def _in_terminal(self) -> str:
        words = [*self._named, *form.words({**self._texts_of("first"), "target": "", form.PASSWORD: ""})]
        difference = self.texts.get("difference", "").strip()
        words += ["--difference", difference] if difference not in ("", _BEGUN["difference"]) else []
        words += [f"--{self._runs}"] if self._runs else []
        return shlex.join(["dsbench", "ab", *words, "--out", str(self._out)])

    @property
    def _runs(self) -> str:
        """A key of ``_RUNS``."""
        found = self.texts.get("runs", "")
        return found if found in _RUNS else ""

    @property
    def _named(self) -> tuple[str, ...]:
        """The names of A and B."""
        return tuple(form.shown_url(self.texts[side]) for side in _SIDES)

    def begin(self) -> str:
        (a, _), (b, _) = self._asked()
        asked = {"out": self._out, "names": self._named,
                 "difference": self._difference(), "blocks": _BLOCKS, "max_blocks": _MAX_BLOCKS,
                 "one_database": self._runs == "one-database", "duet": self._runs == "duet",
                 "command": self._in_terminal()}  # fmt: skip
        texts = {name: text for name, text in self.texts.items() if not name.startswith(form.PASSWORD)}
        return self.house.runs.begin_pair((a.spec, b.spec), asked, Form("two", texts))

    def without_secrets(self, words: str) -> str:
        for side in _SIDES:
            words = form.without_secrets(words, self._texts_of(side))
        return words
