"""The experiments, figures and tables of the five papers, with the commands that make them here.

Two files say all of them: ``items.toml`` what an item shows and how it is made in each size, ``says.toml`` what the
paper found. ``dsbench study papers`` lists and runs them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from string import Template
from typing import Any, Final, Literal

from dsbench.dataclass import dataclass
from dsbench.problem import Problem

MADE, PART, UNTRIED, NOT = "●", "◐", "◌", "○"
Size = Literal["full", "hour", "small"]
SIZES: Final[tuple[Size, ...]] = ("full", "hour", "small")
WHERE: Final = "dsbench study papers lists them"


@dataclass(frozen=True)
class Paper:
    """One of the five."""

    number: str
    author: str
    title: str
    year: int | None
    """``None`` where the text has none."""
    items: tuple[Item, ...]

    @property
    def named(self) -> str:
        """Author, title and year."""
        return f"{self.author}, {self.title}" + (f" ({self.year})" if self.year else "")

    def find(self, name: str) -> Item:
        """The item of an id. ``Problem`` where there is none."""
        wanted = name.lower().replace("figure", "fig").replace("table", "tab").replace(" ", "-")
        for item in self.items:
            if wanted in item.names:
                return item.as_figure(wanted)
        known = [one for item in self.items for one in item.names]
        near = ", ".join(get_close_matches(wanted, known, 3))
        remedy = f"did you mean {near}? " if near else ""
        remedy += f"dsbench study papers {self.number} lists all"
        raise Problem(f"ITEM: {self.number} has no {name[:60]!r}", remedy, usage=True)


@dataclass(frozen=True)
class Item:
    """An experiment, a table, a figure or an analysis of a paper."""

    paper: str
    id: str
    names: tuple[str, ...]
    """The id and others."""
    shows: str
    says: str
    """What the paper says of it; empty where it says nothing."""
    make: tuple[str, ...]
    """Command lines with words."""
    show: tuple[str, ...]
    picture: str
    data: str
    """The item whose commands make the data of this one, too; empty where there is none."""
    words: Mapping[Size, Mapping[str, str]]
    figures: Mapping[str, Mapping[str, Any]]
    lacks: str
    stands: str
    """What stands for systems of the paper that are not to be had."""
    why: str
    hour: bool
    """Whether it has the third size: what a small machine does in an hour."""
    seconds: int | None
    """The small form took when it was made last; ``None`` where it was not yet."""

    @property
    def mark(self) -> str:
        if self.why or self.seconds is None:
            return NOT if self.why else UNTRIED
        return PART if self.lacks else MADE

    @property
    def reason(self) -> str:
        """Why it is not made here, what is missing of it, or what stands for a part of it."""
        return self.why or f"{self.stands or self._base.stands} {self.lacks}".strip()

    @property
    def sizes(self) -> tuple[Size, ...]:
        return tuple(size for size in SIZES if size != "hour" or self._base.hour)

    @property
    def folder(self) -> str:
        """Where it is made: with the item that it shares its data with."""
        return f"{self.paper}-{self._base.id}"

    @property
    def _base(self) -> Item:
        return find(self.paper, self.data)._base if self.data else self

    def as_figure(self, name: str) -> Item:
        """The item where ``name`` is another figure of it."""
        if name not in self.figures:
            return replace(self, says=_says(self.paper, name) or self.says)
        own = dict(self.figures[name])
        lines = {key: own.pop(key) for key in ("make", "show", "picture", "with") if key in own}
        by_size = {size: own.pop(size, {}) for size in SIZES}
        hour = self.hour and ("make" not in lines or bool(by_size["hour"]))
        words = {size: {**self.words[size], **own, **by_size[size]} for size in SIZES}
        make, show = tuple(lines.get("make", self.make)), tuple(lines.get("show", self.show))
        picture, data = str(lines.get("picture", self.picture)), str(lines.get("with", self.data))
        return replace(
            self, id=name, says=_says(self.paper, name), words=words, make=make, show=show, picture=picture, data=data,
            hour=hour,
        )  # fmt: skip

    def commands(self, size: Size) -> tuple[str, ...]:
        """The command lines that make its data, those of the items below it first."""
        above = find(self.paper, self.data).commands(size) if self.data else ()
        return (*above, *(self._filled(line, size) for line in self.make))

    def shown(self, size: Size) -> tuple[str, ...]:
        """The command lines that show it."""
        return tuple(self._filled(line, size) for line in self.show)

    def _filled(self, line: str, size: Size) -> str:
        words = {**self._base.words[size], **self.words[size]}
        whole = {name: Template(text).safe_substitute(words) for name, text in words.items()}
        filled = Template(line).substitute(whole)
        return " ".join(filled.split())

    def described(self) -> dict[str, Any]:
        """For ``--json``."""
        made = {size: [f"dsbench {line}" for line in (*self.commands(size), *self.shown(size))] for size in self.sizes}
        return {"paper": self.paper, "id": self.id, "names": list(self.names), "shows": self.shows, "says": self.says,
                "mark": self.mark, "reason": self.reason, "seconds": self.seconds, "picture": self.picture,
                "commands": made if not self.why else {}}  # fmt: skip


@lru_cache(1)
def papers() -> dict[str, Paper]:
    """The five by number."""
    text = resources.files("dsbench.papers").joinpath("items.toml").read_text("utf-8")
    values = tomllib.loads(text)
    found = {}
    for one in values["paper"]:
        shared: dict[Size, Mapping[str, str]] = {
            size: {**values[size], **one.get(size, {})} for size in SIZES if size != "hour"
        }
        items = tuple(_item(one["number"], shared, item) for item in one["item"])
        found[one["number"]] = Paper(one["number"], one["author"], one["title"], one.get("year"), items)
    return found


def _item(paper: str, shared: Mapping[Size, Mapping[str, str]], item: Mapping[str, Any]) -> Item:
    figures = item.get("figures", {})
    words: dict[Size, Mapping[str, str]] = {size: {**shared[size], **item.get(size, {})} for size in shared}
    words["hour"] = {**words["small"], **item.get("hour", {})}
    names = tuple(dict.fromkeys((item["id"], *item.get("also", ()), *figures)))
    return Item(
        paper, item["id"], names, item["shows"], _says(paper, item["id"]), tuple(item.get("make", ())),
        tuple(item.get("show", ())), item.get("picture", ""), item.get("with", ""), words, figures,
        item.get("lacks", ""), item.get("stands", ""), item.get("why", ""), "hour" in item, item.get("seconds"),
    )  # fmt: skip


@lru_cache(1)
def _sayings() -> dict[str, dict[str, str]]:
    return tomllib.loads(resources.files("dsbench.papers").joinpath("says.toml").read_text("utf-8"))


def _says(paper: str, name: str) -> str:
    return _sayings()[paper].get(name, "")


def find(number: str, name: str) -> Item:
    """An item by its paper and id. ``Problem`` where there is none."""
    return paper_of(number).find(name)


def paper_of(number: str) -> Paper:
    """The paper of a number. ``Problem`` where there is none."""
    found = papers()
    padded = number.zfill(3)
    if padded not in found:
        raise Problem(f"PAPER: there is no {number[:60]!r}", f"use one of {', '.join(found)}: {WHERE}", usage=True)
    return found[padded]
