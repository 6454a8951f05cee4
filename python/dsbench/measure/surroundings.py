"""What else this machine does: which processes are the run's, and what is said of the others before the first cycle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dsbench import storage
from dsbench.measure.journal import Journal
from dsbench.measure.load import Loader
from dsbench.measure.loaders import Target
from dsbench.measure.monitors import RUN, Known, beside, between, look
from dsbench.read.stats.machine import noticed


def known(target: Target, pids: Iterable[int], session: int | None, directory: Path | None) -> Known:
    """The processes of dsbench and of the database of ``target``: of a private server the ``pids``, else those around
    its process ``session``, ``None`` where there is none to see. ``directory`` holds the data."""
    private = list(pids)
    seen = bool(private) or session is not None or target.dialect.embedded
    device = storage.device_of(directory) if directory is not None else None
    return Known(beside(private, session), seen, device)


def with_nodes(given: Known, pids: Iterable[int]) -> Known:
    """The same with nodes on this machine."""
    return replace(given, roots={**given.roots, **dict.fromkeys(pids, RUN)})


@contextmanager
def watched(given: Known, journal: Journal, load: Loader) -> Iterator[None]:
    """Says what other programs did meanwhile, when that would lower the rates; the run goes on."""
    before = look(given)
    yield
    after, of_run = look(given), with_nodes(given, load.pids())
    for words, remedy in noticed(between(before, after, of_run), {}) if before and after else ():
        journal.say(f"warning: {words}; hint: {remedy}")
