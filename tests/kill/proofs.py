"""What has to hold of a run that was killed, and of the one that went on with it. Each gives violations in words."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import psutil
import pyarrow.compute as pc
from tests.kill.watched import processes, segments_of

from dsbench.archive import TABLES, Archive, ArchiveError, claimed
from dsbench.measure.loaders import TargetDatabase
from dsbench.read.shown import read

Rows = dict[str, list[str]]
"""Table to its rows of finished cycles, as text, sorted."""

OF_CYCLES = ("cycles", "groups", "buckets", "seconds", "errors", "sums", "monitors")


def rows_of(archive: Path, only: set[tuple[int, int]] | None = None) -> Rows:
    """Rows of the cycles that are finished, or of those ``only``: (scale, cycle)."""
    opened = Archive.open(archive)
    done = finished(opened) if only is None else only
    return {
        table: sorted(repr(row) for row in opened.table(table).to_pylist() if (row["scale"], row["cycle"]) in done)
        for table in OF_CYCLES
    }


def finished(archive: Archive) -> set[tuple[int, int]]:
    """(scale, cycle) of all finished cycles."""
    table = archive.table("cycles")
    return set(zip(table.column("scale").to_pylist(), table.column("cycle").to_pylist(), strict=True))


def of_the_end(number: signal.Signals, phase: str, code: int | None, lines: Sequence[str]) -> Iterator[str]:
    """How the killed run ended: by its signal, or whole where that came too late or let it go on."""
    allowed = {
        signal.SIGKILL: {-9},
        signal.SIGTERM: {143, -15, 0},
        signal.SIGINT: {130, -2, 0},
        signal.SIGSTOP: {0},
    }[number]
    if code is None:
        yield "the run hangs"
    elif code not in allowed:
        yield f"exit code {code}: {' / '.join(lines[-3:])}"
    if 0 in allowed and number != signal.SIGSTOP and code == 0 and phase in ("populate", "cycle"):
        yield f"{number.name} in {phase} was not heard"
    if any("Traceback" in line for line in lines):
        yield f"a traceback: {' / '.join(lines[-4:])}"


def of_the_cut(archive: Path, code: int | None) -> Iterator[str]:
    """The archive before it is gone on with: readable, and of the right status."""
    try:
        read(archive)
        status = Archive.open(archive).run.status
    except (ArchiveError, ValueError, KeyError) as error:
        yield f"dsbench show: {error}"
        return
    right = {
        0: {"complete"}, 130: {"cut-short", "complete", "running"}, 143: {"cut-short"},
        -9: {"running", "complete"}, -2: {"complete"}, -15: {"running", "complete", "cut-short"},
    }  # fmt: skip
    if status not in right.get(code if code is not None else 1, {"failed"}):
        yield f"status {status} after exit code {code}"


def of_the_whole(archive: Path, before: Rows, cut: set[tuple[int, int]], scales: Sequence[int], cycles: int) -> Iterator[str]:
    """The archive at the end: complete, checked, sealed, and with every row that was finished before the kill."""
    opened = Archive.open(archive)
    run = opened.run
    if (run.status, opened.sealed) != ("complete", True):
        yield f"status {run.status}, sealed: {opened.sealed}"
    wanted = {(scale, cycle) for scale in scales for cycle in range(1, cycles + 1)}
    if finished(opened) != wanted:
        yield f"cycles {sorted(finished(opened))}"
    for where in (archive, archive.with_name(archive.name + ".zip")):
        if not where.exists():
            yield f"{where.name} is not there"
            continue
        try:
            read(where)
        except (ArchiveError, ValueError, KeyError) as error:
            yield f"dsbench show {where.name}: {error}"
            continue
        after = rows_of(where, cut)
        yield from (f"rows of {table} in {where.name} have changed" for table in before if before[table] != after[table])
        doubled = [name for name in ("cycles", "groups") if _doubled(Archive.open(where), name)]
        yield from (f"{table} has a row twice" for table in doubled)
    for scale in scales:
        if not run.checks.get(scale):
            yield f"scale {scale} was not checked"
    if run.broken:
        yield f"conditions do not hold: {run.broken}"
    names = opened.names()
    yield from (f"{name} is left in the archive" for name in names if name.endswith((".part", "trace.bin")))
    yield from (f"parts of {table} are left" for table in TABLES if any(name.startswith(f"{table}/") for name in names))
    try:
        with claimed(archive):
            pass
    except ArchiveError:
        yield "the archive is locked"


def _doubled(archive: Archive, table: str) -> bool:
    keys = [name for name in ("scale", "stage", "cycle", "node", "group", "client", "kind") if name in TABLES[table].names]
    rows = archive.table(table).select(keys)
    plain = rows.cast(rows.schema) if rows.num_rows == 0 else rows.group_by(keys).aggregate([([], "count_all")])
    return bool(rows.num_rows and pc.max(plain.column("count_all")).as_py() > 1)


def of_processes(mark: str, patience_s: float = 20.0) -> Iterator[str]:
    """No process of the run is left, at the latest after ``patience_s``."""
    give_up = time.monotonic() + patience_s
    while (left := processes(mark)) and time.monotonic() < give_up:
        time.sleep(0.1)
    for process in left:
        try:
            yield f"process {process.pid} is left: {' '.join(process.cmdline())[:120]}"
            process.kill()
        except psutil.Error:
            continue


def of_the_machine(folder: Path, pids: Sequence[int], files: set[Path]) -> Iterator[str]:
    """No temporary folder, socket, shared memory of the run is left."""
    yield from (f"{path.name} is left in the temporary folder" for path in (folder / "tmp").iterdir())
    sockets = Path("/proc/net/unix").read_text().splitlines()
    yield from (f"a socket is left: {line.split()[-1]}" for line in sockets if str(folder) in line)
    yield from (f"{file} is left" for file in files if file.exists())
    yield from (f"System V segment {number} is left" for number in segments_of(pids))


def of_the_database(url: str) -> Iterator[str]:
    """No database of the run is left on a server that is not its own."""
    with closing(TargetDatabase(url)) as target:
        if (state := target.state()) != ("absent", ""):
            yield f"a database is left: {state}"
