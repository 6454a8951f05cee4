"""The first screen says what was measured, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from dsbench.archive import RunRecord
from dsbench.read.answer import answer
from dsbench.read.evaluation import Evaluation
from dsbench.read.glance import Best, best, ceiling_tps, failures, limit, sureness
from dsbench.read.page import answers
from dsbench.read.subjects.rate import RateResult
from dsbench.stats.machine import CycleUse, MachineUse
from fixtures import sample
from fixtures.archives import S
from fixtures.sample import replace


def use(node: str = "", **cpus: float) -> CycleUse:
    """Ten seconds of a machine with 4 CPUs; ``cpus`` are CPUs in use by each, what is left is idle."""
    ns = {f"{name}_ns": round(10 * S * number) for name, number in cpus.items()}
    left = 40 * S - sum(ns.values())
    counted = dict.fromkeys(("run_ns", "server_ns", "kernel_ns", "others_ns", "unseen_ns", "stolen_ns"), 0)
    unknown = dict.fromkeys(
        ("cpu_pressure_ns", "io_pressure_ns", "memory_pressure_ns", "queued_ns", "device_bytes", "device_read_bytes",
         "own_bytes", "own_written_bytes")
    )  # fmt: skip
    whole: dict[str, Any] = {**counted, "idle_ns": left, **unknown, **ns}
    return CycleUse(MachineUse(span_ns=10 * S, cpus=4, device="", **whole), (), 1, node)


def seen(run: RunRecord | None = None, *uses: CycleUse, **changes: Any) -> tuple[Best, RunRecord]:
    evaluation = sample.evaluation()
    scales = {row.scale: uses for row in evaluation.of(RateResult).scales}
    found = best(sample.replace(evaluation, machine=scales, **changes))
    assert found is not None
    return found, run or sample.run()


@pytest.mark.parametrize(
    ("uses", "words"),
    [
        ([use(run=1, server=1, others=1.7)], "other programs used 1.7 of 4 CPUs"),
        ([use(run=1, server=1, stolen=0.5)], "the hypervisor took 0.5 of 4 CPUs"),
        ([use(run=1, server=1, others=1, stolen=0.5)], "other programs used 1 and the hypervisor took 0.5 of 4 CPUs"),
        ([use(run=1, server=1, others=0.16, stolen=0.16)], "other programs used 0.16 and the hypervisor took 0.16 of 4 CPUs"),
        ([use(run=1, server=2), use("far", run=1, others=2)], "other programs used 2 of 4 CPUs of far"),
    ],
)  # fmt: skip
def test_what_others_took_is_said_in_place_of_the_limit(uses: list[CycleUse], words: str) -> None:
    found = limit(*seen(None, *uses))
    assert found.foreign
    assert words in found.words
    evaluation = sample.evaluation()
    disturbed = sample.replace(evaluation, machine={row.scale: tuple(uses) for row in evaluation.of(RateResult).scales})
    assert words in answer(disturbed, sample.run()).verdict[0]
    assert not dict(answers(disturbed, sample.run()))["limited by"]
    assert not any(cause in found.words for cause in ("the CPUs:", "dsbench itself", "storage", "not known"))


def test_who_cannot_tell_the_server_from_others_does_not_call_it_another_program() -> None:
    alone = use(run=1, others=2)
    found = limit(*seen(None, replace(alone, use=replace(alone.use, server_ns=None))))
    assert (found.foreign, "programs other than dsbench used 2 of 4 CPUs" in found.words) == (True, True)


def test_a_little_of_others_does_not_hide_the_limit() -> None:
    found = limit(*seen(None, use(run=1.5, server=2.3, others=0.1)))
    assert not found.foreign
    assert answer(sample.evaluation(), sample.run()).dangers == ["NOT DURABLE: fsync off"]
    assert found.words == "the CPUs: 3.9 of 4 CPUs were in use, 2.3 by the server, 1.5 by dsbench"


def test_what_was_not_measured_is_not_known() -> None:
    found = limit(*seen(None, use(run=0.5, server=1)))
    assert found.words.startswith("not known: 1.5 of 4 CPUs were in use, 1.0 by the server")
    assert not any(cause in found.words for cause in ("locks", "flushes", "round trips"))


def calibrated(rate_tps: float, clients: int, **more: Any) -> RunRecord:
    ceilings = [{"against": "null PostgreSQL", "transport": "tcp", "clients": clients, "rate_tps": rate_tps}]
    return sample.run(calibration={"ceilings": ceilings, "ceiling_tps": rate_tps}, **more)


def test_a_ceiling_is_named_only_where_it_was_measured_for_that_load() -> None:
    found, _ = seen(None, use(run=0.5, server=1))
    found = replace(found, part=sample.replace(found.part, clients=16))
    near, high = found.row.rate_max_tps * 1.1, found.row.rate_max_tps * 0.9
    assert limit(found, calibrated(near, 16)).words.startswith(
        f"dsbench itself: against an engine that answers at once it made {near:,.0f}"
    )
    for run in (calibrated(high, 16), calibrated(near, 2), sample.run()):
        assert not ceiling_tps(found, run) > 0
        assert limit(found, run).words.startswith("not known")
    stages = [{"name": name, "work": "load", "repeated": True} for name in ("l.i0", "load")]
    later = replace(found, part=sample.replace(found.part, stage="load"))
    assert limit(later, calibrated(near, 16, stages=stages)).words.startswith("not known")
    assert ceiling_tps(later, calibrated(near, 16, stages=stages[1:])) == near


def failing(shares: dict[int, float]) -> Evaluation:
    evaluation = sample.evaluation()
    return sample.replace(evaluation, success_share={row.scale: 1 - shares.get(row.scale, 0.0) for row in evaluation.of(RateResult).scales})


def test_failures_are_on_the_first_screen_where_there_are_some() -> None:
    top = seen()[0].row.scale
    other = next(row.scale for row in sample.evaluation().of(RateResult).scales if row.scale != top)
    for shares, words in [
        ({}, ""), ({top: 0.00001}, "under 0.1% of the attempts"), ({top: 0.5, other: 0.1}, "50.0% of the attempts"),
        ({other: 0.659}, f"0.0% of the attempts; 65.9% at scale {other}"),
    ]:  # fmt: skip
        evaluation = failing(shares)
        found = best(evaluation)
        assert found is not None
        assert failures(evaluation, found) == words
        assert dict(answers(evaluation, sample.run()))["failed"] == words


def test_rates_of_large_machines_are_written_out() -> None:
    found, _run = seen()
    row = replace(found.row, rate_min_tps=4523.4, rate_max_tps=10_930.2)
    part = sample.replace(found.part, intervals={}, cycle_rates={row.scale: (4523.4, 10_930.2)})
    assert sureness(Best(part, row)) == "2 cycles from 4,523 to 10,930 tps: too few for an interval"
