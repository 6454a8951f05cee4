"""``python -m bench.trials``: what trials of placements chose, and what each placement reached in a run of its own.

Every round is three runs on one server: one that tries, and one with each placement, in the other order in the next
round. What is told is how often a trial took the placement that reached more, and what its choices would have cost.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final

import dsbench
from bench.cells import TCP, UNIX
from bench.clients import BenchError
from bench.places import started
from dsbench.measure.placing import FOLLOW, FREE, TRY

PLACEMENTS: Final = (FREE, FOLLOW)


@dataclass(frozen=True)
class Round:
    """What a trial saw and chose, and the rates of the runs beside it, by placement."""

    chosen: str
    turns: dict[str, tuple[float, ...]]
    reached: dict[str, float]

    @property
    def better(self) -> str:
        """The placement that reached more."""
        return max(PLACEMENTS, key=lambda placement: self.reached[placement])

    @property
    def loss(self) -> float:
        """The share of the better rate that the choice leaves out."""
        return 1 - self.reached[self.chosen] / self.reached[self.better]


def watch(run: Callable[[str], dsbench.Archive], rounds: int, tell: Callable[[Round], None]) -> list[Round]:
    """Makes ``rounds`` with ``run``, which makes a run with a placement; ``tell`` hears each of them."""
    found = []
    for number in range(rounds):
        tried = run(TRY).run
        trial = tried.placement_tried
        if trial is None or not trial.free_tps:
            raise BenchError(f"nothing was tried: {trial.why if trial else 'the archive does not say why'}")
        chosen = tried.spec.described()["placement"]
        order = PLACEMENTS if number % 2 == 0 else PLACEMENTS[::-1]
        reached = {placement: rate_of(run(placement)) for placement in order}
        found.append(Round(chosen, {FREE: trial.free_tps, FOLLOW: trial.follow_tps}, reached))
        tell(found[-1])
    return found


def rate_of(archive: dsbench.Archive) -> float:
    """Committed transactions per second over the cycles of a run of one scale."""
    rows = archive.table("cycles").to_pylist()
    committed = sum(row["committed"] for row in rows)
    if not committed:
        raise BenchError("a run committed nothing")
    return float(committed / archive.spec.duration / archive.spec.cycles)


def lines_of(found: Sequence[Round]) -> list[str]:
    """The rounds as a table, and what they say together."""
    turns, runs = (f"turns, {one}" for one in PLACEMENTS), (f"a run with {one}" for one in PLACEMENTS)
    heads = ["turns of each", *turns, "it chose", *runs]
    lines = [f"| run | {' | '.join(heads)} |", "|" + "--:|" * (len(heads) + 1)]
    for number, one in enumerate(found, start=1):
        tried = (f"{mean(one.turns[placement]):,.0f}" for placement in PLACEMENTS)
        reached = (f"{one.reached[placement]:,.0f}" for placement in PLACEMENTS)
        cells = (number, len(one.turns[FREE]), *tried, one.chosen, *reached)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    right = sum(one.chosen == one.better for one in found)
    better = sum(one.better == FOLLOW for one in found)
    said = [
        f"{FOLLOW} reached more in {better} of {len(found)}; the trials chose it in "
        f"{sum(one.chosen == FOLLOW for one in found)}, and the better placement in {right}.",
        f"Of the better rate the choices leave out {mean(one.loss for one in found):.1%} in the mean, "
        f"always {FREE} {_loss(found, FREE):.1%}, always {FOLLOW} {_loss(found, FOLLOW):.1%}.",
    ]
    return [*lines, "", *said]


def _loss(found: Sequence[Round], placement: str) -> float:
    return mean(1 - one.reached[placement] / one.reached[one.better] for one in found)


def main() -> None:
    """Makes the rounds and prints the table."""
    parser = argparse.ArgumentParser("python -m bench.trials", description=__doc__)
    parser.add_argument("--runs", default=10, type=int, help="rounds of three runs [10]")
    parser.add_argument("--product", default="postgresql", choices=("postgresql", "mariadb"))
    parser.add_argument("--transport", default=UNIX, choices=(UNIX, TCP))
    parser.add_argument("--clients", default=8, type=int, help="clients [8]")
    parser.add_argument("--duration", default=4.0, type=float, help="seconds of each cycle, of which a run has one [4]")
    parser.add_argument("--workload", default="select", help="what the clients do [select]")
    asked = parser.parse_args()
    spec: dict[str, Any] = {"workload": asked.workload, "clients": asked.clients, "duration": asked.duration}

    def tell(one: Round) -> None:
        reached = ", ".join(f"{placement} {rate:,.0f}" for placement, rate in one.reached.items())
        print(f"chose {one.chosen}; runs: {reached}", flush=True)

    with started(asked.product, 1, asked.clients + 20, {}) as place, tempfile.TemporaryDirectory() as folder:

        def run(placement: str) -> dsbench.Archive:
            more: dict[str, Any] = {"scales": (1,), "cycles": 1, "placement": placement, "out": Path(folder)}
            archive = dsbench.run(place.urls[asked.transport], **spec, **more)
            if archive.status != "complete":
                raise BenchError(f"a run with {placement} is {archive.status}")
            return archive

        print("\n".join(lines_of(watch(run, asked.runs, tell))))


if __name__ == "__main__":
    main()
