"""A study before it is made: its trials, what they will take, and what was planned in addition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import Any, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.format import counted
from dsbench.measure.ahead import Ahead, look_ahead
from dsbench.measure.moments import format_time
from dsbench.several import noise
from dsbench.stats.effects import visible
from dsbench.study.plan import Combination, Trial, asked, combination
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
    visible: float | None = None
    """The ratio of two levels that the study finds, by the noise of this machine; ``None`` where that is not known, as
    with several stages."""

    @property
    def too_large(self) -> bool:
        """Whether the database may be larger than what is free."""
        return self.size_bytes is not None and self.free_bytes is not None and self.size_bytes > self.free_bytes

    def described(self) -> dict[str, Any]:
        return asdict(self)


def estimate(study: Study, ahead: Mapping[Combination, Ahead], *, again: bool = False) -> Estimate:
    """Of what is planned, and ``again`` of what failed; ``ahead`` tells what is ahead of each combination."""
    least, most, runs = 0.0, 0.0, 0
    others: dict[Combination, Ahead] = {}
    left = study.counted("planned", *(FAILED if again else ()))
    for trial in left:
        at = combination(study.factors, trial)
        wanted = asked(study.spec, study.factors, at, trial.block)
        if wanted.other and at not in others:
            others[at] = look_ahead(wanted.other)
        runs += wanted.before + 1
        for times, found in ((wanted.before, others.get(at, ahead[at])), (1, ahead[at])):
            least += times * (found.time_s[0] + _AROUND_S)
            most += times * (found.time_s[1] + _AROUND_S)
    sizes = [found.size_bytes[1] for found in (*ahead.values(), *others.values()) if found.size_bytes]
    free = [found.free_bytes for found in ahead.values() if found.free_bytes is not None]
    return Estimate(
        len(left), runs, (least, most), max(sizes, default=None), min(free, default=None), runs * _ARCHIVE_BYTES,
        None if any(_is_staged(one) for one in ahead.values()) else _find_visible(study),
    )


def _is_staged(ahead: Ahead) -> bool:
    return any(sum(stage.cycles > 0 for stage in scale.stages) > 1 for scale in ahead.scales)


def _find_visible(study: Study) -> float | None:
    made = [trial for trial in study.trials if trial.status != "left out"]
    at = [combination(study.factors, trial) for trial in made]
    specs = [asked(study.spec, study.factors, one, 1).merged.spec for one in dict.fromkeys(at)]
    noises = [noise.known(spec) for spec in specs]
    runs = [found.scatter.of_run(spec.cycles, one_database=spec.existing)
            for found, spec in zip(noises, specs, strict=True) if found is not None]  # fmt: skip
    scatters = [one.value for one in runs if one is not None]
    if len(scatters) < len(specs) or not specs:
        return None
    levels, blocks = (np.array(values, dtype=np.int64) for values in (at, [trial.block for trial in made]))
    counts = [len(factor.resolved) for factor in study.factors]
    references, pairs = [factor.reference_number for factor in study.factors], study.spec.trials.design != "screening"
    found = visible(levels, counts, references, blocks, max(scatters), pairs=pairs)
    return found if isfinite(found) else None


IN_ORDER: Final = (
    'the trials of each block run in the same order (order = "as listed"): drift within a block, such as a '
    "machine that warms up or a disk that fills, looks like an effect of later levels, and no interval includes it; "
    'order = "random blocks" prevents that'
)
"""What a fixed order means."""


def ahead_of(study: Study, expected: Estimate, *, whole: bool) -> str:
    """What will be done, how long it takes and what it needs; ``whole``: every trial."""
    states = Counter(trial.status for trial in study.trials)
    counts = ", ".join(f"{count} {status}" for status, count in states.items())
    blocks = len({trial.block for trial in study.trials})
    lines = [
        f"{study.spec.name}: {len(study.trials)} trials in {counted(blocks, 'block')} ({counts})"
    ]
    for factor in study.factors:
        levels = [one.name + " (reference)" * (n == factor.reference_number) for n, one in enumerate(factor.resolved)]
        lines.append(f"  {factor.name}: {', '.join(levels)}")
    if whole:
        lines += [_trial(study, number) for number in range(len(study.trials))]
    again = {reason: trials for reason, trials in reasons(study, "planned").items() if reason}
    lines += [f"no longer left out: {in_common(study, trials)} (was: {reason})" for reason, trials in again.items()]
    lines += [f"left out: {in_common(study, one)}: {reason}" for reason, one in reasons(study, "left out").items()]
    first, last = (format_time(seconds) for seconds in expected.time_s)
    runs = f" ({expected.runs} runs, including those that age a database)" if expected.runs > expected.trials else ""
    if expected.trials:
        lines.append(
            f"time: about {first if first == last else f'{first} to {last}'} for {expected.trials} trials{runs}"
        )
        size = "not known" if expected.size_bytes is None else f"at most {expected.size_bytes / 1e9:.3g} GB"
        free = "" if expected.free_bytes is None else f", {expected.free_bytes / 1e9:.3g} GB free"
        lines.append(f"space: {size} for the largest database before its load{free}; "
                     f"{expected.archives_bytes / 1e9:.2g} GB of archives")  # fmt: skip
    if expected.visible is not None:
        lines.append(f"noise of this machine: the study finds effects of a factor of {expected.visible:.2f} and more")
    if in_order(study):
        lines.append(f"warning: {IN_ORDER}")
    if expected.too_large:
        lines.append("warning: that may exceed the free space")
    lines.append(f"folder: {study.folder}")
    return "\n".join(lines)


def _trial(study: Study, number: int) -> str:
    trial = study.trials[number]
    what = ", ".join(f"{factor.name} {level}" for factor, level in zip(study.factors, trial.levels, strict=True))
    state = "" if trial.status == "planned" else f"  ({trial.status})"
    return f"  {trial.number:>4}  block {trial.block}  {what}{state}"


def added(before: Study, after: Study) -> str:
    """What was planned in addition."""
    count = len(after.trials) - len(before.trials)
    blocks = len({trial.block for trial in after.trials}) - len({trial.block for trial in before.trials})
    return f"{count} trials in {counted(blocks, 'block')} were added; run them: dsbench study run {after.folder}"


def in_order(study: Study) -> bool:
    """Whether each block has several trials, in the order of the file."""
    return study.spec.trials.order == "as listed" and len({trial.levels for trial in study.trials}) > 1


def reasons(study: Study, status: str) -> dict[str, list[Trial]]:
    """By reason the trials of ``status``."""
    found: dict[str, list[Trial]] = {}
    for trial in study.counted(status):
        found.setdefault(trial.reason, []).append(trial)
    return found


def in_common(study: Study, trials: Sequence[Trial]) -> str:
    """The levels that all ``trials`` have, or each combination of theirs where they share none."""
    names = [factor.name for factor in study.factors]
    shared = [
        f"{name} {next(iter(levels))}"
        for name, levels in zip(names, map(set, zip(*(trial.levels for trial in trials), strict=True)), strict=True)
        if len(levels) == 1
    ]
    each = dict.fromkeys(
        ", ".join(f"{name} {level}" for name, level in zip(names, trial.levels, strict=True)) for trial in trials
    )
    return ", ".join(shared) or "; ".join(each)
