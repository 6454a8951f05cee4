"""What else a machine does: parsed texts of /proc, and two looks at one that was made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dsbench.measure.monitors import RUN, SERVER, Known, between, look, proc, with_sessions
from dsbench.measure.monitors.system import Disks, SystemCalls, numbered
from dsbench.read.subjects.cost import NO_CALLS
from dsbench.stats.machine import Program

SHELL = (
    b"1318 (bash) S 1280 1318 1318 0 -1 4194560 5210 90311 2 31 12 7 481 93 20 0 1 0 26811 8060928 1012"
    b" 18446744073709551615 94 94 140 0 0 0 65536 3686404 1266761467 1 0 0 17 1 0 0 0 0 0 94 94 94 140 140 140 140 0\n"
)
KWORKER = b"9 (kworker/0:1H-kb) I 2 0 0 0 -1 69238880 0 0 0 0 0 38 0 0 0 -20 1 0 13 0 0 18446744073709551615 0 0\n"
STAT = (
    b"cpu  899686 660713 375472 406471 32451 5 17639 2344 11 0\ncpu0 454619 321255 173616 232813 10832 0 3598 1122 0 0\n"
    b"cpu1 445066 339458 201856 173658 21619 0 14041 1221 0 0\nintr 123 4\nctxt 99\nprocs_running 3\n"
)
IO = b"rchar: 6976\nwchar: 10\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"
PSI = b"some avg10=6.75 avg60=2.98 avg300=3.02 total=7211166585\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
TICK_NS = 10_000_000


def test_recorded_texts_are_read() -> None:
    assert proc.process(SHELL) == proc.ProcessStatus("bash", 1280, False, 26811, 12, 7, 481, 93)
    assert proc.process(KWORKER).kernel
    assert proc.times(STAT) == proc.CpuTimes(899686 + 660713, 375472, 406471 + 32451, 5 + 17639, 2344, 2)
    assert (proc.moved(IO), proc.pressure(PSI)) == ((4096, 8192), (7_211_166_585, 0.0675))


def test_a_program_may_be_called_anything() -> None:
    named = proc.process(SHELL.replace(b"(bash)", b"(a) R 1 (\n\xff)"))
    assert (named.program, named.parent, named.user) == ("a) R 1 (?\ufffd", 1280, 12)


def test_what_is_of_another_form_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("intr 5\n")
    assert proc.read(tmp_path / "stat", proc.times) is None
    assert proc.read(tmp_path / "absent", proc.times) is None
    assert look(Known({}), tmp_path) is None


def machine(folder: Path, busy: tuple[int, int], of: Mapping[int, tuple[Any, ...]], stolen: int = 0) -> Path:
    """A /proc: ticks of user and system of all CPUs, and by pid (name, parent, user, system, children's, bytes)."""
    user, system = busy
    folder.mkdir()
    (folder / "stat").write_text(f"cpu  {user} 0 {system} 50 0 0 2 {stolen} 0 0\ncpu0 0 0\ncpu1 0 0\n")
    for pid, (name, parent, mine, kernel, children, moved) in of.items():
        (folder / str(pid)).mkdir()
        flags = 0x00200000 if parent == 2 else 0
        fields = f"{parent} 0 0 0 -1 {flags} 0 0 0 0 {mine} {kernel} {children} 0 20 0 1 0 {pid}"
        (folder / str(pid) / "stat").write_text(f"{pid} ({name}) S {fields} 0\n")
        (folder / str(pid) / "io").write_text(f"read_bytes: 0\nwrite_bytes: {moved}\n")
    return folder


BEFORE = {
    2: ("kthreadd", 0, 0, 0, 0, 0),
    9: ("kworker", 2, 0, 10, 0, 0),
    100: ("dsbench", 50, 10, 0, 5, 100),
    101: ("postgres", 100, 20, 0, 0, 1000),  # of a server that dsbench started
    102: ("postgres", 101, 7, 0, 0, 50),  # a session that ends, and
    103: ("postgres", 101, 1, 0, 0, 0),  # another, whose parent has not waited for it yet
    200: ("hog", 1, 500, 0, 0, 0),
    300: ("make", 1, 1, 0, 70, 0),
    301: ("cc1", 300, 40, 0, 0, 900),
    400: ("postgres", 1, 3, 0, 0, 0),  # somebody else's
}
AFTER = {
    **BEFORE,
    9: ("kworker", 2, 0, 14, 0, 0),
    100: ("dsbench", 50, 16, 0, 5, 100),
    101: ("postgres", 100, 22, 0, 12, 1400),
    103: ("postgres", 101, 21, 0, 0, 600),
    200: ("hog", 1, 560, 0, 0, 0),
    300: ("make", 1, 1, 0, 140, 1200),
    400: ("postgres", 1, 13, 0, 0, 7000),
}
del AFTER[102], AFTER[301]
KNOWN = Known({100: RUN, 101: SERVER})


def used(tmp_path: Path, busy: tuple[int, int], after: Mapping[int, Any], known: Known = KNOWN, **more: int) -> Any:
    first = look(known, machine(tmp_path / "before", (1000, 100), BEFORE))
    last = look(known, machine(tmp_path / "after", (1000 + busy[0], 100 + busy[1]), after, **more))
    assert first is not None
    assert last is not None
    return between(first, replace(last, at_ns=first.at_ns + 10**9), known)


def ticks(cpu_ns: int) -> int:
    return cpu_ns // TICK_NS


def test_every_cpu_second_is_somebodys(tmp_path: Path) -> None:
    found = used(tmp_path, (150, 4), AFTER, stolen=30)
    use = found.use
    # The server: 2 itself, 20 of the session that lives, 12 - 7 of the one that has ended.
    assert [ticks(ns) for ns in (use.run_ns, use.server_ns, use.kernel_ns, use.stolen_ns)] == [6, 27, 4, 30]
    # Of 154 busy ticks 6 + 27 + 4 are known; 60 + 10 are living programs', 30 of the compiler's 70 came before.
    assert ticks(use.others_ns) == 117
    assert ticks(use.unseen_ns) == 117 - 60 - 10 - 30
    assert found.programs[:3] == (
        Program("hog", 200, False, 60 * TICK_NS, 0),
        Program("make", 300, True, 30 * TICK_NS, None),
        Program("postgres", 400, False, 10 * TICK_NS, 7000),
    )
    assert Program("make", 300, False, 0, 300) in found.programs, "of the compiler's bytes 900 came before"
    assert (use.own_bytes, use.cpus) == (400 + 600 - 50, 2)


def test_a_pid_that_was_given_again_is_another_program(tmp_path: Path) -> None:
    first, last = machine(tmp_path / "a", (0, 0), {7: ("old", 1, 90, 0, 0, 0)}), tmp_path / "b"
    machine(last, (5, 0), {7: ("new", 1, 5, 0, 0, 0)})
    text = (last / "7/stat").read_text()
    (last / "7/stat").write_text(text.removesuffix(" 7 0\n") + " 8 0\n")
    looks = [look(KNOWN, root) for root in (first, last)]
    assert looks[0] is not None
    assert looks[1] is not None
    found = between(looks[0], replace(looks[1], at_ns=looks[0].at_ns + 10**9), KNOWN)
    assert [(one.program, ticks(one.cpu_ns)) for one in found.programs] == [("new", 5)]


def test_where_the_kernels_threads_are_hidden_system_time_is_not_held_against_others(tmp_path: Path) -> None:
    hidden = {pid: one for pid, one in AFTER.items() if one[1] != 2 and pid != 2}
    found = used(tmp_path, (126, 500), hidden)
    # Of 126 user ticks 33 are dsbench's and the server's, and 70 living programs'.
    assert ticks(found.use.unseen_ns) + ticks(found.programs[1].cpu_ns) == 126 - 33 - 70
    assert ticks(found.use.others_ns) < 126


def test_a_server_that_cannot_be_told_apart_is_not_accused(tmp_path: Path) -> None:
    found = used(tmp_path, (190, 4), AFTER, Known({100: RUN}, server=False))
    # Programs with a server's name may be it, and so may what cannot be seen.
    assert [one.program for one in found.programs if one.cpu_ns] == ["hog"]
    assert (ticks(found.use.others_ns), found.use.unseen_ns) == (60, 0)


def test_the_servers_own_process_is_found_above_its_sessions() -> None:
    known = {pid: proc.ProcessStatus(one[0], one[1], False, 0, 0, 0, 0, 0) for pid, one in BEFORE.items()}
    assert proc.oldest_of_name(known, 103) == 101
    assert proc.family(known, [101, 999]) == {101, 102, 103}
    loop = {5: known[200]._replace(parent=6), 6: known[200]._replace(parent=5)}
    assert proc.family(loop, [5]) == {5, 6}


def test_arguments_are_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, opened = set(), open

    def noted(path: Path | str, *how: Any, **more: Any) -> Any:
        seen.add(Path(path).name)
        return opened(path, *how, **more)

    there = machine(tmp_path / "one", (0, 0), BEFORE)
    monkeypatch.setattr("builtins.open", noted)
    assert look(KNOWN, there) is not None
    assert seen == {"stat", "io", *proc.RESOURCES}


def test_what_sessions_waited_that_end_with_the_cycle_is_in_it(tmp_path: Path) -> None:
    found = used(tmp_path, (150, 4), AFTER)
    rows = [{"monitor": who, "metric": "queued", "value": value}
            for who, value in (("server_tasks", 0.5), ("client_tasks", 9.0), ("server_tasks", 2.0))]  # fmt: skip
    assert found.use.queued_ns is None
    assert with_sessions(found, rows).use.queued_ns == 1_500_000_000
    assert with_sessions(found, rows[:2]) == found
    whole = replace(found, use=replace(found.use, queued_ns=2_000_000_000))
    assert with_sessions(whole, rows) == whole, "threads that outlast the cycle are read after it"


def test_disks_tell_their_transfers_and_parts_of_disks_do_not(tmp_path: Path) -> None:
    for name in ("sda", "loop0", "dm-0"):
        (tmp_path / "sys/block" / name).mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    rows = ["8 0 sda 10 0 80 1 32 0 64 2 0 3 4", "8 1 sda1 10 0 80 1 32 0 64 2 0 3 4", "7 0 loop0 5 0 1 1 1 0 1 1 0 1 1",
            "253 0 dm-0 42 0 1 1 0 0 0 0 0 1 1"]  # fmt: skip
    (tmp_path / "proc/diskstats").write_text("\n".join(rows) + "\n")
    assert Disks(tmp_path).sample() == [("transfers of sda", "operations total", 42)]
    assert Disks(tmp_path / "nothing").sample() == []


def test_system_calls_are_counted_where_the_kernel_lets_us(tmp_path: Path) -> None:
    assert numbered("0-2,5\n") == [0, 1, 2, 5]
    assert SystemCalls.allowed(tmp_path) is None, "there is no tracefs"
    counted = SystemCalls.allowed()
    if counted is None:  # Not allowed here: show says so.
        assert "System calls were not counted" in NO_CALLS
        return
    before = counted.sample()[0][2]
    for _ in range(1000):
        Path("/nothing").exists()
    assert counted.sample()[0][2] - before >= 1000
