"""A run as Prometheus reads it, and as an OpenTelemetry collector is sent it."""

from __future__ import annotations

import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.cli import metrics as otlp
from dsbench.cli.metrics import Metrics, exported, sending, text
from dsbench.measure.events import Moment, Silent
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


class Collector(ThreadingHTTPServer):
    """Takes what is sent to ``/v1/metrics``."""

    daemon_threads = True

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.came = threading.Event()
        owner = self

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                well = self.path == "/v1/metrics" and self.headers["Content-Type"] == "application/json"
                if well:
                    owner.got.append(json.loads(body))
                    owner.keys.append(self.headers["x-key"])
                self.send_response(200 if well else 404)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")
                owner.came.set()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Taking)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_collector_is_sent_the_series_that_prometheus_reads(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3%20cret, other=1")
    spec = build({"target": {"url": "postgresql://me:geheim@h/d"}})
    metrics = Metrics(Silent(), spec)
    metrics.moment(Moment(5, 1, 1, "cycle", cycle=2, done=30, failed=1, elapsed_s=3.0, times=[(0.001, 0.5)], cpus=(0.25, 1.5)))
    with sending(f"http://127.0.0.1:{collector.server_port}", metrics.series, every_s=0.01) as problem:
        assert collector.came.wait(20)
    assert problem() == ""
    assert set(collector.keys) == {"s3 cret"}
    (resource,) = collector.got[-1]["resourceMetrics"]
    assert {"key": "service.name", "value": {"stringValue": "dsbench"}} in resource["resource"]["attributes"]
    (scope,) = resource["scopeMetrics"]
    sent: dict[str, float] = {}
    for one in scope["metrics"]:
        kind = one.get("sum") or one["gauge"]
        (point,) = kind["dataPoints"]
        assert int(point["timeUnixNano"]) > int(point.get("startTimeUnixNano", 0)) >= 0
        assert kind.get("isMonotonic", False) is one["name"].endswith("_total")
        sent[one["name"]] = point["asDouble"]
    assert sent == {one.name: one.value for one in metrics.series()}
    assert sent["dsbench_residence_p99_seconds"] == 0.5
    assert "geheim" not in json.dumps(collector.got)


def test_a_collector_that_is_not_there_is_told_once_and_a_wrong_address_is_refused() -> None:
    heard = Heard()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # Bound and not listening: nobody else has it, and it refuses.
        with exported(heard, build({}), "", f"http://127.0.0.1:{free.getsockname()[1]}") as told:
            told.moment(Moment(1, 1, 1, "populate"))
    (said,) = heard.said
    assert "no figures reach" in said
    for wrong in ("localhost:4318", "ftp://h", "http://me:geheim@h:4318", "http://h:x"):
        with pytest.raises(SpecError, match="--otlp") as raised, exported(Silent(), build({}), "", wrong):
            pass
        assert "geheim" not in str(raised.value)


def test_a_collector_that_answers_nothing_or_nonsense_does_not_hold_the_run_up(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    monkeypatch.setattr(otlp, "_LAST_S", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with exported(heard, build({}), "", f"http://127.0.0.1:{silent.getsockname()[1]}"):
            pass
        (thread,) = [one for one in threading.enumerate() if one.name == "otlp"] or [None]
        assert ["reach" in said for said in heard.said] == [True]
        if thread is not None:
            thread.join(20)
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer() -> None:
            peer, _ = server.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(b"220 mail ready\r\n")

        threading.Thread(target=answer, daemon=True).start()
        monkeypatch.setattr(otlp, "_LAST_S", 20.0)
        with sending(f"http://127.0.0.1:{server.getsockname()[1]}", list) as problem:
            pass
    assert "220 mail ready" in problem()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=geheim%0Ax")
    with sending("http://127.0.0.1:9", list) as problem:
        pass
    assert "OTEL_EXPORTER_OTLP_HEADERS" in problem()
    assert "geheim" not in problem()
