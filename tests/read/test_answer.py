"""The sentence and the figures that a report begins with."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from dsbench.archive import Archive
from dsbench.commons.figures import compute_figures
from dsbench.read.answer import Tile, _follow, answer, describe, format_size, highest, say, tiles
from dsbench.read.draw.hero import apart, hero
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.legs import LegResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import list_warnings, tell_warnings
from dsbench.read.text import render_text
from dsbench.spec.legs import legs
from dsbench.spec.objective import Objective
from dsbench.stats.capacity import Capacity, Step
from dsbench.stats.search import Load, Tried, capacity_doubts
from dsbench.stats.tpcc import nopm
from dsbench.stats.values import Doubt, Interval, ScaleResult
from dsbench.workloads import find
from fixtures import sample
from fixtures.archives import MS, STORED, cycle_row, run_json, write
from fixtures.sample import replace
from read.test_glance import use


def with_rates(*rates: float) -> Evaluation:
    """Scales 1, 10, 100 … of 0.016, 0.16, 1.6 … GB with these median rates."""
    evaluation = sample.evaluation()
    first = evaluation.of(RateResult).scales[0]
    rows: list[ScaleResult] = [
        replace(first, scale=10**at, database_size_gb=0.016 * 10**at, rate_median_tps=rate, rate_min_tps=rate,
                rate_max_tps=rate)
        for at, rate in enumerate(rates)
    ]  # fmt: skip
    shares = {row.scale: 1.0 for row in rows}
    return sample.replace(
        evaluation, scales=tuple(rows), void_scales=frozenset(), success_share=shares, doubts=(), cycle_rates={},
        intervals={}, response={}, frequency={row.scale: evaluation.of(LatencyResult).frequency[1] for row in rows},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rates", "end"),
    [
        ((1000.0,), "does 1,000 transactions per second with 16 clients at scale 1 (16 MB)."),
        ((1000.0, 1100.0, 1200.0), "does 1,200 transactions per second with 16 clients at scale 100 (1.6 GB), and about as many "
         "at all scales from 1 to 100."),
        ((1000.0, 900.0, 300.0), "at scale 1 (16 MB), and 70% fewer at scale 100 (1.6 GB); most of the fall is between scale 10 "
         "and 100."),
        ((25239.0, 10907.0, 4500.0, 1610.0), ", and 94% fewer at scale 1,000 (16 GB); most of the fall is between scale 1 and 10."),
        ((1000.0, 700.0, 420.0, 180.0), ", and 82% fewer at scale 1,000 (16 GB); the fall is steepest between scale 100 and 1,000."),
        ((1000.0, 300.0), "at scale 1 (16 MB), and 70% fewer at scale 10 (160 MB)."),
        ((200.0, 900.0, 1000.0), "at scale 100 (1.6 GB), 5 times as many as at scale 1 (16 MB)."),
        ((1000.0, 850.0), "at scale 1 (16 MB), and about as many at scale 10 (160 MB)."),
    ],
)  # fmt: skip
def test_the_sentence_says_how_fast_and_what_happens_as_the_database_grows(rates: tuple[float, ...], end: str) -> None:
    run = sample.run(spec={"target": {"url": "postgresql://host/db"}})
    assert say(with_rates(*rates), run).endswith(end)


def test_no_size_is_called_slower_while_cycles_differ_as_much() -> None:
    run, found = sample.run(), with_rates(1000.0, 300.0)
    fast, slow = found.of(RateResult).scales
    apart = sample.replace(found, scales=(replace(fast, rate_min_tps=401.0), replace(slow, rate_max_tps=400.0)))
    assert say(apart, run).endswith(", and 70% fewer at scale 10 (160 MB).")
    mixed = sample.replace(found, scales=(replace(fast, rate_min_tps=400.0), replace(slow, rate_max_tps=400.0)))
    assert say(mixed, run).endswith("; scales 1 to 10 differ less than their cycles do.")
    known = {1: Interval(1000.0, 900.0, 1100.0, 0.95), 10: Interval(300.0, 250.0, 350.0, 0.95)}
    assert say(sample.replace(mixed, intervals=known), run) == say(apart, run), "intervals tell more than the range"


def test_a_server_of_one_s_own_is_on_this_machine() -> None:
    run = sample.run(spec={"target": {"url": "private:postgresql"}})
    assert say(with_rates(5.0), run) == (
        "PostgreSQL 15.18 does 5 transactions per second with 16 clients at scale 1 (16 MB) on this machine."
    )


def test_what_failed_is_no_figure() -> None:
    void = sample.replace(with_rates(1000.0), void_scales=frozenset({1}))
    assert say(void, sample.run()) == "The check failed: no figure of PostgreSQL 15.18 can be used."
    assert tiles(void, sample.run()) == []
    nothing = with_rates()
    ended = sample.run(status="failed", reason="the connection was lost")
    assert say(nothing, ended) == "PostgreSQL 15.18 was not measured: the connection was lost."
    assert highest(nothing) is None
    assert hero(nothing, ended) is None


def test_four_figures_are_those_of_the_tables() -> None:
    evaluation, run = sample.evaluation(), sample.run()
    top = highest(evaluation)
    assert top is not None
    curve = evaluation.of(LatencyResult).frequency[top.scale]
    shown = {tile.name: tile for tile in tiles(evaluation, run)}
    assert list(shown) == ["Highest rate", "99% take at most", "Index DSI", "Failed attempts", "Verdict"]
    value, unit = shown["99% take at most"].value.split()
    assert float(value) * {"µs": 1e3, "ms": 1e6, "s": 1e9}[unit] == pytest.approx(curve.told(0.99), rel=0.005)
    assert float(shown["Highest rate"].value.removesuffix(" tps").replace(",", "")) == pytest.approx(top.value, rel=5e-3)


@pytest.mark.parametrize(("orders", "shown", "known"), [
    ([300, 310, 290, 305, 295], "± ", True), ([300, 310, 290, 305], "4 cycles", False),
])  # fmt: skip
def test_new_orders_have_an_interval_as_rates_have(orders: list[int], shown: str, known: bool) -> None:
    """That of five cycles reaches beyond all of them; of fewer there is none."""
    evaluation = sample.evaluation()
    part = sample.replace(
        evaluation, nopm={1: nopm(np.array(orders, float), 10.0, 1, find("tpcc"))},
        cycle_rates={1: np.array(orders) / 10.0},
    )
    figure = tiles(part, sample.run())[0]
    rate = compute_figures(part)["rate"]
    assert (rate["unit"], rate["value"]) == ("NOPM, unpaced", pytest.approx(6 * np.median(orders)))
    assert figure.note.startswith(shown)
    if known:
        assert 1700 < rate["low"] < 6 * 290 < 6 * 310 < rate["high"] < 1900
    else:
        assert (rate["low"], rate["high"]) == (None, None)


def test_a_search_tells_the_time_of_its_last_cycles_as_theirs() -> None:
    evaluation = sample.evaluation()
    top = highest(evaluation)
    assert top is not None

    def time(*kept: bool) -> str:
        steps = [Tried(at, rate, rate, 8.0, (), (), keeps)
                 for at, (rate, keeps) in enumerate([(900.0, True), *((1000.0, one) for one in kept)])]  # fmt: skip
        capacity = Capacity(950.0, 900.0, 1000.0, 10.0, 1.0, 4, 50.0)
        load = Load(tuple(steps), Objective("p99=20ms", 0.01, 20_000_000), capacity)
        shown = {tile.name: tile for tile in tiles(sample.replace(evaluation, load={top.scale: load}), sample.run())}
        assert "99% take at most" not in shown
        return shown["99% in the last cycles"].note

    assert time(True, False, False).startswith("at 1,000/s · 2 of 3 miss it · median")
    assert time(True, True, True).startswith("at 1,000/s · kept in each · median")


def test_a_search_of_one_rate_has_no_range() -> None:
    def extent(*tried: tuple[float, bool]) -> str:
        steps = [Tried(at, rate, rate, 8.0, (), (Step(rate, 8.0, 1000, 0),), kept) for at, (rate, kept) in enumerate(tried)]
        return Load(tuple(steps), Objective("p99=20ms", 0.01, 20_000_000), None).extent

    assert extent((100.0, True)) == "the only rate, 100 tps, keeps it"
    assert extent((100.0, False), (100.0, False)) == "the only rate, 100 tps, does not keep it"
    assert extent((100.0, True), (200.0, True)) == "all of 2 rates from 100 to 200 tps keep it"


def test_the_times_beside_a_composite_are_those_of_the_run_that_counts() -> None:
    archive = Archive.open(STORED / "tpch.zip")
    top = highest(evaluate(archive))
    assert top is not None
    assert top.part.stage == "throughput1"
    assert any("run 1, the lower one" in tile.note for tile in tiles(evaluate(archive), archive.run))


def test_a_capacity_that_its_last_cycles_miss_all_together_is_told_so() -> None:
    """Two of three keep it, and the third misses it by more than all may."""
    def broken(*missed: float, rate: float = 950.0) -> str:
        steps = [Tried(at, 950.0, 950.0, 8.0, (), (Step(950.0, 8.0, 1000, one),), one <= 10) for at, one in enumerate(missed)]
        capacity = Capacity(rate, 900.0, 1000.0, 10.0, 1.0, 4, 50.0)
        return Load(tuple(steps), Objective("p99=20ms", 0.01, 20_000_000), capacity).broken

    assert broken(5, 5, 401) == "the last 3 cycles, at 950/s, miss it overall: 13.700%, allowed are 1.000%"
    assert not broken(5, 5, 15)
    assert not broken(500, rate=800), "a step above the capacity has to miss it"
    evaluation = sample.evaluation()
    top = highest(evaluation)
    assert top is not None
    steps = tuple(Tried(at, 950.0, 950.0, 8.0, (), (Step(950.0, 8.0, 1000, 40),), False) for at in range(2))
    load = Load(steps, Objective("p99=20ms", 0.01, 20_000_000), Capacity(950.0, 900.0, 1000.0, 10.0, 1.0, 4, 50.0))
    assert ", but the last 2 cycles, at 950/s, miss it overall: 4.000%" in say(sample.replace(evaluation, load={top.scale: load}), sample.run())


@pytest.mark.parametrize(("due", "words"), [
    ({10: 95.25}, "does 1,105 of the 95.25 transactions per second that were due (100 asked for) with 16 clients at scale 10 (151 MB)."),
    ({}, "does 1,105 transactions per second (100 asked for) with 16 clients at scale 10 (151 MB)."),
])  # fmt: skip
def test_an_open_loop_is_held_against_what_was_due(due: dict[int, float], words: str) -> None:
    evaluation = sample.replace(sample.evaluation(open_loop=True), due=due)
    said = say(evaluation, sample.run(spec={"rate": 100.0}))
    assert re.sub(r"does [\d,.]+", "does 1,105", said).endswith(words)
    assert tiles(evaluation, sample.run())[0].name == "Rate reached"


@pytest.mark.parametrize(("ramp_up", "due"), [(0.0, 10.0), (1.0, 8.4)])
def test_starts_in_flight_at_the_end_were_due_but_where_a_ramp_up_had_as_many(ramp_up: float, due: float, tmp_path: Path) -> None:
    """50 starts in 5 s, of which 3 failed, one of them twice, 2 were never made and 8 were in flight: 37 + 4 + 2 - 1 = 42."""
    row = cycle_row(1, 1, [MS] * 37, failed=4, retries=1, skipped_starts=2, in_flight=8)
    asked = {"scales": [1], "cycles": 1, "duration": 5.0, "rate": 10.0, "clients": 8, "ramp_up": ramp_up}
    found = evaluate(write(tmp_path, run_json(asked), {"cycles": [row]}))
    assert found.of(RateResult).due == {1: pytest.approx(due)}


def test_fewer_starts_than_chance_draws_are_none_that_a_server_missed() -> None:
    """27.75 of 30 in two cycles of 2 s: 120 starts were asked for, and 111 drawn."""
    (flat,) = legs("0s:30, 2s:end")
    def said(achieved: float, cycles: float) -> str:
        reached = LegResult(1, flat, 30.0, achieved, 0.0, 1.0, 2.0, 3.0, 4.0, 0, math.nan, (math.nan, math.nan))
        return _follow([reached], "tps", cycles)

    assert said(27.75, 2) == "follows a load of up to 30 tps"
    assert said(27.75, math.inf) == "reaches 27.75 of 30 tps in leg 1 of its load", "of constant arrivals none is chance"
    assert said(20, 2).startswith("reaches 20 of 30 tps")


def test_the_cycles_of_a_search_are_told_before_its_result() -> None:
    evaluation = sample.evaluation()
    cycles = tuple(replace(use(run=1, others=one), cycle=at) for at, one in enumerate((0.0, 1.5, 1.8)))
    disturbed = sample.replace(evaluation, machine={10: cycles})
    assert answer(disturbed, sample.run(spec={"peak": True})).verdict[1:] == [
        "2 of 3 cycles are disturbed: other programs used 1.5 to 1.8 of 4 CPUs."
    ]
    assert answer(disturbed, sample.run()).verdict == ["Not valid: other programs used 1.1 of 4 CPUs."]


def test_a_capacity_that_is_hardly_known_tells_cpu_time_near_it() -> None:
    def words(*cpu_us: float) -> str:
        steps = [Tried(at, 900.0 + at, 900.0, 8.0, (), (Step(900.0 + at, 8.0, 7200, 7.0),), True, us)
                 for at, us in enumerate(cpu_us)]  # fmt: skip
        far = Tried(9, 2000.0, 1500.0, 8.0, (), (Step(2000.0, 8.0, 16000, 9000.0),), False, 900.0)
        capacity = Capacity(950.0, 0.0, 1000.0, 10.0, 1.0, 4, 50.0)
        load = Load((far, *steps), Objective("p99=20ms", 0.01, 20_000_000), capacity)
        (doubt,) = capacity_doubts({10: load})
        return doubt.message

    assert words(203.0, 351.4, math.nan).endswith(". Near that rate a transaction took 203 to 351 µs of the server's CPU time")
    assert "CPU" not in words(203.0, 210.0)
    assert "CPU" not in words(203.0, math.nan)


def test_the_verdict_is_what_the_run_noticed() -> None:
    def trust(evaluation: Evaluation) -> Tile:
        return tiles(evaluation, sample.run(checks={}, engine="mock"))[-1]

    sound = sample.replace(with_rates(1000.0), machine={})
    assert (trust(sound).value, trust(sound).tone) == ("valid", "good")
    noted = sample.replace(sound, doubts=(Doubt("drift", "it falls", "measure longer", 1), Doubt("drift", "it falls", "measure longer", 10)))
    assert (trust(noted).value, trust(noted).note) == ("valid", "1 warning · not checked")
    quick = sample.replace(sound, doubts=(Doubt("short-cycles", "2 cycles of 1 s", "", None),))
    assert trust(quick).value == "preliminary"
    assert trust(sample.replace(sound, doubts=(Doubt("lost", "rows are missing", "", 1, severe=True),))).tone == "bad"


@pytest.mark.parametrize(("size_gb", "text"), [
    (1.5e-6, "1.5 kB"), (0.0157, "16 MB"), (0.0042, "4.2 MB"), (0.999, "999 MB"), (1.0, "1 GB"), (1.57, "1.6 GB"),
    (157.2, "157 GB"), (2100.0, "2.1 TB"),
])  # fmt: skip
def test_sizes_have_two_digits_and_a_unit(size_gb: float, text: str) -> None:
    assert format_size(size_gb) == text


def test_the_line_below_names_work_conditions_and_machine() -> None:
    line = describe(sample.evaluation(), sample.run())
    assert line.startswith("TPC-B-like · scales 1 to 10,000 · ")
    assert "Xeon" in line


def test_the_picture_has_a_line_for_each_series_over_what_was_varied() -> None:
    drawn = hero(with_rates(1000.0, 900.0, 300.0), sample.run())
    assert drawn is not None
    assert [row["median"] for row in drawn["datasets"]["rows"]] == [1000.0, 900.0, 300.0]
    assert [row["size"] for row in drawn["datasets"]["rows"]] == ["16 MB", "160 MB", "1.6 GB"]
    assert not any(math.isnan(row["low"]) for row in drawn["datasets"]["rows"])


def test_names_of_sizes_of_memory_stand_within_the_plot() -> None:
    drawn = hero(with_rates(1000.0, 900.0, 300.0), sample.run(marks={"cache": 0.1e9, "RAM": 1e9}))
    assert drawn is not None
    assert [(row["label"], row["late"]) for row in drawn["datasets"]["marks"]] == [("cache 100 MB", False), ("RAM 1 GB", True)]


def test_the_picture_speaks_of_sizes_where_they_are_known_only() -> None:
    known = with_rates(1000.0, 900.0, 300.0)
    unknown = sample.replace(known, scales=tuple(replace(row, database_size_gb=math.nan) for row in known.of(RateResult).scales))
    heads = [(hero(one, sample.run()) or {})["layer"][-1]["encoding"]["x"]["title"] for one in (known, unknown)]
    assert heads == ["scale, and size of the database", "scale"]


def test_names_at_the_ends_of_lines_do_not_cover_each_other() -> None:
    def row(name: str, median: float, at: int = 10) -> dict[str, object]:
        return {"series": name, "at": at, "median": median}

    placed = {one["series"]: one["place"] for one in apart([row("a", 100), row("b", 99), row("c", 50), row("d", 99, 5)], 10)}
    assert placed == {"a": 104.5, "b": 94.5, "c": 50, "d": 99}, "d ends elsewhere"
    crowded = [one["place"] for one in apart([row(str(at), value) for at, value in enumerate((0, 1, 12, 13, 40))], 10)]
    assert crowded == [0, 10, 20, 30, 40], "above the axis, and a group that reaches the next one takes it in"


def test_figures_of_one_scale_are_not_told_of_another() -> None:
    found = [Doubt("failures", f"{share}% of the attempts failed", "use --retry", scale)
             for scale, share in ((1, 72.6), (2, 58.1), (5, 58.1), (10, 35.3))]  # fmt: skip
    assert render_text(tell_warnings(found)).splitlines()[0] == (
        "warning (scales 1, 2, 5, 10): at scale 1, 72.6% of the attempts failed; at scale 2 and 5, 58.1% of the attempts "
        "failed; at scale 10, 35.3% of the attempts failed"
    )
    assert "at scale 1, 72.6% of the attempts failed; and 2 more of this kind" in render_text(tell_warnings(found, whole=False))
    assert list_warnings(sample.replace(sample.evaluation(), doubts=tuple(found))) == [
        "warning at scale 1: 72.6% of the attempts failed", "warning at scale 2 (also at 5): 58.1% of the attempts failed",
        "warning at scale 10: 35.3% of the attempts failed", "  hint: use --retry",
    ]  # fmt: skip
    alike = [replace(one, message="it failed") for one in found]
    assert render_text(tell_warnings(alike)).splitlines()[0] == "warning (scales 1, 2, 5, 10): it failed"
