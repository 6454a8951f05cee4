"""Who measured, on which machine, at which price: what an archive cannot know."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from dsbench.problem import Problem
from dsbench.spec import plain
from dsbench.spec.price import HOW, Price, read_price

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of Unicode whose letters nobody sees, or that turn the text beside them around."""
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters and marks without ink: those of Default_Ignorable_Code_Point in other categories, and an empty pattern of
Braille."""
_ALPHABETS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""First words of the names of letters that look like those of another alphabet."""
_ABOUT: Final = 'it has by, machine, notes and price, such as price = "0.34 USD/h"'


class EntryError(Problem):
    """What cannot be published, or is no entry."""


class RefusedError(EntryError):
    """An archive that a commons would refuse."""


class PublishedError(EntryError):
    """A run that is in the commons already."""


def is_unseen(text: str) -> bool:
    """Whether ``text`` has letters that nobody sees, but for ends of lines and tabs."""
    some = (one for one in text if one not in "\t\n\r")
    return any(unicodedata.category(one) in _UNSEEN for one in some) or _FILLERS.search(text) is not None


def _is_lookalike(text: str) -> bool:
    """Whether ``text`` may be taken for another one: a word of two alphabets, or what has a plainer form."""
    letters = ({unicodedata.name(one, "").split(" ")[0] for one in word} for word in re.findall(r"\w+", text))
    return unicodedata.normalize("NFKC", text) != text or any(len(found & _ALPHABETS) > 1 for found in letters)


class PublisherNotes(BaseModel):
    """What an archive cannot know: who measured, on which machine, at which price."""

    model_config = ConfigDict(extra="forbid")

    by: str = Field(default="", max_length=100)
    machine: str = Field(default="", max_length=100)
    """Its name in a shop or a rack: entries of one name are one machine."""
    price: Price | None = None
    """In a TOML also as a text, such as 1.2 EUR/h."""
    notes: str = Field(default="", max_length=2000)

    @field_validator("by", "machine", "notes")
    @classmethod
    def _seen(cls, value: str) -> str:
        if is_unseen(value):
            raise ValueError("contains invisible characters")
        return value

    @field_validator("by", "machine")
    @classmethod
    def _plain(cls, value: str) -> str:
        value = unicodedata.normalize("NFC", " ".join(value.split()))
        if _is_lookalike(value):
            raise ValueError("contains look-alike letters, so that two names look the same")
        return value

    @field_validator("price", mode="before")
    @classmethod
    def _price_of_text(cls, value: object) -> object:
        return read_price(value) if isinstance(value, str) else value


def read_about(path: Path) -> PublisherNotes:
    """Who measured, from a TOML; ``EntryError`` names what is wrong there."""
    try:
        return PublisherNotes.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise EntryError(f"--about: {path} cannot be read: {error}", _ABOUT, usage=True) from None
    except ValidationError as error:
        raise EntryError(f"--about: {path}: {first_of(error)}", _ABOUT, usage=True) from None


def describe_owner(
    path: Path | None, by: str, machine: str, price: str, currency: str, notes: str
) -> PublisherNotes:
    """What the options say of an entry, before what the TOML at ``path`` says; ``currency`` where ``price`` names
    none."""
    known = read_about(path) if path else PublisherNotes()
    given = {"by": by, "machine": machine, "notes": notes}
    values = known.model_dump() | {name: value for name, value in given.items() if value}
    try:
        if price.strip():
            if currency and not re.fullmatch("[A-Z]{3}", currency):
                raise EntryError("--currency: must be three capital letters", "write, for example, EUR", usage=True)
            values["price"] = read_price(price, currency)
    except ValueError as error:
        raise EntryError(f"--price: {error}", HOW, usage=True) from None
    try:
        return PublisherNotes.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        words = f"--{first['loc'][-1]}: {plain(first['msg'])}"
        raise EntryError(words, "see dsbench commons publish --help", usage=True) from None


def first_of(error: ValidationError) -> str:
    """The first thing that is wrong, in words."""
    one = error.errors()[0]
    return f"{'.'.join(str(part) for part in one['loc']) or 'all of it'}: {plain(one['msg'])}"
