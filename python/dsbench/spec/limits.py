"""What ``--limit`` says: how much of the machine the processes of a private server may use together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.spec.words import Unfit

_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
"""Powers of 2."""
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(?:iB)?)?", re.IGNORECASE)
_MOST_BYTES: Final = 1 << 50
_LEAST_MEMORY: Final = 4 << 20
"""No server that dsbench knows starts with less."""
_LEAST_CPUS: Final = 0.01
"""Linux takes quotas from a millisecond on, of periods of 100 ms."""
_MOST_CPUS: Final = 100_000.0


@dataclass(frozen=True)
class Limits:
    """``None`` where there is no limit."""

    memory: int | None = None
    """Bytes of RAM, page cache included."""
    read: int | None = None
    """Bytes that are read from the disk per second."""
    write: int | None = None
    """Bytes that are written to the disk per second."""
    cpus: float | None = None
    """Processors' worth of time."""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Limits:
        """The limits that ``values`` say, such as ``{"memory": "1GiB", "cpus": "0.5"}``; ``ValueError`` for others."""
        found: dict[str, int | float] = {}
        for name, text in values.items():
            if name not in cls.__dataclass_fields__:
                raise Unfit(f"{name[:60]!r} cannot be limited", "use some of memory, read, write, cpus")
            found[name] = _cpus(text) if name == "cpus" else _bytes(name, text)
        return cls(**found)  # type: ignore[arg-type]  # of each name what its field holds

    def described(self) -> dict[str, str]:
        """The same by name, as ``--limit`` takes it: one text for each value."""
        rates = {name: _size(value) + "/s" for name in ("read", "write") if (value := getattr(self, name)) is not None}
        memory = {} if self.memory is None else {"memory": _size(self.memory)}
        return memory | rates | ({} if self.cpus is None else {"cpus": repr(self.cpus).removesuffix(".0")})


def _bytes(name: str, text: str) -> int:
    unit = "" if name == "memory" else "/s"
    found = _SIZE.fullmatch(text.strip().removesuffix(unit) if unit else text.strip())
    count = int(float(found[1]) * 2 ** _UNITS[(found[2] or "").upper()]) if found and len(found[1]) < 20 else 0
    if not 1 <= count <= _MOST_BYTES:
        # MB is a million bytes to some and 2^20 to others.
        units = "units are KiB, MiB and GiB, or none for bytes"
        raise Unfit(f"{name} is {text[:60]!r}", f"write, for example, {name}=256MiB{unit}; {units}")
    if name == "memory" and count < _LEAST_MEMORY:
        raise Unfit(f"memory is {text[:60]!r}, too little for a server", "write, for example, memory=256MiB")
    return count


def _cpus(text: str) -> float:
    count = float(text) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text.strip()) else 0.0
    if not _LEAST_CPUS <= count <= _MOST_CPUS:
        raise Unfit(f"cpus is {text[:60]!r}", f"write, for example, cpus=1.5, {_LEAST_CPUS:g} or more")
    return count


def _size(count: int) -> str:
    """The largest unit that says it whole."""
    unit, power = max((one for one in _UNITS.items() if count % 2 ** one[1] == 0), key=lambda one: one[1])
    return f"{count >> power}{unit and unit + 'iB'}"
