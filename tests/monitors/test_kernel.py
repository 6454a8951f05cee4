"""What perf sees of the kernel beside a cycle (--perf)."""

from __future__ import annotations

from pathlib import Path

import pytest

import dsbench
from dsbench.archive.conditions import State
from dsbench.measure import kernel
from dsbench.read import subjects
from dsbench.read.blocks import Table
from dsbench.read.subjects.cost import CostResult

SUMMARY = """
 Summary of events:

 postgres (812), 60 events, 97.1%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   recvfrom              20      9     0.108     0.002     0.005     0.022     11.81%
   sendto                10      0     0.115     0.009     0.012     0.014      3.55%


 postgres (813), 40 events, 2.9%

   recvfrom               5      0     0.108     0.002     0.005     0.022     11.81%
"""

SAMPLES = """postgres    812
\tffffffff81e0a1b2 _raw_spin_unlock_irqrestore
\tffffffff81e0a1b2 sock_def_readable
\tffffffff81e0a1b2 unix_stream_sendmsg
\tffffffff81e0a1b2 __sys_sendto
\tffffffff81e0a1b2 do_syscall_64
\tffffffff81e0a1b2 entry_SYSCALL_64_after_hwframe
\t    7f0a1b2c3d4e send

client-0    900
\tffffffff81e0a1b2 futex_wait_queue
\tffffffff81e0a1b2 do_futex
\tffffffff81e0a1b2 do_syscall_64

two words 7
\tffffffff81e0a1b2 ext4_da_write_end
\tffffffff81e0a1b2 vfs_write
\tffffffff81e0a1b2 do_syscall_64

postgres 812
\tffffffff81e0a1b2 handle_softirqs
\tffffffff81e0a1b2 asm_sysvec_apic_timer_interrupt
\tffffffff81e0a1b2 vfs_write
\tffffffff81e0a1b2 do_syscall_64

swapper 0
\tffffffff81e0a1b2 pv_native_safe_halt
\tffffffff81e0a1b2 do_idle

kworker/0:1 30
\tffffffff81e0a1b2 process_one_work
\tffffffff81e0a1b2 ret_from_fork

postgres 812
\t    5571aabbccdd [unknown]
\t    5571aabbccdd [unknown]
"""


def test_calls_of_all_threads_are_added() -> None:
    assert kernel.read_calls(SUMMARY) == {"recvfrom": 25.0, "sendto": 10.0}


def test_an_option_names_kinds() -> None:
    assert kernel.kinds("none") == ()
    assert kernel.kinds("stacks") == ("stacks",)
    assert kernel.kinds("profile") == ("profile", "stacks")
    assert kernel.kinds("all") == tuple(kernel.KINDS)


def test_a_sample_is_of_the_part_that_its_system_call_led_to() -> None:
    found = [(name, pid, kernel.part_of_kernel(frames)) for name, pid, frames in kernel.read_samples(SAMPLES.splitlines())]
    assert found == [
        ("postgres", 812, "pipes and sockets"), ("client-0", 900, "locks"), ("two words", 7, "files"),
        ("postgres", 812, "interrupts"), ("swapper", 0, ""), ("kworker/0:1", 30, "tasks of the kernel"), ("postgres", 812, None),
    ]  # fmt: skip


@pytest.mark.thorough
def test_a_run_has_what_perf_saw_or_says_why_not(tmp_path: Path) -> None:
    archive = dsbench.run(
        "private:postgresql", workload="tpcb", call="statements", scales=(1,), cycles=1, duration=0.5, clients=1, perf="all", out=tmp_path
    )
    assert archive.table("cycles")["cycle"].to_pylist() == [1], "the cycles beside perf are no others"
    assert all(c.state is State.HOLDS for c in archive.run.checks[1]), "the check knows of them"
    rows = archive.table("kernel").to_pylist()
    said = [one.message for one in archive.run.warnings if one.code == "perf"]
    for kind, what in (("calls", "calls"), ("profile", "part")):
        seen = any(row["what"] == what for row in rows)
        assert seen != any(kernel.KINDS[kind].lacks in message for message in said)
    if {row["what"] for row in rows} >= {"calls", "part"}:
        known = {(one.what, one.name, one.of): one.per_transaction for one in archive.evaluate().of(CostResult).kernel[1]}
        # Six messages a transaction; of a busy machine perf loses some, and the clock may tick beside the server.
        assert known["calls", "sendto", "client"] > 0
        assert known["calls", "sendto", "server"] > 0
        shown = [one for one in subjects.find_subject("cost").tell(archive.evaluate()) if isinstance(one, Table)]
        assert "System calls per transaction, by name" in [one.title for one in shown]
