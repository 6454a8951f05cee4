"""What is known of an entry that was verified before, as long as neither it nor the rules have changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import dsbench
from dsbench import release

FILE: Final = ".verified.json"
"""In a site: what its last build knew."""


def mark(folder: Path) -> str:
    """Of an entry: changes with the rules, with its name, with each of its two files, and with what lies beside."""
    digest = hashlib.sha256(_rules())
    for part in [folder, *sorted(folder.iterdir() if folder.is_dir() else ())]:
        digest.update(f"{part.name}\0{part.is_symlink()}\0".encode(errors="surrogateescape"))
        if part.name in ("entry.json", "archive.zip"):
            digest.update(_digest(part))
    return digest.hexdigest()


def _digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b"-"


@cache
def _rules() -> bytes:
    """Of the version, and of the sources, which change more often."""
    digest = hashlib.sha256(release.VERSION.encode())
    within = Path(dsbench.__file__).parent
    for path in sorted(path for kind in ("*.py", "_core*") for path in within.rglob(kind)):
        digest.update(path.relative_to(within).as_posix().encode() + b"\0" + _digest(path))
    return digest.digest()


def read(site: Path) -> tuple[Mapping[str, str], Iterable[str]]:
    """What the last build of ``site`` knew: by mark why the entry was refused, empty where it holds; and the names of
    the entries that it copied."""
    try:
        said = json.loads((site / FILE).read_bytes())
        return _texts(said["marks"]), list(_texts(dict.fromkeys(said["copied"], "")))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}, ()


def _texts(said: Mapping[Any, Any]) -> dict[str, str]:
    return {name: value for name, value in said.items() if isinstance(name, str) and isinstance(value, str)}


def write(site: Path, marks: Mapping[str, str], copied: Iterable[str]) -> None:
    """Keeps what this build knows for the next one."""
    (site / FILE).write_text(json.dumps({"marks": dict(marks), "copied": list(copied)}, indent=0), "utf-8")
