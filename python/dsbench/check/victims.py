"""What is killed while it commits, and brought back: a private server, a process of ours, a server of the user's."""

from __future__ import annotations

import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from dsbench import servers
from dsbench.check import conformance
from dsbench.children import Child
from dsbench.measure.loaders import CheckLedger, CoreError, TargetDatabase
from dsbench.servers import Server, ServerError
from dsbench.servers.server import OwnProcess
from dsbench.spec import Target

_BACK_S: Final = 180.0
"""How long a server of the user's may take to come back."""
_LOOK_S: Final = 0.2
"""How often it is looked whether the check has to end, while the user is waited for."""


class Victim(Protocol):
    """What is killed. ``url`` may hold a password, and may change when it is brought back."""

    url: str

    def kill(self, writers: Child) -> None:
        """Ends it at once, as a loss of power would."""

    def recover(self) -> None:
        """Brings it back, with its recovery. ``ServerError`` and ``CoreError`` where it does not come."""

    def close(self) -> None:
        """Ends it for good."""


class PrivateServer:
    """A private server whose data outlive it until ``close``."""

    def __init__(self, target: Target, sessions: int) -> None:
        """``target`` names a folder that is the caller's, to be removed by it."""
        self._target, self._sessions = target, sessions
        self._server: Server | None = servers.start(target, sessions)
        self._server.keep()
        self.url, self.version = self._server.url, self._server.version

    def kill(self, writers: Child) -> None:
        """All processes of the server; the writers lose their sessions."""
        assert self._server is not None
        pids = self._server.pids()
        conformance.kill(pids if pids else [writers.pid])

    def recover(self) -> None:
        """Another server takes up the data, unless they are those of an engine without one."""
        if isinstance(self._server, OwnProcess):
            self._server.stop()
            self._server = None
            self._server = servers.start(self._target, self._sessions, reuse=True)
            self.url = self._server.url

    def close(self) -> None:
        """Stops it; its data stay in the caller's folder."""
        if self._server is not None:
            self._server.stop()


class InProcess:
    """An engine in the process of its client, on a database of the user's: the writers are killed."""

    def __init__(self, url: str) -> None:
        self.url = url

    def kill(self, writers: Child) -> None:
        """The process of the writers."""
        conformance.kill([writers.pid])

    def recover(self) -> None:
        """The next session recovers the database."""

    def close(self) -> None:
        """Nothing runs."""


class Foreign:
    """A server of the user's, which the user restarts, or a command does."""

    def __init__(self, url: str, restart: str, said: Callable[[str], None], look: Callable[[], None]) -> None:
        """``restart``: a command that kills the server hard and starts it; empty asks at the terminal, where ``look``
        is called while it waits, and raises where the check has to end."""
        self.url, self._restart, self._said, self._look = url, restart, said, look

    def kill(self, writers: Child) -> None:  # noqa: ARG002
        """Has somebody do it. ``ServerError`` where the command fails."""
        if self._restart:
            done = subprocess.run(self._restart, shell=True, stdout=sys.stderr, check=False)
            if done.returncode:
                raise ServerError(f"--restart ended with {done.returncode}: {self._restart}", "correct the command")
            return
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # What was typed before is no answer.
        how = "kill -9 of all its processes, or cut its power"
        self._said(f"the sessions commit. Kill the server ({how}), start it again, then press Enter.")
        self._look()
        while not select.select([sys.stdin], [], [], _LOOK_S)[0]:
            self._look()
        sys.stdin.readline()

    def recover(self) -> None:
        """Waits until it takes sessions."""
        deadline, told = time.monotonic() + _BACK_S, False
        while True:
            target = TargetDatabase(self.url)
            try:
                CheckLedger(target).found()
                return
            except CoreError as error:
                self._look()
                if not told:
                    self._said(f"waiting up to {_BACK_S:.0f} s for the server to accept sessions …")
                told = True
                if time.monotonic() > deadline:
                    raise ServerError(f"the server does not recover: {error}", "start it, and check again") from None
                time.sleep(0.5)
            finally:
                target.close()

    def close(self) -> None:
        """It goes on."""


def folder_of(target: Target) -> Path:
    """Where the folder of a check is made: the one that ``target`` names, else the temporary directory."""
    return servers.base_directory(target)
