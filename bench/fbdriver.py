"""firebird-driver as a load generator: a loop of one connection in a process of its own.

``python -m bench.fbdriver JSON`` runs it and prints what it cost as JSON. Its transactions are those of
dsbench's engine: single selects in one transaction that only reads, a call in a transaction of its own.
"""

from __future__ import annotations

import glob
import importlib.metadata
import importlib.util
import json
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from bench.process import Measured, run

CALL = "EXECUTE PROCEDURE tpcb_transaction(?, ?, ?, ?)"
SELECT = "SELECT abalance FROM account WHERE aid = ?"

_LIBRARIES = ("/usr/lib/*/libfbclient.so.2", "/usr/lib*/libfbclient.so.2", "/opt/firebird/lib/libfbclient.so.2")


@dataclass(frozen=True)
class Loop:
    """What is run. The login is in the environment, as ``ISC_USER`` and ``ISC_PASSWORD``."""

    url: str
    workload: str
    """``tpcb``, as a call; or ``select``, as a statement."""
    scale: int
    duration: float


def available() -> bool:
    """Whether the driver is installed (extra ``drivers``)."""
    return importlib.util.find_spec("firebird") is not None and importlib.util.find_spec("firebird.driver") is not None


def version() -> str:
    """Name and version."""
    return f"firebird-driver {importlib.metadata.version('firebird-driver')}, Python {sys.version.split()[0]}"


def measure(loop: Loop) -> Measured:
    """Runs ``loop`` in a process of its own."""
    command = [sys.executable, "-m", "bench.fbdriver", json.dumps(asdict(loop))]
    return Measured(**json.loads(run(command, {}, limit_s=loop.duration + 120).output))


def _run(loop: Loop) -> Measured:
    transaction = _opened(loop)
    transaction()  # the first one prepares and connects what it needs
    began, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    count, end = 0, start + loop.duration
    while time.perf_counter() < end:
        transaction()
        count += 1
    elapsed, ended = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return Measured(count, count / elapsed, ended.ru_utime - began.ru_utime, ended.ru_stime - began.ru_stime)


def _opened(loop: Loop) -> Callable[[], Any]:
    """Connects; gives a function that runs one transaction."""
    from firebird.driver import Isolation, TraAccessMode, connect, driver_config, tpb

    # dsbench takes the system's library; the driver would prefer that of an embedded engine beside it.
    found = [path for place in _LIBRARIES for path in sorted(glob.glob(place))]  # noqa: PTH207 - they are absolute
    driver_config.fb_client_library.value = found[0] if found else None
    parts = urlsplit(loop.url)
    place = f"inet://{parts.hostname}:{parts.port}/{unquote(parts.path.removeprefix('/'))}"
    user, password = (os.environ[name] for name in ("ISC_USER", "ISC_PASSWORD"))
    connection = connect(place, user=user, password=password, charset="UTF8")
    writes = loop.workload == "tpcb"
    mode = TraAccessMode.WRITE if writes else TraAccessMode.READ
    parameters = tpb(Isolation.READ_COMMITTED_RECORD_VERSION, lock_timeout=0, access_mode=mode)
    transactions = connection.transaction_manager(default_tpb=parameters)
    cursor, draw = transactions.cursor(), random.Random(1).randrange
    transactions.begin()
    statement = cursor.prepare(CALL if writes else SELECT)
    transactions.commit()

    def select() -> Any:
        cursor.execute(statement, (1 + draw(100_000 * loop.scale),))
        return cursor.fetchone()

    def tpcb() -> Any:
        teller = draw(10 * loop.scale)
        branch = teller // 10
        home = branch if loop.scale == 1 or draw(100) < 85 else (branch + 1 + draw(loop.scale - 1)) % loop.scale
        account = home * 100_000 + draw(100_000)
        transactions.begin()
        cursor.execute(statement, (account + 1, teller + 1, branch + 1, draw(-999_999, 1_000_000)))
        row = cursor.fetchone()
        transactions.commit()
        return row

    return tpcb if writes else select


if __name__ == "__main__":
    print(json.dumps(asdict(_run(Loop(**json.loads(sys.argv[1]))))))
