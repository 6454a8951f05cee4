"""What ``dsbench check --out`` found of the target of a run: taken up into its archive, with what differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from dsbench.measure.stack import Switch
from dsbench.spec import SpecError

_LARGEST: Final = 2**20
_KEPT = ("version", "settings", "at", "host", "dsbench", "holds", "verdict")
_FIGURES = ("storage", "writers", "acknowledged", "lost", "torn")


def read(file: str) -> dict[str, Any]:
    """The content of ``file``; empty without one. ``SpecError`` where it is none that a check wrote."""
    if not file:
        return {}
    remedy = "name a file that dsbench check TARGET --durability --out FILE wrote"
    try:
        if Path(file).exists() and not Path(file).is_file():
            raise ValueError("it is no regular file")
        with Path(file).open("rb") as opened:
            text = opened.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError("--checked", f"{file} cannot be read: {error}", remedy) from None
    if not isinstance(found, dict) or not {*_KEPT, "durability"} <= found.keys() or not _whole(found):
        raise SpecError("--checked", f"{file} is no result of a check", remedy)
    return found


def _whole(found: Mapping[str, Any]) -> bool:
    """Whether the parts that are taken up are there: what a check did not try out is ``None``."""
    parts = {"durability": {"version", "switches", "rounds", *_FIGURES}, "flushes": {"suspicion"}}
    return all(isinstance(part, dict) and names <= part.keys()
               for name, names in parts.items() if (part := found.get(name)) is not None)  # fmt: skip


def noted(found: Mapping[str, Any], version: str, switches: Iterable[Switch], host: str = "") -> dict[str, Any]:
    """What ``run.json`` keeps of it. ``version``, ``switches`` and the ``host`` of the data are those of the run: where
    the check had others, ``differs`` says so. Without a ``host`` the server is anywhere, and so may the check be."""
    durability = found.get("durability") or {}
    checked = {one["switch"]: one["value"] for one in durability.get("switches", ())}
    differs = []
    if durability and durability.get("version") != version:
        differs.append(f"checked on {durability.get('version')}")
    if host not in ("", found["host"]):
        differs.append(f"checked on the machine {found['host']}")
    for one in switches:
        name, value = one["switch"], one["value"]
        if name in checked and checked[name] != value:
            differs.append(f"{name} was {checked[name]}, is {value}")
    figures = {name: durability[name] for name in _FIGURES if durability}
    rounds = {"kills": len(durability["rounds"])} if durability else {}
    suspicion = (found.get("flushes") or {}).get("suspicion", "")
    return {**{name: found[name] for name in _KEPT}, **figures, **rounds, "suspicion": suspicion, "differs": differs}
