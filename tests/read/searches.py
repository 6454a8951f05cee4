"""Simulated searches of a known capacity: ``python -m tests.read.searches [N]`` makes the table of decision 032.

Each server is a queue whose capacity is known by a formula, or from 320,000 s of it. A search takes what ``dsbench run
--objective`` takes: cycles of 10 s with 2 s before each, 300 s in all.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, factorial, inf, log

import numpy as np

from dsbench.stats.capacity import Capacity, Search, Step, estimate, next_step
from dsbench.stats.values import Floats

RAMP_UP_S = 2.0
SEARCH = Search(10.0, 0.05, 40, 300.0, RAMP_UP_S)
ALLOWED = 0.01

Times = Callable[[Floats, np.random.Generator], Floats]
"""Of starts in s that are due, their response times in s."""


@dataclass(frozen=True)
class Server:
    """A queue, and the rate at which 1% take longer than ``limit_s``."""

    times: Times
    limit_s: float
    capacity: float


def _one(mean: float, deterministic: bool = False) -> Times:
    """By Lindley's equation: the k-th departs at max over j <= k of (arrival j + services j..k)."""

    def times(arrivals: Floats, random: np.random.Generator) -> Floats:
        services = np.full(arrivals.size, mean) if deterministic else random.exponential(mean, arrivals.size)
        work = np.cumsum(services)
        return np.asarray(np.maximum.accumulate(arrivals - work + services) + work - arrivals)

    return times


def _several(mean: float, servers: int) -> Times:
    def times(arrivals: Floats, random: np.random.Generator) -> Floats:
        free, ended = [0.0] * servers, []
        for arrival, service in zip(arrivals.tolist(), random.exponential(mean, arrivals.size).tolist(), strict=True):
            end = max(free[0], arrival) + service
            heapq.heapreplace(free, end)
            ended.append(end)
        return np.asarray(ended) - arrivals

    return times


def _stalling(mean: float, every: float, still: float) -> Times:
    """One that stands still for ``still`` of each ``every`` s; what it is at goes on afterwards."""

    def times(arrivals: Floats, random: np.random.Generator) -> Floats:
        first, end, ended = random.uniform(0, every), 0.0, []
        for arrival, service in zip(arrivals.tolist(), random.exponential(mean, arrivals.size).tolist(), strict=True):
            begin = max(end, arrival)
            phase = (begin - first) % every
            begin += max(still - phase, 0.0)
            left = every - (begin - first) % every
            end = begin + service + (still if service > left else 0.0)
            ended.append(end)
        return np.asarray(ended) - arrivals

    return times


def _standing(mean: float, every: float, still: float) -> Times:
    """One that stands still at random, ``every`` s on average, for an exponential time of ``still`` s on average.

    It works through ``work time``, which does not go on while it stands still: there it is an M/M/1.
    """

    def times(arrivals: Floats, random: np.random.Generator) -> Floats:
        number = int(arrivals[-1] / every * 2) + 20
        begins = np.cumsum(random.exponential(every, number))
        lengths = random.exponential(still, number)
        begins = begins + np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
        ends = begins + lengths
        worked = begins - np.concatenate([[0.0], np.cumsum(lengths)[:-1]])  # Work time at which each begins.
        before = np.searchsorted(begins, arrivals, side="right")
        stood = np.concatenate([[0.0], np.cumsum(lengths)])
        inside = np.maximum(np.concatenate([[0.0], ends])[before] - arrivals, 0.0)
        due = arrivals - stood[before] + inside
        done = due + _one(mean)(due, random)
        return np.asarray(done + stood[np.searchsorted(worked, done, side="left")] - arrivals)

    return times


def _changing(mean: float, spread: float, every: float) -> Times:
    """One whose speed is another one every ``every`` s: exp(N(0, ``spread``)) times as high. In ``work time``, which goes
    as fast as it works, it is an M/M/1."""

    def times(arrivals: Floats, random: np.random.Generator) -> Floats:
        at = np.concatenate([[0.0], random.uniform(0, every) + every * np.arange(int(arrivals[-1] / every * 2) + 20)])
        worked = np.concatenate([[0.0], np.cumsum(np.diff(at) * np.exp(random.normal(0, spread, at.size - 1)))])
        due = np.interp(arrivals, at, worked)
        return np.asarray(np.interp(due + _one(mean)(due, random), worked, at) - arrivals)

    return times


def _late(rate: float, mean: float, servers: int, limit_s: float) -> float:
    """Of M/M/c: W is 0 or exponential with c mu - x (Kleinrock, Queueing Systems I, 3.5), and R = W + a service."""
    mu, load = 1 / mean, rate * mean
    last = load**servers / factorial(servers) / (1 - load / servers)
    waits = last / (sum(load**k / factorial(k) for k in range(servers)) + last)
    drain = servers * mu - rate
    both = (drain * exp(-mu * limit_s) - mu * exp(-drain * limit_s)) / (drain - mu)
    return exp(-mu * limit_s) * (1 - waits) + waits * both


def _late_of_equal(rate: float, mean: float, limit_s: float) -> float:
    """Of M/D/1, by the distribution of its waits of Erlang (1909), in units of a service."""
    load, waits = rate * mean, limit_s / mean - 1
    terms = ((load * (k - waits)) ** k / factorial(k) * exp(-load * (k - waits)) for k in range(int(waits) + 1))
    return 1 - (1 - load) * sum(terms)


def _crossing(late: Callable[[float], float], most: float) -> float:
    low, high = 0.0, most * 0.999
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if late(middle) < ALLOWED else (low, middle)
    return low


SERVERS = {
    "M/M/1, 1 ms, p99=20ms": Server(_one(0.001), 0.02, 1000 - log(1 / ALLOWED) / 0.02),
    "M/D/1, 1 ms, p99=10ms": Server(
        _one(0.001, deterministic=True), 0.01, _crossing(lambda rate: _late_of_equal(rate, 0.001, 0.01), 1000)
    ),
    "M/M/4, 5 ms, p99=40ms": Server(_several(0.005, 4), 0.04, _crossing(lambda rate: _late(rate, 0.005, 4, 0.04), 800)),
    "M/M/4, 20 ms, p99=160ms": Server(_several(0.02, 4), 0.16, _crossing(lambda rate: _late(rate, 0.02, 4, 0.16), 200)),
    "M/M/1, 2 ms, still for 150 ms of 10 s, p99=100ms": Server(_stalling(0.002, 10.0, 0.15), 0.1, 213.9),
    "M/M/1, 1 ms, still for 150 ms every 30 s, both at random, p99=50ms": Server(_standing(0.001, 30.0, 0.15), 0.05, 622.0),
    "M/M/1, 1 ms, another speed every 10 s, by 5%, p99=50ms": Server(_changing(0.001, 0.05, 10.0), 0.05, 857.0),
}


def serve(server: Server, step: Step, random: np.random.Generator) -> Step:
    """``step`` as it went."""
    due = RAMP_UP_S + step.seconds
    gaps = random.exponential(1 / step.rate, int(due * step.rate * 1.2) + 100)
    arrivals = np.cumsum(gaps)
    arrivals = arrivals[arrivals < due]
    times = server.times(arrivals, random)[arrivals >= RAMP_UP_S]
    return Step(step.rate, step.seconds, times.size, int((times > server.limit_s).sum()), step.whole)


def searched(server: Server, random: np.random.Generator) -> tuple[Capacity, float]:
    """The answer of a search that begins somewhere, and the seconds that it took."""
    steps: list[Step] = []
    start = server.capacity * random.uniform(0.4, 1.1)
    while (step := next_step([steps], [(ALLOWED, server.limit_s)], SEARCH, start)) is not None:
        steps.append(serve(server, step, random))
    found = estimate(steps, ALLOWED, server.limit_s) or Capacity(inf, 0, inf, 0, 0, 0, 0)
    return found, sum(step.seconds + SEARCH.between_s for step in steps)


def main(searches: int) -> None:
    """Prints a row for each server."""
    print("| server | capacity, 1/s | within 5% | in the interval | reach | seconds, mean and most |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, server in SERVERS.items():
        random = np.random.default_rng(20261126)
        found = [searched(server, random) for _ in range(searches)]
        near = np.mean([abs(one.rate / server.capacity - 1) <= 0.05 for one, _ in found])
        held = np.mean([one.low <= server.capacity <= one.high for one, _ in found])
        reach, took = np.median([one.reach for one, _ in found]), [seconds for _, seconds in found]
        print(f"| {name} | {server.capacity:.1f} | {near:.0%} | {held:.0%} | {reach:.1%} |"
              f" {np.mean(took):.0f}, {max(took):.0f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
