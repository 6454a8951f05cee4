"""Slices of a study, its diagrams over the scale, and its tables by level and scale."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import altair as alt
import pytest

from dsbench.read.blocks import Sentence, Table
from dsbench.spec import SpecError
from dsbench.stats.comparison import dsi_of_blocks
from dsbench.stats.index import Fall
from dsbench.stats.precision import student
from dsbench.stats.values import Interval
from dsbench.study import Outcomes, Point, Study, begin, outcomes, shown
from dsbench.study.diagrams import specs
from dsbench.study.levels import describe_levels, tabulate_levels
from dsbench.study.record import make_folder
from dsbench.study.results import Ladder
from dsbench.study.slices import by_work, third_factor, work_factors
from dsbench.study.spec import parse
from fixtures.studies import archived

FACTORS = [
    {"name": "workload", "path": "workload", "levels": ["select", "tpcb"]},
    {"name": "pages", "path": "target.settings.page_size", "levels": [1024, 4096, 16384]},
    {"name": "clients", "path": "clients", "levels": [1, 2, 4]},
    {"name": "flushes", "path": "target.settings.synchronous", "levels": ["off", "full"]},
]


def _rate(at: tuple[int, ...], scale: int) -> float:
    """``select`` has ten times the rate of ``tpcb``; of that of the smallest scale the largest has half."""
    workload, pages, clients, flushes = at
    return 800 / 10**workload * 2**clients / (1 + pages) / (1 + flushes) / (1 if scale == 1 else 2)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    run = {"target": "private:sqlite", "scales": [1, 100], "cycles": 2, "duration": 1.0}
    values = {"name": "layers", "run": run, "factor": FACTORS, "trials": {"repeat": 1}, "pair": [["pages", "clients"]]}
    made, _ = begin(parse(values), tmp_path_factory.mktemp("slices") / "s")
    make_folder(made)
    for trial in made.trials:
        made = made.with_trial(archived(made, trial, _rate))
    return outcomes(made)


@pytest.fixture(scope="module")
def drawn(found: Outcomes) -> dict[str, dict]:  # type: ignore[type-arg]
    return specs(found)


def test_workloads_are_never_in_one_mean(found: Outcomes, drawn: dict[str, dict]) -> None:  # type: ignore[type-arg]
    assert work_factors(found) == [0]
    assert [part.words for part in by_work(found, (1,))] == ["workload select", "workload tpcb"]
    assert [part.words for part in by_work(found, (0, 1))] == [""], "unless they are what is compared"
    apart = {name for name in drawn if name.partition("-")[0] in ("rate", "lines", "heat", "freq", "relative")}
    assert all("-at-1-" in name for name in apart if name.split("-")[1] != "1")
    fields = drawn["heat-2-3-at-1-2"]["datasets"]["fields"]
    # tpcb, 2 clients, pages of 16 KiB, mean over flushes and scales: 80 · 2 / 3 / √2 / √2
    assert {(row["x"], row["y"]): row["value"] for row in fields}["16384", "2"] == pytest.approx(80 / 3, rel=0.05)
    assert drawn["heat-2-3-at-1-2"]["title"]["text"] == "pages × clients; workload tpcb"
    rows = [[column.show(cell) for column, cell in zip(table.columns, row, strict=True)]
            for table in shown.tables(found) if table.title.startswith("by level") for row in table.rows]  # fmt: skip
    assert ["select", "flushes", "full"] in [row[:3] for row in rows]
    assert ["tpcb", "flushes", "full"] in [row[:3] for row in rows]


def test_a_pair_has_a_plot_for_each_level_of_a_third_factor(found: Outcomes, drawn: dict[str, dict]) -> None:  # type: ignore[type-arg]
    (part, _) = by_work(found, (1, 2))
    assert third_factor(part, (1, 2)) == 3
    spec = drawn["heat-2-3-by-4-at-1-1"]
    alt.VConcatChart.from_dict(spec)
    assert [plot["title"]["text"] for row in spec["vconcat"] for plot in row["hconcat"]] == ["flushes off", "flushes full"]
    cells = [{(row["x"], row["y"]): row["value"] for row in spec["datasets"][f"fields-{n}"]} for n in (1, 2)]
    assert cells[0]["4096", "4"] == pytest.approx(800 * 4 / 2 / math.sqrt(2), rel=0.02)
    assert cells[1]["4096", "4"] == pytest.approx(800 * 4 / 4 / math.sqrt(2), rel=0.02)
    lines = drawn["lines-2-by-4-at-1-1"]
    domains = {tuple(layer["encoding"]["y"]["scale"]["domain"]) for row in lines["vconcat"] for plot in row["hconcat"]
               for layer in plot["layer"] if (layer["encoding"].get("y") or {}).get("scale")}  # fmt: skip
    assert len(domains) == 1, "plots beside each other have one axis"
    assert {row["archive"] for row in lines["datasets"]["lines-1"]} == {"clients 1", "clients 2", "clients 4"}
    assert "freq-4-by-3-at-1-2" in drawn


def test_pairs_are_chosen_by_name(found: Outcomes) -> None:
    assert found.pairs == ((1, 2),)
    other = outcomes(found.study, pairs=[("clients", "flushes")])
    assert [name for name in specs(other) if name.startswith("heat") and "by" not in name] == ["heat-3-4-at-1-1", "heat-3-4-at-1-2"]
    with pytest.raises(SpecError, match="no factor 'speed'"):
        outcomes(found.study, pairs=[("speed", "clients")])


def test_trials_of_other_factors_are_not_in_a_slice_one_at_a_time(tmp_path: Path) -> None:
    run = {"target": "private:sqlite", "scales": [1, 100], "cycles": 2, "duration": 1.0}
    values = {"name": "one by one", "run": run, "factor": FACTORS, "trials": {"repeat": 1, "design": "one-at-a-time"}}
    made, _ = begin(parse(values), tmp_path / "s")
    make_folder(made)
    for trial in made.trials:
        made = made.with_trial(archived(made, trial, _rate))
    drawn = specs(outcomes(made))
    rates = {(row["archive"], row["scale"]): row["rate"] for row in drawn["rate-3-at-1-1"]["datasets"]["rates"]}
    assert rates == {(f"clients {n}", x): 800 * n / (1 if x == 1 else 2) for n in (1, 2, 4) for x in (1, 100)}
    assert not any("-by-" in name for name in drawn), "no two levels of a third factor were tried with them"


def test_values_over_the_scale_have_a_curve_for_each_level(drawn: dict[str, dict]) -> None:  # type: ignore[type-arg]
    spec = drawn["rate-3-at-1-1"]
    rates = {(row["archive"], row["scale"]): row["rate"] for row in spec["datasets"]["rates"]}
    # Over pages and flushes: 800 · 4 / (1 · 2 · 3)^(1/3) / √2
    assert rates["clients 4", 1] == pytest.approx(3200 / 6 ** (1 / 3) / math.sqrt(2), rel=0.02)
    legend = spec["layer"][0]["encoding"]["color"]["legend"]["labelExpr"]
    # (lg T(1) + lg T(100)) / 4 · 2
    index = math.log10(rates["clients 4", 1]) - math.log10(2) / 2
    assert f"clients 4: DSI {index:.2f}" in legend
    assert spec["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"
    assert "linear-1" in drawn, "where rates differ by more than a factor of five"


def _with(found: Outcomes, made: Study | None = None) -> Outcomes:
    """The same with sizes, resources, times, memories, a cut-off and a storage tool, by hand."""
    assert made is None
    trials = []
    for one in found.made:
        half = 1.0 + one.at[3]
        measured = {**one.measured, **{name: {Point(0, 1): a * half, Point(0, 100): b * half} for name, a, b in (
            ("cpu", 20.0, 40.0), ("mb-read", 0.0, 3.0), ("gb-written", 1.0, 2.0), ("read-time", 0.5, 6.0),
            ("iowait-time", 0.25, 3.0), ("iowait-per-transaction", 0.5, 1.5), ("size", 0.5 / half, 50.0 / half),
            ("populate", 60.0, 600.0), ("primary-keys", 30.0, 300.0), ("foreign-keys", 10.0, 300.0))}}  # fmt: skip
        part = replace(one.stages[one.last], ladders={0: Ladder(Interval(3.0 - one.at[3], 2.0, 4.0, 0.95),
                                                                Fall(1, 100, 10.0, 1.0) if one.at[3] else None)},
                       probe_units={"dd: written": "MB/s"})  # fmt: skip
        trials.append(replace(one, measured=measured, stages={one.last: part}, probes={"dd: written": 100.0 / half},
                              marks={"RAM": 2**30, "cache": 2**31 * (1 + one.at[3])}))  # fmt: skip
    return replace(found, made=tuple(trials))


def _cells(found: Outcomes, title: str, *, brief: bool = False) -> list[dict[str, str]]:
    (table,) = [block for block in tabulate_levels(found, brief=brief) if isinstance(block, Table) and title in block.title]
    heads = [column.head for column in table.columns]
    return [dict(zip(heads, [column.show(cell) for column, cell in zip(table.columns, row, strict=True)], strict=True))
            for row in table.rows]  # fmt: skip


def test_tables_have_a_row_for_each_level_and_scale(found: Outcomes) -> None:
    given = _with(found)
    taken = [row for row in _cells(given, "resources by level") if row["level"] == "full" and row["workload"] == "tpcb"]
    assert [(row["scale"], row["CPU [%]"], row["written [GB in all]"]) for row in taken] == [("1", "40", "2"), ("100", "80", "4")]
    assert "network [MB/s]" not in taken[0], "the load of an embedded database passes none"
    waits = ("reads [s/cycle]", "I/O wait [s/cycle]", "I/O wait [ms/transaction]")
    assert [[row[name] for name in waits] for row in taken] == [["1", "0.5", "1"], ["12", "6", "3"]]
    assert "writes [s/cycle]" not in taken[0], "of which no trial tells"
    made = [row for row in _cells(given, "loading the database", brief=True) if row["level"] == "off (reference)"]
    assert (made[0]["populate [min]"], made[0]["populate, of all"]) == ("10", "50%")
    assert (made[0]["foreign keys [min]"], made[0]["foreign keys, of all"], made[0]["together [min]"]) == ("5", "25%", "20")
    tools = [row for row in _cells(given, "disk benchmarks") if row["factor"] == "flushes" and row["workload"] == "select"]
    assert [row["dd: written [MB/s]"] for row in tools] == ["100", "50"]


def test_a_table_has_index_and_cut_off_of_each_level(found: Outcomes) -> None:
    rows = _cells(_with(found), "DSI and cut-off")
    off, full = (row for row in rows if row["factor"] == "flushes" and row["workload"] == "select")
    # One block of 9 trials whose intervals reach 1 beyond their middle: √9 / 9
    assert (off["DSI"], off["95% from"], off["to"], off["trials"]) == ("3.00", "2.67", "3.33", "9")
    assert (off["cut-off: scales"], full["cut-off: scales"], full["cut-off [GB]"]) == ("–", "1–100", "0.5–50")
    assert (full["in trials"], full["reads nothing up to scale"]) == ("9", "1")
    assert (off["RAM [GB]"], off["cache [GB]"], full["cache [GB]"]) == ("1.07", "2.15", "4.29")
    other = next(row for row in rows if row["factor"] == "pages" and row["workload"] == "tpcb")
    assert (other["DSI"], other["in trials"], other["cache [GB]"]) == ("2.50", "3", "–")
    json_rows = [row for row in describe_levels(_with(found)) if row["factor"] == "flushes" and row["at"] == {"workload": "select"}]
    assert json_rows[1]["cutoff"] == {"scales": (1, 100), "size_gb": pytest.approx([0.5, 50.0])}
    assert json_rows[0]["scales"]["100"]["populate"] == pytest.approx(600.0)
    assert any(isinstance(block, Sentence) for block in tabulate_levels(found, brief=True))


def test_an_index_of_several_blocks_has_an_interval_over_them() -> None:
    blocks = [[Interval(1.0, 0.9, 1.1, 0.95), Interval(3.0, 2.9, 3.1, 0.95)], [Interval(2.0, 1.9, 2.1, 0.95)] * 2,
              [Interval(2.5, 2.4, 2.6, 0.95), Interval(3.5, 3.4, 3.6, 0.95)]]  # fmt: skip
    got = dsi_of_blocks(blocks)
    # Means 2, 2, 3: 7/3 with a standard deviation of 1/√3
    assert got is not None
    assert got.value == pytest.approx(7 / 3)
    assert got.high - got.value == pytest.approx(student(0.95, 2) / math.sqrt(3) / math.sqrt(3))
    assert dsi_of_blocks([]) is None


def test_memories_that_differ_are_marked_by_level(found: Outcomes) -> None:
    drawn = specs(_with(found))
    labels = {row["label"] for row in drawn["rate-4-at-1-1"]["datasets"]["marks"]}
    assert labels == {"RAM 1.1 GB", "cache (off) 2.1 GB", "cache (full) 4.3 GB"}
    assert [row["label"] for row in drawn["rate-3-at-1-1"]["datasets"]["marks"]] == ["RAM 1.1 GB"], "it differs in a level"


def test_storage_tools_have_curves_over_the_number_of_files(found: Outcomes) -> None:
    """The paper, figures 50 and 51."""
    probes = {"bonnie++: files created, 1024 files": 4000.0, "bonnie++: files created, 4096 files": 1000.0,
              "postmark: transactions on small files, 500 files": 90.0, "bonnie++: files deleted, 1024 files": 10.0,
              "bonnie++: files deleted, 4096 files": 5.0}  # fmt: skip
    given = replace(found, made=tuple(
        replace(one, probes={name: value / (1 + one.at[3]) for name, value in probes.items()}) for one in found.made))
    spec = specs(given)["files-4-at-1-1"]
    alt.VConcatChart.from_dict(spec)
    titles = [plot["title"]["text"] for row in spec["vconcat"] for plot in row["hconcat"]]
    assert titles == ["bonnie++: files created", "bonnie++: files deleted"], "one number of files makes no curve"
    rates = {(row["archive"], row["files"]): row["rate"] for row in spec["datasets"]["files-1"]}
    assert rates == pytest.approx({("off", 1024): 4000, ("off", 4096): 1000, ("full", 1024): 2000, ("full", 4096): 500})
    assert not any(name.startswith("files") for name in specs(found))
