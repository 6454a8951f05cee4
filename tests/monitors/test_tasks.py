"""How the kernel ran client and server: recorded texts of /proc, and processes that come and go, made by hand."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from dsbench.measure.monitors import RUN, SERVER, Known, proc
from dsbench.measure.monitors.tasks import Interrupts, Tasks

X86 = b"""           CPU0       CPU1
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
LOC:   11202687   11247258   Local timer interrupts
RES:    7905189    4788677   Rescheduling interrupts
CAL:    3771882    1389425   Function call interrupts
ERR:          0
"""
ARM = b"""           CPU0       CPU1       CPU2
 11:       1234       5678          9     GICv3  27 Level     arch_timer
IPI0:       100         20          3       Rescheduling interrupts
IPI1:         7          8          9       Function call interrupts
IPI2:         0          0          0       CPU stop interrupts
"""  # fmt: skip


def test_interrupts_between_cpus_are_found_by_what_they_are() -> None:
    names = ("rescheduling_interrupts", "function_call_interrupts")
    assert proc.between_cpus(X86) == dict(zip(names, (7905189 + 4788677, 3771882 + 1389425), strict=True))
    assert proc.between_cpus(ARM) == dict(zip(names, (123, 24), strict=True))
    assert proc.between_cpus(b" CPU0\n  0:  5  rtc\n") == {}


def test_a_kernel_without_them_tells_nothing(tmp_path: Path) -> None:
    assert Interrupts(tmp_path).sample() == []


class Thread(NamedTuple):
    """What /proc tells of one."""

    ran_ms: int
    queued_ms: int = 0
    voluntary: int = 0
    involuntary: int = 0
    moves: int = 0


def write(root: Path, pid: int, parent: int, threads: Mapping[int, Thread], children_ticks: int = 0) -> None:
    """A process; its CPU time is that of ``threads``."""
    folder = root / str(pid)
    shutil.rmtree(folder, ignore_errors=True)
    for tid, one in threads.items():
        task = folder / "task" / str(tid)
        task.mkdir(parents=True)
        (task / "schedstat").write_text(f"{one.ran_ms * 1_000_000} {one.queued_ms * 1_000_000} 5\n")
        (task / "sched").write_text(
            f"postgres ({tid}, #threads: 1)\n---\nse.nr_migrations    :   {one.moves}\nnr_switches   :   99\n"
            f"nr_voluntary_switches   :   {one.voluntary}\nnr_involuntary_switches   :   {one.involuntary}\n"
        )
    ticks = sum(one.ran_ms for one in threads.values()) // 10
    fields = f"{parent} 0 0 0 -1 0 0 0 0 0 {ticks} 0 {children_ticks} 0 20 0 1 0 {pid}"
    (folder / "stat").write_text(f"{pid} (postgres) S {fields} 0\n")


@pytest.fixture
def server(tmp_path: Path) -> Tasks:
    """A server with one session, read once."""
    write(tmp_path, 10, 1, {10: Thread(1000, 50, 7, 8, 9)})
    write(tmp_path, 11, 10, {11: Thread(500, 100, 1000, 20, 3)})
    write(tmp_path, 99, 1, {99: Thread(5000)})  # another program
    tasks = Tasks(SERVER, Known({10: SERVER}), tmp_path)
    tasks.begin()
    assert set(dict_of(tasks).values()) == {0.0}
    return tasks


def dict_of(tasks: Tasks) -> dict[str, float]:
    return {name: value for name, _, value in tasks.sample()}


def test_threads_are_added_up_and_new_ones_counted_from_their_beginning(server: Tasks, tmp_path: Path) -> None:
    write(tmp_path, 11, 10, {11: Thread(1500, 400, 1600, 25, 4)})
    write(tmp_path, 12, 10, {12: Thread(1000, 200, 800, 5, 2), 13: Thread(100, 10, 1, 0, 0)})
    found = dict_of(server)
    assert found == {
        "voluntary_switches": 600 + 801, "involuntary_switches": 5 + 5, "migrations": 1 + 2,
        "queued": pytest.approx(0.3 + 0.21), "cpu": pytest.approx(1.0 + 1.1),
    }  # fmt: skip
    assert dict_of(server) == found, "nothing has happened since"


def test_only_new_processes_are_looked_for_at_the_end_of_a_cycle(tmp_path: Path) -> None:
    for pid in (7, 8, 9):
        write(tmp_path, pid, 1, {pid: Thread(10)})
    first = proc.processes(tmp_path)
    shutil.rmtree(tmp_path / "7")
    write(tmp_path, 8, 3, {8: Thread(10)})
    write(tmp_path, 10, 9, {10: Thread(10)})
    again = proc.processes(tmp_path, first)
    assert {pid: one.parent for pid, one in again.items()} == {8: 1, 9: 1, 10: 9}, "8 was not read again"
    assert proc.family(again, [9]) == {9, 10}


def test_many_sessions_of_less_than_a_tick_each_are_no_zero(server: Tasks, tmp_path: Path) -> None:
    for pid in range(20, 84):
        write(tmp_path, pid, 10, {pid: Thread(9)})
    assert dict_of(server)["cpu"] == pytest.approx(64 * 0.009)


def test_a_session_that_has_ended_makes_no_counter_fall(server: Tasks, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "11")  # 510 ms in all, 10 of them since it was read
    write(tmp_path, 10, 1, {10: Thread(1000, 50, 7, 8, 9)}, children_ticks=51)
    write(tmp_path, 12, 10, {12: Thread(2000, 200, 800, 5, 2)})
    assert dict_of(server)["voluntary_switches"] == 800


def test_sessions_that_last_for_one_transaction_leave_nothing_known(server: Tasks, tmp_path: Path) -> None:
    """Two seconds of CPU time went to sessions that came and ended between the readings."""
    write(tmp_path, 10, 1, {10: Thread(1000, 50, 7, 8, 9)}, children_ticks=200)
    assert dict_of(server) == {}
    server.begin()
    assert dict_of(server)["queued"] == 0.0, "the next cycle begins anew"


def test_a_thread_number_that_was_given_anew_begins_anew(server: Tasks, tmp_path: Path) -> None:
    write(tmp_path, 11, 10, {11: Thread(300, 40, 70, 5, 1)})
    assert dict_of(server)["voluntary_switches"] == 70


def test_a_kernel_that_keeps_no_migrations_tells_the_rest(server: Tasks, tmp_path: Path) -> None:
    for pid in (10, 11):
        (tmp_path / str(pid) / "task" / str(pid) / "sched").unlink()
        status = "Name:\tpostgres\nvoluntary_ctxt_switches:\t2000\nnonvoluntary_ctxt_switches:\t30\n"
        (tmp_path / str(pid) / "task" / str(pid) / "status").write_text(status)
    found = dict_of(server)
    assert found["voluntary_switches"] == 2000 - 7 + 2000 - 1000
    assert "migrations" not in found


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this kernel does not tell")
def test_the_client_is_this_process_with_all_its_threads() -> None:
    tasks = Tasks(RUN, Known({os.getpid(): RUN}))
    tasks.begin()
    before, go, waited, done = dict_of(tasks), threading.Event(), threading.Event(), threading.Event()

    def waits() -> None:
        for _ in range(50):
            go.wait(0.001)
        waited.set()
        done.wait()

    thread = threading.Thread(target=waits)
    thread.start()
    assert waited.wait(60)
    after = dict_of(tasks)
    done.set()
    thread.join()
    assert after["voluntary_switches"] - before["voluntary_switches"] >= 50
