"""``--metrics``: how a run goes on, as Prometheus reads it, over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from dsbench.runner import Moment, Observer
from dsbench.spec import RunSpec, SpecError

_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"
_HELP: Final = {
    "info": ("gauge", "1, with what is run."),
    "scale": ("gauge", "Scale of the database."),
    "cycle": ("gauge", "Number of the cycle; 0 outside of cycles."),
    "threads": ("gauge", "Threads of each node."),
    "phase": ("gauge", "1, with what is done now."),
    "rate_tps": ("gauge", "Committed transactions per second of the cycle so far."),
    "committed_total": ("counter", "Transactions committed in cycles."),
    "failed_total": ("counter", "Attempts that failed in cycles."),
}


class Metrics:
    """An observer that hands on what it hears, and adds up what it has to tell."""

    def __init__(self, observer: Observer, spec: RunSpec) -> None:
        self._observer, self._spec = observer, spec
        self._moment = Moment(0, 0, 0, "starting")
        self._before = (0, 0)
        self.message, self.archive, self.scale_done = observer.message, observer.archive, observer.scale_done

    def moment(self, moment: Moment) -> None:
        """Keeps where the run is."""
        last = self._moment
        if last.phase == "cycle" and (moment.phase, moment.scale, moment.cycle) != ("cycle", last.scale, last.cycle):
            self._before = (self._before[0] + last.done, self._before[1] + last.failed)
        self._moment = moment
        self._observer.moment(moment)

    def text(self) -> str:
        """All of it in the format of Prometheus."""
        moment, (committed, failed) = self._moment, self._before
        if moment.phase == "cycle":
            committed, failed = committed + moment.done, failed + moment.failed
        labels = {"workload": self._spec.workload, "target": self._spec.target.redacted, "label": self._spec.label}
        values: dict[str, tuple[Mapping[str, str], float]] = {
            "info": (labels, 1), "scale": ({}, moment.scale), "cycle": ({}, moment.cycle),
            "threads": ({}, moment.threads or self._spec.threads), "phase": ({"phase": moment.phase}, 1),
            "rate_tps": ({}, moment.rate_tps), "committed_total": ({}, committed), "failed_total": ({}, failed),
        }  # fmt: skip
        return "".join(_lines(name, *found) for name, found in values.items())


def _lines(name: str, labels: Mapping[str, str], value: float) -> str:
    kind, told = _HELP[name]
    inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items() if text)
    shown = f"{{{inner}}}" if inner else ""
    return f"# HELP dsbench_{name} {told}\n# TYPE dsbench_{name} {kind}\ndsbench_{name}{shown} {value:.10g}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@contextmanager
def exported(observer: Observer, spec: RunSpec, where: str) -> Iterator[Observer]:
    """``observer``, whose run Prometheus can read at ``where``, a port of this machine or HOST:PORT.

    Without ``where`` it is ``observer`` itself. ``SpecError`` where that cannot be listened on.
    """
    if not where:
        yield observer
        return
    metrics = Metrics(observer, spec)

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/metrics"
            body = metrics.text().encode() if known else b"see /metrics\n"
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
    observer.message(f"metrics: http://{host or '127.0.0.1'}:{server.server_port}/metrics")
    try:
        yield metrics
    finally:
        server.shutdown()
        server.server_close()
