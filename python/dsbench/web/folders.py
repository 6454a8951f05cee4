"""Comparisons of two and studies that a house knows: folders beside the archives, or among them."""

from __future__ import annotations

from pathlib import Path

from dsbench.archive import ArchiveError
from dsbench.library.pair import STEM
from dsbench.spec import SpecError
from dsbench.spec.trust import refuse
from dsbench.study import StudySpec, is_study, risks_of


def place_of_pairs(archives: Path) -> Path:
    """The folder of the comparisons of two that the browser begins, as ``dsbench ab --out`` leaves them."""
    return archives.absolute().parent / "comparisons"


def pair_names(archives: Path) -> list[str]:
    """Of those comparisons, the latest first: names begin with the time."""
    try:
        found = [path.name for path in place_of_pairs(archives).iterdir() if (path / f"{STEM}.json").is_file()]
    except OSError:
        return []
    return sorted(found, reverse=True)


def pair(archives: Path, name: str) -> Path:
    """The folder of one of them; ``ArchiveError`` for all others."""
    if name not in pair_names(archives):
        words = f"no comparison {name[:80]!r} in {place_of_pairs(archives)}"
        raise ArchiveError(words, "choose one of the page Compare two", usage=True)
    return place_of_pairs(archives) / name


def studies(archives: Path) -> dict[str, Path]:
    """By name those of the folder ``studies`` beside the archives and those among them; the folder of the archives may
    be that of a study itself."""
    around = archives.resolve().parent
    places = [around, *_below(place_of_studies(archives)), *_below(archives)]
    return {path.name: path for path in places if is_study(path)}


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def place_of_studies(archives: Path) -> Path:
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


def study(archives: Path, name: str) -> Path:
    """The folder of one of them; ``ArchiveError`` for all others."""
    found = studies(archives)
    if name not in found:
        raise ArchiveError(f"no study {name[:80]!r} near {archives}", "choose one of the page Studies", usage=True)
    return found[name]
