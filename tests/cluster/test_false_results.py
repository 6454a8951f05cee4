"""Results and descriptions that no honest node sends: they are not counted, and end nothing."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
import pytest

from dsbench.cluster import outcome
from dsbench.cluster.nodes import _said_of_itself
from dsbench.cluster.outcome import Course, DamagedError, Fit, decode, encode
from dsbench.columns import COUNTERS
from dsbench.generator import SECOND_WORDS, CycleResult


def result(**more: Any) -> CycleResult:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    fields = {
        "counters": counters, "groups": np.zeros(1, "<u8"), "histograms": (), "seconds": np.zeros((0, SECOND_WORDS), "<u8"),
        "errors": (), "sums": {}, "failure": None,
    }  # fmt: skip
    return CycleResult(**{**fields, **more})


WORDS = np.full((1, 3), 2**63, dtype="<u8")
FIT = Fit(threads=1, kinds=1, groups=1)


@pytest.mark.parametrize(
    "more",
    [
        {"counters": np.full((1, 1, len(COUNTERS)), 2**63, dtype="<u8")},
        {"counters": np.zeros((2, 1, len(COUNTERS)), "<u8"), "groups": np.zeros(2, "<u8")},
        {"counters": np.zeros((1, 2, len(COUNTERS)), "<u8")},
        {"groups": np.ones(1, "<u8")},
        {"histograms": ((0, 1, "residence", np.zeros((1, 3), "<u8")),)},
        {"histograms": ((1, 0, "residence", np.zeros((1, 3), "<u8")),)},
        {"histograms": ((0, 0, "residence", WORDS),)},
        {"histograms": ((0, 0, "another", np.zeros((1, 3), "<u8")),)},
        {"seconds": np.array([[0, 10**9, 0, *[0] * (SECOND_WORDS - 3)]], "<u8")},
        {"seconds": np.array([[1, 0, 0, *[0] * (SECOND_WORDS - 3)]], "<u8")},
        {"seconds": np.array([[0, 0, 7, *[0] * (SECOND_WORDS - 3)]], "<u8")},
        {"errors": ((0, 9, "e", "c", 1, "x"),)},
        {"errors": ((0, 0, "e", 5, 1, "x"),)},
        {"statements": ((0, 0, 0, 0, 0, 0, 0, np.zeros((1, 3), "<u8")),)},
        {"placements": ((1, "follow", 1),)},
        {"placements": ((0, "follow", 2),)},
        {"placements": ((0, 5, 1),)},
        {"sums": {"delta": 2**80}},
        {"sums": {"delta": -(2**60)}},
        {"sums": {"delta": "x"}},
        {"cpu_ns": (-1, 0)},
    ],
)  # fmt: skip
def test_a_result_that_the_cycle_cannot_have_is_not_counted(more: dict[str, Any]) -> None:
    assert decode(encode(result(), Course("complete"), []), "n1", FIT).result.total("committed") == 0
    with pytest.raises(DamagedError):
        decode(encode(result(**more), Course("complete"), []), "n1", FIT)


@pytest.mark.parametrize("sample", [{"value": 1.0}, {"value": 1.0, "at_ns": 1, "monitor": "m", "metric": "x", "unit": "u"}])
def test_a_result_with_other_samples_is_refused(sample: dict[str, Any]) -> None:
    right = {name: sample.get(name, "x") for name in ("at_ns", "monitor", "metric", "unit", "value")} | {"at_ns": 1}
    assert decode(encode(result(), Course("complete"), [right]), "n1", FIT).samples == [right]
    with pytest.raises(DamagedError):
        decode(encode(result(), Course("complete"), [sample]), "n1", FIT)


@pytest.mark.parametrize(
    "course",
    [{"start_late_ns": -5}, {"start_late_ns": 2**60}, {"clock_error_ns": -1}, {"clock_offset_ns": 10**30}, {"clock_drift_ns": -(2**63)},
     {"armed_before_ns": 2**63 - 1}, {"still_ns": -1}, {"ended": "x" * 100_001}],
)  # fmt: skip
def test_a_course_with_numbers_that_the_archive_has_no_place_for_is_refused(course: dict[str, Any]) -> None:
    with pytest.raises(DamagedError):
        decode(encode(result(), Course(**{"ended": "complete", **course}), []), "n1", FIT)


@pytest.mark.parametrize("wrong", [{"value": float("nan")}, {"value": float("inf")}, {"at_ns": 2**63 - 1}, {"metric": "x" * 41}])
def test_samples_that_would_spoil_the_archive_are_refused(wrong: dict[str, Any]) -> None:
    sample = {"at_ns": 1, "monitor": "m", "metric": "x", "unit": "u", "value": 1.0, **wrong}
    with pytest.raises(DamagedError):
        decode(encode(result(), Course("complete"), [sample]), "n1", FIT)


def test_a_small_result_does_not_become_gigabytes_of_samples() -> None:
    sample = {"at_ns": 1, "monitor": "", "metric": "", "unit": "", "value": 0.0}
    fit = Fit(threads=1, kinds=1, groups=1, seconds=10)
    assert len(decode(encode(result(), Course("complete"), [sample] * 10_000), "n1", fit).samples) == 10_000
    for count, words in ((50_000, "more than the cycle has time for"), (500_000, "a head of")):
        with pytest.raises(DamagedError, match=words):
            decode(encode(result(), Course("complete"), [sample] * count), "n1", fit)


def test_a_result_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_LARGEST", 2**20)
    small = outcome._MAGIC + zlib.compress(b"\0" * (2**20 + 1), 9)
    with pytest.raises(DamagedError, match="too long"):
        decode(small, "n1", FIT)


@pytest.mark.parametrize("head", [b"[" * 100_000, b"5", b"{}", b'{"shape": [1, 1, 1]}', b"\xff", b'{"course": {"x": 1}}'])
def test_a_result_with_another_head_is_refused(head: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(outcome._MAGIC + zlib.compress(struct.pack("<I", len(head)) + head), "n1", FIT)


@pytest.mark.parametrize("said", [b"[" * 100_000, b"5", b"{}", b'{"failure": 5}', b'{"failure": "", "calibration": 7}', b"\xff"])
def test_a_wrong_description_of_a_node_is_told_in_a_line(said: bytes) -> None:
    assert "no description of a node" in _said_of_itself(said)["failure"]
    right = {"failure": "", "core": {"CPU": "x"}, "calibration": {"problem": "none"}, "network": "a\nb" + "x" * 999}
    found = _said_of_itself(json.dumps({**right, "name": "another", "stack": 1}).encode())
    assert found.pop("network") == "a b" + "x" * 297
    assert found == {k: right[k] for k in ("failure", "core", "calibration")}
    assert _said_of_itself(b'{"failure": ""}') == {"failure": "", "network": ""}
    busy = {"failure": "", "noticed": ["a\nb" + "x" * 999] * 99}
    assert _said_of_itself(json.dumps(busy).encode())["noticed"] == ["a b" + "x" * 397] * 5
