"""The speed comparison: its arithmetic, and each peer once, to see that it works."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench import __main__ as main  # noqa: E402
from bench import cells, places, population, queries, results, trials  # noqa: E402
from bench.cells import Cell  # noqa: E402
from bench.clients import BenchError, Client, Measured, run, sysbench_reaches  # noqa: E402
from bench.peers import of_cell  # noqa: E402
from bench.results import DSBENCH, Finished, Kept  # noqa: E402

from fixtures.thorough import mostly_thorough  # noqa: E402


def test_clients_are_measured_there_and_back_again() -> None:
    order: list[str] = []

    def client(name: str) -> Client:
        def measure() -> Measured:
            order.append(name)
            return Measured(len(order), float(len(order)), 1.0, 0.0)

        return measure

    found = results.sweep({"a": client("a"), "b": client("b"), "c": client("c")}, 2)
    assert "".join(order) == "abccba"
    assert [m.transactions for m in found["a"]] == [1, 6]
    counts = iter([(1.0, 5), (3.0, 9)])
    [one] = results.sweep({"a": client("a")}, 1, lambda: next(counts))["a"]
    assert (one.server_s, one.switches) == (2.0, 4)


def test_a_client_that_does_nothing_is_no_measurement() -> None:
    with pytest.raises(BenchError, match="a made no transaction"):
        results.sweep({"a": lambda: Measured(0, 0.0, 1.0, 0.0)}, 1)


def test_ratios_are_paired_before_the_median_is_taken() -> None:
    ours = [Measured(100, rate, 1e-4, 3e-4, 5e-5) for rate in (10.0, 30.0, 90.0)]
    theirs = [Measured(100, rate, 4e-4, 4e-4) for rate in (10.0, 10.0, 30.0)]
    assert results.rates(ours, theirs) == results.Spread(3.0, 1.0, 3.0)
    assert results.costs(ours, theirs) == results.Spread(0.5, 0.5, 0.5)
    assert (ours[0].cpu_us, ours[0].user_us) == (pytest.approx(4.0), pytest.approx(0.5))


CELL = Cell(cells.POSTGRESQL, cells.SELECT, 8)


def _measured(*rates: float, **more: float) -> list[Measured]:
    return [Measured(100_000, rate, 1.0, 0.0, **more) for rate in rates]


def _finished(found: results.Found, at: str = "now") -> Finished:
    return Finished({"duration": 5.0, "sweeps": 2}, 4.0, at, "abc", "S 1", found)


def test_a_row_judges_by_the_best_peer_of_the_same_work() -> None:
    found = {
        DSBENCH: _measured(90.0, 110.0, clients_user_s=0.09, least=0.5, largest=1.5),
        "pgbench -j 1": _measured(100.0, 100.0),
        "sysbench": _measured(80.0, 80.0),
        "bare loop": _measured(200.0, 200.0),  # does other work: never the best
    }
    row = results.row(CELL, _finished(found))
    assert "| pgbench -j 1 | 100 | 1.00 (0.90–1.10) met |" in row
    # Sample standard deviation of 90 and 110 is sqrt(200), the mean 100. Half of the mean of 12,500 is no chance.
    assert "| 14.1% | 0.0% | 0.50 MISSED | sysbench 1.25, bare loop 0.50 |" in row
    earlier = {**found, DSBENCH: _measured(50.0, 50.0)}
    assert "met, before 0.50 (0.50–0.50) |" in results.row(CELL, _finished(found), earlier)
    goals = list(results.goals(CELL, found))
    assert "by that of pgbench -j 1: rate 1.00 (0.90–1.10) goal ≥ 1.20: MISSED" in goals[0]
    assert "0.90 µs per transaction outside of the kernel (goal ≤ 0.80: MISSED)" in goals[-1]


def test_few_transactions_may_be_uneven_by_chance() -> None:
    ours = [Measured(80, 40.0, 1.0, 0.0, least=0.5, largest=1.5)]
    assert "| 0.50 |" in results.row(CELL, _finished({DSBENCH: ours}))


def test_steadiness_is_judged_by_the_steadiest_peer() -> None:
    found = {
        DSBENCH: _measured(99.0, 101.0),
        "pgbench -j 1": _measured(95.0, 105.0),
        "sysbench": _measured(90.0, 110.0),
    }
    row = results.steady_row(Cell(cells.MARIADB, cells.SELECT, 8, "TCP", steady=True), _finished(found))
    assert row.endswith("| 8 | TCP | 2 of 5 s | 1.4% goal ≤ 7.1%: met | pgbench -j 1 7.1%, sysbench 14.1% |")


def test_finished_cells_are_kept_and_what_failed_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    kept = Kept(path)
    kept.add(CELL.name, _finished({DSBENCH: _measured(1.0, 2.0, least=0.5, server_s=0.5, switches=3)}))
    kept.add("failed", Finished({"sweeps": 2}, 4.0, "now", "abc", failure="no reason"))
    kept.add("a part", Finished({}, 4.0, "now", "abc", lines=["| 1 |"]))
    again = Kept(path)
    assert again == kept
    assert again.has(CELL.name, {"sweeps": 2})
    assert again.has(CELL.name, {"sweeps": 1})
    assert not again.has(CELL.name, {"sweeps": 3})
    assert not again.has(CELL.name, {"sweeps": 2, "scale": 1})
    assert not again.has("failed", {"sweeps": 2})
    text = results.document([CELL], again)
    assert "| 8 | unix socket | 2 | none |" in text
    assert "| dsbench | 2 | 10.00 | 5.00 | 0.00 |" in text, "what it costs the server, where that was counted"


def test_what_is_kept_in_the_project_is_read() -> None:
    for path in (ROOT / "docs" / "performance").glob("*.json"):
        kept = Kept(path)
        page = path.with_suffix(".md").read_text()
        shown = [line for line in results.document(cells.table(), kept).splitlines() if line.startswith("| ")]
        assert all(line in page for line in shown), "the page is made of it"
        assert len(shown) > 100


def _asked(**more: object) -> argparse.Namespace:
    return argparse.Namespace(**{"pairs": 6, "duration": 2.0, "scale": 20, "beside": [], "quick": False, **more})


def test_what_was_never_measured_comes_first_and_the_oldest_next() -> None:
    of = {clients: Cell(cells.POSTGRESQL, cells.SELECT, clients) for clients in (1, 2, 4, 1000)}
    tpcb, other = Cell(cells.POSTGRESQL, cells.TPCB, 8), Cell(cells.MARIADB, cells.SELECT, 8)
    kept = Kept(None)
    for cell, at in ((of[1], "3"), (of[2], "2"), (tpcb, "1")):
        kept.add(cell.name, _finished({DSBENCH: _measured(1.0, 2.0)}, at))
    todo = [of[1000], of[1], of[2], of[4], tpcb, other]
    assert main.in_order(todo, kept) == [of[4], other, of[1000], tpcb, of[2], of[1]]


def test_a_steady_cell_is_always_measured_for_as_long() -> None:
    one = Cell(cells.POSTGRESQL, cells.SELECT, 8, steady=True)
    asked = _asked(duration=1.0)
    assert [main.settings(asked, cell)["duration"] for cell in (one, CELL)] == [5.0, 1.0]
    assert main.seconds(asked, one) == 10 * 3 * (5 + 1.2 + 0.064)


def test_nothing_is_begun_that_would_end_too_late(capsys: pytest.CaptureFixture[str]) -> None:
    asked, kept = _asked(duration=1.0, pairs=2), Kept(None)
    main.measure(asked, [CELL], kept, Kept(None), until=time.monotonic() + main.seconds(asked, CELL) / 2)
    assert (kept, capsys.readouterr().err) == ({}, "")


def test_the_table_has_every_cell_once_and_its_goals_are_of_cells() -> None:
    names = [cell.name for cell in cells.table()]
    assert len(names) == len(set(names)) == 2 * 4 * 2 * 8 + 2 * 5 + 2 + 5 + 2 + 2 + 2
    assert set(cells.GOALS) | {cell.name for cell in cells.quick()} <= set(names)


def test_the_page_keeps_what_was_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    results.write(path, "first")
    path.write_text("# By hand\n\n" + path.read_text().removeprefix("# Performance\n\n") + "\nlast\n")
    results.write(path, "second")
    assert path.read_text() == f"# By hand\n\n{results.BEGIN}\nsecond\n\n{results.END}\nlast\n"


def test_a_program_that_fails_shows_what_it_said() -> None:
    with pytest.raises(BenchError, match="exit code 3\nwhy"):
        run([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"], {})


def test_a_process_is_billed_for_its_cpu_time() -> None:
    began = time.monotonic()
    ended = run([sys.executable, "-c", "sum(range(3_000_000)); print('done')"], {})
    assert ended.output == "done\n"
    assert 0 < ended.user_s <= time.monotonic() - began + 1


def _rates(run: dict[str, Client]) -> dict[str, float]:
    """Each client once, for a second. The figures say nothing."""
    return {name: measured.rate_tps for name, (measured,) in results.sweep(run, 1).items()}


@pytest.mark.thorough
def test_the_peers_on_postgresql() -> None:
    with places.populated("postgresql", "tpcb", 1, 20, {}) as there:
        select = of_cell(Cell(cells.POSTGRESQL, cells.SELECT, 2), there, 1.0, ["os_threads=1"])
        assert {DSBENCH, f"{DSBENCH}, os_threads=1", "pgbench -j 1", "bare loop"} <= set(select)
        found = _rates(select)
        for work in (cells.PARSED, cells.TPCB, cells.CALL, cells.SCRIPTS[-1]):
            found |= _rates(of_cell(Cell(cells.POSTGRESQL, work, 2), there, 1.0))
        assert min(found.values()) > 0
        assert there.cpu_s() > 0


@pytest.mark.parametrize(
    ("product", "last"),
    mostly_thorough([("sqlite", "one session"), ("postgresql", "pgbench -i")], ("sqlite", "one session")),
)
def test_a_population_stands_beside_the_servers_own(product: str, last: str) -> None:
    rows = _sides(product, population.TPCB)
    assert (" | dsbench | " in rows[0], f"{last} | " in rows[-1], "goal ≥ 0.95" in "".join(rows)) == (True, True, True)


@pytest.mark.thorough
@pytest.mark.parametrize("product", population.TPCH.products)
def test_so_does_a_load_of_tpch(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SETTINGS", {})  # Theirs make logs of gigabytes.
    rows = _sides(product, population.TPCH, {"size": "0.01"})
    assert [row.split(" | ")[2] for row in rows] == ["dsbench", "own load, one session", "own load, two sessions"]
    assert "goal ≥ 0.90" in "".join(rows)


def _sides(product: str, rows: population.Rows, own: Mapping[str, str] | None = None) -> list[str]:
    """Lines of the page; what each side loaded was checked."""
    return [line for line in population.section(product, 1, replace(rows, pairs=1), own) if " | 1 | " in line]


@pytest.mark.thorough
def test_the_peer_on_mariadb_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Theirs make a log of 1 GB.
    monkeypatch.setattr(places, "SETTINGS", {"mariadb": {"bind_address": "127.0.0.1"}})
    with places.populated("mariadb", "tpcb", 1, 20, {}) as there:
        for work, transport in ((cells.SELECT, cells.TCP), (cells.CALL, cells.UNIX)):
            run = of_cell(Cell(cells.MARIADB, work, 2, transport), there, 1.0)
            assert set(run) == ({DSBENCH, "sysbench"} if sysbench_reaches("mysql") else {DSBENCH})
            assert min(_rates(run).values()) > 0


@pytest.mark.thorough
def test_the_peer_on_firebird() -> None:
    with places.populated("firebird", "tpcb", 1, 8, {}) as there:
        found = _rates(of_cell(Cell(cells.FIREBIRD, cells.CALL, 1, cells.TCP), there, 1.0))
        assert (set(found), min(found.values()) > 0) == ({DSBENCH, "firebird-driver"}, True)
        assert there.server.version.startswith("Firebird 3")


@pytest.mark.thorough
def test_what_a_server_notes_is_taken_from_the_time_of_a_query() -> None:
    log = "7 LOG:  duration: 1.500 ms  statement: SELECT 1,\n\t    2\n\tFROM t\n7 LOG:  checkpoint\n7 LOG:  duration: 2 ms  parse x: y"
    assert dict(queries.statements(log)) == {"SELECT 1,\n    2\nFROM t": 1.5}
    found = queries.measure("0.01")
    assert {kind for kind, _, _ in found} == set(queries.QUERIES)
    assert all(0 < server < ours for _, server, ours in found), "the client waits at least as long as the server works"


def test_rounds_of_trials_tell_what_each_choice_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Tried:
        """What is read of an archive whose trial chose to follow."""

        def __init__(self, free: tuple[float, ...]) -> None:
            self.run = self.spec = self.placement_tried = self
            self.why, self.free_tps, self.follow_tps = "it has no server", free, (110.0,) * len(free)

        def described(self) -> dict[str, str]:
            return {"placement": "follow"}

    def run(placement: str) -> object:
        asked.append(placement)
        return Tried((100.0, 102.0)) if placement == "try" else placement

    rates = iter([80.0, 100.0, 90.0, 100.0])
    monkeypatch.setattr(trials, "rate_of", lambda _archive: next(rates))
    found = trials.watch(run, 2, lambda _one: None)
    assert asked == ["try", "free", "follow", "try", "follow", "free"]
    assert [(one.better, one.loss) for one in found] == [("follow", 0.0), ("free", pytest.approx(0.1))]
    lines = trials.lines_of(found)
    assert lines[2] == "| 1 | 2 | 101 | 110 | follow | 80 | 100 |"
    assert lines[-2] == "follow reached more in 1 of 2; the trials chose it in 2, and the better placement in 1."
    # Left out by following: 0 and 10%; by staying free: 20% and 0.
    assert lines[-1].endswith("leave out 5.0% in the mean, always free 10.0%, always follow 5.0%.")
    with pytest.raises(BenchError, match="it has no server"):
        trials.watch(lambda _placement: Tried(()), 1, lambda _one: None)
