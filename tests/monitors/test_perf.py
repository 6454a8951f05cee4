"""Programs of perf that are begun, told to end, killed and hung, and what is made of what they saw."""

from __future__ import annotations

import os
import signal
import stat
import time
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import dsbench
from dsbench.devices import Device
from dsbench.measure import device_times, perf, stacks
from dsbench.measure.monitors import Known
from dsbench.read import subjects
from dsbench.read.blocks import Picture, Table
from dsbench.read.flame import draw_difference, draw_flame
from dsbench.read.subjects.device_times import DeviceTimesResult
from dsbench.read.subjects.stacks import add_functions, is_told
from dsbench.stats.device_times import mean_of, quantile_of, survival_of
from fixtures.thorough import mostly_thorough

WAITS = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\n"$@"\n'
"""A perf that does nothing but run what it is to watch; the shell stays in between, as perf does."""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a program that is found as perf."""
    file = tmp_path / "bin" / "perf"
    file.parent.mkdir()
    file.write_text(WAITS)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{file.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(perf, "_mount", lambda: ())
    return file


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_program_ends_when_told_and_once_more_is_nothing(fake: Path) -> None:
    one = perf.PerfProgram(["perf", "record"])
    assert one.is_ready()
    assert (one.end(), one.code, one.end()) == ("", 0, "")


def test_what_it_says_of_errors_is_kept_and_it_is_not_ready(fake: Path) -> None:
    fake.write_text("#!/bin/sh\necho ' not allowed ' >&2; exit 3\n")
    one = perf.PerfProgram(["perf", "record"])
    assert not one.is_ready()
    assert (one.end(), one.code) == ("not allowed", 3)


def test_the_reason_is_what_follows_the_word_error() -> None:
    assert perf.find_reason("\nError:\nAccess is limited.\nConsider\n") == "Access is limited."
    assert perf.find_reason("event syntax error: 'block'\n   \\___ unknown\n\nError:\tno tracefs\n") == "no tracefs"


def test_who_may_mount_nothing_has_perf_itself_say_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perf, "TRACEFS", tmp_path / "none")
    monkeypatch.setattr(perf, "_MOUNT", ("sh", "-c", "exit 1"))
    assert perf._mount.__wrapped__() == ()
    monkeypatch.setattr(perf, "_MOUNT", ("env",))
    assert perf._mount.__wrapped__() == ("env",)


def test_a_killed_program_ends_and_leaves_nothing(fake: Path) -> None:
    one = perf.PerfProgram(["perf", "record"])
    assert one.is_ready()
    waiter = int(Path(f"/proc/{one.pid}/task/{one.pid}/children").read_text().split()[0])
    os.kill(one.pid, signal.SIGKILL)
    one.end()
    assert one.code == -signal.SIGKILL
    for _ in range(200):
        if not is_alive(waiter):
            break
        time.sleep(0.05)
    assert not is_alive(waiter), "what it watched ends by its input"


def test_a_program_that_hangs_is_killed_with_what_it_started(fake: Path) -> None:
    fake.write_text("#!/bin/sh\necho ready\nsleep 600 & echo $! >&2; wait\n")
    one = perf.PerfProgram(["perf", "record"], patience_s=0.5)
    assert one.is_ready()
    child = int(one.end())
    assert one.code == -signal.SIGKILL
    for _ in range(200):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        pytest.fail("its child goes on")


def test_a_program_that_never_begins_is_not_waited_for(fake: Path) -> None:
    fake.write_text("#!/bin/sh\nexec sleep 600\n")
    one = perf.PerfProgram(["perf", "record"], patience_s=0.5)
    assert not one.is_ready()
    one.end()
    assert one.code == -signal.SIGKILL


def test_a_watch_begins_once_and_ends_once(fake: Path, tmp_path: Path) -> None:
    begun = []

    def commands(scene: perf.Scene) -> list[list[str]]:
        begun.append(scene)
        return [["perf", "record"], ["perf", "record"]]

    watch = perf.PerfMonitor(commands, Known({}), tmp_path, lambda: ())
    watch.sample()
    running = [one.pid for one in watch._running]
    os.kill(running[0], signal.SIGKILL)
    watch.end()
    watch.sample()
    watch.sample()
    assert len(begun) == 1
    assert len(running) == 2
    assert not any(map(is_alive, running))


def test_a_watch_of_a_perf_that_is_refused_says_why(fake: Path, tmp_path: Path) -> None:
    fake.write_text("#!/bin/sh\necho 'may not' >&2; exit 1\n")
    watch = perf.PerfMonitor(lambda _: [["perf", "record"]], Known({}), tmp_path, lambda: ())
    with pytest.raises(OSError, match="may not"):
        watch.sample()
    assert watch.problem == "may not"
    watch.end()


def test_reading_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(OSError, match="more than"):
        list(perf.read_lines(["sh", "-c", "echo one; exec sleep 600"], patience_s=0.5))
    assert list(perf.read_lines(["echo", "one"])) == ["one\n"]


SCRIPT = """postgres 18361
\tffffffff821f5127 vfs_write.isra.0 ([kernel.kallsyms])
\tffffffff81000c82 do_syscall_64 ([kernel.kallsyms])
\t          1a4c57 write@@GLIBC_2.2.5 (/usr/lib/x86_64-linux-gnu/libc.so.6)
\t          19dffe [unknown] (/usr/lib/postgresql/15/bin/postgres (deleted))
\t          19d000 [unknown] (/usr/lib/postgresql/15/bin/postgres (deleted))
\t          1ac749 a::b(int; char) const (/usr/lib/x.so)
\t          152b05 main (/usr/lib/postgresql/15/bin/postgres)
\tffffffffffffffff [unknown] ([unknown])

two words 7
\t          1ac749 fib (/usr/bin/f)
\t          1ac749 fib (/usr/bin/f)

swapper 0
\tffffffff81000c82 pv_native_safe_halt ([kernel.kallsyms])
\tffffffff81000c82 do_idle ([kernel.kallsyms])
"""


def test_stacks_are_folded() -> None:
    assert list(stacks.fold(SCRIPT.splitlines())) == [
        ("postgres", 18361, "postgres;main;a::b(int: char) const;[postgres];write;do_syscall_64_[k];vfs_write_[k]"),
        ("two words", 7, "two words;fib;fib"),
    ]


def test_a_function_that_calls_itself_counts_once() -> None:
    found = add_functions({("t", "fib", "fib"): 0.75, ("t", "main"): 0.25})
    assert (found["fib"].own, found["fib"].whole, found["main"].whole) == (0.75, 0.75, 0.25)
    assert "t" not in found


def test_frames_are_as_wide_as_their_shares_and_escaped() -> None:
    drawn = draw_flame({("t", "a<b>"): 0.6, ("t", "c", "d_[k]"): 0.3995, ("t", "e"): 0.0005}, "a graph")
    assert "a&lt;b&gt;: 60.0%" in drawn
    assert 'x="60.000%" y="17" width="39.950%"' in drawn
    assert '<svg x="60.000%" y="34" width="39.950%" height="17" class="k"><title>d: 40.0%' in drawn
    assert "<title>e:" not in drawn, "too narrow to be seen"


def test_a_difference_tells_what_grew_and_shrank() -> None:
    drawn = draw_difference({("t", "a"): 1.0}, {("t", "a"): 0.25, ("t", "b"): 0.75}, "both")
    assert "<title>a: -75.0 points, 25.0% instead of 100.0%" in drawn
    assert 'class="s" style="--by:100%"><title>a' in drawn
    assert 'class="g" style="--by:100%"><title>b: +75.0 points' in drawn


def test_a_difference_of_few_samples_is_chance() -> None:
    assert not is_told(0.10, 50, 0.20, 50)
    assert is_told(0.10, 5000, 0.20, 5000)
    assert not is_told(0.100, 10**7, 0.105, 10**7), "less than a point"


EVENTS = """  659.541706000:    block:block_rq_issue: 254,0 RS 16384 () 394 + 32 0x2,0,4 [mariadbd]
  659.541750000:    block:block_rq_issue: 254,0 WS 8192 () 319 + 16 [dd]
  659.541806000: block:block_rq_complete: 254,0 RS () 394 + 32 0x2,0,4 [0]
  659.542750000: block:block_rq_complete: 254,0 WS () 319 + 16 [0]
  659.543000000:    block:block_rq_issue: 254,0 FF 0 () 0 + 0 0x0,0,0 [kworker/1:1H]
  659.543040000: block:block_rq_complete: 254,0 FF () 18446744073709551615 + 0 0x0,0,0 [0]
  659.543040001: block:block_rq_complete: 254,0 WS () 0 + 0 0x2,0,4 [0]
  660.000000000:    block:block_rq_issue: 254,0 DS 8192 () 7 + 16 0x2,0,4 [kworker/1:1H]
  660.000000001:    block:block_rq_issue: 8,16 FWFS 8192 () 9 + 16 0x2,0,4 [x]
  661.000000001: block:block_rq_complete: 8,16 FWFS () 9 + 16 0x2,0,4 [0]
"""


def test_requests_are_matched_with_their_ends() -> None:
    assert list(device_times.match_events(EVENTS.splitlines())) == [
        ("254,0", "read", 100_000), ("254,0", "write", 1_000_000), ("254,0", "flush", 40_000),
        ("8,16", "forced write", 1_000_000_000),
    ]  # fmt: skip


def test_a_time_lies_in_its_bucket_and_buckets_lie_beside_each_other() -> None:
    for time_ns in (1, 2, 3, 7, 1000, 40_000, 999_999, 10**9, 10**11):
        low, high = device_times.bounds_of(device_times.bucket_of(time_ns))
        assert low <= time_ns <= high
        assert high <= 1.05 * low + 1
        assert device_times.bucket_of(high + 1) > device_times.bucket_of(high)


def test_quantiles_of_buckets() -> None:
    buckets = ((1, 3, 50), (4, 6, 49), (100, 110, 1))
    assert [quantile_of(buckets, share) for share in (0.5, 0.51, 0.99, 1.0)] == [3.0, 6.0, 6.0, 110.0]
    assert quantile_of(((1, 1, 7), (2, 2, 93)), 0.07) == 1.0, "0.07 * 100 is above 7 in binary"
    assert mean_of(buckets) == (2 * 50 + 5 * 49 + 105) / 100
    assert [(time, round(share, 9)) for time, share in survival_of(buckets)] == [(1, 1.0), (3, 0.5), (6, 0.01)]


def test_a_quantile_of_requests_needs_five_beyond() -> None:
    def times_of(count: int) -> tuple[float, float, float]:
        rows = [
            {"scale": 1, "clients": 1, "operation": "read", "low_ns": low, "high_ns": low, "count": part, "committed": 9}
            for low, part in ((1, count - 5), (7, 5))
        ]  # fmt: skip
        of_run = SimpleNamespace(cycles={"clients": pa.array([1])}, tables={"device_times": pa.Table.from_pylist(rows)})
        evaluation: Any = SimpleNamespace(rows=of_run, series={})
        ((one,),) = DeviceTimesResult(evaluation).device_times.values()
        return one.p50_ns, one.p90_ns, one.p99_ns

    assert times_of(500) == (1.0, 1.0, 1.0)
    assert [isnan(time) for time in times_of(499)] == [False, False, True]
    assert [isnan(time) for time in times_of(49)] == [False, True, True]


def test_a_disk_stands_for_its_partitions_and_for_what_lies_on_it(tmp_path: Path) -> None:
    (tmp_path / "sda/sda1").mkdir(parents=True)
    (tmp_path / "sda/dev").write_text("8:0\n")
    (tmp_path / "sda/sda1/partition").write_text("1\n")
    (tmp_path / "dm-0/slaves").mkdir(parents=True)
    (tmp_path / "dm-0/slaves/sda1").symlink_to(tmp_path / "sda/sda1")
    part, volume = Device("sda1", tmp_path / "sda/sda1"), Device("dm-0", tmp_path / "dm-0")
    assert device_times.find_disks([part]) == device_times.find_disks([volume]) == {"8,0": "sda"}
    with pytest.raises(OSError, match="block device"):
        device_times.record(perf.Scene({}, (), tmp_path))


@pytest.mark.parametrize("target", mostly_thorough(["private:postgresql", "private:sqlite"], "private:sqlite"))
def test_a_run_has_stacks_and_times_of_the_device_or_says_why_not(target: str, tmp_path: Path) -> None:
    asked = {"scales": (1,), "cycles": 1, "duration": 1.0, "clients": 1, "out": tmp_path}
    for kind, table, lacks in (("stacks", "stacks", "no flame graph"), ("storage", "device_times", "were not timed")):
        archive = dsbench.run(target, perf=kind, **asked)
        said = [one.message for one in archive.run.warnings if one.code == "perf"]
        rows = archive.table(table).to_pylist()
        assert bool(rows) != any(lacks in message for message in said)
        told = list(subjects.find_subject(table).tell(archive.evaluate()))
        assert any(isinstance(block, Table) for block in told) == bool(rows)
        if rows and kind == "stacks":
            assert {row["of"] for row in rows} == {"run" if "sqlite" in target else "server"}
            (picture,) = (block for block in told if isinstance(block, Picture))
            assert picture.svg in (archive.path / "report.html").read_text()
