"""A server process of our own: started without privileges, ended with this program in every case."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO

import psutil

from dsbench.children import dying_with_us
from dsbench.dataclass import dataclass
from dsbench.servers.errors import ServerError
from dsbench.servers.limits import Group

_CWD = "/" if os.name == "posix" else None
"""Where servers start: the user who starts dsbench may stand where the server's user may not."""
_GATE = ["/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh"]
"""Waits for a line: a process is put into its group before the server's program begins in it, without help of its user,
who may not enter."""
_YOUNG_S, _AGAIN_S = 10.0, 1.0
"""A process that began less long ago is sent the signal that ends it once more, after so long."""


@dataclass(frozen=True)
class User:
    """An account that a server runs under in place of the superuser."""

    name: str
    uid: int
    gid: int


def unprivileged(directory: Path, *preferred: str) -> User | None:
    """The account for a server: ``None`` (our own) unless we are the superuser.

    The superuser steps down to the owner of ``directory``, else to the first of ``preferred`` that
    exists, else to ``nobody``.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd

    owner = directory.stat().st_uid
    if owner != 0:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwuid(owner)
            return User(entry.pw_name, entry.pw_uid, entry.pw_gid)
    for name in (*preferred, "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return User(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise ServerError(
        "a database server cannot run as root, and there is no unprivileged user to run it as",
        "run dsbench as an ordinary user, or create one: useradd --system " + (*preferred, "nobody")[0],
    )


def called(user: User | None) -> str:
    """The account in a message."""
    return f"the user {user.name}" if user is not None else "this user"


def run(
    command: Sequence[str | Path], user: User | None, env: Mapping[str, str], given: IO[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a tool of a server to its end, as ``user``; it reads what is ``given``. ``ServerError`` when it cannot be
    started."""
    try:
        return subprocess.run(
            [str(part) for part in command], env=dict(env), cwd=_CWD, umask=0o077, check=False,
            user=user.uid if user else None, group=user.gid if user else None, extra_groups=[] if user else None,
            stdin=given or subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise _not_startable(command[0], user, error) from error


def ask(program: str | Path, *options: str) -> str:
    """What a program prints, such as its version; empty where it cannot be run. A file that answered is not asked again
    until it changes."""
    try:
        here = Path(program).stat()
        return _asked(str(program), options, here.st_mtime_ns, here.st_size)
    except (OSError, subprocess.SubprocessError):
        return ""


@lru_cache(256)
def _asked(program: str, options: tuple[str, ...], _changed_ns: int, _size: int) -> str:
    """Raises where the program did not end by itself: that is not kept."""
    said = subprocess.run([program, *options], capture_output=True, text=True, check=False, timeout=30)
    if said.returncode < 0:
        said.check_returncode()
    return said.stdout + said.stderr


class Process:
    """A server process.

    On Linux the kernel sends it ``orphaned`` when this program dies, even by SIGKILL (parent death signal).
    The kernel ties that to the *thread* that started it: a thread is kept for each server, as long as it
    lives, and waits for its end.
    """

    def __init__(
        self, command: Sequence[str | Path], *, user: User | None, env: Mapping[str, str], log: Path,
        ending: signal.Signals, orphaned: signal.Signals | None = None, group: Group | None = None,
    ) -> None:  # fmt: skip
        """Starts ``command`` within ``group``; what it prints goes to the file ``log``. ``ending`` asks it to stop,
        and is ``orphaned``, too, unless that is another. Raises ``ServerError``."""
        gate = _GATE if group is not None else []
        dying = dying_with_us((orphaned or ending).name.removeprefix("SIG"))
        self._command = [*gate, *dying, *(str(part) for part in command)]
        self._group = group
        self._user, self._env, self._log, self._ending = user, dict(env), log, ending
        self._popen: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self._settled, self._ended = threading.Event(), threading.Event()
        self._begun = time.monotonic()
        threading.Thread(target=self._live, name="dsbench-server", daemon=True).start()
        try:
            self._settled.wait()
        except BaseException:  # a signal that became an exception: the thread may have started it already
            self._settled.wait()
            self.stop(0.0)
            raise
        if self._popen is None:
            raise _not_startable(command[0], user, self._error)

    def _live(self) -> None:
        user = self._user
        try:
            if self._group is not None and self._group.network is not None:
                self._group.network.enter()
            with self._log.open("ab") as log:
                # A new session: Ctrl-C in the terminal reaches dsbench, which stops its server in order.
                self._popen = subprocess.Popen(
                    self._command, env=self._env, cwd=_CWD, umask=0o077, start_new_session=True,
                    user=user.uid if user else None, group=user.gid if user else None,
                    extra_groups=[] if user else None,
                    stdin=subprocess.PIPE if self._group else subprocess.DEVNULL,
                    stdout=log, stderr=subprocess.STDOUT,
                )  # fmt: skip
            if self._group is not None:
                self._enter(self._popen, self._group)
        except OSError as error:
            self._error = error
        finally:
            self._settled.set()
        if self._popen is not None:
            self._popen.wait()
        self._ended.set()

    def _enter(self, started: subprocess.Popen[bytes], group: Group) -> None:
        """Opens the gate once the process is in its group; ``OSError`` ends it."""
        gate = started.stdin
        assert gate is not None
        with gate:
            try:
                group.add(started.pid)
                gate.write(b"go\n")
            except OSError:
                self._popen = None
                started.kill()
                started.wait()
                raise

    @property
    def pid(self) -> int:
        """Process id of the server."""
        assert self._popen is not None
        return self._popen.pid

    @property
    def alive(self) -> bool:
        return not self._ended.is_set()

    def family(self) -> list[psutil.Process]:
        """The server's process and those it started."""
        try:
            server = psutil.Process(self.pid)
            return [server, *server.children(recursive=True)] if self.alive else []
        except psutil.Error:
            return []

    def kill(self) -> None:
        """Ends the server and its children at once, as the kernel does when memory runs out, and waits for it."""
        # Standing still it starts no child that would outlive it.
        self.suspend()
        family = self.family()
        for process in family:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(family, timeout=10)
        self._ended.wait(10)

    def suspend(self) -> None:
        """Stops the server and its children, those that it starts meanwhile included, until ``resume``."""
        stopped = set[int]()
        while left := [process for process in self.family() if process.pid not in stopped]:
            for process in left:
                stopped.add(process.pid)
                with contextlib.suppress(psutil.Error):
                    process.suspend()

    def resume(self) -> None:
        """Lets them go on."""
        for process in self.family():
            with contextlib.suppress(psutil.Error):
                process.resume()

    def stop(self, patience_s: float, *harder: signal.Signals) -> None:
        """Ends the server and waits for it and its children: by the signal of the start, the harder ones, SIGKILL."""
        if self._popen is None:
            return
        family = self.family()
        kill = signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM
        for sign, wait_s in [(self._ending, patience_s), *((s, 5.0) for s in harder), (kill, 10.0)]:
            if not self.alive:
                break
            with contextlib.suppress(ProcessLookupError):
                self._popen.send_signal(sign)
            # One that comes before the program listens to it may be lost.
            young = time.monotonic() - self._begun < _YOUNG_S
            # Who stands still hears no signal but SIGKILL, and a server ends after its last child.
            for process in family:
                with contextlib.suppress(psutil.Error):
                    process.resume()
            if young and not self._ended.wait(min(_AGAIN_S, wait_s)):
                with contextlib.suppress(ProcessLookupError):
                    self._popen.send_signal(sign)
            self._ended.wait(wait_s)
        _, left = psutil.wait_procs(family, timeout=5)
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()


def _not_startable(program: str | Path, user: User | None, error: OSError | None) -> ServerError:
    who = called(user)
    also = f", and that dsbench can switch to {who}" if user else ""
    return ServerError(
        f"{program} cannot be started: {error.strerror if error else 'unknown error'}",
        f"check that {who} can execute it and enter every folder above it{also}",
    )


_LONGEST = 256 * 1024


class Log:
    """The files that a server may log to: what came since the start, of which ``own`` picks the server's lines.
    Debian's Firebird 3 writes to one place for all servers of the machine, whatever its folder is."""

    def __init__(self, *files: Path, own: Callable[[list[str]], list[str]] = list) -> None:
        self._own = own
        self._starts = {file: _size(file) for file in files}

    def tail(self, lines: int) -> list[str]:
        """The last lines that were written since the start."""
        found: list[str] = []
        for file, start in self._starts.items():
            with contextlib.suppress(OSError), file.open(errors="replace") as log:
                log.seek(max(start, _size(file) - _LONGEST))
                found += self._own([line.rstrip() for line in log if line.strip()])
        return found[-lines:]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


_LOWEST = 10_000
"""Below it services have their usual ports."""


def free_port() -> int:
    """A port that no program here has.

    It is none of those that the kernel gives to outgoing connections, where others are left: any program
    could be given it between this call and the start of the server. Another server can still take it.
    """
    first, last = _outgoing()
    ports: Sequence[int] = [*range(_LOWEST, first), *range(last + 1, 65_536)] or range(_LOWEST, 65_536)
    while True:
        port = random.choice(ports)
        if _is_free(port):
            return port


def _outgoing() -> tuple[int, int]:
    """First and last port of outgoing connections; Linux' own where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
        return int(first), int(last)
    return 32_768, 65_535


def _is_free(port: int) -> bool:
    # On all addresses: that fails where a program has the port on one of them.
    with contextlib.suppress(OSError), socket.socket() as probe:
        probe.bind(("", port))
        return True
    return False


def network_host(listen: str) -> str | None:
    """The host name by which clients reach a server that listens on these addresses; ``None`` without any."""
    first = listen.split(",")[0].strip()
    if not first:
        return None
    return socket.gethostname() if first in ("*", "0.0.0.0", "::") else first


def raise_file_limit() -> None:
    """Lets this process open as many files as the system lets it: each connection is one."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = 2**20 if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
