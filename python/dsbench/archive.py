"""What a run leaves: a folder written as results arrive, sealed at the end into one zip.

Layout of an archive, format 1::

    run.json                     specification, seed, versions, stack, checks, warnings, status
    cycles/  buckets/  seconds/  monitors/  phases/  errors/  nodes/    one Parquet part per event, while it runs
    cycles.parquet  buckets.parquet …                              the same rows in one file, once sealed
    trace/                       only with --trace: one Parquet part per cycle
    results.txt results.csv results.log  results-*.{pdf,svg,vl.json}  report.html

A part appears under its name only when it is complete, so an archive that was cut short holds all
finished cycles and nothing half-written.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

FORMAT: Final = 1

LOCAL: Final = "local"
"""Name of the node that is the machine of ``dsbench run`` itself."""

_u64: pa.DataType = pa.uint64()
_i64: pa.DataType = pa.int64()
_u32: pa.DataType = pa.uint32()
_f64: pa.DataType = pa.float64()
_str: pa.DataType = pa.string()
_KEY: list[tuple[str, pa.DataType]] = [("scale", _u32), ("cycle", _u32), ("node", _str), ("threads", _u32)]

TABLES: Final[dict[str, pa.Schema]] = {
    # One row per cycle, node, thread and kind. Times in ns; starts and ends count from the cycle's start.
    # threads is the number of threads of the cycle; cycles of several such numbers are numbered on.
    "cycles": pa.schema(
        [
            *_KEY, ("thread", _u32), ("kind", _str),
            ("committed", _u64),       # M_inj: committed and ended within the demanded duration
            ("rolled_back", _u64),     # rolled back on purpose, counted as done
            ("failed", _u64),          # E_inj: attempts that failed, those that were retried included
            ("retries", _u64),         # attempts after the first
            ("unknown", _u64),         # connection lost in commit
            ("in_flight", _u64),       # ended after the demanded duration: not counted
            ("late_commits", _u64),    # those of in_flight that the database keeps
            ("early_commits", _u64),   # committed in the ramp-up: not counted, but the database keeps them
            ("missed", _u64),          # open loop: starts that were due and never made
            ("remote", _u64),          # committed on another branch's account, early and late ones included
            ("residence_ns", _u64),    # R_inj: sum of the residence times of the committed and the rolled back
            ("response_ns", _u64),     # the same from the intended start; equal in the closed loop
            ("failed_ns", _u64),       # time spent in transactions that did not succeed
            ("residence_min_ns", _u64), ("residence_max_ns", _u64),
            ("first_start_ns", _u64), ("last_end_ns", _u64),   # L_inj = last_end_ns - first_start_ns
            ("cpu_ns", _u64),          # CPU time with that of the ramp-up; of clients on one carrier equal shares
        ]
    ),
    # Histogram of residence times: counts of values in [low_ns, high_ns], both inclusive.
    # measure: "residence" (from the first attempt) or "response" (from the intended start; open loop only).
    "buckets": pa.schema(
        [*_KEY, ("kind", _str), ("measure", _str), ("low_ns", _u64), ("high_ns", _u64), ("count", _u64)]
    ),
    # The course of a cycle, per second of its demanded duration (0, 1, 2 …) in which transactions ended.
    "seconds": pa.schema(
        [*_KEY, ("kind", _str), ("second", _u32), ("count", _u64), ("failed", _u64),
         ("p50_ns", _u64), ("p99_ns", _u64), ("max_ns", _u64)]
    ),
    # Samples of the system under test, about one per second: cumulative counters (unit ends in "total"),
    # or gauges. at_ns counts from the cycle's start and is negative before it.
    "monitors": pa.schema(
        [*_KEY, ("at_ns", _i64), ("monitor", _str), ("metric", _str), ("unit", _str), ("value", _f64)]
    ),
    # Steps around the cycles: create, populate, primary_key, foreign_key, clean, check, drop.
    # cycle is 0 for steps of the whole scale. size_bytes is measured after foreign_key.
    "phases": pa.schema(
        [("scale", _u32), ("cycle", _u32), ("phase", _str), ("duration_ns", _u64), ("rows", _u64), ("size_bytes", _u64)]
    ),
    # Only with remote nodes. How each node took part in each cycle; rows of the other tables are there when state is
    # complete. Offsets are the clock of dsbench run minus the node's; start_late_ns counts from the agreed start.
    "nodes": pa.schema(
        [*_KEY, ("state", _str), ("why", _str), ("clock_offset_ns", _i64), ("clock_error_ns", _u64),
         ("clock_drift_ns", _i64), ("armed_before_ns", _u64), ("start_late_ns", _u64)]
    ),
    # Failed attempts by kind of transaction and class: kind of error (dsbench's word), native code, one message as an
    # example.
    "errors": pa.schema([*_KEY, ("kind", _str), ("error", _str), ("code", _str), ("count", _u64), ("example", _str)]),
    # What the workload's clients added up over a cycle, those transactions included that ended before its
    # clock started and after its end, such as the lines of all orders.
    "sums": pa.schema([*_KEY, ("name", _str), ("value", _i64)]),
    # Statistics that the database keeps of itself, "before" the first cycle of a scale and "after" the last.
    # object is a table, or empty for the whole; segment counts the populations of a run.
    "statistics": pa.schema(
        [("scale", _u32), ("segment", _u32), ("moment", _str), ("object", _str), ("metric", _str), ("unit", _str),
         ("value", _f64)]
    ),
}
"""The Parquet tables of an archive and their columns."""


_MERGED: Final = ".merged.parquet"
_GROUP_ROWS: Final = 1_000_000


LEFT: Final = "name the folder or the .zip that a run left"
"""What to do about a path that is no archive."""


class ArchiveError(Exception):
    """An archive that cannot be written or read. ``remedy`` says what to do, ``usage`` that the wrong one was named."""

    def __init__(self, problem: str, remedy: str = "", *, usage: bool = False) -> None:
        super().__init__(problem)
        self.remedy = remedy
        self.usage = usage


class OutError(ArchiveError):
    """The folder for what is written cannot be used."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem, "name a folder that can be written with --out", usage=True)


def try_out(out: Path) -> None:
    """Makes the folder ``out`` where it is missing, and tries to write there; ``OutError`` where that fails."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise OutError(f"--out: cannot write to {out}: {error.strerror}") from error


@dataclass(frozen=True)
class Writer:
    """Writes an archive as results arrive."""

    path: Path

    @classmethod
    def create(cls, out: Path, name: str) -> Writer:
        """A new archive ``name`` in ``out``; a counter is appended when the name is taken."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            for count in range(1, 1000):
                path = out / (name if count == 1 else f"{name}-{count}")
                if path.exists() or path.with_suffix(path.suffix + ".zip").exists():
                    continue
                path.mkdir()
                return cls(path)
        except OSError as error:
            raise OutError(f"--out: cannot write to {out}: {error.strerror}") from error
        raise OutError(f"--out: {out} holds a thousand archives called {name}")

    def rows(self, table: str, part: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds ``rows`` to ``table`` as the part ``part``; replaces a part of that name."""
        self.table(table, part, pa.Table.from_pylist([dict(r) for r in rows], schema=TABLES[table]))

    def table(self, table: str, part: str, data: pa.Table) -> None:
        """The same from an Arrow table (its columns are those of ``TABLES[table]``; ``trace`` is free)."""
        if data.num_rows == 0:
            return
        folder = self.path / table
        with _told(folder):
            folder.mkdir(exist_ok=True)
        buffer = io.BytesIO()
        pq.write_table(data, buffer, compression="zstd")
        _replace(folder / f"{part}.parquet", buffer.getvalue())

    def has(self, table: str, part: str) -> bool:
        """Whether the part ``part`` of ``table`` was written, and not merged yet."""
        return (self.path / table / f"{part}.parquet").exists()

    def forget(self, tables: Iterable[str], part: str) -> None:
        """Removes the parts of ``tables`` that are called ``part`` or begin so, with a ``_`` behind."""
        for table in tables:
            for path in sorted((self.path / table).glob(f"{part}*.parquet")):
                if path.stem == part or path.stem.startswith(f"{part}_"):
                    with _told(path):
                        path.unlink(missing_ok=True)

    def describe(self, run: Mapping[str, Any]) -> None:
        """Writes ``run.json``."""
        _replace(self.path / "run.json", (json.dumps(run, indent=2, ensure_ascii=False) + "\n").encode())

    def text(self, name: str, content: str | bytes) -> Path:
        """Writes another file of the archive, whole."""
        path = self.path / name
        _replace(path, content if isinstance(content, bytes) else content.encode())
        return path

    def log(self, line: str) -> None:
        """Adds a line to ``results.log``."""
        path = self.path / "results.log"
        with _told(path), path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def seal(self) -> Path:
        """Merges the parts of each table into one file and packs the folder into ``<name>.zip``.

        The folder stays beside it, for editing diagrams. Gives the path of the zip.
        """
        for table in (*TABLES, "trace"):
            folder, whole = self.path / table, self.path / f"{table}.parquet"
            merged, away = self.path / f"{table}{_MERGED}", self.path / f"{table}.merged"
            if away.is_dir():
                self._away(merged, whole, away)
            if not folder.is_dir():
                continue
            # A resumed run adds parts to what an earlier sealing merged.
            sources = [p for p in (whole, *sorted(folder.glob("*.parquet"))) if p.exists()]
            # At every moment readers find each row once: the parts, or, once their folder is away, the merged file.
            _merge(table, sources, merged)
            with _told(whole):
                os.replace(folder, away)
            self._away(merged, whole, away)
        return self.pack()

    @staticmethod
    def _away(merged: Path, whole: Path, away: Path) -> None:
        """The last steps of merging a table, also of one that was killed before them."""
        with _told(whole):
            if merged.exists():
                os.replace(merged, whole)
            shutil.rmtree(away)

    def pack(self) -> Path:
        """Packs the folder as it is into ``<name>.zip``, replacing an older one."""
        target = self.path.with_name(self.path.name + ".zip")
        temporary = target.with_name(target.name + ".part")
        with _told(target, temporary):
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as pack:
                for file in sorted(p for p in self.path.rglob("*") if p.is_file()):
                    pack.write(file, f"{self.path.name}/{file.relative_to(self.path).as_posix()}")
            os.replace(temporary, target)
        return target


def _rows(source: Path | io.BytesIO) -> pa.Table:
    """Rows of one Parquet file, on this thread: a run leaves hundreds of small ones, which a pool only delays."""
    with pq.ParquetFile(source) as file:
        return file.read(use_threads=False)


def _completed(name: str, rows: pa.Table) -> pa.Table:
    """``rows`` with all columns of their table: those that an older version did not know are empty."""
    schema = TABLES.get(name)
    if schema is None or rows.schema.names == schema.names:
        return rows
    columns = [
        rows[field.name] if field.name in rows.schema.names else pa.nulls(rows.num_rows, field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _merge(name: str, sources: Sequence[Path], target: Path) -> None:
    """Writes the rows of ``sources`` into one file, in row groups of about a million: a trace may be large."""
    temporary = target.with_name(target.name + ".part")
    with _told(target, temporary):
        schema = TABLES.get(name) or pq.read_schema(sources[0])
        with pq.ParquetWriter(temporary, schema, compression="zstd") as file:
            waiting: list[pa.Table] = []
            for source in sources:
                waiting.append(_completed(name, _rows(source)))
                if sum(rows.num_rows for rows in waiting) >= _GROUP_ROWS:
                    file.write_table(pa.concat_tables(waiting))
                    waiting = []
            if waiting:
                file.write_table(pa.concat_tables(waiting))
        os.replace(temporary, target)


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".part")
    with _told(path, temporary):
        temporary.write_bytes(content)
        os.replace(temporary, path)


@contextmanager
def _told(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Errors of the file system as ``ArchiveError``; nothing half-written is left."""
    try:
        yield
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise ArchiveError(f"cannot write {path}: {error.strerror}; what was written before stays readable") from error


@dataclass(frozen=True)
class Archive:
    """Reads an archive, folder or zip alike."""

    path: Path

    @classmethod
    def open(cls, path: Path) -> Archive:
        """Opens an archive; ``ArchiveError`` when there is none or its format is newer than this program."""
        archive = cls(path)
        if not path.exists():
            raise ArchiveError(f"no archive at {path}", LEFT, usage=True)
        found = archive.run.get("format")
        if found != FORMAT:
            words = f"{path} has format {found}, this program reads {FORMAT}"
            raise ArchiveError(words, "use the dsbench that wrote it", usage=True)
        return archive

    @property
    def name(self) -> str:
        """Name of the archive, without ``.zip``."""
        return self.path.name.removesuffix(".zip")

    @cached_property
    def run(self) -> dict[str, Any]:
        """``run.json``."""
        try:
            data: dict[str, Any] = json.loads(self.read("run.json"))
        except (KeyError, OSError, zipfile.BadZipFile, ValueError) as error:
            words = f"{self.path} is no dsbench archive: run.json cannot be read ({error})"
            raise ArchiveError(words, LEFT, usage=True) from None
        return data

    def read(self, name: str) -> bytes:
        """The content of one file; ``KeyError`` or ``OSError`` when it is not there."""
        if self.path.is_dir():
            return (self.path / name).read_bytes()
        with zipfile.ZipFile(self.path) as pack:
            return pack.read(f"{self._root(pack)}{name}")

    def names(self) -> list[str]:
        """Names of all files, relative to the archive."""
        if self.path.is_dir():
            return sorted(p.relative_to(self.path).as_posix() for p in self.path.rglob("*") if p.is_file())
        with zipfile.ZipFile(self.path) as pack:
            root = self._root(pack)
            return sorted(n.removeprefix(root) for n in pack.namelist() if not n.endswith("/"))

    @staticmethod
    def _root(pack: zipfile.ZipFile) -> str:
        return next((n.removesuffix("run.json") for n in pack.namelist() if n.split("/")[-1] == "run.json"), "")

    def table(self, name: str) -> pa.Table:
        """All rows of a table; empty, with the right columns, when nothing was written."""
        names = self.names()
        whole, folder = f"{name}.parquet", f"{name}/"
        if any(n.startswith(f"{name}.merged/") for n in names) and f"{name}{_MERGED}" in names:
            whole = f"{name}{_MERGED}"  # A sealing that ended between its two steps.
        parts = [n for n in names if n == whole or (n.startswith(folder) and n.endswith(".parquet"))]
        tables = [_completed(name, _rows(io.BytesIO(self.read(part)))) for part in parts]
        if tables:
            return pa.concat_tables(tables)
        return TABLES[name].empty_table() if name in TABLES else pa.table({})


def redacted_lines(lines: Iterable[str], secrets: Iterable[str]) -> list[str]:
    """``lines`` with every secret replaced by ``***``: for logs of servers that go into an archive."""
    hidden = [s for s in secrets if s]
    result = []
    for line in lines:
        for secret in hidden:
            line = line.replace(secret, "***")
        result.append(line)
    return result
