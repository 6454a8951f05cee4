"""What ``dsbench web`` listens to."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fastapi import FastAPI
from nicegui import Client, ui
from nicegui import app as core
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from dsbench.archive import ArchiveError
from dsbench.problem import how_to_install
from dsbench.servers.process import raise_file_limit
from dsbench.spec import SpecError
from dsbench.web import frame, parts, reports
from dsbench.web.door import ADDRESS, Door
from dsbench.web.house import House
from dsbench.web.pages import PAGES, Page
from dsbench.web.state import FOLDER

_SILENCE_S: Final = 10.0
_MOST_SILENT: Final = 128
"""How long a connection may ask for nothing, and how many may at a time."""
_PATIENCE_S: Final = 5.0
"""How long the server may take to end, whatever is still being read."""


def serve(archives: Path, port: int, commons: Path | None = None) -> None:
    """Serves the pages over the folder ``archives`` until Ctrl-C; prints the address that lets a browser in.

    ``port`` 0 takes any that is free. ``SpecError`` where the extra is missing or the port is taken,
    ``ArchiveError`` where the folder cannot be written.
    """
    # It keeps nothing; what it would keep must not lie beside the archives, nor where others may write.
    os.environ.setdefault("NICEGUI_STORAGE_PATH", str((archives / FOLDER / "nothing").absolute()))
    try:
        import uvicorn

    except ModuleNotFoundError as error:
        if (error.name or "").startswith("dsbench"):
            raise
        words = f"the pages need NiceGUI, which is not installed ({error.name} is missing)"
        raise SpecError("dsbench web", words, how_to_install("web")) from None
    from dsbench.web.house import House

    house = House.of(archives, commons)
    with _listening(port) as listener:
        door = Door(application(house), listener.getsockname()[1], _tell)
        raise_file_limit()
        config = uvicorn.Config(door, log_level="warning", access_log=False, lifespan="on", server_header=False)
        server = uvicorn.Server(config)
        server.main_loop = lambda: _calm(server)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    if (going := house.runs.going()) is not None:
        print(f"the run goes on: {going.archive or going.target}; dsbench web shows it again", file=sys.stderr)


async def _calm(server: Any) -> None:
    """Looks twice a second whether the server should end, and not ten times, beside a benchmark."""
    number, silent = 0, dict[Any, float]()
    while not await server.on_tick(number):
        number += 10
        silent = _cut_silent(server.server_state.connections, silent)
        await asyncio.sleep(0.5)
    # An archive that takes long to read holds a thread, which would hold this process; runs are processes of their own.
    last = threading.Timer(_PATIENCE_S, os._exit, (1,))
    last.daemon = True
    last.start()


def _cut_silent(connections: Iterable[Any], known: Mapping[Any, float]) -> dict[Any, float]:
    """Ends connections that asked for nothing in a while: each takes an open file, and the pages must stay in reach.

    ``known``: since when which of them say nothing. Gives the same as it is now.
    """
    now = time.monotonic()
    silent = {one: known.get(one, now) for one in connections if hasattr(one, "cycle")
              and (one.cycle is None or one.cycle.response_complete)}  # fmt: skip
    oldest = sorted(silent, key=silent.__getitem__)
    for number, one in enumerate(oldest):
        if now - silent[one] > _SILENCE_S or number < len(oldest) - _MOST_SILENT:
            del silent[one]
            one.transport.abort()
    return silent


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESS, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        words = f"cannot listen on port {port}: {getattr(error, 'strerror', '') or error}"
        raise SpecError("--port", words, "name another one, or 0 for any that is free") from None
    return listener


def _tell(address: str) -> None:
    print(f"open {address}\n(works once, on this machine only; the next address lets another browser in)", flush=True)


def application(house: House) -> FastAPI:
    """All that is served over ``house``."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_route("/style.css", lambda _request: Response(frame.style(), media_type="text/css"))
    reports.add(app, house)
    ways = [(one.title, one.path) for one in PAGES if one.title]
    for one in PAGES:
        ui.page(one.path, title=f"{one.title or one.heading} – dsbench")(_shown(one, house, ways))
    core.exception_handler(404)(_unknown(house, ways))
    ui.run_with(
        app, title="dsbench", dark=False, language="en-US", tailwind=False, binding_refresh_interval=None,
        show_welcome_message=False, reconnect_timeout=10, message_history_length=100, favicon=_ICON,
        gzip_middleware_factory=None,
    )  # fmt: skip
    return app


def _unknown(house: House, ways: list[tuple[str, str]]) -> Callable[[Request, Exception], Any]:
    """Answers whoever asks for a page that there is not."""

    def answer(request: Request, _error: Exception) -> Response:
        if not request.headers.get("accept", "").startswith("text/html"):
            return PlainTextResponse(f"dsbench: no page {request.url.path[:200]}\n", 404)
        blank = ui.page("", title="No such page – dsbench")
        with Client(blank, request=request) as client, frame.framed(house, "No such page", "", ways):
            parts.problem(f"There is no page {request.url.path[:200]}.", "choose one of these")
            with parts.tag("div", cls="go"):
                for title, address in ways:
                    parts.link(title, address, "button")
        return client.build_response(request, 404)

    return answer


_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#005a9c"/>'
    '<path d="M3 12 6 7l3 2 4-6" fill="none" stroke="#fff" stroke-width="2"/></svg>'
)


def _shown(one: Page, house: House, ways: list[tuple[str, str]]) -> Callable[[Request], None]:
    def shown(request: Request) -> None:
        asked = request.query_params
        with frame.framed(house, one.heading, one.path, ways):
            try:
                one.build(house, asked)
            except (ArchiveError, SpecError) as error:
                parts.problem(str(error), error.remedy)

    return shown
