"""What each stage reached and took of the machine, as tables of text, as CSV, and their cells for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Final

from dsbench.archive import RunRecord
from dsbench.read.evaluation import Evaluation
from dsbench.read.naming import tag
from dsbench.read.series import labels
from dsbench.read.stats.efficiency import BORDERS, COLUMNS, SUSTAINED, Efficiency

FAILED: Final = "SLA!"
"""What stands behind the name of a stage whose background rate was not sustained."""
NAMES: Final = tuple(column.name for column in COLUMNS)
NOTE: Final = (
    "–: not known. q: an operation of the measured clients, i: a row inserted; without inserts an operation too. "
    "Device, context switches and CPU are those of the whole machine, whoever caused them."
)
RULE: Final = f"{FAILED}: the inserts in the background did not reach {SUSTAINED:.0%} of their target rate."
MISSED: Final = "FAILED"
EXACT: Final = (
    "Response times are counted in the archive in buckets at most 0.1 % wide. Those in a bucket that holds a border "
    "count where its middle lies: at a border says how many these are. The maximum is exact."
)
UNKNOWN: Final = "no cycle was finished: nothing is known of a stage"

Cells = tuple[str, ...]


def staged(evaluation: Evaluation) -> Iterator[tuple[dict[str, str], int, Efficiency]]:
    """What tells the series from the others, scale, and what it reached; stages of statements as well, in order."""
    said = labels(evaluation.stages) if len(evaluation.stages) > 1 else {}
    for key, found in evaluation.stages.items():
        yield from ((said.get(key, {}), scale, one) for scale, one in sorted(found.items()))


def heads(evaluation: Evaluation) -> Cells:
    """Those of the columns, behind those that say of what each row is."""
    return (*_keys(evaluation), *NAMES, "tag")


def rows(evaluation: Evaluation, run: RunRecord) -> list[Cells]:
    """One row per series and scale; a failing stage is marked behind its name."""
    found = []
    for names, scale, one in staged(evaluation):
        keys = [*names.values(), str(scale)]
        keys[0] += f" {FAILED}" if one.sustained is False else ""
        found.append((*keys, *(short(one.values[name]) for name in NAMES), tag(run)))
    return found


def background_rows(evaluation: Evaluation) -> list[Cells]:
    """The clients that work at a rate beside the measured ones: below ``background_heads``."""
    return [
        (*names.values(), str(scale), beside.group, f"{short(beside.target_per_s)} {beside.counted}/s",
         f"{short(beside.sustained_per_s)} {beside.counted}/s", f"{beside.share:.1%}",
         "sustained" if beside.met else MISSED)
        for names, scale, one in staged(evaluation) for beside in one.background
    ]  # fmt: skip


def background_heads(evaluation: Evaluation) -> Cells:
    """Heads of ``background_rows``."""
    return (*_keys(evaluation), "clients", "target", "sustained", "share", f"{SUSTAINED:.0%} rule")


def times_rows(evaluation: Evaluation) -> list[Cells]:
    """Response times of each group in the published buckets: below ``times_heads``."""
    return [
        (*names.values(), str(scale), group, *(f"{n:,}" for n in times.counts), short(times.max_ns / 1e6),
         f"{times.unsure:,}")
        for names, scale, one in staged(evaluation) for group, times in one.times.items()
    ]  # fmt: skip


def times_heads(evaluation: Evaluation) -> Cells:
    """Heads of ``times_rows``."""
    return (*_keys(evaluation), "clients", *BORDERS, "max ms", "at a border")


def text(evaluation: Evaluation, run: RunRecord) -> str:
    """All tables for a terminal."""
    body = rows(evaluation, run)
    if not body:
        return UNKNOWN
    left = len(_keys(evaluation)) - 1
    failing = any(FAILED in row[0] for row in body)
    lines = [*_grid([heads(evaluation), *body], left), "", NOTE, *([RULE] if failing else [])]
    lines += ["", *(f"{column.name:9} {column.unit:8} {column.sentence}" for column in COLUMNS)]
    if beside := background_rows(evaluation):
        lines += ["", "background", *_grid([background_heads(evaluation), *beside], left)]
    lines += ["", "response times: how many up to", *_grid([times_heads(evaluation), *times_rows(evaluation)], left)]
    lines += ["", EXACT]
    return "\n".join(lines)


def csv(evaluation: Evaluation, run: RunRecord) -> str:
    """One row per series and scale with full figures; empty where a figure is not known."""
    lines = [",".join((*_keys(evaluation), *NAMES, "sustained", "tag"))]
    for names, scale, one in staged(evaluation):
        numbers = (f"{one.values[name]:.9g}" if isfinite(one.values[name]) else "" for name in NAMES)
        kept = "" if one.sustained is None else "yes" if one.sustained else "no"
        lines.append(",".join((*names.values(), str(scale), *numbers, kept, _quoted(tag(run)))))
    return "\n".join(lines) + "\n"


def _keys(evaluation: Evaluation) -> Cells:
    said = labels(evaluation.stages) if len(evaluation.stages) > 1 else {}
    return (*next(iter(said.values()), {}), "scale")


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if set(value) & set(',"\n') else value


def short(value: float) -> str:
    """Three significant digits, whole numbers from 100 on, no exponent above a millionth."""
    if not isfinite(value):
        return "–"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1e-4 else f"{value:.1e}"


def _grid(cells: Sequence[Sequence[str]], left: int) -> list[str]:
    """Aligned to the right but for the first ``left`` columns, at least one."""
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]

    def aligned(row: Sequence[str]) -> str:
        pairs = enumerate(zip(row, widths, strict=True))
        return "  ".join(cell.ljust(width) if at < max(left, 1) else cell.rjust(width) for at, (cell, width) in pairs)

    return [aligned(row).rstrip() for row in cells]
