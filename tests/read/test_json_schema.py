"""What ``--json`` prints, held against its published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dsbench.read.shown import read

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads((ROOT / "docs" / "results.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", ["pg", "mock-tpcc", "nodes", "mock-clients", "cut"])
def test_what_is_printed_fits_the_schema(validator: Any, name: str) -> None:
    document = json.loads(json.dumps(read(ROOT / "tests" / "data" / "archives" / f"{name}.zip").document))
    assert [error.message[:300] for error in validator.iter_errors(document)] == []
    assert not validator.is_valid({**document, "cycle_rates": 5})
    assert not validator.is_valid({key: value for key, value in document.items() if key != "index"})
