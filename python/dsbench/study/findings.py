"""What a study found, in sentences: its doubts, its effects, the factors that show none, and where time goes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from math import ceil, inf, isfinite, log, nan, sqrt
from typing import Final

from dsbench.dataclass import dataclass
from dsbench.format import counted, with_unit
from dsbench.read.blocks import Column, Table
from dsbench.read.subjects.why import OF_TIME, name_part
from dsbench.several.causes import say_change
from dsbench.stats.effects import Effect, Effects
from dsbench.study.estimate import IN_ORDER, in_order
from dsbench.study.levels import Row, key_columns, list_rows
from dsbench.study.results import Outcomes, changes_unit
from dsbench.study.stages import each_stage, name_effect, show_effect

_SHORT: Final = {"p50": "median time", "headline": "main figure"}
"""What effects are of, in a word, where it is not the name of the measure."""
_VERDICTS: Final = 12
"""Effects that are told in sentences."""
LITTLE: Final = 1.1
"""A ratio below which an effect is called little, when its whole interval lies there; else it is undecided."""
_UNSURE: Final = 3
"""Factors that are undecided and have a sentence each."""
_NARROWER: Final = "; the intervals show how large an effect may be, and more blocks make them narrower"
"""How such a sentence ends where it does not tell how large."""
_TOLD: Final = (1.05, 1.1, 1.2, 1.5, 2.0, 5.0)
_MORE: Final = 5
"""Times the blocks that were made, up to which more of them are advised."""


class Kind(Enum):
    """What a sentence is about."""

    DOUBT = auto()
    EFFECT = auto()
    NONE = auto()
    """Factors without an effect."""
    OPEN = auto()
    """Factors that are undecided."""
    OTHER = auto()


@dataclass(frozen=True)
class Finding:
    """A sentence, without its capital and its stop."""

    kind: Kind
    text: str
    more: str = ""
    """How it goes on where it does not tell how large an effect may be."""

    @property
    def whole(self) -> str:
        return self.text + self.more

    @property
    def quiet(self) -> bool:
        """Whether it tells of factors without an effect."""
        return self.kind in (Kind.NONE, Kind.OPEN)


def find(found: Outcomes) -> list[Finding]:
    """What makes it doubtful, then each effect that is there, the largest first, then factors without one; stage by
    stage where none was chosen."""
    parts = each_stage(found) if found.staged else {}
    return [*doubts(found), *(_of_stages(parts) if parts else _of_one(found))]


def _of_stages(parts: Mapping[str, Outcomes]) -> Iterator[Finding]:
    """Each sentence with the stages that it is of, effects first; many stages without a decision are one line."""
    where: dict[Finding, list[str]] = {}
    for name, part in parts.items():
        for one in _of_one(part):
            where.setdefault(one, []).append(name)
    still = [one for one in where if one.kind is Kind.OPEN]
    if len(still) <= _UNSURE:
        still = []
    for one, names in sorted(where.items(), key=lambda item: item[0].quiet):
        if one not in still:
            stages = f"{'stages' if len(names) > 1 else 'stage'} {', '.join(names)}: " * (len(names) < len(parts))
            yield replace(one, text=stages + one.text)
    if names := [name for name in parts if any(name in where[one] for one in still)]:
        which = f"{len(names)} of {len(parts)} stages: {', '.join(names)}"
        yield Finding(Kind.OPEN, f"undecided in {which}; the tables have the intervals")


def _of_one(found: Outcomes) -> list[Finding]:
    effects = found.effects
    if found.made and not any(isfinite(found.value(one)) for one in found.made):
        return [Finding(Kind.OTHER, f"no trial has the {name_measure(found)}: {found.how.about}")]
    known = sum(isfinite(found.value(one)) for one in found.made)
    if (effects is None or not effects.free) and known < len(found.made):
        words = f"the {name_measure(found)} is known in {known} of {len(found.made)} trials, too few to show an effect"
        return [Finding(Kind.OTHER, words)]
    if effects is None or not effects.free:
        words = "no effect can be distinguished from chance without repetitions; dsbench study add FOLDER --repeat 2"
        return [Finding(Kind.OTHER, words)]
    real = [one for one in (*effects.main, *effects.interactions) if one.known and not one.none]
    real.sort(key=lambda one: -abs(one.size))
    lines = [Finding(Kind.EFFECT, _say_effect(found, one)) for one in real[:_VERDICTS]]
    if len(real) > _VERDICTS:
        lines.append(Finding(Kind.OTHER, f"and {len(real) - _VERDICTS} more, see below"))
    told = {at for one in effects.main if one.known for at in one.factors}
    still = [at for at in range(len(found.factors)) if not any(at in one.factors for one in real)]
    lines += _say_quiet(found, effects, [at for at in still if at in told])
    apart = [at for at in range(len(found.factors)) if changes_unit(found, at)]
    units = "have figures in several units, which cannot be compared"
    lines += [Finding(Kind.OTHER, f"levels of {found.factors[at]} {units}") for at in apart]
    if unknown := [found.factors[at] for at in still if at not in told and at not in apart]:
        words = f"nothing is known about {_join(unknown)}: these trials do not compare its levels"
        lines.append(Finding(Kind.OTHER, words))
    return lines


def _say_quiet(found: Outcomes, effects: Effects, still: Sequence[int]) -> Iterator[Finding]:
    """Of factors without an effect: whether there is hardly one, or nobody can tell, and then how large it may be."""
    widest = {at: max((one for one in effects.main if one.known and at in one.factors), key=reach) for at in still}
    if little := [found.factors[at] for at, one in widest.items() if reach(one) <= log(LITTLE)]:
        yield Finding(Kind.NONE, f"no effect of {_join(little)} above {LITTLE - 1:.0%} was found")
    if nothing := [found.factors[at] for at, one in widest.items() if one.anything]:
        why = "repeated trials are too few, or their spread is too large,"
        yield Finding(Kind.OPEN, f"undecided: {why} to show anything about {_join(nothing)}")
    unsure = {at: one for at, one in widest.items() if reach(one) > log(LITTLE) and not one.anything}
    if not unsure:
        return
    if found.staged or len(unsure) > _UNSURE:
        names = _join([found.factors[at] for at in unsure])
        yield Finding(Kind.OPEN, f"undecided: {names}", _NARROWER)
        return
    for one in unsure.values():
        yield Finding(Kind.OPEN, f"undecided: {_say_range(found, one)}{_say_remedy(found, one)}")


def reach(one: Effect) -> float:
    """How far the effect may be from none: as ln of a ratio; a difference has no bound below which it is little."""
    if not one.neutral:
        return inf
    return max(log(one.ratio.high), -log(one.ratio.low) if one.ratio.low > 0 else inf)


def _say_range(found: Outcomes, one: Effect) -> str:
    """``journal wal may have 0.82 to 13.2 times the rate of delete``."""
    level, _, reference = name_effect(found, one).rpartition(" against ")
    low, high = one.ratio.low, one.ratio.high
    if one.neutral:
        return f"{level} may have {low:.3g} to {high:.3g} times the {name_measure(found)} of {reference}"
    between = with_unit(f"{low:+.3g} to {high:+.3g}", found.unit)
    return f"{level} against {reference} may be {between} in the {name_measure(found)}"


def _say_remedy(found: Outcomes, one: Effect) -> str:
    """How many more blocks are about needed, as widths go with the root of their number, to tell a ratio that is within
    reach: the smallest that ``_MORE`` times the blocks would tell."""
    blocks = len({made.trial.block for made in found.made})
    half = (log(one.ratio.high) - log(one.ratio.low)) / 2 if one.neutral and one.ratio.low > 0 else nan
    for ratio in _TOLD:
        if log(ratio) < half <= log(ratio) * sqrt(_MORE):
            more = counted(ceil(blocks * (half / log(ratio)) ** 2) - blocks, "more block")
            size = f"a difference of {ratio - 1:.0%}" if ratio < 2 else f"a factor of {ratio:g}"
            return f"; about {more} would show {size}"
    return "; more blocks would make that narrower"


def _join(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _say_effect(found: Outcomes, one: Effect) -> str:
    """``clients 2 has 2.07 [1.8, 2.37] times the rate of 1``."""
    level, against, reference = name_effect(found, one).rpartition(" against ")
    if not found.how.geometric:
        return f"{name_effect(found, one)}: {with_unit(show_effect(one), found.unit)} in the {name_measure(found)}"
    if not against:  # Two levels that are together.
        return f"{reference} has {show_effect(one)} times the {name_measure(found)} expected from each alone"
    return f"{level} has {show_effect(one)} times the {name_measure(found)} of {reference}"


def name_measure(found: Outcomes) -> str:
    """What effects are of, in a word."""
    return _SHORT.get(found.measure, found.how.label)


def doubts(found: Outcomes) -> list[Finding]:
    """What makes the effects doubtful: a fixed order, levels that share a database, and trials of the same levels on
    servers that differ."""
    lines = [IN_ORDER] * in_order(found.study) + _sharing(found) + _servers_differ(found)
    return [Finding(Kind.DOUBT, line) for line in lines]


def _sharing(found: Outcomes) -> list[str]:
    return [f"the levels of {factor.name} ran one after another on one database, always in this order: drift is part "
            "of its effects. They share the state of that database, so the intervals of the other factors tend to be "
            "too narrow. A workload with other tables has its own database"
            for factor in found.study.factors if factor.same_database][:1]  # fmt: skip


def spread(found: Outcomes) -> str:
    """What scatters, and by how much; the model has degrees of freedom."""
    assert found.effects is not None
    scatter = found.effects.scatter
    size = f"{scatter:.1%}" if found.how.geometric else with_unit(f"{scatter:.3g}", found.unit)
    repeated = len({one.trial.block for one in found.made if isfinite(found.value(one))}) > 1
    return f"repeated trials have a spread of {size}" if repeated else f"beyond these effects trials differ by {size}"


def _servers_differ(found: Outcomes) -> list[str]:
    if not found.unlike:
        return []
    names = dict.fromkeys(name for one in found.unlike.values() for name in one)
    trials = ", ".join(map(str, sorted(found.unlike)))
    return [f"not comparable: trial {trials}; settings that are not factors differ from other trials with the same "
            f"levels, and affect their results: {', '.join(names)}"]  # fmt: skip


def read_level(row: Row) -> dict[str, float]:
    """Cause to ms of a transaction at the largest scale, in the mean over the trials; empty where they do not tell."""
    if not row.scales:
        return {}
    found: dict[str, float] = defaultdict(float)
    for name in dict.fromkeys(name for one in row.alike for name in one.measured if name.startswith(OF_TIME)):
        if isfinite(value := row.mean(name, row.scales[-1])):
            found[name_part(name)] += value
    return dict(found)


def tabulate_times(found: Outcomes) -> Iterator[Table]:
    """A row for each level, a column for each cause that any has."""
    rows = list_rows(found)
    times = [read_level(row) for row in rows]
    names = dict.fromkeys(name for one in times for name, value in one.items() if value > 0)
    if names:
        keys, cells = key_columns(rows)
        heads = [*keys, Column("all", "ms"), *(Column(name, "ms") for name in names)]
        title = "time of a transaction by activity, mean over the trials, at the largest scale"
        yield Table(title, heads, [[*key, sum(one.values()) if one else None, *(one.get(name) for name in names)]
                                   for key, one in zip(cells, times, strict=True)])  # fmt: skip


def say_times(found: Outcomes, effects: Effects) -> Iterator[str]:
    """Changes of a transaction's time with each level whose effect is told from none, beside its reference."""
    real = {at for one in effects.main if one.known and not one.none for at in one.factors}
    rows = list_rows(found)
    for row in rows:
        reference = found.references[row.factor]
        if row.factor not in real or row.level == reference:
            continue
        base = next((one for one in rows if (one.part.levels, one.factor, one.level, one.clients)
                     == (row.part.levels, row.factor, reference, row.clients)), None)  # fmt: skip
        if base is not None and (words := say_change(read_level(base), read_level(row))):
            level, against = (found.levels[row.factor][at].name for at in (row.level, reference))
            clients = f", {row.clients} clients" if row.clients else ""
            yield f"{found.factors[row.factor]} {level} beside {against}{clients}: {words}"
