"""Archives: whole at every moment, the same from folder and zip."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from dsbench.archive import FORMAT, TABLES, Archive, ArchiveError, RunRecord, Writer, errors
from dsbench.archive.asked import Asked
from dsbench.spec import RunSpec, build
from fixtures.program import Program

PHASE = {"scale": 1, "stage": "load", "cycle": 0, "phase": "populate", "duration_ns": 5, "rows": 7, "size_bytes": 0}


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    made = Writer.create(tmp_path, "run")
    made.describe(RunRecord(format=FORMAT, name="run"))
    return made


def test_rows_are_readable_at_once_and_after_sealing(writer: Writer) -> None:
    writer.rows("phases", "a", [PHASE])
    writer.rows("phases", "b", [{**PHASE, "phase": "drop"}])
    for step in (lambda: writer.path, writer.seal):
        table = Archive.open(step()).table("phases")
        assert table.column("phase").to_pylist() == ["populate", "drop"]
        assert table.schema == TABLES["phases"]
    assert not (writer.path / "phases").exists()
    assert Archive.open(writer.path).table("cycles").num_rows == 0


def test_parts_after_a_sealing_are_added(writer: Writer) -> None:
    writer.rows("phases", "a", [PHASE])
    writer.seal()
    writer.rows("phases", "a", [{**PHASE, "rows": 8}])
    assert Archive.open(writer.path).table("phases").column("rows").to_pylist() == [7, 8]
    assert Archive.open(writer.seal()).table("phases").column("rows").to_pylist() == [7, 8]


def test_a_sealing_that_was_killed_between_its_steps_shows_each_row_once(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any of the renames, readers see the same rows, and the next sealing ends it."""
    writer.rows("phases", "a", [PHASE])
    real = os.replace
    for allowed in range(3):
        done = iter(range(allowed))

        def replace(source: Path, target: Path, done: Iterator[int] = done) -> None:
            if next(done, None) is None:
                raise KeyboardInterrupt
            real(source, target)

        monkeypatch.setattr(os, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            writer.seal()
        monkeypatch.setattr(os, "replace", real)
        assert Archive.open(writer.path).table("phases").num_rows == 1, f"after {allowed} renames"
    assert Archive.open(writer.seal()).table("phases").num_rows == 1


def test_a_part_written_again_replaces_the_old_one(writer: Writer) -> None:
    for rows in (1, 2):
        writer.rows("phases", "a", [{**PHASE, "rows": rows}])
    assert Archive.open(writer.path).table("phases").column("rows").to_pylist() == [2]


def test_a_half_written_part_does_not_exist(writer: Writer) -> None:
    writer.rows("phases", "a", [PHASE])
    (writer.path / "phases" / "b.parquet.part").write_bytes(b"PAR1 cut off")
    assert Archive.open(writer.path).table("phases").num_rows == 1


def test_names_do_not_collide(tmp_path: Path) -> None:
    paths = [Writer.create(tmp_path, "run").path.name for _ in range(3)]
    assert paths == ["run", "run-2", "run-3"]


def test_what_is_no_archive_is_told(tmp_path: Path, writer: Writer) -> None:
    with pytest.raises(ArchiveError, match="no archive at"):
        Archive.open(tmp_path / "absent")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(ArchiveError, match="not a dsbench archive"):
        Archive.open(tmp_path / "text.zip")


@pytest.mark.parametrize(("found", "remedy"), [
    (FORMAT + 1, "or a later one"), (0, "another copy"), ("1", "another copy"), (True, "another copy"), (None, "another copy"),
])  # fmt: skip
def test_another_format_is_refused_by_its_number(writer: Writer, found: object, remedy: str, called: Program) -> None:
    (writer.path / "run.json").write_text(json.dumps({"format": found, "name": "run"}))
    done = called("show", str(writer.path))
    assert done.returncode == 2
    assert f"has format {found}, and this dsbench reads format {FORMAT}" in " ".join(done.stderr.split())
    assert remedy in " ".join(done.stderr.split())


def test_a_column_that_was_added_later_is_empty_in_archives_from_before(writer: Writer) -> None:
    rows = pa.Table.from_pylist([PHASE], schema=TABLES["phases"]).drop_columns(["size_bytes"])
    writer.table("phases", "a", rows)
    assert Archive.open(writer.seal()).table("phases").column("size_bytes").to_pylist() == [None]


def test_a_zip_under_another_name_is_read(writer: Writer, tmp_path: Path) -> None:
    packed = writer.seal().rename(tmp_path / "renamed.zip")
    assert Archive.open(packed).run.described() == json.loads((writer.path / "run.json").read_text())
    with zipfile.ZipFile(packed) as pack:
        assert all(name.startswith("run/") for name in pack.namelist())


def test_a_field_of_another_type_is_named(writer: Writer) -> None:
    def told(**fields: object) -> str:
        (writer.path / "run.json").write_text(json.dumps({"format": FORMAT, **fields}))
        with pytest.raises(ArchiveError) as error:
            _ = Archive.open(writer.path).run
        return str(error.value)

    assert told(spec={"duration": "ten"}) == 'run.json: field spec.duration is "ten": must be a number'
    assert told(checks=3) == "run.json: field checks is 3: must be a table of names and values"
    assert told(nodes=[{"name": 5}]) == "run.json: field nodes.0.name is 5: must be text"


def test_what_is_not_there_has_defaults_and_is_not_made_up(writer: Writer) -> None:
    (writer.path / "run.json").write_text(json.dumps({"format": FORMAT, "spec": {"zeal": 1, "workload": "tpcb"}}))
    run = Archive.open(writer.path).run
    assert (run.spec.client_numbers, run.spec.ramp_up, run.spec.rate, run.broken) == ((1,), 0.0, None, {})
    assert run.described() == {"format": FORMAT, "spec": {"zeal": 1, "workload": "tpcb"}}
    noted = run.changed(status="failed", segments=[{"scale": 5, "first_cycle": 3}])
    assert (noted.segments[0].scale, list(noted.described()["spec"])) == (5, ["zeal", "workload"])


def test_what_cannot_be_written_is_told_where_nothing_can_be_removed_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", forbidden)
    with pytest.raises(ArchiveError, match="cannot write"), errors.told(tmp_path / "x", tmp_path / "x.new"):
        forbidden()


def test_what_a_run_was_asked_for_is_read_from_its_record_as_it_was() -> None:
    values = {
        "scales": [1, 3], "cycles": 7, "precision": "1%", "precision_of": "index", "max_cycles": 9, "duration": 2.5, "clients": [2, 4],
        "connections": 3, "retry": True, "max_tries": 5, "arrival": "constant", "rate": 12.5, "ramp_up": 1.5, "levels": [0.5, 0.9],
        "label": "x", "limits": {"cpus": "1.5"}, "storage": "ext4", "probes": "dd", "seed": 3, "driver": "own", "isolation": "serializable",
    }  # fmt: skip
    spec = build({**values, "target": {"url": "private:postgresql"}})
    asked = Asked.model_validate(json.loads(json.dumps(spec.described())))
    assert set(Asked.model_fields) <= set(RunSpec.model_fields), "each is a setting of a run"
    same = {name for name in Asked.model_fields if getattr(asked, name) == getattr(spec, name)}
    assert set(Asked.model_fields) - same == {"target", "clients"}
    assert asked.client_numbers == spec.client_numbers
    assert (asked.described(), list(asked.described())) == (spec.described(), list(spec.described()))
