"""What a study will take, before it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from dsbench.measure.ahead import Ahead
from dsbench.study.plan import Combination, asked, combination
from dsbench.study.record import FAILED, Study

_AROUND_S: Final = 5.0
"""Of a run: its server, its description of the machine, its diagrams."""
_ARCHIVE_BYTES: Final = 3_000_000


@dataclass(frozen=True)
class Estimate:
    """Of the trials that are left."""

    trials: int
    runs: int
    """With those that age a database."""
    time_s: tuple[float, float]
    """On a fast machine and on a slow one."""
    size_bytes: int | None
    """Of the largest database, most; ``None`` where it is not known. There is one database at a time."""
    free_bytes: int | None
    """Where it will be; ``None`` where only its server knows."""
    archives_bytes: int

    @property
    def too_large(self) -> bool:
        """Whether the database may be larger than what is free."""
        return self.size_bytes is not None and self.free_bytes is not None and self.size_bytes > self.free_bytes

    def described(self) -> dict[str, Any]:
        return asdict(self)


def estimate(study: Study, ahead: Mapping[Combination, Ahead], *, again: bool = False) -> Estimate:
    """Of what is planned, and ``again`` of what failed; ``ahead`` tells what is ahead of each combination."""
    least, most, runs = 0.0, 0.0, 0
    left = study.counted("planned", *(FAILED if again else ()))
    for trial in left:
        at = combination(study.factors, trial)
        found, times = ahead[at], asked(study.spec, study.factors, at, trial.block).before + 1
        runs += times
        least += times * (found.time_s[0] + _AROUND_S)
        most += times * (found.time_s[1] + _AROUND_S)
    sizes = [found.size_bytes[1] for found in ahead.values() if found.size_bytes]
    free = [found.free_bytes for found in ahead.values() if found.free_bytes is not None]
    return Estimate(
        len(left), runs, (least, most), max(sizes, default=None), min(free, default=None), runs * _ARCHIVE_BYTES
    )
