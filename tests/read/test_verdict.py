"""The verdict of a run, and those of many together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dsbench.archive.conditions import Condition, State
from dsbench.read.answer import tiles
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.rate import RateResult
from dsbench.read.verdict import RunVerdict, Soundness, Tally, judge_cycles, judge_run
from dsbench.stats.values import Doubt
from fixtures import sample
from fixtures.archives import MS, S, cycle_row, group_row, run_json, write
from read.test_glance import use

SHORT = Doubt("short-cycles", "2 cycles of 1 s: too short", "use longer ones")


HOLDS = Condition(name="sums", state=State.HOLDS)
UNMADE = Condition(name="history", state=State.NOT_MADE, detail="no right")


def beside(*scales: int, **cpus: float) -> Evaluation:
    """A run beside which others took ``cpus`` at these scales."""
    return sample.replace(sample.evaluation(), machine={scale: (use(run=1, server=1, **cpus),) for scale in scales}, doubts=())


@pytest.mark.parametrize(
    ("evaluation", "soundness", "why", "shown"),
    [
        (beside(), "valid", [], "valid"),
        (beside(10, others=0.1), "valid", [], "valid"),
        (sample.replace(beside(), doubts=(SHORT,)), "preliminary", [], "preliminary"),
        (beside(10, others=1.7), "disturbed", ["other programs used 1.7 of 4 CPUs"], "not valid"),
        (beside(20, others=1.7), "disturbed", ["other programs used 1.7 of 4 CPUs"], "valid in part"),
        (beside(10, 20, stolen=1.7), "disturbed", ["the hypervisor took 1.7 of 4 CPUs"], "not valid"),
        (sample.evaluation(void=frozenset({2, 20})), "void", ["the check failed at scale 2 and 20"], "valid in part"),
        (sample.replace(beside(), doubts=(Doubt("lost", "rows are missing", "", 1, severe=True),)), "void",
         ["rows are missing"], "valid in part"),
    ],
)  # fmt: skip
def test_a_verdict_is_that_of_the_page(evaluation: Evaluation, soundness: str, why: list[str], shown: str) -> None:
    """The highest rate of the sample is at scale 10."""
    found = judge_run(evaluation, sample.run())
    assert (found.soundness, found.why) == (soundness, why)
    assert tiles(evaluation, sample.run())[-1].value == shown


def test_valid_says_what_it_rests_on() -> None:
    """A condition that was not checked and a machine that nobody saw are no proof."""
    seen, held = beside(10), sample.run(checks={10: (HOLDS,)})
    assert judge_run(seen, held).say(10) == "Valid."
    warned = sample.replace(seen, doubts=(Doubt("few-cycles", "few", "more", 10), Doubt("few-cycles", "few", "more", 20)))
    assert judge_run(warned, held).say(10) == "Valid, with 1 warning."
    assert judge_run(seen, sample.run(checks={})).unknown == ("no condition of the workload was checked",)
    unseen = judge_run(sample.replace(warned, machine={}), sample.run(checks={10: (HOLDS, UNMADE)}))
    assert unseen.say(10) == (
        "Valid as far as is known, with 1 warning: not every condition of the workload was checked and the CPU use of "
        "other programs was not recorded."
    )
    local = use(run=1)
    away = sample.replace(seen, machine={10: (replace(local, use=replace(local.use, server_ns=None)),)})
    assert judge_run(away, held).document()["unknown"] == ["the server process was not visible, so other load on its machine is unknown"]
    assert not judge_run(away, sample.run(checks={}, engine="mock")).unknown


def test_a_short_run_that_was_disturbed_elsewhere_is_no_more_than_preliminary() -> None:
    found = sample.replace(beside(20, others=1.7), doubts=(SHORT,))
    said = judge_run(found, sample.run()).say(10)
    assert said == "Preliminary: 2 cycles of 1 s: too short; other programs used 1.7 of 4 CPUs at scale 20."
    assert tiles(found, sample.run())[-1].value == "preliminary"
    assert judge_run(found, sample.run()).say(20) == "Not valid: other programs used 1.7 of 4 CPUs."


def test_a_run_that_was_cut_short_is_judged_by_the_cycles_that_it_has(tmp_path: Path) -> None:
    spec = {"workload": "tpcb", "scales": [1, 2], "cycles": 5, "clients": 1, "duration": 40}
    rows = [cycle_row(scale, cycle, [MS] * 10) for scale, cycle in ((1, 1), (1, 2), (2, 1))]
    archive = write(tmp_path, run_json(spec, status="interrupted", reason="stopped by SIGINT"), {"cycles": rows})
    assert judge_run(evaluate(archive), archive.run).short == "2 cycles of 40 s are too short to compare with other runs"


def test_a_run_without_a_transaction_is_void() -> None:
    empty = sample.handmade(scales=(), void_scales=frozenset(), series={}, doubts=())
    assert judge_run(empty, sample.run(status="failed", reason="the server is gone.")).why == ["the server is gone"]
    assert judge_run(empty, sample.run()).soundness is Soundness.VOID
    assert judge_run(empty, sample.run(status="running")).soundness is not Soundness.VOID


def judged(**cpus: float) -> RunVerdict:
    return judge_run(beside(10, **cpus), sample.run())


VOID = RunVerdict(Soundness.VOID, ("the check failed at scale 4",))


def test_many_are_told_together() -> None:
    disturbed = [judged(others=1.6), judged(others=1.81), judged(others=1.7)]
    assert Tally({"": disturbed}).say() == ["3 of 3 runs are disturbed: other programs used 1.6 to 1.8 of 4 CPUs."]
    mixed = Tally({"": [VOID, judged(), disturbed[0]]})
    assert mixed.say("trial") == [
        "1 of 3 trials is void: the check failed at scale 4.", "1 of 3 trials is disturbed: other programs used 1.6 of 4 CPUs.",
    ]  # fmt: skip
    assert mixed.document() == {"valid": 1, "preliminary": 0, "disturbed": 1, "void": 1, "why": mixed.say(), "unknown": []}
    assert not Tally({"": [judged(), judged()]}).say()


def test_a_side_that_was_disturbed_more_often_is_told() -> None:
    calm, loud = judged(), judged(stolen=2)
    assert Tally({"A": [calm, calm], "B": [calm, loud]}).say() == [
        "1 of 4 runs is disturbed (1 of 2 of B): the hypervisor took 2 of 4 CPUs."
    ]
    assert "(" not in Tally({"A": [loud], "B": [loud]}).say()[0], "both sides, all of them"


def test_of_a_search_each_cycle_is_judged_once_at_every_rate(tmp_path: Path) -> None:
    """The figures are those of the cycle at the last rate, the result rests on all."""
    kept = {"run_ns": S, "server_ns": 0, "kernel_ns": 0, "unseen_ns": 0, "stolen_ns": 0, "idle_ns": 0}
    machine = [
        {"scale": 1, "cycle": cycle, "node": node, "span_ns": S, "cpus": 2, "others_ns": S if cycle == 1 else 0, **kept}
        for cycle in (1, 2, 3) for node in ("local", "far")
    ]  # fmt: skip
    tables = {
        "cycles": [cycle_row(1, cycle, [MS] * 10) for cycle in (1, 2, 3)], "machine": machine,
        "groups": [group_row(1, "load", cycle, S, pacing="poisson", rate_per_s=rate)
                   for cycle, rate in ((1, 100.0), (2, 200.0), (3, 150.0))],
    }  # fmt: skip
    spec = {"workload": "tpcb", "scales": [1], "cycles": 1, "clients": 2, "duration": 1, "objective": "p99=20ms"}
    archive = write(tmp_path, run_json(spec), tables)
    evaluation = evaluate(archive)
    assert evaluation.of(RateResult).cycle_numbers[1].tolist() == [3]
    assert judge_cycles(evaluation, archive.run).say("cycle") == [
        "1 of 3 cycles is disturbed: other programs used 1 of 2 CPUs; other programs used 1 of 2 CPUs of far."
    ]


def test_what_is_not_known_of_a_run_is_known_of_those_that_rest_on_it() -> None:
    """Not of a void or disturbed one, which is worse."""
    blind, loud = RunVerdict(Soundness.VALID, unknown=("no condition of the workload was checked",)), judged(others=1.7)
    whole = Tally({"A": [blind, blind], "B": [judged(), replace(loud, unknown=blind.unknown)]})
    assert whole.say_unknown() == ["2 of 4 runs are valid as far as is known (A): no condition of the workload was checked"]
