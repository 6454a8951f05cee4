"""What a run is called and how it was conducted, in words that tables, diagrams and the page share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dsbench.evaluation.evaluated import Evaluation

Run = Mapping[str, Any]
"""The content of run.json."""

_WORKLOADS = {"tpcb": "TPC-B-like", "tpcc": "TPC-C-like", "select": "SELECT"}
_ENGINES = {"postgres": "PostgreSQL", "mysql": "MySQL", "sqlite": "SQLite", "firebird": "Firebird"}
_STORAGE_ENGINES = {"innodb": "InnoDB", "rocksdb": "MyRocks"}
"""By the server's name: the product's."""


def pacing(spec: Mapping[str, Any]) -> str:
    """When the clients start their transactions: ``closed loop``, or what sets the starts; with the ramp-up."""
    if spec.get("pace", "none") == "terminals":
        count = spec.get("terminals")
        how = f"{count:,} paced terminals" if count else "10 paced terminals per scale"
    elif spec.get("rate"):
        how = f"open loop, {spec['rate']:g} starts per second"
    else:
        how = "closed loop"
    return f"{how}, {spec['ramp_up']:g} s ramp-up" if spec.get("ramp_up") else how


def listed(numbers: Iterable[int]) -> str:
    """``10, 20 and 40``."""
    *others, last = [f"{number:,}" for number in numbers]
    return f"{', '.join(others)} and {last}" if others else last


def counted(count: int, noun: str) -> str:
    """``1 cycle``, ``10 cycles``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
