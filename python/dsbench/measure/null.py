"""A null PostgreSQL for a while: a server that answers at once, in a separate process like a real one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dsbench.measure.loaders import NULL_SERVER
from dsbench.servers.child import python
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
        process = python(NULL_SERVER, str(home.path / ".s.PGSQL.5432"))
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
