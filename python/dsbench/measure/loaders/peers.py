"""A cycle whose load another program makes, such as pgbench: what it told becomes what the core would have recorded.

The cycle begins with the first transaction of the program, which connects by itself, up to a second after its start.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from math import exp, log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import psutil
from numpy.typing import NDArray

from dsbench import _core
from dsbench.archive.columns import COUNTERS
from dsbench.children import ChildError, ChildProgram
from dsbench.measure.drivers.peers import environment, program, script
from dsbench.measure.loaders.results import SECOND_WORDS
from dsbench.spec import RunSpec
from dsbench.spec.drivers import PEERS
from dsbench.spec.target import Target

if TYPE_CHECKING:
    import pyarrow as pa

Words = NDArray[np.uint64]
_LAST_WORDS: Final = 600
_PREFIX: Final = "dsbench-peer-"
UNTOLD_SUMS: Final = {"untold": 1}
"""By which the check of a workload hears that the client tells no sums of what it did."""


def _sweep() -> None:
    """Removes the folders of runs that were killed: ours by their name and owner, which hold a number of no process."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}[0-9]*-*"):
        with suppress(OSError, ValueError):
            pid = int(path.name.removeprefix(_PREFIX).partition("-")[0])
            if path.lstat().st_uid == os.getuid() and path.is_dir() and not psutil.pid_exists(pid):
                shutil.rmtree(path, ignore_errors=True)


class PeerProgram(ABC):
    """A program that makes the load of a cycle, with the methods of ``_core.Cycle``."""

    def __init__(
        self, spec: RunSpec, url: str, scale: int, dialect: str, call: str, clients: int, seed: int
    ) -> None:
        """``dialect`` as the program calls it; ``call``: "procedure" or "statements"; ``clients`` of this node."""
        self.spec, self.scale, self.dialect, self.call = spec, scale, dialect, call
        self.clients, self.seed = clients, seed
        self.target = Target(url=url)
        _sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._running: ChildProgram | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._said, self._cpu_ns, self._reason = "", (0, 0), "stopped on request"
        self._failed: ChildError | None = None

    @property
    def name(self) -> str:
        """Of the program."""
        return type(self).__name__.lower()

    @abstractmethod
    def _command(self) -> tuple[list[str], dict[str, str]]:
        """Words and environment of the program, which may write into its folder. No password is in the words."""

    def _program(self) -> str:
        """Path of the program, which was there when the run began."""
        if found := program(self.name):
            return found
        raise FileNotFoundError("it is no longer installed")

    @abstractmethod
    def _read(self) -> dict[str, Any]:
        """What it did, in the form of ``_core.Cycle.join``, without what all programs share."""

    def ready(self) -> int:
        """All clients: the program connects them itself."""
        return self.clients

    def start(self, at_ns: int) -> None:
        """Starts the program at ``at_ns``."""
        self._thread = threading.Thread(target=self._run, args=(at_ns,), daemon=True)
        self._thread.start()

    def finished(self) -> bool:
        """True when the program has ended, or never began."""
        return self._stop.is_set() if self._thread is None else not self._thread.is_alive()

    def totals(self) -> tuple[int, int]:
        """Nothing is known before the end."""
        return (0, 0)

    def seconds(self, _start: int) -> list[tuple[int, int, int, int, int]]:
        """Nothing, for the same reason."""
        return []

    def pids(self) -> list[int]:
        """Of the program, once it runs."""
        return [self._running.pid] if self._running is not None else []

    def abandon(self, reason: str | None = None) -> None:
        self._reason = reason or self._reason
        self._stop.set()
        if self._running is not None:
            self._running.end(0.0)

    def join(self) -> dict[str, Any]:
        """Waits for the end and gives what the program told."""
        if self._thread is not None:
            self._thread.join()
        try:
            return self._told()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, at_ns: int) -> None:
        if self._stop.wait(max(0, at_ns - _core.now_ns()) / 1e9):
            return
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            words, env = self._command()
            self._running = ChildProgram(self.name, words, env, self._folder)
            if self._stop.is_set():
                self._running.end(0.0)
            self._said = self._running.wait()
        except ChildError as error:
            self._failed = error
        except OSError as error:
            self._failed = ChildError(f"{self.name} cannot be started: {error}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        pair = (after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)
        self._cpu_ns = (round(pair[0] * 1e9), round(pair[1] * 1e9))

    def _told(self) -> dict[str, Any]:
        failure: tuple[str, str, str] | None = None
        if self._stop.is_set() or self._thread is None:
            failure = ("setup", "", self._reason)
        elif self._failed is not None:
            words = self.target.without_password(self._failed.said.strip()[-_LAST_WORDS:])
            failure = ("setup", "", f"{self._failed}: {words}" if words else str(self._failed))
        clients = self.ready()
        found = self._nothing() if failure is not None else self._read()
        counters: Words = found["counters"]
        counters[:, COUNTERS.index("cpu_ns")] = sum(self._cpu_ns) // clients
        histogram = found.get("histogram") or _core.buckets(found["times"].astype("<u8").tobytes())
        return {
            "counters": counters.astype("<u8").tobytes(),
            "groups": np.zeros(clients, "<u8").tobytes(),
            "histograms": [(0, 0, "residence", histogram)],
            "seconds": _pad(found["seconds"]).tobytes(),
            "statements": [],
            "errors": found.get("errors", []),
            "sums": dict(UNTOLD_SUMS),
            "placements": [(0, "free", clients)],
            "cpu_ns": self._cpu_ns,
            "failure": failure,
            "dropped_trace_rows": 0,
            "untold": PEERS[self.name].untold,
        }

    def _nothing(self) -> dict[str, Any]:
        return {"counters": np.zeros((self.ready(), len(COUNTERS)), np.uint64), "times": np.zeros(0), "seconds": []}


_SECOND: Final = 10**9
_ENDS: Final = ("residence_min_ns", "residence_max_ns", "first_start_ns", "last_end_ns")


class Pgbench(PeerProgram):
    """pgbench under the plan of a run."""

    def _command(self) -> tuple[list[str], dict[str, str]]:
        spec = self.spec
        suffix = "-call" if self.call == "procedure" else ""
        jobs = min(spec.os_threads or os.cpu_count() or 1, self.clients)
        words = [
            self._program(), "-n", "-f", script(f"pgbench-{spec.workload}{suffix}.sql"),
            "-D", f"scale={self.scale}", "-M", "prepared" if spec.prepare else "simple",
            "-c", str(self.clients), "-j", str(jobs), "-T", str(round(spec.duration)),
            f"--random-seed={self.seed % 2**31}", f"--max-tries={spec.tries}",
            "--failures-detailed", "--log", f"--log-prefix={self._folder / 'log'}",
        ]  # fmt: skip
        if spec.reconnect:
            words.append("-C")
        return words, environment(self.target, spec.isolation)

    def _read(self) -> dict[str, Any]:
        import pyarrow as pa
        from pyarrow import csv

        folder = self._folder
        columns = ["client", "number", "time", "script", "epoch", "us", *["retries"] * (self.spec.tries != 1)]
        logs = [one for one in folder.glob("log.*") if one.stat().st_size]
        kinds = dict.fromkeys(columns, pa.int64()) | {"time": pa.string()}
        tables = [
            csv.read_csv(
                one,
                csv.ReadOptions(column_names=columns),
                csv.ParseOptions(delimiter=" "),
                csv.ConvertOptions(column_types=kinds),
            )
            for one in logs
        ]
        if not tables:
            return self._nothing()
        return self._of_log(pa.concat_tables(tables))

    def _of_log(self, log: pa.Table) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        none = np.zeros(log.num_rows, np.int64)

        def column(name: str) -> Any:
            return np.asarray(log[name], dtype=np.int64) if name in log.column_names else none

        text: Any = log["time"]
        done = np.asarray(pc.match_substring_regex(text, "^[0-9]+$"))
        times = np.zeros(log.num_rows, np.int64)
        times[done] = np.asarray(pc.cast(text.filter(pa.array(done)), pa.int64())) * 1000
        ended = column("epoch") * _SECOND + column("us") * 1000
        # The clock of the log is the machine's, of whole microseconds: no start comes before the first of them.
        began = ended - times
        zero = int(began[done].min()) - 1 if done.any() else int(ended.min())
        began, ended = began - zero, ended - zero
        duration = round(self.spec.duration * 1e9)
        timely, client, retries = ended <= duration, column("client"), column("retries")
        inside, failed = done & timely, ~done & timely
        clients, counters = self.ready(), np.zeros((self.ready(), len(COUNTERS)), np.int64)

        def put(name: str, values: Any) -> None:
            counters[:, COUNTERS.index(name)] = values

        def sums(rows: Any, weights: Any = None) -> Any:
            return np.bincount(client[rows], None if weights is None else weights[rows].astype(float), clients)

        put("committed", sums(inside))
        put("failed", sums(failed) + sums(timely, retries))
        put("retries", sums(timely, retries))
        put("in_flight", sums(~timely))
        put("commits_after_window", sums(done & ~timely))
        put("residence_ns", sums(inside, times))
        put("response_ns", sums(inside, times))
        ends = [COUNTERS.index(name) for name in _ENDS]
        for number in np.unique(client[inside]):
            own = inside & (client == number)
            counters[number, ends] = times[own].min(), times[own].max(), began[own].min(), ended[own].max()
        words = Counter(text.filter(pa.array(failed)).to_pylist())
        codes = {"serialization": ("serialization", "40001"), "deadlock": ("deadlock", "40P01")}
        errors = [(0, 0, *codes.get(word, ("statement", "")), count, "") for word, count in words.items()]
        return {
            "counters": counters.astype(np.uint64),
            "times": times[inside],
            "seconds": _by_second(ended[inside], times[inside], ended[failed]),
            "errors": errors,
        }


def _pad(rows: list[tuple[int, ...]]) -> Words:
    """``rows`` of seconds, with the columns that such a program does not tell."""
    told = np.array(rows, dtype="<u8").reshape(len(rows), -1 if rows else 0)
    return np.pad(told, ((0, 0), (0, SECOND_WORDS - told.shape[1])))


def _by_second(ended: Words, times: Words, failed: Words) -> list[tuple[int, ...]]:
    """The rows of ``seconds``: group, second, kind, count, failed, p50_ns, p99_ns, max_ns."""
    rows: list[tuple[int, ...]] = []
    order = np.argsort(ended)
    ended, times = ended[order], times[order]
    last = int(max(ended.max(initial=0), failed.max(initial=0)) // _SECOND)
    for second in range(last + 1):
        first, end = np.searchsorted(ended, (second * _SECOND, (second + 1) * _SECOND))
        here = times[first:end]
        lost = int(((failed // _SECOND) == second).sum())
        p50, p99 = np.quantile(here, (0.5, 0.99)) if len(here) else (0, 0)
        rows.append((0, second, 0, len(here), lost, int(p50), int(p99), int(here.max(initial=0))))
    return rows


_LEAST_MS: Final = 0.001
_STEP: Final = log(100_000 / _LEAST_MS) / 1023


class Sysbench(PeerProgram):
    """sysbench under the plan of a run."""

    def _command(self) -> tuple[list[str], dict[str, str]]:
        spec, target = self.spec, self.target
        calls = {
            ("pgsql", "tpcb"): "SELECT tpcb_transaction(?::int, ?::int, ?::int, ?::int)",
            ("pgsql", "select"): "SELECT tpcb_select(?::int)",
            ("mysql", "tpcb"): "CALL tpcb_transaction(?, ?, ?, ?)", ("mysql", "select"): "SELECT tpcb_select(?)",
        }  # fmt: skip
        driver, env = self.dialect, environment(target, spec.isolation)
        lines = {"db-driver": driver, "threads": self.clients, "time": f"{spec.duration:.0f}", "events": 0}
        lines |= {"rand-type": "uniform", "report-interval": 1, "percentile": 99, "histogram": "on"}
        lines |= {"rand-seed": self.seed % 2**31, "db-ps-mode": "auto" if spec.prepare else "disable"}
        lines |= {"verbosity": 3}
        if driver == "pgsql":
            lines |= {"pgsql-host": env.get("PGHOST", ""), "pgsql-port": env.get("PGPORT", "5432")}
            lines |= {"pgsql-user": env.get("PGUSER", ""), "pgsql-db": env.get("PGDATABASE", ""), "pgsql-password": ""}
        else:
            lines |= {"mysql-user": target.user, "mysql-password": target.password or os.environ.get("MYSQL_PWD", "")}
            host = target.host or os.environ.get("MYSQL_HOST", "")
            where = {"mysql-host": host, "mysql-port": target.port or os.environ.get("MYSQL_TCP_PORT") or 3306}
            socket = target.parameters.get("socket")
            lines |= {"mysql-db": "dsbench", **({"mysql-socket": socket} if socket else where)}
        settings = self._folder / "settings"
        settings.touch(mode=0o600)
        settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items() if value != ""))
        call = calls[driver, spec.workload] if self.call == "procedure" else ""
        level = f"SET SESSION TRANSACTION ISOLATION LEVEL {spec.isolation.replace('-', ' ').upper()}"
        own = [f"--scale={self.scale}", f"--work={spec.workload}", f"--call={call}"]
        own.append(f"--setup={level if driver == 'mysql' else ''}")
        return [self._program(), f"--config-file={settings}", script("sysbench.lua"), *own, "run"], env

    def _read(self) -> dict[str, Any]:
        said = self._said
        rows = [(float(ms), int(n)) for ms, n in re.findall(r"^\s*([\d.]+) \|\**\s+(\d+)$", said, re.MULTILINE)]
        total = sum(count for _, count in rows)
        errors = re.search(r"ignored errors:\s+(\d+)", said)
        took = re.search(r"total time:\s+([\d.]+)s", said)
        summed = re.search(r"^\s*sum:\s+([\d.]+)", said, re.MULTILINE)
        clients, duration = self.ready(), round(self.spec.duration * 1e9)
        counters = np.zeros((clients, len(COUNTERS)), np.uint64)
        last = min(duration, round(float(took[1]) * 1e9)) if took else duration
        # It counts the last transaction of each client as well, which ended after the time, and does not tell which
        # they are: all classes of its histogram lose their part of them.
        late = min(clients, total) if took and float(took[1]) * 1e9 > duration else 0
        kept = 1 - late / total if total else 0.0
        counts = np.diff(np.rint(np.cumsum([count for _, count in rows]) * kept), prepend=0)
        whole = {
            "committed": total - late, "in_flight": late, "commits_after_window": late,
            "failed": int(errors[1]) if errors else 0,
            "residence_ns": round(float(summed[1]) * 1e6 * kept) if summed else 0,
        }  # fmt: skip
        whole["response_ns"] = whole["residence_ns"]
        for name in ("min", "max"):
            told = re.search(rf"^\s*{name}:\s+([\d.]+)", said, re.MULTILINE)
            counters[:, COUNTERS.index(f"residence_{name}_ns")] = round(float(told[1]) * 1e6) if told else 0
        for name, value in whole.items():
            counters[:, COUNTERS.index(name)] = _even(value, clients)
        counters[:, COUNTERS.index("first_start_ns")] = 1
        counters[:, COUNTERS.index("last_end_ns")] = last
        histogram = [(*class_ns(ms), int(count)) for (ms, _), count in zip(rows, counts, strict=True) if count]
        return {
            "counters": counters, "times": np.zeros(0), "seconds": _seconds_of(said),
            "histogram": np.array(histogram, dtype="<u8").tobytes(),
        }  # fmt: skip


def class_ns(ms: float) -> tuple[int, int]:
    """Least and greatest time in ns of the class of its histogram that prints ``ms``, which is rounded.

    Its 1024 classes lie evenly on a logarithmic scale from 1 µs to 100 s (sb_histogram.c): those of different numbers
    share no time, as a fixed share around what is printed would.
    """
    number = round(log(ms / _LEAST_MS) / _STEP) if ms > 0 else 0
    low, high = (round(1e6 * _LEAST_MS * exp((number + side) * _STEP)) for side in (-0.5, 0.5))
    return low, high - 1


def _even(value: int, clients: int) -> list[int]:
    return [value // clients + (number < value % clients) for number in range(clients)]


def _seconds_of(said: str) -> list[tuple[int, ...]]:
    line = r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) .*lat \(ms,99%\): ([\d.]+) err/s: ([\d.]+)"
    return [
        (0, int(second) - 1, 0, round(float(tps)), round(float(errors)), 0, round(float(p99) * 1e6), 0)
        for second, tps, p99, errors in re.findall(line, said, re.MULTILINE)
    ]
