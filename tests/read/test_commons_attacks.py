"""What a stranger may send to a commons in place of an honest entry: refused with a sentence, at little cost."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from tests.read.doctored.copies import Copy

from dsbench.archive import TABLES, Archive
from dsbench.commons.about import EntryError, PublisherNotes
from dsbench.commons.audit import audit
from dsbench.commons.entry import Package, write
from dsbench.commons.packing import prepare
from dsbench.commons.site import Verified, build, check
from dsbench.commons.verifying import verify
from fixtures.program import Program

DATA = Path(__file__).parents[1] / "data"
Parts = dict[str, bytes]


@pytest.fixture(scope="module")
def honest() -> Package:
    return prepare(DATA / "archives/sqlite-clients.zip", PublisherNotes())


def _parts(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def _zip(parts: Parts, *more: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
        for member, content in more:
            file.writestr(member, content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def _packaged(honest: Package, content: bytes) -> Package:
    """An entry whose digest and name are made again."""
    digest = hashlib.sha256(content).hexdigest()
    told = {"sha256": digest, "id": f"{honest.entry.id[:-10]}{digest[:10]}"}
    return Package(honest.entry.model_copy(update=told), content, {})


def _instead(table: str, content: Callable[[Parts], bytes]) -> Callable[[Parts], bytes]:
    """The zip with other content in one of its files."""

    def attack(parts: Parts) -> bytes:
        name = next(name for name in parts if name.endswith(table))
        return _zip({**parts, name: content(parts)})

    return attack


def _link(name: str, leads: str) -> tuple[zipfile.ZipInfo, bytes]:
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return member, leads.encode()


def _linked(parts: Parts) -> bytes:
    """A table is a link to a file of the machine that checks; its bytes are those of the table."""
    name = next(name for name in parts if name.endswith("cycles.parquet"))
    member, _ = _link(name, "")
    return _zip({one: content for one, content in parts.items() if one != name}, (member, parts[name]))


def _parquet(rows: int) -> bytes:
    """A table of ``rows`` that are all alike: next to nothing on disk."""
    schema = TABLES["seconds"]
    texts = {"stage": "load", "node": "local", "group": "all", "kind": "tpcb"}
    columns = []
    for field in schema:
        value = texts.get(field.name, 1) if not pa.types.is_integer(field.type) else 1
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        columns.append(pa.repeat(pa.scalar(value, kind), rows).cast(field.type)
                       if kind == field.type else pa.repeat(pa.scalar(value, kind), rows))  # fmt: skip
    made = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, names=schema.names), made, compression="zstd")
    return made.getvalue()


def _two_files(parts: Parts) -> bytes:
    """Two files of one name, of which programs read another one each."""
    name = next(name for name in parts if name.endswith("run.json"))
    with pytest.warns(UserWarning, match="Duplicate"):
        return _zip(parts, (zipfile.ZipInfo(name), b"{}"))


ZIPS: dict[str, tuple[Callable[[Parts], bytes], str]] = {
    "a link in the place of a table": (_linked, "is a link"),
    "a link beside the tables": (lambda parts: _zip(parts, _link("x/etc.parquet", "/etc/passwd")), "is a link"),
    "an absolute path": (lambda parts: _zip(parts, (zipfile.ZipInfo("/etc/passwd"), b"x")), "would be outside of it"),
    "a path that climbs": (lambda parts: _zip(parts, (zipfile.ZipInfo("x/../../y"), b"x")), "would be outside of it"),
    "a path of Windows": (lambda parts: _zip(parts, (zipfile.ZipInfo("C:/y"), b"x")), "would be outside of it"),
    "a file twice": (_two_files, "two files called"),
    "a file that becomes two hundred times as large": (_instead("run.json", lambda _: bytes(2**27)), "bytes unpacked, more"),
    "a table that becomes thousands of times as large": (_instead("seconds.parquet", lambda _: _parquet(1_900_000)),
                                                         "would become"),
    "a table of endless rows": (_instead("seconds.parquet", lambda _: _parquet(2_000_001)), "an entry at most 2,000,000"),
    "a table that announces another one": (_instead("cycles.parquet", lambda _: _parquet(200_001)), "an entry at most 200,000"),
    "a run.json of brackets": (_instead("run.json", lambda _: b"[" * 10_000_000), "run.json cannot be read"),
    "a run.json of names": (_instead("run.json", lambda _: b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
                            "run.json cannot be read"),
    "a zip in a zip": (lambda parts: _zip(parts, (zipfile.ZipInfo("x/more.zip"), _zip(parts))), "which no entry has"),
    "no zip": (lambda _: b"PK\x03\x04" + bytes(1000), "not a dsbench archive"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ZIPS)
def test_an_archive_that_harms_who_opens_it_is_refused(attack: str, honest: Package, tmp_path: Path) -> None:
    doctor, said = ZIPS[attack]
    folder = write(_packaged(honest, doctor(_parts(honest.archive))), tmp_path)
    with pytest.raises(EntryError, match=said) as refused:
        verify(folder)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500
    found = check(tmp_path)
    assert (found.sound, len(found.refused)) == ((), 1)


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


JSONS: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    "nested without end": (lambda entry: json.dumps(entry).replace('"hidden": [', f'"figures": {_deep(200_000)}, "hidden": ['),
                           "recursion"),
    "larger than it may be": (lambda entry: json.dumps(entry) + " " * 2**20, "larger than 1 MiB"),
    "a name that climbs": (lambda entry: json.dumps({**entry, "id": f"../../{entry['id']}"}), "id: "),
    "a name that is absolute": (lambda entry: json.dumps({**entry, "id": f"/tmp/{entry['id']}"}), "id: "),
    "a name with a line more": (lambda entry: json.dumps({**entry, "id": f"{entry['id']}\n"}), "id: "),
    "a price of next to nothing": (
        lambda entry: json.dumps({**entry, "about": {**entry["about"], "price": {"per_hour": 1e-320, "currency": "USD"}}}),
        "price"),
    "the name of another": (lambda entry: json.dumps({**entry, "id": f"19990101-x-y-{'0' * 10}"}), "is the entry 19990101"),
}  # fmt: skip


@pytest.mark.parametrize("attack", JSONS)
def test_a_description_that_harms_who_reads_it_is_refused(attack: str, honest: Package, tmp_path: Path) -> None:
    doctor, said = JSONS[attack]
    path = write(honest, tmp_path) / "entry.json"
    path.write_text(doctor(json.loads(path.read_text())))
    found = check(tmp_path)
    assert found.sound == ()
    (sentence,) = found.refused
    assert said in sentence
    assert len(sentence) < 500
    site = build(tmp_path, tmp_path.with_name(f"{tmp_path.name}-site"))
    assert not list(site.path.parent.glob("entries/*"))
    assert site.verified.sound == ()


def test_what_leads_elsewhere_is_no_entry(honest: Package, tmp_path: Path) -> None:
    """A link to the entries of somebody else, to one entry, and to a file that is not there."""
    other, mine = tmp_path / "other", tmp_path / "mine"
    entry = write(honest, other)
    (mine / "entries").mkdir(parents=True)
    (mine / "entries" / entry.name).symlink_to(entry)
    (mine / "entries" / "nowhere").symlink_to(tmp_path / "absent")
    (mine / "entries" / "notes.txt").write_text("x")
    found = check(mine)
    assert found.sound == ()
    assert sorted(found.refused) == [
        f"entries/{name!r} is a {what}, and an entry is a folder"
        for name, what in ((entry.name, "link"), ("notes.txt", "file"), ("nowhere", "link"))
    ]
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "entries").symlink_to(other / "entries")
    with pytest.raises(EntryError, match="entries is a link"):
        check(tmp_path / "whole")


@pytest.mark.parametrize("name", ["x\x1b]0;owned\x07\x1b[31mred", "20261127-a-b-\n1 of 1 entry holds", "\u202egnp"])
def test_the_name_of_a_folder_does_nothing_to_a_terminal(name: str, tmp_path: Path, called: Program) -> None:
    (tmp_path / "entries" / name).mkdir(parents=True)
    done = called("commons", "check", str(tmp_path))
    assert done.returncode == 1
    first, last = done.stderr.splitlines()
    assert first.isprintable()
    assert first.startswith(f"refused: entries/{name!r} has no entry.json")
    assert last == "0 of 1 entry holds"


def test_what_an_archive_says_does_nothing_to_a_terminal(honest: Package, tmp_path: Path, called: Program) -> None:
    def lie(parts: Parts) -> bytes:
        run = json.loads(next(content for name, content in parts.items() if name.endswith("run.json")))
        run |= {"status": "\x1b[2J\n::error::owned"}
        return _instead("run.json", lambda _: json.dumps(run).encode())(parts)

    write(_packaged(honest, lie(_parts(honest.archive))), tmp_path)
    done = called("commons", "check", str(tmp_path))
    assert done.returncode == 1
    assert all(line.isprintable() for line in done.stderr.splitlines())
    assert len(done.stderr.splitlines()) == 2


INVISIBLE = (
    "\xad\u034f\u061c\u115f\u1160\u180e\u200b\u202e\u2028\u206a\u2800\u3164\ufe0f\ufeff\uffa0\U000e0041\U000e0100\x1b\x85\ue000"
)


@pytest.mark.parametrize("field", ["by", "machine", "notes"])
def test_letters_that_nobody_sees_are_refused(field: str) -> None:
    for letter in INVISIBLE:
        with pytest.raises(ValidationError, match="invisible characters"):
            PublisherNotes.model_validate({field: f"m7g{letter}.large"})
    assert getattr(PublisherNotes.model_validate({field: "Zoë Жук, 林檎"}), field) == "Zoë Жук, 林檎"


@pytest.mark.parametrize("name", ["m7g.lаrge", "Αda", "ｍ7g", "𝗆7g", "m7g․large"])
def test_two_names_that_look_alike_are_not_two_machines(name: str) -> None:
    for field in ("by", "machine"):
        with pytest.raises(ValidationError, match="look-alike letters"):
            PublisherNotes.model_validate({field: name})


def test_one_name_is_one_machine_however_its_spaces_are_typed() -> None:
    assert PublisherNotes(machine=" m7g\xa0 large\t").machine == PublisherNotes(machine="m7g large").machine
    assert PublisherNotes(by="Zoe\u0308").by == "Zoë"


@pytest.mark.parametrize("left", ["a folder", "half an archive", "an archive alone", "another archive"])
def test_half_an_entry_is_no_published_run(left: str, honest: Package, tmp_path: Path, called: Program) -> None:
    folder = tmp_path / "entries" / honest.entry.id
    folder.mkdir(parents=True)
    if left != "a folder":
        half = {"half an archive": honest.archive[:16_384], "an archive alone": honest.archive, "another archive": b"PK"}
        (folder / "archive.zip").write_bytes(half[left])
    if left == "another archive":
        (folder / "entry.json").write_text(honest.entry.rendered())
    words = ("commons", "publish", str(DATA / "archives/sqlite-clients.zip"), "--to", str(tmp_path))
    done = called(*words)
    assert done.returncode == 2
    assert f"{honest.entry.id} is an incomplete entry" in " ".join(done.stderr.split())
    assert "remove that folder, and publish again" in done.stderr
    shutil.rmtree(folder)
    assert called(*words).returncode == 0
    assert verify(folder)
    again = called(*words)
    assert (again.returncode, again.stdout) == (0, "")
    assert "this run is published" in again.stderr


def test_a_disk_that_is_full_leaves_no_entry(
    honest: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:16_384])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(EntryError, match="No space left on device"):
            write(honest, tmp_path)
    assert list((tmp_path / "entries").iterdir()) == []
    (tmp_path / "entries" / f".{honest.entry.id}.part").mkdir()  # What a kill leaves is no entry, and in nobody's way.
    assert check(tmp_path) == Verified()
    assert verify(write(honest, tmp_path))


def test_queries_whose_times_were_all_shrunk_are_refused(tmp_path: Path) -> None:
    """Every time that a client took, its histogram, its course, the length of its stage: all by two, so that they agree."""
    assert audit(Archive.open(DATA / "published/tpch.zip")) == []
    copy = Copy(DATA / "published/tpch.zip")
    shrunk = {
        "cycles": ("residence_ns", "response_ns", "residence_min_ns", "residence_max_ns", "first_start_ns", "last_end_ns",
                   "failed_ns"),
        "buckets": ("low_ns", "high_ns"), "seconds": ("p50_ns", "p99_ns", "max_ns"), "groups": ("duration_ns",),
    }  # fmt: skip
    for table, names in shrunk.items():
        for row in copy.tables[table]:
            row.update({name: row[name] // 2 for name in names if row.get(name) is not None})
            if table == "buckets":
                _to_bounds(row)
            if table == "seconds":
                row["second"] //= 2
    assert "around cycles" in _broken(copy, tmp_path)


def test_queries_whose_times_were_made_uneven_are_refused(tmp_path: Path) -> None:
    """The power of TPC-H is a geometric mean: it rises where all queries of a stream but the longest take half of their time,
    and that one what they took less, so that the stream lasts as long."""
    copy = Copy(DATA / "published/tpch.zip")
    keys = ("scale", "stage", "cycle", "node", "clients", "group")
    streams: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in copy.tables["cycles"]:
        if row["committed"] == 1:
            streams.setdefault((*(row[key] for key in keys), row["client"]), []).append(row)
    streams = {key: rows for key, rows in streams.items() if len(rows) > 2}
    assert streams
    for stream in streams.values():
        *others, longest = sorted(stream, key=lambda one: int(one["residence_ns"]))
        saved = sum(row["residence_ns"] // 2 for row in others)
        for row in stream:
            time = row["residence_ns"] + saved if row is longest else row["residence_ns"] - row["residence_ns"] // 2
            row.update(dict.fromkeys(("residence_ns", "residence_min_ns", "residence_max_ns", "response_ns"), time))
            where = {**{key: row[key] for key in keys}, "kind": row["kind"]}
            for table, names in {"buckets": ("low_ns", "high_ns"), "seconds": ("p50_ns", "p99_ns", "max_ns")}.items():
                for one in copy.at(table, **where):
                    one.update(dict.fromkeys(names, time))
    assert "times" in _broken(copy, tmp_path)


def _broken(copy: Copy, tmp_path: Path) -> set[str]:
    """The rules that it does not keep."""
    path = tmp_path / "copy.zip"
    path.write_bytes(copy.packed())
    return {wrong.rule for wrong in audit(Archive.open(path))}


def _to_bounds(row: dict[str, Any]) -> None:
    """A bucket of the halved times has the bounds that a histogram of dsbench has there, unless a time ends it."""
    width = 1 << max(row["low_ns"].bit_length() - 11, 0)
    if row["high_ns"] - row["low_ns"] + 1 >= width:
        row["low_ns"] -= row["low_ns"] % width
        row["high_ns"] = row["low_ns"] + width - 1
