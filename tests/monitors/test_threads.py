"""What threads wait in, by the system calls that the kernel tells."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path

import pytest

from dsbench.measure.monitors import Known, Sampler
from dsbench.measure.monitors.machine import RUN
from dsbench.measure.monitors.monitor import Value
from dsbench.measure.monitors.system import Pressure, RoundTrip
from dsbench.measure.monitors.threads import STATES, ThreadSampler, state_of

pytestmark = pytest.mark.skipif(not ThreadSampler.readable(), reason="the kernel tells no system calls")


def test_states_of_system_calls() -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("numbers of x86")
    files = {5: "/data/file", 6: "socket:[12]"}
    assert state_of(b"running\n", files.__getitem__) == "running"
    assert state_of(b"-1 0x7ffd 0x7f00\n", files.__getitem__) == "fault"
    found = {number: state_of(f"{number} 0x5 0x0".encode(), files.__getitem__) for number in (75, 17, 1, 202, 232, 230)}
    assert found == {75: "flush", 17: "read", 1: "write", 202: "lock", 232: "idle", 230: "sleep"}
    assert state_of(b"0 0x6 0x0", files.__getitem__) == "idle"


def test_threads_of_this_process_are_seen_in_their_calls(tmp_path: Path) -> None:
    """Two threads named as those that make load: one waits for a lock, one for a message."""
    here, there = socket.socketpair()
    lock = threading.Lock()
    lock.acquire()

    def wait(what: str) -> None:
        Path("/proc/thread-self/comm").write_text(f"client-{what}")
        if what == "lock":
            lock.acquire()
        else:
            here.recv(1)

    threads = [threading.Thread(target=wait, args=(what,), daemon=True) for what in ("lock", "idle")]
    for thread in threads:
        thread.start()
    watched = ThreadSampler(RUN, Known({os.getpid(): RUN}))
    seen: dict[str, float] = {}
    deadline = time.monotonic() + 30
    while (seen.get("lock"), seen.get("idle")) != (1.0, 1.0) and time.monotonic() < deadline:
        watched.begin()
        watched.look()
        seen = {metric: value for metric, _, value in watched.sample()}
    there.send(b"x")
    lock.release()
    for thread in threads:
        thread.join()
    here.close()
    there.close()
    assert (seen["lock"], seen["idle"]) == (1.0, 1.0)
    assert seen["ran"] > 0
    assert set(seen) <= {*STATES, "looks", "ran", "queued", "throttled"}


def test_time_for_which_a_quota_denied_a_cpu_is_that_of_the_control_group(tmp_path: Path) -> None:
    task = tmp_path / "proc/7/task/7"
    task.mkdir(parents=True)
    for name, text in (("syscall", "running"), ("comm", "client-1"), ("schedstat", "2000000000 1000000000 5")):
        (task / name).write_text(text)
    (tmp_path / "proc/7/cgroup").write_text("0::/box\n")
    group = tmp_path / "sys/fs/cgroup/box"
    group.mkdir(parents=True)
    (group / "cpu.stat").write_text("usage_usec 5\nthrottled_usec 1500000\n")
    watched = ThreadSampler(RUN, Known({}), lambda: [7], tmp_path / "proc")
    watched.begin()
    told = {metric: (unit, value) for metric, unit, value in watched.sample()}
    assert told["throttled"] == ("s total", 1.5)
    assert told["queued"] == ("s total", 1.0)
    (group / "cpu.stat").write_text("usage_usec 5\n")
    assert "throttled" not in {metric for metric, _, _ in watched.sample()}, "without a quota"


class Looking:
    name = "looking"

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.begun = self.looks = 0

    def begin(self) -> None:
        self.begun += 1

    def look(self) -> None:
        self.looks += 1

    def sample(self) -> list[Value]:
        return [("looks", "count", self.looks)]


def test_frequent_monitors_look_between_samples() -> None:
    looking = Looking()
    beside = Sampler([looking])
    beside.start(time.monotonic_ns())
    deadline = time.monotonic() + 30
    while looking.looks < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    rows = beside.stop()
    assert looking.begun == 1
    assert looking.looks >= 3
    assert rows[0]["value"] == 0
    assert rows[-1]["value"] >= 3


def test_round_trips_are_those_of_sockets_beyond_this_machine() -> None:
    """A loopback without a delay is no network: the kernel hands messages over within the calls of both sides."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        assert RoundTrip(server.getsockname()[1]).sample() == []


def test_pressure_is_read_as_the_kernel_tells_it(tmp_path: Path) -> None:
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure" / "io").write_text("some avg10=1.00 avg60=0.00 avg300=0.00 total=2500000\n")
    assert Pressure(tmp_path).sample() == [("io", "s total", 2.5)]
