"""What was measured on this machine: a JSON file beside its page, written anew after each cell."""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from bench.bare import ROOT
from bench.process import Measured


@dataclass(frozen=True)
class Finished:
    """A cell, or a part that is no cell, as it was measured."""

    settings: Mapping[str, Any]
    """With others it is measured again."""
    took_s: float
    at: str
    """Date and time."""
    source: str
    """dsbench's commit."""
    server: str = ""
    """With its version."""
    found: Mapping[str, Sequence[Measured]] = field(default_factory=dict)
    """By client, sweep by sweep."""
    lines: Sequence[str] = ()
    """Of a part: what the page shows."""
    failure: str = ""
    """Why it could not be measured."""


@dataclass
class Kept:
    """Everything in one file."""

    path: Path | None
    """``None``: in memory alone."""
    pieces: dict[str, Finished]

    @classmethod
    def open(cls, path: Path | None) -> Self:
        """What is in the file; nothing where it is not there yet."""
        if path is None or not path.exists():
            return cls(path, {})
        return cls(path, {name: _finished(raw) for name, raw in json.loads(path.read_text()).items()})

    def has(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Whether it was measured so, or longer and more often, and without a failure."""
        found = self.pieces.get(name)
        if found is None or found.failure or found.settings.keys() != settings.keys():
            return False
        there = found.settings
        return all(there[n] >= asked if n in _AMOUNTS else there[n] == asked for n, asked in settings.items())

    def add(self, name: str, finished: Finished) -> None:
        """Keeps it. The file is replaced at once or not at all."""
        self.pieces[name] = finished
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = self.path.with_suffix(".new")
            # One line for each piece: a change shows which were measured again.
            lines = [f"{json.dumps(name)}: {json.dumps(_raw(one))}" for name, one in self.pieces.items()]
            new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            new.replace(self.path)


def now() -> str:
    """As the page shows it."""
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def source() -> str:
    """dsbench's commit, with a plus when files differ from it; empty where there is no git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


_AMOUNTS = ("duration", "sweeps")
"""Settings of which more is as good."""
_MEASURED = ("transactions", "rate_tps", "user_s", "system_s", "clients_user_s", "least", "largest")


def _raw(one: Finished) -> dict[str, Any]:
    found = {
        name: [[_short(getattr(m, what)) for what in _MEASURED] for m in measured]
        for name, measured in one.found.items()
    }
    return {name: value for name, value in asdict(one).items() if value and name != "found"} | (
        {"found": found} if found else {}
    )


def _short(value: float | None) -> float | None:
    return round(value, 6) if isinstance(value, float) else value


def _finished(raw: Mapping[str, Any]) -> Finished:
    found = {name: [Measured(*row) for row in rows] for name, rows in raw.get("found", {}).items()}
    return Finished(**{**raw, "found": found})
