"""Blocks as HTML, by templates: a page and a notebook show the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dsbench.read.blocks import Block


@cache
def environment() -> Environment:
    """The templates; whatever they show is escaped."""
    return Environment(
        loader=PackageLoader("dsbench.read", "templates"), autoescape=select_autoescape(default=True),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def render_section(key: str, title: str, blocks: Sequence[Block]) -> str:
    """A titled part of a page that can be linked to."""
    return str(_macro("section")(key, title, blocks))


def render_blocks(blocks: Sequence[Block]) -> str:
    """The blocks alone."""
    return str(_macro("blocks")(blocks))


def _macro(name: str) -> Any:
    return getattr(environment().get_template("blocks.html").module, name)
