from __future__ import annotations

import csv
import io
import json
from dataclasses import fields
from math import nan
from pathlib import Path

import numpy as np
import pytest

from dsbench.archive import RunRecord
from dsbench.read import tables
from dsbench.read.draw.axes import index_note
from dsbench.read.draw.rate import conf
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.subjects import rate
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.stats.values import Doubt, ScaleResult, result_columns
from fixtures import sample, small
from fixtures.archives import write
from fixtures.sample import replace
from fixtures.told import summary_text


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """The small archive with a third scale that was begun and cut short."""
    found = evaluate(small.archive(tmp_path_factory.mktemp("small")))
    missing = {one.name: nan for one in fields(ScaleResult)} | {"rates_at": dict.fromkeys(found.levels, nan)}
    cut = ScaleResult(**{**missing, "scale": 100, "transactions": 0, "failed": 0, "populate_s": 30.0})
    _ = found.of(RateResult).index  # It rests on the scales as they were.
    return sample.replace(found, scales=(*found.of(RateResult).scales, cut))


# The arithmetic of these figures stands in test_of_archive.py.
CSV = """\
scale,database_size_gb,rate_median_tps,rate_mean_tps,rate_stddev_tps,rate_min_tps,rate_max_tps,transactions,failed,\
residence_total_s,effective_duration_s,rate_multiplier,rate_p50_tps,rate_p68_tps,rate_p87_tps,rate_p95_tps,\
rate_p99_tps,rate_p99_7_tps,populate_s,primary_key_s,foreign_key_s,cleanup_s,drop_s
1,0.015,10,10,1.41421356,9,11,200,10,0.57,19.7,0.0285,14.25,14.25,7.125,7.125,1.425,1.425,2.5,0.5,0.25,0.3,0.05
10,0.15,100,100,14.1421356,90,110,2000,0,2.85,19.7,0.1425,142.5,142.5,71.25,71.25,14.25,14.25,25,5,2.5,3,0.1
100,,,,,,,0,0,,,,,,,,,,30,,,,
"""


def test_csv_is_the_golden_file(evaluation: Evaluation) -> None:
    assert tables.results_csv(evaluation) == CSV


def test_csv_reads_back(evaluation: Evaluation) -> None:
    rows = list(csv.DictReader(io.StringIO(tables.results_csv(evaluation))))
    assert list(rows[0]) == list(result_columns(evaluation.levels))
    assert rows[1]["rate_p95_tps"] == "71.25"


def test_columns_are_named_by_the_levels_of_the_run(tmp_path: Path) -> None:
    """However many: their rates would stand below names of other quantiles, as if they were comparable."""
    levels = (0.1, 0.9999, 0.99999)
    run = {**small.RUN, "spec": {**small.RUN["spec"], "levels": levels}}
    archive = write(tmp_path, run, small.tables())
    found = evaluate(archive)
    named = ["rate_p10_tps", "rate_p99_99_tps", "rate_p99_999_tps"]
    (row, _) = csv.DictReader(io.StringIO(tables.results_csv(found)))
    assert list(row)[11:16] == ["rate_multiplier", *named, "populate_s"]
    # 0.0285 over the least residence time of 1 ms and the greatest of 20 ms.
    assert [row[name] for name in named] == ["28.5", "1.425", "1.425"]
    assert [tables.to_json(found)["scales"][0][name] for name in named] == pytest.approx([28.5, 1.425, 1.425])
    text = tables.results_txt(found, archive.run)
    assert "confidence levels: 10.0% 99.99% 99.999%" in text
    assert np.loadtxt(io.StringIO(text)).shape == (2, 20)
    drawn = conf(found, archive.run)
    assert drawn is not None
    assert {row["level"] for row in drawn["datasets"]["levels"]} == {"10%", "99.99%", "99.999%"}


def test_txt_reads_back_as_numbers_with_nan(evaluation: Evaluation) -> None:
    data = np.loadtxt(io.StringIO(tables.results_txt(evaluation, RunRecord.of(small.RUN))))
    assert data.shape == (3, 23)
    truth = np.genfromtxt(io.StringIO(CSV), delimiter=",", skip_header=1)
    assert data == pytest.approx(truth, nan_ok=True)


def test_txt_is_aligned_and_its_head_numbers_names_and_units_the_columns(evaluation: Evaluation) -> None:
    lines = tables.results_txt(evaluation, RunRecord.of(small.RUN)).splitlines()
    numbers, names, units, *rows = lines[-6:]
    assert numbers.split() == ["#", *(str(n) for n in range(1, 24))]
    assert names.split()[:6] == ["#", "scale", "database_size", "rate_median", "rate_mean", "rate_stddev"]
    assert units.split()[:4] == ["#", "-", "[GB]", "[tps]"]
    assert len({len(line) for line in lines[-6:]}) == 1
    assert all(line.startswith("# ") for line in lines[:-3])
    # Every cell ends where its column's number ends.
    ends = [at for at in range(1, len(numbers)) if numbers[at - 1] != " " and numbers[at : at + 1] in ("", " ")][1:]
    assert all(row[end - 1] != " " and row[end : end + 1] in ("", " ") for row in rows for end in ends)


def test_txt_says_what_was_measured_and_what_to_doubt(evaluation: Evaluation) -> None:
    doubt = Doubt("durability", "fsync = off: a power cut\nloses it", "switch it on", severe=False)
    broken = Doubt("check-failed", "the database is wrong", "do not use", 10, severe=True)
    text = tables.results_txt(sample.replace(evaluation, doubts=(broken, doubt)), RunRecord.of(small.RUN))
    for words in (
        "PostgreSQL 15.18 on syrtis, workload tpcb (TPC-B-like", "2 x 10 s, 2 nodes, clients 2", "closed loop", "seed 7",
        "DSI 0.75 (no interval below 5 cycles) over scales 1-10; comparable only",
        "VOID at scale 10: the database is wrong", "warning: fsync = off: a power cut", "hint: switch it on",
    ):  # fmt: skip
        assert words in text
    assert np.loadtxt(io.StringIO(text)).shape == (3, 23)


def test_summary_has_a_line_per_scale(evaluation: Evaluation) -> None:
    lines = summary_text(evaluation).splitlines()
    assert " ".join(lines[0].split()) == "scale size GB tps ±95% min–max tps failed f p50 ms p99 ms max ms populate s"
    assert lines[1].split() == ["1", "0.015", "10", "–", "9–11", "4.8%", "0.0285", "2", "–", "20", "2.5"]
    assert lines[2].split() == ["10", "0.15", "100", "–", "90–110", "0.0%", "0.143", "1", "10", "10", "25"]
    assert lines[3].split() == ["100", "–", "–", "–", "–", "–", "–", "–", "–", "–", "30"]
    assert lines[5].startswith("DSI 0.75 (no interval below 5 cycles) over")
    assert not any(line.startswith("T = X") for line in lines), "no scale has it"


def test_in_the_open_loop_the_summary_has_response_times_and_names_the_service_times(evaluation: Evaluation) -> None:
    """Times from the actual start alone would hide how long transactions waited (coordinated omission)."""
    slow = {1: replace(evaluation.of(LatencyResult).frequency[1], quantiles_ns={0.5: 7e8, 0.99: 8e8, 1.0: 9e8}, count=1000)}
    lines = summary_text(sample.replace(evaluation, response=slow)).splitlines()
    heads = "f response p50 ms response p99 ms response max ms populate s"
    assert " ".join(lines[0].split()).endswith(heads)
    assert lines[1].split()[7:10] == ["700", "800", "900"]
    assert "response times above begin at the intended one" in lines[5]
    assert lines[7].split() == ["1", "2", "–", "20"]


def test_doubts_of_one_kind_share_their_remedy(evaluation: Evaluation) -> None:
    same = [Doubt("failures", f"{scale}% failed", "--retry", scale) for scale in (1, 10, 100)]
    unsafe = [Doubt("durability", f"{name} = off", "switch it on") for name in ("fsync", "full_page_writes")]
    notes = tables.summary_notes(sample.replace(evaluation, doubts=(*unsafe, *same)))
    assert notes[1:] == [
        "warning: fsync = off", "  hint: switch it on", "warning: full_page_writes = off", "  hint: switch it on",
        "warning at scale 1: 1% failed", "warning at scale 10: 10% failed", "warning at scale 100: 100% failed", "  hint: --retry",
    ]  # fmt: skip


def test_scales_that_the_index_leaves_out_are_named(evaluation: Evaluation) -> None:
    """``over scales 1-10`` alone would count a void scale in."""
    without = replace(evaluation.of(RateResult).index, left_out={2: "its check failed", 5: "its check failed", 20: "no cycle was finished"})
    told = "scales 1-10, without 2 and 5: its check failed, without 20: no cycle was finished"
    assert told in rate.index_lines(without)[0]
    assert told in index_note(without)
    assert "scale 2 was left out: its check failed" in rate.index_lines(replace(without, dsi=None))[0]


def test_an_undefined_index_is_said_in_words(evaluation: Evaluation) -> None:
    alone = replace(evaluation.of(RateResult).index, dsi=None, crossing=12.3456, crossing_note="")
    assert rate.index_lines(alone) == [
        "DSI not defined: it needs two scales, each with a rate above 0",
        "T = X (TPC-B clause 4.1): 12.35 tps",
    ]


def test_json_has_null_for_nan_and_reads_back(evaluation: Evaluation) -> None:
    text = json.dumps(tables.to_json(evaluation), allow_nan=False)
    data = json.loads(text)
    assert data["scales"][2]["rate_median_tps"] is None
    assert data["scales"][0]["transactions"] == 200
    assert data["cycle_rates"] == {"1": [9.0, 11.0], "10": [90.0, 110.0]}
    assert data["frequency"]["1"] == {
        "count": 200,
        "quantiles_ns": {
            "0.5": 2e6, "0.68": 2e6, "0.87": 4e6, "0.9": 4e6, "0.95": 4e6, "0.99": 2e7, "0.997": 2e7, "0.999": 2e7,
            "1.0": 2e7,
        },
    }  # fmt: skip
    assert data["void_scales"] == []
    assert data["index"]["dsi"]["level"] == 0.95
    assert {doubt["code"] for doubt in data["doubts"]} == {doubt.code for doubt in evaluation.of(WarningsResult).doubts}


def test_writing_through_the_archive_keeps_the_text(evaluation: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "results.txt"
    path.write_text(tables.results_txt(evaluation, RunRecord.of(small.RUN)), encoding="utf-8")
    assert np.loadtxt(path, encoding="utf-8").shape == (3, 23)
