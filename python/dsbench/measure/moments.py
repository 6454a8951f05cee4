"""What a run tells while it goes on. The command line, the browser and tests listen."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

import psutil
from pydantic import BeforeValidator, Field

from dsbench import workloads
from dsbench.dataclass import dataclass
from dsbench.format import say_time
from dsbench.spec import Merged, RunSpec, dsi_seconds
from dsbench.spec.objective import GRADES, SEARCH_DURATIONS
from dsbench.spec.outages import STANDBY
from dsbench.spec.target import is_sqlite


def _finite(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and not isfinite(value) else value


Whole = Annotated[int, Field(ge=0, lt=2**63)]
Real = Annotated[float, BeforeValidator(_finite), Field(gt=-(2**36), lt=2**36)]
"""Seconds since 1970, shares and rates, where they are read from a file."""
_SHORTEST_S: Final = 1e-6
"""Of a part of a cycle that has a rate."""


@dataclass(frozen=True)
class Moment:
    """Where the run is: enough to show progress and to estimate the time left."""

    scale: Whole
    scale_number: Whole
    """From 1."""
    scales: Whole
    phase: str
    """'populate', 'primary_key', 'foreign_key', 'clean', 'connect', 'cycle', 'check', 'drop' …"""
    cycle: Whole = 0
    """From 1; 0 outside of cycles."""
    cycles: Whole = 0
    done: Whole = 0
    """Rows, statements, clients or transactions done, by phase."""
    total: Whole = 0
    """Of how many; 0 when unknown."""
    failed: Whole = 0
    elapsed_s: Real = 0.0
    """Seconds since the cycle's start."""
    stage: str = ""
    """Stage of the cycle, where a scale has several that make load; else empty."""
    clients: Whole = 0
    """Clients of the cycle, where a run takes several numbers of them; else 0."""
    seconds: Sequence[Real] = ()
    """Committed transactions per second in each whole second of the cycle so far, as nearly as it was looked at."""
    times: Sequence[tuple[Real, Real]] = ()
    """p50 and p99 of the residence times in s, of the same seconds, each known a second after its end; within 3%.
    Empty where remote nodes or another program make the load, and tell them at the end."""
    cpus: tuple[Real, Real] = (0.0, 0.0)
    """CPUs that this process and all processes of this machine took in the last second of the cycle; 0 before."""

    @property
    def last_times(self) -> tuple[Real, ...]:
        """Those of the last second that is known; empty where nothing ended in it."""
        return self.times[-1] if self.times and self.times[-1][1] > 0 else ()

    @property
    def rate_tps(self) -> float:
        """Committed transactions per second of the cycle so far; 0 outside of it and while it ramps up."""
        return self.done / self.elapsed_s if self.phase == "cycle" and self.elapsed_s > _SHORTEST_S else 0.0


class Seconds(list[float]):
    """The rates of a cycle's whole seconds, out of looks at it that come at any time."""

    def __init__(self) -> None:
        super().__init__()
        self._at_s, self._done, self._before = 0.0, 0, 0.0

    def look(self, elapsed_s: float, done: int) -> bool:
        """``done`` transactions are committed ``elapsed_s`` after the start; between two looks the rate is even.

        Gives whether a second has ended since the last look.
        """
        before = len(self)
        while elapsed_s >= len(self) + 1:
            end_s = len(self) + 1
            by_then = self._done + (done - self._done) * (end_s - self._at_s) / (elapsed_s - self._at_s)
            self.append(by_then - self._before)
            self._before = by_then
        if elapsed_s > 0:
            self._at_s, self._done = elapsed_s, done
        return len(self) > before


class Cpus:
    """The CPUs that were taken since the last look."""

    def __init__(self) -> None:
        self._before = self._now()

    def look(self) -> tuple[float, float]:
        """Those of this process, and those of all."""
        before, self._before = self._before, self._now()
        at, own, busy = (now - then for now, then in zip(self._before, before, strict=True))
        return (own / at, busy / at) if at > 0 else (0.0, 0.0)

    @staticmethod
    def _now() -> tuple[float, float, float]:
        of_all = psutil.cpu_times()
        return time.monotonic(), time.process_time(), sum(of_all) - _idle(of_all)


def _idle(times: Any) -> float:
    # Time of guests is in that of users already.
    return float(sum(getattr(times, name, 0.0) for name in ("idle", "iowait", "guest", "guest_nice")))


class Observer(Protocol):
    """Listens to a run. Its methods return fast and do not raise; they are called in the run's thread."""

    def moment(self, moment: Moment) -> None:
        """Called several times a second."""

    def message(self, text: str) -> None:
        """A line for the log and the screen."""

    def archive(self, path: Path) -> None:
        """The archive was created at ``path``."""

    def scale_done(self, path: Path) -> None:
        """A scale is finished; tables of the archive at ``path`` may be written."""


class Silent(Observer):
    """Listens and says nothing: make a class of it that has those methods that you want to hear."""

    def moment(self, moment: Moment) -> None:
        """Says nothing."""

    def message(self, text: str) -> None:
        """Says nothing."""

    def archive(self, path: Path) -> None:
        """Says nothing."""

    def scale_done(self, path: Path) -> None:
        """Says nothing."""


BEFORE: Final = {"start": "starting the server"}
AFTER: Final = {"stop": "stopping the server", "report": "writing the report"}
AROUND: Final = BEFORE | AFTER
"""Phases before and after the scales of a run."""


def moment_around(phase: str) -> Moment:
    """That of a phase of ``AROUND``, which is at no scale."""
    return Moment(0, 0, 0, phase)


def count_clients(clients: int) -> str:
    """``1 client``, ``4 clients``."""
    return f"{clients} client{'s' * (clients != 1)}"


def describe_moment(moment: Moment) -> str:
    """One line about where the run is."""
    if moment.phase in AROUND:
        return AROUND[moment.phase]
    where = f"scale {moment.scale} ({moment.scale_number}/{moment.scales})"
    where += f", {moment.stage}" if moment.stage else ""
    where += f", {count_clients(moment.clients)}" if moment.clients else ""
    if moment.phase == "cycle":
        if moment.elapsed_s < 0:
            return f"{where}, {_name_cycle(moment)}: ramp-up, {-moment.elapsed_s:.0f} s left"
        parts = [f"{moment.elapsed_s:.0f} s", f"{moment.rate_tps:,.0f} tps", *_times(moment)]
        parts.append(f"{moment.failed:,} failed")
        if moment.cpus[1]:
            parts.append(f"CPUs {moment.cpus[1]:.1f} (own {moment.cpus[0]:.1f})")
        return f"{where}, {_name_cycle(moment)}: {', '.join(parts)}"
    if moment.phase in ("nodes", "prepare"):
        return f"{moment.done} of {moment.total} nodes {'are here' if moment.phase == 'nodes' else 'are ready'}"
    if moment.phase == "connect":
        return f"{where}, {_name_cycle(moment)}: {moment.done} of {moment.total} clients connected"
    phase = moment.phase.replace("_", " ")
    share = f" {100 * moment.done / moment.total:.0f}%" if moment.total else ""
    cycle = f", cycle {moment.cycle}/{moment.cycles}" if moment.cycle else ""
    return f"{where}{cycle}: {phase}{share}"


def _name_cycle(moment: Moment) -> str:
    """That of a closed loop before a search has no number."""
    return f"cycle {moment.cycle}/{moment.cycles}" if moment.cycle else "before the cycles"


def _times(moment: Moment) -> list[str]:
    """The quantiles of the last second that is known."""
    return [f"{name} {say_time(1e9 * time)}" for name, time in zip(("p50", "p99"), moment.last_times, strict=False)]


_BARS: Final = "▁▂▃▄▅▆▇█"
_MOST_BARS: Final = 32
_FEWEST_BARS: Final = 4


def draw_rates(rates: Sequence[float], width: int) -> str:
    """The last ``width`` seconds of a cycle as bars from 0 to the greatest rate."""
    shown = rates[-width:] if width > 0 else ()
    top = max(shown, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(int(rate / top * len(_BARS)), len(_BARS) - 1)] for rate in shown)


def describe_briefly(moment: Moment, left_s: float, width: int) -> str:
    """The same as ``describe_moment`` on one line of a terminal, with a bar for each second and the time left."""
    left = f"{format_time(left_s)} left" if left_s > 0 else ""
    if moment.phase != "cycle" or moment.elapsed_s < 0:
        return shorten(", ".join(part for part in (describe_moment(moment), left) if part), width)
    where = f"scale {moment.scale}" + (f", {moment.stage}" if moment.stage else "")
    where += f", {count_clients(moment.clients)}" if moment.clients else ""
    parts = [f"{where}, {_name_cycle(moment)}:", f"{moment.rate_tps:,.0f} tps", *_times(moment)[1:]]
    parts += [f"{moment.failed:,} failed"] if moment.failed else []
    room = width - len("  ".join([*parts, left])) - 2
    bars = draw_rates(moment.seconds, min(room, _MOST_BARS)) if room >= _FEWEST_BARS else ""
    return shorten("  ".join(part for part in (*parts, bars, left) if part), width)


def shorten(text: str, width: int) -> str:
    """``text`` on one line of a terminal: without what stands in brackets, without its last parts, or cut."""
    if len(text) > width:
        text = re.sub(r" \([^()]*\)", "", text)
    while len(text) > width and (cut := re.search(r"(.+[;:].+)[;,] [^;,]*$", text)):
        text = cut[1]
    return text if len(text) <= width else text[: width - 1] + "…"


def format_time(seconds: float) -> str:
    """A length of time in words: '42 s', '12 min', '3 h 10 min'."""
    if seconds < 99:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


class TimeLeft:
    """Estimates the time a run still takes, from its demanded durations and what phases took so far."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._part_began = 0.0
        self._part = ""
        self._scale = 0
        self._took_s: defaultdict[str, float] = defaultdict(float)
        """Parts of the scale so far; 'before' is the closed loop before the cycles."""
        self._before_s = 0.0
        self._s_per_scale_unit = {"build": 0.0, "check": 0.0}
        """They take time in proportion to the scale."""
        self._around_s = 0.3
        """Of a cycle beside its demanded duration: its cleaning, its connections."""
        self._ends_by_itself = bool(workloads.find(spec.workload, spec.workload_settings).defaults.course)

    def seconds(self, moment: Moment) -> float:
        """Seconds left; 0 while it cannot be told, and where cycles take as long as they take."""
        now, spec = time.monotonic(), self._spec
        if self._ends_by_itself or moment.phase in AROUND:
            return 0.0
        part = self._part_of(moment)
        if (part, moment.scale) != (self._part, self._scale):
            self._end_part(now)
            if moment.scale != self._scale:
                self._took_s.clear()
            self._part, self._scale, self._part_began = part, moment.scale, now
        demanded = spec.ramp_up + spec.duration
        cycles = spec.largest * len(spec.client_numbers)
        if spec.searches:
            searching = SEARCH_DURATIONS * spec.duration / (demanded + self._around_s)
            cycles = spec.largest - spec.max_cycles + round(searching)
        finished = {"cycles": max(moment.cycle - 1, 0), "check": cycles}.get(part, 0)
        if part == "cycles" and finished:
            took = now - self._part_began - moment.elapsed_s
            self._around_s = max(took / finished - demanded, 0.3)
        per_cycle, per_unit = demanded + self._around_s, sum(self._s_per_scale_unit.values())
        later = [x for x in spec.scales if x > moment.scale and moment.scale in spec.scales]
        left = sum(self._before_s + cycles * per_cycle + per_unit * x for x in later)
        checking = 0.0 if part == "check" else self._s_per_scale_unit["check"] * moment.scale
        elapsed_s = moment.elapsed_s if part == "cycles" else 0.0
        return left + checking + max((cycles - finished) * per_cycle - elapsed_s, 0.0)

    @staticmethod
    def _part_of(moment: Moment) -> str:
        if moment.phase in ("check", "drop"):
            return "check"
        if moment.cycle:
            return "cycles"
        return "before" if moment.phase in ("connect", "cycle") else "build"

    def _end_part(self, now: float) -> None:
        self._took_s[self._part] += now - self._part_began
        if self._part in self._s_per_scale_unit:
            self._s_per_scale_unit[self._part] = self._took_s[self._part] / self._scale
        elif self._part == "before":
            self._before_s = self._took_s["before"]


def _say_branches(spec: RunSpec) -> str:
    """Whether clients of TPC-B wait for each other's branch, of which a scale has one."""
    if min(spec.scales) >= spec.all_clients:
        return "There is at least one branch for each client; with fewer, clients wait for each other's row locks."
    fewer = f"Scale {min(spec.scales)} has fewer branches than clients, so clients wait for each other's row locks"
    return f"{fewer}: --scales {spec.all_clients} and more has one branch for each client."


def in_brief(asked: Merged) -> list[str]:
    """What will be done, in a line, and what is special about it, in another one."""
    spec = asked.spec
    several, cycles = spec.client_numbers, f"{spec.cycles} cycle" + "s" * (spec.cycles != 1)
    clients = f"{', '.join(map(str, several))} client" + "s" * (several != (1,))
    of = f" (profile {spec.profile})" if spec.profile else ""
    scales = "scales " if len(spec.scales) > 1 else "scale "
    course = workloads.find(spec.workload, spec.workload_settings).defaults.course
    if spec.graduated:
        cycles = f"{cycles} at each of {len(GRADES)} levels from 100% to idle"
    if spec.searches:
        cycles = f"a search for the rate with {' and '.join(one.words for one in spec.objectives)}, then {cycles}"
    if spec.objective and not spec.searches:
        clients += f": the most that keep {' and '.join(one.words for one in spec.objectives)}"
    done = course or f"{cycles} of {spec.duration:g} s; {clients}"
    done += f"; reads from {spec.reads if spec.reads != STANDBY else 'a standby'}" if spec.reads else ""
    done += "".join(f"; {one.words} after {one.at_s:g} s" for one in spec.events)
    isolation = "serializable" if is_sqlite(spec.target) else spec.isolation
    lines = [f"plan{of}: {scales}{', '.join(map(str, spec.scales))}; {done}; {isolation.replace('-', ' ')}"]
    if asked.glimpse and not course:
        hours = format_time(dsi_seconds())
        branches = spec.workload == RunSpec.model_fields["workload"].default
        if branches and spec.all_clients > 1 and not is_sqlite(spec.target):
            lines.append(_say_branches(spec))
        lines.append(f"A quick run. For figures that can be compared with others: --profile dsi ({hours} and the "
                     "time to load)")
    elif asked.origins["isolation"] == f"profile {spec.profile}" and not spec.retry:
        lines.append(f"{spec.isolation}, as in the paper: transactions that fail to serialize count as failed")
    return lines
