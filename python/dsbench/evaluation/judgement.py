"""What to think of a run: the facts of ``run.json`` and of the cycles, put before the rules of doubt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dsbench.analysis.doubts import REMOTE_WORKLOAD, doubts
from dsbench.analysis.facts import NodeFacts, RunFacts, ScaleFacts, UnsafeSwitch, outside_share
from dsbench.analysis.models import fit_collision
from dsbench.analysis.steady import Drift, drift
from dsbench.analysis.values import Collision, Doubt, Floats, Frequency, Resource
from dsbench.evaluation.evaluated import NodeShare
from dsbench.evaluation.measured import Measured


def judge(
    run: Mapping[str, Any],
    begun: Iterable[int],
    load: Mapping[int, Measured],
    frequency: Mapping[int, Frequency],
    seconds: Mapping[int, Floats],
    resources: Mapping[int, tuple[Resource, ...]],
    errors: Mapping[int, Mapping[str, int]],
    nodes: Mapping[str, Mapping[int, NodeShare]],
) -> tuple[Doubt, ...]:
    """The doubts about a run; ``begun`` are its scales, the mappings what was measured at them."""
    broken = failed_checks(run)
    checked = {int(scale) for scale in run.get("checks", {})}
    duration_s = float(run["spec"]["duration"])
    facts = []
    for scale in begun:
        part = load.get(scale, Measured.empty())
        curve = frequency.get(scale)
        facts.append(
            _scale_facts(
                scale,
                part,
                main_error=_most(errors.get(scale, {})),
                histogram_count=curve.count if curve else 0,
                client_cpus=_client_cpus(resources.get(scale, ())),
                drifts=_drifts(seconds.get(scale), part.cycles.size, duration_s),
                checked=scale in checked,
                broken=broken.get(scale, ()),
                populations=_populations(run, scale, part),
                nodes=_nodes(nodes, scale),
            )
        )
    return doubts(_run_facts(run), facts, noticed(run))


def failed_checks(run: Mapping[str, Any]) -> dict[int, tuple[str, ...]]:
    """Scale to the conditions that do not hold, in words; only scales that have one."""
    broken = {
        int(scale): tuple(f"{c['name']} ({c['detail']})" for c in conditions if not c["holds"])
        for scale, conditions in run.get("checks", {}).items()
    }
    return {scale: words for scale, words in sorted(broken.items()) if words}


def collision(run: Mapping[str, Any], success: Mapping[int, float], load: Mapping[int, Measured]) -> Collision | None:
    """The model of collisions where it applies: snapshots of branch rows, several writers at a time.

    It supposes that K clients always have a transaction under way: in the closed loop, with every node.
    """
    spec = run["spec"]
    broken = failed_checks(run)
    shares = {x: share for x, share in success.items() if x not in broken and load[x].present.all()}
    applies = (
        spec["workload"] == REMOTE_WORKLOAD
        and spec.get("rate") is None
        and (run.get("isolation") or spec["isolation"]) != "read-committed"
        and not (run.get("dialect") or {}).get("single_writer", False)
        and not _waits(run)
        and any(share < 1 for share in shares.values())
    )
    clients = max(int(spec["nodes"]), 1) * int(spec["threads"])
    return fit_collision(list(shares), list(shares.values()), clients) if applies else None


def _waits(run: Mapping[str, Any]) -> bool:
    """InnoDB lets an update wait for the one before it and then go on: what fails there are deadlocks."""
    items: dict[str, Any] = {}
    for layer in run.get("stack", ()):
        items |= layer.get("items", {})
    return str(items.get("storage engine", "")).lower() == "innodb"


def _scale_facts(
    scale: int,
    load: Measured,
    *,
    main_error: str,
    histogram_count: int,
    client_cpus: float,
    drifts: tuple[tuple[str, Drift], ...],
    checked: bool,
    broken: tuple[str, ...],
    populations: int,
    nodes: tuple[NodeFacts, ...],
) -> ScaleFacts:
    return ScaleFacts(
        scale=scale,
        cycles=load.cycles.size,
        committed=load.total("committed"),
        failed=load.total("failed"),
        main_error=main_error,
        attempts=load.attempts,
        unknown=load.total("unknown"),
        missed=load.total("missed"),
        remote=load.total("remote"),
        remote_of=load.kept,
        absent=int((~load.present).any(axis=1).sum()) if not any(node.absent for node in nodes) else _absent(nodes),
        nodes=nodes,
        outside_share=outside_share(load["residence_ns"], load["failed_ns"], load.first_start_ns, load.last_end_ns),
        client_cpus=client_cpus,
        histogram_count=histogram_count,
        rolled_back=load.total("rolled_back"),
        drifts=drifts,
        checked=checked,
        broken=broken,
        populations=populations,
    )


def _nodes(nodes: Mapping[str, Mapping[int, NodeShare]], scale: int) -> tuple[NodeFacts, ...]:
    found = ((name, by_scale[scale]) for name, by_scale in nodes.items() if scale in by_scale)
    return tuple(
        NodeFacts(
            name,
            cpu_busy=share.cpu_busy,
            ceiling_share=share.rate_median_tps / share.ceiling_tps,
            start_off_ns=int(np.nan_to_num(share.start_late_ns)) + share.clock_error_ns,
            absent=share.absent,
        )
        for name, share in found
    )


def _absent(nodes: Iterable[NodeFacts]) -> int:
    """Cycles without some node; a node that was never there has no row by which it could be missed."""
    return len({words.partition(":")[0] for node in nodes for words in node.absent})


def _populations(run: Mapping[str, Any], scale: int, load: Measured) -> int:
    """Populations of ``scale`` from which a cycle was measured; one that was cut short before left none."""
    begins = sorted({segment["first_cycle"] for segment in run.get("segments", []) if segment["scale"] == scale})
    return len({bisect_right(begins, cycle) for cycle in load.cycles.tolist()} - {0})


def _run_facts(run: Mapping[str, Any]) -> RunFacts:
    spec = run["spec"]
    unsafe = [switch for switch in run.get("durability", []) if not switch["safe"]]
    return RunFacts(
        workload=spec["workload"],
        status=run.get("status", "running"),
        reason=run.get("reason") or "",
        duration_s=float(spec["duration"]),
        cycles=int(spec["cycles"]),
        isolation=spec["isolation"],
        retry=bool(spec["retry"]),
        reconnect=bool(spec["reconnect"]),
        open_loop=spec["rate"] is not None or spec.get("pace", "none") != "none",
        nodes=int(spec["nodes"]),
        embedded=bool(run.get("embedded")),
        cpus=int(run.get("cpus") or 0),
        ceiling_tps=float((run.get("calibration") or {}).get("ceiling_tps", np.nan)),
        unsafe=tuple(UnsafeSwitch(s["switch"], str(s["value"]), s["meaning"]) for s in unsafe),
    )


def _most(counts: Mapping[str, int]) -> str:
    return max(counts, key=lambda name: counts[name], default="")


def _client_cpus(resources: Iterable[Resource]) -> float:
    """CPU seconds per second of the load generator."""
    return next((r.per_second / 1e6 for r in resources if r.scope == "client" and r.unit == "µs"), np.nan)


def _drifts(course: Floats | None, cycles: int, duration_s: float) -> tuple[tuple[str, Drift], ...]:
    """Drift within the cycles laid over each other, and over all cycles; a broken last second is left out.

    Over all cycles the course that they share is divided out, so that a fall in each of them is not
    taken for one from the first to the last.
    """
    if course is None or duration_s < 1:
        return ()
    full = course[:, 0].reshape(cycles, -1)[:, : int(duration_s)]
    shared = full.mean(axis=0)
    within = ("within the cycle", drift(full.sum(axis=0)))
    if cycles == 1:
        return (within,)
    level = np.divide(full * full.mean(), shared, out=np.zeros_like(full), where=shared > 0)
    return (within, (f"over the {cycles} cycles", drift(level.reshape(-1))))


def noticed(run: Mapping[str, Any]) -> list[Doubt]:
    """What the run itself found doubtful while it went on."""
    return [
        Doubt(w["code"], w["message"], w.get("remedy", ""), w.get("scale"), bool(w.get("severe", False)))
        for w in run.get("warnings", [])
    ]
