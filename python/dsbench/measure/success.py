"""Whether anything succeeded: what came to nothing is no measurement, however well the run went on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dsbench.archive import Archive
from dsbench.measure.history import CycleHistory
from dsbench.measure.journal import Journal, RunError
from dsbench.redaction import redact_words
from dsbench.stats.cycles import CycleFigures

_SHORT: Final = 80
"""Of a statement."""
_LETTERS: Final = 160
"""Of a message of the database, which may have many."""


def refuse_barren(journal: Journal, history: CycleHistory) -> None:
    """``RunError`` where no transaction of the run succeeded; says so of single scales, of several."""
    scales = list(dict.fromkeys(one.scale for one in journal.record.segments))
    barren = [scale for scale in scales if not any(one.held for one in history.of(scale))]
    found = {scale: _say(journal, scale, history.of(scale)) for scale in barren}
    if len(found) < len(scales):
        for scale, words in found.items():
            journal.say(f"scale {scale}: {words}")
        return
    if found:
        remedy = "see all errors: dsbench show ARCHIVE --by errors"
        journal.note(remedy=remedy)
        raise RunError(next(iter(found.values())), remedy)


def warn_of_nothing_found(journal: Journal) -> None:
    """Names the statements of scripts that found no row in any execution: what they measure is not what they say."""
    table = Archive.open(journal.writer.path).table("statement_rows")
    by_statement = table.group_by(["statement", "kind", "line", "text"])
    for row in by_statement.aggregate([("executions", "sum"), ("empty", "sum")]).sort_by("statement").to_pylist():
        if row["executions_sum"] == row["empty_sum"]:
            times, text = f"{row['executions_sum']:,} executions", redact_words(str(row["text"]))[:_SHORT]
            words = f"{row['kind']}, line {row['line']}, found no row in any of {times}: {text}"
            journal.warn("nothing-found", words, "check what the script draws against the rows that are there")


def _say(journal: Journal, scale: int, cycles: Sequence[CycleFigures]) -> str:
    """``no transaction succeeded: 310 attempts failed, 308 of them by statement P0001: no updates today``."""
    if not cycles:
        return "no transaction succeeded: no cycle was finished on all nodes"
    kinds = [kind for one in cycles for kind in one.kinds.values()]
    failed, unknown = sum(kind.failed for kind in kinds), sum(kind.unknown for kind in kinds)
    if not failed + unknown:
        return "no transaction succeeded: none ended before its cycle did; --duration is too short for them"
    words = f"no transaction succeeded: {failed:,} attempt{'s' * (failed != 1)} failed"
    import pyarrow.compute as pc  # Late: few runs come to this.

    errors = Archive.open(journal.writer.path).table("errors")
    by_class = errors.filter(pc.field("scale") == scale).group_by(["error", "code"])
    rows = by_class.aggregate([("count", "sum"), ("example", "min")]).to_pylist()
    if rows:
        worst = max(rows, key=lambda row: int(row["count_sum"]))
        name = " ".join(part for part in (worst["error"], worst["code"]) if part)
        example = redact_words(" ".join(str(worst["example_min"]).split()))[:_LETTERS]
        words += f", {worst['count_sum']:,} of them by {name}" + (f": {example}" if example else "")
    return words + (f"; {unknown:,} commit{'s are' if unknown != 1 else ' is'} of unknown outcome" if unknown else "")
