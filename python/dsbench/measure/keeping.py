"""Where a run works: a database that it makes anew for each scale, or one that was kept; and what it leaves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from dsbench import servers
from dsbench.archive.conditions import Condition
from dsbench.archive.record import Age
from dsbench.dataclass import dataclass
from dsbench.measure import place
from dsbench.measure.interrupts import listening
from dsbench.measure.journal import Journal, RunError, this_process
from dsbench.measure.loaders import Bench, CoreError, Counted, TargetDatabase
from dsbench.measure.opening import explain_errors, open_target
from dsbench.measure.place import Kept
from dsbench.spec import RunSpec, SpecError, Target, build, named_as, needs_pgbench


def choose_base(spec: RunSpec, target: TargetDatabase, server: servers.Server | None, name: str = "") -> Base:
    """The base of the run of ``spec``; ``RunError`` where it cannot work on ``target``. Changes nothing there.

    ``name``: of a run that goes on, which may have kept its database before it was killed.
    """
    if (spec.keep or spec.reuse) and not target.dialect.keeps_data:
        raise RunError("this target keeps no data", "omit --keep and --reuse, or specify a database", usage=True)
    if spec.existing:
        return Existing(spec, target, server, None)
    if spec.reuse:
        return Base(spec, target, server, place.find_reusable(target, spec))
    text = place.take_unused(target) if spec.keep and name else None
    if text is not None and (own := place.read_mark(text)) is not None and own.run == name:
        return Base(spec, target, server, None, own)
    place.check_free(target)
    return Base(spec, target, server, None)


def claim_target(spec: RunSpec, target: TargetDatabase) -> RunSpec:
    """Claims the target for the run of ``spec``, and gives that at the scale which is known now.

    Tables that are there are nobody's to claim. For builtin scripts their scale is the number of branches, as pgbench
    counts it.
    """
    if not spec.existing:
        place.lock(target)
    elif needs_pgbench(spec.workload, spec.workload_settings):
        return spec.model_copy(update={"scales": (_branches(target),)})
    return spec


def _branches(target: TargetDatabase) -> int:
    made = ": pgbench -i -s 10 DATABASE" if target.dialect.name == "postgres" else " there, with those columns and rows"
    remedy = f"create them{made}; or specify your scripts with --script"
    try:
        (row,) = target.fetch("SELECT count(*) AS branches FROM pgbench_branches")
    except CoreError as error:
        if error.kind not in ("syntax", "statement"):
            raise
        raise RunError(f"--existing: builtin scripts need pgbench's tables: {error}", remedy, usage=True) from None
    found = int(next(iter(row.values())) or 0)
    if not found:
        raise RunError("--existing: pgbench_branches has no rows", remedy, usage=True)
    return found


def rehearse(spec: RunSpec, target: TargetDatabase, bench: Bench) -> str:
    """Tries SQL of the user, where there is some, on empty tables in a place that is gone afterwards. With tables
    that are there only what the clients will prepare is tried. Gives what ``place.make`` gives."""
    if not bench.rehearses:
        return ""
    if spec.existing or spec.reuse:
        bench.rehearse(spec.prepare, fresh=False)
        return ""
    mark = place.make_mark("a rehearsal")
    words = place.make(target, mark)
    try:
        bench.phase("create", lambda _done, _total: None)
        bench.rehearse(spec.prepare, fresh=True)
    finally:
        place.remove(target, mark)
    return words


class Base:
    """The database of a run, from its beginning to its end."""

    def __init__(
        self, spec: RunSpec, target: TargetDatabase, server: servers.Server | None, found: Kept | None,
        left: Kept | None = None,
    ) -> None:  # fmt: skip
        self._spec = spec
        self.target = target
        self.server = server
        self._found = found
        self._left = left
        self.mark = ""
        """Of the run, while it works."""
        self._standing = 0
        self._shared = False
        """Whether somebody else had put something beside a kept database before."""
        self._journal: Journal | None = None

    @property
    def there(self) -> bool:
        """Whether a database is there before the first scale."""
        return self._found is not None or self._left is not None

    @property
    def counted(self) -> Counted | None:
        """What earlier runs did on the database; ``None`` where it is made anew."""
        return self._found.counted if self._found else None

    def begin(self, journal: Journal) -> None:
        """The run has its name: a kept database gets its mark, and the archive tells how old it is."""
        name = journal.record.name
        self._journal = journal
        self.mark = place.make_mark(name)
        if self._left is not None:
            journal.note(kept=_age(self._left))
        if self._found is None:
            return
        self.mark = self._found.marked({"by": name, **this_process()})
        self.target.remark(self.mark)
        self._shared = bool(self.target.strangers())
        journal.note(reused=_age(self._found))
        words = f"the database was kept by {self._found.run} and has already had {self._found.age}"
        journal.warn("aged", words, "for a fresh one: dsbench drop TARGET, then run without --reuse")

    def make(self) -> None:
        """Makes the place of a scale."""
        self._tell(place.make(self.target, self.mark))

    def remove(self) -> None:
        """Drops the place of a scale."""
        self._count_in()
        self._tell(place.remove(self.target, self.mark))

    def _count_in(self) -> None:
        """What SQL of the user made in the place while it ran is the run's as well, where nothing else could come."""
        if not self._shared and _bench(self._spec, self.target).rehearses and place.is_own(self.target, self.mark):
            self.target.take_stock()

    def _tell(self, words: str) -> None:
        """What was set back on the server."""
        if words and self._journal is not None:
            self._journal.say(f"the server has {words}")

    def leave(self, scale: int, journal: Journal) -> bool:
        """Whether the database of ``scale`` is left to the next scale of the ladder, which grows out of it."""
        spec, after = self._spec, next((x for x in self._spec.scales if x > scale), None)
        if not spec.grows or after is None:
            return False
        bench = Bench(self.target, spec.workload, after, spec.call, spec.workload_settings, spec.all_clients)
        engine = place.describe_wanted(spec, self.target, after).layout.get("storage_engine", "InnoDB")
        other = "" if engine.lower() == "innodb" else f"tables of {engine} keep another layout"
        if why := bench.lacks(scale) or other:
            journal.say(f"scale {after} is loaded from scratch and not grown: {why}")
            return False
        self._standing = scale
        return True

    def take(self, bench: Bench) -> int:
        """The scale of a database that was left and out of which that of ``bench`` grows; 0 where it is made anew."""
        there, self._standing = self._standing, 0
        return there if there and not bench.lacks(there) else 0

    def stays(self, scale: int) -> bool:
        """Whether the database of ``scale`` is left to later runs."""
        return self._spec.reuse or (self._spec.keep and scale == self._spec.scales[-1])

    def keep(self, journal: Journal, scale: int, counted: Counted) -> None:
        """Leaves the database to later runs, after all that was ``counted`` on it."""
        before = self._found or place.describe_wanted(self._spec, self.target, scale, journal.record.name)
        left = before.after(counted, len(counted[0]))
        self._count_in()
        place.hand_over(self.target, self.mark, left.marked({}))
        self._left = left
        if self.server is not None:
            self.server.keep()
        journal.note(kept=_age(left))
        others = ", the last," if len(self._spec.scales) > 1 else ""
        journal.say(f"the database of scale {scale}{others} is kept: run on it with --reuse, or dsbench drop TARGET")

    def end(self) -> None:
        """The run is over: nothing of it stays but what is kept. A database that was kept before stays in any case.

        A private server takes its own along, and may answer no more: it is not asked.
        """
        if self._left is not None or not self.mark:
            return
        if self._found is not None:
            left = self._found.after(None, len(self._found.committed))
            place.hand_over(self.target, self.mark, left.marked({}))
        elif self.server is None:
            self.remove()


class Existing(Base):
    """Tables that somebody else made: they are as they were before, but for what the load does."""

    @property
    def there(self) -> bool:
        """The tables are there, whatever the run does."""
        return True

    def begin(self, journal: Journal) -> None:
        """There is nothing to mark."""
        journal.say("existing tables: dsbench creates, clears, vacuums and drops nothing")


def _age(found: Kept) -> Age:
    return Age(run=found.run, scale=found.scale, runs=found.runs, transactions=found.transactions)


@dataclass(frozen=True)
class Standing:
    """A database that dsbench has made, and its check."""

    words: str
    """What it is; empty where nothing but its rows tells."""
    conditions: tuple[Condition, ...]


def check_target(target: Target, asked: Mapping[str, Any]) -> Standing:
    """The workload's conditions against the database at ``target``.

    ``asked`` are ``workload``, ``workload_settings`` and ``scales`` by name, which a kept database tells itself. What
    runs counted on such a one is compared, too. ``RunError`` where dsbench has nothing there or ``asked`` is
    something else, ``SpecError`` where ``asked`` says too little.
    """
    private = {"reuse": True} if target.private is not None else {}
    spec = build({**asked, **private, "target": target})
    with listening() as stop, open_target(spec) as (found, _server), explain_errors("check"):
        state, text = found.state()
        if state != "marked":
            problem = text or "dsbench has nothing there"
            raise RunError(problem, "check a target in which a run kept its database", usage=True)
        there = place.read_mark(text)
        if there is not None:
            _refuse_unnamed(there, asked.get("workload_settings") or {})
            named = {"workload": there.workload, "workload_settings": there.settings, "scales": (there.scale,), **asked}
            named["clients"] = there.clients
            spec = build({**named, "target": target, **private})
            there.check_fits(spec, place.describe_wanted(spec, found, spec.scales[-1]))
        elif "scales" not in asked:
            raise SpecError("--scale", "it is missing", "only a kept database has a recorded scale")
        bench = _bench(spec, found)
        result = bench.check(there.counted if there else None, lambda _done, _total: stop.check())
        return Standing(_words(there) if there else "", result.conditions)


def _refuse_unnamed(there: Kept, given: Mapping[str, str]) -> None:
    """``RunError`` where the mark has but name and digest of the files that the database was made by."""
    for name, text in there.settings.items():
        if re.search(r" #[0-9a-f]{12}$", text) and name not in given:
            file = text.partition(" #")[0]
            remedy = f"specify that file: --workload {named_as(text)}"
            raise RunError(f"the database was made by {file}", remedy, usage=True)


def drop_target(target: Target, agreed: Callable[[str], bool]) -> str:
    """Removes what carries dsbench's mark at ``target`` once ``agreed`` has seen what it is; gives what it was.

    Empty where nothing is there or it was not agreed. ``RunError`` while a run uses it, or where it is not dsbench's.
    """
    if target.private is not None:
        return servers.drop(target, agreed)
    with listening(), explain_errors(target.redacted), closing(TargetDatabase(target.url)) as found:
        place.lock(found)
        text = place.take_unused(found)
        if text is None:
            return ""
        place.check_alone(found)
        size = found.size_bytes()
        words = f"{target.redacted}: {_described(text)}" + (f", {size / 1e9:.3f} GB" if size is not None else "")
        if not agreed(words):
            return ""
        back = place.remove(found, text)
        return f"{words}; the server has {back}" if back else words


def _bench(spec: RunSpec, target: TargetDatabase) -> Bench:
    return Bench(target, spec.workload, spec.scales[-1], spec.call, spec.workload_settings, spec.all_clients)


def _words(there: Kept) -> str:
    return f"kept database: {there.workload} at scale {there.scale}, made by the run {there.run}, aged by {there.age}"


def _described(text: str) -> str:
    try:
        there = place.read_mark(text)
    except RunError:
        return "a database that another version of dsbench kept"
    if there is not None:
        return _words(there)
    try:
        return f"remains of the run {json.loads(text)['run']}, which was killed"
    except (ValueError, TypeError, KeyError):
        return "a database of dsbench's"
