"""A run at several numbers of clients: its curves, its indices, and its numbers of clients side by side."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dsbench.archive import Archive, ArchiveError
from dsbench.read.blocks import Table
from dsbench.read.draw import gnuplot, specs
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.page import page
from dsbench.read.subjects import find_subject
from dsbench.read.subjects.rate import tabulate_indexes
from dsbench.read.text import render_text
from dsbench.several import shown
from dsbench.several.compare import read
from fixtures.archives import MS, cycle_row, group_row, phase_rows, run_json, write

RATES = {1: {1: 100, 10: 90}, 2: {1: 200, 10: 400}, 8: {1: 400, 10: 900}}
"""By number of clients and scale."""
SIZES = {1: 15_000_000, 10: 150_000_000}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Five cycles of a second each: the same rate but for the first, which has one transaction more or less."""
    rows, groups = [], []
    for scale in SIZES:
        for number, (clients, rates) in enumerate(RATES.items()):
            for cycle in range(5):
                at = number * 5 + cycle + 1
                count = rates[scale] + (cycle == 0) - (cycle == 1)
                rows.append(cycle_row(scale, at, [MS] * count, clients=clients))
                groups.append(group_row(scale, "load", at, 1_000 * MS, clients=clients, all_clients=clients))
    phases = [row for scale, size in SIZES.items() for row in phase_rows(scale, populate=MS, foreign_key=MS, size_bytes=size)]
    asked = {"scales": [*SIZES], "cycles": 5, "duration": 1.0, "clients": [*RATES], "target": {"url": "private:postgresql"}}
    described = run_json(asked, name="clients", marks={"RAM": 100_000_000})
    return write(tmp_path_factory.mktemp("clients"), described, {"cycles": rows, "groups": groups, "phases": phases})


@pytest.fixture(scope="module")
def evaluation(made: Archive) -> Evaluation:
    return evaluate(made)


def test_the_diagram_has_a_curve_for_each_number_of_threads(made: Archive, evaluation: Evaluation) -> None:
    for form in (None, "linear", "log"):
        drawn = specs(evaluation, made.run, form)["rate"]  # type: ignore[arg-type]
        rates = {(row["archive"], row["scale"]): row["rate"] for row in drawn["datasets"]["rates"]}
        assert list(dict.fromkeys(name for name, _ in rates)) == ["1 client", "2 clients", "8 clients"], "rising"
        assert rates == {(f"{n} client{'s' * (n > 1)}", x): rate for n, of in RATES.items() for x, rate in of.items()}
        assert [row["label"] for row in drawn["datasets"]["marks"]] == ["RAM 0.1 GB"]
        (mark,) = drawn["datasets"]["marks"]
        assert mark["scale"] == pytest.approx(10 ** (math.log10(100 / 15)), rel=1e-3)
    assert "1, 2 and 8 clients" in drawn["title"]["subtitle"][0]


def test_the_legend_of_gnuplot_has_the_index_of_each(made: Archive, evaluation: Evaluation) -> None:
    script = gnuplot.files("rate", specs(evaluation, made.run)["rate"])["results-rate.gp"]
    # (lg 200 + lg 400) / 4
    assert "title '2 clients: DSI 1.23 (" in script
    assert script.count(" with lines ") == 3
    assert "dt 2 title" not in script, "no curve is dashed"


def test_the_table_has_each_index_with_its_interval_and_cut_off(made: Archive, evaluation: Evaluation) -> None:
    table = tabulate_indexes(evaluation.by_clients)
    assert isinstance(table, Table)
    shown_rows = [[column.show(cell) for column, cell in zip(table.columns, row, strict=True)] for row in table.rows]
    # (lg 100 + lg 90) / 4, (lg 200 + lg 400) / 4, (lg 400 + lg 900) / 4
    assert [row[:2] for row in shown_rows] == [["1", "0.99"], ["2", "1.23"], ["8", "1.39"]]
    assert all(float(row[2]) <= float(row[1]) <= float(row[3]) for row in shown_rows)
    assert "index by number of clients" in render_text(find_subject("rate").tell(evaluation))
    text = page(evaluation, made.run)
    assert "index by number of clients" not in text
    assert "Index DSI<" not in text, "these scales and clients are not those of the profile that defines it"


def test_one_archive_compares_its_numbers_of_threads(made: Archive) -> None:
    found = read([made.path])
    assert [label.rpartition(", ")[2] for label in found.labels] == ["clients 1", "clients 2", "clients 8"]
    (section,) = shown.document(found)["sections"]
    assert [side["scales"]["10"]["rate_median_tps"] for side in section["archives"]] == [90, 400, 900]
    assert section["archives"][2]["relative_mean"]["value"] == pytest.approx(math.sqrt(4 * 10), rel=1e-6)
    assert section["archives"][0]["cutoff"] is None, "it falls by less than half"
    assert shown.title(found) == "3 numbers of clients side by side"
    assert read([made.path], "2").labels[0].endswith("clients 2")
    with pytest.raises(ArchiveError, match="not a number of clients"):
        read([made.path], "3")


def test_one_archive_with_one_number_of_threads_has_nothing_beside_it(tmp_path: Path) -> None:
    one = write(tmp_path, run_json({"scales": [1]}, name="one"), {"cycles": [cycle_row(1, 1, [MS])]})
    with pytest.raises(ArchiveError, match="two archives, or one with several numbers of clients"):
        read([one.path])
