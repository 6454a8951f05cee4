"""A run as Prometheus reads it."""

from __future__ import annotations

import socket
import urllib.request

import pytest

from dsbench.cli.metrics import Metrics, exported
from dsbench.runner import Moment, Silent
from dsbench.spec import SpecError, build


class Heard(Silent):
    said = ""

    def message(self, text: str) -> None:
        self.said = text


def test_counters_only_grow_and_text_cannot_break_the_format() -> None:
    metrics = Metrics(Silent(), build({"target": {"url": "postgresql://me:geheim@h/d"}, "label": 'a"b\\'}))
    for cycle, done in ((1, 10), (1, 25), (2, 5), (2, 7)):
        metrics.moment(Moment(1, 1, 1, "cycle", cycle=cycle, done=done, failed=1, elapsed_s=1.0))
    metrics.moment(Moment(1, 1, 1, "check", done=99))
    lines = metrics.text().splitlines()
    assert "dsbench_committed_total 32" in lines
    assert "dsbench_failed_total 2" in lines
    assert 'dsbench_phase{phase="check"} 1' in lines
    assert 'dsbench_info{workload="tpcb",target="postgresql://me:***@h/d",label="a\\"b\\\\"} 1' in lines


def test_it_is_served_while_the_run_goes_on() -> None:
    spec, heard = build({}), Heard()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(SpecError, match="--metrics"), exported(Silent(), spec, str(taken.getsockname()[1])):
            pass
    with exported(heard, spec, "127.0.0.1:0") as observer:
        observer.moment(Moment(5, 1, 1, "populate"))
        with urllib.request.urlopen(heard.said.removeprefix("metrics: ")) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"dsbench_scale 5\n" in answer.read()
