"""Kills of the commands that write beside ``run``: called once more each does the whole of it, and nothing is left.

``python -m tests.kill.commands --each 10 --seed 7`` kills each of them ten times, at random moments.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.kill import proofs
from tests.kill.one import Killed
from tests.kill.watched import MARK

DATA = Path(__file__).parents[1] / "data"
ARCHIVES = [str(DATA / "archives" / f"{name}.zip") for name in ("pg", "sqlite-tpcb")]
PUBLISHED = [str(DATA / "published" / f"{name}.zip") for name in ("mariadb", "pg-open")]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
DEADLINE_S = 180.0

STUDY = """
name = "killed"

[run]
target = "mock:?latency_us=200"
scales = [1]
cycles = 1
duration = 0.1

[[factor]]
name = "clients"
path = "clients"
levels = [1, 2]

[trials]
repeat = 2
"""
SIDES = ("mock:?latency_us=200", "mock:?latency_us=300")
SMALL = ("--scales", "1", "--cycles", "1", "--duration", "0.1", "--clients", "1")


@dataclass(frozen=True)
class Command:
    """One command: what it needs, its words, and what is added where it goes on with what a kill has left."""

    words: Sequence[str]
    prepare: Callable[[Path], None] = lambda _: None
    goes_on: Sequence[str] = ()
    begun: str = ""
    """The file by which it can be gone on with."""
    checked: Sequence[str] = ()
    """A command that has to end with 0 after it."""
    codes: frozenset[int] = frozenset()
    """With which it may end, where that depends on what it measures; else as it does when nobody kills it."""


@cache
def _made() -> tempfile.TemporaryDirectory[str]:
    """Where what commands need is made once; it ends with this program."""
    return tempfile.TemporaryDirectory(prefix="kill-made-")


def _kept(folder: Path) -> None:
    """A database that a run has kept, made once."""
    made = Path(_made().name, "kept.db")
    if not made.exists():
        words = ["run", f"sqlite:///{made}", *SMALL, "--keep", "--out", str(folder / "kept")]
        subprocess.run([sys.executable, "-m", "dsbench", *words], check=True, capture_output=True)
        shutil.rmtree(folder / "kept")
    shutil.copy(made, folder / "kept.db")


def _commons(folder: Path) -> None:
    """A commons of one entry."""
    made = Path(_made().name, "commons")
    if not made.exists():
        for words in (["commons", "init", str(made)], ["commons", "publish", str(DATA / "published/tpch.zip"), "--to", str(made)]):
            subprocess.run([sys.executable, "-m", "dsbench", *words], check=True, capture_output=True)
    shutil.copytree(made, folder / "commons")


def _study(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY)


COMMANDS: Mapping[str, Command] = {
    "ab": Command(["ab", *SIDES, *SMALL, "--max-blocks", "3", "--out", "ab"], goes_on=["--resume"], begun="ab/ab.json",
                  codes=frozenset({0, 3, 4})),
    "study run": Command(["study", "run", "study.toml", "--out", "study"], _study),
    "check": Command(["check", "private:sqlite", "--promises", "--out", "checked.json"]),
    "drop": Command(["drop", "sqlite:///kept.db", "--yes"], _kept),
    "publish": Command(["commons", "publish", *PUBLISHED, "--to", "commons", "--by", "Ada"], _commons, checked=["commons", "check", "commons"]),
    "commons build": Command(["commons", "build", "commons", "--out", "site", "--reports"], _commons),
    "plot": Command(["plot", str(DATA / "archives/pg.zip"), "--out", "plots"]),
    "compare": Command(["compare", *ARCHIVES, "--out", "compared"]),
    "trend": Command(["trend", str(DATA / "archives"), "--out", "trend"]),
    "bound": Command(["compare", "--bound", str(DATA / "archives/tp1.zip"), "--out", "bound"]),
}


@dataclass
class Usual:
    """What a command does that nobody kills."""

    seconds: float
    code: int
    names: set[str]


def begin(words: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    """The command in ``folder``, which is its temporary directory, too."""
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, MARK: folder.name, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen([sys.executable, "-m", "dsbench", *words], env=environment, cwd=folder, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)  # fmt: skip


def finish(words: Sequence[str], folder: Path) -> tuple[int, str]:
    """(exit code, what it said) of the command."""
    process = begin(words, folder)
    _, said = process.communicate(timeout=DEADLINE_S)
    return process.returncode, said


def names(folder: Path) -> set[str]:
    """Files by name, those of archives by what is the same in each run."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {name for name in found if not name.startswith(("tmp/", "ab/2", "study/archives/")) and ".db" not in name}


def sealed(folder: Path) -> dict[Path, str]:
    """Sealed archives of runs with their content."""
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("2*.zip")}


def usual(command: Command) -> Usual:
    """Makes it once."""
    with tempfile.TemporaryDirectory(prefix="kill-") as name:
        folder = Path(name)
        command.prepare(folder)
        began = time.monotonic()
        code, said = finish(command.words, folder)
        assert code in (0, 3, 4), f"{command.words}: {said}"
        return Usual(time.monotonic() - began, code, names(folder))


def kill(name: str, expected: Usual, seed: str) -> Killed:
    """One kill of ``name`` somewhere in it."""
    command, dice = COMMANDS[name], random.Random(seed)
    done = Killed(seed, name, "", dice.choice(SIGNALS))
    folder = Path(tempfile.mkdtemp(prefix="kill-")).resolve()
    command.prepare(folder)
    process = begin(command.words, folder)
    try:
        process.wait(dice.random() * expected.seconds)
        done.late = True
    except subprocess.TimeoutExpired:
        process.send_signal(done.signal)
    _, said = process.communicate(timeout=DEADLINE_S)
    before = sealed(folder)
    if "Traceback" in said:
        done.violations.append(f"a traceback: {said[-300:]}")
    again = [*command.words, *(command.goes_on if command.begun and (folder / command.begun).exists() else ())]
    code, said = finish(again, folder)
    if code not in (command.codes or {expected.code}):
        done.violations.append(f"once more it ended with {code}: {said[-300:]}")
    if before.items() - sealed(folder).items():
        done.violations.append("a sealed archive has changed or is gone")
    if missing := expected.names - names(folder):
        done.violations.append(f"not written: {sorted(missing)[:5]}")
    if more := {one for one in names(folder) - expected.names if one.endswith(".part")}:
        done.violations.append(f"left: {sorted(more)[:5]}")
    if command.checked and finish(command.checked, folder)[0]:
        done.violations.append(f"{' '.join(command.checked)} failed")
    done.violations += [*proofs.of_processes(folder.name), *proofs.of_the_machine(folder, (), set())]
    if done.violations:
        done.violations.append(f"kept: {folder}")
    else:
        shutil.rmtree(folder)
    return done


def main() -> int:
    """Makes the kills; 1 when one of them showed a violation."""
    parser = argparse.ArgumentParser("python -m tests.kill.commands", description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="how many of each command (10)")
    parser.add_argument("--seed", type=int, default=1, help="of signals and moments (1)")
    parser.add_argument("--commands", default="", help="some of them, with commas (all)")
    asked = parser.parse_args()
    done: list[Killed] = []
    for name in asked.commands.split(",") if asked.commands else COMMANDS:
        expected = usual(COMMANDS[name])
        for number in range(asked.each):
            done.append(found := kill(name, expected, f"{asked.seed}/{name}/{number}"))
            print(f"{name} {number}, {found.signal.name}: {'; '.join(found.violations) or 'late' * found.late or 'nothing lost'}", flush=True)
    made, bad = (Counter(one.product for one in done if (one.violations if wrong else not one.late)) for wrong in (0, 1))
    print("\n".join(["| command | kills | violations |", "|---|--:|--:|", *(f"| {one} | {made[one]} | {bad[one]} |" for one in made)]))
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
