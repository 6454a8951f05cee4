"""What a run is called and how it was conducted, in words that tables, diagrams and the page share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dsbench.archive import RunRecord
from dsbench.format import counted
from dsbench.spec.outages import STANDBY
from dsbench.spec.storage import Storage
from dsbench.stats.values import Index

if TYPE_CHECKING:
    from dsbench.read.evaluation import Evaluation

_ENGINES = {"postgres": "PostgreSQL", "mysql": "MySQL", "sqlite": "SQLite", "firebird": "Firebird"}
_STORAGE_ENGINES = {"innodb": "InnoDB", "rocksdb": "MyRocks"}
"""By the server's name: the product's."""


def pacing(run: RunRecord) -> str:
    """When the clients start their transactions: ``closed loop``, or what sets the starts; with the ramp-up and what
    happens to the server."""
    spec = run.spec
    if spec.pace == "terminals":
        each = f"{run.workload.defaults.terminals_per_unit or 0} paced terminals per scale"
        how = f"{spec.terminals:,} paced terminals" if spec.terminals else each
    elif spec.searches:
        how = "open loop, search for the rate"
    elif spec.graduated:
        how = "open loop, 100% of the capacity to idle"
    elif spec.legs:
        how = f"open loop, {counted(len(spec.legs), 'leg')} of {spec.legs[-1].end_s:g} s"
    elif spec.rate:
        how = f"open loop, {spec.rate:g} starts per second"
    else:
        how = "closed loop"
    how += f", {spec.ramp_up:g} s ramp-up" if spec.ramp_up else ""
    how += f", reads from {spec.reads if spec.reads != STANDBY else 'a standby'}" if spec.reads else ""
    return how + "".join(f", {one.words} after {one.at_s:g} s" for one in spec.events)


def limited(run: RunRecord) -> str:
    """What the server was given of its machine: ``server limited to memory 1GiB, cpus 2; data on xfs (block 1k)``;
    empty without a limit and a file system of dsbench's."""
    limits = ", ".join(f"{name} {value}" for name, value in run.spec.limits.items())
    words = Storage(run.spec.storage).words if run.spec.storage else ""
    return "; ".join([f"server limited to {limits}"] * bool(limits) + [f"data on {words}"] * bool(words))


def listed(numbers: Iterable[int]) -> str:
    """``10, 20 and 40``."""
    *others, last = [f"{number:,}" for number in numbers]
    return f"{', '.join(others)} and {last}" if others else last


def streams(evaluation: Evaluation) -> list[str]:
    """``scale factor 0.1`` and ``2 streams``, or ``power test``; empty for a workload without such queries."""
    from dsbench.read.subjects.queries import QueriesResult  # Late: it needs this module.

    found = evaluation.of(QueriesResult).queries.values()
    factors, most = ", ".join(f"{one.factor:g}" for one in found), max((one.streams for one in found), default=0)
    return [f"scale factor {factors}", counted(most, "stream") if most else "power test"] if found else []


def conduct(evaluation: Evaluation, run: RunRecord) -> tuple[str, str]:
    """How many cycles the scales have and of how many seconds, each as ``10`` or ``5–10``: those that were asked for,
    and where ``--precision``, ``--peak`` or ``--min-duration`` decided, those that were made."""
    from dsbench.read.subjects.rate import RateResult  # Late: it needs this module.

    spec = run.spec
    decided = spec.precision is not None or spec.min_duration is not None or spec.peak
    made = [seconds
        for seconds in evaluation.of(RateResult).durations_s.values() if seconds.size and decided]
    lengths = [float(f"{second:.4g}") for seconds in made for second in seconds if second > 0]
    return (_from_to([len(one) for one in made] or [spec.cycles]), _from_to(lengths or [spec.duration]))


def _from_to(numbers: Sequence[float]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def subject(run: RunRecord) -> str:
    """The run's label, server with version and workload: ``night: PostgreSQL 15.18, TPC-B-like``."""
    label = f"{run.spec.label}: " if run.spec.label else ""
    return label + ", ".join(part for part in (server(run), run.workload.label, by_client(run)) if part)


def by_client(run: RunRecord) -> str:
    """Who made the load, where that was not dsbench's own client: ``by psycopg``."""
    return "" if run.spec.driver == "own" else f"by {run.spec.driver}"


def server(run: RunRecord) -> str:
    """Product, version and what makes another product of it, in a few words: "Firebird 3.0.11 Classic"."""
    return " ".join(part for part in (_release(run), *_variant(run)) if part)


def tag(run: RunRecord) -> str:
    """Label and server: by what a row of several archives is told from the others."""
    return ", ".join(part for part in (run.spec.label, server(run), by_client(run)) if part)


def _variant(run: RunRecord) -> tuple[str, ...]:
    """The storage engine, the mode of the server, or that there is none, and the pooler before it; what a product
    always is goes unsaid."""
    engine = run.item("RDBMS", "storage engine")
    embedded = run.embedded and run.engine == "firebird"
    pooler = run.item("pooler", "program").partition(" ")[0]
    behind = f"behind {pooler or 'a pooler'}" if pooler or run.pooled else ""
    return _STORAGE_ENGINES.get(engine.lower(), engine), run.item("RDBMS", "server mode"), "embedded" * embedded, behind


def way(run: RunRecord) -> str:
    """How transactions reach the server: ``Unix socket``; empty where that is not known."""
    if run.embedded:
        return "within the process of the client"
    # The server only knows how its pooler reaches it.
    pooled = run.pooled or run.item("pooler", "program")
    return "through a pooler" if pooled else run.item("API", "transport")


def _release(run: RunRecord) -> str:
    """Product and version, without what the compiler was."""
    product = _ENGINES.get(run.engine, run.engine)
    version = re.split(r" \(| on |,", run.server_version, maxsplit=1)[0].strip()[:40]
    if not version:
        return product
    names_itself = re.match(r"[A-Za-z]+ ", version) or product.lower() in version.lower()
    return version if names_itself or "mariadb" in version.lower() else f"{product} {version}"


def index_scales(index: Index) -> str:
    """What the index rests on and leaves out, and why: ``scales 1-10, without 2: its check failed``."""
    reasons: dict[str, list[int]] = {}
    for scale, why in index.left_out.items():
        reasons.setdefault(why, []).append(scale)
    without = [f", without {listed(scales)}: {why}" for why, scales in reasons.items()]
    return f"scales {index.lowest_scale}-{index.highest_scale}{''.join(without)}"


def unsafe(run: RunRecord) -> list[str]:
    """Durability that was switched off: ``fsync off``."""
    return [f"{switch.switch} {switch.value}" for switch in run.unsafe]


_UNFINISHED = {
    "cut-short": "The run was cut short", "failed": "The run failed", "running": "The run has not ended",
}  # fmt: skip


def warnings(evaluation: Evaluation, run: RunRecord) -> list[str]:
    """Lines that must stand beside every figure: what is not durable, what is void, what ended early."""
    from dsbench.read.subjects.rate import RateResult  # Late: it needs this module.

    lines = []
    if switches := unsafe(run):
        lines.append("NOT DURABLE: " + ", ".join(switches))
    if evaluation.of(RateResult).void_scales:
        lines.append("VOID, check failed at scale " + ", ".join(str(s)
            for s in sorted(evaluation.of(RateResult).void_scales)))
    mended = dict.fromkeys((one.detail, one.remedy) for found in run.unmade.values() for one in found if one.remedy)
    lines += [f"NOT CHECKED: {why}; {remedy}" for why, remedy in mended]
    if run.status in _UNFINISHED:
        lines.append(": ".join(part for part in (_UNFINISHED[run.status], run.reason) if part))
    return lines
