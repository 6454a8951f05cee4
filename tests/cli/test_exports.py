"""Answers in the forms of other programs: JUnit, Bencher, Otava."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from dsbench.exports import bencher, junit, junit_of_histories, otava
from dsbench.library.pair import Block, Versus
from dsbench.measure.journal import RunError
from dsbench.read.choice import make_choice
from dsbench.read.verdict import RunVerdict, Soundness
from dsbench.several import trend
from dsbench.several.trend import ResultHistory, TrendPoint
from dsbench.stats.changes import changes
from fixtures.program import Program
from fixtures.stalled import unless_stalled

VALID = RunVerdict(Soundness.VALID)


def compared(a: float, b: float, blocks: int = 4, *, measure: str = "rate", unit: str = "tps") -> Versus:
    """Blocks of B A A B, whose runs differ by a little."""
    made = tuple(Block("BAAB", (Path("x"),) * 4, (b, a + n, a, b + n), (VALID,) * 4) for n in range(blocks))
    return Versus(("private:postgresql", "it's <new> & \x1bbold"), made, 0.02, choice=make_choice(measure), unit=unit)


@pytest.mark.parametrize(
    ("found", "kind"),
    [(compared(1000, 1100), ""), (compared(1000, 1000.5), ""), (compared(1000, 900), "failure"),
     (compared(1000, 900, blocks=1), "skipped"), (replace(compared(1000, 1100, blocks=0), error=RunError("gone", "")), "error")],
)  # fmt: skip
def test_a_verdict_is_a_case_of_junit(found: Versus, kind: str) -> None:
    root = ElementTree.fromstring(junit(found))
    (suite,) = root
    case = suite.find("testcase")
    assert case is not None
    assert case.attrib["name"] == "it's <new> & \ufffdbold against private:postgresql: rate"
    assert [child.tag for child in case] == [kind] * bool(kind)
    counts = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
    plural = {"": "", "failure": "failures", "error": "errors", "skipped": "skipped"}[kind]
    assert counts == {"tests": 1, "failures": 0, "errors": 0, "skipped": 0, **({plural: 1} if plural else {})}
    if kind:
        assert case[0].attrib["message"].startswith({"failure": "slower: B has 0.90", "skipped": "undecided", "error": "gone; "}[kind])


def test_bencher_has_both_sides_and_their_ratio_with_its_interval() -> None:
    found = json.loads(bencher(compared(1000, 1100)))
    assert found["A"]["throughput"]["value"] == pytest.approx(1000.75, abs=0.01)
    assert found["B"]["throughput"]["value"] == pytest.approx(1100.75, abs=0.01)
    ratio = found["B / A"]["rate ratio"]
    assert ratio["lower_value"] < ratio["value"] < ratio["upper_value"]
    assert ratio["value"] == pytest.approx(1.0999, abs=1e-3)


def test_bencher_of_shares_latencies_and_of_what_is_not_known() -> None:
    slower = json.loads(bencher(compared(10, 12, measure="p99", unit="ms")))
    assert "p99 [ms]" in slower["A"]
    share = json.loads(bencher(compared(2, 3, measure="failures", unit="%")))
    assert share["B - A"]["failures difference"]["value"] == pytest.approx(1.0, abs=0.01)
    nothing = json.loads(bencher(compared(0, 2, measure="outage", unit="s")))
    assert nothing["A"]["outage [s]"]["value"] == pytest.approx(0.75), "0, 0, 0, 1, 0, 2, 0, 3"
    assert nothing["B - A"]["outage difference"]["value"] == pytest.approx(2)
    few = json.loads(bencher(compared(1000, 1100, blocks=1)))
    assert list(few["B / A"]["rate ratio"]) == ["value"], "no interval is known"
    assert json.loads(bencher(compared(1000, 1100, blocks=0))) == {}


def history(*rates: float, name: str = "TPC-B-like, \"scale\" 8") -> ResultHistory:
    points = tuple(TrendPoint(f"run{n}", f"2026-11-{n:02}T10:00:00+00:00", f"commit {n}", rate, VALID)
                   for n, rate in enumerate(rates, 1))  # fmt: skip
    found = changes(np.array(rates), 0.03)
    return ResultHistory(name, points, tuple(trend.Changed(one, points[one.at], {}) for one in found))


FELL = history(*(1000 + n % 3 for n in range(10)), *(800 + n % 3 for n in range(10)))
STEADY = history(*(1000 + n % 3 for n in range(10)), name="another")


def test_a_history_that_fell_is_a_failure() -> None:
    root = ElementTree.fromstring(junit_of_histories([FELL, STEADY], ["x.zip: its check failed"]))
    cases = root.findall("./testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [["failure"], []]
    assert cases[0][0].attrib["message"].startswith("-20")
    assert (root.attrib["tests"], root.attrib["failures"]) == ("2", "1")
    assert "x.zip" in (root.findtext("./testsuite/system-out") or "")


def test_otava_has_a_file_for_each_history(tmp_path: Path) -> None:
    made = otava([FELL, STEADY], tmp_path)
    assert set(made) == {"otava-1.csv", "otava-2.csv", "otava.yaml"}
    rows = list(csv.DictReader(io.StringIO(made["otava-1.csv"].decode())))
    assert (len(rows), rows[0]["time"], rows[0]["label"], float(rows[0]["rate"])) == (20, "2026-11-01T10:00:00+00:00", "commit 1", 1000.0)
    config = made["otava.yaml"].decode()
    tests = json.loads("\n".join(line for line in config.splitlines() if not line.startswith("#")))["tests"]
    assert tests["configuration-1"]["file"] == str(tmp_path / "otava-1.csv")
    assert tests["configuration-1"]["metrics"] == {"rate": {"column": "rate", "direction": 1}}


@unless_stalled
def test_commands_print_them(called: Program, tmp_path: Path) -> None:
    words = ("--scales", "1", "--cycles", "1", "--duration", "0.2", "--clients", "1", "--quiet", "--max-blocks", "3")
    done = called("ab", "mock:", "mock:?latency_us=3000", *words, "--as", "junit", "--out", "o")
    assert ElementTree.fromstring(done.stdout).attrib["failures"] == "1", done.stdout
    assert done.returncode == 3
    assert set(json.loads(called("ab", "mock:", "mock:", *words, "--as", "bencher", "--out", "p").stdout)) == {"A", "B", "B / A"}
    done = called("trend", "o", "--out", "t", "--as", "junit")
    assert ElementTree.fromstring(done.stdout).attrib["tests"] == "1"
    assert (tmp_path / "t/otava-1.csv").exists()
    assert called("ab", "mock:", "mock:", *words, "--as", "junit", "--json", "--out", "q").returncode == 2
