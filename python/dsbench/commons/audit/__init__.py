"""Whether the rows of an archive can be those of one run: every count is held against the others that it follows from.

A run counts the same thing in several places: transactions by client, in the histogram and in the course; times by
their sums and by their buckets; what the database kept by the clients and by the check. Whoever changes a figure
afterwards has to change all of them, and none of these rules needs the machine.

``rows`` adds the rows up. One file for each subject: ``whole`` (is all there that was asked for), ``kept`` (what the
database kept), ``pace`` (open loops, levels, searches,
terminals, queries of TPC-H), ``clients``, ``times`` (histograms and courses), ``shapes`` (the same by second and from
intended starts), ``counters`` (of server and machine), ``gaps`` (time between cycles), ``described`` (durability,
stack, sizes, workload), ``claims`` (the conditions by which it is ranked, and what frees it of rules).
``RULES`` names each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pyarrow as pa

from dsbench.archive import Archive, ArchiveError
from dsbench.commons.audit import (
    claims,
    clients,
    counters,
    described,
    gaps,
    kept,
    pace,
    shapes,
    times,
    whole,
)
from dsbench.commons.audit.rows import Rows
from dsbench.dataclass import dataclass
from dsbench.read.rows import RunRows


@dataclass(frozen=True)
class Contradiction:
    """Two parts of an archive that cannot both be true."""

    rule: str
    sentence: str


UNREADABLE: Final = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, pa.ArrowException)
"""What rows raise that no run has."""
RULES: Final[Mapping[str, Callable[[Rows], Iterator[str]]]] = {
    "complete": whole.complete,
    "checks": kept.checks,
    "kept rows": kept.kept_rows,
    "sums": kept.sums,
    "ladder": whole.ladder,
    "asked": claims.pace,
    "decided": claims.decided,
    "tries": claims.tries,
    "repeated facts": claims.description,
    "sizes": claims.sizes,
    "load": whole.settings_of_load,
    "pace": pace.paced,
    "levels": pace.graded,
    "search": pace.search,
    "terminals": pace.terminals,
    "queries": pace.queries,
    "clients": clients.clients,
    "times": clients.times,
    "remote": clients.remote,
    "idle clients": clients.idle,
    "histograms": times.histograms,
    "buckets": times.buckets,
    "courses": times.courses,
    "maximum times": times.greatest,
    "responses": shapes.responses,
    "quantiles": shapes.quantiles,
    "copies": times.copies,
    "monitors": counters.monitors,
    "servers": counters.servers,
    "machines": counters.machines,
    "around cycles": counters.around,
    "clocks": gaps.clocks,
    "between": gaps.between,
    "samples": counters.samples,
    "order": counters.order,
    "lasted": counters.lasted,
    "clock": counters.clock,
    "errors": clients.errors,
    "ceilings": clients.ceilings,
    "switches": described.switches,
    "flushes": described.flushed,
    "description": described.described,
    "machine": described.machine,
    "nodes": claims.nodes,
    "there before": claims.there_before,
    "building": described.built,
    "workload": described.workload,
}
"""What an archive is held against, each rule by its name."""


def audit(archive: Archive) -> list[Contradiction]:
    """What in ``archive`` cannot be true, the first of each rule; empty where nothing speaks against it."""
    try:
        if wrong := whole.crowded(archive):
            return [Contradiction("rows", wrong)]
        return list(contradictions(archive, RunRows.of(archive)))
    except (ArchiveError, *UNREADABLE) as error:
        return [Contradiction("readable", str(error))]


def contradictions(archive: Archive, read: RunRows) -> Iterator[Contradiction]:
    """The same one after another; ``read`` are the rows of ``archive``. Where these are more than its cycles leave, no
    rule adds them up."""
    rows = Rows(archive, read)
    if crowd := whole.crowd(rows):
        yield Contradiction("rows", crowd)
        return
    for name, rule in RULES.items():
        try:
            first = next(iter(rule(rows)), None)
        except UNREADABLE as error:
            first = f"its rows cannot be added up: {error}"
        if first:
            yield Contradiction(name, first)
