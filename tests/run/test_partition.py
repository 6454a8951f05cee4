"""A server that is cut off from its clients: they wait, lose nothing, and nothing of the network stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.outage import OutageResult
from dsbench.servers.errors import ServerError
from dsbench.servers.network import Network
from dsbench.spec import build
from fixtures import network
from fixtures.kept import data_of, servers_of
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

pytestmark = pytest.mark.skipif(not network.possible(), reason="no networks can be made here")
PRODUCTS = [pytest.param(f"private:{name}", id=name) for name in ("postgresql", "mariadb", "mysql")]


def ends(pid: int) -> set[str]:
    """The ends of cables of servers of the process ``pid``."""
    said = subprocess.run(["ip", "-o", "link", "show", "type", "veth"], capture_output=True, text=True, check=True)
    return set(re.findall(rf"\b(dsb{pid:06x}[0-9a-f]{{4}})@", said.stdout))


@pytest.mark.parametrize("target", mostly_thorough(PRODUCTS, "postgresql", "mariadb"))
@unless_stalled
def test_clients_wait_and_nothing_is_lost(target: str, tmp_path: Path) -> None:
    before = data_of(os.getpid())
    asked = {"scales": (2,), "cycles": 2, "duration": 8.0, "clients": 4, "event": "2s:partition 1s", "samples": 0}
    outcome = execute(build({"target": {"url": target}, **asked}), tmp_path, Silent())
    assert (outcome.status, outcome.error, outcome.void_scales) == ("complete", None, ()), outcome.error
    evaluation = evaluate(Archive.open(outcome.archive))
    found = evaluation.of(OutageResult).events[2]
    assert [(one.cycle, one.text, one.error) for one in found] == [(1, "partition of 1 s", ""), (2, "partition of 1 s", "")]
    for one in found:
        assert one.outage.length_ns > 1e9
        assert one.changed == "", "the server stays itself"
    assert evaluation.of(OutageResult).commits[2].lost == 0
    assert Archive.open(outcome.archive).table("errors").num_rows == 0, "nothing tells the clients"
    assert data_of(os.getpid()) == before
    assert not ends(os.getpid())


def test_a_network_goes_with_the_program_that_was_killed(tmp_path: Path) -> None:
    words = ["--scales", "1", "--duration", "110", "--event", "2s:partition 50s", "--out", str(tmp_path)]
    give_up = time.monotonic() + 120
    running = subprocess.Popen([sys.executable, "-m", "dsbench", "run", "private:postgresql", *words])

    def is_cut(end: str) -> bool:
        with suppress(OSError):
            return Path(f"/sys/class/net/{end}/carrier").read_text().strip() == "0"
        return False

    try:
        # Its ends have no carrier either before it is there, which is before the server is.
        while not ((servers := servers_of(running.pid, "postgres")) and any(is_cut(end) for end in ends(running.pid))):
            assert time.monotonic() < give_up
            time.sleep(0.1)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    while (ends(running.pid) or any(one.is_running() for one in servers)) and time.monotonic() < give_up:
        time.sleep(0.1)
    assert not ends(running.pid)
    assert not any(one.is_running() for one in servers)


def test_who_may_not_make_a_network_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsbench.servers.network._NEWNET", -1)
    with pytest.raises(ServerError, match="a network of the server's own cannot be made") as refused:
        Network()
    assert "as root" in refused.value.remedy
