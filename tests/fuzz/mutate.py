"""Changes of what is valid: bytes, and values as JSON, TOML and msgpack have them."""

from __future__ import annotations

from random import Random
from typing import Any, Final

NUMBERS: Final = (
    0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**64), 10**30, 10**400,
    0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
TEXTS: Final = (
    "", " ", "\x00", "\ud800", "\udcff", "ä", "\u202e", "\u0301" * 50, "😀" * 20, "\x1b[2J\x07", "\r\n", "%s%n", "{0}{x}",
    "../../PWNED", "/PWNED", "..\\PWNED", "C:\\PWNED", "~", ".", "..", "/dev/zero", "/proc/self/mem", "a" * 300, "x" * 5000,
    "-1", "1e999", "nan", "inf", "true", "null", "0x10", "1_0", "١٢", "1,2,5", "[1]", "{}", "'\"", "<script>", "://", "@", ":",
    "private:", "private:sqlite@?a=b&a", "postgresql://u:p@[::1", "%ff%00", "2026-13-40T99:99:99Z", "local", "load",
)  # fmt: skip
BYTES: Final = (
    b"\x00", b"\xff", b"\xff\xfe", b"\xc0\xaf", b"\xed\xa0\x80", b"PAR1", b"PK\x03\x04", b"PK\x05\x06", b"\x7f\xff\xff\xff",
    b"\xff" * 8, b"\x80" * 4, b"[" * 1000, b'{"a":' * 500, b"../", b"\n", b'"', b"\\", b"9" * 5000, b"=", b"%", b"\x1b[2J",
)  # fmt: skip


def mutated(random: Random, data: bytes, other: bytes = b"") -> bytes:
    """``data`` with one to four changes; ``other`` is where splices come from."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = random.choice(_CHANGES)(random, data, other or data)
    return data


def _place(random: Random, data: bytes) -> tuple[int, int]:
    """Begin and end of a stretch, mostly a short one."""
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice((1, 1, 2, 4, 8, 64, 4096)))


def _flip(random: Random, data: bytes, _other: bytes) -> bytes:
    if not data:
        return b"\x00"
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]


def _noise(random: Random, data: bytes, _other: bytes) -> bytes:
    begin, end = _place(random, data)
    return data[:begin] + random.randbytes(end - begin) + data[end:]


def _cut(random: Random, data: bytes, _other: bytes) -> bytes:
    begin, end = _place(random, data)
    return data[:begin] if random.random() < 0.3 else data[:begin] + data[end:]


def _splice(random: Random, data: bytes, other: bytes) -> bytes:
    begin, end = _place(random, other)
    at = random.randrange(len(data) + 1)
    return data[:at] + other[begin:end] + data[at:]


def _token(random: Random, data: bytes, _other: bytes) -> bytes:
    begin, end = _place(random, data)
    return data[:begin] + random.choice(BYTES) + data[random.choice((begin, end)) :]


def _repeat(random: Random, data: bytes, _other: bytes) -> bytes:
    begin, end = _place(random, data)
    return data[:end] + data[begin:end] * random.choice((1, 2, 50)) + data[end:]


_CHANGES: Final = (_flip, _flip, _noise, _cut, _splice, _token, _repeat)


def strange(random: Random, depth: int = 0) -> Any:
    """A value of any type."""
    pick = random.random()
    if pick < 0.3:
        return random.choice(NUMBERS)
    if pick < 0.7:
        return random.choice(TEXTS)
    if pick < 0.8 or depth > 3:
        return random.choice((None, True, False, [], {}))
    if pick < 0.83:
        return nested(random.choice((5, 50, 150)))
    if pick < 0.9:
        return [strange(random, depth + 1) for _ in range(random.randrange(4))]
    return {str(strange(random, 4)): strange(random, depth + 1) for _ in range(random.randrange(4))}


def nested(levels: int) -> Any:
    """Lists within lists."""
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def changed(random: Random, value: Any) -> Any:
    """``value`` with one to three of its parts of another type or size, gone, or doubled."""
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _once(random, value)
    return value


def _once(random: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and random.random() < 0.95:
        return _in_table(random, value)
    if isinstance(value, list) and value and random.random() < 0.8:
        at = random.randrange(len(value))
        more = [value[at]] * random.choice((0, 1, 1, 1, 3))
        return [*value[:at], *(_once(random, part) if number == 0 else part for number, part in enumerate(more)), *value[at + 1 :]]
    if isinstance(value, bool | None) or random.random() < 0.5:
        return strange(random)
    if isinstance(value, int | float):
        return random.choice((-value, value + 1, value * 1000, str(value), *NUMBERS))
    if isinstance(value, str):
        return random.choice((value + random.choice(TEXTS), value * 2, value[1:], random.choice(TEXTS), [value]))
    return strange(random)


def _in_table(random: Random, table: dict[str, Any]) -> dict[str, Any]:
    name = random.choice(list(table))
    pick = random.random()
    if pick < 0.1:
        return {key: part for key, part in table.items() if key != name}
    if pick < 0.2:
        return {**table, str(strange(random, 4)): strange(random)}
    return {**table, name: _once(random, table[name])}
