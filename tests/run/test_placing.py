"""Where the clients of a run are, by trial."""

from __future__ import annotations

import random
from math import exp, sqrt
from pathlib import Path

import pytest

import dsbench
from dsbench.library.ab import versus
from dsbench.measure import placing
from dsbench.measure.placing import fix_placement
from dsbench.read.subjects.rate import RateResult
from dsbench.spec import run as run_spec
from fixtures.stalled import unless_stalled
from fixtures.thorough import mostly_thorough

POSTGRES = {"scales": (1,), "cycles": 1, "duration": 2, "clients": 2}


def read_choice(archive: dsbench.Archive) -> tuple[str, dict[str, object]]:
    """The placement that the archive asks for, and the trial."""
    described = archive.run.described()
    return described["spec"]["placement"], described["placement_tried"]


@pytest.mark.parametrize(
    ("follow", "free", "chosen"),
    [
        ((120, 118, 121, 119), (100, 101, 99, 100), "follow"),
        ((100, 101, 99, 100), (120, 118, 121, 119), "free"),
        ((100, 101, 99, 100), (100, 100, 101, 99), "free"),
        ((130, 90, 120, 95), (100, 100, 100, 100), ""),
        ((130, 110, 120, 105), (100, 100, 100, 100), ""),
        ((130, 110, 120, 105, 125), (100, 100, 100, 100), ""),
        ((130, 110, 120, 105, 125), (100, 100, 100, 100, 100), ""),
        ((130, 110, 120, 105, 125, 115), (100, 100, 100, 100, 100, 100), "follow"),
        ((130, 80) * 5, (100,) * 10, "free"),  # 2%, of which nothing is sure
        ((120, 92) * 5, (100,) * 10, "free"),  # the logarithms of 1.20 and 0.92 have a mean of 0.0495
        ((140, 90) * 5, (100,) * 10, "follow"),  # and those of 1.4 and 0.9 of 0.116, where 0.184 would be sure
        ((140, 90) * 4, (100,) * 8, ""),
        ((120, 118, 121), (100, 101, 99), ""),
        ((120, 118, 121, 119), (0, 1, 1, 1), "free"),
        ((120,), (0,), "free"),  # turns are too short to tell
        ((0, 120), (100,), ""),
        ((), (), ""),
    ],
)
def test_turns_go_on_until_they_tell(follow: tuple[float, ...], free: tuple[float, ...], chosen: str) -> None:
    assert placing.weigh(follow, free) == chosen


def choose(draw: random.Random, gain: float, drift: float, spread: float) -> str:
    """What a trial chooses whose turns vary by ``spread`` and rise by ``drift`` over twenty turns."""
    rates: dict[str, list[float]] = {"free": [], "follow": []}
    for number in range(20):
        placement = placing._BLOCKS[number // 4 % 2][number % 4]
        level = gain * (placement == "follow") + drift * number / 20
        rates[placement].append(exp(draw.gauss(level, spread)))
        if chosen := placing.weigh(rates["follow"], rates["free"]):
            return chosen
    raise AssertionError("the trial has no end")


@pytest.mark.parametrize(
    ("gain", "spread", "follows"),
    [
        (0, 0.05, 0.030),  # nothing is different
        (0, 0.15, 0.235),
        (0.1, 0.15, 0.776),
        (-0.1, 0.15, 0.016),
    ],
)
def test_how_often_a_trial_chooses_to_follow(gain: float, spread: float, follows: float) -> None:
    """The shares are those of 40,000 trials; those without drift are the same."""
    draw = random.Random(1)
    chosen = [choose(draw, gain, drift=0.3, spread=spread) for _ in range(2000)]
    # Four standard deviations of 2,000 trials, and of the 40,000.
    assert abs(chosen.count("follow") / 2000 - follows) < 4 * sqrt(follows * (1 - follows) * (1 / 2000 + 1 / 40_000))


@pytest.mark.parametrize("chosen", mostly_thorough(["free", "follow"], "follow"))
def test_turns_choose_for_all_cycles_and_leave_the_database_whole(
    chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "weigh", lambda follow, free: chosen if len(follow) == len(free) == 4 else "")
    monkeypatch.setattr(run_spec, "_TURN_S", (0.1, 0.1))
    archive = dsbench.run("private:postgresql", **POSTGRES | {"scales": (1, 2)}, out=tmp_path)
    asked, tried = read_choice(archive)
    assert asked == chosen
    assert set(archive.table("groups").column("placement").to_pylist()) == {chosen}
    assert [len(tried[rates]) for rates in ("free_tps", "follow_tps")] == [4, 4]
    assert not archive.evaluate().of(RateResult).void_scales
    assert len(archive.table("cycles").to_pylist()) == 2 * 2, "turns are no cycles"
    again = archive.run.asked()
    assert again.placement == chosen, "who repeats the run has what it had"


@pytest.mark.parametrize(
    ("target", "options", "why"),
    [
        ("mock:", {"duration": 0.5}, "too short"),
        ("mock:", {"duration": 2}, "an embedded database runs in its clients' threads"),
        ("mock:", {"duration": 2, "rate": 50.0}, "start at set times"),
        ("mock:", {"duration": 2, "reconnect": True}, "its own connection"),
        ("mock:", {"duration": 2, "connections": 2}, "several connections"),
    ],
)
def test_where_nothing_can_be_tried_clients_are_free(
    target: str, options: dict[str, object], why: str, tmp_path: Path
) -> None:
    archive = dsbench.run(target, scales=(1,), cycles=1, clients=1, out=tmp_path, **options)
    asked, tried = read_choice(archive)
    assert asked == "free"
    assert why in str(tried["why"])
    assert archive.table("groups").column("placement").to_pylist() == ["free"]


@unless_stalled
def test_who_asks_for_a_placement_has_no_trial(tmp_path: Path) -> None:
    archive = dsbench.run("mock:", scales=(1,), cycles=1, duration=0.1, clients=1, placement="follow", out=tmp_path)
    assert archive.run.placement_tried is None
    assert archive.spec.placement == "follow"
    spec = dsbench.specify("mock:", placement="pinned")
    assert fix_placement(spec, archive.path) == spec
    other = dsbench.specify("mock:")
    assert other.placement == "try"
    assert fix_placement(other, None) == other
    assert fix_placement(other, archive.path).placement == "follow"


@pytest.mark.thorough
def test_runs_that_are_compared_have_the_placement_of_the_first(tmp_path: Path) -> None:
    spec = dsbench.specify("mock:", scales=(1,), cycles=1, duration=0.5, clients=1, seed=1)
    found = versus(
        spec, spec, tmp_path, blocks=1, max_blocks=1, observer=lambda _spec: dsbench.Silent(), told=lambda _line: None,
        stop=dsbench.Stop(),
    )
    assert found.error is None
    tried = [dsbench.open(path).run.placement_tried for path in found.blocks[0].archives]
    assert tried[0] is not None
    assert tried[1:] == [None] * (len(tried) - 1)
