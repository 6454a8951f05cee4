"""The archives of a folder: what is told of them, and what is deleted."""

from __future__ import annotations

import os
import zipfile
from collections import Counter
from pathlib import Path
from shutil import copy

import pytest

import dsbench
from dsbench.archive import Archive, ArchiveError, claimed
from dsbench.read import finish
from dsbench.read.answer import answer
from dsbench.read.blocks import Overview
from dsbench.read.evaluation import evaluate
from dsbench.read.html import render_blocks
from dsbench.read.page import show_answer
from dsbench.read.verdict import Soundness, judge_run
from dsbench.web.shelf import Note, Shelf
from fixtures import small

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
    assert books["pg"].figure == "370 tps"
    assert [scale for scale, _ in books["pg"].curve] == [1, 2, 3]
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
    assert shelf.remove("pg") == []
    assert not (folder / "pg.zip").exists()
    assert shelf.notes() == {}


def test_an_archive_that_is_being_written_stays(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    with claimed(run), pytest.raises(ArchiveError, match="still in progress"):
        Shelf(tmp_path).remove("run")
    assert run.is_dir()


def test_only_what_dsbench_wrote_is_deleted(tmp_path: Path) -> None:
    run = small.archive(tmp_path / "home").path
    shelf = Shelf(run.parent)
    for name in ("thesis/chapter.tex", "cycles/own.txt", "sales.parquet", "photo.part", "results.doc"):
        (run / name).parent.mkdir(exist_ok=True)
        (run / name).write_text("mine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.parquet").write_text("mine")
    (run / "trace").symlink_to(elsewhere)
    (run / "results.txt").write_text("figures")
    left = shelf.remove(run.name)
    assert left == [f"{run.name}/{name}" for name in ("cycles", "photo.part", "results.doc", "sales.parquet", "thesis", "trace")]
    assert sorted(path.name for path in run.rglob("*") if path.is_file()) == [
        "chapter.tex", "own.txt", "photo.part", "results.doc", "sales.parquet",
    ]  # fmt: skip
    assert (elsewhere / "a.parquet").is_file()


def test_a_zip_with_other_files_stays(tmp_path: Path) -> None:
    copy(STORED / "pg.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "pg.zip", "a") as pack:
        pack.writestr("pg/thesis.tex", "mine")
    assert Shelf(tmp_path).remove("pg") == ["pg.zip with thesis.tex"]
    assert (tmp_path / "pg.zip").is_file()


def test_many_archives_are_looked_at_once_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        (tmp_path / f"{number:03}").mkdir()
        (tmp_path / f"{number:03}" / "run.json").write_text("{}")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    shelf, looked = Shelf(tmp_path), Counter[str]()
    stat = Path.stat

    def counted(path: Path, **more: bool) -> os.stat_result:
        looked[path.name] += 1
        return stat(path, **more)

    monkeypatch.setattr(Path, "stat", counted)
    assert len(shelf.books()) == 50
    first = looked.total()
    looked.clear()
    assert len(shelf.books()) == 50
    assert looked.total() <= 51 < first


def test_each_archive_tells_what_its_workload_counts(tmp_path: Path) -> None:
    """Figures of another unit stand elsewhere in the order: a rate of one is no more than a rate of another."""
    told: dict[str, list[str]] = {}
    judged: dict[str, Soundness] = {}
    for stored in ("pg-tpcc", "../published/tpch", "mock-tpcc", "pg"):
        archive = Archive.open(STORED / f"{stored}.zip")
        folder = tmp_path / archive.path.stem
        folder.mkdir()
        for name in ("run.json", "results.csv"):
            (folder / name).write_bytes(archive.read(name))
        (folder / "report.html").write_text(f"<main>{show_answer(evaluate(archive), archive.run)}</main>")
        judged[folder.name] = judge_run(evaluate(archive), archive.run).soundness
        shown = answer(evaluate(archive), archive.run)
        told[folder.name] = [line for line in (*shown.verdict, *shown.dangers) if line != "Valid."]
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "run.json").write_bytes((tmp_path / "pg" / "run.json").read_bytes())
    books = Shelf(tmp_path).books()
    assert {book.name: list(book.dangers) for book in books if book.answer} == told
    assert any(told.values())
    assert {book.name: book.soundness for book in books if book.answer} == judged
    assert {book.name: book.figure for book in books} == {
        "pg-tpcc": "4,140 NOPM", "tpch": "470.8 QphH-like", "mock-tpcc": "26,200 NOPM", "pg": "370 tps", "bare": "",
    }  # fmt: skip
    by_place = [book.name for book in sorted(books, key=lambda book: book.place)]
    assert by_place == ["mock-tpcc", "pg-tpcc", "tpch", "pg", "bare"]


def test_a_run_without_a_report_is_told_as_one_with_it(tmp_path: Path) -> None:
    archive = dsbench.run("mock:?latency_us=300", scales=(1, 2), cycles=2, duration=0.2, clients=1, out=tmp_path, report=False)
    (book,) = Shelf(tmp_path).books()
    assert (book.answer, book.soundness) != ("", None)
    finish.plot(archive.path, None, fresh=True)
    (drawn,) = Shelf(tmp_path).books()
    assert drawn == book


def test_the_sentence_of_a_report_is_text(tmp_path: Path) -> None:
    run = small.archive(tmp_path).path
    danger = '<p class="foreign" role="note">{}</p>'
    (run / "report.html").write_text(
        f"<main><header><h1>Does &lt;5&gt; <b>tps</b>.</h1>{danger.format('Others &amp; more.')}</header>"
        f"{danger.format('Elsewhere.')}</main>"
    )
    book = Shelf(tmp_path).book(run.name)
    assert (book.answer, book.dangers, book.soundness) == ("Does <5> tps.", ("Others & more.",), None)


@pytest.mark.parametrize("said", [*Soundness, "best of all"])
def test_the_verdict_of_a_report_is_one_of_those_there_are(said: str, tmp_path: Path) -> None:
    run = small.archive(tmp_path).path
    (run / "report.html").write_text(render_blocks([Overview("It is fast.", soundness=said)]))
    book = Shelf(tmp_path).book(run.name)
    assert (book.answer, book.soundness) == ("It is fast.", said if said in list(Soundness) else None)
