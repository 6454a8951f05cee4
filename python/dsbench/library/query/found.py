"""The archives and the studies below a folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dsbench.archive import Archive, ArchiveError
from dsbench.study import Study, load


@dataclass(frozen=True)
class Found:
    """What lies below a folder."""

    archives: tuple[Archive, ...]
    folders: tuple[Path, ...]
    """Of studies."""
    problems: tuple[str, ...]
    """Archives that cannot be read, in words."""

    @cached_property
    def studies(self) -> tuple[Study, ...]:
        """The studies themselves. ``ArchiveError`` where one cannot be read."""
        return tuple(load(folder) for folder in self.folders)


def find(folder: Path) -> Found:
    """Everything below ``folder``, or the archive that it is; a zip counts where its folder is not beside it.

    ``ArchiveError`` where there is nothing.
    """
    folders = {path.parent for path in folder.rglob("run.json")}
    zips = set(folder.rglob("*.zip") if folder.is_dir() else [folder])
    packed = {path for path in zips if path.with_name(path.name.removesuffix(".zip")) not in folders}
    archives, problems = [], []
    for path in sorted(folders | packed):
        try:
            archive = Archive.open(path)
            _ = archive.run
            archives.append(archive)
        except ArchiveError as error:
            problems.append(str(error))
    if not archives:
        problem = problems[0] if problems else f"no archive below {folder}"
        raise ArchiveError(problem, "name a folder in which runs left archives, or a study's", usage=True)
    return Found(tuple(archives), tuple(sorted(p.parent for p in folder.rglob("study.json"))), tuple(problems))
