"""What the server does with connections that say nothing, and with the wish that it ends."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path
from shutil import copy
from urllib.parse import urlsplit
from urllib.request import HTTPCookieProcessor, build_opener, urlopen
from zipfile import ZipFile

from fixtures.archives import STORED
from fixtures.web import served


def _ended(connection: socket.socket) -> bool:
    """Whether the server ends the connection; it says nothing before."""
    connection.settimeout(60)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_who_connects_and_says_nothing_shuts_nobody_out(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        where = urlsplit(address)
        crowd = [socket.create_connection((where.hostname, where.port), timeout=60) for _ in range(600)]
        for number, one in enumerate(crowd):
            if number % 2:
                one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nA: ")
        with urlopen(address, timeout=60) as page:
            assert page.status == 200
        assert all(_ended(one) for one in crowd)
        for one in crowd:
            one.close()


def test_the_page_that_an_archive_holds_is_never_served(tmp_path: Path) -> None:
    copy(STORED / "pg.zip", tmp_path)
    with ZipFile(tmp_path / "pg.zip") as old, ZipFile(tmp_path / "theirs.zip", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        new.writestr(old.namelist()[0].partition("/")[0] + "/report.html", "<h1>theirs</h1>")
    with served(tmp_path) as address:
        browser = build_opener(HTTPCookieProcessor())
        browser.open(address, timeout=60).close()
        where = address.partition("?")[0]
        pages = [browser.open(f"{where}report?name={name}", timeout=60).read().decode() for name in ("pg", "theirs", "theirs")]
    assert "<h1>theirs</h1>" not in pages[1]
    assert "<header data-soundness=" in pages[1]
    assert [page.replace("theirs", "pg") for page in pages] == [pages[0]] * 3


BUSY = """
import asyncio, sys, time
from pathlib import Path
from shutil import copy
from dsbench.web import server
from dsbench.web import server as app

def application(house):
    async def answer(scope, receive, send):
        assert scope["type"] == "lifespan"
        await receive()
        await send({"type": "lifespan.startup.complete"})
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
        print("reading", flush=True)
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    return answer

app.application = application
server.serve(Path(sys.argv[1]), 0)
"""


def test_the_server_ends_when_it_should_whatever_it_reads(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            while "reading" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        finally:
            process.kill()
