"""Whether the figures of a run can be used: one record, which crosses into everything that puts runs together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from dsbench.archive import RunRecord
from dsbench.dataclass import dataclass
from dsbench.format import counted
from dsbench.read.evaluation import Evaluation
from dsbench.read.glance import Taken, best, find_taken, find_taken_by_cycle
from dsbench.read.naming import listed
from dsbench.read.subjects.machine import MachineResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult, count_warnings

_MOST: Final = 4
"""Sides that are named."""


class Soundness(StrEnum):
    """From the best to the worst."""

    VALID = "valid"
    PRELIMINARY = "preliminary"
    """The cycles are too short or too few to compare with those of other runs."""
    DISTURBED = "disturbed"
    """Other programs or the host used a machine beside the run, at one scale at least."""
    VOID = "void"
    """The figures of one scale at least."""


@dataclass(frozen=True)
class RunVerdict:
    """What can be said of the figures of one run, and why."""

    soundness: Soundness
    void: tuple[str, ...] = ()
    """Why figures are void: ``the check failed at scale 4``."""
    taken: tuple[Taken, ...] = ()
    """What others took of the machines, at each scale where that was much."""
    spoilt: frozenset[int] = frozenset()
    """Scales whose figures cannot be used."""
    short: str = ""
    """Why it is too short to compare: ``3 cycles of 4 s are too short to compare with other runs``."""
    unknown: tuple[str, ...] = ()
    """What was not looked at, and would show whether the figures hold: ``no condition of the workload was checked``."""
    warnings: int = 0
    """Kinds of warnings, whatever they weigh."""

    @property
    def why(self) -> list[str]:
        """What makes it void or disturbed, in words."""
        return [*self.void, *_say_taken(self.taken)]

    def say(self, scale: int) -> str:
        """The sentence before the figures of a run, of which the highest is at ``scale``: ``Not valid: other programs
        used 1.8 of 2 CPUs.``"""
        if self.soundness is Soundness.PRELIMINARY:
            return f"Preliminary: {self.short}."
        if self.soundness is Soundness.VALID:
            noted = f", with {counted(self.warnings, 'warning')}" * bool(self.warnings)
            why = f" as far as is known{noted}: {' and '.join(self.unknown)}" if self.unknown else noted
            return f"Valid{why}."
        spared = scale not in self.spoilt
        where = f" at scale {listed(sorted({one.scale for one in self.taken}))}" if self.taken and spared else ""
        if spared and self.short:
            return f"Preliminary: {self.short}; {'; '.join(self.why)}{where}."
        return f"{'Valid in part' if spared else 'Not valid'}: {'; '.join(self.why)}{where}."

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        return {"soundness": self.soundness.value, "why": self.why, "unknown": list(self.unknown)}


@dataclass(frozen=True)
class Tally:
    """The verdicts of the runs that something rests on, by side where there are several, such as ``A`` and ``B``."""

    sides: Mapping[str, Sequence[RunVerdict]]

    @property
    def verdicts(self) -> list[RunVerdict]:
        """Of all sides."""
        return [one for side in self.sides.values() for one in side]

    def say(self, noun: str = "run") -> list[str]:
        """A sentence for the void ones and one for the disturbed ones, where there are any: ``12 of 12 runs are
        disturbed: other programs used 1.6 to 1.8 of 2 CPUs.``"""
        void = {name: [one for one in side if one.void] for name, side in self.sides.items()}
        taken = {name: [one for one in side if one.taken] for name, side in self.sides.items()}
        of_void = [why for some in void.values() for one in some for why in one.void]
        of_taken = _say_taken(one for some in taken.values() for verdict in some for one in verdict.taken)
        each = (("void", void, of_void), ("disturbed", taken, of_taken))
        return [f"{self._say(noun, word, chosen, why)}." for word, chosen, why in each if why]

    def say_unknown(self, noun: str = "run") -> list[str]:
        """What is not known of the others, where there is anything: ``2 of 4 runs are valid as far as is known:
        no condition of the workload was checked``."""
        rest = {name: [one for one in side if one.unknown and not one.why] for name, side in self.sides.items()}
        why = [words for some in rest.values() for one in some for words in one.unknown]
        return [self._say(noun, "valid as far as is known", rest, why)] if why else []

    def _say(self, noun: str, word: str, chosen: Mapping[str, Sequence[RunVerdict]], why: Iterable[str]) -> str:
        """``chosen`` are those of each side that it is said of; whose they are is told where it is not all of them."""
        count = sum(map(len, chosen.values()))
        named = [name if len(some) == len(self.sides[name]) else f"{len(some)} of {len(self.sides[name])} of {name}"
                 for name, some in chosen.items() if some]  # fmt: skip
        uneven = len(self.sides) > 1 and count < len(self.verdicts)
        more = f", and of {len(named) - _MOST} more" if len(named) > _MOST else ""
        whose = f" ({', '.join(named[:_MOST])}{more})" * uneven
        return f"{count:,} of {counted(len(self.verdicts), noun)} {'is' if count == 1 else 'are'} {word}{whose}: " \
            f"{'; '.join(dict.fromkeys(why))}"

    def document(self) -> dict[str, Any]:
        """How many runs have each verdict, and what makes some void or disturbed, as JSON values."""
        every = [one.soundness for one in self.verdicts]
        return {**{one.value: every.count(one) for one in Soundness}, "why": self.say(), "unknown": self.say_unknown()}


def judge_run(evaluation: Evaluation, run: RunRecord) -> RunVerdict:
    """By what the run itself noticed: no more than that."""
    parts = list(evaluation.series.values()) or [evaluation]
    void = tuple(_find_void(evaluation, parts, run))
    taken = tuple(one for part in parts for row in part.of(RateResult).scales
        for one in find_taken(part, row.scale, run.embedded))
    short = next((one.message for one in evaluation.of(WarningsResult).doubts if one.code == "short-cycles"), "")
    soundness = (
        Soundness.VOID if void else Soundness.DISTURBED if taken else
        Soundness.PRELIMINARY if short else Soundness.VALID
    )  # fmt: skip
    severe = {one.scale for one in evaluation.of(WarningsResult).doubts if one.severe}
    every = {row.scale for part in parts for row in part.of(RateResult).scales}
    spoilt = {one.scale for one in taken}.union(*(part.of(RateResult).void_scales for part in parts))
    spoilt |= every if None in severe else {scale for scale in severe if scale is not None}
    unknown = tuple(_find_unknown(parts, run))
    return RunVerdict(soundness, void, taken, frozenset(spoilt), short, unknown, count_warnings(evaluation))


def _find_unknown(parts: Sequence[Evaluation], run: RunRecord) -> Iterable[str]:
    if run.engine == "mock":  # It has neither rows nor a server.
        return
    if run.unmade:
        yield "not every condition of the workload was checked"
    elif not run.checks and not run.spec.existing:
        yield "no condition of the workload was checked"
    uses = [one.use for part in parts for of_scale in part.of(MachineResult).machine.values() for one in of_scale]
    if not uses:
        yield "the CPU use of other programs was not recorded"
    elif not run.embedded and all(use.server_ns is None for use in uses):
        yield "the server process was not visible, so other load on its machine is unknown"


def judge_cycles(evaluation: Evaluation, run: RunRecord) -> Tally:
    """Those of all cycles of a search, whose result rests on each of them and on no median."""
    parts = list(evaluation.series.values()) or [evaluation]
    searched = [Evaluation(part.rows.whole.of_every_cycle(part.key)) if part.has_clients else part for part in parts]
    each = [one for part in searched for row in part.of(RateResult).scales
        for one in find_taken_by_cycle(part, row.scale, run.embedded)]
    disturbed = [RunVerdict(Soundness.DISTURBED, taken=one) for one in each if one]
    return Tally({"": [*disturbed, *[RunVerdict(Soundness.VALID)] * (len(each) - len(disturbed))]})


def _find_void(evaluation: Evaluation, parts: Sequence[Evaluation], run: RunRecord) -> Iterable[str]:
    if failed := sorted({scale for part in parts for scale in part.of(RateResult).void_scales}):
        yield f"the check failed at scale {listed(failed)}"
    yield from dict.fromkeys(one.message
        for one in evaluation.of(WarningsResult).doubts if one.severe and one.scale not in failed)
    if best(evaluation) is None and not failed and run.status != "running":
        yield run.reason.rstrip(".") or "no transaction was committed within a cycle"


def _say_taken(taken: Iterable[Taken]) -> list[str]:
    """What is alike together, from the least to the most: ``other programs used 1.6 to 1.8 of 2 CPUs``."""
    alike: dict[tuple[str, int, str], list[Taken]] = {}
    for one in taken:
        alike.setdefault((one.who, one.cpus, one.node), []).append(one)
    return [some[0].say(some) for some in alike.values()]
