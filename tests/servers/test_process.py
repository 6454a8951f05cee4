"""The process of a server, whatever program it is."""

from __future__ import annotations

import signal
from pathlib import Path

from dsbench.servers.process import Process, ask
from fixtures.waiting import until

DEAF = "trap '' TERM; echo deaf; sleep 0.3; trap 'exit 7' TERM; while :; do sleep 0.05; done"


def test_a_program_that_was_not_listening_yet_is_told_to_end_once_more(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = Process(["/bin/sh", "-c", DEAF], user=None, env={"PATH": "/usr/bin:/bin"}, log=log, ending=signal.SIGTERM)
    assert until(lambda: log.read_text() == "deaf\n")
    process.stop(20)
    assert process._popen is not None
    assert process._popen.returncode == 7, "by the first signal, not by a harder one"


def test_a_program_is_asked_once_for_each_state_of_its_file(tmp_path: Path) -> None:
    asked, program = tmp_path / "asked", tmp_path / "program"

    def make(end: str) -> None:
        program.write_text(f"#!/bin/sh\necho x >> {asked}\necho version 15; {end}\n")
        program.chmod(0o755)

    assert ask(program, "--version") == "", "it is not there"
    make("kill -9 $$")
    assert [ask(program, "--version") for _ in range(2)] == ["", ""]
    assert len(asked.read_text()) == 4, "one that was killed is asked again"
    make("exit 1")
    assert [ask(program, "--version") for _ in range(2)] == ["version 15\n"] * 2
    assert len(asked.read_text()) == 6
    make("exit 0 # changed")
    assert ask(program, "--version") == "version 15\n"
    assert len(asked.read_text()) == 8
