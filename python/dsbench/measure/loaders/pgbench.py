"""pgbench as the client of a run: its log has a line for each transaction."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dsbench.archive.columns import COUNTERS
from dsbench.measure.drivers.peers import environment, program, script
from dsbench.measure.loaders.peers import Peer, Words

if TYPE_CHECKING:  # It starts a thread, which a program whose clients are its own is to do without.
    import pyarrow as pa

_SECOND: Final = 10**9
_ENDS: Final = ("residence_min_ns", "residence_max_ns", "first_start_ns", "last_end_ns")


class Pgbench(Peer):
    """pgbench under the plan of a run."""

    def _command(self) -> tuple[list[str], dict[str, str]]:
        spec = self.spec
        suffix = "-call" if self.call == "procedure" else ""
        jobs = min(spec.carriers or os.cpu_count() or 1, self.threads)
        words = [
            program("pgbench"), "-n", "-f", script(f"pgbench-{spec.workload}{suffix}.sql"),
            "-D", f"scale={self.scale}", "-M", "prepared" if spec.prepare else "simple",
            "-c", str(self.threads), "-j", str(jobs), "-T", str(round(spec.duration)),
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
        threads, counters = self.ready(), np.zeros((self.ready(), len(COUNTERS)), np.int64)

        def put(name: str, values: Any) -> None:
            counters[:, COUNTERS.index(name)] = values

        def sums(rows: Any, weights: Any = None) -> Any:
            return np.bincount(client[rows], None if weights is None else weights[rows].astype(float), threads)

        put("committed", sums(inside))
        put("failed", sums(failed) + sums(timely, retries))
        put("retries", sums(timely, retries))
        put("in_flight", sums(~timely))
        put("late_commits", sums(done & ~timely))
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
