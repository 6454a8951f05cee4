"""A repository of results to begin with: what is in it, what becomes of a pull request, whose the data are."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from dsbench.commons.about import EntryError

_FILES: Final = {
    "README.md": "repository.md", "LICENSE": "repository-license.txt", "about.toml": "repository-about.toml",
    ".github/workflows/results.yml": "repository-workflow.yml", "entries/.gitkeep": "",
    ".gitignore": "repository-ignored.txt",
}  # fmt: skip


def begin(folder: Path) -> list[Path]:
    """Writes the files of a new commons into ``folder``; ``EntryError`` where one of them is there."""
    if taken := [name for name in _FILES if (folder / name).exists() and name != "README.md"]:
        words = f"{folder / taken[0]} already exists"
        raise EntryError(words, "nothing was written: specify a new folder, or a fresh clone", usage=True)
    made = []
    try:
        for name, template in _FILES.items():
            path = folder / name
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_read(template) if template else "", "utf-8")
            made.append(path)
    except OSError as error:
        words = f"cannot write to {folder}: {error.strerror}"
        raise EntryError(words, "specify a writable folder", usage=True) from None
    return made


def _read(template: str) -> str:
    return resources.files("dsbench.commons").joinpath("templates", template).read_text("utf-8")
