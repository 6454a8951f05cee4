"""Counters of this machine: names and units of the archive, and numbers that mean what they say."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dsbench.devices import Device, devices_of
from dsbench.measure.monitors import SERVER, Known, Monitor, monitors_for
from dsbench.measure.monitors.system import Client, Network, OperatingSystem, StorageDevice, SystemCalls

INTERRUPTS = Path("/proc/interrupts")
ALWAYS = ["os", "network", "client", "interrupts", "disks", "pressure", "round_trip", "client_tasks", "client_threads"]


def _calls() -> list[str]:
    """Counted where tracefs is mounted by now, and the kernel lets us."""
    return [] if SystemCalls.allowed() is None else ["calls"]


def _values(monitor: Monitor) -> dict[str, float]:
    return {metric: value for metric, _, value in monitor.sample()}


def _gained(monitor: Monitor, work: Callable[[], None]) -> dict[str, float]:
    before = _values(monitor)
    work()
    after = _values(monitor)
    return {metric: after[metric] - before[metric] for metric in before}


def _compute() -> None:
    start = os.times()
    while os.times().user - start.user < 0.2:
        sum(range(10_000))


def _compute_until_the_system_tells() -> None:
    """The system counts by ticks, and on a virtual machine that has to wait it misses some, a process none."""
    before = _values(OperatingSystem())["cpu_user"]
    for _ in range(50):
        _compute()
        if _values(OperatingSystem())["cpu_user"] - before >= 0.15:
            return


def test_names_and_units_are_those_of_the_archive(tmp_path: Path) -> None:
    seen = {(m.name, metric): unit for m in monitors_for("sqlite", [tmp_path], None) for metric, unit, _ in m.sample()}
    seconds = [("os", f"cpu_{s}") for s in ("user", "system", "iowait", "idle", "steal")]
    seconds += [("client", "cpu_user"), ("client", "cpu_system")]
    seconds += [("device", m) for m in ("read_time", "write_time", "busy_time", "flush_time")]
    seconds += [("pressure", of) for of in ("cpu", "io", "memory")]
    traffic = [f"{loop}{way}_bytes" for loop in ("", "loopback_") for way in ("sent", "received")]
    gauges = [("os", "memory_used"), ("os", "memory_cached"), ("os", "swap_used"), ("client", "resident_memory")]
    expected = {
        **dict.fromkeys(seconds, "s total"),
        ("os", "context_switches"): "count total",
        **dict.fromkeys(gauges, "bytes"),
        **dict.fromkeys([("device", of) for of in ("reads", "writes", "flushes")], "operations total"),
        **dict.fromkeys([("device", "read_bytes"), ("device", "write_bytes")], "bytes total"),
        **dict.fromkeys([("network", metric) for metric in traffic], "bytes total"),
        ("interrupts", "rescheduling_interrupts"): "count total",
        ("interrupts", "function_call_interrupts"): "count total",
        **dict.fromkeys([("client_tasks", f"{what}_switches") for what in ("voluntary", "involuntary")], "count total"),
        ("client_tasks", "migrations"): "count total",
        ("client_tasks", "queued"): "s total",
        **dict.fromkeys([(name, "system_calls") for name in _calls()], "count total"),
    }
    # What a kernel or a place in memory does not tell of is left out.
    there = {"device": StorageDevice.holding(tmp_path) is not None, "interrupts": "Rescheduling" in INTERRUPTS.read_text(),
             "pressure": Path("/proc/pressure/cpu").exists()}  # fmt: skip
    expected = {key: unit for key, unit in expected.items() if there.get(key[0], True)}
    if not Path("/proc/self/sched").exists():
        del expected["client_tasks", "migrations"]
    disks = {key: unit for key, unit in seen.items() if key[0] == "disks"}
    assert set(disks.values()) <= {"operations total"}
    assert all(metric.startswith("transfers of ") for _, metric in disks)
    assert {key: unit for key, unit in seen.items() if key not in disks} == expected


def test_work_of_this_process_is_seen_by_client_and_system() -> None:
    client = _gained(Client(), _compute)
    assert client["cpu_user"] >= 0.19
    system = _gained(OperatingSystem(), _compute_until_the_system_tells)
    assert system["cpu_user"] >= 0.15
    assert system["context_switches"] > 0


def test_processor_times_add_up_to_the_time_of_all_processors() -> None:
    busy_s = _values(OperatingSystem())
    total = sum(value for metric, value in busy_s.items() if metric.startswith("cpu_"))
    assert total == pytest.approx(sum(psutil.cpu_times()), rel=0.01)


def test_what_goes_over_the_loopback_is_counted_apart() -> None:
    payload = b"x" * 1_000_000
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sending = socket.create_connection(listening.getsockname())
        receiving, _ = listening.accept()

        def send() -> None:
            sent = got = 0
            while got < len(payload):
                sent += sending.send(payload[sent : sent + 50_000])
                got += len(receiving.recv(1 << 20))

        gained = _gained(Network(), send)
        sending.close()
        receiving.close()
    assert gained["loopback_sent_bytes"] >= len(payload)
    assert gained["loopback_received_bytes"] >= len(payload)


def test_what_is_written_and_flushed_reaches_the_device(tmp_path: Path) -> None:
    device = StorageDevice.holding(tmp_path)
    if device is None:
        pytest.skip("the temporary directory lies on no block device")

    def write() -> None:
        with (tmp_path / "file").open("wb") as file:
            file.write(os.urandom(4 << 20))
            file.flush()
            os.fsync(file.fileno())

    gained = _gained(device, write)
    assert gained["write_bytes"] >= 4 << 20
    assert gained["writes"] >= 1
    assert gained["write_time"] >= 0


def test_devices_of_the_data_are_added_up_and_a_disk_counts_its_flushes_once(tmp_path: Path) -> None:
    disk, other = (Device(name, tmp_path / name) for name in ("sda", "sdb"))
    parts = [Device(name, tmp_path / "sda" / name) for name in ("sda1", "sda2")]
    for number, device in enumerate((disk, *parts, other), 1):
        device.folder.mkdir()
        (device.folder / "stat").write_text(" ".join([str(number)] * 17))
    for part in parts:
        (part.folder / "partition").write_text("1")
    found = {name: value for name, _unit, value in StorageDevice(*parts, other).sample()}
    assert (found["reads"], found["write_bytes"], found["flushes"]) == (2 + 3 + 4, (2 + 3 + 4) * 512, 1 + 4)


def test_counters_are_those_of_the_device_that_holds_the_data(tmp_path: Path) -> None:
    device = StorageDevice.holding(tmp_path)
    if device is None:
        pytest.skip("the temporary directory lies on no block device")
    (holder,) = devices_of([tmp_path])
    line = next(r for r in Path("/proc/diskstats").read_text().splitlines() if r.split()[2] == holder.name)
    assert line.split()[0:2] == [str(os.major(tmp_path.stat().st_dev)), str(os.minor(tmp_path.stat().st_dev))]
    assert _values(device)["reads"] >= int(line.split()[3])


def test_memory_has_no_device() -> None:
    assert StorageDevice.holding(Path("/dev/shm")) is None
    assert [m.name for m in monitors_for("sqlite", [Path("/dev/shm")], None)] == [*ALWAYS, *_calls()]


def test_without_a_folder_here_there_is_no_device() -> None:
    assert [m.name for m in monitors_for("mock", (), None)] == [*ALWAYS, *_calls()]


def test_a_server_whose_processes_are_known_has_a_monitor_of_them() -> None:
    assert [m.name for m in monitors_for("mock", (), None, Known({1: SERVER}))] == [
        *ALWAYS, "server_threads", *_calls(), "server_tasks"
    ]  # fmt: skip
