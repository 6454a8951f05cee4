"""The life that all private servers share: folders, start, log, end."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import signal
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from dsbench.servers import limits
from dsbench.servers.errors import IS_FULL, ServerError, storage_notes
from dsbench.servers.folder import Folder, above, is_kept
from dsbench.servers.pages import LetGo, let_go
from dsbench.servers.process import Log, Process, called, free_port, run, unprivileged
from dsbench.servers.settings import elsewhere

_STARTS = 5
"""Ports that a server tries whose port was free a moment ago."""
_TAKEN = re.compile(r"Address already in use", re.IGNORECASE)
_SOCKET_PATH_BYTES = 103
"""Longest path of a Unix socket that every system takes (Linux 107, macOS 103)."""


class Server(ABC):
    """A running private server. Leaving its ``with`` block stops it and removes what it kept."""

    version: str
    """Product and version, as the product's program says it."""
    url: str
    """What an engine connects to. It may hold a password: write and show it redacted only."""
    pooler: str = ""
    """Program and version of the pooler at ``url``; empty where the server itself is there."""
    directory: Path
    """Where the data lies."""
    restarts = True
    """Whether ``restart`` leaves nothing in its caches."""
    notes: list[str]
    """What whoever reads the figures must know about this server."""
    apart: dict[str, Path]
    """Where a part of the data lies elsewhere, by the setting that says so."""

    def __init__(self, base: Path, name: str) -> None:
        """Makes a folder ``dsbench-<name>-XXXX`` in ``base`` and starts the server; what fails leaves nothing.

        Where ``base`` is itself such a folder, which was kept, the server takes up its data.
        """
        self.notes = []
        self._taken_up = is_kept(base)
        self._name = name
        self._folders: list[Folder] = []
        self.apart: dict[str, Path] = {}
        self._log = Log()
        atexit.register(self.stop)
        try:
            try:
                self.directory = self._furnish(self._folder(base))
            except OSError as error:
                problem = f"cannot write to {error.filename or base}: {error.strerror}"
                raise ServerError(problem, "specify another folder: directory = …") from error
            self._start()
        except BaseException:
            self.stop()
            raise
        self.notes += storage_notes(self.directory)

    @abstractmethod
    def _furnish(self, root: Path) -> Path:
        """Makes in the folder ``root`` what the server needs, and gives the place of the data. Raises ``OSError``."""

    @abstractmethod
    def _start(self) -> None:
        """Starts the server, and sets ``url``."""

    def _folder(self, base: Path) -> Path:
        folder = Folder.adopt(base, self.version) if is_kept(base) else Folder.create(base, self._name)
        self._folders.append(folder)
        return folder.path

    @property
    def folder(self) -> Path:
        """Its folder, which holds the data."""
        return self._folders[0].path

    def log_tail(self, lines: int = 40) -> list[str]:
        """The last lines of what the server logged since its start; empty when it keeps no log."""
        return self._log.tail(lines)

    def restart(self) -> LetGo:
        """Stops the server in order, has its files leave the page cache, and starts it again at the same ``url``.

        One without a process of its own has nothing to stop. Raises ``ServerError``.
        """
        return self._let_go()

    def _let_go(self) -> LetGo:
        return let_go(folder.path for folder in self._folders)

    def ended(self) -> list[ServerError]:
        """What no longer runs though nobody stopped it, each with its remedy; nothing without a process."""
        return []

    def missing(self) -> list[ServerError]:
        """Servers beside it that should run and have ended, each with its remedy."""
        return []

    def pids(self) -> list[int]:
        """Processes of the server that run now; empty when it runs in the process of its client."""
        return []

    def keep(self) -> None:
        """Has the data outlive the server, for a later one to take up. ``ServerError`` where they lie in several
        places."""
        if self.apart:
            places = ", ".join(str(path) for path in self.apart.values())
            remedy = "omit log_directory, second_log and tablespaces"
            raise ServerError(f"data that is also in {places} cannot be kept", remedy)
        self._folders[0].keep(self.version)

    def stop(self) -> None:
        """Stops the server and removes its folder, where it is not kept; harmless when that was done before."""
        for folder in self._folders:
            if not folder.remove():
                self.notes.append(f"{folder.path} could not be removed")
        self._folders.clear()
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class OwnProcess(Server):
    """A server in a process of its own; a product says what is special about it."""

    START_TIMEOUT_S = 60.0
    PORT = "port"
    """The setting that names its port."""
    ENDING: tuple[signal.Signals, ...] = (signal.SIGTERM,)
    """What it is ended by, from the mildest to the hardest before SIGKILL."""
    PATIENCE_S = 30.0
    """Time for an orderly end, which writes changed pages, before harder means."""
    ORPHANED: signal.Signals | None = None
    """What ends it when this program dies, where that is not the mildest."""

    def __init__(
        self, base: Path, name: str, account: str, foreign: tuple[str, ...], env: Mapping[str, str],
        group: limits.Group | None = None,
    ) -> None:  # fmt: skip
        """``account`` is whom the superuser steps down to; variables with the prefixes ``foreign`` make way for
        ``env``: those of the caller would lead the programs elsewhere. ``group`` is made around its processes."""
        self._group = group
        self._user = unprivileged(above(base), account)
        self._env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | dict(env)
        self._process: Process | None = None
        self._launched: tuple[str | None, int] = (None, 0)
        self._called: Sequence[str | Path] = ()
        self._start_s = self.START_TIMEOUT_S
        self._over = False
        super().__init__(base, name)
        self.notes += group.notes if group is not None else []

    @abstractmethod
    def _command(self, port: int) -> Sequence[str | Path]:
        """What starts the server on ``port``, once all that it reads is written."""

    @abstractmethod
    def _ready(self) -> bool:
        """Whether the server that was started takes sessions."""

    def _logs(self) -> list[Path]:
        """Files beside its standard error that it logs to."""
        return []

    def _own(self, lines: list[str]) -> list[str]:
        """Those of ``lines``, which one of its logs holds, that are not of another server."""
        return lines

    def _launch(self, host: str | None, named: str) -> int:
        """Starts the server and gives its port: ``named``, or a free one when that is empty.

        A program may take the free one before the server does: then it starts again, on another.
        """
        for _ in range(1 if named else _STARTS):
            port = int(named) if named else free_port()
            if self._serves(host, port):
                self._launched = (host, port)
                return port
        if named:
            raise ServerError(f"{host}:{port} is in use by another program", f"omit {self.PORT}: a free port is used")
        raise ServerError(f"{self.version} found its ports in use by other programs", "repeat the run")

    def _serves(self, host: str | None, port: int, command: Sequence[str | Path] | None = None) -> bool:
        """Starts the server and waits until it is ready; false when its port is taken. With a ``command`` it is the
        same server again, and its files stay in the page cache."""
        out = self._folders[0].path / "server.log"
        out.unlink(missing_ok=True)
        self._log = Log(*self._logs(), out, own=self._own)
        mild, *harder = self.ENDING
        if command is None:
            command = self._called = self._command(port)
            self._forget_pages()
        self._confine()
        self._process = Process(
            command, user=self._user, env=self._env, log=out, ending=mild, orphaned=self.ORPHANED, group=self._group
        )
        if self._over:  # It was stopped meanwhile, by another thread.
            self._process.stop(self.PATIENCE_S, *harder)
            raise ServerError(f"{self.version} was stopped", "repeat the run")
        self._folders[0].serves(self._process.pid)
        deadline = time.monotonic() + self._start_s
        while True:
            alive = self._process.alive
            ready = alive and self._ready()
            if host and _TAKEN.search(out.read_text(errors="replace")):
                self._process.stop(self.PATIENCE_S, *harder)
                return False
            if ready:
                return True
            if not alive or time.monotonic() > deadline:
                why = f"was not ready after {self._start_s:.0f} s" if alive else "did not start"
                tail = "\n".join([*self.log_tail(20), *map(str, self.ended())])
                raise ServerError(f"{self.version} {why}:\n{tail}", "check its settings, and the free memory and "
                                                                    "disk space here")
            time.sleep(0.02)

    def restart(self) -> LetGo:
        """As that of every server. Its process is another one then."""
        assert self._process is not None
        self._process.stop(self.PATIENCE_S, *self.ENDING[1:])
        self._forget()
        gone = self._let_go()
        self._serve_again()
        return gone

    def start_again(self, *, kill: bool, within_s: float = 0.0) -> None:
        """Stops the server in order, or kills it, and starts it again at the same ``url``, with all that it and the
        page cache keep. ``ServerError`` where it is not ready ``within_s``, or the time of its start if that is
        longer."""
        assert self._process is not None
        if kill:
            self._process.kill()
        else:
            self._process.stop(self.PATIENCE_S, *self.ENDING[1:])
        self._start_s = max(self.START_TIMEOUT_S, within_s)
        self._serve_again(self._called)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Meanwhile no process of the server runs (SIGSTOP)."""
        assert self._process is not None
        self._process.suspend()
        try:
            yield
        finally:
            self._process.resume()

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Meanwhile nothing goes between the server and its clients. Raises ``OSError`` and ``SubprocessError``."""
        assert self._group is not None
        network = self._group.network
        assert network is not None
        network.cut()
        try:
            yield
        finally:
            network.mend()

    @property
    def is_running(self) -> bool:
        """Whether its process has not ended."""
        return self._process is not None and self._process.alive

    def _serve_again(self, command: Sequence[str | Path] | None = None) -> None:
        self._rest()
        host, port = self._launched
        if not self._serves(host, port, command):
            raise ServerError(f"{host}:{port} was meanwhile taken by another program", "repeat the run")

    def _forget(self) -> None:
        """Takes away what would have the server read pages before it is asked for them."""

    def _rest(self) -> None:
        """Done between the end of the server and its start on the same data."""

    def _forget_pages(self) -> None:
        """Pages of its files that are cached already would not count against its limit."""
        if self._group is not None and self._group.limits.memory is not None:
            limits.forget_pages(self._folders[0].path)

    def _confine(self) -> None:
        """Makes the group of the server's processes. Raises ``ServerError``."""
        if self._group is None:
            return
        self._folders[0].holds(self._group.paths)
        try:
            self._group.make()
        except OSError as error:
            raise ServerError(f"its limits cannot be set: {error}", "check --limit, and other users of these control "
                                                                    "groups") from None

    def _given_away(self, path: Path) -> Path:
        """A folder that only the server's user (and the superuser) can enter."""
        path.mkdir(mode=0o700, exist_ok=True)
        self._give(path)
        return path

    def _write_secret(self, path: Path, text: str) -> None:
        """A file that only the server's user can read. It should go as soon as it was read."""
        path.touch(mode=0o600)
        path.write_text(text)
        self._give(path)

    def _give(self, path: Path) -> None:
        if self._user is not None:
            os.chown(path, self._user.uid, self._user.gid)

    def _make_apart(self, settings: Mapping[str, str]) -> None:
        """Makes folders of ours in those that settings name for the log and tablespaces; they go with the server."""
        for setting, base in elsewhere(settings).items():
            self.apart[setting] = self._given_away(self._folder(base) / "files")

    def _move(self, files: Iterable[Path], to: Path) -> None:
        """Moves what an installer made to another folder of the server's."""
        for file in files:
            shutil.move(file, to / file.name)
        for path in to.rglob("*"):
            self._give(path)

    def _socket_folder(self, root: Path, file: str) -> Path:
        """A folder for the socket ``file``: in ``root``, or in another folder of ours where its path is too long."""
        temporary = Path(tempfile.gettempdir())
        if not _fits(root, file):
            root = self._folder(temporary if _fits(temporary / root.name, file) else Path("/tmp"))
        return self._given_away(root / "socket")

    def _use(self, tool: Sequence[str | Path], hidden: str = "") -> None:
        """Runs a tool that furnishes the server. Raises ``ServerError`` with its last words, without ``hidden``."""
        done = run(tool, self._user, self._env)
        if done.returncode != 0:
            said = "\n".join(done.stdout.strip().splitlines()[-20:])
            elsewhere = "or specify another: directory = …"
            remedy = f"check that {called(self._user)} can enter every folder above it, {elsewhere}"
            if IS_FULL.search(said):
                remedy = f"free up space there, {elsewhere}"
            elif "could not look up effective user" in said:
                remedy = "run dsbench as a user who has an entry in /etc/passwd"
            raise ServerError(
                f"{Path(tool[0]).name} of {self.version} failed in {self.directory}:\n"
                + (said.replace(hidden, "***") if hidden else said),
                remedy,
            )

    def ended(self) -> list[ServerError]:
        """What no longer runs though nobody stopped it, each with its remedy."""
        count = self._group.killed() if self._group is not None else 0
        words = f"the kernel killed {count} of the server's processes at their memory limit"
        return [ServerError(words, "raise --limit memory, or lower the server's buffers")] if count else []

    def pids(self) -> list[int]:
        """The server's process and those it started, for sessions among them."""
        return [p.pid for p in self._process.family()] if self._process is not None else []

    def stop(self) -> None:
        """An orderly shutdown, then by harder means; then the folder goes. Harmless when repeated."""
        self._over = True
        if self._process is not None:
            self._process.stop(self.PATIENCE_S, *self.ENDING[1:])
        if self._group is not None and not self._group.remove():
            self.notes.append(f"{', '.join(map(str, self._group.paths))} could not be removed")
        if self._group is not None and self._group.network is not None:
            self._group.network.close()
        super().stop()


def _fits(root: Path, file: str) -> bool:
    return len(os.fsencode(root / "socket" / file)) <= _SOCKET_PATH_BYTES
