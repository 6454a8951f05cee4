"""The five diagrams: what their specifications say, and that they become pictures."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.archive import RunRecord
from dsbench.read import finish, naming
from dsbench.read.draw import axes, render, specs, theme
from dsbench.read.draw.cycle import cycle, node
from dsbench.read.draw.freq import curve, freq
from dsbench.read.draw.rate import conf, rate
from dsbench.read.evaluation import Evaluation
from dsbench.read.subjects.nodes import NodesResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.tables import read_result
from dsbench.stats.values import Frequency, Interval
from fixtures import sample
from fixtures.sample import replace
from fixtures.thorough import mostly_thorough

FIVE = ("rate", "node", "cycle", "freq", "conf")
"""Of one kind and one number of clients; the others: see test_kinds."""
REMOTE = sample.run(spec={"nodes": 3})
NAN = math.nan


def walk(part: Any) -> list[dict[str, Any]]:
    """All objects within a specification, data left out."""
    if isinstance(part, dict):
        return [part, *(found for key, value in part.items() if key != "datasets" for found in walk(value))]
    return [found for value in part for found in walk(value)] if isinstance(part, list) else []


def channels(spec: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [part["encoding"][name] for part in walk(spec) if name in part.get("encoding", {})]


def axis(spec: dict[str, Any], channel: str, text: str) -> dict[str, Any]:
    """The one channel whose axis title holds ``text``."""
    (found,) = (c for c in channels(spec, channel) if text in str((c.get("axis") or {}).get("title", "")))
    return found


def column(spec: dict[str, Any], table: str, name: str) -> list[Any]:
    return [row[name] for row in spec["datasets"][table]]


@pytest.fixture(scope="module")
def tpcb() -> Evaluation:
    return sample.evaluation(nodes=sample.NODES)


@pytest.fixture(scope="module")
def select() -> Evaluation:
    return sample.select()


@pytest.fixture(scope="module")
def drawn(tpcb: Evaluation) -> dict[str, Any]:
    return specs(tpcb, REMOTE)


@pytest.mark.parametrize("name", FIVE)
def test_specification_is_valid_vega_lite_with_its_data_inside(drawn: dict[str, Any], name: str) -> None:
    spec = drawn[name]
    alt.LayerChart.from_dict(spec)  # raises for what the schema does not know
    names = {part["data"]["name"] for part in walk(spec) if "data" in part}
    assert names == set(spec["datasets"])
    assert not [part for part in walk(spec) if "url" in part]
    assert spec["usermeta"]["diagram"] == name
    assert "dsbench plot" in spec["usermeta"]["editing"]


@pytest.mark.parametrize("name", ["rate", "node", "conf"])
def test_scale_runs_below_and_size_above(drawn: dict[str, Any], name: str) -> None:
    below, above = axis(drawn[name], "x", "scale"), axis(drawn[name], "x", "size")
    assert below["scale"]["type"] == "log"
    assert below["axis"]["values"] == above["axis"]["values"] == list(sample.LADDER)
    assert above["axis"]["orient"] == "top"
    assert above["axis"]["title"] == "database size [GB]"
    assert '"100": "1.5"' in above["axis"]["labelExpr"]


def test_rate_holds_median_mean_and_range(tpcb: Evaluation) -> None:
    spec = rate(tpcb, REMOTE)
    assert spec is not None
    y = axis(spec, "y", "transaction rate")
    assert (y["axis"]["title"], y["scale"]["type"], y["scale"]["domain"][0]) == ("transaction rate [tps]", "linear", 0)
    assert column(spec, "rates", "median") == pytest.approx([r.rate_median_tps for r in tpcb.of(RateResult).scales], rel=1e-6)
    assert column(spec, "rates", "range_low") == pytest.approx([r.rate_min_tps for r in tpcb.of(RateResult).scales], rel=1e-6)
    assert column(spec, "rates", "range_high") == pytest.approx([r.rate_max_tps for r in tpcb.of(RateResult).scales], rel=1e-6)
    low, mean, high, stddev = (np.array(column(spec, "rates", n)) for n in ("mean_low", "mean", "mean_high", "stddev"))
    assert mean - low == pytest.approx(stddev, rel=1e-4)
    assert high - mean == pytest.approx(stddev, rel=1e-4)
    assert spec["title"]["text"] == "PostgreSQL 15.18, TPC-B-like: DSI 6.52 (6.45 to 6.58)"
    assert "DSI over scales 1-10000; 95% interval" in spec["title"]["subtitle"]
    assert "NOT DURABLE: fsync off" in spec["title"]["subtitle"]


def test_rates_over_many_decades_get_a_log_axis_that_says_so(select: Evaluation) -> None:
    y = axis(rate(select, sample.run()) or {}, "y", "transaction rate")
    assert y["axis"]["title"] == "transaction rate [tps], log scale"
    assert y["scale"]["type"] == "log"
    assert set(y["axis"]["values"]) >= {100, 1000, 10000}


def test_rates_have_the_axis_that_is_asked_for(tpcb: Evaluation, select: Evaluation) -> None:
    for evaluation, form, words in ((tpcb, "log", ", log scale"), (select, "linear", "")):
        drawn = specs(evaluation, sample.run(), form)
        assert drawn.keys() == specs(evaluation, sample.run()).keys()
        for name in ("rate", "cycle"):
            y = axis(drawn[name], "y", "transaction rate")
            assert (y["scale"]["type"], y["axis"]["title"]) == (form, f"transaction rate [tps]{words}")
            assert (y["scale"]["domain"][0] == 0) is (form == "linear")


def test_times_are_on_the_right_and_those_that_do_not_matter_left_out(tpcb: Evaluation) -> None:
    spec = rate(tpcb, REMOTE) or {}
    y = axis(spec, "y", "time")
    assert (y["axis"]["orient"], y["axis"]["title"], y["scale"]["type"]) == ("right", "time [s], log scale", "log")
    assert set(column(spec, "times", "phase")) == {"populate", "primary key", "foreign key"}
    slow = replace(tpcb, scales=tuple(replace(r, cleanup_s=r.populate_s, primary_key_s=0.0) for r in tpcb.of(RateResult).scales))
    assert set(column(rate(slow, REMOTE) or {}, "times", "phase")) == {"populate", "foreign key", "cleanup"}


def test_marks_stand_at_the_scale_of_their_size_and_nowhere_beyond_the_measured(tpcb: Evaluation) -> None:
    marks = {"inside": 1.51e9, "between": 0.0151e9 * math.sqrt(50 * 100), "small": 1e6, "large": 1e15, "absent": 0}
    rows = (rate(tpcb, sample.run(marks=marks)) or {})["datasets"]["marks"]
    at = {row["label"].split()[0]: row["scale"] for row in rows}
    assert at == {"inside": pytest.approx(100), "between": pytest.approx(math.sqrt(5000))}


def test_labels_of_marks_keep_apart(tpcb: Evaluation) -> None:
    marks = {f"mark{i}": 16e9 * (1 + i / 50) for i in range(5)}
    rows = (rate(tpcb, sample.run(marks=marks)) or {})["datasets"]["marks"]
    x = axes.ScaleAxis.of(tpcb)
    pixels = sorted(x.pixel(row["label_scale"]) for row in rows)
    assert len(pixels) == 5
    assert min(np.diff(pixels)) > 12


def test_void_scales_and_scales_without_a_transaction_are_flagged() -> None:
    found = sample.evaluation(sample.SELECT, void=frozenset({5}))
    still = replace(found.of(RateResult).scales[-1], rate_median_tps=0.0, rate_mean_tps=0.0, rate_min_tps=0.0, rate_max_tps=0.0)
    spec = rate(sample.replace(found, scales=(*found.of(RateResult).scales[:-1], still)), sample.run()) or {}
    assert {row["scale"]: row["text"] for row in spec["datasets"]["flags"]} == {5: "check failed", 10000: "0 tps"}
    floor = axis(spec, "y", "transaction rate")["scale"]["domain"][0]
    assert min(v for v in column(spec, "rates", "range_low") if v is not None) >= floor * (1 - 1e-6)
    assert column(spec, "rates", "median")[-1] is None
    assert "VOID, check failed at scale 5" in spec["title"]["subtitle"]


def test_node_is_left_out_for_a_local_run(tpcb: Evaluation) -> None:
    assert node(sample.evaluation(), sample.run()) is None
    spec = node(tpcb, REMOTE) or {}
    assert set(column(spec, "nodes", "node")) == set(sample.NODES)
    first = next(row for row in spec["datasets"]["nodes"] if (row["node"], row["scale"]) == ("syrtis", 10))
    rates = tpcb.of(NodesResult).node_rates["syrtis"][10]
    assert first["median"] == pytest.approx(np.median(rates), rel=1e-6)
    assert (first["range_low"], first["range_high"]) == pytest.approx((rates.min(), rates.max()), rel=1e-6)
    assert axis(spec, "y", "per node")["axis"]["title"] == "transaction rate per node [tps]"


def test_one_remote_node_is_drawn() -> None:
    found = sample.evaluation(nodes=("syrtis",))
    assert node(found, sample.run(spec={"nodes": 1})) is not None


def test_cycle_has_one_curve_per_scale(tpcb: Evaluation) -> None:
    spec = cycle(tpcb, REMOTE) or {}
    shown = {s: [row["rate"] for row in spec["datasets"]["cycles"] if row["scale"] == s] for s in sample.LADDER}
    for scale, rates in tpcb.of(RateResult).cycle_rates.items():
        assert shown[scale] == pytest.approx(rates.tolist(), rel=1e-6)
    assert axis(spec, "x", "cycle")["axis"]["values"] == list(range(1, 11))
    assert channels(spec, "color")[0]["scale"]["domain"] == list(sample.LADDER)


def test_freq_is_log_log_with_the_levels_as_lines(tpcb: Evaluation) -> None:
    spec = freq(tpcb, REMOTE) or {}
    x, y = axis(spec, "x", "latency"), axis(spec, "y", "share")
    assert (x["scale"]["type"], x["axis"]["title"]) == ("log", "latency [ms], log scale")
    assert (y["scale"]["type"], y["scale"]["domain"][1]) == ("log", 1)
    assert min(column(spec, "curves", "longer")) > 0
    assert max(column(spec, "curves", "longer")) == 1
    assert sorted(column(spec, "levels", "label")) == ["50%", "68%", "87%", "95%", "99%", "99.7%"]
    assert sorted(column(spec, "levels", "share")) == pytest.approx([1 - q for q in reversed(sample.LEVELS)])
    assert "strokeDash" not in spec["layer"][-1]["encoding"]


def test_names_beside_the_plot_stay_there_at_any_width(drawn: dict[str, Any]) -> None:
    def across(part: Any) -> list[Any]:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        own = [part["x"]["value"]] if isinstance(part, dict) and "value" in (part.get("x") or ()) else []
        return own + [value for one in inner for value in across(one)]

    assert {value for spec in drawn.values() for value in across({**spec, "datasets": None})} == {"width"}


def test_open_loop_shows_response_times_dashed() -> None:
    found = sample.evaluation(scales=(1, 2), open_loop=True)
    spec = freq(found, sample.run(spec={"rate": 500.0})) or {}
    assert set(column(spec, "curves", "measure")) == {"latency", "response"}
    assert spec["layer"][-1]["encoding"]["strokeDash"]["field"] == "measure"
    assert any("dashed" in line for line in spec["title"]["subtitle"])
    assert any("open loop, 500 starts per second" in line for line in spec["title"]["subtitle"])


@pytest.mark.parametrize("size", [1, 2, 299, 300, 5000])
def test_curve_is_thinned_but_exact_at_its_tail(size: int) -> None:
    times = np.geomspace(1e5, 1e10, size)
    count = 10 * size
    found = Frequency(times, np.arange(size - 1, -1, -1) / size, {1.0: 1.05e10}, count)
    shown, longer = curve(found)
    assert len(shown) <= 300
    assert (shown[0], longer[0]) == (times[0], 1.0)
    assert (shown[-1], longer[-1]) == (1.05e10, 1 / count)
    assert np.all(np.diff(shown) >= 0)
    assert np.all(np.diff(longer) <= 0)
    tail = [t for t, share in zip(times, found.longer, strict=True) if share > 0][-70:]
    assert set(tail) <= set(shown)
    known = dict(zip(times, found.longer, strict=True))
    assert all(known[t] == share for t, share in zip(shown[1:-1], longer[1:-1], strict=True))


def test_conf_holds_the_rates_at_the_levels(tpcb: Evaluation) -> None:
    spec = conf(tpcb, REMOTE) or {}
    at_95 = {row["scale"]: row["rate"] for row in spec["datasets"]["levels"] if row["level"] == "95%"}
    assert at_95 == {r.scale: pytest.approx(r.rates_at[0.95], rel=1e-6) for r in tpcb.of(RateResult).scales}
    assert axis(spec, "y", "rate")["scale"]["type"] == "log"
    assert channels(spec, "color")[0]["sort"] == ["50%", "68%", "87%", "95%", "99%", "99.7%"]
    assert any("not confidence intervals" in line for line in spec["title"]["subtitle"])


def test_levels_of_the_run_name_the_curves(tpcb: Evaluation) -> None:
    first = replace(tpcb.of(RateResult).scales[0], rates_at=dict.fromkeys((0.1, 0.9999), 5.0))
    other = replace(tpcb, levels=(0.1, 0.9999), scales=(first,))
    assert column(conf(other, REMOTE) or {}, "levels", "level") == ["10%", "99.99%"]


def _missing(found: Evaluation) -> Evaluation:
    """The last scale was begun and cut short: nothing of it was measured."""
    last = found.of(RateResult).scales[-1]
    none = replace(last, **{name: NAN for name in type(last).__dataclass_fields__ if name.endswith(("_tps", "_s", "_gb"))})
    without = {k: {s: v for s, v in read_result(found, k).items() if s != last.scale} for k in ("cycle_rates", "frequency")}
    return sample.replace(found, scales=(*found.of(RateResult).scales[:-1], none), **without)


CASES = {
    "one scale": (sample.evaluation(scales=(10,)), sample.run()),
    "one cycle": (sample.evaluation(cycles=1, nodes=sample.NODES), sample.run(spec={"nodes": 3, "cycles": 1})),
    "one scale, one cycle": (sample.evaluation(scales=(7,), cycles=1), sample.run(spec={"cycles": 1})),
    "cut short": (_missing(sample.evaluation()), sample.run(status="cut-short", reason="SIGINT")),
    "many scales": (sample.evaluation([500.0] * 40, range(1, 41), cycles=2), sample.run()),
    "bare run.json": (sample.evaluation(scales=(1, 2)), RunRecord.of({"spec": {}})),
}


@pytest.mark.parametrize("case", mostly_thorough(CASES, *list(CASES)[:2]))
def test_unusual_archives_are_drawn(case: str) -> None:
    found = specs(*CASES[case])
    assert {"rate", "cycle", "freq", "conf"} <= set(found)
    for spec in found.values():
        svg = render.picture(spec)
        assert "NaN" not in svg
        assert 'path aria-label' in svg or 'aria-roledescription="' in svg


def test_nothing_measured_draws_nothing() -> None:
    empty = sample.evaluation([], [])
    assert specs(empty, sample.run()) == {}
    still = replace(
        sample.evaluation(scales=(1, 2)), cycle_rates={1: np.zeros(3), 2: np.zeros(3)}, frequency={},
        scales=tuple(replace(r, rate_median_tps=0.0, rate_mean_tps=0.0, rate_stddev_tps=0.0, rate_min_tps=0.0,
                             rate_max_tps=0.0, rates_at=dict.fromkeys(sample.LEVELS, NAN)) for r in sample.evaluation(scales=(1, 2)).of(RateResult).scales),
    )  # fmt: skip
    assert set(specs(still, sample.run())) == {"rate", "cycle"}


def test_files_are_pictures_with_text_and_json_to_edit(drawn: dict[str, Any]) -> None:
    files = render.files(drawn)
    assert set(files) == {f"results-{n}.{end}" for n in FIVE for end in ("vl.json", "svg", "pdf")}
    for name in FIVE:
        assert files[f"results-{name}.pdf"].startswith(b"%PDF-")
        assert len(files[f"results-{name}.pdf"]) > 15_000  # outlines and fonts, not an empty page
        svg = files[f"results-{name}.svg"].decode()
        across = [float(found[1]) for found in (
            re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", files[f"results-{name}.pdf"]), re.search(r'width="([\d.]+)"', svg)) if found]
        assert across[0] / 72 == pytest.approx(across[1] / 96), "the same size in inches"
        assert "PostgreSQL 15.18, TPC-B-like" in svg
        assert "Liberation Sans" in svg
        text = files[f"results-{name}.vl.json"].decode()
        assert json.loads(text) == drawn[name]
        assert max(len(line) for line in text.splitlines()) < 500


def test_source_of_a_diagram_without_data_is_json() -> None:
    spec = {"mark": "point", "datasets": {"a": [], "b": [{"x": 1}, {"x": 2}]}}
    assert json.loads(render.source(spec)) == spec
    assert json.loads(render.source({"mark": "point"})) == {"mark": "point", "datasets": {}}


def test_replot_draws_what_was_edited(tmp_path: Path, drawn: dict[str, Any]) -> None:
    edited = {**drawn["cycle"], "title": "Edited by hand"}
    (tmp_path / "results-cycle.vl.json").write_text(json.dumps(edited), "utf-8")
    assert render.replot(tmp_path) == [tmp_path / "results-cycle.svg", tmp_path / "results-cycle.pdf"]
    assert "Edited by hand" in (tmp_path / "results-cycle.svg").read_text("utf-8")
    assert (tmp_path / "results-cycle.pdf").read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"mark": ', "cannot be read"),
        ("[]", "holds no diagram"),
        ('{"data": {"values": []}}', "Invalid specification"),
        ('{"data": {"url": "https://example.org/data.json"}, "mark": "bar"}', "not allowed"),
        ('{"data": {"values": [1]}, "mark": {"type": "image", "url": "/logo.png"}}', "holds a picture"),
    ],
)
def test_replot_says_what_is_wrong(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "results-rate.vl.json").write_text(content)
    with pytest.raises(render.DiagramError, match="results-rate") as caught:
        render.replot(tmp_path)
    assert said in str(caught.value)
    assert not (tmp_path / "results-rate.pdf").exists()


def test_replot_wants_a_folder_with_diagrams(tmp_path: Path) -> None:
    with pytest.raises(render.DiagramError, match="no results"):
        render.replot(tmp_path)
    with pytest.raises(render.DiagramError, match="is no folder"):
        render.replot(tmp_path / "none.zip")


@given(st.lists(st.floats(-1e3, 1e3), max_size=12).map(sorted), st.floats(0.5, 50))
def test_spread_keeps_order_and_distance(positions: list[float], gap: float) -> None:
    moved = theme.spread(positions, gap)
    assert len(moved) == len(positions)
    assert all(b - a >= gap - 1e-6 for a, b in pairwise(moved))
    assert sum(moved) == pytest.approx(sum(positions), abs=1e-6)  # no block wanders off
    if all(b - a >= gap for a, b in pairwise(positions)):
        assert moved == pytest.approx(positions)


@pytest.mark.parametrize(
    ("size", "text"), [(0.0151, "0.015"), (1.5, "1.5"), (150.4, "150"), (0.00031, "0.00031"), (2.0, "2"), (0.0, "0")]
)
def test_sizes_have_two_digits_and_no_exponent(size: float, text: str) -> None:
    assert axes.size_text(size) == text


def test_ticks_of_log_axes() -> None:
    assert theme.log_ticks(0.9, 60) == [1, 2, 5, 10, 20, 50]
    assert theme.log_ticks(16_000, 56_000) == [20_000, 30_000, 40_000, 50_000], "not one number alone"
    assert theme.log_ticks(160, 290) == [160, 180, 200, 220, 240, 260, 280], "three at least"
    assert theme.log_ticks(0.0005, 30) == [0.001, 0.01, 0.1, 1, 10]


@pytest.mark.parametrize(
    ("engine", "version", "text"),
    [
        ("postgres", "PostgreSQL 15.18 (Debian 15.18-1) on x86_64, compiled by gcc", "PostgreSQL 15.18"),
        ("sqlite", "3.46.0", "SQLite 3.46.0"),
        ("mysql", "10.11.6-MariaDB-0+deb12u1", "10.11.6-MariaDB-0+deb12u1"),
        ("firebird", "WI-V3.0.4.33054 Firebird 3.0", "WI-V3.0.4.33054 Firebird 3.0"),
        ("mock", "", "mock"),
    ],
)
def test_server_is_named_in_few_words(engine: str, version: str, text: str) -> None:
    assert naming.server(RunRecord(engine=engine, server_version=version)) == text


def test_conditions_are_told_in_one_line(tpcb: Evaluation) -> None:
    spec = {"nodes": 1, "clients": 1, "connections": 4, "cycles": 1, "duration": 0.5, "retry": True}
    assert axes.conditions(tpcb, sample.run(spec=spec)) == (
        "1 node × 1 client, 4 connections each, repeatable read, 1 cycle of 0.5 s, closed loop, with retry"
    )


def test_index_without_interval_or_ladder_says_so(tpcb: Evaluation) -> None:
    index = replace(tpcb.of(RateResult).index, dsi=Interval(6.52, NAN, NAN, 0.95), comparable=False)
    assert axes.index_text(index) == "DSI 6.52"
    assert "no interval below 5 cycles" in axes.index_note(index)
    assert "comparable only" in axes.index_note(index)
    assert axes.index_text(replace(index, dsi=None)) == "no DSI"


def test_control_characters_do_not_end_the_drawing() -> None:
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "title": "a\x00b\x07c\x1bd\x9be", "mark": "point",
        "data": {"values": [{"x": "\x01"}]}, "encoding": {"x": {"field": "x"}},
    }  # fmt: skip
    drawn = render.drawn_as("one", spec)
    assert drawn["one.pdf"].startswith(b"%PDF")
    assert "a\ufffdb\ufffdc" in drawn["one.svg"].decode()


@pytest.mark.thorough
def test_pictures_for_slides_have_the_width_that_was_asked_for(tmp_path: Path) -> None:
    archive = Path(__file__).parents[1] / "data" / "archives" / "pg.zip"
    written = finish.for_slides(archive, tmp_path, fresh=False, form=None, width=700)
    assert {"results-hero.png", "results-rate.png"} <= {path.name for path in written}
    for path in written:
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(path.read_bytes()[16:20], "big") == 700, path.name
    finish.plot(archive, tmp_path / "edited", fresh=True)
    again = finish.for_slides(tmp_path / "edited", None, fresh=False, form=None, width=300)
    assert {path.name for path in again} == {path.name for path in written}, "the folder holds no run, but its pictures"


@pytest.mark.parametrize("fresh", mostly_thorough([True, False], True))
def test_the_first_picture_of_the_report_is_drawn_to_another_folder_and_can_be_edited(tmp_path: Path, fresh: bool) -> None:
    archive = Path(__file__).parents[1] / "data" / "archives" / "pg.zip"
    written = finish.plot(archive, tmp_path, fresh=fresh)
    assert {tmp_path / f"results-{name}.{suffix}" for name in ("hero", "rate") for suffix in ("svg", "pdf")} <= {*written}
    source = tmp_path / "results-hero.vl.json"
    source.write_text(source.read_text().replace("transactions per second", "of my machine"))
    finish.plot(tmp_path, None, fresh=False)
    assert "of my machine" in (tmp_path / "results-hero.svg").read_text()
