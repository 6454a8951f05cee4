"""Firebird's engine in the process that makes the load: each in a process of its own, as one takes one engine.

The engine is that of the package ``firebird-embedded``; DSBENCH_TEST_FIREBIRD names folders of further ones
(``pip install --target FOLDER firebird-embedded==4.0.*``), divided by colons.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dsbench.servers.firebird import binaries

FOLDERS = ["", *filter(None, os.environ.get("DSBENCH_TEST_FIREBIRD", "").split(os.pathsep))]

_PROGRAM = """
import json, sys
from pathlib import Path
from dsbench import servers, spec
from dsbench.measure.loaders import TargetDatabase
from dsbench.servers.firebird import embedded

def start(settings, version=None):
    wanted = spec.Target(url="private:firebird", directory=Path(sys.argv[1]), settings=settings, version=version)
    return servers.start(wanted, 4)

said = {}
settings = json.loads(sys.argv[2])
exec(sys.argv[3])
print(json.dumps(said))
"""


def _run(base: Path, folder: str, body: str, *, fails: bool = False, **settings: str) -> dict[str, Any]:
    own = {"embedded": "on", **({"basedir": folder} if folder else {}), **settings}
    command = [sys.executable, "-c", _PROGRAM, str(base), json.dumps(own), body]
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=alone)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


_ASK = """
with start(settings) as server:
    target = TargetDatabase(server.url)
    target.create("test")
    ask = lambda sql: next(iter(target.fetch(sql)[0].values()))
    said["version"] = server.version
    said["engine"] = ask("select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database")
    said["page size"] = ask("select mon$page_size from mon$database")
    said["path"] = ask("select mon$database_name from mon$database")
    said["embedded"] = target.dialect.embedded
    said["pids"] = server.pids()
    said["root"] = str(embedded._ROOT[0].folder.path)
    said["url"] = server.url
    target.close()
with start(settings) as again:
    target = TargetDatabase(again.url)
    target.create("test")
    said["again"] = target.state()[0]
    target.close()
"""


@pytest.mark.parametrize("folder", FOLDERS)
def test_it_answers_in_this_process_and_leaves_nothing(tmp_path: Path, folder: str) -> None:
    said = _run(tmp_path, folder, _ASK, page_size="16384", DefaultDbCachePages="512")
    assert said["version"] == f"Firebird {said['engine']} (embedded)"
    assert said["page size"] == "16384"
    assert said["path"].startswith(f"{tmp_path}/dsbench-fb-")
    assert said["embedded"] is True
    assert said["pids"] == []
    assert said["again"] == "marked", "one process makes several databases"
    assert list(tmp_path.iterdir()) == []
    assert not Path(said["root"]).exists(), "the copy of the engine goes with the process"


_SIGNALLED = """
import os, signal, subprocess
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
send = ["sh", "-c", 'while kill -INT "$0"; do :; done', str(os.getpid())]
with start(settings) as server, subprocess.Popen(send) as sender:
    while not heard:
        pass
    said["threads"] = len(os.listdir("/proc/self/task"))
    target = TargetDatabase(server.url)
    try:
        target.create("test")
    finally:
        sender.kill()
    sender.wait()
    said["state"] = target.state()[0]
    heard.clear()
    signal.raise_signal(signal.SIGINT)
    said["heard"] = len(heard)
    target.close()
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads cannot be counted here")
@pytest.mark.parametrize("folder", FOLDERS)
def test_signals_within_the_first_call_stay_the_programs(tmp_path: Path, folder: str) -> None:
    """The library's own handlers would close all sessions of the process."""
    said = _run(tmp_path, folder, _SIGNALLED)
    assert said == {"threads": 1, "state": "marked", "heard": 1}


def test_a_second_engine_and_other_settings_need_another_process(tmp_path: Path) -> None:
    body = """
with start(settings):
    pass
for name, change in {"other settings": {"DeadlockTimeout": "3"}}.items():
    try:
        start({**settings, **change})
    except spec.SpecError as error:
        said[name] = [error.option, error.problem, error.remedy]
"""
    said = _run(tmp_path, "", body)
    assert said["other settings"][0] == "--set"
    assert "reads firebird.conf only once" in said["other settings"][1]
    assert "dsbench again" in said["other settings"][2]
    assert list(tmp_path.iterdir()) == []


def test_what_the_engine_needs_is_told(tmp_path: Path) -> None:
    body = """
embedded._MATH = ("/nowhere/libtommath.so.1",)
try:
    start(settings)
except servers.ServerError as error:
    said["error"] = [error.problem, error.remedy]
"""
    problem, remedy = _run(tmp_path, "", body)["error"]
    assert "needs the library libtommath" in problem
    assert "apt install libtommath1" in remedy
    assert list(tmp_path.iterdir()) == []


def test_a_version_that_is_not_here_says_how_to_get_it(tmp_path: Path) -> None:
    body = """
try:
    start(settings, "4.1")  # There never was one.
except spec.SpecError as error:
    said["error"] = [error.option, error.problem, error.remedy]
"""
    said = _run(tmp_path, "", body)
    assert said["error"][0] == "TARGET.version"
    assert "dsbench servers install firebird --version " in said["error"][2]


def test_a_version_is_read_without_loading_anything() -> None:
    engine = binaries.engines()[0]
    (unpacked,) = binaries.in_folder(engine.root)
    assert isinstance(unpacked, binaries.Engine)
    assert unpacked.version == engine.version


def test_the_version_is_that_of_the_product(tmp_path: Path) -> None:
    """Libraries of version 3 have a number for programs of InterBase, too."""
    for said, version in (("LI-V6.3.11.3363737 Firebird 3.0", "3.0.11"), ("LI-V4.0.7.3271 Firebird 4.0", "4.0.7")):
        library = tmp_path / "libfbclient.so.2"
        library.write_bytes(b"\0" + said.encode() + b"\0")
        assert binaries._written_in(library) == version
