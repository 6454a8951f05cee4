"""Runs that the browser begins, each in a process that goes on without it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

from dsbench.archive import ArchiveError, claimed
from dsbench.library import RunError
from dsbench.spec import RunSpec
from dsbench.web import state as states
from dsbench.web.state import State

_KEPT: Final = 20
"""Files of runs that are over, at most."""


class Runs:
    """The runs of a folder of archives."""

    def __init__(self, archives: Path) -> None:
        self._archives, self._folder = archives, states.make_folder(archives)
        self._children: list[subprocess.Popen[bytes]] = []
        self._read: dict[Path, tuple[int, State]] = {}

    def begin(self, spec: RunSpec) -> str:
        """Begins a run and gives its key. ``RunError`` while another one goes on, which it would disturb."""
        asked = {"spec": spec.model_dump(mode="json"), "out": str(self._archives)}
        return self._begin(asked, target=spec.target.redacted, workload=spec.workload, label=spec.label)

    def begin_study(self, folder: Path, text: str = "") -> str:
        """Begins the study of ``text``, a file, in ``folder``; without it the one that is there goes on."""
        asked = {"study": text, "folder": str(folder)}
        return self._begin(asked, target="", workload="", label="", study=folder.name)

    def _begin(self, asked: dict[str, Any], **what: Any) -> str:
        try:
            with claimed(self._folder):  # Another dsbench web may show the same folder.
                return self._begun(asked, **what)
        except ArchiveError as error:
            raise RunError(str(error), error.remedy) from None

    def _begun(self, asked: dict[str, Any], **what: Any) -> str:
        if self.going() is not None:
            raise RunError("a run goes on, and a second one would spoil the figures of both", "wait, or stop it first")
        self._forget()
        key = time.strftime("%Y%m%dT%H%M%S") + "-" + secrets.token_hex(3)
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        child = subprocess.Popen(
            [sys.executable, "-m", "dsbench.web.making"], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        assert child.stdin is not None
        try:
            state = State(key, child.pid, psutil.Process(child.pid).create_time(), began=time.time(), **what)
            states.write(self._folder, state)
            asked = {**asked, "live": str(self._folder), "state": asdict(state)}
            with suppress(BrokenPipeError), child.stdin:  # One that ended at once tells why by its file.
                child.stdin.write(json.dumps(asked).encode())
        except BaseException:  # It has heard nothing yet, and would wait for ever.
            child.kill()
            child.wait()
            child.stdin.close()
            raise
        self._children.append(child)
        return key

    def stop(self, key: str) -> None:
        """Asks a run to stop. It notices within a second."""
        if self.state(key) is not None:
            states.stop_file(self._folder, key).touch()

    def stopping(self, key: str) -> bool:
        """Whether a run was asked to stop."""
        return states.stop_file(self._folder, key).exists()

    def states(self) -> list[State]:
        """All that is known, the latest first."""
        self._children = [child for child in self._children if child.poll() is None]
        found = [state for path in self._folder.glob("*.json") if (state := self._state(path)) is not None]
        return sorted(found, key=lambda state: state.began, reverse=True)

    def state(self, key: str) -> State | None:
        return next((state for state in self.states() if state.key == key), None)

    def going(self) -> State | None:
        """The run that goes on."""
        return next((state for state in self.states() if state.goes_on), None)

    def _state(self, path: Path) -> State | None:
        """From the file, which is read again only when it was written."""
        try:
            written = path.stat().st_mtime_ns
        except OSError:
            return None
        if (known := self._read.get(path)) is not None and known[0] == written:
            return known[1]
        state = states.read(path)
        if state is None or state.key != path.stem:
            return None
        self._read[path] = (written, state)
        return state

    def _forget(self) -> None:
        """Removes the files of old runs: their archives have all of it."""
        for state in self.states()[_KEPT - 1 :]:
            for path in (self._folder / f"{state.key}.json", states.stop_file(self._folder, state.key)):
                path.unlink(missing_ok=True)
                self._read.pop(path, None)
