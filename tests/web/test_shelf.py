"""The archives of a folder: what is told of them, and what is deleted."""

from __future__ import annotations

from pathlib import Path
from shutil import copy

import pytest

from dsbench.archive import ArchiveError, claimed
from dsbench.web.shelf import Note, Shelf

STORED = Path(__file__).parents[1] / "data" / "archives"


def test_what_is_told_noted_and_deleted(tmp_path: Path) -> None:
    folder, outside = tmp_path / "archives", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    copy(STORED / "pg.zip", folder)
    copy(STORED / "mock-open.zip", outside / "mine.zip")
    (folder / "broken.zip").write_text("no archive")
    (folder / "link.zip").symlink_to(outside / "mine.zip")
    shelf = Shelf(folder)
    books = {book.name: book for book in shelf.books()}
    assert set(books) == {"pg", "broken", "link"}
    assert books["pg"].best_tps == 496.5
    assert "PostgreSQL" in books["pg"].server
    assert books["broken"].problem
    shelf.write_note("pg", " night, ,night,a b", "<b>")
    assert Shelf(folder).notes() == {"pg": Note(("night", "a b"), "<b>")}
    for wrong in ("../outside/mine", "..", "", ".live", "mine", "pg.zip"):
        with pytest.raises(ArchiveError):
            shelf.remove(wrong)
    with pytest.raises(ArchiveError, match="link"):
        shelf.remove("link")
    assert (outside / "mine.zip").is_file()
    with pytest.raises(ArchiveError, match="not deleted"):
        shelf.remove("broken")
    assert (folder / "broken.zip").is_file()
    shelf.remove("pg")
    assert not (folder / "pg.zip").exists()
    assert shelf.notes() == {}


def test_an_archive_that_is_being_written_stays(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    with claimed(run), pytest.raises(ArchiveError, match="going on"):
        Shelf(tmp_path).remove("run")
    assert run.is_dir()
