"""The answer for a pull request."""

from __future__ import annotations

from pathlib import Path

from dsbench.read.blocks import Column, Notice, Notices, Overview, Part, Sentence, Table, Terms
from dsbench.read.markdown import render_comment, render_markdown
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.program import Program


def test_the_answer_stands_and_the_rest_is_folded() -> None:
    table = Table("rates & more", (Column("scale", left=True), Column("tps")), [("1", 1234.5), ("2", None)])
    text = render_comment([
        Overview("B is faster.", "3 blocks", ["B may lose data."], verdict=["Not valid."]), Terms([("A", "old"), ("B", "")]), table,
        Part("Warnings", [Notices([Notice("short", ("A",), "repeat")])]), Sentence("A note.", "note"), Part("Nothing", []),
    ])  # fmt: skip
    assert text.splitlines() == [
        "Not valid.", "", "**B is faster.**", "", "3 blocks", "", "B may lose data.", "", "", "- **A**: old", "",
        "<details><summary>rates &amp; more</summary>", "", "| scale | tps |", "| :--- | ---: |", "| 1 | 1,234 |", "| 2 | – |", "", "</details>",
        "", "<details><summary>Warnings</summary>", "", "- **warning (A)**: short", "  repeat", "", "</details>", "", "A note.",
    ]  # fmt: skip


def test_nothing_in_a_name_is_a_mark_a_tag_or_a_person() -> None:
    text = render_markdown([Sentence("*c* _d_ `e` [f](g) <img> thanks @somebody, private:postgresql@15")])
    assert text == "\\*c\\* \\_d\\_ \\`e\\` \\[f](g) \\<img> thanks @\u200bsomebody, private:postgresql@15"
    folded = render_comment([Table("<script>@x", (Column("", left=True),), [("<b>",)])])
    assert "<summary>&lt;script&gt;@\u200bx</summary>" in folded


def test_a_comparison_is_printed_for_a_pull_request(called: Program, tmp_path: Path) -> None:
    for label, ms in (("old", 2), ("new", 1)):
        cycles = {"cycles": [cycle_row(1, number, [ms * MS] * 100) for number in range(1, 6)]}
        write(tmp_path, run_json({"scales": [1], "cycles": 5, "duration": 1.0, "label": label}, name=label), cycles)
    archives = str(tmp_path / "old"), str(tmp_path / "new")
    done = called("compare", *archives, "--as", "markdown")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("**No difference of more than 0.0%: new is 1.00 times as fast as old"), done.stdout
    assert "<details><summary>relative rates" in done.stdout
    assert "\x1b" not in done.stdout
    both = called("compare", *archives, "--json", "--as", "markdown")
    assert (both.returncode, "--as markdown and --json exclude each other" in both.stderr) == (2, True)
