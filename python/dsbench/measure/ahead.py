"""A run before it is made: its settings, its plan, its time and its space. Nothing is connected, started or written."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

from dsbench import servers, workloads
from dsbench.dataclass import dataclass
from dsbench.measure import open_files
from dsbench.measure.journal import RunError
from dsbench.measure.kernel import kinds
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.loaders.answers import LACKING, lacks_engine
from dsbench.measure.moments import format_time
from dsbench.measure.monitors.energy import is_installed
from dsbench.measure.monitors.firebird import LARGEST
from dsbench.measure.opening import explain_errors, sessions
from dsbench.measure.plan import PlannedCycle, can_go_on, planned
from dsbench.measure.probes import installed, tools
from dsbench.redaction import redact
from dsbench.servers.storage import volumes
from dsbench.spec import OPTIONS, Limits, Merged, NotHere, RunSpec
from dsbench.spec.objective import SEARCH_DURATIONS, TRIALS
from dsbench.spec.storage import Storage

_BETWEEN_S: Final = 0.3
"""Around a cycle: its connections, its start, its files."""
_PAGE: Final = 8192
_SAMPLED: Final = 30_000
"""Pages of a table that ANALYZE reads at most, with PostgreSQL's default_statistics_target."""
_PAGES_PER_S: Final = (20_000, 300)
"""Single pages that are read per second, out of memory and from a slow disk."""
_READ_PER_S: Final = (1 << 30, 50 << 20)
"""Bytes that are read in order per second, there and there."""
_ROWS_PER_S: Final = (900_000, 20_000)
"""Rows that a population writes per second: on fast machines and on slow ones."""
_KEYS_PER_S: Final = (1_500_000, 60_000)
"""Rows per second of which the primary and foreign keys are made."""
_RESET_PER_S: Final = (1_200_000, 60_000)
"""Rows per second that are set back before a database grows, where the load changed them."""
_CHECKED_PER_S: Final = (900_000, 60_000)
"""Rows that a check reads per second."""


@dataclass(frozen=True)
class SettingAhead:
    """A setting of the run."""

    name: str
    value: Any
    shown: str
    """The value for people."""
    origin: str
    """Who gave it: the command line, a file, a profile, or nobody."""


@dataclass(frozen=True)
class StageAhead:
    """A stage of a scale."""

    name: str
    work: str
    cycles: int
    """0 where it has none."""
    clients: tuple[int, ...]
    """Of each node, one for each cycle."""
    cycle_s: float | None
    """Demanded duration of a cycle with its ramp-up, in seconds; ``None`` where a count ends it."""


@dataclass(frozen=True)
class ScaleAhead:
    """A scale: what it makes, does and takes."""

    scale: int
    rows: int
    """Those of the population, and those that its stages of load add."""
    size_bytes: tuple[int, int] | None
    """Least and most with these rows; ``None`` where the workload does not know it."""
    stages: tuple[StageAhead, ...]
    load_s: float
    """Of all cycles whose end is a time."""
    populate_s: tuple[float, float]
    """With the keys, and what sets a database back that grows: on a fast machine and on a slow one; zeros where a kept
    database is used."""
    check_s: tuple[float, float]
    """Of the checks after the load, there and there."""
    clean_s: tuple[float, float]
    """Of what is cleaned before cycles (VACUUM and ANALYZE of PostgreSQL): where the rows are in memory or storage is
    fast, and where they are not and it is slow."""
    loaded: bool
    """Whether stages of load add rows that stay."""
    statistics_s: tuple[float, float]
    """Of reading a whole database of Firebird before the cycles and after them (gstat): on fast storage and on slow."""
    check_bytes: int
    """What its check writes at least into the folder for temporary files."""
    uncompared: bool
    """Whether answers would be compared, and nothing is here to do it."""


@dataclass(frozen=True)
class Ahead:
    """A run before it is made."""

    settings: tuple[SettingAhead, ...]
    scales: tuple[ScaleAhead, ...]
    where: str
    """The folder of the data on this machine; empty where the server alone knows."""
    free_bytes: int | None
    """In that folder, or in the file system that is made for them."""
    warnings: tuple[str, ...]
    """What may keep the run from ending well."""
    refused: str
    """Why it cannot be made here; empty where nothing shows."""
    probes: bool
    """Whether disk benchmarks are run beside it, of which nobody knows how long they take."""

    @property
    def load_s(self) -> float:
        return sum(one.load_s for one in self.scales)

    @property
    def populate_s(self) -> tuple[float, float]:
        """Seconds of all populations, from and to."""
        return sum(one.populate_s[0] for one in self.scales), sum(one.populate_s[1] for one in self.scales)

    @property
    def check_s(self) -> tuple[float, float]:
        """Seconds of all checks, from and to."""
        return sum(one.check_s[0] for one in self.scales), sum(one.check_s[1] for one in self.scales)

    @property
    def clean_s(self) -> tuple[float, float]:
        """Seconds of all cleanings before cycles, from and to."""
        return sum(one.clean_s[0] for one in self.scales), sum(one.clean_s[1] for one in self.scales)

    @property
    def statistics_s(self) -> tuple[float, float]:
        """Seconds of all statistics that read a whole database, from and to."""
        return sum(one.statistics_s[0] for one in self.scales), sum(one.statistics_s[1] for one in self.scales)

    @property
    def time_s(self) -> tuple[float, float]:
        """Seconds of the whole run, from and to, but for cycles that end by count."""
        parts = (self.populate_s, self.clean_s, self.check_s, self.statistics_s)
        return self.load_s + sum(one[0] for one in parts), self.load_s + sum(one[1] for one in parts)

    @property
    def size_bytes(self) -> tuple[int, int] | None:
        """Of the largest scale: there is one database at a time."""
        return self.scales[-1].size_bytes

    def described(self) -> dict[str, Any]:
        settings = {one.name: {"value": one.value, "origin": one.origin} for one in self.settings}
        sums = {"load_s": self.load_s, "populate_s": self.populate_s, "clean_s": self.clean_s,
                "check_s": self.check_s, "statistics_s": self.statistics_s, "time_s": self.time_s,
                "size_bytes": self.size_bytes}  # fmt: skip
        return {"settings": settings, "scales": [asdict(one) for one in self.scales], **sums,
                "where": self.where, "free_bytes": self.free_bytes, "warnings": self.warnings}  # fmt: skip


def look_ahead(asked: Merged) -> Ahead:
    """The run that ``asked`` describes. ``RunError`` or ``SpecError`` for what engine or workload do not have."""
    spec = asked.spec
    refuse_absent(spec)
    said = spec.described()
    settings = tuple(
        SettingAhead(name, said[name], _shown(name, said[name], spec), asked.origins[name]) for name in OPTIONS
    )
    scales = _scales(spec)
    folder = _folder(spec)
    free = _free(folder)
    if spec.storage and folder is not None:
        volumes.refuse(folder, spec.storage)
        free = Storage(spec.storage).size_bytes
    size = scales[-1].size_bytes
    warnings = [f"the space of the database, {size[1] / 1e9:.3g} GB, may exceed the free space"] \
        if size is not None and free is not None and size[1] > free else []  # fmt: skip
    refused = ""
    try:
        _refuse_larger(spec, scales, folder, free)
        _refuse_unchecked(scales, None if spec.storage else folder)
    except RunError as full:
        refused = str(full)
        warnings.append(f"{refused}: {full.remedy}")
    if scales[-1].uncompared:
        warnings.append("; ".join(LACKING))
    problem, remedy = open_files.lacking(spec)
    if problem:
        warnings.append(f"{problem}: {remedy}")
    return Ahead(settings, scales, str(folder or ""), free, tuple(warnings), refused, bool(tools(spec.probes)))


def ends_by_count(spec: RunSpec) -> bool:
    """Whether a cycle of the run ends after a number of transactions, and not after a time."""
    return any(stage.cycles and stage.cycle_s is None for scale in _scales(spec) for stage in scale.stages)


def refuse_absent(spec: RunSpec) -> None:
    """``NotHere`` for a program that ``spec`` names and that is not installed here: a meter, a disk benchmark."""
    if spec.power and not is_installed(spec.power):
        remedy = "specify a program and its arguments; it prints watts, one line per reading, and runs without a shell"
        raise NotHere("--power", f"no program {spec.power.split()[0][:60]!r} was found", remedy)
    for tool in tools(spec.probes):
        name = tool.partition(":")[0]
        if not installed(name):
            raise NotHere("--probes", f"{name} is not installed", f"as root: apt-get install {name}")


def refuse_full(spec: RunSpec) -> None:
    """``RunError`` where the database of a scale, or what its check writes, cannot fit the disk, as far as that can be
    seen from here."""
    folder = None if spec.existing or spec.reuse else _folder(spec)
    free = Storage(spec.storage).size_bytes if spec.storage else _free(folder)
    compares = any(one.name == "answers" for one in workloads.find(spec.workload, spec.workload_settings).settings)
    scales = _scales(spec) if compares or free is not None else ()
    _refuse_larger(spec, scales, folder, free)
    _refuse_unchecked(scales, None if spec.storage else folder)


def _refuse_larger(spec: RunSpec, scales: Sequence[ScaleAhead], folder: Path | None, free: int | None) -> None:
    """``RunError`` where a database of ``scales`` takes more than what is ``free`` (bytes; ``None`` where that is not
    known) in ``folder``, or in the file system that is made there."""
    if spec.existing or spec.reuse or free is None:
        return
    for one in scales:
        if one.size_bytes is not None and one.size_bytes[0] > free:
            place, remedy = f"{folder} has {_gb(free)} free", "free up space, specify another place"
            if spec.storage:
                place, remedy = f"the file system of --storage has {_gb(free)}", "specify a larger size=…"
            elif spec.target.private is not None:
                remedy += " (private:…?directory=FOLDER)"
            else:
                remedy += " (sqlite:///FILE)"
            needs = f"scale {one.scale} takes {_gb(one.size_bytes[0])} or more, and {place}"
            raise RunError(needs, f"{remedy}, or use smaller --scales")


def _refuse_unchecked(scales: Sequence[ScaleAhead], folder: Path | None) -> None:
    """``RunError`` where the folder for temporary files has no room for what the check writes there, beside the
    database where both are on one file system. The check comes last: after the load it would be too late."""
    temporary = Path(tempfile.gettempdir())
    shared = folder is not None and folder.is_dir() and folder.stat().st_dev == temporary.stat().st_dev
    for one in (one for one in scales if one.check_bytes):
        beside = one.size_bytes[0] if shared and one.size_bytes is not None else 0
        free = shutil.disk_usage(temporary).free
        if one.check_bytes + beside > free:
            both = f"{_gb(one.check_bytes)}{f' beside a database of {_gb(beside)}' * bool(beside)}"
            needs = f"scale {one.scale}: comparing its answers needs {both} or more in {temporary}"
            remedy = "set TMPDIR to a folder with more space, or skip the comparison: --set answers=unchecked"
            raise RunError(f"{needs}, which has {_gb(free)} free", remedy)


def _gb(size: int) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e8 else f"{size / 1e6:.3g} MB"


def _free(folder: Path | None) -> int | None:
    return shutil.disk_usage(folder).free if folder is not None and folder.is_dir() else None


def _scales(spec: RunSpec) -> tuple[ScaleAhead, ...]:
    with explain_errors(spec.target.redacted):
        target = TargetDatabase(_url(spec), existing=spec.existing)
        pairs = zip(spec.scales, (0, *spec.scales), strict=False)
        return tuple(_scale(spec, target, scale, before if spec.grows else 0) for scale, before in pairs)


def _shown(name: str, value: Any, spec: RunSpec) -> str:
    if name == "target":
        private = spec.target.private is not None
        return redact(spec.target.in_one) if private else spec.target.redacted
    if isinstance(value, dict):
        return ", ".join(f"{one}={text}" for one, text in value.items())
    return OPTIONS[name].shown(value) or OPTIONS[name].about.default


def _url(spec: RunSpec) -> str:
    """A URL that tells the engine; nothing is connected. That of a private server there is only once it runs."""
    product = spec.target.private
    if product is None:
        return spec.target.url
    servers.find(spec.target)
    user = "" if product == "firebird" else "dsbench@"
    return "sqlite:///run" if product == "sqlite" else f"{product}://{user}localhost/run"


def refuse_settings(spec: RunSpec) -> None:
    """``SpecError`` or ``ServerError`` where the programs of a private server do not take its settings."""
    if spec.target.private is not None:
        servers.refuse(spec.target, sessions(spec))


def _folder(spec: RunSpec) -> Path | None:
    if spec.target.private is not None:
        return servers.base_directory(spec.target)
    file = spec.target.file
    return file.absolute().parent if file is not None else None


def _uncounted(spec: RunSpec, own: Sequence[PlannedCycle]) -> int:
    """Cycles that no rate counts: one for each kind of what perf is to see, and a trial of each number of clients."""
    tried = spec.find_ramp_up or spec.min_duration is not None
    return len(kinds(spec.perf)) + (len({cycle.clients for cycle in own}) if tried else 0)


def _with_search(spec: RunSpec, load_s: float, cycle_s: float) -> float:
    """The time of all cycles of a load, with that of a search for its rate, or of the trials before a graduated one."""
    if spec.searches:
        return SEARCH_DURATIONS * spec.duration + (spec.largest - spec.max_cycles) * cycle_s
    return load_s + TRIALS * cycle_s if spec.graduated else load_s


def _scale(spec: RunSpec, target: TargetDatabase, scale: int, before: int) -> ScaleAhead:
    """``before``: the scale out of whose database this one's grows, where it does; 0 for none."""
    bench = Bench(
        target, spec.workload, scale, spec.call, spec.workload_settings, spec.all_clients, existing=spec.existing
    )
    bench.refuse(spec)
    if spec.reuse and not can_go_on(bench.stages):
        raise RunError(f"the stages of {spec.workload} need a fresh database", "omit --reuse")
    cycles = planned(bench.stages, spec)
    stages, load_s = [], 0.0
    for stage in bench.stages:
        if stage.work == "build" and spec.reuse:
            continue
        if stage.work == "drop" and (spec.reuse or (spec.keep and scale == spec.scales[-1])):
            continue
        own = [cycle for cycle in cycles if cycle.stage == stage]
        clients, cycle_s = [], None
        for cycle in own:
            at = spec.at(cycle.clients) if cycle.clients else spec
            load = bench.fill(at, stage.name, nodes=max(spec.nodes, 1))
            clients.append(load.clients)
            if load.duration_ns is not None:
                cycle_s = load.duration_ns / 1e9 + spec.ramp_up
                load_s += cycle_s + _BETWEEN_S
        if own and stage.repeated and cycle_s is not None:
            load_s += _uncounted(spec, own) * (cycle_s + _BETWEEN_S)
        if own and cycle_s is not None:
            load_s = _with_search(spec, load_s, cycle_s + _BETWEEN_S)
        stages.append(StageAhead(stage.name, stage.work, len(own), tuple(clients), cycle_s))
    entry = workloads.find(spec.workload, spec.workload_settings)
    least, most = entry.data.row_bytes
    rows = bench.rows + entry.data.loaded_rows * scale * spec.all_clients
    size = (rows * least, rows * most) if least and not spec.existing else None
    there = bench.rows * before // scale if before and not bench.lacks(before) else 0
    written = 0 if spec.reuse else bench.rows
    changed = 0 if entry.data.reads else there
    populate = _times(
        (written - there, _ROWS_PER_S), (written, _KEYS_PER_S), (changed, _RESET_PER_S)
    )
    cleaned = sum(cycle.stage.cleaned for cycle in cycles)
    if entry.data.reads:
        cleaned = min(cleaned, 1)
    clean = _clean_s(spec, size, cleaned) if target.dialect.name == "postgres" and not spec.existing else (0.0, 0.0)
    checks = sum(stage.work == "check" for stage in bench.stages)
    check = _times((checks * rows, _CHECKED_PER_S)) if target.dialect.keeps_data else (0.0, 0.0)
    looks = 2 * len({(cycle.stage.name, cycle.clients) for cycle in cycles})
    analysed = _statistics_s(size, looks) if _is_analysed(spec, target) else (0.0, 0.0)
    loaded = bool(entry.data.loaded_rows)
    space, lacking = bench.check_bytes, bench.compares and lacks_engine()
    return ScaleAhead(
        scale, rows, size, tuple(stages), load_s, populate, check, clean, loaded, analysed, space, lacking
    )


def _is_analysed(spec: RunSpec, target: TargetDatabase) -> bool:
    """Whether gstat reads the database: of a server of Firebird that has the program for it."""
    return target.dialect.name == "firebird" and not target.dialect.embedded and not spec.existing


def _statistics_s(size: tuple[int, int] | None, times: int) -> tuple[float, float]:
    """Every page is read each time, of a database that is not too large for it."""
    if size is None:
        return 0.0, 0.0
    least, most = (octets * times if octets <= LARGEST else 0 for octets in size)
    return least / _READ_PER_S[0], (most or least) / _READ_PER_S[1]


def _times(*parts: tuple[int, tuple[int, int]]) -> tuple[float, float]:
    """Seconds of numbers of rows at their rows per second: on a fast machine and on a slow one."""
    return sum(rows / per_s[0] for rows, per_s in parts), sum(rows / per_s[1] for rows, per_s in parts)


def _clean_s(spec: RunSpec, size: tuple[int, int] | None, cycles: int) -> tuple[float, float]:
    """The first VACUUM reads all pages; each ANALYZE a sample of them, one by one."""
    if size is None or not cycles:
        return 0.0, 0.0
    memory = Limits.of(spec.limits).memory if spec.limits else None
    in_memory = size[1] < (memory or psutil.virtual_memory().total) / 2
    samples = [min(octets / _PAGE, _SAMPLED) for octets in size]
    fast = size[0] / _READ_PER_S[0] + cycles * samples[0] / _PAGES_PER_S[0]
    slow = size[1] / _READ_PER_S[1] + cycles * samples[1] / _PAGES_PER_S[1]
    return (fast, fast) if in_memory else (fast, slow)


_ALWAYS: Final = ("target", "workload")
_UNCHOSEN: Final = ("default", "chance")
"""How the origins of settings begin that nobody named."""


def text_of(ahead: Ahead, *, verbose: bool = False) -> str:
    """Settings that were chosen, or all, with their origins, the plan, its time and its space."""
    chosen = [one for one in ahead.settings if verbose or one.name in _ALWAYS or not one.origin.startswith(_UNCHOSEN)]
    rows = [(one.name, _printable(one.shown) or "–", one.origin) for one in chosen]
    wide = max(len(name) for name, _shown, _origin in rows)
    value = min(max(len(shown) for _name, shown, _origin in rows), 60)
    lines = ["settings"]
    lines += [f"  {name:{wide}}  {shown:{value}}  ({origin})" for name, shown, origin in rows]
    if rest := len(ahead.settings) - len(chosen):
        lines.append(f"  and {rest} unchanged ones: --verbose shows them")
    return "\n".join([*lines, "plan", *(f"  {line}" for line in scales_of(ahead)), *needs_of(ahead)])


def needs_of(ahead: Ahead) -> list[str]:
    """Its time, its space and what may be wrong, in lines."""
    counted = any(stage.cycles and stage.cycle_s is None for one in ahead.scales for stage in one.stages)
    lines = [f"time: {format_time(ahead.load_s)} of load" + (", and what ends by count" if counted else "")]
    if any(ahead.populate_s):
        lines[-1] += f"; {_range(format_time, ahead.populate_s)} to populate"
    if ahead.check_s[1] >= 1:
        lines[-1] += f"; {_range(format_time, ahead.check_s)} of checks"
    if ahead.clean_s[1] >= 1:
        lines[-1] += f"; {_range(format_time, ahead.clean_s)} of VACUUM and ANALYZE before cycles"
    if ahead.statistics_s[1] >= 1:
        lines[-1] += f"; {_range(format_time, ahead.statistics_s)} of gstat before and after cycles"
    if any(ahead.populate_s) or any(ahead.check_s):
        besides = ", and what ends by count" if counted else ""
        lines.append(f"in all: {_range(format_time, ahead.time_s)}, depending on the machine{besides}")
    if ahead.probes:
        lines[-1] += "; the time of the disk benchmarks is not included"
    size = "not known" if ahead.size_bytes is None else _range(_gigabytes, ahead.size_bytes)
    free = "free space is known to the server only"
    if ahead.free_bytes is not None:
        free = f"{_gigabytes(ahead.free_bytes)} free in {ahead.where}"
    when = "with the rows of its load" if ahead.scales[-1].loaded else "before its load"
    lines.append(f"space: {size} at scale {ahead.scales[-1].scale}, {when}; {free}")
    lines += [f"warning: {one}" for one in ahead.warnings]
    return lines


def scales_of(ahead: Ahead) -> list[str]:
    """What is done at each scale, a line for each."""
    return [_describe_scale(one) for one in ahead.scales]


def _printable(text: str) -> str:
    """``text`` of a script, say, which may hold what a terminal takes for commands."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _describe_scale(one: ScaleAhead) -> str:
    size = "" if one.size_bytes is None else f", {_range(_gigabytes, one.size_bytes)}"
    return f"scale {one.scale}: {one.rows:,} rows{size}: " + ", ".join(_describe_stage(stage) for stage in one.stages)


def _describe_stage(stage: StageAhead) -> str:
    if not stage.cycles:
        return stage.name
    clients = ",".join(str(number) for number in dict.fromkeys(stage.clients))
    took = f" of {stage.cycle_s:g} s" if stage.cycle_s is not None else ", ended by count,"
    cycles = "cycle" if stage.cycles == 1 else "cycles"
    return f"{stage.name} ({stage.cycles} {cycles}{took} with {clients} client{'s' * (clients != '1')})"


def _range(shown: Callable[[float], str], ends: tuple[float, float]) -> str:
    least, most = (shown(end) for end in ends)
    return least if least == most else f"{least} to {most}"


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:.3g} GB"
