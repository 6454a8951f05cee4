"""How far standbys were behind their primary during the cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Diagram, Sentence, Table
from dsbench.read.draw.theme import HUES
from dsbench.read.series import each_series
from dsbench.read.subject import Result, Subject, computed
from dsbench.stats.values import known, rank_of

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_MONITOR: Final = "replication"
_LAG: Final = "ns"
_BEHIND: Final = "bytes"
"""Units of the monitor, whose metrics are the standbys."""
_LATE: Final = 0.99


@dataclass(frozen=True)
class StandbyLag:
    """One standby at one scale, over all looks in the cycles."""

    standby: str
    """What its primary calls it; of MariaDB and MySQL its number, or its host and port."""
    looks: int
    lag_median_ns: float
    """From the write of the log on the primary to its replay: of PostgreSQL as the primary was told last, of MariaDB
    and MySQL by the line between two looks at the primary."""
    lag_p99_ns: float
    """By nearest rank; ``nan`` with fewer than 500 looks, of which fewer than five are expected beyond."""
    lag_max_ns: float
    behind_median: float
    """Bytes of the log that were written and not replayed."""
    behind_max: float
    seconds: tuple[tuple[int, float, float, float], ...]
    """Cycle, seconds from its start, lag in ns, bytes behind."""


def _read_lags(evaluation: Evaluation) -> dict[int, tuple[StandbyLag, ...]]:
    monitors = evaluation.rows.of_cycles("monitors")
    rows = monitors.filter((pc.field("monitor") == _MONITOR) & (pc.field("at_ns") >= 0)).to_pylist()
    looks: dict[tuple[int, str], dict[tuple[int, float], dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        looks[row["scale"], row["metric"]][row["cycle"], row["at_ns"] / 1e9][row["unit"]] = row["value"]
    found: dict[int, list[StandbyLag]] = defaultdict(list)
    for (scale, name), by_time in sorted(looks.items()):
        seconds = tuple((cycle, at_s, values[_LAG], values[_BEHIND])
                        for (cycle, at_s), values in sorted(by_time.items()) if len(values) == 2)  # fmt: skip
        if not seconds:
            continue
        lags, bytes_behind = np.array([one[2] for one in seconds]), np.array([one[3] for one in seconds])
        late = float(np.sort(lags)[rank_of(_LATE, len(lags)) - 1]) if known(_LATE, len(lags)) else float("nan")
        found[scale].append(StandbyLag(
            name, len(lags), float(np.median(lags)), late, float(lags.max()), float(np.median(bytes_behind)),
            float(bytes_behind.max()), seconds,
        ))  # fmt: skip
    return {scale: tuple(some) for scale, some in found.items()}


_COLUMNS: Final = (
    Column("standby", left=True), Column("looks"), Column("lag, median", "ms", 1e-6), Column("99% within", "ms", 1e-6),
    Column("longest", "ms", 1e-6), Column("behind, median", "kB", 1e-3), Column("most", "kB", 1e-3),
)  # fmt: skip
_OF_POSTGRES: Final = (
    "Read from pg_stat_replication once per second: the time from the write of the log on the primary until the "
    "standby had replayed it, as the standby reported last, and the log that it had not replayed. Looks at which the "
    "standby had not reported yet are left out."
)
_OF_MYSQL: Final = (
    "Read once per second: up to which place each replica had applied the binary log, how much the primary had written "
    "after it, and how long ago the primary was at this place. Between two looks it is taken to write at a constant "
    "rate. Looks at places from before the first one are left out. A replica of MySQL with several applier threads "
    "reports its place up to 300 ms late."
)


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    any_found = False
    for heading, part in each_series(evaluation):
        for scale, lags in part.of(ReplicationResult).replication.items():
            any_found = True
            where = f"scale {scale}" + (f", {heading}" if heading else "")
            names = ("standby", "looks", "lag_median_ns", "lag_p99_ns", "lag_max_ns", "behind_median", "behind_max")
            rows = [tuple(getattr(one, name) for name in names) for one in lags]
            yield Table(f"Standbys, {where}", _COLUMNS, rows)
            caption = "Lag of each standby at each look, in the order of the cycles."
            yield Diagram(f"replication-{part.stage}-clients-{part.clients}-scale-{scale}", _draw(lags, where), caption,
                          wide=True)  # fmt: skip
    if any_found:
        yield Sentence(_OF_POSTGRES if evaluation.run.engine == "postgres" else _OF_MYSQL, "note")


def _draw(lags: Sequence[StandbyLag], where: str) -> dict[str, Any]:
    times = sorted({(cycle, at_s) for one in lags for cycle, at_s, _, _ in one.seconds})
    numbers = {time: number for number, time in enumerate(times, start=1)}
    data = [
        {"standby": one.standby, "look": numbers[cycle, at_s], "ms": lag_ns / 1e6, "kB": behind / 1e3, "cycle": cycle}
        for one in lags for cycle, at_s, lag_ns, behind in one.seconds
    ]  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": f"Lag of the standbys at {where}",
        "title": f"Replication lag, {where}",
        "width": 860, "height": 220,
        "data": {"values": data},
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "look", "type": "quantitative", "title": "seconds of the cycles, one after another",
                  "axis": {"tickMinStep": 1}},
            "y": {"field": "ms", "type": "quantitative", "title": "lag [ms]"},
            "color": {"field": "standby", "type": "nominal", "title": None, "scale": {"range": list(HUES)}},
            "tooltip": [{"field": "standby", "type": "nominal"}, {"field": "cycle", "type": "quantitative"},
                        {"field": "ms", "type": "quantitative", "format": ".3~s"},
                        {"field": "kB", "type": "quantitative", "format": ".3~s"}],
        },
    }  # fmt: skip


class ReplicationResult(Result):
    replication = computed(_read_lags)
    """By scale: how far standbys were behind; empty without any."""


SUBJECT: Final = Subject(
    "replication",
    "Replication", ReplicationResult,
    tell=_tell,
    nothing="No lag was seen: the server has no standby, or its user may not see it.",
)
