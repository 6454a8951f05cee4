from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dsbench.stats.both_counts import BothCounts
from dsbench.stats.doubts import doubts
from dsbench.stats.facts import RunFacts, UnsafeSwitch, outside_share
from dsbench.stats.fairness import Evenness
from dsbench.stats.steady import Drift, SteadyVerdict
from dsbench.stats.values import Doubt, known
from dsbench.workloads import find
from fixtures.facts import RUN, SCALE


def codes(run: RunFacts = RUN, **scale: Any) -> list[str]:
    found = doubts(run, [replace(SCALE, **scale)])
    assert all(doubt.message and doubt.remedy for doubt in found)
    return [doubt.code for doubt in found]


def test_a_good_run_raises_no_doubt() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"checked": False}, "unchecked"),
        ({"cycles": 9}, "missing-cycles"),
        ({"histogram_count": 99_999}, "incomplete"),
        ({"histogram_count": 100_001}, "incomplete"),
        ({"populations": 2}, "resumed"),
        ({"absent": 1}, "degraded"),
        ({"failed": 2000, "attempts": 102_000}, "failures"),
        ({"unknown": 1}, "unknown-commits"),
        ({"client_cpus": 2.1}, "client-bottleneck"),
        ({"outside_share": 0.21}, "client-bottleneck"),
        ({"remote": 13_900}, "remote-share"),
        ({"remote": 16_100}, "remote-share"),
        ({"remote": 0}, "remote-share"),
        ({"remote": 20_000, "scale": 1}, "remote-share"),  # TP1 has ten branches there.
    ],
)
def test_each_fact_raises_its_doubt_and_no_other(change: dict[str, Any], code: str) -> None:
    assert codes(**change) == [code]


@pytest.mark.parametrize(
    "change",
    [
        {"histogram_count": 100_500, "rolled_back": 1000},
        {"failed": 1000, "attempts": 101_000},
        {"client_cpus": 2.0},
        {"client_cpus": float("nan"), "outside_share": float("nan")},
        {"remote": 14_100},
        {"remote": 15_900},
        {"remote": 10, "kept": 100},  # 10% of a hundred is chance: 3 sigma are 10.7%
        {"remote": 0, "scale": 1},
    ],
)
def test_what_is_within_its_bounds_raises_none(change: dict[str, Any]) -> None:
    assert codes(**change) == []


def test_a_failed_check_is_severe_and_comes_first() -> None:
    found = doubts(replace(RUN, status="failed", reason="disk full"), [replace(SCALE, broken=("a (1)", "b (2)"))])
    assert [(doubt.code, doubt.severe) for doubt in found] == [("check-failed", True), ("cut-short", False)]
    assert "a (1); b (2)" in found[0].message
    assert "disk full" in found[1].message


def test_a_failed_check_names_the_undo_log_where_something_was_rolled_back_by_it() -> None:
    remedies = [
        doubts(replace(RUN, undo_log=undo_log), [replace(SCALE, broken=("a (1)",), failed=failed)])[0].remedy
        for undo_log, failed in [(True, 3), (True, 0), (False, 3)]
    ]
    assert ["auto_undo=off" in remedy for remedy in remedies] == [True, False, False]


def test_nothing_measured_and_nothing_committed_are_void() -> None:
    nothing = {"committed": 0, "attempts": 0, "remote": 0, "kept": 0, "histogram_count": 0}
    assert codes(cycles=0, **nothing) == ["void"]
    assert codes(**{**nothing, "failed": 50, "attempts": 50}) == ["void", "failures"]
    failed = replace(SCALE, **{**nothing, "failed": 50, "attempts": 50, "main_error": "statement P0001"})
    first = doubts(RUN, [SCALE, replace(failed, scale=20)])[0]
    assert first == Doubt(
        "void", "no transaction succeeded: 50 attempts failed, most often by statement P0001",
        "check the errors of the run (--by errors)", 20, severe=True,
    )  # fmt: skip


def test_conditions_that_were_not_made_are_told_with_what_mends_it() -> None:
    (found,) = doubts(RUN, [replace(SCALE, unmade=(("DuckDB is not installed", "install it", 2),), conditions=9)])
    assert found == Doubt("not-made", "2 of 9 conditions were not made: DuckDB is not installed", "install it", 10)


@pytest.mark.parametrize(("status", "expected"), [("running", 1), ("cut-short", 1), ("failed", 1), ("complete", 0)])
def test_a_run_that_did_not_end_says_so(status: str, expected: int) -> None:
    assert codes(replace(RUN, status=status)).count("cut-short") == expected


@pytest.mark.parametrize("change", [{"duration_s": 4}, {"made": 2}])
def test_short_runs_are_a_glimpse(change: dict[str, Any]) -> None:
    assert codes(replace(RUN, **change)) == ["short-cycles"]
    assert codes(replace(RUN, **change, timed=False)) == [], "what ends by its work is as long as that takes"


def test_short_cycles_of_tpcc_have_a_remedy_of_their_own() -> None:
    (found,) = doubts(replace(RUN, workload=find("tpcc"), duration_s=5), [])
    assert found.remedy == "use 3 cycles or more of 30 s or more"


def test_each_unsafe_switch_is_named() -> None:
    unsafe = (UnsafeSwitch("fsync", "off", "a power cut corrupts it"), UnsafeSwitch("unlogged", "on", "rows go"))
    found = doubts(replace(RUN, unsafe=unsafe), [SCALE])
    assert [doubt.code for doubt in found] == ["durability", "durability"]
    assert found[0].message == "fsync = off: a power cut corrupts it"


def test_failures_have_a_remedy_that_fits_the_run() -> None:
    def remedy(run: RunFacts, error: str = "serialization 40001") -> str:
        (found,) = doubts(run, [replace(SCALE, failed=50_000, attempts=150_000, main_error=error)])
        assert found.message == f"33.3% of the attempts failed, most often by {error}"
        return found.remedy

    assert "--retry" in remedy(RUN)
    assert "read-committed" in remedy(RUN)
    assert "--retry" not in remedy(replace(RUN, retry=True))
    assert "read-committed" not in remedy(replace(RUN, isolation="read-committed"))
    assert "--clients" in remedy(RUN, "busy 5")
    assert "log" in remedy(RUN, "statement 53100")


def test_the_clients_cpu_says_nothing_where_it_is_not_the_clients_alone() -> None:
    busy = {"client_cpus": 3.9}
    assert codes(replace(RUN, embedded=True), **busy) == []
    assert codes(replace(RUN, nodes=2), **busy) == []
    assert codes(replace(RUN, cpus=0), **busy) == []
    assert codes(**busy) == ["client-bottleneck"]


def test_idle_threads_are_meant_in_the_open_loop_and_connect_with_reconnect() -> None:
    idle = {"outside_share": 0.9}
    assert codes(replace(RUN, pacings=frozenset({"closed", "constant"})), **idle) == []
    assert codes(replace(RUN, reconnect=True), **idle) == []
    assert codes(replace(RUN, embedded=True), **idle) == ["client-bottleneck"]


def test_starts_missed_in_the_open_loop() -> None:
    (found,) = doubts(replace(RUN, pacings=frozenset({"constant"})), [replace(SCALE, missed=25_000)])
    assert found.code == "missed-starts"
    assert "20.0%" in found.message  # 25,000 of 125,000 that were due


def test_uneven_clients_are_a_doubt_in_the_closed_loop() -> None:
    least = np.array([0.95, 0.62, 0.7])
    found = Evenness(np.array([1, 2, 3]), 8, least, np.array([1.1, 1.3, 1.2]), uneven=(2, 3))
    (doubt,) = doubts(RUN, [replace(SCALE, evenness=found)])
    assert doubt.code == "uneven-clients"
    assert "the slowest of 8 clients had 0.62 of the mean rate in cycle 2" in doubt.message
    assert "uneven in cycles 2–3" in doubt.message
    assert codes(evenness=replace(found, uneven=())) == []
    assert codes(replace(RUN, pacings=frozenset({"poisson"})), evenness=found) == []


def test_only_a_drift_that_was_judged_is_a_doubt() -> None:
    drifting = ("within the cycle", Drift(SteadyVerdict.DRIFTING, -0.25, 1e-9, 60))
    steady = ("over the 10 cycles", Drift(SteadyVerdict.STEADY, 0.01, 0.5, 600))
    short = ("over the 10 cycles", Drift(SteadyVerdict.TOO_SHORT, np.nan, np.nan, 12))
    (found,) = doubts(RUN, [replace(SCALE, drifts=(drifting, steady, short))])
    assert found.code == "no-steady-state"
    assert "-25% within the cycle" in found.message


def test_remote_share_is_asked_where_the_workload_has_one() -> None:
    (found,) = doubts(RUN, [replace(SCALE, remote=0)])
    assert found.message == "0.0% of the transactions changed another branch's account, TPC-B requires 14-16%"
    assert found.remedy.startswith("do not present the figures as TPC-B-like; if one branch fails")
    assert codes(replace(RUN, workload=find("select")), remote=0) == []


def test_what_the_run_noticed_is_not_said_twice() -> None:
    noticed = Doubt("degraded", "node b went away", "see its log", 10)
    found = doubts(RUN, [replace(SCALE, absent=3)], [noticed])
    assert found == (noticed,)


def test_outside_share_by_hand() -> None:
    ms = 1_000_000
    # Thread 0: 100 ms from first start to last end, 70 ms in transactions, 10 in failed ones. Thread 1 idle.
    residence, failed = np.array([[[70, 0]]]) * ms, np.array([[[10, 50]]]) * ms
    first, last = np.array([[[5, 0]]]) * ms, np.array([[[105, 0]]]) * ms
    assert outside_share(residence, failed, first, last) == pytest.approx(0.2)
    assert outside_share(residence * 2, failed, first, last) == 0
    assert np.isnan(outside_share(residence * 0, failed, first * 0, last * 0))


def test_a_rate_near_the_clients_ceiling_is_the_clients() -> None:
    # 100,000 transactions in 10 cycles of 60 s are 166.7 tps.
    assert codes(replace(RUN, ceiling_tps=334.0)) == []
    assert codes(replace(RUN, ceiling_tps=333.0)) == ["client-bottleneck"]
    assert codes(replace(RUN, ceiling_tps=333.0, embedded=True)) == ["client-bottleneck"]
    assert codes(replace(RUN, ceiling_tps=333.0, nodes=2)) == []
    (found,) = doubts(replace(RUN, ceiling_tps=200.0), [SCALE])
    assert "83%" in found.message


@pytest.mark.parametrize(("count", "named"), [(499, "p99, p99.7"), (99, "p95, p99, p99.7"), (6, "p50, p95, p99, p99.7")])
def test_quantiles_of_few_transactions_are_told_to_be_unknown(count: int, named: str) -> None:
    (found,) = [d for d in doubts(RUN, [replace(SCALE, histogram_count=count)]) if d.code == "few-transactions"]
    assert f"are too few for {named}: " in found.message


def test_a_quantile_is_known_where_transactions_lie_beyond_it() -> None:
    assert [known(q, 500) for q in (0.5, 0.99, 0.997, 1.0)] == [True, True, False, True]
    assert [known(0.99, n) for n in (499, 500)] == [False, True]
    # 50 * (1 - 0.9) is 4.9999999999999991 in binary.
    assert [known(q, n) for q, n in ((0.9, 49), (0.9, 50), (0.8, 24), (0.8, 25))] == [False, True, False, True]
    assert "few-transactions" not in [d.code for d in doubts(RUN, [replace(SCALE, histogram_count=500)])]


def test_a_workload_that_says_how_many_queries_there_are_has_no_more_of_them() -> None:
    queries = replace(RUN, workload=find("tpch"))
    assert "few-transactions" not in [d.code for d in doubts(queries, [replace(SCALE, histogram_count=24)])]


def test_the_servers_count_is_held_against_the_clients_in_both_directions() -> None:
    quiet = BothCounts(1, ended=819, server=900, own=100, seconds=2.0)
    assert (quiet.foreign, quiet.lacking) == (0, 0)
    assert BothCounts(1, ended=819, server=1064, own=120, seconds=2.0).foreign == 125
    assert BothCounts(1, ended=1000, server=400, own=100, seconds=2.0).lacking == 600
    assert BothCounts(1, ended=1000, server=400, own=100, seconds=1.0).lacking == 0, "they may come late"
    assert BothCounts(1, ended=40, server=400, own=100, seconds=2.0).foreign == 0, "too few to compare"
