"""``dsbench ab``: interleaved runs, their archives, its verdict and its exit code."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dsbench.archive import Archive
from dsbench.cli.ab import EXIT
from dsbench.library import ab, pair
from dsbench.library.ab import BEFORE, versus
from dsbench.library.pair import Block, Versus
from dsbench.measure.interrupts import Stop
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Observer, Silent
from dsbench.measure.run import Outcome
from dsbench.read.choice import make_choice
from dsbench.read.evaluation import evaluate
from dsbench.read.glance import Taken
from dsbench.read.verdict import RunVerdict, Soundness
from dsbench.several import compare
from dsbench.spec import RunSpec, SpecError, build
from dsbench.stats.comparison import Verdict, order_of
from fixtures.archives import MS, cycle_row, reads_of_device, run_json, write
from fixtures.program import Program
from fixtures.sample import handmade
from fixtures.stalled import unless_stalled
from fixtures.waiting import until

VALID = RunVerdict(Soundness.VALID)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[RunSpec]:
    """Runs that are only asked for: A has 500 transactions in a second, and B 450, both with a little noise."""
    asked: list[RunSpec] = []
    noise = itertools.cycle([0, 3, -2, 4, -3])

    def perform(spec: RunSpec, out: Path, _observer: Observer, _stop: Stop | None) -> Outcome:
        asked.append(spec)
        count = (500 if spec.label == "A" else 450) + next(noise)
        run = run_json({**spec.described(), "cycles": 1, "duration": 1.0}, name=f"run{len(asked):02}-{spec.label}")
        path = write(out, run, {"cycles": [cycle_row(1, 1, [MS] * count)]}).path
        return Outcome(path, "complete")

    monkeypatch.setattr(ab, "perform_apart", perform)
    return asked


def test_the_slower_one_is_found_and_everything_is_kept(made: list[RunSpec], called: Program, tmp_path: Path) -> None:
    done = called("ab", "private:sqlite", "mock:", "--scales", "1", "--clients", "2", "--out", "o", "--json", "--quiet")
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert (found["a"], found["b"], found["verdict"]) == ("private:sqlite", "mock:", "slower")
    orders = [order_of(found["seed"], number) for number in (1, 2, 3)]
    assert [block["order"] for block in found["blocks"]] == orders == found["order"].split()
    assert found["ratio"]["low"] < found["ratio"]["value"] < found["ratio"]["high"] < 1
    assert len(made) == 4 * len(found["blocks"]) == 12
    names = [name for block in found["blocks"] for name in block["archives"]]
    assert [name[-1] for name in names] == list("".join(orders))
    assert all((tmp_path / "o" / name / "run.json").exists() for name in names)
    assert [spec.target.url for spec in made[:2]] == [
        "private:sqlite" if side == "A" else "mock:" for side in orders[0][:2]]
    assert [len({spec.seed for spec in made[n : n + 4]}) for n in (0, 4, 8)] == [1, 1, 1]
    assert len({spec.seed for spec in made}) == 3
    written = {path.name for path in (tmp_path / "o").glob("*.*")}
    assert {"ab.txt", "ab.json", "ab.html", "ab.svg", "comparison.html"} <= written
    assert json.loads((tmp_path / "o/ab.json").read_text()) == found


def test_an_archive_is_evaluated_once(made: list[RunSpec], called: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[Path] = []

    def counted(archive: Archive) -> Any:
        evaluated.append(archive.path)
        return evaluate(archive)

    for module in (ab, pair, compare):
        monkeypatch.setattr(module, "evaluate", counted)
    called("ab", "private:sqlite", "mock:", "--scales", "1", "--out", "o", "--quiet")
    assert len(evaluated) == len(set(evaluated)) == len(made) > 0


def test_another_measure_has_a_verdict_of_its_own(made: list[RunSpec], called: Program) -> None:
    done = called("ab", "private:sqlite", "mock:", "--scales", "1", "--out", "o", "--quiet", "--json", "--of", "maxop")
    assert done.returncode == 1, "these archives have no seconds: nothing is known of them"
    assert "has no maxop to compare: it is 0 or unknown" in done.stderr
    done = called("ab", "private:sqlite", "mock:", "--scales", "1", "--out", "p", "--quiet", "--of", "speed")
    assert (done.returncode, len(made)) == (2, 1), "refused before a run"
    done = called("ab", "private:sqlite", "mock:", "--scales", "1", "--out", "q", "--quiet", "--stage", "l.i1")
    assert (done.returncode, "use one of load" in done.stderr, len(made)) == (2, True, 1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [("--of capacity", "a run of A has no capacity"), ("--of q9 --workload tpcb", "run --workload tpch"),
     ("--of qphh --workload tpch --set size=0.01 --set tests=power", "without --set tests=power"),
     ("--of power-hot --workload tpch --set size=0.01", "--set cold=3"),
     ("--of q9 --stage power3 --workload tpch --set size=0.01", "use one of indexes, statistics, power1, throughput1")],
)  # fmt: skip
def test_what_no_run_can_have_is_refused_before_one_is_made(
    asked: str, words: str, made: list[RunSpec], called: Program
) -> None:
    done = called("ab", "private:sqlite", "private:sqlite?cache_size=-100", "--scales", "1", "--quiet", *asked.split())
    assert (done.returncode, made) == (2, [])
    assert words in done.stderr


def test_what_is_compared_by_differences_and_less_of_which_is_better() -> None:
    def versus_of(measure: str, unit: str, first: float, second: float) -> Versus:
        made = tuple(block(first, second, second, first) for _ in range(5))
        return Versus(("a", "b"), made, 0.02, choice=make_choice(measure), unit=unit)

    slower = versus_of("p99", "ms", 100, 200)
    assert slower.sentence().startswith("slower: B has 2.00")
    assert versus_of("p99", "ms", 200, 100).ratio.verdict is Verdict.FASTER
    hits = versus_of("hit-ratio", "%", 50, 80)
    assert hits.sentence().startswith("better: hit-ratio of B minus that of A is +30% [")
    found = hits.document()
    assert found["change"]["value"] == pytest.approx(30, abs=0.1)
    assert found["blocks"][0]["change"] == pytest.approx(30)
    assert found["blocks"][0]["values"] == (50, 80, 80, 50)
    assert "B - A" in hits.text()
    assert versus_of("failures", "%", 0, 5).sentence().startswith("worse: ")
    alike = versus_of("failures", "%", 1, 1)
    assert alike.sentence().startswith("no difference of more than 0%: failures of B minus")


def test_differences_of_what_may_be_0_have_its_unit() -> None:
    def versus_of(measure: str, unit: str, *rates: float) -> Versus:
        made = tuple(block(*rates) for _ in range(5))
        return Versus(("a", "b"), made, 0.02, choice=make_choice(measure), unit=unit)

    alike = versus_of("outage", "s", 0, 0, 0, 0)
    assert alike.sentence().startswith("no difference of more than 0 s: outage of B minus that of A is +0 s [+0, +0], 95%")
    assert alike.document()["change"] == {"value": 0, "low": 0, "high": 0, "level": 0.95}
    longer = versus_of("outage", "s", 0, 4, 4, 0)
    assert longer.sentence().startswith("slower: outage of B minus that of A is +4 s [")
    assert longer.document()["blocks"][0]["change"] == pytest.approx(4)
    little = versus_of("kb-read", "KB", 5000, 5002, 5002, 5000)
    assert little.ratio.verdict is Verdict.SLOWER
    assert little.document()["change"]["value"] == pytest.approx(2)
    assert versus_of("kb-read", "KB", 5000, 5002, 5000, 5002).ratio.verdict is Verdict.ALIKE
    much = versus_of("kb-read", "KB", 0, 12_000, 12_000, 0)
    assert "kb-read of B minus that of A is +12,000 KB [" in much.sentence()
    assert "+12,000" in much.text().split("block", 2)[2]
    drawn = ab._draw(longer)
    assert drawn["title"]["text"] == "outage of B minus that of A: +4"
    assert drawn["title"]["subtitle"] == ["points: each block; bars: 95% interval after that block; grey: ±2.0% of the mean"]


def test_a_run_of_0_is_compared_where_differences_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A reads nothing of its device, B 50 times a second."""
    spec, asked = build({"scales": (1,), "cycles": 1, "duration": 1.0}), itertools.count()

    def perform(one: RunSpec, *_: object) -> Outcome:
        run = run_json(one.described(), name=f"run{next(asked)}-{one.label}")
        rows = {"cycles": [cycle_row(1, 1, [MS] * 500)], "monitors": reads_of_device(100 * (one.label == "B"))}
        return Outcome(write(tmp_path, run, rows).path, "complete")

    monkeypatch.setattr(ab, "perform_apart", perform)
    told: list[str] = []
    found = versus(spec, spec, tmp_path, observer=lambda _: Silent(), choice=make_choice("rps"), told=told.append)
    assert found.error is None
    assert found.sentence().startswith("worse: rps of B minus that of A is +50 1/s [")
    assert (told[0].split(": ")[1].split()[1], told[0].split(", ")[-1]) in {("0", "B - A +50"), ("50", "B - A +50")}
    assert ab.load(tmp_path).document() == found.document()


def block(*rates: float) -> Block:
    return Block("ABBA", (Path("x"),) * 4, rates, (VALID,) * 4)


def test_verdicts_in_words_and_as_exit_codes() -> None:
    alike = [block(1000 + n, 1001, 1000 - n, 1000) for n in range(5)]
    assert Versus(("a", "b"), tuple(alike), 0.02).sentence().startswith("no difference of more than ")
    faster = Versus(("a", "b"), (block(100, 201, 199, 100),) * 2 + (block(100, 203, 199, 101),), 0.02)
    assert faster.sentence().startswith("faster: B has 2.0")
    open_ = Versus(("a", "b"), (block(100, 150, 120, 130),), 0.02)
    assert open_.sentence().startswith("undecided: B has 1.177 times the rate of A, 95%, after 1 block; make ")
    assert {verdict: EXIT[verdict] for verdict in Verdict} == {"faster": 0, "no difference": 0, "slower": 3, "undecided": 4}


def test_who_wins_by_what_it_may_lose_is_told_so(tmp_path: Path) -> None:
    """Where both may lose commits, that is no difference of them."""
    off = [{"switch": "fsync", "value": "off", "safe": False, "meaning": ""}]
    cycles = {"cycles": [cycle_row(1, 1, [MS] * 100)]}

    def made(name: str, switches: list[dict[str, object]]) -> Path:
        return write(tmp_path, run_json({"scales": [1], "cycles": 1, "duration": 1.0}, name=name, durability=switches), cycles).path

    safe, lax = made("safe", []), made("lax", off)
    words = "B may lose committed data (fsync off): that is part of its rate."
    assert words in Versus(("a", "b"), (Block("ABBA", (safe, lax, lax, safe), (100, 200, 200, 100), (VALID,) * 4),), 0.02).text()
    both = Versus(("a", "b"), (Block("ABBA", (lax,) * 4, (100, 200, 200, 100), (VALID,) * 4),), 0.02)
    assert "may lose" not in both.text()


def test_ways_to_reach_the_server_are_part_of_the_comparison(tmp_path: Path) -> None:
    cycles = {"cycles": [cycle_row(1, 1, [MS] * 100)]}

    def made(name: str, engine: str, transport: str) -> Path:
        stack = [{"layer": "API", "items": {"transport": transport}}] if transport else []
        release = f"{engine} 1.0"
        document = run_json({"scales": [1], "cycles": 1, "duration": 1.0}, name=name, server_version=release, stack=stack)
        return write(tmp_path, document, cycles).path

    def said(a: Path, b: Path) -> bool:
        words = Versus(("a", "b"), (Block("ABBA", (a, b, b, a), (100, 200, 200, 100), (VALID,) * 4),), 0.02).text()
        return "The clients reach the servers in different ways (A: Unix socket; B: TCP): the comparison includes this difference." in words

    socket, tcp = made("socket", "PostgreSQL", "Unix socket"), made("tcp", "PostgreSQL", "TCP")
    assert said(socket, tcp)
    assert not said(socket, socket)
    assert not said(socket, made("unknown", "PostgreSQL", ""))
    assert not said(socket, made("other", "MySQL", "TCP")), "each product has its own way"


def test_real_runs_on_embedded_sqlite_until_the_max_blocks(tmp_path: Path) -> None:
    told: list[str] = []
    spec = build({"scales": (1,), "cycles": 1, "duration": 0.3, "clients": 1, "seed": 3})
    found = versus(
        spec, spec, tmp_path, blocks=1, max_blocks=1, observer=lambda _: Silent(), told=told.append
    )  # fmt: skip
    assert found.ratio.verdict is Verdict.OPEN, "one block tells nothing"
    assert len(told) == 1
    assert len(found.blocks[0].rates) == 4
    assert [path.exists() for path in found.archives] == [True] * 4
    assert len(set(found.archives)) == 4


@pytest.mark.thorough
def test_both_take_turns_on_one_database_that_is_made_before_each_block(tmp_path: Path) -> None:
    asked = build({"scales": (1,), "cycles": 1, "duration": 1.0, "clients": 1, "workload": "tpcb", "target": {
        "url": "private:sqlite", "directory": str(tmp_path)}})
    found = versus(asked, asked, tmp_path / "o", blocks=1, max_blocks=1, one_database=True, observer=lambda _: Silent())
    runs = [Archive.open(path).run for path in found.archives]
    (made,) = {run.reused.run for run in runs if run.reused is not None}
    assert [run.reused.runs for run in runs if run.reused is not None] == [1, 2, 3, 4]
    assert (tmp_path / "o" / BEFORE / made).is_dir(), "the run that made it counts for nothing"
    assert list(tmp_path.glob("dsbench-*")) == [], "and the database goes with its block"


@pytest.mark.parametrize(
    ("b", "option"),
    [({"target": {"url": "private:mariadb"}}, "--one-database"), ({"target": {"url": "mock:"}}, "--one-database"),
     ({"storage": {"type": "ext4", "size": "1GiB"}}, "--one-database")],
)  # fmt: skip
def test_what_has_no_database_in_common_is_refused(b: dict[str, object], option: str, tmp_path: Path) -> None:
    asked = {"scales": (1,), "cycles": 1, "duration": 0.2, "target": {"url": "private:sqlite"}}
    for one, other in ((asked, {**asked, **b}), ({**asked, **b}, asked)):
        with pytest.raises(SpecError) as refused:
            versus(build(one), build(other), tmp_path, one_database=True, observer=lambda _: Silent())
        assert refused.value.option == option
    several = build({**asked, "scales": (1, 2)})
    with pytest.raises(SpecError, match="has one scale"):
        versus(several, several, tmp_path, one_database=True, observer=lambda _: Silent())


def test_a_run_that_fails_ends_it_and_what_was_made_is_kept(
    made: list[RunSpec], called: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    works = ab.perform_apart
    words = ("ab", "private:sqlite", "mock:", "--scales", "1", "--clients", "2", "--out", "o", "--quiet")

    def fails(*given: object) -> object:
        if len(made) == 6:
            return Outcome(tmp_path, "failed", RunError("the server is gone", ""))
        return works(*given)

    monkeypatch.setattr(ab, "perform_apart", fails)
    done = called(*words)
    assert done.returncode == 1
    assert "the server is gone; 1 complete block kept in o, at least 2 blocks left" in done.stderr
    assert "--resume" in done.stderr
    kept = json.loads((tmp_path / "o/ab.json").read_text())
    assert (len(kept["blocks"]), kept["error"], kept["verdict"]) == (1, "the server is gone", "undecided")
    assert (tmp_path / "o/ab.txt").read_text() == done.stdout.partition("page: ")[0]
    monkeypatch.setattr(ab, "perform_apart", works)

    refused = called(*words)
    assert refused.returncode == 2, "blocks without a verdict are not written over"
    assert "--resume" in refused.stderr
    other = called(*words, "--resume", "--duration", "7")
    assert other.returncode == 2
    assert "A.duration" in other.stderr
    assert called(*words, "--resume").returncode == 3
    found = json.loads((tmp_path / "o/ab.json").read_text())
    assert (found["blocks"][0], found["seed"], found["error"]) == (kept["blocks"][0], kept["seed"], None)
    assert [one["order"] for one in found["blocks"]] == [order_of(kept["seed"], number) for number in (1, 2, 3)]
    assert len(made) == 6 + 8, "the block that was cut is made anew"


@pytest.mark.thorough
@unless_stalled
def test_ctrl_c_keeps_what_was_made(tmp_path: Path) -> None:
    words = ("ab", "mock:", "mock:", "--scales", "1", "--cycles", "1", "--duration", "0.3", "--clients", "1", "--workload", "select")
    command = [sys.executable, "-m", "dsbench", *words]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert until(lambda: blocks(tmp_path / "ab") > 0 or running.poll() is not None)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    kept = json.loads((tmp_path / "ab/ab.json").read_text())
    assert running.returncode == 130, said
    assert "complete block" in said
    assert "stopped" in kept["error"]
    assert len(kept["blocks"]) >= 1
    assert (tmp_path / "ab/comparison.html").exists()


def blocks(out: Path) -> int:
    """Complete ones, of the comparison that ``out`` has."""
    return len(json.loads((out / "ab.json").read_text())["blocks"])


@pytest.mark.thorough
def test_one_that_was_killed_in_its_first_run_is_gone_on_with(
    made: list[RunSpec], called: Program, tmp_path: Path
) -> None:
    words = ("ab", "private:sqlite", "mock:", "--scales", "1", "--workload", "select", "--clients", "2", "--quiet")
    with subprocess.Popen([sys.executable, "-m", "dsbench", *words], cwd=tmp_path, stderr=subprocess.DEVNULL) as killed:
        assert until(lambda: list((tmp_path / "ab").glob("*/run.json")) or killed.poll() is not None, 120)
        killed.kill()
    assert killed.returncode == -signal.SIGKILL
    begun = json.loads((tmp_path / "ab/ab.json").read_text())
    assert begun["blocks"] == []
    done = called(*words, "--resume")
    assert done.returncode == 3, done.stderr
    found = json.loads((tmp_path / "ab/ab.json").read_text())
    assert found["seed"] == begun["seed"]
    assert (len(found["blocks"]), len(made)) == (3, 12)


@pytest.mark.parametrize("kept", ["", "[]", '{"asked": {}, "seed": 1, "blocks": [{"order": "ABBA"}]}', '{"seed": "x"}'])
def test_a_folder_without_a_comparison_is_no_place_to_go_on(kept: str, called: Program, tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    if kept:
        (tmp_path / "o/ab.json").write_text(kept)
    done = called("ab", "mock:", "mock:", "--scales", "1", "--out", "o", "--resume")
    assert (done.returncode, "error: --resume: no comparison to continue" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("b", "words"),
    [("private:sqlite?journal_mode=walk", "B: --set: journal_mode is 'walk'"), ("private:postgresql@9.4", "B: TARGET.version"),
     ("postgresql://nobody@127.0.0.1:1/x", "127.0.0.1")],
)  # fmt: skip
def test_both_sides_are_tried_before_the_first_load(b: str, words: str, made: list[RunSpec], called: Program) -> None:
    done = called("ab", "private:sqlite", b, "--scales", "1", "--quiet")
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert not made


def test_a_run_without_a_rate_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = build({"scales": (1,), "cycles": 1, "duration": 1.0})
    path = write(tmp_path, run_json(spec.described()), {"cycles": [cycle_row(1, 1, [])]}).path
    monkeypatch.setattr(ab, "perform_apart", lambda *_: Outcome(path, "complete"))
    found = versus(spec, spec, tmp_path, observer=lambda _: Silent())
    assert str(found.error).startswith("small committed nothing at a scale")


@pytest.mark.parametrize(
    ("more", "option"), [({"clients": [1, 2]}, "--clients"), ({"scales": (2,)}, "--scales")]
)
def test_what_cannot_be_compared_is_refused(more: dict[str, object], option: str, tmp_path: Path) -> None:
    asked = {"scales": (1,), "cycles": 1, "duration": 0.2}
    with pytest.raises(SpecError) as refused:
        versus(build(asked), build({**asked, **more}), tmp_path, observer=lambda _: Silent())
    assert refused.value.option == option


def test_a_share_that_is_none_is_told(called: Program) -> None:
    done = called("ab", "mock:", "mock:", "--scales", "1", "--difference", "two")
    assert done.returncode == 2
    assert "--difference" in done.stderr


def test_files_and_options_of_both_come_together(
    made: list[RunSpec], called: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b.toml").write_text('target = "private:mariadb"\nscales = [1]\nclients = 3\n')
    monkeypatch.setattr(ab, "try_apart", lambda _spec: ())  # Neither server has to be here.
    words = ("--limit", "memory=1GiB", "--set", "flush=0", "--clients", "2", "--scales", "1", "--quiet", "--out", "o")
    assert called("ab", "private:mariadb@10", "b.toml", *words).returncode == 3
    a, b = sorted(made[:2], key=lambda spec: spec.label)
    assert (a.target.version, b.target.version, a.clients, b.clients) == ("10", None, 2, 2)
    assert a.limits == b.limits != type(a)().limits
    assert a.target.settings == b.target.settings == {"flush": "0"}


def test_what_was_not_found_is_not_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dsbench.library.pair.say_change", lambda *_: "a transaction takes 1 ms instead of 2 ms")
    monkeypatch.setattr("dsbench.library.pair.read_times", lambda *_: {})
    monkeypatch.setattr("dsbench.library.pair.evaluate", lambda _one: handmade(why={1: None}))
    path = write(tmp_path, run_json({"scales": [1], "cycles": 1, "duration": 1.0}), {"cycles": [cycle_row(1, 1, [MS])]}).path

    def text(*of_b: float) -> str:
        blocks = (Block("ABBA", (path,) * 4, (1000, rate, rate, 1000), (VALID,) * 4) for rate in of_b)
        return Versus(("a", "b"), tuple(blocks), 0.02).text()

    assert "With B a transaction takes" in text(2000, 2010, 2020)
    for rates, verdict in (((500, 2000, 1000), "Undecided"), ((1000, 1001, 999, 1000, 1000), "No difference")):
        assert text(*rates).startswith(verdict)
        assert "a transaction takes" not in text(*rates)


def test_disturbed_runs_and_other_work_are_told_with_the_verdict(tmp_path: Path) -> None:
    def made(name: str, **asked: object) -> Path:
        run = run_json({"scales": [1], "cycles": 1, "duration": 1.0, **asked}, name=name)
        return write(tmp_path, run, {"cycles": [cycle_row(1, 1, [MS] * 100)]}).path

    a, b = made("a", workload="select", clients=1), made("b", clients=2)
    taken = RunVerdict(Soundness.DISTURBED, (), (Taken("other programs", 1.8, 0, 2, "", 1),))
    found = Versus(("a", "b"), (Block("ABBA", (a, b, b, a), (100, 200, 200, 100), (taken, VALID, VALID, taken)),), 0.02)
    lines = found.text().splitlines()
    assert lines[0] == "2 of 4 runs are disturbed (A): other programs used 1.8 of 2 CPUs."
    assert lines[1].startswith("Undecided: B has 2.000 times")
    assert lines[2].startswith("The workloads differ: ")
    assert lines[3].startswith("The load differs: clients differs")
    assert found.document()["runs"] == {"valid": 2, "preliminary": 0, "disturbed": 2, "void": 0, "why": lines[:1], "unknown": []}
    assert found.document()["blocks"][0]["verdicts"][0] == {
        "soundness": "disturbed", "why": ["other programs used 1.8 of 2 CPUs"], "unknown": [],
    }  # fmt: skip


def test_both_pages_of_a_folder_have_one_verdict(made: list[RunSpec], called: Program, tmp_path: Path) -> None:
    called("ab", "private:sqlite", "private:sqlite?cache_size=-100", "--scales", "1", "--max-blocks", "3", "--out", "o", "--quiet")
    said = json.loads((tmp_path / "o/comparison.json").read_text())
    first = (tmp_path / "o/ab.txt").read_text().splitlines()[0]
    assert said["answer"] == first
    assert all(section["verdicts"] == {} for section in said["sections"])
    for name in ("comparison.txt", "comparison.html"):
        assert not [words for words in ("times as fast", "Cannot tell", 'class="ratio') if words in (tmp_path / "o" / name).read_text()]
    assert not list((tmp_path / "o").glob("comparison-relative*"))


def test_a_dry_run_says_how_many_runs_there_are_and_touches_nothing(called: Program, tmp_path: Path) -> None:
    done = called("ab", "mock:", "mock:?latency_us=250", "--scales", "1", "--cycles", "1", "--duration", "2", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.count("\nplan\n") == 2
    assert re.search(r"^plan: 3 to 20 blocks of 4 runs, (\d+ s) to .* and the start of each server$", done.stdout, re.MULTILINE)
    assert not list(tmp_path.iterdir())


def test_both_sides_have_one_load_where_nobody_says_which(called: Program) -> None:
    """SQLite has one client by default, a server four on a larger database."""
    done = called("ab", "mock:", "mock:", "--clients", "1,2", "--dry-run")
    assert (done.returncode, "one number of clients" in done.stderr) == (2, True)
    planned = called("ab", "private:sqlite", "mock:", "--dry-run").stdout
    assert planned.count("scales    1, 2, 5 ") == planned.count("clients   1 ") == 2
    planned = called("ab", "private:sqlite", "mock:", "--clients", "2", "--scales", "3", "--dry-run").stdout
    assert planned.count("scales    3 ") == planned.count("clients   2 ") == 2
