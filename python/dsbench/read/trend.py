"""The history of each configuration in a folder of archives: rates in order, changes, and what changed with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from pathlib import Path
from typing import Final

import numpy as np

from dsbench.archive import Archive, ArchiveError, RunRecord
from dsbench.read.evaluation import evaluate
from dsbench.read.settings import OF_WORKLOAD, SAYS_NOTHING, described, product
from dsbench.read.stats.changes import FEWEST, Change, changes, leaning
from dsbench.read.stats.comparison import differing, mean_lg
from dsbench.spec import OPTIONS

_SAME: Final = frozenset({"spec.workload", "spec.scales", *(f"spec.{n}" for n, o in OPTIONS.items() if o.of_load)})
"""What results of one configuration have in common; the number of cycles may be another one."""
_FREE: Final = frozenset({"spec.cycles"})
_LEANS: Final = 0.1
"""Correlation of neighbours from which on it is named."""
_HEAVILY: Final = 0.7
"""From which on short histories name a change that is none too often (``python -m bench.statistics trend``)."""


@dataclass(frozen=True)
class Result:
    """One run of a history."""

    archive: str
    started: str
    label: str
    rate_tps: float
    """Median over the cycles; at several scales the geometric mean along lg scale, the highest of several threads."""
    stage: str = ""
    """Which stage of the run that is, and what it counts; empty where all transactions count."""


@dataclass(frozen=True)
class Told:
    """A change, with what else is not as it was in the run before it."""

    change: Change
    result: Result
    """The first at the new level."""
    differs: Mapping[str, tuple[str, str]]
    """Name of a setting or version to its values before and from here on."""


@dataclass(frozen=True)
class History:
    """The results of one configuration."""

    name: str
    results: tuple[Result, ...]
    changes: tuple[Told, ...]
    leaning: float = 0.0
    """Correlation of each result with the one before it, beside its level."""

    @property
    def assumed(self) -> str:
        """What is supposed of the results where changes are looked for, in a sentence; empty where none are."""
        if len(self.results) < FEWEST:
            return ""
        if self.leaning < _LEANS:
            return "changes are judged as if no run leaned on the one before it: these runs show no such thing"
        words = f"each run leans on the one before it (correlation {self.leaning:.2f}, AR(1)); changes are judged so"
        if self.leaning < _HEAVILY:
            return words
        return f"{words}. So strong a correlation may still pass for a change: more runs, further apart, tell more"

    @property
    def fell(self) -> bool:
        """Whether the last change was one for the worse: the level is still lower than it was."""
        return bool(self.changes) and self.changes[-1].change.ratio.value < 1


def histories(folder: Path, smallest: float) -> tuple[list[History], list[str]]:
    """(the history of each configuration, what was left out and why) of the archives below ``folder``.

    ``smallest``: the share (0-1) below which no change is told. Runs that did not end or whose check failed are left
    out. ``ArchiveError`` where there is none to read.
    """
    found: dict[tuple[object, ...], list[tuple[RunRecord, Result]]] = {}
    left: list[str] = []
    seen: dict[tuple[str, str, str], Path] = {}
    for path in archives(folder):
        try:
            run, result = _result(Archive.open(path))
        except ArchiveError as error:
            left.append(f"{path.name}: {error}")
            continue
        if (first := seen.setdefault((run.name, run.host, run.started), path)) != path:
            left.append(f"{path.relative_to(folder)}: a copy of {first.relative_to(folder)}")
            continue
        if run.status != "complete" or run.broken or not np.isfinite(result.rate_tps):
            why = run.status if run.status != "complete" else "its check failed" if run.broken else "it has no rate"
            left.append(f"{path.name}: {why}")
            continue
        (values,) = described([run])
        same = sorted((n, v) for n, v in values.items() if (n in _SAME or n.startswith(OF_WORKLOAD)) and n not in _FREE)
        found.setdefault((run.host, product(run), *same), []).append((run, result))
    if not found:
        words = f"{folder} holds no archive of a run that is complete"
        raise ArchiveError(words, "name the folder in which the archives lie", usage=True)
    return [_history(sorted(runs, key=lambda one: one[1].started), smallest) for runs in found.values()], left


def archives(folder: Path) -> list[Path]:
    """Every archive below ``folder``, one that is there as a folder and as a zip once."""
    if not folder.is_dir():
        raise ArchiveError(f"{folder} is no folder", "name the folder in which the archives lie", usage=True)
    found = {path.parent for path in folder.rglob("run.json")}
    return sorted([*found, *(path for path in folder.rglob("*.zip") if path.with_suffix("") not in found)])


def _result(archive: Archive) -> tuple[RunRecord, Result]:
    run, found = archive.run, evaluate(archive)
    parts = [part for key, part in found.series.items() if key.stage == found.stage] or [found]
    own = [{x: np.array([rate]) for x, rate in found.own_rates(part).items()} if found.of_stage(part)
           else part.cycle_rates for part in parts]  # fmt: skip
    rates = [mean_lg(one, sorted(one)) for one in own]
    highest = max((rate for rate in rates if isfinite(rate)), default=nan)
    return run, Result(archive.name, run.started, run.spec.label, float(10**highest), found.of_stage(parts[-1]))


def _history(runs: Sequence[tuple[RunRecord, Result]], smallest: float) -> History:
    records = [record for record, _ in runs]
    results = tuple(result for _, result in runs)
    rates = np.array([result.rate_tps for result in results])
    found = changes(rates, smallest)
    told = tuple(Told(one, results[one.at], dict(_differs(records[one.at - 1], records[one.at]))) for one in found)
    spec = records[-1].spec
    threads = ("highest of " if len(spec.thread_numbers) > 1 else "") + ", ".join(map(str, spec.thread_numbers))
    scales = ", ".join(map(str, spec.scales))
    name = f"{product(records[-1])} on {records[-1].host}, {records[-1].entry.label}, scale {scales}, threads {threads}"
    name += f", {results[-1].stage}" if results[-1].stage else ""
    return History(name, results, told, leaning(rates, found))


def _differs(before: RunRecord, after: RunRecord) -> Iterator[tuple[str, tuple[str, str]]]:
    """What is not as it was, the label, which may be a commit, first."""
    if before.spec.label != after.spec.label:
        yield "label", (before.spec.label, after.spec.label)
    if before.dsbench != after.dsbench:
        yield "dsbench", (before.dsbench, after.dsbench)
    for name, (old, new) in differing(described([before, after])).items():
        if name not in SAYS_NOTHING:
            yield name, (old, new)
