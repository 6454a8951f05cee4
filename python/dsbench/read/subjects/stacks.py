"""What the server does on CPUs, function by function: a flame graph (--perf stacks)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import sqrt
from typing import TYPE_CHECKING, Final

from dsbench.dataclass import dataclass
from dsbench.read.blocks import Block, Column, Picture, Sentence, Table
from dsbench.read.flame import draw_difference, draw_flame
from dsbench.read.series import each_series
from dsbench.read.subject import Result, Subject, computed

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation
    from dsbench.read.flame import Stacks

_MOST: Final = 20
_DEVIATIONS: Final = 3.0
"""By how many standard errors a share has to change to be told: there are many functions."""
_POINT: Final = 0.01
REST: Final = "(rare stacks)"


@dataclass(frozen=True)
class Function:
    """A function in the samples of one scale."""

    name: str
    own: float
    """Share of the samples (0-1) that were in it itself."""
    whole: float
    """Share that were in it or in what it called."""


@dataclass(frozen=True)
class Profile:
    """What was seen on CPUs at one scale."""

    of: str
    """``server``, or ``run`` for the clients of an embedded database."""
    samples: int
    functions: tuple[Function, ...]
    """Those with the most of their own first."""


def read_stacks(evaluation: Evaluation, scale: int) -> tuple[Stacks, int]:
    """Stack to its share of the samples, and how many samples there are."""
    clients = set(evaluation.rows.cycles["clients"].to_pylist())
    counts: dict[tuple[str, ...], int] = defaultdict(int)
    for row in evaluation.rows.tables["stacks"].to_pylist():
        if row["scale"] == scale and row["clients"] in clients:
            counts[tuple(row["stack"].split(";")) if row["stack"] else (REST,)] += row["samples"]
    total = sum(counts.values())
    return {stack: count / total for stack, count in counts.items()} if total else {}, total


def _read_profile(evaluation: Evaluation) -> dict[int, Profile]:
    found = {}
    sides = {row["scale"]: row["of"] for row in evaluation.rows.tables["stacks"].to_pylist()}
    for scale, of in sorted(sides.items()):
        stacks, samples = read_stacks(evaluation, scale)
        if samples:
            every = sorted(add_functions(stacks).values(), key=lambda one: -one.own)
            found[scale] = Profile(of, samples, tuple(one for one in every if one.whole >= _POINT))
    return found


def add_functions(stacks: Stacks) -> dict[str, Function]:
    """By name; a function that calls itself counts once."""
    own: dict[str, float] = defaultdict(float)
    whole: dict[str, float] = defaultdict(float)
    for stack, share in stacks.items():
        own[stack[-1]] += share
        for name in set(stack[1:]) or {stack[0]}:
            whole[name] += share
    return {name: Function(name, own[name], share) for name, share in whole.items()}


_COLUMNS: Final = (
    Column("function", left=True), Column("itself", form=".1%"), Column("with callees", form=".1%"),
)  # fmt: skip
_NOTE: Final = (
    "Samples in which {of} was on a CPU, from perf during one more cycle. _[k]: kernel. Without debug symbols, "
    "few functions have names: [postgres] means other functions of that file."
)
_CAPTION: Final = (
    "The width of a frame is its share of the samples; its caller is above it: wide frames at the bottom used the "
    "CPUs. Blue: kernel; grey: functions without a name. Point at a frame for its name and share."
)
_OF: Final = {"server": "the server", "run": "a client, including the embedded database,"}


def _tell(evaluation: Evaluation) -> Iterator[Block]:
    for heading, part in each_series(evaluation):
        for scale, profile in part.of(StacksResult).profile.items():
            where = f"scale {scale}" + (f", {heading}" if heading else "")
            stacks, _ = read_stacks(part, scale)
            about = f"Flame graph at {where}, {profile.samples:,} samples"
            name = f"flame-{part.stage}-{part.clients}-{scale}"
            yield Picture(name, draw_flame(stacks, about), f"{about}. {_CAPTION}")
            rows = [(one.name, one.own, one.whole) for one in profile.functions if one.own >= _POINT / 2][:_MOST]
            yield Table(f"Functions with most CPU time, {where}, {profile.samples:,} samples", _COLUMNS, rows)
    if profiles := [one for _, part in each_series(evaluation) for one in part.of(StacksResult).profile.values()]:
        yield Sentence(_NOTE.format(of=_OF[profiles[0].of]), "note")


def tell_difference(
    before: Evaluation, after: Evaluation, scale: int, names: tuple[str, str], key: str
) -> Iterator[Block]:
    """What grew and what shrank from one archive to another."""
    (old, samples_before), (new, samples) = (read_stacks(one, scale) for one in (before, after))
    if not old or not new:
        return
    functions = [add_functions(one) for one in (old, new)]
    rows = []
    for name in {**functions[0], **functions[1]}:
        was, now = (one.get(name, Function(name, 0.0, 0.0)) for one in functions)
        if is_told(was.whole, samples_before, now.whole, samples):
            rows.append((name, was.whole, now.whole, 100 * (now.whole - was.whole), 100 * (now.own - was.own)))
    rows.sort(key=lambda row: -abs(row[4]) - abs(row[3]) / 1000)
    about = f"{names[1]} compared with {names[0]} at scale {scale}: {samples:,} samples, before {samples_before:,}"
    caption = (
        f"{about}. The width of a frame is the mean of its two shares. Red: it grew; blue: it shrank, by percentage "
        "points."
    )
    yield Picture(f"flames-{key}", draw_difference(old, new, about), caption)
    columns = (Column("function", left=True), Column(names[0], form=".1%"), Column(names[1], form=".1%"),
               Column("change", "points", form="+.1f"), Column("of its own", "points", form="+.1f"))  # fmt: skip
    if rows:
        yield Table(f"Changes of CPU time by function, {names[1]} compared with {names[0]}", columns, rows[:_MOST])
    else:
        yield Sentence(f"{about}: no function's share of the CPU time changed by more than chance.")


def is_told(was: float, before: int, now: float, after: int) -> bool:
    """Whether two shares of so many samples differ by a point and by more than chance."""
    pooled = (was * before + now * after) / (before + after)
    error = sqrt(pooled * (1 - pooled) * (1 / before + 1 / after))
    return abs(now - was) >= max(_POINT, _DEVIATIONS * error)


class StacksResult(Result):
    profile = computed(_read_profile)
    """By scale: what the server did on CPUs, function by function; empty without --perf stacks."""


SUBJECT: Final = Subject(
    "stacks",
    "Flame graph", StacksResult,
    tell=_tell,
    nothing="No stacks were recorded: --perf stacks does, where the kernel allows it; the warnings show why it "
    "does not.",
)
