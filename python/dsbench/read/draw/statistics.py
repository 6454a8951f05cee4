"""What the database counts of itself, for each transaction, over the number of connections (the talk's gstat)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read.draw import vega
from dsbench.read.draw.theme import HUES, Row, assembled, number_labels
from dsbench.read.draw.vega import Spec, channel
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import subject
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.statistics import Change, StatisticsResult

_ACROSS, _MOST = 3, 12
"""Panels in a row, and in all."""
_WIDTH, _HEIGHT = 176, 108
_PLACES: Final = frozenset({"transaction"})
"""Units of numbers of something, which no transaction adds to."""
_OF_TABLES: Final = frozenset({
    "dead_rows", "versions", "fragments", "data_pages", "table_size", "index_size", "free_size",
})  # fmt: skip
"""Statistics of tables that add up over them."""


def statistics(evaluation: Evaluation, run: RunRecord) -> Spec | None:
    """Of each statistic its change for each transaction, at the largest scale; ``None`` with one number of clients.

    Transactions are those that the database holds, with those of ramp-ups. Of more statistics than have room, those are
    shown that differ most between the numbers.
    """
    scale = max((x for part in evaluation.series.values() for x in part.of(StatisticsResult).changes), default=0)
    parts = [part for key, part in evaluation.series.items() if key.stage == evaluation.stage]
    numbers = sorted({part.of(RateResult).connections for part in parts})
    rows = [row for part in parts for row in _rows_of(part, scale)]
    panels = _choose(rows, len(numbers))
    if len(numbers) < 2 or not panels:
        return None
    plots = [_panel(name, unit, numbers) for name, unit in panels]
    lines = [{"hconcat": plots[at : at + _ACROSS], "spacing": 14} for at in range(0, len(plots), _ACROSS)]
    notes = [f"scale {scale:,}; changes from before the cycles to after them, per transaction"]
    return assembled(
        {"vconcat": lines, "spacing": 14}, name="statistics", archive=evaluation.name,
        data={"statistics": [row for row in rows if (row["statistic"], row["unit"]) in panels]},
        title=vega.title(f"{subject(run)}: the database's statistics by connections", subtitle=notes),
        description="What the database counts of itself, for each transaction, over the number of connections.",
    )  # fmt: skip


def _rows_of(part: Evaluation, scale: int) -> Iterator[Row]:
    load = part.rows.load.get(scale)
    if load is None or not load.kept:
        return
    for (name, unit), change in _changes(part.of(StatisticsResult).changes.get(scale, ())).items():
        yield {"statistic": name, "unit": unit, "connections": part.of(RateResult).connections,
               "value": change / load.kept}  # fmt: skip


def _changes(changes: Sequence[Change]) -> Mapping[tuple[str, str], float]:
    found = defaultdict[tuple[str, str], float](float)
    for one in changes:
        name = one.name.replace("_", " ")
        if one.unit in _PLACES:
            continue
        if not one.of:
            found[name, one.unit] += one.after - one.before
        elif one.name in _OF_TABLES:
            found[f"{name} of all tables", one.unit] += one.after - one.before
    return {key: change for key, change in found.items() if math.isfinite(change)}


def _choose(rows: Sequence[Row], numbers: int) -> list[tuple[str, str]]:
    """Name and unit of those that are known at each number and differ, in the order of the database."""
    by_name: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        by_name.setdefault((row["statistic"], row["unit"]), []).append(row["value"])
    spread = {
        key: (max(values) - min(values)) / max(map(abs, values))
        for key, values in by_name.items()
        if len(values) == numbers and max(values) > min(values)
    }
    chosen = sorted(spread, key=lambda key: -spread[key])[:_MOST]
    return [key for key in spread if key in chosen]


def _panel(name: str, unit: str, numbers: Sequence[int]) -> Spec:
    each = f"{unit} per transaction"
    domain = {"type": "log", "domain": [numbers[0] / 1.1, numbers[-1] * 1.1], "nice": False}
    x = channel("connections:Q", title=None, axis={"values": list(numbers), "grid": False}, scale=domain)
    y = channel("value:Q", title=None, axis={"tickCount": 4, "labelExpr": number_labels()})
    tips = [channel("connections:Q", format=",d"), channel("value:Q", title=each, format=",.4~r")]
    words = name if name.endswith(unit) else f"{name} [{unit}]"
    return {
        "title": {"text": words, "frame": "group", "fontSize": 11.5, "fontWeight": "normal"},
        "width": _WIDTH, "height": _HEIGHT, "data": {"name": "statistics"},
        "transform": [{"filter": {"field": "statistic", "equal": name}}, {"filter": {"field": "unit", "equal": unit}}],
        "mark": {"type": "line", "color": HUES[0], "point": {"size": 30, "color": HUES[0]}},
        "encoding": {"x": x, "y": y, "tooltip": tips},
    }  # fmt: skip
