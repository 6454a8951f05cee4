"""First steps for who has not measured a database yet, and what the words of reports mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dsbench.read.terms import TERMS
from dsbench.web.house import House
from dsbench.web.parts import fields, link, tag

_STEPS: Final = (
    ("Measure something", "/?for=try", "dsbench run",
     "Try it takes one click and a minute. Beside the button stands what will be done."),
    ("Read the report", "/archives", "dsbench show ARCHIVE",
     "Its first line says whether the figures are valid, the sentence below how much the database does, and the next "
     "one what a transaction's time was spent on. Warnings stand below the picture."),
    ("Measure it again", "/?for=try", "dsbench compare ARCHIVE ARCHIVE",
     "Tick both archives and compare them: where two runs of the same differ it is by chance, and a smaller difference "
     "says nothing."),
    ("Change one thing", "/?for=two",
     "dsbench ab 'private:sqlite?journal_mode=delete' 'private:sqlite?journal_mode=wal'",
     "Two servers, versions or settings are measured in turn, so that chance meets both alike. Name "
     "private:sqlite?journal_mode=delete and private:sqlite?journal_mode=wal, with scale 1: what do you expect?"),
    ("Let a study ask", "/new-study?template=first", "dsbench study templates first > first.toml; "
     "dsbench study run first.toml",
     "A study varies whatever you name, repeats it in blocks, and says how large a difference it could not have seen. "
     "The first one takes two minutes."),
    ("Pull the plug", "/check", "dsbench check private:postgresql --durability",
     "A database promises to keep what it has committed. Kill it, and look."),
)  # fmt: skip
"""A task, the page on which it is done, the command that does the same, and what to look at."""


def build(_house: House, _asked: Mapping[str, str]) -> None:
    """Makes the page."""
    tag("p", "Each takes some minutes, and needs no server of yours.", "sub")
    with tag("ol", cls="steps"):
        for title, address, command, about in _STEPS:
            with tag("li"):
                link(title, address)
                tag("p", about)
                tag("code", command)
    tag("h2", "Words")
    fields(TERMS)
