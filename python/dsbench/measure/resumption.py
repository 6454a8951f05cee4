"""What a run that was cut short has left to do."""

from __future__ import annotations

from pathlib import Path

from dsbench.archive import Archive
from dsbench.measure.journal import RunError
from dsbench.measure.place import owner_alive
from dsbench.spec import RunSpec


def specification(path: Path) -> RunSpec:
    """The specification of the archive at ``path``; ``RunError`` when there is nothing to resume."""
    if not path.is_dir():
        raise RunError(f"{path} is no folder", "name the archive's folder; unpack a .zip first", usage=True)
    archive = Archive.open(path)
    data = archive.run
    if data.status == "complete" and archive.sealed:
        raise RunError(f"{path} is complete", "there is nothing to resume", usage=True)
    if data.status == "running" and owner_alive(data.process):
        raise RunError(f"the run of {path} is still going on", "wait until it has ended", usage=True)
    # Where the password stood in the authority it may come from the environment; in the query it cannot.
    return data.asked(url=data.spec.target.url.replace(":***@", "@"))


def finished(path: Path) -> dict[int, int]:
    """Scale to the number of its last finished cycle; through all threads and stages they are numbered on."""
    table = Archive.open(path).table("cycles")
    last: dict[int, int] = {}
    for scale, cycle in zip(table["scale"].to_pylist(), table["cycle"].to_pylist(), strict=True):
        if scale is not None and cycle is not None:
            last[scale] = max(last.get(scale, 0), cycle)
    return last


def dropped(path: Path) -> set[int]:
    """Scales whose last stage, which drops the database, was reached."""
    rows = Archive.open(path).table("phases").to_pylist()
    return {int(row["scale"]) for row in rows if row["phase"] == "drop"}
