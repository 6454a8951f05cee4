"""Paths into the specification of a run: what a factor may set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dsbench.spec import OPTIONS, SpecError

HISTORY: Final = "history.runs"
"""Runs that are made on the database before the one that counts."""
_APART: Final = ("keep", "label", "target")
_TABLES: Final = tuple(name for name, one in OPTIONS.items() if one.kind == "object" and name != "target")
"""Options that are names with values."""
_OF_TARGET: Final = ("url", "product", "version", "directory", "settings")


def check(path: str, key: str) -> None:
    """``SpecError`` at ``key`` where ``path`` leads nowhere."""
    first, _, rest = path.partition(".")
    name = first.replace("-", "_")
    known = (
        path == HISTORY
        or (name == "target" and (not rest or rest in _OF_TARGET or rest.startswith("settings.")))
        or (name in OPTIONS and name not in _APART and (rest != "") == (name in _TABLES))
    )
    if not known:
        names = ", ".join(name for name in OPTIONS if name not in (*_APART, *_TABLES))
        tables = ", ".join(f"{name}.NAME" for name in _TABLES)
        remedy = f"use target.product, target.version, target.settings.NAME, {tables}, {HISTORY} or {names}"
        raise SpecError(key, f"{path!r} leads to nothing in a run", remedy)


def put(values: dict[str, Any], path: str, value: Any) -> None:
    """Sets ``path`` in the settings of a run, whose target is a table."""
    first, _, rest = path.partition(".")
    name = first.replace("-", "_")
    if name == "target":
        _put_target(values["target"], rest or "url", value)
    elif rest and path != HISTORY:
        values[name] = {**values.get(name, {}), rest: value}
    else:
        values[HISTORY if path == HISTORY else name] = value


def _put_target(target: dict[str, Any], name: str, value: Any) -> None:
    if name == "product":
        name, value = "url", f"private:{value}"
    if name == "settings" and isinstance(value, Mapping):
        target["settings"] = {**target.get("settings", {}), **value}
    elif name.startswith("settings."):
        target["settings"] = {**target.get("settings", {}), name.removeprefix("settings."): value}
    else:
        target[name] = str(value) if name == "version" else value
