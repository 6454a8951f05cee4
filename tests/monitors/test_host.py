"""What a machine may lose during a cycle, by made-up files of the kernel's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import dsbench
from dsbench import control_groups
from dsbench.measure import cycle
from dsbench.measure.monitors import host
from dsbench.measure.monitors.host import Host, describe_changes, is_tsc_given_up, read_cpus, read_host
from dsbench.read.subjects.warnings import WarningsResult

SECOND_NS = 1_000_000_000
CLOCK = "sys/devices/system/clocksource/clocksource0"


def write(root: Path, **files: str) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A machine of 8 CPUs and 64 GiB, with processes 10 and 20 in one group of a container, and 30 in another."""
    write(tmp_path, **{
        "sys/devices/system/cpu/present": "0-7\n", "sys/devices/system/cpu/online": "0-7\n",
        "proc/meminfo": "MemTotal:       67108864 kB\nMemFree: 5 kB\n", "proc/cpuinfo": "flags\t\t: fpu tsc msr\n",
        f"{CLOCK}/current_clocksource": "tsc\n", f"{CLOCK}/available_clocksource": "tsc hpet acpi_pm \n",
        "proc/10/cgroup": "0::/box\n", "proc/20/cgroup": "0::/box\n", "proc/30/cgroup": "4:cpu,cpuacct:/old\n",
        "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
        "sys/fs/cgroup/box/cpu.stat": "usage_usec 5\nnr_throttled 1\nthrottled_usec 1000\n",
        "sys/fs/cgroup/cpu,cpuacct/old/cpu.stat": "nr_throttled 1\nthrottled_time 2000000\n",
    })  # fmt: skip
    return tmp_path


def changes(machine: Path, pids: dict[str, int], **files: str) -> dict[str, str]:
    """Code to words of what has changed when ``files`` are other ones, after a second."""
    before = read_host(pids, machine)
    write(machine, **files)
    return {code: words for code, words, remedy in describe_changes(before, read_host(pids, machine), SECOND_NS) if remedy}


def test_a_machine_that_stays_as_it_is_has_lost_nothing(machine: Path) -> None:
    pids = {"dsbench": 10, "the server": 30}
    assert read_host(pids, machine) == Host(8, 64 << 30, "tsc", {"dsbench": 1_000_000, "the server": 2_000_000})
    assert changes(machine, pids) == {}


@pytest.mark.parametrize(
    ("code", "name", "content", "words"),
    [
        ("cpus-changed", "sys/devices/system/cpu/online", "0-2,4-6", "from 8 to 6"),
        ("memory-changed", "proc/meminfo", "MemTotal: 33554432 kB\n", "from 64 GiB to 32 GiB"),
        ("clock-changed", f"{CLOCK}/current_clocksource", "hpet", "from tsc to hpet"),
        ("throttled", "sys/fs/cgroup/box/cpu.stat", "throttled_usec 501000\n", "dsbench had to wait 0.5 s"),
    ],
)
def test_what_a_machine_loses_is_told(machine: Path, code: str, name: str, content: str, words: str) -> None:
    found = changes(machine, {"dsbench": 10, "the server": 30}, **{name: content})
    assert list(found) == [code]
    assert words in found[code]


def test_who_shares_a_quota_waits_together(machine: Path) -> None:
    stat = {"sys/fs/cgroup/box/cpu.stat": "throttled_usec 501000\n"}
    assert "dsbench and the server had" in changes(machine, {"dsbench": 10, "the server": 20}, **stat)["throttled"]


def test_a_little_is_no_change(machine: Path) -> None:
    little = {"proc/meminfo": "MemTotal: 67000000 kB\n", "sys/fs/cgroup/box/cpu.stat": "throttled_usec 2000\n"}
    assert changes(machine, {"dsbench": 10}, **little) == {}


def test_quotas_of_the_first_version_of_control_groups_count(machine: Path) -> None:
    assert control_groups.throttled_ns(30, machine) == 2_000_000
    stat = {"sys/fs/cgroup/cpu,cpuacct/old/cpu.stat": "throttled_time 900000000\n"}
    assert "the server had to wait 0.9 s" in changes(machine, {"the server": 30}, **stat)["throttled"]


def test_without_a_quota_or_a_process_nothing_was_waited_for(machine: Path) -> None:
    write(machine, **{"sys/fs/cgroup/box/cpu.stat": "usage_usec 7\n"})
    assert control_groups.throttled_ns(10, machine) is None
    assert control_groups.throttled_ns(99, machine) is None


def test_a_system_that_tells_nothing_has_changed_nothing(tmp_path: Path) -> None:
    assert read_host({"dsbench": 10}, tmp_path) == Host(0, 0, "", {})
    assert changes(tmp_path, {"dsbench": 10}) == {}
    assert read_cpus(tmp_path) == {"present": [], "online": []}
    assert not is_tsc_given_up(tmp_path)


def test_a_counter_that_the_kernel_gave_up_is_known(machine: Path) -> None:
    assert not is_tsc_given_up(machine)
    write(machine, **{f"{CLOCK}/available_clocksource": "hpet acpi_pm \n"})
    assert is_tsc_given_up(machine)
    write(machine, **{"proc/cpuinfo": "flags\t\t: fpu tsc_deadline_timer msr\n"})
    assert not is_tsc_given_up(machine), "the CPUs have none"


def test_what_is_lost_between_cycles_is_told_once_and_no_waiting_there(machine: Path) -> None:
    lasting, first = host.Lasting(), read_host({"dsbench": 10}, machine)
    assert lasting.begin(first) == []
    lasting.end(first)
    later = replace(first, memory=32 << 30, clock="hpet", throttled_ns={"dsbench": 10 * SECOND_NS})
    assert [code for code, _words, _remedy in lasting.begin(later)] == ["memory-changed", "clock-changed"]
    lasting.end(later)
    assert lasting.begin(later) == []


def test_a_run_warns_of_what_its_machine_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([8, 8, 8, 6, 6, 6, 5, 5])
    monkeypatch.setattr(cycle, "read_host", lambda pids: replace(host.read_host(pids), cpus=next(looks)))
    archive = dsbench.run("mock:", scales=(1, 2), cycles=2, duration=0.1, clients=1, out=tmp_path)
    found = [one for one in archive.evaluate().of(WarningsResult).doubts if one.code == "cpus-changed"]
    assert [(one.message, one.scale) for one in found] == [
        ("during cycle 2 of scale 1 the number of CPUs changed from 8 to 6", 1),
        ("before cycle 2 of scale 2 the number of CPUs changed from 6 to 5", 2),
    ]
