"""What explains a rate, as people see it: in ``show --by cost`` and on the page."""

from __future__ import annotations

from math import nan
from pathlib import Path

import numpy as np
import pytest

import dsbench
from dsbench.measure.monitors.system import StorageDevice
from dsbench.read import page as document
from dsbench.read import subjects
from dsbench.read.blocks import Table
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import render_blocks
from dsbench.read.shown import read
from dsbench.read.subjects import measures
from dsbench.read.subjects.cost import CostResult, describe_waking
from dsbench.read.text import render_text
from dsbench.stats.fairness import Evenness
from dsbench.stats.resources import CALLS, CLIENT_CPU, RESCHEDULING, SERVER_CPU, SWITCHES
from dsbench.stats.values import Resource
from fixtures import sample
from fixtures.early import read_early
from fixtures.told import summary_text

COST = subjects.find_subject("cost")


def text_of(evaluation: Evaluation) -> str:
    return render_text(COST.tell(evaluation))


def table_of(evaluation: Evaluation, title: str) -> Table:
    (found,) = (one for one in COST.tell(evaluation) if isinstance(one, Table) and one.title == title)
    return found


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> dsbench.Archive:
    out = tmp_path_factory.mktemp("out")
    with read_early():
        return dsbench.run(
            "mock:?latency_us=500", workload="select", scales=(1,), cycles=2, duration=0.6, clients=3, out=out
        )


def test_a_run_tells_what_it_cost_and_how_even_its_clients_were(archive: dsbench.Archive) -> None:
    text = read(archive.path, "cost").text
    wanted = ["client CPU time", "slowest client", "fastest client"]
    if Path("/proc/self/schedstat").exists():
        wanted += ["rescheduling interrupts", "client waits for a CPU", "client switches, voluntary"]
    assert [words for words in wanted if words not in text] == []
    even = archive.evaluate().of(CostResult).evenness[1]
    assert (even.clients, even.cycles.tolist()) == (3, [1, 2])
    assert (even.least > 0).all()
    assert (even.least <= 1).all()
    assert (even.largest >= 1).all()
    shown = render_blocks(list(COST.tell(archive.evaluate())))
    assert [words for words in wanted if words not in shown] == []


def test_a_run_on_a_disk_has_the_times_of_its_reads_and_writes(tmp_path: Path) -> None:
    if StorageDevice.holding(tmp_path) is None:
        pytest.skip("no device is to be seen below the folder for temporary files")
    url = f"private:sqlite?directory={tmp_path}&synchronous=full"
    evaluation = dsbench.run(url, scales=(1,), cycles=1, duration=0.3, clients=1, out=tmp_path / "out").evaluate()
    values = {name: measures()[name].read(evaluation).get(1, nan) for name in ("read-time", "write-time", "iowait-time")}
    assert all(value >= 0 for value in values.values()), values
    assert values["write-time"] > 0, "each commit is written"


_WAITED = {"client switches, voluntary": 1.0, "server switches, voluntary": 1.0}


def _with(evaluation: Evaluation, figures: dict[str, float]) -> Evaluation:
    found = tuple(Resource(name, "µs", value, value, "system") for name, value in figures.items())
    even = Evenness(np.array([1, 2]), 3, np.array([0.9, 0.7]), np.array([1.05, 1.2]), ())
    return sample.replace(evaluation, resources={1: found}, evenness={1: even})


def test_wake_ups_have_a_line_where_they_dominate(archive: dsbench.Archive) -> None:
    evaluation = _with(archive.evaluate(), {RESCHEDULING: 1.0, CLIENT_CPU: 20.0, SERVER_CPU: 48.0, **_WAITED})
    (line,) = describe_waking(evaluation)
    assert line.startswith("scale 1: wake-ups may dominate: 1.00 rescheduling interrupts")
    assert line in summary_text(evaluation)
    assert line in text_of(evaluation)
    quiet = _with(evaluation, {RESCHEDULING: 0.1, CLIENT_CPU: 20.0, SERVER_CPU: 48.0, **_WAITED})
    assert "wake-ups" not in summary_text(quiet) + text_of(quiet)


def test_the_slowest_and_the_fastest_are_those_of_the_worst_cycle(archive: dsbench.Archive) -> None:
    _cpu, *clients = table_of(_with(archive.evaluate(), {CLIENT_CPU: 20.0}), "Per transaction").rows
    assert [(row[0], row[-1]) for row in clients] == [("slowest client", 0.7), ("fastest client", 1.2)]


def test_where_the_machine_is_at_its_limit_is_told_per_second(archive: dsbench.Archive) -> None:
    named = {"CPU idle": 1.5e6, "CPU time, user": 0.5e6, SWITCHES: 300.0, CALLS: 1400.0,
             "transfers of sda": 24.0, "transfers of sdb": 18.0}  # fmt: skip
    evaluation = _with(archive.evaluate(), named)
    assert [row[-1] for row in table_of(evaluation, "Per second, of the machine").rows] == [75, 1400, 300, 24]
    assert "System calls were not counted" not in text_of(evaluation)
    assert "System calls were not counted" in text_of(_with(evaluation, {"CPU idle": 1.5e6}))


def test_an_archive_that_tells_nothing_has_no_section(archive: dsbench.Archive) -> None:
    nothing = sample.replace(archive.evaluate(), resources={}, evenness={})
    assert list(COST.tell(nothing)) == []
    page = document.page(nothing, archive.run)
    assert COST.nothing not in page
    assert f">{COST.title}<" not in page
    assert f">{COST.title}<" in document.page(archive.evaluate(), archive.run)
