"""Archives that somebody else packed: they take no more room than they say, and reach no other folder."""

from __future__ import annotations

import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dsbench.archive import FORMAT, TABLES, Archive, ArchiveError, Writer, folder, parts
from dsbench.read.evaluation import evaluate
from fixtures import small
from fixtures.program import Program

DATA = Path(__file__).parent / "data"
RUN = json.dumps({"format": FORMAT, "name": "a"}).encode()


def packed(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
        for name, content in files.items():
            pack.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "name",
    [
        "a/results-p/../../PWNED.vl.json", "/results-p.vl.json", "a/./results-p.vl.json", "a//results-p.vl.json",
        "..\\results-p.vl.json", "C:results-p.vl.json", "a/results-\x1b[2J.vl.json",
    ],
)  # fmt: skip
def test_no_name_of_a_file_leads_out_of_the_folder(called: Program, tmp_path: Path, name: str) -> None:
    evil = packed(tmp_path / "evil.zip", **{"a/run.json": RUN, name: b"{}"})
    for command in (["show", evil], ["plot", evil, "--out", "out"]):
        done = called(*map(str, command))
        assert done.returncode == 2
        assert "which would be outside of it" in done.stderr
        assert "\x1b" not in done.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["evil.zip"]


def test_a_report_is_written_to_its_folder_alone(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="is not a valid file name"):
        Writer(tmp_path).text("results-../../x.svg", "")


def test_what_unpacks_to_much_more_is_not_unpacked(called: Program, tmp_path: Path) -> None:
    bombs = {
        "run.json": {"a/run.json": b" " * 100_000_000},
        "files": {f"a/{number}": b" " * 16_000_000 for number in range(5)} | {"a/run.json": RUN},
    }
    for name, files in bombs.items():
        path = packed(tmp_path / f"{name}.zip", **files)
        files.clear()
        tracemalloc.start()
        done = called("show", str(path))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (done.returncode, most < 20_000_000) == (2, True), most
        assert "is not unpacked: " in done.stderr
        assert "hint: if you trust it, unpack it" in done.stderr


@pytest.mark.parametrize(("limit", "words"), [("MOST_FILES", "it holds 10 files"), ("_LISTING", r"its listing has \d+ bytes")])
def test_as_many_files_as_no_run_leaves_are_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, words: str
) -> None:
    path = packed(tmp_path / "many.zip", **{"a/run.json": RUN}, **{f"a/{n}": b"" for n in range(9)})
    assert Archive.open(path)
    monkeypatch.setattr(f"dsbench.archive.reader.{limit}", 9)
    with pytest.raises(ArchiveError, match=f"{words}, more than 9") as refused:
        Archive.open(path)
    assert refused.value.usage


def test_a_large_description_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "run.json").open("wb") as file:
        file.truncate(700_000_000)
    with pytest.raises(ArchiveError, match="has 700000000 bytes, more than"):
        Archive.open(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PK", b"PK\x05\x06" + b"\xff" * 18, b"no zip at all"])
def test_what_is_no_zip_is_told(called: Program, tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(damage)
    done = called("show", "a.zip")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
    assert done.stderr.startswith("error: a.zip is not a dsbench archive, or is damaged: ")


def test_a_zip_that_is_damaged_anywhere_is_read_or_told(tmp_path: Path) -> None:
    whole = small.archive(tmp_path / "whole", sealed=True).path.read_bytes()
    path, told = tmp_path / "damaged.zip", 0
    for at in range(0, len(whole), len(whole) // 60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            evaluate(Archive.open(path))
        except ArchiveError as error:
            told += error.usage
    assert told > 20


def with_cycles(folder: Path, rows: pa.Table, **options: Any) -> Archive:
    """An archive with these cycles."""
    folder.mkdir()
    (folder / "run.json").write_bytes(RUN)
    pq.write_table(rows, folder / "cycles.parquet", **options)
    return Archive.open(folder)


def test_a_table_that_would_become_much_larger_is_not_read(tmp_path: Path) -> None:
    rows = pa.table({"committed": pa.array(np.zeros(10_000_000, dtype=np.uint64))})
    with pytest.raises(ArchiveError, match=r"cycles.parquet: its \d+ bytes would become \d+, more than"):
        with_cycles(tmp_path / "rows", rows, compression="zstd").table("cycles")
    many = pa.table({"committed": pa.array(np.zeros(1001, dtype=np.uint64))})
    with pytest.raises(ArchiveError, match=r"cycles.parquet: it has 1001 row groups, more than 1000"):
        with_cycles(tmp_path / "groups", many, row_group_size=1).table("cycles")
    long = pa.DictionaryArray.from_arrays(np.zeros(10_000, dtype=np.int32), ["x" * 100_000])
    with pytest.raises(ArchiveError, match=r"cycles.parquet: its \d+ bytes would become 1000000000, more than"):
        with_cycles(tmp_path / "texts", pa.table({"node": long})).table("cycles")


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("scale", ["one"], "the column scale is of type"),
        ("stage", [5], "the column stage is of type int64, not dictionary"),
        ("kind", [["a"]], "the column kind is of type list"),
        ("stage", pa.array([b"\xff"]).view(pa.string()), "the column stage has invalid text"),
        ("scale", pa.array([None], pa.uint32()), "the column scale has rows without a value"),
        ("client", [4_000_000_000], "the column client has impossible numbers: 4000000000"),
        ("committed", [2**60], "the column committed has impossible numbers"),
        ("committed", [-1], "is damaged: "),
    ],
)
def test_a_table_with_other_types_or_numbers_is_told(
    tmp_path: Path, column: str, values: Any, words: str
) -> None:
    whole = ("scale", "cycle", "client", "clients", "residence_ns", "first_start_ns", "last_end_ns")
    names = {name: pa.array([name]) for name in ("node", "stage", "group")}
    rows = pa.table({key: pa.array([1], pa.uint32()) for key in whole} | names)
    rows = rows.drop_columns([column] if column in rows.column_names else [])
    with pytest.raises(ArchiveError, match=words) as told:
        with_cycles(tmp_path / "a", rows.append_column(column, pa.array(values))).table("cycles")
    assert told.value.usage
    assert set(TABLES["cycles"].names) > {column}


NEEDED = [(table, column) for table, columns in parts._TOLD_IN.items() for column in columns]


@pytest.mark.parametrize(("table", "column"), NEEDED)
def test_a_column_that_figures_need_is_asked_for_by_name(table: str, column: str) -> None:
    schema = TABLES[table]
    row = {field.name: "x" if pa.types.is_dictionary(field.type) or pa.types.is_string(field.type) else 1 for field in schema}
    rows = pa.Table.from_pylist([row], schema=schema)
    assert parts.table_of(table, _parquet(rows), "here").num_rows == 1
    with pytest.raises(ArchiveError, match=f"here: the column {column} is not there"):
        parts.table_of(table, _parquet(rows.drop_columns([column])), "here")
    with pytest.raises(ArchiveError, match=f"here: the column {column} has rows without a value"):
        parts.table_of(table, _parquet(pa.Table.from_pylist([{**row, column: None}], schema=schema)), "here")


def _parquet(rows: pa.Table) -> bytes:
    made = io.BytesIO()
    pq.write_table(rows, made)
    return made.getvalue()


def test_show_tells_of_a_column_that_is_missing(called: Program, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(DATA / "published/pg-open.zip") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("programs.parquet"):
                content = _parquet(pq.read_table(io.BytesIO(content)).drop_columns(["cpu_ns"]))
            new.writestr(name, content)
    done = called("show", str(path))
    assert done.returncode == 2
    assert "programs.parquet: the column cpu_ns is not there" in " ".join(done.stderr.split())


def test_a_damaged_table_is_told(called: Program, tmp_path: Path) -> None:
    folder = small.archive(tmp_path / "out").path
    part = next((folder / "cycles").iterdir())
    part.write_bytes(part.read_bytes()[:-9] + b"damaged!!")
    done = called("show", str(folder))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2), done.stderr
    assert f"cycles/{part.name} is damaged: " in done.stderr


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"nodes": 2**31}, "--nodes: must be 100000 or less"),
        ({"clients": [5, 3]}, "--clients: several numbers of clients must be in ascending order"),
        ({"isolation": "dirty"}, "--isolation: "),
        ({"workload_settings": {"a": 1}}, "field spec.workload_settings.a is 1"),
    ],
)
def test_a_run_that_asks_for_what_cannot_be_is_not_resumed(
    called: Program, tmp_path: Path, spec: dict[str, Any], words: str
) -> None:
    described = {"format": FORMAT, "name": "a", "status": "failed", "spec": {"target": {"url": "mock:"}, **spec}}
    (tmp_path / "run.json").write_text(json.dumps(described))
    done = called("run", "--resume", str(tmp_path))
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert len(done.stderr.splitlines()) in (1, 2)


def _stranger(tmp_path: Path) -> Path:
    """The folder of a small archive with something beside it that nobody may read or write through it."""
    (tmp_path / "secret").write_text("secret")
    return small.archive(tmp_path / "out").path


@pytest.mark.parametrize("name", ["run.json", "report.html", "cycles.parquet"])
def test_a_link_in_an_archive_is_not_followed(tmp_path: Path, name: str) -> None:
    path = _stranger(tmp_path)
    (path / name).unlink(missing_ok=True)
    (path / name).symlink_to(tmp_path / "secret")
    with pytest.raises(ArchiveError, match="is a link"):
        Archive(path).read(name)
    assert name not in Archive(path).names()


def test_what_is_written_to_an_archive_goes_through_no_link(tmp_path: Path) -> None:
    path = _stranger(tmp_path)
    for name in ("results.txt", "results.txt.part", "results.log"):
        (path / name).symlink_to(tmp_path / "secret")
    (tmp_path / "out" / f"{path.name}.zip.part").symlink_to(tmp_path / "secret")
    writer = Writer(path)
    writer.text("results.txt", "figures")
    with pytest.raises(ArchiveError, match="is a link"):
        writer.log("a line")
    sealed = writer.seal()
    assert (path / "results.txt").read_text() == "figures"
    assert (tmp_path / "secret").read_text() == "secret"
    with zipfile.ZipFile(sealed) as pack:
        assert f"{path.name}/results.log" not in pack.namelist()
    (tmp_path / "cycles").mkdir()
    (path / "cycles").symlink_to(tmp_path / "cycles")
    with pytest.raises(ArchiveError, match="is a link"):
        writer.table("cycles", "part", Archive(path).table("cycles"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has none")
def test_a_pipe_in_an_archive_is_refused_at_once(tmp_path: Path) -> None:
    path = _stranger(tmp_path)
    os.mkfifo(path / "results.csv")
    with pytest.raises(ArchiveError, match="not a regular file"):
        Archive(path).read("results.csv")
    (path / "run.json").unlink()
    os.mkfifo(path / "run.json")
    with pytest.raises(ArchiveError, match=r"no archive|not a regular file"):
        Archive.open(path)


def test_a_file_of_an_archive_has_a_size_that_it_may_not_exceed(tmp_path: Path) -> None:
    path = _stranger(tmp_path)
    for name in ("results.csv", "report.html", "cycles.parquet"):
        with (path / name).open("wb") as file:
            file.truncate(folder.largest(name) + 1)
        with pytest.raises(ArchiveError, match=rf"{name} has \d+ bytes, more than {folder.largest(name)}"):
            Archive(path).read(name)


def test_a_table_has_a_number_of_rows_that_it_may_not_exceed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _stranger(tmp_path)
    rows = Archive(path).table("cycles")
    writer = Writer(path)
    for part in ("again", "and-again"):
        writer.table("cycles", part, rows)
    monkeypatch.setattr("dsbench.archive.parts._ROWS", 2 * rows.num_rows)
    with pytest.raises(ArchiveError, match=rf"small has \d+ rows of the table cycles, more than {2 * rows.num_rows}"):
        Archive(path).table("cycles")
    monkeypatch.setattr("dsbench.archive.parts._ROWS", rows.num_rows - 1)
    with pytest.raises(ArchiveError, match=r"it has \d+ rows of the table cycles, more than"):
        Archive(path).table("cycles")


def test_what_others_put_into_an_archive_outlives_its_sealing(tmp_path: Path) -> None:
    path = _stranger(tmp_path)
    (path / "film.part").write_text("mine")
    writer = Writer(path)
    writer.table("cycles", "part", Archive(path).table("cycles"))
    (path / "cycles" / "notes.txt").write_text("mine")
    writer.seal()
    assert (path / "film.part").read_text() == "mine"
    assert (path / "cycles" / "notes.txt").read_text() == "mine"
    assert not list(path.glob("cycles/*.parquet"))
