"""Where one input is read: in one folder, for a second of this processor, in a gigabyte, without a network."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.acero  # noqa: F401 (loaded when rows are grouped, where the limit of an input leaves no memory for it)

from dsbench import caches, loading

SECONDS: Final = float(os.environ.get("DSBENCH_FUZZ_SECONDS", "1"))
"""Of the processor, so that a machine that does other things as well changes nothing."""
WAITING_S: Final = 20.0
"""Of the clock on the wall, for what waits."""
ROOM: Final = 2**30
FLOOD: Final = 20_000
"""Characters of an error."""
LARGEST: Final = 50_000_000
"""Bytes written."""

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_PATHS: Final = {
    "os.mkdir": 1, "os.rename": 2, "os.remove": 1, "os.rmdir": 1, "os.symlink": 2, "os.link": 2, "os.truncate": 1,
    "os.chmod": 1, "os.chown": 1, "os.utime": 1, "shutil.rmtree": 1,
}  # fmt: skip
"""Events of the interpreter that change files, and how many of their arguments are paths."""
_OUT: Final = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")
_PROGRAMS: Final = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "os.system", "os.kill")


class Refused(Exception):
    """The program has told what is wrong with the input, as it should."""


class Accepted(BaseException):
    """The program has taken the input, and would go on with work that is not tried here."""


class Finding(BaseException):
    """Something that no input may bring about. No program catches it."""


@dataclass(frozen=True)
class Verdict:
    """What became of one input."""

    word: str
    """"accepted", "refused" or "finding"."""
    told: str = ""
    """The finding in a few lines."""


class Guard:
    """Watches what this process does while an input is read."""

    def __init__(self, folder: Path, *, places: bool) -> None:
        self._folder, self._places = folder.resolve(), places
        self.armed = False
        self.on = True
        """Off while the program is loaded, which looks for libraries."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event == "open":
            path, mode, flags = arguments
            writing = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
            if writing and not isinstance(path, int):
                self._stay_within(path)
        elif event in _PATHS:
            # Where a link leads is written nowhere.
            for path in arguments[1:2] if event == "os.symlink" else arguments[: _PATHS[event]]:
                if not isinstance(path, int):
                    self._stay_within(path)
        elif event in _OUT:
            self._refuse(f"it reaches out: {event} {arguments[1:]}")
        elif event in _PROGRAMS and not _asks_for_version(event, arguments):
            self._refuse(f"it starts or ends a program: {event} {arguments[:2]}", always=True)

    def _stay_within(self, path: Any) -> None:
        place = Path(os.fsdecode(path)).absolute().parent.resolve()
        if not place.is_relative_to(self._folder) and os.fsdecode(path) != os.devnull:
            self._refuse(f"it writes outside of its folder: {os.fsdecode(path)!r}")

    def _refuse(self, why: str, *, always: bool = False) -> None:
        if always or not self._places:
            raise Finding(why)
        raise PermissionError(13, "not here")


def _asks_for_version(event: str, arguments: Any) -> bool:
    """Whether a server's program that the system has, or dsbench has unpacked, is asked for its version or folder alone."""
    if event != "subprocess.Popen" or len(arguments[1]) != 2 or arguments[1][1] not in ("--version", "-z", "--bindir"):
        return False
    return Path(arguments[0]).is_relative_to("/usr") or Path(arguments[0]).is_relative_to(caches.servers())


@contextlib.contextmanager
def alarmed(times: float = 1) -> Iterator[None]:
    """A ``Finding`` for whatever takes too long; ``times`` as long as an input may."""

    def ring(number: int, _frame: Any) -> None:
        what = f"{times * SECONDS:g} s of the processor" if number == signal.SIGPROF else f"{times * WAITING_S:g} s"
        raise Finding(f"it takes more than {what}")

    for number, timer, seconds in ((signal.SIGPROF, signal.ITIMER_PROF, SECONDS), (signal.SIGALRM, signal.ITIMER_REAL, WAITING_S)):
        signal.signal(number, ring)
        signal.setitimer(timer, times * seconds)
    try:
        yield
    finally:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)


def limit_memory() -> None:
    """From now on this process may take ``ROOM`` bytes more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    # Nothing is drawn here: a run need not be refused for the addresses that this would take.
    loading.lacking_addresses = lambda **_: ""


def empty(folder: Path) -> None:
    """An empty working folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)


def judged(run: Callable[[bytes, Path], None], data: bytes, folder: Path, guard: Guard, times: float = 1) -> Verdict:
    """Has ``run`` read ``data`` in ``folder``, in ``times`` as long as an input may take."""
    guard.armed = False
    empty(folder)
    try:
        with alarmed(times):
            guard.armed = guard.on
            run(data, folder)
    except Accepted:
        pass
    except Refused as refused:
        if len(str(refused)) > FLOOD:
            return Verdict("finding", f"an error of {len(str(refused))} characters: {str(refused)[:200]}")
        return Verdict("refused")
    except Finding as finding:
        guard.armed = False
        return Verdict("finding", f"{finding}\n{_last_lines()}")
    except BaseException:
        guard.armed = False
        return Verdict("finding", _last_lines())
    finally:
        guard.armed = False
    written = sum(512 * path.lstat().st_blocks for path in folder.rglob("*"))  # A file of holes is small.
    return Verdict("finding", f"it writes {written} bytes") if written > LARGEST else Verdict("accepted")


def _last_lines() -> str:
    lines = "".join(traceback.format_exc(limit=-6)).splitlines()
    return "\n".join(line[:200] for line in lines[-16:])


def called(*words: str, fine: Sequence[int] = (0,)) -> None:
    """Runs the command line in this process. ``Refused`` with what it said where it said it as it should; with a code of
    ``fine`` it did what was asked."""
    from dsbench.cli import main
    from dsbench.measure.moments import AROUND

    out, said = _stream(), _stream("backslashreplace")
    code: Any = 0
    try:
        sys.argv = ["dsbench", *words]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            main()
    except SystemExit as ended:
        code = ended.code
    text = _text(said)
    if (code or 0) in fine:
        return
    lines = [line for line in text.splitlines() if not line.startswith(("Usage", "plan", *AROUND.values()))]
    if code not in (1, 2) or not lines or not lines[0].startswith("error: ") or "Traceback" in text:
        raise Finding(f"exit {code!r} with {text[-500:]!r}")
    if code == 2 and not any(line.startswith("hint: ") for line in lines):
        raise Finding(f"no hint beside {text[-500:]!r}")
    raise Refused(text)


def _stream(errors: str = "strict") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors=errors, write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "replace")
