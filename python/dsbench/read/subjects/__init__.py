"""All subjects, in the order in which a page has them. One line adds one: the name of its module here."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final

from dsbench.read.subject import Measure, Result, Subject

NAMES: Final = (
    "warnings", "rate", "load", "legs", "outage", "replication", "served", "why", "queries", "interference", "latency",
    "clients", "connections", "kinds", "statements", "server_statements", "models", "stages", "cost", "stacks",
    "device_times", "price", "energy", "probes", "machine", "statistics", "course", "nodes", "errors", "checklist",
    "checks", "durability", "stack", "settings",
)  # fmt: skip


_FIRST: Final = (
    "rate", "tps", "nopm", "capacity", "p50", "p90", "p95", "p99", "p99.9", "max", "dsi", "failures", "hit-ratio",
    "hit-ratio-1ms", "hit-ratio-valley", "cpu", "cpu-per-transaction", "iowait", "kb-per-transaction",
)  # fmt: skip


@cache
def find_subject(name: str) -> Subject:
    """The subject of a module here. ``KeyError`` for a name that none has."""
    if name not in NAMES:
        raise KeyError(name)
    found: Subject = import_module(f"dsbench.read.subjects.{name}").SUBJECT
    return found


@cache
def results() -> Mapping[str, type[Result]]:
    """The attributes of all results by name, each with the class that has it."""
    classes = [find_subject(name).result for name in NAMES]
    return {name: result for result in classes for name in result.names()}


@cache
def measures() -> Mapping[str, Measure]:
    """All figures by name, those that are chosen most often first."""
    found = {measure.name: measure for subject in map(find_subject, NAMES) for measure in subject.measures}
    return {name: found[name] for name in dict.fromkeys((*_FIRST, *found))}
