"""Which number of threads the next cycle gets when the greatest rate is searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dsbench.archive import Archive
from dsbench.measure.cycle import Setting
from dsbench.measure.plan import Planned
from dsbench.read.stats.peak import next_number


def chosen(setting: Setting, scale: int, cycles: Sequence[Planned]) -> Iterator[Planned]:
    """``cycles`` as they are, or, where a peak is searched, as many of them as that takes, with its numbers of threads.

    What was found is read from the archive, so that a run which is resumed goes on where it was.
    """
    if not setting.spec.peak or not cycles or not cycles[0].stage.repeated:
        yield from cycles
        return
    for cycle in cycles:
        threads = next_number(setting.spec.thread_numbers, _rates(setting, scale), setting.spec.cycles)
        if threads is None:
            return
        yield replace(cycle, threads=threads)


def _rates(setting: Setting, scale: int) -> dict[int, list[float]]:
    """By number of threads, the rates of its cycles so far."""
    archive = Archive.open(setting.journal.writer.path)
    duration_ns: dict[int, int] = {}
    for row in archive.table("groups").to_pylist():
        if row["scale"] == scale:
            duration_ns[row["cycle"]] = max(row["duration_ns"] or 1, duration_ns.get(row["cycle"], 1))
    committed: dict[tuple[int, int], int] = {}
    for row in archive.table("cycles").to_pylist():
        if row["scale"] == scale:
            key = (row["cycle"], row["threads"])
            committed[key] = committed.get(key, 0) + row["committed"]
    found: dict[int, list[float]] = {}
    for (cycle, threads), count in sorted(committed.items()):
        found.setdefault(threads, []).append(count / duration_ns[cycle] * 1e9)
    return found
