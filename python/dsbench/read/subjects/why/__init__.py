"""Where the time of a transaction goes: why the rate is what it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Diagram, Listed, Part, Sentence, Table
from dsbench.read.glance import best
from dsbench.read.remedies import find_remedies
from dsbench.read.series import label_series, phrases
from dsbench.read.subject import Measure, Result, Subject, Values, computed
from dsbench.read.subjects.clients import ClientsResult
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.device_times import DeviceTimesResult
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.server_statements import ServerStatementsResult
from dsbench.read.subjects.why.looks import read_log_use, read_looks
from dsbench.stats import shares
from dsbench.stats.shares import Share, What, divide, summarise

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_SEEN: Final = 0.005
"""Share from which on a cause has a column."""
_LEAST: Final = 0.05
"""Share from which on a cause has a place in the sentence."""
_FEW: Final = 4
"""Places that stand on the page for themselves; more are behind one line."""
_MOST: Final = 3
"""Causes of a sentence."""
FOREIGN: Final = "CPU taken by other programs"
_PARTS: Final = {
    shares.CPU: "server CPU", shares.QUEUE: "server CPU",
    shares.LOCK: "locks", shares.LATCH: "locks within the server", shares.FLUSH: "flush", shares.READ: "reads",
    shares.WRITE: "writes", shares.OTHER: "other waits in the server", shares.NETWORK: "network",
    shares.CLIENT: "client", shares.CLIENT_QUEUE: "client", shares.CLIENT_TURN: "client",
    shares.QUOTA: "CPU quota", shares.FOREIGN: FOREIGN, shares.UNKNOWN: "not known",
}  # fmt: skip
"""Classes to their parts, which add up what one remedy is for: sentence, bar, tables and diagrams name these."""
_NAMED: Final = (shares.LATCH, shares.OTHER)
"""Classes of which the wait's own name is said."""
_OF_LOCKS: Final = 0.1
"""Share of the locks from which on their table is named."""
_FULL: Final = 0.875
"""Share of the greatest age of a checkpoint from which on InnoDB writes pages as fast as it can."""
_OF_DEVICE: Final = (
    ("flushes", "flush time", "flush"), ("disk reads", "disk read time", "read"),
    ("disk writes", "disk write time", "write"),
)  # fmt: skip
"""Resources that count and time what the device does, with the word for it."""
_MEASURES: Final = {
    "server-cpu": (shares.CPU, "on a CPU in the server"),
    "cpu-queue": (shares.QUEUE, "waiting for a CPU in the server"),
    "foreign": (shares.FOREIGN, "waiting for a CPU that other programs used"),
    "quota": (shares.QUOTA, "waiting for the next period of a CPU quota"),
    "lock": (shares.LOCK, "waiting for locks"), "latch": (shares.LATCH, "waiting for locks within the server"),
    "flush": (shares.FLUSH, "waiting for a flush"),
    "read": (shares.READ, "waiting for reads"), "write": (shares.WRITE, "waiting for writes"),
    "other": (shares.OTHER, "in other waits of the server"), "network": (shares.NETWORK, "on the network"),
    "client": (shares.CLIENT, "on a CPU in the client"),
    "client-queue": (shares.CLIENT_QUEUE, "waiting for a CPU in the client"),
    "client-turn": (shares.CLIENT_TURN, "waiting in the client for its turn"),
    "unknown": (shares.UNKNOWN, "that is not known"),
}  # fmt: skip
OF_TIME: Final = "time-"
"""Beginning of the names of measures that are shares of a transaction's time."""


def name_part(measure: str) -> str:
    """What the sentence calls that of which a measure is the time: ``server CPU`` for ``time-cpu-queue``."""
    return _PARTS[_MEASURES[measure.removeprefix(OF_TIME)][0]]


@dataclass(frozen=True)
class Cause:
    """Shares that belong together, in the words of the sentence."""

    name: str
    """``server CPU``, ``locks on branches and tellers``."""
    kind: str
    """The class of which it has most."""
    share: float
    """Of the transaction's time (0-1)."""
    time_ns: float
    """Of one transaction."""

    @property
    def part(self) -> str:
        """Its name without details: ``locks``."""
        return _PARTS[self.kind]


@dataclass(frozen=True)
class Why:
    """Where the time of a transaction goes at one scale."""

    time_ns: float
    """Of a transaction on average: client time in transactions, failed ones and those in flight at the end of a cycle
    included, by those that were done (Little's law)."""
    sampled: bool
    """Whether the server's sessions were sampled; else only the machine's counters tell."""
    cycles: int
    causes: tuple[Cause, ...]
    """The largest first; what is not known is last."""
    shares: tuple[Share, ...]
    """The largest first. They add up to 1."""
    statement: str
    """The statement in which the sessions were most, and its share of them; empty without samples."""
    remarks: tuple[str, ...]
    """What else was counted that belongs to the largest causes, such as checkpoints."""

    @property
    def by_part(self) -> dict[str, float]:
        """Cause to ms of a transaction, the same words whatever their details."""
        found: dict[str, float] = defaultdict(float)
        for one in self.shares:
            found[_PARTS[one.kind]] += one.time_ns / 1e6
        return dict(found)

    @property
    def sentence(self) -> str:
        """``46% server CPU, 21% locks on branches, 19% flush``."""
        told = [one for one in self.causes if one.kind != shares.UNKNOWN and one.share >= _LEAST][:_MOST]
        told += [one for one in self.causes if one.kind == shares.UNKNOWN and one.share >= _LEAST]
        return ", ".join(f"{one.share:.0%} {one.name}" for one in told)

    @property
    def explained(self) -> bool:
        """Whether the sentence has a cause."""
        return any(one.kind != shares.UNKNOWN and one.share >= _LEAST for one in self.causes)


def _read_why(evaluation: Evaluation) -> dict[int, Why]:
    """By scale, where the archive tells at least what the machine did."""
    if not evaluation.has_clients:
        return {}
    found = {}
    for scale, looks in read_looks(evaluation).items():
        load = evaluation.rows.load[scale]
        counted = load.total("committed", "rolled_back")
        if not counted or not looks.known:
            continue
        ledger = evaluation.of(ClientsResult).ledger.get(scale)
        time_ns = (ledger.transactions_ns if ledger else load.total("residence_ns", "failed_ns")) / counted
        parts = summarise([divide(seen) for seen in looks.cycles.values()], time_ns)
        sampled = any(seen.waiting is not None for seen in looks.cycles.values())
        found[scale] = Why(time_ns, sampled, len(looks.cycles), name_causes(parts), parts, looks.statement,
                           tuple(_remark(evaluation, scale, parts)))  # fmt: skip
    return found


def name_causes(parts: Sequence[Share]) -> tuple[Cause, ...]:
    """Shares put together, by what they are called."""
    found: dict[str, list[Share]] = defaultdict(list)
    for part in parts:
        found[_PARTS[part.kind]].append(part)
    causes = [
        Cause(_name(name, some), max(some, key=lambda one: one.share).kind, sum(one.share for one in some),
              sum(one.time_ns for one in some))
        for name, some in found.items()
    ]  # fmt: skip
    return tuple(sorted(causes, key=lambda one: (one.kind == shares.UNKNOWN, -one.share)))


def _name(name: str, some: Sequence[Share]) -> str:
    """With the tables of locks, and the wait's own name where the class says little."""
    whole = sum(one.share for one in some)
    if some[0].kind == shares.LOCK:
        tables: dict[str, float] = defaultdict(float)
        for one in some:
            tables[one.on] += one.share
        most = sorted(tables.items(), key=lambda one: -one[1])
        named = [on for on, share in most if on and share > _OF_LOCKS * whole]
        return f"{name} on {' and '.join(named[:2])}" if named else name
    if some[0].kind in _NAMED and some[0].wait and some[0].share > whole / 2:
        return f"{name} ({some[0].wait})"
    return name


def _remark(evaluation: Evaluation, scale: int, parts: Sequence[Share]) -> Iterator[str]:
    """What was seen beside the shares and belongs to them."""
    for plan in (one for one in evaluation.of(ServerStatementsResult).plans.get(scale, ()) if one.changed):
        yield f"the plan changed during the cycles: {plan.statement}"
    met = evaluation.of(MachineResult).checkpoints.get(scale, ())
    written = sum(part.share for part in parts if part.kind in (shares.FLUSH, shares.WRITE, shares.LATCH))
    if met and written >= _LEAST:
        yield f"{len(met)} of {len(evaluation.rows.load[scale].cycles)} cycles had a checkpoint"
    if written >= _LEAST and (full := read_log_use(evaluation.rows.monitors, scale)) >= _FULL:
        yield (
            f"the median checkpoint age of InnoDB was {full:.0%} of the log: near 100%, statements wait for "
            "checkpoints"
        )
    known = {one.name: one.per_second for one in evaluation.of(CostResult).resources.get(scale, ())}
    timed = {one.operation: one for one in evaluation.of(DeviceTimesResult).device_times.get(scale, ())}
    for count, time, word in _OF_DEVICE:
        if known.get(count, 0.0) > 0 and known.get(time, 0.0) > 0:
            mean_ms = known[time] / known[count] / 1e3
            one = timed.get(word)
            spread = "" if one is None or not isfinite(one.p50_ns) else (
                f"; under perf, half within {one.p50_ns / 1e6:.3g} ms" +
                (f", 99% within {one.p99_ns / 1e6:.3g}" if isfinite(one.p99_ns) else ""))  # fmt: skip
            yield f"the device took {mean_ms:.3g} ms for a {word}, {known[count]:,.0f} of them a second{spread}"
    flushed_ns = sum(part.time_ns for part in parts if part.kind == shares.FLUSH)
    made = [one for one in timed.values() if one.operation in ("flush", "forced write", "write")]
    if made and flushed_ns >= _LEAST * sum(part.time_ns for part in parts):
        told = " and ".join(f"{one.per_transaction:.3g} {one.operation}{'' if one.operation != 'flush' else 'e'}s of "
                            f"{one.mean_ns / 1e6:.3g} ms" for one in made)  # fmt: skip
        waited = f"a transaction waited {flushed_ns / 1e6:.3g} ms for flushes"
        yield f"{waited}; the device made {told} for each, under perf"


_COLUMNS: Final = (
    Column("part", left=True), Column("detail", left=True), Column("share", form=".1%"),
    Column("95% interval", left=True, spare=True), Column("per transaction", "ms", 1e-6),
)  # fmt: skip
_STATES: Final = {
    shares.CPU: "on a CPU", shares.QUEUE: "waits for a CPU", shares.CLIENT: "on a CPU",
    shares.CLIENT_QUEUE: "waits for a CPU", shares.CLIENT_TURN: "waits for its turn or its locks",
}
"""Of the parts that have several classes: what each of them is."""
_NOTE: Final = (
    "Shares of the transactions in progress, which by Little's law are shares of a transaction's time. Methods and "
    "errors: docs/why.md."
)
_UNSAMPLED: Final = (
    "The server's sessions were not sampled: their waits are in the share that is not known (--samples)."
)


@dataclass(frozen=True)
class _Place:
    """A scale of a series."""

    cells: tuple[str, ...]
    """What tells the series from others, as in a table."""
    words: str
    """``8 clients, scale 10``."""
    part: Evaluation
    scale: int

    @property
    def why(self) -> Why:
        return self.part.of(WhyResult).why[self.scale]


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    """All places as a table, then the one with the highest rate, of which the first screen speaks; the rest folded."""
    columns, series = label_series(evaluation)
    names = list(phrases(evaluation.series).values()) or [""]
    places = [_Place(cells, f"{name}, scale {scale:,}".removeprefix(", "), part, scale)
              for name, (cells, part) in zip(names, series, strict=True)
                  for scale in sorted(part.of(WhyResult).why)]  # fmt: skip
    if not places:
        return
    found = best(evaluation)
    first = next((one for one in places if found and (one.part, one.scale) == (found.part, found.row.scale)), places[0])
    if len(places) > 1:
        yield _tabulate(columns, places)
        yield Part(f"{first.words[0].upper()}{first.words[1:]}", list(_tell_place(first)))
    else:
        yield from _tell_place(first)
    others = [Part(f"{one.words[0].upper()}{one.words[1:]}: {one.why.sentence or 'not known'}",
                   list(_tell_place(one, titled=True)), folded=True) for one in places if one is not first]  # fmt: skip
    yield from others if len(others) <= _FEW else [Part(f"The other {len(others)}, one by one", others, folded=True)]
    yield from _advise(evaluation.run.engine, [first, *(one for one in places if one is not first)])
    yield Sentence(_NOTE, "note")
    if not all(one.why.sampled for one in places) and not evaluation.run.embedded:
        yield Sentence(_UNSAMPLED, "note")


def _advise(engine: str, places: Sequence[_Place]) -> Iterator[Block]:
    """What may help against the causes of all places, those of the first one first."""
    causes = [one.kind for place in places for one in
              [one for one in place.why.causes if one.share >= 2 * _LEAST][:_MOST]]  # fmt: skip
    if advice := find_remedies(engine, causes):
        columns = (Column("cause", left=True), Column("what may help", left=True), Column("source", left=True))
        listed = [(_PARTS[one.kind], one.words, one.source) for one in advice]
        yield Part("Usual remedies", [Table("Causes and remedies", columns, listed)], folded=True)


def _tabulate(columns: Sequence[Column], places: Sequence[_Place]) -> Table:
    """Shares by what the sentence names; the largest on average first, what is not known last."""
    parts = [{name: ms * 1e6 / one.why.time_ns for name, ms in one.why.by_part.items()} for one in places]
    unknown = _PARTS[shares.UNKNOWN]
    whole = {name: sum(part.get(name, 0.0) for part in parts) for name in dict.fromkeys(_PARTS.values())}
    told = [name for name in whole if any(part.get(name, 0.0) >= _SEEN for part in parts)]
    told.sort(key=lambda name: (name == unknown, -whole[name]))
    rows = [(*one.cells, one.scale, one.why.time_ns, *(part.get(name, 0.0) for name in told))
            for one, part in zip(places, parts, strict=True)]  # fmt: skip
    heads = (Column("scale"), Column("per transaction", "ms", 1e-6))
    causes = (Column(name, form=".0%") for name in told)
    return Table("Shares of a transaction's time", (*columns, *heads, *causes), rows)


def _tell_place(place: _Place, *, titled: bool = False) -> Iterator[Block]:
    why, part, scale = place.why, place.part, place.scale
    if not titled:
        yield Sentence(f"{why.sentence or 'not known'}.", "lead")
    rows = []
    for one in why.shares:
        details = " ".join(word for word in (_STATES.get(one.kind, ""), one.wait, one.on and f"on {one.on}") if word)
        within = f"{one.low:.0%} to {one.high:.0%}" if isfinite(one.low) else ""
        rows.append((_PARTS[one.kind], details, one.share, within, one.time_ns))
    yield Table(f"Time of a transaction at scale {scale}, {why.time_ns / 1e6:,.3g} ms", _COLUMNS, rows)
    if lines := [line for line in (why.statement, *why.remarks) if line]:
        yield Listed(lines)
    if spec := _draw(part, scale):
        caption = "Transactions in progress by activity, second by second over the cycles."
        yield Diagram(f"why-{part.stage}-clients-{part.clients}-scale-{scale}", spec, caption, wide=True)


def read_seconds(evaluation: Evaluation) -> dict[int, list[dict[str, Any]]]:
    """Scale to rows of cycle, second, part and the transactions that were in it, of all cycles in a row."""
    found: dict[int, list[dict[str, Any]]] = {}
    for scale, looks in read_looks(evaluation).items() if evaluation.has_clients else ():
        first, last, rows = 0, 0, []
        for number in looks.cycles:
            first = last
            for (_, second), seen in ((key, one) for key, one in looks.seconds.items() if key[0] == number):
                last = max(last, first + second + 1)
                rows += [{"second": first + second, "cycle": number, "what": name, "transactions": value}
                         for name, value in _add_parts(divide(seen)).items()]  # fmt: skip
        found[scale] = rows
    return found


def _add_parts(found: Mapping[What, float]) -> dict[str, float]:
    parts = dict.fromkeys(_PARTS.values(), 0.0)
    for what, value in found.items():
        parts[_PARTS[what.kind]] += value
    return {name: value for name, value in parts.items() if value > 0}


COLOURS: Final = {
    "server CPU": "#009e73", "locks": "#d55e00", "locks within the server": "#f0a36b", "flush": "#0072b2",
    "reads": "#56b4e9", "writes": "#004a73", "other waits in the server": "#cc79a7", "network": "#8b5fbf",
    "client": "#a6761d", "CPU quota": "#e8c000", FOREIGN: "#7a3b2e", "not known": "#bdbdbd",
}  # fmt: skip
"""Of each part, in the order in which they lie on each other."""


def _draw(part: Evaluation, scale: int) -> dict[str, Any]:
    """Stacked bars, second by second; only parts that there are have a place in the legend."""
    rows = read_seconds(part).get(scale, [])
    if len({row["second"] for row in rows}) < 2:
        return {}
    present = [name for name in COLOURS if any(row["what"] == name for row in rows)]
    data = [{**row, "end": row["second"] + 1, "order": present.index(row["what"])} for row in rows]
    stage = f"in stage {part.stage} " * (part.stage != "load")
    place = f"{stage}at scale {scale} with {part.clients:,} client{'s' * (part.clients != 1)}"
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": f"Activity of transactions {place}, second by second",
        "title": f"Activity of transactions {place}",
        "width": 860, "height": 220,
        "data": {"values": data},
        "mark": {"type": "bar", "binSpacing": 0},
        "encoding": {
            "x": {"field": "second", "type": "quantitative", "bin": "binned", "title": "second of the cycles",
                  "axis": {"grid": False, "tickMinStep": 1}},
            "x2": {"field": "end"},
            "y": {"field": "transactions", "type": "quantitative", "stack": "zero",
                  "title": "transactions in progress"},
            "color": {"field": "what", "type": "nominal", "title": None, "sort": present,
                      "scale": {"domain": present, "range": [COLOURS[name] for name in present]}},
            "order": {"field": "order", "type": "quantitative"},
            "tooltip": [{"field": "second", "type": "quantitative"}, {"field": "cycle", "type": "quantitative"},
                        {"field": "what", "type": "nominal"},
                        {"field": "transactions", "type": "quantitative", "format": ".3~s"}],
        },
    }  # fmt: skip


def _time_of(kind: str) -> Callable[[Evaluation], Values]:
    """In ms for each transaction; 0 where it has no share, and nothing where shares are not known."""
    return lambda part: {
        scale: sum(one.time_ns for one in why.shares if one.kind == kind) / 1e6
            for scale, why in part.of(WhyResult).why.items()
    }


class WhyResult(Result):
    why = computed(_read_why)
    """By scale: where the time of a transaction goes; empty where the archive does not tell."""


SUBJECT: Final = Subject(
    "why", "Where the time goes", WhyResult, tell=_tell,
    nothing="No cycle has samples of the waits of client and server.",
    measures=tuple(
        Measure(f"{OF_TIME}{name}", "ms", f"time of a transaction {words}", _time_of(kind), more=False, geometric=False)
        for name, (kind, words) in _MEASURES.items()
    ),
)  # fmt: skip
