"""Writes an archive."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dsbench.archive import folder as own
from dsbench.archive.errors import ArchiveError, OutError, told
from dsbench.archive.parts import MERGED, PART, merge, replace
from dsbench.archive.record import RunRecord
from dsbench.archive.schemas import TABLES
from dsbench.dataclass import dataclass
from dsbench.redaction import redact_words


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
                with suppress(FileExistsError):  # Another run may take it in between.
                    path.mkdir()
                    return cls(path)
        except OSError as error:
            raise OutError(f"--out: cannot write to {out}: {error.strerror}") from error
        raise OutError(f"--out: {out} already contains a thousand archives called {name}")

    def rows(self, table: str, part: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Adds ``rows`` to ``table`` as the part ``part``; replaces a part of that name."""
        self.table(table, part, pa.Table.from_pylist([dict(r) for r in rows], schema=TABLES[table]))

    def table(self, table: str, part: str, data: pa.Table) -> None:
        """The same from an Arrow table (its columns are those of ``TABLES[table]``; ``trace`` is free)."""
        if data.num_rows == 0:
            return
        folder = self.path / table
        with told(folder):
            folder.mkdir(exist_ok=True)
        _refuse_link(folder)
        buffer = io.BytesIO()
        pq.write_table(data, buffer, compression="zstd")
        replace(folder / f"{part}.parquet", buffer.getvalue())

    def has(self, table: str, part: str) -> bool:
        """Whether the part ``part`` of ``table`` was written, and not merged yet."""
        return (self.path / table / f"{part}.parquet").exists()

    def forget(self, tables: Iterable[str], part: str) -> None:
        """Removes the parts of ``tables`` that are called ``part`` or begin so, with a ``_`` behind."""
        for table in tables:
            for path in sorted((self.path / table).glob(f"{part}*.parquet")):
                if path.stem == part or path.stem.startswith(f"{part}_"):
                    with told(path):
                        path.unlink(missing_ok=True)

    def describe(self, run: RunRecord) -> None:
        replace(self.path / "run.json", (json.dumps(run.described(), indent=2, ensure_ascii=False) + "\n").encode())

    def text(self, name: str, content: str | bytes) -> Path:
        """Writes another file of the archive, whole. ``ArchiveError`` for a name that leads elsewhere."""
        if Path(name).name != name:
            raise ArchiveError(f"{name!r} is not a valid file name in {self.path}")
        path = self.path / name
        replace(path, content if isinstance(content, bytes) else content.encode())
        return path

    def log(self, line: str) -> None:
        """Adds a line to ``results.log``."""
        path = self.path / "results.log"
        _refuse_link(path)
        with told(path), path.open("a", encoding="utf-8") as file:
            file.write(redact_words(line) + "\n")

    def seal(self) -> Path:
        """Merges the parts of each table into one file and packs the folder into ``<name>.zip``.

        The folder stays beside it, for editing diagrams. Gives the path of the zip.
        """
        names = own.names(self.path)
        for name in names:
            if name.endswith(PART) and own.is_own(name):  # of a program that was killed
                (self.path / name).unlink(missing_ok=True)
        for table in (*TABLES, "trace"):
            folder, whole = self.path / table, self.path / f"{table}.parquet"
            merged, away = self.path / f"{table}{MERGED}", self.path / f"{table}.merged"
            if away.is_dir():
                self._away(merged, whole, away)
            parts = [self.path / name for name in names if name.startswith(f"{table}/") and name.endswith(".parquet")]
            if not parts:
                continue
            # A resumed run adds parts to what an earlier sealing merged.
            sources = [whole, *parts] if whole.is_file() and not whole.is_symlink() else parts
            # At every moment readers find each row once: the parts, or, once their folder is away, the merged file.
            merge(table, sources, merged)
            with told(whole):
                os.replace(folder, away)
            self._away(merged, whole, away)
        return self.pack()

    @staticmethod
    def _away(merged: Path, whole: Path, away: Path) -> None:
        """The last steps of merging a table, also of one that was killed before them."""
        with told(whole):
            if merged.exists():
                os.replace(merged, whole)
            for part in away.glob("*.parquet"):
                part.unlink()
            if any(away.iterdir()):  # What somebody else put there stays, under the name that it had.
                os.replace(away, whole.with_suffix(""))
            else:
                away.rmdir()

    def pack(self) -> Path:
        """Packs what dsbench wrote in the folder into ``<name>.zip``, replacing an older one."""
        target = self.path.with_name(self.path.name + ".zip")
        temporary = target.with_name(target.name + PART)
        with told(target, temporary):
            temporary.unlink(missing_ok=True)
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as pack:
                for name in own.names(self.path):
                    # What else lies there is no part of the archive, and what is too large could not be read again.
                    if own.is_own(name) and (self.path / name).stat().st_size <= own.largest(name):
                        pack.write(self.path / name, f"{self.path.name}/{name}")
            os.replace(temporary, target)
        return target


def _refuse_link(path: Path) -> None:
    """An archive of a stranger may hold links, and what is written through one would lie elsewhere."""
    if path.is_symlink():
        raise ArchiveError(f"{path} is a link, and links are not followed", "remove the link", usage=True)
