"""Folders of several archives, of which some say strange things: what ``trend`` and ``compare`` make of them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from . import archives
from .mutate import NUMBERS, changed
from .sandbox import called


def make(random: Random) -> bytes:
    """The number of the archive as one byte, and ``run.json`` of each, a line for one."""
    number = random.randrange(archives.COUNT)
    plain = json.loads(archives.files(number)["run.json"])
    lines = []
    for at in range(random.choice((2, 3, 9))):
        values: Any = {**plain, "started": f"2026-11-{at + 1:02}T10:00:00+00:00"}
        if random.random() < 0.4:
            values = changed(random, values)
        if random.random() < 0.3 and isinstance(values, dict) and isinstance(values.get("workload"), dict):
            share = random.choice(NUMBERS)
            values["workload"] = {**values["workload"], "remote": {"sum": "remote", "what": "x", "share": share, "least": 0.1, "most": share}}
        lines.append(json.dumps(values).encode())
    return bytes([number]) + b"\n".join(lines)


def run(data: bytes, folder: Path) -> None:
    """One of the commands that read all of them."""
    names = []
    for at, line in enumerate(data[1:].split(b"\n")):
        names.append(f"all/{at}")
        archives.unpack(data[0] % archives.COUNT if data else 0, folder / "all" / str(at), **{"run.json": line})
    choice = sum(data) % 4
    if choice == 0:
        called("compare", *names, "--json")
    elif choice == 1:
        called("compare", *names)
    else:
        called("trend", "all", *(["--json"] if choice == 2 else []), fine=(0, 3))
