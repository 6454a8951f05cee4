"""A comparison for people and for programs: verdicts, warnings, diagrams, tables, what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import numpy as np

from dsbench.archive.conditions import Condition, State, state_of
from dsbench.format import NONE, finite, format_number, shorten
from dsbench.read import subjects
from dsbench.read.blocks import Block, Column, Diagram, Notice, Notices, Overview, Part, Sentence, Table, Terms
from dsbench.read.choice import read_values
from dsbench.read.draw.vega import Spec
from dsbench.read.evaluation import Evaluation
from dsbench.read.html import render_document
from dsbench.read.subject import Values
from dsbench.read.subjects.rate import RateResult, describe_cutoff
from dsbench.read.text import render_text
from dsbench.several import bounds, causes, queries, stages
from dsbench.several.compare import TIMES, Comparison, Section, Told, basis, verdicts
from dsbench.several.drawn import specs
from dsbench.several.drawn_queries import side_by_side
from dsbench.several.files import make_files
from dsbench.several.relative import answer, say_capacity, tell_relative
from dsbench.several.settings import OF_SERVER
from dsbench.stats.values import Interval

STEM: Final = "comparison"
_MEAN: Final = (
    "mean: the mean of the factors along lg scale, over the scales that the archive shares with the first"
)
_VERDICTS: Final = ("faster", "slower", "more", "less", "cannot tell")
_LETTERS: Final = 40
"""Of a value that a terminal shows; a page shows ``_WIDE``."""
_WIDE: Final = 200
_MOST: Final = 30
"""Settings that only some of the archives have, of which a terminal shows no more."""
_CAPTIONS: Final = {
    "rate": "Rates over the scale; bars: minimum to maximum of the cycles.",
    "load": "99th percentile of response times by rate: a dot for each cycle of a search; lines and bands: the "
    "highest rates that keep the objective, with their intervals.",
    "relative": "Each rate divided by that of the first at the same scale; bars: 95% intervals.",
    "freq": "Share of transactions that take longer than the time on the axis. The further right a curve ends, the "
    "worse its slowest transactions.",
    "clients": "Rates over the number of clients, at the largest scale.",
    "stages": "Rate of each stage, a bar for each archive.",
    "courses": "Rate and maximum response time of each second of each stage, a line for each archive.",
    "queries": "Times of each query and refresh, a dot for each archive.",
    "bound": "Rates over the number of clients, with the upper bound from the peaks of its parts.",
}
_SWITCHED: Final = frozenset({"rate", "relative", "clients"})


def tell(
    comparison: Comparison, drawn: Mapping[str, Spec] | None = None, judged: Overview | None = None
) -> Iterator[Block]:
    """The comparison in words, tables and diagrams.

    For a terminal, without ``drawn``, letters stand for the sides, and the least that nobody looks for is left out.
    Where something else ``judged`` these archives, that is said, and no verdict of their comparison.
    """
    labels = comparison.labels
    brief = drawn is None
    letters = tuple(chr(65 + i % 26) + str(i // 26 or "") for i in range(len(labels)))
    names = letters if brief else labels
    yield judged or answer(comparison)
    lettered = (brief or judged is not None) and not comparison.stages.staged
    yield Terms(list(zip(letters, labels, strict=True)) if lettered else [])
    sides = tuple(" ".join(pair) for pair in zip(letters, labels, strict=True)) if brief else labels
    columns = sides if comparison.stages.staged else names
    relative = [] if judged else list(tell_relative(comparison, columns, brief=brief))
    heading = "Relative capacities" if comparison.sections[-1].searched else "Relative rates"
    yield from relative if brief else [Part(heading, relative, key="relative")] * bool(relative)
    if noted := list(comparison.told()):
        yield Part("Warnings", [Notices(list(_notices(noted, names)))], key="warnings")
    figures = [Diagram(name, spec, _CAPTIONS[name], name in _SWITCHED)
               for name, spec in (drawn or {}).items() if name not in _left_out(comparison)]  # fmt: skip
    if figures:
        yield Part("Diagrams", figures, key="diagrams", tab="Diagrams")
    if not judged and (said := list(_tell_verdicts(comparison, names))):
        yield Part("Verdict", said, key="verdict", tab="Figures")
    runs = [pair for side in comparison.sides for pair in zip(side.runs, side.evaluations, strict=True)]
    yield from _tell_peaks(bounds.of_evaluations(runs))
    if comparison.stages.staged:
        tables = [*stages.tell_rates(comparison.stages, names), *stages.tell_efficiency(comparison.stages, names)]
        yield Part("Stages", tables, key="stages", tab="Stages")
    if asked := list(queries.tell_queries(queries.read_queries(comparison), names, brief=brief)):
        yield Part("Queries", asked, key="queries", tab="Queries")
    for number, section in enumerate(comparison.sections, start=1):
        title = f"Figures, {section.heading}" if section.heading else "Figures"
        yield Part(title, list(_tell_section(section, names)), key=f"figures-{number}", tab="Figures")
        yield from _tell_causes(section, number, names, said=not judged)
    if any(one.overall for section in comparison.sections for one in section.compared[1:]):
        yield Part("Means", [Sentence(_MEAN, "note")], key="means", tab="Figures")
    if systems := list(_tell_systems(comparison, names, brief=brief)):
        yield Part("Systems", systems, key="systems", tab="What differs")
    differs = list(_tell_differences(comparison, names, brief=brief))
    yield Part("What differs", differs, key="differences", tab="What differs")
    if not brief:
        archives = [", ".join(one.name for one in side.evaluations) for side in comparison.sides]
        named = Terms(list(zip(labels, archives, strict=True)))
        yield Part("Archives", [named], key="archives", tab="What differs")


def _left_out(comparison: Comparison) -> set[str]:
    """Diagrams that are files for print alone: a button of the first one switches to its linear axis, and over a single
    scale a table says more than dots."""
    section = comparison.sections[-1]
    rates = {scale for one in section.compared for scale in one.medians}
    ratios = {scale for one in section.compared[1:] for scale in one.relative}
    return {"linear", *(name for name, scales in (("rate", rates), ("relative", ratios)) if len(scales) < 2)}


def _tell_verdicts(comparison: Comparison, names: tuple[str, ...]) -> Iterator[Block]:
    """Those that say more than the sentence above them: the rest is in the table."""
    if len(comparison.sides) == 2 and len(comparison.sections) == 1:
        return
    for section in comparison.sections:
        said = [(name, line) for name, line in verdicts(comparison, section, names) if line.startswith(_VERDICTS)]
        if said:
            yield Part(section.heading, [Terms(said)]) if section.heading else Terms(said)


def _notices(said: Sequence[Told], names: Sequence[str]) -> Iterator[Notice]:
    """One for each kind, with the sides that have it; what makes figures void or unsafe comes first."""
    kinds: dict[str, list[Told]] = {}
    for one in said:
        kinds.setdefault(one.kind, []).append(one)
    for some in sorted(kinds.values(), key=lambda some: not some[0].words.startswith(("NOT DURABLE", "VOID"))):
        words = list(dict.fromkeys(one.words for one in some))
        first = some[0].side
        of = f"{names[first]}: " if first is not None and len(words) > 1 else ""  # Its figures are no other side's.
        more = f"; and {len(words) - 1} more of this kind" if len(words) > 1 else ""
        where = dict.fromkeys(names[one.side] for one in some if one.side is not None)
        yield Notice(f"{of}{words[0]}{more}", tuple(where))


def _tell_peaks(found: bounds.Bounds) -> Iterator[Block]:
    if found.bounds:
        yield Part("Upper bounds", list(bounds.tell_bounds(found)), key="bounds", tab="Figures")
    if any(len(one.rates) > 1 for one in found.measured):
        yield Part("Peaks", list(bounds.tell_peaks(found)), key="peaks", tab="Figures")


def _tell_causes(section: Section, number: int, names: Sequence[str], *, said: bool) -> Iterator[Block]:
    """``said``: whether sentences tell what became of the sides that differ."""
    def differs(side: int, scale: int) -> bool:
        return said and section.differs(side, scale)

    if changed := list(causes.tell_changes(section.evaluations, section.bases, names, differs)):
        heading = f"Where the time goes, {section.heading}" if section.heading else "Where the time goes"
        yield Part(heading, changed, key=f"why-{number}", tab="Figures")
    if flames := list(causes.tell_stacks(section.evaluations, section.bases, names)):
        heading = f"CPU time by function, {section.heading}" if section.heading else "CPU time by function"
        yield Part(heading, flames, key=f"stacks-{number}", tab="Figures")


def _tell_section(section: Section, names: Sequence[str]) -> Iterator[Block]:
    """Rates with their index, relative rates, times, failures, checks: a column for each side."""
    sides = range(len(section.evaluations))

    def table(title: str, rows: list[list[Any]], head: str = "scale", form: str = "") -> Table:
        return Table(title, [Column(head, left=True), *(Column(name, form=form) for name in names)], rows)

    several = any(len(side) > 1 for side in section.evaluations)
    of = "geometric mean of the runs' medians" if several else "median over the cycles"
    rates = [[str(scale), *(_show_rate(section, at, scale) for at in sides)] for scale in section.scales]
    indices = [["DSI", *(_index(section.dsi(at)) for at in sides)]] if section.measure == "tps" else []
    spans = ["of scales", *(f"{min(m)}–{max(m)}" if (m := one.medians) else NONE for one in section.compared)]
    falls = [describe_cutoff(side[0]) if side else (NONE, NONE) for side in section.evaluations]
    shown = [["cut-off, scales", *(scales for scales, _ in falls)], ["cut-off, GB", *(sizes for _, sizes in falls)]]
    cutoffs = shown if any(scales != NONE for scales, _ in falls) else []
    title = f"rate, {of}, {section.measure}"
    if section.searched:
        kept = " or ".join(dict.fromkeys(section.objectives(at) for at in sides))
        title = f"highest rate with {kept}, {'median of the runs, ' if several else ''}tps"
    yield table(title, [*rates, *indices, spans, *cutoffs])
    reference = " and ".join(names[base] for base in dict.fromkeys(section.bases))
    parts = [section.dsi_parts(at) for at in sides]
    if section.measure == "tps" and any(parts):
        shares = [[str(scale), *(one.get(scale) for one in parts)] for scale in section.scales]
        sums = ["sum of these", *(sum(one.values()) if one else None for one in parts)]
        title = f"part of each common scale in the difference of the DSI from that of {reference}"
        yield table(title, [*shares, sums], form="+.3f")
    times = [[f"{scale}, {name}", *(_show_time(section.time_interval(at, scale, quantile)) for at in sides)]
             for scale in section.begun for quantile, name in TIMES.items()]  # fmt: skip
    which = "response times from the intended start" if section.waits else "latencies"
    yield table(f"{which}, ms", times, "scale, quantile")
    ratios = [[f"{scale}, {name}", *(_show_time_ratio(section, at, scale, quantile) for at in sides)]
              for scale in section.begun for quantile, name in TIMES.items() if quantile < 1]  # fmt: skip
    if any(cell.endswith("]") for row in ratios for cell in row[1:]):
        yield table(f"{which}, times those of {reference}", ratios, "scale, quantile")
    for title, of_sides in _read_others(section).items():
        yield table(title, [[str(scale), *(one.get(scale) for one in of_sides)] for scale in section.scales])
    failed = [[str(scale), *(section.failed_share(at, scale) for at in sides)] for scale in section.begun]
    yield table("failed attempts", failed, form=".1%")
    checks = [[str(scale), *(_check(section, at, scale) for at in sides)] for scale in section.begun]
    yield table("check of the database", checks)


def _show_rate(section: Section, side: int, scale: int) -> str | float | None:
    """That of a search with its interval, or what there is of one."""
    if section.searched:
        return say_capacity(section.capacity(side, scale))
    return section.compared[side].medians.get(scale)


def _show_time(found: Interval) -> str:
    if not isfinite(found.low):
        return format_number(found.value)
    return f"{format_number(found.value)} [{format_number(found.low)}, {format_number(found.high)}]"


def _show_time_ratio(section: Section, side: int, scale: int, quantile: float) -> str:
    if side == section.bases[side]:
        return "1"
    found = section.time_ratio(side, scale, quantile)
    return f"{found.value:.2f}{_within(found)}" if isfinite(found.value) else NONE


_OTHERS: Final = ("transactions-per-money", "joules-per-transaction", "watts")
"""Measures that stand side by side where any side has them."""


def _read_others(section: Section) -> dict[str, list[dict[int, float]]]:
    """Name with its units, to scale to the median over the runs for each side."""
    found = {}
    for name in _OTHERS:
        measure = subjects.measures()[name]
        sides = [[(measure.get_unit(one), read_values(measure, one)) for one in side] for side in section.evaluations]
        units = dict.fromkeys(unit for side in sides for unit, values in side if values)
        values = [[values for _, values in side] for side in sides]
        if units:
            title = f"{name.replace('-', ' ')}, {' or '.join(units)}".rstrip(", ")
            found[title] = [_medians(side) for side in values]
    return found


def _medians(runs: Sequence[Values]) -> dict[int, float]:
    return {x: float(np.median([one[x] for one in runs if x in one])) for values in runs for x in values}


def _check(section: Section, side: int, scale: int) -> str:
    """That of the worst run of a side; of conditions that were not all made, how many hold."""
    runs = [one.run.checks.get(scale, ()) for one in section.evaluations[side] if _has(one, scale)]
    if not runs:
        return NONE
    state = state_of(one for found in runs for one in found or [Condition()])
    worst = min(runs, key=lambda found: sum(one.state is State.HOLDS for one in found))
    held = sum(one.state is State.HOLDS for one in worst)
    return f"{held} of {len(worst)} hold" if state is State.NOT_MADE and held else state.shown


def _has(one: Evaluation, scale: int) -> bool:
    return any(row.scale == scale for row in one.of(RateResult).scales)


def _index(found: Interval | None) -> str:
    return NONE if found is None else f"{found.value:.2f}{_within(found)}"


def _within(interval: Interval) -> str:
    return f" [{interval.low:.2f}, {interval.high:.2f}]" if isfinite(interval.low) else ""


_SYSTEM: Final = (
    ("core", ("CPU", "cores", "threads", "MHz", "caches", "CPU limit", "RAM", "memory modules", "RAM limit")),
    ("storage backend", ("device", "disk", "read limit", "write limit")), ("file system", ("type",)),
    ("operating system", ("distribution", "kernel", "virtual machine")),
)  # fmt: skip
"""What the system of a run is, by layer of its stack (the paper, table 3)."""


def describe_systems(comparison: Comparison) -> dict[str, list[str]]:
    """Names of what the systems are, to a value for each side; without what no side tells."""
    runs = [side.runs[0] for side in comparison.sides]
    found = {"host": [run.host for run in runs]}
    for layer, names in _SYSTEM:
        for name in names:
            # What a machine may have several of has names: "disk sda".
            known = [[f"{value}" for one in run.stack if one.layer == layer for key, value in one.items.items()
                      if key == name or (name == "disk" and key.startswith("disk "))] for run in runs]  # fmt: skip
            found["file system" if layer == "file system" else name] = ["; ".join(values) for values in known]
    return {name: values for name, values in found.items() if any(values)}


def _tell_systems(comparison: Comparison, names: Sequence[str], *, brief: bool) -> Iterator[Block]:
    """Systems beside each other, where there are several; else the one, for a terminal nothing."""
    systems = describe_systems(comparison)
    apart = any(len(set(values)) > 1 for values in systems.values())
    if brief and not apart:
        return
    heads = names if apart else ("all of them",)
    rows = [[name, *(value or NONE for value in values[: len(heads)])] for name, values in systems.items()
            if not brief or len(set(values)) > 1]  # fmt: skip
    yield Table("", [Column("", left=True), *(Column(name, left=True) for name in heads)], rows)


def _is_of_systems(name: str) -> bool:
    """Whether a difference is one of those that stand among the systems."""
    layer, _, item = name.partition(".")
    item = "disk" if item.startswith("disk ") else item
    return any(layer == one and item in names for one, names in _SYSTEM)


def _tell_differences(comparison: Comparison, names: Sequence[str], *, brief: bool) -> Iterator[Block]:
    """What somebody changed comes first, behind it what products have that others do not know; for a terminal without
    what it has of the systems."""
    changed, others = (
        {name: values for name, values in found.items() if not (brief and _is_of_systems(name))}
        for found in (comparison.changed, comparison.differences)
    )
    others = {name: values for name, values in others.items() if name not in changed}
    shown = dict(list(others.items())[: _MOST if brief else None])
    longest = _LETTERS if brief else _WIDE
    for title, settings in (("", changed), ("not all of them have", shown)):
        rows = []
        for name, values in settings.items():
            unsaid = "default" if name.startswith(OF_SERVER) else ""
            rows.append([name, *(shorten(value or unsaid, longest) for value in values)])
        if rows:
            yield Table(title, [Column(head, left=True) for head in ("setting", *names)], rows)
    if len(others) > len(shown):
        yield Sentence(f"and {len(others) - len(shown)} more: see --json, or the page of --out", "note")
    if not comparison.differences:
        yield Sentence("The recorded settings of the runs do not differ.")


def text(comparison: Comparison) -> str:
    """For a terminal."""
    return render_text(tell(comparison)) + "\n"


def title(comparison: Comparison) -> str:
    """Of the page."""
    return f"{comparison.extent} side by side"


def draw(comparison: Comparison) -> dict[str, Spec]:
    """The diagrams by name."""
    known = [pair for side in comparison.sides for pair in zip(side.runs, side.evaluations, strict=True)]
    found = bounds.of_evaluations(known)
    bound = {"bound": bounds.spec(found, found.bounds[0].whole.system)} if found.bounds else {}
    asked = queries.read_queries(comparison)
    times = {"queries": side_by_side(asked[-1], comparison.labels)} if asked else {}
    return {**times, **specs(comparison), **bound}


def html(comparison: Comparison, judged: Overview | None = None) -> str:
    """The page; ``judged`` as in ``tell``."""
    return render_document(title(comparison), list(tell(comparison, _beside(comparison, judged), judged)))


def _beside(comparison: Comparison, judged: Overview | None) -> dict[str, Spec]:
    """The diagrams, without that of the relative rates where a verdict on them was found before."""
    drawn = draw(comparison)
    if judged:
        drawn.pop("relative", None)
    return drawn


def files(comparison: Comparison, judged: Overview | None = None) -> dict[str, bytes]:
    """File name to content: comparison.txt, .json and .html, and each diagram as .vl.json, .svg and .pdf; ``judged`` as
    in ``tell``."""
    drawn = _beside(comparison, judged)
    page = list(tell(comparison, drawn, judged))
    stems = {STEM if name == "rate" else f"{STEM}-{name}": spec for name, spec in drawn.items()}
    words = render_text(tell(comparison, judged=judged)) + "\n"
    return make_files(STEM, words, document(comparison, judged), title(comparison), page, stems)


def document(comparison: Comparison, judged: Overview | None = None) -> dict[str, Any]:
    """The comparison as JSON values; ``null`` where there is nothing. ``archives`` are those of the last section."""
    sections = [_section(comparison, section, judged) for section in comparison.sections]
    return {
        "reference": comparison.labels[0],
        "runs": comparison.tally.document(),
        "answer": (judged or answer(comparison)).sentence,
        "archives": sections[-1]["archives"],
        "sections": sections,
        "stages": stages.document(comparison.stages, comparison.labels),
        "queries": queries.document(queries.read_queries(comparison), comparison.labels),
        "systems": describe_systems(comparison),
        "differences": {name: list(values) for name, values in comparison.differences.items()},
        "doubts": list(comparison.warnings()),
    }


def _section(comparison: Comparison, section: Section, judged: Overview | None) -> dict[str, Any]:
    return {
        "heading": section.heading,
        "measure": section.measure,
        "interval": basis(section),
        "verdicts": {} if judged else dict(verdicts(comparison, section, comparison.labels)),
        "archives": [_side(comparison, section, at) for at in range(len(section.evaluations))],
        "measures": {
            title: dict(zip(comparison.labels, ({str(x): finite(value) for x, value in one.items()} for one in sides),
                            strict=True))
            for title, sides in _read_others(section).items()
        },
    }


def _side(comparison: Comparison, section: Section, at: int) -> dict[str, Any]:
    runs, one = section.evaluations[at], section.compared[at]
    index = runs[0].of(RateResult).index if runs else None
    parts = section.dsi_parts(at)
    names = [found.name for found in comparison.sides[at].evaluations]
    return {
        "label": comparison.labels[at],
        "name": names[0],
        "names": names,
        "soundness": [one.soundness.value for one in comparison.tally.sides[comparison.labels[at]]],
        "dsi": stages.describe_interval(section.dsi(at)),
        "dsi_parts": {str(x): part for x, part in parts.items()},
        "dsi_scales": [index.lowest_scale, index.highest_scale] if index else None,
        "cutoff": _cutoff(runs),
        "relative_mean": stages.describe_interval(one.overall),
        "scales": {
            str(scale): {
                _key_of(section): one.medians.get(scale),
                **({"capacity": stages.describe_interval(section.capacity(at, scale))} if section.searched else {}),
                "relative": stages.describe_interval(one.relative.get(scale)),
                "within_noise": scale in one.relative and one.relative[scale].holds_one,
                "times_ms": {name: finite(section.time_ms(at, scale, q)) for q, name in TIMES.items()},
                "times_within_ms": {name: stages.describe_interval(section.time_interval(at, scale, q))
                                    for q, name in TIMES.items()},
                "failed_share": finite(section.failed_share(at, scale)),
                "check": _check(section, at, scale),
            }
            for scale in section.begun
                if any(row.scale == scale for found in runs for row in found.of(RateResult).scales)
        },
    }  # fmt: skip


def _key_of(section: Section) -> str:
    """What the rate of a scale is called in the document."""
    return "capacity_tps" if section.searched else "rate_median_tps" if section.measure == "tps" else "nopm_median"


def _cutoff(runs: Sequence[Evaluation]) -> dict[str, Any] | None:
    """Where the rate of the first run falls most."""
    found = runs[0].of(RateResult).fall if runs else None
    if found is None:
        return None
    sizes = {row.scale: row.database_size_gb for row in runs[0].of(RateResult).scales}
    return {"scales": [found.low, found.high], "size_gb": [finite(sizes[found.low]), finite(sizes[found.high])],
            "rate_tps": [found.before_tps, found.after_tps]}  # fmt: skip
