"""Scripts on tables that somebody else made: the database is as it was before, but for what they do."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import dsbench
from dsbench import servers
from dsbench.measure.loaders import IN_DATABASE, CoreError, TargetDatabase
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.text import render_text
from dsbench.servers.firebird import binaries
from dsbench.spec import SpecError, Target, merged
from fixtures.thorough import mostly_thorough

MADE = (
    "CREATE TABLE orders (item INTEGER)", "CREATE TABLE secrets (word VARCHAR(20))",
    "INSERT INTO secrets (word) VALUES ('mine')",
)  # fmt: skip
SCRIPT = "\\set item random(1, 10 * :scale)\nINSERT INTO orders (item) VALUES (:item);\n"
SEEN = {
    "postgresql": (
        "SELECT relname, relnamespace::regnamespace AS room, relkind, obj_description(relnamespace) AS words"
        " FROM pg_class WHERE relnamespace::regnamespace::text !~ '^(pg_|information)' ORDER BY 1",
        "SELECT nspname, obj_description(oid) AS words FROM pg_namespace ORDER BY 1",
        "SELECT relname, vacuum_count, analyze_count FROM pg_stat_user_tables ORDER BY 1",
        "SELECT datname FROM pg_database ORDER BY 1",
    ),
    "mariadb": (
        "SELECT table_schema, table_name, create_time FROM information_schema.tables"
        " WHERE table_schema NOT IN ('information_schema', 'performance_schema') ORDER BY 1, 2",
        "SELECT schema_name FROM information_schema.schemata ORDER BY 1",
    ),
    "firebird": (
        "SELECT rdb$relation_name, rdb$description FROM rdb$relations ORDER BY 1",
        "SELECT rdb$description FROM rdb$database",
    ),
    "sqlite": ("SELECT * FROM sqlite_master", "PRAGMA application_id", "PRAGMA journal_mode"),
}
"""What would show something of dsbench's, or that something was cleared or vacuumed."""


@contextmanager
def foreign(product: str, folder: Path) -> Iterator[tuple[str, Callable[[str], list[dict[str, str | None]]]]]:
    """A database that has ``MADE``: its URL, and questions to it."""
    if product == "sqlite":
        path = folder / "shop.db"
        with sqlite3.connect(path) as made:
            made.executescript(";".join(MADE))
        made.close()
        yield from _asked(f"sqlite:///{path}")
        return
    version = "3" if product == "firebird" else None
    with servers.start(Target(url=f"private:{product}", version=version), 10) as server:
        url = server.url
        if product == "firebird":
            # The administrative session of Firebird's reads only.
            url = url.replace("run.fdb", "shop.fdb")
            parts = urlsplit(url)
            path, user = unquote(parts.path.removeprefix("/")), ["-user", parts.username or ""]
            login = f"{parts.hostname}/{parts.port}:{path}"
            texts = [f"CREATE DATABASE '{login}' USER 'sysdba' PASSWORD '{unquote(parts.password or '')}'", *MADE]
            program = str(binaries.servers()[0].isql)
            done = subprocess.run(
                [program, "-q", "-b", *user], input=";\nCOMMIT;\n".join(texts) + ";\nCOMMIT;\n",
                capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
        else:
            target = TargetDatabase(url, existing=True)
            if product == "mariadb":
                target.fetch("CREATE DATABASE shop")
                target.close()
                url = re.sub(r"(//[^/]*/)[^?]*", r"\1shop", url)
                target = TargetDatabase(url, existing=True)
            for text in MADE:
                target.fetch(text)
            target.close()
        yield from _asked(url)


def _asked(url: str) -> Iterator[tuple[str, Callable[[str], list[dict[str, str | None]]]]]:
    target = TargetDatabase(url, existing=True)
    yield url, target.fetch
    target.close()


@pytest.mark.parametrize("product", mostly_thorough(SEEN, "postgresql", "sqlite"))
def test_a_foreign_database_is_as_before_but_for_the_scripts(product: str, tmp_path: Path) -> None:
    script = tmp_path / "orders.sql"
    script.write_text(SCRIPT)
    with foreign(product, tmp_path) as (url, ask):
        def seen() -> list[object]:
            return [ask(query) for query in SEEN[product]]

        before = seen()
        archive = dsbench.run(
            url, script=str(script), existing=True, clients=2, duration=0.3, cycles=2, out=tmp_path / "out"
        )
        assert archive.run.status == "complete"
        assert seen() == before
        assert [list(row.values()) for row in ask("SELECT word FROM secrets")] == [["mine"]]
        (row,) = ask("SELECT count(*) AS n FROM orders")
        counted = archive.table("cycles")
        assert int(next(iter(row.values())) or 0) == sum(sum(counted[name].to_pylist()) for name in IN_DATABASE) > 0
    assert not archive.table("phases").num_rows
    assert "unchecked" not in {doubt.code for doubt in archive.evaluate().of(WarningsResult).doubts}
    if product == "sqlite":
        assert [path.name for path in tmp_path.glob("shop*")] == ["shop.db"]


def test_a_run_on_tables_of_somebody_tries_nothing_and_tells_all_that_it_wrote(
    postgresql: servers.Server, tmp_path: Path
) -> None:
    script = tmp_path / "orders.sql"
    script.write_text("INSERT INTO public.of_user (item) VALUES (1);\n")
    with closing(TargetDatabase(postgresql.url, existing=True)) as user:
        user.fetch("CREATE TABLE public.of_user (item INTEGER)")
        try:
            archive = dsbench.run(
                postgresql.url, script=str(script), existing=True, clients=2, duration=2, cycles=1, ramp_up=0.5, out=tmp_path / "out"
            )
            (row,) = user.fetch("SELECT count(*) AS n FROM public.of_user")
        finally:
            user.fetch("DROP TABLE public.of_user")
    described = archive.run.described()
    assert described["spec"]["placement"] == "free"
    assert described["placement_tried"]["why"] == "the trial would write to existing tables"
    counted, early, late = (sum(archive.table("cycles")[name].to_pylist()) for name in IN_DATABASE)
    assert int(row["n"] or 0) == counted + early + late, "nothing else wrote to them"
    told = render_text(find_subject("rate").tell(archive.evaluate()))
    assert early
    assert f"{int(row['n'] or 0):,} transactions of the cycles are in the tables, and {counted:,} of them count" in " ".join(told.split())


LEFT_OPEN = {
    "mariadb": "SET autocommit = 0;\nINSERT INTO orders (item) VALUES (1);\n",
    "sqlite": "SAVEPOINT mine;\nINSERT INTO orders (item) VALUES (1);\n",
}
"""Statements outside of BEGIN … COMMIT that leave a transaction open."""


@pytest.mark.parametrize("product", mostly_thorough(LEFT_OPEN, "sqlite"))
def test_what_the_database_holds_open_is_not_counted_as_committed(product: str, tmp_path: Path) -> None:
    script = tmp_path / "open.sql"
    script.write_text(LEFT_OPEN[product])
    with foreign(product, tmp_path) as (url, ask):
        with pytest.raises(dsbench.RunError, match=r"a transaction is still open .* write BEGIN and COMMIT"):
            dsbench.run(url, script=str(script), existing=True, clients=1, duration=5, cycles=1, out=tmp_path / "out")
        assert list(ask("SELECT count(*) AS n FROM orders")[0].values()) == ["0"]


def test_the_scale_is_that_of_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    url = f"sqlite:///{path}"
    asked = {"existing": True, "clients": 1, "duration": 0.2, "cycles": 1, "out": tmp_path / "out"}
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE pgbench_branches (bid INTEGER)")
    made.close()
    with pytest.raises(dsbench.RunError) as caught:
        dsbench.run(url, builtin="select-only", **asked)
    assert "pgbench_branches has no rows" in str(caught.value)
    with sqlite3.connect(path) as made:
        made.execute("INSERT INTO pgbench_branches VALUES (1), (2), (3)")
        made.execute("CREATE TABLE pgbench_accounts (aid INTEGER, abalance INTEGER)")
    made.close()
    of_builtin = dsbench.run(url, builtin="select-only", **asked)
    assert of_builtin.run.spec.scales == (3,)
    own = tmp_path / "own.sql"
    own.write_text("SELECT :scale;")
    assert merged({"script": str(own), "existing": True, "define": ["scale=7"]}, target=url).spec.scales == (7,)
    assert merged({"script": str(own), "existing": True}, target=url).spec.scales == (1,)


def test_nothing_can_be_made_or_dropped_there(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as made:
        made.execute(MADE[0])
    made.close()
    target = TargetDatabase(f"sqlite:///{tmp_path / 'shop.db'}", existing=True)
    for forbidden in (target.drop, lambda: target.create("mark"), lambda: target.remark("mark")):
        with pytest.raises(CoreError, match="belong to somebody else"):
            forbidden()
    target.close()
    with pytest.raises(CoreError, match="is no file"):
        TargetDatabase(f"sqlite:///{tmp_path / 'absent.db'}", existing=True).state()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"workload": "tpcb"}, "tpcb creates its own tables"),
        ({"workload": "tpcb", "script": "own.sql"}, "tpcb creates its own tables"),
        ({"builtin": "tpcb-like", "scales": (1, 2)}, "have one size"),
        ({"builtin": "tpcb-like", "keep": True}, "no database is created here"),
        ({"builtin": "tpcb-like", "target": "private:sqlite"}, "has only dsbench's own tables"),
    ],
)
def test_what_needs_tables_of_its_own_is_refused(
    asked: dict[str, object], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.sql").write_text("SELECT 1;")
    target = asked.pop("target", "sqlite:///shop.db")
    with pytest.raises(SpecError) as caught:
        merged({**asked, "existing": True}, target=target)  # type: ignore[arg-type]  # one of them is a text
    assert caught.value.option == "--existing"
    assert why in str(caught.value)


def test_storage_tools_write_nothing_beside_data_of_somebody_else() -> None:
    with pytest.raises(SpecError, match="with the data of others") as caught:
        merged({"builtin": "select-only", "existing": True, "probes": "dd"}, target="sqlite:///shop.db")
    assert caught.value.option == "--probes"
