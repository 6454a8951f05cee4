"""What the check is told of a cycle whose server went away: all that may be in the database."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from dsbench.archive import LOCAL
from dsbench.children import Child
from dsbench.measure.beside import NullPostgresql
from dsbench.measure.loaders import Bench, TargetDatabase, now_ns
from dsbench.measure.loaders.results import NodePart, NodeResult
from dsbench.measure.scale import Counts
from dsbench.spec import build
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough
from fixtures.waiting import until

CLIENTS = 4


@pytest.mark.parametrize("reconnect", mostly_thorough([False, True], False))
@unless_stalled
def test_calls_under_way_when_a_server_is_lost_may_have_committed(tmp_path: Path, reconnect: bool) -> None:
    """Each client has sent a call, which is a transaction of its own, to a server that answers no more."""
    with Child(NullPostgresql, "the null server") as server:
        server.ask("listen", str(tmp_path / ".s.PGSQL.5432"))
        url = f"postgresql://null@127.0.0.1:{server.answer()}/null?sslmode=disable"
        options = {"clients": CLIENTS, "duration": 30, "call": "procedure", "scales": (1,), "reconnect": reconnect}
        spec = build({"target": {"url": url}, **options})
        cycle = Bench(TargetDatabase(url), "tpcb", 1, "procedure", {}).cycle(spec, 1, None)
        cycle.connect(10, lambda *_: None)
        start = now_ns() + 50_000_000
        cycle.start(start)
        assert until(lambda: cycle._source.totals()[0] > 100 * CLIENTS)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(1)  # Each client has sent its next call.
        server.end(0.0)
        cycle.wait(start, 5, lambda *_: None)
    result = cycle.join()
    assert result.failure is not None
    assert result.failure.kind == "disconnected"
    told = {error: count for _, _, error, _, count, _ in result.errors}
    counts = Counts(1)
    counts.add((1, 1), [NodePart("far", "the connection was lost", NodeResult(LOCAL, result), loaded=True)])
    committed, unknowns, _ = counts.counted()
    assert committed[0] > 0
    (unknown,) = unknowns
    assert unknown == told.get("unknown", 0), "what the errors tell of, the check allows for"
    # With --reconnect a client may have been opening its connection in that moment.
    assert unknown == CLIENTS or (reconnect and unknown < CLIENTS)
