"""Figures of queries that are run alone and as several streams: TPC-H, clause 5.4.

They are "-like": what makes a result of the TPC (an audited report, a price, the rules of tuning) is not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import exp, inf, isnan, log, nan, sqrt
from typing import Any, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.stats.precision import LEVEL, student

QUERIES: Final = tuple(f"Q{number}" for number in range(1, 23))
REFRESHES: Final = ("RF1", "RF2")
LONGEST_TO_SHORTEST: Final = 1000
"""Clause 5.4.1.4: shorter times than the longest by this count as that part of it."""


@dataclass(frozen=True)
class Run:
    """One power test with the throughput test that follows it, where that was asked for."""

    number: int
    power: float
    """Queries and refreshes per hour, times the scale factor: geometric mean; nan where one did not finish."""
    throughput: float
    """Queries per hour of all streams, times the scale factor; nan where one did not finish."""
    unfinished: tuple[str, ...]
    """Queries and refreshes of the power test without an end."""
    geometric_s: float
    """Geometric mean of the queries of the power test that finished."""
    finished: int
    """How many they are."""
    sum_s: float
    """Their sum."""
    elapsed_s: float
    """T_s: from the first start to the last end of the throughput test."""

    @property
    def qphh(self) -> float:
        """Square root of both."""
        return sqrt(self.power * self.throughput)


@dataclass(frozen=True)
class Query:
    """Times of a query or a refresh."""

    kind: str
    power_s: tuple[float, ...]
    """Of the power tests, in their order."""
    streams_s: tuple[float, ...]
    """Of all streams of the throughput tests."""

    @property
    def mean_s(self) -> float:
        """Geometric mean of all times."""
        return _geometric((*self.power_s, *self.streams_s))

    @property
    def interval_s(self) -> tuple[float, float]:
        """Of ``mean_s`` at 95%, by Student's t over the logarithms; nan with fewer than three times."""
        return _interval((*self.power_s, *self.streams_s))


COLD: Final = "cold"
"""The stage that asks queries on a server that was just started."""
ASKS: Final = 3
"""How often it asks a query after a restart, one time after another."""


@dataclass(frozen=True)
class Cold:
    """Times of a query whose first finds a server that was just started, with its files out of the page cache."""

    kind: str
    cold_s: tuple[float, ...]
    """By restart."""
    hot_s: tuple[float, ...]
    """The less of both times that follow, by restart: ClickBench's rule."""

    @property
    def ratio(self) -> float:
        """How many times as long it takes cold: the quotient of the geometric means."""
        return _geometric(self.cold_s) / _geometric(self.hot_s)

    @property
    def interval(self) -> tuple[float, float]:
        """Of ``ratio`` at 95%, by Student's t over the logarithms by restart; nan with fewer than three."""
        return _interval([cold / hot for cold, hot in zip(self.cold_s, self.hot_s, strict=True)])


@dataclass(frozen=True)
class Temperatures:
    """All queries cold and hot."""

    queries: tuple[Cold, ...]
    factor: float

    @property
    def cold_s(self) -> float:
        """Geometric mean over queries and restarts."""
        return _geometric(time for query in self.queries for time in query.cold_s)

    @property
    def hot_s(self) -> float:
        """The same when they are asked again."""
        return _geometric(time for query in self.queries for time in query.hot_s)

    @property
    def whole(self) -> bool:
        """Whether every query has an end each time."""
        return len({len(query.cold_s) for query in self.queries}) == 1 and len(self.queries) == len(QUERIES)

    def power(self, time_s: float) -> float:
        """3600 SF / ``time_s``: the formula of the power test over the 22 queries alone; nan where one is missing."""
        return 3600 * self.factor / time_s if self.whole else nan

    @property
    def power_cold(self) -> float:
        return self.power(self.cold_s)

    @property
    def power_hot(self) -> float:
        return self.power(self.hot_s)


def read_temperatures(rows: Iterable[Mapping[str, Any]], factor: float) -> Temperatures | None:
    """Out of the rows of the table ``cycles`` of one scale; ``None`` without a stage ``cold``.

    Its cycles are numbered on: of each ``ASKS`` of a query the first came after a restart. A restart counts where all
    of them have an end.
    """
    by_kind: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    # Of each cycle there is a row for every query; one was asked.
    asked_now = (row for row in rows if row["stage"] == COLD and (row["committed"] or row["failed"]))
    for row in sorted(asked_now, key=lambda row: row["cycle"]):
        by_kind[row["kind"]].append(row)
    queries = []
    for kind in (kind for kind in QUERIES if kind in by_kind):
        asked = by_kind[kind]
        rounds = [asked[at : at + ASKS] for at in range(0, len(asked), ASKS)]
        times = [[row["residence_ns"] / 1e9 for row in one] for one in rounds
                 if len(one) == ASKS and all(row["committed"] for row in one)]  # fmt: skip
        if times:
            queries.append(Cold(kind, tuple(one[0] for one in times), tuple(min(one[1:]) for one in times)))
    return Temperatures(tuple(queries), factor) if queries else None


@dataclass(frozen=True)
class Decision:
    """What one scale came to."""

    factor: float
    """The scale factor."""
    streams: int
    """0 where there was no throughput test."""
    runs: tuple[Run, ...]
    queries: tuple[Query, ...]
    temperatures: Temperatures | None = None
    """Cold and hot, where a stage asked for that."""

    @property
    def composite(self) -> str:
        """Which figure of a run stands for it, without a throughput test that of the power test."""
        return "QphH" if self.streams else "Power"

    @property
    def value(self) -> float:
        """That figure of the run that counts."""
        return self._value(self.reported)

    def _value(self, run: Run) -> float:
        return run.qphh if self.streams else run.power

    @property
    def reported(self) -> Run:
        """The run with the lower composite figure; the first one whose figure is void."""
        return min(self.runs, key=lambda run: -inf if isnan(self._value(run)) else self._value(run))


def _interval(values: Iterable[float]) -> tuple[float, float]:
    """Of their geometric mean at 95%, by Student's t over the logarithms; nan with fewer than three."""
    logs = np.log([value for value in values if value > 0])
    if logs.size < 3:
        return nan, nan
    half = student(LEVEL, logs.size - 1) * float(logs.std(ddof=1)) / sqrt(logs.size)
    return exp(float(logs.mean()) - half), exp(float(logs.mean()) + half)


def _geometric(times: Iterable[float]) -> float:
    known = [time for time in times if time > 0]
    return exp(sum(map(log, known)) / len(known)) if known else nan


def power(times: Mapping[str, float], factor: float) -> float:
    """Power@Size (5.4.1.1) of the seconds of all 22 queries and both refreshes; nan where one is missing."""
    if any(kind not in times for kind in (*QUERIES, *REFRESHES)):
        return nan
    least = max(times[kind] for kind in QUERIES) / LONGEST_TO_SHORTEST
    raised = [max(times[kind], least) for kind in QUERIES] + [times[kind] for kind in REFRESHES]
    return 3600 * factor / _geometric(raised)


def throughput(streams: int, elapsed_s: float, factor: float) -> float:
    """Throughput@Size (5.4.2)."""
    return streams * len(QUERIES) * 3600 / elapsed_s * factor if elapsed_s > 0 else nan


def decide(rows: Iterable[Mapping[str, Any]], factor: float) -> Decision | None:
    """Out of the rows of the table ``cycles`` of one scale; ``None`` before a first power test."""
    tests: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    every = list(rows)
    for row in every:
        tests[row["stage"]].append(row)
    runs, times = [], defaultdict[str, tuple[list[float], list[float]]](lambda: ([], []))
    streams = len({row["client"] for row in tests.get("throughput1", ()) if row["group"] == "query"})
    for number in (1, 2):
        alone, together = tests.get(f"power{number}", []), tests.get(f"throughput{number}", [])
        if not alone:
            continue
        once = {row["kind"]: row["residence_ns"] / 1e9 for row in alone if row["committed"] == 1}
        for kind, time in once.items():
            times[kind][0].append(time)
        for row in together:
            if row["committed"]:
                times[row["kind"]][1].append(row["residence_ns"] / 1e9 / row["committed"])
        ended = [row for row in together if row["committed"]]
        span = max(row["last_end_ns"] for row in ended) - min(row["first_start_ns"] for row in ended) if ended else 0
        queries = sum(row["committed"] for row in ended if row["kind"] in QUERIES)
        refreshes = sum(row["committed"] for row in ended if row["kind"] in REFRESHES)
        whole = ended and queries == streams * len(QUERIES) and refreshes == streams * len(REFRESHES)
        asked = [once[kind] for kind in QUERIES if kind in once]
        runs.append(
            Run(
                number, power(once, factor), throughput(streams, span / 1e9, factor) if whole else nan,
                tuple(kind for kind in (*QUERIES, *REFRESHES) if kind not in once), _geometric(asked), len(asked),
                sum(asked), span / 1e9,
            )
        )  # fmt: skip
    if not runs:
        return None
    found = (Query(kind, *map(tuple, times[kind])) for kind in (*QUERIES, *REFRESHES) if kind in times)
    return Decision(factor, streams, tuple(runs), tuple(found), read_temperatures(every, factor))
