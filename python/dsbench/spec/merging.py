"""From what was said, in a call, on the command line or in a file, to the specification of a run."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsbench import workloads
from dsbench.spec.building import PROFILES, build, load_toml
from dsbench.spec.files import examples
from dsbench.spec.options import OPTIONS
from dsbench.spec.run import RunSpec
from dsbench.spec.scripts import NAMES, with_scripts
from dsbench.spec.sizing import SIZED, default_workload
from dsbench.spec.storage import values_of
from dsbench.spec.target import Target
from dsbench.spec.trust import refuse
from dsbench.spec.words import SpecError

_DEFAULTS = {"seed": "chance", "retry": "default of the workload"}


@dataclass(frozen=True)
class Merged:
    """What a run is asked to do."""

    spec: RunSpec
    glimpse: bool
    """Whether no profile was named, so that quick says what is left open."""
    origins: Mapping[str, str]
    """By name of a setting, who gave its value: "command line", "PATH", "profile NAME", "default" …"""


def merged(
    values: Mapping[str, Any], *,
    target: str | Target | None = None, settings: Mapping[str, str] | None = None,
    config: Path | None = None, earlier: Mapping[str, Any] | None = None, trust: bool = False,
) -> Merged:
    """The specification out of ``values`` by name, over those of the file ``config``, over those of a profile.

    ``target`` is the database; ``settings`` are those of the workload, by the names that it knows, and all others
    those of a private server. ``earlier`` is what ``config`` says where it is no TOML file but an earlier run: its
    server's settings are none of another target's, and what it would have executed is refused without ``trust``.
    Raises ``SpecError``.
    """  # fmt: skip
    filed = dict(earlier) if earlier is not None else load_toml(config) if config is not None else {}
    if earlier is not None and target is not None:
        filed.pop("target", None)
    if earlier is not None and not trust:
        refuse({name: value for name, value in filed.items() if name not in values}, str(config), "--config")
    wanted = with_scripts({**with_scripts(filed), **values})
    if isinstance(said_limits := values.get("limits"), Mapping) and isinstance(of_file := filed.get("limits"), Mapping):
        wanted["limits"] = {**of_file, **said_limits}
    if isinstance(said_of := values.get("storage"), Mapping) and "type" not in said_of and filed.get("storage"):
        wanted["storage"] = {**values_of(filed["storage"]), **said_of}
    if wanted.get("profile") in tuple(SIZED):
        wanted.setdefault("workload", default_workload())
    said = {*values, *(["target"] if target is not None else [])}
    said |= {"workload", "workload_settings"} if any(name in values for name in NAMES) else set()
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
        remedy = f"{meant}use one of {', '.join(every)}, or name a file: FILE.toml, FILE.sql"
        raise SpecError(option, f"no workload {name[:60]!r}", remedy)


def dsi_seconds() -> float:
    """How long the cycles of the profile dsi take, in seconds."""
    ladder = PROFILES["dsi"]
    return float(len(ladder["scales"]) * ladder["cycles"] * ladder["duration"])
