"""TP1, T1 and T2: a fixed number of transactions, its size, both definitions of TPS and the bound."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import dsbench
from dsbench.archive.conditions import State, state_of
from dsbench.format import format_number
from dsbench.measure import stopping
from dsbench.read.blocks import Table
from dsbench.read.subjects.rate import DEFINITIONS, RateResult
from dsbench.several import bounds
from fixtures.program import Program
from fixtures.thorough import mostly_thorough
from fixtures.told import summary_text


def test_a_number_grows_until_it_takes_the_duration_at_the_fastest_number_of_threads() -> None:
    tried: list[tuple[int, int]] = []

    def took(count: int, clients: int) -> int:
        tried.append((count, clients))
        return round(count / {1: 1000, 4: 3000}[clients] * 1e9)

    found = stopping.choose_number(1536, 60_000_000_000, [1, 4], took)
    assert found % 1536 == 0
    assert 60 <= found / 3000 < 60 * 1.5, "as long as the duration at the faster one, and not much longer"
    assert tried == [(1536, 1), (1536, 4), (4608, 4)]
    assert stopping.choose_number(1536, 60_000_000_000, [1], lambda count, _: count * 100_000_000) == 1536, "slow enough"
    assert stopping.choose_number(1536, 500_000_000, [1], lambda count, _: count * 350_000) == 3072, "a fifth to spare"
    assert stopping.choose_number(10, 1_000_000, [1], lambda count, _: count * 1_000_000) == 10


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dsbench.Archive]:
    out = tmp_path_factory.mktemp("tp1")

    def run(name: str, **more: object) -> dsbench.Archive:
        target = "private:sqlite?synchronous=off"
        return dsbench.run(target, workload=name, scales=(1,), cycles=1, duration=0.2, out=out, **more)

    return {
        "tp1": run("tp1", clients=(1, 3)),
        "t1": run("t1", clients=3),
        "same": run("t1", clients=2, workload_settings={"conflict": "same"}),
        "t2": run("t2", clients=2, workload_settings={"transactions": "100"}),
    }


@pytest.mark.parametrize(
    "target",
    mostly_thorough(["private:sqlite?synchronous=off", "private:postgresql?fsync=off"], "private:postgresql?fsync=off"),
)
def test_a_terminal_changes_nothing_that_a_transaction_does(target: str, tmp_path: Path) -> None:
    """The conditions of the workload hold of what came over the line: sums of amounts, accounts, tellers, branches."""
    given = {"terminal": "block", "remote": "15", "transactions": "100"}
    archive = dsbench.run(target, workload="tp1", scales=(1,), cycles=1, duration=0.2, clients=2, out=tmp_path, workload_settings=given)
    assert archive.table("cycles")["committed"].to_pylist()[0] > 0
    assert state_of(archive.run.checks[1]) is State.HOLDS


def test_every_cycle_of_a_scale_takes_the_same_number_in_even_shares(runs: dict[str, dsbench.Archive]) -> None:
    for name, archive in runs.items():
        counts = {row["until_count"] for row in archive.table("groups").to_pylist()}
        (count,) = counts
        assert count % (100 if name == "t2" else 1536) == 0, name
        by_cycle: dict[int, list[int]] = {}
        for row in archive.table("cycles").to_pylist():
            by_cycle.setdefault(row["cycle"], []).append(row["committed"])
        for committed in by_cycle.values():
            assert sum(committed) == count
            assert max(committed) - min(committed) <= 1
        assert all(c.state is State.HOLDS for found in archive.run.checks.values() for c in found)
        assert re.search(rf"scale 1: {count} transactions in each cycle", (archive.path / "results.log").read_text())


def test_both_definitions_stand_side_by_side(runs: dict[str, dsbench.Archive]) -> None:
    for part in runs["tp1"].evaluate().series.values():
        streams, span = part.of(RateResult).definitions[1]
        assert streams >= span * 0.999 > 0
        assert span == pytest.approx(part.of(RateResult).scales[0].rate_median_tps, rel=1e-6)
        assert "tps by two definitions" in summary_text(part)
    assert summary_text(runs["tp1"].evaluate()).count(DEFINITIONS) == 1
    page = runs["tp1"].read("report.html").decode()
    assert page.count("<caption>tps by two definitions</caption>") == 1
    table = page.partition("<caption>tps by two definitions</caption>")[2].partition("</table>")[0]
    assert [f'<th scope="row">{clients}</th>' in table for clients in (1, 2, 3)] == [True, False, True]


def test_the_bound_of_tp1_comes_out_of_its_parts(runs: dict[str, dsbench.Archive]) -> None:
    found = bounds.read([archive.path for archive in runs.values()])
    assert [one.label for one in found.measured] == ["TP1", "T1", "T1, conflict same", "T2"]
    (bound,) = found.bounds
    t1, t2 = found.measured[1].peak[1], found.measured[3].peak[1]
    assert bound.time_s == pytest.approx(2 / t2 + 3 / t1)
    assert bound.tps == pytest.approx(1 / (2 / t2 + 3 / t1))
    assert bound.share == pytest.approx(found.measured[0].peak[1] / bound.tps)
    t1_same = found.measured[2].peak[1]
    assert [found.relative(one) for one in found.measured] == [1, 1, pytest.approx(t1_same / t1), 1]
    (table,) = [block for block in bounds.tell(found) if isinstance(block, Table) and block.title.startswith("Peaks")]
    assert [row[5] for row in table.rows] == [1, 1, pytest.approx(t1_same / t1), 1]
    assert bound.whole.logging == "synchronous off"
    written = bounds.files(found)
    assert {"bound.txt", "bound.svg"} <= set(written)
    svg = written["bound.svg"].decode()
    assert f"TP1 [synchronous off]: {bound.share:.0%} of the bound {format_number(bound.tps)}" in svg
    assert "of the parts [synchronous off]" in svg


def test_the_program_shows_the_bound(runs: dict[str, dsbench.Archive], called: Program, tmp_path: Path) -> None:
    paths = [str(runs[name].path) for name in ("tp1", "t1", "t2")]
    shown = called("compare", "--bound", *paths, "--out", str(tmp_path / "out"))
    assert "of bound" in shown.stdout
    assert (tmp_path / "out" / "bound.svg").stat().st_size > 1000
    told = json.loads(called("compare", "--bound", *paths, "--json").stdout)
    assert told["bounds"][0]["bound_tps"] > 0
    alone = called("compare", "--bound", paths[0])
    assert "specify runs with the same server, machine, scale and settings" in alone.stdout


def test_without_its_history_the_refusal_names_the_remedy(tmp_path: Path) -> None:
    settings = {"history": "partitioned"}
    with pytest.raises(dsbench.RunError) as error:
        dsbench.run("private:sqlite", workload="tp1", scales=(1,), workload_settings=settings, out=tmp_path)
    assert "use heap or indexed" in error.value.remedy


@pytest.mark.parametrize("more", [{"precision": 5.0}, {"find_ramp_up": True}], ids=["precision", "ramp-up"])
def test_a_fixed_number_of_transactions_is_not_stopped_by_time(tmp_path: Path, more: dict[str, object]) -> None:
    with pytest.raises(dsbench.RunError, match="end by count, not by time") as error:
        dsbench.run("private:sqlite", workload="t2", scales=(1,), duration=20, out=tmp_path, **more)
    assert error.value.remedy.startswith("omit --")


def test_a_private_server_has_a_partitioned_history(tmp_path: Path) -> None:
    """Its run asks for the stages before there is a server: of an engine that organises nothing."""
    asked = {"history": "partitioned", "transactions": "64"}
    archive = dsbench.run(
        "private:postgresql?fsync=off", workload="tp1", scales=(1,), cycles=1, duration=0.1, clients=1,
        workload_settings=asked, out=tmp_path,
    )  # fmt: skip
    (cycle,) = archive.table("cycles").to_pylist()
    assert cycle["committed"] >= 64
    assert cycle["committed"] % 64 == 0
