"""Writes what was measured: a table for the terminal and for docs/performance.md."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.archives import Sealed
from bench.cases import DSBENCH, Case
from bench.many import Many
from bench.memory import Grown
from bench.population import Population
from bench.process import Measured
from bench.sweeps import Spread, costs, rates

MARK = "<!-- measured by make bench: what follows is written anew by each run -->\n"


@dataclass(frozen=True)
class Result:
    """A case and what each of its clients reached, sweep by sweep."""

    case: Case
    found: dict[str, list[Measured]]

    def lines(self) -> Iterator[str]:
        """Rows of the table: ours alone, then each peer with its ratios."""
        ours = self.found[DSBENCH]
        for peer, theirs in self.found.items():
            if peer == DSBENCH:
                continue
            rate, cost = rates(ours, theirs), costs(ours, theirs)
            goal = self.case.goals.get(peer)
            cells = [
                self.case.title, str(self.case.clients), self.case.transport, peer,
                f"{_median(ours, 'rate_tps'):,.0f}", f"{_median(theirs, 'rate_tps'):,.0f}",
                judged(rate, goal.rate if goal else None, at_least=True),
                f"{_median(ours, 'cpu_us'):.2f}", f"{_median(theirs, 'cpu_us'):.2f}",
                judged(cost, goal.cost if goal else None, at_least=False),
            ]  # fmt: skip
            yield "| " + " | ".join(cells) + " |"

    def remarks(self) -> Iterator[str]:
        """Where a peer's work differs, and what dsbench spends outside of the kernel where that has a goal."""
        if self.case.most_user_us is not None:
            found = _median(self.found[DSBENCH], "user_us")
            goal = _goal(found <= self.case.most_user_us, f"{chr(0x2264)} {self.case.most_user_us:.2f}")
            yield (
                f"- {self.case.title}, {self.case.clients} clients, {self.case.transport}: dsbench's clients spend "
                f"{found:.2f} µs per transaction outside of the kernel ({goal})."
            )
        for peer, remark in self.case.remarks.items():
            yield f"- {self.case.title}, {peer}: {remark}."


_HEAD = (
    "| work | clients | transport | peer | dsbench tps | peer tps | rate ratio | dsbench CPU µs | peer CPU µs "
    "| CPU ratio |\n|---|--:|---|---|--:|--:|---|--:|--:|---|"
)


def table(results: Sequence[Result]) -> str:
    """One row for each pair; CPU time is the client's per transaction."""
    rows = [line for result in results for line in result.lines()]
    remarks = dict.fromkeys(remark for result in results for remark in result.remarks())
    return "\n".join([_HEAD, *rows, "", *remarks])


def many_lines(found: Many) -> list[str]:
    """The thousand connections."""
    return [
        f"- {found.clients} connections, prepared select, unix socket: {found.ours_tps:,.0f} tps against "
        f"{found.theirs_tps:,.0f} tps of pgbench -j 2: rate ratio {judged(found.rate, 1.0, at_least=True)}, "
        f"CPU ratio {found.cost}",
        f"- memory per connection: {found.connected_kib:.0f} KiB when connected, {found.running_kib:.0f} KiB at the "
        f"end of the cycle ({_goal(found.running_kib <= 100, 'at most 100')})",
    ]


def population_lines(found: Population) -> list[str]:
    """The population, and where each side's time went."""
    ours, theirs = found.ours, found.theirs
    return [
        f"- population at scale {found.scale} with all keys and statistics: {ours.rows_per_s:,.0f} rows/s against "
        f"{theirs.rows_per_s:,.0f} rows/s of pgbench -i: ratio {judged(found.ratio, 1.5, at_least=True)}",
        f"- of it dsbench: {_phases(ours.phases_s)}; pgbench -i: {_phases(theirs.phases_s)}",
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
    """Puts ``text`` behind the mark of the page; what stands before it is written by hand and stays."""
    head, mark, _ = path.read_text().partition(MARK) if path.exists() else ("# Performance\n\n", "", "")
    path.write_text(f"{head}{mark or MARK}\n{text}\n")


def _median(measured: Sequence[Measured], name: str) -> float:
    return float(statistics.median(getattr(m, name) for m in measured))


def judged(found: Spread, goal: float | None, *, at_least: bool) -> str:
    """A ratio with its spread and, where it has a goal, whether that is met."""
    if goal is None:
        return str(found)
    met = found.median >= goal if at_least else found.median <= goal
    return f"{found} {_goal(met, f'{chr(0x2265) if at_least else chr(0x2264)} {goal:.2f}')}"


def _goal(met: bool, goal: str) -> str:
    return f"goal {goal}: {'met' if met else 'MISSED'}"
