"""Private servers that are started again: cold, with what was in them."""

from __future__ import annotations

import mmap
from contextlib import closing, suppress
from pathlib import Path

import pytest

from dsbench import servers, spec
from dsbench.measure.loaders import CoreError, TargetDatabase
from dsbench.servers.pages import count_cached, let_go
from fixtures.thorough import mostly_thorough

_MYSQL = pytest.param("private:mysql", marks=pytest.mark.needs_mysql)


@pytest.mark.parametrize(
    "url", mostly_thorough(["private:postgresql", "private:mariadb", "private:firebird", _MYSQL], "private:postgresql")
)
def test_a_server_that_is_started_again_keeps_its_data_and_its_address(url: str) -> None:
    with servers.start(spec.Target(url=url), 4) as server, closing(TargetDatabase(server.url)) as target:
        target.create("a test")
        before, address = set(server.pids()), server.url
        gone = server.restart()
        assert gone.held > 0
        assert gone.left <= gone.held
        with suppress(CoreError):  # Of the session that ended with the server.
            target.state()
        assert target.state() == ("marked", "a test")
        assert server.url == address
        assert server.pids()
        assert not before & set(server.pids())
        if url in ("private:mariadb", "private:mysql"):
            (loaded,) = target.fetch("SHOW STATUS LIKE 'Innodb_buffer_pool_load_status'")
            assert "Cannot open" in (loaded["Value"] or ""), "there is no list of pages to fill the buffer pool from"


def test_an_engine_in_this_process_does_not_call_itself_restarted() -> None:
    from dsbench.servers.firebird.embedded import Embedded
    from dsbench.servers.sqlite import Sqlite

    assert (Sqlite.restarts, Embedded.restarts) == (True, False)


def test_pages_of_a_file_are_counted_and_let_go(tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    (folder / "file").write_bytes(b"x" * 300_000)
    (folder / "empty").touch()
    (folder / "link").symlink_to(folder / "file")
    gone = let_go([tmp_path])
    assert 0 < gone.held < 300_000 + mmap.PAGESIZE, "neither the empty file nor what a link names"
    assert gone.left == count_cached(tmp_path), "what a file system in memory keeps is told"
