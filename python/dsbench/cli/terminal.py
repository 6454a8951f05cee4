"""What the terminal is: its columns, its colours, what it can take."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from io import TextIOWrapper
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, TextIO

import typer

from dsbench.problem import Problem

if TYPE_CHECKING:
    from dsbench.read.blocks import Block
    from dsbench.read.text import Style

Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Every table, and messages in full")]
Price = Annotated[
    str,
    typer.Option(
        metavar="AMOUNT/SPAN",
        help="Price of the machine, such as 1.2 EUR/h [that of the run]",
    ),
]



class AnswerForm(StrEnum):
    """What an answer is printed as."""

    TEXT = "text"
    MARKDOWN = "markdown"


As = Annotated[AnswerForm, typer.Option("--as", help="text, or markdown for a pull request")]
Forms = Mapping[str, Callable[[], str]]
"""Other forms of an answer to what writes it."""

WIDEST: Final = 120
"""Nobody reads longer lines."""
_NARROWEST: Final = 40


def open_all() -> None:
    """Has standard input, output and error lead nowhere where they are closed, so that no other file gets their
    numbers; a character that a terminal has not becomes a question mark."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))
        elif name != "stdin" and isinstance(stream := getattr(sys, name), TextIOWrapper):
            stream.reconfigure(errors="replace")


def read_width(stream: TextIO) -> int:
    """Columns at which lines end; 0 where ``stream`` is a file or a pipe."""
    if not stream.isatty():
        return 0
    columns = shutil.get_terminal_size().columns
    return min(max(columns, _NARROWEST), WIDEST)


def wrap(text: str, stream: TextIO) -> str:
    """``text`` in lines that ``stream`` has the columns for."""
    width = read_width(stream)
    lines = (textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
             for line in text.splitlines())  # fmt: skip
    return "\n".join(lines) if width else text


def read_style() -> Style:
    """Of standard output."""
    from dsbench.read.text import Style  # Late: it is loaded with what it writes.

    width = read_width(sys.stdout)
    return Style(width, colour=width > 0 and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")


def show(blocks: Iterable[Block]) -> None:
    """Prints blocks."""
    from dsbench.read.text import render_text

    print(render_text(blocks, read_style()))


def show_answer(
    document: Callable[[], object], blocks: Callable[[], Iterable[Block]], as_json: bool, form: StrEnum,
    others: Forms = MappingProxyType({}),
) -> bool:
    """Prints an answer as JSON, for a pull request, in one of the ``others`` or as text, and gives whether it was as
    text."""
    if as_json:
        print(json.dumps(document(), indent=2, ensure_ascii=False))
    elif form.value in others:
        print(others[form.value]())
    elif form == AnswerForm.MARKDOWN:
        from dsbench.read.markdown import render_comment

        print(render_comment(blocks()))
    else:
        show(blocks())
        return True
    return False


def refuse_both(as_json: bool, form: StrEnum) -> None:
    """``Problem`` where ``--json`` is asked for, and by ``--as`` another form than text."""
    if as_json and form != AnswerForm.TEXT:
        raise Problem(f"--as {form.value} and --json exclude each other", "use one of them", usage=True)


def check_price(text: str) -> str:
    """``text``, which says a price or is empty; ``SpecError`` where it cannot be read."""
    from dsbench import spec  # Late: help should not wait for it.
    from dsbench.spec.price import read_price

    try:
        read_price(text)
    except ValueError as error:
        raise spec.SpecError("--price", str(error), "write, for example, 1.2 EUR/h") from None
    return text
