"""A study as text, as JSON and as files: effects, interactions, shares of variance, rates and resources by level."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import isfinite
from statistics import median
from typing import Any, Final

import numpy as np

from dsbench.read.blocks import Column
from dsbench.read.draw import render
from dsbench.read.draw.theme import Spec
from dsbench.read.report.page.markup import number
from dsbench.read.stats.effects import LEVEL, Effect, Effects, Share, spearman
from dsbench.read.text import align_rows
from dsbench.study import Outcomes, mean
from dsbench.study.diagrams import specs
from dsbench.study.notes import SHORT, incomparable, notes
from dsbench.study.page import page

STEM: Final = "results"
Grid = tuple[str, list[list[str]]]
"""A title, and rows; the first has the heads."""


def text(found: Outcomes) -> str:
    """For a terminal."""
    lines = [*heading(found), "", *(f"  {line}" for line in verdict(found))]
    for title, (heads, *rows) in grids(found):
        lines += ["", title, *align_rows([Column(head, left=not at) for at, head in enumerate(heads)], rows)]
    for line in notes(found):
        lines += ["", line]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def heading(found: Outcomes) -> list[str]:
    """What was asked, and how much of it is there."""
    study = found.study
    blocks = len({trial.block for trial in study.trials})
    made = f"{len(found.made)} of {len(study.trials)} trials in {blocks} {'block' if blocks == 1 else 'blocks'}"
    over = f"; each is {_points(found)}" if found.made else ""
    stage = f"{found.stage}; what runs beside it is not in the rate" if found.stage else ""
    what = f"{found.workload} on {', '.join(found.products)}" if found.made else ""
    lines = [study.spec.name, f"{made}{over}", stage, what]
    return [line for line in [lines[0], study.spec.about, *lines[1:]] if line]


def _points(found: Outcomes) -> str:
    what = {"rate": "median rate of the cycles"}.get(found.measure, _WHAT[found.measure])
    if len(found.points) == 1:
        return f"the {what} at scale {found.points[0].scale}"
    if not found.points:
        return f"the geometric mean over its scales of the {what}"
    scales = ", ".join(str(x) for x in sorted({point.scale for point in found.points}))
    threads = sorted({point.threads for point in found.points} - {0})
    more = f" and threads {', '.join(map(str, threads))}" if threads else ""
    return f"the geometric mean over scales {scales}{more} of the {what}"


_WHAT: Final = {"rate": "rate", "p50": "median residence time", "p99": "99 % quantile of the residence times"}


def verdict(found: Outcomes) -> list[str]:
    """A sentence for each effect that is there, the largest first, and one for those that are not."""
    effects = found.effects
    lines = incomparable(found)
    if effects is None or not effects.free:
        return [*lines, "no effect can be told from chance: nothing was repeated; dsbench study add FOLDER --repeat 2"]
    real = [one for one in (*effects.main, *effects.interactions) if one.known and not one.none]
    real.sort(key=lambda one: -abs(_size(one)))
    lines += [f"{_name(found, one)}: {_ratio(one)} times the {SHORT[found.measure]}" for one in real[:_VERDICTS]]
    if len(real) > _VERDICTS:
        lines.append(f"and {len(real) - _VERDICTS} more, see below")
    told = {at for one in effects.main if one.known for at in one.factors}
    still = [at for at in range(len(found.factors)) if not any(at in one.factors for one in real)]
    quiet, unknown = ([found.factors[at] for at in still if (at in told) is known] for known in (True, False))
    within = "the intervals tell how large one may be, and more blocks make them narrower"
    lines += [f"no effect of {', '.join(quiet)} was found; {within}"] * bool(quiet)
    why = "these trials do not set its levels beside each other"
    return lines + [f"nothing can be told of {', '.join(unknown)}: {why}"] * bool(unknown)


_VERDICTS: Final = 12
"""Effects that are told in sentences."""


def _size(one: Effect) -> float:
    return max(one.ratio.value, 1 / one.ratio.value)


def _name(found: Outcomes, one: Effect) -> str:
    levels = [
        (found.factors[at], found.levels[at][level].name) for at, level in zip(one.factors, one.levels, strict=True)
    ]
    if len(levels) == 2:
        return " with ".join(f"{factor} {level}" for factor, level in levels)
    (factor, level), reference = levels[0], found.references[one.factors[0]]
    return f"{factor} {level} against {found.levels[one.factors[0]][reference].name}"


def _ratio(one: Effect) -> str:
    if not isfinite(one.ratio.value):
        return "–"
    within = f" [{one.ratio.low:.3g}, {one.ratio.high:.3g}]" if one.known else ""
    return f"{one.ratio.value:.3g}{within}"


def grids(found: Outcomes) -> Iterator[Grid]:
    """All tables."""
    effects = found.effects
    what = {"rate": "the rate"}.get(found.measure, f"the {_WHAT[found.measure]}")
    if effects is not None:
        rows = [[_name(found, one), *_cells(one)] for one in effects.main]
        yield f"effects on {what}, as ratios", [["", "ratio", f"{LEVEL * 100:g} % interval", ""], *rows]
        if effects.interactions:
            rows = [[_name(found, one), *_cells(one)] for one in effects.interactions]
            heads = ["", "ratio", f"{LEVEL * 100:g} % interval", ""]
            yield "interactions: what two levels do together over the product of what each does alone", [heads, *rows]
        if effects.shares:
            shares = [[_what(found, one), f"{one.share:.1%}"] for one in effects.shares]
            yield (
                "share of the variance of ln rate" if found.measure == "rate" else "share of the variance",
                [["", ""], *shares],
            )
    yield f"by level, geometric mean [{found.unit}]", [["factor", "level", *_heads(found), "trials"], *_by_level(found)]
    costs = list(_costs(found))
    if len(costs) > 1:
        yield "resources per transaction, median over the trials, at the largest scale", costs
    yield from _foretold(found)
    cached = list(_cached(found))
    if len(cached) > 1:
        yield "found in memory, by trial, at the largest scale", cached


def _cells(one: Effect) -> list[str]:
    if not one.known:
        return [_ratio(one), "–", "not known"]
    word = "none" if one.none else "more" if one.ratio.value > 1 else "less"
    return [f"{one.ratio.value:.3f}", f"{one.ratio.low:.3f} to {one.ratio.high:.3f}", word]


def _what(found: Outcomes, share: Share) -> str:
    names = " × ".join(found.factors[at] for at in share.factors)
    return names or _NO_FACTOR[share.what]


_NO_FACTOR: Final = {
    "blocks": "blocks: drift between repetitions",
    "rest": "rest: chance, and what is not in the model",
    "mixed": "several together: these trials do not tell whose it is",
}


def _heads(found: Outcomes) -> list[str]:
    if len(found.points) < 2:
        return ["all"]
    return [*(f"{f'{p.threads} threads, ' if p.threads else ''}scale {p.scale}" for p in found.points), "all"]


def _by_level(found: Outcomes) -> Iterator[list[str]]:
    for factor, name in enumerate(found.factors):
        for level, alike in enumerate(found.alike(factor)):
            of_points = (
                [mean(one.values.get(point, 0) for one in alike) for point in found.points]
                if len(found.points) > 1 else []
            )
            values = [*of_points, mean(found.value(one) for one in alike)]
            mark = " (reference)" if level == found.references[factor] else ""
            yield [name, found.levels[factor][level].name + mark, *(number(value) for value in values), str(len(alike))]


_RESOURCES: Final = (
    "server CPU time", "client CPU time", "CPU waiting for I/O", "context switches", "disk reads", "read from disk",
    "disk read time", "written to disk", "disk write time", "WAL", "blocks read", "page reads", "page writes",
)  # fmt: skip
"""What is told by level, of those that a transaction took; the archives have all."""


def _costs(found: Outcomes) -> Iterator[list[str]]:
    """Heads, and a row for each level; columns are those resources that some transaction took."""
    used = {cost.name: cost.unit for one in found.made for cost in one.resources if cost.per_transaction > 0}
    names = [name for name in _RESOURCES if name in used]
    if not names:
        return
    yield ["factor", "level", *(f"{name} [{used[name]}]" for name in names)]
    for factor, name in enumerate(found.factors):
        for level, alike in enumerate(found.alike(factor)):
            cells = [
                _median([c.per_transaction for one in alike for c in one.resources if c.name == cost]) for cost in names
            ]
            yield [name, found.levels[factor][level].name, *(number(value, 3) for value in cells)]


def _foretold(found: Outcomes) -> Iterator[Grid]:
    """How well storage tools foretell the rate (the paper, section 5.2); nothing where none measured."""
    tests = list(dict.fromkeys(name for one in found.made for name in one.probes))
    rates, indices = (np.array([of(one) for one in found.made]) for of in (found.value, lambda one: one.dsi))
    rows = []
    for test in tests:
        values = np.array([one.probes.get(test, np.nan) for one in found.made])
        with_rate, with_dsi = spearman(values, rates), spearman(values, indices)
        cells = [f"{one.rho:+.2f} (p {one.p:.2g})" if isfinite(one.rho) else "–" for one in (with_rate, with_dsi)]
        rows.append([test, *cells, str(with_rate.pairs)])
    if rows:
        heads = ["storage tool", f"with the {SHORT[found.measure]}", "with the DSI", "trials"]
        yield "rank correlation (Spearman) over the trials, at the largest scale; p: by chance alone", [heads, *rows]


def _cached(found: Outcomes) -> Iterator[list[str]]:
    """Heads, and a row for each trial: by the server's counters, and by times, beside each other."""
    yield ["trial", *found.factors, "blocks, by the server", "transactions under 1 ms", "under", "between the modes"]
    if not any(isfinite(one.hits.blocks) or isfinite(one.hits.valley_ns) for one in found.made):
        return
    for one in sorted(found.made, key=lambda made: (made.at, made.trial.block)):
        hits = one.hits
        if isfinite(hits.blocks) or isfinite(hits.usual):
            limit = f"{number(hits.valley_ns / 1e6, 3)} ms" if isfinite(hits.valley_ns) else "one mode"
            shares = [f"{share:.1%}" if isfinite(share) else "–" for share in (hits.blocks, hits.usual, hits.found)]
            yield [str(one.trial.number), *one.trial.levels, *shares[:2], limit, shares[2]]


def _median(values: list[float]) -> float:
    known = [value for value in values if isfinite(value)]
    return median(known) if known else float("nan")


def document(found: Outcomes) -> dict[str, Any]:
    """As JSON values; ``null`` where there is nothing."""
    study = found.study
    made = {one.trial.number: one for one in found.made}
    return {
        "name": study.spec.name,
        "measure": found.measure,
        "unit": found.unit,
        "factors": [
            {"name": name, "levels": [level.name for level in levels], "reference": levels[reference].name}
            for name, levels, reference in zip(found.factors, found.levels, found.references, strict=True)
        ],
        "effects": _effects(found, found.effects),
        "trials": [
            {**asdict(trial), "levels": dict(zip(found.factors, trial.levels, strict=True)),
             "value": _finite(found.value(made[trial.number])) if trial.number in made else None,
             "not_comparable": {name: {"first": there, "here": here}
                                for name, (there, here) in found.unlike.get(trial.number, {}).items()},
             "values": [{"threads": point.threads or None, "scale": point.scale, "value": _finite(value)}
                        for point, value in made[trial.number].values.items()] if trial.number in made else []}
            for trial in study.trials
        ],
    }  # fmt: skip


def _effects(found: Outcomes, effects: Effects | None) -> dict[str, Any] | None:
    if effects is None:
        return None
    return {
        "main": [_effect(found, one) for one in effects.main],
        "interactions": [_effect(found, one) for one in effects.interactions],
        "shares": [{"factors": [found.factors[at] for at in one.factors], "what": one.what, "share": one.share}
                   for one in effects.shares],
        "level": LEVEL, "degrees_of_freedom": effects.free, "scatter": _finite(effects.scatter),
    }  # fmt: skip


def _effect(found: Outcomes, one: Effect) -> dict[str, Any]:
    levels = {
        found.factors[at]: found.levels[at][level].name for at, level in zip(one.factors, one.levels, strict=True)
    }
    ends = {name: _finite(getattr(one.ratio, name)) for name in ("value", "low", "high")}
    return {"levels": levels, "ratio": ends, "none": one.none if one.known else None}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def html(found: Outcomes, drawn: Mapping[str, Spec] | None = None) -> str:
    """The page; ``drawn`` are its diagrams, if they exist already."""
    shown = specs(found) if drawn is None else drawn
    return page(found.study.spec.name, heading(found)[1:], verdict(found), notes(found), list(grids(found)), shown)


def files(found: Outcomes) -> dict[str, bytes]:
    """File name to content: results.txt, .json and .html, and each diagram as .vl.json, .svg and .pdf."""
    drawn = specs(found)
    made = {
        f"{STEM}.txt": text(found).encode(),
        f"{STEM}.json": (json.dumps(document(found), indent=2, ensure_ascii=False) + "\n").encode(),
        f"{STEM}.html": html(found, drawn).encode(),
    }
    for name, spec in drawn.items():
        made |= render.drawn_as(f"{STEM}-{name}", spec)
    return made
