"""A verdict in Bencher's metric format (https://bencher.dev/docs/reference/bencher-metric-format)."""

from __future__ import annotations

import json
from math import isfinite

import numpy as np

from dsbench.library.pair import Versus

_NAME = 64
"""Most letters of the name of a measure."""


def of_comparison(found: Versus) -> str:
    """What was measured of A and of B, each the mean over its runs, and how B compares, with its interval.

    A rate in tps is Bencher's own measure ``throughput``. A measure with another unit has it in its name. A benchmark
    is ``A``, ``B`` or ``B / A``, as targets may be folders of a build. Without a complete block it is empty.
    """
    how = found.choice.how
    name = "throughput" if how.name == "rate" and found.unit == "tps" else _named(how.name, found.unit)
    metrics = {}
    for letter in "AB" if found.blocks else "":
        runs = [run for block in found.blocks for run in zip(block.order, block.rates, strict=True)]
        values = np.array([value for side, value in runs if side == letter])
        mean = float(np.exp(np.log(values).mean())) if how.geometric else float(values.mean())
        metrics[letter] = {name: {"value": mean}}
    within = found.ratio.interval
    if found.blocks and isfinite(within.value):
        ends = {"value": within.value, "lower_value": within.low, "upper_value": within.high}
        known = {end: value for end, value in ends.items() if isfinite(value) and value > 0}
        if how.step:
            known = {end: float(how.step * np.log(value)) for end, value in known.items()}
        metrics["B - A" if how.step else "B / A"] = {f"{how.name} {'difference' if how.step else 'ratio'}": known}
    return json.dumps(metrics, indent=2)


def _named(name: str, unit: str) -> str:
    return (f"{name} [{unit}]" if unit else name)[:_NAME]
