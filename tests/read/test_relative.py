"""The sentence that a comparison begins with."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

import pytest

from dsbench.read.blocks import Ratio
from dsbench.read.text import Style, render_text
from dsbench.several import shown
from dsbench.several.compare import read
from dsbench.several.relative import answer
from fixtures.archives import cycle_row, phase_rows, run_json, write

EVEN = (100, 102, 98, 101, 99)


def run(folder: Path, label: str, rates: dict[int, tuple[int, ...]]) -> Path:
    rows = {
        "cycles": [cycle_row(scale, number, [10**7] * rate) for scale, some in rates.items() for number, rate in enumerate(some, 1)],
        "phases": [row for scale in rates for row in phase_rows(scale)],
    }
    asked = {"scales": list(rates), "cycles": len(EVEN), "duration": 1.0, "label": label}
    return write(folder, run_json(asked, name=label), rows).path


def times(factor: float) -> tuple[int, ...]:
    return tuple(round(factor * rate) for rate in EVEN)


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ((2.0, 2.0, 2.0), r"B is 2\.00 times as fast as A \(1\.\d\d to 2\.\d\d\) over scales 1 to 100\."),
        ((1.0, 2.0, 3.0), r"B is 2\.00 to 3\.00 times as fast as A from scale 10 on; below, the two may be equal\."),
        ((0.5, 1.0, 1.0), r"B is 0\.50 times as fast as A up to scale 1; above, the two may be equal\."),
        ((1.0, 2.0, 1.0), r"B is 2\.00 times as fast as A at scale 10; elsewhere, the two may be equal\."),
        ((2.0, 2.0, 0.5), r"B is faster than A at scale 1 and 10, and slower at scale 100\."),
        ((1.0, 1.0, 1.0), r"No difference of more than \d\.\d%: B is 1\.00 times as fast as A \(0\.\d\d to 1\.\d\d\) over scales 1 to 100\."),
    ],
)  # fmt: skip
def test_it_says_where_two_differ(factors: tuple[float, ...], sentence: str, tmp_path: Path) -> None:
    scales = (1, 10, 100)
    paths = [run(tmp_path, "A", dict.fromkeys(scales, EVEN)), run(tmp_path, "B", dict(zip(scales, map(times, factors), strict=True)))]
    found = answer(read(paths))


    assert re.fullmatch(sentence, found.sentence), found.sentence
    assert "over the cycles of one run each" in found.about


def test_of_several_it_names_the_fastest_and_the_slowest(tmp_path: Path) -> None:
    paths = [run(tmp_path, label, {1: times(factor)}) for label, factor in (("A", 1), ("B", 1.5), ("C", 0.5), ("D", 1.0))]
    assert answer(read(paths)).sentence == "B is the fastest, 1.50 times as fast as A; C is the slowest, 0.50 times as fast as A."
    alike = [*paths[::3], run(tmp_path, "E", {1: times(1.0)})]
    assert re.fullmatch(r"No difference of more than \d\.\d%\.", answer(read(alike)).sentence)


def test_what_may_be_large_is_not_called_none(tmp_path: Path) -> None:
    """An interval from half to twice holds 1, and says nothing."""
    wide = (50, 80, 100, 120, 200)
    paths = [run(tmp_path, label, {1: wide}) for label in "AB"]
    assert re.fullmatch(r"Cannot tell: B is 1\.00 times as fast as A \(0\.\d\d to \d\.\d\d\) at scale 1\.", answer(read(paths)).sentence)
    assert answer(read([*paths, run(tmp_path, "C", {1: wide})])).sentence == "None differs significantly from A."


def test_without_intervals_nothing_has_a_sign(tmp_path: Path) -> None:
    few = [run(tmp_path, label, {1: rates, 10: rates}) for label, rates in (("A", (100,) * 3), ("B", (66,) * 3), ("C", (300,) * 3))]
    for paths in (few, few[:2]):
        text = render_text(shown.tell(read(paths)))
        assert not {"▲", "▼"} & set(text)
        assert "relative rates, without intervals" in text
    assert answer(read(few)).sentence == "So few cycles rank none apart from A."


def test_a_colour_says_how_much_and_grey_that_it_may_be_chance() -> None:
    assert {Ratio(value).shade for value in (0.2, 1.06, 3.0)} == {"same"}, "without an interval"
    sizes = (1.0, 1.04, 1.06, 1.3, 3.0, 0.9, 0.7, 0.2, 0.0)
    assert [Ratio(value, value * 0.999, value * 1.001).shade for value in sizes] == [
        "same", "up1", "up1", "up2", "up3", "down1", "down2", "down3", "down3"]  # fmt: skip
    assert Ratio(2.0, 0.9, 4.0).shade == "same", "this may be chance"
    assert Ratio(1.02, 1.01, 1.03).shade == "up1"
    assert [Ratio(1.31, 1.26, 1.37).text, Ratio(1.31, 1.26, 1.37, brief=True).text, Ratio(0.9, nan, nan).text, Ratio(1.0).text] == [
        "1.31▲ [1.26–1.37]", "1.31▲", "0.90", "1"]  # fmt: skip


def test_a_comparison_is_no_wider_than_a_terminal() -> None:
    insert = Path(__file__).parents[1] / "data" / "archives" / "insert.zip"
    text = render_text(shown.tell(read([insert, insert])), Style(80))
    assert [line for line in text.splitlines() if len(line) > 80] == []
