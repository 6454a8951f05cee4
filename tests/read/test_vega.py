"""The script that draws a page's diagrams is made once for all runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import vl_convert

from dsbench import caches
from dsbench.read.draw import render

SPEC = {"$schema": "https://render.github.io/schema/vega-lite/v6.4.json"}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Releases that the converter was asked for; the cache is empty."""
    asked: list[str] = []

    def bundle(_snippet: str, release: str) -> str:
        asked.append(release)
        return "draw('</script><!--')"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setattr(caches, "folder", lambda: tmp_path / "cache")
    return asked


def _script() -> str:
    render._bundle.cache_clear()
    try:
        return str(render.vega(SPEC))
    finally:
        render._bundle.cache_clear()


def test_the_script_is_made_once(made: list[str]) -> None:
    first = _script()
    assert _script() == first
    assert len(made) == 1
    assert "<\\/script><\\!--" in first
    assert "</script" not in first


def test_a_cut_file_is_made_again(made: list[str], tmp_path: Path) -> None:
    first = _script()
    (kept,) = (tmp_path / "cache").rglob("*.js")
    kept.write_text(kept.read_text()[:10])
    assert _script() == first
    assert len(made) == 2
    assert list(kept.parent.iterdir()) == [kept], "nothing unfinished is left"


def test_a_cache_that_cannot_be_written_costs_time_only(made: list[str], tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert _script() == _script()
    assert len(made) == 2
