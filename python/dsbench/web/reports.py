"""Pages that are made from archives, each kept apart: an archive may come from a stranger.

They are drawn from the tables; the page that an archive holds is never served. The browser shows them in a sandbox:
their scripts, which are dsbench's, have no cookie of this server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response

from dsbench.archive import Archive, ArchiveError
from dsbench.library.pair import STEM
from dsbench.spec import SpecError
from dsbench.web import folders
from dsbench.web.house import House
from dsbench.web.shelf import Shelf

_APART: Final = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


def add(app: FastAPI, house: House) -> None:
    """Serves the report of an archive and its zip, comparisons, the commons and the results of a study."""
    app.add_route("/report", _made(house, lambda request: _report(_path(house, request.query_params))))
    app.add_route("/data", _packed(house))
    app.add_route("/comparison", _made(house, lambda request: _comparison(
        [house.shelf.path(name) for name in request.query_params.getlist("a")])))  # fmt: skip
    app.add_route("/ab", _made(house, lambda request: _pair(house, request.query_params)))
    app.add_route("/commons-site", _made(house, lambda _: _commons(house)))
    app.add_route("/effects", _made(house, lambda request: _effects(
        folders.study(house.archives, request.query_params.get("name", "")))))  # fmt: skip


def _made(house: House, page: Callable[[Request], str]) -> Callable[[Request], object]:
    async def answer(request: Request) -> Response:
        try:
            text = await asyncio.to_thread(page, request)
        except (ArchiveError, SpecError) as error:
            return PlainTextResponse(f"{error}\n{error.remedy}\n", 404, {"content-security-policy": _APART})
        if house.theme:
            text = text.replace('<html lang="en">', f'<html lang="en" data-theme="{house.theme}">', 1)
        return HTMLResponse(text, headers={"content-security-policy": _APART})

    return answer


def _packed(house: House) -> Callable[[Request], object]:
    def answer(request: Request) -> Response:
        try:
            path = house.shelf.packed(request.query_params.get("name", ""))
        except ArchiveError as error:
            return PlainTextResponse(f"{error}\n{error.remedy}\n", 404, {"content-security-policy": _APART})
        return FileResponse(path, media_type="application/zip", filename=path.name)

    return answer


def _path(house: House, asked: Mapping[str, str]) -> Path:
    """Of the archive ``name`` of the folder, or of the study that is named."""
    study = asked.get("study", "")
    shelf = Shelf(folders.study(house.archives, study) / "archives") if study else house.shelf
    return shelf.path(asked.get("name", ""))


def _report(path: Path) -> str:
    files = [path, *(path.iterdir() if path.is_dir() else ())]
    return _drawn(path, max((file.stat().st_mtime_ns for file in files if file.exists()), default=0))


@lru_cache(maxsize=8)
def _drawn(path: Path, _written: int) -> str:
    """The page of an archive, drawn anew once it was written to: a run may go on."""
    from dsbench.read.evaluation import evaluate  # Late: its libraries take a second.
    from dsbench.read.page import page

    archive = Archive.open(path)
    return page(evaluate(archive), archive.run)


def _comparison(paths: list[Path]) -> str:
    if len(paths) < 2:
        raise SpecError("Compare", "a comparison needs at least two archives", "choose two or more")
    from dsbench.several import shown
    from dsbench.several.compare import read

    return shown.html(read(paths))


def _pair(house: House, asked: Mapping[str, str]) -> str:
    folder = folders.pair(house.archives, asked.get("name", ""))
    return _drawn_pair(folder, asked.get("runs", ""), (folder / f"{STEM}.json").stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _drawn_pair(folder: Path, runs: str, _written: int) -> str:
    """The verdict on A and B, or their ``runs`` side by side, drawn anew once a block was added."""
    from dsbench.library import ab  # Late: as above.
    from dsbench.several import shown
    from dsbench.several.compare import read

    found = ab.load(folder)
    if not runs:
        return ab.page(found)
    if not found.blocks:
        raise ArchiveError(f"{folder} has no complete block", "wait for one", usage=True)
    return shown.html(read(found.archives, known=found.evaluations), found.answer())


def _commons(house: House) -> str:
    from dsbench.commons import site

    sound = site.check(house.commons).sound if house.sound is None else house.sound
    return site.render(house.commons.name, sound, linked=False)


def _effects(folder: Path) -> str:
    from dsbench.study import load, outcomes, shown

    return shown.html(outcomes(load(folder)))
