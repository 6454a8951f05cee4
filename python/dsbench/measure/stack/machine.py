"""The machine (processor, caches, main memory), its operating system, and dsbench itself."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil

import dsbench
from dsbench import release
from dsbench.control_groups import cpu_limit, memory_limit
from dsbench.measure.stack.described import Items, present, size, text

_CPUS = Path("/sys/devices/system/cpu")


def describe_core(server: int | None) -> Items:
    """What the machine has, and what the process ``server`` (this one when ``None``) may use of it."""
    memory, limit, share = psutil.virtual_memory().total, memory_limit(server), cpu_limit(server)
    return present(
        {
            "CPU": model(),
            "sockets": _sockets(),
            "cores": str(psutil.cpu_count(logical=False) or ""),
            "threads": str(psutil.cpu_count() or ""),
            "threads allowed": _allowed(),
            "CPU limit": f"{share:g} CPUs (control group)" if share else "",
            "MHz": _mhz(),
            "caches": caches(),
            "frequency governor": governor(),
            "RAM": size(memory),
            "memory modules": memory_modules(),
            "RAM limit": f"{size(limit)} (control group)" if limit and limit < memory else "",
            "swap": size(psutil.swap_memory().total),
            "NUMA nodes": str(len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or ""),
        }
    )


def model() -> str:
    """Name of the processor."""
    match = re.search(r"^(?:model name|cpu model)\s*:\s*(.+)$", text(Path("/proc/cpuinfo")), re.MULTILINE)
    return match[1].strip() if match else _by_lscpu() or platform.processor() or platform.machine()


def _by_lscpu() -> str:
    """On ARM the kernel gives numbers, which this program knows by heart."""
    program = shutil.which("lscpu")
    if program is None:
        return ""
    said = subprocess.run(
        [program], capture_output=True, text=True, check=False, timeout=10, env={**os.environ, "LC_ALL": "C"}
    )
    match = re.search(r"^Model name:\s*(.+)$", said.stdout, re.MULTILINE)
    return match[1].strip() if match else ""


def governor() -> str:
    """The rule by which the processor's frequency is chosen; empty when a hypervisor decides."""
    governors = {text(file) for file in _CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(governors - {""}))


def caches() -> str:
    """Caches of the first processor, from the nearest to the farthest."""
    found = []
    for folder in sorted((_CPUS / "cpu0/cache").glob("index[0-9]*")):
        level, kind, amount = (text(folder / name) for name in ("level", "type", "size"))
        if level and amount:
            short = {"Data": "d", "Instruction": "i"}.get(kind, "")
            sharing = _count(text(folder / "shared_cpu_list"))
            found.append(f"L{level}{short} {amount}" + (f" for {sharing} threads" if sharing > 1 else ""))
    return ", ".join(found)


def _count(cpus: str) -> int:
    """Length of a kernel's list such as ``0-3,8``."""
    ranges = [part.split("-") for part in cpus.split(",") if part]
    return sum(int(r[-1]) - int(r[0]) + 1 for r in ranges)


def _sockets() -> str:
    packages = {text(file) for file in _CPUS.glob("cpu[0-9]*/topology/physical_package_id")}
    return str(len(packages - {""}) or "")


def _allowed() -> str:
    """Only when this process may not use all of them."""
    if not hasattr(os, "sched_getaffinity"):
        return ""
    allowed = len(os.sched_getaffinity(0))
    return str(allowed) if allowed != psutil.cpu_count() else ""


def _mhz() -> str:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError):
        return ""
    return f"{frequency.max or frequency.current:.0f}" if frequency else ""


_SMBIOS = Path("/sys/firmware/dmi/tables/DMI")
_UDEV = Path("/run/udev/data/+dmi:id")
_MEMORY_DEVICE = 17
_KINDS = {0x12: "DDR", 0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1E: "LPDDR4", 0x22: "DDR5", 0x23: "LPDDR5"}
"""Types of memory by their numbers in SMBIOS 3.7, section 7.18.2."""


def memory_modules() -> str:
    """``2 × 8 GiB DDR4, 2667 MT/s``: by the firmware's own table, which root may read, or by what udev kept of it.
    Empty where neither is there, as in most virtual machines."""
    try:
        found = list(_in_firmware(_SMBIOS.read_bytes()))
    except OSError:
        found = list(_by_udev(text(_UDEV)))
    words = Counter(
        " ".join([size(amount), *[kind] * bool(kind)]) + (f", {speed} MT/s" if speed else "")
        for amount, kind, speed in found if amount
    )
    return "; ".join(f"{count} × {word}" for word, count in words.items())


def _in_firmware(table: bytes) -> Iterator[tuple[int, str, int]]:
    """Bytes, type and speed of each memory device: SMBIOS 3.7, sections 6.1 and 7.18."""
    at = 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if length < 4:
            return
        part = table[at : at + length]
        if kind == _MEMORY_DEVICE and length >= 0x17:
            amount, speed = (int.from_bytes(part[n : n + 2], "little") for n in (0x0C, 0x15))
            amount_mib = amount & 0x7FFF
            if amount == 0x7FFF and length >= 0x20:
                amount_mib = int.from_bytes(part[0x1C:0x20], "little") & 0x7FFFFFFF
            if length >= 0x22 and (configured := int.from_bytes(part[0x20:0x22], "little")):
                speed = configured
            octets = 0 if amount == 0xFFFF else amount_mib << (10 if amount & 0x8000 else 20)
            yield octets, _KINDS.get(part[0x12], ""), speed if speed != 0xFFFF else 0
        end = table.find(b"\0\0", at + length)  # Its texts end with two zeros.
        if end < 0:
            return
        at = end + 2


def _by_udev(lines: str) -> Iterator[tuple[int, str, int]]:
    values = dict(re.findall(r"^E:MEMORY_DEVICE_(\d+_\w+)=(.*)$", lines, re.MULTILINE))
    for number in sorted({name.partition("_")[0] for name in values}, key=int):
        amount, kind, speed, configured = (
            values.get(f"{number}_{name}", "") for name in ("SIZE", "TYPE", "SPEED_MTS", "CONFIGURED_SPEED_MTS")
        )
        known = configured or speed
        yield (int(amount) if amount.isdigit() else 0), kind, int(known) if known.isdigit() else 0


_VM = Path("/proc/sys/vm")
_DMI = Path("/sys/class/dmi/id")


def describe_system() -> Items:
    """Distribution, kernel, virtualisation and the switches that databases feel."""
    return present(
        {
            "distribution": distribution(),
            "kernel": f"{platform.system()} {platform.release()}",
            "architecture": platform.machine(),
            "virtual machine": _detected("--vm") or _hypervisor(),
            "container": _detected("--container"),
            "transparent huge pages": huge_pages(),
            "huge pages": _unless_zero(text(_VM / "nr_hugepages")),
            "swappiness": text(_VM / "swappiness"),
            "overcommit": text(_VM / "overcommit_memory"),
            "dirty pages": _dirty(),
            "clock source": clock_source(),
            "CPU vulnerabilities": _mitigations(),
        }
    )


def distribution() -> str:
    """Name and version of the system."""
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform(terse=True)


def huge_pages() -> str:
    """``always``, ``madvise`` or ``never``; empty where there are none."""
    return _chosen(text(Path("/sys/kernel/mm/transparent_hugepage/enabled")))


def clock_source() -> str:
    """What the kernel reads the time from; empty where it does not say."""
    return text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource"))


def _chosen(words: str) -> str:
    match = re.search(r"\[(\w+)\]", words)
    return match[1] if match else words


def _unless_zero(number: str) -> str:
    return "" if number == "0" else number


def _dirty() -> str:
    """From when on written pages are flushed in the background, and from when on writers have to wait."""
    parts = []
    for name, words in (("dirty_background", "flushed from"), ("dirty", "writers wait from")):
        count, ratio = text(_VM / f"{name}_bytes"), text(_VM / f"{name}_ratio")
        if ratio:
            parts.append(f"{words} {count + ' B' if count not in ('', '0') else ratio + ' %'}")
    return ", ".join(parts)


def _detected(kind: str) -> str:
    program = shutil.which("systemd-detect-virt")
    if program is None:
        return ""
    said = subprocess.run([program, kind], capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    return "" if said == "none" else said


def _hypervisor() -> str:
    """Without systemd: what the machine calls itself, or the processor's word that it is not alone."""
    name = " ".join(filter(None, (text(_DMI / "sys_vendor"), text(_DMI / "product_name"))))
    flagged = re.search(r"^flags\s*:.*\bhypervisor\b", text(Path("/proc/cpuinfo")), re.MULTILINE)
    return (name or "yes, of unknown kind") if flagged else ""


def _mitigations() -> str:
    states = [text(file) for file in Path("/sys/devices/system/cpu/vulnerabilities").glob("*")]
    counts = {word: sum(s.startswith(word) for s in states) for word in ("Mitigation", "Vulnerable", "Not affected")}
    words = {"Mitigation": "mitigated", "Vulnerable": "left open", "Not affected": "not affected"}
    return ", ".join(f"{count} {words[word]}" for word, count in counts.items() if count)


def describe_application() -> Items:
    """Version, the commit when it runs from a checkout, Python."""
    return present(
        {
            "dsbench": release.VERSION,
            "commit": commit(Path(dsbench.__file__).parent),
            "Python": f"{platform.python_implementation()} {platform.python_version()}",
        }
    )


def commit(package: Path) -> str:
    """The commit of the checkout that holds ``package``; with ``-dirty`` when files were changed since."""
    # An installed package may lie inside a checkout of something else: that one's commit would mislead.
    home = next((p for p in package.parents if (p / ".git").exists()), None)
    git = shutil.which("git")
    if home is None or git is None or package not in (home / "python/dsbench", home / "dsbench"):
        return ""
    command = [git, "-C", str(home), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=10).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
