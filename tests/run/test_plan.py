"""What a workload's stages come to: cycles of a scale, groups of a node."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from dsbench import _core
from dsbench.archive.conditions import State
from dsbench.measure.loaders import Bench, CoreError, TargetDatabase
from dsbench.measure.plan import can_go_on, planned
from dsbench.spec import RunSpec

LADDER = Bench(TargetDatabase("mock:"), "tpcb", 1, None).stages
CHAIN = Bench(TargetDatabase("mock:"), "rehearsal", 1, None).stages


def test_a_workload_of_the_papers_has_the_ladder() -> None:
    bench = Bench(TargetDatabase("mock:"), "tpcb", 1, None, {})
    assert bench.stages == LADDER
    assert [(stage.name, stage.work) for stage in LADDER] == [
        ("build", "build"), ("load", "load"), ("check", "check"), ("drop", "drop")
    ]  # fmt: skip
    load = bench.load("")
    assert (load.name, load.repeated, load.cleaned, load.clients, load.timed) == ("load", True, True, [None], True)
    assert (load.uncleaned().cleaned, load.uncleaned().repeated, load.cleaned) == (False, True, True)
    with pytest.raises(CoreError, match="no load stage 'qr100'"):
        bench.load("qr100")


def test_a_repeated_stage_has_its_cycles_at_each_number_of_threads() -> None:
    spec = RunSpec.model_validate({"cycles": 2, "clients": [4, 8]})
    assert [(c.number, c.clients) for c in planned(LADDER, spec)] == [(1, 4), (2, 4), (3, 8), (4, 8)]
    assert [c.number for c in planned(LADDER, spec, done=3)] == [4]
    assert planned(LADDER, spec, done=4) == ()


def test_a_chain_of_stages_begins_anew_and_numbers_its_cycles_on() -> None:
    spec = RunSpec(cycles=3)
    assert [(c.number, c.stage.name, c.clients) for c in planned(CHAIN, spec)] == [(1, "load", None), (2, "query", None)]
    assert [c.number for c in planned(CHAIN, spec, done=1)] == [2, 3]
    assert (can_go_on(LADDER), can_go_on(CHAIN)) == (True, False)


def test_a_ramp_up_before_a_count_is_refused_before_anything_is_made() -> None:
    bench = Bench(TargetDatabase("mock:"), "rehearsal", 1, None, {})
    bench.refuse(RunSpec())
    with pytest.raises(CoreError, match="--ramp-up: the stage load ends by count"):
        bench.refuse(RunSpec(ramp_up=1))


def test_a_filled_in_plan_has_the_words_of_the_archive_and_goes_back_as_it_came() -> None:
    bench, spec = Bench(TargetDatabase("mock:"), "rehearsal", 1, None, {}), RunSpec(clients=2, duration=1.5)
    (loaded,) = bench.fill(spec, "load", node=1, nodes=2).groups
    assert (loaded.until, loaded.until_of, loaded.pacing, loaded.duration_ns) == ("rows", "each", "closed", None)
    mixed = bench.fill(spec, "query")
    assert [(g.name, g.until, g.until_of, g.duration_ns) for g in mixed.groups] == [
        ("query", "time", "", 1_500_000_000), ("insert", "group", "query", None), ("delete", "group", "query", None)
    ]  # fmt: skip
    assert mixed.groups[1].rows_per_s == 1000
    assert (mixed.clients, mixed.duration_ns) == (4, 1_500_000_000)
    (whole,), other = mixed.divide(1), pickle.loads(pickle.dumps(mixed))
    assert whole.__getnewargs__() == other.__getnewargs__() == mixed.__getnewargs__()


def test_a_load_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(_core.CoreError, match="load of another process: missing field `groups`"):
        _core.CycleLoad(b"{}")
    bench = Bench(TargetDatabase("mock:"), "select", 1, None)
    with pytest.raises(CoreError, match="unknown variant `chaos`, expected one of `read-committed`"):
        bench.fill(RunSpec().model_copy(update={"isolation": "chaos"}))
    with pytest.raises(_core.CoreError, match=r"options of a load: AttributeError: .* has no attribute 'clients'"):
        bench._core.fill("load", SimpleNamespace(), 0, 1, None, False)


def test_what_the_core_asks_of_a_specification_is_in_the_table_of_options_or_made_of_it() -> None:
    spec, asked = RunSpec(load="0s:10, 5s:10..20, 9s:end"), list[str]()

    class Asked:
        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return getattr(spec, name)

    bench = Bench(TargetDatabase("mock:"), "select", 1, None)
    (group,) = bench._core.fill("load", Asked(), 0, 1, None, False).groups
    assert (group.clients, group.pacing, group.rate_per_s) == (spec.clients, "poisson", pytest.approx(110 / 9))
    made = {"legs": ("load",), "tries": ("retry", "max_tries"), "patience_s": ("patience", "event"), "keeps_pauses": ("event",)}
    made |= {"bears_failures": ("event",), "reads_elsewhere": ("reads",)}
    options = [option for name in asked for option in made.get(name, (name,))]
    assert set(options) <= RunSpec.model_fields.keys()
    assert len(asked) == len(set(asked)) > 12


def test_the_states_of_a_condition_are_those_of_the_core() -> None:
    assert list(State) == _core.STATES
