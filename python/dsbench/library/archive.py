"""An archive as programs and notebooks read it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import dsbench.archive as stored
from dsbench.spec import RunSpec

if TYPE_CHECKING:
    import pyarrow as pa

    from dsbench.read.evaluation import Evaluation

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


class Archive(stored.Archive):
    """What a run left. In a notebook it shows its summary and its diagrams.

    ``path`` is a folder or a zip; ``run`` is the record of the run, ``run.json``; ``name`` is that of both.
    """

    def evaluate(self) -> Evaluation:
        """Rates, distributions, index and doubts: the values that tables and diagrams show.

        An archive of a run that goes on is read as it was at the first call.
        """
        return self._evaluation

    @cached_property
    def _evaluation(self) -> Evaluation:
        from dsbench.read.evaluation import evaluate  # Late: numerical libraries take their time.

        return evaluate(self)

    def table(self, name: str) -> pa.Table:
        """All rows of the table ``name`` as an Arrow table; docs/archive.md has the names, columns and units.

        ``ArchiveError`` for a name that no archive has. A table of which nothing was written is empty.
        """
        known = (*stored.TABLES, "trace")
        if name not in known:
            raise stored.ArchiveError(f"no table {name!r}", f"use one of {', '.join(known)}", usage=True)
        return super().table(name)

    def pandas(self, name: str) -> Any:
        """The same as ``pandas.DataFrame``; ``ImportError`` says what to do where pandas is not installed."""
        _package("pandas")
        return self.table(name).to_pandas()

    def polars(self, name: str) -> Any:
        """The same as ``polars.DataFrame``; ``ImportError`` says what to do where polars is not installed."""
        return _package("polars").from_arrow(self.table(name))

    @property
    def spec(self) -> RunSpec:
        """What the run was asked to do. A password in its target reads ``***``. ``ArchiveError`` where none can."""
        return self.run.asked()

    @property
    def status(self) -> str:
        """ "complete", "cut-short", "failed", or "running" while the run goes on or where it was killed."""
        return self.run.status

    def summary(self) -> str:
        """The table of ``dsbench show`` with its index and its doubts, as plain text."""
        from dsbench.read.shown import read  # Late: whoever makes runs needs none of it.

        return read(self.path).text

    def diagrams(self) -> dict[str, str]:
        """Name to SVG of every diagram that has something to show: "rate", "cycle", "freq", "conf" …"""
        from dsbench.read import draw  # Late: as above.
        from dsbench.read.draw import render

        return {name: render.picture(spec) for name, spec in draw.specs(self.evaluate(), self.run).items()}

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """HTML for a cell of a notebook; its styles touch nothing else there."""
        from dsbench.read import page, subjects  # Late: as above.
        from dsbench.read.html import Html, render_blocks, tag

        evaluation = self.evaluate()
        shown = [
            Html(render_blocks(list(subjects.find_subject(name).tell(evaluation))))
            for name in ("warnings", "connections", "rate")
        ]
        # Each in a separate element: names inside of one SVG would collide with those of another.
        sources = {name: b64encode(svg.encode()).decode() for name, svg in self.diagrams().items()}
        images = [
            tag("img", src=f"data:image/svg+xml;base64,{source}", alt=f"diagram {name}")
            for name, source in sources.items()
        ]
        return str(tag(
            "div", tag("style", Html(_STYLE)), page.show_answer(evaluation, self.run), *shown,
            tag("div", *images, cls="pictures"), cls="dsbench",
        ))  # fmt: skip

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        """What notebooks show: the summary as text and as HTML with its diagrams, which load nothing."""
        made = {"text/plain": self.summary, "text/html": self._repr_html_}
        wanted = (kind for kind in made if include is None or kind in include)
        return {kind: made[kind]() for kind in wanted if exclude is None or kind not in exclude}


def open(path: str | Path) -> Archive:
    """The archive at ``path``, a folder or a zip; ``ArchiveError`` where there is none that can be read."""
    return Archive.open(Path(path))


def _package(name: str) -> Any:
    """A package that dsbench itself does not need."""
    try:
        return import_module(name)
    except ImportError as error:
        remedy = f"pip install {name}, or take the Arrow table: archive.table(…)"
        raise ImportError(f"{name} is not installed ({error}); {remedy}", name=name) from error
