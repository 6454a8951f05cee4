"""Population: rows per second of dsbench, beside what the server itself makes of the same rows from its own files.

No row of a file crosses a connection, none is made: what is left is the server's work. All sides end in the same state,
with keys and statistics, by the same statements, and are checked. On PostgreSQL ``pgbench -i`` is there too.
"""

from __future__ import annotations

import re
import resource
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from bench.cells import UNIX
from bench.clients import BenchError, Measured, libpq, run
from bench.places import Place, fill, started
from bench.results import DSBENCH, Spread, median, rates, sweep
from dsbench import servers
from dsbench.measure.drivers import session_opener
from dsbench.measure.drivers.peers import program
from dsbench.measure.loaders import TargetDatabase
from dsbench.spec import Target
from dsbench.spec.drivers import DRIVERS

PGBENCH: Final = "pgbench -i"
_OURS: Final = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
_TABLES: Final = {"branch": "bid INTEGER", "teller": "tid INTEGER, bid INTEGER", "account": "aid INTEGER, bid INTEGER"}
"""With their columns in an external table of Firebird, before those that all have."""


@dataclass(frozen=True)
class Rows:
    """The tables of a workload, in the order in which they are loaded."""

    workload: str
    name: str
    """Of a measurement, between which words ``product`` and ``scale`` stand."""
    goal: float
    """Of the rate of the server's own fastest load."""
    tables: Sequence[str]
    halves: Mapping[str, tuple[str, int]]
    """Of tables that two sessions load: the key by which they are cut, and the greatest at a scale of 1."""
    pairs: int
    seconds: float
    """What all sides take for a unit of scale, by what they take for one of TPC-B."""
    scales: Sequence[int] = ()
    """Those of the full comparison; empty for those that were asked for."""
    products: Sequence[str] = ()
    """Empty for all."""


TPCB: Final = Rows("tpcb", "population", 0.95, list(_TABLES), {"account": ("aid", 100_000)}, 3, 1.0)
TPCH: Final = Rows(
    "tpch", "load of TPC-H-like rows", 0.9,
    ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"],
    {"part": ("p_partkey", 200_000), "partsupp": ("ps_partkey", 200_000), "customer": ("c_custkey", 150_000),
     "orders": ("o_orderkey", 6_000_000), "lineitem": ("l_orderkey", 6_000_000)},
    2, 400.0, [1], ["postgresql", "mariadb"],
)  # fmt: skip
ALL: Final = (TPCB, TPCH)


@dataclass(frozen=True)
class Product:
    """How a server writes a table into a file and loads it; {name} is that of a file, {rows} what is in it."""

    write: str
    load: str
    ready: str = ""
    """What the tables need before the clock starts."""
    begin: Sequence[str] = ()
    end: Sequence[str] = ()
    after: Sequence[str] = ()
    sessions: int = 2
    """At once, at most."""
    settings: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[str] = ()
    """What is done before each population, so that none pays for what another left in memory."""
    seconds: float = 1.0
    """About what all sides take for one unit of scale."""
    largest: int = 100
    """Above this scale the full comparison leaves it out."""


_MYSQL: Final = (
    "SELECT * FROM dsbench.{rows} ORDER BY 1 INTO OUTFILE '{file}'",
    "LOAD DATA INFILE '{file}' INTO TABLE dsbench.{table} CHARACTER SET utf8mb4",
)
PRODUCTS: Final = {
    "postgresql": Product(
        "COPY (SELECT * FROM dsbench.{rows} ORDER BY 1) TO '{file}' (FORMAT binary)",
        "COPY dsbench.{table} FROM '{file}' (FORMAT binary)",
        after=["VACUUM {tables}"], before=["CHECKPOINT"], seconds=0.6,
    ),
    "mariadb": Product(*_MYSQL),
    "mysql": Product(*_MYSQL, settings={"innodb_buffer_pool_size": "1G", "secure_file_priv": ""}),
    # A condition forbids SQLite to copy rows without a look at their columns.
    "sqlite": Product(
        "VACUUM INTO '{folder}/source.db'", "INSERT INTO main.{table} SELECT * FROM source.{table} WHERE 1",
        begin=["ATTACH '{folder}/source.db' AS source", "PRAGMA foreign_keys=off", "BEGIN IMMEDIATE"], end=["COMMIT"],
        sessions=1, seconds=0.6,
    ),
    "firebird": Product(
        "INSERT INTO x_{name} SELECT * FROM {rows}", "INSERT INTO {table} SELECT * FROM x_{name}",
        "CREATE TABLE x_{name} EXTERNAL FILE '{file}' "
        "({columns}, balance BIGINT, filler CHAR({width}) CHARACTER SET ASCII)",
        settings={"forced_writes": "on", "ExternalFileAccess": "Full"}, seconds=15, largest=10,
    ),
}  # fmt: skip


def execute(url: str, statements: Sequence[str]) -> None:
    """Runs ``statements`` in one session, however long they take."""
    if url.startswith("firebird:"):  # dsbench's engine of Firebird fetches rows only.
        from firebird.driver import TPB, Isolation

        connection = session_opener(DRIVERS["firebird-driver"], Target(url=url))("read-committed").connection
        for statement in statements:  # Without a log for taking back, as dsbench's load.
            connection.begin(TPB(isolation=Isolation.READ_COMMITTED, no_auto_undo=True).get_buffer())
            connection.execute_immediate(statement)
            connection.commit()
        connection.close()
        return
    target = TargetDatabase(url)
    try:
        with ThreadPoolExecutor(1) as pool:  # In the main thread ``fetch`` gives up after a minute.
            list(pool.map(target.fetch, statements))
    finally:
        target.close()


_HEAD: Final = [
    "| product | scale | rows by | rows/s | ratio | rows/s with keys and statistics | ratio | of it, seconds "
    "| client CPU s | server CPU s |", "|---|--:|---|--:|---|--:|---|---|--:|--:|",
]  # fmt: skip
Phases = Mapping[str, float]


def section(product: str, scale: int, rows_of: Rows = TPCB, own: Mapping[str, str] | None = None) -> list[str]:
    """Every side in turn: the part of the page, or why it is left out. ``own``: settings of the workload."""
    spent: dict[str, list[Phases]] = {}
    try:
        with started(product, scale, 20, PRODUCTS[product].settings) as place:
            made = partial(fill, place.server.url, rows_of.workload, scale, own=own)
            rows, _ = made()
            size = float((own or {}).get("size", "1")) * scale
            sides = {DSBENCH: lambda: made()[1], **_own(product, place, rows_of, size, made)}
            if product == "postgresql" and rows_of.workload == TPCB.workload:
                sides[PGBENCH] = lambda: _by_pgbench(libpq(place.urls[UNIX], "public"), scale)

            def client(name: str) -> Measured:
                execute(place.server.url, PRODUCTS[product].before)
                before = [sum(resource.getrusage(who)[at] for who in _OURS) for at in (0, 1)]
                phases = sides[name]()
                after = [sum(resource.getrusage(who)[at] for who in _OURS) for at in (0, 1)]
                spent.setdefault(name, []).append(phases)
                return Measured(rows, rows / sum(phases.values()), after[0] - before[0], after[1] - before[1])

            counts = lambda: (place.cpu_s(), 0)  # noqa: E731
            found = sweep({name: partial(client, name) for name in sides}, rows_of.pairs, counts)
    except servers.ServerError as error:
        return [f"- {rows_of.name} on {product} is left out: {error}"]
    theirs = [name for name in found if name not in (DSBENCH, PGBENCH)]
    bound = max(theirs, key=lambda name: median(found[name], "rate_tps"))
    lines = []
    for name, measured in found.items():
        alone = "populate" in spent[name][0]  # pgbench does not say what the rows took by themselves.
        took = [phases["populate"] for phases in spent[name]] if alone else []
        ratio = Spread.of([b / a["populate"] for a, b in zip(spent[DSBENCH], took, strict=True)]) if alone else ""
        whole = rates(found[DSBENCH], measured).judged({bound: rows_of.goal, PGBENCH: 1.0}.get(name))
        phases = (f"{one} {statistics.median(each[one] for each in spent[name]):.2f}" for one in spent[name][0])
        client_s, server_s = median(measured, "cpu_us") * rows / 1e6, median(measured, "server_s")
        cells = [
            place.server.version, f"{scale}", name, f"{rows / statistics.median(took):,.0f}" if alone else "",
            "" if name == DSBENCH else f"{ratio}", f"{median(measured, 'rate_tps'):,.0f}",
            "" if name == DSBENCH else whole, ", ".join(phases), f"{client_s:.1f}", f"{server_s:.1f}",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return ["", *_HEAD, *lines, ""]


def _own(
    product: str, place: Place, rows_of: Rows, size: float, made: Callable[..., tuple[int, Phases]]
) -> dict[str, Callable[[], Phases]]:
    """Writes the files from the filled tables, and gives the ways to load them."""
    known, url, folder = PRODUCTS[product], place.server.url, place.server.directory
    tables, cut = list(rows_of.tables), rows_of.halves
    one = [tables]
    two = [[f"{name}1" if name in cut else name for name in tables], [f"{name}2" for name in tables if name in cut]]
    rows = {name: name for name in tables}
    for name, (key, most) in cut.items():
        middle = round(size * most / 2)
        rows |= {f"{name}1": f"{name} WHERE {key} <= {middle}", f"{name}2": f"{name} WHERE {key} > {middle}"}
    after = [one.format(tables=", ".join(f"dsbench.{name}" for name in tables)) for one in known.after]

    def words(statement: str, names: Iterable[str] = rows) -> list[str]:
        filled = []
        for name in names:
            table = name.rstrip("12")
            filled.append(statement.format(
                name=name, table=table, rows=rows[name], file=folder / f"{name}.rows", folder=folder,
                columns=_TABLES.get(table, ""), width=88 if table == "branch" else 84,
            ))  # fmt: skip
        return list(dict.fromkeys(filled)) if statement else []

    def loaded(sessions: Sequence[Sequence[str]]) -> Phases:
        def load() -> None:
            with ThreadPoolExecutor(len(sessions)) as pool:
                list(pool.map(lambda names: execute(url, [*begin, *words(known.load, names), *known.end]), sessions))
            execute(url, after)

        begin = [statement.format(folder=folder) for statement in known.begin]
        return made(load, lambda: execute(url, words(known.ready)))[1]

    execute(url, [*words(known.ready), *words(known.write)])
    ways = {"own load, one session": one, "own load, two sessions": two}
    return {name: partial(loaded, sessions) for name, sessions in ways.items() if len(sessions) <= known.sessions}


def _by_pgbench(env: Mapping[str, str], scale: int) -> Phases:
    """With foreign keys, in a schema that is called like its user's own; its phases as its last line has them."""
    said = run([program("pgbench"), "-i", "-q", "-s", f"{scale}", "-I", "dtgvpf"], env, 900).remarks
    last = re.search(r"^done in [\d.]+ s \((.*)\)", said, re.MULTILINE)
    if last is None:
        raise BenchError(f"pgbench -i told no times:\n{said}")
    return {name: float(seconds) for name, seconds in re.findall(r"([a-z][a-z -]*?) ([\d.]+) s", last[1])}
