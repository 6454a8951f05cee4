"""A null PostgreSQL for a while: a server that answers at once, in a separate process like a real one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dsbench
from dsbench.generator import NULL_SERVER
from dsbench.servers.folder import Folder

UNIX, TCP = "unix socket", "TCP"


@contextmanager
def null_postgresql() -> Iterator[dict[str, str]]:
    """Transport (``UNIX`` or ``TCP``, on this machine) to the URL by which the server is reached.

    ``OSError`` when it cannot be started. It ends with the block, and with this process in any case.
    """
    with ExitStack() as ending:
        # Marked, so that a later run removes it where this program is killed.
        home = Folder.create(Path(tempfile.gettempdir()).resolve(), "null")
        ending.callback(home.remove)
        # -P: a folder called dsbench where the user stands is none of ours.
        command = [sys.executable, "-P", "-c", NULL_SERVER, str(home.path / ".s.PGSQL.5432")]
        path = os.pathsep.join([str(Path(dsbench.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": path}, start_new_session=True, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            if not port:
                raise OSError("the null server did not start")
            yield {
                UNIX: f"postgresql://null@/null?host={home.path}&port=5432",
                TCP: f"postgresql://null@127.0.0.1:{port}/null?sslmode=disable",
            }
