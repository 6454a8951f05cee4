"""What the process of a run tells the web server: one small file, written anew about once a second."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Final

import psutil
from pydantic import Field, TypeAdapter

from dsbench.archive import ArchiveError
from dsbench.archive.parts import replace
from dsbench.measure.events import Moment, Real, Whole

_LARGEST: Final = 2**22
"""Bytes of a file."""


FOLDER: Final = ".live"
"""Below the archives: the files of runs that the browser began."""

_NOWHERE: Final = Moment(0, 0, 0, "")


@dataclass
class State:
    """A run that the browser began."""

    key: str
    """Name of its files."""
    pid: Annotated[int, Field(ge=1, lt=2**31)]
    born: Real
    """When its process began, as the system tells: another one may have its number later."""
    target: str
    """Without its password."""
    workload: str
    label: str
    study: str = ""
    """Name of the study whose trials are made; empty for a run."""
    trial: Whole = 0
    trials: Whole = 0
    """Number of the trial, and how many there are."""
    status: str = "starting"
    """"starting", "running", or as the archive has it at its end."""
    began: Real = 0.0
    ended: Real = 0.0
    """Seconds since 1970; ``ended`` is 0 while it goes on."""
    archive: str = ""
    """Path; empty until it is there."""
    moment: Moment = _NOWHERE
    """Where it is, with the last seconds of its cycle."""
    left_s: Real = 0.0
    """As ``TimeLeft`` has it."""
    log: list[str] = field(default_factory=list)
    problem: str = ""
    remedy: str = ""

    @property
    def goes_on(self) -> bool:
        """Whether its process is there."""
        return not self.ended and alive(self.pid, self.born)


def alive(pid: int, born: float) -> bool:
    """Whether the process that began then is there and has not ended."""
    try:
        process = psutil.Process(pid)
        return abs(process.create_time() - born) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def write(folder: Path, state: State) -> None:
    """Writes the file whole, or not at all. ``ArchiveError`` where that fails."""
    replace(folder / f"{state.key}.json", json.dumps(asdict(state), ensure_ascii=False).encode())


def read(path: Path) -> State | None:
    """The state in a file; ``None`` where it holds none."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return STATE.validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


STATE: Final = TypeAdapter(State)
"""Reads it, and refuses what a page has no room for."""


def make_folder(archives: Path) -> Path:
    """The folder of these files, which is made for its owner alone. ``ArchiveError`` where it cannot be."""
    folder = archives / FOLDER
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise ArchiveError(f"cannot write to {folder}: {error.strerror}", "name another folder: --archives") from None
    return folder


def stop_file(folder: Path, key: str) -> Path:
    """The file that asks the run to stop by being there."""
    return folder / f"{key}.stop"
