"""What a node leaves of one cycle, and its form on the wire: bytes that hold numbers and text, never code."""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from dsbench.columns import COUNTERS
from dsbench.generator import BUCKET_WORDS, SECOND_WORDS, CoreError, CycleResult, UInts

_MAGIC: Final = b"dsbench cycle 2\n"


class DamagedError(ValueError):
    """Bytes that are no result of a cycle."""


@dataclass(frozen=True)
class Course:
    """How the cycle went on the node. Times in ns; offsets are the coordinator's clock minus the node's."""

    ended: str
    """"complete", or why the node stopped before the end of the cycle."""
    clock_offset_ns: int = 0
    clock_error_ns: int = 0
    """Half of the shortest round trip: the start was wrong by no more than this and the drift."""
    clock_drift_ns: int = 0
    """Offset after the cycle minus offset before it."""
    armed_before_ns: int = 0
    """How long before the start all clients were armed."""
    start_late_ns: int | None = None
    """First start of a transaction after the agreed start, by the node's clock; ``None`` in the open loop, whose
    first transaction is due later."""


@dataclass(frozen=True)
class NodeResult:
    """One node's part of a cycle."""

    node: str
    result: CycleResult
    course: Course = field(default_factory=lambda: Course("complete"))
    samples: Sequence[Mapping[str, Any]] = ()
    """Of the node's monitors: columns of the table ``monitors`` without its key."""


@dataclass(frozen=True)
class Part:
    """What became of one node's part of a cycle."""

    node: str
    why: str
    """Empty when it is whole; else why it is not counted."""
    found: NodeResult | None
    """What it did, also when it is not counted; ``None`` when nobody knows."""
    loaded: bool
    """Whether it may have committed anything."""

    @property
    def state(self) -> str:
        """complete; partial: known but not counted; lost: nobody knows what it did; absent: it took no part."""
        if not self.why:
            return "complete"
        if self.found is not None:
            return "partial"
        return "lost" if self.loaded else "absent"


def encode(result: CycleResult, course: Course, samples: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of one node's part of a cycle. A trace stays where it is."""
    head = {
        "course": asdict(course),
        "shape": result.counters.shape,
        "histograms": [(*key, len(rows)) for *key, rows in result.histograms],
        "seconds": len(result.seconds),
        "errors": result.errors,
        "sums": dict(result.sums),
        "failure": _failure(result.failure),
        "cpu_ns": result.cpu_ns,
        "samples": [list(sample.values()) for sample in samples],
        "columns": list(samples[0]) if samples else [],
    }
    arrays = [result.counters, result.groups, *(rows for *_, rows in result.histograms), result.seconds]
    text = json.dumps(head).encode()
    body = b"".join(np.ascontiguousarray(array, dtype="<u8").tobytes() for array in arrays)
    return _MAGIC + zlib.compress(struct.pack("<I", len(text)) + text + body, 1)


def decode(data: bytes, node: str) -> NodeResult:
    """What ``encode`` made into bytes, as the part of ``node``. Raises ``DamagedError``."""
    try:
        return _decode(data, node)
    except (ValueError, KeyError, TypeError, IndexError, struct.error, zlib.error) as error:
        raise DamagedError(f"{len(data)} bytes of {node} are no result of a cycle: {error}") from None


def _decode(data: bytes, node: str) -> NodeResult:
    if not data.startswith(_MAGIC):
        raise DamagedError("they begin otherwise")
    plain = zlib.decompress(data[len(_MAGIC) :])
    (length,) = struct.unpack_from("<I", plain)
    head = json.loads(plain[4 : 4 + length])
    words = np.frombuffer(plain, dtype="<u8", offset=4 + length)
    threads, kinds, width = head["shape"]
    if width != len(COUNTERS):
        raise DamagedError(f"{width} counters instead of {len(COUNTERS)}")
    wanted: list[tuple[int, ...]] = [(threads, kinds, width), (threads,)]
    wanted += [(rows, BUCKET_WORDS) for *_, rows in head["histograms"]]
    wanted += [(head["seconds"], SECOND_WORDS)]
    counters, groups, *histograms, seconds = _arrays(words, wanted)
    result = CycleResult(
        counters=counters,
        groups=groups,
        histograms=tuple(
            (group, kind, measure, rows)
            for (group, kind, measure, _), rows in zip(head["histograms"], histograms, strict=True)
        ),
        seconds=seconds,
        errors=tuple(_error(*row) for row in head["errors"]),
        sums=head["sums"],
        failure=CoreError(*head["failure"]) if head["failure"] else None,
        cpu_ns=tuple(head["cpu_ns"]),
    )
    samples = [dict(zip(head["columns"], sample, strict=True)) for sample in head["samples"]]
    return NodeResult(node, result, Course(**head["course"]), samples)


_Failure = tuple[int, int, str, str, int, str]


def _error(group: int, kind: int, error: str, code: str, count: int, example: str) -> _Failure:
    return group, kind, error, code, count, example


def _arrays(words: UInts, shapes: Sequence[tuple[int, ...]]) -> list[UInts]:
    sizes = [math.prod(shape) for shape in shapes]
    if min(sizes) < 0 or sum(sizes) != words.size:
        raise DamagedError(f"{words.size} numbers instead of {sum(sizes)}")
    ends = np.cumsum(sizes)
    return [words[end - size : end].reshape(shape) for end, size, shape in zip(ends, sizes, shapes, strict=True)]


def _failure(error: CoreError | None) -> tuple[str, str, str] | None:
    return (error.kind, error.code, str(error)) if error is not None else None
