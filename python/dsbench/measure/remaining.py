"""How long a run still takes."""

from __future__ import annotations

import time

from dsbench.measure.events import Moment
from dsbench.spec import RunSpec


class TimeLeft:
    """Estimates the time a run still takes, from its demanded durations and what phases took so far."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._scale_began: dict[int, float] = {}
        self._build_s_per_scale_unit = 0.0
        self._building = 0

    def seconds(self, moment: Moment) -> float:
        """Seconds left; 0 while it cannot be told."""
        now = time.monotonic()
        began = self._scale_began.setdefault(moment.scale, now)
        if moment.cycle == 0 and moment.phase != "check" and moment.phase != "drop":
            self._building = moment.scale
        elif self._building == moment.scale:
            # The build has just ended: it takes time in proportion to the scale.
            self._build_s_per_scale_unit = (now - began) / moment.scale
            self._building = 0
        spec = self._spec
        per_cycle = spec.ramp_up + spec.duration + 0.3
        cycles = spec.largest * len(spec.thread_numbers)
        later = [x for x in spec.scales if x > moment.scale and moment.scale in spec.scales]
        left = sum(cycles * per_cycle + self._build_s_per_scale_unit * x for x in later)
        finished = max(moment.cycle - 1, 0) if moment.phase not in ("check", "drop") else cycles
        return left + max((cycles - finished) * per_cycle - moment.elapsed_s, 0.0)
