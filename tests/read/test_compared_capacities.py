"""Searches side by side: their capacities are compared, and not the rates of their cycles."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dsbench.archive import Archive
from dsbench.read.choice import make_choice
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult, describe_indexes
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.text import render_text
from dsbench.several import shown
from dsbench.several.compare import read
from dsbench.several.relative import answer
from dsbench.stats.comparison import compare_known
from dsbench.stats.values import Interval
from fixtures.archives import S, bucket_rows, cycle_row, group_row, run_json, write

MS = 1_000_000
AROUND = (0.94, 0.96, 0.98, 0.99, 1.01, 1.02, 1.03, 1.04)
LAST = 900.0
"""Rate of the last cycles of every archive: what would be compared if they were."""


def searched(
    folder: Path, label: str, capacities: dict[int, float], slope: float = 30.0, *, short: bool = False, still: int = 0
) -> Path:
    """An archive of searches whose shares of misses lie around a line, which passes 1% at the capacity; in cycle
    number ``still`` dsbench stood still for a second."""
    rows: dict[str, list[dict[str, Any]]] = {"cycles": [], "groups": [], "buckets": []}
    for scale, capacity in capacities.items():
        rates = [capacity * one for one in ((0.98, 1.02) if short else AROUND)] + [LAST] * 3
        for number, rate in enumerate(rates, 1):
            due = round(10 * rate)
            late = round(due / (1 + 99 * (rate / capacity) ** -slope) * (0.7, 1.4)[number // 2 % 2])
            rows["groups"].append(
                group_row(scale, "load", number, 10 * S, pacing="poisson", rate_per_s=rate, paused_ns=S if number == still else 0)
            )
            rows["cycles"].append(cycle_row(scale, number, [MS] * (due - late) + [50 * MS] * late))
            for measure in ("residence", "response"):
                times = [MS] * (due - late) + [50 * MS] * late
                rows["buckets"] += bucket_rows(scale, number, times, measure=measure)
    asked = {"scales": list(capacities), "cycles": 3, "duration": 10.0, "objective": "p99=20ms", "label": label,
             "clients": 1, "workload": "select"}  # fmt: skip
    return write(folder, run_json(asked, name=label), rows).path


def test_the_capacities_of_two_searches_are_compared(tmp_path: Path) -> None:
    comparison = read([searched(tmp_path, "A", {1: 1000}), searched(tmp_path, "B", {1: 1200})])
    found = answer(comparison)
    sentence = (
        r"B has 1\.(19|20|21) times the capacity of A \(1\.[01]\d to 1\.[234]\d\) at scale 1: 1,(19|20|21)0 tps "
        r"\(1,[01]\d0 to 1,2\d0\) against (99\d|1,0[01]0) tps \([89]\d\d to 1,0\d0\), with 99% below 20 ms\."
    )
    assert re.fullmatch(sentence, found.sentence), found.sentence
    assert "of one search each" in found.about
    text = shown.text(comparison)
    assert "relative capacities" in text
    assert "highest rate with 99% below 20 ms, tps" in text
    side = shown.document(comparison)["sections"][0]["archives"][1]["scales"]["1"]
    assert side["capacity_tps"] == pytest.approx(1200, rel=0.015)
    assert side["capacity"]["low"] < 1200 < side["capacity"]["high"]
    assert side["relative"]["value"] == pytest.approx(1.2, rel=0.02)
    assert {"rate", "relative", "load"} <= set(shown.draw(comparison))


def test_capacities_that_may_be_the_same_are_not_told_apart(tmp_path: Path) -> None:
    found = answer(read([searched(tmp_path, "A", {1: 1000}), searched(tmp_path, "B", {1: 1005})]))
    assert found.sentence.startswith("No difference of more than 5.0%: B has 1.0")


def test_over_several_scales_the_mean_is_told(tmp_path: Path) -> None:
    scales = {1: 1000.0, 10: 1000.0, 100: 1000.0}
    faster = {x: 1.5 * one for x, one in scales.items()}
    found = answer(read([searched(tmp_path, "A", scales), searched(tmp_path, "B", faster)]))
    assert re.fullmatch(r"B has 1\.(49|50|51) times the capacity of A \(1\.\d\d to 1\.\d\d\) over scales 1 to 100\.", found.sentence)


def test_of_several_the_highest_and_the_lowest_are_named(tmp_path: Path) -> None:
    paths = [searched(tmp_path, name, {1: 1000 * factor}) for name, factor in (("A", 1), ("B", 1.5), ("C", 0.5))]
    said = answer(read(paths)).sentence
    assert re.fullmatch(r"B has the highest capacity, 1\.(49|50|51) times that of A; C has the lowest capacity, 0\.50 times that of A\.", said)


def test_a_search_that_tells_no_interval_says_so(tmp_path: Path) -> None:
    comparison = read([searched(tmp_path, "A", {1: 1000}), searched(tmp_path, "B", {1: 1200}, slope=0.3, short=True)])
    assert comparison.sides[1].evaluations[0].of(LoadResult).load[1].is_open
    found = answer(comparison)
    assert re.search(r"B has 1\.\d\d times the capacity of A at scale 1: \S+ tps \((\S+ or more|\S+ or less|no interval is known)\)", found.sentence)
    assert "no intervals: the steps of the searches do not give any" in found.about
    assert isnan(comparison.sections[0].compared[1].relative[1].low)


def test_a_search_and_a_run_without_one_compare_rates_and_say_that_the_load_differs(tmp_path: Path) -> None:
    plain = write(
        tmp_path, run_json({"scales": [1], "cycles": 3, "duration": 10.0, "label": "P", "clients": 1, "workload": "select"}, name="P"),
        {"cycles": [cycle_row(1, number, [MS] * 9000) for number in (1, 2, 3)]},
    ).path  # fmt: skip
    comparison = read([plain, searched(tmp_path, "B", {1: 1200})])
    assert not comparison.sections[0].searched
    assert "objective" in comparison.load


def test_figures_of_a_search_are_those_of_its_capacity(tmp_path: Path) -> None:
    evaluation = evaluate(Archive.open(searched(tmp_path, "A", {1: 1000})))
    for measure in ("capacity", "rate"):
        assert make_choice(measure).read(evaluation).value == pytest.approx(evaluation.of(LoadResult).load[1].rate, rel=1e-9)
    assert evaluation.of(LoadResult).load[1].rate == pytest.approx(1000, rel=0.015)
    assert make_choice("tps").read(evaluation).value == pytest.approx(LAST, rel=0.01)


def test_the_index_of_a_search_is_that_of_its_capacities(tmp_path: Path) -> None:
    """(lg 2000 + lg 1000) / 4 = 1.575; of the last cycles, all at 900 tps, it would be 1.477."""
    paths = [searched(tmp_path, name, {1: 2000, 10: 1000 * factor}) for name, factor in (("A", 1), ("B", 1.5), ("C", 1.5))]
    evaluation = evaluate(Archive.open(paths[0]))
    dsi = evaluation.of(RateResult).index.dsi
    assert dsi is not None
    assert dsi.value == pytest.approx(1.5753, abs=0.004)
    assert dsi.low < dsi.value < dsi.high
    (line,) = [line for line in describe_indexes(evaluation) if line.startswith("DSI")]
    assert re.fullmatch(r"DSI 1\.5[78] \[1\.5\d, 1\.\d\d\] \(95%, of the capacities\) over scales 1-10; comparable .*", line)
    section = read(paths).sections[0]
    several = replace(section, evaluations=(section.evaluations[0], section.evaluations[1] + section.evaluations[2]))
    both = several.dsi(1)
    assert both is not None
    assert both.value == pytest.approx(1.5753 + np.log10(1.5) / 4, abs=0.004)
    assert sum(several.dsi_parts(1).values()) == pytest.approx(both.value - dsi.value)


def test_a_cycle_in_which_dsbench_stood_still_is_left_out_and_that_is_told(tmp_path: Path) -> None:
    whole, spoilt = (evaluate(Archive.open(searched(tmp_path, name, {1: 1000}, still=still))) for name, still in (("A", 0), ("B", 4)))
    assert [one.holds for one in spoilt.of(LoadResult).load[1].tried].count("left out") == 1
    assert spoilt.of(LoadResult).load[1].capacity != whole.of(LoadResult).load[1].capacity
    assert spoilt.of(LoadResult).load[1].rate == pytest.approx(1000, rel=0.015)
    said = [one.message for one in spoilt.of(WarningsResult).doubts if one.code == "capacity"]
    assert any("1 of the 11 cycles of the search are left out: dsbench was suspended in them for up to 1 s" in words for words in said), said
    assert "left out" in render_text(find_subject("load").tell(spoilt))
    assert not [one for one in whole.of(WarningsResult).doubts if "left out" in one.message]


def test_quotients_have_the_intervals_of_both() -> None:
    """ln(200 / 160) = ln(250 / 200) = ln(100 / 80) = ln(125 / 100) = 0.2231, and sqrt(2) times that is 0.3156."""
    under, over = Interval(100, 80, 125, 0.95), Interval(200, 160, 250, 0.95)
    _, found = compare_known([[{1: under}], [{1: over}]])
    assert (found.relative[1].low, found.relative[1].high) == pytest.approx((2 * np.exp(-0.31558), 2 * np.exp(0.31558)), rel=1e-4)
    assert (found.medians, found.overall, found.repeated) == ({1: 200}, None, False)


def test_of_three_each_interval_is_wider_so_that_all_hold_together() -> None:
    """At 97.5% in place of 95%: 2.2414 / 1.9600 = 1.1436 times as wide in the logarithm."""
    under, over = Interval(100, 80, 125, 0.95), Interval(200, 160, 250, 0.95)
    *_, found = compare_known([[{1: under}], [{1: over}], [{1: over}]])
    assert found.relative[1].low == pytest.approx(2 * np.exp(-0.31558 * 1.14360), rel=1e-4)
    assert found.relative[1].level == 0.95


def test_the_mean_over_scales_is_that_along_lg_scale() -> None:
    """Of scales 1, 10, 100 the weights are 1/4, 1/2, 1/4: 2^(1/4) * 2^(1/2) * 2^(1/4) = 2, and the deviations of the
    logarithms 0.3156 come to 0.3156 * sqrt(1/16 + 1/4 + 1/16) = 0.1933."""
    under, over = Interval(100, 80, 125, 0.95), Interval(200, 160, 250, 0.95)
    _, found = compare_known([[dict.fromkeys((1, 10, 100), under)], [dict.fromkeys((1, 10, 100), over)]])
    assert found.overall is not None
    assert found.overall.value == pytest.approx(2)
    assert found.overall.low == pytest.approx(2 * np.exp(-0.31558 * np.sqrt(6 / 16)), rel=1e-4)


@pytest.mark.parametrize("ends", [(0.0, 250.0), (160.0, inf), (nan, nan)])
def test_an_open_end_leaves_the_quotient_without_an_interval(ends: tuple[float, float]) -> None:
    _, found = compare_known([[{1: Interval(100, 80, 125, 0.95)}], [{1: Interval(200, *ends, 0.95)}]])
    assert found.relative[1].value == 2
    assert isnan(found.relative[1].low)
    assert isnan(found.relative[1].high)


def test_repeated_searches_are_compared_by_their_spread() -> None:
    runs = [{1: Interval(value, 1, 1e9, 0.95)} for value in (100.0, 102.0, 98.0)]
    first, second = compare_known([runs, [{1: Interval(2 * one[1].value, 1, 1e9, 0.95)} for one in runs]])
    assert second.repeated
    assert second.relative[1].value == pytest.approx(2)
    assert 1.8 < second.relative[1].low < 2 < second.relative[1].high < 2.2
    assert first.relative[1].value == 1
