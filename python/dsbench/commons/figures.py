"""What an ``entry.json`` says of its archive: what follows from its tables, and what it claims and no table shows."""

from __future__ import annotations

import hashlib
import tempfile
from math import isfinite
from pathlib import Path
from typing import Any, Final

from dsbench.archive import Archive, RunRecord
from dsbench.commons.entry import CommonsEntry
from dsbench.format import counted
from dsbench.read.answer import highest, say
from dsbench.read.evaluation import Evaluation, evaluate
from dsbench.read.naming import by_client, limited, listed, pacing, server, unsafe
from dsbench.read.subjects.energy import Energy, EnergyResult
from dsbench.read.subjects.errors import ErrorsResult
from dsbench.read.subjects.kinds import KindsResult
from dsbench.read.subjects.latency import LatencyResult
from dsbench.read.subjects.load import LoadResult
from dsbench.read.subjects.rate import RateResult
from dsbench.read.subjects.warnings import WarningsResult
from dsbench.read.verdict import judge_run
from dsbench.several.settings import described
from dsbench.several.work import find_load
from dsbench.spec import OPTIONS
from dsbench.stats.values import Doubt

_LINE: Final = 80
"""Letters of a setting in the words of a group."""
_TOLD: Final = frozenset({
    "cycles", "min_duration", "duration", "clients", "peak", "nodes", "isolation", "rate", "objective", "graduated",
    "load", "pace", "terminals", "ramp_up", "precision", "precision_of", "max_cycles", "scales", "driver", "limits",
    "storage", "target", "workload", "price", "power", "lease", "levels",
})  # fmt: skip
"""Options that the group or a field of their own tells, or that change nothing."""
_SHOWN: Final = frozenset({"connections", "arrival", "existing", "reuse"})
"""Other options that the tables of any archive show."""


def describe_packed(content: bytes) -> dict[str, Any]:
    """``describe`` of the archive in a zip."""
    # It has no name, so that nothing is left of a program that was killed.
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return describe(Archive.open(Path(f"/dev/fd/{file.fileno()}")))


def describe(archive: Archive) -> dict[str, Any]:
    """What an ``entry.json`` says of its archive."""
    return describe_evaluated(evaluate(archive), archive.run)


def describe_evaluated(evaluation: Evaluation, run: RunRecord) -> dict[str, Any]:
    """The same of an archive that was evaluated."""
    return {
        "measured": run.started[:10],
        "dsbench": run.dsbench,
        "sentence": say(evaluation, run).replace(" on this machine", ""),
        "system": describe_system(run),
        "conditions": describe_conditions(evaluation, run),
        "claimed": describe_claims(run),
        "figures": compute_figures(evaluation),
        "verdict": judge_run(evaluation, run).document(),
        "warnings": tuple(dict.fromkeys(_say_doubt(doubt) for doubt in evaluation.of(WarningsResult).doubts)),
    }


def _say_doubt(doubt: Doubt) -> str:
    return doubt.message if doubt.scale is None else f"scale {doubt.scale}: {doubt.message}"


def describe_system(run: RunRecord) -> dict[str, Any]:
    """The stack in a few words each; empty where the archive does not say."""
    virtual = run.item("operating system", "virtual machine")
    disks = [str(text) for layer in run.stack if layer.layer == "storage backend"
             for name, text in layer.items.items() if name.startswith("disk ")]  # fmt: skip
    return {
        "product": server(run) or run.engine,
        "engine": run.engine,
        "cpu": run.item("core", "CPU"),
        "cpus": run.cpus,
        "ram": run.item("core", "RAM"),
        "storage": "; ".join(disks),
        "file_system": run.item("file system", "type"),
        "os": run.item("operating system", "distribution"),
        "kernel": run.item("operating system", "kernel"),
        "architecture": run.item("operating system", "architecture"),
        "virtual": virtual if virtual != "none" else "",
        "transport": run.item("API", "transport"),
        "limits": limited(run),
    }


def describe_conditions(evaluation: Evaluation, run: RunRecord) -> dict[str, Any]:
    """What has to be equal where two rates are compared, and what is told beside them, as far as tables show it."""
    spec, work, defaults = run.spec, _work(run), {one.name: one.default for one in run.workload.settings}
    settings = {name: value for name, value in sorted(spec.workload_settings.items()) if value != defaults.get(name)}
    return {
        "workload": spec.workload,
        "label": run.workload.label,
        "settings": {name: value for name, value in settings.items() if name in work},
        "cycles": _describe_cycles(evaluation, run),
        "durable": not unsafe(run),
        "not_durable": unsafe(run),
        "pacing": _describe_pace(run),
        "client": by_client(run),
        "options": {name: value for name, value in _options(run).items() if name in _SHOWN and name in work},
        "scales": list(spec.scales) or [row.scale for row in evaluation.of(RateResult).scales],
        "clients": list(spec.client_numbers),
        "nodes": spec.nodes,
        # Settings are those of its last part.
        **({"resumed": len(run.resumed)} if run.resumed else {}),
    }


def describe_claims(run: RunRecord) -> dict[str, Any]:
    """The conditions that no table shows: what has to be equal as well, and what stands beside it."""
    work, layout = _work(run), run.spec.workload_settings
    unseen = {name: value for name, value in _options(run).items() if not (name in _SHOWN and name in work)}
    return {
        "isolation": run.in_force,
        "options": {name: value for name, value in unseen.items() if name in work},
        "beside": {name: value for name, value in {**unseen, **layout}.items() if name not in work},
        "server_settings": {name: str(value) for name, value in sorted(run.settings.items())},
    }


def _work(run: RunRecord) -> frozenset[str]:
    """The options and settings by which a comparison tells whether runs did the same work."""
    return frozenset(find_load({name: [value] for name, value in described([run])[0].items()}, {"": [run]}))


def _options(run: RunRecord) -> dict[str, str]:
    """Options that are not at their default, as they were in force, but for those that are told elsewhere."""
    values = described([run])[0]
    return {
        name: values[f"spec.{name}"] for name, option in sorted(OPTIONS.items())
        if option.about.compared != "chance" and name not in _TOLD
        and values.get(f"spec.{name}", "") not in ("", str(option.default))
    }  # fmt: skip


def _describe_cycles(evaluation: Evaluation, run: RunRecord) -> str:
    """How many cycles of how many seconds, or by what the run decided that; how long stages are that come once."""
    spec = run.spec
    timed = not evaluation.has_clients or "time" in evaluation.rows.groups["until"].to_pylist()
    asked = ""
    if spec.precision is not None and not spec.searches:
        asked = f"until {spec.precision:g}% of the {spec.precision_of}"
    if spec.peak:
        asked = ", ".join(part for part in (asked, "at a searched number of clients") if part)
    cycles = "cycles" if asked else counted(spec.cycles, "cycle")
    if run.stages and not any(stage.repeated for stage in run.stages):
        cycles = "stages" if timed and not spec.legs else ""
    if timed and spec.min_duration is not None:
        cycles += f" of {spec.min_duration:g} s at least"
    elif timed and not spec.legs:
        cycles += f" of {spec.duration:g} s"
    return f"{cycles} {asked}".strip()


def _describe_pace(run: RunRecord) -> str:
    """When transactions start; with the objective of a search, and the legs of a load that changes."""
    spec, words = run.spec, pacing(run)
    if spec.searches:
        words += f" with {' and '.join(one.words for one in spec.objectives)}"
        words += ", then from it to idle" if spec.graduated else ""
    return f"{words}: {_shorten(spec.load)}" if spec.legs else words


def _shorten(text: str) -> str:
    """``text`` in one line; of a long one the beginning, and a digest by which it is told from others."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 20]}… ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def describe_group(entry: CommonsEntry) -> str:
    """What has to be equal for two entries to be ranked together, in words: what is claimed stands last."""
    said, claimed = entry.conditions, entry.claimed
    settings = ", ".join(f"{name} {_shorten(value)}" for name, value in said["settings"].items())
    scales, numbers = said["scales"], said["clients"]
    ladder = f"scale {scales[0]}" if len(scales) == 1 else f"scales {_shorten(', '.join(map(str, scales)))}"
    clients = f"{listed(numbers)} {'client' if numbers == [1] else 'clients'}"
    unit = (entry.figures.get("rate") or {}).get("unit", "")
    options, claims = ([f"{name.replace('_', ' ')} {'' if value == 'True' else _shorten(value)}".strip()
                        for name, value in some["options"].items()] for some in (said, claimed))  # fmt: skip
    parts = [
        said["label"], settings, ladder, f"{counted(said['nodes'], 'node')} × {clients}" if said["nodes"] else clients,
        said["cycles"], said["pacing"], *options, "durable" if said["durable"] else "not durable", said["client"], unit,
        f"claimed: {', '.join([claimed['isolation'].replace('-', ' '), *claims])}",
    ]  # fmt: skip
    return " · ".join(part for part in parts if part)


def compute_figures(evaluation: Evaluation) -> dict[str, Any]:
    """The highest rate, the index and the curve of each series; times in nanoseconds, sizes in GB. Nothing of a search
    that found no rate: what its steps did is no answer to what it asked."""
    top = highest(evaluation)
    searched = evaluation.of(LoadResult).load.get(top.scale) if top else None
    if top is None or (searched and not searched.capacity):
        return {}
    interval = searched.capacity if searched and searched.capacity else top.interval
    low, high = (_known(interval.low), _known(interval.high)) if interval else (None, None)
    low, high = (low, high) if low and high else (None, None)
    curve = top.part.of(LatencyResult).curve(top.scale)
    index = top.part.of(RateResult).index
    kinds = evaluation.of(KindsResult)
    dsi = None if evaluation.staged or kinds.nopm or kinds.headline else index.dsi
    parts = list(evaluation.series.values()) or [evaluation]
    return {
        "rate": {"value": top.value, "unit": top.short, "scale": top.scale, "clients": top.part.clients,
                 "stage": top.part.stage, "low": low, "high": high},
        "p50_ns": _known(curve.told(0.5) if curve else None),
        "p99_ns": _known(curve.told(0.99) if curve else None),
        "failed": 1 - top.part.of(ErrorsResult).success_share.get(top.scale, 1.0),
        "dsi": {"value": dsi.value, "low": _known(dsi.low), "high": _known(dsi.high), "comparable": index.comparable}
        if dsi else None,
        "energy": _describe_energy(top.part.of(EnergyResult).energy.get(top.scale)),
        "stages": _rates_of_stages(evaluation),
        "curves": [
            {"stage": part.stage, "clients": part.clients,
             "points": [[row.scale, _known(row.database_size_gb), _known(row.rate_median_tps)]
                 for row in part.of(RateResult).scales]}
            for part in parts if part.has_clients
        ],
    }  # fmt: skip


def _describe_energy(energy: Energy | None) -> dict[str, Any] | None:
    joules = _known(energy.joules_per_transaction) if energy else None
    return {"joules": joules, "watts": _known(energy.watts), "by": energy.of} if energy and joules else None


def _rates_of_stages(evaluation: Evaluation) -> dict[str, float | None]:
    """Of a run with stages, the rate of each at its largest scale, of what is measured there."""
    if not evaluation.staged:
        return {}
    last = {part.stage: part.own_rates for part in evaluation.series.values()}
    return {stage: _known(rates[max(rates)]) for stage, rates in last.items() if rates}


def _known(value: float | None) -> float | None:
    return float(value) if value is not None and isfinite(value) else None
