"""Titles of diagrams: what was measured, on what, and what makes the figures incomparable or unsafe."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import altair as alt

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import conduct, counted, index_scales, limited, listed, pacing, warnings
from dsbench.read.stats.precision import FEWEST
from dsbench.read.stats.values import Index

_LINE = 108     # characters of the subtitle's font that fit the width of a diagram


def title(headline: str, evaluation: Evaluation, run: RunRecord, notes: Sequence[str] = ()) -> alt.TitleParams:
    """``headline`` over the conditions of the run, then ``notes``, then what is unsafe or void."""
    lines = [conditions(evaluation, run), *notes, *warnings(evaluation, run)]
    return alt.TitleParams(text=headline, subtitle=[part for line in lines for part in textwrap.wrap(line, _LINE)])


def conditions(evaluation: Evaluation, run: RunRecord) -> str:
    """Load, isolation and repetition in one line."""
    spec = run.spec
    cycles, seconds = conduct(evaluation, run)
    nodes, connections, numbers = spec.nodes, spec.connections, spec.thread_numbers
    threads = counted(numbers[0], "thread") if len(numbers) == 1 else f"{listed(numbers)} threads"
    parts = [
        f"{counted(nodes, 'node')} × {threads}" if nodes else threads,
        f"{connections} connections each" if connections > 1 else "",
        run.in_force.replace("-", " "),
        f"{cycles} {'cycle' if cycles == '1' else 'cycles'} of {seconds} s",
        pacing(run),
        limited(run),
        "with retry" if spec.retry else "",
        "reconnecting" if spec.reconnect else "",
    ]
    return ", ".join(part for part in parts if part)


def index_text(index: Index) -> str:
    """The DSI with its interval, or that there is none: ``DSI 6.52 (6.45 to 6.58)``."""
    if index.dsi is None:
        return "no DSI"
    if not math.isfinite(index.dsi.low):
        return f"DSI {index.dsi.value:.2f}"
    return f"DSI {index.dsi.value:.2f} ({index.dsi.low:.2f} to {index.dsi.high:.2f})"


def index_note(index: Index) -> str:
    """What the DSI's figures mean: its scales and the level of the interval."""
    if index.dsi is None:
        return "no DSI: it needs two scales or more, and a rate above 0 at each"
    note = f"DSI over {index_scales(index)}"
    known = math.isfinite(index.dsi.low)
    note += f"; {index.dsi.level * 100:g} % interval" if known else f"; no interval below {FEWEST} cycles"
    return note if index.comparable else note + "; not comparable: not the ladder and conduct of profile dsi"
