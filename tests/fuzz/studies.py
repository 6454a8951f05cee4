"""Files of studies: values of other types, bytes changed; and ``study.json``, as another program may have left it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from .mutate import changed, mutated, strange
from .sandbox import Refused, called
from .toml import text

_SAMPLES: list[dict[str, Any]] = [
    {"name": "a", "run": {"target": "mock:", "scales": [1], "cycles": 1, "duration": 0.2},
     "factor": [{"name": "clients", "path": "clients", "levels": [1, 2, 4], "reference": 2}], "trials": {"repeat": 2, "seed": 5}},
    {"name": "b", "about": "x", "run": {"target": "private:sqlite", "scales": [1, 2], "cycles": 2},
     "factor": [{"name": "sync", "path": "target.settings.synchronous", "levels": ["off", "full"]},
                {"name": "isolation", "levels": [{"name": "a", "set": {"isolation": "serializable"}}, {"name": "b", "set": {"clients": 2}}]}],
     "trials": {"design": "one-at-a-time", "order": "as listed"}},
    {"name": "c", "run": {"target": "mock:", "scales": [1]}, "trials": {"design": "list"},
     "factor": [{"name": "x", "path": "connections", "levels": [1, 2]}], "trial": [{"x": 1}, {"x": 2}]},
]  # fmt: skip


def make(random: Random) -> bytes:
    """"f" and a file, or "j" and a ``study.json``."""
    values: Any = random.choice(_SAMPLES) if random.random() < 0.5 else json.loads(_stored()[random.randrange(len(_stored()))])
    stored = "format" in values
    pick = random.random()
    if pick < 0.05:
        values = {name: strange(random) for name in values}
    elif pick < 0.95:
        values = changed(random, values)
    said = json.dumps(values).encode() if stored else text(values)
    return (b"j" if stored else b"f") + (mutated(random, said) if pick > 0.75 else said)


@cache
def _stored() -> list[bytes]:
    """``study.json`` of the samples, of which some trials are over."""
    import tempfile
    from dataclasses import replace

    from dsbench import study

    found = []
    for values in _SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            made, _ = study.begin(study.of_text(text(values), "sample"), Path(folder) / "s")
            for trial, status in zip(made.trials, ("done", "failed", "void", "running", "left out"), strict=False):
                made = made.with_trial(replace(trial, status=status, reason="x", archive="a" if status == "done" else ""))
            (Path(folder) / "s").mkdir()
            study.store(made)
            found.append((Path(folder) / "s" / "study.json").read_bytes())
    return found


def run(data: bytes, folder: Path) -> None:
    """The commands that read it, and what the browser makes of it."""
    if data[:1] == b"f":
        (folder / "study.toml").write_bytes(data[1:])
        called("study", "run", "study.toml", "--dry-run")
        return
    (folder / "s").mkdir()
    (folder / "s" / "study.json").write_bytes(data[1:])
    from . import archives

    archives.unpack(0, folder / "s" / "archives" / "a")
    choice = sum(data) % 5
    if choice == 0:
        called("study", "show", "s")
    elif choice == 1:
        called("study", "add", "s", "--repeat", "1")
    elif choice == 2:
        called("query", "s", "SELECT * FROM trials", "--as", "json")
    else:
        _browsed(folder / "s")


def _browsed(folder: Path) -> None:
    from dsbench import study
    from dsbench.archive import ArchiveError
    from dsbench.measure.journal import RunError
    from dsbench.spec import SpecError
    from dsbench.study import shown
    from dsbench.web import folders

    try:
        found = study.load(folder)
        for trial in found.trials:
            study.combination(found.factors, trial)
        folders.refuse_commands(study.again(folder), folder)
        study.begin(study.again(folder), folder)
        shown.html(study.outcomes(found))
    except (ArchiveError, SpecError, RunError) as error:
        raise Refused(str(error)) from None
