"""With how many clients at a time a run kept a limit of its latencies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final, NamedTuple

from dsbench.archive import Archive
from dsbench.spec.objective import Objective, objectives
from dsbench.web.parts import number

HEADS: Final = ("clients", "tps", "p99 [ms]", "limit")


class At(NamedTuple):
    """One number of clients."""

    clients: int
    rate_tps: float
    p99_ms: float


def read(archive: Path) -> list[At]:
    """By rising number of clients; over several scales the mean along lg scale."""
    from dsbench.read.choice import make_choice  # Late: numerical libraries take a second.
    from dsbench.read.evaluation import evaluate

    evaluation = evaluate(Archive.open(archive))
    parts = evaluation.by_clients or {max(evaluation.clients, 1): evaluation}
    rate, p99 = make_choice("rate"), make_choice("p99")
    return [At(clients, rate.read(part).value, p99.read(part).value) for clients, part in parts.items()]


def say(found: Sequence[At], limit: str) -> str:
    """How many clients keep ``limit``: the last number before the first that does not."""
    (asked,) = objectives(limit)
    kept = list(takewhile(lambda one: _keeps(one, asked), found))
    if not kept:
        return f"No number of clients keeps {asked.words}."
    best = kept[-1]
    clients = f"{best.clients} clients keep" if best.clients > 1 else "1 client keeps"
    more = "; more were not tried" if len(kept) == len(found) else ""
    return f"{clients} {asked.words}: p99 {number(best.p99_ms)} ms at {number(best.rate_tps)} tps{more}."


def rows(found: Sequence[At], limit: str) -> list[list[str]]:
    """The cells of ``HEADS``."""
    (asked,) = objectives(limit)
    return [[f"{one.clients:,}", number(one.rate_tps), number(one.p99_ms), "kept" if _keeps(one, asked) else "missed"]
            for one in found]  # fmt: skip


def _keeps(one: At, limit: Objective) -> bool:
    return one.p99_ms < limit.limit_ns / 1e6
