"""The clients that are compared, each in a process of its own, billed by the kernel's account.

dsbench and Python's drivers run one cycle of dsbench's own loop: ``python -m bench.clients`` reads which from stdin.
Other load generators are commands; what starting and connecting cost is measured by a run of one transaction.
"""

from __future__ import annotations

import json
import math
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dsbench.archive.columns import COUNTERS
from dsbench.measure.drivers.peers import environment, program
from dsbench.measure.loaders import Bench, TargetDatabase, now_ns
from dsbench.spec import RunSpec, Target

ROOT: Final = Path(__file__).resolve().parent.parent


class BenchError(Exception):
    """Why a measurement could not be made; the text says where, and what the program printed."""


@dataclass(frozen=True)
class Measured:
    """What one client reached in one measurement. Its CPU time has no part of the server's."""

    transactions: int
    rate_tps: float
    user_s: float
    system_s: float
    clients_user_s: float | None = None
    """CPU time outside of the kernel of the threads that make the load alone, where it is known."""
    least: float | None = None
    """Transactions of the slowest client by the mean of all, where they are known."""
    largest: float | None = None
    """Those of the fastest."""
    server_s: float | None = None
    """CPU time of the server, with the client's start."""
    switches: int | None = None
    """Context switches of the whole machine."""

    @property
    def cpu_us(self) -> float:
        """CPU time of the client per transaction in µs."""
        return (self.user_s + self.system_s) / self.transactions * 1e6

    @property
    def user_us(self) -> float:
        """The part outside of the kernel, in the threads that make the load."""
        return (math.nan if self.clients_user_s is None else self.clients_user_s) / self.transactions * 1e6


Client = Callable[[], Measured]


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    output: str
    remarks: str
    """What it wrote to stderr."""
    user_s: float
    system_s: float


def run(
    command: Sequence[str], env: Mapping[str, str] | None = None, limit_s: float = 300, reads: str = ""
) -> Ended:
    """Runs ``command``, which reads ``reads``, to its end. ``BenchError`` when it fails or takes longer."""
    env, before = {**os.environ, **(env or {})}, resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=limit_s, input=reads, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"{command[0]}: {error}") from error
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return Ended(done.stdout, done.stderr, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)


def dsbench(url: str, scale: int = 1, *, call: str | None = None, kind: int | None = None, **spec: Any) -> Client:
    """One cycle by ``spec``, the settings of a run, on tables that are there. ``kind``: what counts, of several."""
    asked = json.dumps({"url": url, "scale": scale, "call": call, "kind": kind, **spec})
    # The numerical library would start threads that wait for work by spinning.
    env = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "bench.clients"]
    return lambda: Measured(**json.loads(run(command, env, spec["duration"] + 120, asked).output))


def _cycle(asked: dict[str, Any]) -> Measured:
    url, scale, call, kind = (asked.pop(name) for name in ("url", "scale", "call", "kind"))
    spec = RunSpec.model_validate({"target": Target(url=url), "isolation": "read-committed", **asked})
    target = TargetDatabase(url, existing=spec.existing)
    threads, seconds = int(asked["clients"]), float(asked["duration"])
    bench = Bench(target, spec.workload, scale, call, spec.workload_settings, threads, existing=spec.existing)
    cycle = bench.cycle(spec, seed=now_ns() % 1_000_003, trace=None)
    cycle.connect(60 + 0.1 * threads, unseen)
    began = resource.getrusage(resource.RUSAGE_SELF)
    start = now_ns() + 20_000_000 + threads * 100_000
    cycle.start(start)
    cycle.wait(start, 30, unseen)
    # The whole process until its last client ended, with all that dsbench does beside the clients. What adding up the
    # results costs depends on the number of clients alone, as what the peers' start does, which is taken off.
    ended = resource.getrusage(resource.RUSAGE_SELF)
    result = cycle.join()
    if result.failure is not None or (result.total("failed") and not spec.retry):
        raise BenchError(f"{result.failure or result.errors}")
    committed = result.counters[:, :, COUNTERS.index("committed")]  # By client and kind.
    committed = committed.sum(axis=1) if kind is None else committed[:, kind]
    whole = int(committed.sum())
    # What ended after the deadline has no part in the rate, but in the cost, as with the peers.
    late = result.total("commits_after_window") if kind is None else 0
    spent = (ended.ru_utime - began.ru_utime, ended.ru_stime - began.ru_stime)
    if spec.driver != "own":  # The load is made by processes of its own.
        spent = (result.cpu_ns[0] / 1e9, result.cpu_ns[1] / 1e9)
    ends = (float(committed.min() / committed.mean()), float(committed.max() / committed.mean())) if whole else ()
    return Measured(whole + late, whole / seconds, *spent, result.cpu_ns[0] / 1e9, *ends)


def unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


def load(
    command: Sequence[str], few: Sequence[str], many: Sequence[str], said: str, env: Mapping[str, str] | None = None
) -> Measured:
    """Runs ``command`` with ``many``; ``said`` is the pattern of what it prints: transactions, and rate or seconds. Its
    CPU time is less that of the same with ``few``, which are one transaction for each client."""
    start = run([*command, *few], env) if few else None
    ended = run([*command, *many], env, 900)
    found = re.search(said, ended.output, re.MULTILINE | re.DOTALL)
    if found is None or re.search(r"(?:failed transactions|ignored errors):\s+[1-9]", ended.output):
        raise BenchError(f"{command[0]} said:\n{ended.output}")
    parts = found.groupdict()
    count = int(parts["transactions"])
    rate = float(parts["rate"]) if "rate" in parts else count / float(parts["seconds"])
    spent = (ended.user_s - (start.user_s if start else 0), ended.system_s - (start.system_s if start else 0))
    return Measured(count, rate, max(spent[0], 0), max(spent[1], 0))


def libpq(url: str, schema: str = "dsbench") -> dict[str, str]:
    """What libpq's programs connect to."""
    return {**environment(Target(url=url), "read-committed"), "PGOPTIONS": f"-c search_path={schema}"}


def pgbench(
    url: str, words: Sequence[str], clients: int, threads: int, duration: float, schema: str
) -> Client:
    """pgbench without its log, on the tables of ``schema``; ``words``: what it runs."""
    command = [program("pgbench"), "-n", *words, "-c", f"{clients}", "-j", f"{min(threads, clients)}"]
    said = r"actually processed: (?P<transactions>\d+).*^tps = (?P<rate>[\d.]+) \(without initial connection time\)"
    env = libpq(url, schema)

    def measure() -> Measured:
        # The time that -T gives, in whole seconds, runs while pgbench still connects. Many clients would have none
        # left, also when they take longer than they just did. Few get no more than the other programs, whose sessions
        # are as cold.
        first = run([*command, "-t", "1"], env).output
        told = re.search(r"^initial connection time = ([\d.]+) ms", first, re.MULTILINE)
        connecting_s = float(told[1]) / 1000 if told else 0.0
        whole = round(duration + connecting_s) if connecting_s < 0.5 else math.ceil(duration + 2 * connecting_s)
        return load(command, ["-t", "1"], ["-T", f"{whole}"], said, env)

    return measure


def sysbench(url: str, words: Sequence[str], clients: int, duration: float, prepare: bool = True) -> Client:
    """sysbench on PostgreSQL or MariaDB; ``words``: a test and its own options."""
    at, env = Target(url=url), {}
    if url.startswith("postgresql"):
        env = libpq(url)
        driver, where = "pgsql", {"host": env["PGHOST"], "port": env["PGPORT"], "user": at.user, "db": at.database}
    else:
        driver, where = "mysql", {"user": at.user, "db": "dsbench"}
        socket = at.parameters.get("socket")
        where |= {"socket": socket} if socket else {"host": at.host, "port": f"{at.port}"}
    options = [f"--{driver}-{name}={value}" for name, value in {**where, "password": ""}.items()]
    command = ["sysbench", *words, f"--db-driver={driver}", *options, f"--threads={clients}", "--rand-type=uniform",
               f"--db-ps-mode={'auto' if prepare else 'disable'}"]  # fmt: skip
    said = r"^\s*transactions:\s+(?P<transactions>\d+)\s+\((?P<rate>[\d.]+) per sec"
    few, many = ["--events=1", "--time=0", "run"], ["--events=0", f"--time={duration:.0f}", "run"]
    return lambda: load(command, few, many, said, env)


def sysbench_reaches(driver: str) -> bool:
    """Whether a sysbench is installed that has this driver."""
    return bool(program("sysbench")) and f"{driver} - " in run(["sysbench", "--help"]).output


def bare_loop(url: str, scale: int, clients: int, duration: float) -> Client:
    """One send, one receive, one reading of the clock; compiled when it is wanted."""
    command = ["cargo", "build", "--quiet", "--release", "--package", "dsbench-null", "--bin", "bare_select"]
    run([*command, "--manifest-path", str(ROOT / "Cargo.toml")], limit_s=900)
    binary = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "bare_select"
    env = libpq(url)
    socket = f"{env['PGHOST']}/.s.PGSQL.{env['PGPORT']}"
    where = socket if env["PGHOST"].startswith("/") else f"{env['PGHOST']}:{env['PGPORT']}"
    said = r'"transactions":\s*(?P<transactions>\d+).*"seconds":\s*(?P<seconds>[\d.]+)'
    return lambda: load([str(binary), where, f"{clients}", f"{duration:.3f}", f"{100_000 * scale}"], [], [], said)


def go_tpc(url: str, warehouses: int, clients: int, duration: float) -> Client:
    """go-tpc without think times, on tables of its own: ``Measured`` counts New-Orders."""
    at = Target(url=url)
    driver, tls = ("postgres", "sslmode=disable") if url.startswith("postgresql") else ("mysql", "tls=false")
    where = ["-d", driver, "-H", at.host, "-P", f"{at.port}", "-U", at.user, "-p", "", "-D", "gotpc"]
    where += ["--conn-params", tls, "--warehouses", f"{warehouses}"]
    command = ["go-tpc", "tpcc", "run", *where, "-T", f"{clients}", "--isolation", "2", "--output", "plain",
               "--interval", "1h", "--ignore-error", "--time", f"{duration:.0f}s"]  # fmt: skip
    if driver == "postgres":
        run(["psql", "-c", "CREATE DATABASE gotpc"], libpq(url))
    run(["go-tpc", "tpcc", "prepare", *where, "-T", "2", "--no-check"], limit_s=900)
    said = r"\[Summary\] NEW_ORDER - Takes\(s\): (?P<seconds>[\d.]+), Count: (?P<transactions>\d+)"
    return lambda: load(command, [], [], said)


if __name__ == "__main__":
    print(json.dumps(asdict(_cycle(json.load(sys.stdin)))))
