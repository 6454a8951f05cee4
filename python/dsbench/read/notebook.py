"""A run as a notebook shows it: its summary, its doubts and its diagrams, in one piece that loads nothing."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read import draw as diagrams
from dsbench.read import page as results
from dsbench.read import subjects
from dsbench.read.draw import render
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import Html, render_blocks, tag

_STYLE: Final = """
.dsbench { font: 0.9rem/1.45 system-ui, "Liberation Sans", Arial, sans-serif; }
.dsbench h1 { font-size: 1.3rem; margin: 0.4rem 0; }
.dsbench h2 { font-size: 1.05rem; margin: 1rem 0 0.3rem; }
.dsbench .tiles { display: flex; flex-wrap: wrap; gap: 0.6rem; }
.dsbench .tiles p { margin: 0; padding: 0.4rem 0.8rem; border: 1px solid rgba(128, 128, 128, 0.5);
  border-radius: 6px; }
.dsbench .tiles span { display: block; font-size: 0.85rem; opacity: 0.8; }
.dsbench .tiles strong { font-size: 1.25rem; }
.dsbench dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0.6rem 0; }
.dsbench dt { opacity: 0.7; }
.dsbench dd { margin: 0; }
.dsbench .scroll { overflow-x: auto; }
.dsbench table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.dsbench caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.dsbench th, .dsbench td { padding: 0.25rem 0.6rem; text-align: right; vertical-align: bottom;
  border-bottom: 1px solid rgba(128, 128, 128, 0.4); }
.dsbench .severe, .dsbench tr.void { color: #c1121f; }
.dsbench .pictures { display: flex; flex-wrap: wrap; gap: 0.8rem; margin-top: 1rem; }
.dsbench .pictures img { width: min(100%, 32rem); height: auto; background: white; }
.dsbench td { white-space: nowrap; }
"""


def pictures(evaluation: Evaluation, run: RunRecord) -> dict[str, str]:
    """Name to SVG of every diagram that has something to show."""
    return {name: render.picture(spec) for name, spec in diagrams.specs(evaluation, run).items()}


def page(evaluation: Evaluation, run: RunRecord) -> str:
    """HTML for a cell of a notebook; its styles touch nothing else there."""
    images = tag("div", *_images(evaluation, run), cls="pictures")
    return str(tag(
        "div", tag("style", Html(_STYLE)), results.show_answer(evaluation, run), _shown("warnings", evaluation),
        _shown("connections", evaluation), _shown("rate", evaluation), images, cls="dsbench",
    ))  # fmt: skip


def _shown(subject: str, evaluation: Evaluation) -> Html:
    return Html(render_blocks(list(subjects.find_subject(subject).tell(evaluation))))


def _images(evaluation: Evaluation, run: RunRecord) -> Iterator[Html]:
    """Each in a separate element: names inside of one SVG would collide with those of another."""
    for name, svg in pictures(evaluation, run).items():
        source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
        yield tag("img", src=source, alt=f"diagram {name}")
