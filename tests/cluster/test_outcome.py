"""Results on the wire: every number comes back, and merged histograms are those of all transactions together."""

from __future__ import annotations

import zlib
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.analysis import histogram
from dsbench.analysis.machine import MachineUse, Program, Used
from dsbench.cluster.outcome import Course, DamagedError, NodeResult, Part, decode, encode
from dsbench.columns import COUNTERS
from dsbench.generator import SECOND_WORDS, UNCOUNTED, CoreError, CycleResult
from dsbench.runner.counts import Counts

words = st.integers(0, 2**64 - 1)


def uints(rows: list[list[int]], width: int) -> np.ndarray:
    return np.array(rows, dtype="<u8").reshape(-1, width)


@st.composite
def results(draw: st.DrawFn) -> CycleResult:
    threads, kinds = draw(st.integers(0, 3)), draw(st.integers(1, 2))
    size = threads * kinds * len(COUNTERS)
    counters = np.array(draw(st.lists(words, min_size=size, max_size=size)), dtype="<u8")
    rows = st.lists(st.lists(words, min_size=3, max_size=3), max_size=4)
    seconds = st.lists(st.lists(words, min_size=SECOND_WORDS, max_size=SECOND_WORDS), max_size=3)
    text = st.text(max_size=8)
    return CycleResult(
        counters=counters.reshape(threads, kinds, len(COUNTERS)),
        groups=np.array(draw(st.lists(words, min_size=threads, max_size=threads)), dtype="<u8"),
        histograms=tuple((0, kind, "residence", uints(draw(rows), 3)) for kind in range(kinds)),
        seconds=uints(draw(seconds), SECOND_WORDS),
        statements=tuple((*draw(st.tuples(*[words] * 7)), uints(draw(rows), 3)) for _ in range(draw(st.integers(0, 2)))),
        errors=tuple(draw(st.lists(st.tuples(words, words, text, text, words, text), max_size=2))),
        sums=draw(st.dictionaries(text, st.integers(-(2**63), 2**63 - 1), max_size=2)),
        failure=draw(st.none() | st.builds(CoreError, text, text, text)),
        cpu_ns=(draw(st.integers(0, 2**53 - 1)), draw(st.integers(0, 2**53 - 1))),
        placements=((0, "follow", draw(words)), (0, "free: the server is on another machine", draw(words))),
    )


differences = st.integers(1 - 2**62, 2**62 - 1)


@given(results(), differences, st.integers(0, 2**53 - 1), differences)
def test_every_number_comes_back(result: CycleResult, offset: int, error: int, drift: int) -> None:
    course = Course("complete", offset, error, drift, still_ns=5)
    samples = [{"at_ns": -5, "monitor": "os", "metric": "cpu_user", "unit": "s total", "value": 1.25}] * 2
    found = decode(encode(result, course, samples), "alba")
    assert (found.node, found.course, list(found.samples)) == ("alba", course, samples)
    back = found.result
    assert np.array_equal(back.counters, result.counters)
    assert back.counters.shape == result.counters.shape
    assert np.array_equal(back.seconds, result.seconds)
    assert [h[:2] for h in back.histograms] == [h[:2] for h in result.histograms]
    assert all(np.array_equal(a[2], b[2]) for a, b in zip(back.histograms, result.histograms, strict=True))
    assert [one[:7] for one in back.statements] == [one[:7] for one in result.statements]
    assert all(np.array_equal(a[7], b[7]) for a, b in zip(back.statements, result.statements, strict=True))
    assert (back.errors, dict(back.sums), back.cpu_ns) == (result.errors, dict(result.sums), result.cpu_ns)
    assert back.placements == result.placements
    assert str(back.failure) == str(result.failure)


def used(**changes: Any) -> Used:
    names = [one.name for one in fields(MachineUse)]
    use = MachineUse(**dict.fromkeys(names, 7) | {"device": "vda", "queued_ns": None} | changes)
    return Used(use, (Program("make", 12, children=True, cpu_ns=5, io_bytes=None),))


NOTHING = CycleResult(
    np.zeros((0, 1, len(COUNTERS)), "<u8"), np.zeros(0, "<u8"), (), uints([], SECOND_WORDS), (), {}, None
)


def test_what_the_machine_did_comes_back() -> None:
    assert decode(encode(NOTHING, Course("complete"), [], used()), "alba").machine == used()
    assert decode(encode(NOTHING, Course("complete"), []), "alba").machine is None


@pytest.mark.parametrize("wrong", [{"others_ns": -1}, {"idle_ns": 2**60}, {"cpus": 2**32}, {"cpus": "two"}])
def test_a_machine_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DamagedError):
        decode(encode(NOTHING, Course("complete"), [], used(**wrong)), "alba")


def test_a_nodes_names_of_programs_are_plain_and_short() -> None:
    programs = tuple(Program("a\n\x1b[31m" + "x" * 99, 1, children=False, cpu_ns=1, io_bytes=None) for _ in range(999))
    found = decode(encode(NOTHING, Course("complete"), [], Used(used().use, programs)), "alba").machine
    assert found is not None
    assert len(found.programs) == 40
    assert found.programs[0].program == "a  [31m" + "x" * 33


@given(st.binary(max_size=60))
def test_what_is_no_result_is_refused(data: bytes) -> None:
    for bytes_ in (data, b"dsbench cycle 4\n" + data, b"dsbench cycle 4\n" + zlib.compress(data)):
        with pytest.raises(DamagedError):
            decode(bytes_, "alba")


times = st.lists(st.integers(1, 10**10), max_size=30)


@given(st.lists(times, min_size=1, max_size=4))
def test_nodes_merged_are_the_pool(parts: list[list[int]]) -> None:
    """Buckets of the nodes laid together, as the archive holds them, against one histogram of everything."""

    def rows(values: list[int]) -> np.ndarray:
        width = [10 ** max(0, len(str(v)) - 3) for v in values]
        low = [v // w * w for v, w in zip(values, width, strict=True)]
        pairs = sorted({(a, a + w - 1) for a, w in zip(low, width, strict=True)})
        return uints([[a, b, sum(a <= v <= b for v in values)] for a, b in pairs], 3)

    laid = np.concatenate([rows(part) for part in parts])
    pooled = rows([value for part in parts for value in part])
    merged, whole = (histogram.histogram(*r.astype(np.int64).T) for r in (laid, pooled))
    assert np.array_equal(merged.low_ns, whole.low_ns)
    assert np.array_equal(merged.counts, whole.counts)


def part(node: str, committed: int, *, why: str = "", known: bool = True, loaded: bool = True) -> Part:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    counters[0, 0, COUNTERS.index("committed")] = committed
    counters[0, 0, COUNTERS.index("late_commits")] = 1
    result = CycleResult(counters, np.zeros(len(counters), "<u8"), (), uints([], SECOND_WORDS), (), {"delta": committed}, None)
    return Part(node, why, NodeResult(node, result) if known else None, loaded)


def test_the_check_knows_all_commits_that_anybody_knows() -> None:
    counts = Counts(1)
    counts.add((1, 1), [part("a", 10), part("b", 5, why="lease"), part("c", 0, why="gone", known=False)])
    counts.add((1, 2), [part("a", 20), part("b", 0, why="absent", known=False, loaded=False)])
    assert [words.split(":")[0] for words in counts.unknown()] == ["node c was lost in cycle 1"]
    assert counts.counted() == ([38], [UNCOUNTED], [("delta", 35)])
    late = part("c", 7).found
    assert late is not None
    counts.settle((1, 1), late)
    counts.settle((1, 1), late)
    assert list(counts.unknown()) == []
    assert counts.counted() == ([46], [0], [("delta", 42)])


def test_the_check_knows_of_which_kind_commits_of_unknown_end_are() -> None:
    counters = np.zeros((2, 3, len(COUNTERS)), dtype="<u8")
    counters[:, :, COUNTERS.index("unknown")] = [[4, 0, 1], [2, 0, 0]]
    result = CycleResult(counters, np.zeros(2, "<u8"), (), uints([], SECOND_WORDS), (), {}, None)
    counts = Counts(3)
    counts.add((1, 1), [Part("a", "", NodeResult("a", result), loaded=True)])
    assert counts.counted() == ([0, 0, 0], [6, 0, 1], [])
    counts.add((1, 2), [part("b", 0, why="gone", known=False)])
    assert counts.counted() == ([0, 0, 0], [UNCOUNTED + 6, UNCOUNTED, UNCOUNTED + 1], []), "it may have been any"


def test_states_of_a_part() -> None:
    assert part("a", 1).state == "complete"
    assert part("a", 1, why="lease").state == "partial"
    assert part("a", 0, why="gone", known=False).state == "lost"
    assert part("a", 0, why="gone", known=False, loaded=False).state == "absent"
