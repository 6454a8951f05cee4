"""What was measured: sweeps and their ratios, the file that keeps them, and the tables of the page."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from bench.cells import GOALS, LEAST_OF_BEST, MIDDLE, MOST_USER_US, POSTGRESQL, SELECT, Cell, costly
from bench.clients import BenchError, Client, Measured
from dsbench.stats.fairness import CHANCE, UNEVEN, by_chance

DSBENCH = "dsbench"
OTHER_WORK = {
    "bare loop": "sends, receives and reads the clock, and does nothing else",
    "parameters by pgbench": "pgbench -M extended sends the key as a parameter: the server has more to do",
    "7 statements by pgbench": "seven round trips against one",
    "a transaction for each by firebird-driver": "begins and commits around each, dsbench reads in one",
    f"{DSBENCH}, ": "with another setting of a run",
}
"""By the beginning of their names: those that are shown, but not among the peers, and why."""
REMARKS = {
    "pgbench on TPC-B, 7 statements": "waits seven times, dsbench six times: its BEGIN leaves with the first statement",
    "sysbench on MariaDB's TPC-B, one call": "its procedure gives no balance back: the driver reads one answer",
    "go-tpc": "locks the stocks of an order by one statement and changes them one by one, pings before each "
    "transaction, changes the stock of the order's own warehouse for remote lines as well, has no item twice",
    **OTHER_WORK,
}
"""Where the work differs."""
LEGEND = (
    "Each ratio is the median of the ratios of paired runs, the smallest and the largest in brackets. Best peer: the "
    "fastest that does the same work. CPU: the client's per transaction. Spread: standard deviation of the runs by "
    f"their mean. Slowest client: its rate by the mean of dsbench's clients, goal at least {UNEVEN:g} unless chance "
    "explains less."
)
BEGIN = "<!-- measured: `python -m bench` writes anew what stands between the two marks -->\n"
END = "<!-- end of what is written anew -->\n"
_HEAD = (
    "| clients | transport | dsbench tps | best peer | its tps | rate ratio, goal ≥ 1.00 | CPU µs | of the peer "
    "| CPU ratio | spread | of the peer | slowest client | rate by that of others | runs |\n"
    "|--:|---|--:|---|--:|---|--:|--:|--:|--:|--:|---|---|---|"
)
_STEADY = "| work | clients | transport | runs | spread of dsbench | of the peers |\n|---|--:|---|--:|---|---|"
Found = Mapping[str, Sequence[Measured]]


@dataclass(frozen=True)
class Spread:
    """Median of paired ratios with the smallest and the largest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: list[float]) -> Self:
        """Of one value for each sweep."""
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"

    def judged(self, goal: float | None, at_least: bool = True) -> str:
        """With whether the goal is met, where there is one."""
        if goal is None:
            return str(self)
        met = self.median >= goal if at_least else self.median <= goal
        return f"{self} {_goal(met, f'{chr(0x2265 if at_least else 0x2264)} {goal:.2f}')}"


def sweep(
    clients: Mapping[str, Client], sweeps: int, counts: Callable[[], tuple[float, int]] | None = None
) -> dict[str, list[Measured]]:
    """Measures several clients in turn, there and back again: A B C C B A. Whatever drifts on the machine meets all of
    them alike, and each sweep gives a ratio for each pair. ``counts``: of CPU seconds of the server and of switches."""
    found: dict[str, list[Measured]] = {name: [] for name in clients}
    for number in range(sweeps):
        for name in list(clients) if number % 2 == 0 else list(clients)[::-1]:
            before = counts() if counts else (0.0, 0)
            one = clients[name]()
            if not one.transactions:
                raise BenchError(f"{name} made no transaction")
            if counts:
                time.sleep(0.1)  # The server takes in the CPU time of its sessions when it has buried them.
                server_s, switches = counts()
                one = replace(one, server_s=server_s - before[0], switches=switches - before[1])
            found[name].append(one)
    return found


def rates(ours: Sequence[Measured], theirs: Sequence[Measured]) -> Spread:
    """Rate of ours by rate of theirs: above 1 we are faster."""
    return Spread.of([a.rate_tps / b.rate_tps for a, b in zip(ours, theirs, strict=True)])


def costs(ours: Sequence[Measured], theirs: Sequence[Measured]) -> Spread:
    """CPU time per transaction of our client by that of theirs: below 1 ours costs less. A pair in which starting and
    connecting took so much that nothing is left for the load says nothing; nan where all are so."""
    known = [(a.cpu_us, b.cpu_us) for a, b in zip(ours, theirs, strict=True) if b.cpu_us > 0]
    return Spread.of([a / b for a, b in known] or [math.nan])


@dataclass(frozen=True)
class Finished:
    """A cell, or a part that is no cell, as it was measured."""

    settings: Mapping[str, Any]
    """With others it is measured again."""
    took_s: float
    at: str
    """Date and time."""
    source: str
    """dsbench's commit."""
    server: str = ""
    """With its version."""
    found: Found = field(default_factory=dict)
    """By client, sweep by sweep."""
    lines: Sequence[str] = ()
    """Of a part: what the page shows."""
    failure: str = ""
    """Why it could not be measured."""


class Kept(dict[str, Finished]):
    """What was measured on a machine by name: a JSON file beside its page, written anew after each piece."""

    def __init__(self, path: Path | None) -> None:
        """What is in the file; without a path, or before there is a file, nothing."""
        self.path = path
        raw = json.loads(path.read_text()) if path is not None and path.exists() else {}
        for name, one in raw.items():
            rows = {who: [Measured(*row) for row in rows] for who, rows in one.get("found", {}).items()}
            self[name] = Finished(**{"settings": {}, **one, "found": rows})

    def has(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Whether it was measured so, or longer and more often, and without a failure."""
        found = self.get(name)
        if found is None or found.failure or not settings.keys() <= found.settings.keys():
            return False
        had = found.settings
        return all(had[n] >= want if n in ("duration", "sweeps") else had[n] == want for n, want in settings.items())

    def add(self, name: str, finished: Finished) -> None:
        """Keeps it. The file is replaced at once or not at all; a line for each piece shows which are new."""
        self[name] = finished
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            new = self.path.with_suffix(".new")
            lines = [f"{json.dumps(name)}: {json.dumps(_raw(one))}" for name, one in self.items()]
            new.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            new.replace(self.path)


def _raw(one: Finished) -> dict[str, Any]:
    def short(measured: Measured) -> list[Any]:
        values = [round(value, 6) if isinstance(value, float) else value for value in asdict(measured).values()]
        return values if values[-1] is not None else values[:7]

    found = {who: [short(measured) for measured in rows] for who, rows in one.found.items()}
    return {name: value for name, value in {**asdict(one), "found": found}.items() if value}


def best(found: Found, prefix: str = "") -> str | None:
    """The peer of the largest median rate, among those whose names begin so; ``None`` where there is none."""
    names = [name for name in found if (name.startswith(prefix) if prefix else _is_peer(name))]
    return max(names, key=lambda name: median(found[name], "rate_tps"), default=None)


def _is_peer(name: str) -> bool:
    return name != DSBENCH and not name.startswith(tuple(OTHER_WORK))


def row(cell: Cell, one: Finished, before: Found | None = None) -> str:
    """The cell as a row of its table. ``before``: what an earlier run found, whose ratio is put beside it."""
    found = one.found
    ours, peer = found[DSBENCH], best(found)
    theirs = found[peer] if peer else ()
    earlier = f", before {rates(before[DSBENCH], before[peer])}" if peer and before and peer in before else ""
    ratio = rates(ours, theirs) if peer else None
    cells = [
        str(cell.clients), cell.transport, f"{median(ours, 'rate_tps'):,.0f}", peer or "none",
        f"{median(theirs, 'rate_tps'):,.0f}" if peer else "",
        f"{ratio} {'met' if ratio.median >= LEAST_OF_BEST else 'MISSED'}{earlier}" if ratio else "",
        f"{median(ours, 'cpu_us'):.2f}", f"{median(theirs, 'cpu_us'):.2f}" if peer else "",
        f"{costs(ours, theirs).median:.2f}" if peer else "",
        f"{_variation(ours):.1%}", f"{_variation(theirs):.1%}" if peer else "", _slowest(cell, ours),
        ", ".join(f"{n} {rates(ours, found[n]).median:.2f}" for n in found if n not in (DSBENCH, peer)),
        _runs(one),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _slowest(cell: Cell, ours: Sequence[Measured]) -> str:
    known = [m for m in ours if m.least is not None]
    if not known or cell.clients == 1:
        return ""
    least = statistics.median(m.least or 0.0 for m in known)
    each = median(known, "transactions") / cell.clients
    unfair = least < UNEVEN and by_chance(each, least * each, cell.clients) < CHANCE
    return f"{least:.2f}{' MISSED' if unfair else ''}"


def _variation(measured: Sequence[Measured]) -> float:
    found = [m.rate_tps for m in measured]
    return statistics.stdev(found) / statistics.mean(found) if len(found) > 1 else 0.0


def steady_row(cell: Cell, one: Finished) -> str:
    """Spread of many runs beside that of the peers; the goal is to be no less steady than the steadiest."""
    peers = {name: _variation(measured) for name, measured in one.found.items() if _is_peer(name)}
    ours = _variation(one.found[DSBENCH])
    verdict = f" {_goal(ours <= min(peers.values()), f'≤ {min(peers.values()):.1%}')}" if peers else ""
    theirs = ", ".join(f"{name} {value:.1%}" for name, value in peers.items())
    what = f"{cell.server}: {cell.work.title} | {cell.clients} | {cell.transport} | {_runs(one)}"
    return f"| {what} | {ours:.1%}{verdict} | {theirs} |"


def _runs(one: Finished) -> str:
    return f"{len(one.found[DSBENCH])} of {one.settings['duration']:g} s"


def goals(cell: Cell, found: Found) -> Iterator[str]:
    """Lines about what this cell should reach beyond the goal of all."""
    for goal in GOALS.get(cell.name, ()):
        if (peer := best(found, goal.peer)) is not None:
            cost = costs(found[DSBENCH], found[peer]).judged(goal.cost, at_least=False) if goal.cost else ""
            rate = rates(found[DSBENCH], found[peer]).judged(goal.rate)
            yield f"- {cell.name}, by that of {peer}: rate {rate}{f', CPU time {cost}' if cost else ''}"
    if cell == Cell(POSTGRESQL, SELECT, 8):
        user = median(found[DSBENCH], "user_us")
        verdict = _goal(user <= MOST_USER_US, f"≤ {MOST_USER_US:.2f}")
        yield f"- {cell.name}: dsbench's clients spend {user:.2f} µs per transaction outside of the kernel ({verdict})"


def _costs(cell: Cell, one: Finished) -> Iterator[str]:
    """What a transaction costs client, server and scheduler: a peer that is faster has a reason."""
    yield from ("", f"### Costs of a transaction: {cell.name}", "")
    yield f"{one.server}, runs in turn, {_runs(one)}; switches are those of the whole machine."
    yield from ("", "| client | tps | CPU of the client, µs | CPU of the server, µs | context switches |")
    yield "|---|--:|--:|--:|--:|"
    for who, measured in one.found.items():
        each = [((m.server_s or 0) * 1e6 / m.transactions, (m.switches or 0) / m.transactions) for m in measured]
        server, switches = (statistics.median(values) for values in zip(*each, strict=True))
        rate, own = median(measured, "rate_tps"), median(measured, "cpu_us")
        yield f"| {who} | {rate:,.0f} | {own:.2f} | {server:.2f} | {switches:.2f} |"


def document(cells: Iterable[Cell], kept: Kept, before: Kept | None = None) -> str:
    """All that is kept of ``cells``: goals, a table for each work, steadiness, and the parts that are no cells."""
    here = [(cell, kept[cell.name]) for cell in cells if cell.name in kept]
    measured = [(cell, one) for cell, one in here if not one.failure]
    lines = [*_whole(measured), *(line for cell, one in measured for line in goals(cell, one.found))]
    text = [LEGEND, "", *(["Goals:", "", *lines, ""] if lines else [])]
    tables: dict[str, list[str]] = {}
    for cell, one in measured:
        if not cell.steady:
            old = before[cell.name].found if before and cell.name in before else None
            tables.setdefault(f"### {cell.server}: {cell.work.title}", []).append(row(cell, one, old))
    for title, rows in tables.items():
        text += [title, "", _HEAD, *rows, ""]
    if steady := [steady_row(cell, one) for cell, one in measured if cell.steady]:
        text += ["### Steadiness", "", "Runs of the same command, in turn.", "", _STEADY, *steady, ""]
    text += [f"- {name}: {why}." for name, why in REMARKS.items()]
    text += [f"- {cell.name} could not be measured: {one.failure}" for cell, one in here if one.failure]
    dear = [(cell, one) for cell, one in measured if cell in costly() and one.found[DSBENCH][0].server_s is not None]
    text += [line for cell, one in dear for line in _costs(cell, one)]
    parts = [one for one in kept.values() if one.lines]
    text += ["", *(line for one in parts for line in one.lines), "", *_when([*(one for _, one in here), *parts])]
    return "\n".join(text)


def _whole(measured: Sequence[tuple[Cell, Finished]]) -> Iterator[str]:
    """How many cells of each server reach the best peer, and the cell in the middle."""
    for server in dict.fromkeys(cell.server for cell, _ in measured):
        here = [(one.found, best(one.found)) for cell, one in measured if cell.server == server and not cell.steady]
        ratios = [rates(found[DSBENCH], found[peer]).median for found, peer in here if peer is not None]
        if len(ratios) > 1:
            reach, middle = sum(ratio >= LEAST_OF_BEST for ratio in ratios), statistics.median(ratios)
            yield (
                f"- {server}: {reach} of {len(ratios)} measured cells reach the rate of the best peer; the cell in the "
                f"middle has {middle:.2f} ({_goal(middle >= MIDDLE, f'≥ {MIDDLE:.2f}')})"
            )


def _when(found: Iterable[Finished]) -> Iterator[str]:
    if pieces := sorted(found, key=lambda one: one.at):
        settings = sorted({", ".join(f"{n} {v}" for n, v in one.settings.items()) for one in pieces if one.settings})
        sources, versions = ({one.source for one in pieces} - {""}, {one.server for one in pieces} - {""})
        yield f"- measured from {pieces[0].at} to {pieces[-1].at}; sources {', '.join(sorted(sources)) or 'unknown'}"
        yield f"- servers: {', '.join(sorted(versions))}; on the same machine, all tables in memory"
        yield f"- settings: {'; '.join(settings)}"


def write(path: Path, text: str) -> None:
    """Puts ``text`` between the marks of the page; what stands before and behind them is written by hand and stays."""
    head, _, rest = path.read_text().partition(BEGIN) if path.exists() else ("# Performance\n\n", "", "")
    path.write_text(f"{head}{BEGIN}\n{text}\n\n{END}{rest.partition(END)[2]}")


def median(measured: Sequence[Measured], name: str) -> float:
    return float(statistics.median(getattr(m, name) for m in measured))


def _goal(met: bool, goal: str) -> str:
    return f"goal {goal}: {'met' if met else 'MISSED'}"
