"""An entry of a commons says what its tables say, hides what it was asked to, and is nothing but two files."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.read.doctored.copies import ARCHIVES, Copy

from dsbench.archive import Archive
from dsbench.commons.about import EntryError, PublisherNotes
from dsbench.commons.entry import CommonsEntry, Package, write
from dsbench.commons.figures import describe, describe_packed
from dsbench.commons.hiding import HIDDEN, Hider
from dsbench.commons.packing import pack, prepare
from dsbench.commons.verifying import verify
from dsbench.library import query
from fixtures.program import Program
from fixtures.thorough import mostly_thorough


@pytest.fixture(scope="module")
def commons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commons")
    write(prepare(ARCHIVES / "sqlite-clients.zip", PublisherNotes(by="somebody")), folder)
    return folder


LIES: dict[str, Callable[[dict[str, Any]], None]] = {
    "another rate": lambda entry: entry["figures"]["rate"].update(value=entry["figures"]["rate"]["value"] * 1.001),
    "another interval": lambda entry: entry["figures"]["rate"].update(low=entry["figures"]["rate"]["value"]),
    "another index": lambda entry: entry["figures"]["dsi"].update(value=99.0),
    "another point": lambda entry: entry["figures"]["curves"][0]["points"][0].__setitem__(2, 10**6),
    "another sentence": lambda entry: entry.update(sentence="SQLite does 1,000,000 transactions per second."),
    "another CPU": lambda entry: entry["system"].update(cpu="Z80"),
    "another product": lambda entry: entry["system"].update(product="SQLite 99"),
    "a durability of its own": lambda entry: entry["conditions"].update(durable=not entry["conditions"]["durable"]),
    "another workload": lambda entry: entry["conditions"].update(workload="select"),
    "another day": lambda entry: entry.update(measured="2020-01-01"),
    "another digest": lambda entry: entry.update(sha256="0" * 64),
    "another isolation": lambda entry: entry["claimed"].update(isolation="read-committed"),
    "a better verdict": lambda entry: entry["verdict"].update(soundness="valid", why=[]),
    "a warning less": lambda entry: entry["warnings"].pop(),
    "a field more": lambda entry: entry.update(award="fastest"),
    "no number": lambda entry: entry["figures"]["rate"].update(value=float("nan")),
    "a rate without end": lambda entry: entry["figures"]["rate"].update(value=float("inf")),
    "a truth for a number": lambda entry: entry["figures"]["rate"].update(scale=True),
    "a password": lambda entry: entry["about"].update(notes="password=tiger"),
    "letters that turn the text around": lambda entry: entry["about"].update(by="\u202egnp.exe"),
    "letters that nobody sees": lambda entry: entry["system"].update(cpu=entry["system"]["cpu"] + "\u200b"),
    "no price": lambda entry: entry["about"].update(price={"per_hour": -1}),
}


@pytest.mark.parametrize("lie", mostly_thorough(LIES, *list(LIES)[::4]))
def test_an_entry_that_says_other_than_its_tables_is_refused(lie: str, commons: Path) -> None:
    (folder,) = (commons / "entries").iterdir()
    path = folder / "entry.json"
    honest = path.read_text()
    assert verify(folder).about.by == "somebody"
    said = json.loads(honest)
    LIES[lie](said)
    path.write_text(json.dumps(said))
    try:
        with pytest.raises(EntryError):
            verify(folder)
    finally:
        path.write_text(honest)


def test_a_replaced_archive_and_its_csv_are_noticed(commons: Path, tmp_path: Path) -> None:
    (folder,) = (commons / "entries").iterdir()
    other = tmp_path / "entries" / folder.name
    other.mkdir(parents=True)
    (other / "entry.json").write_bytes((folder / "entry.json").read_bytes())
    content = Copy(folder / "archive.zip").packed()
    (other / "archive.zip").write_bytes(content)
    with pytest.raises(EntryError, match="wrong digest"):
        verify(other)
    # One who makes the digest again meets results.csv.
    entry = json.loads((folder / "entry.json").read_text())
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    entry["id"] = entry["id"][:-10] + entry["sha256"][:10]
    forged = tmp_path / "entries" / entry["id"]
    forged.mkdir()
    (forged / "entry.json").write_text(json.dumps(entry))
    (forged / "archive.zip").write_bytes(content)
    with pytest.raises(EntryError, match=r"results\.csv does not follow"):
        verify(forged)


def test_an_entry_is_two_files_and_no_link(commons: Path, tmp_path: Path) -> None:
    (folder,) = (commons / "entries").iterdir()
    (tmp_path / folder.name).symlink_to(folder)
    with pytest.raises(EntryError, match="is a link"):
        verify(tmp_path / folder.name)
    more = folder / "report.html"
    more.write_text("<script>")
    try:
        with pytest.raises(EntryError, match=r"contains 'report\.html'"):
            verify(folder)
    finally:
        more.unlink()


def test_an_archive_of_an_entry_holds_nothing_else(tmp_path: Path) -> None:
    package = prepare(ARCHIVES / "sqlite-clients.zip", PublisherNotes())
    made = io.BytesIO(package.archive)
    with zipfile.ZipFile(made, "a") as file:
        file.writestr(f"{file.namelist()[0].split('/')[0]}/report.html", "<script>")
    digest = hashlib.sha256(made.getvalue()).hexdigest()
    told = {"sha256": digest, "id": f"{package.entry.id[:-10]}{digest[:10]}"}
    forged = write(Package(package.entry.model_copy(update=told), made.getvalue(), {}), tmp_path)
    with pytest.raises(EntryError, match=r"archive\.zip contains 'report\.html'"):
        verify(forged)


def test_what_is_hidden_is_nowhere(tmp_path: Path) -> None:
    changed = Copy(ARCHIVES / "sqlite-clients.zip")
    changed.run["host"] = "atlas"
    changed.run["spec"]["target"]["url"] = "sqlite:////home/jane/secret.db"
    changed.run["spec"]["label"] = "night"
    changed.run["stack"][0]["items"]["note"] = "at 192.0.2.7 and fe80::1:2 by jane in /home/jane/x on atlas, not 127.0.0.1"
    changed.tables["programs"] = [
        {**(changed.tables["programs"] or [dict.fromkeys(changed.schemas["programs"].names, 1)])[0], "node": "local",
         "program": "game", "stage": "load", "part": "itself", "pid": 1}
    ]  # fmt: skip
    of_standby = {"monitor": "replication", "metric": "primrose:3306", "unit": "bytes"}
    changed.run["warnings"] = [{"code": "monitor", "message": "replication: primrose:3306: refused", "remedy": "", "scale": None}]
    changed.tables["monitors"].append({**changed.tables["monitors"][0], **of_standby})
    source = tmp_path / "20260101T000000Z_atlas_sqlite_tpcb.zip"
    source.write_bytes(changed.packed())
    package = prepare(source, PublisherNotes(), {"host", "user", "paths", "addresses", "label", "programs"})
    with zipfile.ZipFile(io.BytesIO(package.archive)) as file:
        words = b"".join(
            file.read(name) if not name.endswith(".parquet")
            else json.dumps(pq.read_table(io.BytesIO(file.read(name))).to_pylist(), default=str).encode()
            for name in file.namelist()
        ) + "".join(file.namelist()).encode() + package.entry.rendered().encode()  # fmt: skip
    for secret in (b"atlas", b"/home/jane", b"192.0.2.7", b"fe80::1:2", b"night", b"game", b"primrose"):
        assert secret not in words, secret
    assert b"127.0.0.1" in words
    assert {"host", "paths", "addresses", "label", "programs"} <= package.hidden.keys()
    verify(write(package, tmp_path / "commons"))


def test_hosts_of_servers_are_told_apart_and_not_named() -> None:
    hider = Hider(HIDDEN, {})
    assert hider.servers("db1:5432") == "host-1:5432"
    assert hider.servers("10.0.0.5:5432,db1,localhost:1") == "host-2:5432,host-1,localhost:1"
    assert hider.servers("/home/me/socket:5432") == "/…:5432"
    assert hider.found["host"] == {"db1": "host-1", "10.0.0.5": "host-2"}
    assert Hider((), {}).servers("db1:5432") == "db1:5432"


def test_what_errors_say_of_the_server_is_hidden_wherever_it_stands() -> None:
    hider = Hider(HIDDEN, {"db1": "host"})
    assert hider.words("203.0.113.7:3306: Connection refused") == "address:3306: Connection refused"
    assert hider.words("203.0.113.7-203.0.113.9, 127.0.0.1:5432") == "address-address, 127.0.0.1:5432"
    assert hider.words("[2001:db8::1]:5432") == "[address]:5432"
    assert hider.words("MySQL://alice@db.corp.example.com:3306/x") == "MySQL://user@host:3306/x"
    assert hider.words("db.corp.example.com:3306: Connection refused") == "host:3306: Connection refused"
    assert hider.words("postgresql://postgres:5432/x") == "postgresql://host:5432/x"
    assert hider.words("postgres:5432: the engine is postgres") == "host:5432: the engine is postgres"
    assert hider.words("DB1.corp.example.com said so, and db1. Then db10") == "host said so, and host. Then db10"
    named = Hider(HIDDEN, {"vm": "host", "debian": "host-2"})
    assert named.values({"vm.swappiness": 1, "vm.dirty_ratio": 2}) == {"host.swappiness": 1, "host.dirty_ratio": 2}
    assert named.words("Debian GNU/Linux 12 on debian") == "Debian GNU/Linux 12 on host-2"


def test_the_server_is_hidden_in_what_stands_before_its_url(tmp_path: Path) -> None:
    changed = Copy(ARCHIVES / "pg-tpcc.zip")
    lost = {"code": "lost-nodes", "message": "db.corp.example.com:5432: Connection refused"}
    changed.run = {"warnings": [lost], **{name: value for name, value in changed.run.items() if name != "warnings"}}
    changed.run["spec"]["target"]["url"] = "postgresql://me@db.corp.example.com:5432/x"
    path = tmp_path / "away.zip"
    path.write_bytes(changed.packed())
    with zipfile.ZipFile(io.BytesIO(pack(Archive.open(path), "n", Hider(HIDDEN, {})))) as file:
        assert b"corp.example.com" not in file.read("n/run.json")


def test_paths_are_hidden_as_a_whole() -> None:
    hider = Hider(HIDDEN, {})
    assert hider.words("private:postgresql?directory=/home/Alice Smith/pg data&x=1") == "private:postgresql?directory=/…&x=1"
    assert hider.words("/home/alice/run=1/db and lib:/home/alice/x") == "/… and lib:/…"
    assert hider.words("/usr/lib/postgresql/15/bin, postgresql://localhost/x") == "/usr/lib/postgresql/15/bin, postgresql://localhost/x"


def test_a_run_that_its_report_calls_void_is_no_entry(tmp_path: Path, called: Program) -> None:
    honest = prepare(ARCHIVES / "pg-tpcc.zip", PublisherNotes())
    changed = Copy(ARCHIVES / "pg-tpcc.zip")
    changed.run["warnings"].append({"code": "lost", "message": "the server lost what it had committed", "severe": True})
    path = tmp_path / "void.zip"
    path.write_bytes(changed.packed())
    (tmp_path / "cm/entries").mkdir(parents=True)
    done = called("commons", "publish", str(path), "--to", str(tmp_path / "cm"))
    assert done.returncode == 2
    assert "its figures are void: the server lost what it had committed" in " ".join(done.stderr.split())
    assert list((tmp_path / "cm/entries").iterdir()) == []
    # Nor where somebody made the entry without publish.
    content = pack(Archive.open(path), honest.entry.id[:-11], Hider(HIDDEN, {}))
    digest = hashlib.sha256(content).hexdigest()
    described = describe_packed(content)
    entry = honest.entry.model_copy(update={"sha256": digest, "id": f"{honest.entry.id[:-10]}{digest[:10]}", **described})
    with pytest.raises(EntryError, match="its figures are void"):
        verify(write(Package(entry, content, {}), tmp_path / "cm"))


def test_what_disturbed_a_run_is_told_before_it_is_published(tmp_path: Path, called: Program) -> None:
    entry = prepare(ARCHIVES / "pg-tpcc.zip", PublisherNotes()).entry
    assert entry.disturbed == "other programs used 1.7 to 1.8 of 2 CPUs"
    assert any("too short to compare with other runs" in warning for warning in entry.warnings)
    shown = called("commons", "publish", str(ARCHIVES / "pg-tpcc.zip"), "--to", str(tmp_path), "--preview").stdout
    assert f"disturbed     {entry.disturbed}; it will not be ranked" in shown
    assert all(f"warning       {warning}" in shown for warning in entry.warnings)
    assert prepare(ARCHIVES / "pg.zip", PublisherNotes()).entry.disturbed == ""


def test_entries_are_told_apart_where_archives_are_read(tmp_path: Path) -> None:
    entries = [write(prepare(ARCHIVES / f"{name}.zip", PublisherNotes()), tmp_path) for name in ("pg", "sqlite-tpcb")]
    found = query.find(tmp_path)
    answer = query.ask(found, "SELECT DISTINCT archive FROM runs JOIN dsi USING (archive) ORDER BY archive")
    assert [row[0] for row in answer.rows] == sorted(entry.name for entry in entries)


def test_the_same_run_is_published_once(tmp_path: Path) -> None:
    first = prepare(ARCHIVES / "pg-tpcc.zip", PublisherNotes())
    assert prepare(ARCHIVES / "pg-tpcc.zip", PublisherNotes(by="x")).entry.id == first.entry.id
    write(first, tmp_path)
    with pytest.raises(EntryError, match="already exists"):
        write(first, tmp_path)
    with pytest.raises(EntryError, match="cut-short"):
        prepare(ARCHIVES / "cut.zip", PublisherNotes())
    assert CommonsEntry.model_validate_json(first.entry.rendered()) == first.entry


@pytest.mark.parametrize(("path", "cycles"), [
    ("published/tpch.zip", ""), ("archives/insert.zip", "stages of 2 s"), ("archives/pg-tpcc.zip", "3 cycles of 2 s"),
])  # fmt: skip
def test_the_number_of_cycles_tells_runs_apart_where_it_changes_them(path: str, cycles: str) -> None:
    """The stages of TPC-H and of the Insert Benchmark come once, whatever ``--cycles`` says."""
    assert describe(Archive.open(ARCHIVES.parent / path))["conditions"]["cycles"] == cycles


def test_a_search_that_found_no_rate_has_none_to_be_ranked_by(tmp_path: Path) -> None:
    changed, path = Copy(ARCHIVES / "pg-tpcc.zip"), tmp_path / "found.zip"
    changed.run["spec"]["objective"] = "p99=1us"
    for row in changed.tables["groups"]:
        row |= {"pacing": "poisson", "rate_per_s": 1e6}
    path.write_bytes(changed.packed())
    said = describe(Archive.open(path))
    assert said["figures"] == {}
    assert "is not known" in said["sentence"]
