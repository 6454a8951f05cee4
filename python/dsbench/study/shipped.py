"""Studies that are ready to be run: TOML files beside this module."""

from __future__ import annotations

from importlib import resources

from dsbench.spec import SpecError

_ENDING = ".toml"


def templates() -> dict[str, str]:
    """Name to the text of each file."""
    folder = resources.files("dsbench.study").joinpath("templates")
    files = sorted((one for one in folder.iterdir() if one.name.endswith(_ENDING)), key=lambda one: one.name)
    return {one.name.removesuffix(_ENDING): one.read_text("utf-8") for one in files}


def template(name: str) -> str:
    """The text of one. ``SpecError`` where there is none of this name."""
    found = templates()
    if name not in found:
        raise SpecError("NAME", f"no template {name[:60]!r}", f"use one of {', '.join(found)}")
    return found[name]
