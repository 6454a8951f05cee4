"""Events that were done to the server: how long the service stopped, when it was as before, and what was lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from dsbench.archive.columns import KEPT_PAUSES
from dsbench.archive.conditions import Commits
from dsbench.dataclass import dataclass
from dsbench.format import say_time
from dsbench.read.blocks import Block, Column, Sentence, Table
from dsbench.read.groups import texts, whole
from dsbench.read.series import each_series
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.read.subjects.course import CourseResult
from dsbench.stats.outages import Outage, Pause, find_outages, median_of
from dsbench.stats.values import Interval

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.rows import SeriesRows


@dataclass(frozen=True)
class EventResult:
    """What clients saw of one event in one cycle."""

    scale: int
    cycle: int
    number: int
    """Of the event within the cycle, from 1."""
    text: str
    """``restart``, ``stop of 5 s``."""
    group: str
    """Those who saw it, where clients that read are served by another server (``--reads``): of the groups the one that
    was without service the longest. Empty for all clients."""
    outage: Outage
    done_ns: float
    """When the server took sessions again, was no longer suspended or cut off, or the command had ended; nan where it
    failed."""
    error: str
    """Why it failed."""
    changed: str
    """What the server says of itself after the cycle that it did not say before."""


@dataclass(frozen=True)
class EventSummary:
    """Equal events of all cycles of a scale. Times in ns; the longest that can be told is ``inf``."""

    scale: int
    number: int
    text: str
    group: str
    """As in ``EventResult``."""
    count: int
    length: Interval
    """From the last transaction before to the first one after: the median."""
    length_range_ns: tuple[float, float]
    usual_ns: float
    """Where the service did not stop: the longest gap that there may have been nevertheless."""
    all_ns: float
    """From the last transaction before until the last client had done one again: the median."""
    rate_ns: float
    """From the event until the rate was 95% of that before it: the median; nan where it depends on cycles that ended
    before that could be seen."""
    p99_ns: float

    @property
    def named(self) -> str:
        """``restart``, ``restart, clients of write``."""
        return self.text + (f", clients of {self.group}" if self.group else "")


_SECOND_NS: Final = 1e9


@dataclass(frozen=True)
class _CyclePauses:
    """The pauses of a cycle."""

    clients: int
    found: list[Pause]

    @property
    def blind_ns(self) -> float:
        """Shorter ones are missing of a client that had more than are kept."""
        lengths = defaultdict[int, list[float]](list)
        for one in self.found:
            lengths[one.client].append(one.ended_ns - one.began_ns)
        return max((min(some) for some in lengths.values() if len(some) > KEPT_PAUSES), default=0.0)


def _read_pauses(rows: SeriesRows) -> dict[tuple[int, int], _CyclePauses]:
    """By scale and cycle."""
    cycles = rows.cycles
    keys = zip(*(whole(cycles, name).tolist() for name in ("scale", "cycle")), strict=True)
    clients: dict[tuple[int, int], dict[tuple[str, int], int]] = defaultdict(dict)
    for key, node, client in zip(keys, texts(cycles, "node"), whole(cycles, "client").tolist(), strict=True):
        clients[key].setdefault((node, client), len(clients[key]))
    found = {key: _CyclePauses(len(each), []) for key, each in clients.items()}
    for row in rows.of_cycles("pauses").to_pylist():
        key = row["scale"], row["cycle"]
        if (number := clients[key].get((row["node"], row["client"]))) is not None:
            began, wanted, ended = (inf if row[name] is None else float(row[name])
                                    for name in ("began_ns", "wanted_ns", "ended_ns"))  # fmt: skip
            found[key].found.append(Pause(number, began, wanted, ended))
    return found


def _read_events(evaluation: Evaluation) -> dict[int, tuple[EventResult, ...]]:
    """By scale, in the order of cycles and events; empty where none was asked for."""
    groups = evaluation.groups if evaluation.run.spec.reads and not evaluation.rows.group else []
    if len(groups) < 2:
        return _read_seen(evaluation)
    by_group = [evaluation.of_group(group).of(OutageResult) for group in groups]
    scales = dict.fromkeys(scale for one in by_group for scale in one.events)
    return {scale: _choose_longest([one.events.get(scale, ()) for one in by_group],
                                   [one.outages.get(scale, ()) for one in by_group]) for scale in scales}  # fmt: skip


def _choose_longest(
    events: Sequence[Sequence[EventResult]], summaries: Sequence[Sequence[EventSummary]]
) -> tuple[EventResult, ...]:
    """Of what several groups saw, each event as the group saw it that was without service the longest."""
    longest: dict[int, EventSummary] = {}
    for one in (one for some in summaries for one in some):
        best = longest.setdefault(one.number, one)
        # What is not known may be longer than none, and not than what is known to be one.
        if _rank(one) > _rank(best):
            longest[one.number] = one
    first = next(one.group for some in events for one in some)
    chosen = {one.number: one.group for one in longest.values()}
    found = [one for some in events for one in some if one.group == chosen.get(one.number, first)]
    return tuple(sorted(found, key=lambda one: (one.cycle, one.number)))


def _rank(one: EventSummary) -> float:
    """Its length; half a nanosecond where that is not known."""
    return 0.5 if isnan(one.length.value) else one.length.value


def _read_seen(evaluation: Evaluation) -> dict[int, tuple[EventResult, ...]]:
    """As these clients saw them."""
    rows = evaluation.rows
    events: pa.Table = rows.of_cycles("events")
    if not events.num_rows:
        return {}
    pauses = _read_pauses(rows)
    by_cycle: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for row in events.to_pylist():
        by_cycle[row["scale"], row["cycle"]].append(row)
    found: dict[int, list[EventResult]] = defaultdict(list)
    for scale, course in evaluation.of(CourseResult).seconds.items():
        part = rows.load[scale]
        lengths = np.ceil(part.duration_s).astype(int)
        seconds = np.split(course[:, [0, 3]], np.cumsum(lengths)[:-1])
        for number, second, duration_ns in zip(part.cycles.tolist(), seconds, part.duration_ns.tolist(), strict=True):
            own = sorted(by_cycle[scale, number], key=lambda row: row["number"])
            times = [(float(row["at_ns"]), float(row["done_ns"] or row["at_ns"])) for row in own]
            of_cycle = pauses[scale, number]
            outages = find_outages(
                times, of_cycle.found, of_cycle.clients, second, duration_ns, blind_ns=of_cycle.blind_ns,
                due_tps=None if rows.group else rows.run.spec.rate,
            )  # fmt: skip
            found[scale] += [
                EventResult(scale, number, row["number"], row["text"], rows.group, outage,
                            nan if row["done_ns"] is None else row["done_ns"], row["error"], row["changed"])
                for row, outage in zip(own, outages, strict=True)
            ]  # fmt: skip
    return {scale: tuple(some) for scale, some in found.items() if some}


def _summarise(evaluation: Evaluation) -> dict[int, tuple[EventSummary, ...]]:
    """By scale: each event over all cycles, in their order. Those that failed are left out."""
    found = {}
    for scale, events in evaluation.of(OutageResult).events.items():
        numbers = sorted({one.number for one in events if not one.error})
        found[scale] = tuple(
            _summary([one for one in events if one.number == number and not one.error]) for number in numbers
        )
    return found


def _summary(same: Sequence[EventResult]) -> EventSummary:
    first, seen = same[0], [one.outage for one in same]
    known = [one.length_ns for one in seen if not isnan(one.length_ns)]
    return EventSummary(
        first.scale, first.number, first.text, first.group, len(same), median_of(known),
        (min(known, default=nan), max(known, default=nan)), max(one.usual_ns for one in seen),
        _median([one.all_ns for one in seen]), _median([one.rate_ns for one in seen]),
        _median([one.p99_ns for one in seen]),
    )  # fmt: skip


def _median(values: Sequence[float]) -> float:
    """Of times; those that are not known (nan) count as longer than all others. nan where one of them is the median."""
    least, most = (median_of([end if isnan(value) else value for value in values]).value for end in (0.0, inf))
    return most if isfinite(most) or least == inf else nan


@dataclass(frozen=True)
class LostCommits:
    """Commits of all kinds that the check counted, as the database and its clients have them."""

    acknowledged: int
    lost: int
    """Acknowledged, and not in the database: at least so many."""
    lost_at_most: int | None
    """The same, if all commits of unknown end took place: these would have hidden as many. ``None``: not known."""
    unknown: int | None
    """Of unknown end; ``None``: not known how many."""


def add_commits(counted: Sequence[Commits]) -> LostCommits:
    """Those of several kinds of transactions together."""
    known = [(one, one.unknown) for one in counted if one.unknown is not None]
    sure = len(known) == len(counted)
    most = sum(max(0, one.acknowledged - one.found + unknown) for one, unknown in known) if sure else None
    return LostCommits(
        sum(one.acknowledged for one in counted), sum(one.lost for one in counted), most,
        sum(unknown for _, unknown in known) if sure else None,
    )  # fmt: skip


def _read_lost(evaluation: Evaluation) -> dict[int, LostCommits]:
    """By scale; scales without a condition about commits are left out."""
    by_scale = {scale: [one.commits for one in conditions if one.commits is not None]
                for scale, conditions in evaluation.run.checks.items()}  # fmt: skip
    return {scale: add_commits(commits) for scale, commits in by_scale.items() if commits}


def say_lost(commits: LostCommits) -> str:
    """``none of 12,300 acknowledged commits is lost``, ``3 to 5 of 12,300 acknowledged commits are lost``."""
    of, least, most = f"{commits.acknowledged:,} acknowledged commits", commits.lost, commits.lost_at_most
    if not least:
        if most == 0:
            return f"none of {of} is lost"
        hidden = "those of a lost node" if most is None else f"{most:,} of unknown end"
        return f"no loss shows among {of} ({hidden} could hide one)"
    told = f"{least:,} or more" if most is None else f"{least:,}" if most == least else f"{least:,} to {most:,}"
    return f"{told} of {of} {'is' if told == '1' else 'are'} lost"


def say_length(ns: float, within: str = "its cycle") -> str:
    """``1.31 s``; ``no end within its cycle``; ``none`` where the service did not stop."""
    if not isfinite(ns):
        return f"no end within {within}" if ns == inf else "not known"
    if ns < _SECOND_NS:
        return f"{ns / 1e6:.0f} ms" if ns else "none"
    return f"{ns / 1e9:.2f} s" if ns < 100 * _SECOND_NS else f"{ns / 1e9:,.1f} s"


def _say_back(ns: float) -> str:
    if isnan(ns):
        return "–"
    return "not within the cycle" if ns == inf else f"{ns / 1e9:.1f} s"


_COLUMNS: Final = (
    Column("scale"), Column("event", left=True), Column("events"), Column("outage", left=True),
    Column("range", left=True, about="the shortest and the longest"),
    Column("interval", left=True, spare=True, about="of the median, at 95%"),
    Column("all clients", left=True, about="until the last client had done a transaction again"),
    Column("rate is back", left=True, about="from the event until the rate was 95% of that before"),
    Column("p99 is back", left=True, spare=True),
)  # fmt: skip
_EACH: Final = (
    Column("scale"), Column("cycle"), Column("event", left=True), Column("began", "s", 1e-9, digits=5),
    Column("done after", left=True), Column("outage", left=True), Column("all clients", left=True),
    Column("without a transaction", left=True), Column("failed because", left=True, spare=True),
    Column("changed", left=True, spare=True),
)  # fmt: skip
_NOTE: Final = (
    "Outage: from the last transaction that any client finished before to the first one after, where it is longer than "
    "any such time before the first event; all clients: until each that wanted one has finished it. Rate and p99 are "
    "looked at in whole seconds, over three of them, against those between the start of the cycle, or the recovery "
    "from the event before, and the event."
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    rows, each = [], []
    for heading, part in each_series(evaluation):
        result = part.of(OutageResult)
        for scale, summaries in result.outages.items():
            where = ", ".join(word for word in (heading, f"scale {scale:,}" if len(result.outages) > 1 else "") if word)
            for one in summaries:
                yield Sentence(f"{f'{where}: ' if where else ''}{say_summary(one)}", "lead")
                low, high = one.length_range_ns
                ends = one.length
                interval = "" if isnan(ends.low) else f"{say_length(ends.low)} to {say_length(ends.high)}"
                rows.append((scale, one.named, one.count, say_length(one.length.value),
                             f"{say_length(low)} to {say_length(high)}", interval, say_length(one.all_ns),
                             _say_back(one.rate_ns), _say_back(one.p99_ns)))  # fmt: skip
        for event in (event for some in result.events.values() for event in some):
            seen, done_ns = event.outage, event.done_ns - event.outage.at_ns
            each.append((event.scale, event.cycle, event.text, seen.at_ns, "" if isnan(done_ns) else say_time(done_ns),
                         say_length(seen.length_ns), say_length(seen.all_ns), say_length(seen.without_ns), event.error,
                         event.changed))  # fmt: skip
    yield from _tell_lost(evaluation)
    if rows:
        yield Table("Outages", _COLUMNS, rows)
    if each:
        yield Table("Each event", _EACH, each)
        yield Sentence(_NOTE, "note")


def say_summary(one: EventSummary) -> str:
    """The lead of an event."""
    name = one.named[0].upper() + one.named[1:]
    if isnan(one.length.value):
        return f"{name}: outages of this length are not known: clients had too many pauses."
    if not one.length.value:
        return f"{name}: the service did not stop for more than {say_length(one.usual_ns)}."
    if one.length.value == inf:
        return f"{name}: no client finished a transaction again within the cycle."
    low, high = one.length_range_ns
    several = f" (median of {one.count}; {say_length(low)} to {say_length(high)})" if one.count > 1 else ""
    back = f"; the rate was back {_say_back(one.rate_ns)} after the event" if isfinite(one.rate_ns) else (
        "; the rate was not back within the cycle" if one.rate_ns == inf else "")  # fmt: skip
    last = f"; all clients were back after {say_length(one.all_ns)}" if isfinite(one.all_ns) else (
        "; not all clients were back within the cycle" if one.all_ns == inf else "")  # fmt: skip
    return f"{name}: no transaction for {say_length(one.length.value)}{several}{last}{back}."


def _tell_lost(evaluation: Evaluation) -> Iterator[Block]:
    result = evaluation.of(OutageResult)
    for scale, commits in result.commits.items() if result.events else ():
        where = f"Scale {scale:,}: " if len(result.commits) > 1 else ""
        words = say_lost(commits)
        yield Sentence(f"{where}{words[0].upper() + words[1:]}.", "lead")


def _lengths(part: Evaluation) -> dict[int, float]:
    """The longest outage of a cycle, as its median over the cycles of a scale, in s; nan where none is known. Events
    that failed are left out."""
    found = {}
    for scale, events in part.of(OutageResult).events.items():
        longest: dict[int, float] = {}
        for one in (one for one in events if not one.error and not isnan(one.outage.length_ns)):
            longest[one.cycle] = max(longest.get(one.cycle, 0.0), one.outage.length_ns)
        found[scale] = median_of(list(longest.values())).value / 1e9
    return found


class OutageResult(Result):
    events: computed[Mapping[int, tuple[EventResult, ...]]] = computed(_read_events)
    """By scale: what clients saw of each event; empty without any."""
    outages: computed[Mapping[int, tuple[EventSummary, ...]]] = computed(_summarise)
    """By scale: the same over all cycles."""
    commits: computed[Mapping[int, LostCommits]] = computed(_read_lost, whole=_read_lost)
    """By scale: commits as the database and its clients count them; scales without such a condition are left out."""


SUBJECT: Final = Subject(
    "outage", "Outages", OutageResult, tell=_tell,
    nothing="Nothing happened to the server (--event).",
    measures=(
        Measure("outage", "s", "longest time of a cycle with --event in which no transaction was finished", _lengths,
                more=False, geometric=False, needs="run with --event", possible=lambda spec: bool(spec.event)),
    ),
)  # fmt: skip
