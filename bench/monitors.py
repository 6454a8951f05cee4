"""``python -m bench.monitors``: what watching costs on a machine that is not at hand.

It writes a /proc and a /sys as Linux has them, of 192 CPUs, 40,000 processes and 64 disks, and lets the monitors of a
run read them: what a sample of each costs in CPU time, all that are read every second together, and what is read around
a cycle. It tells as well how large the archive of an hour gets: the rows of the table ``monitors``, written as an
archive writes them. What the real kernel takes to make such a file is not in it; the files are read from memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from dsbench.archive.parts import merge
from dsbench.archive.writer import Writer
from dsbench.measure.monitors import machine, proc
from dsbench.measure.monitors.host import read_host
from dsbench.measure.monitors.monitor import Fleeting, Frequent, Monitor, Value
from dsbench.measure.monitors.sampler import Sampler
from dsbench.measure.monitors.system import Disks, Network, OperatingSystem, Pressure
from dsbench.measure.monitors.tasks import Interrupts, Tasks
from dsbench.measure.monitors.threads import ThreadSampler

SERVER = 1000
"""The pid of the server that is made up; its sessions are its children."""
HOUR_S, CYCLES = 3600, 12
LIMIT_MS, LIMIT_MB = 20.0, 20.0


def main() -> None:
    """Makes the machine up, reads it and prints what that took."""
    parser = argparse.ArgumentParser(prog="python -m bench.monitors", description=__doc__.splitlines()[0])
    for name, value in (("cpus", 192), ("processes", 40_000), ("disks", 64), ("sessions", 1000), ("samples", 15)):
        parser.add_argument(f"--{name}", type=int, default=value)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        root = Path(name)
        began = time.monotonic()
        write_machine(root, asked.cpus, asked.processes, asked.disks, asked.sessions)
        print(f"{asked.cpus} CPUs, {asked.processes:,} processes, {asked.disks} disks, {asked.sessions:,} sessions "
              f"(made up in {time.monotonic() - began:.0f} s)\n")  # fmt: skip
        with _procfs_at(root / "proc"):
            sys.exit(0 if measure(root, asked.samples) else 1)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextmanager
def _procfs_at(root: Path) -> Iterator[None]:
    psutil.PROCFS_PATH = str(root)
    try:
        yield
    finally:
        psutil.PROCFS_PATH = "/proc"


def measure(root: Path, samples: int) -> bool:
    """Prints the cost of each monitor; whether all goals are met."""
    known = machine.Known({SERVER: machine.SERVER})
    found = proc_monitors(root, known)
    often = Sampler(found).every_second
    rows: list[tuple[str, str, str, float]] = []
    total = 0.0
    print("every second                ms of CPU")
    for monitor in often:
        if isinstance(monitor, Frequent):
            monitor.begin()
        took, told = _cost(partial(_a_second, monitor), samples)
        total += took
        rows += [(monitor.name, metric, unit, value) for metric, unit, value in told]
        print(f"  {monitor.name:<24} {took:9.2f}   {len(told)} figures")
    print(f"  {'together':<24} {total:9.2f}   goal {LIMIT_MS:g}: {_met(total <= LIMIT_MS)}")
    print("\nbefore a cycle and after it")
    for monitor in (one for one in found if one not in often):
        if isinstance(monitor, Fleeting):
            monitor.begin()
        _print(monitor.name, _cost(monitor.sample, 3)[0])
        if isinstance(monitor, Fleeting):
            _print(f"{monitor.name}, again", _cost(monitor.sample, 3)[0])
    _print("machine", _cost(lambda: machine.look(known, root / "proc"), 3)[0])
    _print("host", _cost(lambda: read_host({"the server": SERVER}, root), 3)[0])
    size = archive_bytes(rows)
    print(f"\nthe table monitors of an hour: {HOUR_S * len(rows):,} rows, {size / 1e6:.2f} MB, goal {LIMIT_MB:g}: "
          f"{_met(size <= LIMIT_MB * 1e6)}")  # fmt: skip
    return total <= LIMIT_MS and size <= LIMIT_MB * 1e6


def proc_monitors(root: Path, known: machine.Known) -> list[Monitor]:
    """Those of a run that read /proc and /sys."""
    folder = root / "proc"
    return [
        OperatingSystem(), Network(), Disks(root), Pressure(folder), ThreadSampler(machine.SERVER, known, root=folder),
        Interrupts(folder), Tasks(machine.SERVER, known, folder),
    ]  # fmt: skip


def _a_second(monitor: Monitor) -> list[Value]:
    if isinstance(monitor, Frequent):
        for _ in range(10):
            monitor.look()
    return monitor.sample()


def _print(name: str, took: float) -> None:
    print(f"  {name:<24} {took:9.2f}")


def _met(met: bool) -> str:
    return "met" if met else "missed"


def _cost(sample: Callable[[], Any], times: int) -> tuple[float, Any]:
    """(the median CPU time of this thread in ms, what the last one gave)."""
    took, told = [], None
    for _ in range(times):
        began = time.thread_time_ns()
        told = sample()
        took.append(time.thread_time_ns() - began)
    return statistics.median(took) / 1e6, told


def archive_bytes(figures: list[tuple[str, str, str, float]]) -> int:
    """Size of the table of an hour with these figures every second: counters rise unevenly, gauges change."""
    draw = random.Random(1)
    values = [value for *_, value in figures]
    with tempfile.TemporaryDirectory(dir=_memory()) as name:
        archive = Writer.create(Path(name), "hour")
        key = {"scale": 1, "stage": "load", "node": "local", "clients": 64}
        for cycle in range(CYCLES):
            rows: list[dict[str, Any]] = []
            for second in range(HOUR_S // CYCLES):
                at_ns = second * 1_000_000_000 + draw.randrange(1_000_000)
                for number, (monitor, metric, unit, _) in enumerate(figures):
                    step = draw.random() * max(1.0, 0.0001 * abs(values[number]))
                    values[number] += step if unit.endswith(" total") else step * draw.choice((-1, 1))
                    value = values[number] if unit.startswith("s") else float(round(values[number]))
                    figure = {"monitor": monitor, "metric": metric, "unit": unit, "value": value}
                    rows.append({**key, "cycle": cycle, "at_ns": at_ns + 1000 * number, **figure})
            archive.rows("monitors", f"{cycle:03}", rows)
        target = archive.path / "whole.parquet"
        merge("monitors", sorted((archive.path / "monitors").iterdir()), target)
        return target.stat().st_size


def write_machine(root: Path, cpus: int, processes: int, disks: int, sessions: int) -> None:
    """Writes the files below ``root``; numbers are drawn, their forms are the kernel's."""
    draw = random.Random(7)
    folder = root / "proc"
    folder.mkdir(parents=True)
    number = draw.randrange
    ticks = [" ".join(str(number(10**8)) for _ in range(10)) for _ in range(cpus)]
    interrupts = [number(10**6) if draw.random() < 0.2 else 0 for _ in range(4000)]
    (folder / "stat").write_text("\n".join([
        "cpu  " + " ".join(str(number(10**10)) for _ in range(10)), *(f"cpu{n} {line}" for n, line in enumerate(ticks)),
        "intr " + " ".join(map(str, [sum(interrupts), *interrupts])), f"ctxt {number(10**12)}", "btime 1700000000",
        f"processes {number(10**8)}", "procs_running 9", "procs_blocked 0",
        "softirq " + " ".join(str(number(10**9)) for _ in range(11)),
    ]) + "\n")  # fmt: skip
    lines = [" " * 11 + "".join(f"CPU{n:<8}" for n in range(cpus))]
    # A queue of each disk and each network card for each CPU: that is what such machines have.
    for line in range(8 * cpus):
        counts = [0] * cpus
        counts[line % cpus] = number(10**7)
        lines.append(
            f"{line:4}: " + " ".join(f"{n:10}" for n in counts) + f"  IR-PCI-MSI-0000:{line} 0-edge nvme0q{line}"
        )
    for name, words in (
        ("RES", "Rescheduling interrupts"),
        ("CAL", "Function call interrupts"),
        ("TLB", "TLB shootdowns"),
    ):
        lines.append(f"{name:>4}: " + " ".join(f"{number(10**8):10}" for _ in range(cpus)) + f"   {words}")
    (folder / "interrupts").write_text("\n".join(lines) + "\n")
    names = ["MemTotal", "MemFree", "MemAvailable", "Buffers", "Cached", "Active", "Inactive", "SwapTotal", "SwapFree"]
    names += ["Shmem", "SReclaimable"]
    (folder / "meminfo").write_text("".join(f"{name}: {number(10**9)} kB\n" for name in names))
    (folder / "vmstat").write_text("pgpgin 1\npgpgout 1\npswpin 0\npswpout 0\n")
    (folder / "net").mkdir()
    cards = "".join(f"eth{n}: " + " ".join(str(number(10**12)) for _ in range(16)) + "\n" for n in range(8))
    (folder / "net/dev").write_text("a\nb\n" + cards)
    (folder / "pressure").mkdir()
    for what in proc.RESOURCES:
        words = "avg10=1.00 avg60=1.00 avg300=1.00 total"
        (folder / "pressure" / what).write_text(f"some {words}={number(10**9)}\nfull {words}={number(10**9)}\n")
    names = [f"nvme{n}n1" for n in range(disks)]
    parts = [name + suffix for name in names for suffix in ("", "p1", "p2", "p3")]
    table = "".join(
        f" 259 {n} {name} " + " ".join(str(number(10**9)) for _ in range(17)) + "\n" for n, name in enumerate(parts)
    )
    (folder / "diskstats").write_text(table)
    for name in names:
        (root / "sys/block" / name).mkdir(parents=True)
    at = root / "sys/devices/system"
    (at / "cpu").mkdir(parents=True)
    (at / "clocksource/clocksource0").mkdir(parents=True)
    (at / "clocksource/clocksource0/current_clocksource").write_text("tsc\n")
    for kind in ("present", "online"):
        (at / "cpu" / kind).write_text(f"0-{cpus - 1}\n")
    for pid in range(1, processes + 1):
        of_server = SERVER <= pid <= SERVER + sessions
        at = folder / str(pid)
        if of_server or pid <= 64:
            parent = (1 if pid == SERVER else SERVER) if of_server else (2 if pid % 3 else 1)
            _write_process(at, pid, parent, number, threads=of_server)
            continue
        # Files of another process: they are read as often.
        at.mkdir()
        for name in ("stat", "io"):
            (at / name).hardlink_to(folder / str(pid % 60 + 1) / name)


def _write_process(at: Path, pid: int, parent: int, number: Callable[[int], int], *, threads: bool) -> None:
    at.mkdir()
    flags = 0x00200000 if parent == 2 else 0x400000
    rest = " ".join(str(number(10**6)) for _ in range(30))
    times = " ".join(str(number(10**4)) for _ in range(4))
    name = "postgres" if threads else "kworker/1:1"
    (at / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0 -1 {flags} 1 1 1 1 {times} 20 0 1 0 {pid} {rest}\n")
    words = f"rchar: 1\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: {number(10**9)}\nwrite_bytes: {number(10**9)}\n"
    (at / "io").write_text(words + "cancelled_write_bytes: 0\n")
    if not threads:
        return
    task = at / "task" / str(pid)
    task.mkdir(parents=True)
    (task / "schedstat").write_text(f"{number(10**12)} {number(10**12)} {number(10**8)}\n")
    (task / "syscall").write_text("232 0x5 0x7ffd 0x1 0xffffffff 0x0 0x0 0x7ffd 0x7fff\n")
    body = "".join(f"se.statistics.field_{n:<30} : {number(10**9)}\n" for n in range(40))
    switches = f"nr_voluntary_switches : {number(10**8)}\nnr_involuntary_switches : {number(10**7)}\n"
    (task / "sched").write_text(f"{body}se.nr_migrations : {number(10**6)}\n{switches}")


if __name__ == "__main__":
    main()
