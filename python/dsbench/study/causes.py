"""Where the time of a transaction goes, level by level of a study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import isfinite

from dsbench.read.blocks import Column, Table
from dsbench.read.subjects.why import OF_TIME, name_part
from dsbench.several.causes import say_change
from dsbench.stats.effects import Effects
from dsbench.study.levels import Row, key_columns, list_rows
from dsbench.study.results import Outcomes


def read_level(row: Row) -> dict[str, float]:
    """Cause to ms of a transaction at the largest scale, in the mean over the trials; empty where they do not tell."""
    if not row.scales:
        return {}
    found: dict[str, float] = defaultdict(float)
    for name in dict.fromkeys(name for one in row.alike for name in one.measured if name.startswith(OF_TIME)):
        if isfinite(value := row.mean(name, row.scales[-1])):
            found[name_part(name)] += value
    return dict(found)


def tabulate_times(found: Outcomes) -> Iterator[Table]:
    """A row for each level, a column for each cause that any has."""
    rows = list_rows(found)
    times = [read_level(row) for row in rows]
    names = dict.fromkeys(name for one in times for name, value in one.items() if value > 0)
    if names:
        keys, cells = key_columns(rows)
        heads = [*keys, Column("all", "ms"), *(Column(name, "ms") for name in names)]
        title = "time of a transaction by activity, mean over the trials, at the largest scale"
        yield Table(title, heads, [[*key, sum(one.values()) if one else None, *(one.get(name) for name in names)]
                                   for key, one in zip(cells, times, strict=True)])  # fmt: skip


def say_times(found: Outcomes, effects: Effects) -> Iterator[str]:
    """Changes of a transaction's time with each level whose effect is told from none, beside its reference."""
    real = {at for one in effects.main if one.known and not one.none for at in one.factors}
    rows = list_rows(found)
    for row in rows:
        reference = found.references[row.factor]
        if row.factor not in real or row.level == reference:
            continue
        base = next((one for one in rows if (one.part.levels, one.factor, one.level, one.clients)
                     == (row.part.levels, row.factor, reference, row.clients)), None)  # fmt: skip
        if base is not None and (words := say_change(read_level(base), read_level(row))):
            level, against = (found.levels[row.factor][at].name for at in (row.level, reference))
            clients = f", {row.clients} clients" if row.clients else ""
            yield f"{found.factors[row.factor]} {level} beside {against}{clients}: {words}"
