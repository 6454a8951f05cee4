"""What a node leaves of one cycle, and its form on the wire: bytes that hold numbers and text, never code.

A node may send anything. What it sends is of the right types, sizes and numbers, or it is not counted: none of it
can end the run, or be written where the archive has no place for it.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from dsbench.analysis.machine import Used
from dsbench.cluster.errors import plain
from dsbench.columns import COUNTERS
from dsbench.generator import BUCKET_WORDS, SECOND_WORDS, CoreError, CycleResult, UInts

_MAGIC: Final = b"dsbench cycle 4\n"
MISSED: Final = "it was not armed in time for the common start"
"""Why a node that is well takes no part in a cycle."""

_LARGEST: Final = 512 * 1024 * 1024
"""Bytes of a result unpacked: a small one can be made to unpack to thousands of times its size …"""
_SMALL: Final = 64 * 1024 * 1024
_RATIO: Final = 50
"""… and beyond the small ones it may have so many times its size."""
_NUMBER: Final = 2**53
"""Above any number that is counted here: in ns a hundred days."""
_SECONDS: Final = 10**6
_LONGEST_NAME: Final = 40
_LONGEST_PLACEMENT: Final = 80
_PROGRAMS: Final = 40
"""More than a node tells of."""
_MOST_SAMPLES: Final = 1_000_000
_SAMPLES_PER_S: Final = 300
"""More than a node's monitors count in a second."""
_HEAD_BYTES: Final = 4 * 1024 * 1024
_HEAD_BYTES_PER_S: Final = 100 * _SAMPLES_PER_S
_UNKNOWN_S: Final = 3600.0
"""Of a cycle that no time ends: for this long samples have room."""
_SAMPLED: Final = ["at_ns", "monitor", "metric", "unit", "value"]


class DamagedError(ValueError):
    """Bytes that are no result of a cycle."""


_Difference = Annotated[int, Field(gt=-(2**62), lt=2**62)]
"""Of two clocks, which count from any time."""


@dataclass(frozen=True)
class Course:
    """How the cycle went on the node. Times in ns; offsets are the coordinator's clock minus the node's."""

    ended: Annotated[str, Field(max_length=100_000)]
    """"complete", or why the node stopped before the end of the cycle."""
    clock_offset_ns: _Difference = 0
    clock_error_ns: Annotated[int, Field(ge=0, lt=_NUMBER)] = 0
    """Half of the shortest round trip: the start was wrong by no more than this and the drift."""
    clock_drift_ns: _Difference = 0
    """Offset after the cycle minus offset before it."""
    armed_before_ns: _Difference = 0
    """How long before the start all clients were armed."""
    start_late_ns: Annotated[int, Field(ge=0, lt=_NUMBER)] | None = None
    """First start of a transaction after the agreed start, by the node's clock; ``None`` in the open loop, whose
    first transaction is due later."""
    still_ns: Annotated[int, Field(ge=0, lt=_NUMBER)] = 0
    """How long within the cycle the node's process stood still."""


@dataclass(frozen=True)
class NodeResult:
    """One node's part of a cycle."""

    node: str
    result: CycleResult
    course: Course = field(default_factory=lambda: Course("complete"))
    samples: Sequence[Mapping[str, Any]] = ()
    """Of the node's monitors: columns of the table ``monitors`` without its key."""
    machine: Used | None = None
    """What the node's machine did meanwhile; ``None`` where it cannot be known, or is not the node's to tell."""


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


def missed(parts: Sequence[Part]) -> bool:
    """Whether a cycle has come to nothing because its nodes were not ready for the start: it can be tried again."""
    return all(part.why and _idle(part) for part in parts) and any(part.why == MISSED for part in parts)


def _idle(part: Part) -> bool:
    if part.found is None:
        return not part.loaded
    return not any(part.found.result.committed_in_database()) and not part.found.result.total("unknown")


def encode(
    result: CycleResult, course: Course, samples: Sequence[Mapping[str, Any]], machine: Used | None = None
) -> bytes:
    """The bytes of one node's part of a cycle. A trace stays where it is."""
    head = {
        "course": asdict(course),
        "shape": result.counters.shape,
        "histograms": [(*key, len(rows)) for *key, rows in result.histograms],
        "seconds": len(result.seconds),
        "statements": [(*key, len(rows)) for *key, rows in result.statements],
        "errors": result.errors,
        "sums": dict(result.sums),
        "placements": result.placements,
        "failure": _failure(result.failure),
        "cpu_ns": result.cpu_ns,
        "samples": [list(sample.values()) for sample in samples],
        "columns": list(samples[0]) if samples else [],
        "machine": asdict(machine) if machine is not None else None,
    }
    arrays = [result.counters, result.groups, *(rows for *_, rows in result.histograms), result.seconds]
    arrays += [rows for *_, rows in result.statements]
    text = json.dumps(head).encode()
    body = b"".join(np.ascontiguousarray(array, dtype="<u8").tobytes() for array in arrays)
    return _MAGIC + zlib.compress(struct.pack("<I", len(text)) + text + body, 1)


_Count = Annotated[int, Field(ge=0)]
_Word = Annotated[int, Field(ge=0, lt=2**64)]
_Signed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Text = Annotated[str, Field(max_length=100_000)]
_Counted = Annotated[int, Field(ge=0, lt=_NUMBER)]
_At = Annotated[int, Field(gt=-_NUMBER, lt=_NUMBER)]
_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Value = Annotated[float, Field(allow_inf_nan=False)]


@checked(config=ConfigDict(strict=True, extra="forbid"))
class _Head:
    """What stands in front of the numbers."""

    course: Course
    shape: tuple[_Count, _Count, _Count]
    histograms: list[tuple[_Word, _Word, Literal["residence", "response"], _Count]]
    seconds: _Count
    statements: list[tuple[_Word, _Word, _Word, _Word, _Word, _Word, _Word, _Count]]
    errors: list[tuple[_Word, _Word, _Text, _Text, _Word, _Text]]
    sums: dict[_Text, _Signed]
    placements: list[tuple[_Word, _Text, _Word]]
    failure: tuple[_Text, _Text, _Text] | None
    cpu_ns: tuple[_Counted, _Counted]
    samples: Annotated[list[tuple[_At, _Name, _Name, _Name, _Value]], Field(max_length=_MOST_SAMPLES)]
    columns: list[str]
    machine: Used | None


_HEAD: Final = TypeAdapter(_Head)


@dataclass(frozen=True)
class Fit:
    """What a node can have done in a cycle: at most so many threads, and exactly so many kinds and groups."""

    threads: int
    kinds: int
    groups: int
    statements: int = 0
    """That are timed; 0 where none are."""
    seconds: float = _UNKNOWN_S
    """Of the cycle, with its ramp-up."""

    @property
    def samples(self) -> int:
        """Samples of monitors that there may be: a minute before and after the cycle has some as well."""
        return round(_SAMPLES_PER_S * (self.seconds + 120))

    @property
    def head_bytes(self) -> int:
        """Bytes of what stands in front of the numbers: as values of Python it takes many times as much room."""
        return min(_SMALL, round(_HEAD_BYTES + _HEAD_BYTES_PER_S * (self.seconds + 120)))

    def check(self, result: CycleResult) -> None:
        """``DamagedError`` for a result with numbers that the cycle does not have."""
        threads, kinds, _ = result.counters.shape
        right = [
            threads <= self.threads,
            kinds == self.kinds,
            _below(result.groups, self.groups),
            _below(result.seconds, _NUMBER) and _below(result.counters, _NUMBER),
            _below(result.seconds[:, 0], self.groups) and _below(result.seconds[:, 2], self.kinds),
            _below(result.seconds[:, 1], _SECONDS),
            all(group < self.groups and kind < self.kinds for group, kind, *_ in result.histograms),
            all(group < self.groups and kind < self.kinds for group, kind, *_ in result.errors),
            all(_below(rows, _NUMBER) and (rows[:, 0] <= rows[:, 1]).all() for *_, rows in result.histograms),
            all(error[4] < _NUMBER for error in result.errors),
            all(one[0] < self.groups and one[1] < self.statements for one in result.statements),
            all(number < _NUMBER for one in result.statements for number in one[2:7]),
            all(_below(one[7], _NUMBER) and (one[7][:, 0] <= one[7][:, 1]).all() for one in result.statements),
            all(group < self.groups and clients <= self.threads for group, _, clients in result.placements),
            all(abs(amount) < _NUMBER for amount in result.sums.values()),
        ]
        if not all(right):
            raise DamagedError("numbers that this cycle does not have")


def _below(numbers: UInts, most: int) -> bool:
    return bool((numbers < most).all())


def decode(data: bytes, node: str, fit: Fit | None = None) -> NodeResult:
    """What ``encode`` made into bytes, as the part of ``node`` in a cycle of ``fit``. Raises ``DamagedError``."""
    try:
        found = _decode(data, node, fit.head_bytes if fit is not None else _SMALL)
        if fit is not None:
            fit.check(found.result)
            if len(found.samples) > fit.samples:
                raise DamagedError(f"{len(found.samples)} samples, more than the cycle has time for")
    except ValidationError as error:
        raise DamagedError(f"{len(data)} bytes of {node} are no result of a cycle: {_first(error)}") from None
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, struct.error, zlib.error) as error:
        raise DamagedError(f"{len(data)} bytes of {node} are no result of a cycle: {error}") from None
    return found


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, in a few words."""
    found = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(str(part) for part in found['loc'][:2])}: {found['msg']}"


def _unpacked(data: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(data, min(_LARGEST, max(_SMALL, _RATIO * len(data))))
    if not unpacking.eof or unpacking.unused_data:
        raise DamagedError("they are too long, or not whole")
    return text


def _decode(data: bytes, node: str, head_bytes: int) -> NodeResult:
    if not data.startswith(_MAGIC):
        raise DamagedError("they begin otherwise")
    body = _unpacked(data[len(_MAGIC) :])
    (length,) = struct.unpack_from("<I", body)
    if length > head_bytes:
        raise DamagedError(f"a head of {length} bytes, more than {head_bytes}")
    said = _HEAD.validate_json(body[4 : 4 + length])
    words = np.frombuffer(body, dtype="<u8", offset=4 + length)
    threads, kinds, width = said.shape
    if width != len(COUNTERS):
        raise DamagedError(f"{width} counters instead of {len(COUNTERS)}")
    wanted: list[tuple[int, ...]] = [(threads, kinds, width), (threads,)]
    wanted += [(rows, BUCKET_WORDS) for *_, rows in said.histograms]
    wanted += [(said.seconds, SECOND_WORDS)]
    wanted += [(rows, BUCKET_WORDS) for *_, rows in said.statements]
    counters, groups, *rest = _arrays(words, wanted)
    at = len(said.histograms)
    histograms, seconds, timed = rest[:at], rest[at], rest[at + 1 :]
    result = CycleResult(
        counters=counters,
        groups=groups,
        histograms=tuple(
            (group, kind, measure, rows)
            for (group, kind, measure, _), rows in zip(said.histograms, histograms, strict=True)
        ),
        seconds=seconds,
        statements=tuple((*one[:7], rows) for one, rows in zip(said.statements, timed, strict=True)),
        errors=tuple(said.errors),
        sums=said.sums,
        placements=tuple((group, plain(words, _LONGEST_PLACEMENT), n) for group, words, n in said.placements),
        failure=CoreError(*said.failure) if said.failure else None,
        cpu_ns=said.cpu_ns,
    )
    if said.samples and said.columns != _SAMPLED:
        raise DamagedError("samples with other columns")
    samples = [dict(zip(_SAMPLED, sample, strict=True)) for sample in said.samples]
    return NodeResult(node, result, said.course, samples, _used(said.machine))


def _used(said: Used | None) -> Used | None:
    """What a node says of its machine, with numbers and names that the archive has a place for."""
    if said is None:
        return None
    counts = [value for value in asdict(said.use).values() if isinstance(value, int)]
    counts += [value for one in said.programs for value in (one.cpu_ns, one.io_bytes or 0)]
    numbers = [said.use.cpus, *(one.pid for one in said.programs)]
    if not all(0 <= count < _NUMBER for count in counts) or not all(0 <= number < 2**32 for number in numbers):
        raise DamagedError("a machine with numbers that there are not")
    named = (replace(one, program=plain(one.program, _LONGEST_NAME)) for one in said.programs[:_PROGRAMS])
    return Used(replace(said.use, device=plain(said.use.device, _LONGEST_NAME)), tuple(named))


def _arrays(words: UInts, shapes: Sequence[tuple[int, ...]]) -> list[UInts]:
    sizes = [math.prod(shape) for shape in shapes]
    if min(sizes) < 0 or sum(sizes) != words.size:
        raise DamagedError(f"{words.size} numbers instead of {sum(sizes)}")
    ends = np.cumsum(sizes)
    return [words[end - size : end].reshape(shape) for end, size, shape in zip(ends, sizes, shapes, strict=True)]


def _failure(error: CoreError | None) -> tuple[str, str, str] | None:
    return (error.kind, error.code, str(error)) if error is not None else None
