"""Stages in diagrams, and side by side: the three tables of the Insert Benchmark's summary."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.read import draw as diagrams
from dsbench.read import page as document
from dsbench.read import tables
from dsbench.read.blocks import Table
from dsbench.read.draw import render
from dsbench.read.draw.axes import conditions
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects.rate import RateResult
from dsbench.read.text import colour_signs
from dsbench.several import shown, stages, trend
from dsbench.several.compare import Comparison, read, verdicts
from dsbench.several.drawn import specs
from dsbench.several.relative import tell_relative
from dsbench.several.trend import histories
from fixtures.archives import MS, S, cycle_row, group_row, run_json, write
from fixtures.told import summary_text
from read.test_stage_costs import STAGES, rows


def archive(
    folder: Path, label: str, *, faster: float = 1.0, sustained: int = 1800, scale: int = 1, **spec: object
) -> Archive:
    """Queries ``faster`` times as often, beside ``sustained`` rows in 2 s of 2000 that were to come."""
    found = rows()
    for row in (row for table in found.values() for row in table if "scale" in row):
        row["scale"] = scale
    for row in found["cycles"]:
        if row["kind"] == "query":
            row["committed"] = round(row["committed"] * faster)
        if row["kind"] == "insert" and row["stage"] == "query":
            row["rows"], row["committed"] = sustained, sustained // 50
    return write(folder, run_json({"workload": "rehearsal", "target": {"url": "mock:"}, "label": label, "scales": [scale], **spec}, stages=STAGES), found)


@pytest.fixture
def comparison(tmp_path: Path) -> Comparison:
    made = [("base", 1.0, 2000), ("new", 0.95, 1800), ("newer", 1.06, 1900), ("same", 1.04, 2000)]
    paths = []
    for label, faster, sustained in made:
        (tmp_path / label).mkdir()
        paths.append(archive(tmp_path / label, label, faster=faster, sustained=sustained).path)
    return read(paths)


def _cells(table: Table) -> list[list[str]]:
    """Heads and rows as they are shown."""
    rows = [[column.show(cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows]
    return [[column.head for column in table.columns], *rows]


def test_three_tables_with_signs(comparison: Comparison) -> None:
    absolute, background = map(_cells, stages.tell_rates(comparison.stages, comparison.labels))
    (relative,) = map(_cells, tell_relative(comparison, comparison.labels, brief=False))
    assert comparison.stages.names == ("load", "index", "query")
    assert absolute[0] == ["", "load", "index", "query"]
    assert [row[3] for row in absolute[1:]] == ["200", "190", "212", "208"]
    assert [row[3] for row in relative[1:]] == ["1", "0.95", "1.06", "1.04"], "single runs have no interval, and so no sign"
    assert {row[1] for row in relative[1:]} == {"1"}
    assert background == [
        ["", "query"], ["base", "1,000 of 1,000"], ["new", "900 of 1,000 SLA!"], ["newer", "950 of 1,000"],
        ["same", "1,000 of 1,000"],
    ]  # fmt: skip


def test_stages_at_other_scales_stand_beside_each_other_with_their_scale(tmp_path: Path) -> None:
    """As those of the profiles cached and io-bound, whose scales follow from the memory."""
    for label in ("cached", "io-bound"):
        (tmp_path / label).mkdir()
    paths = [archive(tmp_path / "cached", "cached").path, archive(tmp_path / "io-bound", "io-bound", faster=0.5, scale=20).path]
    (relative,) = tell_relative(read(paths), ("A", "B"), brief=True)
    assert relative.title.startswith("relative rate of each stage")
    assert _cells(relative) == [["", "load", "index", "query"], ["A, scale 1", "1", "1", "1"], ["B, scale 20", "1", "1", "0.50"]]


def test_each_setup_has_a_reference_of_its_own_and_bars_beside_the_other(tmp_path: Path) -> None:
    """Two products with a database within memory and beyond it: cached is not divided by io-bound."""
    paths = []
    for scale, sizes in ((1, "cached"), (20, "io-bound")):
        for label, faster in (("one", 1.0 / scale), ("two", 0.5)):
            folder = tmp_path / sizes / label
            folder.mkdir(parents=True)
            given = {"workload_settings": {"sizes": sizes}}
            paths.append(archive(folder, label, faster=faster, scale=scale, **given).path)
    found = read(paths)
    assert found.labels == ("one, cached", "two, cached", "one, io-bound", "two, io-bound")
    assert found.load == [], "what makes the setups is no reason against a comparison"
    absolute, _background = map(_cells, stages.tell_rates(found.stages, ("A", "B", "C", "D")))
    (relative,) = map(_cells, tell_relative(found, ("A", "B", "C", "D"), brief=True))
    assert [row[3] for row in absolute[1:]] == ["200", "100", "10", "100"]
    assert [[row[0], row[3]] for row in relative[1:]] == [
        ["A, scale 1", "1"], ["B, scale 1", "0.50"], ["C, scale 20", "1"], ["D, scale 20", "10.00"],
    ]  # fmt: skip
    queries = found.sections[-1]
    assert (queries.bases, queries.compared[1].relative[1].value) == ((0, 0, 2, 2), pytest.approx(280 / 480, rel=0.2))
    assert queries.compared[3].relative[20].value > 1
    named = [name for name, _ in verdicts(found, queries, ("A", "B", "C", "D"))]
    assert named == ["B", "D"]
    drawn = specs(found)["stages"]
    bars = [(row["archive"], row["setup"], row["rate"]) for row in drawn["datasets"]["stages"] if row["stage"] == "query"]
    assert bars == [("one", "cached", 200), ("two", "cached", 100), ("one", "io-bound", 10), ("two", "io-bound", 100)]
    assert "io-bound" in render.picture(drawn)


def test_efficiency_as_multiples_of_the_reference(comparison: Comparison) -> None:
    """1.5 s of CPU for 400 queries, and for 380: 3750 and 3947 µs each. What was done in a second is no such figure."""
    (table,) = [one for one in stages.tell_efficiency(comparison.stages, "ABCD") if one.title == "efficiency, query"]
    heads, *told = _cells(table)
    assert [row[0] for row in told] == ["A", "B", "C", "D", "B / A", "C / A", "D / A"]
    at = heads.index("cpupq")
    assert [row[at] for row in told] == ["3,750", "3,947", "3,538", "3,606", "1.1×", "0.94×", "0.96×"]
    assert {row[heads.index("qps")] for row in told[4:]} == {""}
    found = shown.document(comparison)["stages"][2]["archives"][1]
    assert found["efficiency_relative"]["cpupq"] == pytest.approx(400 / 380)
    assert found["deletes_per_s"] == 1000


def test_small_transactions_as_a_share_of_large_ones(tmp_path: Path) -> None:
    """4000 rows in 1 s of l.i1, and 1000 inserted and 900 deleted in 2 s of l.i2: 0.125 and 0.1125."""
    def row(stage: str, cycle: int, kind: str, count: int) -> dict[str, object]:
        return cycle_row(1, cycle, [MS] * 10, stage=stage, clients=1, group=kind, kind=kind, rows=count)

    asked = {"workload": "insert", "target": {"url": "mock:"}, "scales": [1]}
    named = [{"name": name, "work": "load", "repeated": False} for name in ("l.i1", "l.i2")]
    cycles = [row("l.i1", 1, "insert", 4000), row("l.i1", 1, "delete", 4000), row("l.i2", 2, "insert", 1000), row("l.i2", 2, "delete", 900)]
    groups = [group_row(1, stage, cycle, seconds * S, group=kind) for stage, cycle, seconds in (("l.i1", 1, 1), ("l.i2", 2, 2)) for kind in ("insert", "delete")]
    paths = [write(tmp_path / name, run_json(asked, stages=named, name=name), {"cycles": cycles, "groups": groups}).path for name in ("a", "b")]
    found = read(paths)
    (table,) = [one for one in stages.tell_rates(found.stages, "AB") if one.title.startswith("l.i2 / l.i1")]
    assert _cells(table)[1:] == [["A", "0.125", "0.113"], ["B", "0.125", "0.113"]]
    assert shown.document(found)["stages"][1]["archives"][0]["of_l.i1"] == {"inserts": 0.125, "deletes": 0.1125}


def test_courses_of_several_archives_are_lines_of_one_diagram(comparison: Comparison) -> None:
    drawn = specs(comparison)["courses"]
    points = [(row["group"], row["clients"], row["second"], row["rate"]) for row in drawn["datasets"]["seconds"]]
    assert [point for point in points if point[1] == "query"][:2] == [("base", "query", 1, 300), ("base", "query", 2, 100)]
    assert {point[0] for point in points} == {"base", "new", "newer", "same"}
    assert [plot["title"]["text"] for plot in drawn["vconcat"][0]["hconcat"]] == [
        "query: query [1/s]", "query, maximum response time [ms]", "query: insert [1/s]", "insert, maximum response time [ms]",
    ]  # fmt: skip
    assert "newer" in render.picture(drawn)


def test_a_rate_of_a_stage_is_that_of_its_measured_clients_alone(tmp_path: Path) -> None:
    """In a study and in a history: the 900 rows per second beside 200 queries are no queries."""
    whole = evaluate(archive(tmp_path, "base"))
    last = whole.series[next(key for key in whole.series if key.stage == "query")]
    assert last.of_stage == "stage query, transactions per second of the query clients"
    assert last.own_rates == {1: pytest.approx(200)}
    assert last.of(RateResult).scales[0].rate_median_tps > 200, "all that was committed"
    (history,), _left = histories(tmp_path, 0.03)
    assert history.results[0].rate_tps == pytest.approx(200)
    assert history.name.endswith("stage query, transactions per second of the query clients")
    assert "median 200.0 per second" in trend.text([history], [])


def test_they_stand_in_text_json_and_page(comparison: Comparison) -> None:
    text = shown.text(comparison)
    assert text.startswith("Highest rate of 4 in 3 stages: ")
    assert "the two highest differ by less than 5%" in text.splitlines()[0]
    assert "no run was repeated, so stages have no intervals" in " ".join(text.split())
    assert "Peaks" not in text, "a peak over stages of different work is none"
    assert "B new       1      1   0.95" in text
    assert "efficiency, query" in text
    assert "\x1b" not in text
    found = shown.document(comparison)["stages"]
    assert [stage["stage"] for stage in found] == ["load", "index", "query"]
    new = found[2]["archives"][1]
    assert (new["rate"], new["relative"]["value"], new["relative"]["low"]) == (pytest.approx(190), pytest.approx(0.95), None)
    assert new["background"] == {"target_per_s": 1000, "sustained_per_s": 900, "sustained": False}
    assert (new["efficiency"]["qps"], new["efficiency"]["rss"]) == (190, None)
    json.dumps(found, allow_nan=False)
    html = shown.files(comparison)["comparison.html"].decode()
    assert '<td class="ratio same">0.95</td>' in html
    assert '<td class="slower">900 of 1,000 SLA!</td>' in html


def test_a_terminal_has_colours_beside_the_signs(comparison: Comparison) -> None:
    coloured = colour_signs("B  0.95▼  1.06▲  1.04  900 of 1,000 SLA!")
    assert coloured == "B  \x1b[31m0.95▼\x1b[0m  \x1b[32m1.06▲\x1b[0m  1.04  \x1b[31m900 of 1,000 SLA!\x1b[0m"


def test_repetitions_count_by_their_mean_and_the_least_sustained(tmp_path: Path) -> None:
    paths = []
    for number, (label, faster, sustained) in enumerate([("a", 1.0, 2000), ("b", 1.0, 2000), ("b", 4.0, 1000)]):
        (tmp_path / str(number)).mkdir()
        paths.append(archive(tmp_path / str(number), label, faster=faster, sustained=sustained).path)
    found_stages = read(paths).stages
    assert found_stages.relative(1, 2).value == pytest.approx(2)
    found = found_stages.background(1, 2)
    assert found is not None
    assert found.share == 0.5
    assert math.isnan(found_stages.values(1, 2)["rss"])


def test_a_sign_needs_the_interval_of_repeated_runs(tmp_path: Path) -> None:
    paths = []
    for number, (label, faster) in enumerate([("a", 0.99), ("a", 1.0), ("a", 1.01), ("b", 1.99), ("b", 2.0), ("b", 2.01)]):
        (tmp_path / str(number)).mkdir()
        paths.append(archive(tmp_path / str(number), label, faster=faster).path)
    found = read(paths)
    ratio = found.stages.relative(1, 2)
    # Welch's by hand: 1% and 0.5% of three runs each, so a standard error of 0.65%, 2.9 degrees of freedom, and at
    # 98.3% for each of three stages t = 5.0.
    assert ratio.value == pytest.approx(2, rel=1e-3)
    assert 1.93 < ratio.low < 1.95 < 2.05 < ratio.high < 2.07
    text = " ".join(shown.text(found).split())
    assert text.startswith("b is faster than a in 1 of 3 stages and slower in 0; in 2, no difference is significant."), text[:200]
    assert "▲ faster, ▼ slower, no sign: no significant difference" in text
    assert "2.00▲" in text


def test_the_course_of_each_stage_is_drawn(tmp_path: Path) -> None:
    made = archive(tmp_path, "one")
    spec = diagrams.specs(evaluate(made), made.run)["stages"]
    points = [(row["group"], row["second"], row["rate"], row["ms"]) for row in spec["datasets"]["seconds"]]
    assert points[:2] == [("query", 1, 300, 5), ("query", 2, 100, 300)]
    assert ("insert", 2, 1800, MS / 1e6) in points
    titles = [plot["title"]["text"] for plot in spec["vconcat"][0]["hconcat"]]
    assert titles == ["query: query [transactions/s]", "insert [rows/s]", "largest response time [ms, log scale]"]
    assert "second of the stage" in render.picture(spec)


def test_of_several_stages_no_index_over_scales_is_told(tmp_path: Path) -> None:
    made = archive(tmp_path, "one")
    evaluation = evaluate(made)
    assert evaluation.staged
    assert "DSI" not in summary_text(evaluation)
    page = document.page(evaluation, made.run)
    assert "no DSI" not in page
    assert 'class="name">DSI' not in page


def test_limits_of_the_server_stand_beside_its_figures(tmp_path: Path) -> None:
    said = {"target": {"url": "private:postgresql"}, "limits": {"memory": "1GiB", "cpus": "2"}, "scales": [1]}
    made = write(tmp_path, run_json(said), {"cycles": [cycle_row(1, 1, [MS] * 5)]})
    evaluation = evaluate(made)
    words = "server limited to memory 1GiB, cpus 2"
    assert words in conditions(evaluation, made.run)
    assert f"# {words}" in tables.results_txt(evaluation, made.run)
    assert words in document.page(evaluation, made.run)
