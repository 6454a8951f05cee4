"""What stands at a target while no run works there: its check, and its end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from dsbench import servers
from dsbench.measure import kept, place
from dsbench.measure.interrupts import listening
from dsbench.measure.journal import RunError
from dsbench.measure.kept import Kept
from dsbench.measure.loaders import Bench, Condition, Target
from dsbench.measure.opening import opened, told
from dsbench.spec import RunSpec, SpecError, build, named_as
from dsbench.spec import Target as TargetSpec


@dataclass(frozen=True)
class Standing:
    """A database that dsbench has made, and its check."""

    words: str
    """What it is; empty where nothing but its rows tells."""
    conditions: tuple[Condition, ...]


def check_target(target: TargetSpec, asked: Mapping[str, Any]) -> Standing:
    """The workload's conditions against the database at ``target``.

    ``asked`` are ``workload``, ``workload_settings`` and ``scales`` by name, which a kept database tells itself. What
    runs counted on such a one is compared, too. ``RunError`` where nothing of dsbench's is there or ``asked`` is
    something else, ``SpecError`` where ``asked`` says too little.
    """
    private = {"reuse": True} if target.private is not None else {}
    spec = build({**asked, **private, "target": target})
    with listening() as stop, opened(spec) as (found, _server), told("check"):
        state, text = found.state()
        if state != "marked":
            problem = text or "nothing of dsbench's is there"
            raise RunError(problem, "check a target in which a run has left its database", usage=True)
        there = kept.of_mark(text)
        if there is not None:
            _refuse_unnamed(there, asked.get("workload_settings") or {})
            named = {"workload": there.workload, "workload_settings": there.settings, "scales": (there.scale,), **asked}
            named["threads"] = there.clients
            spec = build({**named, "target": target, **private})
            there.check_fits(spec, kept.wanted_of(spec, found, spec.scales[-1]))
        elif "scales" not in asked:
            raise SpecError("--scale", "it is missing", "only a database that was kept tells its scale itself")
        bench = _bench(spec, found)
        result = bench.check(there.counted if there else None, lambda _done, _total: stop.check())
        return Standing(_words(there) if there else "", result.conditions)


def _refuse_unnamed(there: Kept, given: Mapping[str, str]) -> None:
    """``RunError`` where the mark has but name and digest of the files that the database was made by."""
    for name, text in there.settings.items():
        if re.search(r" #[0-9a-f]{12}$", text) and name not in given:
            file = text.partition(" #")[0]
            remedy = f"name that file: --workload {named_as(text)}"
            raise RunError(f"the database was made by {file}", remedy, usage=True)


def drop_target(target: TargetSpec, agreed: Callable[[str], bool]) -> str:
    """Removes what carries dsbench's mark at ``target`` once ``agreed`` has seen what it is; gives what it was.

    Empty where nothing is there or it was not agreed. ``RunError`` while a run uses it, or where it is not dsbench's.
    """
    if target.private is not None:
        return servers.drop(target, agreed)
    with listening(), told(target.redacted), closing(Target(target.url)) as found:
        place.lock(found)
        text = place.unused(found)
        if text is None:
            return ""
        words = f"{target.redacted}: {_described(text)}, {found.size_bytes() / 1e9:.3f} GB"
        if not agreed(words):
            return ""
        back = place.remove(found, text)
        return f"{words}; the server has {back}" if back else words


def _bench(spec: RunSpec, target: Target) -> Bench:
    return Bench(target, spec.workload, spec.scales[-1], spec.call, spec.workload_settings, spec.clients)


def _words(there: Kept) -> str:
    return f"kept database: {there.workload} at scale {there.scale}, made by the run {there.run}, aged by {there.age}"


def _described(text: str) -> str:
    try:
        there = kept.of_mark(text)
    except RunError:
        return "a database that another version of dsbench kept"
    if there is not None:
        return _words(there)
    try:
        return f"what the run {json.loads(text)['run']} left when it died"
    except (ValueError, TypeError, KeyError):
        return "a database of dsbench's"
