"""The speed comparison: its arithmetic, and each peer once, to see that it works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import bare, firebird, mariadb, page, place, population, sweeps, sysbench  # noqa: E402
from bench.cases import DSBENCH, Case, Goal, Settings, selects, tpcbs  # noqa: E402
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


def _row_of(case: Case) -> str:
    """The case measured once for a second, as the page shows it. Its figures say nothing."""
    return page.table([page.Result(case, sweeps.sweep(case.run, 1))])


def test_the_peers_on_postgresql() -> None:
    with place.populated(1, 20, {}) as there:
        at = Settings(there, 1.0, bare.build(), durable=True)
        select = _row_of(next(selects(at, (2,))))
        assert ("select, prepared" in select, "pgbench" in select, "bare loop" in select) == (True, True, True), select
        (call,) = [case for case in tpcbs(at, (2,)) if "one call" in case.title]
        assert "pgbench, same call" in _row_of(call)
        (lines, *_) = page.population_lines(population.measure(there, 1, 1))
        assert "rows/s" in lines


def test_the_peer_on_mariadb_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mariadb, "SETTINGS", {})  # Theirs make a log of 1 GB.
    with mariadb.populated(1, 20) as there:
        (case,) = there.cases((2,), 1.0)
        assert set(case.run) == ({DSBENCH, "sysbench"} if sysbench.available("mysql") else {DSBENCH})
        found = sweeps.sweep(case.run, 1)
    assert min(measured.transactions for (measured,) in found.values()) > 0


def test_the_peer_on_firebird() -> None:
    with firebird.populated(1) as (version, url):
        (_, tpcb) = firebird.cases(url, 1, 1.0)
        row = _row_of(tpcb)
    assert ("Firebird: TPC-B" in row, "firebird-driver" in row) == (True, True), row
    assert version.startswith("Firebird 3")
