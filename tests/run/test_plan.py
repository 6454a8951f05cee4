"""What a workload's stages come to: cycles of a scale, groups of a node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.measure.loaders import Bench, CoreError, Pacing, Stage, Target, Until, largest, load_of
from dsbench.measure.loaders.stages import GroupPlan
from dsbench.measure.plan import can_go_on, planned
from dsbench.spec import RunSpec


def group(name: str = "all", *, clients: int | None = None, until: Until | None = None) -> GroupPlan:
    return GroupPlan(name, 0, (0,), clients, None, until)


def load(name: str, *groups: GroupPlan, repeated: bool = False) -> Stage:
    return Stage(name, "load", repeated=repeated, cleaned=repeated, groups=groups or (group(),))


BUILD, CHECK, DROP = Stage("build", "build"), Stage("check", "check"), Stage("drop", "drop")
LADDER = (BUILD, load("load", repeated=True), CHECK, DROP)
CHAIN = (BUILD, load("l.i0"), Stage("l.x", "work", parts=2), load("qr100"), CHECK, DROP)


def test_a_workload_of_the_papers_has_the_ladder() -> None:
    bench = Bench(Target("mock:"), "tpcb", 1, None, {})
    assert [(stage.name, stage.work) for stage in bench.stages] == [
        ("build", "build"), ("load", "load"), ("check", "check"), ("drop", "drop")
    ]  # fmt: skip
    (all_clients,) = bench.load("").groups
    assert (all_clients.name, all_clients.clients, all_clients.pacing, all_clients.until) == ("all", None, None, None)
    assert bench.load("").repeated
    assert bench.load("").cleaned
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


@given(st.integers(1, 7), st.integers(7, 100), st.integers(1, 10**6))
def test_nodes_share_clients_and_counts_without_a_gap(nodes: int, clients: int, count: int) -> None:
    spec = RunSpec(threads=3)
    stage = load("l.i0", group(clients=clients, until=Until("rows", count, "all")), group("own"))
    loads = [load_of(stage, spec, 1, node, nodes) for node in range(nodes)]
    shared, own = zip(*(one.groups for one in loads), strict=True)
    assert [g.first_client for g in shared] == [sum(g.threads for g in shared[:node]) for node in range(nodes)]
    assert sum(g.threads for g in shared) == clients
    assert sum(g.until.amount for g in shared) == count
    told = largest(loads)
    assert [g.until for g in told.groups] == [Until("rows", count, "all"), own[0].until], "what an archive tells"
    assert told.threads == max(one.threads for one in loads)
    assert {(g.threads, g.clients) for g in own} == {(3, 3 * nodes)}
    assert [g.first_client for g in own] == [3 * node for node in range(nodes)]


def test_what_a_stage_leaves_open_comes_from_the_run() -> None:
    paced = RunSpec(duration=2.5, rate=40.0, arrival="constant", threads=4)
    (one,) = load_of(load("load"), paced, 1).groups
    assert (one.pacing, one.until, one.rate_per_s) == (Pacing("constant", 40.0), Until("time", 2_500_000_000), 40.0)
    terminals = RunSpec(pace="terminals", threads=8, workload="tpcc")
    found = [load_of(load("load"), terminals, 1, node, 2).groups[0] for node in (0, 1)]
    assert [(g.threads, g.first_client, g.clients, g.pacing.amount) for g in found] == [(5, 0, 10, 5), (5, 5, 10, 5)]
    few = RunSpec(pace="terminals", terminals=2, workload="tpcc")
    with pytest.raises(CoreError, match="fewer than the 3 nodes"):
        load_of(load("load"), few, 1, 0, 3)
    assert [load_of(load("load", group(clients=2)), paced, 1, node, 3).threads for node in range(3)] == [0, 1, 1]


def test_a_ramp_up_before_a_count_is_refused_before_anything_is_made() -> None:
    bench = Bench(Target("mock:"), "rehearsal", 1, None, {})
    bench.refuse(RunSpec())
    with pytest.raises(CoreError, match="--ramp-up: the stage load ends by count"):
        bench.refuse(RunSpec(ramp_up=1))


def test_only_a_stage_that_ends_by_time_has_a_demanded_duration() -> None:
    counted = group("rows", until=Until("rows", 5, "each"))
    assert load_of(load("a", group(), counted), RunSpec(), 1).duration_ns is None
    assert load_of(load("a", group(), group("b", until=Until("time", 7))), RunSpec(duration=1), 1).duration_ns == 10**9
    led = load_of(load("a", group(), group("b", until=Until("group", 0))), RunSpec(duration=1), 1)
    assert led.duration_ns == 10**9
