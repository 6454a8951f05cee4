"""What readers ask a report for is on its first screen, or one click on it away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.read import page as document
from dsbench.read.evaluation import evaluate
from fixtures.thorough import mostly_thorough
from fixtures.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests/data/published/pg-serializable.zip"

FIGURES = {
    "highest rate": ("", ".tiles p:has-text('Highest rate') strong"),
    "99th percentile": ("", ".tiles p:has-text('99% take at most') strong"),
    "whether to trust them": ("", ".tiles p:has-text('Verdict') strong"),
    "size of the database": ("", "header h1"),
    "parts of a transaction's time": ("", ".time li >> nth=0"),
    "waits by name": (".time a", "#why td:text-matches('^(waits? |on a CPU|[A-Z][A-Za-z]+:)') >> nth=0"),
    "times by size": ("nav a[data-opens=Times]", "#latency tbody tr:first-child td >> nth=1"),
    "CPU time of the server": ("nav a[data-opens=Cost]", "#cost tr:has(th:text-is('server CPU time')) td:nth-child(4) >> nth=0"),
    "reads and writes of the storage": (
        "nav a[data-opens=Cost]", "#cost tr:has(th:text-is('written to disk')) td:nth-child(4) >> nth=0"),
    "CPUs and waits of the machine": ("nav a[data-opens=Machine]", "#machine tbody tr:first-child td >> nth=2"),
    "checks": ("nav a[data-opens=Checks]", "#checks :text-matches('conditions? holds?')"),
    "settings": ("nav a[data-opens=Settings]", "#settings tbody tr:first-child td"),
}  # fmt: skip
"""Name to what is clicked, if anything, and where the figure stands then."""

IN_SIGHT = """element => {
  const {left, right, top, bottom} = element.getBoundingClientRect();
  const seen = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && seen !== null && (element === seen || element.contains(seen));
}"""
"""Whether all of an element is on the screen, and nothing lies over its middle."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    archive = Archive.open(STORED)
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(document.page(evaluate(archive), archive.run), "utf-8")
    return file.as_uri()


@pytest.mark.parametrize(("width", "height"), mostly_thorough([(1440, 900), (390, 844)], (1440, 900)))
def test_each_figure_is_one_click_away_at_most(browser: Any, report: str, width: int, height: int) -> None:
    found: dict[str, bool] = {}
    shown = browser.new_page(viewport={"width": width, "height": height})
    shown.set_default_timeout(PATIENCE_S * 1000)
    for clicked in dict.fromkeys(clicked for clicked, _ in FIGURES.values()):
        shown.goto("about:blank")
        shown.goto(report)
        if clicked:
            link = shown.locator(clicked)
            assert link.evaluate(IN_SIGHT), f"{clicked} is not on the first screen"
            link.click()
            shown.wait_for_function("scrollY > 0")
        for name, figure in ((name, figure) for name, (click, figure) in FIGURES.items() if click == clicked):
            place = shown.locator(figure)
            assert place.inner_text().strip(" –") != ""
            found[name] = place.evaluate(IN_SIGHT)
    assert [name for name, seen in found.items() if not seen] == []
    assert set(found) == set(FIGURES)


def test_large_figures_fit_their_tiles_at_every_width(browser: Any, report: str) -> None:
    shown = browser.new_page()
    shown.goto(report)
    shown.evaluate("document.querySelectorAll('.tiles strong').forEach(figure => figure.textContent = '12,345,678 tps')")
    cut = {}
    for width in (1440, 1200, 1024, 900, 768, 660, 600, 390, 320):
        shown.set_viewport_size({"width": width, "height": 900})
        cut[width] = shown.locator(".tiles strong").evaluate_all(
            "figures => figures.filter(figure => figure.scrollWidth > figure.clientWidth).length")
    assert cut == dict.fromkeys(cut, 0)
