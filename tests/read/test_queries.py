"""Power, throughput and their composite, recomputed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, prod, sqrt
from types import SimpleNamespace
from typing import Any

import pytest

from dsbench.read.answer import describe, say, tiles
from dsbench.read.blocks import Table
from dsbench.read.draw import specs
from dsbench.read.draw.hero import hero
from dsbench.read.text import render_text
from dsbench.several.drawn_queries import side_by_side
from dsbench.several.queries import document, read_queries, tell_queries
from dsbench.stats.queries import QUERIES, REFRESHES, decide, power
from fixtures import sample
from fixtures.sample import handmade

S = 1_000_000_000


def row(stage: str, kind: str, start_s: float, took_s: float, client: int = 0, **more: Any) -> dict[str, Any]:
    group = "power" if stage.startswith("power") else "refresh" if kind in REFRESHES else "query"
    return {
        "stage": stage, "group": group, "client": client, "kind": kind, "committed": 1, "residence_ns": int(took_s * S),
        "first_start_ns": int(start_s * S), "last_end_ns": int((start_s + took_s) * S), **more,
    }  # fmt: skip


def alone(stage: str, times: dict[str, float]) -> list[dict[str, Any]]:
    return [row(stage, kind, at, took) for at, (kind, took) in enumerate(times.items())]


def together(stage: str, last_s: float) -> list[dict[str, Any]]:
    streams = [row(stage, kind, 5, 0.5, thread) for thread in (0, 1) for kind in QUERIES]
    refreshes = [row(stage, kind, 4, last_s - 4, committed=2) for kind in REFRESHES]
    return streams + refreshes


TIMES = {kind: 1.0 + at for at, kind in enumerate((*QUERIES, *REFRESHES))}


def test_the_run_with_the_lower_composite_counts() -> None:
    rows = [*alone("power1", TIMES), *together("throughput1", 14), *alone("power2", {k: 2 * t for k, t in TIMES.items()})]
    found = decide([*rows, *together("throughput2", 9)], 0.1)
    assert found is not None
    assert found.streams == 2
    first, second = found.runs
    by_hand = 3600 * 0.1 / prod(TIMES.values()) ** (1 / 24)
    assert (first.power, second.power) == (pytest.approx(by_hand), pytest.approx(by_hand / 2))
    # Refreshes begin before the queries and end after them: 4 to 14 and 4 to 9 seconds.
    assert (first.throughput, second.throughput) == (pytest.approx(2 * 22 * 3600 / 10 * 0.1), pytest.approx(3168.0))
    assert first.qphh == pytest.approx(sqrt(by_hand * 1584))
    assert found.reported is first
    assert found.queries[0].power_s == (1.0, 2.0)
    assert found.queries[0].streams_s == (0.5,) * 4
    low, high = found.queries[0].interval_s
    assert low < found.queries[0].mean_s < high


def test_a_query_without_an_end_voids_power_and_the_mean_of_the_rest_stays() -> None:
    timed_out = [{**one, "committed": 0} if one["kind"] == "Q9" else one for one in alone("power1", TIMES)]
    found = decide([*timed_out, *together("throughput1", 14)], 1)
    assert found is not None
    (run,) = found.runs
    assert isnan(run.power)
    assert isnan(run.qphh)
    assert run.throughput > 0
    assert (run.unfinished, run.finished) == (("Q9",), 21)
    rest = [time for kind, time in TIMES.items() if kind in QUERIES and kind != "Q9"]
    assert (run.geometric_s, run.sum_s) == (pytest.approx(prod(rest) ** (1 / 21)), sum(rest))


def test_a_stream_that_lacks_a_query_voids_throughput() -> None:
    found = decide([*alone("power1", TIMES), *together("throughput1", 14)[1:]], 1)
    assert found is not None
    assert isnan(found.runs[0].throughput)
    assert found.runs[0].power > 0


def cold(first_s: float, again_s: float, later_s: float, kinds: tuple[str, ...] = QUERIES) -> list[dict[str, Any]]:
    times = [(kind, took) for kind in kinds for took in (first_s, again_s, later_s)]
    asked = [row("cold", kind, 0, took, cycle=5 + at, failed=0) for at, (kind, took) in enumerate(times)]
    others = [{**one, "kind": kind, "committed": 0, "residence_ns": 0} for one in asked for kind in ("Q1", "Q22")
              if kind != one["kind"]]  # fmt: skip
    return asked + others


def test_the_first_of_three_times_is_cold_and_the_less_of_the_others_hot() -> None:
    twice = [*cold(4, 1.5, 1), *({**one, "cycle": one["cycle"] + 66} for one in cold(9, 2, 3))]
    found = decide([*alone("power1", TIMES), *together("throughput1", 14), *reversed(twice)], 0.5)
    assert found is not None
    known = found.temperatures
    assert known is not None
    assert (known.queries[0].cold_s, known.queries[0].hot_s) == ((4.0, 9.0), (1.0, 2.0))
    # Geometric means of 4 and 9, of 1 and 2.
    assert (known.cold_s, known.hot_s) == (pytest.approx(6.0), pytest.approx(sqrt(2)))
    assert (known.power_cold, known.power_hot) == (pytest.approx(300.0), pytest.approx(1800 / sqrt(2)))
    assert known.queries[0].ratio == pytest.approx(6 / sqrt(2))
    assert all(isnan(end) for end in known.queries[0].interval), "of two restarts there is none"
    assert found.runs[0].power == decide(alone("power1", TIMES), 0.5).runs[0].power  # type: ignore[union-attr]


def test_a_query_without_an_end_is_not_in_the_power_of_cold_queries() -> None:
    asked = [{**one, "committed": 0, "failed": 1} if (one["kind"], one["cycle"]) == ("Q3", 11) else one for one in cold(4, 2, 1)]
    found = decide([*alone("power1", TIMES), *asked], 1)
    assert found is not None
    assert found.temperatures is not None
    assert isnan(found.temperatures.power_cold)
    assert len(found.temperatures.queries) == 21
    assert found.temperatures.cold_s == pytest.approx(4.0)


def test_very_short_queries_count_as_a_thousandth_of_the_longest() -> None:
    times = {**dict.fromkeys(QUERIES, 10.0), **dict.fromkeys(REFRESHES, 0.001)}
    short = {**times, "Q1": 0.000_001}
    assert power(short, 1) == pytest.approx(power({**times, "Q1": 0.01}, 1))
    assert power({**times, "RF1": 0.000_001}, 1) > power(times, 1)


def test_the_page_of_queries_begins_with_their_times() -> None:
    times = [*alone("power1", TIMES), *together("throughput1", 14), *alone("power2", TIMES), *together("throughput2", 14)]
    evaluation, run = sample.replace(sample.evaluation(scales=(1,)), queries={1: decide(times, 0.1)}), sample.run()
    drawn = hero(evaluation, run)
    assert drawn is not None
    assert {row["query"] for row in drawn["datasets"]["queries"]} == set(TIMES)
    assert not {"rate", "cycle", "conf"} & specs(evaluation, run).keys(), "no query has a rate or a cycle"


def test_without_a_throughput_test_the_lower_power_counts() -> None:
    found = decide([*alone("power1", {k: 2 * t for k, t in TIMES.items()}), *alone("power2", TIMES)], 0.1)
    assert found is not None
    by_hand = 3600 * 0.1 / prod(TIMES.values()) ** (1 / 24) / 2
    assert (found.composite, found.streams, found.reported.number) == ("Power", 0, 1)
    assert found.value == found.reported.power == pytest.approx(by_hand)
    assert isnan(found.reported.qphh)
    evaluation, run = sample.replace(sample.evaluation(scales=(1,)), queries={1: found}), sample.run()
    assert " Power@0.1-like" in say(evaluation, run)
    assert "scale factor 0.1 · power test" in describe(evaluation, run)
    tile = tiles(evaluation, run)[0]
    assert (tile.value.split()[1], tile.note) == ("Power-like", "run 1, the lower one")


def test_before_a_power_test_there_is_nothing() -> None:
    assert decide([], 1) is None


def _side_by_side(*factors: float) -> Any:
    """A comparison of runs whose query ``Qn`` takes ``n`` seconds times a factor each."""
    sides = []
    for factor in factors:
        times = {kind: time * factor for kind, time in TIMES.items()}
        rows = [*alone("power1", times), *together("throughput1", 14), *alone("power2", times)]
        found = decide([*rows, *together("throughput2", 14)], 0.1)
        sides.append(SimpleNamespace(evaluations=[handmade(queries={1: found}, void_scales=frozenset())]))
    return SimpleNamespace(sides=sides, stages=SimpleNamespace(bases=(0,) * len(factors)))


def test_queries_of_several_archives_stand_beside_each_other() -> None:
    (found,) = read_queries(_side_by_side(1.0, 2.0, 0.5))
    by_hand = 3600 * 0.1 / prod(TIMES.values()) ** (1 / 24)
    assert [side["power"] for side in found.figures] == pytest.approx([by_hand, by_hand / 2, by_hand * 2])
    assert found.relative_figure(1, "power") == pytest.approx(0.5)
    assert found.relative_figure(1, "sum_s") == pytest.approx(0.5)
    # Of six times two, those of the power tests, took twice as long.
    slower = found.relative(1, "Q3")
    assert slower is not None
    assert slower.value == pytest.approx(2 ** (-2 / 6))
    assert slower.low < slower.value < slower.high
    text = render_text(tell_queries([found], "ABC", brief=True))
    assert "not TPC results" in text
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith("Q")}
    assert "0.71 " in rows["QphH@Size-like"]
    assert set(QUERIES) <= set(rows)
    said = document([found], "ABC")
    assert said[0]["archives"][2]["queries"]["Q1"]["times_as_fast"] == pytest.approx(2 ** (2 / 6))
    heat = [block for block in tell_queries([found], "ABC", brief=False) if isinstance(block, Table)]
    assert [len(table.rows) for table in heat] == [5, 3, 3]
    drawn = side_by_side(found, "ABC")
    assert len(drawn["datasets"]["queries"]) == 3 * 24


def _repeated(*sides: Sequence[Sequence[dict[str, Any]]]) -> Any:
    """A comparison of sides of several runs, each by its rows."""
    found = [
        SimpleNamespace(evaluations=[handmade(queries={1: decide(rows, 0.1)}, void_scales=frozenset()) for rows in runs])
        for runs in sides
    ]
    return SimpleNamespace(sides=found, stages=SimpleNamespace(bases=(0,) * len(sides)))


def test_a_void_run_leaves_its_side_without_the_figure() -> None:
    """Of the second run of B one query has no end, so that it has no power, and no time of all queries."""
    whole = alone("power1", TIMES)
    void = [row("power1", kind, at, took, committed=int(kind != "Q22"), failed=int(kind == "Q22"))
            for at, (kind, took) in enumerate(TIMES.items())]  # fmt: skip
    (found,) = read_queries(_repeated([whole, whole], [whole, void], [void, void]))
    by_hand = 3600 * 0.1 / prod(TIMES.values()) ** (1 / 24)
    assert found.figures[0]["power"] == pytest.approx(by_hand)
    assert isnan(found.figures[1]["power"])
    assert isnan(found.relative_figure(1, "power"))
    assert found.figures[0]["sum_s"] == pytest.approx(253), "1 + 2 + … + 22"
    assert isnan(found.figures[1]["sum_s"]), "the other 21 take less, and would look better"
    said = "Power@Size-like, geometric mean [s], sum [s] not known: void in 1 of 2 runs"
    assert found.void == ("", said, "")
    text = render_text(tell_queries([found], "ABC", brief=True))
    assert f"\n\nB: {said}\n\n" in text
    assert document([found], "ABC")[0]["archives"][1]["power"] is None


def test_all_times_count_where_runs_have_different_numbers_of_them() -> None:
    def run(*times: float) -> list[dict[str, Any]]:
        """Of both power tests, then of streams."""
        tests = [one for number, time in enumerate(times[:2], 1) for one in alone(f"power{number}", {"Q1": time, "RF1": 1.0})]
        return [*tests, *(row("throughput1", "Q1", 5, time, client) for client, time in enumerate(times[2:]))]

    (found,) = read_queries(_repeated([run(1.0, 1.0), run(9.0)], [run(1.0, 4.0, 9.0)]))
    assert sorted(found.times[0]["Q1"]) == [1, 1, 9]
    assert document([found], "AB")[0]["archives"][0]["queries"]["Q1"]["time_s"] == pytest.approx(9 ** (1 / 3)), "2.08"
    ratio = found.relative(1, "Q1")
    assert ratio is not None
    assert ratio.value == pytest.approx((9 / 36) ** (1 / 3))
    assert isnan(ratio.low), "three times each, which are not of the same tests"
    (even,) = read_queries(_repeated([run(1.0, 1.0), run(9.0, 4.0)], [run(1.0, 4.0)]))
    assert even.times[0]["Q1"] == pytest.approx((3, 2)), "place by place"


def test_one_archive_with_queries_has_nothing_beside_it() -> None:
    assert read_queries(_side_by_side(1.0)) == []
    assert list(tell_queries([], "A", brief=True)) == []
