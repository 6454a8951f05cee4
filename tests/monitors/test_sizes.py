"""Sizes of the database, of its folder and of the server in memory: what each counts, and when it is read."""

from __future__ import annotations

import os
from pathlib import Path

from dsbench.measure.loaders import TargetDatabase
from dsbench.measure.monitors import RUN, SERVER, Known, Sampler, Sizes, Value, proc
from dsbench.measure.monitors.sizes import resident
from dsbench.servers import Server

KB = 1024
STATUS = "Name:\tpostgres\nVmRSS:\t  999 kB\nRssAnon:\t{} kB\nRssFile:\t{} kB\nRssShmem:\t{} kB\nHugetlbPages:\t0 kB\nThreads:\t1\n"


def process(root: Path, pid: int, parent: int, *memory_kb: int) -> None:
    (root / str(pid)).mkdir(parents=True)
    (root / str(pid) / "stat").write_text(f"{pid} (postgres) S {parent} 0 0 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 {pid} 0\n")
    (root / str(pid) / "status").write_text(STATUS.format(*memory_kb))


def test_shared_memory_counts_once(tmp_path: Path) -> None:
    process(tmp_path, 100, 1, 50, 5, 0)
    process(tmp_path, 101, 100, 10, 7, 2)
    process(tmp_path, 102, 101, 20, 6, 300)
    process(tmp_path, 103, 101, 30, 6, 200)
    known = Known({100: RUN, 101: SERVER})
    assert resident(known, tmp_path) == (10 + 20 + 30 + 7 + 300) * KB
    assert resident(Known({100: RUN}), tmp_path) == 55 * KB, "an embedded database is in dsbench"
    assert resident(Known({100: RUN}, server=False), tmp_path / "none") is None


def test_a_folder_is_counted_as_it_lies_on_the_storage(tmp_path: Path) -> None:
    data, log, apart = (tmp_path / name for name in ("data", "log", "apart"))
    for folder in (data, log, apart):
        folder.mkdir()
    (apart / "of another device").write_bytes(b"x" * 100 * KB)
    (log / "segment").write_bytes(b"x" * 100 * KB)
    (data / "wal").symlink_to(log)
    (data / "table").write_bytes(b"x" * 200 * KB)
    os.link(data / "table", data / "same")
    with (data / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    found = {metric: value for metric, _, value in Sizes(lambda: 7, [data, log, apart], Known({})).sample()}
    assert found["database_size"] == 7
    assert 400 * KB <= found["directory_size"] < 450 * KB, "each file once, by whichever way it is reached"


def test_what_cannot_be_read_is_left_out_and_told(tmp_path: Path) -> None:
    def refused() -> int:
        raise OSError("no right")

    sizes = Sizes(refused, [tmp_path / "of others"], Known({}, server=False))
    sizes.sample()
    assert {metric for metric, _, _ in sizes.sample()} <= {"resident_size"}
    assert sizes.notes == ["database size: no right"]


def test_they_are_read_before_and_after_a_cycle_only() -> None:
    class Counted(Sizes):
        samples = 0

        def sample(self) -> list[Value]:
            self.samples += 1
            return super().sample()

    sizes = Counted(lambda: 1, [], Known({}, server=False))
    clock = iter(range(0, 10**12, 10**9))
    beside = Sampler([sizes], clock=lambda: next(clock))
    beside.first()
    beside.go(0, ramp_up_ns=10**9)
    rows = beside.stop()
    assert sizes.samples == 2
    assert [row["metric"] for row in rows if row["metric"] == "database_size"] == ["database_size"] * 2


def test_a_private_server_tells_all_three(server: Server) -> None:
    target = TargetDatabase(server.url)
    target.create("mark")
    known = Known({os.getpid(): RUN, **dict.fromkeys(server.pids(), SERVER)})
    sizes = Sizes(target.size_bytes, [server.directory], known)
    found = {metric: value for metric, _, value in sizes.sample()}
    target.drop()
    target.close()
    assert sizes.notes == []
    assert 0 <= found["database_size"] < found["directory_size"]
    (postmaster, *_) = server.pids()
    alone = proc.memory(Path(f"/proc/{postmaster}/status").read_bytes())
    assert found["resident_size"] >= alone["RssAnon"] + alone["RssShmem"]
