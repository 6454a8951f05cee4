"""Rates that do not hold still, and who else used the machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dsbench.stats.doubts import doubts
from dsbench.stats.facts import ScaleFacts
from dsbench.stats.machine import CycleUse, MachineUse, Program, Used, cycles_named, noticed, use_doubts
from dsbench.stats.steady import Drift, Scatter, SteadyVerdict, over_cycles, scatter, stalls
from dsbench.stats.values import Floats
from fixtures.facts import RUN, SCALE

S = 10**9
QUIET = MachineUse(
    span_ns=10 * S, cpus=2, run_ns=S, server_ns=15 * S, kernel_ns=S, others_ns=S // 2, unseen_ns=0, stolen_ns=0,
    idle_ns=2 * S, cpu_pressure_ns=9 * S, io_pressure_ns=5 * S, memory_pressure_ns=0, queued_ns=None, device="vda",
    device_bytes=400, device_read_bytes=None, own_bytes=100, own_written_bytes=100,
)  # fmt: skip
HOG = Program("stress-ng", 12, children=False, cpu_ns=12 * S, io_bytes=None)


def of(cycle: int, *programs: Program, node: str = "", **use: Any) -> CycleUse:
    return CycleUse(replace(QUIET, **use), programs, cycle, node)


def told(*uses: CycleUse) -> list[str]:
    return [doubt.message for doubt in use_doubts(uses, 1)]


def test_other_programs_are_named_with_their_cycles() -> None:
    busy = {"others_ns": 18 * S, "unseen_ns": 2 * S}
    make = Program("make", 30, children=True, cpu_ns=4 * S, io_bytes=None)
    assert told(of(1), of(2, HOG, make, **busy), of(3, HOG, **busy), of(4)) == [
        "other programs used 1.8 of 2 CPUs during cycles 2–3: stress-ng 1.2, children of make 0.20, "
        "hidden programs 0.20"
    ]
    assert told(of(1, HOG, node="alba", **busy), of(1)) == [
        "node alba: other programs used 1.8 of 2 CPUs during cycle 1: stress-ng 1.2, hidden "
        "programs 0.20"
    ]


@pytest.mark.parametrize(("others_ns", "count"), [(S, 0), (S + 1, 1)])
def test_a_twentieth_of_the_machine_is_noticeable(others_ns: int, count: int) -> None:
    assert len(told(of(1, others_ns=others_ns))) == count
    assert len(told(of(1, others_ns=0, stolen_ns=others_ns))) == count


def test_a_few_ticks_are_chance() -> None:
    assert told(of(1, span_ns=S // 10, others_ns=S // 11)) == []


def test_stolen_time_is_told_with_its_share() -> None:
    (message,) = told(of(1), of(2, stolen_ns=4 * S), of(5, stolen_ns=2 * S))
    assert message == "the hypervisor took 15% of the CPU time during cycles 2, 5 (stolen time)"


def test_others_on_the_datas_device_are_told_where_the_database_waits_for_it() -> None:
    def moved(io_bytes: int | None, written: int = 20_000_000, **more: Any) -> list[str]:
        """Of 400 MB dsbench and the server moved 100; what they wrote the file system may have written six times."""
        copy = Program("cp", 7, children=False, cpu_ns=0, io_bytes=io_bytes)
        return told(of(1, copy, device_bytes=400_000_000, own_bytes=100_000_000, own_written_bytes=written, **more))

    where = "of the 400 MB on vda, the data disk, during cycle 1: cp"
    assert moved(900_000_000) == [f"other programs read and wrote about 200 MB {where}"]
    assert moved(150_000_000) == [f"other programs read and wrote about 150 MB {where}"], "no more than they were counted with"
    for unknown in (0, 90_000_000, None):
        assert moved(unknown) == [], "what the device moved in nobody's name is no other program's"
    assert moved(900_000_000, 40_000_000) == [], "a journal and metadata may be all of it"
    assert moved(900_000_000, 40_000_000, device_read_bytes=180_000_000) == [f"other programs read and wrote about 120 MB {where}"], (
        "60 MB of what was read is the server's, and reads are counted as they are"
    )
    assert moved(900_000_000, io_pressure_ns=S) == []
    copy = Program("cp", 7, children=False, cpu_ns=0, io_bytes=900)
    assert told(of(1, copy, device_bytes=400, own_bytes=None)) == []


def test_a_busy_machine_is_noticed_before_a_run() -> None:
    busy = Used(replace(QUIET, others_ns=18 * S), (HOG,))
    assert [words for words, _ in noticed(busy, {"cpu": 0.1, "io": 0.5})] == [
        "other programs use 1.8 of 2 CPUs: stress-ng (pid 12) 1.2",
        "programs waited for storage in 50% of the last ten seconds (pressure)",
    ]
    assert list(noticed(Used(QUIET, ()), {"memory": 0.1})) == []


def test_cycles_in_words() -> None:
    assert [cycles_named(n) for n in ([3], [2, 1, 2], [1, 3, 4, 5, 9])] == ["cycle 3", "cycles 1–2", "cycles 1, 3–5, 9"]


def seconds(*levels: float, count: int = 20) -> Floats:
    random = np.random.default_rng(5)
    return np.array([level * random.normal(1, 0.05, count) for level in levels])


def scattered(*levels: float, count: int = 20) -> Scatter | None:
    found = seconds(*levels, count=count)
    return scatter(np.arange(1, len(levels) + 1), found.mean(axis=1), list(found))


def test_cycles_beyond_what_their_seconds_explain_are_found() -> None:
    found = scattered(13402, 1376, 5754)
    assert found is not None
    assert found.median_tps == pytest.approx(5754, rel=0.03)
    assert [(cycle, round(away, 1)) for cycle, away in found.off] == [(1, 1.3), (2, -0.8)]
    assert found.p_value < 1e-4
    assert scattered(1000, 1000, 1000, 1000, 600) is not None, "one bad cycle does not move the median"


def test_what_chance_explains_is_no_scatter() -> None:
    assert scattered(1000, 1005, 990, 1010) is None
    assert scattered(1000, 1090, 950) is None, "less than 10%, however sure"
    noisy = np.random.default_rng(1).normal(1000, 900, (3, 12))
    assert scatter(np.arange(3), noisy.mean(axis=1), list(noisy)) is None
    assert scattered(1000, 500) is not None
    assert scattered(1000, 500, count=2) is None, "four seconds prove nothing"
    assert scatter(np.array([1, 2]), np.array([5.0, 9.0]), []) is None


@pytest.mark.parametrize(
    ("levels", "verdict"),
    [
        ((13402, 3000, 5754, 1376), SteadyVerdict.SCATTERED),
        ((1000, 500), SteadyVerdict.SCATTERED),
        ((1000, 900, 800), SteadyVerdict.DRIFTING),
        ((1000, 900, 800, 700, 720, 600, 500), SteadyVerdict.DRIFTING),
        ((1000, 500, 900, 400, 1000, 450, 700, 300), SteadyVerdict.SCATTERED),
        ((1000, 1000, 1000), SteadyVerdict.STEADY),
    ],
)
def test_a_drift_has_a_direction(levels: tuple[float, ...], verdict: SteadyVerdict) -> None:
    found = over_cycles(seconds(*levels))
    assert found.verdict is verdict
    assert -1 <= found.drift <= 1


SPREAD = Scatter(5754.0, ((1, 1.33), (2, -0.76)), 0.0001)
FALLING = ("over the 3 cycles", Drift(SteadyVerdict.DRIFTING, -0.3, 0.001, 60))
WITHIN = ("within the cycle", Drift(SteadyVerdict.STEADY, 0.0, 0.5, 60))


def about(code: str, **changes: Any) -> list[str]:
    scale: ScaleFacts = replace(SCALE, **changes)
    return [f"{d.message} | {d.remedy}" for d in doubts(RUN, [scale]) if d.code == code]


def test_cycles_that_differ_are_told_with_the_remedy_that_fits() -> None:
    (plain,) = about("scattered-cycles", scatter=SPREAD)
    assert plain.startswith(
        "the cycles differ by more than the variation of their seconds explains: cycle 1 +133%, cycle 2 -76% off the median of 5,754 tps"
    )
    assert "checkpoint" not in plain
    assert "show --by machine" in plain
    (busy,) = about("scattered-cycles", scatter=SPREAD, uses=(of(1), of(2, others_ns=9 * S)), checkpoints=(2,))
    assert "other programs used the CPUs during cycle 2: measure again" in busy
    (checkpoint,) = about("scattered-cycles", scatter=SPREAD, checkpoints=(2,))
    assert "only cycle 2 had a checkpoint" in checkpoint
    assert about("scattered-cycles", scatter=SPREAD, drifts=(WITHIN, FALLING)) == []


def test_checkpoints_are_a_remedy_where_the_server_counted_some() -> None:
    (none,) = about("no-steady-state", drifts=(WITHIN, FALLING))
    (some,) = about("no-steady-state", drifts=(WITHIN, FALLING), checkpoints=(1, 2), uses=(of(3, others_ns=9 * S),))
    assert "| other programs used the CPUs during cycle 3: measure again" in some
    assert "checkpoint" not in none
    assert "cycles 1–2 had a checkpoint" in some


def test_cycles_without_the_checkpoint_that_others_had_are_told_once() -> None:
    (alone,) = about("few-checkpoints", checkpoints=(3, 7))
    assert alone.startswith("a cycle is shorter than the checkpoint interval: only 2 of 10 cycles had one (cycles 3, 7)")
    assert ", so the median says little about what a checkpoint costs | " in alone
    for else_told in ({"scatter": SPREAD}, {"drifts": (WITHIN, FALLING)}):
        assert about("few-checkpoints", checkpoints=(3,), **else_told) == []
    assert about("few-checkpoints", checkpoints=(1, 2, 3, 4, 5)) == []
    assert about("few-checkpoints") == []


def test_what_the_hypervisor_took_is_not_blamed_on_other_programs() -> None:
    stolen = replace(SCALE, scatter=SPREAD, uses=(of(1), of(2, others_ns=0, stolen_ns=4 * S)))
    busy = replace(SCALE, scatter=SPREAD, uses=(of(1), of(2, others_ns=8 * S)))
    remedies = [next(d.remedy for d in doubts(RUN, [one]) if d.code == "scattered-cycles") for one in (stolen, busy)]
    assert remedies == [
        "the hypervisor took CPU time during cycle 2: use a machine whose CPUs are not shared with others, or measure at another time",
        "other programs used the CPUs during cycle 2: measure again on a quiet machine",
    ]


def test_a_number_of_transactions_that_took_less_than_the_time_is_told() -> None:
    lasted = replace(SCALE, lasted_s=((1, 2.61), (2, 2.98), (3, 3.4), (4, 2.5)))
    told = [d.message for d in doubts(replace(RUN, sized_for_s=3.0), [lasted]) if d.code == "ended-early"]
    assert told == [
        "cycles 1, 4 ended after 2.5 to 2.61 s, and not 3 s: the trial that set the number of transactions was slower, perhaps "
        "disturbed"
    ]
    assert [d for d in doubts(RUN, [lasted]) if d.code == "ended-early"] == []


def test_a_rate_that_is_less_precise_than_wanted_is_told() -> None:
    asked = replace(RUN, precision=0.02)
    told = [d for d in doubts(asked, [replace(SCALE, half_width=0.031)]) if d.code == "imprecise"]
    assert [d.message for d in told] == ["the median rate is known to within ±3.1% after 10 cycles, requested was ±2.0%"]
    for half_width in (0.02, np.nan):
        assert [d for d in doubts(asked, [replace(SCALE, half_width=half_width)]) if d.code == "imprecise"] == []
    assert about("imprecise", half_width=0.5) == []


def test_others_and_the_host_are_added_up() -> None:
    (message,) = told(of(1), of(2, HOG, others_ns=9 * S // 10, stolen_ns=9 * S // 10))
    assert message.startswith("other programs and the hypervisor together took 9% of the CPU time during cycle 2: stress-ng")
    assert len(told(of(2, others_ns=9 * S, stolen_ns=9 * S))) == 2, "each alone is told alone"


def test_a_machine_without_memory_is_told() -> None:
    (message,) = told(of(1), of(2, memory_pressure_ns=3 * S), of(3, memory_pressure_ns=S))
    assert message == "programs waited for memory in 30% of the time during cycle 2 (pressure)"
    thrashing = replace(SCALE, uses=(of(2, memory_pressure_ns=3 * S),))
    limited = replace(RUN, memory_limited=True)
    assert [d.code for run in (RUN, limited) for d in doubts(run, [thrashing])] == ["memory-pressure"], "who limits it knows"


def test_a_server_that_stood_still_is_told() -> None:
    random = np.random.default_rng(3)
    even = random.poisson(400, (3, 6)).astype(float)
    for begins in (0.0, 0.3, 0.5, 0.9):
        still = even.copy()
        still[1, 2] *= begins
        still[1, 3] *= 1 - begins
        assert stalls(still, 1.02e9) == [1], begins
    assert stalls(even, 1.02e9) == [], "one slow transaction is no pause of all"
    assert stalls(still, 0.2e9) == [], "a slow second in which none took long is no pause"
    few = np.array([[5.0, 0, 6, 5]])
    assert stalls(few, 2e9) == [], "chance leaves such seconds"
    (message,) = about("stood-still", stood_still=(2,))
    assert "for about a second in cycle 2" in message


def test_clock_and_governor_are_told_where_they_spoil_figures() -> None:
    spoilt = replace(RUN, clock="hpet", governor="powersave")
    assert [d.code for d in doubts(spoilt, [SCALE])] == ["slow-clock", "power-saving"]
    for governor in ("ondemand", "performance, schedutil"):
        assert [d.code for d in doubts(replace(RUN, governor=governor), [SCALE])] == ["power-saving"]
    assert doubts(replace(RUN, clock="tsc", governor="performance"), [SCALE]) == ()
