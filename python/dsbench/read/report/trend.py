"""Histories of results as text, as JSON, as a page and as diagrams."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, Final

import numpy as np

from dsbench.read.draw import render
from dsbench.read.draw.several import history as diagram
from dsbench.read.naming import counted
from dsbench.read.report.trend_page import page, sentence
from dsbench.read.stats.changes import FEWEST
from dsbench.read.trend import History

STEM: Final = "trend"
_TALL: Final = 40
"""Letters of a value that the text shows."""
_MOST: Final = 8
"""Differences that the text shows of a change."""


def text(histories: Sequence[History], left: Sequence[str]) -> str:
    """A paragraph for each configuration, for a terminal."""
    lines = [line for history in histories for line in [*_of(history), ""]]
    lines += [f"left out: {line}" for line in left]
    return "\n".join(lines).rstrip() + "\n"


def _of(history: History) -> Iterator[str]:
    rates = [result.rate_tps for result in history.results]
    unit = "per second" if history.results[-1].stage else "tps"
    yield f"{history.name}: {counted(len(rates), 'run')}, median {np.median(rates):,.1f} {unit}"
    if len(rates) < FEWEST:
        yield f"  too few to tell: a change needs {FEWEST}"
    elif not history.changes:
        yield "  no change"
    if history.assumed:
        yield f"  {history.assumed}"
    for told in history.changes:
        yield f"  {sentence(told)}"
        shown = list(told.differs.items())
        yield from (f"    {name}: {_short(old)} → {_short(new)}" for name, (old, new) in shown[:_MOST])
        if len(shown) > _MOST:
            yield f"    and {len(shown) - _MOST} more: see --json"
        if not shown:
            yield "    nothing else that is known of the runs changed there"


def _short(value: str) -> str:
    return (value if len(value) <= _TALL else value[: _TALL - 1] + "…") or "nothing"


def document(histories: Sequence[History], left: Sequence[str]) -> dict[str, Any]:
    """The same as JSON values; ``null`` for a bound that is not known."""
    return {"histories": [_document(history) for history in histories], "left_out": list(left)}


def _document(history: History) -> dict[str, Any]:
    results = [{"archive": one.archive, "started": one.started, "label": one.label, "rate_tps": one.rate_tps}
               for one in history.results]  # fmt: skip
    changes = []
    for told in history.changes:
        ratio = told.change.ratio
        bounds = {name: getattr(ratio, name) if isfinite(getattr(ratio, name)) else None for name in ("low", "high")}
        changes.append({
            "archive": told.result.archive, "started": told.result.started, "label": told.result.label,
            "ratio": {"value": ratio.value, **bounds, "level": ratio.level}, "p_value": told.change.p_value,
            "differs": {name: list(values) for name, values in told.differs.items()},
        })  # fmt: skip
    whole = {"name": history.name, "fell": history.fell, "correlation": history.leaning}
    return {**whole, "results": results, "changes": changes}


def files(histories: Sequence[History], left: Sequence[str]) -> dict[str, bytes]:
    """File name to content: trend.html, .txt, .json, and a diagram of each configuration that has several results."""
    several = [number for number, history in enumerate(histories) if len(history.results) > 1]
    drawn = {number: (f"{STEM}-{n}", diagram(histories[number])) for n, number in enumerate(several, 1)}
    found = {
        f"{STEM}.html": page(histories, left, drawn).encode(),
        f"{STEM}.txt": text(histories, left).encode(),
        f"{STEM}.json": (json.dumps(document(histories, left), indent=2, ensure_ascii=False) + "\n").encode(),
    }
    for name, spec in drawn.values():
        found |= render.drawn_as(name, spec)
    return found
