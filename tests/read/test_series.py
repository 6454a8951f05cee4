"""What a run at several numbers of clients makes of its parts."""

from __future__ import annotations

from math import isnan

import pytest

from dsbench.read.evaluation import Series
from dsbench.read.series import headings, labels, phrases
from dsbench.read.subjects.warnings import of_all_series
from dsbench.stats.values import Doubt
from fixtures import sample

MOCK = [{"against": "mock engine", "clients": n, "rate_tps": 1e6 * n} for n in (1, 2)]
NULL = [{"against": "null PostgreSQL", "clients": n, "rate_tps": 1000.0 * n} for n in (2, 8, 64)]


@pytest.mark.parametrize(
    ("ceilings", "clients", "ceiling"),
    [(MOCK, 1, 1e6), (MOCK, 16, 2e6), (MOCK + NULL, 2, 2000), (MOCK + NULL, 8, 8000), (MOCK + NULL, 500, 64_000)],
)
def test_each_number_of_threads_has_its_ceiling(
    ceilings: list[dict[str, float]], clients: int, ceiling: float
) -> None:
    found = {"ceiling_tps": 1.0, "ceilings": ceilings}
    run = sample.run(calibration=found, nodes=[{"name": "alba", "calibration": found}]).at(clients)
    assert run.ceiling_tps == ceiling
    assert run.nodes[0].calibration.ceiling_tps == ceiling
    assert run.spec.client_numbers == (clients,)


def test_a_ceiling_that_was_not_measured_judges_nothing() -> None:
    run = sample.run(calibration={"ceiling_tps": 1.0, "ceilings": NULL}).at(1)
    assert isnan(run.ceiling_tps)
    assert sample.run(calibration=None).at(1).calibration is None


def test_what_the_run_noticed_is_told_once() -> None:
    lost = Doubt("uncounted", "node b was lost in cycle 5", "", 1)
    slow = Doubt("failures", "5% of the attempts failed", "", 1)
    one = sample.evaluation(scales=(1,))
    parts = {Series("load", n): sample.replace(one, doubts=(lost, slow), clients=n) for n in (2, 4)}
    assert [doubt.message for doubt in of_all_series(parts, [lost])] == [
        "node b was lost in cycle 5", "2 clients: 5% of the attempts failed", "4 clients: 5% of the attempts failed",
    ]  # fmt: skip


def test_a_series_is_called_by_what_tells_it_from_the_others() -> None:
    clients = [Series("load", 1), Series("load", 1000)]
    assert list(headings(clients).values()) == ["clients 1", "clients 1000"]
    assert list(phrases([*clients, Series("load", 11)]).values()) == ["1 client", "1,000 clients", "11 clients"]
    stages = [Series("reading", 4), Series("writing", 4)]
    assert list(headings(stages).values()) == ["stage reading", "stage writing"]
    assert list(phrases(stages).values()) == ["stage reading", "stage writing"]
    both = [Series("reading", 4), Series("reading", 8), Series("writing", 4)]
    assert labels(both)[both[1]] == {"stage": "reading", "clients": "8"}
    assert phrases(both)[both[1]] == "stage reading with 8 clients"
