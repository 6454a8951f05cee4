"""From what was said, in a call, on the command line or in a file, to the specification of a run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from dsbench import workloads
from dsbench.dataclass import dataclass
from dsbench.redaction import HIDDEN, redact
from dsbench.spec.files import SCRIPTS, examples, placed, with_scripts
from dsbench.spec.legs import Leg, legs
from dsbench.spec.options import OPTIONS, Option
from dsbench.spec.profiles import PROFILE_NAMES, PROFILES, SIZED, caches, default_workload, profiled
from dsbench.spec.run import RunSpec
from dsbench.spec.storage import values_of
from dsbench.spec.target import Target
from dsbench.spec.trust import refuse, risks
from dsbench.spec.words import SpecError, Unfit, parsed_toml, plain, seconds

_LONGEST: Final = 100_000
"""Bytes of a configuration file."""
_DEFAULTS = {"seed": "chance", "retry": "default of the workload"}


@dataclass(frozen=True)
class Merged:
    """What a run is asked to do."""

    spec: RunSpec
    glimpse: bool
    """Whether no profile was named, so that quick says what is left open."""
    origins: Mapping[str, str]
    """By name of a setting, who gave its value: "command line", "PATH", "profile NAME", "default" …"""


def _refuse_hidden(spec: RunSpec) -> None:
    """``SpecError`` for what was a password before it was archived."""
    if lost := [name for name, value in spec.target.settings.items() if HIDDEN in value]:
        problem = f"{lost[0]} contained a password, and archives contain none"
        raise SpecError("--set", problem, f"specify it again: --set {lost[0]}=VALUE")
    if HIDDEN in spec.event:
        raise SpecError("--event", "its command contained a password, and archives contain none", "specify it again")


def merged(
    values: Mapping[str, Any], *,
    target: str | Target | None = None, settings: Mapping[str, str] | None = None,
    config: Path | None = None, earlier: Mapping[str, Any] | None = None, trust: bool = False,
) -> Merged:
    """The specification out of ``values`` by name, over those of the file ``config``, over those of a profile.

    ``target`` is the database; ``settings`` are those of the workload, by the names that it knows, and all others
    those of a private server. ``earlier`` is what ``config`` says where it is no TOML file but an earlier run: its
    server's settings are none of another target's. What a file asks for beside tuning is refused without ``trust``.
    Raises ``SpecError``.
    """  # fmt: skip
    filed = dict(earlier or {})
    if earlier is None and config is not None:
        filed = placed(load_toml(config), config.parent)
    if earlier is not None and target is not None:
        filed.pop("target", None)
    wanted = with_scripts({**with_scripts(filed), **values})
    if isinstance(said_limits := values.get("limits"), Mapping) and isinstance(of_file := filed.get("limits"), Mapping):
        wanted["limits"] = {**of_file, **said_limits}
    if isinstance(said_of := values.get("storage"), Mapping) and "type" not in said_of and filed.get("storage"):
        wanted["storage"] = {**values_of(filed["storage"]), **said_of}
    _refuse_duration(wanted, {*values, *filed})
    if wanted.get("profile") in tuple(SIZED):
        wanted.setdefault("workload", default_workload())
    said = {*values, *(["target"] if target is not None else [])}
    said |= {"workload", "workload_settings"} if any(name in values for name in SCRIPTS) else set()
    workload = wanted.get("workload", RunSpec.model_fields["workload"].default)
    inner = wanted.get("workload_settings", {})
    if isinstance(workload, str) and isinstance(inner, Mapping):
        known_workload(workload)
        own = {setting.name for setting in workloads.find(workload).settings}
        of_workload = {name: value for name, value in (settings or {}).items() if name in own}
        if of_workload:
            said.add("workload_settings")
            wanted["workload_settings"] = {**inner, **of_workload}
        settings = {name: value for name, value in (settings or {}).items() if name not in own}
    wanted["target"] = _target(wanted.get("target", {}), target, settings or {})
    glimpse = not wanted.get("profile") and any(name not in wanted for name in PROFILES["quick"])
    spec = build(wanted, profile="quick" if glimpse else None)
    _refuse_hidden(spec)
    if not trust:  # What no run can have was refused before, by its name.
        refuse(risks(_left(filed, values, target)), str(config), "--config")
    said |= {"target"} if settings else set()
    sized = {*SIZED[spec.profile], "scales"} if spec.profile in SIZED else set()
    named = {*PROFILES.get(spec.profile, {}), *sized}
    origins = {
        name: "command line" if name in said
        else str(config) if name in filed
        else f"profile {spec.profile}" if name in named or (name == "profile" and glimpse)
        else _DEFAULTS.get(name, "default")
        for name in OPTIONS
    }  # fmt: skip
    return Merged(spec, glimpse, origins)


def _left(filed: Mapping[str, Any], values: Mapping[str, Any], target: str | Target | None) -> dict[str, Any]:
    """What of a file counts beside ``values`` and ``target``, which were said."""
    left = {name: value for name, value in filed.items() if name not in values}
    if target is None or "target" not in left:
        return left
    url = target.url if isinstance(target, Target) else target
    inner = left["target"] if isinstance(left["target"], Mapping) else {}
    return {**left, "target": {**inner, "url": url.partition("?")[0] if url.startswith("private:") else "mock:"}}


def _refuse_duration(wanted: Mapping[str, Any], named: Collection[str]) -> None:
    """``SpecError`` for a duration that was said beside a load that has another one."""
    load = wanted.get("load")
    if "duration" not in named or not isinstance(load, str):
        return
    found, duration = tuple[Leg, ...](), 0.0
    with suppress(ValueError, TypeError):  # Of what cannot be read the setting itself tells.
        found, duration = legs(load), float(str(seconds(wanted["duration"])))
    if found and duration and found[-1].end_s != duration:
        words = f"a cycle is as long as the legs of --load, {found[-1].end_s:g} s"
        raise SpecError("--duration", words, "omit it, or move the end of the last leg")


def _target(named: object, target: str | Target | None, settings: Mapping[str, str]) -> dict[str, Any]:
    """The target of a file, which may be its URL alone, with the URL and the settings that were said beside it."""
    described: dict[str, Any] = dict(named) if isinstance(named, Mapping) else {"url": named}
    if isinstance(target, Target):
        described |= target.model_dump(exclude_unset=True)
    elif target is not None:
        described["url"] = target
    inner = described.get("settings", {})
    return {**described, "settings": {**inner, **settings} if isinstance(inner, Mapping) else inner}


def known_workload(name: str, option: str = "--workload") -> None:
    """``SpecError`` for a workload that there is not."""
    known = workloads.names()
    if name not in known:
        every = [*known, *examples()]
        near = difflib.get_close_matches(re.sub(r"[\W_]", "", name.lower()), every, cutoff=0.7)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        remedy = f"{meant}dsbench run --list shows all; a workload of your own is FILE.toml or FILE.sql"
        raise SpecError(option, f"no workload {name[:60]!r}", remedy)


def build(values: dict[str, Any], *, profile: str | None = None) -> RunSpec:
    """A specification from settings by name, over those of ``profile``, which may also be one of the settings.

    Raises ``SpecError`` naming the first setting that is wrong.
    """
    profile = profile or values.get("profile") or None
    _say_text(values)
    if profile is not None and not isinstance(profile, str):
        raise SpecError("--profile", "must be text", f"use one of {', '.join(PROFILE_NAMES)}")
    if profile is not None and profile not in PROFILE_NAMES:
        raise SpecError("--profile", f"no profile {profile[:60]!r}", f"use one of {', '.join(PROFILE_NAMES)}")
    lists = {name: option for name, option in OPTIONS.items() if option.kind == "array"}
    read = {name: one.numbers(text) for name, one in lists.items() if isinstance(text := values.get(name), str)}
    values = {**values, **read}
    if profile in SIZED:
        values = {"workload": default_workload(), **values}
    named = profiled(profile or "", values)
    merged = {**named, **values, "profile": profile or ""}
    if isinstance(given := values.get("workload_settings"), Mapping):
        merged["workload_settings"] = {**named.get("workload_settings", {}), **given}
    try:
        asked = RunSpec.model_validate(merged)
    except ValidationError as error:
        raise _spec_error(error) from None
    if profile in SIZED and asked.target.private is not None:
        own = caches(asked.limits, asked.target.private, asked.target.settings)
        target = asked.target.model_copy(update={"settings": {**asked.target.settings, **own}})
        asked = asked.model_copy(update={"target": target})
    refuse_no_target(asked.target.url)
    refuse_unused(asked.target, asked.workload)
    _refuse_limits(asked)
    _refuse_storage(asked)
    if (asked.keep or asked.reuse) and asked.target.private is not None and asked.target.directory is None:
        problem = f"{asked.target.url} ends with its run, and its database is removed"
        remedy = f"specify a folder to keep it in: {asked.target.url}?directory=FOLDER"
        raise SpecError("--keep" if asked.keep else "--reuse", problem, remedy)
    return asked


def recorded(values: Mapping[str, Any]) -> RunSpec:
    """The specification that an archive tells. ``SpecError`` names what no run of this version can be asked for."""
    try:
        return RunSpec.model_validate(values)
    except ValidationError as error:
        raise _spec_error(error) from None


def _say_text(values: Any, option: str = "") -> None:
    """``SpecError`` for text that no UTF-8 can say or no system can take, wherever it stands in ``values``."""
    if isinstance(values, str) and (not values.isascii() or "\0" in values):
        if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in values):
            raise SpecError(option, f"{values[:60]!r} is not text in UTF-8", "write it in UTF-8, without a zero byte")
    elif isinstance(values, Mapping):
        for name, value in values.items():
            at = option or (OPTIONS[name].flag if name in OPTIONS else str(name))
            _say_text(str(name), at)
            _say_text(value, at)
    elif isinstance(values, list | tuple):
        for value in values:
            _say_text(value, option)


_PORTS: Final = {"5432": "postgresql", "6432": "postgresql", "3306": "mysql", "3050": "firebird"}
_PRODUCTS: Final = ("postgresql", "postgres", "pg", "mariadb", "mysql", "firebird", "sqlite", "sqlite3")
_YOURS: Final = "your own is postgresql://USER@HOST:PORT/DATABASE, mysql://…, firebird://… or sqlite:///FILE"


def refuse_no_target(url: str) -> None:
    """``SpecError`` where ``url`` is no URL but a part of one, with what was probably meant."""
    if re.match(r"(private|mock|sqlite):|[A-Za-z][\w+.-]*://", url):
        return
    remedy = f"a private server is, for example, private:postgresql; {_YOURS}"
    _, colon, rest = url.partition(":")
    if not colon and re.split("[@?]", url.lower())[0] in _PRODUCTS:
        remedy = f"private:{url} is a private server; {_YOURS}"
    elif colon and re.split("[@?]", rest.lower())[0] in _PRODUCTS:
        remedy = f"did you mean private:{rest}? {_YOURS}"
    elif found := re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:]+\]):(\d+)(/\w*)?", url):
        scheme = _PORTS.get(found[2], "postgresql")
        remedy = f"write its scheme, such as {scheme}://{found[1]}:{found[2]}{found[3] or '/DATABASE'}"
    elif re.fullmatch(r"\d+(,\d+)*", url):
        remedy = f"separate several numbers by commas, such as --scales 1,{url}; {_YOURS}"
    elif url.endswith((".db", ".sqlite", ".sqlite3")):
        remedy = f"an SQLite file is sqlite:///{Path(url).absolute().as_posix()}"
    raise SpecError("TARGET", f"{redact(url)[:60]!r} is not the URL of a database", remedy)


def refuse_unused(target: Target, workload: str) -> None:
    """``SpecError`` where ``target`` is not a private server and yet is given what only such a one can take.

    Such a wish would stay in ``run.json`` without an effect.
    """
    if target.private is not None:
        return
    if target.settings:
        names = ", ".join(repr(name) for name in target.settings)
        are = "are not settings" if len(target.settings) > 1 else "is not a setting"
        problem = f"{names} {are} of {workload}, and TARGET is not a private server"
        remedy = "specify settings of an existing database in its URL, ?NAME=VALUE, or in its configuration"
        raise SpecError("--set", problem, remedy)
    for name, value in (("version", target.version), ("directory", target.directory)):
        if value is not None:
            problem = f"{str(value)!r} applies to private servers only, and TARGET is not one"
            raise SpecError(f"TARGET.{name}", problem, "omit it, or use a target such as private:sqlite")


def _refuse_limits(asked: RunSpec) -> None:
    """``SpecError`` where limits would hold no server: dsbench makes them around one that it starts."""
    if not asked.limits or asked.target.private not in (None, "sqlite"):
        return
    if asked.target.private is None and not asked.target.url.startswith("sqlite:"):
        problem = "dsbench can limit private servers only, and TARGET is not one"
        remedy = "use one, such as private:postgresql; or limit your own: systemctl set-property SERVICE MemoryMax=1G"
        raise SpecError("--limit", problem, remedy)
    problem = "SQLite runs in dsbench's process: a limit would also apply to clients, recorder and monitors"
    raise SpecError("--limit", problem, "if you want that: systemd-run --scope -p MemoryMax=1G dsbench run …")


def _refuse_storage(asked: RunSpec) -> None:
    """``SpecError`` where nothing of dsbench's would lie on the file system, or would have to outlive it."""
    if asked.erase and "device" not in asked.storage:
        raise SpecError("--erase", f"no device {asked.erase} is used", "omit it, or add --storage TYPE?device=…")
    if asked.storage and asked.target.private is None:
        problem = "dsbench creates file systems for private servers only, and TARGET is not one"
        raise SpecError("--storage", problem, "use one, such as private:postgresql or private:sqlite")
    if asked.storage and (asked.keep or asked.reuse):
        problem = "the file system ends with its run, and its database is removed"
        remedy = "mount one yourself and specify a folder on it: private:PRODUCT?directory=FOLDER"
        raise SpecError("--keep" if asked.keep else "--reuse", problem, remedy)


def _spec_error(error: ValidationError) -> SpecError:
    first = error.errors(include_url=False, include_input=False)[0]
    where = [str(part) for part in first["loc"]]
    message = plain(first["msg"])
    if first["type"] == "misfit":
        return SpecError(first["ctx"]["option"], message, first["ctx"]["remedy"])
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(where[-1].lower(), OPTIONS, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        return SpecError(where[-1], "there is no setting of this name", f"{meant}dsbench run --example-config lists "
                                                                        "all")
    if where[0] == "target":
        option = ".".join(["TARGET", *where[1:2]])
    else:
        # Several numbers of clients are kept apart from the one number that ``clients`` holds.
        option = OPTIONS["clients" if where[0] == "several_clients" else where[0]].flag
    known = next((one for one in OPTIONS.values() if one.flag == option), None)
    if known is not None and known.about.unit == "s" and message in ("must be a number", "must be a whole number"):
        message += " of seconds, or a time such as 10s or 1m"
    unfit = first.get("ctx", {}).get("error")
    if isinstance(unfit, Unfit):
        return SpecError(option, unfit.problem, unfit.remedy)
    return SpecError(option, message, _remedy(known))


def _remedy(option: Option | None) -> str:
    """What the option is, where nothing tells better what was wrong."""
    return "see dsbench run --help" if option is None else f"{option.flag}: {option.help}"


def load_toml(path: Path) -> dict[str, Any]:
    """Settings of a configuration file, by name; ``ramp-up``, as the option has it, is ``ramp_up``.

    Raises ``SpecError`` when it cannot be read.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST + 1)
        if len(text) > _LONGEST:
            raise ValueError(f"it has more than {_LONGEST:,} bytes, too many for a file of settings")
        values = {name.replace("-", "_"): value for name, value in parsed_toml(text.decode()).items()}
    except OSError as error:
        raise SpecError("--config", f"{path}: {error.strerror}", "specify a readable TOML file") from None
    except ValueError as error:
        remedy = "specify a TOML file, such as that of dsbench run --example-config, or the folder or zip of an archive"
        raise SpecError("--config", f"{path}: {error}", remedy) from None
    if values.keys() & {"transactions", "base"}:
        raise SpecError("--config", f"{path} is a workload file", f"specify it with --workload {path}")
    return values
