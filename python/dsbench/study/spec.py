"""What a study is asked to do: a base run, factors with levels, a plan of trials; parsed once from TOML."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib import resources
from math import ceil, prod
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import psutil
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dsbench.read.choice import find_measure
from dsbench.redaction import redact_values
from dsbench.spec import Limits, SpecError, parsed_toml, plain, printed
from dsbench.spec.target import setting_text
from dsbench.stats.effects import MOST_SCREENED
from dsbench.study.paths import check

_LONGEST: Final = 1_000_000
"""Bytes of a file."""
_MOST_TRIALS: Final = 100_000
COMPUTED: Final = "computed"
"""Key of a level by rules: what they said on the machine on which the study was begun."""

Design = Literal["full", "one-at-a-time", "list", "screening"]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Level(_Frozen):
    """A value of a factor: what it sets in the specification of a run."""

    name: str
    sets: dict[str, Any] = Field(default_factory=dict)
    """Path into the specification to value."""
    number: float | None = None
    """Where it is one: its place on an axis."""


class Factor(_Frozen):
    """What a study varies."""

    name: Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[^=,;\x00-\x1f]+$")]
    path: str = ""
    """Into the specification of a run: an option, ``target.settings.NAME``, ``workload_settings.NAME`` …"""
    levels: Annotated[tuple[Any, ...], Field(min_length=1, max_length=1000)]
    """As they were written: values of ``path``, or tables with a name."""
    reference: Any = None
    """One of the levels, or its name; the first where none is named."""
    same_database: bool = False
    """Whether its levels are made one after another, as they are listed, on one database: that of the first."""

    @cached_property
    def resolved(self) -> tuple[Level, ...]:
        """The levels with what they set. ``SpecError`` names the key that is wrong."""
        return tuple(_level(self, raw) for raw in self.levels)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As Pydantic's, whose copy would keep the levels of the original."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("resolved", None)
        return copied

    def computed(self, limits: Limits) -> Factor:
        """The same, where levels by rules have the values for this machine: these go with a study from then on."""
        levels = [
            {**raw, COMPUTED: values_by_rules(raw["rules"], f"factor {self.name!r}: levels", limits)}
            if isinstance(raw, Mapping) and "rules" in raw and COMPUTED not in raw else raw
            for raw in self.levels
        ]  # fmt: skip
        return self.model_copy(update={"levels": tuple(levels)})

    @property
    def reference_number(self) -> int:
        """Of the reference among the levels."""
        if self.reference is None:
            return 0
        names, wanted = [level.name for level in self.resolved], level_name(self.reference)
        if wanted not in names:
            raise SpecError(f"factor {self.name!r}: reference", f"{wanted!r} is none of its levels",
                            f"use one of {', '.join(names)}")  # fmt: skip
        return names.index(wanted)


class Trials(_Frozen):
    """Which combinations are tried, how often and in which order."""

    design: Design = "full"
    repeat: Annotated[int, Field(ge=1, le=1000)] = 3
    """Blocks: each has every combination once."""
    order: Literal["random blocks", "as listed"] = "random blocks"
    seed: Annotated[int, Field(ge=0, lt=1 << 48)] = 1
    """Of the order, and of the inputs: the runs of one block have the same."""


class StudySpec(_Frozen):
    """A study, as its file has it."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]+$")]
    about: str = ""
    """What it asks, for its page."""
    of: str = ""
    """What its effects are of, as ``dsbench study show --of``; empty for the rate."""
    stage: str = ""
    """The stage of its runs that counts; empty for the last one, with all of them beside each other."""
    group: str = ""
    """The clients of that stage that count; empty for those that are measured."""
    pair: tuple[tuple[str, str], ...] = ()
    """Pairs of factors whose heat maps and lines are drawn; else those with the largest interactions."""
    frequencies: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(max_length=2)] = ()
    """Scales whose cumulative frequencies are drawn; else the smallest and the largest that all trials share."""
    run: dict[str, Any] = Field(default_factory=dict)
    """Settings of every run, by the names of ``dsbench run --help``."""
    factor: Annotated[tuple[Factor, ...], Field(min_length=1, max_length=MOST_SCREENED)]
    trials: Trials = Trials()
    trial: tuple[dict[str, Any], ...] = ()
    """Of the design list: levels by factor; a factor that is not named has its reference."""
    nodes: tuple[str, ...] = ()
    """Commands that start the nodes of a trial elsewhere; a node without one is a process of this machine."""
    address: str = ""
    """Where the nodes find this machine; empty for its address towards the network, or the loopback if one is here."""

    @property
    def limits(self) -> Limits:
        """Of every run; none where they are wrong, which the plan of the runs refuses."""
        given = self.run.get("limits")
        try:
            return Limits.of({str(name): setting_text(value) for name, value in given.items()}) if given else Limits()
        except (AttributeError, ValueError):
            return Limits()

    @property
    def folder_name(self) -> str:
        """Its name as that of a folder."""
        return re.sub(r"[^\w.+-]+", "-", self.name).strip("-.") or "study"


def read(path: Path, changes: Sequence[str] = ()) -> StudySpec:
    """The study of a TOML file, or of a template where no file has this name, with ``changes`` as ``changed`` has them.

    ``SpecError`` names the key that is wrong.
    """
    if not path.exists() and str(path) in (shipped := templates()):
        return of_text(shipped[str(path)].encode(), str(path), changes)
    try:
        with path.open("rb") as file:
            return of_text(file.read(_LONGEST + 1), str(path), changes)
    except OSError as error:
        remedy = "specify a readable TOML file, or a template of dsbench study templates"
        raise SpecError("FILE", f"{path}: {error.strerror}", remedy) from None


def of_text(text: bytes, source: str, changes: Sequence[str] = ()) -> StudySpec:
    """The study of the text of a TOML file, which errors call ``source``. ``SpecError`` as for ``read``."""
    try:
        if len(text) > _LONGEST:
            raise ValueError(f"it has more than {_LONGEST} bytes")
        values = parsed_toml(text.decode())
    except ValueError as error:
        raise SpecError("FILE", f"{source}: {error}", "correct the file: dsbench study templates shows "
                                                      "examples") from None
    return parse(changed(values, changes) if changes else values)


def changed(values: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """The keys of a study's file with others in their place: ``run.cycles=2``, ``factor.clients.levels=[1, 4]``.

    A value is written as in TOML; what is none is text, and nothing takes the key or the factor away. A factor that the
    file does not have is added.
    """
    found = copy.deepcopy(dict(values))
    for text in changes:
        key, mark, value = text.partition("=")
        path = key.strip().split(".")
        if not mark or (path[0] == "factor" and len(path) < (3 if value else 2)):
            remedy = "write, for example, --set run.cycles=2, or --set 'factor.clients.levels=[1, 4]'"
            raise SpecError("--set", f"{text!r} is not a KEY=VALUE of a study", remedy)
        if path[0] != "factor":
            _put(found, path, value)
            continue
        factors = found.setdefault("factor", [])
        named = [one for one in factors if isinstance(one, dict) and one.get("name") == path[1]]
        if len(path) == 2:
            found["factor"] = [one for one in factors if one not in named]
            continue
        if not named:
            named = [{"name": path[1]}]
            factors += named
        _put(named[0], path[2:], value)
    return found


def value_of(text: str) -> Any:
    """A value as TOML has it; what is none is text."""
    try:
        return parsed_toml(f"x = {text}")["x"]
    except (ValueError, KeyError):
        return text


def _put(table: dict[str, Any], path: Sequence[str], value: str) -> None:
    *above, last = path
    for name in above:
        inner = table.get(name)
        # A target may be its URL alone.
        table[name] = inner if isinstance(inner, dict) else {"url": inner} if name == "target" and inner else {}
        table = table[name]
    if value:
        table[last] = value_of(value)
    else:
        table.pop(last, None)


def parse(values: Mapping[str, Any]) -> StudySpec:
    """The study of what a file or ``study.json`` says."""
    if "transaction" in values and "factor" not in values:
        raise SpecError("FILE", "this is a workload file, not a study", "run it: dsbench run --workload FILE")
    try:
        spec = StudySpec.model_validate(values)
    except ValidationError as error:
        raise _spec_error(error) from None
    if spec.of:
        find_measure(spec.of, "of")
    _refuse_twice("factor", [factor.name for factor in spec.factor])
    for factor in spec.factor:
        _refuse_twice(f"factor {factor.name!r}: levels", [level.name for level in factor.resolved])
        _ = factor.reference_number
    refuse_too_many(spec, spec.factor, spec.trials.repeat)
    if (spec.trials.design == "list") != bool(spec.trial):
        problem = "the design list needs [[trial]] tables" if not spec.trial else "only the design list has them"
        raise SpecError("trial", problem, 'write [[trial]] tables and [trials] design = "list"')
    if len(sharing := [factor.name for factor in spec.factor if factor.same_database]) > 1:
        raise SpecError("same_database", f"{' and '.join(sharing)} have it", "set it for one factor")
    if sharing and spec.trials.design != "full":
        problem = f"the design {spec.trials.design} does not run all levels of {sharing[0]} together"
        raise SpecError("same_database", problem, 'write design = "full"')
    if spec.run.get("keep"):
        raise SpecError("run.keep", "each trial needs its own database", "omit it")
    return spec


def refuse_too_many(spec: StudySpec, factors: Sequence[Factor], blocks: int, beside: int = 0) -> None:
    """``SpecError`` where ``blocks`` of all combinations, ``beside`` other trials, are more than a study may have.

    They are counted, not made: a full design of 25 factors has 33 million.
    """
    counts = [len(factor.levels) for factor in factors]
    each = {"full": prod(counts), "one-at-a-time": 1 + sum(counts) - len(counts), "list": len(spec.trial)}
    trials = beside + blocks * each.get(spec.trials.design, MOST_SCREENED + 1)
    if trials > _MOST_TRIALS:
        problem = f"{trials:,} trials are more than the {_MOST_TRIALS:,} that a study may have"
        remedy = "use fewer levels or repetitions, or the design one-at-a-time or screening"
        raise SpecError("trials", problem, remedy)


def level_name(value: Any) -> str:
    """How a value is called in tables, labels and ``study.json``: without a password."""
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    text = printed(value)
    return str(redact_values(text))


def _level(factor: Factor, raw: Any) -> Level:
    key = f"factor {factor.name!r}: levels"
    if not isinstance(raw, Mapping):
        if not factor.path:
            raise SpecError(
                f"factor {factor.name!r}: path", "it is missing", 'specify what varies, such as path = "clients"'
            )
        check(factor.path, f"factor {factor.name!r}: path")
        return Level(name=level_name(raw), sets={factor.path: raw}, number=_number(raw))
    if unknown := set(raw) - {"name", "set", "rules", COMPUTED}:
        raise SpecError(key, f"no level has {', '.join(sorted(unknown))}", "a table has name, set and rules")
    if not isinstance(raw.get("name"), str) or not isinstance(raw.get("set", {}), Mapping):
        raise SpecError(
            key, "a table needs a name", 'write { name = "tuned", set = { "target.settings.fsync" = "off" } }'
        )
    by_rules = raw.get(COMPUTED) or (values_by_rules(raw["rules"], key) if "rules" in raw else {})
    if not isinstance(by_rules, Mapping):
        raise SpecError(key, f"{COMPUTED} must be a table", "omit it: dsbench writes it")
    sets = {**by_rules, **raw.get("set", {})}
    for path in sets:
        check(path, key)
    return Level(name=raw["name"], sets=sets)


def _number(raw: Any) -> float | None:
    """``raw`` where it is a number that has a place on an axis."""
    number = isinstance(raw, int | float) and not isinstance(raw, bool) and abs(raw) < 10**15
    return float(raw) if number else None


def _refuse_twice(key: str, names: list[str]) -> None:
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise SpecError(key, f"{twice[0]!r} is listed twice", "give each its own name")


def _spec_error(error: ValidationError) -> SpecError:
    """A key that nothing has comes first: one that is missing may be misspelt there."""
    first = min(error.errors(include_url=False, include_input=False), key=lambda one: one["type"] != "extra_forbidden")
    where = ".".join(str(part + 1) if isinstance(part, int) else part for part in first["loc"])
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        models: dict[int, type[BaseModel]] = {1: StudySpec, 3: Factor}
        of = models.get(len(first["loc"]), Trials)
        known = list(of.model_fields)
        near = get_close_matches(key, known, 1)
        words = "there is no key of this name" + (f"; did you mean {near[0]}?" if near else "")
        return SpecError(where, words, f"use some of {', '.join(known)}: see docs/studies.md")
    words = "it is missing" if first["type"] == "missing" else plain(first["msg"])
    return SpecError(where, words, "see docs/studies.md, and dsbench study templates")


_MB: Final = 1 << 20
_GB: Final = 1 << 30
_CONNECTIONS: Final = 300
"""Connections that PGTune supposes for the type OLTP."""


def pgtune(ram: int, cpus: int) -> dict[str, str]:
    """Settings of PostgreSQL for ``ram`` bytes and ``cpus``: type OLTP on SSD, as PGTune (github.com/le0pard/pgtune).

    Workers and parallel queries are left alone below 4 CPUs, as PGTune does.
    """
    buffers = ram // 4
    workers = max(cpus, 8) if cpus >= 4 else 8
    settings = {
        "shared_buffers": _size(buffers),
        "effective_cache_size": _size(ram * 3 // 4),
        "maintenance_work_mem": _size(min(ram // 16, 2 * _GB)),
        "work_mem": _size(max((ram - buffers) // ((_CONNECTIONS + workers) * 3), 64 << 10)),
        "wal_buffers": _size(min(max(buffers * 3 // 100, 32 << 10), 16 * _MB)),
        "checkpoint_completion_target": "0.9",
        "min_wal_size": "2GB",
        "max_wal_size": "8GB",
        "random_page_cost": "1.1",
        "effective_io_concurrency": "200",
    }
    if cpus >= 4:
        half = str(min(-(-cpus // 2), 4))
        settings |= {"max_worker_processes": str(workers), "max_parallel_workers": str(cpus),
                     "max_parallel_workers_per_gather": half, "max_parallel_maintenance_workers": half}  # fmt: skip
    return settings


def _size(octets: int) -> str:
    """In whole kB, as PostgreSQL takes it."""
    return f"{octets // 1024}kB"


_RULES: Final[dict[str, Callable[[int, int], dict[str, str]]]] = {"pgtune": pgtune}


def values_by_rules(name: Any, key: str, limits: Limits | None = None) -> dict[str, Any]:
    """What the rules ``name`` set, by path, for what ``limits`` leave of this machine. ``SpecError`` at ``key`` for
    unknown ones."""
    if name not in _RULES:
        raise SpecError(key, f"no rules {name!r}", f"use one of {', '.join(_RULES)}")
    limits = limits or Limits()
    ram, cpus = psutil.virtual_memory().total, psutil.cpu_count() or 1
    found = _RULES[name](min(ram, limits.memory or ram), min(cpus, ceil(limits.cpus or cpus)))
    return {f"target.settings.{setting}": value for setting, value in found.items()}


_ENDING = ".toml"


def templates() -> dict[str, str]:
    """Name to the text of each file."""
    folder = resources.files("dsbench.study").joinpath("shipped")
    files = sorted((one for one in folder.iterdir() if one.name.endswith(_ENDING)), key=lambda one: one.name)
    return {one.name.removesuffix(_ENDING): one.read_text("utf-8") for one in files}


def template(name: str) -> str:
    """The text of one. ``SpecError`` where there is none of this name."""
    found = templates()
    if name not in found:
        raise SpecError("NAME", f"no template {name[:60]!r}", f"use one of {', '.join(found)}")
    return found[name]
