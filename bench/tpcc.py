"""TPC-C against go-tpc: New-Orders per second without think times, and rows per second of the population.

``python -m bench.tpcc``: interleaved pairs on one private server. What differs in the work is printed
with the figures.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

from bench import gotpc, page
from bench.place import SETTINGS
from bench.process import Measured, run
from bench.sweeps import costs, rates, sweep
from dsbench import servers
from dsbench.measure.loaders import Bench, Target, now_ns
from dsbench.spec import RunSpec
from dsbench.spec import Target as TargetSpec

DIFFERENCES = (
    "both: cards 45, 43, 4, 4, 4; the warehouse is drawn for each transaction; read committed; no think times; no "
    "foreign keys; each fills its own tables on the same server",
    "go-tpc sends prepared statements, some 9 round trips a New-Order and one for each line: it locks the stocks "
    "by one statement and changes them one by one; dsbench sends one call, or statements: on PostgreSQL all lines "
    "at once",
    "go-tpc pings before each transaction, outside of its latency, but not outside of its rate",
    "go-tpc changes the stock of the order's own warehouse, for remote lines as well",
    "an order of go-tpc never has an item twice; its money is of double precision in the client, dsbench's exact",
)

LEFT_OUT = "- TPC-C is left out: go-tpc is not on the PATH (go install github.com/pingcap/go-tpc/cmd/go-tpc@latest)"

GOAL = 1.2
"""On PostgreSQL, the rate of New-Orders by that of go-tpc."""

PROCEDURES = "dsbench, procedures"

SETTINGS_OF_BOTH = {"mix": "45,43,4,4,4", "affinity": "off"}


@dataclass(frozen=True)
class Asked:
    """A comparison."""

    server: str
    """``postgresql`` or ``mariadb``."""
    warehouses: int = 5
    threads: int = 8
    duration: float = 10.0
    """Seconds of each measurement, whole ones."""
    pairs: int = 6
    durable: bool = True
    foreign_keys: bool = False


@dataclass(frozen=True)
class Load:
    """One cycle of dsbench."""

    url: str
    call: str
    warehouses: int
    threads: int
    duration: float
    foreign_keys: bool


def load(asked: Load) -> Measured:
    """Runs it in a process of its own; ``Measured`` counts committed New-Orders."""
    command = [sys.executable, "-m", "bench.tpcc", "--cycle", json.dumps(asdict(asked))]
    return Measured(**json.loads(run(command, {"OPENBLAS_NUM_THREADS": "1"}, limit_s=asked.duration + 120).output))


def _cycle(asked: Load) -> Measured:
    spec = RunSpec.model_validate(
        {
            "target": TargetSpec(url=asked.url), "workload": "tpcc", "threads": asked.threads,
            "duration": asked.duration, "isolation": "read-committed", "retry": True,
        }
    )  # fmt: skip
    bench = _bench(Target(asked.url), asked.warehouses, asked.call, asked.foreign_keys)
    cycle = bench.cycle(spec, seed=now_ns() % 1_000_003, trace=None)
    cycle.connect(60, _unseen)
    began = resource.getrusage(resource.RUSAGE_SELF)
    start = now_ns() + 50_000_000
    cycle.start(start)
    cycle.wait(start, 30, _unseen)
    result = cycle.join()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    if result.failure is not None:
        raise result.failure
    new_orders = int(result.counters[:, 0, 0].sum())
    user_s, system_s = ended.ru_utime - began.ru_utime, ended.ru_stime - began.ru_stime
    return Measured(new_orders, new_orders / asked.duration, user_s, system_s)


def populate(target: Target, warehouses: int, foreign_keys: bool, parts: int) -> tuple[int, float, float]:
    """Fills the tables, adds keys; gives rows, the seconds of the rows alone, and those of everything."""
    bench = _bench(target, warehouses, "procedure", foreign_keys)
    phases = [bench.phase("create", _unseen), bench.populate(False, parts, _unseen)]
    phases += [bench.phase(name, _unseen) for name in ("primary_key", "foreign_key", "clean")]
    return bench.rows, phases[1].duration_ns / 1e9, sum(phase.duration_ns for phase in phases) / 1e9


def _bench(target: Target, warehouses: int, call: str, foreign_keys: bool) -> Bench:
    settings = {**SETTINGS_OF_BOTH, "foreign_keys": "on" if foreign_keys else "off"}
    return Bench(target, "tpcc", warehouses, call, settings)


def _unseen(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


def compare(asked: Asked) -> list[str]:
    """Populates by both, then measures pairs of cycles; gives the lines of the page."""
    with servers.start(_spec(asked), asked.threads * 2 + 20) as server:
        url, peer = _addresses(server)
        target = Target(url)
        lines = [
            f"- TPC-C on {server.version}, {'every commit made durable' if asked.durable else 'commits NOT durable'}, "
            f"{asked.warehouses} warehouses, {asked.threads} clients, TCP, {asked.pairs} sweeps of {asked.duration:g} s"
        ]
        target.create("bench")
        rows, rows_s, all_s = populate(target, asked.warehouses, asked.foreign_keys, 2)
        lines.append(f"- dsbench populates {rows / rows_s:,.0f} rows/s, {rows / all_s:,.0f} with keys and statistics")
        took_s = gotpc.prepare(peer, asked.warehouses, 2, asked.foreign_keys).elapsed_s
        lines.append(f"- go-tpc populates {rows / took_s:,.0f} rows/s with keys: ratio {took_s / all_s:.2f}")
        if peer.driver == "postgres":
            _psql(peer, gotpc.NAME, "VACUUM ANALYZE")
        lines += _pairs(asked, url, peer)
        target.close()
    return [*lines, ""]


def section(pairs: int, duration: float) -> list[str]:
    """The part of the page: both servers, and in what the work differs; or why it is left out."""
    if not gotpc.available():
        return [LEFT_OUT]
    lines = ["", "### TPC-C against go-tpc", ""]
    for server in ("postgresql", "mariadb"):
        lines += compare(Asked(server, pairs=pairs, duration=duration))
    return [*lines, *differences()]


def differences() -> list[str]:
    """In what the work of the two differs, as a list of the page."""
    return [f"- {difference}" for difference in DIFFERENCES]


def _spec(asked: Asked) -> TargetSpec:
    if asked.server == "postgresql":
        durability = {} if asked.durable else {"fsync": "off", "synchronous_commit": "off"}
        return TargetSpec(url="private:postgresql", settings={**SETTINGS, **durability})
    settings = {"bind_address": "127.0.0.1", "innodb_buffer_pool_size": "2G", "innodb_log_file_size": "1G"}
    durability = {} if asked.durable else {"innodb_flush_log_at_trx_commit": "0"}
    return TargetSpec(url=f"private:{asked.server}", settings={**settings, **durability})


def _addresses(server: servers.Server) -> tuple[str, gotpc.Server]:
    """What dsbench and go-tpc connect to: the same TCP port."""
    if not server.url.startswith("postgresql"):
        found = urlsplit(server.url)
        return server.url, gotpc.Server("mysql", found.port or 0, found.username or "", found.password or "")
    hba = server.directory / "pg_hba.conf"
    hba.write_text("local all all trust\nhost all all 127.0.0.1/32 trust\n")
    target = Target(server.url)
    target.fetch("SELECT pg_reload_conf()")
    port = int(target.fetch("SHOW port")[0]["port"] or 0)
    target.close()
    peer = gotpc.Server("postgres", port, "postgres")
    _psql(peer, "postgres", f"CREATE DATABASE {gotpc.NAME}")
    return f"postgresql://postgres@127.0.0.1:{port}/postgres?sslmode=disable", peer


def _psql(peer: gotpc.Server, database: str, sql: str) -> None:
    run(["psql", "-h", "127.0.0.1", "-p", str(peer.port), "-U", peer.user, "-c", sql, database], {})


def _pairs(asked: Asked, url: str, peer: gotpc.Server) -> list[str]:
    def ours(call: str) -> Callable[[], Measured]:
        return lambda: load(Load(url, call, asked.warehouses, asked.threads, asked.duration, asked.foreign_keys))

    def theirs() -> Measured:
        return gotpc.measure(peer, asked.warehouses, asked.threads, asked.duration)

    found = sweep(
        {PROCEDURES: ours("procedure"), "dsbench, statements": ours("statements"), "go-tpc": theirs},
        asked.pairs,
    )
    head = "| client | NOPM | client CPU µs per New-Order | NOPM by that of go-tpc | CPU by that of go-tpc |"
    return ["", head, "|---|--:|--:|---|---|", *(_row(name, found, asked) for name in found)]


def _row(name: str, found: dict[str, list[Measured]], asked: Asked) -> str:
    ours, theirs = found[name], found["go-tpc"]
    nopm, cpu_us = (statistics.median(getattr(m, what) for m in ours) for what in ("rate_tps", "cpu_us"))
    ratios = ["", ""]
    if ours is not theirs:
        goal = GOAL if asked.server == "postgresql" and name == PROCEDURES else None
        ratios = [page.judged(rates(ours, theirs), goal, at_least=True), str(costs(ours, theirs))]
    return f"| {name} | {nopm * 60:,.0f} | {cpu_us:.0f} | {ratios[0]} | {ratios[1]} |"


def main() -> None:
    """The table of contents."""
    parser = argparse.ArgumentParser("python -m bench.tpcc", description=__doc__)
    parser.add_argument("--server", choices=("postgresql", "mariadb"), default="postgresql")
    parser.add_argument("--warehouses", type=int, default=5)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--duration", type=float, default=10)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--durable", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--foreign-keys", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--cycle", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cycle:
        print(json.dumps(asdict(_cycle(Load(**json.loads(asked.cycle))))))
    else:
        options = {name: value for name, value in vars(asked).items() if name != "cycle"}
        print("\n".join([*compare(Asked(**options)), *differences()]))


if __name__ == "__main__":
    main()
