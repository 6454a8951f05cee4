"""Evaluations made by hand, in the shapes that the paper's diagrams show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dsbench.analysis.values import Doubt, Evaluation, Frequency, Index, Interval, Resource, ScaleResult

LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)
LEVELS = (0.5, 0.68, 0.87, 0.95, 0.99, 0.997)
NODES = ("syrtis", "pavonis", "alba")
TPCB = (310, 480, 810, 1105, 930, 720, 560, 430, 300, 145, 118, 101, 92)
SELECT = (49_800, 50_900, 51_200, 51_000, 50_700, 50_300, 49_900, 49_000, 46_000, 900, 120, 75, 62)


def frequency(rate: float, clients: int, count: int, seed: int) -> Frequency:
    """Log-normal body with a heavy tail of stalls, in buckets of three digits."""
    random = np.random.default_rng(seed)
    size = min(count, 20_000)
    typical_ns = clients / rate * 0.6 * 1e9
    body = typical_ns * random.lognormal(0, 0.35, size)
    stalls = random.random(size) < 0.006
    body[stalls] *= 10 * (1 + random.pareto(1.1, int(stalls.sum())))
    body = np.minimum(body, 12e9)
    ticks = 10.0 ** (np.floor(np.log10(body)) - 2)
    values, counts = np.unique(np.round(body / ticks) * ticks, return_counts=True)
    longer = 1 - np.cumsum(counts) / size
    longer[-1] = 0.0
    quantiles = {q: float(np.quantile(body, q)) for q in (*LEVELS, 0.999)} | {1.0: float(values[-1])}
    return Frequency(values, np.maximum(longer, 0.0), quantiles, size)


def _result(scale: int, rates: np.ndarray, found: Frequency, clients: int, duration_s: float) -> ScaleResult:
    total = int(rates.sum() * duration_s)
    f = clients * 0.998
    return ScaleResult(
        scale, 0.0151 * scale, float(np.median(rates)), float(rates.mean()),
        float(rates.std(ddof=1)) if rates.size > 1 else math.nan, float(rates.min()), float(rates.max()),
        total, int(total * 0.3 / scale), f * rates.size * duration_s, rates.size * duration_s * clients * 0.9999, f,
        *(f / (found.quantiles_ns[q] / 1e9) for q in LEVELS),
        0.35 * scale, 0.09 * scale**1.05, 0.03 * scale, 0.4, 0.2,
    )


def evaluation(
    typical: Sequence[float] = TPCB, scales: Sequence[int] = LADDER, cycles: int = 10, *, nodes: Sequence[str] = (),
    open_loop: bool = False, void: frozenset[int] = frozenset(), seed: int = 1,
) -> Evaluation:
    """A whole evaluation of a run with 16 threads per node, 60 s per cycle."""
    random = np.random.default_rng(seed)
    names = tuple(nodes) or ("localhost",)
    clients = 16 * len(names)
    cycle_rates, frequencies, responses, seconds, results = {}, {}, {}, {}, []
    for rate, scale in zip(typical, scales, strict=False):
        noise = 0.02 + 0.05 * random.random()
        rates = rate * random.lognormal(0, noise, cycles)
        if scale >= 1000:
            rates[:2] *= 1.3
        cycle_rates[scale] = rates
        frequencies[scale] = frequency(rate, clients, int(rate * 600), seed + scale)
        if open_loop:
            found = frequencies[scale]
            slower = {q: v * 1.9 for q, v in found.quantiles_ns.items()}
            responses[scale] = Frequency(found.residence_ns * 1.9, found.longer, slower, found.count)
        seconds[scale] = _seconds(rates, frequencies[scale], random)
        results.append(_result(scale, rates, frequencies[scale], clients, 60.0))
    measured = tuple(results)
    shares = np.array([1.0, 0.7, 0.45])[: len(names)]
    shares = shares / shares.sum()
    return Evaluation(
        name="20261121-100000_nereidum_postgres_tpcb", scales=measured, levels=LEVELS, void_scales=void,
        cycle_rates=cycle_rates,
        node_rates={
            name: {s: r * share * random.lognormal(0, 0.03, cycles) for s, r in cycle_rates.items()}
            for name, share in zip(names, shares, strict=True)
        },
        kind_counts={r.scale: {"tpcb": r.transactions} for r in measured},
        frequency=frequencies, response=responses, seconds=seconds,
        success_share={r.scale: 1 - 0.3 / r.scale for r in measured},
        remote_share={r.scale: 0.15 for r in measured if r.scale > 1},
        errors={r.scale: {"serialization 40001": r.failed, "deadlock 40P01": 3} for r in measured if r.failed},
        resources={r.scale: _resources(r) for r in measured},
        index=Index(
            Interval(6.52, 6.45, 6.58, 0.95) if len(measured) > 1 else None, measured[0].scale if measured else 0,
            measured[-1].scale if measured else 0, tuple(scales) == LADDER, 214.7 if len(measured) > 1 else None,
            "" if len(measured) > 1 else "one scale has no crossing",
        ),
        doubts=(
            Doubt("no-steady-state", "the rate still falls by 3 % per cycle at scale 1000", "make the cycles longer with --duration", 1000),
            Doubt("durability", "fsync is off: the figures are those of a database that may lose data", "set fsync = on"),
            *(Doubt("check-failed", f"the check found a lost update at scale {s}", "do not use this scale", s, True) for s in sorted(void)),
        ),
    )


def _seconds(rates: np.ndarray, found: Frequency, random: np.random.Generator) -> np.ndarray:
    course = np.repeat(rates, 60) * random.lognormal(0, 0.06, 60 * rates.size)
    course[::67] *= 0.2
    p50, p99, slowest = found.quantiles_ns[0.5], found.quantiles_ns[0.99], found.quantiles_ns[1.0]
    wobble = random.lognormal(0, 0.2, course.size)
    return np.stack([np.round(course), course * 0.01 // 1, p50 * wobble, p99 * wobble, slowest * wobble**3 / 4], axis=1)


def _resources(r: ScaleResult) -> tuple[Resource, ...]:
    rate = r.rate_mean_tps
    each = (
        ("CPU time", "µs", 900.0, "system"), ("disk reads", "operations", 0.02 * math.sqrt(r.scale), "device"),
        ("disk writes", "operations", 1.4, "device"), ("written to disk", "KB", 18.5, "device"),
        ("WAL", "KB", 2.31, "server"), ("sent over the network", "KB", 0.9, "network"),
        ("context switches", "count", 12.3, "system"), ("client CPU time", "µs", 41.0, "client"),
    )
    return tuple(Resource(name, unit, value, value * rate, scope) for name, unit, value, scope in each)  # type: ignore[arg-type]


def run(**changes: Any) -> dict[str, Any]:
    """The content of run.json for such an evaluation; ``spec`` in ``changes`` is merged."""
    spec = {
        "target": {"url": "postgresql://bench:***@nereidum:5432/bench", "settings": {}, "version": None, "directory": None},
        "workload": "tpcb", "scales": list(LADDER), "cycles": 10, "duration": 60.0, "threads": 16, "connections": 1,
        "nodes": 0, "isolation": "repeatable-read", "call": None, "population": "bulk", "retry": False, "prepare": False,
        "reconnect": False, "rate": None, "arrival": "poisson", "trace": False, "levels": list(LEVELS), "seed": 4711,
        "profile": "dsi",
    }
    base: dict[str, Any] = {
        "format": 1, "dsbench": "0.1.0", "name": "20261121-100000_nereidum_postgres_tpcb",
        "started": "2026-11-21T10:00:00+00:00", "ended": "2026-11-21T13:11:12+00:00", "status": "complete", "reason": "",
        "engine": "postgres", "dialect": {"name": "postgres", "procedures": True, "embedded": False, "single_writer": False},
        "call": "procedure", "kinds": ["tpcb"], "embedded": False,
        "server_version": "PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc",
        "host": "nereidum", "cpus": 8,
        "stack": [
            {"layer": "core", "items": {"CPU": "Xeon E3-1230V3", "RAM": "16 GB"}},
            {"layer": "storage backend", "items": {"device": "sda", "kind": "rotating"}},
            {"layer": "RDBMS", "items": {"version": "PostgreSQL 15.18"}},
        ],
        "settings": {"shared_buffers": "4GB", "effective_cache_size": "12GB"},
        "durability": [
            {"switch": "fsync", "value": "off", "safe": False, "meaning": "a power cut loses committed transactions and may corrupt the database"},
            {"switch": "full_page_writes", "value": "on", "safe": True, "meaning": "pages survive a torn write"},
        ],
        "marks": {"RAM": 16.7e9, "swap": 17.9e9, "shared_buffers": 4.29e9, "effective_cache_size": 12.9e9},
        "checks": {"1": [{"name": "balances agree", "holds": True, "detail": "all sums equal 0"}]},
        "segments": [], "calibration": None, "warnings": [],
    }
    spec |= changes.pop("spec", {})
    return base | {"spec": spec} | changes


def select() -> Evaluation:
    """SELECT-like: level until the cut-off, three decades lower beyond it."""
    return evaluation(SELECT)


def renamed(found: Evaluation, name: str) -> Evaluation:
    """``found`` under another name."""
    return replace(found, name=name)
