"""How to read a study, what is missing in it, and which of its trials do not belong beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dsbench.study import FAILED, Outcomes, Study, Trial

SHORT: Final = {"rate": "rate", "p50": "median time", "p99": "p99"}
"""What effects are of, in a word."""
_OVERLAP: Final = 1.005
"""Sum of the shares from which on it is told; below it is rounding."""


IN_ORDER: Final = (
    'the trials of each block are made in one order (order = "as listed"): what drifts within a block, such as a '
    "machine that warms up or a disk that fills, looks like an effect of the levels that come later, and no interval "
    'knows of it; order = "random blocks" guards against that'
)
"""What a fixed order means."""


def incomparable(found: Outcomes) -> list[str]:
    """What makes the effects doubtful: a fixed order, and trials of the same levels on servers that differ."""
    ordered = [f"warning: {IN_ORDER}"] * in_order(found.study)
    return ordered + _servers_differ(found)


def in_order(study: Study) -> bool:
    """Whether each block has several trials, in the order of the file."""
    return study.spec.trials.order == "as listed" and len({trial.levels for trial in study.trials}) > 1


def _servers_differ(found: Outcomes) -> list[str]:
    if not found.unlike:
        return []
    names = dict.fromkeys(name for one in found.unlike.values() for name in one)
    trials = ", ".join(map(str, sorted(found.unlike)))
    return [f"not comparable: trial {trials}; what is no factor differs from other trials of the same levels, and its "
            f"effect is in theirs: {', '.join(names)}"]  # fmt: skip


def notes(found: Outcomes) -> list[str]:
    """How to read it, and what is missing."""
    lines = []
    effects = found.effects
    if effects is not None and effects.free:
        each = f"Trials that repeat each other scatter by {effects.scatter:.1%}"
        lines.append(f"All intervals hold together with 95 %: where no factor does anything, one or more exclude 1 in "
                     f"5 of 100 such studies. {each} ({effects.free} degrees of freedom).")  # fmt: skip
        if (whole := sum(one.share for one in effects.shares)) > _OVERLAP:
            lines.append(f"The shares of the variance add up to {whole:.0%}: trials are missing, and what goes with "
                         "several terms is in the share of each.")  # fmt: skip
    if found.uneven:
        lines.append("Not every level was tried as often with every level of the other factors. So means and diagrams "
                     "by level set other work beside each other; the effects compare like with like.")  # fmt: skip
    if left_out := sorted({point.scale for one in found.made for point in one.values} - _scales(found)):
        scales = ", ".join(map(str, left_out))
        lines.append(f"What is compared are the scales that all trials have; not in it: {scales}.")
    if without := [str(one.trial.number) for one in found.made if not found.value(one) > 0]:
        lines.append(f"not in the effects: trial {', '.join(without)} (the {SHORT[found.measure]} is 0 or unknown)")
    lines += _unlike(found)
    if sharing := [factor.name for factor in found.study.factors if factor.same_database]:
        words = "What is special about that database is in all of them"
        lines.append(f"The levels of {sharing[0]} were made one after another on one database, always in this order: "
                     f"what drifts meanwhile is in its effects. {words}, so the intervals of the other factors are "
                     "rather too narrow.")  # fmt: skip
    lines += _without(found)
    if left := len(found.study.counted("planned", "running")):
        lines.append(f"{left} trials are not made yet: dsbench study run {found.study.folder}")
    return lines


def _unlike(found: Outcomes) -> Iterator[str]:
    """Trials whose target differs from that of others of the same levels, with both values."""
    apart: dict[str, list[str]] = {}
    for trial, names in sorted(found.unlike.items()):
        words = "; ".join(f"{name} {here or 'none'}, there {there or 'none'}" for name, (there, here) in names.items())
        apart.setdefault(words, []).append(str(trial))
    for words, trials in apart.items():
        yield f"not comparable with the first of the same levels: trial {', '.join(trials)} ({words})"


def _without(found: Outcomes) -> Iterator[str]:
    """Trials that say nothing, with their reasons: each reason once, by the levels that all its trials have."""
    study = found.study
    for status in ("failed", "void", "left out"):
        for reason, trials in reasons(study, status).items():
            numbers = ", ".join(str(trial.number) for trial in trials)
            yield f"{status}: trial{'s' * (len(trials) > 1)} {numbers} ({in_common(study, trials)}): {reason}"
    if any(trial.status in FAILED for trial in study.trials):
        yield f"failed and void trials are made again by: dsbench study run {study.folder} --again"


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


def _scales(found: Outcomes) -> set[int]:
    """Those that values are of."""
    own = {point.scale for one in found.made for point in one.values}
    return {point.scale for point in found.points} or own
