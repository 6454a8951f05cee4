"""A study with archives made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dsbench.study import Study, begin, load
from dsbench.study.plan import asked, combination
from dsbench.study.record import make_folder, store
from dsbench.study.spec import parse
from fixtures.archives import MS, bucket_rows, cycle_row, group_row, run_json, write

FACTORS = [
    {"name": "isolation", "path": "isolation", "levels": ["read-committed", "serializable"]},
    {"name": "clients", "path": "threads", "levels": [1, 2, 4]},
]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """2 × 3 levels in 3 blocks: serializable has 80 % of the rate, each doubling of the clients 150 %; one failed."""
    run = {"target": "private:sqlite", "scales": [1, 10], "cycles": 2, "duration": 1.0}
    values = {"name": "isolation and clients", "about": "An example", "run": run, "factor": FACTORS}
    study, _ = begin(parse(values), tmp_path_factory.mktemp("studies") / "one")
    make_folder(study)
    random = np.random.default_rng(7)
    for trial in study.trials:
        study = study.with_trial(_archived(study, trial, random) if trial.number > 1 else replace(
            trial, status="failed", reason="the server did not start"))  # fmt: skip
    store(study)
    return load(study.folder)


def _archived(study, trial, random):  # type: ignore[no-untyped-def]  # rows in, a trial out
    at = combination(study.factors, trial)
    spec = asked(study.spec, study.factors, at, trial.block).merged.spec
    tables: dict[str, list[dict[str, object]]] = {"cycles": [], "groups": [], "buckets": []}
    for scale in spec.scales:
        for cycle in (1, 2):
            count = round(200 * 0.8 ** at[0] * 1.5 ** at[1] * np.exp(random.normal(0, 0.01)))
            tables["cycles"].append(cycle_row(scale, cycle, [MS] * count))
            tables["groups"].append(group_row(scale, "load", cycle, 1_000 * MS, threads=spec.threads, clients=spec.threads))
            tables["buckets"] += bucket_rows(scale, cycle, [MS] * count)
    name = f"trial-{trial.number}"
    archive = write(study.archives, run_json(spec.described(), name=name), tables, sealed=trial.number % 2 == 0)
    return replace(trial, status="done", archive=archive.name)
