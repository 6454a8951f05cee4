"""Whether what excuses a run from rules is true: nodes of its own, a database that was there, one that was kept."""

from __future__ import annotations

from collections.abc import Iterator

from dsbench.archive.columns import LOCAL
from dsbench.commons.audit.rows import Rows, where


def nodes(run: Rows) -> Iterator[str]:
    """A run has nodes where these have made its load, and no others."""
    names = {node.name for node in run.run.nodes}
    here = {str(name) for name in run.tables["cycles"]["node"].unique().to_pylist()}
    if names and here - names:
        yield f"nodes made its load by its description, and {min(here - names)!r} made it by its cycles"
    if not names and here - {LOCAL}:
        yield f"{min(here - {LOCAL})!r} made its load, and is not described"
    if len(names) != run.run.spec.nodes:
        yield f"it describes {len(names)} nodes, and {run.run.spec.nodes} were requested"
    told = {(row["scale"], row["stage"], row["cycle"]) for row in run.tables["nodes"].to_pylist()}
    if names and (lacking := run.finished - told):
        yield f"{where(min(lacking))}: the part of its nodes is missing"


def there_before(run: Rows) -> Iterator[str]:
    """A database that was there was not filled, and one that was kept was looked through."""
    phases = {row["phase"] for row in run.tables["phases"].to_pylist()}
    if run.run.spec.existing and phases & {"populate", "create"}:
        yield "existing tables were requested, and it created them"
    if run.run.reused and "populate" in phases:
        yield "its database was kept by a run before, and it filled it"
    if run.run.reused and "reuse" not in phases:
        yield "its database was kept by a run before, and it never looked through it"

