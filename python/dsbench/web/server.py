"""What ``dsbench web`` listens to."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from dsbench.cluster import how_to_install
from dsbench.spec import SpecError
from dsbench.web.door import ADDRESS, Door

PORT: Final = 8080


def serve(archives: Path, port: int) -> None:
    """Serves the pages over the folder ``archives`` until Ctrl-C; prints the address that lets a browser in.

    ``port`` 0 takes any that is free. ``SpecError`` where the extra is missing or the port is taken,
    ``ArchiveError`` where the folder cannot be written.
    """
    # It keeps nothing; what it would keep must not lie beside the archives.
    os.environ.setdefault("NICEGUI_STORAGE_PATH", str(Path(tempfile.gettempdir()) / "dsbench-web-nothing"))
    try:
        import uvicorn

        from dsbench.web.app import application
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("dsbench"):
            raise
        words = f"the pages need NiceGUI, which is not installed ({error.name} is missing)"
        raise SpecError("dsbench web", words, how_to_install("web")) from None
    from dsbench.web.house import House

    house = House.of(archives)
    with _listening(port) as listener:
        door = Door(application(house), listener.getsockname()[1], _tell)
        config = uvicorn.Config(door, log_level="warning", access_log=False, lifespan="on", server_header=False)
        server = uvicorn.Server(config)
        server.main_loop = lambda: _calm(server)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    if (going := house.runs.going()) is not None:
        print(f"the run goes on: {going.archive or going.target}; dsbench web shows it again", file=sys.stderr)


async def _calm(server: Any) -> None:
    """Looks twice a second whether the server should end, and not ten times, beside a benchmark."""
    number = 0
    while not await server.on_tick(number):
        number += 10
        await asyncio.sleep(0.5)


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
