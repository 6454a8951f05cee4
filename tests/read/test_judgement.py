from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.course import CourseResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.stats.values import Doubt
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, run_json, write

SPEC = {"scales": (10,), "cycles": 3, "duration": 60.0, "clients": 1}
CYCLES = (1, 2, 3)


def rows(scale: int = 10, count: int = 59_000, **more: Any) -> dict[str, list[dict[str, Any]]]:
    """Three cycles of one busy thread; nothing in them is worth a doubt."""
    times = [MS] * count
    key = {"remote": count * 15 // 100, **more}
    return {
        "cycles": [cycle_row(scale, cycle, times, **key) for cycle in CYCLES],
        "buckets": [row for cycle in CYCLES for row in bucket_rows(scale, cycle, times)],
    }


def judged(folder: Path, tables: dict[str, list[dict[str, Any]]], **run: Any) -> Evaluation:
    spec = {**SPEC, **run.pop("spec", {})}
    return evaluate(write(folder, run_json(spec, **run), tables))


def codes(found: Evaluation) -> list[str]:
    return [doubt.code for doubt in found.of(WarningsResult).doubts]


def test_a_good_run_raises_no_doubt(tmp_path: Path) -> None:
    assert codes(judged(tmp_path, rows())) == []


@pytest.mark.parametrize(
    ("begins", "expected"),
    [([1], []), ([1, 3], ["resumed"]), ([1, 1], []), ([1, 4], [])],
    ids=["in one go", "resumed after two cycles", "again after a broken population", "broken before the next cycle"],
)
def test_resumed_means_that_cycles_come_from_two_populations(
    tmp_path: Path, begins: list[int], expected: list[str]
) -> None:
    segments = [{"started": "", "scale": 10, "first_cycle": first} for first in begins]
    assert codes(judged(tmp_path, rows(), segments=segments)) == expected


def test_a_scale_without_a_check_says_so(tmp_path: Path) -> None:
    assert codes(judged(tmp_path, rows(), checks={})) == ["unchecked"]


def test_unsafe_switches_and_what_the_run_noticed_are_told(tmp_path: Path) -> None:
    durability = [
        {"switch": "fsync", "value": "off", "safe": False, "meaning": "a power cut loses data"},
        {"switch": "full_page_writes", "value": "on", "safe": True, "meaning": ""},
    ]
    warning = {"code": "monitor", "message": "no device found", "remedy": "see dsbench doctor", "scale": None}
    found = judged(tmp_path, rows(), durability=durability, warnings=[warning])
    assert found.of(WarningsResult).doubts[0] == Doubt("monitor", "no device found", "see dsbench doctor")
    assert [doubt.message for doubt in found.of(WarningsResult).doubts[1:]] == ["fsync = off: a power cut loses data"]


def second_rows(counts: list[int], factors: tuple[float, ...] = (1, 1, 1)) -> list[dict[str, Any]]:
    key = {"scale": 10, "node": "local", "kind": "tpcb", "failed": 0, "p50_ns": MS, "p99_ns": MS, "max_ns": MS}
    return [
        {**key, "cycle": cycle, "second": second, "count": round(count * factor)}
        for cycle, factor in zip(CYCLES, factors, strict=True)
        for second, count in enumerate(counts)
    ]


def test_a_fall_within_each_cycle_is_no_steady_state(tmp_path: Path) -> None:
    falling = {**rows(), "seconds": second_rows([1300 - 10 * second for second in range(60)])}
    (doubt,) = judged(tmp_path, falling).of(WarningsResult).doubts
    assert doubt.code == "no-steady-state"
    assert "within the cycle" in doubt.message


def test_a_fall_from_cycle_to_cycle_is_no_steady_state(tmp_path: Path) -> None:
    (doubt,) = judged(tmp_path, {**rows(), "seconds": second_rows([1000] * 60, (1.0, 0.9, 0.8))}).of(WarningsResult).doubts
    assert "over the 3 cycles" in doubt.message


def checkpoint_rows(*cycles: int) -> list[dict[str, Any]]:
    key = {"scale": 10, "node": "local", "monitor": "server", "metric": "checkpoints_timed", "unit": "count total"}
    return [
        {**key, "cycle": cycle, "at_ns": at_s * S, "value": 5.0 + (cycle in cycles and at_s > 0)}
        for cycle in CYCLES
        for at_s in (0, 60)
    ]


def test_a_spread_without_direction_is_no_drift(tmp_path: Path) -> None:
    uneven = {**rows(), "seconds": second_rows([1000] * 60, (1.0, 0.5, 0.9)), "monitors": checkpoint_rows(2)}
    for row, count in zip(uneven["cycles"], (59_000, 29_500, 53_100), strict=True):
        row["committed"] = count
    doubts = {doubt.code: doubt for doubt in judged(tmp_path, uneven).of(WarningsResult).doubts}
    assert "no-steady-state" not in doubts
    assert "cycle 2 -44%" in doubts["scattered-cycles"].message
    assert "only cycle 2 had a checkpoint" in doubts["scattered-cycles"].remedy


def test_cpu_time_of_cycles_that_scatter_is_told(tmp_path: Path) -> None:
    uneven = {**rows(), "seconds": second_rows([1000] * 60, (1.0, 0.5, 0.9))}
    for row, count in zip(uneven["cycles"], (60_000, 30_000, 54_000), strict=True):
        row["committed"] = count
    key = {"scale": 10, "node": "local", "monitor": "server_tasks", "metric": "cpu", "unit": "s total"}
    uneven["monitors"] = [
        {**key, "cycle": cycle, "at_ns": at_s * S, "value": at_s * 0.1 * cycle} for cycle in (1, 3) for at_s in (0, 60)
    ]
    (message,) = (doubt.message for doubt in judged(tmp_path, uneven).of(WarningsResult).doubts if doubt.code == "scattered-cycles")
    # 60 s x 0.1 / 60,000 and 60 s x 0.3 / 54,000; the second cycle was not watched.
    assert message.endswith("; a transaction took 100 to 333 µs of the server's CPU time")
    for row in uneven["monitors"]:
        row["value"] = row["at_ns"] / 1e10
    (message,) = (doubt.message for doubt in judged(tmp_path / "b", uneven).of(WarningsResult).doubts if doubt.code == "scattered-cycles")
    assert "CPU" not in message, "100 and 111 µs are about the same"


def test_a_second_that_the_cycle_breaks_off_is_not_judged(tmp_path: Path) -> None:
    # A fall over 29.5 s would be judged by 30 seconds; 29 whole ones are too few.
    falling = {**rows(), "seconds": [row for row in second_rows([900 - 10 * s for s in range(30)]) if row["cycle"] == 1]}
    falling["cycles"] = falling["cycles"][:1]
    falling["buckets"] = [row for row in falling["buckets"] if row["cycle"] == 1]
    found = judged(tmp_path, falling, spec={"duration": 29.5, "cycles": 1})
    assert codes(found) == ["short-cycles"]
    assert found.of(CourseResult).seconds[10].shape == (30, 5)
    assert "no-steady-state" in codes(judged(tmp_path, falling, spec={"duration": 30.0, "cycles": 1}))


def test_cycles_shorter_than_a_second_are_not_judged(tmp_path: Path) -> None:
    found = judged(tmp_path, {**rows(count=400), "seconds": second_rows([400])}, spec={"duration": 0.5})
    assert codes(found) == ["short-cycles"]


def test_the_clients_cpu_time_is_held_against_the_machine(tmp_path: Path) -> None:
    def samples(cpu_s: float) -> list[dict[str, Any]]:
        key = {"scale": 10, "node": "local", "monitor": "client", "unit": "s total"}
        return [
            {**key, "cycle": cycle, "metric": metric, "at_ns": at_s * S, "value": at_s * cpu_s / 2}
            for cycle in CYCLES
            for metric in ("cpu_user", "cpu_system")
            for at_s in (0, 60)
        ]

    # 1.1 of 2 CPUs is more than half of the machine.
    (doubt,) = judged(tmp_path, {**rows(), "monitors": samples(1.1)}).of(WarningsResult).doubts
    assert (doubt.code, doubt.scale) == ("client-bottleneck", 10)
    assert "55% of the machine's CPU" in doubt.message
    assert codes(judged(tmp_path, {**rows(), "monitors": samples(0.9)})) == []
    assert codes(judged(tmp_path, {**rows(), "monitors": samples(1.9)}, embedded=True)) == []


def test_idle_threads_raise_a_doubt_about_the_client(tmp_path: Path) -> None:
    # 0.5 ms in transactions out of each ms.
    idle = rows(last_end_ns=118 * S)
    (doubt,) = judged(tmp_path, idle).of(WarningsResult).doubts
    assert "50% of their time outside of transactions" in doubt.message


def test_one_group_that_waits_for_its_turn_tells_that_threads_are_idle_on_purpose(tmp_path: Path) -> None:
    paced = [group_row(10, "load", cycle, 60 * S, pacing="constant", rate_per_s=500.0) for cycle in (1, 2, 3)]
    assert judged(tmp_path, rows(last_end_ns=118 * S) | {"groups": paced}).of(WarningsResult).doubts == ()


def collided(folder: Path, **run: Any) -> Evaluation:
    """Three scales with 9 clients and kappa = 0.5: q = 1/(1 + 4/X), so 4/X failures for each success."""
    cycles = [cycle_row(x, 1, [MS] * 1000, failed=4000 // x, remote=150) for x in (1, 4, 16)]
    return judged(folder, {"cycles": cycles}, **run, spec={"scales": (1, 4, 16), "clients": 9, "isolation": "repeatable-read"})


def test_the_collision_model_is_fitted_where_snapshots_collide(tmp_path: Path) -> None:
    found = collided(tmp_path).of(ErrorsResult).collision
    assert found is not None
    assert (found.kappa, found.rms) == (pytest.approx(0.5, rel=1e-4), pytest.approx(0, abs=1e-5))
    assert (found.clients, found.lowest_scale, found.highest_scale) == (9, 1, 16)


def test_the_collision_model_is_withheld_where_it_does_not_apply(tmp_path: Path) -> None:
    dialect = {"name": "sqlite", "procedures": False, "embedded": True, "single_writer": True}
    assert collided(tmp_path, dialect=dialect).of(ErrorsResult).collision is None
    innodb = [{"layer": "RDBMS", "items": {"storage engine": "InnoDB"}}]
    assert collided(tmp_path, stack=innodb).of(ErrorsResult).collision is None
    assert judged(tmp_path, rows()).of(ErrorsResult).collision is None
    cycles = [cycle_row(x, 1, [MS] * 1000, failed=4000 // x) for x in (1, 4, 16)]
    open_loop = {"scales": (1, 4, 16), "clients": 9, "rate": 500.0}
    assert judged(tmp_path, {"cycles": cycles}, spec=open_loop).of(ErrorsResult).collision is None
    mixed = [group_row(x, "load", 1, 60 * S, group="deletes", pacing="constant") for x in (1, 4, 16)]
    assert judged(tmp_path, {"cycles": cycles, "groups": mixed}, spec={**open_loop, "rate": None}).of(ErrorsResult).collision is None
    committed = {"scales": (1, 4, 16), "clients": 9, "isolation": "read-committed"}
    cycles = [cycle_row(x, 1, [MS] * 1000, failed=4000 // x) for x in (1, 4, 16)]
    assert judged(tmp_path, {"cycles": cycles}, spec=committed).of(ErrorsResult).collision is None
