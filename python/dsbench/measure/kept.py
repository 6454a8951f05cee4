"""A database that a run leaves for later ones: what its mark says of it, and whether a run can work on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Final
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from dsbench import workloads
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import UNCOUNTED, Counted, Target
from dsbench.spec import RunSpec

DROP = "drop it: dsbench drop TARGET"
_LAYOUT = ("storage_engine", "page_size")
"""Parameters of a URL that shape tables when they are made, and say nothing to those that are there."""


@dataclass(frozen=True)
class Kept:
    """A database that was kept, as its mark tells it to every later run."""

    run: str
    """The one that populated it."""
    product: str
    workload: str
    settings: dict[str, str]
    """All of the workload's, with their defaults."""
    layout: dict[str, str]
    scale: int
    runs: int = 0
    """That have worked on it."""
    committed: tuple[int, ...] = ()
    """Transactions of these runs by kind, early and late ones included."""
    unknown: tuple[int, ...] = ()
    """Commits of unknown end by kind; ``UNCOUNTED`` where a run did not tell what it did."""
    sums: dict[str, int] | None = None
    """Of the clients, by name; ``None`` before the first run."""
    clients: int = 1
    """Of all nodes, of the run that populated it: a workload may have made a table for each."""
    read: int = 0
    """Transactions of other workloads, which only read it."""

    @property
    def exact(self) -> bool:
        """Whether every run has told what it did."""
        return all(number < UNCOUNTED for number in self.unknown)

    @property
    def transactions(self) -> int:
        """How many were made on it; at least so many where it is not ``exact``."""
        return sum(self.committed) + self.read

    @property
    def age(self) -> str:
        """In words."""
        runs = f"{self.runs} run" + ("s" if self.runs != 1 else "")
        return f"{runs}, {'' if self.exact else 'at least '}{self.transactions} transactions"

    @property
    def counted(self) -> Counted:
        """What all runs did, as a check wants it."""
        return list(self.committed), list(self.unknown), sorted((self.sums or {}).items())

    def after(self, counted: Counted | None, kinds: int) -> Kept:
        """After another run, all of whose and earlier transactions are ``counted``; ``None``: it did not tell."""
        if counted is None:
            committed = self.committed or (0,) * kinds
            return replace(self, runs=self.runs + 1, committed=committed, unknown=(UNCOUNTED,) * kinds)
        known = tuple(min(number, UNCOUNTED) for number in counted[1])
        sums = dict(counted[2])
        return replace(self, runs=self.runs + 1, committed=tuple(counted[0]), unknown=known, sums=sums)

    def as_left_to(self, wanted: Kept) -> Kept:
        """What it is for the workload of ``wanted``, whose tables its own workload has only read; else itself."""
        if self.workload == wanted.workload or workloads.find(self.workload).reads != wanted.workload:
            return self
        kinds = len(workloads.find(wanted.workload, wanted.settings).kinds)
        none = (0,) * kinds
        return replace(self, workload=wanted.workload, committed=none, unknown=none, sums=None, read=self.transactions)

    def marked(self, owner: Mapping[str, object]) -> str:
        """The mark of the place; ``owner``: the run that works on it, empty while none does."""
        return json.dumps({"run": self.run, **owner, "kept": asdict(self)})

    def check_fits(self, spec: RunSpec, wanted: Kept) -> None:
        """``RunError`` that says all that differs where the run of ``spec``, which ``wanted`` describes, needs another
        database."""
        pairs = [
            ("product", self.product, wanted.product, "name the target that has it"),
            ("workload", self.workload, wanted.workload, f"--workload {self.workload}"),
            ("scale", f"{self.scale}", ",".join(map(str, spec.scales)), f"--scales {self.scale}"),
            *((f"setting {name}", *values) for name, *values in _settings(self, wanted)),
            *((name, *values) for name, *values in _layout(self, wanted)),
        ]
        differs = [f"its {what} is {found}, asked for is {asked}" for what, found, asked, _ in pairs if found != asked]
        ways = " ".join(remedy for _what, found, asked, remedy in pairs if found != asked)
        if differs:
            raise RunError(
                f"the kept database does not fit: {'; '.join(differs)}",
                f"to run on it: {ways}; or {DROP}, and leave --reuse out",
                usage=True,
            )


_MARK = TypeAdapter(Kept)
_LONGEST: Final = 1000
"""Letters of a setting in the mark, which has 4,000 on some products: of longer files it has name and digest."""


def of_mark(text: str) -> Kept | None:
    """The kept database that carries the mark ``text``; ``None`` where it is another one of dsbench's.

    ``RunError`` for a mark of another version of dsbench.
    """
    try:
        said = json.loads(text)["kept"]
    except (ValueError, TypeError, KeyError):
        return None
    try:
        found = _MARK.validate_python(said)
    except ValidationError:
        problem = "the kept database was made by another version of dsbench, whose mark cannot be read"
        raise RunError(problem, f"use that version, or {DROP}", usage=True) from None
    # Only the end of a run takes its process out of the mark: with one that is gone it died in its work.
    return found.after(None, len(found.committed)) if "pid" in json.loads(text) else found


def wanted_of(spec: RunSpec, target: Target, scale: int, run: str = "") -> Kept:
    """What ``spec`` makes, or needs, at ``scale`` on ``target``."""
    defaults = {one.name: one.default for one in workloads.find(spec.workload).settings}
    query = dict(parse_qsl(spec.target.url.partition("?")[2])) | spec.target.settings
    return Kept(
        run=run,
        product=_product(target),
        workload=spec.workload,
        settings=defaults | {name: workloads.brief(text, _LONGEST) for name, text in spec.workload_settings.items()},
        layout={name: query[name] for name in _LAYOUT if name in query},
        scale=scale,
        clients=spec.clients,
    )


def _product(target: Target) -> str:
    name = target.dialect.name
    if name != "mysql":
        return name
    (row,) = target.fetch("SELECT version() AS version")
    return "mariadb" if "mariadb" in (row["version"] or "").lower() else name


def _settings(kept: Kept, wanted: Kept) -> Iterable[tuple[str, str, str, str]]:
    for name in sorted({*kept.settings, *wanted.settings}):
        found, asked = kept.settings.get(name, ""), wanted.settings.get(name, "")
        if kept.workload == wanted.workload:
            yield name, found or "none", asked or "none", f"--set {name}={found}"


def _layout(kept: Kept, wanted: Kept) -> Iterable[tuple[str, str, str, str]]:
    for name in _LAYOUT:
        found, asked = kept.layout.get(name, "its default"), wanted.layout.get(name, "its default")
        yield name, found, asked, f"{name}={found} in TARGET"
