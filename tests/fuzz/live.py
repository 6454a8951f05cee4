"""Files by which runs of the browser say how they go on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from random import Random

from dsbench.measure.moments import Moment, format_time
from dsbench.web.state import WebState

from .mutate import changed, mutated, strange

_SAMPLE = WebState(
    "key", 1, 5.0, "mock:", "tpcb", "x", study="s", trial=1, trials=2, status="running", began=1e9, archive="a",
    moment=Moment(1, 1, 2, "cycle", 1, 3, 10, 20, 1, 1.5, "load", 4, [1.0, 2.0], [(0.1, 0.2)], (0.5, 1.5)), left_s=60.0, log=["a", "b"],
)  # fmt: skip


def make(random: Random) -> bytes:
    """A file."""
    values = changed(random, asdict(_SAMPLE)) if random.random() < 0.9 else {name: strange(random) for name in asdict(_SAMPLE)}
    if isinstance(values, dict) and random.random() < 0.8:
        values["key"] = "key"
    said = json.dumps(values).encode()
    return mutated(random, said) if random.random() < 0.2 else said


def run(data: bytes, folder: Path) -> None:
    """What the pages make of it, without a browser."""
    from dsbench.web.pages import live
    from dsbench.web.pages.live import Course
    from dsbench.web.parts import number
    from dsbench.web.state import Runs

    from .sandbox import Refused

    runs = Runs(folder)
    (folder / ".live" / "key.json").write_bytes(data)
    runs.going()
    if (state := runs.state("key")) is None:
        raise Refused("left out")
    for text in (live._name(state), live._when(state), live._status(state), number(state.moment.rate_tps), format_time(state.left_s)):
        text.encode("utf-8", "surrogatepass")
    course = Course()
    course.look(Path(state.archive), whole=True)
    for drawn in (course.rates(state.moment.seconds), course.times(state.moment.times, len(state.moment.seconds))):
        drawn.encode("utf-8", "surrogatepass")
