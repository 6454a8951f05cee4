"""The most clients that keep an objective, of several numbers of them in closed loops."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, nan

from dsbench.dataclass import dataclass
from dsbench.format import counted, format_number, format_share, say_time
from dsbench.spec.objective import Objective
from dsbench.stats import histogram as hist
from dsbench.stats.cycles import CycleFigures
from dsbench.stats.search import count_missed
from dsbench.stats.values import Interval, known


@dataclass(frozen=True)
class Judged:
    """What one number of clients makes of one objective, in all of its cycles together."""

    objective: Objective
    missed: float
    """Share of the transactions that missed it (0-1)."""
    time_ns: float
    """The quantile that it is about; nan for failures, and with too few transactions."""
    low_ns: float
    """Ends of its interval at 95% over the cycles; nan where these are too few."""
    high_ns: float

    @property
    def said(self) -> str:
        """``14.2 ms``, or ``0.3% failed``."""
        if self.objective.of_failures:
            return f"{format_share(self.missed)} failed"
        return say_time(self.time_ns) if isfinite(self.time_ns) else f"{format_share(self.missed)} are slower"

    @property
    def failed(self) -> str:
        """Of a time that keeps the objective, `` with 3.0% failed or slower``; empty where they do not miss it."""
        kept = not self.objective.of_failures and self.time_ns <= self.objective.limit_ns
        return f" with {format_share(self.missed)} failed or slower" * (kept and self.missed > self.objective.allowed)


@dataclass(frozen=True)
class ClientsTried:
    """One number of clients."""

    clients: int
    rate_tps: float
    """Median over the cycles."""
    cycles: int
    cycles_kept: int
    """Those that kept all objectives, each for itself."""
    judged: tuple[Judged, ...]
    """By objective."""
    waited_ns: float
    """Half of the clients' time is in transactions that take at least as long: given where some clients starve, so that
    quantiles over transactions describe the others; else 0."""
    keeps: bool
    """Whether all of its transactions together keep the objectives."""

    @property
    def values(self) -> str:
        """``14.2 ms``."""
        told = [f"half of the client time above {say_time(self.waited_ns)}"] if self.waited_ns else []
        counted_apart = any(one.objective.of_failures for one in self.judged)
        said = [one.said + one.failed * (not counted_apart) for one in self.judged]
        return " and ".join([*said, *told])

    @property
    def rate(self) -> str:
        return format_number(float(f"{self.rate_tps:.3g}"))

    @property
    def said(self) -> str:
        """``14.2 ms at 2,310 tps, kept in 3 of 3 cycles``."""
        return f"{self.values} at {self.rate} tps, kept in {self.cycles_kept} of {counted(self.cycles, 'cycle')}"


@dataclass(frozen=True)
class MostClients:
    """The answer at one scale."""

    clients: int
    """The most that keep the objectives, as all numbers below do that were tried; 0 where the fewest miss them."""
    tried: tuple[ClientsTried, ...]
    """Rising."""

    @property
    def objective(self) -> str:
        """``99% below 20 ms and at most 0.1% failed``."""
        return " and ".join(one.objective.words for one in self.tried[0].judged)

    @property
    def best(self) -> ClientsTried | None:
        return next((one for one in self.tried if one.clients == self.clients), None)

    @property
    def beyond(self) -> ClientsTried | None:
        """The first number that misses an objective; ``None`` where all keep them."""
        return next((one for one in self.tried if not one.keeps), None)

    @property
    def untold(self) -> str:
        """What was not measured: ``9 to 15 clients were not measured``; empty where nothing lies between."""
        beyond = self.beyond
        if beyond is None:
            verb = "was" if self.clients == 1 else "were"
            return f"more than {counted(self.clients, 'client')} {verb} not measured"
        low, high = self.clients + 1, beyond.clients - 1
        if low > high or not self.clients:
            return ""
        return f"{low:,} to {high:,} clients were not measured" if low < high else f"{low:,} clients were not measured"

    @property
    def unsure(self) -> str:
        """What speaks against the answer; empty where nothing does."""
        best, beyond = self.best, self.beyond
        words = []
        if best is not None:
            reach = [one for one in best.judged if one.high_ns > one.objective.limit_ns > 0]
            few = [one for one in best.judged if one.objective.limit_ns and not isfinite(one.time_ns)]
            words += ["too few transactions for that percentile"] if few else []
            words += [f"the 95% interval of {say_time(one.time_ns)} ends at {say_time(one.high_ns)}" for one in reach]
        if beyond is not None:
            again = [one.clients for one in self.tried if one.clients > beyond.clients and one.keeps]
            words += [f"{counted(again[-1], 'client')} keep it again"] if again else []
        return "; but ".join(words)

    @property
    def words(self) -> str:
        """``8 clients keep 99% below 20 ms: 14.2 ms at 2,310 tps, kept in 3 of 3 cycles. 16 do not: …``"""
        best, beyond = self.best, self.beyond
        sentences = []
        if best is not None:
            keep = "keeps" if best.clients == 1 else "keep"
            but = f"; but {self.unsure}" if self.unsure else ""
            sentences.append(f"{counted(best.clients, 'client')} {keep} {self.objective}: {best.said}{but}")
        if beyond is not None and best is not None:
            sentences.append(f"{beyond.clients:,} do not: {beyond.said}")
        elif beyond is not None:
            keep = f"{counted(beyond.clients, 'client')} {'does' if beyond.clients == 1 else 'do'} not keep"
            sentences.append(f"{keep} {self.objective}: {beyond.said}")
        if self.untold:
            sentences.append(self.untold[0].upper() + self.untold[1:])
        return ". ".join(sentences)


def judge_clients(
    clients: int, rate_tps: float, cycles: Sequence[CycleFigures], objectives: Sequence[Objective],
    intervals: Sequence[Interval], waited_ns: float,
) -> ClientsTried:  # fmt: skip
    """What the ``cycles`` of one number of clients, whose ``response`` are latencies from the first attempt, say of
    ``objectives``; ``intervals`` are those of their quantiles in ns. ``waited_ns`` is as in ``ClientsTried``: beyond
    the limit it misses the objective, whatever the quantiles are."""
    missed = [[count_missed(one, cycle.kinds, cycle.response.get(one.kind), 0.0) for cycle in cycles]
              for one in objectives]  # fmt: skip
    kept = [all(late <= one.allowed * count for one, (count, late) in zip(objectives, of_cycle, strict=True))
            for of_cycle in zip(*missed, strict=True)]  # fmt: skip
    judged = []
    for one, parts, interval in zip(objectives, missed, intervals, strict=True):
        count = sum(count for count, _ in parts)
        times = hist.merge(cycle.response[one.kind] for cycle in cycles if one.kind in cycle.response)
        tells = not one.of_failures and known(1 - one.allowed, times.count)
        quantile = hist.quantile_ns(times, round(1 - one.allowed, 8)) if tells else nan
        share = sum(late for _, late in parts) / count if count else 1.0
        judged.append(Judged(one, share, quantile, interval.low, interval.high))
    stuck = any(0 < one.limit_ns < waited_ns for one in objectives)
    keeps = not stuck and all(one.missed <= one.objective.allowed for one in judged)
    return ClientsTried(clients, rate_tps, len(cycles), sum(kept), tuple(judged), waited_ns, keeps)


def find_most(tried: Sequence[ClientsTried]) -> MostClients | None:
    """The answer of all numbers that were ``tried``; ``None`` of none."""
    rising = sorted(tried, key=lambda one: one.clients)
    misses = next((at for at, one in enumerate(rising) if not one.keeps), len(rising))
    return MostClients(rising[misses - 1].clients if misses else 0, tuple(rising)) if rising else None
