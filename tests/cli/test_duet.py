"""``dsbench ab --duet``: both sides at the same time, each on its half of the CPUs."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.library import ab, duet
from dsbench.library.ab import load, versus
from dsbench.library.duet import DuetRun, find_foreign, find_starved, halves, run_together
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import RunError
from dsbench.measure.loaders import now_ns
from dsbench.measure.loaders.loader import Local, Together
from dsbench.measure.moments import Silent
from dsbench.read.evaluation import evaluate
from dsbench.spec import RunSpec, SpecError, merged
from dsbench.stats.comparison import Verdict
from fixtures.archives import MS, cycle_row, run_json, write
from fixtures.program import Program
from fixtures.stalled import unless_stalled

SMALL = {"scales": (1,), "cycles": 2, "duration": 0.5, "clients": 1, "seed": 4}


def asked_of(target: str, **more: Any) -> RunSpec:
    return merged({**SMALL, **more}, target=target).spec


def test_cpus_are_halved_by_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = {0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5", 2: "2,6", 6: "2,6"}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(cores))
    monkeypatch.setattr(duet, "_core_of", cores.__getitem__)
    assert halves() == ({0, 4}, {1, 5}), "the third core is left out"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 4})
    with pytest.raises(SpecError, match="there is one CPU core"):
        halves()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("private:sqlite", "private:sqlite", "--one-database"), "--one-database: two servers cannot have one database"),
        (("private:sqlite", "private:sqlite", "--of", "p99"), "--of: with --duet rates are compared"),
        (("private:sqlite", "private:sqlite", "--precision", "2%"), "--precision: with --duet both sides"),
        (("private:sqlite", "private:sqlite", "--find-ramp-up"), "--find-ramp-up: with --duet both sides"),
        (("private:sqlite", "postgresql://127.0.0.1:1/x"), "--duet: B is a server that dsbench does not start"),
        (("private:sqlite", "sqlite:///tmp/x.db"), "--duet: B is a file"),
        (("private:sqlite", "private:sqlite", "--workload", "tp1"), "--workload: the cycles of tp1 end after a number"),
        (("private:sqlite", "private:sqlite", "--placement", "pinned"), "--placement: with --duet both sides"),
    ],
)
def test_what_cannot_be_at_the_same_time_is_refused(words: tuple[str, ...], message: str, called: Program) -> None:
    done = called("ab", *words, "--duet", "--scales", "1", "--clients", "1")
    assert done.returncode == 2
    assert f"error: {message}" in done.stderr


def test_the_sql_of_the_sides_may_differ_and_their_cycles_may_not() -> None:
    a, b = asked_of("private:sqlite", workload="ycsb-c"), asked_of("private:sqlite", workload="ycsb-a")
    duet.refuse_duet({"A": a, "B": b})
    with pytest.raises(SpecError, match="with --duet both sides have the same cycles"):
        duet.refuse_duet({"A": a, "B": asked_of("private:sqlite", workload="tpcb")})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Pairs that are only asked for: the machine's speed changes from pair to pair by half, and B is 10% slower. The
    first half of the CPUs is 2% faster."""
    asked: list[list[str]] = []

    def together(sides: Any, _cpus: Any, out: Path, _observer: Any, _stop: Any) -> list[DuetRun]:
        asked.append([letter for letter, _ in sides])
        speed = 1000 * (1.5 if len(asked) % 3 else 1)
        found = []
        for at, (letter, spec) in enumerate(sides):
            count = round(speed * (0.9 if letter == "B" else 1) * (0.98 if at else 1)) + len(asked) % 2
            run = run_json({**spec.described(), "duration": 1.0}, name=f"run{len(asked):02}-{letter}")
            rows = [cycle_row(1, cycle + 1, [MS] * count) for cycle in range(spec.cycles)]
            archive = write(out, run, {"cycles": rows})
            found.append(DuetRun(archive.path, evaluate(archive), float(count)))
        return found

    monkeypatch.setattr(ab, "run_together", together)
    monkeypatch.setattr(duet, "halves", lambda: (frozenset({0}), frozenset({1})))
    monkeypatch.setattr(ab, "halves", lambda: (frozenset({0}), frozenset({1})))
    monkeypatch.setattr(ab, "find_starved", lambda _sides: (0.0, 0.0))
    return asked


def test_what_both_sides_lose_is_in_no_ratio(made: list[list[str]], tmp_path: Path) -> None:
    a, b = asked_of("private:sqlite"), asked_of("private:sqlite", label="b")
    found = versus(a, b, tmp_path, observer=lambda _spec: Silent(), duet=True)
    assert found.ratio.verdict is Verdict.SLOWER
    assert len(found.blocks) < 6
    assert found.ratio.interval.value == pytest.approx(0.9, abs=0.02)
    assert [letter for pair in made for letter in pair] == [letter for one in found.blocks for letter in one.order]
    again = load(tmp_path)
    assert again.duet
    assert again.ratio == found.ratio
    assert again.blocks == found.blocks
    text = found.text()
    assert "Both sides ran at the same time." in text
    assert "half of the CPUs of each side in each pair of runs was drawn" in text
    with pytest.raises(SpecError, match="compares something else"):
        versus(a, b, tmp_path, observer=lambda _spec: Silent(), resume=True)


def test_a_side_that_stands_still_beside_the_other_is_told(tmp_path: Path) -> None:
    def side(name: str, counts: list[int]) -> Any:
        run = run_json({**asked_of("private:sqlite").described(), "cycles": 1, "duration": 10.0}, name=name)
        seconds = [{"scale": 1, "cycle": 1, "node": "local", "kind": "tpcb", "second": n, "count": count, "failed": 0,
                    "p50_ns": MS, "p99_ns": MS, "max_ns": MS, "oldest_ns": 0} for n, count in enumerate(counts)]  # fmt: skip
        return evaluate(write(tmp_path, run, {"cycles": [cycle_row(1, 1, [MS] * sum(counts))], "seconds": seconds}))

    a, b = side("a", [100] * 10), side("b", [100] * 8 + [10, 20])
    assert find_starved([a, b]) == pytest.approx((0.0, 0.2))
    assert find_starved([b, a]) == pytest.approx((0.2, 0.0))


def test_a_scale_is_set_beside_its_own_median(tmp_path: Path) -> None:
    def side(name: str, steady: tuple[int, int]) -> Any:
        run = run_json({**asked_of("private:sqlite").described(), "scales": [1, 2], "cycles": 1, "duration": 5.0}, name=name)
        rows = [{"scale": scale, "cycle": 1, "node": "local", "kind": "tpcb", "second": n, "count": count, "failed": 0,
                 "p50_ns": MS, "p99_ns": MS, "max_ns": MS, "oldest_ns": 0}
                for scale, count in zip((1, 2), steady, strict=True) for n in range(5)]  # fmt: skip
        cycles = [cycle_row(scale, 1, [MS] * 5 * count) for scale, count in zip((1, 2), steady, strict=True)]
        return evaluate(write(tmp_path, run, {"cycles": cycles, "seconds": rows}))

    assert find_starved([side("a", (100, 40)), side("b", (100, 80))]) == (0.0, 0.0)


def test_the_other_side_is_no_other_program() -> None:
    def side(run_s: int, server_s: int, others_s: int) -> Any:
        use = SimpleNamespace(run_ns=run_s, server_ns=server_s, others_ns=others_s, stolen_ns=0, share=lambda ns: ns / 20)
        machine = SimpleNamespace(machine={1: [SimpleNamespace(cycle=1, use=use)]})
        return SimpleNamespace(of=lambda _result: machine)

    assert find_foreign([side(2, 5, 6), side(2, 4, 7)]) == 0.0
    assert find_foreign([side(2, 5, 9), side(2, 4, 9)]) == pytest.approx(0.1)
    assert find_foreign([side(2, 5, 16), side(2, 4, 7)]) == 0.0, "one looked longer than the other ran"


def test_cycles_of_two_loaders_begin_together(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting, starts = duet._Meeting(), dict[str, list[int]](A=[], B=[])

    def side(letter: str) -> None:
        told: queue.SimpleQueue[duet.Start] = queue.SimpleQueue()

        def meet() -> int:
            meeting.ready(letter, told.put)
            return told.get(timeout=10).at_ns

        own = SimpleNamespace(load=None, start=None, wait=None, seconds=None, abandon=None, collect=None, lead_ns=0,
                              connect=lambda _timeout, _watch: time.sleep(0.2 if letter == "B" else 0))  # fmt: skip
        monkeypatch.setattr(Local, "cycle", lambda *_: own)
        loader = Together(meet)
        assert loader.cycle(SimpleNamespace(number=0), lambda *_: None) is own, "a trial waits for nobody"
        for number in (1, 2):
            cycle = loader.cycle(SimpleNamespace(number=number), lambda *_: None)
            cycle.connect(1.0, lambda *_: None)
            starts[letter].append(now_ns() + cycle.lead_ns)

    threads = [threading.Thread(target=side, args=(letter,)) for letter in "AB"]
    for one in threads:
        one.start()
    for one in threads:
        one.join(20)
    assert len(starts["A"]) == len(starts["B"]) == 2
    assert all(abs(a - b) < 50_000_000 for a, b in zip(*starts.values(), strict=True))


def test_nobody_waits_for_a_side_that_has_ended() -> None:
    meeting = duet._Meeting()
    meeting.leave("A", complete=True)
    assert not meeting.why, "the other may be in its last cycle"
    meeting.ready("B", lambda _start: None)
    assert meeting.why == "A had no further cycle when B had one"
    other = duet._Meeting()
    other.ready("B", lambda _start: None)
    other.leave("A", complete=True)
    assert "ended before it" in other.why


@unless_stalled
def test_real_runs_have_their_cycles_at_the_same_time(called: Program, tmp_path: Path) -> None:
    words = ("--scales", "1", "--cycles", "2", "--duration", "0.5", "--clients", "1", "--max-blocks", "3", "--quiet", "--json")
    done = called("ab", "private:sqlite", "private:sqlite?synchronous=OFF", "--duet", *words, "--out", str(tmp_path / "o"))
    assert done.returncode in (0, 3, 4), done.stderr
    found = json.loads(done.stdout)
    assert found["asked"]["duet"] is True
    assert len(found["blocks"]) == 3
    assert all(len(one["starved"]) == 2 and len(one["foreign"]) == 2 for one in found["blocks"])
    for block in found["blocks"]:
        runs = [Archive.open(tmp_path / "o" / name).run for name in block["archives"]]
        assert all(run.status == "complete" for run in runs)
        for one, other in (runs[:2], runs[2:]):
            assert one.started < other.ended
            assert other.started < one.ended


def test_a_run_has_half_of_the_cpus(tmp_path: Path) -> None:
    cpus = halves()
    sides = [(letter, asked_of("private:postgresql", duration=1.0)) for letter in "AB"]
    made = run_together(sides, cpus, tmp_path, Silent(), Stop())
    for one in made:
        assert Archive.open(one.archive).run.item("core", "threads allowed") == str(len(cpus[0]))
        assert one.rate_tps > 0


def test_both_exchange_the_halves_with_all_that_they_started(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[tuple[int, frozenset[int]]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda thread, cpus: moved.append((thread, cpus)))
    halves = frozenset({0}), frozenset({1})
    with subprocess.Popen(["sleep", "60"]) as child, duet._taking_turns(*halves):
        while {cpus for thread, cpus in moved if thread == child.pid} != set(halves):
            time.sleep(0.01)
        child.kill()
    assert {cpus for thread, cpus in moved if thread == os.getpid()} == set(halves)
    left = len(moved)
    time.sleep(0.3)
    assert len(moved) == left, "it ends with the run"


def test_both_stop_when_they_are_asked_to_or_one_fails(tmp_path: Path) -> None:
    cpus, stop = halves(), Stop()
    sides = [(letter, asked_of("private:sqlite", duration=60.0)) for letter in "AB"]
    threading.Timer(2.0, stop.request).start()
    with pytest.raises(RunError, match="stopped by its caller"):
        run_together(sides, cpus, tmp_path, Silent(), stop)
    wrong = asked_of("private:sqlite", duration=60.0, workload="select", checked=str(tmp_path / "none"))
    with pytest.raises(RunError, match=r"^B: .*none"):
        run_together([sides[0], ("B", wrong)], cpus, tmp_path, Silent(), Stop())
