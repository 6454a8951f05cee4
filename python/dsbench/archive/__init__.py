"""What a run leaves: a folder written as results arrive, sealed at the end into one zip.

Layout of an archive::

    run.json                     specification, seed, versions, stack, checks, warnings, status
    cycles/  buckets/  seconds/  monitors/  phases/  errors/  nodes/    one Parquet part per event, while it runs
    cycles.parquet  buckets.parquet …                              the same rows in one file, once sealed
    trace/                       only with --trace: one Parquet part per cycle
    results.txt results.csv results.log  results-*.vl.json  report.html

A part appears under its name only when it is complete, so an archive that was cut short holds all
finished cycles and nothing half-written.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsbench.archive.asked import Asked
    from dsbench.archive.columns import LOCAL
    from dsbench.archive.errors import ArchiveError, OutError
    from dsbench.archive.folder import claimed, without_zips
    from dsbench.archive.reader import Archive, there
    from dsbench.archive.record import RunRecord
    from dsbench.archive.schemas import FORMAT, TABLES
    from dsbench.archive.writer import Writer, try_out

__all__ = [
    "FORMAT", "LOCAL", "TABLES", "Archive", "ArchiveError", "Asked", "OutError", "RunRecord", "Writer",
    "claimed", "there", "try_out", "without_zips",
]  # fmt: skip

_PLACES = {
    "asked": ("Asked",),
    "folder": ("claimed", "without_zips"),
    "columns": ("LOCAL",),
    "errors": ("ArchiveError", "OutError"),
    "reader": ("Archive", "there"),
    "record": ("RunRecord",),
    "schemas": ("FORMAT", "TABLES"),
    "writer": ("Writer", "try_out"),
}


def __getattr__(name: str) -> Any:
    """Loads a module when one of its names is used: whoever only counts in the columns loads no Arrow."""
    for module, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"dsbench.archive.{module}"), name)
    raise AttributeError(f"module 'dsbench.archive' has no attribute {name!r}")
