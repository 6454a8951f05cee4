"""The conformance suite on many targets, and its outcome as tables for docs/engines/conformance.md.

The suite itself, its schedules and what products document of them lie in ``crates/conformance``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import psutil

from dsbench import servers
from dsbench.dataclass import dataclass
from dsbench.measure import loaders as generator
from dsbench.measure.loaders import Case, Conformance, TargetDatabase
from dsbench.spec import Target

MARK = "<!-- written by dsbench servers conform --write: do not edit below -->\n"
"""What stands before it is written by hand and stays."""

_SESSIONS = 12
"""More than the suite has open at any time."""

Watch = Callable[[str, int, int], None]
"""Called before each case: product and version, cases done, cases in all."""


@dataclass(frozen=True)
class SuiteResult:
    """The suite on one target."""

    target: str
    version: str
    """Product and version, with what tells targets of one version apart."""
    family: str
    cases: tuple[Case, ...]

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> SuiteResult:
        """One from its JSON values."""
        return cls(**{**described, "cases": tuple(Case(**case) for case in described["cases"])})

    @property
    def failures(self) -> list[Case]:
        """Cases that are not as documented."""
        return [case for case in self.cases if not case.passed]


def conform(target: Target, watch: Watch) -> SuiteResult:
    """Runs the suite; on a private server with the cases in which that is killed as well.

    Raises ``CoreError`` where something of dsbench's already exists, and what starting a server raises.
    """
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(servers.start(target, _SESSIONS)) if target.private else None
        face = TargetDatabase(server.url if server else target.url)
        stack.callback(face.close)
        suite = Conformance(face)
        stack.callback(suite.close)
        found, total = [], suite.left
        version = " ".join([suite.version, *_distinction(target)])
        watch(version, 0, total)
        for case in suite.cases():
            found.append(case)
            watch(version, len(found), total)
        if server is not None and server.pids():
            found += suite.lose_server(lambda: kill(server.pids()))
        return SuiteResult(target.redacted, version, suite.family, tuple(found))


def _distinction(target: Target) -> list[str]:
    """Settings that make another product of a server, as far as it does not say them itself."""
    values = {name.lower(): value for name, value in target.settings.items()}
    words = [values["servermode"]] if "servermode" in values else []
    if values.get("innodb_snapshot_isolation", "").lower() in {"on", "1"}:
        words.append("snapshot isolation")
    return words


def kill(pids: Sequence[int]) -> None:
    """Ends all processes of a server at once, as a loss of power would, and waits until they are gone."""
    processes = []
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            process.kill()
            processes.append(process)
    psutil.wait_procs(processes, timeout=10)


def tables(outcomes: Sequence[SuiteResult]) -> str:
    """The outcomes as Markdown: isolation, everything else, and where it is documented."""
    products = [outcome.version for outcome in outcomes]
    parts = [
        "### Isolation\n",
        *_table(["schedule", "level"], products, _rows(outcomes, "isolation")),
        "",
        *(f"- **{name}**: {about}" for name, about in generator.schedules()),
        "",
        "### Everything else\n",
        *_told_apart(products, list(_rows(outcomes, ""))),
        "",
        "### Where it is documented\n",
        *_sources(outcomes),
    ]
    wrong = [f"- {outcome.version}: {_told(case)}" for outcome in outcomes for case in outcome.failures]
    if wrong:
        parts += ["", "### Not as documented\n", *wrong]
    return "\n".join([f"Run on {', '.join(products)}.\n", *parts]) + "\n"


def _told(case: Case) -> str:
    name = ", ".join(part for part in (case.name, case.variant) if part)
    why = f" ({case.detail})" if case.detail else ""
    return f"{case.group}: {name}: {case.outcome}, documented: {case.expected}{why}"


Row = tuple[str, str, list[str]]
"""A case, its variant, and a cell for each outcome."""


def _told_apart(products: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """What holds on each of them as a list, the rest as a table."""
    alike: dict[str, list[str]] = {}
    for case, variant, cells in rows:
        if set(cells) == {"yes"}:
            group, _, name = case.partition(": ")
            alike.setdefault(group, []).append(name + (f" ({variant})" if variant not in ("", "both") else ""))
    if alike:
        yield "These hold on all of them:\n"
        yield from (f"- {group}: {'; '.join(names)}" for group, names in alike.items())
        yield ""
    yield from _table(["case", "way"], products, [row for row in rows if set(row[2]) != {"yes"}])


def _table(heads: Sequence[str], products: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """A column for each product, one for those that are alike in each row."""
    rows = list(rows)
    columns: dict[tuple[str, ...], list[str]] = {}
    for at, product in enumerate(products):
        columns.setdefault(tuple(cells[at] for _, _, cells in rows), []).append(product)
    yield "| " + " | ".join([*heads, *(", ".join(alike) for alike in columns.values())]) + " |"
    yield "|---" * (len(heads) + len(columns)) + "|"
    for row, cells in zip(rows, zip(*columns, strict=True), strict=True):
        yield "| " + " | ".join([*row[:2], *cells]) + " |"


def _rows(outcomes: Sequence[SuiteResult], group: str) -> Iterator[Row]:
    """Those of a group; without one, of all others but isolation."""
    found = [
        {(c.group, c.name, c.variant): c for c in o.cases if (c.group == group if group else c.group != "isolation")}
        for o in outcomes
    ]
    keys = list(dict.fromkeys(key for cases in found for key in cases))
    for (of, name), variants in groupby(keys, key=lambda key: key[:2]):
        for key in _together(list(variants), found):
            first = name if group else f"{of}: {name}"
            yield first, key[1], [_cell(cases.get(key[0])) for cases in found]


Key = tuple[str, str, str]


def _together(keys: Sequence[Key], found: Sequence[dict[Key, Case]]) -> Iterator[tuple[Key, str]]:
    """One row for all variants of a case that have the same outcomes everywhere, else one for each."""
    outcomes = [[cases[key].outcome if key in cases else "" for cases in found] for key in keys]
    if len(keys) > 1 and all(column == outcomes[0] for column in outcomes):
        yield keys[0], "every" if keys[0][0] == "isolation" else "both"
        return
    yield from ((key, key[2].replace("-", " ")) for key in keys)


def _cell(case: Case | None) -> str:
    if case is None:
        return ""
    shown = {"holds": "yes", "absent": "–"}.get(case.outcome, case.outcome)
    return shown if case.passed else f"**{shown}**, not {case.expected}"


def _sources(outcomes: Sequence[SuiteResult]) -> Iterator[str]:
    met = {outcome.family for outcome in outcomes}
    for family in generator.families():
        if met & set(family.names):
            yield f"- {family.title}: {' '.join(family.source.split())}."


def page(old: str, outcomes: Sequence[SuiteResult]) -> str:
    """``old`` with the tables behind its mark."""
    head, _, _ = old.partition(MARK)
    return f"{head}{MARK}\n{tables(outcomes)}"
