"""Command lines of every command, until the work of the command would begin."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any

from dsbench.spec import OPTIONS

from . import archives
from .mutate import NUMBERS, TEXTS, mutated
from .sandbox import called

_LINES = (
    "run --scales 1,2 --cycles 2 --duration 0.5 --clients 2,4", "run private:sqlite --set synchronous=off --profile quick",
    "run mock:?latency_us=5 --workload tpcc --pace terminals --terminals 10 --ramp-up 1 --set size=0.02",
    "run postgresql://me@127.0.0.1/x --rate 10 --arrival constant --isolation serializable --retry --no-prepare",
    "run --config run.toml --out out --nodes 2 --cluster cluster --join-timeout 5 --lease 3 --json -q",
    "run mock: --nodes 2 --dask tls://h:8786 --dask-tls a,b,c", "run --resume a",
    "run private:postgresql@15 --levels 0.5,0.9 --seed 5 --trace --call statements --population bulk --os-threads 1",
    "show a --json", "show a.zip --by nodes", "plot a.zip --out out", "plot a --fresh", "compare a a.zip --out out --json",
    "check mock: --scale 1 --workload tpcc --set size=0.1 --json", "doctor --calibrate --clients 4 --duration 1 --no-prepare", "doctor --json",
    "run --workload tpcc --list --json", "cluster node --join node-1.bundle --name x --join-timeout 3 -q", "cluster up --ssh a,b@c:22 --cluster cluster",
    "cluster invite --nodes 3 --out cluster --address [::1]:8786 --hours 2 --json", "servers list --json",
    "servers install postgresql --version 18 --dry-run", "servers install mysql --yes", "servers conform mock: --write page.md --json",
    "--version", "--help", "run --help",
)  # fmt: skip
_WORDS = (*(option.flag for option in OPTIONS.values()), "--", "-", "-x", "--json", "--out", "--config", "=", "--out=", "--scales=")


def make(random: Random) -> bytes:
    """A line with words that are changed, gone, doubled, from elsewhere or made up; words end in a zero byte."""
    words = [word.encode() for word in random.choice(_LINES).split()]
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(words) + 1)
        pick = random.random()
        if pick < 0.45 and at < len(words):
            words[at] = _value(random)
        elif pick < 0.6 and at < len(words):
            words[at] = mutated(random, words[at])
        elif pick < 0.7:
            words[at : at + 1] = []
        elif pick < 0.85:
            words[at:at] = [random.choice(_WORDS).encode(), *([_value(random)] if random.random() < 0.7 else [])]
        else:
            words += random.choice(_LINES).encode().split()
    return b"\0".join(word.replace(b"\0", b"\xff") for word in words)


def _value(random: Random) -> bytes:
    found: Any = random.choice(NUMBERS) if random.random() < 0.4 else random.choice(TEXTS)
    return (str(found) if abs(len(str(found))) else "").encode("utf-8", "surrogatepass" if random.random() < 0.2 else "replace")


def run(data: bytes, folder: Path) -> None:
    """The command, in a folder with an archive, its zip, a configuration and an invitation."""
    archives.unpack(0, folder / "a")
    (folder / "a.zip").write_bytes(archives.packed(0))
    (folder / "run.toml").write_text("scales = [1]\n")
    called(*(os.fsdecode(word) for word in data.split(b"\0")))
