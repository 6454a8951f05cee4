"""``--metrics``: how a run goes on, as Prometheus reads it, over HTTP; and ``--otlp`` beside it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from dsbench.cli.series import Metrics, Series
from dsbench.measure.events import Observer
from dsbench.spec import RunSpec, SpecError

_AT_ONCE: Final = 16
_PATIENCE_S: Final = 10.0
_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


class _Server(ThreadingHTTPServer):
    """Answers a few at a time: of more, who has waited longest is cut, however slowly a request comes in."""

    daemon_threads = True

    def __init__(self, *words: Any) -> None:
        self._open: dict[Any, None] = {}
        self._lock = threading.Lock()
        super().__init__(*words)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begins a thread for it."""
        with self._lock:
            oldest = next(iter(self._open)) if len(self._open) >= _AT_ONCE else None
            self._open.pop(oldest, None)
            self._open[request] = None
        if oldest is not None:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """It is answered, or cut."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        """Says nothing of who has hung up."""


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
        timeout = _PATIENCE_S

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
        server = _Server((host or "127.0.0.1", int(port)), Answering)
    except (OSError, ValueError, OverflowError) as error:
        words = f"cannot listen on {where[:60]!r}: {getattr(error, 'strerror', '') or error}"
        raise SpecError("--metrics", words, "name a free port of this machine, or HOST:PORT") from None
    threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
    metrics.message(f"metrics: http://{host or '127.0.0.1'}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
