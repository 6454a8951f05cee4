"""A study with archives made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dsbench.study import Outcomes, Study, begin, load, outcomes
from dsbench.study.record import make_folder, store
from dsbench.study.spec import parse
from fixtures.studies import archived

FACTORS = [
    {"name": "isolation", "path": "isolation", "levels": ["read-committed", "serializable"]},
    {"name": "clients", "path": "clients", "levels": [1, 2, 4]},
]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """2 × 3 levels in 3 blocks: serializable has 80% of the rate, each doubling of the clients 150%; one failed."""
    run = {"target": "private:sqlite", "scales": [1, 10], "cycles": 2, "duration": 1.0}
    values = {"name": "isolation and clients", "about": "An example", "run": run, "factor": FACTORS}
    study, _ = begin(parse(values), tmp_path_factory.mktemp("studies") / "one")
    make_folder(study)
    random = np.random.default_rng(7)
    for trial in study.trials:
        study = study.with_trial(archived(study, trial, _rate(random)) if trial.number > 1 else replace(
            trial, status="failed", reason="the server did not start"))  # fmt: skip
    store(study)
    return load(study.folder)


@pytest.fixture(scope="session")
def whole(made: Study) -> Outcomes:
    """What came out of it."""
    return outcomes(made)


def _rate(random: np.random.Generator) -> Callable[[tuple[int, ...], int], float]:
    return lambda at, _scale: 200 * 0.8 ** at[0] * 1.5 ** at[1] * np.exp(random.normal(0, 0.01))
