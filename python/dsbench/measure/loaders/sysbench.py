"""sysbench as the client of a run: it tells a histogram and a line for each second, and not what each client did."""

from __future__ import annotations

import os
import re
from math import exp, log
from typing import Any, Final

import numpy as np

from dsbench.archive.columns import COUNTERS
from dsbench.measure.drivers.peers import environment, program, script
from dsbench.measure.loaders.peers import Peer

_LEAST_MS: Final = 0.001
_STEP: Final = log(100_000 / _LEAST_MS) / 1023


class Sysbench(Peer):
    """sysbench under the plan of a run."""

    def _command(self) -> tuple[list[str], dict[str, str]]:
        spec, target = self.spec, self.target
        calls = {
            ("pgsql", "tpcb"): "SELECT tpcb_transaction(?::int, ?::int, ?::int, ?::int)",
            ("pgsql", "select"): "SELECT tpcb_select(?::int)",
            ("mysql", "tpcb"): "CALL tpcb_transaction(?, ?, ?, ?)", ("mysql", "select"): "SELECT tpcb_select(?)",
        }  # fmt: skip
        driver, env = self.dialect, environment(target, spec.isolation)
        lines = {"db-driver": driver, "threads": self.threads, "time": f"{spec.duration:.0f}", "events": 0}
        lines |= {"rand-type": "uniform", "report-interval": 1, "percentile": 99, "histogram": "on"}
        lines |= {"rand-seed": self.seed % 2**31, "db-ps-mode": "auto" if spec.prepare else "disable"}
        lines |= {"verbosity": 3}
        if driver == "pgsql":
            lines |= {"pgsql-host": env.get("PGHOST", ""), "pgsql-port": env.get("PGPORT", "5432")}
            lines |= {"pgsql-user": env.get("PGUSER", ""), "pgsql-db": env.get("PGDATABASE", ""), "pgsql-password": ""}
        else:
            lines |= {"mysql-user": target.user, "mysql-password": target.password or os.environ.get("MYSQL_PWD", "")}
            where = {"mysql-host": target.host, "mysql-port": target.port or 3306}
            socket = target.parameters.get("socket")
            lines |= {"mysql-db": "dsbench", **({"mysql-socket": socket} if socket else where)}
        settings = self._folder / "settings"
        settings.touch(mode=0o600)
        settings.write_text("".join(f"{name}={value}\n" for name, value in lines.items() if value != ""))
        call = calls[driver, spec.workload] if self.call == "procedure" else ""
        level = f"SET SESSION TRANSACTION ISOLATION LEVEL {spec.isolation.replace('-', ' ').upper()}"
        own = [f"--scale={self.scale}", f"--work={spec.workload}", f"--call={call}"]
        own.append(f"--setup={level if driver == 'mysql' else ''}")
        return [program("sysbench"), f"--config-file={settings}", script("sysbench.lua"), *own, "run"], env

    def _read(self) -> dict[str, Any]:
        said = self._said
        rows = [(float(ms), int(n)) for ms, n in re.findall(r"^\s*([\d.]+) \|\**\s+(\d+)$", said, re.MULTILINE)]
        total = sum(count for _, count in rows)
        errors = re.search(r"ignored errors:\s+(\d+)", said)
        took = re.search(r"total time:\s+([\d.]+)s", said)
        summed = re.search(r"^\s*sum:\s+([\d.]+)", said, re.MULTILINE)
        threads, duration = self.ready(), round(self.spec.duration * 1e9)
        counters = np.zeros((threads, len(COUNTERS)), np.uint64)
        last = min(duration, round(float(took[1]) * 1e9)) if took else duration
        # It counts the last transaction of each client as well, which ended after the time, and does not tell which
        # they are: all classes of its histogram lose their part of them.
        late = min(threads, total) if took and float(took[1]) * 1e9 > duration else 0
        kept = 1 - late / total if total else 0.0
        counts = np.diff(np.rint(np.cumsum([count for _, count in rows]) * kept), prepend=0)
        whole = {
            "committed": total - late, "in_flight": late, "late_commits": late,
            "failed": int(errors[1]) if errors else 0,
            "residence_ns": round(float(summed[1]) * 1e6 * kept) if summed else 0,
        }  # fmt: skip
        whole["response_ns"] = whole["residence_ns"]
        for name in ("min", "max"):
            told = re.search(rf"^\s*{name}:\s+([\d.]+)", said, re.MULTILINE)
            counters[:, COUNTERS.index(f"residence_{name}_ns")] = round(float(told[1]) * 1e6) if told else 0
        for name, value in whole.items():
            counters[:, COUNTERS.index(name)] = _even(value, threads)
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


def _even(value: int, threads: int) -> list[int]:
    return [value // threads + (number < value % threads) for number in range(threads)]


def _seconds_of(said: str) -> list[tuple[int, ...]]:
    line = r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) .*lat \(ms,99%\): ([\d.]+) err/s: ([\d.]+)"
    return [
        (0, int(second) - 1, 0, round(float(tps)), round(float(errors)), 0, round(float(p99) * 1e6), 0)
        for second, tps, p99, errors in re.findall(line, said, re.MULTILINE)
    ]
