"""Histories out of a folder of archives."""

from __future__ import annotations

import json
import shutil
from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest

from dsbench.archive import ArchiveError
from dsbench.read.choice import _mean, make_choice
from dsbench.read.glance import Taken
from dsbench.read.verdict import RunVerdict, Soundness
from dsbench.several import trend
from dsbench.several.trend import histories
from dsbench.stats.queries import QUERIES, REFRESHES
from fixtures.archives import MS, bucket_rows, cycle_row, reads_of_device, run_json, write
from fixtures.program import Program


def history(folder: Path, name: str, counts: list[int], **more: object) -> None:
    """A run a day; from the 11th on of another version."""
    for day, count in enumerate(counts, 1):
        told = {"server_version": "PostgreSQL 15.18" if day < 11 else "PostgreSQL 16.1"}
        spec = {"scales": [1], "cycles": 2, "duration": 1.0, "label": f"commit {day}", **dict(more)}
        run = run_json(spec, name=f"{name}{day:02}", started=f"2026-10-{day:02}T10:00:00+00:00", **told)
        write(folder, run, {"cycles": [cycle_row(1, n, [MS] * count) for n in (1, 2)]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    noise = np.random.default_rng(5).normal(0, 4, 18)
    history(tmp_path / "all", "a", [round((500 if day < 10 else 450) + n) for day, n in enumerate(noise)])
    history(tmp_path / "all", "few", [100] * 2, clients=8)
    history(tmp_path / "all", "even", [300] * 10, scales=[2])
    return tmp_path / "all"


def test_a_change_is_told_with_what_changed_there(folder: Path) -> None:
    broken = run_json({"scales": [1]}, name="cut", status="cut-short")
    write(folder, broken, {"cycles": [cycle_row(1, 1, [MS])]})
    found, left = histories(folder, 0.03)
    assert left == ["cut: cut-short"]
    assert [(len(one.results), len(one.changes), one.fell) for one in found] == [(18, 1, True), (10, 0, False), (2, 0, False)]
    (told,) = found[0].changes
    assert told.result.archive == "a11"
    assert told.change.ratio.value == pytest.approx(0.9, abs=0.01)
    assert told.differs["label"] == ("commit 10", "commit 11")
    assert told.differs["server"] == ("PostgreSQL 15.18", "PostgreSQL 16.1")


def test_text_document_and_diagrams_tell_the_same(folder: Path, called: Program) -> None:
    done = called("trend", str(folder), "--out", "t")
    assert done.returncode == 3, done.stderr
    assert "server PostgreSQL 15.18 PostgreSQL 16.1" in " ".join(done.stdout.split())
    assert "too few to judge: a change needs 10" in done.stdout
    told = json.loads((folder.parent / "t/trend.json").read_text())
    assert told == json.loads(json.dumps(trend.document(*histories(folder, 0.03))))
    assert told["histories"][0]["changes"][0]["differs"]["label"] == ["commit 10", "commit 11"]
    page = (folder.parent / "t/trend.html").read_text()
    assert all(words in page for words in ('data-diagram="trend-1"', "PostgreSQL 16.1", "too few to judge", "a18"))
    drawn = json.loads((folder.parent / "t/trend-1.vl.json").read_text())
    assert [row["at"] for row in drawn["datasets"]["changes"]] == [10.5]
    assert not any(one.fell for one in histories(folder, 0.2)[0])


def test_another_measure_has_changes_of_its_own(tmp_path: Path, called: Program) -> None:
    """The rate stays; half as many attempts fail from the eleventh run on, and all take twice as long."""
    for day in range(20):
        failed, time_ns = (100, MS) if day < 10 else (50, 2 * MS)
        noise = day * 7 % 5
        run = run_json({"scales": [1], "cycles": 1, "duration": 1.0}, name=f"f{day:02}", started=f"2026-11-{day + 1:02}T10:00:00+00:00")
        cycles = [cycle_row(1, 1, [time_ns] * 300, failed=failed + noise)]
        buckets = bucket_rows(1, 1, [time_ns + noise * 1000] * 300)
        write(tmp_path / "runs", run, {"cycles": cycles, "buckets": buckets})
    assert called("trend", "runs").returncode == 0
    fewer = called("trend", "runs", "--of", "failures", "--json")
    assert fewer.returncode == 0, "fewer failures are no change for the worse"
    (told,) = json.loads(fewer.stdout)["histories"]
    assert (told["measure"], told["unit"]) == ("failures", "%")
    # Medians of 100 and 50 failed of those beside 300, with 0 to 4 more.
    assert told["changes"][0]["difference"]["value"] == pytest.approx(100 * (52 / 352 - 102 / 402), abs=0.2)
    assert "-10." in called("trend", "runs", "--of", "failures").stdout
    slower = called("trend", "runs", "--of", "p50", "--out", "t")
    assert slower.returncode == 3, "twice the time is"
    assert "+100" in slower.stdout or "+99" in slower.stdout
    assert "median 1.5 ms" in slower.stdout.replace("1.501", "1.5").replace("1.499", "1.5").replace("1.502", "1.5")
    assert "p50 [ms]" in (tmp_path / "t/trend-1.vl.json").read_text()
    for asked, words in ((["--of", "speed"], "use one of rate, tps"), (["--stage", "l.i1"], "use one of load")):
        refused = called("trend", "runs", *asked)
        assert (refused.returncode, words in refused.stderr) == (2, True), refused.stderr


def test_a_good_0_is_a_result_where_differences_are_compared(tmp_path: Path, called: Program) -> None:
    """Nothing is read from the device in 10 runs, and 50 times a second in the next 10."""
    for day in range(20):
        run = run_json({"scales": [1], "cycles": 1, "duration": 1.0}, name=f"r{day:02}", started=f"2026-11-{day + 1:02}T10:00:00+00:00")
        rows = {"cycles": [cycle_row(1, 1, [MS] * 300)], "monitors": reads_of_device(0 if day < 10 else 100)}
        write(tmp_path / "runs", run, rows)
    done = called("trend", "runs", "--of", "rps", "--json")
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    assert told["left_out"] == []
    (found,) = told["histories"]
    assert [one["value"] for one in found["results"]] == [0] * 10 + [50] * 10
    assert found["changes"][0]["difference"]["value"] == pytest.approx(50)
    assert "+50 1/s [" in called("trend", "runs", "--of", "rps").stdout
    # 50 is twice the mean of all runs, and 2 lies between ln(1 + 1.5) and ln(1 + 9).
    ((made,), _) = histories(tmp_path / "runs", 1.5, make_choice("rps"))
    assert (made.how.step, len(made.changes)) == (25, 1)
    assert not histories(tmp_path / "runs", 9.0, make_choice("rps"))[0][0].changes
    for path in (tmp_path / "runs").glob("r1*"):
        shutil.rmtree(path)
    ((made,), left) = histories(tmp_path / "runs", 0.03, make_choice("rps"))
    assert (len(made.results), made.changes, left) == (10, (), [])
    assert trend.files([made], [])["trend-1.vl.json"]


def test_a_history_is_not_named_by_the_text_of_a_file(tmp_path: Path) -> None:
    asked = {"scales": [1], "cycles": 1, "duration": 1.0, "workload_settings": {"size": "0.1", "file": "9 w.toml\n[schema]"}}
    write(tmp_path, run_json(asked), {"cycles": [cycle_row(1, 1, [MS] * 300)]})
    ((found,), _) = histories(tmp_path, 0.03)
    assert found.name.endswith(", size=0.1")


def test_a_difference_is_that_of_the_medians(tmp_path: Path) -> None:
    for day, reads in enumerate([2, 4] * 4 + [16, 24] * 4):
        run = run_json({"scales": [1], "cycles": 1, "duration": 1.0}, name=f"m{day:02}", started=f"2026-11-{day + 1:02}T10:00:00+00:00")
        write(tmp_path, run, {"cycles": [cycle_row(1, 1, [MS] * 300)], "monitors": reads_of_device(reads)})
    ((found,), _) = histories(tmp_path, 0.03, make_choice("rps"))
    (change,) = found.changes
    assert found.how.as_change(change.change.ratio.value) == pytest.approx(10 - 1.5)
    assert change.change.ratio.low < change.change.ratio.value < change.change.ratio.high


def test_what_one_scale_does_not_tell_the_run_does_not(tmp_path: Path) -> None:
    """Of 300 transactions no 99.9% quantile is known, and no mean leaves a scale out."""
    assert _mean(make_choice("capacity").how, {1: 5000.0, 100: 500.0}) == pytest.approx(5000**0.5 * 500**0.5)
    assert isnan(_mean(make_choice("capacity").how, {1: 5000.0, 100: nan}))
    assert isnan(_mean(make_choice("outage").how, {1: 0.0, 100: nan}))
    rows = {"cycles": [cycle_row(1, 1, [MS] * 300)], "buckets": bucket_rows(1, 1, [MS] * 300)}
    write(tmp_path, run_json({"scales": [1], "cycles": 1, "duration": 1.0}), rows)
    with pytest.raises(ArchiveError, match=r"it has no p99\.9"):
        histories(tmp_path, 0.03, make_choice("p99.9"))
    assert histories(tmp_path, 0.03, make_choice("p95"))[1] == []


def test_of_several_numbers_of_threads_the_highest_rate_counts(tmp_path: Path) -> None:
    rows = [cycle_row(1, n, [MS] * count, clients=clients) for n, (clients, count) in enumerate(((2, 50), (4, 80), (8, 60)), 1)]
    write(tmp_path, run_json({"scales": [1], "cycles": 1, "duration": 1.0, "clients": [2, 4, 8]}), {"cycles": rows})
    ((found,), left) = histories(tmp_path, 0.03)
    assert (found.results[0].rate_tps, left) == (pytest.approx(80), [])
    assert "clients highest of 2, 4, 8" in found.name


def _of_queries(folder: Path, name: str, started: str) -> None:
    """A power test in which each query takes a second, without a throughput test."""
    asked = {"workload": "tpch", "workload_settings": {"size": "0.1", "tests": "power"}, "scales": [1]}
    rows = [cycle_row(1, at, [1000 * MS], kind=kind, stage="power1", group="power", clients=1)
            for at, kind in enumerate((*QUERIES, *REFRESHES), 1)]  # fmt: skip
    write(folder, run_json(asked, name=name, started=started, kinds=[*QUERIES, *REFRESHES]), {"cycles": rows})


def test_what_runs_lack_is_told_with_what_makes_it(tmp_path: Path, called: Program) -> None:
    for day in (1, 2):
        _of_queries(tmp_path / "runs", f"a{day}", f"2026-10-0{day}T10:00:00+00:00")
    ((found,), left) = histories(tmp_path / "runs", 0.03, make_choice("power"))
    assert ([round(one.rate_tps) for one in found.results], left) == ([360, 360], [])
    assert found.name.endswith("scale 1, size=0.1, tests=power, power"), "clients mean nothing there"
    missing = called("trend", "runs", "--of", "qphh")
    assert missing.returncode == 2
    assert "none of the 2 complete runs in runs can be used: it has no qphh" in missing.stderr
    assert "without --set tests=power" in missing.stderr
    assert "--set cold=3" in called("trend", "runs", "--of", "power-cold").stderr


def test_a_named_stage_has_figures_of_its_own(tmp_path: Path, called: Program) -> None:
    """Q9 takes 1 s in the first power test, 3 s in the second, and 2 and 8 s in the two streams of the throughput test."""
    asked = {"workload": "tpch", "workload_settings": {"size": "0.1"}, "scales": [1]}
    rows = []
    for day in (1, 2):
        for stage, factor in (("power1", 1), ("power2", 3)):
            rows = [*rows, *(cycle_row(1, at, [factor * 1000 * MS], kind=kind, stage=stage, group="power", clients=1)
                             for at, kind in enumerate((*QUERIES, *REFRESHES), 1))]  # fmt: skip
        rows += [cycle_row(1, 1, [took * 1000 * MS], kind="Q9", stage="throughput1", group="query", client=at, clients=3)
                 for at, took in enumerate((2, 8))]  # fmt: skip
        write(tmp_path / "runs", run_json(asked, name=f"a{day}", started=f"2026-10-0{day}T10:00:00+00:00",
                                          kinds=[*QUERIES, *REFRESHES]), {"cycles": rows})  # fmt: skip
        rows = []

    def found(of: str, stage: str = "") -> float:
        ((one,), left) = histories(tmp_path / "runs", 0.03, make_choice(of, stage))
        assert left == []
        return one.results[0].rate_tps

    assert found("q9") == pytest.approx((1 * 3 * 2 * 8) ** 0.25)
    assert [found("q9", stage) for stage in ("power1", "power2", "throughput1")] == pytest.approx([1, 3, 4])
    # The streams asked one query each: the figure of both runs is void, and the first counts, unless another is named.
    assert [found("power"), found("power", "power1"), found("power", "power2")] == pytest.approx([360, 360, 120])
    assert [found("query-time"), found("query-time", "power2")] == pytest.approx([1, 3])
    missing = called("trend", "runs", "--of", "power", "--stage", "throughput1")
    assert missing.returncode == 2
    assert "it has no power in stage throughput1" in missing.stderr
    assert "specify a stage that has it, or omit --stage" in missing.stderr


def test_a_folder_without_an_archive_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(ArchiveError):
            histories(path, 0.03)


def test_archives_of_the_same_name_are_runs_of_their_own_and_copies_count_once(tmp_path: Path) -> None:
    for lab in ("one", "two"):
        history(tmp_path / "all" / lab, "a", [100], label=lab)
    for place in ("again", "one/kept"):
        shutil.copytree(tmp_path / "all/one/a01", tmp_path / "all" / place / "a01")
    run = tmp_path / "all/two/a01/run.json"
    run.write_text(run.read_text().replace("T10:00:00", "T11:00:00"))
    ((history_of_both,), left) = histories(tmp_path / "all", 0.03)
    assert [one.label for one in history_of_both.results] == ["one", "two"]
    assert left == ["one/a01: a copy of again/a01", "one/kept/a01: a copy of again/a01"]


def test_a_change_tells_what_became_of_a_transactions_time(tmp_path: Path) -> None:
    """From the eleventh run on a transaction waits as long again, and all of that for a flush."""
    spec = {"scales": [1], "cycles": 1, "duration": 1.0}
    for day in range(20):
        time_ns, state, of = (2 * MS, "active", None) if day < 10 else (4 * MS, "waiting", "flush")
        run = run_json({**spec, "clients": 1}, name=f"f{day:02}", started=f"2026-11-{day + 1:02}T10:00:00+00:00")
        looked = {"scale": 1, "stage": "load", "cycle": 1, "second": 0, "state": state, "class": of, "sessions": 20, "looks": 20}
        cycles = [cycle_row(1, 1, [time_ns] * ((500 if day < 10 else 250) - day * 7 % 5))]
        write(tmp_path / "runs", run, {"cycles": cycles, "samples": [looked]})
    ((found,), _) = histories(tmp_path / "runs", 0.03)
    (told,) = found.changes
    assert told.became.startswith("a transaction takes 4 ms instead of 2 ms: ")
    assert "4 ms instead of 0 ms flush" in told.became
    assert "A transaction takes 4 ms instead of 2 ms" in trend.text([found], [])


def test_void_and_disturbed_runs_are_told_before_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disturbed = RunVerdict(Soundness.DISTURBED, (), (Taken("other programs", 1.7, 0, 2, "", 1),))
    monkeypatch.setattr(trend, "judge_run", lambda _evaluation, run: disturbed if run.name == "a01" else RunVerdict(Soundness.VALID))
    history(tmp_path, "a", [100, 101, 99])
    write(tmp_path, run_json({"scales": [1]}, name="cut", status="cut-short"), {"cycles": [cycle_row(1, 1, [MS])]})
    found = histories(tmp_path, 0.03)
    assert trend.text(*found).splitlines()[:3] == [
        "1 of 3 runs is disturbed: other programs used 1.7 of 2 CPUs.", "1 archive more is left out: see below.",
        "None of 1 configuration changed.",
    ]  # fmt: skip
    told = trend.document(*found)
    assert (told["runs"]["disturbed"], told["runs"]["valid"]) == (1, 2)
    assert [one["verdict"]["soundness"] for one in told["histories"][0]["results"]] == ["disturbed", "valid", "valid"]


def test_configurations_of_one_name_are_told_apart(tmp_path: Path) -> None:
    history(tmp_path, "a", [100] * 2)
    history(tmp_path, "b", [100] * 2, duration=2.0)
    names = [one.name for one in histories(tmp_path, 0.03)[0]]
    assert [name.rpartition(", ")[2] for name in names] == ["duration 1.0", "duration 2.0"]
