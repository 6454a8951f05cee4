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
from dsbench.read.several import shown, stages, trend
from dsbench.read.several.compare import Comparison, read
from dsbench.read.several.trend import histories
from dsbench.read.text import colour_signs
from fixtures.archives import MS, cycle_row, run_json, write
from read.test_stage_costs import STAGES, rows


def archive(folder: Path, label: str, *, faster: float = 1.0, sustained: int = 1800, scale: int = 1) -> Archive:
    """Queries ``faster`` times as often, beside ``sustained`` rows in 2 s of 2000 that were to come."""
    found = rows()
    for row in (row for table in found.values() for row in table if "scale" in row):
        row["scale"] = scale
    for row in found["cycles"]:
        if row["kind"] == "query":
            row["committed"] = round(row["committed"] * faster)
        if row["kind"] == "insert" and row["stage"] == "query":
            row["rows"], row["committed"] = sustained, sustained // 50
    return write(folder, run_json({"workload": "rehearsal", "target": {"url": "mock:"}, "label": label, "scales": [scale]}, stages=STAGES), found)


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
    absolute, relative, background = map(_cells, stages.tell_rates(comparison.stages, comparison.labels))
    assert comparison.stages.names == ("load", "index", "query")
    assert absolute[0] == ["", "load", "index", "query"]
    assert [row[3] for row in absolute[1:]] == ["200", "190", "212", "208"]
    assert [row[3] for row in relative[1:]] == ["1.00", "0.95▼", "1.06▲", "1.04"]
    assert {row[1] for row in relative[1:]} == {"1.00"}
    assert background == [
        ["", "query"], ["base", "1,000 of 1,000"], ["new", "900 of 1,000 SLA!"], ["newer", "950 of 1,000"],
        ["same", "1,000 of 1,000"],
    ]  # fmt: skip


def test_stages_at_other_scales_stand_beside_each_other_with_their_scale(tmp_path: Path) -> None:
    """As those of the profiles cached and io-bound, whose scales follow from the memory."""
    for label in ("cached", "io-bound"):
        (tmp_path / label).mkdir()
    paths = [archive(tmp_path / "cached", "cached").path, archive(tmp_path / "io-bound", "io-bound", faster=0.5, scale=20).path]
    _absolute, relative, _background = stages.tell_rates(read(paths).stages, ("A", "B"))
    assert relative.title.startswith("relative to the first")
    assert _cells(relative) == [["", "load", "index", "query"], ["A, scale 1", "1.00", "1.00", "1.00"], ["B, scale 20", "1.00", "1.00", "0.50▼"]]


def test_a_rate_of_a_stage_is_that_of_its_measured_clients_alone(tmp_path: Path) -> None:
    """In a study and in a history: the 900 rows per second beside 200 queries are no queries."""
    whole = evaluate(archive(tmp_path, "base"))
    last = whole.series[next(key for key in whole.series if key.stage == "query")]
    assert whole.of_stage(last) == "stage query, transactions of query per second"
    assert whole.own_rates(last) == {1: pytest.approx(200)}
    assert last.scales[0].rate_median_tps > 200, "all that was committed"
    (history,), _left = histories(tmp_path, 0.03)
    assert history.results[0].rate_tps == pytest.approx(200)
    assert history.name.endswith("stage query, transactions of query per second")
    assert "median 200.0 per second" in trend.text([history], [])


def test_they_stand_in_text_json_and_page(comparison: Comparison) -> None:
    text = shown.text(comparison)
    assert "B  1.00   1.00  0.95▼" in text
    assert "efficiency, query" in text
    assert "\x1b" not in text
    found = shown.document(comparison)["stages"]
    assert [stage["stage"] for stage in found] == ["load", "index", "query"]
    new = found[2]["archives"][1]
    assert (new["rate"], new["relative"]) == pytest.approx((190, 0.95))
    assert new["background"] == {"target_per_s": 1000, "sustained_per_s": 900, "sustained": False}
    assert (new["efficiency"]["qps"], new["efficiency"]["rss"]) == (190, None)
    json.dumps(found, allow_nan=False)
    html = shown.files(comparison)["comparison.html"].decode()
    assert '<td class="slower">0.95▼</td>' in html
    assert '<td class="faster">1.06▲</td>' in html
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
    assert found_stages.relative(1, 2) == pytest.approx(2)
    found = found_stages.background(1, 2)
    assert found is not None
    assert found.share == 0.5
    assert math.isnan(found_stages.values(1, 2)["rss"])


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
    assert "DSI" not in tables.summary_text(evaluation)
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
