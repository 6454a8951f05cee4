"""The most clients that keep an objective: out of cycles, in words, and of a run."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench.problem import Problem
from dsbench.read import draw
from dsbench.read.answer import answer
from dsbench.read.glance import best
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.connections import ConnectionsResult
from dsbench.read.tables import to_json
from dsbench.read.text import render_text
from dsbench.spec import build
from dsbench.spec.objective import objectives
from dsbench.stats.cycles import CycleFigures, KindOutcomes
from dsbench.stats.histogram import histogram
from dsbench.stats.most_clients import ClientsTried, find_most, judge_clients
from dsbench.stats.values import Interval
from fixtures.stalled import unless_stalled

MS = 10**6


def cycle(clients: int, *, fast: int, slow: int, failed: int = 0) -> CycleFigures:
    """``fast`` transactions of 10 ms and ``slow`` ones of 30 ms."""
    at = np.array([10 * MS, 30 * MS])
    times = histogram(at, at, np.array([fast, slow]))
    kinds = {"t": KindOutcomes(fast + slow, 0, failed, 0, 0)}
    return CycleFigures(1, "load", clients, 1, 10**9, 0, kinds, {"": times, "t": times}, None, None, 0, 0)


def judged(clients: int, *cycles: CycleFigures, text: str = "p99=20ms", high: float = nan, waited: float = 0.0) -> ClientsTried:
    wanted = objectives(text)
    within = [Interval(nan, nan, high, 0.95)] * len(wanted)
    return judge_clients(clients, 100.0 * clients, cycles, wanted, within, waited)


def test_the_answer_is_the_most_below_the_first_that_misses() -> None:
    few, some = judged(1, cycle(1, fast=1000, slow=0)), judged(8, cycle(8, fast=995, slow=5), cycle(8, fast=985, slow=15))
    many, lucky = judged(16, cycle(16, fast=900, slow=100)), judged(32, cycle(32, fast=1000, slow=0))
    assert (few.keeps, some.keeps, many.keeps, lucky.keeps) == (True, True, False, True)
    assert some.cycles_kept == 1
    found = find_most([lucky, many, few, some])
    assert found is not None
    assert found.clients == 8
    assert found.words == (
        "8 clients keep 99% below 20 ms: 10 ms at 800 tps, kept in 1 of 2 cycles; but 32 clients keep it again. "
        "16 do not: 30 ms at 1,600 tps, kept in 0 of 1 cycle. 9 to 15 clients were not measured"
    )


def test_failures_that_miss_it_are_told_beside_a_time_that_keeps_it() -> None:
    """3% fail, where 1% may take longer."""
    few, many = judged(8, cycle(8, fast=1000, slow=0)), judged(16, cycle(16, fast=970, slow=0, failed=30))
    found = find_most([few, many])
    assert found is not None
    assert found.clients == 8
    assert "16 do not: 10 ms with 3.0% failed or slower at 1,600 tps" in found.words
    alone = find_most([judged(1, cycle(1, fast=1000, slow=0))])
    assert alone is not None
    assert alone.untold == "more than 1 client was not measured"


def test_all_may_keep_it_and_all_may_miss_it() -> None:
    kept = find_most([judged(2, cycle(2, fast=1000, slow=0))])
    assert kept is not None
    assert kept.words.endswith("More than 2 clients were not measured")
    missed = find_most([judged(2, cycle(2, fast=900, slow=100)), judged(4, cycle(4, fast=1000, slow=0))])
    assert missed is not None
    assert (missed.clients, missed.untold) == (0, "")
    assert missed.words == "2 clients do not keep 99% below 20 ms: 30 ms at 200 tps, kept in 0 of 1 cycle"
    assert find_most([]) is None


def test_an_interval_beyond_the_limit_is_told() -> None:
    found = find_most([judged(2, cycle(2, fast=1000, slow=0), high=21 * MS)])
    assert found is not None
    assert found.unsure == "the 95% interval of 10 ms ends at 21 ms"
    few = find_most([judged(2, cycle(2, fast=20, slow=0))])
    assert few is not None
    assert few.unsure == "too few transactions for that percentile"


def test_failures_count_as_well_and_lucky_clients_are_no_answer() -> None:
    both = judged(2, cycle(2, fast=1000, slow=0, failed=50), text="p99=20ms,failed=1%")
    assert not both.keeps
    assert both.values == "10 ms and 4.8% failed"
    assert not judged(2, cycle(2, fast=1000, slow=0), waited=2000 * MS).keeps, "half of the clients' time is beyond the limit"
    assert judged(2, cycle(2, fast=1000, slow=0), waited=15 * MS).keeps


def test_several_numbers_of_clients_are_judged_and_one_is_searched() -> None:
    spec = build({"target": {"url": "mock:"}, "scales": (1,), "duration": 0.5, "objective": "p99=20ms", "clients": [1, 2]})
    assert (spec.searches, spec.ramp_up, spec.largest) == (False, 0.0, spec.cycles)
    assert spec.at(2).objective == ""
    one = build({"target": {"url": "mock:"}, "scales": (1,), "duration": 0.5, "objective": "p99=20ms", "clients": 2})
    assert one.searches
    assert one.at(2).objective == "p99=20ms"
    for wrong, remedy in (({"rate": 10.0}, "omit --rate"), ({"pace": "terminals"}, "omit --pace")):
        with pytest.raises(Problem, match="closed loops") as told:
            build({**spec.described(), **wrong})
        assert remedy in told.value.remedy
    with pytest.raises(Problem, match="one number of clients"):
        build({**spec.described(), "graduated": True})


@unless_stalled
def test_a_run_answers_on_the_first_screen_in_the_table_and_as_json(tmp_path: Path) -> None:
    archive = dsbench.run(
        "mock:?latency_us=2000", scales=(1,), cycles=2, duration=0.5, clients=(1, 2, 4), objective="failed=1%", out=tmp_path,
    )  # fmt: skip
    evaluation = archive.evaluate()
    most = evaluation.of(ConnectionsResult).most_clients[1]
    assert most.clients == 4
    found = best(evaluation)
    assert found is not None
    assert found.part.clients == 4
    said = answer(evaluation, archive.run)
    assert "at most 1% failed with up to 4 clients at scale 1" in said.sentence
    assert (said.tiles[0].name, said.tiles[0].value) == ("Most clients", "4")
    text = render_text(find_subject("connections").tell(evaluation))
    assert re.search(r"4 +4 .* yes +2 of 2", text)
    assert to_json(evaluation)["most_clients"]["1"]["clients"] == 4
    drawn = draw.specs(evaluation, archive.run)["latency"]["datasets"]
    assert {row["clients"] for row in drawn["quantiles"]} == {1, 2, 4}


def test_the_highest_rate_is_none_that_misses_the_limit(tmp_path: Path) -> None:
    archive = dsbench.run(
        "mock:?latency_us=20000", scales=(1,), cycles=1, duration=0.5, clients=(1, 4), objective="p90=1us", out=tmp_path,
    )  # fmt: skip
    evaluation = archive.evaluate()
    found = best(evaluation)
    assert found is not None
    assert found.part.clients == 1, "all miss it: the fewest, and not the fastest"
    said = answer(evaluation, archive.run)
    assert "90% below 1 µs with none of 1, 4 clients" in said.sentence
    assert said.tiles[0].value == "none"
