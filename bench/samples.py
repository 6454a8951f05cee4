"""``python -m bench.samples``: the share of all CPU time that sampling the sessions takes.

From the first look of a cycle to the last the kernel counts the CPU time of the thread that looks, of its session in
the server, and of client and server altogether. Nothing is estimated. It is read before each look, while the sessions
of the load are there: after the cycle what ended ones took would be missing in the whole. Reading it does not count.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from unittest.mock import patch

import dsbench
from dsbench import servers
from dsbench.measure.monitors import WATCHERS, MonitorSession, proc
from dsbench.measure.monitors.sessions import SessionSeen, Watcher
from dsbench.spec import Target

GOALS: Final = {"select": 0.01, "tpcb": 0.005}
CLIENTS: Final = 8
_BEFORE: Final = 3
"""Looks of a watcher before the clock."""
_THREAD: Final = {
    "postgres": "SELECT pg_catalog.pg_backend_pid()::text AS id",
    "mysql": "SELECT tid AS id FROM information_schema.processlist WHERE id = connection_id()",
}
"""Asks the server for the thread of the session, as the kernel numbers it."""


@dataclass(frozen=True)
class Taken:
    """CPU time in ns since something began."""

    here: int
    """Of the thread that looks."""
    session: int
    whole: int
    """Of this process and the server."""


class Metered:
    """A watcher, with what it takes from the first look of the cycle on."""

    def __init__(self, inner: Watcher, asked: MonitorSession, thread: str, server: dsbench.servers.Server) -> None:
        self.least_s = inner.least_s
        self._inner, self._asked, self._thread, self._server = inner, asked, thread, server
        self._tid = 0
        self._begun: Taken | None = None
        self._reading_ns = 0
        self.taken = Taken(0, 0, 0)
        self.looks = -_BEFORE

    def open(self) -> None:
        self._inner.open()
        self._tid = int(self._asked.fetch(self._thread)[0]["id"] or 0)

    def look(self) -> Iterable[SessionSeen]:
        if self.looks >= 0:
            began_ns = time.thread_time_ns()
            now = self._read(began_ns)
            begun = self._begun = self._begun or now
            self.taken = Taken(now.here - begun.here, now.session - begun.session, now.whole - begun.whole)
            self._reading_ns += time.thread_time_ns() - began_ns
        self.looks += 1
        return list(self._inner.look())

    def close(self) -> None:
        self.looks -= 1  # No reading comes after the last one.
        self._inner.close()

    def _read(self, here_ns: int) -> Taken:
        whole_ns = time.process_time_ns() - self._reading_ns
        scheduled = [proc.scheduled(proc.ROOT, pid) for pid in self._server.pids()]
        threads = {tid: one.ran_ns for of in scheduled for tid, one in of.items()}
        return Taken(here_ns - self._reading_ns, threads[self._tid], whole_ns + sum(threads.values()))


def main() -> None:
    """Measures each product and workload, and prints a line for each."""
    parser = argparse.ArgumentParser(prog="python -m bench.samples", description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, default=5, help="of each product and workload [5]")
    parser.add_argument("--duration", type=float, default=5.0, help="seconds of a cycle [5]")
    parser.add_argument("--samples", type=int, help="looks a second [as a run without --samples has them]")
    parser.add_argument("--only", default="", help="what has this text in its name, such as postgresql select")
    asked = parser.parse_args()
    missed = False
    print(f"{CLIENTS} clients, {asked.cycles} cycles of {asked.duration:g} s")
    for product in ("postgresql", "mariadb"):
        for workload, goal in GOALS.items():
            if asked.only in f"{product} {workload}":
                found = measure(product, workload, asked.cycles, asked.duration, asked.samples)
                shares = [(one.taken.here + one.taken.session) / one.taken.whole for one in found]
                share, looks = statistics.mean(shares), sum(one.looks for one in found)
                here, session = (
                    sum(getattr(one.taken, of) for one in found) / looks / 1e6 for of in ("here", "session")
                )
                missed |= share > goal
                print(f"{product:10} {workload:6} {share:.2%} of the CPU time ({min(shares):.2%} to {max(shares):.2%});"
                      f" goal {goal:.1%}: {'missed' if share > goal else 'met'};"
                      f" {looks / asked.cycles / asked.duration:.1f} looks a second, each {here:.2f} ms in the client"
                      f" and {session:.2f} ms in the server", flush=True)  # fmt: skip
    sys.exit(missed)


def measure(product: str, workload: str, cycles: int, duration: float, samples: int | None) -> list[Metered]:
    """What the sampler of each cycle took."""
    found: list[Metered] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.start(Target(url=f"private:{product}"), CLIENTS) as server,
    ):

        def meter(dialect: str, asked: MonitorSession) -> Metered:
            found.append(Metered(WATCHERS[dialect](asked), asked, _THREAD[dialect], server))
            return found[-1]

        metered = {dialect: (lambda asked, of=dialect: meter(of, asked)) for dialect in _THREAD}
        with patch("dsbench.measure.surroundings.WATCHERS", metered):
            dsbench.run(
                server.url, workload=workload, scales=(10,), cycles=cycles, duration=duration, clients=CLIENTS,
                samples=samples, placement="free", out=Path(folder),
            )  # fmt: skip
    return found


if __name__ == "__main__":
    main()
