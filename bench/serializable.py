"""``python -m bench.serializable [VERSION …]``: three serializable transactions of PostgreSQL without a serial order.

A reads y and writes x, B writes y, C reads y and x. gdb holds the process of B where it enters ReleasePredicateLocks
during its commit. Meanwhile C begins and reads what B wrote, and A commits; then B goes on, and C reads x. The same is
done without gdb. It needs gdb, psycopg and the right to trace the server's processes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any, Final

import psycopg
from psycopg.errors import SerializationFailure

from dsbench import servers
from dsbench.spec import Target

_X: Final = "SELECT v FROM d WHERE k = 100"
_Y: Final = "SELECT v FROM d WHERE k = 200"
_PATIENCE_S: Final = 20.0


@contextmanager
def held(pid: int) -> Iterator[Callable[[], None]]:
    """A process that will stop where it enters ReleasePredicateLocks; gives what waits until it has. It goes on after
    the block."""
    with tempfile.TemporaryDirectory(prefix="dsbench-gdb-") as folder:
        attached, there, go = (Path(folder, name) for name in ("attached", "there", "go"))
        commands = (
            "set pagination off", "handle SIGUSR1 nostop noprint pass", "handle SIGALRM nostop noprint pass",
            "break ReleasePredicateLocks", f"shell touch {attached}", "continue", f"shell touch {there}",
            f"shell while [ ! -e {go} ]; do sleep 0.05; done", "delete", "detach", "quit",
        )  # fmt: skip
        words = ["gdb", "-q", "-nx", "-batch", "-p", str(pid), *(word for each in commands for word in ("-ex", each))]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet)

        def wait_for(file: Path) -> None:
            give_up = time.monotonic() + _PATIENCE_S
            while not file.exists():
                if time.monotonic() > give_up or process.poll() is not None:
                    sys.exit(f"error: gdb does not hold process {pid}")
                time.sleep(0.02)

        try:
            wait_for(attached)
            time.sleep(0.3)  # until it goes on
            yield lambda: wait_for(there)
        finally:
            go.touch()
            process.wait()


def play(url: str, *, hold: bool) -> str:
    """What C read, or the error that it got."""
    with ExitStack() as stack:
        a, b, c, admin = (stack.enter_context(psycopg.connect(url)) for _ in range(4))
        admin.execute("DROP TABLE IF EXISTS d")
        admin.execute("CREATE TABLE d (k int PRIMARY KEY, v int)")
        admin.execute("INSERT INTO d SELECT k, 0 FROM generate_series(1, 1000) k")
        admin.commit()
        for session in (a, b, c):
            session.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
            # Locks of rows, not of the table.
            session.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
            session.commit()
        a.execute(_Y)
        a.execute("UPDATE d SET v = 1 WHERE k = 100")
        b.execute("UPDATE d SET v = 1 WHERE k = 200")
        if hold:
            with held(b.info.backend_pid) as wait:
                committing = Thread(target=b.commit)
                committing.start()
                wait()
                y = value(c.execute(_Y))
                a.commit()
            committing.join()
        else:
            b.commit()
            y = value(c.execute(_Y))
            a.commit()
        try:
            x = value(c.execute(_X))
            c.commit()
        except SerializationFailure as error:
            return f"C read y = {y} and got error {error.sqlstate}"
        return f"C read y = {y} and x = {x}, and all three committed"


def value(found: psycopg.Cursor[Any]) -> int:
    """The one value of a query."""
    row = found.fetchone()
    assert row is not None
    return int(row[0])


def main(versions: list[str]) -> None:
    """Prints a line for each way."""
    for version in versions or ["15", "18"]:
        with servers.start(Target(url="private:postgresql", version=version), 10) as server:
            for hold in (False, True):
                how = "with B held" if hold else "without gdb"
                print(f"{server.version}, {how}: {play(server.url, hold=hold)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
