"""What a node leaves of one cycle, and its form on the way: an archive of arrays (npz) that holds numbers and text.

Whatever a node sends is of the right types, sizes and numbers, or it is not counted: one bad part ends no run, and is
not written where the archive has no place for it. Numbers that are each possible may together be a lie.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from dsbench.archive.columns import COUNTERS, KEPT_PAUSES
from dsbench.dataclass import dataclass
from dsbench.measure.loaders import BUCKET_WORDS, OPEN, PAUSE_WORDS, SECOND_WORDS, CoreError, CycleResult, UInts
from dsbench.measure.loaders.results import NodeCourse, NodeResult
from dsbench.measure.nodes import plain
from dsbench.stats.machine import Used

LONGEST_RESULT: Final = 64 * 1024 * 1024  # Bytes on the way: about a hundred times that of a hundred clients in an hour
_LARGEST: Final = 512 * 1024 * 1024  # Bytes of a result unpacked …
_SMALL: Final = 64 * 1024 * 1024
_RATIO: Final = 50  # … and beyond the small ones it may have so many times its size
_SAMPLES_PER_S: Final = 400  # Rows of all monitors of a node: ten times as many as there usually are
_SAMPLE_BYTES: Final = 100
_NUMBER: Final = 2**53  # Above any number that is counted here: in ns a hundred days
_SECONDS: Final = 10**6
_LONGEST_NAME: Final = 40
_LONGEST_PLACEMENT: Final = 80
_LONGEST_SERVER: Final = 300
_PROGRAMS: Final = 40  # More than a node tells of
_ROUGH: Final = 1.01  # The end of a group that follows another is known a transaction late
_SAMPLED: Final = ("at_ns", "monitor", "metric", "unit", "value")
_Numbers = NDArray[np.float64]


class DamagedError(ValueError):
    """Bytes that are not a result of a cycle."""


@dataclass(frozen=True)
class NodeLimits:
    """What a node can have done in a cycle: at most so many clients, and exactly so many kinds and groups."""

    clients: int
    kinds: int
    groups: int
    statements: int = 0  # That are timed; 0 where none are
    seconds: float = 3600.0  # The cycle and what is around it

    @property
    def samples(self) -> int:
        """Rows of its monitors, at most."""
        return round(_SAMPLES_PER_S * (self.seconds + 60))


def encode(
    result: CycleResult, course: NodeCourse, samples: Sequence[Mapping[str, Any]], machine: Used | None = None
) -> bytes:
    """The bytes of one node's part of a cycle. A trace stays where it is."""
    failure = result.failure
    head = {
        "ended": course.ended, "start_late_ns": course.start_late_ns, "paused_ns": course.paused_ns,
        "histograms": [key for *key, _rows in result.histograms],
        "statements": [key for *key, _rows in result.statements],
        "errors": result.errors, "found": result.found,
        "sums": dict(result.sums), "placements": result.placements, "served": result.served, "cpu_ns": result.cpu_ns,
        "failure": failure and (failure.kind, failure.code, str(failure), failure.remedy, failure.by_user),
        "samples": [[sample[name] for name in _SAMPLED] for sample in samples],
        "machine": asdict(machine) if machine is not None else None,
    }  # fmt: skip
    arrays = {
        "counters": result.counters, "groups": result.groups, "seconds": result.seconds, "pauses": result.pauses,
    }  # fmt: skip
    arrays |= {f"h{at}": rows for at, (*_key, rows) in enumerate(result.histograms)}
    arrays |= {f"s{at}": rows for at, (*_key, rows) in enumerate(result.statements)}
    packed = {name: np.ascontiguousarray(array, dtype="<u8") for name, array in arrays.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, head=np.frombuffer(json.dumps(head).encode(), "u1"), **packed)  # type: ignore[arg-type]
    return buffer.getvalue()


_Word = Annotated[int, Field(ge=0, lt=2**64)]
_Counted = Annotated[int, Field(ge=0, lt=_NUMBER)]
_Signed = Annotated[int, Field(gt=-_NUMBER, lt=_NUMBER)]
_Text = Annotated[str, Field(max_length=100_000)]
_Short = Annotated[str, Field(max_length=100)]


class _Head(BaseModel, strict=True, extra="forbid"):
    """What stands beside the arrays."""

    ended: _Text
    start_late_ns: _Counted | None
    paused_ns: _Counted
    histograms: list[tuple[_Word, _Word, Literal["residence", "response", "failed"]]]
    statements: list[tuple[_Word, _Word, _Counted, _Counted, _Counted, _Counted, _Counted]]
    errors: list[tuple[_Word, _Word, _Text, _Text, _Counted, _Text]]
    found: list[tuple[_Word, _Word, _Counted, _Counted, _Counted]]
    sums: dict[_Text, _Signed]
    placements: list[tuple[_Word, _Text, _Word]]
    served: list[tuple[_Word, _Text, _Counted]]
    cpu_ns: tuple[_Counted, _Counted]
    failure: tuple[_Text, _Text, _Text, _Text, bool] | None
    samples: list[tuple[_Signed, _Short, _Short, _Short, FiniteFloat]]
    machine: Used | None


def decode(data: bytes, node: str, fit: NodeLimits) -> NodeResult:
    """What ``encode`` made into bytes, as the part of ``node`` in a cycle of ``fit``. Raises ``DamagedError``."""
    try:
        found = _decode(data, node, fit)
        _check(found.result, fit)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        words = f"{'.'.join(str(part) for part in first['loc'][:2])}: {first['msg']}"
    except Exception as error:  # numpy and zipfile have many for bytes that are none of theirs
        words = plain(str(error) or type(error).__name__, 200)
    else:
        return found
    raise DamagedError(f"{len(data)} bytes of {node} are not a result of a cycle: {words}")


def _decode(data: bytes, node: str, fit: NodeLimits) -> NodeResult:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        most = min(_LARGEST, max(_SMALL, _RATIO * len(data)))
        if sum(one.file_size for one in packed.infolist()) > most:
            raise DamagedError("they are too long")
        if packed.getinfo("head.npy").file_size > 2**20 + _SAMPLE_BYTES * fit.samples:
            raise DamagedError("more text than a cycle produces")

        def words(name: str, *shape: int | None, of: str = "<u8") -> UInts:
            with packed.open(f"{name}.npy") as member:
                array: UInts = np.lib.format.read_array(member, allow_pickle=False)
            right = array.dtype == np.dtype(of) and array.ndim == len(shape)
            if not right or any(size not in (None, has) for size, has in zip(shape, array.shape, strict=True)):
                raise DamagedError(f"{name} with {array.dtype}{array.shape}")
            return array

        said = _Head.model_validate_json(words("head", None, of="u1").tobytes())
        if len(said.samples) > fit.samples:
            raise DamagedError(f"{len(said.samples)} samples in {fit.seconds:.0f} s")
        counters = words("counters", None, fit.kinds, len(COUNTERS))
        result = CycleResult(
            counters=counters,
            groups=words("groups", len(counters)),
            histograms=tuple((*key, words(f"h{at}", None, BUCKET_WORDS)) for at, key in enumerate(said.histograms)),
            seconds=words("seconds", None, SECOND_WORDS),
            pauses=words("pauses", None, PAUSE_WORDS),
            statements=tuple((*key, words(f"s{at}", None, BUCKET_WORDS)) for at, key in enumerate(said.statements)),
            errors=tuple(said.errors),
            found=tuple(said.found),
            sums=said.sums,
            placements=tuple((group, plain(text, _LONGEST_PLACEMENT), n) for group, text, n in said.placements),
            served=tuple((group, plain(server, _LONGEST_SERVER), n) for group, server, n in said.served),
            failure=CoreError(*said.failure) if said.failure else None,
            cpu_ns=said.cpu_ns,
        )
    samples = [dict(zip(_SAMPLED, sample, strict=True)) for sample in said.samples]
    course = NodeCourse(said.ended, start_late_ns=said.start_late_ns, paused_ns=said.paused_ns)
    return NodeResult(node, result, course, samples, _used(said.machine))


def _check(result: CycleResult, fit: NodeLimits) -> None:
    """``DamagedError`` for a result with numbers that the cycle does not have."""
    histograms = [rows for *_key, rows in result.histograms] + [rows for *_key, rows in result.statements]
    of_kinds = [one[:2] for one in result.histograms] + [one[:2] for one in result.errors]
    right = [
        len(result.counters) <= fit.clients and _below(result.counters, _NUMBER),
        _below(result.groups, fit.groups),
        _below(result.seconds, _NUMBER) and _below(result.seconds[:, 1], _SECONDS),
        _below(result.pauses[:, 0], len(result.counters)) and _below(result.pauses[:, 1], _NUMBER),
        ((result.pauses[:, 2:] < _NUMBER) | (result.pauses[:, 2:] == OPEN)).all(),
        (result.pauses[:, 1] <= result.pauses[:, 3]).all() and len(result.pauses) <= (KEPT_PAUSES + 1) * fit.clients,
        _below(result.seconds[:, 0], fit.groups) and _below(result.seconds[:, 2], fit.kinds),
        all(group < fit.groups and kind < fit.kinds for group, kind in of_kinds),
        all(one[0] < fit.groups and one[1] < fit.statements for one in result.statements),
        all(group < fit.groups and empty <= executions for group, _, executions, _, empty in result.found),
        all(_below(rows, _NUMBER) and (rows[:, 0] <= rows[:, 1]).all() for rows in histograms),
        all(group < fit.groups and count <= fit.clients for group, _, count in result.placements),
        all(group < fit.groups for group, _, _ in result.served),
    ]
    if not all(right):
        raise DamagedError("counters that this cycle does not have")


def _below(numbers: UInts, most: int) -> bool:
    return bool((numbers < most).all())


def _used(said: Used | None) -> Used | None:
    """What a node says of its machine, with numbers and names that the archive has a place for."""
    if said is None:
        return None
    counts = [value for value in asdict(said.use).values() if isinstance(value, int)]
    counts += [value for one in said.programs for value in (one.cpu_ns, one.io_bytes or 0)]
    numbers = [said.use.cpus, *(one.pid for one in said.programs)]
    if not all(0 <= count < _NUMBER for count in counts) or not all(0 <= number < 2**32 for number in numbers):
        raise DamagedError("a machine with impossible counters")
    named = (replace(one, program=plain(one.program, _LONGEST_NAME)) for one in said.programs[:_PROGRAMS])
    return Used(replace(said.use, device=plain(said.use.device, _LONGEST_NAME)), tuple(named))


def refuse_contradictions(result: CycleResult) -> None:
    """``DamagedError`` with the rule that ``result`` breaks; an entry of a commons is held to the same."""
    of = {name: result.counters[:, :, at].astype(np.float64) for at, name in enumerate(COUNTERS)}
    done, least, most = of["committed"] + of["rolled_back"], of["residence_min_ns"], of["residence_max_ns"]
    spent = of["ended_ns"] + of["in_flight_ns"] + of["connecting_ns"] + of["waiting_ns"]
    some = done > 0
    rules = {
        "the minimum time is above the maximum": (least > most) & some,
        "the sum of the times does not fit their number": (done * least > of["residence_ns"])
        | (of["residence_ns"] > done * most),
        "the last end is before the first start": (of["first_start_ns"] > of["last_end_ns"]) & some,
        "response times are below residence times": of["response_ns"] < of["residence_ns"],
        "more commits than transactions in flight": of["commits_after_window"] > of["in_flight"],
        "more client time than the cycle has": spent.sum(axis=1) > _ROUGH * of["client_ns"].sum(axis=1),
    }
    for words, broken in rules.items():
        if broken.any():
            raise DamagedError(words)
    _refuse_histograms(result, done, least, most)


def _refuse_histograms(result: CycleResult, done: _Numbers, least: _Numbers, most: _Numbers) -> None:
    """Each transaction that was counted is in a histogram of its group and kind once, between the extremes."""
    for group, kind, measure, rows in result.histograms:
        here = result.groups == group
        if measure == "failed":
            continue
        if int(rows[:, 2].sum()) != int(done[here, kind].sum()):
            raise DamagedError("histogram and counters have different numbers of transactions")
        some = here & (done[:, kind] > 0)
        if measure == "residence" and some.any():
            low, high = least[some, kind].min(), most[some, kind].max()
            if rows[:, 1].min() < low or rows[:, 0].max() > high:
                raise DamagedError("the histogram has times beyond the extremes of the counters")
