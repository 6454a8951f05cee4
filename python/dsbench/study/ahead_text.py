"""A study before it is made, as text."""

from __future__ import annotations

from collections import Counter

from dsbench.measure.events import format_time
from dsbench.study import Estimate, Study
from dsbench.study.notes import IN_ORDER, in_common, in_order, reasons


def ahead_of(study: Study, expected: Estimate, *, whole: bool) -> str:
    """What will be done, how long it takes and what it needs; ``whole``: every trial."""
    states = Counter(trial.status for trial in study.trials)
    counts = ", ".join(f"{count} {status}" for status, count in states.items())
    blocks = len({trial.block for trial in study.trials})
    lines = [
        f"{study.spec.name}: {len(study.trials)} trials in {blocks} {'block' if blocks == 1 else 'blocks'} ({counts})"
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
    runs = f" ({expected.runs} runs, with those that age a database)" if expected.runs > expected.trials else ""
    if expected.trials:
        lines.append(
            f"time: about {first if first == last else f'{first} to {last}'} for {expected.trials} trials{runs}"
        )
        size = "not known" if expected.size_bytes is None else f"at most {expected.size_bytes / 1e9:.3g} GB"
        free = "" if expected.free_bytes is None else f", {expected.free_bytes / 1e9:.3g} GB free"
        lines.append(f"space: {size} for the largest database before its load{free}; "
                     f"{expected.archives_bytes / 1e9:.2g} GB of archives")  # fmt: skip
    if in_order(study):
        lines.append(f"warning: {IN_ORDER}")
    if expected.too_large:
        lines.append("warning: that may be more than there is")
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
    where = f"{blocks} {'block' if blocks == 1 else 'blocks'}"
    return f"{count} trials in {where} were added; make them: dsbench study run {after.folder}"
