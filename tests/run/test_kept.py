"""A database that a run leaves, and later runs on it, on every product: a server of the user's, and private ones."""

from __future__ import annotations

import io
import json
import platform
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.archive.conditions import State, state_of
from dsbench.measure import place
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import RunError
from dsbench.measure.keeping import check_target, drop_target
from dsbench.measure.loaders import IN_DATABASE, TargetDatabase
from dsbench.measure.moments import Moment, Observer, Silent
from dsbench.measure.run import Outcome, execute, resume
from dsbench.servers import folder
from dsbench.servers.firebird import binaries
from dsbench.spec import SpecError, Target, build
from fixtures.program import Program
from fixtures.thorough import mostly_thorough

PRODUCTS = ["sqlite", "postgresql", "mariadb", "firebird"]
UNFLUSHED = {
    "postgresql": {"fsync": "off"}, "mariadb": {"innodb_flush_log_at_trx_commit": "0"}, "firebird": {"forced_writes": "off"},
}  # fmt: skip
LITTLE = {"scales": (1,), "cycles": 1, "duration": 0.3, "clients": 2}
WORKLOADS: dict[str, dict[str, Any]] = {
    "tpcb": {},
    "select": {},
    "tpcc": {"workload_settings": {"size": "0.02"}},
}


@pytest.fixture(scope="module", params=PRODUCTS)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database that is not a private server, as far as a run can tell."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('kept')}/file.db"
        return
    version = "3" if request.param == "firebird" else None
    with servers.start(Target(url=f"private:{request.param}", version=version, settings=UNFLUSHED[request.param]), 20) as running:
        yield running.url


@pytest.fixture
def emptied(url: str) -> Iterator[str]:
    """The same, in which a test leaves nothing behind however it ends."""
    yield url
    drop_target(Target(url=url), lambda _words: True)


def run(url: str, out: Path, observer: Observer | None = None, **more: Any) -> Outcome:
    target = more.pop("target", {"url": url})
    spec = build({**LITTLE, "target": target, **more})
    return execute(spec, out, observer or Silent())


def run_some(url: str, out: Path, **more: Any) -> Archive:
    """A run with --keep in which transactions have ended: in a longer cycle where the machine had other work."""
    for duration in (0.3, 3.0, 30.0, 300.0):
        archive = Archive.open(run(url, out, keep=True, duration=duration, **more).archive)
        if archive.run.kept is not None and archive.run.kept.transactions:
            return archive
        drop_target(Target(url=url), lambda _words: True)
    raise AssertionError("no transaction ended in 300 s")


def in_database(archive: Archive) -> int:
    return sum(sum(archive.table("cycles").column(name).to_pylist()) for name in IN_DATABASE)


ALL_KEPT = mostly_thorough(
    ((product, workload) for product in PRODUCTS for workload in WORKLOADS),
    ("sqlite", "tpcb"), ("sqlite", "select"), ("postgresql", "tpcb"), ("postgresql", "tpcc"),
)  # fmt: skip


@pytest.mark.parametrize(("url", "workload"), ALL_KEPT, indirect=["url"])
def test_a_kept_database_is_run_on_and_dropped(emptied: str, workload: str, tmp_path: Path) -> None:
    url, more = emptied, {"workload": workload, **WORKLOADS[workload]}
    first = run_some(url, tmp_path, **more).run
    assert (first.status, first.broken, first.kept and first.kept.runs) == ("complete", {}, 1)
    with pytest.raises(RunError, match="a database is kept on this target") as error:
        run(url, tmp_path / "none", **more)
    assert "--reuse" in error.value.remedy
    assert "dsbench drop" in error.value.remedy
    again = Archive.open(run(url, tmp_path, reuse=True, **more, duration=5 * first.spec.duration).archive)
    second = again.run
    assert (second.status, second.broken, second.reused) == ("complete", {}, first.kept)
    assert first.kept is not None
    assert second.kept is not None
    assert second.kept.transactions == first.kept.transactions + in_database(again)
    assert f"has already had 1 run, {first.kept.transactions} transactions" in second.warnings[0].message
    assert {row["phase"] for row in again.table("phases").to_pylist()} >= {"reuse", "check"}
    assert not any(row["phase"] in ("populate", "drop") for row in again.table("phases").to_pylist())
    standing = check_target(Target(url=url), {})
    assert state_of(standing.conditions) is State.HOLDS
    assert f"{workload} at scale 1, made by the run {first.name}, aged by 2 runs" in standing.words
    assert drop_target(Target(url=url), lambda _words: False) == ""
    assert "aged by 2 runs" in drop_target(Target(url=url), lambda _words: True)
    with closing(TargetDatabase(url)) as target:
        assert target.state() == ("absent", "")


def as_user(url: str, *statements: str) -> None:
    """Runs statements in the database in which dsbench has its place, as somebody else would."""
    scheme = Target(url=url).scheme
    if scheme == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as session:
            session.executescript(";".join(statements))
        return
    if scheme == "firebird":
        target = Target(url=url)
        login = [f"{target.host}/{target.port}:{target.database}", "-user", target.user, "-password", target.password]
        text = ";\nCOMMIT;\n".join([*statements, ""])
        done = subprocess.run([str(binaries.servers()[0].isql), "-q", "-b", *login], input=text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return
    with closing(TargetDatabase(url, existing=True)) as target:
        for statement in statements:
            target.fetch(statement)


@pytest.mark.parametrize("url", mostly_thorough(PRODUCTS, "postgresql"), indirect=True)
def test_a_kept_database_is_not_dropped_with_what_the_user_put_there(emptied: str, called: Program, tmp_path: Path) -> None:
    run(emptied, tmp_path, keep=True, workload="tpcc", **WORKLOADS["tpcc"])
    places = {"postgresql": ("dsbench.", "public.v"), "mariadb": ("dsbench.", "dsbench.v")}
    place, elsewhere = places.get(Target(url=emptied).scheme, ("", "v"))
    as_user(emptied, f"CREATE TABLE {place}mine (a INTEGER)", f"INSERT INTO {place}mine VALUES (7)",
            f"CREATE VIEW {elsewhere} AS SELECT w_id FROM {place}warehouse")  # fmt: skip
    assert run(emptied, tmp_path, reuse=True, workload="tpcc", **WORKLOADS["tpcc"]).status == "complete", "nothing is in its way"
    refused = called("drop", emptied, "--yes")
    assert refused.returncode == 2
    told = refused.stderr.lower()
    assert "without objects that are not its own: " in told
    assert f"table {place}mine, view {elsewhere}\n" in told
    assert "move or drop those" in told
    with closing(TargetDatabase(emptied)) as target:
        left = place_of_died(target)
    with pytest.raises(RunError, match=r"(?i)without objects that are not its own: .*mine"):
        run(emptied, tmp_path)
    with closing(TargetDatabase(emptied)) as target:
        assert (target.state(), len(target.strangers())) == (("marked", left), 2)
    as_user(emptied, f"DROP VIEW {elsewhere}", f"DROP TABLE {place}mine")
    assert run(emptied, tmp_path).status == "complete", "what a run left that died is dropped"
    with closing(TargetDatabase(emptied)) as target:
        assert target.state() == ("absent", "")


def place_of_died(target: TargetDatabase) -> str:
    """Gives the place the mark of a run that died on it."""
    mark = json.dumps({"run": "died", "host": platform.node(), "pid": 2**22 + 1, "process_started": 1.0})
    target.remark(mark)
    return mark


def test_a_database_that_was_only_read_can_be_written_to_next_and_not_the_other_way_round(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    read = run_some(url, tmp_path, workload="select").run
    assert read.kept is not None
    again = Archive.open(run(url, tmp_path, reuse=True, workload="tpcb").archive)
    written = again.run
    assert (written.status, written.broken) == ("complete", {})
    assert f"has already had 1 run, {read.kept.transactions} transactions" in written.warnings[0].message
    assert written.kept is not None
    assert written.kept.transactions == read.kept.transactions + in_database(again)
    with pytest.raises(RunError, match="its workload is tpcb, requested is select"):
        run(url, tmp_path, reuse=True, workload="select")


def test_a_kept_database_that_does_not_fit_is_refused_whole(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    run(url, tmp_path, keep=True)
    with pytest.raises(RunError) as error:
        run(url, tmp_path, reuse=True, workload="tpcc", scales=(1, 2))
    assert "its workload is tpcb, requested is tpcc; its scale is 1, requested is 1,2" in str(error.value)
    assert "--workload tpcb --scales 1" in error.value.remedy
    with closing(TargetDatabase(url)) as target:
        state, mark = target.state()
        changed = json.loads(mark)
        changed["kept"]["committed"][0] += 1
        target.remark(json.dumps(changed))
    outcome = run(url, tmp_path, reuse=True)
    assert "history rows = committed transactions" in str(outcome.error)
    with closing(TargetDatabase(url)) as target:
        left = place.read_mark(target.state()[1])
    assert (state, left and left.runs) == ("marked", 2), "it is still there"
    assert drop_target(Target(url=url), lambda _words: True)


def test_a_run_on_a_kept_database_that_is_stopped_leaves_it(tmp_path: Path) -> None:
    """What it did is not known: the next check says so, and compares what it can."""
    url = f"sqlite:///{tmp_path}/file.db"
    stop = Stop()

    class Stopping(Silent):
        refused = False

        def moment(self, moment: Moment) -> None:
            if moment.phase == "cycle" and moment.done:
                with closing(TargetDatabase(url)) as target:
                    owner = json.loads(target.state()[1])
                # Another process has another number.
                other = json.dumps({**owner, "pid": 1, "process_started": psutil.Process(1).create_time()})
                with pytest.raises(RunError, match="is using this target"):
                    place._check_not_in_use(other)
                self.refused = True
                stop.request()

    run(url, tmp_path, keep=True)
    spec = build({**LITTLE, "duration": 30, "target": {"url": url}, "reuse": True})
    observer = Stopping()
    outcome = execute(spec, tmp_path, observer, stop=stop)
    assert (outcome.status, observer.refused) == ("cut-short", True)
    standing = check_target(Target(url=url), {})
    assert "aged by 2 runs, at least" in standing.words
    states = {one.name: one.state for one in standing.conditions}
    assert State.BROKEN not in states.values(), states
    assert states["branch sum = history sum"] is State.HOLDS, "only what the stopped clients did is not known"
    assert run(url, tmp_path, reuse=True).void_scales == ()


@pytest.mark.parametrize("product", mostly_thorough(PRODUCTS, "postgresql"))
def test_a_private_server_keeps_its_database_in_a_named_folder(product: str, tmp_path: Path, base: Path) -> None:
    with pytest.raises(SpecError, match=f"private:{product} ends with its run") as error:
        run(f"private:{product}", tmp_path, keep=True)
    assert "?directory=FOLDER" in error.value.remedy
    where = f"private:{product}" + ("@3" if product == "firebird" else "") + f"?directory={base}"
    first = run(where, tmp_path / "out", keep=True)
    assert first.status == "complete", first.error
    (home,) = base.iterdir()
    folder.clean(base)
    with pytest.raises(SpecError, match="is kept in"):
        run(where, tmp_path / "out", keep=True)
    if product == "sqlite":
        assert run(where, tmp_path / "out").status == "complete", "another one beside it"
    assert list(base.iterdir()) == [home]
    second = run(where, tmp_path / "out", reuse=True)
    assert (second.status, second.void_scales) == ("complete", ()), second.error
    target = Target(url=where)
    assert "aged by 2 runs" in check_target(target, {}).words
    assert str(home) in drop_target(target, lambda _words: True)
    assert list(base.iterdir()) == []
    assert drop_target(target, lambda _words: True) == ""


def test_a_run_that_died_once_its_database_was_kept_goes_on_to_its_end(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/file.db"
    archive = run(url, tmp_path, keep=True).archive
    path = archive / "run.json"
    described = json.loads(path.read_text())
    age = described.pop("kept")
    path.write_text(json.dumps({**described, "status": "running", "process": {}}))
    assert resume(archive, None, Silent()).status == "complete"
    again = Archive.open(archive).run
    assert again.kept is not None
    assert again.kept.described() == age
    assert drop_target(Target(url=url), lambda _words: True)


def test_drop_asks_and_touches_nothing_that_is_not_ours(called: Program, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    run(f"sqlite:///{tmp_path}/file.db", tmp_path, keep=True)
    refused = called("drop", "sqlite:///file.db")
    assert (refused.returncode, (tmp_path / "file.db").exists()) == (2, True)
    assert "tpcb at scale 1" in refused.stderr
    assert "add --yes" in refused.stderr
    with closing(TargetDatabase(f"sqlite:///{tmp_path}/file.db")) as target:
        resting = target.state()[1]
        init = {"host": platform.node(), "pid": 1, "process_started": psutil.Process(1).create_time()}
        target.remark(json.dumps({**json.loads(resting), **init}))
        assert called("drop", "sqlite:///file.db", "--yes").returncode == 1, "a run uses it"
        target.remark(resting)
    removed = called("drop", "sqlite:///file.db", "--yes")
    assert (removed.returncode, removed.stdout[:26]) == (0, "removed: sqlite:///file.db")
    assert not list(tmp_path.glob("file.db*"))
    again = called("drop", "sqlite:///file.db", "--yes")
    assert (again.returncode, again.stdout) == (0, "sqlite:///file.db: dsbench has nothing there\n")
    (tmp_path / "file.db").write_bytes(b"SQLite format 3\0" + bytes(100))
    foreign = called("drop", "sqlite:///file.db", "--yes")
    assert (foreign.returncode, (tmp_path / "file.db").stat().st_size) == (2, 116)
    alone = called("drop", "private:sqlite", "--yes")
    assert (alone.returncode, "?directory=FOLDER" in alone.stderr) == (2, True)
