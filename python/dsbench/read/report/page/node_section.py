"""The part of the page about remote nodes."""

from __future__ import annotations

import math

from dsbench.archive import RunRecord
from dsbench.read.evaluation.evaluated import Evaluation
from dsbench.read.report import node_table
from dsbench.read.report.page.markup import Html, section, table, tag


def section_of_nodes(evaluation: Evaluation, run: RunRecord) -> Html:
    """Who made the load, and how well together."""
    if not evaluation.nodes:
        here = tag("p", "The load was made by the machine of dsbench run itself.")
        return section("Nodes", here, key="nodes")
    machines = [
        ["" if cell is None else cell for cell in (node.name, node.cpus, node.core.get("CPU"), node.system)]
        for node in run.nodes
    ]
    shares = [share for by_scale in evaluation.nodes.values() for share in by_scale.values()]
    late = max((share.start_late_ns for share in shares if not math.isnan(share.start_late_ns)), default=math.nan)
    error = max(share.clock_error_ns for share in shares) / 1e6
    began = "" if math.isnan(late) else f"Their first transactions began {late / 1e6:.2g} ms after it at most. "
    words = f"Each cycle had one common start. {began}Their clocks were known to {error:.2g} ms."
    start = tag("p", words, cls="note")
    absent = [
        f"node {node} at scale {scale}, {words}"
        for node, by_scale in evaluation.nodes.items() for scale, share in by_scale.items() for words in share.absent
    ]  # fmt: skip
    missing = [tag("ul", *(tag("li", words) for words in absent))] if absent else []
    return section(
        "Nodes",
        table("Machines that made the load", ["node", "CPUs", "processor", "system"], machines, numbers=False),
        table("Nodes by scale", list(node_table.HEADS), [list(row) for row in node_table.rows(evaluation)]),
        start, *missing, key="nodes",
    )  # fmt: skip
