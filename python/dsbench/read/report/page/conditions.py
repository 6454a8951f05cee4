"""Parts of the page that say under which conditions the figures came about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dsbench.archive import RunRecord
from dsbench.read.report.page.command import command_line, config_file
from dsbench.read.report.page.markup import Html, section, table, tag, terms
from dsbench.spec import OPTIONS, printed


def specification(run: RunRecord) -> Html:
    """What the run was asked to do, and the command that asks for it again."""
    spec = run.spec.described()
    parts: list[object] = [tag("p", "To repeat this run:"), tag("pre", command_line(spec), tabindex=0)]
    if extra := config_file(spec):
        parts += [tag("p", "with a file beside it:"), tag("pre", extra, tabindex=0)]
    if "***" in run.spec.target.url:
        parts.append(tag("p", "Write the password where *** stands, or leave it to the client's own configuration."))
    rows = [[name, value] for name, value in _flat(spec).items()]
    parts.append(table("Specification", ["name", "value"], rows, numbers=False))
    return section("Specification", *parts, key="specification")


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            option = OPTIONS.get(prefix + name)
            flat[prefix + name] = (option.shown(value) if option else printed(value)) or "–"
    return flat


_TERMS: Final = (
    ("cycle", "One interval of demanded duration. Its rate is the transactions that ended in it, divided by the "
     "duration. Cycles of one scale share a database, so they are no independent repetitions."),
    ("transaction rate", "Median over the cycles of a scale, in transactions per second (tps)."),
    ("residence time", "From the start of the first attempt to the end of the successful one, as the client sees it. "
     "In the open loop the response time counts from the moment the start was due."),
    ("f", "Sum of all residence times divided by the demanded time: how many transactions were under way at once on "
     "average. It turns residence times into rates."),
    ("confidence level", "A quantile of the residence times, turned into a rate by f. At 95 % this share of the "
     "transactions is fast enough for the rate shown. It is not a confidence interval."),
    ("DSI", "Half the area below the rate over the scale, both in powers of ten. It depends on the range of scales: "
     "only runs of the profile dsi can be compared. Over its four decades a difference of 0.1 means rates that are "
     "12 % apart at every scale."),
    ("failed attempts", "Attempts that the database refused, such as serialization failures; those that were tried "
     "again are counted too."),
    ("T(X) = X", "The scale at which the rate equals the scale. TPC-B, clause 4.1, asks for a database of at least "
     "that scale before a rate may be claimed."),
)


def glossary(run: RunRecord) -> Html:
    """How to read the page."""
    unit = run.entry.unit
    what = f"one {unit.name}" + (f", {unit.about}," if unit.about else "")
    scale = ("scale", f"Size of the database: {what} for each unit.")
    return section("How to read this page", terms((scale, *_TERMS)), key="glossary")
