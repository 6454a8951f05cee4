"""The checks behind ``dsbench doctor``: what can run here, what is missing, and what would spoil figures."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from dsbench import caches, control_groups, devices, release, servers, spec
from dsbench.dataclass import dataclass
from dsbench.measure import loaders as generator
from dsbench.measure.monitors import Known, MachineSnapshot, beside, between, look
from dsbench.measure.monitors.host import is_tsc_given_up, read_cpus
from dsbench.measure.stack import described, machine
from dsbench.problem import how_to_install
from dsbench.servers.errors import Installation
from dsbench.servers.storage.volume import StorageError
from dsbench.servers.storage.volume import check as check_storage
from dsbench.spec.storage import KINDS, Storage
from dsbench.stats.machine import RESOURCES, noticed, others, programs

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

BYTES_PER_SCALE = 16_000_000
"""A scale of tpcb in PostgreSQL with its keys: 15.7 MB; SQLite takes 11.4 MB."""
_GROWTH = 1.5
_LOG_BYTES = 2_000_000_000
"""Room for what cycles add and leave behind, and for the write-ahead log."""

_SLOW_CLOCK_NS = 500
"""A reading of the time that takes longer went through the kernel, or to a device."""

_WATCHED_S = 1.0

_EXTRAS = {
    "cluster": ("distributed", "load from several machines"),
    "drivers": ("firebird.driver", "other client programs, for comparison"),
    "query": ("duckdb", "SQL over archives"),
    "web": ("nicegui", "report in a browser"),
}
"""Optional packages of pyproject.toml: extra, module, what it is for."""


@dataclass(frozen=True)
class Finding:
    """One check."""

    name: str
    ok: bool
    """False when something cannot run, or when figures would suffer."""
    found: str
    remedy: str = ""
    """What to do about it; empty when it is well."""


def findings() -> list[Finding]:
    """All checks, in the order of the stack from the program down to the machine."""
    base = Path(tempfile.gettempdir()).resolve()
    checks: list[Callable[[], list[Finding]]] = [
        _core, _servers, _more_servers, lambda: _account(base), lambda: _stale(base), lambda: _storage(base),
        lambda: _file_systems(base), _open_files, _cpus, _clock, _governor, _huge_pages, _extras,
    ]  # fmt: skip
    known = Known(beside())
    before, began_s = look(known), time.monotonic()
    found: list[Finding] = []
    for check in checks:
        found += check()
    return found + (_others(known, before, began_s) if before is not None else [])


def _others(known: Known, before: MachineSnapshot, began_s: float) -> list[Finding]:
    """What else the machine has done since ``before``, for a second at least: CPU time is counted in hundredths."""
    time.sleep(max(0.0, began_s + _WATCHED_S - time.monotonic()))
    after = look(known)
    if after is None:
        return []
    used, pressure = between(before, after, known), {what: one.lately for what, one in after.pressure.items()}
    if wrong := list(noticed(used, pressure)):
        remedies = dict.fromkeys(remedy for _, remedy in wrong)
        return [Finding("other programs", False, "; ".join(words for words, what in wrong if what == remedy), remedy)
                for remedy in remedies]  # fmt: skip
    use = used.use
    told = ", ".join(f"{RESOURCES[what]} {share:.0%}" for what, share in pressure.items())
    stolen = f"; stolen {use.share(use.stolen_ns):.0%}" + (f"; waits for {told}" if told else "")
    return [Finding("other programs", True, f"{others([used])} in use{programs([used], running=True)}{stolen}")]


def _core() -> list[Finding]:
    known = generator.build()
    engines, workloads = ", ".join(known["schemes"]), ", ".join(known["workloads"])
    return [Finding("core", True, f"engines {engines}; workloads {workloads}")]


def _servers() -> list[Finding]:
    return [_server(found) for found in servers.installations()]


def _more_servers() -> list[Finding]:
    words = (
        "dsbench servers install firebird (a server), mariadb (with MyRocks), postgresql; also postgresql "
        "--version 18, mysql, firebird --version 5"
    )
    return [Finding("more servers", True, f"{words}, unpacked into {caches.servers()}")]


def _server(found: Installation) -> Finding:
    name = f"private:{found.product}"
    if not found.version:
        return Finding(name, False, "no server found", found.remedy)
    return Finding(name, True, f"{found.version}, {found.path}" if found.path else found.version)


def _account(base: Path) -> list[Finding]:
    try:
        user = servers.account(base)
    except servers.ServerError as error:
        return [Finding("account", False, error.problem, error.remedy)]
    who = f"private servers run as the user {user}" if user else "private servers run as this user"
    if servers.dies_with_us():
        return [Finding("account", True, f"{who}, and end with dsbench even if it is killed")]
    remedy = "install util-linux (setpriv); without it, the next run stops servers that a killed run left"
    return [Finding("account", False, f"{who}; if dsbench is killed, its servers keep running", remedy)]


def _stale(base: Path) -> list[Finding]:
    left = servers.stale(base)
    if not left:
        return [Finding("left-overs", True, f"no folders of killed runs in {base}")]
    names = ", ".join(str(path) for path in left)
    return [Finding("left-overs", False, names, "the next run with a private server removes them; or delete them "
                                                "yourself")]


def _storage(base: Path) -> list[Finding]:
    mount, free = devices.mount_of(base), shutil.disk_usage(base).free
    kind = mount.type if mount else "unknown"
    fits = [scale for scale in spec.DSI_SCALES if scale * BYTES_PER_SCALE * _GROWTH + _LOG_BYTES <= free]
    room = f"{described.size(free)} free in {base}"
    elsewhere = "specify a folder on a larger disk: [target] directory = …"
    found = [
        Finding("room", True, f"{room}: scales up to {fits[-1]}")
        if fits
        else Finding("room", False, f"{room}: too little for any scale", elsewhere)
    ]
    remedy = "specify a folder on a disk: [target] directory = …, or set TMPDIR"
    if kind in devices.VOLATILE:
        found.append(Finding("storage", False, f"{base} is in memory ({kind}), not on a disk", remedy))
    elif kind in devices.STACKED:
        found.append(Finding("storage", False, f"{base} is on a stacked file system ({kind})", remedy))
    else:
        device = devices.device_of(base)
        found.append(Finding("storage", True, f"{base} is on {kind}" + (f", device {device.name}" if device else "")))
    return found


def _file_systems(base: Path) -> list[Finding]:
    """Which a run can have made for it."""
    here: list[str] = []
    missing: dict[str, str] = {}
    for kind in KINDS:
        try:
            check_storage(Storage.of(kind), base)
            here.append(kind)
        except StorageError as error:
            missing.setdefault(f"{error.problem} ({error.remedy})", kind)
    words = f"--storage supports {', '.join(here) or 'none'}"
    return [Finding("file systems", True, "; ".join([words, *(f"{kind}: {why}" for why, kind in missing.items())]))]


def _open_files() -> list[Finding]:
    if resource is None:
        return []
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most == resource.RLIM_INFINITY:
        return [Finding("open files", True, "no limit")]
    # SQLite holds the file, its log and its shared memory open in every session.
    sessions = max(0, most - 64) // 3
    ok = sessions >= 300
    remedy = "" if ok else "as the superuser, before starting dsbench: ulimit -n 65536"
    return [Finding("open files", ok, f"{most}: enough for about {sessions} connections of all clients", remedy)]


def _cpus() -> list[Finding]:
    """Whether all CPUs are there, and may be used."""
    known, quota = read_cpus(), control_groups.cpu_limit(None)
    present, online = len(known["present"]), len(known["online"])
    found = []
    if online < present:
        remedy = "enable them (chcpu -e), or take into account that they are off"
        found.append(Finding("CPUs", False, f"{online} of {present} CPUs are online", remedy))
    if quota is not None and online and quota < online:
        words = f"a control group allows {quota:g} of {online} CPUs: use above that waits for the next period"
        found.append(Finding("CPU quota", False, words, "raise the quota of the container or control group (cpu.max)"))
    return found or ([Finding("CPUs", True, f"{online}, all online")] if online else [])


def _clock() -> list[Finding]:
    source, cost_ns = machine.clock_source(), _clock_cost_ns()
    named = f"{source}, " if source else ""
    found = f"{named}{cost_ns:.0f} ns a reading from Python"
    if cost_ns < _SLOW_CLOCK_NS:
        return [Finding("clock", True, found)]
    remedy = "use another type of virtual machine, without emulation: it affects latencies"
    if source != "tsc":
        remedy = f"let the kernel use tsc (clocksource=tsc), or {remedy}"
    if is_tsc_given_up():
        found += "; the kernel found the CPUs' own counter (tsc) unstable"
        remedy = f"see dmesg for the reason, and {remedy}"
    return [Finding("clock", False, found, remedy)]


def _clock_cost_ns() -> float:
    """The least of several averages: other programs can only make it slower."""
    count, costs = 2000, []
    for _ in range(10):
        began = time.perf_counter_ns()
        for _ in range(count):
            time.monotonic_ns()
        costs.append((time.perf_counter_ns() - began) / count)
    return min(costs)


def _governor() -> list[Finding]:
    governor = machine.governor()
    if not governor:
        return [Finding("CPU frequency", True, "not set here: fixed, or set by the hypervisor")]
    ok = governor == "performance"
    remedy = "" if ok else "for repeatable figures: cpupower frequency-set -g performance"
    return [Finding("CPU frequency", ok, f"governor {governor}", remedy)]


def _huge_pages() -> list[Finding]:
    value = machine.huge_pages()
    if not value:
        return []
    ok = value != "always"
    remedy = "" if ok else "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: merging pages stalls servers"
    return [Finding("transparent huge pages", ok, value, remedy)]


def _extras() -> list[Finding]:
    offered = {extra: _EXTRAS[extra] for extra in _offered() if extra in _EXTRAS}
    missing = [extra for extra, (module, _) in offered.items() if not _is_there(module)]
    words = [
        f"{extra} ({use}): {'not installed' if extra in missing else 'installed'}"
        for extra, (_, use) in offered.items()
    ]
    # No run needs them: what is missing is no defect.
    remedy = how_to_install(",".join(missing)) if missing else ""
    return [Finding("extras", True, "; ".join(words), remedy)] if words else []


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package around it
        return False


def _offered() -> list[str]:
    """Extras of the installed package."""
    try:
        return importlib.metadata.metadata(release.DISTRIBUTION).get_all("Provides-Extra") or []
    except importlib.metadata.PackageNotFoundError:
        return []
