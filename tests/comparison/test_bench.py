"""The speed comparison: its arithmetic, and each peer once, to see that it works."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import bare, cells, firebird, mariadb, measuring, page, peers, place, population, sweeps, sysbench  # noqa: E402
from bench.cells import Cell  # noqa: E402
from bench.kept import Finished, Kept  # noqa: E402
from bench.peers import DSBENCH, Settings  # noqa: E402
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


CELL = Cell(cells.POSTGRESQL, cells.SELECT, 8)


def _measured(*rates: float, **more: float) -> list[Measured]:
    return [Measured(100_000, rate, 1.0, 0.0, **more) for rate in rates]


def test_a_row_judges_by_the_best_peer_of_the_same_work() -> None:
    found = {
        DSBENCH: _measured(90.0, 110.0, clients_user_s=0.09, least=0.5, largest=1.5),
        "pgbench -j 1": _measured(100.0, 100.0),
        "sysbench": _measured(80.0, 80.0),
        "bare loop": _measured(200.0, 200.0),  # does other work: never the best
    }
    row = page.row(CELL, found)
    assert "| pgbench -j 1 | 100 | 1.00 (0.90–1.10) met |" in row
    # Sample standard deviation of 90 and 110 is sqrt(200), the mean 100. Half of the mean of 12,500 is no chance.
    assert "| 14.1% | 0.0% | 0.50 MISSED | sysbench 1.25, bare loop 0.50 |" in row
    earlier = {**found, DSBENCH: _measured(50.0, 50.0)}
    assert "met, before 0.50 (0.50–0.50) |" in page.row(CELL, found, earlier)
    goals = list(page.goals(CELL, found))
    assert "by that of pgbench -j 1: rate 1.00 (0.90–1.10) goal ≥ 1.20: MISSED" in goals[0]
    assert "0.90 µs per transaction outside of the kernel (goal ≤ 0.80: MISSED)" in goals[-1]


def test_few_transactions_may_be_uneven_by_chance() -> None:
    ours = [Measured(80, 40.0, 1.0, 0.0, least=0.5, largest=1.5)]
    assert "| 0.50 |" in page.row(CELL, {DSBENCH: ours})


def test_steadiness_is_judged_by_the_steadiest_peer() -> None:
    found = {
        DSBENCH: _measured(99.0, 101.0),
        "pgbench -j 1": _measured(95.0, 105.0),
        "sysbench": _measured(90.0, 110.0),
    }
    one = Finished({"duration": 5.0}, 1.0, "", "", found=found)
    row = page.steady_row(Cell(cells.MARIADB, cells.SELECT, 8, "TCP", steady=True), one)
    assert row.endswith("| 8 | TCP | 2 of 5 s | 1.4% goal ≤ 7.1%: met | pgbench -j 1 7.1%, sysbench 14.1% |")


def test_finished_cells_are_kept_and_what_failed_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    kept = Kept.open(path)
    kept.add(CELL.name, Finished({"sweeps": 2}, 4.0, "now", "abc", "S 1", {DSBENCH: _measured(1.0, 2.0, least=0.5)}))
    kept.add("failed", Finished({"sweeps": 2}, 4.0, "now", "abc", failure="no reason"))
    again = Kept.open(path)
    assert again.pieces == kept.pieces
    assert again.has(CELL.name, {"sweeps": 2})
    assert again.has(CELL.name, {"sweeps": 1})
    assert not again.has(CELL.name, {"sweeps": 3})
    assert not again.has(CELL.name, {"sweeps": 2, "scale": 1})
    assert not again.has("failed", {"sweeps": 2})
    assert "| 8 | unix socket | 2 | none |" in page.document([CELL], again)


def test_what_was_never_measured_under_the_conditions_of_today_comes_first_and_the_oldest_next() -> None:
    of = {clients: Cell(cells.POSTGRESQL, cells.SELECT, clients) for clients in (1, 2, 4)}
    tpcb, other = Cell(cells.POSTGRESQL, cells.TPCB, 8), Cell(cells.MARIADB, cells.SELECT, 8)
    kept = Kept(None, {})
    for cell, at in ((of[1], "3"), (of[2], "2"), (tpcb, "1")):  # TPC-B: with accounts that were drawn otherwise.
        kept.add(cell.name, Finished({"sweeps": 2}, 4.0, at, "", found={DSBENCH: _measured(1.0, 2.0)}))
    todo = [of[1], of[2], of[4], tpcb, other]
    assert measuring.in_order(todo, kept) == [of[4], tpcb, other, of[2], of[1]]
    text = page.document([tpcb, of[1]], kept)
    assert ("| 2 † |" in text, page.VOID in text) == (True, True)
    kept.add(tpcb.name, Finished({**tpcb.conditions}, 4.0, "4", "", found={DSBENCH: _measured(1.0, 2.0)}))
    assert page.VOID not in page.document([tpcb, of[1]], kept)


def test_a_steady_cell_is_always_measured_for_as_long() -> None:
    plan = measuring.Plan(20, 6, Settings(1.0))
    one = Cell(cells.POSTGRESQL, cells.SELECT, 8, steady=True)
    assert (plan.of(one)["duration"], plan.settings_of(one).few, plan.of(CELL)["duration"]) == (5.0, True, 1.0)


def test_nothing_is_begun_that_would_end_too_late(capsys: pytest.CaptureFixture[str]) -> None:
    plan, kept = measuring.Plan(1, 2, Settings(1.0)), Kept(None, {})
    measuring.measure(plan, [CELL], kept, str, until=time.monotonic() + plan.seconds(CELL) / 2)
    assert (kept.pieces, capsys.readouterr().err) == ({}, "")


def test_how_long_it_takes_is_judged_by_what_is_finished() -> None:
    plan = measuring.Plan(20, 6, Settings(2.0))
    other = Cell(cells.POSTGRESQL, cells.SELECT, 8, "TCP")
    kept = Kept(None, {CELL.name: Finished(plan.of(CELL), 2 * plan.seconds(CELL), "", "")})
    assert measuring.estimate(plan, [other], [CELL, other], Kept(None, {})) == plan.seconds(other)
    assert measuring.estimate(plan, [other], [CELL, other], kept) == 2 * plan.seconds(other)


def test_the_table_has_every_cell_once_and_its_goals_are_of_cells() -> None:
    names = [cell.name for cell in cells.table()]
    assert len(names) == len(set(names)) == 2 * 4 * 2 * 8 + 2 * 5 + 2 + 2
    assert set(cells.GOALS) | {cell.name for cell in cells.quick()} <= set(names)


def test_the_page_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    page.write(path, "first")
    path.write_text("# By hand\n\n" + path.read_text().removeprefix("# Performance\n\n") + "\nlast\n")
    page.write(path, "second")
    assert path.read_text() == f"# By hand\n\n{page.BEGIN}\nsecond\n\n{page.END}\nlast\n"


def test_a_program_that_fails_shows_what_it_said() -> None:
    with pytest.raises(BenchError, match="exit code 3\nwhy"):
        run([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"], {})


def test_a_process_is_billed_for_its_cpu_time() -> None:
    ended = run([sys.executable, "-c", "sum(range(3_000_000)); print('done')"], {})
    assert ended.output == "done\n"
    assert 0 < ended.user_s <= ended.elapsed_s + 1


def _rates(run: dict[str, sweeps.Client]) -> dict[str, float]:
    """Each client once, for a second. The figures say nothing."""
    return {name: measured.rate_tps for name, (measured,) in sweeps.sweep(run, 1).items()}


def test_the_peers_on_postgresql() -> None:
    with place.populated(1, 20, {}) as there:
        at = Settings(1.0, bare_program=bare.build(), beside=("carriers=1",))
        select = peers.on_postgresql(Cell(cells.POSTGRESQL, cells.SELECT, 2), there, at)
        assert {DSBENCH, f"{DSBENCH}, carriers=1", "pgbench -j 1", "bare loop"} <= set(select)
        found = _rates(select)
        for work in (cells.PARSED, cells.TPCB, cells.CALL):
            found |= _rates(peers.on_postgresql(Cell(cells.POSTGRESQL, work, 2), there, Settings(1.0)))
        assert min(found.values()) > 0


@pytest.mark.parametrize(("product", "last"), [("sqlite", "columns read"), ("postgresql", "pgbench -i")])
def test_a_population_stands_beside_the_servers_own(product: str, last: str) -> None:
    rows = [line for line in population.section(product, 1, 1) if " | 1 | " in line]  # Each side's was checked.
    assert (" | dsbench | " in rows[0], f"{last} | " in rows[-1], "goal ≥ 0.95" in "".join(rows)) == (True, True, True)


def test_the_peer_on_mariadb_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mariadb, "SETTINGS", {"bind_address": "127.0.0.1"})  # Theirs make a log of 1 GB.
    with mariadb.populated(1, 20) as there:
        for work, transport in ((cells.SELECT, place.TCP), (cells.CALL, place.UNIX)):
            run = there.clients(Cell(cells.MARIADB, work, 2, transport), Settings(1.0))
            assert set(run) == ({DSBENCH, "sysbench"} if sysbench.available("mysql") else {DSBENCH})
            assert min(_rates(run).values()) > 0


def test_the_peer_on_firebird() -> None:
    with firebird.populated(1) as (version, url):
        found = _rates(firebird.clients(Cell(cells.FIREBIRD, cells.CALL, 1, place.TCP), url, 1, Settings(1.0)))
    assert (set(found), min(found.values()) > 0) == ({DSBENCH, "firebird-driver"}, True)
    assert version.startswith("Firebird 3")
