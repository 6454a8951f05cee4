"""Parts of cycles: every number comes back, what cannot be is left out, and merged histograms are those of all together."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsbench.archive.columns import COUNTERS
from dsbench.measure.loaders import OPEN, PAUSE_WORDS, SECOND_WORDS, UNCOUNTED, CoreError, CycleResult
from dsbench.measure.loaders.results import MISSED, NodeCourse, NodePart, NodeResult, missed
from dsbench.measure.nodes import outcome
from dsbench.measure.nodes.nodes import Nodes, Turn, _said_of_itself
from dsbench.measure.nodes.outcome import DamagedError, NodeLimits, decode, encode
from dsbench.measure.scale import Counts
from dsbench.spec import RunSpec
from dsbench.stats import histogram
from dsbench.stats.machine import MachineUse, Program, Used

counts = st.integers(0, 2**53 - 1)
FIT = NodeLimits(clients=1, kinds=1, groups=1)


def uints(rows: list[list[int]], width: int) -> np.ndarray:
    return np.array(rows, dtype="<u8").reshape(-1, width)


@st.composite
def results(draw: st.DrawFn) -> tuple[CycleResult, NodeLimits]:
    clients, kinds = draw(st.integers(0, 3)), draw(st.integers(1, 2))
    size = clients * kinds * len(COUNTERS)
    counters = np.array(draw(st.lists(counts, min_size=size, max_size=size)), dtype="<u8")
    rows = st.lists(st.lists(counts, min_size=3, max_size=3).map(sorted), max_size=4)
    seconds = [[0, s, kinds - 1, *[draw(counts)] * (SECOND_WORDS - 3)] for s in range(draw(st.integers(0, 3)))]
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    result = CycleResult(
        counters=counters.reshape(clients, kinds, len(COUNTERS)),
        groups=np.zeros(clients, "<u8"),
        histograms=tuple((0, kind, "residence", uints(draw(rows), 3)) for kind in range(kinds)),
        seconds=uints(seconds, SECOND_WORDS),
        statements=tuple((0, 1, *draw(st.tuples(*[counts] * 5)), uints(draw(rows), 3)) for _ in range(draw(st.integers(0, 2)))),
        errors=tuple(draw(st.lists(st.tuples(st.just(0), st.just(0), text, text, counts, text), max_size=2))),
        sums=draw(st.dictionaries(text, st.integers(-(2**53) + 1, 2**53 - 1), max_size=2)),
        failure=draw(st.none() | st.builds(CoreError, text, text, text)),
        cpu_ns=(draw(counts), draw(counts)),
        placements=((0, "follow", clients), (0, "free: the server is on another machine", clients)),
        pauses=uints([[client, 5, OPEN, draw(st.just(OPEN) | st.integers(5, 2**53 - 1))] for client in range(clients)], PAUSE_WORDS),
    )
    return result, NodeLimits(clients, kinds, 1, 2)


@given(results(), st.none() | counts)
def test_every_number_comes_back(drawn: tuple[CycleResult, NodeLimits], late: int | None) -> None:
    result, fit = drawn
    course = NodeCourse("complete", start_late_ns=late, paused_ns=5)
    samples = [{"at_ns": -5, "monitor": "os", "metric": "cpu_user", "unit": "s total", "value": 1.25}] * 2
    found = decode(encode(result, course, samples), "alba", fit)
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
    assert np.array_equal(back.pauses, result.pauses)
    assert str(back.failure) == str(result.failure)


def used(**changes: Any) -> Used:
    names = [one.name for one in fields(MachineUse)]
    use = MachineUse(**dict.fromkeys(names, 7) | {"device": "vda", "queued_ns": None} | changes)
    return Used(use, (Program("make", 12, children=True, cpu_ns=5, io_bytes=None),))


NOTHING = CycleResult(
    np.zeros((0, 1, len(COUNTERS)), "<u8"), np.zeros(0, "<u8"), (), uints([], SECOND_WORDS), (), {}, None
)


def test_what_the_machine_did_comes_back() -> None:
    assert decode(encode(NOTHING, NodeCourse("complete"), [], used()), "alba", FIT).machine == used()
    assert decode(encode(NOTHING, NodeCourse("complete"), []), "alba", FIT).machine is None


@pytest.mark.parametrize("wrong", [{"others_ns": -1}, {"idle_ns": 2**60}, {"cpus": 2**32}, {"cpus": "two"}])
def test_a_machine_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DamagedError):
        decode(encode(NOTHING, NodeCourse("complete"), [], used(**wrong)), "alba", FIT)


def test_a_nodes_names_of_programs_are_plain_and_short() -> None:
    programs = tuple(Program("a\n\x1b[31m" + "x" * 99, 1, children=False, cpu_ns=1, io_bytes=None) for _ in range(999))
    found = decode(encode(NOTHING, NodeCourse("complete"), [], Used(used().use, programs)), "alba", FIT).machine
    assert found is not None
    assert len(found.programs) == 40
    assert found.programs[0].program == "a  [31m" + "x" * 33


@given(st.binary(max_size=60))
def test_what_is_no_result_is_refused(data: bytes) -> None:
    for bytes_ in (data, packed(head=np.frombuffer(data, "u1"))):
        with pytest.raises(DamagedError):
            decode(bytes_, "alba", FIT)


def packed(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def result(**more: Any) -> CycleResult:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    fields = {
        "counters": counters, "groups": np.zeros(1, "<u8"), "histograms": (), "seconds": np.zeros((0, SECOND_WORDS), "<u8"),
        "errors": (), "sums": {}, "failure": None,
    }  # fmt: skip
    return CycleResult(**{**fields, **more})


WORDS = np.full((1, 3), 2**63, dtype="<u8")


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
        {"pauses": uints([[1, 0, 0, 5]], PAUSE_WORDS)},
        {"pauses": uints([[0, 2**63, OPEN, OPEN]], PAUSE_WORDS)},
        {"pauses": uints([[0, 7, 7, 5]], PAUSE_WORDS)},
        {"pauses": uints([[0, 7, 2**63, OPEN]], PAUSE_WORDS)},
        {"pauses": uints([[0, 7, 7, 9]] * 258, PAUSE_WORDS)},
        {"errors": ((0, 9, "e", "c", 1, "x"),)},
        {"errors": ((0, 0, "e", 5, 1, "x"),)},
        {"statements": ((0, 0, 0, 0, 0, 0, 0, np.zeros((1, 3), "<u8")),)},
        {"placements": ((1, "follow", 1),)},
        {"placements": ((0, "follow", 2),)},
        {"placements": ((0, 5, 1),)},
        {"served": ((1, "db1:5432", 1),)},
        {"served": ((0, "db1:5432", -1),)},
        {"sums": {"delta": 2**80}},
        {"sums": {"delta": -(2**60)}},
        {"sums": {"delta": "x"}},
        {"cpu_ns": (-1, 0)},
    ],
)  # fmt: skip
def test_a_result_that_the_cycle_cannot_have_is_not_counted(more: dict[str, Any]) -> None:
    assert decode(encode(result(), NodeCourse("complete"), []), "n1", FIT).result.total("committed") == 0
    with pytest.raises(DamagedError):
        decode(encode(result(**more), NodeCourse("complete"), []), "n1", FIT)


SAMPLE = {"at_ns": 1, "monitor": "m", "metric": "x", "unit": "u", "value": 1.0}


@pytest.mark.parametrize(
    "wrong", [{"value": float("nan")}, {"value": float("inf")}, {"value": "x"}, {"at_ns": 2**63 - 1}, {"metric": "x" * 101}, {"unit": None}]
)
def test_samples_that_the_archive_could_not_be_read_with_are_refused(wrong: dict[str, Any]) -> None:
    assert decode(encode(result(), NodeCourse("complete"), [SAMPLE]), "n1", FIT).samples == [SAMPLE]
    with pytest.raises(DamagedError):
        decode(encode(result(), NodeCourse("complete"), [SAMPLE | wrong]), "n1", FIT)


@pytest.mark.parametrize("wrong", [{"start_late_ns": -5}, {"start_late_ns": 2**60}, {"start_late_ns": 10**30}, {"paused_ns": -1}, {"paused_ns": 2**63}])
def test_a_course_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(DamagedError):
        decode(encode(result(), NodeCourse("complete", **wrong), []), "n1", FIT)


def test_what_a_node_says_of_its_clock_is_not_taken() -> None:
    said = NodeCourse("complete", clock_offset_ns=10**30, clock_error_ns=-1, clock_drift_ns=10**30, armed_before_ns=-1)
    assert decode(encode(result(), said, []), "n1", FIT).course == NodeCourse("complete")


def test_more_samples_than_a_cycle_has_are_refused() -> None:
    short = NodeLimits(1, 1, 1, seconds=0.0)
    assert len(decode(encode(result(), NodeCourse("complete"), [SAMPLE] * short.samples), "n1", short).samples) == short.samples
    with pytest.raises(DamagedError, match="samples in 0 s"):
        decode(encode(result(), NodeCourse("complete"), [SAMPLE] * (short.samples + 1)), "n1", short)
    many = encode(result(), NodeCourse("complete"), [SAMPLE] * (20 * short.samples))
    assert len(many) < 200_000
    with pytest.raises(DamagedError, match="more text than a cycle produces"):
        decode(many, "n1", short)


def test_a_result_that_unpacks_to_gigabytes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_LARGEST", 2**20)
    with pytest.raises(DamagedError, match="too long"):
        decode(packed(head=np.zeros(2**20 + 1, "u1")), "n1", FIT)


@pytest.mark.parametrize("head", [b"[" * 100_000, b"5", b"{}", b'{"ended": 1}', b"\xff"])
def test_a_result_with_another_head_is_refused(head: bytes) -> None:
    with pytest.raises(DamagedError):
        decode(packed(head=np.frombuffer(head, "u1")), "n1", FIT)


@pytest.mark.parametrize("array", [np.zeros((1, 1, 5), "<u8"), np.zeros(3), np.array([{}], dtype=object), np.zeros((1, 1, len(COUNTERS)), "<i8")])
def test_arrays_of_another_form_or_type_are_refused(array: np.ndarray) -> None:
    with np.load(io.BytesIO(encode(result(), NodeCourse("complete"), []))) as right:
        parts = {name: right[name] for name in right}
    with pytest.raises(DamagedError):
        decode(packed(**{**parts, "counters": array}), "n1", FIT)


def test_an_array_that_says_it_is_huge_is_refused() -> None:
    right, buffer = zipfile.ZipFile(io.BytesIO(encode(result(), NodeCourse("complete"), []))), io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as lying:
        for name in right.namelist():
            data = right.read(name)
            lying.writestr(name, data.replace(b"(1,)", b"(%d,)" % 2**40) if name == "groups.npy" else data)
    with pytest.raises(DamagedError):
        decode(buffer.getvalue(), "n1", FIT)


@pytest.mark.parametrize("said", [b"[" * 100_000, b"5", b"{}", b'{"failure": 5}', b'{"failure": "", "calibration": 7}', b"\xff"])
def test_a_wrong_description_of_a_node_is_told_in_a_line(said: bytes) -> None:
    assert "not a description of a node" in _said_of_itself(said)["failure"]
    right = {"failure": "", "core": {"CPU": "x"}, "calibration": {"problem": "none"}, "network": "a\nb" + "x" * 999}
    found = _said_of_itself(json.dumps({**right, "name": "another", "stack": 1}).encode())
    assert found.pop("network") == "a b" + "x" * 297
    assert found == {k: right[k] for k in ("failure", "core", "calibration")}
    assert _said_of_itself(b'{"failure": ""}') == {"failure": "", "network": ""}
    busy = {"failure": "", "noticed": ["a\nb" + "x" * 999] * 99}
    assert _said_of_itself(json.dumps(busy).encode())["noticed"] == ["a b" + "x" * 397] * 5


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


def part(node: str, committed: int, *, why: str = "", known: bool = True, loaded: bool = True) -> NodePart:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    counters[0, 0, COUNTERS.index("committed")] = committed
    counters[0, 0, COUNTERS.index("commits_after_window")] = 1
    result = CycleResult(counters, np.zeros(len(counters), "<u8"), (), uints([], SECOND_WORDS), (), {"delta": committed}, None)
    return NodePart(node, why, NodeResult(node, result) if known else None, loaded)


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
    counts.add((1, 1), [NodePart("a", "", NodeResult("a", result), loaded=True)])
    assert counts.counted() == ([0, 0, 0], [6, 0, 1], [])
    counts.add((1, 2), [part("b", 0, why="gone", known=False)])
    assert counts.counted() == ([0, 0, 0], [UNCOUNTED + 6, UNCOUNTED, UNCOUNTED + 1], []), "it may have been any"


def test_states_of_a_part() -> None:
    assert part("a", 1).state == "complete"
    assert part("a", 1, why="lease").state == "partial"
    assert part("a", 0, why="gone", known=False).state == "lost"
    assert part("a", 0, why="gone", known=False, loaded=False).state == "absent"


def idle(why: str, committed: int | None = None, *, loaded: bool = False) -> NodePart:
    counters = np.zeros((1, 1, len(COUNTERS)), dtype="<u8")
    counters[0, 0, COUNTERS.index("commits_after_window")] = committed or 0
    result = CycleResult(counters, np.zeros(1, "<u8"), (), uints([], SECOND_WORDS), (), {}, None)
    return NodePart("n", why, None if committed is None else NodeResult("n", result, NodeCourse(why)), loaded)


@pytest.mark.parametrize(
    ("parts", "again"),
    [
        ([idle(MISSED), idle(MISSED, 0, loaded=True)], True),
        ([idle(MISSED), idle("it was lost when the cycle began")], True),
        ([idle(MISSED), idle("", 5, loaded=True)], False),
        ([idle(MISSED), idle(MISSED, 1, loaded=True)], False),
        ([idle(MISSED), idle("no heartbeat for 6 s", loaded=True)], False),
        ([idle("it was lost when the cycle began")], False),
    ],
)
def test_only_a_cycle_without_any_load_is_tried_again(parts: list[NodePart], again: bool) -> None:
    assert missed(parts) is again


def test_parts_that_come_when_their_cycle_is_over_are_given_once_and_a_damaged_one_harms_no_other() -> None:
    run = Nodes(Any, RunSpec(nodes=4), 0.0)  # type: ignore[arg-type]  # nobody joins
    key = "scale 1, cycle 1 #2"
    run._turns = {"prepare #1": Turn("prepare #1", {}), key: Turn(key, {}, FIT, (1, 1))}

    def data(committed: int) -> bytes:
        found = result()
        found.counters[0, 0, COUNTERS.index("committed")] = committed
        return encode(found, NodeCourse("lease"), [])

    run._late = [(key, "n1", data(5)), (key, "n2", data(6)[:-3]), ("prepare #1", "n4", b"{}"), (key, "n3", data(7))]
    assert [(cycle, one.node, one.result.total("committed")) for cycle, one in run.late()] == [
        ((1, 1), "n1", 5), ((1, 1), "n3", 7),
    ]  # fmt: skip
    (line,) = run.news()
    assert line.startswith(f"node n2: its late part of {key} is ignored: ")
    assert run.late() == []
