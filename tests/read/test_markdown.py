"""The answer for a pull request."""

from __future__ import annotations

from pathlib import Path

from dsbench.read.blocks import Column, Listed, Notice, Notices, Overview, Part, Sentence, Table, Terms, Tile
from dsbench.read.markdown import escape, render_markdown
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.program import Program


def test_every_block_has_its_form() -> None:
    table = Table("rates", (Column("scale", left=True), Column("tps")), [("1", 1234.5), ("2", None)])
    text = render_markdown([
        Overview("B is faster.", "3 blocks", ["B may lose data."], [Tile("Rate", "10 tps", "of 3")], verdict=["Not valid."]),
        Sentence("A note.", "note"), Sentence("Careful.", "warning"), Listed(["one", "", "two"]), Terms([("A", "old"), ("B", "")]), table,
        Part("More", [Notices([Notice("short", ("A",), "repeat"), Notice("lost", severe=True)])]), Part("Nothing", []),
    ], "out dir/ab.svg")  # fmt: skip
    assert text.splitlines() == [
        "**Not valid.**  ", "**B is faster.**  ", "3 blocks  ", "B may lose data.  ", "", "- Rate: **10 tps** of 3", "",
        "![B is faster.](<out dir/ab.svg>)", "", "A note.", "", "warning: Careful.", "", "- one", "- two", "", "- **A** old", "",
        "<details>", "<summary>rates</summary>", "", "| scale | tps |", "|---|--:|", "| 1 | 1,234 |", "| 2 | – |", "", "</details>", "",
        "<details>", "<summary>More</summary>", "", "- warning (A): short; repeat", "- VOID: lost", "", "</details>",
    ]  # fmt: skip


def test_nothing_in_a_name_is_a_mark_a_tag_or_a_person() -> None:
    assert escape("a|b *c* _d_ `e` [f](g) <img>") == r"a\|b \*c\* \_d\_ \`e\` \[f\](g) \<img\>"
    assert escape("thanks @somebody, private:postgresql@15") == "thanks @\u200bsomebody, private:postgresql@15"
    assert escape("two\nlines") == "two lines"
    title = render_markdown([Table("<script>@x", (Column("", left=True),), [("<b>",)])])
    assert "<summary>&lt;script&gt;@\u200bx</summary>" in title
    assert r"| \<b\> |" in title


def test_a_comparison_is_printed_with_its_picture(called: Program, tmp_path: Path) -> None:
    for label, ms in (("old", 2), ("new", 1)):
        cycles = {"cycles": [cycle_row(1, number, [ms * MS] * 100) for number in range(1, 6)]}
        write(tmp_path, run_json({"scales": [1], "cycles": 5, "duration": 1.0, "label": label}, name=label), cycles)
    done = called("compare", str(tmp_path / "old"), str(tmp_path / "new"), "--out", "o", "--markdown")
    assert done.returncode == 0, done.stderr
    assert "\n![" in done.stdout
    assert "](<o/comparison" in done.stdout
    assert done.stdout.rstrip().endswith("Page: o/comparison.html")
    assert "\x1b" not in done.stdout
    both = called("compare", str(tmp_path / "old"), str(tmp_path / "new"), "--json", "--markdown")
    assert (both.returncode, "exclude each other" in both.stderr) == (2, True)
