"""Processes that are started here: one protocol, one way to end them, and one error where they fail.

A ``Child`` is a process of Python, whose ``Task`` answers questions; a ``ChildProgram`` is another program, of which
the output is kept. Each has a session of its own, as a Ctrl-C is for this process, which ends its children in order.
None outlives this one, unless its task says so.

Between a child and this process lie its standard streams, so that no password is in its arguments. A message is
pickled, as rows, specifications and errors are: both ends are this program. Its kind and its length stand before it.
"""

from __future__ import annotations

import functools
import os
import pickle
import queue
import shutil
import signal
import struct
import subprocess
import sys
import threading
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from typing import IO, Any, ClassVar, Final, Self

from dsbench import release
from dsbench.problem import Problem

_HEAD: Final = struct.Struct("<BQ")
_PIECE: Final = 2**20
_LINES: Final = 20
"""The last ones of what a child says of errors, which are kept."""
_LOOK_S: Final = 0.1
_PATIENCE_S: Final = 5.0
_KILLED_S: Final = 60.0
"""How long the kernel may take to end a process that is killed."""
_SERVE: Final = "import sys; sys.path[:] = sys.argv[2:]; from dsbench.children import serve; serve(sys.argv[1])"


class ChildError(Problem):
    """A process that could not be started, that ended before it answered, or that failed by no error of dsbench."""

    remedy = "see its messages above; the kernel kills processes when memory runs out: see dmesg"

    def __init__(self, problem: str, code: int | None = None, said: str = "", remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.code = code
        """Its exit code, negative where a signal ended it; ``None`` where it did not end."""
        self.said = said
        """The last lines that it said of errors."""


class _MessageKind(IntEnum):
    ASK = 1
    TELL = 2
    ANSWER = 3
    FAILURE = 4


def _send(to: int, kind: _MessageKind, value: object) -> None:
    data = pickle.dumps(value)
    left = memoryview(_HEAD.pack(kind, len(data)) + data)
    while left:
        left = left[os.write(to, left) :]


def _received(out_of: int) -> Iterator[tuple[_MessageKind, bytes]]:
    """Messages, still pickled, until the other end is gone."""
    with suppress(EOFError):
        while True:
            kind, length = _HEAD.unpack(_read(out_of, _HEAD.size))
            yield _MessageKind(kind), _read(out_of, length)


def _read(out_of: int, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        piece = os.read(out_of, min(length - len(found), _PIECE))
        if not piece:
            raise EOFError
        found += piece
    return bytes(found)


class _Process(ABC):
    """A process in a session of its own. A thread starts it, and stays until its end: the kernel ends a child with the
    *thread* that started it."""

    def __init__(
        self, name: str, command: Sequence[str], *, dies: bool = True, env: Mapping[str, str] | None = None,
        cwd: Path | None = None, stdin: int = subprocess.DEVNULL, stderr: int = subprocess.STDOUT,
    ) -> None:  # fmt: skip
        """``dies``: the kernel ends it with this process, where it can."""
        self.name = name
        self._command = [*(dying_with_us("KILL") if dies else ()), *command]
        self._env, self._cwd, self._stdin, self._stderr = env, cwd, stdin, stderr
        self._started: subprocess.Popen[bytes] | None = None
        self._error: OSError | None = None
        self._settled, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._keep, name="dsbench-child", daemon=True).start()
        try:
            self._settled.wait()
        except BaseException:  # A signal that became an exception: the thread may have started it already.
            self._settled.wait()
            self.end(0.0)
            raise
        if self._error is not None:
            raise ChildError(f"{name} cannot be started: {self._error}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        assert self._started is not None
        return self._started.pid

    @property
    def code(self) -> int | None:
        """What it ended with; ``None`` while it goes on."""
        return self._started.returncode if self._ended.is_set() and self._started is not None else None

    def end(self, patience_s: float = _PATIENCE_S) -> None:
        """Asks it to end, and kills it with all of its session after ``patience_s``. Once more is nothing."""
        if self._started is None:
            return
        self._ask_to_end(self._started)
        if not self._ended.wait(patience_s):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._ended.wait(_KILLED_S)

    def _keep(self) -> None:
        try:
            self._started = subprocess.Popen(
                self._command, env=self._env, cwd=self._cwd, start_new_session=True, bufsize=0,
                stdin=self._stdin, stdout=subprocess.PIPE, stderr=self._stderr,
            )  # fmt: skip
        except OSError as error:
            self._error = error
            return
        finally:
            self._settled.set()
        assert self._started.stdout is not None
        with self._started.stdout as output:
            self._hear(output.fileno())
        self._started.wait()
        self._ended.set()

    def _ask_to_end(self, started: subprocess.Popen[bytes]) -> None:
        """Asks it to end in order."""
        started.terminate()

    @abstractmethod
    def _hear(self, output: int) -> None:
        """Takes all that it writes."""


class ChildProgram(_Process):
    """Another program, which gets no input. What it prints is kept."""

    def __init__(self, name: str, command: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        """``ChildError`` where it cannot be started."""
        self._said = bytearray()
        super().__init__(name, command, env=env, cwd=cwd)

    def wait(self) -> str:
        """What it printed, once it has ended. ``ChildError`` has that where the exit code is not 0."""
        self._ended.wait()
        said = self._said.decode(errors="replace")
        if self.code:
            raise ChildError(f"{self.name} was {_how(self.code)}", self.code, said)
        return said

    def _hear(self, output: int) -> None:
        while piece := os.read(output, _PIECE):
            self._said += piece


class Task:
    """What a child does: the questions of the process that started it are the names of its methods."""

    outlives: ClassVar[bool] = False
    """Whether what was asked is brought to its end when the process that asked is gone."""

    def __init__(self, say: Callable[[Any], None]) -> None:
        """``say`` passes on what comes before an answer."""
        self.say = say

    def told(self, value: Any) -> None:
        """Takes what is told in the midst of a question, in another thread."""

    def close(self) -> None:
        """Ends, when nothing more will be asked."""


class Child(_Process):
    """A process of Python with a ``Task``. Where it ends, or cannot be asked, its answer is a ``ChildError``."""

    def __init__(self, task: type[Task], name: str, *, shown: bool = True) -> None:
        """``name`` is what an error calls it; ``shown``: what it says of errors is for the screen, too."""
        # Its modules are found as those of this process. A folder called dsbench where the user stands is none of ours.
        paths = [str(Path(release.__file__).parents[1]), *(path for path in sys.path if path)]
        command = [sys.executable, "-P", "-c", _SERVE, f"{task.__module__}:{task.__qualname__}", *paths]
        self._heard: queue.SimpleQueue[tuple[_MessageKind, bytes] | None] = queue.SimpleQueue()
        self._shown, self._sending, self._words = shown, threading.Lock(), deque[str](maxlen=_LINES)
        self._telling: threading.Thread | None = None
        # What outlives this process must not write to it.
        stderr = subprocess.DEVNULL if task.outlives else subprocess.PIPE
        super().__init__(name, command, dies=not task.outlives, stdin=subprocess.PIPE, stderr=stderr)

    def ask(self, question: str, *values: Any) -> None:
        """Asks the method ``question`` of the task, which ``answer`` waits for. One that has ended is told there."""
        self._send(_MessageKind.ASK, (question, values))

    def tell(self, value: Any) -> None:
        """Tells the task something that needs no answer."""
        self._send(_MessageKind.TELL, value)

    def answer(self, said: Callable[[Any], None] | None = None, look: Callable[[], None] | None = None) -> Any:
        """The answer to the oldest question; raises what its method raised.

        ``said`` hears what is said before it. ``look`` is called ten times a second meanwhile, and may raise.
        """
        while True:
            if look is not None:
                look()
            try:
                message = self._heard.get(timeout=None if look is None else _LOOK_S)
            except queue.Empty:
                continue
            if message is None:
                self._heard.put(None)
                raise self._gone()
            kind, value = message[0], pickle.loads(message[1])
            if kind is _MessageKind.FAILURE:
                raise value
            if kind is _MessageKind.ANSWER:
                return value
            if said is not None:
                said(value)

    @property
    def has_answered(self) -> bool:
        """Whether ``answer`` need not wait."""
        return not self._heard.empty()

    def leave(self) -> None:
        """Says that nothing more will be asked."""
        assert self._started is not None
        assert self._started.stdin is not None
        with self._sending, suppress(OSError):
            self._started.stdin.close()

    def _send(self, kind: _MessageKind, value: object) -> None:
        assert self._started is not None
        assert self._started.stdin is not None
        with self._sending, suppress(OSError, ValueError):  # It has ended, which the answer tells.
            _send(self._started.stdin.fileno(), kind, value)

    def _ask_to_end(self, started: subprocess.Popen[bytes]) -> None:
        del started
        self.leave()

    def _hear(self, output: int) -> None:
        assert self._started is not None
        if self._started.stderr is not None:
            self._telling = threading.Thread(target=self._relay, args=(self._started.stderr,), daemon=True)
            self._telling.start()
        for message in _received(output):
            self._heard.put(message)
        self._heard.put(None)

    def _relay(self, errors: IO[bytes]) -> None:
        with errors:
            for line in errors:
                self._words.append(line.decode(errors="replace"))
                if self._shown:
                    with suppress(OSError, ValueError, AttributeError):  # There is no screen, or none any more.
                        sys.stderr.write(self._words[-1])
                        sys.stderr.flush()

    def _gone(self) -> ChildError:
        self.end()
        if self._telling is not None:
            self._telling.join(_PATIENCE_S)  # What it has started may still hold the other end.
        how = "deaf, and cannot be killed," if self.code is None else _how(self.code)
        problem = f"the process of {self.name} was {how} before it returned a result"
        return ChildError(problem, self.code, "".join(self._words).strip())


def _how(code: int) -> str:
    if code >= 0:
        return f"over with exit code {code}"
    return f"ended by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"ended by signal {-code}"


class _Serving:
    """The other end: questions come in, and answers go out."""

    def __init__(self) -> None:
        # What others print must not come between the answers, nor what they read take the questions.
        self._given, self._answers = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        self._asked: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._open, self._counting, self._sending = 0, threading.Lock(), threading.Lock()

    def say(self, value: object) -> None:
        self._send(_MessageKind.TELL, value)

    def serve(self, task: Task) -> None:
        threading.Thread(target=self._listen, args=(task,), daemon=True).start()
        while (asked := self._asked.get()) is not None:
            kind, value = _MessageKind.ANSWER, None
            try:
                question, values = pickle.loads(asked)
                value = getattr(task, question)(*values)
            except BaseException as error:
                kind, value = _MessageKind.FAILURE, _carried(error)
            self._count(-1)
            try:
                self._send(kind, value)
            except Exception as error:  # It is nothing that can be sent.
                self._send(_MessageKind.FAILURE, _carried(error))
        task.close()

    def _listen(self, task: Task) -> None:
        try:
            for kind, data in _received(self._given):
                if kind is _MessageKind.TELL:
                    task.told(pickle.loads(data))
                else:
                    self._count(1)
                    self._asked.put(data)
        finally:
            self._asked.put(None)
            if self._open and not task.outlives:
                os.killpg(0, signal.SIGKILL)  # What waits for a server would stay for ever.

    def _count(self, more: int) -> None:
        with self._counting:
            self._open += more

    def _send(self, kind: _MessageKind, value: object) -> None:
        with self._sending, suppress(OSError):  # The other end is gone, and this process about to end.
            _send(self._answers, kind, value)


def _carried(error: BaseException) -> BaseException:
    """An error of dsbench as it is. Of others there is a traceback, as the other side may not have their modules."""
    if type(error).__module__.partition(".")[0] == __name__.partition(".")[0]:
        with suppress(Exception):
            return pickle.loads(pickle.dumps(error))  # type: ignore[no-any-return]
    traceback.print_exception(error)
    said = "".join(traceback.format_exception(error, limit=-3)).strip()
    return ChildError(repr(error), said=said, remedy="see the messages of the process above")


def serve(where: str) -> None:
    """Answers the questions that come through standard input, by the task at ``where`` ("module:class")."""
    serving = _Serving()
    module, _, name = where.partition(":")
    task: type[Task] = getattr(import_module(module), name)
    serving.serve(task(serving.say))


def can_die_with_us() -> bool:
    """Whether a program can be started so that the kernel ends it with this one."""
    return _setpriv() is not None


def dying_with_us(signal: str) -> list[str]:
    """Words before a command, by which it gets ``signal``, such as KILL, when the *thread* that started it ends.

    Empty where the machine cannot do so (it takes Linux, and setpriv of util-linux).
    """
    path = _setpriv()
    return [path, "--pdeathsig", signal, "--"] if path else []


@functools.cache
def _setpriv() -> str | None:
    path = shutil.which("setpriv")
    if path is None:
        return None
    says = subprocess.run([path, "--help"], capture_output=True, text=True, check=False)
    return path if "--pdeathsig" in says.stdout + says.stderr else None
