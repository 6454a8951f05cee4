"""What a workload's stages come to: cycles of a scale, groups of a node."""

from __future__ import annotations

import json

import pytest

from dsbench import _core
from dsbench.measure.loaders import Bench, CoreError, Stage, Target
from dsbench.measure.plan import can_go_on, planned
from dsbench.spec import RunSpec


def load(name: str, *, repeated: bool = False) -> Stage:
    return Stage(name, "load", repeated=repeated, cleaned=repeated, clients=(None,))


BUILD, CHECK, DROP = Stage("build", "build"), Stage("check", "check"), Stage("drop", "drop")
LADDER = (BUILD, load("load", repeated=True), CHECK, DROP)
CHAIN = (BUILD, load("l.i0"), Stage("l.x", "work", parts=2), load("qr100"), CHECK, DROP)


def test_a_workload_of_the_papers_has_the_ladder() -> None:
    bench = Bench(Target("mock:"), "tpcb", 1, None, {})
    assert [(stage.name, stage.work) for stage in bench.stages] == [
        ("build", "build"), ("load", "load"), ("check", "check"), ("drop", "drop")
    ]  # fmt: skip
    assert bench.load("") == load("load", repeated=True)
    with pytest.raises(CoreError, match="no load stage 'qr100'"):
        bench.load("qr100")


def test_a_repeated_stage_has_its_cycles_at_each_number_of_threads() -> None:
    spec = RunSpec.model_validate({"cycles": 2, "threads": [4, 8]})
    assert [(c.number, c.threads) for c in planned(LADDER, spec)] == [(1, 4), (2, 4), (3, 8), (4, 8)]
    assert [c.number for c in planned(LADDER, spec, done=3)] == [4]
    assert planned(LADDER, spec, done=4) == ()


def test_a_chain_of_stages_begins_anew_and_numbers_its_cycles_on() -> None:
    spec = RunSpec(cycles=3)
    assert [(c.number, c.stage.name, c.threads) for c in planned(CHAIN, spec)] == [(1, "l.i0", None), (2, "qr100", None)]
    assert [c.number for c in planned(CHAIN, spec, done=1)] == [2, 3]
    assert (can_go_on(LADDER), can_go_on(CHAIN)) == (True, False)


def test_a_ramp_up_before_a_count_is_refused_before_anything_is_made() -> None:
    bench = Bench(Target("mock:"), "rehearsal", 1, None, {})
    bench.refuse(RunSpec())
    with pytest.raises(CoreError, match="--ramp-up: the stage load ends by count"):
        bench.refuse(RunSpec(ramp_up=1))


def test_a_filled_in_plan_has_the_words_of_the_archive_and_goes_back_as_it_came() -> None:
    bench, spec = Bench(Target("mock:"), "rehearsal", 1, None, {}), RunSpec(threads=2, duration=1.5)
    (loaded,) = bench.fill(spec, "load", node=1, nodes=2).groups
    assert (loaded.until, loaded.until_of, loaded.pacing, loaded.duration_ns) == ("rows", "each", "closed", None)
    mixed = bench.fill(spec, "query")
    assert [(g.name, g.until, g.until_of, g.duration_ns) for g in mixed.groups] == [
        ("query", "time", "", 1_500_000_000), ("insert", "group", "query", None), ("delete", "group", "query", None)
    ]  # fmt: skip
    assert mixed.groups[1].rows_per_s == 1000
    assert (mixed.threads, mixed.duration_ns) == (4, 1_500_000_000)
    assert json.loads(_core.divide(mixed.plan, 1)[0][0])["load"] == json.loads(mixed.plan)["load"]


def test_a_plan_that_is_none_is_refused_in_words() -> None:
    bench = Bench(Target("mock:"), "select", 1, None)
    with pytest.raises(_core.CoreError, match="plan of a load: missing field `load`"):
        bench._core.cycle("{}", 1, None)
    with pytest.raises(CoreError, match="unknown variant `chaos`, expected one of `read-committed`"):
        bench.fill(RunSpec().model_copy(update={"isolation": "chaos"}))
