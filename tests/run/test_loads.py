"""The load of a cycle in its line of the log."""

from __future__ import annotations

from pathlib import Path

import dsbench
from dsbench.measure.cycle_log import describe_load


def test_loads_are_gains_between_the_first_sample_and_the_last() -> None:
    def at(second: int, monitor: str, **values: float) -> list[dict[str, object]]:
        return [{"at_ns": second * 10**9, "monitor": monitor, "metric": m, "value": v} for m, v in values.items()]

    samples = [
        *at(0, "os", cpu_user=100, cpu_system=50, cpu_idle=10, cpu_iowait=5, cpu_steal=0),
        *at(0, "device", read_bytes=7e9, write_bytes=1e6),
        *at(3, "os", cpu_user=101, cpu_system=50, cpu_idle=10, cpu_iowait=5, cpu_steal=0),
        *at(4, "os", cpu_user=103, cpu_system=51, cpu_idle=13, cpu_iowait=6, cpu_steal=0),
        *at(4, "device", read_bytes=7e9, write_bytes=51e6),
    ]
    assert describe_load(samples) == "CPU 50% (system 12%, waiting 12%), read 0 MB/s, wrote 12.5 MB/s"
    assert describe_load([]) == ""
    ramped = [*at(-9, "os", cpu_user=0, cpu_system=0, cpu_idle=0), *at(0, "os", cpu_user=9, cpu_system=0, cpu_idle=0)]
    after = at(2, "os", cpu_user=10, cpu_system=0, cpu_idle=3)
    assert describe_load([*ramped, *after]) == "CPU 25% (system 0%, waiting 0%)", "the load before the clock is not the cycle's"
    went = [*at(0, "os", cpu_user=0, cpu_system=0, cpu_idle=300), *at(1, "os", cpu_user=4, cpu_system=0, cpu_idle=206)]
    again = at(2, "os", cpu_user=8, cpu_system=0, cpu_idle=302)
    assert describe_load([*went, *again]) == "", "a CPU of two was off for a second"


def test_the_log_tells_the_load_of_each_cycle(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", scales=(1,), cycles=2, duration=0.3, clients=1, out=tmp_path)
    lines = [line for line in archive.read("results.log").decode().splitlines() if "scale 1, cycle" in line]
    assert len([line for line in lines if " failed; CPU " in line]) == 2
