"""What groups of clients do to each other: the rate of each beside the others, divided by its rate alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import exp, isfinite, nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dsbench.dataclass import dataclass
from dsbench.format import format_number
from dsbench.read.blocks import Block, Column, Ratio, Sentence, Table
from dsbench.read.groups import plain
from dsbench.read.subject import Measure, Result, Subject, computed
from dsbench.stats.comparison import relative
from dsbench.stats.precision import FEWEST
from dsbench.stats.values import Floats, Interval

if TYPE_CHECKING:
    from dsbench.archive import RunRecord
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.rows import RunRows

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Beside:
    """One group of clients in a stage with others, against the stage in which it works alone."""

    clients: int
    stage: str
    alone_stage: str
    group: str
    unit: str
    alone: Floats
    """Its rate in each cycle alone."""
    beside: Floats
    """Its rate in each cycle beside the others."""
    times_s: Mapping[str, tuple[float, float]]
    """Kind to its mean time alone and beside the others; empty for the group that the headline counts."""
    before: int
    """Transactions that other stages had committed when the stage with all of them began."""

    @property
    def ratio(self) -> Interval:
        """Of the median rates."""
        return relative(self.beside, self.alone)

    @property
    def means_s(self) -> tuple[float, float]:
        """Geometric mean of the kinds' mean times, alone and beside; nan without kinds."""
        if not self.times_s:
            return nan, nan
        logs = np.log(np.array(list(self.times_s.values()))).mean(axis=0)
        return exp(float(logs[0])), exp(float(logs[1]))


def _read_interference(evaluation: Evaluation) -> dict[int, tuple[Beside, ...]]:
    """By scale; empty for a run without a stage of several groups each of which works alone in another."""
    whole = evaluation.rows.whole
    rows = plain(whole.tables["cycles"]).to_pylist()
    spans = {(row["scale"], row["stage"], row["cycle"], row["group"]): row["duration_ns"] or 0
             for row in plain(whole.tables["groups"]).to_pylist()}  # fmt: skip
    groups: dict[str, set[str]] = defaultdict(set)
    for _, stage, _, group in spans:
        groups[stage].add(group)
    alone = {next(iter(names)): stage for stage, names in groups.items() if len(names) == 1}
    together = [stage for stage, names in groups.items() if len(names) > 1 and names <= set(alone)]
    found: dict[int, list[Beside]] = defaultdict(list)
    for scale, stage, clients in dict.fromkeys((r["scale"], r["stage"], r["clients"]) for r in rows):
        if stage in together:
            here = [row for row in rows if row["scale"] == scale and row["clients"] == clients]
            # As the workload has them, and not as a set does.
            for group in dict.fromkeys(row["group"] for row in here if row["stage"] == stage):
                if any(row["stage"] == alone[group] for row in here):
                    found[scale].append(_compare(whole, here, spans, (stage, alone[group], group)))
    return {scale: tuple(sides) for scale, sides in found.items()}


def _compare(
    whole: RunRows, rows: Rows, spans: Mapping[tuple[int, str, int, str], int], names: tuple[str, str, str]
) -> Beside:
    stage, alone, group = names
    own = [row for row in rows if row["group"] == group]
    parts = [[row for row in own if row["stage"] == at] for at in (alone, stage)]
    kind, per_s, unit = _count(whole.run, own)
    rates = [_rates([row for row in part if kind in ("", row["kind"])], spans, per_s) for part in parts]
    times = [_times(part) for part in parts] if not kind else [{}, {}]
    first = min(row["cycle"] for row in parts[1])
    before = sum(row["committed"] for row in rows if row["cycle"] < first)
    both = {name: (time, times[1][name]) for name, time in times[0].items() if name in times[1]}
    return Beside(rows[0]["clients"], stage, alone, group, unit, rates[0], rates[1], both, before)


def _count(run: RunRecord, rows: Rows) -> tuple[str, float, str]:
    """What the group's rate counts: the kind of the headline, or all, per hour."""
    headline = run.workload.headline
    if headline.kind is not None and any(row["kind"] == headline.kind for row in rows):
        return headline.kind, headline.per_s, headline.label
    return "", 3600.0, "per hour"


def _rates(rows: Rows, spans: Mapping[tuple[int, str, int, str], int], per_s: float) -> Floats:
    """By cycle, over the group's own duration."""
    counts: dict[tuple[int, str, int, str], int] = defaultdict(int)
    for row in rows:
        counts[row["scale"], row["stage"], row["cycle"], row["group"]] += row["committed"]
    return np.array([count / (spans[key] / 1e9) * per_s for key, count in sorted(counts.items()) if spans[key]])


def _times(rows: Rows) -> dict[str, float]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        sums[row["kind"]][0] += row["residence_ns"]
        sums[row["kind"]][1] += row["committed"] + row["rolled_back"]
    return {kind: took / count / 1e9 for kind, (took, count) in sums.items() if count and took}


_COLUMNS: Final = (
    Column("scale"), Column("clients"), Column("group", left=True), Column("counts", left=True),
    Column("alone", digits=4), Column("beside", digits=4), Column("together / alone"), Column("cycles"),
)  # fmt: skip
_KINDS: Final = (
    Column("scale"), Column("clients"), Column("kind", left=True), Column("alone", "ms", 1e3),
    Column("beside", "ms", 1e3), Column("alone / together", about="how many times as fast it is together with the "
                                                                  "others"),
)  # fmt: skip


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    found = evaluation.of(InterferenceResult).interference
    if not found:
        return
    each = [(scale, one) for scale, sides in found.items() for one in sides]
    for scale, one in each:
        yield Sentence(f"Scale {scale:,}{_at_clients(one, each)}: {say_ratio(one)}.")
    rows = [(scale, one.clients, one.group, one.unit, float(np.median(one.alone)), float(np.median(one.beside)),
             _cell(one.ratio), f"{one.alone.size}, {one.beside.size}") for scale, one in each]  # fmt: skip
    yield Table("Rates of the groups, alone and together", _COLUMNS, rows)
    kinds = [
        (scale, one.clients, kind, *pair, Ratio(pair[0] / pair[1])) for scale, one in each
        for kind, pair in [*one.times_s.items(), *([("geometric mean", one.means_s)] if one.times_s else [])]
    ]  # fmt: skip
    if kinds:
        yield Table("Mean times of the queries, alone and together", _KINDS, kinds)
    before = max(one.before for _, one in each)
    yield Sentence(
        f"Ratios are those of the medians over the cycles, with a 95% interval from {FEWEST} cycles on. The stages "
        f"follow each other on one database: {before:,} transactions were committed before the groups ran together. "
        "The cause of a ratio is not measured here.", "note",
    )  # fmt: skip


def _at_clients(one: Beside, each: Sequence[tuple[int, Beside]]) -> str:
    return f", {one.clients} clients" if len({other.clients for _, other in each}) > 1 else ""


def say_ratio(one: Beside) -> str:
    """``transactions do 2,027 NOPM beside the others and 3,480 alone: 0.58 times as many``."""
    ratio = one.ratio
    within = f" ({ratio.low:.2f} to {ratio.high:.2f})" if isfinite(ratio.low) else ""
    alone, beside = (format_number(float(f"{np.median(rates):.4g}"), digits=4) for rates in (one.alone, one.beside))
    unit = one.unit if one.unit != "per hour" else "queries per hour" if one.times_s else "transactions per hour"
    times = f"{ratio.value:.2f} times as many{within}"
    return f"{one.group} do {beside} {unit} together with the others and {alone} alone: {times}"


def _cell(ratio: Interval) -> Ratio | None:
    return Ratio(ratio.value, ratio.low, ratio.high) if isfinite(ratio.value) else None


def _read_ratio(part: Evaluation) -> dict[int, float]:
    """Of the chosen group, else of the first, which the stage measures."""
    group = part.rows.group
    found = {}
    for scale, sides in part.of(InterferenceResult).interference.items():
        own = [one for one in sides if one.clients == part.clients and group in ("", one.group)]
        if own:
            found[scale] = own[0].ratio.value
    return found


class InterferenceResult(Result):
    interference = computed(_read_interference)
    """By scale: groups of clients beside each other against each alone, of all stages; empty where there are none."""


SUBJECT: Final = Subject(
    "interference", "Interference", InterferenceResult, tell=_tell,
        nothing="No groups of clients ran both alone and together.",
    measures=(
        Measure("beside", "", "rate together with other groups of clients, divided by the rate alone", _read_ratio),
    ),
)  # fmt: skip
