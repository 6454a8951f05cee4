"""Writes what was measured: tables for the terminal and for the page of this machine."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.archives import Sealed
from bench.cells import GOALS, LEAST_OF_BEST, MOST_USER_US, POSTGRESQL, SELECT, Cell
from bench.kept import Finished, Kept
from bench.many import Many
from bench.memory import Grown
from bench.peers import DSBENCH, REMARKS, is_peer
from bench.process import Measured
from bench.sweeps import Spread, costs, rates
from dsbench.read.stats.fairness import CHANCE, UNEVEN, by_chance

BEGIN = "<!-- measured: `python -m bench` writes anew what stands between the two marks -->\n"
MIDDLE = 1.15
"""What the cell in the middle should reach, by the rate of its best peer."""
END = "<!-- end of what is written anew -->\n"
Found = Mapping[str, Sequence[Measured]]

_HEAD = (
    "| clients | transport | dsbench tps | best peer | its tps | rate ratio, goal ≥ 1.00 | CPU µs | of the peer "
    "| CPU ratio | spread | of the peer | slowest client | rate by that of others | runs |\n"
    "|--:|---|--:|---|--:|---|--:|--:|--:|--:|--:|---|---|---|"
)
_STEADY = "| work | clients | transport | runs | spread of dsbench | of the peers |\n|---|--:|---|--:|---|---|"
LEGEND = (
    "Each ratio is the median of the ratios of paired runs, the smallest and the largest in brackets. Best peer: the "
    "fastest that does the same work. CPU: the client's per transaction. Spread: standard deviation of the runs by "
    f"their mean. Slowest client: its rate by the mean of dsbench's clients, goal at least {UNEVEN:g} unless chance "
    "explains less."
)


VOID = (
    "- †: measured when pgbench and sysbench drew the accounts of TPC-B evenly, and not, as dsbench, 85 % of them from "
    "the branch of the teller. Counts for no goal, and is measured again before anything that is known."
)


def best(found: Found, prefix: str = "") -> str | None:
    """The peer of the largest median rate, among those whose names begin so; ``None`` where there is none."""
    names = [name for name in found if (name.startswith(prefix) if prefix else is_peer(name))]
    return max(names, key=lambda name: _median(found[name], "rate_tps"), default=None)


def row(cell: Cell, found: Found, before: Found | None = None, runs: str = "") -> str:
    """The cell as a row of its table. ``before``: what it was in an earlier run, whose ratio is put beside it.
    ``runs``: how it was measured."""
    ours, peer = found[DSBENCH], best(found)
    cells = [str(cell.clients), cell.transport, f"{_median(ours, 'rate_tps'):,.0f}"]
    cpu, spread = f"{_median(ours, 'cpu_us'):.2f}", f"{variation(ours):.1%}"
    if peer is None:
        cells += ["none", "", "", cpu, "", "", spread, ""]
    else:
        theirs, earlier = found[peer], ""
        if before is not None and peer in before:
            earlier = f", before {rates(before[DSBENCH], before[peer])}"
        cells += [
            peer, f"{_median(theirs, 'rate_tps'):,.0f}", _met(rates(ours, theirs), LEAST_OF_BEST) + earlier, cpu,
            f"{_median(theirs, 'cpu_us'):.2f}", f"{costs(ours, theirs).median:.2f}", spread, f"{variation(theirs):.1%}",
        ]  # fmt: skip
    others = (name for name in found if name not in (DSBENCH, peer))
    cells += [_slowest(cell, ours), ", ".join(f"{name} {rates(ours, found[name]).median:.2f}" for name in others)]
    cells += [runs or f"{len(ours)}"]
    return "| " + " | ".join(cells) + " |"


def _met(found: Spread, goal: float) -> str:
    return f"{found} {'met' if found.median >= goal else 'MISSED'}"


def _slowest(cell: Cell, ours: Sequence[Measured]) -> str:
    told = [m for m in ours if m.least is not None]
    if not told or cell.clients == 1:
        return ""
    least = statistics.median(m.least or 0.0 for m in told)
    each = _median(told, "transactions") / cell.clients
    unfair = least < UNEVEN and by_chance(each, least * each, cell.clients) < CHANCE
    return f"{least:.2f}{' MISSED' if unfair else ''}"


def variation(measured: Sequence[Measured]) -> float:
    """Sample standard deviation of the rates by their mean; 0 of a single one."""
    found = [m.rate_tps for m in measured]
    return statistics.stdev(found) / statistics.mean(found) if len(found) > 1 else 0.0


def steady_row(cell: Cell, one: Finished) -> str:
    """Spread of many runs beside that of the peers; the goal is to be no less steady than the steadiest."""
    found = one.found
    peers = {name: variation(measured) for name, measured in found.items() if is_peer(name)}
    ours = variation(found[DSBENCH])
    verdict = f" goal ≤ {min(peers.values()):.1%}: {_word(ours <= min(peers.values()))}" if peers else ""
    said = ", ".join(f"{name} {value:.1%}" for name, value in peers.items())
    what = f"{cell.server}: {cell.work.title} | {cell.clients} | {cell.transport} | {_runs(cell, one)}"
    return f"| {what} | {ours:.1%}{verdict} | {said} |"


def _runs(cell: Cell, one: Finished) -> str:
    """How often and how long, and whether under other conditions than those of today."""
    seconds = one.settings.get("duration")
    return (
        f"{len(one.found[DSBENCH])}"
        + (f" of {seconds:g} s" if seconds else "")
        + ("" if cell.is_today(one.settings) else " †")
    )


def goals(cell: Cell, found: Found) -> Iterator[str]:
    """Lines about what this cell should reach beyond the goal of all."""
    for goal in GOALS.get(cell.name, ()):
        if (peer := best(found, goal.peer)) is not None:
            ours, theirs = found[DSBENCH], found[peer]
            said = [f"rate {judged(rates(ours, theirs), goal.rate, at_least=True)}"]
            if goal.cost is not None:
                said.append(f"CPU time {judged(costs(ours, theirs), goal.cost, at_least=False)}")
            yield f"- {cell.name}, by that of {peer}: {', '.join(said)}"
    if cell == Cell(POSTGRESQL, SELECT, 8):
        user = _median(found[DSBENCH], "user_us")
        told = _goal(user <= MOST_USER_US, f"≤ {MOST_USER_US:.2f}")
        yield f"- {cell.name}: dsbench's clients spend {user:.2f} µs per transaction outside of the kernel ({told})"


def document(cells: Iterable[Cell], kept: Kept, before: Kept | None = None) -> str:
    """All that is kept of ``cells``: goals, a table for each work, steadiness, and the parts that are no cells."""
    here = [(cell, kept.pieces[cell.name]) for cell in cells if cell.name in kept.pieces]
    measured = [(cell, one) for cell, one in here if not one.failure]
    done = [(cell, one.found) for cell, one in measured if cell.is_today(one.settings)]
    lines = [*_whole(done), *(line for cell, found in done for line in goals(cell, found))]
    text = [LEGEND, "", *(["Goals:", "", *lines, ""] if lines else [])]
    tables: dict[str, list[str]] = {}
    for cell, one in measured:
        earlier = before.pieces.get(cell.name) if before else None
        if not cell.steady:
            old = earlier.found if earlier and not earlier.failure else None
            made = row(cell, one.found, old, _runs(cell, one))
            tables.setdefault(f"### {cell.server}: {cell.work.title}", []).append(made)
    for title, rows in tables.items():
        text += [title, "", _HEAD, *rows, ""]
    if steady := [steady_row(cell, one) for cell, one in measured if cell.steady]:
        text += ["### Steadiness", "", "Runs of the same command, in turn.", "", _STEADY, *steady, ""]
    text += [f"- {name}: {why}." for name, why in REMARKS.items()]
    text += [VOID] if len(done) < len(measured) else []
    text += [f"- {cell.name} could not be measured: {one.failure}" for cell, one in here if one.failure]
    parts = [one for one in kept.pieces.values() if one.lines]
    when = _when([*(one for _, one in here), *parts])
    return "\n".join([*text, "", *(line for one in parts for line in one.lines), "", *when])


def _whole(done: Sequence[tuple[Cell, Found]]) -> Iterator[str]:
    """How many cells of each server reach the best peer, and the cell in the middle."""
    for server in dict.fromkeys(cell.server for cell, _ in done):
        ratios = [
            rates(found[DSBENCH], found[peer]).median
            for cell, found in done
            if cell.server == server and not cell.steady and (peer := best(found)) is not None
        ]
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


def many_lines(found: Many) -> list[str]:
    """The thousand connections."""
    return [
        f"- {found.clients} connections, prepared select, unix socket: {found.ours_tps:,.0f} tps against "
        f"{found.theirs_tps:,.0f} tps of pgbench -j 2: rate ratio {judged(found.rate, 1.0, at_least=True)}, "
        f"CPU ratio {found.cost}",
        f"- memory per connection: {found.connected_kib:.0f} KiB when connected, {found.running_kib:.0f} KiB at the "
        f"end of the cycle ({_goal(found.running_kib <= 100, 'at most 100')})",
    ]


def _phases(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())


def memory_line(found: Grown) -> str:
    """The memory of a long run."""
    return (
        f"- memory: {found.transactions:,} transactions on the mock engine let the process grow by "
        f"{found.mebibytes:.1f} MiB ({_goal(found.mebibytes < 5, 'less than 5')})"
    )


def archive_lines(found: Sealed) -> list[str]:
    """The full archive."""
    return [
        f"- archive of 13 scales, 10 cycles and 64 threads: {found.megabytes:.1f} MB of tables "
        f"({_goal(found.megabytes < 10, 'less than 10')}), analysed and reported in {found.report_s:.1f} s "
        f"({_goal(found.report_s < 5, 'less than 5')})"
    ]


def write(path: Path, text: str) -> None:
    """Puts ``text`` between the marks of the page; what stands before and behind them is written by hand and stays."""
    head, mark, rest = path.read_text().partition(BEGIN) if path.exists() else ("# Performance\n\n", BEGIN, "")
    tail = rest.partition(END)[2]
    path.write_text(f"{head}{mark or BEGIN}\n{text}\n\n{END}{tail}")


def _median(measured: Sequence[Measured], name: str) -> float:
    return float(statistics.median(getattr(m, name) for m in measured))


def judged(found: Spread, goal: float | None, *, at_least: bool) -> str:
    """A ratio with its spread and, where it has a goal, whether that is met."""
    if goal is None:
        return str(found)
    met = found.median >= goal if at_least else found.median <= goal
    return f"{found} {_goal(met, f'{chr(0x2265) if at_least else chr(0x2264)} {goal:.2f}')}"


def _goal(met: bool, goal: str) -> str:
    return f"goal {goal}: {_word(met)}"


def _word(met: bool) -> str:
    return "met" if met else "MISSED"
