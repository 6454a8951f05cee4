"""Causes that are planted on real private servers, and what ``why`` names first.

``make why`` runs all of them three times each and prints them as a table; ``make why PLANTED="-n 1 hot-row"`` runs
some. Each is what its words say and nothing else: a run of dsbench as a user would make it, with something put around it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

import dsbench
from dsbench import servers
from dsbench.read.subjects.why import Why, WhyResult
from dsbench.spec import Target
from dsbench.stats import shares

_COMMON: Final = ("--cycles", "2", "--duration", "4", "--placement", "free", "--quiet")
_CPU: Final = frozenset({shares.CPU, shares.QUEUE})
_CLIENT: Final = frozenset({shares.CLIENT, shares.CLIENT_QUEUE, shares.CLIENT_TURN})
_STORAGE: Final = frozenset({shares.FLUSH, shares.READ, shares.WRITE})
_QUIET: Final = 0.15
"""Share of the CPUs that others may use when a run begins."""


@dataclass
class Ground:
    """Where a run is made."""

    arguments: list[str]
    within: list[str] = field(default_factory=list)
    """The command in front of dsbench."""


Plant = Callable[[Path], AbstractContextManager[Ground]]


@dataclass(frozen=True)
class Planted:
    """One cause, how it is made, and by what it is named."""

    name: str
    words: str
    plant: Plant
    causes: frozenset[str]
    """Classes of which the first named is to be one; without any: classes that may not be first are ``refused``."""
    refused: frozenset[str] = frozenset()
    says: str = ""
    """What the sentence or the lines below it have to say as well."""

    def named(self, why: Why) -> bool:
        """Whether ``why`` names it first."""
        first = why.causes[0].kind
        if self.refused:
            return first not in self.refused
        return first in self.causes and self.says in " ".join((why.sentence, why.statement, *why.remarks))


def on(target: str, *arguments: str, script: str = "") -> Plant:
    """A run against a private server, and no more around it."""

    @contextmanager
    def plant(folder: Path) -> Iterator[Ground]:
        yield Ground([target, *arguments, *_script(folder, script)])

    return plant


def _script(folder: Path, text: str) -> list[str]:
    if not text:
        return []
    (folder / "planted.sql").write_text(text)
    return ["--script", str(folder / "planted.sql")]


def after_filling(target: str, limits: Sequence[str], *arguments: str) -> Plant:
    """The same on a database that was filled without the limits, which would make that slow as well."""

    @contextmanager
    def plant(folder: Path) -> Iterator[Ground]:
        base = Path(tempfile.mkdtemp(prefix="planted-"))
        base.chmod(0o755)
        try:
            command = [sys.executable, "-m", "dsbench", "run", target, "--set", f"directory={base}", "--keep", "--quiet"]
            short = ["--cycles", "1", "--duration", "0.2", "--placement", "free", "--out", str(folder / "filled")]
            subprocess.run([*command, *arguments, *short], check=True, capture_output=True)
            yield Ground([target, "--set", f"directory={base}", "--reuse", *arguments, *limits])
        finally:
            shutil.rmtree(base)

    return plant


def busy(programs: int, *arguments: str) -> Plant:
    """Other programs that do nothing but use CPUs."""

    @contextmanager
    def plant(_folder: Path) -> Iterator[Ground]:
        command = [sys.executable, "-c", "while True: pass"]
        others = [subprocess.Popen(command, start_new_session=True) for _ in range(programs)]
        try:
            yield Ground(list(arguments))
        finally:
            for one in others:
                one.kill()
                one.wait()

    return plant


def over_network(delay_s: float, *arguments: str) -> Plant:
    """Client and server on two machines, with ``delay_s`` for a message and its answer."""

    @contextmanager
    def plant(_folder: Path) -> Iterator[Ground]:
        with ExitStack() as held:
            line = held.enter_context(Line(delay_s))
            target = Target(url="private:postgresql", settings={"listen_addresses": line.host, "fsync": "off"})
            server = held.enter_context(servers.start(target, 40))
            yield Ground([server.url, *arguments], line.within)

    return plant


def on_tables(product: str, sql: str, script: str, *arguments: str) -> Plant:
    """A server on which ``sql`` has made tables, and a run of ``script`` on them."""

    @contextmanager
    def plant(folder: Path) -> Iterator[Ground]:
        with servers.start(Target(url=f"private:{product}", settings={"fsync": "off"}), 40) as server:
            subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", server.url], input=sql, text=True, check=True)
            yield Ground([server.url, "--existing", *_script(folder, script), *arguments])

    return plant


def with_flip(sql: str, script: str, seek: str, drop: str, *arguments: str) -> Plant:
    """As ``on_tables`` of PostgreSQL; ``drop`` runs once, when a session of the load has been seen in ``seek``."""

    @contextmanager
    def plant(folder: Path) -> Iterator[Ground]:
        with on_tables("postgresql", sql, script, *arguments)(folder) as ground:
            url, over = ground.arguments[0], threading.Event()

            def flip() -> None:
                seen = f"SELECT 1 FROM pg_stat_activity WHERE query LIKE '{seek}%' AND pid <> pg_backend_pid() LIMIT 1"
                while not over.wait(0.5):
                    if subprocess.run(["psql", "-qXAtc", seen, url], capture_output=True, check=True).stdout.strip():
                        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", "-c", drop, url], check=True)
                        return

            thread = threading.Thread(target=flip)
            thread.start()
            try:
                yield ground
            finally:
                over.set()
                thread.join()

    return plant


class Line:
    """A network namespace at the end of a line that takes its time: packets go through this process, which holds them.

    It needs /dev/net/tun alone: not every kernel has netem.
    """

    def __init__(self, delay_s: float) -> None:
        """``delay_s``: for a message and its answer together."""
        number = os.getpid() % 250
        self.host, self._peer = f"10.78.{number}.1", f"10.78.{number}.2"
        self._name, self._half_s = f"dsbwhy{number}", delay_s / 2
        self.within = ["ip", "netns", "exec", self._name]
        self._ends: list[int] = []
        self._over = threading.Event()

    def __enter__(self) -> Line:
        near, far = f"{self._name}a", f"{self._name}b"
        self._ends = [_tun(near), _tun(far)]
        for line in (
            f"netns add {self._name}", f"link set {far} netns {self._name}", f"address add {self.host}/24 dev {near}",
            f"link set {near} up", f"-n {self._name} address add {self._peer}/24 dev {far}",
            f"-n {self._name} link set {far} up", f"-n {self._name} link set lo up",
        ):  # fmt: skip
            subprocess.run(["ip", *line.split()], check=True)
        self._threads = [
            threading.Thread(target=self._carry, args=ends, daemon=True) for ends in (self._ends, self._ends[::-1])
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            os.close(end)
        subprocess.run(["ip", "netns", "delete", self._name], check=False)

    def _carry(self, taken: int, given: int) -> None:
        os.set_blocking(taken, False)
        held: deque[tuple[float, bytes]] = deque()
        while not self._over.is_set():
            try:
                held.append((time.monotonic() + self._half_s, os.read(taken, 65536)))
                continue
            except BlockingIOError:
                pass
            now = time.monotonic()
            while held and held[0][0] <= now:
                os.write(given, held.popleft()[1])
            time.sleep(min(0.0002, max(0.0, held[0][0] - now)) if held else 0.0002)


def _tun(name: str) -> int:
    """A line of the kernel whose packets this process reads and writes (Documentation/networking/tuntap.rst)."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
    return end


_ITEMS: Final = (
    "CREATE TABLE item (id int PRIMARY KEY, code int NOT NULL, note text NOT NULL);"
    "INSERT INTO item SELECT n, n, repeat('x', 80) FROM generate_series(1, 50000) n; VACUUM ANALYZE item;"
)
_BY_CODE: Final = "\\set x random(1, 50000)\nSELECT note FROM item WHERE code = :x;\n"

_FIRST: Final = "\\set x random(1, 50000)\nSELECT id FROM item WHERE code = :x ORDER BY id LIMIT 1;\n"
"""By the index of ``code`` where statistics tell that one row has it; else rows are read in order until one is met."""
_CODES: Final = _ITEMS.replace("VACUUM", "CREATE INDEX item_code ON item (code); VACUUM")
_FORGET: Final = (
    "DELETE FROM pg_statistic WHERE starelid = 'item'::regclass; ALTER TABLE item SET (autovacuum_enabled = off)"
)

LIST: Final = (
    Planted("hot-row", "all clients change one row: `private:postgresql`, scale 1, 16 clients",
            on("private:postgresql", "--scales", "1", "--clients", "16"), frozenset({shares.LOCK}), says="branch"),
    Planted("slow-flush", "the server's writes are limited to 1 MiB/s: `private:postgresql`, scale 20, 4 clients",
            after_filling("private:postgresql", ("--limit", "write=1MiB/s"), "--scales", "20", "--clients", "4"),
            frozenset({shares.FLUSH})),
    Planted("slow-reads", "8 MB of buffers, 96 MiB of memory, reads limited to 16 MiB/s: `select` at scale 20",
            after_filling("private:postgresql?shared_buffers=8MB",
                          ("--limit", "read=16MiB/s", "--limit", "memory=96MiB"), "--workload", "select",
                          "--scales", "20", "--clients", "8"), frozenset({shares.READ})),
    Planted("cpu-bound", "every statement computes: `private:postgresql`, 8 clients",
            on("private:postgresql", "--scales", "1", "--clients", "8",
               script="SELECT sum(n * n) FROM generate_series(1, 5000) n;\n"), _CPU),
    Planted("slow-client", "the load is made by psycopg with 64 clients: `select` at scale 1",
            on("private:postgresql", "--workload", "select", "--scales", "1", "--clients", "64", "--driver", "psycopg"),
            _CLIENT),
    Planted("network", "5 ms for a message and its answer, between two network namespaces: `tpcb`, 8 clients",
            over_network(0.005, "--scales", "10", "--clients", "8"), frozenset({shares.NETWORK})),
    Planted("missing-index", "a statement looks for a row of 50,000 by a column without an index: 4 clients",
            on_tables("postgresql", _ITEMS, _BY_CODE, "--scales", "1", "--clients", "4"), _CPU, says="item WHERE code"),
    Planted("plan-flip", "the statistics of a table are dropped in the first cycle: its rows are read in another order",
            with_flip(_CODES, _FIRST, "SELECT id FROM item", _FORGET, "--scales", "1", "--clients", "4"),
            _CPU, says="the plan changed during the cycles: SELECT id FROM item"),
    Planted("checkpoints", "4 MiB of log on MariaDB, writes limited to 4 MiB/s: checkpoints wait for pages",
            after_filling("private:mariadb?innodb_log_file_size=4M&innodb_flush_log_at_trx_commit=0",
                          ("--limit", "write=4MiB/s"), "--scales", "20", "--clients", "8"), frozenset({shares.WRITE, shares.FLUSH, shares.LATCH}),
            says="checkpoint"),
    Planted("other-program", "sixteen busy loops beside it: `select` on PostgreSQL at scale 1, 4 clients",
            busy(16, "private:postgresql", "--workload", "select", "--scales", "1", "--clients", "4"),
            frozenset({shares.FOREIGN})),
    Planted("innodb-locks", "all clients change one row: `private:mariadb`, scale 1, 16 clients",
            on("private:mariadb", "--scales", "1", "--clients", "16"), frozenset({shares.LOCK}), says="branch"),
    Planted("sqlite-writer", "one writer at a time: `private:sqlite`, scale 1, 8 clients",
            on("private:sqlite", "--scales", "1", "--clients", "8"), frozenset({shares.LOCK})),
    Planted("firebird-locks", "pages go from process to process by the lock manager: Firebird Classic, 16 clients",
            on("private:firebird?ServerMode=Classic", "--scales", "1", "--clients", "16"),
            frozenset({shares.LOCK, shares.LATCH})),
    Planted("none", "nothing: `select` on PostgreSQL at scale 10, 2 clients",
            on("private:postgresql", "--workload", "select", "--scales", "10", "--clients", "2"),
            frozenset(), refused=_STORAGE | {shares.LOCK, shares.LATCH}),
    Planted("none-mariadb", "nothing: `select` on MariaDB at scale 10, 2 clients",
            on("private:mariadb", "--workload", "select", "--scales", "10", "--clients", "2"),
            frozenset(), refused=_STORAGE | {shares.LOCK, shares.LATCH}),
)  # fmt: skip


def look(planted: Planted) -> Why:
    """Runs it, and says where the time went at its only scale."""
    with tempfile.TemporaryDirectory() as name, planted.plant(Path(name)) as ground:
        command = [*ground.within, sys.executable, "-m", "dsbench", "run", *ground.arguments, *_COMMON]
        done = subprocess.run([*command, "--out", f"{name}/out"], capture_output=True, text=True, check=False)
        found = sorted(Path(name, "out").glob("*.zip"))
        if done.returncode or not found:
            raise RuntimeError(f"{planted.name}: {done.stderr}")
        if kept := os.environ.get("PLANTED_KEPT"):
            shutil.copy(found[0], Path(kept) / f"{planted.name}-{time.time():.0f}.zip")
        (why,) = dsbench.Archive.open(found[0]).evaluate().of(WhyResult).why.values()
        return why


def _wait_for_quiet(patience_s: float = 120) -> float:
    """Until others leave the CPUs alone, or for as long; the share of them that they use then."""
    until = time.monotonic() + patience_s
    while (used := psutil.cpu_percent(1.0) / 100) > _QUIET and time.monotonic() < until:
        pass
    return used


def main() -> None:
    """Runs some or all, and prints a table; fails where the first cause of more than one in thirteen is another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=3, help="runs of each")
    parser.add_argument("names", nargs="*", help="of these only")
    asked = parser.parse_args()
    right = made = 0
    print("| planted | what | named first | said |\n|---|---|--:|---|", flush=True)
    for one in LIST:
        if asked.names and one.name not in asked.names:
            continue
        seen: list[Why] = []
        for _ in range(asked.n):
            _wait_for_quiet()
            try:
                seen.append(look(one))
            except RuntimeError as error:
                print(error, file=sys.stderr)
        hits = sum(map(one.named, seen))
        right, made = right + hits, made + asked.n
        said = "; ".join(dict.fromkeys(why.sentence for why in seen))
        print(f"| {one.name} | {one.words} | {hits} of {asked.n} | {said} |", flush=True)
    print(f"\n{right} of {made}")
    sys.exit(13 * (made - right) > made)


if __name__ == "__main__":
    main()
