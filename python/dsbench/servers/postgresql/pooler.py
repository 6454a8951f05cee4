"""A PgBouncer before a private PostgreSQL server, on a Unix socket of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError
from dsbench.servers.process import Log, Process, ask
from dsbench.servers.settings import SPARE_CONNECTIONS, wrong
from dsbench.spec.tuning import PGBOUNCER

SETTING = "pooler"
"""The setting that asks for one; ``none`` is the level of a study without."""
PREFIX = "pgbouncer."
"""Before the names of its own settings."""
_PROGRAM = "pgbouncer"
_SYSTEM = "/usr/sbin:/usr/local/sbin"
"""Where packages put it, beside PATH."""
_OWN = {"listen_addr", "listen_port", "unix_socket_dir", "auth_type"}
_TEXTS = {"server_reset_query", "server_check_query", "ignore_startup_parameters", "track_extra_parameters"}
_SETTINGS = PGBOUNCER | _TEXTS
"""What of its configuration neither reads nor writes a file."""
_MODES = ("session", "transaction")
_POOL = 20
"""Sessions of a pool of transactions: PgBouncer's own default."""
_PATIENCE_S, _START_S = 3.0, 30.0


@dataclass(frozen=True)
class Pooling:
    """A pooler that was asked for."""

    program: Path
    settings: Mapping[str, str]
    """By the names of ``pgbouncer.ini``."""

    def sessions(self, connections: int) -> int:
        """So many of the server it takes for ``connections`` of clients, at most."""
        sizes = [self.settings.get(name, "0") for name in ("default_pool_size", "reserve_pool_size")]
        known = self.settings["pool_mode"] == _MODES[1] and all(size.isdecimal() for size in sizes)
        return min(connections, sum(map(int, sizes))) if known else connections

    @property
    def version(self) -> str:
        """Such as ``PgBouncer 1.18.0``."""
        return ask(self.program, "--version").partition("\n")[0]


def parted(settings: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str] | None]:
    """Of ``settings``, those of the server, and those of the pooler by their own names; ``None`` without one."""
    given = {name.lower(): value for name, value in settings.items()}
    kind = given.get(SETTING, "none")
    own = {name.removeprefix(PREFIX): value for name, value in given.items() if name.startswith(PREFIX)}
    rest = {name: value for name, value in settings.items()
            if name.lower() != SETTING and not name.lower().startswith(PREFIX)}  # fmt: skip
    if own and SETTING not in given:
        problem = f"{PREFIX}{next(iter(own))} has no effect without {SETTING}={_PROGRAM}"
        raise wrong(problem, f"add {SETTING}={_PROGRAM}, or omit {PREFIX}NAME")
    if kind not in ("none", _PROGRAM):
        raise wrong(f"{SETTING} is {kind!r}", f"write {SETTING}={_PROGRAM}, or omit it")
    return rest, own if kind == _PROGRAM else None


def planned(settings: Mapping[str, str], connections: int) -> Pooling:
    """The pooler for so many ``connections``. ``SpecError`` for a setting that cannot be, ``ServerError`` where the
    program is not here."""
    for name, value in settings.items():
        if name not in _SETTINGS:
            remedy = "omit it" if name in _OWN else "use the names of pgbouncer.ini that concern pools, times and sizes"
            raise wrong(f"{PREFIX}{name} is {'set by dsbench itself' if name in _OWN else 'unknown'}", remedy)
        if re.search(r"[\r\n%]", value):
            raise wrong(f"{PREFIX}{name} has a value of several lines or with %", "specify it in one line")
    mode = settings.get("pool_mode", _MODES[0])
    if mode not in _MODES:
        raise wrong(f"{PREFIX}pool_mode is {mode!r}", f"use {' or '.join(_MODES)}: a run needs transactions")
    needed = connections + SPARE_CONNECTIONS
    for name in ("max_client_conn", *(["default_pool_size"] if mode == _MODES[0] else [])):
        given = settings.get(name, "")
        if given.isdecimal() and int(given) < connections:
            problem = f"{PREFIX}{name} = {given} is too low for the {connections} connections of the load"
            raise wrong(problem, f"raise it to {needed}, or omit it: dsbench then sets it")
    found = shutil.which(_PROGRAM, path=f"{os.environ.get('PATH', '')}:{_SYSTEM}")
    if found is None:
        raise ServerError("PgBouncer is not installed here", f"apt-get install {_PROGRAM}, or omit {SETTING}")
    pool = needed if mode == _MODES[0] else min(_POOL, needed)
    own = {"pool_mode": mode, "max_client_conn": str(needed), "default_pool_size": str(pool)}
    return Pooling(Path(found), own | dict(settings))


class Pooler:
    """A running PgBouncer."""

    def __init__(self, wanted: Pooling, start: Callable[[list[str | Path], Path], Process], folder: Path) -> None:
        """``start`` starts a command whose messages go to a file, and ``folder``, which is the server's user's, is for
        its socket."""
        self._wanted, self._start, self._folder = wanted, start, folder
        self._process: Process | None = None
        self._said: Log | None = None

    def serve(self, behind: Path, port: int, write: Callable[[Path, str], None]) -> Path:
        """Starts it before the server on ``port`` in the folder ``behind``, and gives the folder of its own socket,
        whose port is the same. Raises ``ServerError``."""
        own = {"listen_addr": "", "listen_port": str(port), "unix_socket_dir": str(self._folder), "auth_type": "any"}
        lines = ["[databases]", f"* = host={behind} port={port} user=postgres", "[pgbouncer]"]
        lines += [f"{name} = {value}" for name, value in {**self._wanted.settings, **own}.items()]
        file, out = self._folder / "pgbouncer.ini", self._folder.parent / "pooler.log"
        write(file, "\n".join([*lines, ""]))
        self._said = said = Log(out, own=_complaints)
        self._process = self._start([self._wanted.program, file], out)
        entrance, deadline = self._folder / f".s.PGSQL.{port}", time.monotonic() + _START_S
        while not _answers(entrance):
            if not self._process.alive or time.monotonic() > deadline:
                words = "; ".join(said.tail(3)) or "it gave no message"
                self.stop()
                if found := re.search(r'invalid value "(.*)" for parameter (\w+)|unrecognized parameter: (\w+)', words):
                    value, name, unknown = found.groups()
                    problem = f"{self._wanted.version} has no {PREFIX}{unknown}" if unknown else (
                        f"{self._wanted.version} rejects {PREFIX}{name} = {value}")  # fmt: skip
                    raise wrong(problem, "use names and values of pgbouncer.ini for this version")
                raise ServerError(f"{self._wanted.version} did not start: {words}", f"check its settings: {PREFIX}NAME")
            time.sleep(0.02)
        return self._folder

    def pids(self) -> list[int]:
        """Its processes that run now."""
        return [process.pid for process in self._process.family()] if self._process is not None else []

    def ended(self) -> ServerError | None:
        """That it has ended, though nobody stopped it, and its last complaint; ``None`` while it runs."""
        if self._process is None or self._process.alive:
            return None
        said = "; ".join(self._said.tail(1)) if self._said is not None else ""
        words = f"{self._wanted.version} ended" + (f"; the last error in its log: {said}" if said else "")
        return ServerError(words, "check the free memory and the system's log here; then: dsbench run --resume ARCHIVE")

    def stop(self) -> None:
        """Ends it, and the sessions it has with the server; harmless when repeated."""
        if self._process is not None:
            # From 1.23 on SIGTERM waits for the clients.
            self._process.stop(_PATIENCE_S, signal.SIGQUIT)
            self._process = None


def _answers(entrance: Path) -> bool:
    """Whether a program listens to the socket; its file is there before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(entrance)) == 0


ENDING = signal.SIGTERM
"""What the program is ended by."""


def _complaints(lines: list[str]) -> list[str]:
    """What it says is wrong, without times and process ids."""
    return re.findall(r" (?:ERROR|FATAL) (.*)", "\n".join(lines))
