"""From archives to what is set side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsbench.analysis.comparison import Compared, compare, differing
from dsbench.analysis.values import Floats
from dsbench.archive import Archive, RunRecord
from dsbench.evaluation.evaluated import Evaluation
from dsbench.evaluation.naming import listed, server, subject, warnings
from dsbench.evaluation.of_archive import evaluate
from dsbench.evaluation.series import phrases
from dsbench.spec import OPTIONS

_CHANCE = frozenset({
    *(f"spec.{name}" for name, option in OPTIONS.items() if option.about.compared == "chance"),
    "spec.target.directory", "file system.free", "RDBMS.database before the run", "RDBMS.version",
})  # fmt: skip
"""What may differ between two runs of the same thing and says nothing about either, or stands elsewhere."""
_OF_WORKLOAD = "spec.workload_settings."
_TOLD_ABOVE = frozenset({"durability", "cut-short", "check-failed"})
"""Doubts that stand beside every figure of an archive, in words."""


@dataclass(frozen=True)
class Comparison:
    """Archives side by side; all sequences are in the order of the archives."""

    labels: tuple[str, ...]
    """Short names, each once."""
    evaluations: tuple[Evaluation, ...]
    runs: tuple[RunRecord, ...]
    compared: tuple[Compared, ...]
    differences: Mapping[str, Sequence[str]]
    """Setting to its values, where they are not all the same."""

    @property
    def shared(self) -> dict[str, Sequence[str]]:
        """The differences in what every archive has: products have settings that others do not know."""
        return {name: values for name, values in self.differences.items() if all(values)}

    @property
    def scales(self) -> list[int]:
        """Every scale of any archive, rising."""
        return sorted({scale for one in self.compared for scale in one.medians})

    def warnings(self) -> Iterator[str]:
        """What makes figures unsafe, void or incomparable, with the label of the archive."""
        for label, evaluation, run in zip(self.labels, self.evaluations, self.runs, strict=True):
            for line in [*warnings(evaluation, run), *_doubts(evaluation), *_other_series(evaluation)]:
                yield f"{label}: {line}"
        hosts = {run.host for run in self.runs}
        if len(hosts) > 1:
            yield f"measured on several machines: {', '.join(sorted(hosts))}"
        different = [name for name, option in OPTIONS.items() if option.of_load and f"spec.{name}" in self.differences]
        different += [name.removeprefix(_OF_WORKLOAD) for name in self.differences if name.startswith(_OF_WORKLOAD)]
        if different:
            yield f"the load is not the same: {', '.join(different)} differ; relative rates compare other work as well"
        if "spec.workload" in self.differences:
            yield "the workloads differ: their rates count different transactions"


def read(paths: Sequence[Path]) -> Comparison:
    """Reads archives, folders or zips; raises ``ArchiveError``. Scales whose check failed are left out."""
    archives = [Archive.open(path) for path in paths]
    evaluations = tuple(evaluate(archive) for archive in archives)
    runs = tuple(archive.run for archive in archives)
    described = [_described(run) for run in runs]
    differences = {
        name: values for name, values in differing(described).items() if name not in _CHANCE
    }
    return Comparison(
        tuple(_labels(runs, described, differences)),
        evaluations,
        runs,
        tuple(compare([_sound(evaluation) for evaluation in evaluations])),
        differences,
    )


def _doubts(evaluation: Evaluation) -> Iterator[str]:
    """The other doubts of an archive by their codes, with their scales; its own report has them in words."""
    scales: dict[str, list[str]] = {}
    for doubt in evaluation.doubts:
        if doubt.code not in _TOLD_ABOVE:
            scales.setdefault(doubt.code, []).extend([] if doubt.scale is None else [str(doubt.scale)])
    found = [f"{code} at {', '.join(dict.fromkeys(at))}" if at else code for code, at in scales.items()]
    if found:
        yield f"doubts of its own report: {'; '.join(found)}"


def _other_series(evaluation: Evaluation) -> Iterator[str]:
    if evaluation.series:
        *others, shown = phrases(evaluation.series).values()
        if len({key.stage for key in evaluation.series}) == 1:
            told = listed(key.threads for key in list(evaluation.series)[:-1])
        else:
            told = ", ".join(others)
        yield f"its rates are those of {shown}; those of {told} stand in its own report"


def _sound(evaluation: Evaluation) -> dict[int, Floats]:
    """Rates of the cycles by scale, without those of scales whose check failed."""
    return {x: rates for x, rates in evaluation.cycle_rates.items() if x not in evaluation.void_scales}


def _described(run: RunRecord) -> dict[str, str]:
    """Everything that was set or found, by dotted names."""
    found = {"server": server(run), **_flat(run.spec.described(), "spec.")}
    # What was in force counts, not what was asked for.
    in_force = {"isolation": run.isolation, "call": run.call}
    found |= {f"spec.{name}": value for name, value in in_force.items() if value}
    found |= {f"durability.{switch.switch}": str(switch.value) for switch in run.durability}
    found |= {f"setting.{name}": str(value) for name, value in sorted(run.settings.items())}
    for layer in run.stack:
        found |= {f"{layer.layer}.{name}": str(value) for name, value in layer.items.items()}
    return found


def _flat(values: Mapping[str, Any], prefix: str) -> dict[str, str]:
    flat: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = "" if value is None else str(value)
    return flat


def _labels(
    runs: Sequence[RunRecord], described: Sequence[Mapping[str, str]], differences: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Server and workload, and as many of the differing settings as tell the archives apart."""
    mixed = "spec.workload" in differences
    names = [run.spec.label or (subject(run) if mixed else server(run)) for run in runs]
    asked = [name for name in differences if name.startswith("spec.") and not name.startswith("spec.target.url")]
    asked = [name for name in asked if name not in ("spec.workload", "spec.scales", "spec.target.version")]
    # What the database was set to says more of it than how long it was measured.
    for name in sorted(asked, key=lambda name: not name.startswith("spec.target.settings.")):
        twice = {label for label, count in Counter(names).items() if count > 1}
        values = [values.get(name, "") for values in described]
        apart = {label for label in twice if len({v for n, v in zip(names, values, strict=True) if n == label}) > 1}
        names = [
            f"{label}, {name.rpartition('.')[2]} {value}" if label in apart and value else label
            for label, value in zip(names, values, strict=True)
        ]
    seen: Counter[str] = Counter()
    for label in names:
        seen[label] += 1
        yield label if seen[label] == 1 else f"{label} ({seen[label]})"
