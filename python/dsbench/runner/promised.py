"""What ``dsbench check --out`` found of the target of a run: taken up into its archive, with what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dsbench.spec import SpecError
from dsbench.stack import Switch

_KEPT = ("version", "settings", "at", "host", "dsbench", "holds", "verdict")


def read(file: str) -> dict[str, Any]:
    """The content of ``file``; empty without one. ``SpecError`` where it is none that a check wrote."""
    if not file:
        return {}
    remedy = "name a file that dsbench check TARGET --durability --out FILE wrote"
    try:
        found = json.loads(Path(file).read_text())
    except (OSError, ValueError) as error:
        raise SpecError("--checked", f"{file} cannot be read: {error}", remedy) from None
    if not isinstance(found, dict) or not all(name in found for name in _KEPT) or "durability" not in found:
        raise SpecError("--checked", f"{file} is no result of a check", remedy)
    return found


def noted(found: Mapping[str, Any], version: str, switches: Iterable[Switch]) -> dict[str, Any]:
    """What ``run.json`` keeps of it. ``version`` and ``switches`` are those of the run: where the check had others,
    ``differs`` says so."""
    durability = found.get("durability") or {}
    checked = {one["switch"]: one["value"] for one in durability.get("switches", ())}
    differs = []
    if durability and durability.get("version") != version:
        differs.append(f"checked on {durability.get('version')}")
    for one in switches:
        name, value = one["switch"], one["value"]
        if name in checked and checked[name] != value:
            differs.append(f"{name} was {checked[name]}, is {value}")
    figures = {name: durability[name] for name in ("storage", "writers", "acknowledged", "lost", "torn") if durability}
    rounds = {"kills": len(durability["rounds"])} if durability else {}
    return {**{name: found[name] for name in _KEPT}, **figures, **rounds, "differs": differs}
