"""The process that makes one run of the browser: ``python -m dsbench.web.making``, asked on its standard input.

It is a process of its own, so that clients share no interpreter with the web server, and the run goes on when page
and server are closed. Its specification comes through a pipe because a target may hold a password.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from dsbench import library
from dsbench.archive import redacted_lines
from dsbench.library import Moment, RunSpec, Silent, Stop, TimeLeft
from dsbench.spec.target import secrets_of
from dsbench.web import state as states
from dsbench.web.state import State

_EVERY_S: Final = 1.0
_SECONDS: Final = 300
_LINES: Final = 300


class Telling(Silent):
    """Writes down once a second how the run goes on, and hears there whether it should stop."""

    def __init__(self, folder: Path, state: State, spec: RunSpec, stop: Stop) -> None:
        self._folder, self.state, self._stop = folder, state, stop
        self._left, self._secrets = TimeLeft(spec), secrets_of(spec.target.url)
        self._told, self._phase = 0.0, ("", 0)
        self._asked = states.stop_file(folder, state.key)

    def moment(self, moment: Moment) -> None:
        """Keeps where the run is."""
        now, phase = time.monotonic(), (moment.phase, moment.cycle)
        if now - self._told < _EVERY_S and phase == self._phase:
            return
        self._told, self._phase = now, phase
        if self._asked.exists():
            self._stop.request("stopped in the browser")
        state = self.state
        for name in ("phase", "stage", "scale", "scale_number", "scales", "threads", "cycle", "cycles", "done", "total",
                     "failed", "elapsed_s", "rate_tps"):  # fmt: skip
            setattr(state, name, getattr(moment, name))
        state.left_s, state.seconds = self._left.seconds(moment), list(moment.seconds[-_SECONDS:])
        self.write()

    def message(self, text: str) -> None:
        """Keeps a line."""
        (line,) = redacted_lines([text], self._secrets)
        self.state.log = [*self.state.log, f"{time.strftime('%H:%M:%S')} {line}"][-_LINES:]
        self.write()

    def archive(self, path: Path) -> None:
        """Keeps where the archive is."""
        self.state.archive, self.state.status = str(path), "running"
        self.message(f"archive: {path}")

    def end(self, status: str, problem: str = "", remedy: str = "") -> None:
        """Writes down that the run is over."""
        self.state.status, self.state.ended, self.state.phase = status, time.time(), ""
        self.state.problem, self.state.remedy = redacted_lines([problem, remedy], self._secrets)
        self.write()

    def write(self) -> None:
        """Writes the file. A full disk must not end the run, which tells of it itself."""
        try:
            states.write(self._folder, self.state)
        except library.ArchiveError as error:
            print(error, file=sys.stderr)


def main() -> None:
    """Makes the run that standard input asks for."""
    asked: dict[str, Any] = json.load(sys.stdin)
    spec, stop = RunSpec.model_validate(asked["spec"]), Stop(signals=True)
    telling = Telling(Path(asked["live"]), State(**asked["state"]), spec, stop)
    telling.write()
    try:
        outcome = library.perform(spec, Path(asked["out"]), telling, stop).outcome
    except BaseException as error:  # Whatever it is, the page is where it is told.
        telling.end("failed", str(error) or type(error).__name__, str(getattr(error, "remedy", "")))
    else:
        told = outcome.error
        telling.end(outcome.status, str(told or ""), told.remedy if told is not None else "")


if __name__ == "__main__":
    main()
