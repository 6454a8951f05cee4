"""Answers for other programs: JUnit's XML and Bencher's metrics of a verdict, a history for Otava."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from dsbench.library.pair import Versus
from dsbench.read.blocks import Block
from dsbench.read.text import render_text
from dsbench.several import trend
from dsbench.several.trend import ResultHistory
from dsbench.stats.comparison import Verdict

OTAVA_CONFIG = "otava.yaml"
_KINDS = ("failure", "skipped", "error")
_NAME = 64
"""Most letters of the name of a measure."""


def bencher(found: Versus) -> str:
    """A verdict in Bencher's metric format (https://bencher.dev/docs/reference/bencher-metric-format): A and B, each
    the mean over its runs, and how B compares, with its interval.

    A rate in tps is Bencher's own measure ``throughput``. A measure with another unit has it in its name. A benchmark
    is ``A``, ``B`` or ``B / A``, as targets may be folders of a build. Without a complete block it is empty.
    """
    how = found.how
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
        known = {end: how.as_change(value) for end, value in ends.items() if isfinite(value) and value > 0}
        metrics["B - A" if how.step else "B / A"] = {f"{how.name} {'difference' if how.step else 'ratio'}": known}
    return json.dumps(metrics, indent=2)


def _named(name: str, unit: str) -> str:
    return (f"{name} [{unit}]" if unit else name)[:_NAME]


def junit(found: Versus) -> str:
    """A verdict as JUnit's XML, which forges show beside a request to merge: one case, B against A.

    What is slower or worse is a failure, what is undecided is skipped, and a run that failed is an error.
    """
    said = found.sentence()
    kind = {Verdict.SLOWER: "failure", Verdict.OPEN: "skipped"}.get(found.ratio.verdict, "")
    if found.error is not None:
        kind, said = "error", f"{found.error}; {said}"
    name = f"{found.names[1]} against {found.names[0]}: {found.choice.how.name}"
    return _suite("dsbench ab", [(name, kind, said)], list(found.tell()))


def junit_of_histories(histories: Sequence[ResultHistory], left: Sequence[str]) -> str:
    """A case for each configuration, which fails where its last change was for the worse."""
    cases = [(one.name, "failure" if one.fell else "", trend.say_last(one)) for one in histories]
    return _suite("dsbench trend", cases, list(trend.tell(histories, left)))


def _suite(name: str, cases: Sequence[tuple[str, str, str]], blocks: Sequence[Block]) -> str:
    """``cases``: name, one of ``_KINDS`` or empty, and what is to be said."""
    counts = {kind: sum(of == kind for _, of, _ in cases) for kind in _KINDS}
    plural = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    numbers = {"tests": str(len(cases)), **{plural[kind]: str(count) for kind, count in counts.items()}}
    root = ElementTree.Element("testsuites", numbers)
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **numbers})
    for title, kind, said in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": name, "name": _plain(title)})
        if kind:
            ElementTree.SubElement(case, kind, {"message": _plain(said)})
    ElementTree.SubElement(suite, "system-out").text = _plain(render_text(blocks))
    ElementTree.indent(root)
    return ElementTree.tostring(root, "unicode", xml_declaration=True)


def _plain(text: str) -> str:
    """``text`` without what XML 1.0 cannot have."""
    known = {letter: letter in "\t\n" or (letter >= " " and letter not in "\ufffe\uffff") for letter in set(text)}
    return "".join(letter if known[letter] else "\ufffd" for letter in text)


def otava(histories: Sequence[ResultHistory], folder: Path) -> dict[str, bytes]:
    """Histories for Otava (https://otava.apache.org): a CSV file for each configuration, and the file that names them.

    File name to content, for a ``folder``: ``OTAVA_CONFIG=FOLDER/otava.yaml otava analyze configuration-1``.
    """
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
    return {**made, OTAVA_CONFIG: text_of_all.encode()}
