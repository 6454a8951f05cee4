"""Archives that are well, and what is read of one."""

from __future__ import annotations

import io
import zipfile
import zlib
from functools import cache
from pathlib import Path

from .sandbox import called

_KEPT = sorted((Path(__file__).parents[1] / "data/archives").glob("*.zip"))
COUNT = len(_KEPT)
_COMMANDS = ("show", "show", "show --json", "show --by nodes", "compare", "plot", "plot --fresh", "run --resume")


@cache
def files(number: int) -> dict[str, bytes]:
    """Name to content of the sample ``number``."""
    with zipfile.ZipFile(_KEPT[number]) as pack:
        found = {name: pack.read(name) for name in pack.namelist() if not name.endswith("/")}
    root = next(name.removesuffix("run.json") for name in found if name.endswith("run.json"))
    plain = {name.removeprefix(root): content for name, content in found.items()}
    kept = {name: content for name, content in plain.items() if name.endswith((".parquet", "run.json"))}
    return {**kept, "results-rate.vl.json": b'{"mark": "bar"}'}


@cache
def packed(number: int) -> bytes:
    """The same as a zip."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, content in files(number).items():
            pack.writestr(f"a/{name}", content)
    return buffer.getvalue()


def unpack(number: int, folder: Path, **other: bytes) -> None:
    """The same as a folder, with ``other`` files over its own."""
    for name, content in {**files(number), **other}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read(path: str, data: bytes) -> None:
    """One of the commands that read the archive at ``path``, chosen by its bytes ``data``; or its page."""
    number = zlib.crc32(data) % (len(_COMMANDS) + 1)
    if number == len(_COMMANDS):
        _page(Path(path))
        return
    words = _COMMANDS[number].split()
    more = {"compare": [path, "--json"], "plot": ["--out", "drawn"]}.get(words[0], [])
    called(*words, path, *more)


def _page(path: Path) -> None:
    """What a run makes at its end."""
    from dsbench.archive import Archive, ArchiveError
    from dsbench.read import draw as diagrams
    from dsbench.read import tables
    from dsbench.read.draw import render
    from dsbench.read.evaluation import evaluate
    from dsbench.read.page import page

    from .sandbox import Refused

    try:
        archive = Archive.open(path)
        evaluation = evaluate(archive)
        drawn = diagrams.specs(evaluation, archive.run)
    except ArchiveError as error:
        raise Refused(str(error)) from None
    texts = [render.source(spec) for spec in drawn.values()]
    texts += [page(evaluation, archive.run, {}), tables.results_txt(evaluation, archive.run), tables.results_csv(evaluation)]
    for text in texts:
        text.encode()
