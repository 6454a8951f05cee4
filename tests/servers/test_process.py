"""The process of a server, whatever program it is."""

from __future__ import annotations

import signal
from pathlib import Path

from dsbench.servers.process import Process
from fixtures.waiting import until

DEAF = "trap '' TERM; echo deaf; sleep 0.3; trap 'exit 7' TERM; while :; do sleep 0.05; done"


def test_a_program_that_was_not_listening_yet_is_told_to_end_once_more(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = Process(["/bin/sh", "-c", DEAF], user=None, env={"PATH": "/usr/bin:/bin"}, log=log, ending=signal.SIGTERM)
    assert until(lambda: log.read_text() == "deaf\n")
    process.stop(20)
    assert process._popen is not None
    assert process._popen.returncode == 7, "by the first signal, not by a harder one"
