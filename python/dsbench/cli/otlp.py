"""``--otlp``: the same figures as ``--metrics``, sent to an OpenTelemetry collector as OTLP over HTTP, in JSON.

The protocol is that of OpenTelemetry, OTLP 1.x, section OTLP/HTTP: a POST to ``/v1/metrics``. Its library would bring
eight packages, and threads of its own into the process that makes the load, for this one message.
"""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import dsbench
from dsbench.cli.series import Series
from dsbench.spec import SpecError

_EVERY_S: Final = 5.0
_PATIENCE_S: Final = 5.0
_LAST_S: Final = 2.5
"""How long the end of a run waits for a collector, whatever it does."""
_PATH: Final = "/v1/metrics"
_HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"
"""Variable of the environment, ``name=value,name=value``, by which collectors are told a key: no archive holds it.
OpenTelemetry has values with %20 for a blank in it."""
_CUMULATIVE: Final = 2


@contextmanager
def sending(url: str, series: Callable[[], list[Series]], every_s: float = _EVERY_S) -> Iterator[Callable[[], str]]:
    """Sends the ``series`` to the collector at ``url`` every few seconds, and once more at the end.

    Gives a function that tells, once, what went wrong. ``SpecError`` where ``url`` is no address of HTTP.
    """
    to, began, over = _address(url), time.time_ns(), threading.Event()
    trouble: list[str] = []
    told: list[str] = []

    def send() -> None:
        body = json.dumps(message(series(), began, time.time_ns())).encode()
        try:
            asked = urllib.request.Request(to, body, {"Content-Type": "application/json", **_headers()})
            with _OPENER.open(asked, timeout=_LAST_S if over.is_set() else _PATIENCE_S):
                return
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", "") or str(error) or type(error).__name__
            trouble.append(f"no figures reach {to}: {' '.join(str(why).split())}")
        except ValueError:  # Its words hold the key.
            trouble.append(f"no figures reach {to}: what {_HEADERS} says cannot be sent")

    def going_on() -> None:
        while not over.wait(every_s):
            send()
        send()

    def problem() -> str:
        if trouble and not told:
            told.append(trouble[0])
            return told[0]
        return ""

    thread = threading.Thread(target=going_on, daemon=True, name="otlp")
    thread.start()
    try:
        yield problem
    finally:
        over.set()
        thread.join(_LAST_S)
        if thread.is_alive():
            trouble.append(f"the last figures did not reach {to}: no answer within {_LAST_S:g} s")


class _Staying(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key in the headers is for the collector that was named."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_Staying)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known or "@" in parts.netloc:
        remedy = f"write http://HOST:4318; a key of the collector goes into the environment, as {_HEADERS}"
        raise SpecError("--otlp", "that is no address of a collector", remedy)
    return url if parts.path.rstrip("/") else f"{url.rstrip('/')}{_PATH}"


def _headers() -> dict[str, str]:
    pairs = (part.partition("=") for part in os.environ.get(_HEADERS, "").split(",") if "=" in part)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def message(series: list[Series], began_ns: int, at_ns: int) -> dict[str, Any]:
    """An ``ExportMetricsServiceRequest`` as JSON values; counters count since ``began_ns``."""
    metrics = [_metric(one, began_ns, at_ns) for one in series]
    scope = {"name": "dsbench", "version": dsbench.__version__}
    resource = {"attributes": _attributes({"service.name": "dsbench"})}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"scope": scope, "metrics": metrics}]}]}


def _metric(one: Series, began_ns: int, at_ns: int) -> dict[str, Any]:
    point = {"timeUnixNano": str(at_ns), "asDouble": one.value, "attributes": _attributes(one.labels)}
    named = {"name": one.name, "description": one.told}
    if one.kind == "gauge":
        return {**named, "gauge": {"dataPoints": [point]}}
    points = [{"startTimeUnixNano": str(began_ns), **point}]
    return {**named, "sum": {"aggregationTemporality": _CUMULATIVE, "isMonotonic": True, "dataPoints": points}}


def _attributes(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": text}} for key, text in labels.items() if text]
