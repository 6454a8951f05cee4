"""One set of blocks in every medium: the same cells, and nothing in them is markup."""

from __future__ import annotations

import csv
import io
import re
from math import nan
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.format import format_number
from dsbench.read import subjects
from dsbench.read.blocks import Column, Listed, Part, Ratio, Sentence, Table, Terms
from dsbench.read.csv import render_csv
from dsbench.read.evaluation import evaluate
from dsbench.read.html import render_blocks
from dsbench.read.markdown import render_markdown
from dsbench.read.shown import read, read_as
from dsbench.read.text import render_text

ARCHIVES = Path(__file__).parent.parent / "data/archives"
EVIL = '<script>alert("x")</script> | `a` [b](c) *d*'
BLOCKS = [
    Sentence("First."), Listed(["one", "two"]), Terms([("name", "value"), ("absent", "")]),
    Table("Times", (Column("scale"), Column("p50", "ms", 1e-6), Column("share", form=".1%"), Column("who", left=True)),
          [(1, 1_234_567, 0.5, EVIL), (20_000, nan, None, "b")], frozenset({1})),
    Part("More", [Sentence("Inside.")], folded=True),
]  # fmt: skip


def test_text_has_heads_with_units_and_dashes_for_what_is_missing() -> None:
    lines = render_text(BLOCKS).splitlines()
    assert lines[:6] == ["First.", "", "one", "two", "", "name  value"]
    heads, first, second = lines[lines.index("Times") + 1 :][:3]
    assert heads.split() == ["scale", "p50", "ms", "share", "who"]
    assert first.split()[:3] == ["1", "1.23", "50.0%"]
    assert second.split() == ["20,000", "–", "–", "b"]


def test_html_escapes_every_cell_and_marks_rows() -> None:
    page = render_blocks(BLOCKS)
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert page.count('class="void"') == 1
    assert re.search(r"<details[^>]*>\s*<summary>More</summary>", page)


def test_a_ratio_and_its_interval_are_two_things_when_they_are_copied() -> None:
    shown = render_blocks([Table("", (Column(""), Column("scale 1")), [("b", Ratio(0.26, 0.21, 0.31))])])
    cell, = re.findall(r'<td class="ratio[^>]*>(.*?)</td>', shown)  # fmt: skip
    assert re.sub("<.*?>", "", cell) == "0.26 [0.21–0.31]"


def test_markdown_has_as_many_cells_in_each_row_and_none_of_their_marks() -> None:
    rows = [line for line in render_markdown(BLOCKS).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}
    assert r"\<script>" in rows[2]
    assert r"\[b](c)" in rows[2]


def test_csv_has_full_figures_in_the_unit_of_the_head() -> None:
    rows = list(csv.reader(io.StringIO(render_csv(BLOCKS))))
    table = rows[rows.index(["scale", "p50 [ms]", "share", "who"]) :]
    assert table[1] == ["1", "1.234567", "0.5", EVIL]
    assert table[2] == ["20000", "", "", "b"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (0.0, "0"), (1_234_567, "1,234,567"), (1234.5, "1,234"), (99.96, "100"), (0.00001234, "1.23e-05"), (nan, "–"), (None, "–")],
)  # fmt: skip
def test_numbers_have_three_digits_and_no_exponent_in_the_usual_range(value: float | None, shown: str) -> None:
    assert format_number(value) == shown


@pytest.mark.parametrize("name", subjects.NAMES)
@pytest.mark.parametrize("form", ["text", "markdown", "csv"])
def test_every_subject_is_told_in_every_form(name: str, form: str) -> None:
    path = ARCHIVES / "pg-scripted.zip"
    shown = read(path, name).text if form == "text" else read_as(path, name, csv=form == "csv")
    found = evaluate(Archive.open(ARCHIVES / "pg-scripted.zip"))
    if list(subjects.find_subject(name).tell(found)):
        assert shown.strip()
    elif form == "text":
        assert shown == subjects.find_subject(name).nothing
    assert "nan" not in shown.split()


def test_latency_as_csv_has_the_figures_of_json() -> None:
    shown = read(ARCHIVES / "pg.zip", "latency")
    rows = csv.DictReader(io.StringIO(read_as(ARCHIVES / "pg.zip", "latency", csv=True)))
    for row in rows:
        quantiles = shown.document["frequency"][row["scale"]]["quantiles_ns"]
        assert float(row["p50 [ms]"]) == pytest.approx(quantiles["0.5"] / 1e6, rel=1e-8)
