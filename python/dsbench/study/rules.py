"""Levels that are computed for the machine at hand: ``rules = "pgtune"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import psutil

from dsbench.spec import SpecError

_MB: Final = 1 << 20
_GB: Final = 1 << 30
_CONNECTIONS: Final = 300
"""Connections that PGTune supposes for the type OLTP."""


def pgtune(ram: int, cpus: int) -> dict[str, str]:
    """Settings of PostgreSQL for ``ram`` bytes and ``cpus``: type OLTP on SSD, as PGTune (github.com/le0pard/pgtune).

    Workers and parallel queries are left alone below 4 CPUs, as PGTune does.
    """
    buffers = ram // 4
    workers = max(cpus, 8) if cpus >= 4 else 8
    settings = {
        "shared_buffers": _size(buffers),
        "effective_cache_size": _size(ram * 3 // 4),
        "maintenance_work_mem": _size(min(ram // 16, 2 * _GB)),
        "work_mem": _size(max((ram - buffers) // ((_CONNECTIONS + workers) * 3), 64 << 10)),
        "wal_buffers": _size(min(max(buffers * 3 // 100, 32 << 10), 16 * _MB)),
        "checkpoint_completion_target": "0.9",
        "min_wal_size": "2GB",
        "max_wal_size": "8GB",
        "random_page_cost": "1.1",
        "effective_io_concurrency": "200",
    }
    if cpus >= 4:
        half = str(min(-(-cpus // 2), 4))
        settings |= {"max_worker_processes": str(workers), "max_parallel_workers": str(cpus),
                     "max_parallel_workers_per_gather": half, "max_parallel_maintenance_workers": half}  # fmt: skip
    return settings


def _size(octets: int) -> str:
    """In whole kB, as PostgreSQL takes it."""
    return f"{octets // 1024}kB"


_RULES: Final[dict[str, Callable[[int, int], dict[str, str]]]] = {"pgtune": pgtune}


def of(name: Any, key: str) -> dict[str, Any]:
    """What the rules ``name`` set, by path, on this machine. ``SpecError`` at ``key`` for unknown ones."""
    if name not in _RULES:
        raise SpecError(key, f"no rules {name!r}", f"use one of {', '.join(_RULES)}")
    found = _RULES[name](psutil.virtual_memory().total, psutil.cpu_count() or 1)
    return {f"target.settings.{setting}": value for setting, value in found.items()}
