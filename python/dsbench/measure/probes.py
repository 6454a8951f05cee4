"""Tools that measure storage, beside a database: dd's way is built in, fio, bonnie++ and postmark where installed.

Each works on files of its own in a folder that it is given, and leaves nothing there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from dsbench.dataclass import dataclass
from dsbench.servers.storage.volume import StorageError
from dsbench.spec.checks import probes_named
from dsbench.spec.storage import bytes_of

_MIB: Final = 1 << 20
_FILE_MIB: Final = 64
"""Size of the files that tools write and read."""
_TEST_S: Final = 1
"""How long fio makes each of its tests."""
_FIO: Final = {
    "random reads of 8 KiB": ("randread", ["--direct=1"], "read"),
    "random writes of 8 KiB": ("randwrite", ["--direct=1"], "write"),
    "appended 8 KiB, each flushed": ("write", ["--fdatasync=1"], "write"),
}
"""Tests by name: fio's word, its options, and which of its figures counts. The last is what a log does."""
_BONNIE: Final = {"characters written": 9, "blocks written": 11, "blocks rewritten": 13, "characters read": 15,
                  "blocks read": 17, "seeks": 19}  # fmt: skip
"""Tests to the place of their figure in the line that it prints for programs (version 2.00a, -q)."""
_BONNIE_FILES: Final = {"created at random": 32, "deleted at random": 36}
_POSTMARK_COUNT: Final = 10_000
_POSTMARK: Final = (
    "set location {folder}\nset size 500 50000\nset number {files}\n{more}set transactions {count}\nrun\nquit\n"
)
_POSTMARK_PAPER: Final = (100_000, "set subdirectories 10000\n", 500_000)
"""Source: the paper, section 5.2: its least number of files, in so many folders, and its transactions. With fewer files
there are fewer transactions, in one folder."""
_POSTMARK_STEPS: Final = (b"Performing transactions", b"Deleting files")
"""What it prints when its transactions begin, and after them."""


@dataclass(frozen=True)
class ProbeFigure:
    """What a tool found."""

    tool: str
    test: str
    value: float
    unit: str


def tools(asked: str) -> tuple[str, ...]:
    """Those that ``asked`` names; of ``all``, those that are installed."""
    return tuple(name for name in _TOOLS if installed(name)) if asked == "all" else probes_named(asked)


def installed(name: str) -> bool:
    """Whether the tool ``name`` is here."""
    return name == "dd" or _program(name) is not None


def run_tools(folder: Path, named: tuple[str, ...]) -> Iterator[ProbeFigure]:
    """Runs the tools ``named``, one after another, in the folder ``folder``. Raises ``StorageError``."""
    for name in named:
        try:
            tool, _mark, more = name.partition(":")
            if more.isdecimal():
                found = _COUNTING[tool](folder, int(more))
            elif more:
                sized = _SIZED[tool](folder, bytes_of(more) // _MIB)
                found = {f"{test}, {more}": figure for test, figure in sized.items()}
            else:
                found = _TOOLS[tool](folder)
            for test, (value, unit) in found.items():
                yield ProbeFigure(tool, test, value, unit)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise StorageError(f"{name} gave no readable result: {error}", "run it by hand") from None


_Found = dict[str, tuple[float, str]]


def _dd(folder: Path, mib: int = _FILE_MIB) -> _Found:
    """Writes a file in blocks of 1 MiB up to its flush, lets it go from memory, and reads it (section 5.2)."""
    path, block = folder / "dd", os.urandom(_MIB)
    try:
        began = time.monotonic()
        with path.open("wb", buffering=0) as file:
            for _ in range(mib):
                file.write(block)
            os.fsync(file.fileno())
        written_s = time.monotonic() - began
        with path.open("rb", buffering=0) as file:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            began = time.monotonic()
            while file.read(_MIB):
                pass
            read_s = time.monotonic() - began
    finally:
        path.unlink(missing_ok=True)
    return {"written": (mib / written_s, "MiB/s"), "read": (mib / read_s, "MiB/s")}


def _fio(folder: Path) -> _Found:
    found = {}
    path = folder / "fio"
    try:
        for test, (kind, options, counts) in _FIO.items():
            said = _said([
                "fio", "--name=dsbench", f"--filename={path}", f"--size={_FILE_MIB}M", "--bs=8k", f"--rw={kind}",
                "--ioengine=psync", f"--runtime={_TEST_S}", "--time_based", "--randseed=1", "--output-format=json",
                *options,
            ], folder)  # fmt: skip
            found[test] = fio_rate(said, counts), "1/s"
    finally:
        path.unlink(missing_ok=True)
    return found


def fio_rate(said: str, counts: str) -> float:
    """Operations per second out of fio's JSON, before which it may print lines of its own."""
    document: Any = json.loads(said[said.index("{") :])
    return float(document["jobs"][0][counts]["iops"])


def _bonnie(folder: Path) -> _Found:
    user = ["-u", "root"] if os.geteuid() == 0 else []
    command = ["bonnie++", "-q", "-f", "-n", "0", "-s", f"{_FILE_MIB * 2}M", "-r", f"{_FILE_MIB}M", *user]
    return bonnie_figures(_said([*command, "-d", str(folder)], folder))


def _bonnie_whole(folder: Path, mib: int) -> _Found:
    """All of its tests on a file, also those by character, which take a core."""
    user = ["-u", "root"] if os.geteuid() == 0 else []
    command = ["bonnie++", "-q", "-n", "0", "-s", f"{mib}M", "-r", f"{mib // 2}M", *user]
    return bonnie_figures(_said([*command, "-d", str(folder)], folder))


def _bonnie_files(folder: Path, files: int) -> _Found:
    """Files created and deleted in random order. It counts in 1024 files."""
    user = ["-u", "root"] if os.geteuid() == 0 else []
    thousands = -(-files // 1024)
    command = ["bonnie++", "-q", "-f", "-s", "0", "-n", str(thousands), *user]
    return bonnie_file_figures(_said([*command, "-d", str(folder)], folder), thousands * 1024)


def bonnie_file_figures(said: str, files: int) -> _Found:
    """As ``bonnie_figures``."""
    fields = said.strip().splitlines()[-1].split(",")
    return {
        f"{test}, {files} files": (float(fields[at]), "1/s")
        for test, at in _BONNIE_FILES.items()
        if re.fullmatch(r"\d+(\.\d+)?", fields[at])
    }


def bonnie_figures(said: str) -> _Found:
    """Out of the last line that bonnie++ prints; tests that it calls too short to be measured (+++++) are left out."""
    fields = said.strip().splitlines()[-1].split(",")
    units = {"seeks": "1/s"}
    return {
        test: (float(fields[at]), units.get(test, "KiB/s"))
        for test, at in _BONNIE.items()
        if re.fullmatch(r"\d+(\.\d+)?", fields[at])
    }


def _postmark_files(folder: Path, files: int) -> _Found:
    return {f"{test}, {files} files": found for test, found in _postmark(folder, files).items()}


def _postmark(folder: Path, files: int = 500) -> _Found:
    command = [_needed("postmark")]
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as tool:  # fmt: skip
        assert tool.stdin is not None
        assert tool.stdout is not None
        least, folders, most = _POSTMARK_PAPER
        more, count = (folders, most) if files >= least else ("", _POSTMARK_COUNT)
        tool.stdin.write(_POSTMARK.format(folder=folder, files=files, more=more, count=count).encode())
        tool.stdin.close()
        out = tool.stdout.fileno()
        pieces = iter(lambda: os.read(out, _MIB), b"")
        return postmark_figures(((time.monotonic_ns(), piece) for piece in pieces), count)


def postmark_figures(said: Iterable[tuple[int, bytes]], count: int = _POSTMARK_COUNT) -> _Found:
    """Transactions per second of ``count``, from when it said what (ns). Its own figure has the time in whole seconds,
    of which it takes less than one."""
    text, at_ns = b"", {}
    for now, piece in said:
        text += piece
        at_ns.update({step: now for step in _POSTMARK_STEPS if step in text and step not in at_ns})
    if len(at_ns) < len(_POSTMARK_STEPS):
        raise ValueError(text[-200:].decode(errors="replace"))
    began, ended = (at_ns[step] for step in _POSTMARK_STEPS)
    if began == ended:
        raise ValueError("it reports that its transactions began after their end")
    return {"transactions on small files": (count * 1e9 / (ended - began), "1/s")}


_TOOLS: Final[dict[str, Callable[[Path], _Found]]] = {
    "dd": _dd, "fio": _fio, "bonnie++": _bonnie, "postmark": _postmark,
}  # fmt: skip


_COUNTING: Final[dict[str, Callable[[Path, int], _Found]]] = {"bonnie++": _bonnie_files, "postmark": _postmark_files}


_SIZED: Final[dict[str, Callable[[Path, int], _Found]]] = {"dd": _dd, "bonnie++": _bonnie_whole}


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))


def _said(command: list[str], folder: Path) -> str:
    """Output of a tool that works in ``folder``; ``StorageError`` where it fails."""
    words = [_needed(command[0]), *command[1:]]
    done = subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", check=False)  # fmt: skip
    if done.returncode != 0:
        said = "; ".join((done.stderr or done.stdout).strip().splitlines()[-2:])
        raise StorageError(f"{command[0]} failed: {said}", "run it by hand")
    return done.stdout


def _needed(name: str) -> str:
    program = _program(name)
    if program is None:
        raise StorageError(f"{name} is not installed", f"as root: apt-get install {name}")
    return program


@contextlib.contextmanager
def folder_in(place: Path) -> Iterator[Path]:
    """A folder in ``place`` that is gone afterwards, with all that a tool left in it."""
    folder = place / "probes"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
