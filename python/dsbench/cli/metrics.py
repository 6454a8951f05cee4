"""``--metrics``: how a run goes on, as Prometheus reads it, over HTTP; and ``--otlp`` beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from dsbench.cli.series import Metrics, Series
from dsbench.runner import Observer
from dsbench.spec import RunSpec, SpecError

_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


def text(series: list[Series]) -> str:
    """In the format of Prometheus."""
    return "".join(map(_lines, series))


def _lines(one: Series) -> str:
    inner = ",".join(f'{key}="{_escaped(words)}"' for key, words in one.labels.items() if words)
    shown = f"{{{inner}}}" if inner else ""
    return f"# HELP {one.name} {one.told}\n# TYPE {one.name} {one.kind}\n{one.name}{shown} {one.value:.10g}\n"


def _escaped(words: str) -> str:
    return words.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@contextmanager
def exported(observer: Observer, spec: RunSpec, where: str, collector: str = "") -> Iterator[Observer]:
    """``observer``, whose run Prometheus can read at ``where``, a port of this machine or HOST:PORT, and whose figures
    the OpenTelemetry ``collector``, a URL, is sent.

    Without either it is ``observer`` itself. ``SpecError`` where that cannot be listened on, or is no such URL.
    """
    if not where and not collector:
        yield observer
        return
    metrics = Metrics(observer, spec)
    with ExitStack() as held:
        if where:
            held.enter_context(_served(metrics, where))
        if collector:
            from dsbench.cli.otlp import sending  # Late: few runs have a collector.

            held.callback(metrics.tell_trouble)
            metrics.trouble = held.enter_context(sending(collector, metrics.series))
        yield metrics


@contextmanager
def _served(metrics: Metrics, where: str) -> Iterator[None]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/metrics"
            body = text(metrics.series()).encode() if known else b"see /metrics\n"
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", _FORMAT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing: the screen is the run's."""

    host, _, port = where.rpartition(":")
    try:
        server = ThreadingHTTPServer((host or "127.0.0.1", int(port)), Answering)
    except (OSError, ValueError, OverflowError) as error:
        words = f"cannot listen on {where[:60]!r}: {getattr(error, 'strerror', '') or error}"
        raise SpecError("--metrics", words, "name a free port of this machine, or HOST:PORT") from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
    metrics.message(f"metrics: http://{host or '127.0.0.1'}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
