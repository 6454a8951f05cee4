"""Processes that are started here, with real ones: what they say, how they fail, and that none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from dsbench.children import Child, ChildError, ChildProgram, Task, can_die_with_us
from dsbench.measure.journal import RunError
from dsbench.spec import NotHere
from fixtures.private import has_ended
from fixtures.waiting import until


class Working(Task):
    """What the children of these tests do."""

    def __init__(self, say: Any) -> None:
        super().__init__(say)
        self._heard = threading.Event()

    def told(self, value: Any) -> None:
        self.say(("heard", value))
        self._heard.set()

    def add(self, *values: Any) -> Any:
        for value in values[:-1]:
            self.say(value)
        return sum(values)

    def large(self, size: int) -> bytes:
        return bytes(size)

    def refuse(self) -> None:
        raise NotHere("--client", "no psycopg here", "install it")

    def leave_an_archive(self) -> None:
        error = RunError("it is full", "free space", usage=True)
        error.archive = Path("a.zip")
        raise error

    def err(self) -> None:
        raise ZeroDivisionError("of a module that the other side may lack")

    def unsendable(self) -> Any:
        return threading.Lock()

    def wait_until_told(self) -> str:
        assert self._heard.wait(60)
        return "told"

    def hang(self) -> None:
        self.say(os.getpid())
        time.sleep(600)

    def hang_with_others(self) -> None:
        with subprocess.Popen(["sleep", "600"]) as other:
            self.say(other.pid)

    def print(self, words: str) -> int:
        print(words)
        os.write(1, b"not an answer\n")
        return len(sys.stdin.read())

    def fall(self, code: int) -> None:
        print("the last words", file=sys.stderr, flush=True)
        os._exit(code)

    def fall_silent(self) -> None:
        os.closerange(3, 64)
        time.sleep(600)


class Staying(Task):
    """Brings what was asked to its end, though nobody waits for it."""

    outlives = True

    def write(self, path: Path, pause_s: float) -> None:
        self.say(os.getpid())
        time.sleep(pause_s)
        path.write_text("done")

    def close(self) -> None:
        self.say("closed")


class Broken(Task):
    """Cannot be made."""

    def __init__(self, say: Any) -> None:
        super().__init__(say)
        raise ValueError("no such task")


def test_an_answer_comes_after_what_was_said_before_it() -> None:
    with Child(Working, "the test") as child:
        said: list[Any] = []
        child.ask("add", 1, 2.5, 3)
        assert child.answer(said.append) == 6.5
        assert said == [1, 2.5]
        child.ask("add", 1)
        child.ask("add", 2)
        assert [child.answer(), child.answer()] == [1, 2], "each question has its own"
        child.ask("large", 3_000_000)
        assert child.answer() == bytes(3_000_000)
    assert child.code == 0
    assert not psutil.pid_exists(child.pid)


def test_what_is_told_in_the_midst_of_a_question_is_heard() -> None:
    with Child(Working, "the test") as child:
        said: list[Any] = []
        child.ask("wait_until_told")
        child.tell({"stop": 15})
        assert child.answer(said.append) == "told"
        assert said == [("heard", {"stop": 15})]


def test_what_others_print_and_read_is_no_message(capfd: pytest.CaptureFixture[str]) -> None:
    with Child(Working, "the test") as child:
        child.ask("print", "loud")
        assert child.answer() == 0
    shown = until(lambda: "loud" in (text := "".join(capfd.readouterr())) or "not an answer" in text, 30)
    assert shown, "it is for the screen"


def test_an_error_of_dsbench_comes_as_what_it_is() -> None:
    with Child(Working, "the test") as child:
        child.ask("refuse")
        with pytest.raises(NotHere, match="no psycopg here") as refused:
            child.answer()
        assert (refused.value.option, refused.value.remedy, refused.value.usage) == ("--client", "install it", True)
        child.ask("leave_an_archive")
        with pytest.raises(RunError) as failed:
            child.answer()
        assert (failed.value.archive, failed.value.usage) == (Path("a.zip"), True)
        child.ask("add", 1)
        assert child.answer() == 1, "it goes on"


@pytest.mark.parametrize(("question", "words"), [("err", "ZeroDivisionError"), ("unsendable", "lock"), ("absent", "absent")])
def test_any_other_error_is_told_by_its_words(question: str, words: str) -> None:
    with Child(Working, "the test", shown=False) as child:
        child.ask(question)
        with pytest.raises(ChildError, match=words) as failed:
            child.answer()
        assert failed.value.code is None
        assert "Traceback" in failed.value.said
        child.ask("add", 1)
        assert child.answer() == 1, "it goes on"


def test_a_child_that_was_killed_says_by_what() -> None:
    with Child(Working, "the test") as child:
        child.ask("hang")
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(ChildError, match="the process of the test was ended by SIGKILL before it returned") as failed:
            child.answer()
        assert failed.value.code == -signal.SIGKILL
        child.ask("add", 1)
        with pytest.raises(ChildError, match="SIGKILL"):
            child.answer()


@pytest.mark.parametrize("shown", [True, False])
def test_a_child_that_answers_nothing_has_failed(shown: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with Child(Working, "the test", shown=shown) as child:
        child.ask("fall", 0)
        with pytest.raises(ChildError, match="over with exit code 0 before it returned a result") as failed:
            child.answer()
    assert (failed.value.code, failed.value.said) == (0, "the last words")
    assert ("the last words" in capsys.readouterr().err) == shown


def test_a_child_that_closes_its_mouth_and_stays_is_ended() -> None:
    with Child(Working, "the test") as child:
        child.ask("fall_silent")
        with pytest.raises(ChildError, match="before it returned a result"):
            child.answer()
        assert has_ended(child.pid)


def test_a_task_that_cannot_be_made_is_told_with_its_reason() -> None:
    with Child(Broken, "the test", shown=False) as child:
        child.ask("anything")
        with pytest.raises(ChildError, match="over with exit code 1") as failed:
            child.answer()
    assert failed.value.said.endswith("ValueError: no such task")


def test_a_child_is_ended_in_the_midst_of_a_question_and_with_all_that_it_started() -> None:
    others: list[int] = []

    def look() -> None:
        if others:
            raise KeyboardInterrupt

    with Child(Working, "the test") as child:
        child.ask("hang_with_others")
        with pytest.raises(KeyboardInterrupt):
            child.answer(others.append, look)
    assert has_ended(child.pid)
    assert until(lambda: has_ended(others[0]), 60)
    child.end()


def test_a_child_that_stands_still_is_killed() -> None:
    with Child(Working, "the test") as child:
        child.ask("add", 1)
        child.answer()
        os.kill(child.pid, signal.SIGSTOP)
        child.end(0.1)
        assert child.code == -signal.SIGKILL


def test_whoever_looks_meanwhile_may_end_the_wait() -> None:
    class EnoughError(Exception):
        pass

    def look() -> None:
        raise EnoughError

    with Child(Working, "the test") as child:
        child.ask("hang")
        with pytest.raises(EnoughError):
            child.answer(look=look)
    assert has_ended(child.pid)


PARENT = """
import sys
sys.path[:0] = [{tests!r}]
from test_children import *
if {kind!r} == "child":
    with Child(Working, "the test") as child:
        child.ask("hang")
        child.answer(lambda pid: print(pid, flush=True))
else:
    program = ChildProgram("sleep", ["sleep", "600"], {{"PATH": "/usr/bin:/bin"}}, Path("/"))
    print(program.pid, flush=True)
    try:
        program.wait()
    finally:
        program.end()
"""


@pytest.mark.parametrize("kind", ["child", "program"])
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_its_parent_is_that_of_a_child(kind: str, by: signal.Signals) -> None:
    if kind == "program" and by == signal.SIGKILL and not can_die_with_us():
        pytest.skip("setpriv is missing")
    code = PARENT.format(tests=str(Path(__file__).parent), kind=kind)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not has_ended(pid)
        parent.send_signal(by)
        assert parent.wait(60) == -by
    assert until(lambda: has_ended(pid), 60)


def test_a_task_that_outlives_its_parent_is_brought_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "made"
    code = (
        f"import sys, os; sys.path[:0] = [{str(Path(__file__).parent)!r}]\nfrom test_children import *\n"
        f"child = Child(Staying, 'the test'); child.ask('write', Path({str(file)!r}), 1.0); child.leave()\n"
        "child.answer(lambda pid: (print(pid, flush=True), os.kill(os.getpid(), 9)))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not file.exists()
    assert until(file.exists, 60)
    assert until(lambda: has_ended(int(done.stdout)), 60)


def test_a_program_says_what_it_printed_or_how_it_failed(tmp_path: Path) -> None:
    env = {"PATH": "/usr/bin:/bin"}
    assert ChildProgram("sh", ["sh", "-c", "pwd; echo x >&2"], env, tmp_path).wait() == f"{tmp_path}\nx\n"
    with pytest.raises(ChildError, match="sh was over with exit code 3") as failed:
        ChildProgram("sh", ["sh", "-c", "echo why; exit 3"], env, tmp_path).wait()
    assert (failed.value.code, failed.value.said) == (3, "why\n")
    program = ChildProgram("sleep", ["sh", "-c", "trap '' TERM; echo deaf; sleep 600 & wait; wait"], env, tmp_path)
    assert until(lambda: b"deaf" in program._said)
    program.end(0.2)
    with pytest.raises(ChildError, match="ended by SIGKILL"):
        program.wait()
    with pytest.raises(ChildError, match="absent cannot be started"):
        ChildProgram("absent", ["./absent"], {}, tmp_path / "nowhere")
