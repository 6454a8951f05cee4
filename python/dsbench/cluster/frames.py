"""What may be said between a node and its coordinator, and its form: msgpack of plain values, nothing else.

A frame is two lengths, a message and data. Data are bytes that nothing here looks into, and come only where a
message has announced them. A message of a node names an operation of ``OPERATIONS`` with exactly its fields, each of
its type and size; everything else is a ``ProtocolError``, and the end of that connection. Nothing on this wire can
name a class, a function or a file.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgpack

import dsbench
from dsbench.cluster.errors import LONGEST_WHY, plain

HEAD: Final = struct.Struct(">II")
"""Bytes of the message, bytes of the data behind it."""
LONGEST: Final = 8 * 1024
"""Of a node's message: the longest that is meant has a few hundred bytes."""
LONGEST_ANSWER: Final = 1024 * 1024
"""Of the coordinator's: an order holds a whole specification."""
LONGEST_DATA: Final = 64 * 1024 * 1024
"""Of a result, which is compressed: about a hundred times that of a hundred threads in an hour."""

_WORD: Final = 2**63 - 1
_LARGEST_ERROR_NS: Final = 10**12
_LONGEST_S: Final = 10**6

Check = Callable[[Any], bool]


class ProtocolError(Exception):
    """The other end does not keep to the protocol."""


def _text(longest: int) -> Check:
    return lambda value: type(value) is str and len(value) <= longest


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _totals(value: Any) -> bool:
    return type(value) is list and len(value) == 3 and all(map(_whole(0, _WORD), value))


def _versions(value: Any) -> bool:
    each = _text(100)
    return type(value) is dict and len(value) <= 8 and all(each(part) for pair in value.items() for part in pair)


_FACTS: Final[Mapping[str, Check]] = {
    "versions": _versions, "host": _text(300), "system": _text(300), "pid": _whole(0, _WORD), "cpus": _whole(1, 2**20),
}  # fmt: skip


def _facts(value: Any) -> bool:
    return type(value) is dict and value.keys() == _FACTS.keys() and all(_FACTS[key](value[key]) for key in value)


_TOKEN: Final = _text(64)
_KEY: Final = _text(200)

FIRST: Final[Mapping[str, Mapping[str, Check]]] = {
    "enrol": {"token": _TOKEN, "name": _text(1000), "facts": _facts},
    "carry": {"token": _TOKEN, "key": _KEY, "size": _whole(0, LONGEST_DATA)},
}
"""What a connection may begin with: a node's own, or one that brings the result of a turn and ends."""
OPERATIONS: Final[Mapping[str, Mapping[str, Check]]] = {
    "clock": {},
    "beat": {"key": _KEY, "totals": _totals},
    "order": {"key": _KEY},
    "ready": {"key": _KEY, "offset_ns": _whole(-_WORD, _WORD), "error_ns": _whole(0, _LARGEST_ERROR_NS)},
    "armed": {"key": _KEY, "left_ns": _whole(-_WORD, _WORD)},
    "failed": {"key": _KEY, "why": _text(LONGEST_WHY)},
    "done": {"key": _KEY},
}
"""What an enrolled node may ask and tell."""


def pack(message: Mapping[str, Any]) -> bytes:
    """The bytes of a message. ``TypeError`` for what is no plain value."""
    packed: bytes = msgpack.packb(message, use_bin_type=True, strict_types=True)
    return packed


def unpack(data: bytes) -> dict[str, Any]:
    """The message that ``pack`` made into bytes: a map of plain values. Raises ``ProtocolError``."""
    try:
        # No extension has room, so that neither a type of somebody's own nor a time comes out of it.
        found = msgpack.unpackb(data, raw=False, strict_map_key=True, max_ext_len=0, max_bin_len=0)
    except (ValueError, msgpack.UnpackException, RecursionError, TypeError, OverflowError) as error:
        raise ProtocolError(f"it sent no message: {type(error).__name__}") from None
    if type(found) is not dict:
        raise ProtocolError("it sent no message: a map is wanted")
    return found


def asked(message: dict[str, Any], allowed: Mapping[str, Mapping[str, Check]]) -> tuple[int, str, dict[str, Any]]:
    """(number, operation, fields) of a node's message, which is one of ``allowed``. Raises ``ProtocolError``."""
    number, operation = message.pop("id", None), message.pop("op", None)
    if type(number) is not int or not 0 <= number <= _WORD:
        raise ProtocolError("it sent a message without a number")
    if type(operation) is not str or operation not in allowed:
        raise ProtocolError(f"it asked for {plain(str(operation), 60)!r}, which is not for nodes")
    fields = allowed[operation]
    if message.keys() != fields.keys():
        raise ProtocolError(f"it asked for {operation!r} with other fields than {', '.join(fields) or 'none'}")
    wrong = [name for name, check in fields.items() if not check(message[name])]
    if wrong:
        raise ProtocolError(f"it asked for {operation!r} with a wrong {wrong[0]}")
    return number, operation, message


def fields(message: Any, **kinds: type) -> dict[str, Any]:
    """``message`` of a coordinator, which has these fields of these types; its texts as they may be shown.

    A number with a fraction is finite and positive. Raises ``ProtocolError``.
    """
    if type(message) is not dict or not kinds.keys() <= message.keys():
        raise ProtocolError(f"it sent a message without {', '.join(kinds)}")
    for name, kind in kinds.items():
        value: Any = message[name]
        if not isinstance(value, kind) or (kind is float and isinstance(value, float) and not 0 < value < _LONGEST_S):
            raise ProtocolError(f"it sent a message with a wrong {name}")
    # A key is said again as it came.
    return {name: plain(value) if type(value) is str and name != "key" else value for name, value in message.items()}


def versions() -> dict[str, str]:
    """What has to be the same on all machines."""
    return {"dsbench": dsbench.__version__}
