"""The diagrams of the paper, section 4.1, of the talk, the course of the stages and the models, as Vega-Lite.

Each function takes an evaluation and the content of run.json and gives a specification with its data inside,
or ``None`` when there is nothing to draw: no scale was measured, no remote node took part (node), there was one
number of clients (connections, latency, response, statistics), one kind of transactions (kinds), no second of a
course (stages), no event (outage), or too little for a model (scalability, memory, collisions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read.draw.axes import Form
from dsbench.read.draw.connections import connections, latency, response
from dsbench.read.draw.course import stages
from dsbench.read.draw.cycle import cycle, node
from dsbench.read.draw.freq import freq, kinds
from dsbench.read.draw.graduated import graduated
from dsbench.read.draw.legs import legs
from dsbench.read.draw.load import load
from dsbench.read.draw.outage import outage
from dsbench.read.draw.queries import queries
from dsbench.read.draw.rate import collisions, conf, memory, rate, scalability
from dsbench.read.draw.statistics import statistics
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.series import run_shown
from dsbench.read.subjects.queries import QueriesResult

Diagram = Callable[[Evaluation, RunRecord], Spec | None]

DIAGRAMS: Final[Mapping[str, Diagram]] = {
    "rate": rate, "load": load, "graduated": graduated, "legs": legs, "outage": outage, "node": node, "cycle": cycle,
    "freq": freq, "conf": conf,
    "connections": connections, "latency": latency, "response": response, "kinds": kinds, "stages": stages,
    "statistics": statistics, "queries": queries,
    "scalability": scalability, "memory": memory, "collisions": collisions,
}  # fmt: skip
"""Name, as in ``results-<name>.pdf``, to function; in the order of the papers."""

_OF_SERIES: Final = frozenset({"rate", "connections", "latency", "response", "stages", "statistics", "queries"})
"""Those that show every series; the others show the last."""

_OF_RATES: Final = frozenset({"rate", "cycle", "conf", "connections", "latency", "response"})
"""Those that say nothing of queries, which are tests with one time each and no repeated cycles."""


def specs(evaluation: Evaluation, run: RunRecord, form: Form | None = None) -> dict[str, Spec]:
    """The specifications of all diagrams that have something to show; ``form`` is that of the axes of rates."""
    own = run_shown(run, evaluation)
    drawn = {name: draw(evaluation, run if name in _OF_SERIES else own) for name, draw in DIAGRAMS.items()}
    if form is not None:
        drawn |= {"rate": rate(evaluation, run, form), "node": node(evaluation, own, form)}
        drawn |= {"cycle": cycle(evaluation, own, form)}
    left_out = _OF_RATES if evaluation.of(QueriesResult).queries else frozenset()
    return {name: spec for name, spec in drawn.items() if spec is not None and name not in left_out}
