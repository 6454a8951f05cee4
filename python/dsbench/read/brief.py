"""An archive as a terminal shows it: the answer, one table, the warnings, and where the rest is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from shlex import quote
from typing import Any, Final

from dsbench.archive import RunRecord
from dsbench.format import NONE, format_number
from dsbench.read.answer import answer
from dsbench.read.blocks import Block, Column, Listed, Sentence, Table
from dsbench.read.evaluation import Evaluation
from dsbench.read.series import each_series, label_series
from dsbench.read.subjects.clients import longest_ns
from dsbench.read.subjects.connections import ConnectionsResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.rate import RateResult, peak_lines, show_reach
from dsbench.read.subjects.warnings import WarningsResult, tell_warnings
from dsbench.read.tables import tell_summary
from dsbench.stats.values import ScaleResult

_QUANTILES: Final = {"p50": 0.5, "p99": 0.99, "max": 1.0}


def tell_brief(
    evaluation: Evaluation, run: RunRecord, files: Sequence[Path], *, alone: bool, verbose: bool
) -> Iterator[Block]:
    """What a run says at its end and ``show`` at its beginning. ``alone``: whether nobody else tells why the run ended
    early; ``verbose``: with every table of the summary in place of the one."""
    measured = run.status == "complete" or any(part.of(RateResult).cycle_rates for _, part in each_series(evaluation))
    if measured:
        found = answer(evaluation, run)
        yield from [Sentence(f"label: {run.spec.label}", "note")] if run.spec.label else []
        yield found
        yield from tell_summary(evaluation) if verbose else _tell_rates(evaluation, run)
        yield from tell_warnings(evaluation.of(WarningsResult).doubts, whole=verbose)
    yield Listed([f"{name}: {value}" for name, value in _name_files(run, files, measured=measured, alone=alone)])


def _tell_rates(evaluation: Evaluation, run: RunRecord) -> Iterator[Block]:
    """All series in one table, without what no run has and what only some readers look for."""
    heads, parts = label_series(evaluation)
    rows = [(*cells, *_cells(part, row)) for cells, part in parts for row in part.of(RateResult).scales]
    columns = (*heads, *_columns(evaluation))
    filled = [at for at, column in enumerate(columns) if any(_is_known(row[at]) for row in rows)]
    if not filled:
        return
    yield Table("", [columns[at] for at in filled], [[row[at] for at in filled] for row in rows])
    if any(part.of(RateResult).void_scales for _, part in parts):
        yield Sentence("!: the check of this scale failed, and its figures must not be used", "note")
    if any(part.of(LatencyResult).response for _, part in parts):
        yield Sentence("Times count from the intended start of each transaction.", "note")
    if most := evaluation.of(ConnectionsResult).most_clients:
        yield Listed([f"scale {scale:,}: {found.words}" for scale, found in most.items()])
    if run.spec.peak:
        yield Listed(peak_lines(evaluation))


def _is_known(value: object) -> bool:
    return value not in (None, "", NONE) and not (isinstance(value, float) and not isfinite(value))


def _columns(evaluation: Evaluation) -> tuple[Column, ...]:
    counted = ""
    for _, part in each_series(evaluation):
        counted = next((one.label for found in (part.of(KindsResult).nopm, part.of(KindsResult).headline)
            for one in found.values()), counted)
    return (
        Column("scale"), Column("size", "GB", spare=True), Column(counted.partition(",")[0]), Column("tps"),
        Column("±95%"), Column("min–max", spare=True), Column("failed"),
        *(Column(name, "ms", 1e-6) for name in _QUANTILES),
    )  # fmt: skip


def _cells(part: Evaluation, row: ScaleResult) -> tuple[Any, ...]:
    counted = part.of(KindsResult).nopm.get(row.scale) or part.of(KindsResult).headline.get(row.scale)
    curve = part.of(LatencyResult).curve(row.scale)
    failed = 1 - part.of(ErrorsResult).success_share.get(row.scale, 1.0)
    between = f"{format_number(row.rate_min_tps)}–{format_number(row.rate_max_tps)}"
    return (
        f"{row.scale}!" if row.scale in part.of(RateResult).void_scales else str(row.scale), row.database_size_gb,
        counted.median
            if counted else None, row.rate_median_tps, show_reach(part.of(RateResult).intervals.get(row.scale)),
        between if row.transactions and row.rate_min_tps < row.rate_max_tps else NONE,
        f"{failed:.1%}" if failed > 0 else NONE,
        *(curve.told(quantile) if curve else None for quantile in _QUANTILES.values() if quantile < 1),
        longest_ns(part, row.scale),
    )  # fmt: skip


def _name_files(run: RunRecord, files: Sequence[Path], *, measured: bool, alone: bool) -> Iterator[tuple[str, str]]:
    """How the run ended where it is not complete, what is kept, where everything is, and what to do next."""
    if run.status != "complete" and not measured:
        yield "status", run.status + (f" ({run.reason})" if run.reason and alone else "")
    if run.kept is not None:
        which = f"scale {run.kept.scale}" + (", the last" if len(run.spec.scales) > 1 else "")
        yield "kept", f"the database of {which}; run on it with --reuse, or remove it: dsbench drop TARGET"
    report = next((file for file in files if file.name == "report.html"), None)
    if report is not None and measured:
        yield "report", str(report)
    archive = files[-1] if measured else next((file for file in files if file.is_dir()), None)
    if archive is not None:
        yield "archive" if archive.suffix == ".zip" else "folder", str(archive)
    if measured:
        words = "dsbench", "show", "-v", str(files[0] if report is None else report.parent)
        yield "all tables", "\xa0".join(map(quote, words))  # Whoever copies a command wants it whole.
