"""What a run notes of what is around it: the target, its server and its machine before the first cycle, what a check
found of the target, and around the cycles the storage and what the database says of itself."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from dsbench import devices, servers
from dsbench.measure import probes, stack
from dsbench.measure.journal import Journal
from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.loaders.loader import Loader
from dsbench.measure.monitors import (
    RUN,
    WATCHERS,
    EmbeddedWatcher,
    Known,
    MonitorSession,
    SessionSampler,
    Statistics,
    beside,
    between,
    look,
)  # fmt: skip
from dsbench.measure.plans import Plan, describe_change, is_cheap
from dsbench.measure.stack import Described, Switch
from dsbench.measure.stack.described import cell
from dsbench.measure.stack.rdbms.postgres import POOL_VERSION
from dsbench.servers.storage.volume import StorageError
from dsbench.spec import Limits, RunSpec, SpecError
from dsbench.spec.drivers import OWN
from dsbench.stats.machine import noticed


def known_processes(target: TargetDatabase, pids: Iterable[int], session: int | None, folders: Iterable[Path]) -> Known:
    """The processes of dsbench and of the database of ``target``: of a private server the ``pids``, else those around
    its process ``session``, ``None`` where there is none to see. ``folders`` hold the data."""
    private = list(pids)
    seen = bool(private) or session is not None or target.dialect.embedded
    return Known(beside(private, session), seen, devices.devices_of(folders))


def with_nodes(given: Known, pids: Iterable[int]) -> Known:
    """The same with nodes on this machine."""
    return replace(given, roots={**given.roots, **dict.fromkeys(pids, RUN)})


@contextmanager
def watch_others(given: Known, journal: Journal, load: Loader) -> Iterator[None]:
    """Says what other programs did meanwhile, when that would lower the rates; the run goes on."""
    before = look(given)
    yield
    after, of_run = look(given), with_nodes(given, load.pids())
    for words, remedy in noticed(between(before, after, of_run), {}) if before and after else ():
        journal.say(f"warning: {words}; hint: {remedy}")


def note_system(
    spec: RunSpec, target: TargetDatabase, server: servers.Server | None, journal: Journal, described: Described
) -> None:
    """Puts what was ``described`` into ``run.json``.

    Warns of another version than that of the beginning, of what the server said of its settings, and of limits that
    fall short.
    """
    version = described.server_version or (server.version if server else "")
    before = journal.record.server_version
    if before not in ("", version):
        words = f"resumed on {version}, begun on {before}"
        journal.warn("resumed", words, "repeat the run on one version")
    pgpool = cell(target, POOL_VERSION) if target.dialect.name == "postgres" and server is None else None
    pooler = _pooler(target, server, pgpool)
    journal.note(
        engine=target.dialect.name,
        dialect=asdict(target.dialect),
        embedded=target.dialect.embedded,
        # With one writer at a time every level comes out as the strictest.
        isolation="serializable" if target.dialect.single_writer else spec.isolation,
        server_version=version,
        pooled=target.pooled,
        stack=stack.by_client(stack.behind(described.layers, pooler), spec.driver),
        settings=described.settings,
        durability=described.durability,
        marks=described.marks,
    )
    if spec.checked and journal.record.promised is None:
        host = platform.node() if server or target.dialect.embedded else ""
        checked = read_checked(spec.checked)
        journal.note(promised=compare_checked(checked, version, described.durability, host))
    if pgpool:
        words = f"Pgpool-II {pgpool} is in front of the server and may send reads to copies: the figures include that"
        journal.warn("pooler", words, "specify the server itself as TARGET to measure it alone")
    elif server is None and target.pooled:
        words = f"a pooler of {target.pooled} is in front of the server: the figures include its time"
        journal.warn("pooler", words, "specify the server itself as TARGET to measure it alone")
    if target.is_unproved:
        words = f"the server does not report the isolation of its sessions: it may differ from {spec.isolation}"
        journal.warn("unproved", words, "see its documentation; dsbench doctor TARGET shows what else it lacks")
    for note in server.notes if server else []:
        journal.warn("server", note, "see dsbench doctor")
    pids = server.pids() if server else []
    for words in stack.fall_short(Limits.of(spec.limits), pids[0] if pids else None):
        journal.warn("limits", words, "check the limits of dsbench's container or control group")


def _pooler(target: TargetDatabase, server: servers.Server | None, pgpool: str | None) -> dict[str, str]:
    """What is known of a pooler before the server; nothing where there is none."""
    program = f"Pgpool-II {pgpool}" if pgpool else server.pooler if server else ""
    if not target.pooled:
        return {"program": program} if program else {}
    kept = {"sessions": "as long as it stays", "transactions": "for each transaction"}[target.pooled]
    return {**({"program": program} if program else {}), "a session of the server": kept}


def sample_sessions(spec: RunSpec, target: TargetDatabase) -> SessionSampler:
    """What looks at the sessions of the load of one cycle; at none where nobody asks for it, or none can be seen."""
    name = target.dialect.name
    if spec.samples == 0:
        return SessionSampler(None)
    if name in WATCHERS:
        own = TargetDatabase(target.url, existing=spec.existing)
        kept = target.pooled != "transactions"
        asked = MonitorSession(own.fetch, own.close, target.fetch, spec.driver == OWN, kept=kept)
        return SessionSampler(WATCHERS[name](asked), spec.samples)
    return SessionSampler(EmbeddedWatcher(target.seen), spec.samples)


class Probes:
    """Measures where the data of a run lie; a tool that fails is told, and the run goes on."""

    def __init__(self, spec: RunSpec, place: Path | None, journal: Journal) -> None:
        self._tools = probes.tools(spec.probes)
        self._place = place
        self._journal = journal
        if self._tools and place is None:
            words = "the disk benchmarks were omitted: they need the data directory of a private server"
            journal.warn("probes", words, "omit --probes, or use private:PRODUCT")

    def measure(self, scale: int, stage: str, cycle: int, moment: str) -> None:
        """Runs the tools, "before" or "after" the cycles of a stage, of which ``cycle`` was the last made."""
        if not self._tools or self._place is None:
            return
        rows = []
        try:
            with probes.folder_in(self._place) as folder:
                for one in probes.run_tools(folder, self._tools):
                    rows.append({"scale": scale, "stage": stage, "cycle": cycle, "moment": moment, "tool": one.tool,
                                 "test": one.test, "unit": one.unit, "value": one.value})  # fmt: skip
        except (StorageError, OSError) as error:
            remedy = error.remedy if isinstance(error, StorageError) else "check the free space and permissions there"
            self._journal.warn("probes", f"{moment} the cycles: {error}", remedy, scale)
        part = f"scale-{scale:05d}_{len(self._journal.record.segments):03d}_{stage}_{moment}"
        self._journal.writer.rows("probes", part, rows)


class Snapshots:
    """Writes the statistics of one scale, and the plans of its statements, into the archive."""

    def __init__(
        self, journal: Journal, statistics: Statistics | None, scale: int, segment: int,
        plans: Callable[[], list[Plan]] = list,
    ) -> None:  # fmt: skip
        """``statistics`` is ``None`` where the engine has none; ``plans`` asks for those of the statements."""
        self._journal = journal
        self._statistics = statistics
        self._scale = scale
        self._segment = segment
        self._ask_plans = plans
        self._before: dict[str, list[Plan]] = {}
        self._begun = set[tuple[str, int | None]]()
        self._under_way: tuple[str, int | None] | None = None

    def turn(self, stage: str, clients: int | None) -> None:
        """Called before what cleans for a cycle of ``stage`` with so many ``clients``: another had its last."""
        if self._under_way is not None and self._under_way != (stage, clients):
            self._take("after", *self._under_way)
            self._under_way = None

    def before(self, stage: str, clients: int | None) -> None:
        """Called when such a cycle is about to start, after the cleaning: the first call counts."""
        if (stage, clients) in self._begun:
            return
        self._begun.add((stage, clients))
        self._take("before", stage, clients)
        self._under_way = stage, clients
        if stage not in self._before:
            self._before[stage] = self._take_plans("before", stage)

    def after(self, stage: str) -> None:
        """Called after the last cycle of ``stage``, before another stage, or the check, reads whatever there is."""
        if self._under_way is not None:
            self._take("after", *self._under_way)
            self._under_way = None
        if stage not in self._before:
            return
        before = {(one.number, one.statement): one for one in self._before[stage]}
        for one in self._take_plans("after", stage):
            old = before.get((one.number, one.statement), one)
            if old.text and one.text and old.fingerprint != one.fingerprint and not is_cheap(old, one):
                words = f"the plan of {one.statement!r} changed during the cycles: {describe_change(old, one)}"
                remedy = "cycles before and after it cannot be compared: gather statistics before the load, and repeat"
                self._journal.warn("plan", words, remedy, self._scale)

    def _take_plans(self, moment: str, stage: str) -> list[Plan]:
        try:
            found = self._ask_plans()
        except Exception as error:  # no session more, no right: the run does not fail for it
            words = f"the plans of the statements cannot be read: {error}"
            self._journal.warn("plans", words, "check that the login may open one more session")
            self._ask_plans = list
            return []
        key = {"scale": self._scale, "stage": stage, "segment": self._segment, "moment": moment}
        rows = [{**key, "number": one.number, "statement": one.statement, "fingerprint": one.fingerprint,
                 "plan": one.text, "problem": one.problem} for one in found]  # fmt: skip
        self._journal.writer.rows("plans", f"scale-{self._scale:05d}_{self._segment:03d}_{stage}_{moment}", rows)
        return found

    def _take(self, moment: str, stage: str, clients: int | None) -> None:
        if self._statistics is None:
            return
        key = {"scale": self._scale, "stage": stage, "clients": clients, "segment": self._segment, "moment": moment}
        try:
            found = self._statistics.take()
        except Exception as error:  # no right, a version without the view: the run does not fail for it
            words = f"the database's statistics cannot be read: {error}"
            self._journal.warn("statistics", words, "check that the login may read them; the rates are not affected")
            self._statistics = None
            return
        rows = [{**key, "object": of, "metric": name, "unit": unit, "value": value} for of, name, unit, value in found]
        part = f"scale-{self._scale:05d}_{self._segment:03d}_{stage}_{clients or 0:05d}_{moment}"
        self._journal.writer.rows("statistics", part, rows)


_LARGEST: Final = 2**20
_KEPT = ("version", "settings", "at", "host", "dsbench", "holds", "verdict")
_FIGURES = ("storage", "writers", "acknowledged", "lost", "torn")


def read_checked(file: str) -> dict[str, Any]:
    """The content of ``file``; empty without one. ``SpecError`` where it is none that a check wrote."""
    if not file:
        return {}
    remedy = "specify a file that dsbench check TARGET --durability --out FILE wrote"
    try:
        if Path(file).exists() and not Path(file).is_file():
            raise ValueError("it is not a regular file")
        with Path(file).open("rb") as opened:
            text = opened.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise ValueError(f"it has more than {_LARGEST} bytes")
        found = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SpecError("--checked", f"{file} cannot be read: {error}", remedy) from None
    if not isinstance(found, dict) or not {*_KEPT, "durability"} <= found.keys() or not _is_whole(found):
        raise SpecError("--checked", f"{file} is not the result of a check", remedy)
    if found["durability"] is None:
        raise SpecError("--checked", f"{file} is of a check that killed nothing", remedy)
    return found


def _is_whole(found: Mapping[str, Any]) -> bool:
    """Whether the parts that are taken up are there: what a check did not try out is ``None``."""
    parts = {"durability": {"version", "switches", "rounds", *_FIGURES}, "flushes": {"suspicion"}}
    return all(isinstance(part, dict) and names <= part.keys()
               for name, names in parts.items() if (part := found.get(name)) is not None)  # fmt: skip


def compare_checked(
    found: Mapping[str, Any], version: str, switches: Iterable[Switch], host: str = ""
) -> dict[str, Any]:
    """What ``run.json`` keeps of the file of a check.

    ``version``, ``switches`` and the ``host`` of the data are those of the run: where the check had others, ``differs``
    says so. Without a ``host`` the server is anywhere, and so may the check be.
    """
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
            differs.append(f"{name} was {checked[name]}, is now {value}")
    figures = {name: durability[name] for name in _FIGURES if durability}
    rounds = {"kills": len(durability["rounds"])} if durability else {}
    suspicion = (found.get("flushes") or {}).get("suspicion", "")
    return {**{name: found[name] for name in _KEPT}, **figures, **rounds, "suspicion": suspicion, "differs": differs}
