"""The command line that repeats a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from dsbench.spec import LEVELS, threads_of

_FILE: Final = "repeat.toml"
_SWITCHES: Final = ("retry", "prepare", "reconnect", "trace")


def command_line(spec: Mapping[str, Any]) -> str:
    """The command for a specification as run.json holds it, with its seed and settings.

    Settings that have no option stand in a file: see ``config_file``. A password reads ``***``.
    """
    target = spec.get("target", {})
    words = ["dsbench", "run", str(target.get("url", ""))]
    options = {
        "profile": spec.get("profile"), "workload": spec.get("workload"),
        "scales": ",".join(str(scale) for scale in spec.get("scales", ())),
        "cycles": spec.get("cycles"), "duration": _plain(spec.get("duration")),
        "threads": ",".join(str(threads) for threads in threads_of(spec)),
        "nodes": spec.get("nodes") or None, "lease": _plain(spec.get("lease")) if spec.get("nodes") else None,
        "pace": spec.get("pace") if spec.get("pace") != "none" else None, "terminals": spec.get("terminals"),
        "ramp-up": _plain(spec.get("ramp_up") or None),
        "connections": spec.get("connections"), "isolation": spec.get("isolation"), "call": spec.get("call"),
        "population": spec.get("population"), "rate": _plain(spec.get("rate")),
        "arrival": spec.get("arrival") if spec.get("rate") else None, "seed": spec.get("seed"),
    }
    for name, value in options.items():
        words += [f"--{name}", str(value)] if value not in (None, "") else []
    # A profile or a file may switch one on, so that off is said as well.
    words += [f"--{'' if spec[name] else 'no-'}{name}" for name in _SWITCHES if name in spec]
    for name, value in {**spec.get("workload_settings", {}), **target.get("settings", {})}.items():
        words += ["--set", f"{name}={value}"]
    words += ["--config", _FILE] if config_file(spec) else []
    return shlex.join(words)


def config_file(spec: Mapping[str, Any]) -> str:
    """Content of the file beside the command: settings without an option; empty when there are none."""
    target = spec.get("target", {})
    lines = []
    if tuple(spec.get("levels", LEVELS)) != LEVELS:
        lines.append(f"levels = {json.dumps(list(spec['levels']))}")
    inner = [f"{name} = {json.dumps(str(target[name]))}" for name in ("version", "directory") if target.get(name)]
    lines += ["[target]", *inner] if inner else []
    return "\n".join([f"# {_FILE}", *lines]) + "\n" if lines else ""


def _plain(value: float | None) -> str | None:
    """60.0 as 60."""
    return None if value is None else f"{value:.12g}"
