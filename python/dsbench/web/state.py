"""What the process of a run tells the web server: one small file, written anew about once a second."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Final

import psutil
from pydantic import Field, TypeAdapter

from dsbench.archive import ArchiveError, claimed
from dsbench.archive.parts import replace
from dsbench.children import Child
from dsbench.dataclass import dataclass
from dsbench.library import RunError
from dsbench.measure.moments import Moment, Real, Whole
from dsbench.spec import RunSpec, Target

_LARGEST: Final = 2**22
"""Bytes of a file."""


FOLDER: Final = ".live"
"""Below the archives: the files of runs that the browser began."""

NOWHERE: Final = Moment(0, 0, 0, "")


@dataclass
class WebState:
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
    pair: str = ""
    """Name of the comparison of two whose runs are made; empty for a run."""
    trial: Whole = 0
    trials: Whole = 0
    """Number of the trial, and how many there are; of a comparison of two, how many there are at least."""
    check: str = ""
    """The file for what a check finds; empty for all else."""
    found: list[str] = field(default_factory=list)
    """What a check found, in lines, its verdict last; of a comparison of two its answer, and what speaks against it."""
    status: str = "starting"
    """"starting", "running", or as the archive has it at its end."""
    began: Real = 0.0
    ended: Real = 0.0
    """Seconds since 1970; ``ended`` is 0 while it goes on."""
    archive: str = ""
    """Path; empty until it is there."""
    moment: Moment = NOWHERE
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


def write(folder: Path, state: WebState) -> None:
    """Writes the file whole, or not at all. ``ArchiveError`` where that fails."""
    replace(folder / f"{state.key}.json", json.dumps(asdict(state), ensure_ascii=False).encode())


def read(path: Path) -> WebState | None:
    """The state in a file; ``None`` where it holds none."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        return STATE.validate_json(path.read_bytes())
    except (OSError, ValueError):
        return None


STATE: Final = TypeAdapter(WebState)
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


_KEPT: Final = 20
"""Files of runs that are over, at most."""


@dataclass(frozen=True)
class Form:
    """From which a run was begun."""

    way: str
    """The choice of the page; see ``pages.new``."""
    texts: Mapping[str, str]
    """What stood in its fields, but for passwords."""


@dataclass(frozen=True)
class _Begun:
    """What this process has begun, for another try; in memory only, as targets may hold passwords."""

    what: str
    sides: tuple[RunSpec, ...]
    """Of a run one, of a comparison A and B."""
    asked: Mapping[str, Any]
    told: Mapping[str, str]
    form: Form | None

    def with_passwords(self, passwords: Sequence[str]) -> _Begun:
        """The same where users have other passwords; an empty one leaves that of its target."""
        sides = tuple(one.model_copy(update={"target": one.target.with_password(password, anew=True)})
                      for one, password in zip(self.sides, passwords, strict=True))  # fmt: skip
        return dataclasses.replace(self, sides=sides)


class Runs:
    """The runs of a folder of archives."""

    def __init__(self, archives: Path) -> None:
        self._archives, self._folder = archives, make_folder(archives)
        self._read: dict[Path, tuple[int, WebState]] = {}
        self._begun_here: dict[str, _Begun] = {}

    def begin(self, spec: RunSpec, form: Form | None = None) -> str:
        """Begins a run and gives its key. ``RunError`` while another one goes on, which it would disturb."""
        told = {"target": spec.target.redacted, "workload": spec.workload, "label": spec.label}
        return self._again(_Begun("run", (spec,), {"out": self._archives}, told, form))

    def begin_pair(self, sides: tuple[RunSpec, RunSpec], asked: Mapping[str, Any], form: Form | None = None) -> str:
        """Begins to compare A with B; ``asked`` are arguments of ``versus`` and its ``command``."""
        told = {"target": " against ".join(asked["names"]), "workload": sides[0].workload,
                "label": "", "pair": Path(asked["out"]).name}  # fmt: skip
        return self._again(_Begun("ab", sides, asked, told, form))

    def form(self, key: str) -> Form | None:
        """The form from which a run was begun; ``None`` where another process was asked, or a file."""
        return begun.form if (begun := self._begun_here.get(key)) is not None else None

    def targets(self, key: str) -> tuple[Target, ...]:
        """The databases of a run that ``again`` can begin once more; empty where it cannot."""
        begun = self._begun_here.get(key)
        return tuple(one.target for one in begun.sides) if begun is not None else ()

    def again(self, key: str, passwords: Sequence[str]) -> str:
        """Begins the same once more, with a password for each of its ``targets``; an empty one leaves what it has."""
        return self._again(self._begun_here[key].with_passwords(passwords))

    def _again(self, begun: _Begun) -> str:
        key = self._begin(begun.what, {"sides": begun.sides, **begun.asked}, **begun.told)
        self._begun_here[key] = begun
        return key

    def begin_study(self, folder: Path, text: str = "") -> str:
        """Begins the study of ``text``, a file, in ``folder``; without it the one that is there goes on."""
        asked = {"text": text, "folder": folder}
        return self._begin("study", asked, target="", workload="", label="", study=folder.name)

    def begin_check(self, target: Target, asked: Mapping[str, Any]) -> str:
        """Begins a check of what ``target`` promises; ``asked`` are arguments of ``try_out``."""
        product = target.private or target.scheme
        file = self._archives.absolute().parent / "checks" / f"{product}-{time.strftime('%Y%m%dT%H%M%S')}.json"
        values = {"target": target, **asked}
        return self._begin("check", values, target=target.redacted, workload="", label="", check=str(file))

    def _begin(self, what: str, asked: Mapping[str, Any], **told: Any) -> str:
        try:
            with claimed(self._folder):  # Another dsbench web may show the same folder.
                return self._begun(what, asked, **told)
        except ArchiveError as error:
            raise RunError(str(error), error.remedy) from None

    def _begun(self, what: str, asked: Mapping[str, Any], **told: Any) -> str:
        from dsbench.web.making import MakingTask  # Late: it tells what is defined here.

        if self.going() is not None:
            raise RunError("a run goes on, and a second one would spoil the figures of both", "wait, or stop it first")
        self._forget()
        key = time.strftime("%Y%m%dT%H%M%S") + "-" + secrets.token_hex(3)
        child = Child(MakingTask, f"the {what}")
        try:
            state = WebState(key, child.pid, psutil.Process(child.pid).create_time(), began=time.time(), **told)
            write(self._folder, state)
            child.ask("make", what, self._folder, state, asked)  # One that ended at once tells why by its file.
            child.leave()
        except BaseException:  # It has heard nothing yet, and would wait for ever.
            child.end(0.0)
            raise
        return key

    def stop(self, key: str) -> None:
        """Asks a run to stop. It notices within a second."""
        if self.state(key) is not None:
            stop_file(self._folder, key).touch()

    def stopping(self, key: str) -> bool:
        """Whether a run was asked to stop."""
        return stop_file(self._folder, key).exists()

    def states(self) -> list[WebState]:
        """All that is known, the latest first."""
        found = [state for path in self._folder.glob("*.json") if (state := self._state(path)) is not None]
        return sorted(found, key=lambda state: state.began, reverse=True)

    def state(self, key: str) -> WebState | None:
        return next((state for state in self.states() if state.key == key), None)

    def going(self) -> WebState | None:
        """The run that goes on."""
        return next((state for state in self.states() if state.goes_on), None)

    def _state(self, path: Path) -> WebState | None:
        """From the file, which is read again only when it was written."""
        try:
            written = path.stat().st_mtime_ns
        except OSError:
            return None
        if (known := self._read.get(path)) is not None and known[0] == written:
            return known[1]
        state = read(path)
        if state is None or state.key != path.stem:
            return None
        self._read[path] = (written, state)
        return state

    def _forget(self) -> None:
        """Removes the files of old runs: their archives have all of it."""
        for state in self.states()[_KEPT - 1 :]:
            for path in (self._folder / f"{state.key}.json", stop_file(self._folder, state.key)):
                path.unlink(missing_ok=True)
                self._read.pop(path, None)
            self._begun_here.pop(state.key, None)
