"""``--metrics``: how a run goes on, as Prometheus reads it, over HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal

from dsbench.dataclass import dataclass
from dsbench.measure.moments import Moment, Observer
from dsbench.spec import RunSpec, SpecError

_AT_ONCE: Final = 16
_PATIENCE_S: Final = 10.0
_FORMAT: Final = "text/plain; version=0.0.4; charset=utf-8"


@contextmanager
def exported(observer: Observer, spec: RunSpec, where: str) -> Iterator[Observer]:
    """``observer``, whose run Prometheus can read at ``where``, a port of this machine or HOST:PORT.

    ``SpecError`` where that cannot be listened on.
    """
    metrics = Metrics(observer, spec)
    with _served(metrics, where):
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
        raise SpecError("--metrics", words, "specify a free port of this machine, or HOST:PORT") from None
    threading.Thread(target=server.serve_forever, daemon=True, name="metrics").start()
    metrics.message(f"metrics: http://{host or '127.0.0.1'}:{server.server_port}/metrics")
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


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


def text(series: list[MetricSeries]) -> str:
    """In the format of Prometheus."""
    return "".join(map(_lines, series))


def _lines(one: MetricSeries) -> str:
    inner = ",".join(f'{key}="{_escaped(words)}"' for key, words in one.labels.items() if words)
    shown = f"{{{inner}}}" if inner else ""
    return f"# HELP {one.name} {one.told}\n# TYPE {one.name} {one.kind}\n{one.name}{shown} {one.value:.10g}\n"


def _escaped(words: str) -> str:
    return words.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@dataclass(frozen=True)
class MetricSeries:
    """One figure with its name."""

    name: str
    kind: Literal["gauge", "counter"]
    told: str
    """What it is."""
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


_KNOWN: Final[Mapping[str, tuple[Literal["gauge", "counter"], str]]] = {
    "info": ("gauge", "1, with what is run."),
    "scale": ("gauge", "Scale of the database."),
    "cycle": ("gauge", "Number of the cycle; 0 outside of cycles."),
    "clients": ("gauge", "Clients on each node."),
    "phase": ("gauge", "1, with what is done now."),
    "rate_tps": ("gauge", "Committed transactions per second of the cycle so far."),
    "committed_total": ("counter", "Transactions committed in cycles; at the end, the number in the archive."),
    "failed_total": ("counter", "Attempts that failed in cycles."),
    "residence_p50_seconds": ("gauge", "Median latency in the last second of the cycle."),
    "residence_p99_seconds": ("gauge", "99th percentile of the latencies in the last second of the cycle."),
    "own_cpus": ("gauge", "CPUs that dsbench used in the last second of the cycle."),
    "machine_cpus": ("gauge", "CPUs of this machine that were busy in the last second of the cycle."),
}


def _counts(moment: Moment) -> bool:
    """Whether it is in a cycle of the archive: those on trial have the number 0."""
    return moment.phase == "cycle" and moment.cycle > 0


class Metrics:
    """An observer that hands on what it hears, and adds up what it has to tell."""

    def __init__(self, observer: Observer, spec: RunSpec) -> None:
        self._observer, self._spec = observer, spec
        self._moment = Moment(0, 0, 0, "starting")
        self._before = (0, 0)
        self._highest = (0, 0)
        self.message, self.archive, self.scale_done = observer.message, observer.archive, observer.scale_done

    def moment(self, moment: Moment) -> None:
        """Keeps where the run is."""
        last = self._moment
        if _counts(last) and (moment.phase, moment.scale, moment.cycle) != ("cycle", last.scale, last.cycle):
            self._before = (self._before[0] + last.done, self._before[1] + last.failed)
        self._moment = moment
        self._observer.moment(moment)

    def series(self) -> list[MetricSeries]:
        """All of it; times and CPUs only while they are known."""
        moment, (committed, failed) = self._moment, self._before
        if _counts(moment):
            committed, failed = committed + moment.done, failed + moment.failed
        # What a node did that was lost is taken back at the end of its cycle; a counter never falls.
        self._highest = committed, failed = max(committed, self._highest[0]), max(failed, self._highest[1])
        labels = {"workload": self._spec.workload, "target": self._spec.target.redacted, "label": self._spec.label}
        values: dict[str, float] = {
            "info": 1, "scale": moment.scale, "cycle": moment.cycle, "clients": moment.clients or self._spec.clients,
            "phase": 1, "rate_tps": moment.rate_tps, "committed_total": committed, "failed_total": failed,
        }  # fmt: skip
        if moment.last_times:
            values["residence_p50_seconds"], values["residence_p99_seconds"] = moment.last_times
        if moment.cpus[1]:
            values["own_cpus"], values["machine_cpus"] = moment.cpus
        of = {"info": labels, "phase": {"phase": moment.phase}}
        return [
            MetricSeries(f"dsbench_{name}", *_KNOWN[name], value, of.get(name, {})) for name, value in values.items()
        ]
