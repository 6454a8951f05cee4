"""What each remote node did, as a table for people."""

from __future__ import annotations

from math import isnan, nan
from typing import Final

from dsbench.read.evaluation.evaluated import Evaluation, NodeShare

HEADS: Final = (
    "scale", "node", "tps", "min–max tps", "share", "residence p50 ms", "p99 ms", "CPU", "ceiling tps", "sent B/tx",
    "received B/tx", "late ms", "clock ± ms", "cycles",
)  # fmt: skip


def rows(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """One row per scale and node; a dash where nothing is known."""
    scales = sorted({scale for by_scale in evaluation.nodes.values() for scale in by_scale})
    found = []
    for scale in scales:
        here = {node: by_scale[scale] for node, by_scale in evaluation.nodes.items() if scale in by_scale}
        total = sum(share.rate_median_tps for share in here.values() if not isnan(share.rate_median_tps))
        found += [_row(scale, node, share, total) for node, share in here.items()]
    return found


def _row(scale: int, node: str, share: NodeShare, total_tps: float) -> tuple[str, ...]:
    part = share.rate_median_tps / total_tps if total_tps else nan
    asked = share.cycles + len(share.absent)
    return (
        str(scale), node, _number(share.rate_median_tps),
        f"{_number(share.rate_min_tps)}–{_number(share.rate_max_tps)}" if share.cycles else "–", _percent(part),
        _number(share.p50_ns / 1e6), _number(share.p99_ns / 1e6), _percent(share.cpu_busy), _number(share.ceiling_tps),
        _number(share.sent_bytes), _number(share.received_bytes), _number(share.start_late_ns / 1e6),
        _number(share.clock_error_ns / 1e6), f"{share.cycles} of {asked}",
    )  # fmt: skip


def text(evaluation: Evaluation) -> str:
    """The table with a note for each cycle that a node missed."""
    if not evaluation.nodes:
        return "the load was made by the machine of dsbench run alone: there are no nodes to tell apart"
    body = [HEADS, *rows(evaluation)]
    widths = [max(len(row[at]) for row in body) for at in range(len(HEADS))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in body]
    for node, by_scale in evaluation.nodes.items():
        for scale, share in by_scale.items():
            lines += [f"node {node} at scale {scale}, {words}" for words in share.absent]
    return "\n".join(lines)


def _number(value: float) -> str:
    if isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _percent(share: float) -> str:
    return "–" if isnan(share) else f"{share:.0%}"
