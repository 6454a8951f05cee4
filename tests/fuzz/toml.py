"""Configuration files: from the samples below, and from nothing."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from dsbench.spec import OPTIONS

from .mutate import changed, mutated, nested, strange
from .sandbox import called

_SAMPLES: list[dict[str, Any]] = [
    {"scales": [1, 2], "cycles": 3, "duration": 0.5, "clients": [2, 4], "target": {"url": "private:sqlite", "settings": {"synchronous": "off"}}},
    {"workload": "tpcc", "scales": [1], "pace": "terminals", "terminals": 10, "ramp-up": 1.5, "workload_settings": {"mix": "45,43,4,4,4"}},
    {"target": "postgresql://me@127.0.0.1/db", "profile": "dsi", "isolation": "serializable", "retry": True, "prepare": False},
    {"target": {"url": "private:postgresql", "version": "15", "directory": "/tmp"}, "rate": 10.5, "arrival": "constant", "levels": [0.5, 0.9]},
    {"nodes": 2, "lease": 6.0, "trace": False, "seed": 7, "population": "bulk", "call": "statements", "connections": 2, "os_threads": 1},
]  # fmt: skip


def make(random: Random) -> bytes:
    """A file: parts of others types, bytes changed, or both."""
    pick = random.random()
    if pick < 0.05:
        return b"x = " + random.choice((b"[", b"{a=", b'["', b"[[")) * random.choice((10, 1000, 40_000))
    if pick < 0.2:
        names = random.sample(list(OPTIONS), 3)
        return text({name: strange(random) for name in names})
    said = text(changed(random, random.choice(_SAMPLES)))
    return mutated(random, said) if pick > 0.7 else said


def text(values: Any) -> bytes:
    """Lines of TOML; values that it does not know come out as JSON has them, which is one more mistake."""
    if not isinstance(values, dict):
        return b"x = " + _value(values)
    return b"\n".join(_name(name) + b" = " + _value(value) for name, value in values.items())


def _name(name: Any) -> bytes:
    plain = str(name)
    bare = plain.replace("-", "").replace("_", "").isalnum() and plain.isascii()
    return plain.encode() if bare else json.dumps(plain).encode()


def _value(value: Any) -> bytes:
    if isinstance(value, dict):
        return b"{" + b", ".join(_name(name) + b" = " + _value(part) for name, part in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b", ".join(map(_value, value)) + b"]"
    if isinstance(value, float):
        return repr(value).encode()
    return json.dumps(value, ensure_ascii=value == nested(1)).encode("utf-8", "surrogatepass")


def run(data: bytes, folder: Path) -> None:
    """``dsbench run --config``, until it would begin."""
    (folder / "run.toml").write_bytes(data)
    called("run", "--config", "run.toml")
