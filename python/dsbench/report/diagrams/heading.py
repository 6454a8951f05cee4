"""Titles of diagrams: what was measured, on what, and what makes the figures incomparable or unsafe."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from dsbench.analysis.values import Evaluation, Index
from dsbench.report.words import listed, pacing
from dsbench.spec import threads_of

Run = Mapping[str, Any]
"""The content of run.json."""

_LINE = 108     # characters of the subtitle's font that fit the width of a diagram
_WORKLOADS = {"tpcb": "TPC-B-like", "tpcc": "TPC-C-like", "select": "SELECT"}
_ENGINES = {"postgres": "PostgreSQL", "mysql": "MySQL", "sqlite": "SQLite", "firebird": "Firebird"}
_STORAGE_ENGINES = {"innodb": "InnoDB", "rocksdb": "MyRocks"}
"""By the server's name: the product's."""


def title(headline: str, evaluation: Evaluation, run: Run, notes: Sequence[str] = ()) -> alt.TitleParams:
    """``headline`` over the conditions of the run, then ``notes``, then what is unsafe or void."""
    lines = [conditions(run), *notes, *warnings(evaluation, run)]
    return alt.TitleParams(text=headline, subtitle=[part for line in lines for part in textwrap.wrap(line, _LINE)])


def subject(run: Run) -> str:
    """Server with version and workload: ``PostgreSQL 15.18, TPC-B-like``."""
    workload = str(run.get("spec", {}).get("workload", ""))
    return ", ".join(part for part in (server(run), _WORKLOADS.get(workload, workload)) if part)


def server(run: Run) -> str:
    """Product, version and what makes another product of it, in a few words: "Firebird 3.0.11 Classic"."""
    return " ".join(part for part in (_release(run), *_variant(run)) if part)


def _variant(run: Run) -> tuple[str, ...]:
    """The storage engine, the mode of the server, or that there is none; what a product always is goes unsaid."""
    items: dict[str, Any] = {}
    for layer in run.get("stack", ()):
        if layer.get("layer") == "RDBMS":
            items = layer.get("items", {})
    engine = str(items.get("storage engine", ""))
    embedded = run.get("embedded") and run.get("engine") == "firebird"
    return _STORAGE_ENGINES.get(engine.lower(), engine), str(items.get("server mode", "")), "embedded" * bool(embedded)


def _release(run: Run) -> str:
    """Product and version, without what the compiler was."""
    engine = str(run.get("engine", ""))
    product = _ENGINES.get(engine, engine)
    version = re.split(r" \(| on |,", str(run.get("server_version", "")), maxsplit=1)[0].strip()[:40]
    if not version:
        return product
    names_itself = re.match(r"[A-Za-z]+ ", version) or product.lower() in version.lower()
    return version if names_itself or "mariadb" in version.lower() else f"{product} {version}"


def conditions(run: Run) -> str:
    """Load, isolation and repetition in one line."""
    spec = run.get("spec", {})
    nodes, connections = spec.get("nodes", 0), spec.get("connections", 1)
    steps = threads_of(spec)
    threads = counted(steps[0], "thread") if len(steps) == 1 else f"{listed(steps)} threads"
    parts = [
        f"{counted(nodes, 'node')} × {threads}" if nodes else threads,
        f"{connections} connections each" if connections > 1 else "",
        str(run.get("isolation") or spec.get("isolation", "")).replace("-", " "),
        f"{counted(spec.get('cycles', 0), 'cycle')} of {spec.get('duration', 0):g} s",
        pacing(spec),
        "with retry" if spec.get("retry") else "",
        "reconnecting" if spec.get("reconnect") else "",
    ]
    return ", ".join(part for part in parts if part)


def counted(count: int, noun: str) -> str:
    """``1 cycle``, ``10 cycles``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def index_text(index: Index) -> str:
    """The DSI with its interval, or that there is none: ``DSI 6.52 (6.45 to 6.58)``."""
    if index.dsi is None:
        return "no DSI"
    if not math.isfinite(index.dsi.low):
        return f"DSI {index.dsi.value:.2f}"
    return f"DSI {index.dsi.value:.2f} ({index.dsi.low:.2f} to {index.dsi.high:.2f})"


def index_note(index: Index) -> str:
    """What the DSI's figures mean: its scales and the level of the interval."""
    if index.dsi is None:
        return "no DSI: it needs two scales or more, and a rate above 0 at each"
    note = f"DSI over scales {index.lowest_scale} to {index.highest_scale}"
    note += f", {index.dsi.level * 100:g} % interval" if math.isfinite(index.dsi.low) else ", one cycle: no interval"
    return note if index.comparable else note + "; not comparable: not the ladder and conduct of profile dsi"


def unsafe(run: Run) -> list[str]:
    """Durability that was switched off: ``fsync off``."""
    return [f"{d.get('switch')} {d.get('value')}" for d in run.get("durability", ()) if not d.get("safe", True)]


def warnings(evaluation: Evaluation, run: Run) -> list[str]:
    """Lines that must stand beside every figure: what is not durable, what is void, what ended early."""
    lines = []
    if switches := unsafe(run):
        lines.append("NOT DURABLE: " + ", ".join(switches))
    if evaluation.void_scales:
        lines.append("VOID, check failed at scale " + ", ".join(str(s) for s in sorted(evaluation.void_scales)))
    status = run.get("status", "complete")
    if status in {"cut-short", "failed", "running"}:
        lines.append(f"run {status}: {run['reason']}" if run.get("reason") else f"run {status}")
    return lines
