"""What a target kept of its promises: as values, as text, as JSON."""

from __future__ import annotations

import datetime
import json
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from math import isfinite
from pathlib import Path
from typing import Any, Final

from dsbench import release
from dsbench.check.conformance import SuiteResult
from dsbench.check.durable import DurabilityCheck
from dsbench.check.flushes import Flushes
from dsbench.check.histories import IsolationCheck, isolation_lines
from dsbench.dataclass import dataclass
from dsbench.measure import loaders as generator
from dsbench.measure.loaders import Case
from dsbench.spec import ISOLATIONS

_OF: Final = {
    "atomicity": (
        ("statements", "a commit keeps and a rollback undoes"),
        ("statements", "what a session left open is undone"),
        ("errors", "a transaction that failed is rolled back whole"),
        ("bulk load", "a source that fails leaves nothing behind"),
        ("bulk load", "a key that is there already leaves nothing behind"),
        ("losses", "a session that was ended in a transaction is disconnected"),
    ),
    "consistency": (
        ("errors", "a key that is there already"),
        ("errors", "a unique value that is there already"),
        ("errors", "NULL where none may be"),
        ("types", "a number too large for its type is refused"),
    ),
}
"""Cases of the suite by the promise that they try out."""
_KILL_ALONE: Final = (
    "A kill does not affect the operating system's cache: to test a power failure, use --storage forgetful."
)


@dataclass(frozen=True)
class Checked:
    """One check of a target."""

    target: str
    """Without its password."""
    version: str
    """Product and version."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Of a private server, as they were asked for."""
    suite: SuiteResult | None = None
    durability: DurabilityCheck | None = None
    flushes: Flushes | None = None
    isolation: IsolationCheck | None = None
    at: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    host: str = field(default_factory=platform.node)

    @property
    def product(self) -> str:
        """Product and version without what its compiler was."""
        return re.split(r" \(| on |,", self.version, maxsplit=1)[0] or self.target

    @property
    def failures(self) -> list[str]:
        """The promises that were not kept, in words."""
        found = [f"{case.group}: {_named(case)}: {case.outcome}, documented: {case.expected}" for case in self._wrong()]
        if self.durability is not None and not self.durability.holds:
            found.append(f"durability: {_lost(self.durability)}")
        if self.isolation is not None and not self.isolation.holds:
            names = [one.name for one in self.isolation.forbidden]
            stale = ["stale reads"] if self.isolation.is_stale else []
            found.append(f"{self.isolation.words} forbids {', '.join([*names, *stale])}")
        return found

    def _wrong(self) -> list[Case]:
        return self.suite.failures if self.suite is not None else []

    @property
    def verdict(self) -> str:
        if self.failures:
            return f"{self.product} FAILED: {'; '.join(self.failures)}"
        kept = [_lost(self.durability)] if self.durability is not None else []
        cases = [f"{len(self.suite.cases)} cases are as documented"] if self.suite is not None else []
        one = self.isolation
        seen = [f"{one.found.committed:,} transactions without an anomaly that {one.words} forbids"] if one else []
        return f"{self.product} passed: {'; '.join([*cases, *kept, *seen])}"

    def described(self) -> dict[str, Any]:
        """As JSON values; ``dsbench run --checked`` takes them up."""
        values = asdict(self)
        if self.durability is not None:
            one = self.durability
            values["durability"] |= {"acknowledged": one.acknowledged, "lost": one.lost, "torn": one.torn}
        if self.flushes is not None:
            figures = {name: value if not isinstance(value, float) or isfinite(value) else None
                       for name, value in asdict(self.flushes).items()}  # fmt: skip
            values["flushes"] = {**figures, "suspicion": self.flushes.suspicion}
        holds = not self.failures
        return {"dsbench": release.VERSION, "holds": holds, "verdict": self.verdict, **values}

    def write(self, file: Path) -> None:
        """The same into ``file``. Raises ``OSError``."""
        file.write_text(json.dumps(self.described(), indent=2, ensure_ascii=False) + "\n")


def lines(checked: Checked) -> Iterator[str]:
    """The table that can stand beside a figure."""
    yield f"test of {checked.product} on {checked.host} at {checked.at}"
    if checked.settings:
        yield f"settings: {', '.join(f'{name} {value}' for name, value in sorted(checked.settings.items()))}"
    if checked.suite is not None:
        for promise, cases in _OF.items():
            yield f"\n{promise}"
            yield from _of_promise(checked.suite, cases)
        yield "\nisolation: anomalies that can occur, by level"
        yield from _isolation(checked.suite)
    if checked.isolation is not None:
        yield from isolation_lines(checked.isolation)
    if checked.durability is not None:
        yield "\ndurability"
        yield from _durable(checked.durability)
        for one in checked.durability.switches:
            yield f"  {'safe' if one['safe'] else 'UNSAFE':6}  {one['switch']} {one['value']}: {one['meaning']}"
    if checked.flushes is not None:
        yield "\nflushes"
        yield from _flushed(checked.flushes)
    yield f"\n{checked.verdict}"


def _named(case: Case) -> str:
    return ", ".join(part for part in (case.name, case.variant) if part)


def _of_promise(suite: SuiteResult, wanted: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for group, name in wanted:
        found = [case for case in suite.cases if (case.group, case.name) == (group, name)]
        broken = [case for case in found if not case.passed]
        outcome = "/".join(dict.fromkeys(case.outcome for case in found))
        shown = "" if outcome in ("holds", "") else f": {outcome}"
        word = "BROKEN" if broken else "absent" if outcome == "absent" else "kept"
        yield f"  {word:6}  {name}{shown if word != 'absent' else ''}" if found else f"  not tested: {name}"


def _isolation(suite: SuiteResult) -> Iterator[str]:
    """A row for each schedule, its outcome at each level, and what happens in it."""
    found = {(case.name, case.variant): case for case in suite.cases if case.group == "isolation"}
    schedules = [(name, about) for name, about in generator.schedules() if any(key[0] == name for key in found)]
    rows = [("schedule", *(level.replace("-", " ") for level in ISOLATIONS))]
    rows += [(name, *(_cell(found.get((name, level))) for level in ISOLATIONS)) for name, _ in schedules]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
    yield ""
    for name, about in schedules:
        yield f"  {name}: {about}"


def _cell(case: Case | None) -> str:
    if case is None:
        return "–"
    return case.outcome if case.passed else f"{case.outcome.upper()} (documented: {case.expected})"


def _durable(found: DurabilityCheck) -> Iterator[str]:
    yield f"  {'kept' if found.holds else 'BROKEN':6}  {_lost(found)}"
    for number, one in enumerate(found.rounds, start=1):
        dropped = f", {one.dropped_bytes / 1e6:.3g} MB lost with the cache" if one.dropped_bytes is not None else ""
        more = f", {one.extra} more in progress" if one.extra else ""
        why = f": {one.problem.splitlines()[0]}" if one.problem else ""
        yield (f"          kill {number}: {one.acknowledged:,} acknowledged, {one.lost:,} lost, {one.torn:,} torn{more}"
               f"{dropped}, back after {one.recovery_s:.2f} s{why}")  # fmt: skip
    if found.storage == "plain":
        yield f"          {_KILL_ALONE}"


def _lost(found: DurabilityCheck) -> str:
    """``4,711 commits acknowledged over 4 sessions and 50 kills on plain storage: none lost, none torn``."""
    what = (
        f"{found.acknowledged:,} commits acknowledged over {found.writers} sessions and {len(found.rounds)} "
        f"kill{'s' * (len(found.rounds) != 1)} on {found.storage} storage"
    )
    lost = f"{found.lost:,} LOST" if found.lost else "none lost"
    torn = f"{found.torn:,} TORN" if found.torn else "none torn"
    gone = ", and the database did not recover" if any(one.problem for one in found.rounds) else ""
    return f"{what}: {lost}, {torn}{gone}"


def _flushed(found: Flushes) -> Iterator[str]:
    where = found.file_system + (f" on {found.device}" if found.device else "")
    direct = f"{found.direct_ns / 1e3:,.0f} µs" if isfinite(found.direct_ns) else "not known"
    yield f"  {where}: a write of 4 KiB and its flush {found.flushed_ns / 1e3:,.0f} µs; the device's own write {direct}"
    if found.suspicion:
        yield f"  BEWARE  {found.suspicion}"
