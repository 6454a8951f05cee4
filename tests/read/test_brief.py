"""What a terminal shows of an archive: nothing wider than it, nothing twice."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dsbench.archive import Archive
from dsbench.read.answer import answer, say
from dsbench.read.blocks import Column, Notice, Notices, Overview, Table, Terms, Tile
from dsbench.read.evaluation import evaluate
from dsbench.read.shown import read
from dsbench.read.text import Style, render_text

ARCHIVES = sorted((Path(__file__).parents[1] / "data" / "archives").glob("*.zip"))
COLOUR = re.compile(r"\x1b\[\d+m")


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
@pytest.mark.parametrize("verbose", [False, True])
def test_no_line_is_wider_than_a_terminal(path: Path, verbose: bool) -> None:
    blocks = read(path, verbose=verbose).blocks
    for width in (80, 120):
        text = render_text(blocks, Style(width))
        words = (str(path), "/run/user")
        assert [line for line in text.splitlines() if len(line) > width and not any(one in line for one in words)] == []
        assert COLOUR.sub("", render_text(blocks, Style(width, colour=True))) == text


@pytest.mark.parametrize("path", ARCHIVES, ids=lambda path: path.stem)
def test_it_begins_with_the_answer_and_says_nothing_twice(path: Path) -> None:
    text = read(path).text
    archive = Archive.open(path)
    found = answer(evaluate(archive), archive.run)
    begins = "\n".join([*found.verdict, say(evaluate(archive), archive.run)])
    assert text.removeprefix(f"label: {archive.run.spec.label}\n\n").startswith(begins)
    lines = [line for line in text.splitlines() if line and not line.startswith("  hint: ")]
    assert len(lines) == len(set(lines))
    assert text.splitlines()[-2].startswith("archive: ")


def test_the_rest_is_there_when_it_is_wanted() -> None:
    path = next(one for one in ARCHIVES if one.stem == "pg-tpcc")
    brief, whole = read(path).text, read(path, verbose=True).text
    assert "Limits of a valid run" in whole
    assert "Limits of a valid run" not in brief
    assert len(brief.splitlines()) < 30


def test_a_table_that_is_too_wide_loses_what_is_to_spare_and_goes_on_below() -> None:
    heads = (Column("scale"), Column("nothing"), Column("spare" * 5, spare=True), *(Column("value" * 4) for _ in range(6)))
    rows = [[str(n), None, 1.0, *range(6)] for n in range(30)]
    lines = render_text([Table("", heads, rows)], Style(80)).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if "value" in line] == ["scale", "scale"]
    assert not any("spare" in line or "nothing" in line for line in lines)
    whole = render_text([Table("", heads, rows)])
    assert "spare" in whole, "a file has it all"
    assert "nothing" in whole


def test_long_words_and_figures_with_their_units_stay_whole() -> None:
    path = "archives/" + "x" * 60 + ".zip"
    text = render_text([Terms([("archive", path)]), Notices([Notice("it took " * 8 + "12 s", ("scale 1", "2"), "wait", True)])], Style(40))
    assert path in text
    assert "VOID (scale 1, 2): it took" in text
    assert "12 s" in text
    assert "  hint: wait" in text


def test_figures_stand_below_each_other() -> None:
    tiles = (Tile("Rate", "9,600 tps", "scale 5"), Tile("Trust", "no", "", "bad"))
    lines = render_text([Overview("It is fast.", "a · b", ("It is not.",), tiles)], Style(60)).splitlines()
    assert lines == ["It is fast.", "a · b", "It is not.", "", "  Rate   9,600 tps  scale 5", "  Trust  no"]
