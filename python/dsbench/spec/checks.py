"""What is checked of a run beside the types and bounds of its settings, and what it has where nothing was said."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationInfo

from dsbench import workloads
from dsbench.spec.drivers import find_driver
from dsbench.spec.files import said_scale
from dsbench.spec.legs import legs, write_legs
from dsbench.spec.limits import Limits
from dsbench.spec.objective import objectives
from dsbench.spec.outages import events_fit, reads_fit
from dsbench.spec.price import read_price
from dsbench.spec.storage import Storage, bytes_of
from dsbench.spec.target import is_sqlite, setting_text
from dsbench.spec.words import Unfit, misfit

if TYPE_CHECKING:
    from dsbench.spec.run import RunSpec

MOST_LEVELS = 100
PROBES = ("dd", "fio", "bonnie++", "postmark")
"""Disk benchmarks beside a database."""
COUNTING = ("bonnie++", "postmark")
"""Those that take a number of small files."""
MOST_FILES = 4_000_000
SIZED = ("dd", "bonnie++")
"""Those that take the size of a file."""
LARGEST_FILE = 1 << 44
PEAK_CLIENTS = 64
"""Up to which number of clients a peak is searched when nothing else is said."""


def peak_numbers(most: int) -> tuple[int, ...]:
    """1, 2, 3, 4, 6, 8, 12 … up to ``most``, which is the last: neighbours differ by a third or a half."""
    powers = [2**n for n in range(max(most, 1).bit_length())]
    numbers = {number for power in powers for number in (power, power * 3 // 2) if number <= most}
    return tuple(sorted({*numbers, most}))


def scales_rise(value: tuple[int, ...]) -> tuple[int, ...]:
    """Scales are 1 to 200000, each once."""
    if not value:
        raise Unfit("needs at least one scale", "write, for example, 1,2,5")
    if any(x < 1 or x > 200_000 for x in value):
        raise Unfit("each scale must be between 1 and 200000", "write, for example, 1,2,5")
    if list(value) != sorted(set(value)):
        raise Unfit("scales must be in ascending order, each only once", "write, for example, 1,2,5")
    return value


def clients_as_a_list(values: object) -> object:
    """``clients`` may be a list; a list of one number is that number, below which a peak is searched."""
    if not isinstance(values, dict):
        return values
    if values.get("peak") is True:
        most = values.get("clients", PEAK_CLIENTS)
        if isinstance(most, list | tuple) and len(most) == 1:
            (most,) = most
        values = {**values, "clients": peak_numbers(most) if isinstance(most, int) else most}
    if not isinstance(values.get("clients"), list | tuple):
        return values
    numbers = tuple(values["clients"])
    if not numbers or any(not isinstance(clients, int) for clients in numbers):
        raise misfit("--clients", "needs whole numbers", "write, for example, 10,20,40")
    return {**values, "clients": max(numbers), "several_clients": numbers if len(numbers) > 1 else ()}


def defaults_of_the_workload(cls: type[RunSpec], values: object) -> object:
    """Isolation, retries and, on tables that are there, the scale are the workload's where nothing else is said."""
    if not isinstance(values, dict):
        return values
    entry = workloads.find(str(values.get("workload", cls.model_fields["workload"].default)))
    isolation = {"isolation": entry.defaults.isolation} if entry.defaults.isolation else {}
    said = values.get("workload_settings")
    scales = {"scales": (said_scale(said if isinstance(said, dict) else {}),)} if values.get("existing") else {}
    tries = values.get("max_tries")
    retries = entry.defaults.retries or (isinstance(tries, int) and tries > 1)
    duration = values.get("duration", cls.model_fields["duration"].default)
    clients = values.get("clients")
    several = isinstance(clients, list | tuple) and len(clients) > 1
    asked = (values.get("objective") and not several) or values.get("graduated")
    settles = {"ramp_up": 0.2 * duration} if asked and isinstance(duration, int | float) else {}
    return {"retry": retries, **isolation, **scales, **settles, **values}


def clients_of_target(target: object) -> dict[str, int]:
    """Clients where nobody says how many: one on SQLite, where the others would wait for the one that writes. Empty
    where it is the default of all."""
    return {"clients": 1} if is_sqlite(target) else {}


def defaults_of_the_target(values: object) -> object:
    """Clients are the target's where nothing else is said, unless their best number is searched."""
    if not isinstance(values, dict) or values.get("peak") is True:
        return values
    return {**clients_of_target(values.get("target")), **values}


def several_clients_rise(value: tuple[int, ...]) -> tuple[int, ...]:
    """Each number of clients is there once."""
    if list(value) != sorted(set(value)):
        raise Unfit("several numbers of clients must be in ascending order, each only once", "write, for example, "
                                                                                             "10,20,40")
    return value


def workload_settings_as_text(value: object) -> object:
    """Values of a configuration file become those of the command line."""
    return {str(k): setting_text(v) for k, v in value.items()} if isinstance(value, dict) else value


def limits_in_one_way(value: object) -> object:
    """Limits that mean the same are written the same."""
    if not isinstance(value, dict):
        return value
    return Limits.of({str(name): setting_text(limit) for name, limit in value.items()}).described()


def storage_in_one_way(value: object) -> object:
    """As limits are."""
    return dict(Storage.of(value).values) if value else {}


def probes_named(value: str) -> tuple[str, ...]:
    """The storage tools that ``value`` names, all for ``all``; behind a colon stands a number of files, or a size.

    ``ValueError`` for one that is not known.
    """
    if value in ("none", "all", ""):
        return PROBES if value == "all" else ()
    named = tuple(dict.fromkeys(word.strip() for word in value.split(",")))
    for word in named:
        name, mark, more = word.partition(":")
        if name not in PROBES:
            raise Unfit(f"no disk benchmark {name[:60]!r}", f"use none, all, or some of {','.join(PROBES)}")
        if mark and not more.isdecimal() and name in SIZED:
            if not 1 << 20 <= bytes_of(more) <= LARGEST_FILE:
                raise Unfit(f"{word[:60]!r}: a file has 1MiB to 16TiB", f"write, for example, {name}:64GiB")
        elif mark and (name not in COUNTING or not more.isdecimal() or not 0 < int(more[:9]) <= MOST_FILES):
            counting, sized = " and ".join(COUNTING), " and ".join(SIZED)
            words = f"{word[:60]!r}: {counting} accept a number of files, 1 to {MOST_FILES}, {sized} the size of a file"
            raise Unfit(words, "write, for example, postmark:2000,dd:64GiB")
    return named


def probes_are_known(value: str) -> str:
    """Each tool is one that can be had."""
    probes_named(value)
    return value


def objective_is_known(value: str) -> str:
    """It can be read."""
    objectives(value)
    return value


def load_is_known(value: str) -> str:
    """Its legs can be read; written in one line."""
    return write_legs(legs(value))


def lasts_as_its_load(values: Any) -> Any:
    """A cycle is as long as the legs of its load, whatever a profile says."""
    text = values.get("load") if isinstance(values, Mapping) else None
    if not isinstance(text, str) or not text:
        return values
    try:
        found = legs(text)
    except ValueError:  # Said of the setting itself.
        return values
    return {**values, "duration": found[-1].end_s} if found else values


def _load_fits(spec: RunSpec) -> None:
    if not spec.load:
        return
    wrong = {
        "--rate": spec.rate is not None, "--objective": bool(spec.objective), "--graduated": spec.graduated,
        "--pace": spec.pace != "none", "--peak": spec.peak, "--ramp-up": spec.ramp_up > 0,
        "--find-ramp-up": spec.find_ramp_up, "--min-duration": spec.min_duration is not None,
        "--driver": find_driver(spec.driver) is not None,
    }  # fmt: skip
    for option in (option for option, said in wrong.items() if said):
        problem = "already specifies when transactions start, and for how long"
        raise misfit("--load", problem, f"omit {option}, or --load")


def _objective_fits(spec: RunSpec) -> None:
    if not spec.objective and not spec.graduated:
        return
    own = "--objective" if spec.objective else "--graduated"
    searching = {
        "--find-ramp-up": spec.find_ramp_up, "--min-duration": spec.min_duration is not None,
        "--precision-of": spec.precision_of != "rates", "--reconnect": spec.reconnect,
        "--precision": not spec.objective and spec.precision is not None,
    }  # fmt: skip
    wrong = {
        "--rate": spec.rate is not None, "--peak": spec.peak, "--pace": spec.pace != "none",
        "--driver": find_driver(spec.driver) is not None, **(searching if spec.searches or spec.graduated else {}),
    }  # fmt: skip
    if spec.graduated and spec.several_clients:
        raise misfit("--graduated", "its levels are those of one number of clients", "name one number of --clients")
    for option in (option for option, said in wrong.items() if said):
        judges = spec.several_clients and not spec.peak
        does = "judges several numbers of --clients in closed loops" if judges else "searches for the rate itself"
        raise misfit(own, does, f"omit {option}, or {own}")
    if not spec.objective:
        return
    least_s = 10 * max(one.limit_ns for one in spec.objectives) / 1e9
    if spec.duration < least_s:
        words = f"a cycle must last {least_s:g} s or more, 10 times the longest time of --objective"
        raise misfit("--duration", words, f"specify --duration {least_s:g} or more, or shorter times")


def driver_is_known(value: str) -> str:
    """It is dsbench's own, a driver or another program."""
    find_driver(value)
    return value


def power_is_a_command(value: str) -> str:
    """Its quotes end, and it is one line."""
    try:
        if value and not (shlex.split(value) and value.isprintable()):
            raise ValueError("no program is specified")
    except ValueError as error:
        problem = f"cannot read the command {value[:60]!r}: {error}"
        raise Unfit(problem, "specify a program and its arguments, as in a shell") from None
    return value


def price_is_known(value: str) -> str:
    """It can be read."""
    read_price(value)
    return value


def label_is_a_line(value: str) -> str:
    """A label stands in tables and in names of files."""
    if not value.isprintable() or value != value.strip():
        raise Unfit("must be one line of text, without spaces around it", "shorten it")
    return value


def levels_rise(value: tuple[float, ...]) -> tuple[float, ...]:
    """Levels are quantiles, each once."""
    if not 0 < len(value) <= MOST_LEVELS or any(not 0 < q < 1 for q in value) or list(value) != sorted(set(value)):
        raise Unfit(f"needs 1 to {MOST_LEVELS} quantiles between 0 and 1 in ascending order", "write, for example, "
                                                                                              "0.5,0.9,0.99")
    return value


def trace_is_local(value: bool, info: ValidationInfo) -> bool:
    """Nodes send no trace."""
    if value and info.data.get("nodes"):
        raise Unfit("--trace works for load from this machine only", "omit --trace or --nodes")
    return value


def sizes_fit_together(spec: RunSpec) -> RunSpec:
    """The least number of cycles is not above the largest, nor the shortest duration above the demanded one."""
    if spec.precision is not None and spec.max_cycles < spec.cycles:
        least = f"must be {spec.cycles} or more, as --cycles is the minimum"
        raise misfit("--max-cycles", least, "raise it, or lower --cycles")
    if spec.precision_of == "index" and spec.precision is None:
        raise misfit("--precision-of", "index needs --precision", "specify both, or neither")
    if spec.min_duration is not None and (spec.precision is None or spec.min_duration > spec.duration):
        problem = "needs --precision and must not exceed --duration"
        raise misfit("--min-duration", problem, "specify both, or neither")
    return spec


def fits_together(spec: RunSpec) -> RunSpec:
    """No setting makes another one mean nothing."""
    if spec.reconnect and spec.connections > 1:
        raise misfit("--reconnect", "each transaction opens one connection", "omit --connections or --reconnect")
    if spec.pace == "terminals" and spec.rate is not None:
        raise misfit("--pace", "people at terminals set the rate", "omit --rate, or --pace terminals")
    if spec.peak and spec.rate is not None:
        raise misfit("--peak", "searches for the highest rate, and --rate sets it", "omit --rate, or --peak")
    if spec.terminals is not None and spec.pace == "none":
        raise misfit("--terminals", "there are none without --pace terminals", "add that, or omit --terminals")
    if spec.refine != "none" and (spec.keep or spec.reuse):
        raise misfit("--refine", "further scales need databases of their own", "omit --keep and --reuse")
    if spec.max_tries > 1 and not spec.retry:
        raise misfit("--max-tries", "without --retry there is one attempt", "add it, or omit --max-tries")
    if spec.find_ramp_up and spec.ramp_up:
        raise misfit("--find-ramp-up", "--ramp-up sets its length", "omit one of them")
    _objective_fits(spec)
    _load_fits(spec)
    events_fit(spec)
    reads_fit(spec)
    for rule in workloads.find(spec.workload).rules:
        if spec.workload_settings.get(rule.setting) == rule.value and getattr(spec, rule.option) != rule.needs:
            out = f"omit {rule.setting}={rule.value}"
            raise misfit("--set", rule.why, f"add --{rule.option} {rule.needs}, or {out}")
    return spec


def changes_nothing(spec: RunSpec) -> RunSpec:
    """An error for what cannot be had on tables that somebody else made."""
    if not spec.existing:
        return spec
    entry = workloads.find(spec.workload)
    tables = {setting.name: setting.default for setting in entry.settings}.get("tables")
    on = spec.workload_settings.get("tables", tables)
    if not entry.data.existing or on != tables:
        own = on if entry.data.existing else spec.workload
        raise misfit("--existing", f"the workload {own} creates its own tables", "use --script or --builtin alone")
    if spec.target.private is not None:
        raise misfit("--existing", f"{spec.target.url} has only dsbench's own tables", "specify a database with tables")
    if len(spec.scales) > 1:
        raise misfit("--existing", "existing tables have one size", "omit --scales, or specify one")
    if spec.keep or spec.reuse or spec.refine != "none":
        raise misfit("--existing", "no database is created here", "omit --keep, --reuse and --refine")
    if spec.probes != "none":
        raise misfit("--probes", "disk benchmarks would write to a disk with the data of others", "omit it")
    return spec
