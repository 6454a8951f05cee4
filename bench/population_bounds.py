"""The bound of a population: how fast a server loads the very same rows from its own files, by its own statements.

No row crosses a connection, none is made: what is left is the server's work. Files are written once, from the tables
that dsbench filled, into the folder of the server; the kernel has them in memory afterwards.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench import mariadb, process
from bench.place import SETTINGS
from dsbench.measure.loaders import CoreError, Target
from dsbench.servers.firebird.binaries import servers
from dsbench.spec import Target as TargetSpec

TABLES = ("branch", "teller", "account")
COLUMNS = {
    "branch": "bid, bbalance, filler",
    "teller": "tid, bid, tbalance, filler",
    "account": "aid, bid, abalance, filler",
}


@dataclass(frozen=True)
class Way:
    """Statements that fill the empty tables: one list for each session, all sessions at once, then ``after``."""

    sessions: Sequence[Sequence[str]]
    after: Sequence[str] = ()
    ready: Sequence[str] = ()
    """What the tables need before the clock starts."""

    def fill(self, url: str) -> None:
        """Runs the sessions, each on a connection of its own. Raises the error of the first that failed."""
        failed: list[Exception] = []
        threads = [threading.Thread(target=_session, args=(url, each, failed)) for each in self.sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _session(url, [] if failed else self.after, failed)
        if failed:
            raise failed[0]


def run(url: str, statements: Sequence[str]) -> None:
    """Runs ``statements`` in one session, however long they take."""
    Way([statements]).fill(url)


def _session(url: str, statements: Sequence[str], failed: list[Exception]) -> None:
    try:
        if statements:
            (_isql if url.startswith("firebird:") else _fetch)(url, statements)
    except (CoreError, process.BenchError) as error:
        failed.append(error)


def _fetch(url: str, statements: Sequence[str]) -> None:
    target = Target(url)
    try:
        for statement in statements:
            target.fetch(statement)
    finally:
        target.close()


def _isql(url: str, statements: Sequence[str]) -> None:
    """Firebird's engine of dsbench fetches rows only. Transactions keep no undo log, as those of dsbench's load."""
    at = urlsplit(url)
    login = {"ISC_USER": at.username or "", "ISC_PASSWORD": unquote(at.password or "")}
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        for statement in statements:
            script.write(f"SET TRANSACTION NO WAIT NO AUTO UNDO;\n{statement};\nCOMMIT;\n")
        script.flush()
        database = f"{at.hostname}/{at.port}:{unquote(at.path).removeprefix('/')}"
        process.run([str(servers()[0].isql), "-q", "-b", "-i", script.name, database], login, limit_s=900)


@dataclass(frozen=True)
class Product:
    """A product and its ways."""

    spec: TargetSpec
    ways: Callable[[str, Path, int], Mapping[str, Way]]
    """By URL, folder and scale: writes the files from the filled tables and gives the ways from them."""
    before: str = ""
    """What is done before each population, so that none pays for what another left in memory."""
    seconds: float = 1.0
    """About what all its sides take for one unit of scale."""
    largest: int = 100
    """Above this scale the full comparison leaves it out."""


def _selects(place: str, scale: int) -> dict[str, str]:
    """What each file holds: every table, and the accounts once more in two halves."""
    middle = scale * 50_000
    whole = {name: f"SELECT * FROM {place}{name}" for name in TABLES}
    account = whole["account"]
    halves = {"account1": f"{account} WHERE aid <= {middle}", "account2": f"{account} WHERE aid > {middle}"}
    return whole | halves


def _postgresql(url: str, folder: Path, scale: int) -> dict[str, Way]:
    def path(name: str) -> str:
        return f"'{folder / name}.copy' (FORMAT binary)"

    out = _selects("dsbench.", scale)
    run(url, [f"COPY ({select} ORDER BY 1) TO {path(name)}" for name, select in out.items()])

    def copies(*names: str) -> list[str]:
        return [f"COPY dsbench.{name.rstrip('12')} FROM {path(name)}" for name in names]

    settle = ["VACUUM dsbench.branch, dsbench.teller, dsbench.account"]
    return {
        "COPY FROM a file, one session": Way([copies(*TABLES)], settle),
        "COPY FROM files, two sessions": Way([copies("branch", "teller", "account1"), copies("account2")], settle),
    }


def _mysql(url: str, folder: Path, scale: int) -> dict[str, Way]:
    out = _selects("dsbench.", scale)
    for name in out:
        (folder / f"{name}.txt").unlink(missing_ok=True)
    run(url, [f"{select} ORDER BY 1 INTO OUTFILE '{folder / name}.txt'" for name, select in out.items()])

    def loads(*names: str) -> list[str]:
        into = "INTO TABLE dsbench.{} CHARACTER SET utf8mb4"
        return [f"LOAD DATA INFILE '{folder / name}.txt' {into.format(name.rstrip('12'))}" for name in names]

    return {
        "LOAD DATA INFILE, one session": Way([loads(*TABLES)]),
        "LOAD DATA INFILE, two sessions": Way([loads("branch", "teller", "account1"), loads("account2")]),
    }


def _sqlite(url: str, folder: Path, scale: int) -> dict[str, Way]:  # noqa: ARG001
    source = folder / "source.db"
    for beside in folder.glob("source.db*"):
        beside.unlink()
    run(url, [f"VACUUM INTO '{source}'"])
    begin = [f"ATTACH '{source}' AS source", "PRAGMA foreign_keys=off", "BEGIN IMMEDIATE"]
    rows = [f"INSERT INTO main.{name} SELECT {{0}} FROM source.{name}" for name in TABLES]
    copied = [sql.format("*") for sql in rows]
    # Between tables of one shape rows are copied without a look at their columns; an expression forbids that.
    read = [sql.format(COLUMNS[name].replace("filler", "filler || ''")) for name, sql in zip(TABLES, rows, strict=True)]
    return {
        "INSERT … SELECT, rows copied whole": Way([[*begin, *copied, "COMMIT"]]),
        "INSERT … SELECT, columns read": Way([[*begin, *read, "COMMIT"]]),
    }


def _firebird(url: str, folder: Path, scale: int) -> dict[str, Way]:
    balance = {"branch": "bbalance", "teller": "tbalance", "account": "abalance"}
    keys = {"branch": "bid INTEGER", "teller": "tid INTEGER, bid INTEGER", "account": "aid INTEGER, bid INTEGER"}
    out = _selects("", scale)

    def external(name: str) -> str:
        table = name.rstrip("12")
        filler = f"filler CHAR({88 if table == 'branch' else 84}) CHARACTER SET ASCII"
        columns = f"{keys[table]}, {balance[table]} BIGINT, {filler}"
        return f"CREATE TABLE x_{name} EXTERNAL FILE '{folder / name}.ext' ({columns})"

    for name in out:
        (folder / f"{name}.ext").unlink(missing_ok=True)
    ready = [external(name) for name in out]
    run(url, [*ready, *(f"INSERT INTO x_{name} {select}" for name, select in out.items())])

    def inserts(*names: str) -> list[str]:
        return [f"INSERT INTO {name.rstrip('12')} SELECT * FROM x_{name}" for name in names]

    two = [inserts("branch", "teller", "account1"), inserts("account2")]
    return {
        "INSERT … SELECT from an external file, one session": Way([inserts(*TABLES)], ready=ready),
        "INSERT … SELECT from external files, two sessions": Way(two, ready=ready),
    }


FIREBIRD = {"page_buffers": "65536", "ExternalFileAccess": "Full"}

PRODUCTS = {
    "postgresql": Product(TargetSpec(url="private:postgresql", settings=SETTINGS), _postgresql, "CHECKPOINT", 0.6),
    "mariadb": Product(TargetSpec(url="private:mariadb", settings=mariadb.SETTINGS), _mysql),
    "mysql": Product(
        TargetSpec(url="private:mysql", settings={"innodb_buffer_pool_size": "1G", "secure_file_priv": ""}), _mysql
    ),
    "sqlite": Product(TargetSpec(url="private:sqlite", settings={}), _sqlite, seconds=0.6),
    "firebird": Product(TargetSpec(url="private:firebird", settings=FIREBIRD), _firebird, seconds=15, largest=10),
}
"""By the name of the private server."""
