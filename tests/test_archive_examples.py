"""The examples of docs/archive.md run on an archive, with what comes with dsbench, and say what the results say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dsbench
from dsbench.read.subjects.cost import CostResult
from dsbench.read.subjects.rate import RateResult
from fixtures.early import read_early

PAGE = (Path(__file__).parent.parent / "docs/archive.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> dsbench.Archive:
    out = tmp_path_factory.mktemp("out")
    with read_early():
        return dsbench.run("private:sqlite", scales=(1, 2), cycles=2, duration=0.6, clients=2, out=out)


@pytest.fixture(scope="module")
def db(archive: dsbench.Archive) -> Any:
    known: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(block.replace("ARCHIVE", str(archive.path)), "docs/archive.md", "exec"), known)
    return known["db"]


def test_every_question_is_answered(db: Any) -> None:
    for question in blocks("sql"):
        db.execute(question).fetchall()
    assert len(blocks("sql")) == 7


def test_answers_are_those_of_the_results(archive: dsbench.Archive, db: Any) -> None:
    rates, even, gained, _failed, quantiles, _errors, populated = (db.execute(q).fetchall() for q in blocks("sql"))
    evaluation = archive.evaluate()
    for result in evaluation.of(RateResult).scales:
        of_cycles = [tps for scale, _stage, _cycle, _threads, tps in rates if scale == result.scale]
        assert [min(of_cycles), max(of_cycles)] == pytest.approx([result.rate_min_tps, result.rate_max_tps])
        (p99_ms,) = [ms for scale, ms in quantiles if scale == result.scale]
        assert p99_ms == pytest.approx(result.rate_multiplier / result.rates_at[0.99] * 1e3, rel=0.05)
        clients = evaluation.of(CostResult).evenness[result.scale]
        found = [pair for scale, _stage, _cycle, *pair in even if scale == result.scale]
        assert np.array(found, dtype=float) == pytest.approx(np.stack([clients.least, clients.largest], 1), nan_ok=True)
        switches = sum(row[-1] for row in gained if row[0] == result.scale and row[-2] == "voluntary_switches")
        assert (switches > 0) == Path("/proc/self/schedstat").exists()
    assert [scale for scale, rows_per_s in populated if rows_per_s > 0] == [1, 2]
