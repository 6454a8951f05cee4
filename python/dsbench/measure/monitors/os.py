"""Processor time, context switches and memory of the whole machine."""

from __future__ import annotations

import psutil

from dsbench.measure.monitors.monitor import Value


class OperatingSystem:
    """Counters of the operating system, summed over all CPUs, whoever caused them."""

    name = "os"

    def __init__(self) -> None:
        self.notes: list[str] = []

    def sample(self) -> list[Value]:
        """CPU seconds by state, context switches, memory and swap in use."""
        cpu, memory = psutil.cpu_times(), psutil.virtual_memory()
        spent = {
            "cpu_user": cpu.user + getattr(cpu, "nice", 0.0),
            # Interrupts serve the disk and the network: they are the system's work for the load.
            "cpu_system": cpu.system + getattr(cpu, "irq", 0.0) + getattr(cpu, "softirq", 0.0),
            "cpu_idle": cpu.idle,
        }
        for state in ("iowait", "steal"):
            if hasattr(cpu, state):
                spent[f"cpu_{state}"] = getattr(cpu, state)
        gauges = {"memory_used": memory.used, "swap_used": psutil.swap_memory().used}
        if hasattr(memory, "cached"):
            gauges["memory_cached"] = memory.cached
        return [
            *((metric, "s total", seconds) for metric, seconds in spent.items()),
            ("context_switches", "count total", psutil.cpu_stats().ctx_switches),
            *((metric, "bytes", size) for metric, size in gauges.items()),
        ]
