"""Limits around private servers: what is in force, what is refused, and that nothing of them stays."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dsbench import control_groups, servers, spec
from dsbench.devices import Mount, device_of
from dsbench.measure import stack
from dsbench.servers import folder, limits
from dsbench.servers.limits.files import Hierarchy, among, places
from dsbench.servers.process import Process
from dsbench.spec import Limits
from fixtures.private import has_ended
from fixtures.program import Program

MIB = 1 << 20


def planned(said: dict[str, str]) -> limits.Group | None:
    """A group for ``said``; ``None`` where this system or user has none, and then that is told."""
    try:
        return limits.planned(Limits.of(said), Path(__file__).parent)
    except spec.SpecError as refused:
        if refused.option == "--limit" and ("root" in refused.remedy or "Linux" in refused.remedy):
            return None
        raise


def group_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


def test_a_server_and_all_its_processes_are_inside_from_the_first_on(
    target: Callable[..., spec.Target], psql: Callable[[str, str], str], base: Path
) -> None:
    device = device_of(base)
    rates = {"read": "50MiB/s", "write": "20MiB/s"} if device is not None else {}
    said = {"memory": "300MiB", "cpus": "1.5", **rates}
    if planned(said) is None:
        return
    with servers.start(target(), 4, limits=Limits.of(said)) as server:
        pids = server.pids()
        (name,) = {line.rpartition("/")[2] for line in group_of(pids[0]).splitlines() if "dsbench-" in line}
        assert len(pids) > 3
        assert all(name in group_of(pid) for pid in pids)
        assert psql(server.url, "SELECT 1") == "1"
        assert name not in group_of(os.getpid())
        assert control_groups.memory_limit(pids[0]) == 300 * MIB
        assert control_groups.cpu_limit(pids[0]) == 1.5
        if device is not None:
            number = (device.disk.folder / "dev").read_text().strip()
            assert control_groups.disk_rates(pids[0], number) == {"read": 50 * MIB, "write": 20 * MIB}
        assert not list(stack.fall_short(Limits.of(said), pids[0]))
        assert list(stack.fall_short(Limits.of({"memory": "1GiB", "cpus": "2"}), pids[0])) == [
            "memory=1GiB was requested, and 300 MiB is in effect", "cpus=2 was requested, and 1.5 is in effect",
        ]  # fmt: skip
    assert not list(Path("/sys/fs/cgroup").rglob(name))


def test_myrocks_in_a_limited_memory_has_one_arena(base: Path) -> None:
    said = {"memory": "512MiB"}
    if planned(said) is None:
        return
    myrocks = spec.Target(url="private:mariadb", settings={"storage_engine": "RocksDB"}, directory=base)
    with servers.start(myrocks, 4, limits=Limits.of(said)) as server:
        environment = Path(f"/proc/{server.pids()[0]}/environ").read_text().split("\0")
        assert "MALLOC_ARENA_MAX=1" in environment
        assert "the server's allocator has MALLOC_ARENA_MAX=1" in server.notes


def test_memory_is_that_of_page_cache_and_processes_and_its_end_is_told(tmp_path: Path) -> None:
    group = planned({"memory": "48MiB"})
    if group is None:
        return
    file = tmp_path / "large"
    file.write_bytes(b"x" * (96 * MIB))
    limits.forget_pages(tmp_path)
    script = f"f = open({str(file)!r}, 'rb')\nwhile f.read(1 << 20): pass\nprint('read', flush=True)\nbytearray(96 << 20)"
    group.make()
    try:
        process = Process(
            [sys.executable, "-c", script], user=None, env=dict(os.environ), log=tmp_path / "log",
            ending=signal.SIGTERM, group=group,
        )  # fmt: skip
        process._ended.wait(120)
        assert (tmp_path / "log").read_text() == "read\n", "page cache makes way"
        assert group.killed() == 1, "what a process keeps does not"
    finally:
        assert group.remove()
    assert not any(path.exists() for path in group.paths)


_OWNER = """
import os, signal, sys
from pathlib import Path
from dsbench.servers import limits
from dsbench.servers.folder import Folder
from dsbench.servers.process import Process
from dsbench.spec import Limits
made = Folder.create(Path(sys.argv[1]), "pg")
group = limits.planned(Limits.of({"cpus": "1"}), made.path)
made.holds(group.paths)
group.make()
sleeper = Process(["/bin/sleep", "600"], user=None, env={}, log=made.path / "log", ending=signal.SIGCONT, group=group)
print(sleeper.pid, *group.paths, flush=True)
signal.pause()
"""


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    if planned({"cpus": "1"}) is None:
        return
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, path = owner.stdout.readline().split()
    owner.kill()
    owner.communicate()
    assert path.rpartition("/")[2] in group_of(int(pid)), "its server goes on"
    assert len(folder.clean(tmp_path)) == 1
    assert not Path(path).exists()
    assert has_ended(int(pid))


@pytest.fixture
def version_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a tree of version 2: this process is two groups down, ``io`` ends at the top."""
    for name, controllers, handed_down in (("", "cpu io memory", "cpu io memory"), ("user", "cpu memory", "cpu memory"),
                                           ("user/session", "cpu memory", "")):  # fmt: skip
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "cgroup.controllers").write_text(controllers)
        (tmp_path / name / "cgroup.subtree_control").write_text(handed_down)
    monkeypatch.setattr(Path, "rmdir", shutil.rmtree)  # The kernel's files are no hindrance.
    return tmp_path


@pytest.mark.parametrize(
    ("said", "parent", "written"),
    [
        (
            {"memory": "1GiB", "cpus": "0.5"}, "user",
            {"memory.max": "1073741824", "memory.swap.max": "0", "cpu.max": "50000 100000"},
        ),
        ({"cpus": "2", "read": "1MiB/s"}, "", {"cpu.max": "200000 100000", "io.max": "8:0 rbps=1048576"}),
    ],
)  # fmt: skip
def test_version_2_has_one_group_where_its_controllers_are_handed_down(
    version_2: Path, said: dict[str, str], parent: str, written: dict[str, str]
) -> None:
    (tree,) = among([Mount(version_2, "cgroup2", "cgroup2", ("rw",))], "0::/user/session")
    wanted = Limits.of(said)
    (place,) = places(wanted, [tree], ["8:0"])
    group = limits.Group(wanted, [place])
    place.choose(group._name)
    group.make()
    (path,) = group.paths
    assert path.parent == version_2 / parent
    assert {file.name: file.read_text() for file in path.iterdir()} == written
    (path / "memory.events").write_text("low 0\noom 1\noom_kill 2\n")
    assert group.killed() == 2
    group.add(4711)
    assert (path / "cgroup.procs").read_text() == "4711"
    (path / "cgroup.procs").unlink()
    assert group.remove()
    assert not path.exists()


def test_each_disk_of_the_data_has_the_limit() -> None:
    for version, lines in ((1, ["8:0 1024", "8:16 1024"]), (2, ["8:0 wbps=1024", "8:16 wbps=1024"])):
        tree = Hierarchy(version, Path("/x"), Path("/x"), frozenset({"io", "blkio"}))
        (place,) = places(Limits(write=1024), [tree], ["8:0", "8:16"])
        assert [text for _file, text, _needed in place.written] == lines


def test_a_controller_is_switched_on_only_where_none_has_it_and_off_again(version_2: Path) -> None:
    (version_2 / "cgroup.subtree_control").write_text("cpu")
    (version_2 / "user/cgroup.subtree_control").write_text("")
    (tree,) = among([Mount(version_2, "cgroup2", "cgroup2", ("rw",))], "0::/user/session")
    (place,) = places(Limits(memory=MIB), [tree], [])
    place.choose("dsbench-x")
    assert (place.parent / "cgroup.subtree_control").read_text() == "+memory"
    place.undo()
    assert (place.parent / "cgroup.subtree_control").read_text() == "-memory"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["private:sqlite", "--limit", "memory=1GiB"], "systemd-run"),
        (["postgresql://nowhere/db", "--limit", "cpus=1"], "private:postgresql"),
        (["private:postgresql", "--limit", "memory=1GB"], "256MiB"),
        (["private:postgresql", "--limit", "disk=5"], "memory, read, write, cpus"),
        (["private:postgresql", "--limit", "cpus"], "NAME=VALUE"),
        (["private:postgresql", "--limit", "memory=64MiB"], "omit it"),
    ],
)
def test_what_cannot_be_limited_is_told_before_anything_is_made(
    words: list[str], hint: str, called: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "hierarchies", list)  # no control groups
    done = called("run", *words, "--quiet", "--out", "out")
    assert done.returncode == 2
    assert "--limit" in done.stderr
    assert hint in done.stderr
    assert not (tmp_path / "out").exists()


def test_without_the_right_to_make_groups_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, *_how: object, **_more: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    (tree,) = among([Mount(tmp_path, "cgroup", "cgroup", ("rw", "memory"))], "4:memory:/")
    monkeypatch.setattr(limits, "hierarchies", lambda: [tree])
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(spec.SpecError, match="Permission denied") as refused:
        limits.planned(Limits(memory=MIB), tmp_path)
    assert "run dsbench as root" in refused.value.remedy


def test_a_mark_that_names_a_folder_of_its_own_making_ends_nobody(tmp_path: Path) -> None:
    group = tmp_path / "dsbench-forged"
    group.mkdir()
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as innocent:
        try:
            (group / "cgroup.procs").write_text(f"{innocent.pid}\n")
            assert limits.remove([group])
            assert innocent.poll() is None
            assert group.is_dir()
        finally:
            innocent.kill()
