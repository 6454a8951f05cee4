"""What a study measures can be chosen: every measure, a stage, a group of clients; hand-made archives, known values."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.read.choice import choose, list_stages, read_unit, read_values
from dsbench.read.evaluation import evaluate
from dsbench.read.subjects import measures
from dsbench.read.text import render_text
from dsbench.spec import SpecError
from dsbench.study import Outcomes, Study, begin, best, findings, load, outcomes, shown
from dsbench.study.record import make_folder, store
from dsbench.study.results import Made, is_of_run
from dsbench.study.spec import parse
from fixtures.archives import MS, S, bucket_rows, cycle_row, group_row, phase_rows, run_json, write
from read.test_stage_costs import STAGES, rows


def _samples(scale: int, cycle: int, monitor: str, metric: str, unit: str, gained: float) -> list[dict[str, object]]:
    key = {"scale": scale, "stage": "load", "cycle": cycle, "node": "local", "clients": 1, "monitor": monitor}
    return [{**key, "metric": metric, "unit": f"{unit} total", "at_ns": at, "value": value}
            for at, value in ((0, 5.0), (2 * S, 5.0 + gained))]  # fmt: skip


def _whole(folder: Path) -> Archive:
    """Scales 1 and 10 with two cycles of 2 s; 100 and 200 transactions at scale 1, a tenth of that at scale 10."""
    tables: dict[str, list[dict[str, object]]] = {name: [] for name in ("cycles", "groups", "buckets", "monitors", "phases")}
    for scale, cycle, count in ((1, 1, 100), (1, 2, 200), (10, 1, 10), (10, 2, 20)):
        tables["cycles"].append(cycle_row(scale, cycle, [MS] * (count - 1) + [100 * MS], failed=count // 4) | {"messages_sent": 2 * count, "messages_received": 3 * count})
        tables["groups"].append(group_row(scale, "load", cycle, 2 * S))
        tables["buckets"] += bucket_rows(scale, cycle, [MS] * (count - 1) + [100 * MS])
        if scale == 1:
            for monitor, metric, unit, gained in (
                ("os", "cpu_user", "s", 1.0), ("os", "cpu_system", "s", 0.5), ("os", "cpu_iowait", "s", 0.5), ("os", "cpu_idle", "s", 2.0),
                ("device", "read_bytes", "bytes", 3e5), ("device", "write_bytes", "bytes", 6e5),
                ("device", "read_time", "s", 3.0), ("device", "write_time", "s", 0.25),
                ("network", "loopback_sent_bytes", "bytes", 9e4), ("network", "loopback_received_bytes", "bytes", 9e4),
                ("server", "blocks_hit", "blocks", 900), ("server", "blocks_read", "blocks", 100),
            ):  # fmt: skip
                tables["monitors"] += _samples(scale, cycle, monitor, metric, unit, gained)
        tables["phases"] += phase_rows(scale, populate=3 * S, primary_key=2 * S, foreign_key=S) if cycle == 1 else []
    return write(folder, run_json({"target": {"url": "mock:"}, "scales": [1, 10], "cycles": 2, "duration": 2.0}), tables)


def test_every_measure_has_the_value_that_the_rows_say(tmp_path: Path) -> None:
    (part,) = choose(evaluate(_whole(tmp_path)))
    found = {name: dict(read_values(one, part)) for name, one in measures().items()}
    at_1 = {
        "rate": 75, "tps": 75, "failures": 20, "cpu": 37.5, "iowait": 12.5, "cpu-per-transaction": 1e4,
        "kb-read": 2, "kb-written": 4, "kb-per-transaction": 6, "mb-read": 0.15, "mb-written": 0.3, "gb-read": 6e-4,
        "gb-written": 1.2e-3, "read-time": 3, "write-time": 0.25, "iowait-time": 0.5, "iowait-per-transaction": 1e3 / 300, "net-per-transaction": 600, "net": 0.045, "hit-ratio": 90, "load-time": 6, "populate": 3,
        "primary-keys": 2, "foreign-keys": 1, "messages": 5, "p50": 1, "p90": 1, "p95": 1, "qps": 75,
    }  # fmt: skip
    for name, value in at_1.items():
        assert found[name][1] == pytest.approx(value, rel=1e-3), name
    assert found["max"][1] == pytest.approx(100, rel=1e-3)
    # eq. 12: half of the area below lg T over lg X, from 75 tps at 1 to 7.5 at 10.
    assert found["dsi"] == {0: pytest.approx((math.log10(75) + math.log10(7.5)) / 2 / 2)}
    assert found["hit-ratio"].get(10, math.nan) != 0, "what is not known is not 0"
    assert found["nopm"] == {}


def test_stages_and_groups_are_chosen(tmp_path: Path) -> None:
    """200 queries per second, beside 900 rows inserted and 1000 deleted; before that 2000 rows/s, and an index."""
    whole = evaluate(write(tmp_path, run_json({"workload": "rehearsal", "target": {"url": "mock:"}}, stages=STAGES), rows()))
    assert list_stages(whole) == {"load": ["insert"], "index": [], "query": ["query", "insert", "delete"]}
    rate, p50 = measures()["rate"], measures()["p50"]

    def found(stage: str = "", group: str = "") -> list[object]:
        (part,) = choose(whole, stage, group)
        return [read_values(rate, part).get(1), read_unit(rate, part), read_values(p50, part).get(1)]

    assert found() == found("query") == found("query", "query") == [pytest.approx(200), "transactions/s", pytest.approx(1, rel=1e-3)]
    assert found("query", "insert") == [pytest.approx(900), "rows/s", pytest.approx(2000, rel=1e-3)], "its response times"
    assert found("query", "delete") == [pytest.approx(1000), "rows/s", pytest.approx(1, rel=1e-3)]
    assert found("load") == [pytest.approx(2000), "rows/s", pytest.approx(1, rel=1e-3)]
    assert found("index") == [pytest.approx(500), "rows/s", None], "statements have no clients"
    assert choose(whole, "nothing") == choose(whole, "load", "delete") == []


@pytest.fixture
def staged(tmp_path: Path) -> Study:
    """Two levels in three blocks: the second queries half as often, and inserts at the same rate."""
    run = {"target": "mock:", "workload": "rehearsal", "scales": [1], "cycles": 1}
    factor = {"name": "clients", "path": "clients", "levels": [1, 2]}
    made, _ = begin(parse({"name": "stages", "run": run, "factor": [factor], "stage": "", "of": ""}), tmp_path / "s")
    make_folder(made)
    for trial in made.trials:
        found, name = rows(), f"trial-{trial.number}"
        for row in found["cycles"]:
            if row["kind"] == "query":
                row["committed"] = (400 if trial.levels == ("1",) else 200) + trial.block
            elif row["kind"] == "insert" and row["stage"] == "query" and trial.levels == ("2",):
                row["rows"] = 1500
        write(made.archives, run_json({**run, "target": {"url": "mock:"}}, stages=STAGES, name=name), found)
        made = made.with_trial(replace(trial, status="done", archive=name))
    store(made)
    return load(made.folder)


def test_without_a_choice_every_stage_has_a_column(staged: Study) -> None:
    found = outcomes(staged)
    assert found.staged
    text = render_text(shown.tell(found))
    absolute, relative, effects, *_ = shown.tables(found)
    assert [column.head for column in absolute.columns] == [
        "factor", "level", "load [rows/s]", "index [rows/s]", "query [transactions/s]"]  # fmt: skip
    (one, two) = absolute.rows
    assert one[:4] == ["clients", "1 (reference)", pytest.approx(2000), pytest.approx(500)]
    assert two[4] == "101 SLA!", "and never with the 750 rows beside them"
    assert relative.rows == [["clients", "2", "1.00", "1.00", "0.50▼"]]
    assert [row[0] for row in effects.rows] == ["clients 2 against 1"]
    assert effects.rows[0][3].startswith("0.502 [")
    assert "stage query: clients 2 has 0.502 [" in text
    assert "stages load, index: no effect of clients above 10% was found" in text
    assert {one["stage"]: one["unit"] for one in shown.document(found)["stages"]} == {
        "load": "rows/s", "index": "rows/s", "query": "transactions/s"}  # fmt: skip
    assert shown.document(found)["effects"]["main"][0]["ratio"]["value"] == pytest.approx(0.502, rel=1e-2), "the last one"


def test_a_stage_a_group_and_a_measure_are_chosen_at_show_or_in_the_file(staged: Study) -> None:
    found = outcomes(staged, "p50", "query", "insert")
    assert (found.unit, found.staged, found.value(found.made[0])) == ("ms", False, pytest.approx(2000, rel=1e-3))
    assert found.stage == "stage query", "what its rate counts says nothing of a time"
    named = replace(staged, spec=staged.spec.model_copy(update={"of": "kb-read", "stage": "query"}))
    found = outcomes(named)
    assert (found.measure, found.chosen, found.unit) == ("kb-read", "query", "KB")
    # 4 MiB read, over 400 + block queries, 36 inserts and 40 deletes.
    first = found.made[0]
    expected = 4 * 2**20 / 1000 / ((400 if first.trial.levels == ("1",) else 200) + first.trial.block + 76)
    assert found.value(first) == pytest.approx(expected)
    document = shown.document(found)
    assert document["effects"]["main"][0]["difference"]["value"] > 0
    assert document["stages"] == []
    assert outcomes(named, "rate").measure == "rate", "the command line counts before the file"


@pytest.mark.parametrize(("asked", "option", "words", "remedy"), [
    (("speed",), "--of", "no measure 'speed'", "use one of rate, tps, nopm"),
    (("p89",), "--of", "did you mean p", "p99.9"),
    (("rate", "l.i1"), "--stage", "no run has a stage 'l.i1'", "use one of load, index, query"),
    (("rate", "query", "readers"), "--group", "'readers' in stage query", "use one of query, insert, delete"),
    (("rate", "index", "query"), "--group", "in stage index", "no clients work there"),
])  # fmt: skip
def test_a_choice_that_is_none_names_the_option_and_what_there_is(
    staged: Study, asked: tuple[str, ...], option: str, words: str, remedy: str
) -> None:
    with pytest.raises(SpecError, match=words) as refused:
        outcomes(staged, *asked)
    assert refused.value.option == option
    assert remedy in refused.value.remedy


def test_less_is_better_of_some(made: Study, whole: Outcomes) -> None:
    """Four clients take no longer, and serializable has 80% of the rate: of both the better level is taken."""
    assert 'isolation = "read-committed", clients = 4' in best(whole)
    found = outcomes(made, "failures")
    assert all(one.value == one.low == one.high == 0 for one in (effect.ratio for effect in found.effects.main))
    with pytest.raises(SpecError, match="no level was found"):
        best(found)
    slower = replace(found.effects.main[0], ratio=replace(found.effects.main[0].ratio, value=2.0, low=1.0, high=3.0))
    assert found.gain(slower) == -2
    text = best(replace(found, effects=replace(found.effects, main=(replace(slower, ratio=replace(slower.ratio, value=-2.0, low=-3.0, high=-1.0)),))))
    assert 'of = "failures"' in text, "the study that tests it measures the same"
    assert 'isolation = "serializable", clients = 1' in text, "fewer failures are better"


def test_effects_on_the_dsi_are_differences(made: Study) -> None:
    found = outcomes(made, "dsi")
    assert (found.unit, [point.scale for point in found.points]) == ("", [0])
    # The same factor at each scale: half of its lg, over one decade.
    effect = next(one for one in found.effects.main if one.factors == (0,))
    assert effect.ratio.value == pytest.approx(math.log10(0.8) / 2, abs=0.01)
    assert not effect.none
    text = render_text(shown.tell(found))
    assert "each is the DSI of its run" in text
    assert "in the DSI" in text
    assert "scale 0" not in text
    assert set(found.choose("rate").choose("dsi").effects.main) == set(found.effects.main), "nothing is lost between"


def test_a_wrong_stage_in_the_file_is_refused_before_a_run(tmp_path: Path) -> None:
    factor = {"name": "clients", "path": "clients", "levels": [1, 2]}
    asked = {"name": "x", "run": {"target": "mock:", "workload": "insert", "scales": [1]}, "factor": [factor]}
    with pytest.raises(SpecError, match=r"no run has a stage 'l\.i9'") as refused:
        begin(parse({**asked, "stage": "l.i9"}), tmp_path / "s")
    assert (refused.value.option, "use one of l.i0, l.x, l.i1, l.i2," in refused.value.remedy) == ("stage", True)
    assert begin(parse({**asked, "stage": "l.i1"}), tmp_path / "s")[0].spec.stage == "l.i1"


def test_a_wrong_measure_in_the_file_names_its_key() -> None:
    factor = {"name": "clients", "path": "clients", "levels": [1, 2]}
    with pytest.raises(SpecError, match="no measure 'hits'") as refused:
        parse({"name": "x", "of": "hits", "factor": [factor]})
    assert refused.value.option == "of"


def test_a_measure_of_the_whole_run_is_not_one_of_each_stage() -> None:
    def made(*stages: dict[int, float]) -> Any:
        parts = {str(at): SimpleNamespace(measured={"qphh": values}) for at, values in enumerate(stages)}
        return SimpleNamespace(stages=parts)

    assert is_of_run([made({1: 2.0}, {1: 2.0}, {}), made({1: 3.0}, {1: 3.0})], "qphh")
    assert not is_of_run([made({1: 2.0}, {1: 2.0}), made({1: 3.0}, {1: 4.0})], "qphh")
    assert not is_of_run([made({1: 2.0})], "qphh")
    assert not is_of_run([made({}, {})], "qphh")


def test_levels_whose_figures_have_units_of_their_own_are_not_compared(made: Study) -> None:
    """As those of workloads by the headline, one of which counts transactions and the other its queries."""
    found = outcomes(made, "headline")
    assert found.effects is not None
    every = {one.factors for one in found.effects.main}

    def counted(one: Made) -> Made:
        name = found.chosen or one.last
        units = {**one.stages[name].units, "headline": ("tps", "QphH-like")[one.at[0]]}
        return replace(one, stages={**one.stages, name: replace(one.stages[name], units=units)})

    mixed = replace(found, made=tuple(map(counted, found.made))).choose("headline")
    assert mixed.effects is not None
    assert (found.unit, mixed.unit) == ("tps", "")
    assert {one.factors for one in mixed.effects.main} == every - {(0,)} == {(1,)}
    assert not any(one.factors == (0,) for one in mixed.effects.shares)
    whole = sum(one.share for one in found.effects.shares)
    assert sum(one.share for one in mixed.effects.shares) == pytest.approx(whole)
    words = f"levels of {found.factors[0]} have figures in several units, which cannot be compared"
    assert words in [one.text for one in findings.find(mixed)]
    assert words not in [one.text for one in findings.find(found)]
