"""A run as Prometheus reads it."""

from __future__ import annotations

import socket
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.cli.metrics import Metrics, exported, text
from dsbench.measure.moments import Moment, Silent
from dsbench.measure.run import execute
from dsbench.spec import SpecError, build
from fixtures.waiting import until


class Heard(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def message(self, text: str) -> None:
        self.said.append(text)


def test_counters_only_grow_and_text_cannot_break_the_format() -> None:
    metrics = Metrics(Silent(), build({"target": {"url": "postgresql://me:geheim@h/d"}, "label": 'a"b\\'}))
    for cycle, done in ((0, 99), (1, 10), (1, 25), (2, 5), (2, 7)):
        metrics.moment(Moment(1, 1, 1, "cycle", cycle=cycle, done=done, failed=1, elapsed_s=1.0))
    metrics.moment(Moment(1, 1, 1, "check", done=99))
    lines = text(metrics.series()).splitlines()
    assert "dsbench_committed_total 32" in lines
    assert "dsbench_failed_total 2" in lines
    assert 'dsbench_phase{phase="check"} 1' in lines
    assert 'dsbench_info{workload="tpcb",target="postgresql://me:***@h/d",label="a\\"b\\\\"} 1' in lines


def test_at_the_end_of_a_run_its_counter_is_that_of_the_archive(tmp_path: Path) -> None:
    spec = build({"target": {"url": "mock:"}, "workload": "select", "scales": [1], "cycles": 2, "duration": 0.2})
    metrics = Metrics(Silent(), spec)
    done = execute(spec, tmp_path, metrics)
    committed = sum(row["committed"] for row in Archive.open(done.archive).table("cycles").to_pylist())
    (told,) = [one.value for one in metrics.series() if one.name == "dsbench_committed_total"]
    assert told == committed > 0


def test_it_is_served_while_the_run_goes_on() -> None:
    spec, heard = build({}), Heard()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SpecError, match="--metrics"), exported(Silent(), spec, str(taken.getsockname()[1])):
            pass
    with exported(heard, spec, "127.0.0.1:0") as observer:
        observer.moment(Moment(5, 1, 1, "populate"))
        with urllib.request.urlopen(heard.said[0].removeprefix("metrics: ")) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"dsbench_scale 5\n" in answer.read()


def test_requests_that_never_end_take_few_threads_and_shut_nobody_out() -> None:
    heard = Heard()
    with exported(heard, build({}), "127.0.0.1:0"):
        address = heard.said[0].removeprefix("metrics: ")
        port = int(address.rpartition(":")[2].partition("/")[0])
        before = threading.active_count()
        crowd = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(100)]
        try:
            for one in crowd:
                one.sendall(b"GET /metrics HTTP/1.1\r\nA: ")
            for one in crowd[:80]:
                with suppress(ConnectionResetError):
                    assert one.recv(1) == b""
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"dsbench_" in answer.read()
            assert until(lambda: threading.active_count() - before <= 20)
        finally:
            for one in crowd:
                one.close()
