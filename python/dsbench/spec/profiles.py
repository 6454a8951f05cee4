"""Profiles: sets of values for the settings of a run.

The scale of some follows from the memory of the server: a database within it, and one beyond it. They are those of the
Insert Benchmark, for workloads that say how many rows their stages leave.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dsbench import control_groups, workloads
from dsbench.spec.checks import clients_of_target
from dsbench.spec.limits import Limits
from dsbench.spec.options import OPTIONS
from dsbench.spec.run import DSI_SCALES, RunSpec
from dsbench.spec.target import Target
from dsbench.spec.words import SpecError

_DSI: Final[dict[str, Any]] = {
    **{name: option.default for name, option in OPTIONS.items() if option.of_load},
    "scales": DSI_SCALES, "cycles": 10, "duration": 60.0, "clients": 16, "isolation": "repeatable-read",
}  # fmt: skip
"""As the paper has it, section 5.2; whatever else makes the load another one has its default."""
PROFILES: dict[str, dict[str, Any]] = {
    "dsi": _DSI,
    "dsi-fast": {
        **_DSI,
        "cycles": 5, "duration": 10.0, "precision": 3.0, "precision_of": "index", "max_cycles": 10, "grow": True,
    },
    "capacity": {
        "objective": "p99=20ms", "scales": (10,), "cycles": 3, "duration": 8.0, "clients": 16,
    },
    "graduated": {"graduated": True, "scales": (10,), "cycles": 1, "duration": 10.0, "clients": 16},
    "quick": {name: RunSpec.model_fields[name].default for name in ("scales", "cycles", "duration", "clients")},
}  # fmt: skip
"""Named sets of values: ``dsi`` gives comparable figures; ``dsi-fast`` makes short cycles on the same scales, as many
as the mean rate of all scales within 3% needs, and never more than a sixth of the seconds of ``dsi``; ``capacity``
searches the rate that keeps an objective, at one scale; ``graduated`` loads from the rate of closed loops down to idle;
``quick`` takes a minute, and says what nobody named."""

SIZED: Final[dict[str, dict[str, Any]]] = {
    "cached": {"cycles": 1, "duration": 3600.0, "clients": 1, "workload_settings": {"sizes": "cached"}},
    "io-bound": {"cycles": 1, "duration": 1800.0, "clients": 1, "workload_settings": {"sizes": "io-bound"}},
}
"""As published: https://github.com/mdcallag/mytools, bench/ibench."""
PROFILE_NAMES: Final = (*PROFILES, *SIZED)
_TIMES_MEMORY: Final = {"cached": 0.25, "io-bound": 4.0}
"""How large the database is before its writes. Those of the cached one leave garbage behind, and half of the memory is
the server's cache."""
_MIB: Final = 1 << 20
_MOST_FIRST: Final = 16


def profiled(profile: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a profile for a run of ``values``; the scales of the quick one are the workload's, its clients the
    target's, or those among which a peak is searched. Those of an unknown one are none."""
    if profile in SIZED:
        return sized(profile, values)
    named, workload = dict(PROFILES.get(profile, {})), values.get("workload")
    if profile == "quick":
        named |= clients_of_target(values.get("target"))
        if isinstance(workload, str) and workload in workloads.names():
            named["scales"] = workloads.find(workload).defaults.quick_scales
        if values.get("peak") is True:
            del named["clients"]
        elif workload in (None, RunSpec.model_fields["workload"].default):
            clients = _largest(values.get("clients", named["clients"])) * _largest(values.get("nodes", 0))
            named["scales"] = _uncrowded(clients, named["scales"])
    if values.get("existing"):
        named.pop("scales", None)
    return named


def _uncrowded(clients: int, scales: Sequence[int]) -> Sequence[int]:
    """Sizes for a quick run of so many clients: as many branches as clients, and twice as many. With fewer, clients
    wait for each other's branch, and the rate is that of one row. A quick run has 32 branches at most."""
    first = min(clients, _MOST_FIRST)
    return scales if clients == 1 else (first, 2 * first)


def dsi_seconds() -> float:
    """How long the cycles of the profile dsi take, in seconds."""
    ladder = PROFILES["dsi"]
    return float(len(ladder["scales"]) * ladder["cycles"] * ladder["duration"])


def sized(profile: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the profile says for a run of ``values``: scale, and caches of a private server, by the memory that it has.

    ``SpecError`` where the size cannot be known.
    """
    workload, target = values.get("workload"), values.get("target", {})
    settings = values.get("workload_settings")
    texts = {str(name): str(value) for name, value in settings.items()} if isinstance(settings, Mapping) else {}
    entry = workloads.find(str(workload), texts)
    if not entry.data.loaded_rows:
        problem = f"{profile} has no scales for the workload {workload}"
        raise SpecError("--profile", problem, f"add --workload {default_workload()}, or use another profile")
    url = str(target.get("url", "") if isinstance(target, Mapping) else getattr(target, "url", target))
    found = dict(SIZED[profile])
    if not Target.model_construct(url=url).is_here and "scales" not in values:
        problem = f"{profile} depends on the server's memory, which is not visible from here"
        raise SpecError("--profile", problem, "specify --scales: scale 1 is about 18 MB per client")
    if "scales" not in values:
        clients = _largest(values.get("clients", found["clients"])) * _largest(values.get("nodes", 0))
        unit = entry.data.loaded_rows * clients * sum(entry.data.row_bytes) / 2
        memory = _memory(values.get("limits"))
        if not memory:
            raise SpecError("--profile", "this system does not report its memory size", "specify --scales")
        found["scales"] = (min(max(round(_TIMES_MEMORY[profile] * memory / unit), 1), 200_000),)
    return found


def _largest(numbers: object) -> int:
    """The largest of one or several numbers, 1 at least; what is none is refused later."""
    every = numbers if isinstance(numbers, list | tuple) else [numbers]
    return max([1, *(one for one in every if isinstance(one, int))])


def default_workload() -> str:
    """The workload of a sized profile where none is named: the first that has a size."""
    return next(name for name in workloads.names() if workloads.find(name).data.loaded_rows)


def _memory(limits: object) -> int:
    """Bytes of RAM that the server has under ``limits``, which may still be wrong."""
    with contextlib.suppress(ValueError):
        if isinstance(limits, Mapping):
            asked = Limits.of({str(name): str(value) for name, value in limits.items()}).memory
            return min(asked or (1 << 62), control_groups.memory())
    return control_groups.memory()


def caches(limits: Mapping[str, str], product: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Settings of a private server's caches for a sized profile, where ``settings`` do not name them.

    InnoDB reads past the page cache: three eighths of the memory are its own, as much as leaves room for the server
    beside it where the memory is a few hundred MiB. The others read through it: a quarter.
    """
    memory, engine = _memory(limits), settings.get("storage_engine", "InnoDB").lower()
    if product in ("mariadb", "mysql"):
        own = {"innodb_buffer_pool_size": str(memory * 3 // 8)}
        if engine == "rocksdb":
            # By default rows that wait to be flushed take twice 64 MiB or more, the making of an index 1 GiB. Beside
            # MyRocks the server has an InnoDB, which takes 16 MiB for its log alone.
            own = {
                "rocksdb_block_cache_size": str(memory // 8), "rocksdb_db_write_buffer_size": str(memory // 16),
                "rocksdb_default_cf_options": f"write_buffer_size={memory // 32}",
                "rocksdb_merge_buf_size": str(memory // 64), "rocksdb_merge_combine_read_size": str(memory // 32),
                "innodb_buffer_pool_size": str(min(max(memory // 32, 8 * _MIB), 128 * _MIB)),
                "innodb_log_buffer_size": str(min(memory // 64, 16 * _MIB)),
            }  # fmt: skip
        if product == "mariadb":
            # No table of the workload is in these caches, and at their defaults they take 30 MiB all the same.
            own |= {"aria_pagecache_buffer_size": str(min(memory // 64, 128 * _MIB)),
                    "key_buffer_size": str(min(memory // 64, 128 * _MIB))}  # fmt: skip
    elif product == "postgresql":
        own = {"shared_buffers": f"{memory // 4 // _MIB}MB"}
    else:
        own = {}
    return {name: value for name, value in own.items() if name not in settings}
