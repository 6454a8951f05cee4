"""A fixed sample of inputs that nobody means, of every kind; ``python -m tests.fuzz`` tries as many as wanted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from fuzz import KINDS, seeded, tables
from fuzz.__main__ import verdicts

INPUTS = {"description": 15, "tables": 15, "zips": 40, "histories": 20, "folders": 40, "queries": 60, "studies": 60, "workloads": 60}
"""Of kinds whose inputs take long; of the others a hundred."""


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_no_input_brings_anything_but_a_clear_error(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A processor that several share is slow: what takes a second of it is for the long runs to find.
    monkeypatch.setenv("DSBENCH_FUZZ_SECONDS", "10")
    words: Counter[str] = Counter()
    for number, verdict in verdicts(kind, 7, INPUTS.get(kind, 100)):
        assert verdict.word != "finding", f"python -m tests.fuzz --kind {kind} --seed 7, input {number}: {verdict.told}"
        words[verdict.word] += 1
    assert words["refused"] > 2
    assert words["accepted"] > 0, "something else than the input is refused"
    assert words.total() == INPUTS.get(kind, 100)


HARM = """
import socket, sys
from pathlib import Path
from fuzz.sandbox import Accepted, Guard, Refused, judged, limit_memory

def spin():
    while True: pass
def take(): bytearray(2**31)
def write(): Path("../outside").write_text("x")
def climb(): Path("a/../../outside").touch()
def call(): socket.create_connection(("127.0.0.1", 9))
def start(): __import__("subprocess").run(["true"])
def end(): sys.exit(0)
def flood(): raise Refused("x" * 100_000)
def tell(): raise Refused("so it is")
def begin(): raise Accepted
def keep(): Path("inside").write_text("x")

folder = Path(sys.argv[1])
guard = Guard(folder, places=False)
limit_memory()
for harm in (spin, take, write, climb, call, start, end, flood, tell, begin, keep):
    print(harm.__name__, judged(lambda data, folder: harm(), b"", folder, guard).word)
"""


def test_what_an_input_may_not_bring_about_is_found(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HARM, str(tmp_path / "work")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    found = dict(line.split() for line in done.stdout.splitlines())
    assert (found.pop("tell"), found.pop("begin"), found.pop("keep")) == ("refused", "accepted", "accepted"), done.stderr
    assert set(found.values()) == {"finding"}, found
    assert len(found) == 8
    assert not (tmp_path / "outside").exists()


def test_an_input_is_the_same_each_time() -> None:
    assert seeded(1, "toml", 5).random() == seeded(1, "toml", 5).random() != seeded(1, "toml", 6).random()


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_times_of_which_python_knows_no_value_are_changed_like_others(unit: str) -> None:
    rows = pa.table({"at": pa.array([1, None, 2**63 - 1], pa.timestamp(unit, "UTC"))})
    for number in range(20):
        assert len(tables._column(Random(number), rows, "at")) == 3
