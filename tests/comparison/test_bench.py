"""The speed comparison: its arithmetic, and one smoke run whose figures say nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import page, sweeps  # noqa: E402
from bench.cases import DSBENCH, Case, Goal  # noqa: E402
from bench.process import BenchError, Measured, run  # noqa: E402


def test_clients_are_measured_there_and_back_again() -> None:
    order: list[str] = []

    def client(name: str) -> sweeps.Client:
        def measure() -> Measured:
            order.append(name)
            return Measured(len(order), float(len(order)), 1.0, 0.0)

        return measure

    found = sweeps.sweep({"a": client("a"), "b": client("b"), "c": client("c")}, 2)
    assert "".join(order) == "abccba"
    assert [m.transactions for m in found["a"]] == [1, 6]


def test_ratios_are_paired_before_the_median_is_taken() -> None:
    ours = [Measured(100, rate, 1e-4, 3e-4, 5e-5) for rate in (10.0, 30.0, 90.0)]
    theirs = [Measured(100, rate, 4e-4, 4e-4) for rate in (10.0, 10.0, 30.0)]
    assert sweeps.rates(ours, theirs) == sweeps.Spread(3.0, 1.0, 3.0)
    assert sweeps.costs(ours, theirs) == sweeps.Spread(0.5, 0.5, 0.5)
    assert (ours[0].cpu_us, ours[0].user_us) == (pytest.approx(4.0), pytest.approx(0.5))


def test_a_row_says_whether_a_goal_is_met() -> None:
    fast, slow = Measured(100, 120.0, 1e-4, 0.0, 9e-5), Measured(100, 100.0, 2e-4, 0.0)
    case = Case("select", 8, "TCP", {}, {"peer": Goal(1.25, 0.5)}, {"peer": "other work"}, most_user_us=0.8)
    result = page.Result(case, {DSBENCH: [fast, fast], "peer": [slow, slow]})
    (row,) = result.lines()
    assert "| 1.20 (1.20–1.20) goal ≥ 1.25: MISSED |" in row
    assert row.endswith("| 0.50 (0.50–0.50) goal ≤ 0.50: met |")
    table = page.table([result])
    assert "- select, peer: other work." in table
    assert "0.90 µs per transaction outside of the kernel (goal ≤ 0.80: MISSED)" in table


def test_the_page_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    page.write(path, "first")
    path.write_text("# By hand\n\n" + path.read_text().removeprefix("# Performance\n\n"))
    page.write(path, "second")
    assert path.read_text() == f"# By hand\n\n{page.MARK}\nsecond\n"


def test_a_program_that_fails_shows_what_it_said() -> None:
    with pytest.raises(BenchError, match="exit code 3\nwhy"):
        run([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"], {})


def test_a_process_is_billed_for_its_cpu_time() -> None:
    ended = run([sys.executable, "-c", "sum(range(3_000_000)); print('done')"], {})
    assert ended.output == "done\n"
    assert 0 < ended.user_s <= ended.elapsed_s + 1


def test_a_smoke_run_of_everything(tmp_path: Path) -> None:
    out = tmp_path / "page.md"
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--quick", "--write", str(out)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = out.read_text()
    of_postgres = ("select, prepared", "bare loop", "TPC-B, one call", "fsync OFF", "rows/s", "MiB", "archive of 13")
    of_others = ("select, prepared, MariaDB", "Firebird: TPC-B", "firebird-driver 2")
    for words in of_postgres + of_others:
        assert words in written, words
