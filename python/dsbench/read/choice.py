"""What somebody wants to be measured: a figure, a stage of the run, and a group of its clients.

``--of MEASURE --stage NAME --group NAME``, for studies, comparisons and histories alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import isfinite, nan
from typing import Any, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.read.evaluation import Evaluation
from dsbench.read.subject import Measure, Values
from dsbench.read.subjects import measures
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.stages import StagesResult
from dsbench.spec import SpecError
from dsbench.stats.comparison import mean_lg
from dsbench.stats.index import weights

OF: Final = "--of"
"""The option that names a measure."""


def find_measure(name: str, option: str = OF) -> Measure:
    """The measure ``name``. ``SpecError`` names ``option`` and lists what there is."""
    known = measures()
    if name not in known:
        near = get_close_matches(name, known, 1)
        more = f"; did you mean {near[0]}?" if near else ""
        raise SpecError(option, f"no measure {name[:60]!r}{more}", f"use one of {', '.join(known)}")
    return known[name]


def list_stages(evaluation: Evaluation) -> dict[str, list[str]]:
    """The stages of a run that measure something, in order, with their groups of clients: none where statements are
    timed."""
    names = dict.fromkeys(key.stage for key in evaluation.of(StagesResult).stages) or {evaluation.stage: None}
    parts = {name: choose(evaluation, name) for name in names}
    return {name: list(dict.fromkeys(group for one in some for group in one.groups)) for name, some in parts.items()}


def choose(evaluation: Evaluation, stage: str = "", group: str = "") -> list[Evaluation]:
    """The numbers of clients of ``stage``, of the last stage where none is named, with the clients of ``group`` alone
    where one is named. Nothing where the run has no such stage or group."""
    wanted = stage or evaluation.stage
    found = [part for key, part in (evaluation.series or {evaluation.key: evaluation}).items() if key.stage == wanted]
    if not found:
        timed = [(key, one) for key, one in evaluation.of(StagesResult).stages.items() if key.stage == wanted]
        searched: dict[str, Any] = {"load": {}}
        known = [(key, {StagesResult: {"efficiency": one}, LoadResult: searched}) for key, one in timed]
        found = [Evaluation.without_rows(key, results) for key, results in known]
    return [part.of_group(group) for part in found if group in part.groups] if group else found


def read_values(measure: Measure, part: Evaluation, *, alone: bool = False) -> Values:
    """Scale to what ``measure`` is in one part of a run that ``choose`` gave; scale 0 where it is one of the run.

    ``alone``: of this part's stage, also where the measure is one of a whole run.
    """
    read = measure.in_stage if alone and measure.in_stage is not None else measure.read
    if not part.has_clients:
        return read(part) if measure.of_statements else {}
    return read(part.own if measure.own else part)


def read_unit(measure: Measure, part: Evaluation) -> str:
    """The unit of these values: workloads differ in what a rate counts."""
    if not part.has_clients and not measure.of_statements:
        return measure.unit
    return measure.get_unit(part.own if measure.own else part)


def of_what(measure: Measure, of_stage: str) -> str:
    """What ``measure`` is of: of a rate ``Evaluation.of_stage``, else the stage alone."""
    return of_stage if measure.name == "rate" else of_stage.partition(",")[0]


def is_of_run(measure: Measure, evaluation: Evaluation) -> bool:
    """Whether ``measure`` says the same in all of several stages, as one of a whole run does."""
    stages = {key.stage for key in evaluation.series}
    if len(stages) < 2:
        return False
    said = [[read_values(measure, part) for part in choose(evaluation, name)] for name in stages]
    known = [values for values in said if any(values)]
    return len(known) > 1 and all(values == known[0] for values in known)


def refuse_missing(known: Mapping[str, Iterable[str]], stage: str, group: str) -> None:
    """``SpecError`` where the stages that are ``known``, with their groups, have no ``stage`` or ``group``: it lists
    what there is. Nothing is refused where nothing is known yet."""
    if stage and known and stage not in known:
        raise SpecError("--stage", f"no run has a stage {stage[:60]!r}", f"use one of {', '.join(known)}")
    groups = dict.fromkeys(name for at in ([stage] if stage else known) for name in known.get(at, ()))
    if group and known and group not in groups:
        where = f" in stage {stage}" if stage else ""
        remedy = f"use one of {', '.join(groups)}" if groups else "omit --group: no clients work there"
        raise SpecError("--group", f"no run has a group of clients {group[:60]!r}{where}", remedy)


@dataclass(frozen=True)
class Figure:
    """What one run has of a choice."""

    value: float
    """Nan where it has nothing of it, or does not know it at one of its scales, or has 0 at one of several where the
    mean is geometric."""
    unit: str
    of_stage: str = ""
    """As ``of_what`` says."""


@dataclass(frozen=True)
class Choice:
    """A measure, a stage and a group: one figure of each run."""

    how: Measure
    stage: str = ""
    group: str = ""

    @property
    def lack(self) -> str:
        """What is said of a run that has nothing of it."""
        return f"it has no {self.how.name}{f' in stage {self.stage}' * bool(self.stage)}"

    @property
    def remedy(self) -> str:
        """What makes a run that has it; empty where that is not known."""
        if self.stage and self.how.in_stage is not None:
            return f"specify a stage that has it, or omit --stage; otherwise {self.how.needs}"
        return self.how.needs

    def read(self, evaluation: Evaluation) -> Figure:
        """The mean along lg scale, geometric or arithmetic as the measure wants it; of several numbers of clients the
        best."""
        parts, alone = choose(evaluation, self.stage, self.group), bool(self.stage)
        if self.how.name == "rate" and not (self.stage or self.group) and (peaks := _searched(evaluation)):
            return Figure(_mean(self.how, peaks), read_unit(self.how, parts[-1]), of_what(self.how, parts[-1].of_stage))
        means = [_mean(self.how, read_values(self.how, part, alone=alone)) for part in parts]
        known = [mean for mean in means if isfinite(mean)]
        best = max if self.how.more else min
        stage = parts[-1].of_stage if parts and (alone or not is_of_run(self.how, evaluation)) else ""
        unit = read_unit(self.how, parts[-1]) if parts else self.how.unit
        return Figure(best(known) if known else nan, unit, of_what(self.how, stage))


def make_choice(of: str, stage: str = "", group: str = "") -> Choice:
    """As the options say; ``SpecError`` for a measure that there is not."""
    return Choice(find_measure(of or "rate"), stage, group)


def _searched(evaluation: Evaluation) -> Values:
    """The rates of a search for the peak, of cycles by which it was not chosen; empty where there was none."""
    from dsbench.read.subjects.rate import RateResult  # Late: it needs this module.

    peaks = evaluation.of(RateResult).peaks if evaluation.run.spec.peak else {}
    return {x: found.rate_tps for x, found in peaks.items()}


def _mean(how: Measure, values: Values) -> float:
    known = dict(sorted(values.items()))
    if not all(map(isfinite, known.values())):
        return nan  # The mean of the others would be that of other sizes.
    if how.geometric:
        return float(10 ** mean_lg({x: np.array([value]) for x, value in known.items()}, list(known)))
    if len(known) < 2:
        return next(iter(known.values()), nan)
    return float(np.average(list(known.values()), weights=weights(list(known))))
