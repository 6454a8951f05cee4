"""Histories for Otava (https://otava.apache.org): a CSV file for each configuration, and the file that names them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from dsbench.several.trend import ResultHistory

CONFIG = "otava.yaml"


def files(histories: Sequence[ResultHistory], folder: Path) -> dict[str, bytes]:
    """File name to content, for a ``folder``: ``OTAVA_CONFIG=FOLDER/otava.yaml otava analyze configuration-1``."""
    made: dict[str, bytes] = {}
    tests = {}
    for number, one in enumerate(histories, 1):
        name, column = f"otava-{number}.csv", one.choice.how.name
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["time", "label", "archive", column])
        rows.writerows([run.started, run.label, run.archive, run.rate_tps] for run in one.results)
        made[name] = text.getvalue().encode()
        tests[f"configuration-{number}"] = {
            "type": "csv", "file": str(folder.absolute() / name), "time_column": "time",
            "attributes": ["label", "archive"],
            "metrics": {column: {"column": column, "direction": 1 if one.choice.how.more else -1}},
        }  # fmt: skip
    # JSON is YAML, and quotes whatever stands in a path.
    lines = [f"# configuration-{number}: {json.dumps(one.name)}" for number, one in enumerate(histories, 1)]
    text_of_all = "\n".join([*lines, json.dumps({"tests": tests}, indent=2), ""])
    return {**made, CONFIG: text_of_all.encode()}
