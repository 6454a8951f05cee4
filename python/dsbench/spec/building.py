"""From what a user wrote, on the command line or in a file, to a specification."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dsbench.spec.options import OPTIONS
from dsbench.spec.run import DSI_SCALES, RunSpec
from dsbench.spec.target import Target
from dsbench.spec.words import SpecError, plain

PROFILES: dict[str, dict[str, Any]] = {
    "dsi": {
        "scales": DSI_SCALES,
        **{name: option.default for name, option in OPTIONS.items() if option.of_load},
    },
    "quick": {"scales": (1, 2, 5), "cycles": 3, "duration": 4.0, "threads": 4},
}
"""Named sets of values: ``dsi`` gives comparable figures (the paper, section 5.2), so that whatever makes the load
another one has its default; ``quick`` takes a minute."""


def build(values: dict[str, Any], *, profile: str | None = None) -> RunSpec:
    """A specification from settings by name, over those of ``profile``, which may also be one of the settings.

    Raises ``SpecError`` naming the first setting that is wrong.
    """
    profile = profile or values.get("profile") or None
    if profile is not None and profile not in PROFILES:
        raise SpecError("--profile", f"no profile {profile!r}", f"use one of {', '.join(PROFILES)}")
    merged = {**PROFILES.get(profile or "", {}), **values, "profile": profile or ""}
    for name, option in OPTIONS.items():
        if option.kind == "array" and isinstance(text := merged.get(name), str):
            merged[name] = option.numbers(text)
    try:
        asked = RunSpec.model_validate(merged)
    except ValidationError as error:
        raise _spec_error(error) from None
    refuse_unused(asked.target, asked.workload)
    return asked


def refuse_unused(target: Target, workload: str) -> None:
    """``SpecError`` where ``target`` is no private server and yet is given what only such a one can take.

    Such a wish would stay in ``run.json`` without an effect. It is no part of ``Target``, as archives of older
    versions, which did not refuse it, have to stay readable.
    """
    if target.private is not None:
        return
    if target.settings:
        names = ", ".join(repr(name) for name in target.settings)
        are = "are no settings" if len(target.settings) > 1 else "is no setting"
        problem = f"{names} {are} of {workload}, and TARGET is no private server"
        remedy = "settings of a database that is there stand in its URL, ?NAME=VALUE, or in its server's configuration"
        raise SpecError("--set", problem, remedy)
    for name, value in (("version", target.version), ("directory", target.directory)):
        if value is not None:
            problem = f"{str(value)!r} means something to a private server only, and TARGET is none"
            raise SpecError(f"TARGET.{name}", problem, "leave it out, or name a target such as private:sqlite")


def _spec_error(error: ValidationError) -> SpecError:
    first = error.errors(include_url=False, include_input=False)[0]
    where = [str(part) for part in first["loc"]]
    message = plain(first["msg"])
    if first["type"] == "misfit":
        return SpecError(first["ctx"]["option"], message, "see dsbench run --help")
    if first["type"] == "extra_forbidden":
        return SpecError(where[-1], "no setting has this name", f"known settings: {', '.join(sorted(OPTIONS))}")
    if where[0] == "target":
        option = ".".join(["TARGET", *where[1:2]])
    else:
        # Several numbers of threads are kept apart from the one number that ``threads`` holds.
        option = OPTIONS["threads" if where[0] == "several_threads" else where[0]].flag
    return SpecError(option, message, "see dsbench run --help")


def load_toml(path: Path) -> dict[str, Any]:
    """Settings of a configuration file, by name; ``ramp-up``, as the option has it, is ``ramp_up``.

    Raises ``SpecError`` when it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return {name.replace("-", "_"): value for name, value in tomllib.load(file).items()}
    except OSError as error:
        raise SpecError("--config", f"{path}: {error.strerror}", "name a readable TOML file") from None
    except tomllib.TOMLDecodeError as error:
        remedy = "mend the file; the settings are those of dsbench run --help"
        raise SpecError("--config", f"{path}: {error}", remedy) from None
