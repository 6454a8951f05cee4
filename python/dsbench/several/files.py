"""What a command on several archives leaves in the folder of its ``--out``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbench.archive import OutError, try_out
from dsbench.read.blocks import Block
from dsbench.read.html import render_document

if TYPE_CHECKING:
    from dsbench.read.draw.vega import Spec


def as_json(document: Any) -> str:
    """The document as ``--json`` prints it."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def make_files(
    stem: str, text: str, document: Any, title: str, page: Sequence[Block], drawn: Mapping[str, Spec]
) -> dict[str, bytes]:
    """File name to content: text, JSON, page, and each diagram of ``drawn``, by stem, as .vl.json, .svg and .pdf."""
    from dsbench.read.draw import render  # Late: what draws takes a second.

    files = {
        f"{stem}.txt": text.encode(),
        f"{stem}.json": (as_json(document) + "\n").encode(),
        f"{stem}.html": render_document(title, page).encode(),
    }
    for name, spec in drawn.items():
        files |= render.drawn_as(name, spec)
    return files


def write(out: Path, make: Callable[[], Mapping[str, bytes]]) -> list[Path]:
    """Writes what is made, once the folder takes it, and gives the paths. ``OutError`` where that fails."""
    try_out(out)
    files = make()
    try:
        for name, content in files.items():
            (out / name).write_bytes(content)
    except OSError as error:
        raise OutError(f"--out: cannot write to {error.filename or out}: {error.strerror}") from None
    return [out / name for name in files]
