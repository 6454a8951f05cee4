"""A run that searches the number of clients with the greatest rate."""

from __future__ import annotations

from pathlib import Path

import dsbench
from dsbench import spec
from dsbench.archive import Archive
from dsbench.measure.journal import RunError
from dsbench.measure.moments import Silent
from dsbench.measure.run import execute, resume
from dsbench.read.answer import highest
from dsbench.read.subjects.rate import RateResult, peak_lines
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.tables import results_txt, to_json
from dsbench.spec.checks import peak_numbers
from fixtures.stalled import unless_stalled

# Long answers: what a busy machine adds to them is little, and the rates are as the numbers of clients.
TARGET = "mock:?latency_us=5000"
LITTLE = {"workload": "select", "scales": (1,), "cycles": 2, "duration": 0.2, "clients": 6, "peak": True}


def tried(archive: Archive) -> dict[int, set[int]]:
    """By number of clients, the cycles that had it."""
    found: dict[int, set[int]] = {}
    for row in archive.table("cycles").to_pylist():
        found.setdefault(row["clients"], set()).add(row["cycle"])
    return found


@unless_stalled
def test_a_run_tries_a_few_numbers_and_tells_the_best(tmp_path: Path) -> None:
    archive = dsbench.run(TARGET, out=tmp_path, **LITTLE)
    found = tried(archive)
    assert set(found) <= set(peak_numbers(6))
    # Of a server that takes as long whatever it has to do, the most clients are the best.
    assert (len(found[6]), len(found[4])) == (4, 2), "two by which it was chosen, and two that tell its rate"
    assert sorted(n for cycles in found.values() for n in cycles) == list(range(1, sum(map(len, found.values())) + 1))
    assert min(map(len, found.values())) == 1
    assert [key.clients for key in archive.evaluate().series] == sorted(found), "rising, however they were tried"
    assert "missing-cycles" not in [doubt.code for doubt in archive.evaluate().of(WarningsResult).doubts]
    (line,) = peak_lines(archive.evaluate())
    assert "at 6 clients" in line
    assert "the peak may be at more clients" in line
    top = highest(archive.evaluate())
    assert top is not None
    assert (top.part.clients, top.value) == (6, archive.evaluate().of(RateResult).peaks[1].rate_tps)
    assert line in results_txt(archive.evaluate(), archive.run)
    assert archive.spec.peak
    told = to_json(archive.evaluate())["peak"]["1"]
    assert (told["clients"], told["at_the_end"], told["sure"], told["neighbours"][0][0]) == (6, True, False, 4)


class _Impatient(Silent):
    """Ends the run when its second cycle is kept."""

    def message(self, text: str) -> None:
        if text.startswith("scale 1, cycle 2,"):
            raise RunError("enough", "go on")


@unless_stalled
def test_a_search_that_was_cut_goes_on_where_it_was(tmp_path: Path) -> None:
    asked = spec.build({"target": {"url": TARGET}, **LITTLE})
    cut = execute(asked, tmp_path, _Impatient())
    assert cut.status == "failed"
    before = tried(Archive.open(cut.archive))
    assert sum(map(len, before.values())) == 2
    again = resume(cut.archive, None, Silent())
    assert again.status == "complete"
    after = tried(Archive.open(again.archive))
    assert all(cycles <= after[n] for n, cycles in before.items())
    assert (len(after[6]), len(after[4])) == (4, 2)


def test_one_number_of_threads_is_the_most_however_it_is_given() -> None:
    for clients in (6, [6], (6,)):
        asked = spec.build({"target": {"url": "mock:"}, "clients": clients, "peak": True})
        assert asked.client_numbers == peak_numbers(6), "the program gives a list"
    assert spec.build({"target": {"url": "mock:"}, "clients": [2, 6], "peak": True}).client_numbers == (2, 6)
