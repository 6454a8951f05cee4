"""The command line that repeats a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from dsbench.spec import OPTIONS
from dsbench.spec.files import said

_FILE: Final = "repeat.toml"


def command_line(spec: Mapping[str, Any]) -> str:
    """The command for a specification as run.json holds it, with its seed and settings.

    What of the target has no option stands in a file: see ``config_file``. A password reads ``***``.
    """
    spec, target = said(spec), spec.get("target", {})
    # Both kinds of settings have one option; the program knows which are the workload's.
    given = {**spec, "workload_settings": {**spec.get("workload_settings", {}), **target.get("settings", {})}}
    words = ["dsbench", "run", str(target.get("url", ""))]
    for name, option in OPTIONS.items():
        words += option.words(given.get(name)) if name != "target" else []
    words += ["--config", _FILE] if config_file(spec) else []
    return shlex.join(words)


def config_file(spec: Mapping[str, Any]) -> str:
    """Content of the file beside the command: what has no option; empty when there is nothing."""
    target = spec.get("target", {})
    inner = [f"{name} = {json.dumps(str(target[name]))}" for name in ("version", "directory") if target.get(name)]
    return "\n".join([f"# {_FILE}", "[target]", *inner]) + "\n" if inner else ""
