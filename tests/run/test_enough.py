"""Runs that end when they know enough, and the ramp-up that they find."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench.measure import stopping
from dsbench.measure.history import CycleHistory
from dsbench.measure.loaders import Bench, TargetDatabase
from dsbench.measure.plan import PlannedCycle, planned
from dsbench.measure.stopping import Enough, wanted_precision
from dsbench.read.naming import conduct
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.spec import RunSpec, SpecError, build
from dsbench.stats.index import share
from dsbench.stats.precision import enough
from fixtures.archives import MS, cycle_row, run_json, write

LOAD = Bench(TargetDatabase("mock:"), "tpcb", 1, None).load("")


def test_cycles_go_on_until_the_rate_is_known_or_the_most_are_made(tmp_path: Path) -> None:
    asked = {"scales": (1,), "cycles": 2, "max_cycles": 8, "duration": 0.1, "clients": [1, 2]}
    archive = dsbench.run("mock:?latency_us=200", precision="30%", out=tmp_path, seed=1, **asked)
    found = archive.evaluate()
    assert not found.of(RateResult).void_scales
    for key, part in found.series.items():
        rates = part.of(RateResult).cycle_rates[1]
        assert 5 <= rates.size <= 8
        stopped = enough(rates, 0.3, 2)
        assert stopped or rates.size == 8
        assert not any(enough(rates[:n], 0.3, 2) for n in range(rates.size)), "it stopped at the first time"
        first = 1 if key.clients == 1 else 9
        assert part.of(RateResult).cycle_numbers[1].tolist() == list(range(first, first + rates.size)), "a seed for each cycle"
    assert archive.run.spec.precision == 30
    made = found.of(RateResult).durations_s[1].size
    assert conduct(found, archive.run) == (f"{made}", "0.1"), "the heading has as many as were made"


def test_the_precision_of_the_index_asks_less_of_scales_that_carry_less_of_it() -> None:
    spec = build({"scales": (1, 2, 100), "cycles": 5, "precision": 3, "precision_of": "index", "duration": 1.0})
    found = [wanted_precision(spec, x) for x in spec.scales]
    assert found == [share(0.03, spec.scales, x) for x in spec.scales]
    assert found[0] > found[2] > found[1] > 0.03
    of_rates = spec.model_copy(update={"precision_of": "rates"})
    assert {wanted_precision(of_rates, x) for x in spec.scales} == {0.03}
    assert wanted_precision(of_rates.model_copy(update={"precision": None}), 1) is None
    with pytest.raises(SpecError, match="needs --precision"):
        build({"precision_of": "index"})


def test_a_run_that_goes_on_knows_what_it_knew(tmp_path: Path) -> None:
    spec = build({"scales": (1,), "cycles": 2, "max_cycles": 10, "precision": 5, "duration": 1.0, "clients": [2, 4]})
    rows = [cycle_row(1, n, [MS] * 100, clients=2) for n in range(1, 6)] + [cycle_row(1, 11, [MS] * 50, clients=4)]
    path = write(tmp_path, run_json({"scales": [1]}), {"cycles": rows}).path
    left = Enough(spec, 1, CycleHistory.read(path)).select_needed(planned([LOAD], spec, 11))
    assert [(cycle.number, cycle.clients) for cycle in left] == [(n, 4) for n in range(12, 21)]
    without = spec.model_copy(update={"precision": None})
    assert len(Enough(without, 1, CycleHistory.read(path)).select_needed(planned([LOAD], without))) == 4


def test_the_ramp_up_that_a_trial_shows_is_that_of_the_cycles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    course = np.array([1.0, *[100.0] * 9])
    monkeypatch.setattr(stopping, "LEAST_S", 0)
    monkeypatch.setattr(stopping, "sum_seconds", lambda _parts, _seconds: course)
    archive = dsbench.run("mock:", scales=(1,), cycles=1, duration=0.2, clients=1, find_ramp_up=True, out=tmp_path)
    assert archive.table("groups")["ramp_up_ns"].to_pylist() == [10**9]
    assert archive.table("cycles")["cycle"].to_pylist() == [1]
    assert archive.run.checks[1], "the check knows what the trial left"
    assert not archive.evaluate().of(RateResult).void_scales


def test_cycles_have_the_length_that_a_trial_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "LEAST_S", 0)
    monkeypatch.setattr(stopping, "sum_seconds", lambda _parts, _seconds: np.full(2, 100.0))
    monkeypatch.setattr(stopping, "shortest", lambda counts, least: least if counts.size == 2 else 0)
    asked = {"scales": (1,), "cycles": 1, "max_cycles": 1, "duration": 1.2, "clients": 1, "min_duration": 1, "seed": 1}
    archive = dsbench.run("mock:?latency_us=300", precision="50%", out=tmp_path, **asked)
    assert set(archive.table("groups")["duration_ns"].to_pylist()) == {10**9}
    assert not archive.evaluate().of(RateResult).void_scales, "the check knows what the trial left"
    found = archive.evaluate()
    assert found.of(RateResult).cycle_rates[1].max() < 1 / 300e-6, "a rate is by the length that its cycle has"
    met = iter((0.0, 1.0))
    monkeypatch.setattr(stopping, "_count_checkpoints", lambda _setting: next(met))
    archive = dsbench.run("mock:", precision="50%", out=tmp_path, **asked)
    assert set(archive.table("groups")["duration_ns"].to_pylist()) == {12 * 10**8}, "each is to have a checkpoint"


def test_a_trial_that_is_too_short_is_told(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", scales=(1,), cycles=1, duration=0.1, clients=1, find_ramp_up=True, out=tmp_path)
    assert "ramp-up" in [doubt.code for doubt in archive.evaluate().of(WarningsResult).doubts if doubt.scale == 1]


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"precision": "0.02"}, "--precision"), ({"precision": "x%"}, "--precision"),
        ({"precision": 2, "cycles": 50}, "--max-cycles"), ({"find_ramp_up": True, "ramp_up": 5}, "--find-ramp-up"),
        ({"min_duration": 5}, "--min-duration"), ({"min_duration": 70, "precision": 2}, "--min-duration"),
    ],
)
def test_wishes_that_do_not_fit_are_told(values: dict[str, object], option: str) -> None:
    with pytest.raises(SpecError) as refused:
        build(values)
    assert refused.value.option == option


def test_per_cent_is_read_with_and_without_its_sign() -> None:
    assert build({"precision": "2%"}).precision == build({"precision": 2}).precision == 2.0
    assert RunSpec().largest == RunSpec().cycles
    assert PlannedCycle(1, LOAD, 2) in planned([LOAD], build({"precision": 2, "clients": 2, "max_cycles": 12}))
