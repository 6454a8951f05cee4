"""The studies that a house knows: those of the folder ``studies`` beside the archives, and those among them."""

from __future__ import annotations

from pathlib import Path

from dsbench.archive import ArchiveError
from dsbench.spec import SpecError
from dsbench.spec.trust import refuse
from dsbench.study import StudySpec, is_study, risks_of


def folders(archives: Path) -> dict[str, Path]:
    """By name; the folder of the archives may be that of a study itself."""
    around = archives.resolve().parent
    places = [around, *_below(beside(archives)), *_below(archives)]
    return {path.name: path for path in places if is_study(path)}


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def beside(archives: Path) -> Path:
    """The folder of the studies that the browser begins."""
    return archives.resolve().parent / "studies"


def refuse_commands(spec: StudySpec, folder: Path, *, trust: bool = False) -> None:
    """``SpecError`` for a study that begins commands: it may come from a stranger, as may the one in its ``folder``.

    ``Untrusted`` for what else it asks for beside tuning, and was not confirmed by ``trust``.
    """
    if spec.nodes:
        remedy = "leave nodes out, or use dsbench study run"
        raise SpecError("nodes", "a browser begins no commands for other machines", remedy)
    if not trust:
        refuse(risks_of(spec, folder), "the study", "settings")


def folder(archives: Path, name: str) -> Path:
    """One of them; ``ArchiveError`` for all others."""
    found = folders(archives)
    if name not in found:
        raise ArchiveError(f"no study {name[:80]!r} near {archives}", "choose one of the page Studies", usage=True)
    return found[name]
