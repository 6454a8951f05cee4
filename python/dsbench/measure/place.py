"""The place in which a run works: never anything but what carries dsbench's mark."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Final

import psutil
from pydantic import TypeAdapter, ValidationError

from dsbench import workloads
from dsbench.dataclass import dataclass
from dsbench.measure.journal import RunError, this_process
from dsbench.measure.loaders import UNCOUNTED, CoreError, Counted, Holder, TargetDatabase
from dsbench.measure.locks import CLAIMS, SESSIONS
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
        """Runs and transactions that it has seen, in words."""
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
        if self.workload == wanted.workload or workloads.find(self.workload).data.reads != wanted.workload:
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
            ("product", self.product, wanted.product, "specify the target that has it"),
            ("workload", self.workload, wanted.workload, f"--workload {self.workload}"),
            ("scale", f"{self.scale}", ",".join(map(str, spec.scales)), f"--scales {self.scale}"),
            *((f"setting {name}", *values) for name, *values in _compare_settings(self, wanted)),
            *((name, *values) for name, *values in _compare_layout(self, wanted)),
        ]
        differs = [f"its {what} is {has}, requested is {needs}" for what, has, needs, _ in pairs if has != needs]
        ways = " ".join(remedy for _what, has, needs, remedy in pairs if has != needs)
        if differs:
            raise RunError(
                f"the kept database differs from the request: {'; '.join(differs)}",
                f"to run on it: {ways}; or {DROP}, and omit --reuse",
                usage=True,
            )


_TOLD: Final = 10
"""Names that an error tells."""
_LONGEST: Final = 1000
"""Letters of a setting in the mark, which has 4,000 on some products: of longer files it has name and digest."""


def read_mark(text: str) -> Kept | None:
    """The kept database that carries the mark ``text``; ``None`` where it is another one of dsbench's.

    ``RunError`` for a mark of another version of dsbench.
    """
    try:
        said = json.loads(text)["kept"]
    except (ValueError, TypeError, KeyError):
        return None
    try:
        found = TypeAdapter(Kept).validate_python(said)
    except ValidationError:
        problem = "the kept database was made by another version of dsbench, whose mark cannot be read"
        raise RunError(problem, f"use that version, or {DROP}", usage=True) from None
    # Only the end of a run takes its process out of the mark: with one that is gone it died in its work.
    return found.after(None, len(found.committed)) if "pid" in json.loads(text) else found


def describe_wanted(spec: RunSpec, target: TargetDatabase, scale: int, run: str = "") -> Kept:
    """What ``spec`` makes, or needs, at ``scale`` on ``target``."""
    defaults = {one.name: one.default for one in workloads.find(spec.workload).settings}
    query = spec.target.parameters | spec.target.settings
    return Kept(
        run=run,
        product=_product(target),
        workload=spec.workload,
        settings=defaults | {name: workloads.brief(text, _LONGEST) for name, text in spec.workload_settings.items()},
        layout={name: query[name] for name in _LAYOUT if name in query},
        scale=scale,
        clients=spec.all_clients,
    )


def _product(target: TargetDatabase) -> str:
    name = target.dialect.name
    if name != "mysql":
        return name
    (row,) = target.fetch("SELECT version() AS version")
    return "mariadb" if "mariadb" in (row["version"] or "").lower() else name


def _compare_settings(left: Kept, wanted: Kept) -> Iterable[tuple[str, str, str, str]]:
    for name in sorted({*left.settings, *wanted.settings}):
        has, needs = left.settings.get(name, ""), wanted.settings.get(name, "")
        if left.workload == wanted.workload:
            yield name, has or "none", needs or "none", f"--set {name}={has}"


def _compare_layout(left: Kept, wanted: Kept) -> Iterable[tuple[str, str, str, str]]:
    for name in _LAYOUT:
        has, needs = left.layout.get(name, "its default"), wanted.layout.get(name, "its default")
        yield name, has, needs, f"{name}={has} in TARGET"


def make_mark(name: str) -> str:
    """The text of the mark: which run made the place, and which process may still use it."""
    return json.dumps({"run": name, **this_process()})


_IN_USE = "another run of dsbench is using this target"
_WAIT = "wait until it has ended, or specify another database in TARGET"

_NAMED = 3
"""Sessions that an error names."""

_GONE_S = 2.0
"""How long a server may take to notice that the session of a run that has just ended is gone."""

_SEEN_IN_PLACE = ("firebird",)
"""Dialects that know no session without a database."""


def lock(target: TargetDatabase) -> None:
    """Claims the target for this run: a lost session is opened again with the claim, or ends the run.

    ``RunError`` when another run has it. Engines without such a lock have the mark, and the sessions that
    ``check_free`` looks for.
    """
    claim = CLAIMS.get(target.dialect.name)
    if claim is None:
        return
    give_up = time.monotonic() + _GONE_S
    while (holder := target.claim(claim)) is not None:
        if time.monotonic() < give_up:
            time.sleep(0.1)
            continue
        raise RunError(f"{_IN_USE}: {holder}", f"{_WAIT}; if that run no longer exists, terminate its session on the "
                                               "server")


def check_free(target: TargetDatabase) -> bool:
    """True when remains of an earlier run are there, to be dropped; ``RunError`` when it must not be touched."""
    text = take_unused(target)
    if text is not None and (found := read_mark(text)) is not None:
        raise RunError(
            f"a database is kept on this target: {found.workload} at scale {found.scale}, made by the run {found.run}",
            f"run on it: --reuse --workload {found.workload} --scales {found.scale}; or {DROP}",
            usage=True,
        )
    if text is not None:
        check_alone(target)
    return text is not None


def check_alone(target: TargetDatabase) -> None:
    """``RunError`` that names what dsbench did not make and a drop of the place would take or break."""
    if names := target.strangers():
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        raise RunError(
            "objects of dsbench cannot be dropped without objects that are not its own: "
            f"{', '.join(names[:_TOLD])}{more}",
            "move or drop those, and repeat; or specify another database in TARGET",
            usage=True,
        )


def take_unused(target: TargetDatabase) -> str | None:
    """The mark of what no run works in; ``None`` where nothing is. ``RunError`` for what must not be touched."""
    state, text = target.state()
    if state == "foreign":
        raise RunError(
            f"{text}: it was not created by dsbench, which leaves it alone",
            "specify another database in TARGET, or rename the existing one",
            usage=True,
        )
    if state == "marked":
        _check_not_in_use(text)
        _check_no_sessions(target)
        if not target.take():
            raise RunError(_IN_USE, _WAIT)
    return text if state == "marked" else None


def find_reusable(target: TargetDatabase, spec: RunSpec) -> Kept:
    """The database that is kept on ``target``, which fits ``spec``; ``RunError`` says what is missing or differs."""
    text = take_unused(target)
    found = None if text is None else read_mark(text)
    if found is None:
        there = "dsbench has nothing there" if text is None else "the one there belongs to a run that was killed"
        remedy = "omit --reuse; a run with --keep keeps its database for later ones"
        raise RunError(f"no database is kept on this target: {there}", remedy, usage=True)
    wanted = describe_wanted(spec, target, spec.scales[-1])
    found = found.as_left_to(wanted)
    found.check_fits(spec, wanted)
    return found


def hand_over(target: TargetDatabase, own: str, mark: str) -> None:
    """Puts ``mark`` in place of ``own``: never in place of that of another run."""
    if is_own(target, own):
        target.remark(mark)


def _check_not_in_use(text: str) -> None:
    try:
        owner = json.loads(text)
        if not isinstance(owner, dict):
            return
    except ValueError:
        return  # A mark of another making tells no process; what it marks is dsbench's all the same.
    if owner_alive(owner):
        raise RunError(
            f"the run {owner.get('run')} (process {owner.get('pid')}) is using this target",
            "wait until it has ended, or specify another database in TARGET",
        )


def _check_no_sessions(target: TargetDatabase) -> None:
    statement = SESSIONS.get(target.dialect.name)
    if statement is None or target.dialect.embedded:
        return
    others = [Holder(*(cell or "" for cell in row.values())) for row in target.fetch(statement)]
    if others:
        named = ", ".join(map(str, others[:_NAMED])) + ", …" * (len(others) > _NAMED)
        raise RunError(
            f"another run of dsbench, or another program, is using this target: its database has {len(others)} open"
            f" sessions: {named}",
            "wait until they have ended, or specify another database in TARGET",
        )


def owner_alive(owner: Any) -> bool:
    """Whether the process that a mark or an archive names still runs, as far as can be seen from this host."""
    try:
        pid, since, host = int(owner["pid"]), float(owner["process_started"]), owner["host"]
        if host != platform.node() or pid == os.getpid():
            return False
        return abs(psutil.Process(pid).create_time() - since) < 2
    except (ValueError, KeyError, TypeError, OverflowError, psutil.Error):
        return False


def make(target: TargetDatabase, own: str) -> str:
    """Drops what an earlier run left, if anything, and creates a place with the mark ``own``.

    Gives what was set back for the earlier run, in words.
    """
    target.hold()
    words = ""
    if check_free(target):
        words = set_back(target)
        target.drop()
    target.create(own)
    return words


_LIMITS = ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm")
"""Settings of the user's server that a run changes for a while. In this order: the second is at most the first."""


def set_back(target: TargetDatabase) -> str:
    """Gives settings of the server the values that a run has noted in its place before it changed them.

    A run does so itself unless it is interrupted, loses its session or is killed. Gives in words what was done, empty
    where nothing is noted.
    """
    if target.dialect.name != "mysql":
        return ""
    there = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'dsbench' AND table_name = 'dsbench_limits'"
    if not target.fetch(there):
        return ""
    noted = {row["name"]: row["value"] for row in target.fetch("SELECT name, value FROM dsbench.dsbench_limits")}
    values = {name: float(noted[name] or "") for name in _LIMITS if name in noted}
    words = ", ".join(f"{name} = {value:g}" for name, value in values.items())
    try:
        for name, value in values.items():
            target.fetch(f"SET GLOBAL {name} = {value!r}")
    except CoreError as error:
        remedy = f"set {words} yourself, then DROP TABLE dsbench.dsbench_limits"
        raise RunError(f"settings that a run changed could not be restored: {error}", remedy) from None
    target.fetch("DROP TABLE dsbench.dsbench_limits")
    return f"{words} restored after a run that was cut short" if values else ""


@contextmanager
def visible(target: TargetDatabase, own: str, *, there: bool = False) -> Iterator[None]:
    """Lets the database system be asked what it is, with an empty place where only a session in one is told.

    ``there``: the place is one that is reused.
    """
    if there or target.dialect.name not in _SEEN_IN_PLACE:
        yield
        return
    make(target, own)
    try:
        yield
    finally:
        remove(target, own)


def remove(target: TargetDatabase, own: str) -> str:
    """Drops the place if it is that of the run whose mark is ``own``: never the place of another run.

    Gives what was set back before, in words.
    """
    if not is_own(target, own):
        return ""
    words = set_back(target)
    target.drop()
    return words


def is_own(target: TargetDatabase, own: str) -> bool:
    """Whether the place is that of the run whose mark is ``own``, made by this process or by one that was killed."""
    state, text = target.state()
    if state != "marked" or text == own:
        return state == "marked"
    try:
        owner = json.loads(text)
        return bool(owner["run"] == json.loads(own)["run"]) and "kept" not in owner and not owner_alive(owner)
    except (ValueError, KeyError, TypeError):
        return False
