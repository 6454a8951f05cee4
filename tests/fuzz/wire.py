"""What nodes say: results of cycles, descriptions, and the small answers between them."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from pydantic import ValidationError

from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders import BUCKET_WORDS, SECOND_WORDS, CoreError, CycleResult
from dsbench.measure.loaders.results import NodeCourse
from dsbench.measure.nodes import members, nodes, outcome

from .mutate import changed, mutated, strange
from .sandbox import Refused

_SAID = {"failure": "", "core": {"clock": 5}, "calibration": {"ceilings": [{"against": "x", "clients": 1, "rate_tps": 5.0}], "ceiling_tps": 5.0}}
_FACTS: dict[str, Any] = {
    "busy": False, "name": "n", "host": "h", "system": "s", "pid": 1, "cpus": 1, "results": ["k"], "versions": {"dsbench": "1"},
}  # fmt: skip
_FIT = outcome.NodeLimits(2, 1, 1, seconds=1)


def make(random: Random) -> bytes:
    """One byte that says what it is, and the bytes of it."""
    what = random.randrange(3)
    return bytes([what]) + (_result, _described, _facts)[what](random)


def _text(random: Random, value: Any) -> bytes:
    text = json.dumps(changed(random, value) if random.random() < 0.9 else strange(random)).encode()
    return mutated(random, text) if random.random() < 0.4 else text


def _described(random: Random) -> bytes:
    return _text(random, _SAID)


def _facts(random: Random) -> bytes:
    return _text(random, _FACTS)


@cache
def _sample() -> dict[str, bytes]:
    """The parts of a result, by their names in it."""
    counters = np.zeros((2, 1, len(COUNTERS)), dtype="<u8")
    rows = np.ones((3, BUCKET_WORDS), dtype="<u8")
    result = CycleResult(
        counters=counters, groups=np.zeros(2, dtype="<u8"), histograms=((0, 0, "residence", rows),),
        seconds=np.zeros((2, SECOND_WORDS), dtype="<u8"), errors=((0, 0, "deadlock", "40P01", 3, "so it was"),),
        sums={"a": 5}, failure=CoreError("timeout", "1", "late"), cpu_ns=(5, 6),
        placements=((0, "follow", 2),),
    )  # fmt: skip
    samples = [{"at_ns": -5, "monitor": "os", "metric": "cpu", "unit": "s total", "value": 1.25}]
    with zipfile.ZipFile(io.BytesIO(outcome.encode(result, NodeCourse("complete"), samples))) as whole:
        return {name: whole.read(name) for name in whole.namelist()}


def _result(random: Random) -> bytes:
    parts, pick = dict(_sample()), random.random()
    if pick < 0.02:
        parts["head.npy"] += b" " * 100_000_000
    elif pick < 0.5:
        whole = io.BytesIO(parts["head.npy"])
        head = json.loads(np.load(whole).tobytes())
        whole = io.BytesIO()
        np.save(whole, np.frombuffer(json.dumps(changed(random, head)).encode(), "u1"))
        parts["head.npy"] = whole.getvalue()
    elif pick < 0.8:
        name = random.choice(list(parts))
        parts[name] = mutated(random, parts[name])
    elif pick < 0.9:
        del parts[random.choice(list(parts))]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in parts.items():
            made.writestr(name, data)
    return mutated(random, buffer.getvalue()) if random.random() < 0.2 else buffer.getvalue()


def run(data: bytes, folder: Path) -> None:
    """Reads it as a run does."""
    what, data = (data[0] % 3, data[1:]) if data else (0, b"")
    try:
        (_read_result, _read_description, _read_facts)[what](data)
    except (ValidationError, outcome.DamagedError) as error:
        raise Refused(str(error)[:500]) from None


def _read_result(data: bytes) -> None:
    outcome.decode(data, "n", _FIT)


def _read_description(data: bytes) -> None:
    said = nodes._said_of_itself(data)
    if said.pop("failure"):
        raise Refused("no description")
    json.dumps(said, ensure_ascii=False).encode()
    nodes.Machine.model_validate({"name": "n", **said})


def _read_facts(data: bytes) -> None:
    members._Facts.model_validate_json(data)
