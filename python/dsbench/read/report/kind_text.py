"""Figures by kind of transaction as lines of text: for ``results.txt``, for ``dsbench show`` and for the run's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from dsbench.read.evaluation import Evaluation
from dsbench.read.stats.kinds import QUANTILES, KindResult
from dsbench.read.stats.tpcc import Nopm
from dsbench.read.stats.windows import Window, shown
from dsbench.read.subjects.kinds import Counted

_NAMES: Mapping[float, str] = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 0.999: "p99.9", 1.0: "max"}
_COUNT_HEADS = (
    "kind", "committed", "rolled back", "failed", "retries", "unknown", "per second", "per minute", "share",
    "least share", "",
)  # fmt: skip
TIME_HEADS = ("mean", *(_NAMES[q] for q in QUANTILES))


def kind_lines(evaluation: Evaluation) -> list[str]:
    """For each scale NOPM or another headline, the kinds and the windows. Where there is one kind only, that counts no
    rows, there is the headline alone."""
    lines = []
    for scale, rows in evaluation.kinds.items():
        if told(rows):
            lines += _of_scale(evaluation, scale)
        elif scale in evaluation.headline:
            lines.append(f"scale {scale}: {headline_text(evaluation.headline[scale])}")
    return lines


def told(rows: Sequence[KindResult]) -> bool:
    """Whether the kinds say more than the table of the scales."""
    return len(rows) > 1 or any(row.rows for row in rows)


def count_heads(rows: Sequence[KindResult]) -> tuple[str, ...]:
    """Heads of the table of counts, with one of rows where rows are counted."""
    return (*_COUNT_HEADS, "rows per second") if any(row.rows for row in rows) else _COUNT_HEADS


def _of_scale(evaluation: Evaluation, scale: int) -> list[str]:
    rows = evaluation.kinds[scale]
    lines = ["", f"scale {scale}, {evaluation.connections} connections"]
    if scale in evaluation.nopm:
        lines.append(nopm_text(evaluation.nopm[scale], scale))
    if scale in evaluation.headline:
        lines.append(headline_text(evaluation.headline[scale]))
    heads = count_heads(rows)
    lines += _grid([heads, *(count_cells(row)[: len(heads)] for row in rows)])
    if scale in evaluation.kind_errors:
        heads, cells = class_cells(evaluation, scale)
        lines += ["", *_grid([heads, *cells])]
    waits = any(evaluation.kind_response.get(scale, {}))
    name = "response time [ms], from the intended start" if waits else "response time [ms]"
    heads = (name, *TIME_HEADS, "limit of p90", "")
    lines += ["", *_grid([heads, *(response_cells(row) for row in rows)])]
    if waits:
        heads = ("service time [ms], from the start", *TIME_HEADS)
        lines += ["", *_grid([heads, *((row.kind, *times(row.service_mean_ns, row.service_ns)) for row in rows)])]
    if found := evaluation.windows.get(scale):
        heads = ("window", "measured", "99.7 % interval", "valid", "of", "")
        lines += ["", *_grid([heads, *(window_cells(window) for window in found)], left=(0, 5))]
    return lines


def headline_text(found: Counted | Nopm) -> str:
    """``orders per second: 345.6 (301.1 to 360.0 over the cycles)``."""
    text = f"{found.label}: {found.median:,.1f}"
    if found.minimum < found.maximum:
        text += f" ({found.minimum:,.1f} to {found.maximum:,.1f} over the cycles)"
    return text


def nopm_text(found: Nopm, scale: int) -> str:
    """``NOPM, unpaced: 12,345 (12,001 to 12,660 over the cycles), 2,469 per warehouse``."""
    text = headline_text(found)
    text += f", {found.per_warehouse:,.2f} per warehouse" if scale > 1 or found.ceiling is not None else ""
    if found.ceiling is None:
        return text
    terminals = f"{found.terminals_per_warehouse:,.4g}"
    noun = "terminal per warehouse enters" if terminals == "1" else "terminals per warehouse enter"
    return f"{text} ({terminals} {noun} {found.ceiling:,.2f} on average when nothing delays them)"


def count_cells(row: KindResult) -> tuple[str, ...]:
    """Cells below ``count_heads``; the last one, rows per second, only where there are rows."""
    return (
        row.kind,
        *(f"{n:,}" for n in (row.committed, row.rolled_back, row.failed, row.retries, row.unknown)),
        _short(row.rate_tps),
        _short(row.per_minute),
        f"{row.share:.2%}" if isfinite(row.share) else "–",
        "" if row.least_share is None else f"{row.least_share:.0%}",
        _share_met(row),
        _short(row.rows_per_s),
    )


def class_cells(evaluation: Evaluation, scale: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of the failed attempts by kind and class; kinds of which none failed are left out."""
    by_kind = evaluation.kind_errors[scale]
    classes = sorted({name for counts in by_kind.values() for name in counts})
    order = [row.kind for row in evaluation.kinds[scale] if row.kind in by_kind]
    return ("failed attempts", *classes), [
        (kind, *(f"{by_kind[kind].get(name, 0):,}" for name in classes)) for kind in order
    ]


def times(mean_ns: float, quantiles_ns: Mapping[float, float]) -> tuple[str, ...]:
    """Cells below ``TIME_HEADS``, in ms."""
    return tuple(_short(value / 1e6) for value in (mean_ns, *(quantiles_ns[q] for q in QUANTILES)))


def response_cells(row: KindResult) -> tuple[str, ...]:
    """Kind, times, limit and whether it was kept."""
    limit = "" if row.limit_s is None else f"{row.limit_s:g} s"
    return (row.kind, *times(row.response_mean_ns, row.response_ns), limit, _met(row.limit_met))


def window_cells(window: Window) -> tuple[str, ...]:
    """Name, value, interval, window, size of the sample, verdict."""
    known = window.count > 0
    return (
        window.name,
        shown(window, window.value) if known else "–",
        f"{shown(window, window.least)} to {shown(window, window.most)}" if known else "–",
        f"{shown(window, window.low)} to {shown(window, window.high)}",
        f"{window.count:,} {window.unit}",
        window.verdict,
    )


def _met(met: bool | None) -> str:
    return "" if met is None else "met" if met else "MISSED"


def _share_met(row: KindResult) -> str:
    if row.share_met is False and not row.share_missed:
        return "missed, may be chance"
    return _met(row.share_met)


def _short(value: float) -> str:
    if not isfinite(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _grid(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Cells in columns, aligned to the right but for those of ``left``."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
