"""Whether anything succeeded: what came to nothing is no measurement, however well the run went on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow.compute as pc

from dsbench.archive import Archive
from dsbench.measure.journal import Journal, RunError
from dsbench.measure.loaders import IN_DATABASE
from dsbench.redaction import redact_words

_LETTERS: Final = 160
"""Of a message of the database, which may have many."""


def refuse_barren(journal: Journal) -> None:
    """``RunError`` where no transaction of the run succeeded; says so of single scales, of several."""
    scales = list(dict.fromkeys(one.scale for one in journal.record.segments))
    found = find_barren(Archive.open(journal.writer.path), scales)
    if len(found) < len(scales):
        for scale, words in found.items():
            journal.say(f"scale {scale}: {words}")
        return
    if found:
        remedy = "see all errors: dsbench show ARCHIVE --by errors"
        journal.note(remedy=remedy)
        raise RunError(next(iter(found.values())), remedy)


def find_barren(archive: Archive, scales: Iterable[int]) -> dict[int, str]:
    """Those of ``scales`` in which not one transaction is known to have succeeded, to what became of them."""
    names = (*IN_DATABASE, "failed", "unknown")
    sums = archive.table("cycles").group_by("scale").aggregate([(name, "sum") for name in names])
    rows = {row["scale"]: row for row in sums.to_pylist()}
    found = {}
    for scale in scales:
        row = rows.get(scale)
        if row is None:
            found[scale] = "no transaction succeeded: no cycle was finished on all nodes"
        elif not any(row[f"{name}_sum"] for name in IN_DATABASE):
            found[scale] = _say(archive, scale, row["failed_sum"], row["unknown_sum"])
    return found


def _say(archive: Archive, scale: int, failed: int, unknown: int) -> str:
    """``no transaction succeeded: 310 attempts failed, 308 of them by statement P0001: no updates today``."""
    if not failed + unknown:
        return "no transaction succeeded: none had ended when its cycle did; --duration is too short for them"
    words = f"no transaction succeeded: {failed:,} attempt{'s' * (failed != 1)} failed"
    errors = archive.table("errors")
    by_class = errors.filter(pc.field("scale") == scale).group_by(["error", "code"])
    rows = by_class.aggregate([("count", "sum"), ("example", "min")]).to_pylist()
    if rows:
        worst = max(rows, key=lambda row: int(row["count_sum"]))
        name = " ".join(part for part in (worst["error"], worst["code"]) if part)
        example = redact_words(" ".join(str(worst["example_min"]).split()))[:_LETTERS]
        words += f", {worst['count_sum']:,} of them by {name}" + (f": {example}" if example else "")
    return words + (f"; {unknown:,} commit{'s are' if unknown != 1 else ' is'} of unknown end" if unknown else "")
