"""The operating system: what it is, what it runs in, and what it does with memory and writes."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

from dsbench.measure.stack.described import Items, present, text

_VM = Path("/proc/sys/vm")
_DMI = Path("/sys/class/dmi/id")


def items() -> Items:
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
