"""The Insert Benchmark as a run: its stages in the archive, on every product at its least size."""

from __future__ import annotations

import signal
from collections import defaultdict
from pathlib import Path

import pytest

from dsbench import servers
from dsbench.archive import Archive
from dsbench.archive.conditions import State, state_of
from dsbench.measure import opening
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import Bench, CoreError, TargetDatabase
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.rate import RateResult
from dsbench.spec import RunSpec, Target, build, merged
from fixtures.program import Program
from fixtures.started import Begin
from fixtures.thorough import mostly_thorough
from fixtures.waiting import until

READING = ("qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000")
BLOOM = "block_based_table_factory={filter_policy=bloomfilter:10:false};compression=kLZ4Compression"
PRODUCTS = {
    "sqlite": ("private:sqlite", {"synchronous": "off"}, ["analyze", "checkpoint"]),
    "postgresql": ("private:postgresql", {"fsync": "off"}, ["vacuum", "checkpoint"]),
    "mysql": ("private:mysql@8.0", {"innodb_flush_log_at_trx_commit": "0"}, ["analyze", "dirty pages"]),
    "innodb": ("private:mariadb", {"innodb_flush_log_at_trx_commit": "0"}, ["analyze", "dirty pages"]),
    "myrocks": ("private:mariadb", {"storage_engine": "RocksDB", "rocksdb_default_cf_options": BLOOM,
                                    "rocksdb_override_cf_options": f"secondary={{{BLOOM}}}"},
                ["analyze", "flush", "compaction"]),
    "firebird": ("private:firebird", {"forced_writes": "off"}, ["sweep", "statistics"]),
}


def spec(url: str, settings: dict[str, str] | None = None, **more: object) -> RunSpec:
    asked = {"target": {"url": url, "settings": settings or {}}, "workload": "insert", "scales": (1,), "duration": 0.3}
    return build({**asked, "clients": 1, "seed": 7, "workload_settings": {"writes": "2000"}, **more})


@pytest.mark.parametrize(
    "product",
    mostly_thorough(
        (pytest.param(name, marks=[pytest.mark.needs_mysql] * (name == "mysql"), id=name) for name in PRODUCTS),
        "sqlite", "postgresql",
    ),
)
def test_a_run_leaves_all_stages_and_tables_that_hold_what_was_written(product: str, tmp_path: Path) -> None:
    url, settings, settled = PRODUCTS[product]
    # One product runs the stages of all rates, which are of one form.
    reading, rates = (READING, "all") if product == "sqlite" else (READING[-2:], "1000")
    more = {"family": "secondary"} if product == "myrocks" else {}
    asked = spec(url, settings, workload_settings={"writes": "2000", "rates": rates, **more})
    outcome = execute(asked, tmp_path, Silent())
    assert (outcome.status, outcome.void_scales) == ("complete", ())
    archive = Archive.open(outcome.archive)
    groups = {(row["stage"], row["group"]): row for row in archive.table("groups").to_pylist()}
    assert list(dict.fromkeys(stage for stage, _group in groups)) == ["l.i0", "l.i1", "l.i2", *reading]
    done: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    ended_s: dict[str, float] = defaultdict(float)
    for row in archive.table("cycles").to_pylist():
        ended_s[row["stage"]] = max(ended_s[row["stage"]], (row["last_end_ns"] or 0) / 1e9)
        counts = done[row["stage"], row["group"]]
        counts[0] += row["committed"]
        counts[1] += row["rows"]
    assert done["l.i0", "insert"] == [1000, 100_000]
    assert done["l.i1", "insert"] == done["l.i1", "delete"] == [32, 1600]
    assert done["l.i2", "insert"] == done["l.i2", "delete"] == [80, 400]
    assert groups["l.i2", "delete"]["pacing"] == "in-step"
    for stage in reading:
        assert done[stage, "query"][0] > 0
        demanded = float(stage[2:])
        assert [groups[stage, name]["rows_per_s"] for name in ("query", "insert", "delete")] == [None, demanded, demanded]
        # What was due when the queries ended is done, under way or missed.
        assert done[stage, "insert"][1] == 50 * done[stage, "insert"][0] <= demanded * ended_s[stage] + 50
    phases = {(row["stage"], row["phase"]): row for row in archive.table("phases").to_pylist()}
    assert phases["l.x", "indexes"]["rows"] == phases["l.x", "l.x"]["rows"] == 100_000
    assert {phase for stage, phase in phases if stage == "settle"} == {"settle", *settled}
    sizes = {round(row.database_size_gb * 1e9) for row in evaluate(archive).of(RateResult).scales}
    assert sizes == {phases["settle", "settle"]["size_bytes"]}, "the population made no rows"
    (checks,) = archive.run.checks.values()
    assert [check.name.partition(":")[0] for check in checks] == ["l.i0.check"] * 6 + ["l.i2.check"] * 9 + ["check"] * 9
    assert state_of(checks) is State.HOLDS, checks
    inserted = sum(rows for (_stage, group), (_count, rows) in done.items() if group == "insert")
    (held,) = (check.detail for check in checks if check.name == "check: rows = inserted - deleted")
    assert int(held.split("inserted ")[1].split(",")[0]) >= inserted, "those that ended late are there, too"


def test_its_database_cannot_be_kept_as_no_later_run_could_work_on_it(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="--keep: the stages of insert need a fresh database") as refused:
        execute(spec(f"sqlite:///{tmp_path}/file.db", keep=True), tmp_path, Silent())
    assert refused.value.usage
    assert not list(tmp_path.iterdir())


def test_several_numbers_of_threads_are_refused_before_anything_is_made() -> None:
    bench = Bench(TargetDatabase("mock:"), "insert", 1, None, {}, 4)
    with pytest.raises(CoreError, match="--clients 2,4: the stages of insert are run once each"):
        bench.refuse(spec("mock:", clients=[2, 4]))


def test_a_private_server_has_room_for_all_groups_of_the_fullest_stage() -> None:
    beside = opening.sessions(spec("mock:", workload="tpcb", workload_settings={}))
    assert opening.sessions(spec("mock:", clients=100)) - beside == 3 * 100 - 1


def test_without_a_word_of_size_it_takes_one_scale_and_a_minute() -> None:
    asked = merged({"workload": "insert"}, target="mock:").spec
    assert (asked.profile, asked.scales, asked.duration) == ("quick", (1,), 4.0)
    assert merged({"workload": "tpcb"}, target="mock:").spec.scales == (4, 8), "a branch for each client, and twice as many"
    assert merged({"workload": "insert", "profile": "quick", "scales": (2,)}, target="mock:").spec.scales == (2,)


def test_numbers_with_gaps_between_rows_are_refused(tmp_path: Path) -> None:
    outcome = execute(spec("private:mariadb", {"auto_increment_increment": "2"}), tmp_path, Silent())
    assert outcome.error is not None
    assert outcome.error.usage
    assert "rows are numbered in steps of 2 here" in str(outcome.error)
    assert "auto_increment_increment = 1" in str(outcome.error)


LIMITS = ("innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm")
SLOW = {"innodb_io_capacity": "100", "innodb_io_capacity_max": "100", LIMITS[0]: "80", LIMITS[1]: "7"}
"""A server that takes its time to write out changed pages."""


def limits(target: TargetDatabase) -> list[float]:
    rows = [target.fetch(f"SELECT @@GLOBAL.{name} AS value") for name in LIMITS]
    return [float(row["value"] or "") for (row,) in rows]


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["Ctrl-C", "lost sessions", "kill"])
def test_settings_of_the_users_server_come_back_however_the_run_ends(how: str, begin: Begin, called: Program) -> None:
    with servers.start(Target(url="private:mariadb", settings=SLOW), 10) as server:
        target = TargetDatabase(server.url)
        sizes = [word for one in ("rows=50000", "writes=500", "rates=1000", "settle=full") for word in ("--set", one)]
        process = begin(
            server.url, "--workload", "insert", "--clients", "1", "--scales", "1", "--duration", "0.3", *sizes
        )
        assert until(lambda: limits(target) == [1, 1] or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        if how == "kill":
            process.kill()
        elif how == "Ctrl-C":
            process.send_signal(signal.SIGINT)
        else:
            inside = "SELECT id FROM information_schema.processlist WHERE db = 'dsbench' AND id <> connection_id()"
            for row in target.fetch(inside):
                target.fetch(f"KILL {row['id']}")
        said = "".join(process.communicate(timeout=120))
        if how == "kill":
            assert limits(target) == [1, 1]
            dropped = called("drop", server.url, "--yes")
            assert dropped.returncode == 0, dropped.stderr
            said = dropped.stdout + dropped.stderr
        assert f"{LIMITS[0]} = 80, {LIMITS[1]} = 7 restored after" in said
        assert limits(target) == [80, 7]
        assert target.state()[0] == "absent"
        target.close()


def test_the_next_run_sets_back_what_one_has_left_between_two_settings(called: Program) -> None:
    with servers.start(Target(url="private:mariadb", settings=SLOW), 10) as server:
        target = TargetDatabase(server.url)
        target.create('{"run": "dead"}')
        target.fetch("CREATE TABLE dsbench.dsbench_limits (name varchar(64) PRIMARY KEY, value varchar(64) NOT NULL)")
        target.fetch(
            f"INSERT INTO dsbench.dsbench_limits VALUES ('{LIMITS[0]}', '80.000000'), ('{LIMITS[1]}', '7.000000')"
        )
        target.fetch(f"SET GLOBAL {LIMITS[1]} = 1")
        words = ["--workload", "ycsb-c", "--scales", "1", "--clients", "1", "--duration", "0.2", "--cycles", "1"]
        done = called("run", server.url, *words)
        assert done.returncode == 0, done.stderr
        assert f"{LIMITS[0]} = 80, {LIMITS[1]} = 7 restored after" in done.stdout + done.stderr
        assert limits(target) == [80, 7]
        target.close()
