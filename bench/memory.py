"""Memory of a run against the number of its transactions: the mock engine, until there were enough."""

from __future__ import annotations

from dataclasses import dataclass

from bench.load import Cycle, observe


@dataclass(frozen=True)
class Grown:
    """By how much the resident size of the process grew from the common start to the end of the cycle."""

    transactions: int
    mebibytes: float


def measure(transactions: int, threads: int = 2) -> Grown:
    """Runs selects on the mock for as long as ``transactions`` take, judged by a second of them."""
    rate = observe(Cycle("mock:", "select", threads, 1.0))[0].rate_tps
    measured, memory = observe(Cycle("mock:", "select", threads, 1.1 * transactions / rate))
    return Grown(measured.transactions, (memory.after - memory.connected) / 2**20)
