"""The three tables of the Insert Benchmark's summary over several archives, and their efficiency, stage by stage."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Final

from dsbench.read.report.page.markup import Html, join, section, table, tag
from dsbench.read.report.stage_table import FAILED, NAMES, short
from dsbench.read.stages_beside import FASTER, SLOWER, Stages
from dsbench.read.stats.efficiency import SUSTAINED

UP, DOWN = "▲", "▼"
KEY: Final = f"{DOWN} {SLOWER} or less, {UP} {FASTER} or more"
TITLES: Final = (
    "operations per second: rows in stages of inserts, else queries or transactions",
    f"relative to the first; {KEY}",
    f"inserts in the background per second, of their target; {FAILED} below {SUSTAINED:.0%}",
)
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"


def tables(stages: Stages, labels: Sequence[str]) -> list[tuple[str, list[list[str]]]]:
    """Title and rows, the stages as heads and then a side each, behind its label.

    Stages of which no side has a rate are left out, and in the third table those without inserts in the background.
    """
    columns = range(len(stages.names))
    cells: tuple[Callable[[int, int], str], ...] = (
        lambda side, at: short(stages.rate(side, at)),
        lambda side, at: relative(stages.relative(side, at)),
        lambda side, at: _background(stages, side, at),
    )
    found = []
    for title, cell in zip(TITLES, cells, strict=True):
        body = [[_at_its_scale(stages, side, label), *(cell(side, at) for at in columns)]
                for side, label in enumerate(labels)]  # fmt: skip
        rows = [["", *stages.names], *body]
        told = [at for at in range(len(rows[0])) if at == 0 or {row[at] for row in rows[1:]} - {"", "–"}]
        found += [(title, [[row[at] for at in told] for row in rows])] if len(told) > 1 else []
    return found


def _at_its_scale(stages: Stages, side: int, label: str) -> str:
    return f"{label}, scale {stages.scales[side]}" if stages.scales else label


def efficiency(stages: Stages, labels: Sequence[str]) -> list[tuple[str, list[list[str]]]]:
    """For each stage its name and rows of the efficiency's columns, behind the labels of the sides that have it."""
    found = []
    for at, name in enumerate(stages.names):
        rows = [[label, *(short(value) for value in stages.values(side, at).values())]
                for side, label in enumerate(labels) if stages.found[side][at]]  # fmt: skip
        found.append((name, rows))
    return found


def relative(factor: float) -> str:
    """``0.83▼``: two digits, and a sign where the difference is one."""
    if not isfinite(factor):
        return "–"
    exact = round(factor, 9)  # without what computing it left behind
    return f"{factor:.2f}" + (DOWN if exact <= SLOWER else UP if exact >= FASTER else "")


def _background(stages: Stages, side: int, at: int) -> str:
    found = stages.background(side, at)
    if found is None:
        return ""
    return f"{short(found.sustained_per_s)} of {short(found.target_per_s)}" + ("" if found.met else f" {FAILED}")


def coloured(text: str) -> str:
    """``text`` for a terminal: slower and failing in red, faster in green."""
    text = re.sub(rf"[\d.]+{DOWN}|\S+ of \S+ {FAILED}", lambda found: f"{_RED}{found[0]}{_PLAIN}", text)
    return re.sub(rf"[\d.]+{UP}", lambda found: f"{_GREEN}{found[0]}{_PLAIN}", text)


def document(stages: Stages, labels: Sequence[str]) -> list[dict[str, Any]]:
    """As JSON values: one entry for each stage, with what each archive reached there."""
    return [
        {"stage": name, "archives": [_entry(stages, side, at, label) for side, label in enumerate(labels)]}
        for at, name in enumerate(stages.names)
    ]


def _entry(stages: Stages, side: int, at: int, label: str) -> dict[str, Any]:
    beside = stages.background(side, at)
    return {
        "label": label,
        "rate": _finite(stages.rate(side, at)),
        "relative": _finite(stages.relative(side, at)),
        "background": None if beside is None else {
            "target_per_s": _finite(beside.target_per_s), "sustained_per_s": _finite(beside.sustained_per_s),
            "sustained": beside.met,
        },
        "efficiency": {name: _finite(value) for name, value in stages.values(side, at).items()},
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def section_of_stages(stages: Stages, labels: Sequence[str]) -> Html:
    """The same for the page: the tables, coloured as well, and the efficiency of each stage."""
    shown = [
        join([tag("h3", title), table(title, head, [[row[0], *map(_cell, row[1:])] for row in rows])])
        for title, (head, *rows) in tables(stages, labels)
    ]  # fmt: skip
    costs = [
        join([tag("h3", f"Efficiency, {name}"), table(name, ["", *NAMES], rows)])
        for name, rows in efficiency(stages, labels)
    ]  # fmt: skip
    return section("Stages", *shown, *costs, key="stages")


def _cell(text: str) -> object:
    kind = "slower" if DOWN in text or FAILED in text else "faster" if UP in text else ""
    return tag("span", text, cls=kind) if kind else text
