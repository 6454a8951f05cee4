"""What explains a rate, as people see it: in ``show --by cost`` and on the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench.read.evaluation import Evaluation
from dsbench.read.report import cost_table, finish, tables
from dsbench.read.report.page.results import resources
from dsbench.read.stats.fairness import Evenness
from dsbench.read.stats.resources import CALLS, CLIENT_CPU, RESCHEDULING, SERVER_CPU, SWITCHES
from dsbench.read.stats.values import Resource
from fixtures.early import read_early


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> dsbench.Archive:
    out = tmp_path_factory.mktemp("out")
    with read_early():
        return dsbench.run(
            "mock:?latency_us=500", workload="select", scales=(1,), cycles=2, duration=0.6, threads=3, out=out
        )


def test_a_run_tells_what_it_cost_and_how_even_its_clients_were(archive: dsbench.Archive) -> None:
    text = finish.read(archive.path, "cost").text
    wanted = ["client CPU time [µs]", "slowest client [of the mean rate]", "fastest client [of the mean rate]"]
    if Path("/proc/self/schedstat").exists():
        wanted += ["rescheduling interrupts [interrupts]", "client waits for a CPU [µs]", "client switches, voluntary"]
    assert [words for words in wanted if words not in text] == []
    even = archive.evaluate().evenness[1]
    assert (even.clients, even.cycles.tolist()) == (3, [1, 2])
    assert (even.least > 0).all()
    assert (even.least <= 1).all()
    assert (even.largest >= 1).all()
    shown = str(resources(archive.evaluate()))
    assert [words for words in wanted if words not in shown] == []


_WAITED = {"client switches, voluntary": 1.0, "server switches, voluntary": 1.0}


def _with(evaluation: Evaluation, figures: dict[str, float]) -> Evaluation:
    found = tuple(Resource(name, "µs", value, value, "system") for name, value in figures.items())
    even = Evenness(np.array([1, 2]), 3, np.array([0.9, 0.7]), np.array([1.05, 1.2]), ())
    return evaluation.replace(resources={1: found}, evenness={1: even})


def test_wake_ups_have_a_line_where_they_dominate(archive: dsbench.Archive) -> None:
    evaluation = _with(archive.evaluate(), {RESCHEDULING: 1.0, CLIENT_CPU: 20.0, SERVER_CPU: 48.0, **_WAITED})
    (line,) = cost_table.waking_lines(evaluation)
    assert line.startswith("scale 1: wake-ups may dominate: 1.00 rescheduling interrupts")
    assert line in tables.summary_text(evaluation)
    assert line in cost_table.text(evaluation)
    assert "wake-ups may dominate" in str(resources(evaluation))
    quiet = _with(evaluation, {RESCHEDULING: 0.1, CLIENT_CPU: 20.0, SERVER_CPU: 48.0, **_WAITED})
    assert "wake-ups" not in tables.summary_text(quiet) + str(resources(quiet))


def test_the_slowest_and_the_fastest_are_those_of_the_worst_cycle(archive: dsbench.Archive) -> None:
    rows = cost_table.of_clients(_with(archive.evaluate(), {CLIENT_CPU: 20.0}))
    assert [row[-1] for row in rows] == ["0.7", "1.2"]


def test_where_the_machine_is_at_its_limit_is_told_per_second(archive: dsbench.Archive) -> None:
    named = {"CPU idle": 1.5e6, "CPU time, user": 0.5e6, SWITCHES: 300.0, CALLS: 1400.0,
             "transfers of sda": 24.0, "transfers of sdb": 18.0}  # fmt: skip
    evaluation = _with(archive.evaluate(), named)
    assert [row[-1] for row in cost_table.per_second(evaluation)] == ["75", "1,400", "300", "24"]
    assert cost_table.NO_CALLS not in cost_table.text(evaluation)
    without = _with(evaluation, {"CPU idle": 1.5e6})
    assert cost_table.NO_CALLS in cost_table.text(without)


def test_an_archive_that_tells_nothing_says_so(archive: dsbench.Archive) -> None:
    assert cost_table.text(archive.evaluate().replace(resources={}, evenness={})) == cost_table.NONE
