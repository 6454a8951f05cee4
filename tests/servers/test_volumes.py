"""File systems that are made for private servers: as they were asked for, and gone afterwards whatever happened."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dsbench
from dsbench import devices, servers, spec
from dsbench.archive import Archive
from dsbench.library import apart
from dsbench.measure.interrupts import Stop
from dsbench.measure.moments import Silent
from dsbench.measure.run import Outcome
from dsbench.read.subjects.probes import ProbesResult
from dsbench.servers import ServerError, folder
from dsbench.servers.storage import volume as ageing
from dsbench.servers.storage import volumes
from dsbench.spec import RunSpec
from dsbench.spec.storage import Storage, joined
from dsbench.study import begin, conduct
from dsbench.study.spec import parse
from fixtures.private import has_ended
from fixtures.waiting import until

SMALL = "ext4?size=64MiB"


@pytest.fixture
def ground(base: Path) -> Path:
    """A folder in which file systems can be made; where this user or system has none, that is told, and no more."""
    try:
        volumes.refuse(base, Storage.of(SMALL).values)
    except spec.SpecError as refused:
        if os.geteuid() != 0 or "loop devices" in refused.problem:
            pytest.skip(f"{refused.problem}: {refused.remedy}")
        raise
    return base


def left_below(base: Path) -> list[str]:
    """Mounts and loop devices whose place or file lies below ``base``."""
    loops = Path("/sys/block").glob("loop*/loop/backing_file")
    texts = [str(one.point) for one in devices.mounts()]
    for file in loops:
        with contextlib.suppress(OSError):
            texts.append(file.read_text())
    return [text for text in texts if str(base) in text]


@pytest.mark.parametrize(
    ("said", "options", "block"),
    [
        ("ext2?size=64MiB&block=1k", [], 1024),
        ("ext3?size=64MiB&data=journal&block=2k", ["data=journal"], 2048),
        ("ext4?size=64MiB&data=writeback&barrier=off&block=4k", ["data=writeback", "nobarrier"], 4096),
        ("xfs?size=320MiB&block=1k&mount=noatime", ["noatime"], 1024),
        pytest.param("xfs?size=320MiB&block=16k", [], 16384, marks=pytest.mark.skipif(ageing._linux() < (6, 12), reason="blocks are pages at most")),
        ("btrfs?size=256MiB&compress=zstd:3&nodesize=4k&cow=chattr&subvolume=on", ["compress=zstd:3"], 4096),
        ("btrfs?size=256MiB&cow=off&barrier=off", ["nodatacow", "nobarrier"], 4096),
    ],
)
def test_a_file_system_is_as_it_was_asked_for_and_gone_afterwards(
    ground: Path, said: str, options: list[str], block: int
) -> None:
    asked = Storage.of(said).values
    with volumes.mounted(ground, asked) as place:
        mount = devices.mount_of(place)
        assert mount is not None
        assert mount.type == asked["type"]
        assert set(options) <= set(mount.options)
        assert os.statvfs(place).f_bsize == block
        note = json.loads((mount.point / ".dsbench-volume.json").read_text())
        assert note["made by"].startswith(f"mkfs.{asked['type']} ")
        assert place.name == ("data" if "chattr" in said else "fs")
        if "chattr" in said:
            assert "C" in subprocess.run(["lsattr", "-d", place], capture_output=True, text=True, check=True).stdout
            assert "4096" in _nodesize(mount.source)
    assert left_below(ground) == []


def _nodesize(device: str) -> str:
    dump = subprocess.run(["btrfs", "inspect-internal", "dump-super", device], capture_output=True, text=True, check=True)
    return next(line for line in dump.stdout.splitlines() if line.startswith("nodesize"))


def test_what_fails_leaves_nothing(ground: Path) -> None:
    for wrong in ("ext4?size=64MiB&mkfs=-O nothing", "ext4?size=64MiB&mount=nothing=1"):
        with pytest.raises(ServerError, match="failed"), volumes.mounted(ground, Storage.of(wrong).values):
            pass
    with pytest.raises(ZeroDivisionError), volumes.mounted(ground, Storage.of(SMALL).values) as place:
        (place / "x").write_text(str(1 / 0))
    assert left_below(ground) == []


def test_a_folder_that_does_not_go_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(volumes.Volume, "make", lambda storage, folder, erase: volumes.Volume(storage, folder, "none"))
    monkeypatch.setattr(volumes.folder, "_removed", lambda path: False)
    with volumes.mounted(tmp_path, Storage.of(SMALL).values, tell=said.append) as place:
        home = place.parent
    assert said == [f"warning: {home} could not be removed; hint: {volumes.REMEDY}"]


_OWNER = """
import signal, sys
from pathlib import Path
from dsbench import servers, spec
from dsbench.servers.storage import volumes
from dsbench.spec.storage import Storage
base = Path(sys.argv[1])
target = spec.Target(url="private:postgresql", directory=base)
with volumes.mounted(base, Storage.of("ext4?size=160MiB").values) as place:
    with servers.start(target, 4, limits=spec.Limits.of({"cpus": "1.5"}), on=place) as server:
        group = next(word for word in Path(f"/proc/{server.pids()[0]}/cgroup").read_text().split("/") if "dsbench-" in word)
        print(server.pids()[0], group.split()[0], flush=True)
        signal.pause()
"""


def test_what_a_killed_run_left_is_gone_with_the_next(ground: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", _OWNER, str(ground)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pid, group = owner.stdout.readline().split()
    owner.kill()
    owner.communicate()
    assert len(left_below(ground)) >= 2, "a mount and a loop device"
    assert len(folder.clean(ground)) == 1
    assert left_below(ground) == []
    assert not list(Path("/sys/fs/cgroup").rglob(group))
    assert has_ended(int(pid))


@pytest.mark.thorough
def test_a_study_that_was_killed_leaves_nothing_with_the_next_start_and_goes_on(ground: Path, tmp_path: Path) -> None:
    values = (
        'name = "x"\n[run]\nworkload = "select"\nscales = [1]\ncycles = 1\nduration = 0.5\n'
        f'target = {{ url = "private:sqlite", directory = "{ground}" }}\nstorage = "ext4?size=64MiB"\n'
        '[[factor]]\nname = "clients"\npath = "clients"\nlevels = [1, 2]\n[trials]\nrepeat = 1\n'
    )
    (tmp_path / "x.toml").write_text(values)
    command = [sys.executable, "-m", "dsbench", "study", "run", "-q", "x.toml", "--out", "s", "--trust"]
    first = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)

    def stands_with_a_file_system() -> bool:
        assert first.poll() is None, "it ended before it could be killed"
        first.send_signal(signal.SIGSTOP)
        if left_below(ground) and list((tmp_path / "s/archives").glob("*")):
            return True
        first.send_signal(signal.SIGCONT)
        return False

    assert until(stands_with_a_file_system)
    first.kill()
    first.wait()
    assert left_below(ground)
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert left_below(ground) == []
    trials = json.loads((tmp_path / "s/study.json").read_text())["trials"]
    assert [one["status"] for one in trials] == ["done", "done"]


@pytest.fixture
def device(ground: Path) -> Iterator[str]:
    """A device that a user may name: blank, and in use by nobody."""
    image = ground / "disk"
    image.write_bytes(b"")
    os.truncate(image, 64 << 20)
    done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    try:
        yield done.stdout.strip()
    finally:
        subprocess.run(["losetup", "-d", done.stdout.strip()], check=True)
        image.unlink()


def test_a_device_is_taken_by_name_and_word_and_only_where_it_holds_nothing(ground: Path, device: str) -> None:
    asked = Storage.of(f"ext4?device={device}").values

    def refused(erase: str = device) -> str:
        with pytest.raises(ServerError) as error, volumes.mounted(ground, asked, erase):
            pass
        return f"{error.value}; {error.value.remedy}"

    assert f"--erase {device}" in refused("")
    assert "--erase names /dev/other" in refused("/dev/other")
    for _ in range(2):  # The second time it carries the label of the first.
        with volumes.mounted(ground, asked, device) as place:
            (place / "x").write_text("x")
            assert "in use" in refused()
    subprocess.run(["mkfs.ext4", "-q", "-F", "-L", "photos", device], check=True)
    before = subprocess.run(["sha256sum", device], capture_output=True, text=True, check=True).stdout
    assert f"wipefs -a {device}" in refused()
    assert before == subprocess.run(["sha256sum", device], capture_output=True, text=True, check=True).stdout


def test_age_is_the_same_each_time(ground: Path) -> None:
    seen = []
    for seed in (1, 1, 2):
        with volumes.mounted(ground, Storage.of(f"ext4?size=64MiB&age=60%&age-seed={seed}").values) as place:
            files = sorted(path for path in (place / "aged").rglob("*") if path.is_file())
            seen.append([(path.name, path.stat().st_size) for path in files])
            room = os.statvfs(place)
            assert 0.15 < sum(size for _, size in seen[-1]) / (room.f_blocks * room.f_frsize) < 0.45
    assert seen[0] == seen[1] != seen[2]


def test_every_second_file_of_an_aged_file_system_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ageing, "_bytes_of", lambda _folder: 20 << 20)
    made, deleted = ageing.age(tmp_path / "aged", 0.5, 1)
    assert made - deleted == len([path for path in (tmp_path / "aged").rglob("*") if path.is_file()]) > 3
    assert abs(made - 2 * deleted) <= 1


def test_a_run_tells_its_file_system(ground: Path, tmp_path: Path) -> None:
    archive = dsbench.run(
        f"private:sqlite?directory={ground}", storage="ext4?size=200MiB&data=journal", probes="dd", scales=(1,), cycles=1,
        duration=0.2, clients=1, workload="select", out=tmp_path,
    )  # fmt: skip
    assert dict(archive.spec.storage) == {"type": "ext4", "size": "200MiB", "data": "journal"}
    (layer,) = (one for one in archive.run.stack if one.layer == "file system")
    assert layer.items["type"] == "ext4"
    assert "data=journal" in layer.items["options"]
    assert layer.items["lies on"] == "a file of 200MiB, by direct I/O"
    assert "data on ext4 (data journal)" in archive.summary()
    rows = archive.table("probes").to_pylist()
    assert {(row["moment"], row["test"]) for row in rows} == {(m, t) for m in ("before", "after") for t in ("written", "read")}
    (written, read) = archive.evaluate().of(ProbesResult).probes[1]
    assert written.before > 0 < read.after
    assert left_below(ground) == []


def test_a_history_is_on_one_file_system_and_goes_on_after_a_restart(ground: Path, tmp_path: Path) -> None:
    made: list[int] = []

    def make(asked: RunSpec, *_: object) -> Outcome:
        with volumes.mounted(servers.base_directory(asked.target), asked.storage) as place:
            mount = devices.mount_of(place)
            assert mount is not None
            assert mount.type == "ext4"
            mark = place / "age"
            made.append(int(mark.read_text()) if mark.exists() else 0)
            mark.write_text(str(made[-1] + 1))
        return Outcome(Path("x"), "complete")

    run = {"target": "private:sqlite", "scales": [1], "storage": "ext4?size=64MiB"}
    levels = [{"name": "fresh"}, *({"name": then, "set": {"history.runs": 2, "history.then": then}} for then in ("restart", "defragment"))]
    values = {"name": "x", "run": run, "factor": [{"name": "h", "levels": levels}], "trials": {"repeat": 1, "order": "as listed"}}
    study = conduct(begin(parse(values), tmp_path / "s")[0], make, _Unseen(), Stop())
    assert [(one.status, one.reason) for one in study.trials] == [("done", "")] * 3
    assert made == [0, 0, 1, 2, 0, 1, 2]


@pytest.mark.thorough
def test_a_ladder_is_made_anew_on_a_file_system_that_ladders_have_used(ground: Path, tmp_path: Path) -> None:
    """In processes of their own, which know the file system of the study by its mark."""
    run = {"target": "private:sqlite", "workload": "tpcb", "scales": [1, 2], "cycles": 1, "duration": 0.1, "storage": "ext4?size=256MiB"}
    levels = [{"name": "fresh"}, {"name": "used", "set": {"history.runs": 1, "history.then": "restart"}}]
    values = {"name": "x", "run": run, "factor": [{"name": "h", "levels": levels}], "trials": {"repeat": 1, "order": "as listed"}}
    study = apart.conduct(begin(parse(values), tmp_path / "s")[0], _Unseen(), Stop())
    assert [(one.status, one.reason) for one in study.trials] == [("done", "")] * 2
    (before,) = (Archive.open(path).run for path in (tmp_path / "s/before").glob("*.zip"))
    fresh, used = (Archive.open(study.archive_of(trial)).run for trial in study.trials)
    places = [run.spec.target.directory for run in (fresh, before, used)]
    assert places[0] is None
    assert places[1] == places[2]
    assert "history" in str(places[1])
    for one in (fresh, before, used):
        assert (one.spec.scales, one.reused, one.broken) == ((1, 2), None, {})
        assert next(layer.items["type"] for layer in one.stack if layer.layer == "file system") == "ext4"
    assert left_below(ground) == []


class _Unseen:
    def trial(self, *_: object) -> Silent:
        return Silent()

    def ended(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("zfs", "use one of ext2"), (5, "no file system of type '5'"), (["ext4"], "no file system"), ("ext4?cow=off", "has no setting 'cow'"), ("btrfs?block=1k", "use one of 4k"),
        ("ext4?size=1MiB", "64 MiB or more"), ("ext4?data=yes", "use one of ordered"), ("xfs?mount=a b", "options of mount"),
        ("ext4?journal=off&data=journal", "omit data or journal"), ("ext4?age=95%", "from 1% to 90%"),
        ("ext4?device=/dev/x&size=1GiB", "omit size"), ("ext4?age-seed=2", "add age"), ("ext4?device=../x", "block device"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_error(said: object, words: str) -> None:
    with pytest.raises(spec.SpecError) as refused:
        spec.build({"target": {"url": "private:sqlite"}, "storage": said})
    assert refused.value.option == "--storage"
    assert words in f"{refused.value}: {refused.value.remedy}"


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ({"target": {"url": "sqlite:///x.db"}, "storage": "ext4"}, "--storage"),
        ({"target": {"url": "private:sqlite", "directory": "/tmp"}, "storage": "ext4", "keep": True}, "--keep"),
        ({"target": {"url": "private:sqlite"}, "storage": "ext4", "erase": "/dev/sdb"}, "--erase"),
    ],
)
def test_a_file_system_without_a_use_is_refused(values: dict[str, object], option: str) -> None:
    with pytest.raises(spec.SpecError) as refused:
        spec.build(values)
    assert refused.value.option == option


def test_who_is_not_the_superuser_is_told_what_can_be_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(spec.SpecError, match="only root") as refused:
        volumes.refuse(tmp_path, Storage.of("ext4").values)
    assert "directory=FOLDER" in refused.value.remedy


def test_it_is_said_in_words_or_in_parts() -> None:
    whole = Storage.of("ext4?data=journal&block=1024&size=4096MiB")
    assert whole.values == {"type": "ext4", "size": "4GiB", "block": "1k", "data": "journal"}
    assert Storage.of(joined(["ext4", "data=journal", "block=1k"])) == whole
    assert Storage.of({"type": "ext4", "block": "1k", "data": "journal"}) == whole
    file = {"storage": {"type": "ext4", "block": "1k"}}
    said = spec.merged({"storage": {"data": "journal"}}, target="private:sqlite", earlier={**file, "target": "mock:"})
    assert said.spec.storage == dict(whole.values)


def test_a_level_may_be_the_whole_or_a_part(tmp_path: Path) -> None:
    from dsbench.study.plan import asked

    factors = [{"name": "fs", "path": "storage", "levels": ["ext4?data=journal", "btrfs"]},
               {"name": "block", "path": "storage.block", "levels": ["4k", "1k"]},
               {"name": "db", "path": "target.block_size", "levels": ["8k", "4k"]}]  # fmt: skip
    run = {"target": "private:mariadb", "storage": {"type": "xfs", "size": "1GiB"}}
    study = parse({"name": "x", "run": run, "factor": factors})
    found = asked(study, study.factor, (0, 1, 1), 1).merged.spec
    assert found.storage == {"type": "ext4", "size": "1GiB", "data": "journal", "block": "1k"}
    assert found.target.settings == {"innodb_page_size": "4096"}
    with pytest.raises(spec.SpecError) as refused:
        asked(study, study.factor, (1, 1, 0), 1)
    assert refused.value.remedy == "use one of 4k with btrfs"


def test_a_kernel_without_any_file_system_names_no_other(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(ageing.shutil, "which", lambda _name, path=None: "/bin/true")
    monkeypatch.setattr(ageing, "_in_kernel", lambda _kind: False)
    with pytest.raises(ageing.StorageError) as caught:
        ageing.check(Storage.of(SMALL), base)
    assert "this kernel does not support ext4" in str(caught.value)
    assert caught.value.remedy.startswith("mount one yourself")
