"""What the process of a run tells the web server: one small file, written anew about once a second."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final

import psutil
from pydantic import BeforeValidator, Field, TypeAdapter

from dsbench.archive import ArchiveError
from dsbench.archive.parts import replace

_LARGEST: Final = 2**22
"""Bytes of a file."""


def _finite(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and not isfinite(value) else value


Whole = Annotated[int, Field(ge=0, lt=2**63)]
Real = Annotated[float, BeforeValidator(_finite), Field(gt=-(2**36), lt=2**36)]
"""Seconds since 1970, shares and rates: what a page has room for."""

FOLDER: Final = ".live"
"""Below the archives: the files of runs that the browser began."""


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
    phase: str = ""
    stage: str = ""
    scale: Whole = 0
    scale_number: Whole = 0
    scales: Whole = 0
    threads: Whole = 0
    cycle: Whole = 0
    cycles: Whole = 0
    done: Whole = 0
    total: Whole = 0
    failed: Whole = 0
    elapsed_s: Real = 0.0
    rate_tps: Real = 0.0
    left_s: Real = 0.0
    """As ``Moment`` and ``TimeLeft`` have it."""
    seconds: list[Real] = field(default_factory=list)
    """Rates of the last seconds of the cycle."""
    times: list[Annotated[list[Real], Field(min_length=2, max_length=2)]] = field(default_factory=list)
    """p50 and p99 of their residence times in s, as far as they are known."""
    cpus: list[Real] = field(default_factory=list)
    """CPUs of the run's process, and of all, in the last second; empty where that is not known."""
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
        return _STATE.validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


_STATE: Final = TypeAdapter(State)


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
    """The file whose being there is the wish that the run ends."""
    return folder / f"{key}.stop"
