"""What the machine did in a cycle, in the few words of its line in the log (the paper, section 2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

_BUSY: Final = ("cpu_user", "cpu_system")
_IDLE: Final = ("cpu_idle", "cpu_iowait", "cpu_steal")


def in_words(samples: Iterable[Mapping[str, Any]]) -> str:
    """CPU and storage load from the last sample before the cycle's clock started to the last of all; empty where no
    monitor told them.

    ``samples`` are rows of the table ``monitors`` of one cycle, without its key. CPU: share of all CPUs that worked,
    that worked for the system, that waited for storage. Storage: MB (10^6 bytes) per second of the data's device.
    """
    gained: dict[tuple[str, str], tuple[float, float]] = {}
    first: dict[tuple[str, str], tuple[int, float]] = {}
    for row in samples:
        key = (row["monitor"], row["metric"])
        if row["at_ns"] <= 0:  # Before it there was a ramp-up, or nothing.
            first[key] = (row["at_ns"], row["value"])
        at_ns, value = first.setdefault(key, (row["at_ns"], row["value"]))
        gained[key] = (row["value"] - value, (row["at_ns"] - at_ns) / 1e9)
    cpu = {name: gained.get(("os", name), (0.0, 0.0))[0] for name in (*_BUSY, *_IDLE)}
    total = sum(cpu.values())
    words = []
    if total > 0:
        busy = sum(cpu[name] for name in _BUSY) / total
        system, waiting = (cpu[name] / total for name in ("cpu_system", "cpu_iowait"))
        words.append(f"CPU {busy:.0%} (system {system:.0%}, waiting {waiting:.0%})")
    for metric, verb in (("read_bytes", "read"), ("write_bytes", "wrote")):
        count, span_s = gained.get(("device", metric), (0.0, 0.0))
        if span_s > 0:
            words.append(f"{verb} {count / span_s / 1e6:.3g} MB/s")
    return ", ".join(words)
